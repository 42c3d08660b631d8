// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests readers concurrent with commits, as tasks, and power cuts among them.
 *
 *   test_commit_tasks [RUNS [SEED]]
 *
 * Each commit raises the version that three keys have as their value, and moves a token from one of
 * three keys to the next. So at any time the three keys have one version, and there is one token,
 * which has this version. No version that a reader or a committer has seen is lost by a power cut.
 */
#include "lives.h"
#include "shadow/shadow.h"
#include "store/commit.h"
#include "tasks.h"
#include "test.h"

#define NODES		8192
#define LEAVES		40U
#define GROUP		3U
#define COMMITS		5	/* of each committer */
#define TOKEN		100ULL	/* key of the token of versions that are a multiple of GROUP */
#define CUT_EVENTS	200
#define CUT_PLACES	100

static const char * const engines[][2] = {
	{ "crab", "slotted" }, { "crab", "sorted" }, { "nvtree", "" }, { "fastfair", "" },
	{ "clfb", "" }, { "nbtree", "" },
};

static struct crab_shadow *shadow;
static u32 working, events;
static u64 seed, run, seen, reads, commits, cuts;

static u64 group_key(u32 i)
{
	return 10 * i;
}

static u64 token_key(u64 version)
{
	return TOKEN + version % GROUP;
}

/* A version that became visible: none below it may be seen from now on */
static void see(u64 version, const char *how)
{
	tap_check(version >= seen, "run %llu: %s: version %llu after %llu", run, how, version, seen);
	seen = max(seen, version);
}

static void raise_version(struct crab_commit *c, u64 from)
{
	u32 i;

	memset(c, 0, sizeof(*c));
	for (i = 0; i < GROUP; i++)
		c->ops[c->n++] = (struct crab_batch_op){
			.verb = CRAB_VERB_INSERT, .key = group_key(i), .value = from + 1,
		};
	c->when[1] = CRAB_WHEN_VALUE;
	c->ops[1].old.expected = from;
	c->ops[c->n++] = (struct crab_batch_op){ .verb = CRAB_VERB_DELETE, .key = token_key(from) };
	c->ops[c->n++] = (struct crab_batch_op){
		.verb = CRAB_VERB_INSERT, .key = token_key(from + 1), .value = from + 1,
	};
}

static void committer(void *arg)
{
	struct crab_commit c;
	u64 version;
	u32 i;
	int err;

	for (i = 0; i < COMMITS; i++) {
		crab_store_search(store, group_key(1), &version);
		raise_version(&c, version);
		err = crab_store_commit(store, &c);
		tap_check(!err || err == -ESTALE, "run %llu: a commit returns %d", run, err);
		if (err)
			continue;
		seen = max(seen, version + 1);
		commits++;
	}
	working--;
}

/* Other keys of the same leaves, which split and merge */
static void neighbour(void *arg)
{
	u64 state = seed + 77, key;
	u32 i;

	for (i = 0; i < 12; i++) {
		key = 1 + 2 * ((rng(&state) >> 32) % 30);
		if (rng(&state) >> 63)
			store_put(store, key, i);
		else
			store_delete(store, key);
		crab_store_maintain(store);
	}
	working--;
}

static void read_keys(u64 *state)
{
	u64 least = seen, version = 0;
	u32 i;

	for (i = 0; i < 2; i++) {
		crab_store_search(store, group_key((rng(state) >> 32) % GROUP), &version);
		tap_check(version >= least, "run %llu: version %llu after %llu", run, version, least);
		least = version;
	}
	seen = max(seen, least);
}

static void read_group(bool back)
{
	struct crab_record r[64];
	struct crab_cursor cursor;
	u64 least = seen, version[GROUP];
	u32 found = 0;
	int n, i;

	if (back)
		crab_cursor_init_back(&cursor, 0, group_key(GROUP - 1));
	else
		crab_cursor_init(&cursor, 0, group_key(GROUP - 1));
	n = crab_cursor_read(store, &cursor, r, ARRAY_SIZE(r));
	for (i = 0; i < n; i++)
		if (r[i].key % 10 == 0)
			version[found++ % GROUP] = r[i].value;
	tap_check(found == GROUP && version[0] == version[1] && version[0] == version[2],
		  "run %llu: a scan finds %u keys of versions %llu, %llu, %llu", run, found, version[0],
		  version[1], version[2]);
	tap_check(version[0] >= least, "run %llu: a scan finds version %llu after %llu", run,
		  version[0], least);
	seen = max(seen, version[0]);
}

static void read_token(u32 how)
{
	struct crab_record r[GROUP + 1];
	struct crab_cursor cursor;
	u64 least = seen;
	int n = 1, err = 0;

	if (how == 0)
		err = crab_store_seek(store, TOKEN, CRAB_SEEK_GE, r);
	else if (how == 1)
		err = crab_store_seek(store, TOKEN + GROUP, CRAB_SEEK_LE, r);
	if (how > 1) {
		crab_cursor_init(&cursor, TOKEN, TOKEN + GROUP);
		n = crab_cursor_read(store, &cursor, r, ARRAY_SIZE(r));
	}
	tap_check(!err && n == 1 && r->key == token_key(r->value) && r->value >= least,
		  "run %llu: read %u: error %d, %d tokens, key %llu of version %llu after %llu", run,
		  how, err, n, r->key, r->value, least);
	seen = max(seen, r->value);
}

static void reader(void *arg)
{
	u64 state = seed + (unsigned long)arg;

	while (READ_ONCE(working) && !tap_faults) {
		u32 how = (rng(&state) >> 32) % 6;

		if (how < 3)
			read_token(how);
		else if (how < 5)
			read_group(how == 3);
		else
			read_keys(&state);
		reads++;
	}
}

/* Task by task: each has its own CPU */
static void on_turn(void *arg, u32 task)
{
	shadow->cpu = task;
}

static void on_event(struct crab_shadow *of, enum crab_shadow_event event, enum crab_point point)
{
	if (events && !--events)
		tasks_cut((rng(&seed) >> 32) % CUT_PLACES, rng(&seed) >> 63);
	crab_task_point();
}

static void begin(struct crab_media *media, const char *engine, const char *layout)
{
	struct crab_commit c;

	*media = media_create(CRAB_POOL_OFFSET + (u64)LEAVES * 2048);
	shadow = crab_shadow_create(media, NODES);
	shadow->model = crab_shadow_model_of(
		crab_layout_by_name(crab_engine_by_name(engine), layout)->needs);
	lives_begin();
	store = store_make(media, engine, layout, 256, STORE_COMMITS);
	raise_version(&c, 0);
	c.when[1] = CRAB_WHEN_ABSENT;
	tap_check(!crab_store_commit(store, &c), "the first commit");
	seen = 1;
}

/* After a power cut, or in half of the runs a stop that the caches survive */
static void recover(struct crab_media *media)
{
	u64 least = seen;

	lives_end();
	if (run % 4)
		crab_shadow_crash(shadow);
	shadow->cpu = 15;
	cuts++;
	lives_begin();
	store = store_attach(media);
	seen = least;
}

static void run_one(const char *engine, const char *layout)
{
	struct tasks_plan plan = { .pace = 1 + run % 30, .turn = on_turn };
	struct crab_media media;
	unsigned long i;
	enum tasks_end end;

	crab_host_seed(seed);
	begin(&media, engine, layout);
	plan.seed = seed;
	events = run % 3 ? 1 + (rng(&seed) >> 32) % CUT_EVENTS : 0;
	shadow->hook = on_event;
	working = 3;
	tasks_add(committer, NULL);
	tasks_add(committer, NULL);
	tasks_add(neighbour, NULL);
	for (i = 1; i <= 3; i++)
		tasks_add(reader, (void *)i);
	end = tasks_run(&plan);
	shadow->hook = NULL;
	if (end == TASKS_STUCK)
		tap_fail("run %llu: the tasks come to no end", run);
	if (end == TASKS_CUT)
		recover(&media);
	for (i = 0; i < 3; i++)
		read_token(i);
	read_group(false);
	see(seen, "the end");
	if (shadow->errors)
		tap_fail("run %llu: %s", run, shadow->error);
	crab_store_detach(store);
	lives_end();
	crab_shadow_destroy(shadow);
	media_destroy(&media);
}

int main(int argc, char **argv)
{
	u64 runs = argc > 1 ? strtoull(argv[1], NULL, 0) : 300;
	u64 first = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	u32 i;

	crab_host_cpus = 1;
	for (i = 0; i < ARRAY_SIZE(engines); i++) {
		reads = commits = cuts = 0;
		for (run = first; run < first + runs && !tap_faults; run++) {
			seed = run * 0x9e3779b97f4a7c15ULL | 1;
			run_one(engines[i][0], engines[i][1]);
		}
		tap_ok(commits > runs, "%s %s: %llu runs, %llu cuts, %llu commits, %llu reads", engines[i][0],
		       engines[i][1], runs, cuts, commits, reads);
	}
	return tap_done();
}

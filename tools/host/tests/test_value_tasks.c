// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests stores of values, under keys and under names, as tasks, and power cuts among them:
 * puts, erases and commits of two writers while readers, lists, snapshots, watches, evacuation and
 * CHECK run.
 *
 *   test_value_tasks [RUNS [SEED [STORE]]]
 *
 * Each key has one writer, which numbers its states: an odd number is a value, an even one its
 * absence. So at any time only a state may be seen that is not older than one that was seen before,
 * by any verb; a power cut takes none of these back. A write that failed, or that a cut has taken
 * back, is never seen later. The writes of a commit are seen together, and no version comes twice.
 */
#include "engines/crab/crab.h"
#include "lives.h"
#include "shadow/shadow.h"
#include "store/blob_commit.h"
#include "store/blob_priv.h"
#include "store/gate.h"
#include "tasks.h"
#include "test.h"
#include "value_states.h"

#define NODES		8192
#define POOL		(32U << 10)	/* bytes of leaves and slabs */
#define LIVES		6U
#define STEPS		8U		/* of a writer in one life */
#define CUT_EVENTS	500U
#define CUT_EARLY	50U		/* the same for half of the cuts: births of a block begin */
#define CUT_PLACES	400U
#define ATTACH_EVENTS	10U		/* the same for the cut of an attach */
#define CPUS		8U		/* of one kernel; the shadow has twice as many */
#define BALLAST		1000ULL		/* keys of values that fill the store */
#define LATEST		12U		/* of these, erased before the keys get their first values */

static const struct {
	const char *engine;
	const char *layout;
	u32 slots;
	u32 kind;
} stores[] = {
	{ "crab", "slotted", 3, STORE_BLOBS }, { "crab", "slotted", 2, STORE_NAMES },
	{ "crab", "slotted", 3, STORE_BLOBS | STORE_COMMITS },
	{ "crab", "slotted", 2, STORE_NAMES | STORE_COMMITS },
	{ "crab", "sorted", 0, STORE_BLOBS | STORE_COMMITS },
	{ "nvtree", "append", 0, STORE_NAMES | STORE_COMMITS },
	{ "fastfair", "shift", 3, STORE_BLOBS | STORE_COMMITS },
	{ "clfb", "twin", 3, STORE_NAMES | STORE_COMMITS },
	{ "clfb", "encoded", 2, STORE_BLOBS },
	{ "nbtree", "adr", 3, STORE_NAMES | STORE_COMMITS },
	{ "nbtree", "eadr", 3, STORE_BLOBS | STORE_COMMITS },
};

static struct crab_shadow *shadow;
static u64 seed;
static u32 events;
static struct crab_blob_commit commit[WRITERS];
static u8 value[WRITERS][KEYS][LONGEST];
static u32 longest;			/* bytes of a value */
static u64 cuts, writes, full, freed;

/* Empties slabs; CHECK as well, if there is no @arg */
static void keeper(void *arg)
{
	struct crab_check_report report;

	while (READ_ONCE(states.working) && !tap_faults) {
		crab_store_maintain(store);
		if (arg)
			continue;
		crab_store_check(store, &report);
		tap_check(!report.damage.count, "run %llu: CHECK, at %llu: %s", states.run, report.damage.offset,
			  report.damage.what);
	}
}

/* Writes */

static u32 next_state(u32 key, bool value)
{
	u32 state = states.top[key] + 1;

	state += state % 2 != value;
	BUG_ON(state >= STATES);
	return state;
}

/* Begins a write of a key, as part of the writer's flight */
static u32 begin_write(u32 writer, u32 key, bool put, struct crab_blob_write *write)
{
	struct flight *f = &states.flight[writer];
	u32 state = next_state(key, put), i;
	u64 word = (u64)key << 32 | state;

	states.top[key] = state;
	states.status[key][state] = PENDING;
	f->key[f->n] = key;
	f->state[f->n++] = state;
	*write = (struct crab_blob_write){ .key = key, .data = value[writer][key] };
	if (!put)
		return state;
	write->bytes = state / 2 % 3 ? longest : 8 * (1 + state % 8);
	for (i = 0; i < write->bytes / 8; i++)
		memcpy(&value[writer][key][i * 8], &word, sizeof(word));
	return state;
}

/* The flight ends: its writes are done, or never will be */
static void end_writes(u32 writer, bool done)
{
	struct flight *f = &states.flight[writer];
	u32 i;

	for (i = 0; i < f->n; i++) {
		u32 key = f->key[i], state = f->state[i];

		tap_check(done || states.seen[key] < state, "run %llu: state %u of key %u was seen, and fails", states.run, state,
			  key);
		states.status[key][state] = done ? DONE : TAKEN_BACK;
		if (!done)
			continue;
		states.now[key] = state;
		states_raise(key, state);
	}
	writes += done;
	f->n = 0;
}

/* The condition of a write, which holds or does not; returns the error that it causes */
static int condition(u32 key, bool put, u32 how, struct crab_blob_write *write)
{
	bool there = states.now[key] % 2;

	if (how == 1) {
		write->checked = true;
		write->version = states.version[key][states.now[key]];
		return there ? 0 : -ENOENT;
	}
	if (how == 2) {
		write->checked = true;
		write->version = 1;
		return there ? -ESTALE : -ENOENT;
	}
	if (how == 3 && put) {
		write->mode = CRAB_INSERT_CREATE;
		return there ? -EEXIST : 0;
	}
	if (how == 4 && put) {
		write->mode = CRAB_INSERT_REPLACE;
		return there ? 0 : -ENOENT;
	}
	return put || there ? 0 : -ENOENT;
}

static int write_one(struct crab_blob_write *write, bool put)
{
	char name[SAME_CRC_BYTES];

	if (!states_named())
		return put ? crab_blob_put(store, write) : crab_blob_erase(store, write);
	states_name(write->key, name);
	write->name = name;
	write->name_bytes = sizeof(name);
	return put ? crab_named_put(store, write) : crab_named_erase(store, write);
}

static void act_one(u32 writer, u64 *choice)
{
	u32 key = rng_below(choice, KEYS / WRITERS) * WRITERS + writer, how = rng_below(choice, 8), state;
	bool put = !(states.now[key] % 2) || rng_below(choice, 2);
	struct crab_blob_write write;
	int want, err;

	state = begin_write(writer, key, put, &write);
	want = condition(key, put, how, &write);
	err = write_one(&write, put);
	full += err == -ENOSPC;
	tap_check(err == want || (err == -ENOSPC && put), "run %llu: write of key %u, %u: %d, not %d", states.run, key, how, err,
		  want);
	if (!err && put)
		states_version(key, state, write.version);
	end_writes(writer, !err);
}

static void act_commit(u32 writer, u64 *choice)
{
	static char names[KEYS][SAME_CRC_BYTES];
	struct crab_blob_commit *c = &commit[writer];
	u32 n = 1 + rng_below(choice, KEYS / WRITERS), i, state[KEYS];
	int err;

	c->n = n;
	for (i = 0; i < n; i++) {
		u32 key = i * WRITERS + writer;
		bool put = rng_below(choice, 3);

		c->ops[i] = (struct crab_blob_op){ .verb = put ? CRAB_VERB_INSERT : CRAB_VERB_DELETE };
		state[i] = begin_write(writer, key, put, &c->ops[i].write);
		states_name(key, names[key]);
		c->ops[i].write.name = states_named() ? names[key] : NULL;
		c->ops[i].write.name_bytes = states_named() ? SAME_CRC_BYTES : 0;
	}
	err = states_named() ? crab_named_commit(store, c) : crab_blob_commit(store, c);
	full += err == -ENOSPC;
	tap_check(!err || err == -ENOSPC, "run %llu: a commit returns %d", states.run, err);
	for (i = 0; i < n && !err; i++)
		if (c->ops[i].verb == CRAB_VERB_INSERT)
			states_version(i * WRITERS + writer, state[i], c->ops[i].write.version);
	end_writes(writer, !err);
}

static void writer(void *arg)
{
	u32 number = (unsigned long)arg, i;
	u64 choice = seed + 7 * number;

	for (i = 0; i < STEPS && !tap_faults; i++) {
		if (states.kind & STORE_COMMITS && rng_below(&choice, 2))
			act_commit(number, &choice);
		else
			act_one(number, &choice);
	}
	states.working--;
}

/* Runs of the tasks */

static void on_turn(void *arg, u32 task)
{
	shadow->cpu = (shadow->cpu & CPUS) + task;
}

static void on_event(struct crab_shadow *of, enum crab_shadow_event event, enum crab_point point)
{
	if (events && !--events)
		tasks_cut(rng_below(&seed, CUT_PLACES), rng(&seed) >> 63);
	crab_task_point();
}

static enum tasks_end run_tasks(u32 cut)
{
	static const u32 paces[] = { 1, 2, 4, 8, 20, 60 };
	const struct tasks_plan plan = {
		.seed = rng(&seed) | 1, .pace = paces[rng_below(&seed, ARRAY_SIZE(paces))], .turn = on_turn,
	};
	enum tasks_end end;

	events = cut;
	shadow->hook = on_event;
	end = tasks_run(&plan);
	shadow->hook = NULL;
	return end;
}

/* DRAM is lost, and after a power cut the caches are lost, too */
static void lose(void)
{
	lives_end();
	cuts++;
	if (rng_below(&seed, 4))
		crab_shadow_crash(shadow);
	else
		shadow->cpu = (shadow->cpu & CPUS) ^ CPUS;
}

static void attach(void *arg)
{
	store = store_attach(arg);
}

static void recover(struct crab_media *of)
{
	bool cut = rng_below(&seed, 3) == 0;

	lives_begin();
	tasks_add(attach, of);
	while (run_tasks(cut ? 1 + rng_below(&seed, ATTACH_EVENTS) : 0) == TASKS_CUT) {
		lose();
		cut = rng_below(&seed, 2);
		lives_begin();
		tasks_add(attach, of);
	}
}

/* The state of a key after a cut is decided: a write that was in progress is done, or taken back */
static void resolve(u32 writer)
{
	struct flight *f = &states.flight[writer];
	u32 i, found = 0;

	for (i = 0; i < f->n; i++) {
		u8 data[LONGEST];
		struct crab_blob_read read = { .buffer = data, .capacity = sizeof(data) };
		u32 key = f->key[i], was = states.now[key];
		int err = states_get(key, NULL, &read);
		bool there = !err, odd = f->state[i] % 2;
		u64 word = 0;

		if (there)
			memcpy(&word, data, sizeof(word));
		/* An erase of a key that was absent shows nothing: it goes with the others */
		if (!odd && !(was % 2))
			found |= 4;
		else if (odd ? there && (u32)word == f->state[i] : !there)
			found |= 1;
		else
			found |= 2;
	}
	tap_check((found & 3) != 3, "run %llu: a cut leaves a part of a commit", states.run);
	end_writes(writer, found & 1);
}

static void judge_all(void)
{
	u32 key;

	for (key = 0; key < WRITERS; key++)
		if (states.flight[key].n)
			resolve(key);
	for (key = 0; key < KEYS; key++)
		states_read(key, NULL, states.now[key], "after all");
	states_list();
	store_check_good(store);
	for (key = 0; key < KEYS; key++)
		tap_check(states.seen[key] == states.now[key], "run %llu: key %u has state %u, not %u", states.run, key, states.seen[key],
			  states.now[key]);
}

static void live(struct crab_media *of)
{
	u32 cut = rng_below(&seed, 8) ? 1 + rng_below(&seed, rng_below(&seed, 2) ? CUT_EVENTS : CUT_EARLY) : 0;
	bool watch = rng_below(&seed, 2) && crab_store_observe(store) >= 0;
	enum tasks_end end;
	unsigned long i;

	states.working = WRITERS;
	for (i = 0; i < WRITERS; i++)
		tasks_add(writer, (void *)i);
	tasks_add(keeper, (void *)(rng(&seed) >> 63));
	for (i = 0; i < 2; i++)
		tasks_add(states_reader, (void *)(watch ? i : 0));
	if (watch)
		tasks_add(states_watcher, NULL);
	end = run_tasks(cut);
	if (end == TASKS_STUCK)
		tap_fail("run %llu: the tasks come to no end", states.run);
	if (end == TASKS_DONE && watch)
		crab_store_unobserve(store);
	if (end == TASKS_CUT) {
		freed += store->blobs->evac.freed;
		lose();
		recover(of);
	} else if (rng_below(&seed, 2)) {
		freed += store->blobs->evac.freed;
		crab_store_detach(store);
		tap_check(!lives_end(), "run %llu: allocations are left after detach", states.run);
		recover(of);
	}
	judge_all();
}

/* A value under a key, or a name, that no task uses; NULL: erases it */
static int ballast(u32 number, const u8 *data)
{
	struct crab_blob_write write = { .key = BALLAST + number, .data = data, .bytes = longest };
	char name[SAME_CRC_BYTES];

	if (!states_named())
		return data ? crab_blob_put(store, &write) : crab_blob_erase(store, &write);
	same_crc(BALLAST + number, name);
	write.name = name;
	write.name_bytes = sizeof(name);
	return data ? crab_named_put(store, &write) : crab_named_erase(store, &write);
}

/*
 * The store is full, and the slabs with the highest numbers have the values of the keys; then few other
 * values remain, so that slabs are sparse, or most of them
 */
static void fill(void)
{
	static const u8 data[LONGEST];
	struct crab_blob_write put;
	u32 last = 0, key, state, i;

	while (!ballast(last, data))
		last++;
	for (i = 0; i < LATEST; i++)
		tap_check(!ballast(--last, NULL), "erase");
	for (key = 0; key < KEYS; key++) {
		state = begin_write(key % WRITERS, key, true, &put);
		tap_check(!write_one(&put, true), "put");
		states_version(key, state, put.version);
		end_writes(key % WRITERS, true);
	}
	for (i = 0; i < last; i++)
		if (states.run % 3 == 2 ? !(i % 8) : i % 4)
			tap_check(!ballast(i, NULL), "erase");
}

static void begin(struct crab_media *region, u32 number)
{
	const struct crab_layout *layout = crab_layout_by_name(crab_engine_by_name(stores[number].engine),
							       stores[number].layout);

	memset(states.now, 0, offsetof(struct states, reads) - offsetof(struct states, now));
	for (number = 0; number < KEYS; number++)
		states.status[number][0] = DONE;
	*region = media_create(4 * CRAB_POOL_OFFSET + POOL);
	shadow = crab_shadow_create(region, NODES);
	shadow->model = crab_shadow_model_of(layout->needs);
	shadow->seed = seed;
}

static void run_one(u32 number)
{
	const char *engine = stores[number].engine, *layout = stores[number].layout;
	struct crab_media of;
	u32 i;

	states.kind = stores[number].kind;
	crab_tiny_slots = stores[number].slots;
	crab_host_seed(seed);
	begin(&of, number);
	lives_begin();
	store = store_make(&of, engine, layout, leaf_bytes_of(engine, layout), states.kind);
	longest = round_down(min(LONGEST, crab_blob_most(store, SAME_CRC_BYTES)), 8);
	if (states.run % 3)
		fill();
	for (i = 0; i < LIVES && !tap_faults; i++)
		live(&of);
	if (shadow->errors)
		tap_fail("run %llu: %s", states.run, shadow->error);
	crab_store_abandon(store);
	lives_end();
	crab_shadow_destroy(shadow);
	media_destroy(&of);
}

static void run_store(u32 number, u64 first, u64 runs)
{
	cuts = writes = states.reads = full = freed = 0;
	for (states.run = first; states.run < first + runs && !tap_faults; states.run++) {
		seed = states.run * 0x9e3779b97f4a7c15ULL | 1;
		run_one(number);
	}
	tap_ok(cuts > runs && writes > runs,
	       "%s/%s, kind %u: %llu runs, %llu cuts, %llu writes, %llu reads, %llu times full, %llu slabs emptied",
	       stores[number].engine, stores[number].layout, stores[number].kind, runs, cuts, writes, states.reads, full,
	       freed);
}

int main(int argc, char **argv)
{
	u64 runs = argc > 1 ? strtoull(argv[1], NULL, 0) : 30;
	u64 first = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	u32 i;

	crab_host_cpus = 1;
	for (i = 0; i < ARRAY_SIZE(stores); i++)
		if (argc < 4 || strtoul(argv[3], NULL, 0) == i)
			run_store(i, first, runs);
	return tap_done();
}

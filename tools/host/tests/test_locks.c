// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests, as tasks, calls that meet while each of them changes the same names, changes of a
 * watch, records, leaves or state of a store: the result is that of one after the other.
 *
 *   test_locks
 */
#include "engines/crab/crab.h"
#include "store/blob_commit.h"
#include "store/blob_priv.h"
#include "store/commit.h"
#include "store/gate.h"
#include "changes.h"
#include "tasks.h"
#include "test.h"

#define LEAF_BYTES	256U
#define LEAVES		300U
#define SEEDS		300U
#define TURNS		8U	/* of each task in a run */

static u8 value[1500];
static u64 run;			/* number of the run, from 1 on */
static u32 places = 40;		/* of a turn, on average, at most */

void *__real_crab_host_alloc(size_t size, size_t align, gfp_t gfp);
void *__wrap_crab_host_alloc(size_t size, size_t align, gfp_t gfp);

/* A task may lose its turn while it waits for memory */
void *__wrap_crab_host_alloc(size_t size, size_t align, gfp_t gfp)
{
	crab_task_point();
	return __real_crab_host_alloc(size, align, gfp);
}

static void begin(const char *engine, unsigned int kind)
{
	store_begin_of(CRAB_POOL_OFFSET + LEAVES * LEAF_BYTES, engine, "", LEAF_BYTES, kind);
}

static void meet(void (*one)(void *arg), void (*other)(void *arg), void *arg)
{
	const struct tasks_plan plan = { .seed = run * 7919, .pace = 1 + run % places };

	tasks_add(one, arg);
	tasks_add(other, arg);
	tap_check(tasks_run(&plan) == TASKS_DONE, "run %llu: the tasks come to no end", run);
}

/* Names */

static char name_of(u32 number)
{
	return 'a' + number;
}

static int name_put(u32 number)
{
	char name = name_of(number);

	return store_name_put(store, &name, 1, value, 8);
}

static int name_erase(u32 number)
{
	char name = name_of(number);

	return store_name_erase(store, &name, 1);
}

static void put_task(void *arg)
{
	u32 i;

	for (i = 0; i < TURNS; i++)
		tap_check(!name_put(0), "run %llu: put", run);
}

static void erase_task(void *arg)
{
	u32 i;
	int err;

	for (i = 0; i < TURNS; i++) {
		err = name_erase(0);
		tap_check(!err || err == -ENOENT, "run %llu: erase: %d", run, err);
	}
}

/* CHECK compares the names in the table with those of the blobs */
static void test_erased(void)
{
	for (run = 1; run <= SEEDS; run++) {
		begin("crab", STORE_NAMES);
		tap_check(!name_put(0), "put");
		meet(put_task, erase_task, NULL);
		store_check_good(store);
		store_end(store);
	}
	tap_ok(true, "a name is put while it is erased, with %u seeds", SEEDS);
}

static void new_task(void *arg)
{
	u32 i;

	for (i = 0; i < TURNS; i++)
		tap_check(!name_put(i), "run %llu: put", run);
}

static void test_new(void)
{
	u32 i;

	for (run = 1; run <= SEEDS; run++) {
		begin("crab", STORE_NAMES);
		meet(new_task, new_task, NULL);
		for (i = 0; i < TURNS; i++) {
			tap_check(!name_erase(i), "run %llu: erase", run);
			tap_check(name_erase(i) == -ENOENT, "run %llu: name %u is there twice", run, i);
		}
		store_check_good(store);
		store_end(store);
	}
	tap_ok(true, "two tasks put the same new names, with %u seeds", SEEDS);
}

/* Writes of one key on conditions */

#define PUTS		(4 * TURNS)

static u64 put_version[PUTS], erased_version[PUTS];
static bool put_existed[PUTS];
static u32 erased, created;

static void create_task(void *arg)
{
	u32 i;
	int err;

	for (i = 0; i < TURNS; i++) {
		struct crab_blob_write put = {
			.key = i, .data = value, .bytes = 8, .mode = CRAB_INSERT_CREATE,
		};

		err = crab_blob_put(store, &put);
		tap_check(!err || err == -EEXIST, "run %llu: put: %d", run, err);
		created += !err;
	}
}

static void test_created(void)
{
	for (run = 1; run <= SEEDS; run++) {
		created = 0;
		begin("crab", STORE_BLOBS);
		meet(create_task, create_task, NULL);
		tap_check(created == TURNS, "run %llu: %u keys are created", run, created);
		store_end(store);
	}
	tap_ok(true, "two tasks create the same keys, with %u seeds", SEEDS);
}

static void replace_task(void *arg)
{
	u32 i;

	for (i = 0; i < PUTS; i++) {
		struct crab_blob_write put = { .key = 1, .data = value, .bytes = 8 };

		tap_check(!crab_blob_put(store, &put), "put");
		put_version[i] = put.version;
		put_existed[i] = put.existed;
	}
}

/* The version that it read, unless another one has replaced it */
static void checked_task(void *arg)
{
	u32 i;

	for (i = 0; i < PUTS; i++) {
		struct crab_blob_read get = { .key = 1 };
		struct crab_blob_write erase = { .key = 1, .checked = true };

		if (crab_blob_get(store, &get) == -ENOENT)
			continue;
		erase.version = get.version;
		if (!crab_blob_erase(store, &erase))
			erased_version[erased++] = get.version;
	}
}

static bool is_erased(u64 version)
{
	u32 i;

	for (i = 0; i < erased; i++)
		if (erased_version[i] == version)
			return true;
	return false;
}

static void test_checked(void)
{
	u32 i;

	for (run = 1; run <= SEEDS; run++) {
		erased = 0;
		begin("crab", STORE_BLOBS);
		meet(replace_task, checked_task, NULL);
		for (i = 1; i < PUTS; i++)
			tap_check(put_existed[i] != is_erased(put_version[i - 1]),
				  "run %llu: put %u, and the one before is erased or not", run, i);
		store_end(store);
	}
	tap_ok(true, "a key is erased by its version while it is replaced, with %u seeds", SEEDS);
}

/* Changes of a watch: so long that few are in a page of its queue */

#define CHANGES		40U	/* that may wait */
#define NAME_BYTES	CRAB_NAME_MAX

static struct crab_watch *watch;
static struct crab_change changes[CHANGES];
static struct crab_change_name names[CHANGES];

static void report(u64 first, u64 last)
{
	static const char name[NAME_BYTES];
	struct crab_change change = {
		.verb = CRAB_VERB_INSERT, .name = name, .name_bytes = NAME_BYTES,
	};

	for (change.value = first; change.value <= last; change.value++)
		crab_watch_report_one(store->gate, &change);
}

static void report_task(void *arg)
{
	unsigned long n = (unsigned long)arg;

	report(n + 1, n + 3);
}

static void take_task(void *arg)
{
	crab_watch_take(watch, changes, (unsigned long)arg);
}

static void watch_begin(void)
{
	const struct crab_watch_options options = {
		.prefix = "", .entries = CHANGES, .wake = wake_none,
	};

	begin("crab", STORE_NAMES);
	tap_check(crab_store_observe(store) >= 0, "observe");
	watch = crab_watch_open(store, &options);
}

static void watch_end(void)
{
	crab_watch_close(watch);
	store_end(store);
}

/* Changes in the first page of a queue: the next one needs memory */
static u32 changes_fit(void)
{
	unsigned long allocs;
	u32 n = 0;

	watch_begin();
	allocs = crab_host_allocs;
	for (; crab_host_allocs == allocs; n++)
		report(n + 1, n + 1);
	watch_end();
	return n - 1;
}

/* Those that the reader has read before are taken, and the others wait */
static void taken_run(unsigned long n)
{
	u32 i;

	watch_begin();
	report(1, n);
	tap_check(crab_watch_read(watch, changes, names, CHANGES) == n, "read");
	meet(take_task, report_task, (void *)n);
	tap_check(crab_watch_read(watch, changes, names, CHANGES) == 3, "run %llu: changes are lost", run);
	for (i = 0; i < 3; i++)
		tap_check(changes[i].value == n + 1 + i && changes[i].seq == n + 1 + i,
			  "run %llu: change %llu, number %llu, after %lu", run, changes[i].value,
			  changes[i].seq, n);
	crab_watch_take(watch, changes, 3);
	report(n + 4, n + 4);
	tap_check(crab_watch_read(watch, changes, names, CHANGES) == 1 && changes->value == n + 4,
		  "run %llu: change %llu after %lu", run, changes->value, n + 3);
	watch_end();
}

static void test_taken(void)
{
	u32 n = changes_fit(), before = places;

	places = 5;
	for (run = 1; run <= SEEDS; run++)
		taken_run(n);
	places = before;
	tap_ok(true, "changes are taken while others are reported, with %u seeds", SEEDS);
}

/*
 * A put that takes a slab while a commit keeps leaves. There are enough for the slab, or for the commit,
 * each of whose writes splits a leaf
 */

#define WRITES		4U
#define SLAB		8U	/* leaves of a slab */
#define FREE		(SLAB + 4)	/* and those that remain in any case */
#define LONG		1500U	/* of a class that has no slab yet */

static const struct crab_engine_ops *own;
static u64 keys[WRITES];
static bool keeping;
static int err_put, err_commit;

static bool is_full(u64 key)
{
	const struct crab_leaf *leaf;
	bool full;

	rcu_read_lock();
	leaf = crab_leaf_find(crab_tree_of(store->engine), key);
	full = leaf->count == crab_tiny_slots;
	rcu_read_unlock();
	return full;
}

/* New keys, each in a full leaf of its own */
static void keys_choose(void)
{
	u64 key = 5;
	u32 i;

	/* As many as leave an extent for each write */
	for (i = 0; i < 15 * WRITES; i++)
		tap_check(!store_blob_put(store, 10 * i, value, 8), "put");
	for (i = 0; i < WRITES; i++) {
		for (key += 50; !is_full(key); key += 10)
			;
		keys[i] = key;
	}
}

static void leaves_take(struct crab_pool *pool)
{
	struct crab_spare spare;
	u64 first, last = 0;

	while (!crab_pool_alloc_run(pool, SLAB, LEAVES, 0, &first))
		last = first;
	while (pool->free > FREE - SLAB && !crab_pool_alloc(pool, &spare, 1, 0))
		;
	crab_pool_free_run(pool, last, SLAB);
	tap_check(pool->free == FREE, "%llu leaves are free", pool->free);
}

/* The commit is about to keep leaves: it goes on after another number of places in each run */
static int takes(struct crab_engine *engine, u32 writes)
{
	u32 i;

	keeping = true;
	for (i = run % 128; i; i--)
		crab_task_point();
	return own->takes(engine, writes);
}

static void slab_task(void *arg)
{
	u64 key = 0;

	while (!READ_ONCE(keeping))
		;
	while (crab_blob_stripe(store->blobs, key)->held)	/* by the commit */
		key += 10;
	err_put = store_blob_put(store, key, value, LONG);
}

static void commit_task(void *arg)
{
	static struct crab_blob_commit commit;
	u32 i;

	commit.n = WRITES;
	for (i = 0; i < WRITES; i++)
		commit.ops[i] = (struct crab_blob_op){
			.verb = CRAB_VERB_INSERT, .write = { .key = keys[i], .data = value, .bytes = 8 },
		};
	err_commit = crab_blob_commit(store, &commit);
}

static void test_kept(void)
{
	struct crab_engine_ops ops;
	u32 refused = 0;

	crab_tiny_slots = 2;
	for (run = 1; run <= SEEDS; run++) {
		begin("crab", STORE_BLOBS | STORE_COMMITS);
		keys_choose();
		leaves_take(store->engine->pool);
		keeping = false;
		own = store->engine->own;
		ops = *own;
		ops.takes = takes;
		store->engine->own = &ops;
		meet(slab_task, commit_task, NULL);
		tap_check(!crab_store_is_readonly(store), "run %llu: read-only: %s", run, store->reason);
		tap_check(!err_commit || err_commit == -ENOSPC, "run %llu: commit: %d", run, err_commit);
		tap_check(!err_put || err_put == -ENOSPC, "run %llu: put: %d", run, err_put);
		refused += !err_put && err_commit;
		store->engine->own = own;
		store_end(store);
	}
	crab_tiny_slots = 0;
	tap_ok(refused && refused < SEEDS, "a commit while a put takes a slab: refused %u times of %u", refused,
	       SEEDS);
}

/* Commits, and other writes of their keys */

#define TOKEN		7U	/* a key that only the other task creates */

static void sums_task(void *arg)
{
	struct crab_commit commit;
	u32 i;
	int err;

	for (i = 0; i < TURNS; i++) {
		memset(&commit, 0, sizeof(commit));
		commit.n = 3;
		commit.ops[0] = (struct crab_batch_op){
			.verb = CRAB_VERB_INSERT, .mode = CRAB_INSERT_ADD, .key = 1, .value = 1,
		};
		commit.ops[1] = commit.ops[0];
		commit.ops[1].key = 2;
		commit.ops[2] = (struct crab_batch_op){
			.verb = CRAB_VERB_INSERT, .key = TOKEN, .value = i,
		};
		commit.when[2] = CRAB_WHEN_EXISTS;
		do
			err = crab_store_commit(store, &commit);
		while (err == -ENOENT);
		tap_check(!err, "run %llu: commit: %d", run, err);
	}
}

static void add_batch(void)
{
	struct crab_batch_op ops[2] = {
		{ .verb = CRAB_VERB_INSERT, .mode = CRAB_INSERT_ADD, .key = 1, .value = 1 },
		{ .verb = CRAB_VERB_INSERT, .mode = CRAB_INSERT_ADD, .key = 2, .value = 1 },
	};

	crab_store_batch(store, ops, 2);
	tap_check(!ops[0].status && !ops[1].status, "batch");
}

static void writes_task(void *arg)
{
	u32 i;

	for (i = 0; i < TURNS; i++) {
		tap_check(!store_insert(store, 1, 1, CRAB_INSERT_ADD), "add");
		tap_check(!store_insert(store, 2, 1, CRAB_INSERT_ADD), "add");
		add_batch();
		tap_check(!store_delete(store, TOKEN), "delete");
		tap_check(store_search(store, TOKEN) == -ENOENT, "run %llu: the deleted key is back", run);
		tap_check(!store_put(store, TOKEN, 0), "put");
	}
}

static void test_sums(const char *engine)
{
	u64 sum, i;

	for (run = 1; run <= SEEDS; run++) {
		begin(engine, STORE_COMMITS);
		tap_check(!store_put(store, TOKEN, 0), "put");
		meet(sums_task, writes_task, NULL);
		for (i = 1; i <= 2; i++)
			tap_check(!crab_store_search(store, i, &sum) && sum == 3 * TURNS,
				  "run %llu: sum %llu is %llu", run, i, sum);
		store_end(store);
	}
	tap_ok(true, "%s: commits and other writes of their keys, with %u seeds", engine, SEEDS);
}

/* The state of a store */

static void gate_task(void *arg)
{
	tap_check(crab_store_observe(store) >= 0, "observe");
	crab_store_unobserve(store);
}

static void readonly_task(void *arg)
{
	crab_store_set_readonly(store, "a test");
}

static void test_readonly(void)
{
	for (run = 1; run <= SEEDS; run++) {
		begin("crab", STORE_RECORDS);
		meet(gate_task, readonly_task, NULL);
		tap_check(store_put(store, 1, 1) == -EROFS, "run %llu: a write is not refused", run);
		store_end(store);
	}
	tap_ok(true, "a store becomes read-only while its gate is switched, with %u seeds", SEEDS);
}

/* Damage: the number of births is too low, and two writers find that out */

static u64 births[2];
static u32 begun, found;

static void damaged_task(void *arg)
{
	u32 i = begun++;
	struct crab_blob_write erase = { .key = 1 + i, .checked = true, .version = births[i] };
	int err = crab_blob_erase(store, &erase);

	tap_check(err == -EUCLEAN || err == -EROFS, "run %llu: erase: %d", run, err);
	found += err == -EUCLEAN;
}

static void test_found(void)
{
	struct crab_blob_write put = { .data = value, .bytes = 8 };
	u32 both = 0, i;

	for (run = 1; run <= SEEDS; run++) {
		begun = 0;
		found = 0;
		begin("crab", STORE_BLOBS);
		for (i = 0; i < 2; i++) {
			put.key = 1 + i;
			tap_check(!crab_blob_put(store, &put), "put");
			births[i] = put.version;
		}
		store->blobs->birth = births[0];
		meet(damaged_task, damaged_task, NULL);
		tap_check(store->engine->found.count == found, "run %llu: %llu of %u are counted", run,
			  store->engine->found.count, found);
		tap_check(strstr(store->reason, store->engine->found.what), "run %llu: %s", run, store->reason);
		both += found == 2;
		store_end(store);
	}
	tap_ok(both, "two writers find damage at once in %u runs of %u", both, SEEDS);
}

int main(void)
{
	crab_host_cpus = 1;
	test_erased();
	test_new();
	test_created();
	test_checked();
	test_taken();
	test_kept();
	test_sums("crab");
	test_sums("nvtree");
	test_sums("fastfair");
	test_sums("clfb");
	test_sums("nbtree");
	test_readonly();
	test_found();
	return tap_done();
}

// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests memory that fails under the layout `eadr` of nbtree while a write changes the
 * structure: the write stays at each of its places in turn, and the memory fails of the fresh leaves
 * of a split, of the old one, of the one before it, or of a leaf that becomes empty.
 *
 * Then no other task accesses that memory, whether the index leads to the leaves already or not.
 * The write does not, either, when it goes on: the quarantine waits for its RCU section, as
 * test_failing shows. As long as the old leaf is not gone, it serves its records.
 *
 *   test_badtasks
 */
#include <signal.h>
#include <sys/mman.h>

#include "engines/nbtree/eadr/eadr.h"
#include "tasks.h"
#include "test.h"

#define LEAF_BYTES	1024U
#define SLOTS		4U
#define PAGE		4096U		/* FORMAT uses its four leaves, a split takes the next two */
#define PAGES		4U
#define QUARTER		(1ULL << EA_STATE_SHIFT)	/* the lowest key of the second one */

/* Where the insert stays */
enum phase {
	PHASE_BEFORE,
	PHASE_TAKEN,		/* it has the fresh leaves, no other task knows them */
	PHASE_PUBLISHED,
	PHASE_GONE,		/* they are in use, and the index does not lead to them */
	PHASE_INDEX,		/* it does */
	PHASES,
};

/* A page fails, and a write stays at each of its places */
struct scene {
	const char *what;
	u32 page;		/* of the pool */
	void (*prepare)(void);
	void (*write)(void *arg);
	bool fresh;		/* the page has the fresh leaves alone */
};

static struct {
	struct crab_media media;
	struct crab_store *store;
	const struct scene *scene;
	struct nb_leaf *leaf;	/* the old one */
	u64 page;		/* offset of the page that fails */
	bool failed;		/* the page has */
	u32 faults;		/* accesses to it since */
	u32 seen[PHASES];
} bad;

static void page_protect(int how)
{
	bad.failed = how == PROT_NONE;
	mprotect(bad.media.base + bad.page, PAGE, how);
}

static void on_fault(int number, siginfo_t *info, void *context)
{
	u8 *at = info->si_addr, *page = bad.media.base + bad.page;

	if (!bad.failed || at < page || at >= page + PAGE) {
		signal(SIGSEGV, SIG_DFL);
		return;
	}
	bad.faults++;
	page_protect(PROT_READ | PROT_WRITE);
}

static enum phase phase_of(struct ea_tree *tree)
{
	if (atomic64_read(&tree->retired))
		return PHASE_INDEX;
	if (bad.leaf->gone)
		return PHASE_GONE;
	if (bad.leaf->smo)
		return PHASE_PUBLISHED;
	return atomic64_read(&tree->begun) ? PHASE_TAKEN : PHASE_BEFORE;
}

static int put(u64 key)
{
	return store_insert(bad.store, key, key, CRAB_INSERT_CREATE);
}

/* A full leaf */
static void fill(u64 from)
{
	u64 key;

	for (key = 10; key <= 10 * SLOTS; key += 10)
		tap_check(!put(from + key), "insert of %llu", from + key);
}

/* The writes that stay at their places */
static void ended(int err)
{
	tap_check(!err || err == -EUCLEAN || err == -EROFS, "the write: %d", err);
}

static void split(void *arg)
{
	ended(put(25));
}

static void split_second(void *arg)
{
	ended(put(QUARTER + 25));
}

static void empty(void *arg)
{
	ended(store_delete(bad.store, 30));
}

static void prepare_full(void)
{
	fill(0);
}

/* The last leaf of a full quarter is in the second page, as are all before it that are not free */
static void prepare_before(void)
{
	fill(0);
	fill(2 * QUARTER);
	tap_check(!put(25) && !put(2 * QUARTER + 25), "splits");
	while (crab_store_maintain(bad.store))
		;
	fill(QUARTER);
}

/* A leaf with one record, 30, after another one */
static void prepare_single(void)
{
	fill(0);
	tap_check(!put(25) && !store_delete(bad.store, 40), "the second leaf");
}

static void read_all(bool lost)
{
	u64 key, value = 0;
	int err;

	for (key = 10; key <= 10 * SLOTS; key += 10) {
		err = crab_store_search(bad.store, key, &value);
		tap_check(lost ? err == -EUCLEAN : !err && value == key, "search of %llu: %d", key, err);
	}
}

/* An insert and an update that found the store writable before the memory failed */
static void write_late(u64 key)
{
	struct crab_engine *engine = bad.store->engine;
	struct crab_flow flow = { .media = &bad.media };
	struct crab_old old;
	int err = engine->ops->insert(engine, &flow, key + 1, key, CRAB_INSERT_EITHER, &old);

	tap_check(err == -EUCLEAN, "late insert: %d", err);
	err = engine->ops->insert(engine, &flow, key, key, CRAB_INSERT_EITHER, &old);
	tap_check(!err || err == -EUCLEAN, "late update: %d", err);
}

/* Any record may be lost with another page, or be changed by the write */
static void access_all(void)
{
	struct crab_engine *engine = bad.store->engine;
	struct crab_flow flow = { .media = &bad.media };
	struct crab_record record;
	struct crab_old old;
	u64 key;
	int err;

	for (key = 5; key < 3 * QUARTER; key = key > 60 ? key + QUARTER - 60 : key + 5) {
		err = store_search(bad.store, key);
		tap_check(!err || err == -ENOENT || err == -EUCLEAN, "search of %llu: %d", key, err);
		crab_store_seek(bad.store, key, CRAB_SEEK_GE, &record);
		crab_store_seek(bad.store, key, CRAB_SEEK_LE, &record);
		err = engine->ops->insert(engine, &flow, key, key, CRAB_INSERT_EITHER, &old);
		tap_check(!err || err == -EUCLEAN, "late insert: %d", err);
		err = engine->ops->remove(engine, &flow, key, &old);
		tap_check(!err || err == -ENOENT || err == -EUCLEAN, "late delete: %d", err);
	}
}

static void access_fresh(enum phase phase)
{
	u64 key;

	read_all(phase >= PHASE_GONE);
	for (key = 10; key <= 10 * SLOTS; key += 10)
		write_late(key);
}

/* Not while the write holds a lock or is in an RCU section, for which quarantine would wait */
static void fail(void *arg)
{
	struct ea_tree *tree = ea_tree_of(bad.store->engine);
	struct crab_check_report report;
	enum phase phase = phase_of(tree);

	if (tree->nb.smo_lock.held || tree->nb.pool.lock.held || tasks_parked_reads())
		return;
	bad.seen[phase]++;
	crab_store_fail(bad.store, bad.page, PAGE);
	page_protect(PROT_NONE);
	if (bad.scene->fresh)
		access_fresh(phase);
	else
		access_all();
	crab_store_maintain(bad.store);
	crab_store_check(bad.store, &report);
}

static void run_place(u32 place)
{
	struct tasks_plan plan = { .seed = 1, .pace = 1, .park = place };

	bad.media = media_create(CRAB_POOL_OFFSET + PAGES * PAGE);
	bad.store = store_format_attach(&bad.media, "nbtree", "eadr", LEAF_BYTES);
	bad.page = crab_leaf_offset(&bad.store->engine->geo, bad.scene->page * EA_QUARTERS);
	bad.scene->prepare();
	bad.leaf = crab_index_find(&nb_tree_of(bad.store->engine)->index, 25);
	bad.faults = 0;
	tasks_add(bad.scene->write, NULL);
	tasks_add(fail, NULL);
	tap_check(tasks_run(&plan) == TASKS_DONE, "place %u: the tasks come to no end", place);
	tap_check(!bad.faults, "place %u: memory that failed is accessed", place);
	page_protect(PROT_READ | PROT_WRITE);
	store_end(bad.store);
}

static void run_scene(const struct scene *scene)
{
	u32 place = 0, phase, seen = 0;

	bad.scene = scene;
	memset(bad.seen, 0, sizeof(bad.seen));
	do
		run_place(++place);
	while (tasks_parked());
	for (phase = 0; phase < PHASES; phase++) {
		tap_check(bad.seen[phase] || !scene->fresh, "the write never stays in phase %u", phase);
		seen += bad.seen[phase];
	}
	tap_ok(seen > 10, "eadr: memory of %s fails at each of %u places of a write: no access since",
	       scene->what, place - 1);
}

static const struct scene scenes[] = {
	{ "fresh leaves", 1, prepare_full, split, true },
	{ "the old leaf", 0, prepare_full, split, false },
	{ "the leaf before", 1, prepare_before, split_second, false },
	{ "a leaf that gets empty", 1, prepare_single, empty, false },
};

int main(void)
{
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	u32 i;

	sigaction(SIGSEGV, &action, NULL);
	crab_host_log = NULL;
	crab_host_cpus = 1;
	crab_tiny_slots = SLOTS;
	for (i = 0; i < ARRAY_SIZE(scenes); i++)
		run_scene(&scenes[i]);
	return tap_done();
}

// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests memory that fails under the layout `eadr` of nbtree while an insert splits a leaf:
 * the insert stays at each of its places in turn, and the memory of the fresh leaves fails.
 *
 * Then no other task accesses that memory, whether the index leads to the leaves already or not.
 * The insert does not, either, when it goes on: the quarantine waits for its RCU section, as
 * test_failing shows. As long as the old leaf is not gone, it serves its records.
 *
 *   test_badtasks
 */
#include <signal.h>
#include <sys/mman.h>

#include <linux/errno.h>
#include <linux/kernel.h>

#include "engines/nbtree/eadr/eadr.h"
#include "model.h"
#include "store/store_priv.h"
#include "tap.h"
#include "tasks.h"

#define LEAF_BYTES	1024U
#define SLOTS		4U
#define PAGE		4096U		/* FORMAT uses its four leaves, a split takes the next two */
#define PAGES		4U

/* Where the insert stays */
enum phase {
	PHASE_BEFORE,
	PHASE_TAKEN,		/* it has the fresh leaves, no other task knows them */
	PHASE_PUBLISHED,
	PHASE_GONE,		/* they are in use, and the index does not lead to them */
	PHASE_INDEX,		/* it does */
	PHASES,
};

static struct {
	struct crab_media media;
	struct crab_store *store;
	struct nb_leaf *leaf;	/* the old one */
	u64 page;		/* offset of the page of the fresh leaves */
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

static void split(void *arg)
{
	struct crab_old old;
	int err = crab_store_insert(bad.store, 25, 25, CRAB_INSERT_CREATE, &old);

	tap_check(!err || err == -EUCLEAN || err == -ENOSPC || err == -EROFS, "insert: %d", err);
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

	tap_check(err == -EUCLEAN || err == -ENOSPC, "late insert: %d", err);
	err = engine->ops->insert(engine, &flow, key, key, CRAB_INSERT_EITHER, &old);
	tap_check(!err || err == -EUCLEAN, "late update: %d", err);
}

/* Not while the insert holds a lock or is in an RCU section, for which quarantine would wait */
static void fail(void *arg)
{
	struct ea_tree *tree = ea_tree_of(bad.store->engine);
	struct crab_check_report report;
	enum phase phase = phase_of(tree);
	u64 key;

	if (tree->nb.smo_lock.held || tree->nb.pool.lock.held || tasks_parked_reads())
		return;
	bad.seen[phase]++;
	crab_store_fail(bad.store, bad.page, PAGE);
	page_protect(PROT_NONE);
	read_all(phase >= PHASE_GONE);
	for (key = 10; key <= 10 * SLOTS; key += 10)
		write_late(key);
	crab_store_maintain(bad.store);
	crab_store_check(bad.store, &report);
}

static void run_place(u32 place)
{
	struct tasks_plan plan = { .seed = 1, .pace = 1, .park = place };
	struct crab_old old;
	u64 key;

	bad.media = media_create(CRAB_POOL_OFFSET + PAGES * PAGE);
	bad.store = store_format_attach(&bad.media, "nbtree", "eadr", LEAF_BYTES);
	bad.page = crab_leaf_offset(&bad.store->engine->geo, EA_QUARTERS);
	for (key = 10; key <= 10 * SLOTS; key += 10)
		tap_check(!crab_store_insert(bad.store, key, key, CRAB_INSERT_CREATE, &old), "insert");
	bad.leaf = crab_index_find(&nb_tree_of(bad.store->engine)->index, 25);
	bad.faults = 0;
	tasks_add(split, NULL);
	tasks_add(fail, NULL);
	tap_check(tasks_run(&plan) == TASKS_DONE, "place %u: the tasks come to no end", place);
	tap_check(!bad.faults, "place %u: memory that failed is accessed", place);
	page_protect(PROT_READ | PROT_WRITE);
	crab_store_detach(bad.store);
	media_destroy(&bad.media);
}

static void quiet(char level, const char *line)
{
}

int main(void)
{
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };
	u32 place = 0, phase;

	if (crab_persist_init())
		return 2;
	sigaction(SIGSEGV, &action, NULL);
	crab_host_log = quiet;
	crab_host_cpus = 1;
	crab_tiny_slots = SLOTS;
	do
		run_place(++place);
	while (tasks_parked());
	for (phase = 0; phase < PHASES; phase++)
		tap_check(bad.seen[phase], "the insert never stays in phase %u", phase);
	tap_ok(true, "eadr: memory of fresh leaves fails at each of %u places of an insert: no access since",
	       place - 1);
	return tap_done();
}

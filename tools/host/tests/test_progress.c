// SPDX-License-Identifier: GPL-2.0
/*
 * This file shows the progress of the layout `eadr` of nbtree: a task stays for good in one phase of
 * a write, and the others finish 1,000 operations on the same keys within a bound of places. Then
 * the task goes on, or the power is cut, and the results of all must have an explanation.
 *
 * The write is an insert that splits its leaf, or a delete that unlinks it. First the task stays at
 * each of its places in turn, while the others do a few operations. The first place of each
 * phase is then that of 1,000 operations.
 *
 * There is one exception: an operation that needs a free leaf waits for the task if that holds the
 * lock of the pool; and if no leaf is free, also if it holds nb_tree.smo_lock or is in an RCU
 * section. The test expects that, too. One of two inserts that need the last leaves gets them.
 *
 * Two tasks that are late with an unlink make neither CHECK nor a search wrong.
 *
 *   test_progress [OPERATIONS]	of each other task at every place; default 20
 */
#include "engines/nbtree/eadr/eadr.h"
#include "test.h"
#include "trial.h"

#define OTHERS		2
#define OPS		500	/* of each of the others, in a phase: 1,000 together */
#define OPS_WITHOUT	2000	/* with few leaves */
#define RIVALS		400	/* seeds; with leaves taken one by one, both fail with 3 of them */
#define LATE		5	/* seeds of the orders of three tasks */
#define PLACES_MAX	2000	/* that one operation may pass; measured: 784 */

enum phase {
	PHASE_BEFORE, PHASE_POOL, PHASE_USED, PHASE_DELETED, PHASE_TAKEN, PHASE_CLOSING, PHASE_PUBLISHED,
	PHASE_FREEZING, PHASE_FROZEN, PHASE_MARKED, PHASE_COPYING, PHASE_COPIED, PHASE_LINKED,
	PHASE_GONE, PHASE_QUEUED, PHASE_INDEX, PHASE_RETIRED, PHASES,
};

static const char * const phase_names[PHASES] = {
	"before it changes anything", "in the pool", "with its slot used", "with its record deleted",
	"with fresh leaves", "while it makes free slots dead", "with its modification published",
	"with one record frozen", "with all records frozen", "with the link frozen",
	"with a part copied", "with all copied", "with the list changed", "with the leaf gone",
	"with the leaf queued", "while it changes the index", "with the leaf retired",
};

/* In the order of a split and of an unlink */
static const struct scenario {
	const char *name;
	u32 keys;		/* bits: the keys before the write */
	enum history_verb verb;
	u32 key;
	u32 from;		/* the others use the keys from this number on */
	u32 phases;		/* bits: those of which it must meet one place at least */
} scenarios[] = {
	{ "an insert that splits a leaf", 0x1df, HISTORY_INSERT, 5, 0,
	  BIT(PHASE_BEFORE) | BIT(PHASE_POOL) | BIT(PHASE_TAKEN) | BIT(PHASE_PUBLISHED) | BIT(PHASE_FREEZING) |
	  BIT(PHASE_FROZEN) | BIT(PHASE_MARKED) | BIT(PHASE_COPYING) | BIT(PHASE_COPIED) |
	  BIT(PHASE_LINKED) | BIT(PHASE_GONE) | BIT(PHASE_QUEUED) | BIT(PHASE_USED) |
	  BIT(PHASE_INDEX) | BIT(PHASE_RETIRED) },
	{ "a delete that unlinks a leaf", 0x1f, HISTORY_DELETE, 4, 0,
	  BIT(PHASE_BEFORE) | BIT(PHASE_DELETED) | BIT(PHASE_CLOSING) | BIT(PHASE_PUBLISHED) |
	  BIT(PHASE_MARKED) | BIT(PHASE_LINKED) | BIT(PHASE_GONE) | BIT(PHASE_QUEUED) |
	  BIT(PHASE_RETIRED) },
	/* Nothing leads them to the frozen leaf but the split of the leaf after it */
	{ "an insert that splits the leaf before those of the others", 0x1fd, HISTORY_INSERT, 1, 5,
	  BIT(PHASE_PUBLISHED) | BIT(PHASE_FROZEN) | BIT(PHASE_MARKED) | BIT(PHASE_COPIED) |
	  BIT(PHASE_LINKED) },
};

static const struct subject subject = {
	"eadr, a parked task", "nbtree", "eadr", 128, 4, 2400, 10, 1 + OTHERS, false, { { 0 } }, false,
};

/* So few leaves that the others soon need those that were replaced */
static const struct subject subject_few = {
	"eadr, a parked task, few leaves", "nbtree", "eadr", 128, 4, 24, 10, 1 + OTHERS, false,
	{ { 0 } }, false,
};

/**
 * struct run - a run of the tasks
 * @parked: the task
 * @scenario: its write
 * @leaf: the leaf of its key, before
 * @retired: leaves that were retired before
 * @begun: the same for modifications
 * @phase: out: where it stays
 * @blocks: out: it holds a lock, or is in an RCU section
 */
struct run {
	struct trial_parked parked;
	const struct scenario *scenario;
	struct nb_leaf *leaf;
	u64 retired;
	u64 begun;
	enum phase phase;
	bool blocks;
};

static void prepare(struct trial_parked *parked, struct crab_store *store, const u64 *keys)
{
	struct run *run = container_of(parked, struct run, parked);
	struct ea_tree *tree = ea_tree_of(store->engine);
	u32 i;

	for (i = 0; i < subject.keys; i++)
		if (run->scenario->keys >> i & 1)
			tap_check(!store_insert(store, keys[i], 1 + i, CRAB_INSERT_CREATE),
				  "insert %u", i);
	run->leaf = crab_index_find(&tree->nb.index, keys[run->scenario->key]);
	run->retired = atomic64_read(&tree->retired);
	run->begun = atomic64_read(&tree->begun);
}

/* Without a place at which another task could run */
static u64 word(struct ea_tree *tree, struct nb_leaf *leaf, u32 slot)
{
	return le64_to_cpu(nb_leaf_media(&tree->nb, leaf)->slot[slot].key);
}

static u32 count(struct ea_tree *tree, struct nb_leaf *leaf, bool (*is)(u64 word))
{
	u32 slot, n = 0;

	for (slot = 0; leaf && slot < tree->nb.room; slot++)
		n += is(word(tree, leaf, slot));
	return n;
}

static bool is_taken(u64 word)
{
	return word != EA_FREE;
}

static bool is_dead(u64 word)
{
	return word == EA_DEAD;
}

/* Slots of the fresh leaves that are not free */
static u32 count_fresh(struct ea_tree *tree, struct nb_leaf *leaf)
{
	return count(tree, leaf->smo->fresh[0], is_taken) + count(tree, leaf->smo->fresh[1], is_taken);
}

/* While the leaf moves: the list does not have the fresh leaves yet */
static enum phase phase_moving(struct ea_tree *tree, struct nb_leaf *leaf)
{
	u32 frozen = count(tree, leaf, ea_is_frozen), copied = count_fresh(tree, leaf);
	u64 link = le64_to_cpu(nb_leaf_media(&tree->nb, leaf)->head.next);

	if (!(link & EA_LINK_MARK))
		return !frozen ? PHASE_PUBLISHED : frozen < tree->nb.room ? PHASE_FREEZING : PHASE_FROZEN;
	if (!copied)
		return PHASE_MARKED;
	return copied < frozen ? PHASE_COPYING : PHASE_COPIED;
}

static bool leads_to(const __le64 *link, const struct nb_leaf *leaf)
{
	return (le64_to_cpu(*link) & CRAB_LINK_MASK & ~EA_LINK_MARK) == leaf->number + 1;
}

/* Does a link of the list lead to the leaf? */
static bool is_linked(struct ea_tree *tree, struct nb_leaf *leaf)
{
	const struct nb_leaf *other;
	u64 i;

	for (i = 0; i < tree->nb.base.geo.leaves; i++) {
		other = tree->nb.by_number[i];
		if (other && leads_to(&nb_leaf_media(&tree->nb, other)->head.next, leaf))
			return true;
	}
	return leads_to(&crab_list_head(tree->nb.base.media)->next, leaf);
}

static enum phase phase_of(struct run *run, struct ea_tree *tree)
{
	struct nb_leaf *leaf = run->leaf;

	if (tree->nb.pool.lock.held)
		return PHASE_POOL;
	if ((u64)atomic64_read(&tree->retired) != run->retired)
		return PHASE_RETIRED;
	if (leaf->smo && leaf->smo->fresh[0] && tree->nb.smo_lock.held)
		return PHASE_INDEX;
	if (leaf->smo && count_fresh(tree, leaf) > count(tree, leaf, ea_is_frozen))
		return PHASE_USED;
	if (leaf->queued)
		return PHASE_QUEUED;
	if (leaf->gone)
		return PHASE_GONE;
	if (leaf->smo)
		return is_linked(tree, leaf) ? phase_moving(tree, leaf) : PHASE_LINKED;
	if (tree->unlinking)
		return PHASE_CLOSING;
	if (count(tree, leaf, is_dead))
		return PHASE_DELETED;
	return (u64)atomic64_read(&tree->begun) != run->begun ? PHASE_TAKEN : PHASE_BEFORE;
}

static void look(struct trial_parked *parked, struct crab_engine *engine)
{
	struct run *run = container_of(parked, struct run, parked);
	struct ea_tree *tree = ea_tree_of(engine);

	run->phase = phase_of(run, tree);
	run->blocks = run->phase == PHASE_POOL || tree->nb.smo_lock.held || tasks_parked_reads();
}

static struct run run_at(const struct subject *subject, const struct scenario *scenario, u32 place,
			 u32 ops, bool cut)
{
	struct run run = {
		.parked = {
			.prepare = prepare, .look = look, .verb = scenario->verb,
			.key = scenario->key, .from = scenario->from, .place = place, .ops = ops, .cut = cut,
		},
		.scenario = scenario,
	};
	const char *said = trial_park(subject, place, &run.parked, stdout);
	bool stuck = run.parked.end == TASKS_STUCK && run.blocks &&
		     (subject == &subject_few || run.phase == PHASE_POOL);

	tap_check(!said || stuck, "%s, place %u, %s%s: %s", scenario->name, place,
		  phase_names[run.phase], cut ? ", cut" : "", said);
	return run;
}

/* At each place, until a fault; finds the first place of each phase */
static bool run_places(const struct scenario *scenario, u32 ops, u32 *first)
{
	struct run run;
	u32 place = 0;
	u64 most = 0;

	do {
		place++;
		run = run_at(&subject, scenario, place, ops, place % 2);
		if (run.parked.seen && !first[run.phase])
			first[run.phase] = place;
		most = max(most, run.parked.most);
	} while (run.parked.seen && !tap_faults);
	tap_check(most <= PLACES_MAX, "%llu places", most);
	return tap_ok(true, "%s, a task that stays at each of %u places: an operation of the others passes %llu places at most",
		      scenario->name, place - 1, most);
}

/* 1,000 operations: the task goes on, and again with a cut */
static void run_phase(const struct scenario *scenario, enum phase phase, u32 place)
{
	struct run on = run_at(&subject, scenario, place, OPS, false);
	struct run cut = run_at(&subject, scenario, place, OPS, true);
	u64 most = max(on.parked.most, cut.parked.most);

	tap_check(on.phase == phase && on.parked.seen, "phase %u, not %u", on.phase, phase);
	tap_check(on.parked.done == OTHERS * OPS && cut.parked.done == OTHERS * OPS,
		  "%llu and %llu operations", on.parked.done, cut.parked.done);
	tap_check(most <= PLACES_MAX, "%llu places", most);
	tap_ok(true, "%s stays %s: %llu operations of others, of %llu places at most", scenario->name,
	       phase_names[phase], on.parked.done, most);
}

/* With few leaves: the others wait where the task blocks the lock or a grace period, and only there */
static void run_few(const struct scenario *scenario, const u32 *first)
{
	u32 phase, waits = 0, ends = 0;
	struct run run;

	for (phase = 0; phase < PHASES; phase++) {
		if (!first[phase])
			continue;
		run = run_at(&subject_few, scenario, first[phase], OPS_WITHOUT, false);
		if (run.parked.end == TASKS_STUCK)
			waits++;
		else
			ends++;
		tap_check((run.parked.end == TASKS_STUCK) == run.blocks, "%s: blocks %u, ends %u",
			  phase_names[phase], run.blocks, run.parked.end);
	}
	tap_ok(waits && ends, "%s, few leaves: the others wait for free ones in %u phases, and end in %u",
	       scenario->name, waits, ends);
}

/* Two inserts into full leaves, while three leaves are free: each needs two */

struct rivals {
	struct crab_store *store;
	int err[2];
};

static int rival_put(struct crab_store *store, u64 rival, u64 key)
{
	return store_insert(store, (rival << EA_STATE_SHIFT) + key, 1, CRAB_INSERT_CREATE);
}

static struct rivals rivals;

static void rival(void *arg)
{
	u64 n = (unsigned long)arg;

	rivals.err[n] = rival_put(rivals.store, n, 25);
}

static bool rivals_both_fail(u64 seed)
{
	struct crab_media media = media_create(CRAB_POOL_OFFSET + (EA_QUARTERS + 3) * 128);
	struct tasks_plan plan = { .seed = seed * 7919, .pace = 1 + seed % 60 };
	u64 key;

	rivals.store = store_format_attach(&media, "nbtree", "eadr", 128);
	for (key = 10; key <= 50; key += 10)
		tap_check(!rival_put(rivals.store, 0, key) && !rival_put(rivals.store, 1, key),
			  "insert of %llu", key);
	tasks_add(rival, (void *)0);
	tasks_add(rival, (void *)1);
	tap_check(tasks_run(&plan) == TASKS_DONE, "seed %llu: the tasks come to no end", seed);
	store_end(rivals.store);
	return rivals.err[0] && rivals.err[1];
}

static void run_rivals(void)
{
	u64 seed;

	crab_tiny_slots = 0;
	for (seed = 1; seed <= RIVALS; seed++)
		tap_check(!rivals_both_fail(seed), "seed %llu: %d and %d", seed, rivals.err[0],
			  rivals.err[1]);
	tap_ok(true, "two inserts need the last leaves: one of them gets its own, %u times", RIVALS);
}

/*
 * The first task unlinks a leaf, the second one completes that. Each stays at a place of its own until
 * the third one has used the keys around.
 */

void __real_crab_task_switch(void);
void crab_task_wait(void);
unsigned int crab_host_this_cpu(void);

static struct late {
	struct crab_store *store;
	bool running;
	bool (*stays[2])(struct ea_tree *tree);	/* has the task come to its place? */
	bool there[2], passed[2];
	bool ended;				/* the first one */
} late;

/* Called at each place of a task */
void __wrap_crab_task_switch(void)
{
	u32 task = crab_host_this_cpu();

	if (late.running && task < 2 && !late.there[task] &&
	    late.stays[task](ea_tree_of(late.store->engine))) {
		late.there[task] = true;
		while (!late.passed[task])
			crab_task_wait();
	}
	__real_crab_task_switch();
	if (late.running)
		crab_task_left = 1;	/* the next place counts as well */
}

static bool is_published(struct ea_tree *tree)
{
	return tree->unlinking && tree->unlinking->smo;
}

static bool is_gone(struct ea_tree *tree)
{
	return tree->unlinking && tree->unlinking->gone;
}

/* The list has bypassed the leaf, which is not gone yet */
static bool is_bypassed(struct ea_tree *tree)
{
	return is_published(tree) && !is_gone(tree) && !is_linked(tree, tree->unlinking);
}

/* The same for the leaf before it, which a split replaces */
static bool is_split(struct ea_tree *tree)
{
	struct nb_leaf *leaf = crab_index_find(&tree->nb.index, 10);

	return leaf->smo && !leaf->gone && !is_linked(tree, leaf);
}

static void late_wait(const bool *flag)
{
	while (!*(const volatile bool *)flag)
		crab_task_wait();
}

static void late_unlink(void *arg)
{
	store_delete(late.store, 13);
	late.ended = true;
}

static void late_help(void *arg)
{
	late_wait(&late.there[0]);
	rival_put(late.store, 0, 11);
}

static void late_check(void *arg)
{
	late_wait(&late.there[1]);
	late.passed[0] = true;
	store_check_good(late.store);
	late.passed[1] = true;
}

static void late_insert(void *arg)
{
	u64 value = 0;

	late_wait(&late.there[1]);
	tap_check(!rival_put(late.store, 0, 12), "insert");
	late.passed[0] = true;
	late_wait(&late.ended);
	tap_check(!crab_store_search(late.store, 12, &value) && value == 1, "search");
	late.passed[1] = true;
}

/* The leaf of 13 has only this key */
static void late_run(u64 seed, void (*third)(void *arg))
{
	struct crab_media media = media_create(CRAB_POOL_OFFSET + 60 * 128);
	struct tasks_plan plan = { .seed = seed, .pace = 1 };
	u64 key;

	late.store = store_format_attach(&media, "nbtree", "eadr", 128);
	for (key = 1; key <= 16; key++)
		rival_put(late.store, 0, key);
	for (key = 11; key <= 15; key++)
		if (key != 13)
			store_delete(late.store, key);
	tasks_add(late_unlink, NULL);
	tasks_add(late_help, NULL);
	tasks_add(third, NULL);
	late.running = true;
	tap_check(tasks_run(&plan) == TASKS_DONE, "the tasks come to no end");
	late.running = false;
	tap_check(late.there[0] && late.there[1], "a task has not come to its place");
	store_end(late.store);
	late = (struct late) { };
}

static void run_late(void)
{
	u64 seed;

	for (seed = 1; seed <= LATE; seed++) {
		late.stays[0] = is_published;
		late.stays[1] = is_gone;
		late_run(seed, late_check);
	}
	tap_ok(true, "CHECK finds no damage while the task that is to queue an unlinked leaf is late");
	for (seed = 1; seed <= LATE; seed++) {
		late.stays[0] = is_bypassed;
		late.stays[1] = is_split;
		late_run(seed, late_insert);
	}
	tap_ok(true, "a search finds an insert that has returned, while the leaf of the key moves");
}

int main(int argc, char **argv)
{
	u32 ops = argc > 1 ? atoi(argv[1]) : 20, phase, i;

	for (i = 0; i < ARRAY_SIZE(scenarios); i++) {
		u32 first[PHASES] = { };

		if (!run_places(&scenarios[i], ops, first))
			break;
		for (phase = 0; phase < PHASES; phase++) {
			tap_check(first[phase] || !(scenarios[i].phases >> phase & 1),
				  "%s never stays %s", scenarios[i].name, phase_names[phase]);
			if (first[phase] && phase != PHASE_POOL)
				run_phase(&scenarios[i], phase, first[phase]);
		}
		run_few(&scenarios[i], first);
	}
	run_rivals();
	run_late();
	return tap_done();
}

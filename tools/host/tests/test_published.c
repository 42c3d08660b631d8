// SPDX-License-Identifier: GPL-2.0
/*
 * This file replays histories that the published NBTree gets wrong: a few tasks on one key, in one
 * interleaving, after which no order of their operations explains the results. The same operations
 * on the engine `nbtree`, in both layouts and in many random interleavings, always have an order.
 *
 *   test_published [NAME]	all histories, or one
 *
 * Invariant: an operation is judged by whether it found its key and by the value that it read; the
 * published updates do not return more. Only the key KEY is judged; the others fill leaves.
 */
#include "published_nbtree.h"
#include "tasks.h"
#include "test.h"

#define SEEDS		1000	/* of each layout */
#define KEY		100ULL
#define LEAF_BYTES	128	/* five slots */
#define SIZE		(128U << 10)
#define DONE		24
#define NONE		0	/* no value: the key is not there */

enum verb { END, INSERT, UPDATE, DELETE, SEARCH };

struct act {
	enum verb verb;
	u64 key;
	u64 value;
};

/* A turn of a task; @places: before this access of memory, from 1 on, it ends */
struct step {
	u32 task;
	u32 places;
};

#define WHOLE		(~0U)	/* places: until the task has returned */

/**
 * struct story - a history
 * @name: for the command line
 * @title: for people
 * @mended: of the published form, with its obvious repairs
 * @full: the leaf is full before
 * @first: value of KEY before; or NONE
 * @task: the operations of each task
 * @after: operations after them
 * @steps: how the tasks of the published form alternate; none: at random, and it is right, too
 */
struct story {
	const char *name;
	const char *title;
	bool mended;
	bool full;
	u64 first;
	struct act task[5][7];
	struct act after[2];
	struct step steps[10];
};

#define SPLIT		{ { INSERT, KEY - 1, 1 } }

/*
 * An insert into the full leaf marks it with the access 13, has copied it with 39, publishes the
 * copy with 40, and has read the first entry again with 45. A search reads the value with 5, and
 * whether there is a copy with 7. An update stores with 4; the mended one with 5, it reads both
 * values with 10 and 11 and stores to the copy with 12.
 */
static const struct story stories[] = {
	{ "stale-search", "a search puts back the value that it read before it saw the copy",
	  .full = true, .first = 1,
	  .task = { SPLIT, { { UPDATE, KEY, 2 } }, { { SEARCH, KEY, 0 } } },
	  .steps = { { 0, 14 }, { 2, 7 }, { 1, WHOLE }, { 0, 27 }, { 2, WHOLE }, { 0, WHOLE } } },
	{ "equal-values", "an update to the value that the copy has is overwritten by an older one",
	  .full = true, .first = 1,
	  .task = { SPLIT, { { UPDATE, KEY, 2 } }, { { UPDATE, KEY, 1 } } },
	  .steps = { { 0, 40 }, { 1, WHOLE }, { 0, 6 }, { 2, WHOLE }, { 0, WHOLE } } },
	{ "value-returns", "with these two mended: a late store to the copy, whose old value has returned",
	  .mended = true, .full = true, .first = 1,
	  .task = { SPLIT, { { UPDATE, KEY, 2 } }, { { UPDATE, KEY, 3 } },
		    { { UPDATE, KEY, 1 } }, { { UPDATE, KEY, 1 } } },
	  .steps = { { 0, 41 }, { 3, WHOLE }, { 1, 6 }, { 2, 6 }, { 1, 6 }, { 2, WHOLE },
		     { 4, WHOLE }, { 1, WHOLE }, { 0, WHOLE } } },
	{ "two-inserts", "two inserts of a key make two records; after a delete the other one is there",
	  .task = { { { INSERT, KEY, 2 } }, { { INSERT, KEY, 3 } } },
	  .after = { { DELETE, KEY, 0 } },
	  .steps = { { 0, 6 }, { 1, WHOLE }, { 0, WHOLE } } },
	{ "two-deletes", "two deletes of one record both find it", .first = 1,
	  .task = { { { DELETE, KEY, 0 } }, { { DELETE, KEY, 0 } } },
	  .steps = { { 0, 4 }, { 1, WHOLE }, { 0, WHOLE } } },
	{ "two-copies", "an update that waits over two copies of its leaf writes to a dead leaf",
	  .full = true, .first = 1,
	  .task = { { { INSERT, KEY - 1, 1 }, { INSERT, KEY - 2, 1 }, { INSERT, KEY - 3, 1 },
		      { INSERT, KEY - 4, 1 }, { INSERT, KEY - 5, 1 }, { INSERT, KEY - 6, 1 } },
		    { { UPDATE, KEY, 2 } } },
	  .steps = { { 1, 4 }, { 0, WHOLE }, { 1, WHOLE } } },
	{ "control", "searches while a leaf is copied", .full = true, .first = 1,
	  .task = { SPLIT, { { SEARCH, KEY, 0 } }, { { SEARCH, KEY, 0 }, { SEARCH, KEY, 0 } } } },
};

/* A form of the tree: as published, or a layout of the engine */
struct form {
	const char *layout;	/* NULL: as published */
	u32 slots;
	void *(*begin)(const struct story *story);
	int (*act)(void *tree, const struct act *act, u64 *value);
	void (*end)(void *tree);
};

static void *published_begin(const struct story *story)
{
	return published_create(story->mended);
}

static int published_act(void *tree, const struct act *act, u64 *value)
{
	switch (act->verb) {
	case INSERT:
		return published_insert(tree, act->key, act->value);
	case UPDATE:
		return published_update(tree, act->key, act->value);
	case DELETE:
		return published_delete(tree, act->key);
	default:
		return published_search(tree, act->key, value);
	}
}

static void published_end(void *tree)
{
	published_destroy(tree);
}

static void *layout_begin(const char *layout)
{
	media = media_create(SIZE);
	return store_format_attach(&media, "nbtree", layout, LEAF_BYTES);
}

static void *adr_begin(const struct story *story)
{
	return layout_begin("adr");
}

static void *eadr_begin(const struct story *story)
{
	return layout_begin("eadr");
}

static int layout_act(void *tree, const struct act *act, u64 *value)
{
	switch (act->verb) {
	case INSERT:
		return store_put(tree, act->key, act->value);
	case UPDATE:
		return store_insert(tree, act->key, act->value, CRAB_INSERT_REPLACE);
	case DELETE:
		return store_delete(tree, act->key);
	default:
		return crab_store_search(tree, act->key, value);
	}
}

static void layout_end(void *tree)
{
	store_end(tree);
}

static const struct form forms[] = {
	{ NULL, PUBLISHED_SLOTS, published_begin, published_act, published_end },
	{ "adr", (LEAF_BYTES - 48) / 16, adr_begin, layout_act, layout_end },
	{ "eadr", (LEAF_BYTES - 48) / 16, eadr_begin, layout_act, layout_end },
};

/* An operation on KEY: times as in tools/linear/history.h */
struct done {
	struct act act;
	u32 task;
	u64 invoked;
	u64 returned;
	int err;
	u64 value;
};

static const struct form *form;
static void *tree;
static struct done dones[DONE];
static u32 done_count;
static u64 ticks;

static void act_do(u32 task, const struct act *act)
{
	struct done done = { .act = *act, .task = task, .invoked = ticks };

	done.err = form->act(tree, act, &done.value);
	done.returned = ++ticks;
	if (act->key != KEY)
		return;
	tap_check(done_count < DONE, "too many operations");
	dones[done_count++] = done;
}

static void acts_do(u32 task, const struct act *act)
{
	for (; act->verb != END; act++)
		act_do(task, act);
}

static const struct story *told;
static const struct step *step;		/* NULL: the turns are random */
static u32 places;			/* that are left of it */

static void step_next(void)
{
	places = (++step)->places;
}

static void task_run(void *arg)
{
	acts_do((const struct act (*)[7])arg - told->task, arg);
	if (step)
		step_next();
}

/* A task has the turn, which ends at once if the next step is that of another task */
static void on_turn(void *arg, u32 task)
{
	if (!step)
		return;
	if (!places)
		step_next();
	if (step->task != task) {
		crab_task_switch();
		return;
	}
	if (places == WHOLE)
		return;
	crab_task_left = min_t(long, crab_task_left, places);
	places -= crab_task_left;
}

static void story_tasks(const struct story *story, u64 seed, bool steps)
{
	struct tasks_plan plan = {
		.seed = seed, .pace = steps ? 1000 : 1 + seed % 13, .turn = on_turn,
	};
	u32 i;

	told = story;
	step = steps ? story->steps : NULL;
	places = story->steps[0].places;
	for (i = 0; i < ARRAY_SIZE(story->task) && story->task[i][0].verb != END; i++)
		tasks_add(task_run, (void *)story->task[i]);
	tap_check(tasks_run(&plan) == TASKS_DONE, "a task waits for ever");
}

/* Runs a story once */
static void story_run(const struct story *story, u64 seed, bool steps)
{
	static const struct act last[] = { { SEARCH, KEY, 0 }, { END, 0, 0 } };
	struct act fill = { INSERT, 0, 1 };
	u32 i;

	tree = form->begin(story);
	done_count = 0;
	ticks = 0;
	if (story->first)
		act_do(TASKS, &(struct act){ INSERT, KEY, story->first });
	for (i = 1; story->full && i < form->slots; i++) {
		fill.key = KEY + i;
		act_do(TASKS, &fill);
	}
	story_tasks(story, seed, steps);
	acts_do(TASKS, story->after);
	acts_do(TASKS, last);
	form->end(tree);
}

/* Whether an operation can have its result where KEY has *@value, its value after it */
static bool done_fits(const struct done *done, u64 *value)
{
	bool there = *value != NONE;

	if (done->act.verb == SEARCH)
		return done->err ? !there : done->value == *value;
	if (done->act.verb == INSERT || !done->err)
		*value = done->act.verb == DELETE ? NONE : done->act.value;
	return done->act.verb == INSERT ? !done->err : there == !done->err;
}

/* Whether the operations in the set @left, after the others, have an order */
static bool have_order(u32 left, u64 value)
{
	u64 bound = U64_MAX, after;
	u32 i;

	if (!left)
		return true;
	for (i = 0; i < done_count; i++)
		if (left >> i & 1 && dones[i].returned < bound)
			bound = dones[i].returned;
	for (i = 0; i < done_count; i++) {
		after = value;
		if (left >> i & 1 && dones[i].invoked < bound && done_fits(&dones[i], &after) &&
		    have_order(left & ~(1U << i), after))
			return true;
	}
	return false;
}

static void dones_print(void)
{
	static const char * const names[] = { "", "insert", "update", "delete", "search" };
	const struct done *d;

	for (d = dones; d < dones + done_count; d++) {
		printf("# %5llu to %5llu, ", d->invoked, d->returned);
		printf(d->task == TASKS ? "alone:  " : "task %u: ", d->task);
		printf("%s %llu", names[d->act.verb], d->act.key);
		if (d->act.verb == INSERT || d->act.verb == UPDATE)
			printf(" = %llu", d->act.value);
		if (d->err)
			printf(": %d\n", d->err);
		else
			printf(d->act.verb == SEARCH ? ": %llu\n" : "\n", d->value);
	}
}

static bool story_has_order(const struct story *story, u64 seed, bool steps)
{
	story_run(story, seed, steps);
	return have_order((1U << done_count) - 1, NONE);
}

/* Many random interleavings */
static void test_random(const struct story *story)
{
	u64 seed;

	for (seed = 1; seed <= SEEDS && story_has_order(story, seed, false); seed++)
		;
	if (seed <= SEEDS)
		dones_print();
	tap_ok(seed > SEEDS, "%s, %s: an order explains each of %u runs", story->name,
	       form->layout ?: "as published", SEEDS);
}

static void test_steps(const struct story *story)
{
	bool ok = story_has_order(story, 1, true);

	dones_print();
	tap_ok(!ok, "%s, as published: %s", story->name, story->title);
}

static void test_story(const struct story *story)
{
	for (form = forms; form < forms + ARRAY_SIZE(forms); form++)
		(form->layout || !story->steps[0].places ? test_random : test_steps)(story);
}

int main(int argc, char **argv)
{
	const struct story *story;

	crab_host_log = NULL;
	for (story = stories; story < stories + ARRAY_SIZE(stories); story++)
		if (argc < 2 || !strcmp(argv[1], story->name))
			test_story(story);
	return tap_done();
}

// SPDX-License-Identifier: GPL-2.0
/*
 * This file runs the pieces of `make crash`, one at a time.
 *
 *   crashes --list tiny|quick|long|full	print the names of the pieces
 *   crashes --met			print the structure changes that each layout must meet
 *   crashes PIECE			explore a state space, or run a load
 *   crashes --replay REPRODUCER	repeat a failure
 *   crashes --model word|line|cache ...	the same under another model than the layout's
 *
 * Locking: one thread.
 */
#include <time.h>

#include "crash.h"
#include "explore.h"
#include "host_driver.h"
#include "load.h"
#include "test.h"

#define LOAD_CPUS	4	/* share the leaves at attach */

static const char * const models[] = {
	[CRAB_SHADOW_MODEL_WORD] = "word", [CRAB_SHADOW_MODEL_LINE] = "line",
	[CRAB_SHADOW_MODEL_WHOLE_LINE] = "whole-line", [CRAB_SHADOW_MODEL_CACHE] = "cache",
};

static int model = -1;	/* index of @models, in place of the layout's; or -1 */

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

/* Loads first: they take longest */
static int list(const char *tier)
{
	static const char * const tiers[] = { "quick", "tiny", "long", "full" };
	const struct host_driver * const *driver;
	const struct space *space;
	const struct load *load;

	for (driver = host_drivers; *driver; driver++)
		for (load = (*driver)->loads; load->name; load++)
			if (!strcmp(tiers[load->tier], tier))
				puts(load->name);
	for_each_space(space)
		if (!strcmp(tiers[space->tier], tier))
			puts(space->name);
	return 0;
}

static int list_met(void)
{
	const struct host_driver * const *driver;
	const struct crash_setup *setup;

	for (driver = host_drivers; *driver; driver++)
		for (setup = (*driver)->setups; setup->layout; setup++)
			printf("%s/%s %s\n", (*driver)->engine, setup->layout, (*driver)->met);
	return 0;
}

static const struct load *load_by_name(const char *name)
{
	const struct host_driver * const *driver;
	const struct load *load;

	for (driver = host_drivers; *driver; driver++)
		for (load = (*driver)->loads; load->name; load++)
			if (!strcmp(load->name, name))
				return load;
	return NULL;
}

/* The crash point of a fault, and the words that a cut may leave either way and that recovery read */
static void report_cut(const struct explore *x)
{
	const struct crab_shadow_path *outer = x->shadow->failed, *path = outer ? outer->inner : NULL;
	const struct crab_shadow_step *step;

	if (x->point > x->events)
		printf("# point: after the operation has returned\n");
	else if (x->point)
		printf("# point: %s %u of the operation's %u stores and fences\n",
		       x->fencing ? "before" : "after", x->point, x->events);
	for (step = path ? path->steps : NULL; path && step < path->steps + path->depth; step++)
		printf("# word at 0x%x: %s, 0x%016llx\n", step->word * 8,
		       step->choice ? "persisted" : "lost", step->value);
}

/* The result, and the counts that scripts/crash adds up */
static void report(const struct explore *x, bool ok, double took)
{
	const struct explore_counts *n = &x->counts;
	char way[1024];

	printf("%sok - %s: %s, %llu states, %llu stable\n", ok && x->closed ? "" : "not ",
	       x->space->name, x->closed ? "closed" : "not closed", n->states, n->stable);
	printf("# %s/%s: %llu splits, %llu unlinks, %llu times full, %llu repairs, %llu operations\n",
	       x->space->driver->engine, x->space->layout, n->splits, n->unlinks, n->full, n->repairs,
	       n->ops);
	printf("# points %llu, alike %llu, images %llu, recoveries %llu, violations %llu, seconds %.1f\n",
	       n->points, n->same, n->images, n->recoveries, n->violations, took);
	if (ok)
		return;
	explore_history(x, way, sizeof(way));
	printf("# %s\n# from: %s\n", x->said, way);
	report_cut(x);
}

/* Formats the store; power cuts follow the chosen model from then on */
static bool begin(struct explore *x, const struct space *space)
{
	bool ok = explore_begin(x, space);

	if (model >= 0)
		x->shadow->model = model;
	return ok;
}

static int explore_space(const struct space *space)
{
	double began = seconds();
	struct explore x;
	bool ok = begin(&x, space) && explore_run(&x);

	report(&x, ok, seconds() - began);
	explore_end(&x);
	return !ok;
}

static void counts_add(struct crash_counts *to, const struct crash_counts *from)
{
	u64 *word = (u64 *)to;
	u32 i;

	for (i = 0; i < sizeof(*to) / sizeof(u64); i++)
		word[i] += ((const u64 *)from)[i];
}

/* One run; @said: out: its first finding */
static bool load_run(const struct load *load, u64 seed, struct crash_counts *n, char *said)
{
	struct crash_setup setup = load->setup;
	struct crash c;
	bool ok;

	crab_host_cpus = LOAD_CPUS;
	if (setup.driver == &host_driver_crab) {
		setup.tuning.costs = crab_tuning_default.costs;
		setup.tuning.probe = setup.tuning.pair = seed % 2;
	}
	ok = crash_begin(&c, &setup, load->leaves, seed);
	c.format_every = setup.inserts ? load->steps + 1 : load->steps / 2;
	c.often = CRASH_BATCH;
	c.often_every = load->batches ? 2 : 0;
	c.batches = load->batches;
	ok = ok && crash_run(&c, load->steps, load->depth ?: 1);
	snprintf(said, CRASH_SAID, "%s", c.said);
	crash_end(&c);
	counts_add(n, &c.counts);
	return ok;
}

static int explore_load(const struct load *load)
{
	struct crash_counts n = { };
	char said[CRASH_SAID] = "";
	double began = seconds();
	bool ok = true;
	u64 seed;

	for (seed = 1; seed <= (load->seeds ?: 1) && ok; seed++)
		ok = load_run(load, seed, &n, said);
	printf("%sok - %s: %u operations, seeds 1 to %llu\n", ok ? "" : "not ", load->name,
	       load->steps, seed - 1);
	printf("# %s/%s: %llu splits, %llu unlinks, %llu times full, %llu repairs\n",
	       load->setup.driver->engine, load->setup.layout, n.splits, n.unlinks, n.full, n.repairs);
	if (load->batches)
		printf("# %llu images chosen at random: of batches of more than %u\n", n.sampled,
		       CRASH_TOGETHER);
	printf("# points %llu, alike 0, images %llu, recoveries %llu, violations %u, seconds %.1f\n",
	       n.points + n.nested, n.images + n.sampled, n.recoveries, !ok, seconds() - began);
	if (!ok)
		printf("# seed %llu: %s\n", seed - 1, said);
	return !ok;
}

static int replay(const char *said)
{
	char name[64] = "";
	const struct space *space;
	struct explore x;
	bool ok;

	sscanf(said, "%63s", name);
	space = space_by_name(name);
	if (!space) {
		fprintf(stderr, "crashes: no such space: %s\n", name);
		return 2;
	}
	ok = begin(&x, space) && explore_replay(&x, said);
	printf("%s\n", ok ? "nothing is found" : x.said);
	explore_end(&x);
	return !ok;
}

static int model_by_name(const char *name)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(models); i++)
		if (!strcmp(models[i], name))
			return i;
	return -1;
}

int main(int argc, char **argv)
{
	const struct space *space;
	const struct load *load;

	if (argc > 3 && !strcmp(argv[1], "--model")) {
		model = model_by_name(argv[2]);
		argc -= model < 0 ? argc : 2;
		argv += 2;
	}
	if (argc < 2)
		return 2;
	if (!strcmp(argv[1], "--list") && argc == 3)
		return list(argv[2]);
	if (!strcmp(argv[1], "--met"))
		return list_met();
	if (!strcmp(argv[1], "--replay") && argc == 3)
		return replay(argv[2]);
	space = space_by_name(argv[1]);
	if (space)
		return explore_space(space);
	load = load_by_name(argv[1]);
	if (load)
		return explore_load(load);
	fprintf(stderr, "crashes: no such piece: %s\n", argv[1]);
	return 2;
}

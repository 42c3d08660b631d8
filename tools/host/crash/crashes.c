// SPDX-License-Identifier: GPL-2.0
/*
 * This file runs the pieces of `make crash`, one at a time.
 *
 *   crashes --list tiny|quick|full	their names
 *   crashes PIECE			explore it
 *   crashes --replay REPRODUCER	do again what a failure said
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <linux/kernel.h>

#include "crash.h"
#include "explore.h"

/* A random workload on leaves of a real size, whose operations are cut before every fence */
struct load {
	const char *name;
	struct crash_setup setup;
	u32 leaves;
	u32 steps;
	u32 depth;		/* cuts in a row */
	u32 seeds;		/* how many, one after the other */
	enum space_tier tier;
	u32 batches;		/* operations of one at most, every other step; 0: none */
};

/* Leaves that several CPUs share at attach */
#define LOAD_CPUS	4
#define LOAD_PARALLEL	(2 * 8192)

#define FILLED		.changes = true, .inserts = 900
#define LOAD_SLOTTED	.layout = "slotted", .model = CRAB_SHADOW_MODEL_WORD
#define LOAD_SORTED(how)	\
	.layout = "sorted", .model = CRAB_SHADOW_MODEL_LINE, .tuning.strategy = CRAB_STRATEGY_ ## how

static const struct load loads[] = {
	{ "load-slotted-512", { LOAD_SLOTTED, .leaf_bytes = 512, .keys = 128 }, 7, 3000, 2, 1,
	  SPACE_QUICK, 0 },
	{ "load-slotted-1024", { LOAD_SLOTTED, .leaf_bytes = 1024, .keys = 256 }, 6, 6000, 1, 1,
	  SPACE_QUICK, 0 },
	{ "load-slotted-4096", { LOAD_SLOTTED, FILLED, .leaf_bytes = 4096, .slots = 130, .keys = 1024 }, 12,
	  20000, 1, 3, SPACE_QUICK, 0 },
	{ "load-slotted-8192", { LOAD_SLOTTED, FILLED, .leaf_bytes = 8192, .slots = 260, .keys = 1024 }, 8,
	  20000, 1, 3, SPACE_QUICK, 0 },
	{ "load-slotted-full", { LOAD_SLOTTED, FILLED, .leaf_bytes = 1024, .keys = 1024 }, 14, 12000, 1, 2,
	  SPACE_QUICK, 0 },
	{ "load-sip-512", { LOAD_SORTED(SIP), .leaf_bytes = 512, .keys = 128 }, 8, 6000, 1, 1,
	  SPACE_QUICK, 0 },
	{ "load-auto-1024", { LOAD_SORTED(AUTO), .leaf_bytes = 1024, .keys = 256 }, 8, 4000, 1, 1,
	  SPACE_QUICK, 0 },
	{ "load-cow-4096", { LOAD_SORTED(COW), FILLED, .leaf_bytes = 4096, .slots = 133, .keys = 1024 }, 12,
	  3000, 1, 1, SPACE_QUICK, 0 },
	{ "load-sip-8192", { LOAD_SORTED(SIP), FILLED, .leaf_bytes = 8192, .slots = 261, .keys = 1024 }, 8, 6000,
	  1, 1, SPACE_QUICK, 0 },
	{ "load-slotted-many", { LOAD_SLOTTED, .leaf_bytes = 128, .slots = 3, .keys = 1024,
	  .changes = true, .inserts = 1024, .deletes = 640 }, 800, 300, 1, 1, SPACE_QUICK, 0 },
	{ "load-slotted-parallel", { LOAD_SLOTTED, .leaf_bytes = 128, .keys = 64 }, LOAD_PARALLEL, 60, 1, 1,
	  SPACE_QUICK, 0 },
	{ "sampled-batches-128", { LOAD_SLOTTED, .leaf_bytes = 128 }, 12, 4000, 1, 1,
	  SPACE_QUICK, CRASH_BATCH_MOST },
	{ "sampled-batches-512", { LOAD_SLOTTED, .leaf_bytes = 512, .keys = 128 }, 12, 2000, 1, 1,
	  SPACE_QUICK, CRASH_BATCH_MOST },
	{ "long-slotted-512", { LOAD_SLOTTED, .leaf_bytes = 512, .keys = 128 }, 12, 4000, 2, 40,
	  SPACE_FULL, 0 },
	{ "long-slotted-1024", { LOAD_SLOTTED, .leaf_bytes = 1024, .keys = 256 }, 12, 6000, 2, 20,
	  SPACE_FULL, 0 },
	{ "long-sip-512", { LOAD_SORTED(SIP), .leaf_bytes = 512, .keys = 128 }, 12, 4000, 2, 10,
	  SPACE_FULL, 0 },
	{ "long-auto-1024", { LOAD_SORTED(AUTO), .leaf_bytes = 1024, .keys = 256 }, 12, 6000, 2, 20,
	  SPACE_FULL, 0 },
	{ }
};

static double seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec + now.tv_nsec / 1e9;
}

static int list(const char *tier)
{
	static const char * const tiers[] = { "tiny", "quick", "full" };
	const struct space *space;
	const struct load *load;

	for (load = loads; load->name; load++)	/* they take longest */
		if (!strcmp(tiers[load->tier], tier))
			puts(load->name);
	for (space = spaces; space->name; space++)
		if (!strcmp(tiers[space->tier], tier))
			puts(space->name);
	return 0;
}

/* A line for people, and what scripts/crash adds up */
static void report(const struct explore *x, bool ok, double took)
{
	const struct explore_counts *n = &x->counts;
	char way[1024];

	printf("%sok - %s: %s, %llu states, %llu stable\n", ok && x->closed ? "" : "not ",
	       x->space->name, x->closed ? "closed" : "not closed", n->states, n->stable);
	printf("# %llu operations: %llu splits, %llu unlinks, %llu times full, %llu repairs\n",
	       n->ops, n->splits, n->unlinks, n->full, n->repairs);
	printf("# points %llu, alike %llu, images %llu, recoveries %llu, violations %llu, seconds %.1f\n",
	       n->points, n->same, n->images, n->recoveries, n->violations, took);
	if (ok)
		return;
	explore_history(x, way, sizeof(way));
	printf("# %s\n# from: %s\n", x->said, way);
}

static int explore_space(const struct space *space)
{
	double began = seconds();
	struct explore x;
	bool ok = explore_begin(&x, space) && explore_run(&x);

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

/* One run; what it found stays in @said */
static bool load_run(const struct load *load, u64 seed, struct crash_counts *n, char *said)
{
	struct crash_setup setup = load->setup;
	struct crash c;
	bool ok;

	crab_host_cpus = LOAD_CPUS;
	setup.tuning.costs = crab_tuning_default.costs;
	setup.tuning.probe = setup.tuning.pair = seed % 2;
	ok = crash_begin(&c, &setup, load->leaves, seed);
	c.format_every = setup.inserts ? load->steps + 1 : load->steps / 2;
	c.often = CRASH_BATCH;
	c.often_every = load->batches ? 2 : 0;
	c.batches = load->batches;
	ok = ok && crash_run(&c, load->steps, load->depth);
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

	for (seed = 1; seed <= load->seeds && ok; seed++)
		ok = load_run(load, seed, &n, said);
	printf("%sok - %s: %u operations, seeds 1 to %llu\n", ok ? "" : "not ", load->name,
	       load->steps, seed - 1);
	printf("# %llu splits, %llu unlinks, %llu times full, %llu repairs\n", n.splits,
	       n.unlinks, n.full, n.repairs);
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
	ok = explore_begin(&x, space) && explore_replay(&x, said);
	printf("%s\n", ok ? "nothing is found" : x.said);
	explore_end(&x);
	return !ok;
}

int main(int argc, char **argv)
{
	const struct space *space;
	const struct load *load;

	if (argc < 2 || crab_persist_init())
		return 2;
	if (!strcmp(argv[1], "--list") && argc == 3)
		return list(argv[2]);
	if (!strcmp(argv[1], "--replay") && argc == 3)
		return replay(argv[2]);
	space = space_by_name(argv[1]);
	if (space)
		return explore_space(space);
	for (load = loads; load->name; load++)
		if (!strcmp(load->name, argv[1]))
			return explore_load(load);
	fprintf(stderr, "crashes: no such piece: %s\n", argv[1]);
	return 2;
}

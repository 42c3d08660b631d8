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

#include "explore.h"

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

	for (space = spaces; space->name; space++)
		if (!strcmp(tiers[space->tier], tier))
			puts(space->name);
	return 0;
}

/* A line for people, and what scripts/crash adds up */
static void report(const struct explore *x, bool ok, double took)
{
	const struct explore_counts *n = &x->counts;

	printf("%sok - %s: %s, %llu states, %llu stable\n", ok && x->closed ? "" : "not ",
	       x->space->name, x->closed ? "closed" : "not closed", n->states, n->stable);
	printf("# %llu operations: %llu splits, %llu unlinks, %llu times full, %llu repairs\n",
	       n->ops, n->splits, n->unlinks, n->full, n->repairs);
	printf("# points %llu, alike %llu, images %llu, recoveries %llu, violations %llu, seconds %.1f\n",
	       n->points, n->same, n->images, n->recoveries, n->violations, took);
	if (!ok)
		printf("# %s\n", x->said);
}

static int explore_space(const struct space *space)
{
	double began = seconds();
	struct explore x;
	bool ok = explore_begin(&x, space) && explore_run(&x);

	if (ok && space->batch)
		ok = explore_batch(&x);
	report(&x, ok, seconds() - began);
	explore_end(&x);
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

	if (argc < 2 || crab_persist_init())
		return 2;
	if (!strcmp(argv[1], "--list") && argc == 3)
		return list(argv[2]);
	if (!strcmp(argv[1], "--replay") && argc == 3)
		return replay(argv[2]);
	space = space_by_name(argv[1]);
	if (space)
		return explore_space(space);
	fprintf(stderr, "crashes: no such piece: %s\n", argv[1]);
	return 2;
}

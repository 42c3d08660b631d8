// SPDX-License-Identifier: GPL-2.0
/*
 * This file runs trials of every kind of store: actors as tasks, power cuts, recovery.
 *
 *   test_tasks [STORES [SEED [NAME]]]
 *
 * NAME is that of a subject, or an engine: all its subjects.
 * A failure prints its seed; its history is written next to this program.
 */
#include <inttypes.h>
#include <libgen.h>
#include <signal.h>
#include <unistd.h>

#include "test.h"
#include "trial.h"

static struct trial_totals totals[SUBJECTS];

/* Prints the place of a failed assertion or a sanitizer report */
static void on_abort(int signal)
{
	const char *where = trial_where();

	if (write(1, "# ", 2) < 0 || write(1, where, strlen(where)) < 0 || write(1, "\n", 1) < 0)
		_exit(3);
}

static bool is_chosen(const struct subject *subject, const char *only)
{
	return !only || !strcmp(subject->name, only) || !strcmp(subject->engine, only);
}

/* One store of each kind in turn: so that each kind of store runs early */
static void run_stores(u32 stores, u64 seed, const char *only, const char *directory)
{
	const char *said = NULL;
	u32 i, k;

	for (i = 0; i < stores && !said; i++) {
		for (k = 0; subjects[k].name && !said; k++) {
			if (!trial_fits(&subjects[k]) || !is_chosen(&subjects[k], only))
				continue;
			said = trial_run(&subjects[k], seed + i, &totals[k], stdout, directory);
			if (said)
				tap_fail("%s: %s", trial_where(), said);
		}
	}
}

static void tell(const struct subject *subject, const struct trial_totals *t)
{
	tap_check(t->counts.beside > t->counts.ops / 8, "few operations were concurrent");
	tap_ok(true, "%s, %u tasks: %llu lives, %llu cuts, %llu recoveries cut, %llu with caches that "
	       "survived, %llu repairs; %" PRIu64 " operations, %" PRIu64 " beside others, %" PRIu64
	       " reads of one state; %llu splits, %llu unlinks, %llu times full, %llu snapshots, of "
	       "which %llu ended early",
	       subject->name, subject->threads, t->lives, t->cuts, t->recoveries_cut, t->survived,
	       t->repairs, t->counts.ops, t->counts.beside, t->counts.moments, t->splits, t->unlinks,
	       t->full, t->snaps, t->stale);
}

int main(int argc, char **argv)
{
	u32 stores = argc > 1 ? atoi(argv[1]) : 40, i;
	u64 seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;

	signal(SIGABRT, on_abort);
	run_stores(stores, seed, argc > 3 ? argv[3] : NULL, dirname(argv[0]));
	for (i = 0; subjects[i].name; i++)
		if (totals[i].lives)
			tell(&subjects[i], &totals[i]);
	return tap_done();
}

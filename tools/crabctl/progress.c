// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements progress: one line on a terminal, a few times a second,
 * nothing at all where stderr is not a terminal.
 */
#include "crabctl.h"

#include <inttypes.h>
#include <time.h>
#include <unistd.h>

#define INTERVAL	0.2	/* seconds */

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

/**
 * progress_begin() - begin to tell how far it is
 * @progress: the state
 * @what: what is counted
 * @total: the whole, in the unit of progress_show()'s @part; 0: not known
 */
void progress_begin(struct progress *progress, const char *what, uint64_t total)
{
	progress->on = isatty(STDERR_FILENO);
	progress->what = what;
	progress->total = total;
	progress->shown = now();
}

void progress_show(struct progress *progress, uint64_t count, uint64_t part)
{
	if (!progress->on || now() - progress->shown < INTERVAL)
		return;
	progress->shown = now();
	fprintf(stderr, "\r%" PRIu64 " %s", count, progress->what);
	if (progress->total)
		fprintf(stderr, ", %3.0f %%", 100.0 * part / progress->total);
	fflush(stderr);
}

void progress_end(struct progress *progress)
{
	if (progress->on)
		fputs("\r\033[K", stderr);
}

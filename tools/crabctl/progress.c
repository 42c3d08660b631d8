// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the progress line: printed on a terminal a few times a second,
 * and not at all if stderr is not a terminal. A command has one progress line.
 */
#include "crabctl.h"

#include <inttypes.h>
#include <time.h>
#include <unistd.h>

#define INTERVAL	0.2	/* seconds */

static struct {
	bool on;
	bool visible;
	const char *what;
	uint64_t total;
	double shown;
} progress;

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

/**
 * progress_begin() - begin to report progress
 * @to: where the command writes meanwhile, or NULL; on a terminal that is progress enough
 * @what: name of the counted objects
 * @total: the whole, in the unit of progress_show()'s @part; 0: not known
 */
void progress_begin(FILE *to, const char *what, uint64_t total)
{
	progress.on = isatty(STDERR_FILENO) && !(to && isatty(fileno(to)));
	progress.what = what;
	progress.total = total;
	progress.shown = now();
}

void progress_show(uint64_t count, uint64_t part)
{
	if (!progress.on || now() - progress.shown < INTERVAL)
		return;
	progress.shown = now();
	progress.visible = true;
	fprintf(stderr, "\r%" PRIu64 " %s", count, progress.what);
	if (progress.total)
		fprintf(stderr, ", %3.0f %%", 100.0 * part / progress.total);
	fflush(stderr);
}

/* Called before any other output */
void progress_clear(void)
{
	if (progress.visible)
		fputs("\r\033[K", stderr);
	progress.visible = false;
}

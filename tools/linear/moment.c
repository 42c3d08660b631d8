// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the check that grouped reads have a common time.
 *
 * Time is counted in gaps: gap k lies between the k-th and the next return of any
 * call. A call with the times (invoked, returned) had its effect in one of the gaps
 * from invoked to returned - 1.
 *
 * Invariant: a span covers every gap in which its key can have its value.
 */
#include <stdlib.h>

#include "moment.h"

/**
 * struct span - the time during which a key had a value
 * @value: the value
 * @from: the first gap in which the key can have it
 * @sure: from this gap on the key has it ...
 * @unsure: ... until this gap
 * @to: the last gap in which the key can have it
 */
struct span {
	uint64_t value;
	uint64_t from;
	uint64_t sure;
	uint64_t unsure;
	uint64_t to;
};

/* All spans of one key; from gap @foreign on its value may be a sum without a span */
struct line {
	uint64_t foreign;
	struct span *span;
	uint32_t count;
	uint32_t room;
};

static void line_add(struct line *line, struct span span)
{
	if (line->count == line->room) {
		line->room = line->room ? 2 * line->room : 16;
		line->span = realloc(line->span, line->room * sizeof(*line->span));
		if (!line->span) {
			fprintf(stderr, "no memory to judge a history\n");
			exit(2);
		}
	}
	line->span[line->count++] = span;
}

static struct span *line_find(const struct line *line, uint64_t value)
{
	uint32_t i;

	for (i = 0; i < line->count; i++)
		if (line->span[i].value == value)
			return &line->span[i];
	return NULL;
}

static bool op_writes(const struct history_op *op)
{
	return op->verb != HISTORY_READ && (op->returned == HISTORY_NEVER || !op->err);
}

/* The span of a value begins at the write of the value. No result shows the sum of a cut-off add */
static void line_begin(struct line *line, const struct history_op *op)
{
	bool adds = op->verb == HISTORY_ADD;

	if (adds && op->returned == HISTORY_NEVER)
		line->foreign = op->invoked < line->foreign ? op->invoked : line->foreign;
	else if (op->verb != HISTORY_DELETE && op->verb != HISTORY_ERASE)
		line_add(line, (struct span) {
			.value = op->value + (adds ? op->old : 0), .from = op->invoked, .sure = op->returned,
			.unsure = HISTORY_NEVER, .to = HISTORY_NEVER,
		});
}

/* The span ends at the write that replaced the value; or possibly at one cut off, or an erase */
static void line_end(struct line *line, const struct history_op *op)
{
	struct span *span;
	uint32_t i;

	if (op->returned == HISTORY_NEVER || op->verb == HISTORY_ERASE) {
		for (i = 0; i < line->count; i++)
			if (line->span[i].unsure > op->invoked)
				line->span[i].unsure = op->invoked;
		return;
	}
	span = op->old == HISTORY_ABSENT ? NULL : line_find(line, op->old);
	if (!span)
		return;
	if (span->unsure > op->invoked)
		span->unsure = op->invoked;
	span->to = op->returned - 1;
}

static void lines_each(const struct history *history, struct line *line,
		       void (*each)(struct line *line, const struct history_op *op))
{
	const struct history_log *log;
	uint32_t i, k;

	for (i = 0; i < history->logs; i++) {
		log = &history->log[i];
		for (k = 0; k < log->count; k++)
			if (op_writes(&log->op[k]))
				each(&line[log->op[k].key], &log->op[k]);
	}
}

static struct line *lines_make(const struct history *history)
{
	struct line *line = calloc(history->keys, sizeof(*line));
	uint32_t i;

	if (!line) {
		fprintf(stderr, "no memory to judge a history\n");
		exit(2);
	}
	for (i = 0; i < history->keys; i++) {
		line[i].foreign = HISTORY_NEVER;
		if (history->first[i] != HISTORY_ABSENT)
			line_add(&line[i], (struct span) {
				.value = history->first[i], .unsure = HISTORY_NEVER,
				.to = HISTORY_NEVER,
			});
	}
	lines_each(history, line, line_begin);
	lines_each(history, line, line_end);
	return line;
}

static void lines_free(const struct history *history, struct line *line)
{
	uint32_t i;

	for (i = 0; i < history->keys; i++)
		free(line[i].span);
	free(line);
}

/* Can the key have had the result of @op in the gap? */
static bool line_allows(const struct line *line, const struct history_op *op, uint64_t gap)
{
	const struct span *span;
	uint32_t i;

	if (!op->err) {
		span = line_find(line, op->value);
		return span ? span->from <= gap && gap <= span->to : line->foreign <= gap;
	}
	for (i = 0; i < line->count; i++)
		if (line->span[i].sure <= gap && gap < line->span[i].unsure)
			return false;
	return true;
}

/* Is there a gap in which all @n reads of one call can be correct? */
static bool group_has_moment(const struct line *line, const struct history_op *op, uint32_t n)
{
	uint64_t gap;
	uint32_t i;

	for (gap = op->invoked; gap < op->returned; gap++) {
		for (i = 0; i < n && line_allows(&line[op[i].key], &op[i], gap); i++)
			;
		if (i == n)
			return true;
	}
	return false;
}

static uint32_t group_size(const struct history_log *log, uint32_t at)
{
	uint32_t n = 1;

	while (log->op[at].moment && at + n < log->count &&
	       log->op[at + n].moment == log->op[at].moment)
		n++;
	return n;
}

static void group_explain(FILE *why, uint32_t log, const struct history_op *op, uint32_t n)
{
	uint32_t i;

	fprintf(why, "# these reads of one state have no common time:\n");
	for (i = 0; i < n; i++) {
		fprintf(why, "# ");
		history_print(why, log, &op[i]);
	}
}

bool moment_check(const struct history *history, uint64_t *judged, FILE *why)
{
	struct line *line = lines_make(history);
	const struct history_log *log;
	uint32_t i, k, n;
	bool ok = true;

	for (i = 0; i < history->logs && ok; i++) {
		log = &history->log[i];
		for (k = 0; k < log->count && ok; k += n) {
			n = group_size(log, k);
			if (n == 1)
				continue;
			(*judged)++;
			ok = group_has_moment(line, &log->op[k], n);
			if (!ok)
				group_explain(why, i, &log->op[k], n);
		}
	}
	lines_free(history, line);
	return ok;
}

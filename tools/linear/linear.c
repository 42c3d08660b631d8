// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the judge of histories.
 *
 * Invariants of the search over one key: a place consists of the number of operations
 * of each thread that are already in order, and of the value after them. An operation may
 * be next if no unordered operation returned before it began. An operation that changes
 * nothing and fits is taken at once: it is possible at this position in any order. Not so an
 * erase, which may have removed a later value. No place is tried twice.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "linear.h"
#include "moment.h"

#define LINEAR_TRIES	(1U << 22)	/* places of one key */
#define LINEAR_SHOWN	6		/* operations of a thread, around its last position */

struct place {
	uint32_t at[HISTORY_LOGS];
	uint64_t value;
};

struct frame {
	struct place place;
	uint32_t branch;		/* the next to try */
};

/* The operations on one key */
struct search {
	const struct history *history;
	uint32_t key;
	const struct history_op **op[HISTORY_LOGS];
	uint32_t n[HISTORY_LOGS];
	struct place *tried;		/* hashed; those with UINT32_MAX are empty */
	uint32_t tried_room;
	uint32_t tried_count;
	struct frame *frame;
	uint32_t depth;
	uint32_t depth_room;
	struct place best;		/* the place with the most operations in order */
	uint32_t best_count;
};

static void *resize(void *old, size_t count, size_t size)
{
	void *p = realloc(old, count * size);

	if (!p) {
		fprintf(stderr, "no memory to judge a history\n");
		exit(2);
	}
	return p;
}

/* The value after an operation that succeeds */
static uint64_t op_result(const struct history_op *op, uint64_t value)
{
	if (op->verb == HISTORY_DELETE || op->verb == HISTORY_ERASE)
		return HISTORY_ABSENT;
	return op->verb == HISTORY_ADD ? value + op->value : op->value;
}

/* Apply an operation to @value; false if its result requires another value */
static bool op_explains(const struct history_op *op, uint64_t value, uint64_t *after)
{
	bool there = value != HISTORY_ABSENT;

	*after = value;
	if (op->verb == HISTORY_READ)
		return op->err ? op->err == -ENOENT && !there : there && op->value == value;
	if (op->verb == HISTORY_ERASE) {
		*after = HISTORY_ABSENT;
		return !op->err;
	}
	if (op->old != value && op->err != -ENOENT)
		return false;
	switch (op->err) {
	case 0:
		*after = op_result(op, value);
		if (op->verb == HISTORY_SWAP)
			return there && value == op->expected;
		return op->verb == HISTORY_INSERT || op->verb == HISTORY_ADD ||
		       there == (op->verb != HISTORY_CREATE);
	case -ESTALE:
		return op->verb == HISTORY_SWAP && there && value != op->expected;
	case -EEXIST:
		return op->verb == HISTORY_CREATE && there;
	case -ENOENT:
		return (op->verb == HISTORY_REPLACE || op->verb == HISTORY_DELETE ||
			op->verb == HISTORY_SWAP) && !there;
	case -ENOSPC:
		return (op->verb == HISTORY_INSERT || op->verb == HISTORY_CREATE ||
			op->verb == HISTORY_ADD) && !there;
	}
	return false;
}

/* Apply an operation that was cut off to @value, if it had its effect */
static uint64_t op_effect(const struct history_op *op, uint64_t value)
{
	bool there = value != HISTORY_ABSENT;

	switch (op->verb) {
	case HISTORY_CREATE:
		return there ? value : op->value;
	case HISTORY_REPLACE:
		return there ? op->value : value;
	case HISTORY_SWAP:
		return there && value == op->expected ? op->value : value;
	default:
		return op_result(op, value);
	}
}

static const struct history_op *next_op(const struct search *s, const struct place *place,
					uint32_t log)
{
	return place->at[log] < s->n[log] ? s->op[log][place->at[log]] : NULL;
}

/* The lowest return time of the operations that are not in order yet */
static uint64_t place_bound(const struct search *s, const struct place *place)
{
	uint64_t bound = HISTORY_NEVER;
	const struct history_op *op;
	uint32_t log;

	for (log = 0; log < s->history->logs; log++) {
		op = next_op(s, place, log);
		if (op && op->returned < bound)
			bound = op->returned;
	}
	return bound;
}

/* Take all operations that fit and change nothing */
static void place_settle(const struct search *s, struct place *place)
{
	const struct history_op *op;
	uint32_t log, since = 0;
	uint64_t after;

	for (log = 0; since < s->history->logs; log = (log + 1) % s->history->logs) {
		op = next_op(s, place, log);
		if (op && op->returned != HISTORY_NEVER && op->verb != HISTORY_ERASE &&
		    op->invoked < place_bound(s, place) &&
		    op_explains(op, place->value, &after) && after == place->value) {
			place->at[log]++;
			since = 0;
		} else {
			since++;
		}
	}
}

/* Is everything that returned in order? */
static bool place_complete(const struct search *s, const struct place *place)
{
	return place_bound(s, place) == HISTORY_NEVER;
}

static uint32_t place_count(const struct search *s, const struct place *place)
{
	uint32_t log, count = 0;

	for (log = 0; log < s->history->logs; log++)
		count += place->at[log];
	return count;
}

static uint64_t place_hash(const struct search *s, const struct place *place)
{
	uint64_t hash = place->value;
	uint32_t log;

	for (log = 0; log < s->history->logs; log++)
		hash = (hash ^ place->at[log]) * 0x9e3779b97f4a7c15ULL;
	return hash ^ hash >> 32;
}

static struct place *tried_slot(const struct search *s, const struct place *place)
{
	uint32_t i = place_hash(s, place) & (s->tried_room - 1);

	while (s->tried[i].at[0] != UINT32_MAX && memcmp(&s->tried[i], place, sizeof(*place)))
		i = (i + 1) & (s->tried_room - 1);
	return &s->tried[i];
}

static void tried_clear(struct search *s, uint32_t room)
{
	uint32_t i;

	s->tried = resize(s->tried, room, sizeof(*s->tried));
	s->tried_room = room;
	s->tried_count = 0;
	for (i = 0; i < room; i++)
		s->tried[i].at[0] = UINT32_MAX;
}

static void tried_grow(struct search *s)
{
	uint32_t room = s->tried_room, i;
	struct place *old = s->tried;

	s->tried = NULL;
	tried_clear(s, 2 * room);
	for (i = 0; i < room; i++) {
		if (old[i].at[0] != UINT32_MAX) {
			*tried_slot(s, &old[i]) = old[i];
			s->tried_count++;
		}
	}
	free(old);
}

/* Continues the search at @place, unless it was tried */
static void search_push(struct search *s, struct place *place)
{
	struct place *slot;
	uint32_t count;

	place_settle(s, place);
	slot = tried_slot(s, place);
	if (slot->at[0] != UINT32_MAX)
		return;
	*slot = *place;
	if (2 * ++s->tried_count > s->tried_room)
		tried_grow(s);
	count = place_count(s, place);
	if (!s->depth || count > s->best_count) {
		s->best = *place;
		s->best_count = count;
	}
	if (s->depth == s->depth_room) {
		s->depth_room = s->depth_room ? 2 * s->depth_room : 64;
		s->frame = resize(s->frame, s->depth_room, sizeof(*s->frame));
	}
	s->frame[s->depth].place = *place;
	s->frame[s->depth++].branch = 0;
}

/*
 * A thread and whether its interrupted operation had its effect: no effect
 * matters if another operation of the same batch follows.
 */
static void search_branch(struct search *s, const struct place *from, uint32_t branch)
{
	const struct history_op *op = next_op(s, from, branch / 2);
	struct place to = *from;
	bool idle = branch % 2;

	if (!op || op->invoked >= place_bound(s, from))
		return;
	if (op->returned == HISTORY_NEVER)
		to.value = idle ? from->value : op_effect(op, from->value);
	else if (idle || !op_explains(op, from->value, &to.value))
		return;
	to.at[branch / 2]++;
	search_push(s, &to);
}

static bool search_run(struct search *s)
{
	struct place place = { .value = s->history->first[s->key] };
	struct frame *frame;

	s->depth = 0;
	tried_clear(s, 256);
	search_push(s, &place);
	while (s->depth && s->tried_count < LINEAR_TRIES) {
		frame = &s->frame[s->depth - 1];
		place = frame->place;
		if (place_complete(s, &place))
			return true;
		if (frame->branch == 2 * s->history->logs)
			s->depth--;
		else
			search_branch(s, &place, frame->branch++);
	}
	return false;
}

/* The result, as text */
static void search_explain(const struct search *s, FILE *why)
{
	uint32_t log, i, total = 0;

	for (log = 0; log < s->history->logs; log++)
		total += s->n[log];
	fprintf(why, "# key %" PRIu32 ": %s order of its %" PRIu32 " operations explains them\n",
		s->key, s->depth ? "too many places to try for an" : "no", total);
	fprintf(why, "# at best %" PRIu32 " of them, which leave the value %" PRIx64
		"; < marks those in order\n", s->best_count, s->best.value);
	fprintf(why, "#   thread invoked returned call verb key value old error\n");
	for (log = 0; log < s->history->logs; log++) {
		i = s->best.at[log] > LINEAR_SHOWN ? s->best.at[log] - LINEAR_SHOWN : 0;
		for (; i < s->n[log] && i < s->best.at[log] + LINEAR_SHOWN; i++) {
			fprintf(why, "# %c ", i < s->best.at[log] ? '<' : ' ');
			history_print(why, log, s->op[log][i]);
		}
	}
}

/* Finds the operations on @s->key; a read that was cut off has seen nothing */
static void search_gather(struct search *s)
{
	const struct history_log *log;
	const struct history_op *op;
	uint32_t i, k;

	for (i = 0; i < s->history->logs; i++) {
		log = &s->history->log[i];
		s->n[i] = 0;
		for (k = 0; k < log->count; k++) {
			op = &log->op[k];
			if (op->key == s->key &&
			    (op->returned != HISTORY_NEVER || op->verb != HISTORY_READ))
				s->op[i][s->n[i]++] = op;
		}
	}
}

/* Was an operation of @other concurrent with @op? @from: first candidate, ascends with @op */
static bool op_beside(const struct search *s, const struct history_op *op, uint32_t other,
		      uint32_t *from)
{
	while (*from < s->n[other] && s->op[other][*from]->returned <= op->invoked)
		(*from)++;
	return *from < s->n[other] && s->op[other][*from]->invoked < op->returned;
}

/* Number of operations concurrent with another thread's: a history without any proves little */
static uint64_t search_beside(const struct search *s)
{
	uint32_t log, other, i;
	uint64_t beside = 0;
	bool any;

	for (log = 0; log < s->history->logs; log++) {
		uint32_t from[HISTORY_LOGS] = { 0 };

		for (i = 0; i < s->n[log]; i++, beside += any)
			for (any = false, other = 0; other < s->history->logs; other++)
				any |= other != log &&
				       op_beside(s, s->op[log][i], other, &from[other]);
	}
	return beside;
}

static bool check_key(struct search *s, struct linear_counts *counts, FILE *why)
{
	uint32_t log;
	bool ok;

	search_gather(s);
	ok = search_run(s);
	for (log = 0; log < s->history->logs; log++)
		counts->ops += s->n[log];
	counts->beside += search_beside(s);
	counts->tried += s->tried_count;
	if (!ok)
		search_explain(s, why);
	return ok;
}

bool linear_check(const struct history *history, struct linear_counts *counts, FILE *why)
{
	struct search s = { .history = history };
	bool ok = !history->fault[0];
	uint32_t i;

	if (!ok)
		fprintf(why, "# %s\n", history->fault);
	for (i = 0; i < history->logs; i++)
		s.op[i] = resize(NULL, history->log[i].count + 1, sizeof(*s.op[i]));
	for (s.key = 0; s.key < history->keys; s.key++)
		ok &= check_key(&s, counts, why);
	ok &= moment_check(history, &counts->moments, why);
	for (i = 0; i < history->logs; i++)
		free(s.op[i]);
	free(s.tried);
	free(s.frame);
	return ok;
}

/* Adds up the addends of @key; @cut: those of adds that were cut off */
static uint64_t sum_adds(const struct history *history, uint32_t key, bool cut)
{
	const struct history_op *op;
	uint64_t sum = 0;
	uint32_t log, i;

	for (log = 0; log < history->logs; log++) {
		for (i = 0; i < history->log[log].count; i++) {
			op = &history->log[log].op[i];
			if (op->key == key && op->verb == HISTORY_ADD && !op->err &&
			    cut == (op->returned == HISTORY_NEVER))
				sum += op->value;
		}
	}
	return sum;
}

bool linear_sums(const struct history *history, FILE *why)
{
	const struct history_log *last = &history->log[history->logs - 1];
	uint64_t least, most, value;
	uint32_t i;

	for (i = 0; i < last->count; i++) {
		least = history->first[last->op[i].key] + sum_adds(history, last->op[i].key, false);
		most = least + sum_adds(history, last->op[i].key, true);
		value = last->op[i].err ? HISTORY_ABSENT : last->op[i].value;
		if (value >= least && value <= most)
			continue;
		fprintf(why, "# key %" PRIu32 ": the sum is %" PRIu64 ", acknowledged %" PRIu64
			", attempted %" PRIu64 "\n", last->op[i].key, value, least, most);
		return false;
	}
	return true;
}

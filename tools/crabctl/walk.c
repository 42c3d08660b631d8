// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the walk of `crabctl scan` and `crabctl dump`: all records
 * of a range, except quarantined ranges.
 *
 * Invariant: each skipped range is reported by a line on stderr, and is
 * counted in record_writer.gaps.
 */
#include "crabctl.h"

#include <errno.h>
#include <inttypes.h>

static uint64_t highest(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* The range from @at to the position of @iter, without it; false if @iter did not move */
static bool range_passed(const struct walk *walk, const struct crabtree_iter *iter, uint64_t at,
			 uint64_t *from, uint64_t *to)
{
	uint64_t next = crabtree_iter_tell(iter);

	*from = *to = at;
	if (next == at)
		return false;
	if (!walk->reverse)
		*to = next > walk->to ? walk->to : next - 1;
	else
		*from = next == CRABTREE_KEY_RESERVED ? walk->from : highest(next + 1, walk->from);
	return walk->reverse ? next == CRABTREE_KEY_RESERVED || next < at : next > at;
}

static bool left_out(const struct walk *walk, const struct crabtree_iter *iter, uint64_t at)
{
	uint64_t from, to;

	if (!range_passed(walk, iter, at, &from, &to))
		return false;
	fail(walk->target, -EUCLEAN, "%s: keys %" PRIu64 " to %" PRIu64 " left out", walk->verb,
	     from, to);
	return true;
}

/* 0 at the end of the range, or the error that stopped it */
static int walk_on(const struct walk *walk, struct crabtree_iter *iter,
		   struct record_writer *writer)
{
	struct crabtree_record record;
	uint64_t at;
	int err;

	while (writer->count < walk->limit && !ferror(writer->file)) {
		at = crabtree_iter_tell(iter);
		err = crabtree_iter_next(iter, &record);
		if (err > 0)
			record_put(writer, &record);
		else if (err == -EUCLEAN && left_out(walk, iter, at))
			writer->gaps++;
		else
			return err;
		progress_show(writer->count, writer->count);
	}
	return 0;
}

static int walk_begin(const struct walk *walk, bool reverse, struct crabtree_iter **iter)
{
	struct crabtree *ct = walk->target->ct;

	return reverse ? crabtree_iter_new_reverse(ct, walk->from, walk->to, iter) :
			 crabtree_iter_new(ct, walk->from, walk->to, iter);
}

/* A walk from the key on reports the quarantined ranges, so they are passed here */
int walk_find_last(const struct walk *walk, uint64_t last, uint64_t *key)
{
	struct crabtree_record record;
	struct crabtree_iter *iter;
	uint64_t at;
	int err = walk_begin(walk, true, &iter);

	if (err)
		return fail(walk->target, err, "%s", walk->verb);
	*key = last ? walk->from : CRABTREE_KEY_RESERVED;
	while (last) {
		at = crabtree_iter_tell(iter);
		err = crabtree_iter_next(iter, &record);
		if (err > 0 && !--last)
			*key = record.key;
		if (!err || (err < 0 && (err != -EUCLEAN || crabtree_iter_tell(iter) == at)))
			break;
	}
	crabtree_iter_free(iter);
	return err < 0 && err != -EUCLEAN ? fail(walk->target, err, "%s", walk->verb) : EXIT_OK;
}

int walk_records(const struct walk *walk, struct record_writer *writer)
{
	struct crabtree_iter *iter;
	int err;

	err = walk_begin(walk, walk->reverse, &iter);
	if (err)
		return fail(walk->target, err, "%s", walk->verb);
	err = walk_on(walk, iter, writer);
	record_end(writer);
	progress_clear();
	crabtree_iter_free(iter);
	return err ? fail(walk->target, err, "%s, after %" PRIu64 " %s", walk->verb, writer->count,
			  noun(writer->count, "record", "records")) : EXIT_OK;
}

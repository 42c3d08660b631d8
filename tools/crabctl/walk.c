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

/* From @from up to the position of @iter; false if it did not move */
static bool left_out(const struct walk *walk, const struct crabtree_iter *iter, uint64_t from)
{
	uint64_t to = crabtree_iter_tell(iter);

	if (to <= from)
		return false;
	to = to > walk->to ? walk->to : to - 1;
	fail(walk->target, -EUCLEAN, "%s: keys %" PRIu64 " to %" PRIu64 " left out", walk->verb,
	     from, to);
	return true;
}

/* 0 at the end of the range, or the error that stopped it */
static int walk_on(const struct walk *walk, struct crabtree_iter *iter,
		   struct record_writer *writer)
{
	struct crabtree_record record;
	uint64_t from;
	int err;

	while (writer->count < walk->limit && !ferror(writer->file)) {
		from = crabtree_iter_tell(iter);
		err = crabtree_iter_next(iter, &record);
		if (err > 0)
			record_put(writer, &record);
		else if (err == -EUCLEAN && left_out(walk, iter, from))
			writer->gaps++;
		else
			return err;
		progress_show(writer->count, writer->count);
	}
	return 0;
}

int walk_records(const struct walk *walk, struct record_writer *writer)
{
	struct crabtree_iter *iter;
	int err;

	err = crabtree_iter_new(walk->target->ct, walk->from, walk->to, &iter);
	if (err)
		return fail(walk->target, err, "%s", walk->verb);
	record_begin(writer);
	err = walk_on(walk, iter, writer);
	record_end(writer);
	progress_clear();
	crabtree_iter_free(iter);
	return err ? fail(walk->target, err, "%s, after %" PRIu64 " records", walk->verb,
			  writer->count) : EXIT_OK;
}

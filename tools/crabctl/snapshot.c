// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements `crabctl snapshot`: the content of a store at one point in time, in a stream.
 *
 * Invariant: a file named on the command line has its old content or the complete new one, as of
 * `crabctl dump`. If damaged items were left out, it becomes FILE.partial, and each was reported.
 */
#include "partial.h"
#include "stream.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char doc[] =
	"Write all records, blobs or named values as of one point in time, while others write to the "
	"store, with checksums. restore, load and diff read the file. Damaged ones are left out.";

/* The end of a walk: EXIT_OK, or a message */
static int walk_end(struct target *target, const struct stream *stream, const struct item *item,
		    int err)
{
	char label[ITEM_LABEL];

	if (err == -ESTALE) {
		message("%s: snapshot: ended after %" PRIu64 " %s: " SNAPSHOT_ENDED, target_path(target),
			stream->count, item_noun(stream->kind, stream->count));
		return EXIT_FAILED;
	}
	if (err && item_is_known(stream->kind, item))
		return fail(target, err, "snapshot, at %s",
			    item_label(stream->kind, item, label));
	if (err)
		return fail(target, err, "snapshot, after %" PRIu64 " %s", stream->count,
			    item_noun(stream->kind, stream->count));
	return EXIT_OK;
}

/* A list of names does not show how many it lacks; INFO does, unless whole leaves are damaged */
static void names_left_out(struct target *target, const struct stream *stream)
{
	uint64_t listed = stream->count + stream->left_out, missing = 0;
	struct crabtree_info info;

	if (!crabtree_info(target->ct, &info, sizeof(info)) && info.records > listed && !info.leaves_bad)
		missing = info.records - listed;
	if (missing)
		fail(target, -EUCLEAN, "snapshot: left out %" PRIu64 " %s damaged", missing,
		     noun(missing, "value whose name is", "values whose names are"));
	else
		fail(target, -EUCLEAN, "snapshot: left out values whose names are damaged");
}

/* Reports a loss; false: the walk ends here. The reason of the store is not that of each value */
static bool left_out(struct target *target, const struct items *items, const struct item *item,
		     struct stream *stream)
{
	char label[ITEM_LABEL];
	const char *what = items_skipped(items, item, label);

	if (!what)
		return false;
	if (item_is_known(items->kind, item))
		message("%s: snapshot: %s left out: %s", target_path(target), what,
			crabtree_strerror(-EUCLEAN));
	else if (items->kind == ITEM_NAMED)
		names_left_out(target, stream);
	else
		fail(target, -EUCLEAN, "snapshot: %s left out", what);
	stream->left_out++;
	return true;
}

static int write_items(struct target *target, struct items *items, struct item *item,
		       struct stream *stream)
{
	int got, code;

	while ((got = items_next(items, item)) > 0 ||
	       (got == -EUCLEAN && left_out(target, items, item, stream))) {
		if (got > 0)
			stream_put(stream, item);
		progress_show(stream->count, stream->count);
	}
	progress_clear();
	code = walk_end(target, stream, item, got);
	if (!code)
		stream_end(stream);
	return code;
}

static int write_all(struct target *target, struct crabtree *from, struct stream *stream)
{
	struct crabtree_info info = { 0 };
	struct items items = { 0 };
	struct item item = { 0 };
	int code, err;

	err = crabtree_info(from, &info, sizeof(info));
	if (!err)
		err = item_init(&item);
	if (!err)
		err = items_open(&items, from, item_kind(&info));
	if (err) {
		code = fail(target, err, "snapshot");
	} else {
		progress_begin(stream->file, item_kind_name(items.kind), info.records);
		stream_begin(stream, &info);
		code = write_items(target, &items, &item, stream);
	}
	items_close(&items);
	free(item.data);
	return code;
}

/* An image that is open has no other writer: it is its own snapshot */
static int write_snapshot(struct target *target, struct stream *stream)
{
	struct crabtree *snapshot;
	int err, code;

	if (target->image)
		return write_all(target, target->ct, stream);
	err = crabtree_snapshot(target->ct, &snapshot);
	if (err)
		return fail(target, err, "snapshot");
	code = write_all(target, snapshot, stream);
	crabtree_close(snapshot);
	return code;
}

static void report(const struct target *target, const char *path, const struct stream *stream)
{
	struct json_object *json;

	if (!target->json) {
		fprintf(stderr, "%" PRIu64 " %s written to %s\n", stream->count,
			item_noun(stream->kind, stream->count), path);
		return;
	}
	json = json_object_new_object();
	json_text(json, "file", path);
	json_text(json, "kind", item_kind_name(stream->kind));
	json_u64(json, "written", stream->count);
	json_u64(json, "left_out", stream->left_out);
	json_print(json);
}

static int write_file(struct target *target, const char *path, struct stream *stream)
{
	int code = target_spare(target, path), err;
	struct partial partial;

	if (code)
		return code;
	stream->file = partial_open(&partial, path);
	code = stream->file ? write_snapshot(target, stream) : fail_file(path, -errno, "open");
	if (stream->file && file_settle(stream->file, path) && !code)
		code = EXIT_FAILED;
	err = code ? 0 : stream->left_out ? partial_keep(&partial) : partial_place(&partial, true);
	if (err)
		code = fail_file(path, err, "rename");
	if (!code)
		report(target, stream->left_out ? partial.to : path, stream);
	partial_end(&partial);
	return code;
}

/* A loss is an error, too */
static int end(const struct stream *stream, int code)
{
	return code ? code : stream->left_out ? EXIT_FAILED : EXIT_OK;
}

int verb_snapshot(struct target *target, int argc, char **argv)
{
	struct stream stream = { .file = stdout };
	const char *path;
	struct stat st;
	int code;

	path = verb_parse_file(target, doc, argc, argv);
	code = strcmp(path, "-") ? EXIT_OK : target_no_json(target, "snapshot to standard output");
	if (!code)
		code = target_open(target, CRABTREE_OPEN_READONLY) ?: target_store(target, "snapshot", NULL);
	if (code)
		return code;
	if (!strcmp(path, "-"))
		return end(&stream, write_snapshot(target, &stream));
	if (!stat(path, &st) && !S_ISREG(st.st_mode))
		return fail_file(path, -EINVAL, "snapshot (not a regular file; - is standard output)");
	return end(&stream, write_file(target, path, &stream));
}

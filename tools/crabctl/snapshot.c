// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements `crabctl snapshot`: the content of a store at one point in time, in a stream.
 *
 * Invariant: a file named on the command line has its old content or the complete new one, as of
 * `crabctl dump`.
 */
#include "stream.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char doc[] =
	"Write all records as of one point in time, while others write to the store, with checksums. "
	"restore, load and diff read the file.";

static int write_all(struct target *target, struct crabtree *from, struct stream *stream)
{
	struct crabtree_info info = { 0 };
	struct crabtree_record record;
	struct crabtree_iter *iter;
	int got, err;

	err = crabtree_info(from, &info, sizeof(info));
	if (!err)
		err = crabtree_iter_new(from, 0, CRABTREE_KEY_RESERVED - 1, &iter);
	if (err)
		return fail(target, err, "snapshot");
	progress_begin("records", info.records);
	stream_begin(stream, &info);
	while ((got = crabtree_iter_next(iter, &record)) > 0) {
		stream_put(stream, &record);
		progress_show(stream->count, stream->count);
	}
	progress_clear();
	crabtree_iter_free(iter);
	if (got == -ESTALE) {
		fprintf(stderr, "crabctl: %s: snapshot: ended after %" PRIu64 " records: others wrote so "
			"much meanwhile that the module's snapshot_bytes were used up\n",
			target_path(target), stream->count);
		return EXIT_FAILED;
	}
	if (got)
		return fail(target, got, "snapshot, after %" PRIu64 " records", stream->count);
	stream_end(stream);
	return EXIT_OK;
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

static int write_file(struct target *target, const char *path, struct stream *stream)
{
	char *partial;
	int code;

	if (asprintf(&partial, "%s.partial", path) < 0)
		return fail_file(path, -ENOMEM, "open");
	stream->file = fopen(partial, "we");
	code = stream->file ? write_snapshot(target, stream) : fail_file(partial, -errno, "open");
	if (stream->file && file_settle(stream->file, partial) && !code)
		code = EXIT_FAILED;
	if (!code && rename(partial, path))
		code = fail_file(path, -errno, "rename");
	if (code)
		unlink(partial);
	else
		fprintf(stderr, "%" PRIu64 " records written to %s\n", stream->count, path);
	free(partial);
	return code;
}

int verb_snapshot(struct target *target, int argc, char **argv)
{
	struct stream stream = { .file = stdout };
	const char *path;
	struct stat st;
	int code;

	path = verb_parse_file(target, doc, "standard output", argc, argv);
	code = target_open(target, CRABTREE_OPEN_READONLY);
	if (code)
		return code;
	if (!strcmp(path, "-"))
		code = write_snapshot(target, &stream);
	else if (!stat(path, &st) && !S_ISREG(st.st_mode))
		code = fail_file(path, -EINVAL, "snapshot (not a regular file; - is standard output)");
	else
		code = write_file(target, path, &stream);
	target_close(target);
	return code;
}

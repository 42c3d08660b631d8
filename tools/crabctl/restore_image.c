// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements `crabctl restore` of an image file.
 *
 * Invariants: the image has its old content or the complete new one, because it is made under
 * another name, written to its disk, checked and then renamed. The lock of the old file is held
 * until then, so that no program has the file open that is replaced.
 */
#include "partial.h"
#include "restore.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef CRABCTL_IMAGE
#include <crabtree_image.h>

static int make_image(struct restore *restore, struct stream *stream,
		      const struct partial *partial)
{
	int closed, err = crabtree_open_image(&restore->ct, partial->path, 0);

	if (err)
		return err;
	err = restore_format(restore, stream);
	if (err)
		crabtree_reason(restore->ct, restore->reason, sizeof(restore->reason));
	if (!err)
		err = restore_fill(restore, stream);
	if (!err)
		err = restore_check(restore, stream);
	closed = crabtree_close(restore->ct);
	err = err ? err : closed;
	return !err && fsync(partial->file) ? -errno : err;
}

/* The image was too small: finds a size that is not, by trial, and reports it */
static int refuse_small(struct restore *restore, struct stream *stream,
			const struct partial *partial)
{
	const char *image = restore->target->image;
	uint64_t given = restore->size;
	int err = -ENOSPC, n;

	restore->format.flags |= CRABTREE_FORMAT_FORCE;
	for (n = 0; is_too_small(err) && n < SIZE_TRIALS; n++) {
		restore->size = size_larger(given, n);
		if (partial_room(partial, restore->size))
			break;
		err = make_image(restore, stream, partial);
	}
	if (err)
		message("%s: restore: %" PRIu64 " bytes are too few: give a larger --size", image, given);
	else
		message("%s: restore: %" PRIu64 " bytes are too few; --size=%" PRIu64 " is enough",
			image, given, restore->size);
	return EXIT_FAILED;
}

static int make(struct restore *restore, struct stream *stream, const struct partial *partial)
{
	int err = partial_room(partial, restore->size);

	if (err)
		return fail_file(restore->target->image, err, "restore");
	err = make_image(restore, stream, partial);
	if (is_too_small(err))
		return refuse_small(restore, stream, partial);
	if (!err)
		return EXIT_OK;
	if (*restore->reason)
		message("%s: restore: %s", restore->target->image, restore->reason);
	else
		fail_file(restore->target->image, err, "restore, %s:%" PRIu64, stream->name, stream->line);
	return EXIT_FAILED;
}

/* The stream is good, and the file that is there is locked */
static int replace(struct restore *restore, struct stream *stream)
{
	const char *image = restore->target->image;
	struct partial partial;
	FILE *file = partial_open(&partial, image);
	int code = file ? EXIT_OK : fail_file(image, -errno, "restore"), err;

	if (file)
		fclose(file);
	if (!code)
		code = make(restore, stream, &partial);
	err = code ? 0 : partial_place(&partial, restore->target->ct);
	if (err)
		code = fail_file(image, err, "restore");
	partial_end(&partial);
	return code;
}

/* An image that is there is replaced only with --force, and only if no program has it open */
static int lock_old(struct restore *restore)
{
	struct stat st;

	if (stat(restore->target->image, &st)) {
		if (!restore->size)
			message("%s: restore: there is no such file: give --size", restore->target->image);
		return restore->size ? EXIT_OK : EXIT_USAGE;
	}
	if (!restore->force) {
		message("%s: restore: the file is there already; --force replaces it", restore->target->image);
		return EXIT_FAILED;
	}
	if (!restore->size)
		restore->size = st.st_size - st.st_size % IMAGE_PAGE;
	return target_open(restore->target, 0);
}

int restore_image(struct restore *restore, struct stream *stream)
{
	int code = lock_old(restore);

	if (!code)
		code = replace(restore, stream);
	return target_end(restore->target, code);
}
#else
int restore_image(struct restore *restore, struct stream *stream)
{
	(void)stream;
	message("%s: %s", target_path(restore->target), target_error(restore->target, -ELIBACC));
	return EXIT_FAILED;
}
#endif

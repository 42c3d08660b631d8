// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements `crabctl restore` of an image file.
 *
 * Invariant: the image has its old content or the complete new one, because it is made under
 * another name, written to its disk, checked and then renamed.
 */
#include "restore.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef CRABCTL_IMAGE
#include <crabtree_image.h>

static int sync_path(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;

	err = fd < 0 || fsync(fd) ? -errno : 0;
	if (fd >= 0)
		close(fd);
	return err;
}

static int make_image(struct restore *restore, struct stream *stream, const char *partial)
{
	int closed, err = crabtree_create_image(partial, restore->size);

	if (err)
		return err;
	err = crabtree_open_image(&restore->ct, partial, 0);
	if (err)
		return err;
	err = restore_format(restore, stream);
	if (!err)
		err = restore_fill(restore, stream);
	if (!err)
		err = restore_check(restore, stream);
	closed = crabtree_close(restore->ct);
	err = err ? err : closed;
	return err ? err : sync_path(partial);
}

/* The stream is good. The renamed file is durable once its directory is, which the caller owns */
static int replace(struct restore *restore, struct stream *stream)
{
	const char *image = restore->target->image;
	char *partial;
	int err;

	if (asprintf(&partial, "%s.partial", image) < 0)
		return fail_file(image, -ENOMEM, "restore");
	unlink(partial);
	err = make_image(restore, stream, partial);
	if (!err && rename(partial, image))
		err = -errno;
	if (err)
		unlink(partial);
	free(partial);
	if (err)
		return fail_file(image, err, "restore%s",
				 err == -ENOSPC || err == -EMSGSIZE ? " (give a larger --size)" : "");
	return EXIT_OK;
}

/* An image that is there is replaced only with --force, and only if no program has it open */
static int check_old(struct restore *restore)
{
	struct crabtree *old;
	struct stat st;
	int err;

	if (stat(restore->target->image, &st)) {
		if (!restore->size)
			fprintf(stderr, "crabctl: %s: restore: there is no such file: give --size\n",
				restore->target->image);
		return restore->size ? EXIT_OK : EXIT_USAGE;
	}
	if (!restore->force)
		return fail_file(restore->target->image, -EEXIST, "restore (--force replaces it)");
	if (!restore->size)
		restore->size = st.st_size;
	err = crabtree_open_image(&old, restore->target->image, 0);
	if (err)
		return fail_file(restore->target->image, err, "restore");
	crabtree_close(old);
	return EXIT_OK;
}

int restore_image(struct restore *restore, struct stream *stream)
{
	int code = check_old(restore);

	return code ? code : replace(restore, stream);
}
#else
int restore_image(struct restore *restore, struct stream *stream)
{
	(void)stream;
	fprintf(stderr, "crabctl: %s: this crabctl was built without support for image files\n",
		target_path(restore->target));
	return EXIT_FAILED;
}
#endif

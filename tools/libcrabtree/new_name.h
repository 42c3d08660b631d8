/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the last step of a new file: its name becomes durable. crabctl and the library
 * of images share it.
 */
#ifndef CRABTREE_NEW_NAME_H
#define CRABTREE_NEW_NAME_H

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/**
 * new_name_sync() - make the name of a file durable
 * @path: its name
 * @file: the file, open
 *
 * The name is on the disk once its directory is. A directory that cannot be opened, as files may
 * be made in one that cannot be read, is synced with all of its file system. Not all file systems
 * can sync a directory, or need it.
 *
 * Return: 0 or a negative errno.
 */
static inline int new_name_sync(const char *path, int file)
{
	char *copy = strdup(path);
	int dir = copy ? open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	int err = (dir < 0 ? syncfs(file) : fsync(dir)) ? -errno : 0;

	if (dir >= 0)
		close(dir);
	free(copy);
	return err == -EINVAL || err == -ENOTSUP ? 0 : err;
}

#endif /* CRABTREE_NEW_NAME_H */

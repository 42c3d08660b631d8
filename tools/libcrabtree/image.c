// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the file of an image: locked, mapped, written back.
 *
 * Invariants: one writer or any number of readers have the file (flock), and the path names
 * the file that was locked; a mapping for reading cannot be written, so a read-only handle
 * changes nothing. msync() makes writes durable: the memory here is the page cache, so the
 * lines are counted but not cleaned. Before msync() the pages reach the disk in any order: a power
 * cut may then damage the store, but the end of the program cannot.
 *
 * A child of fork() has the mapping, the lock of the file and a copy of the store in memory, which
 * its parent goes on to change. So it is refused: its handle is good for crabtree_close() only.
 *
 * Locking: image_lock serialises all calls, for the engines are built without threads. fork() takes
 * it, too, so that the child has it in a known state.
 */
#include "crabtree_image.h"
#include "image.h"
#include "new_name.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/printk.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static pthread_mutex_t image_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t image_once = PTHREAD_ONCE_INIT;
static int image_atfork;		/* error of watch_forks() */
static unsigned int image_forks;	/* since the first image; changes in a new child only */

static void fork_begins(void)
{
	pthread_mutex_lock(&image_lock);
}

static void fork_ended(void)
{
	pthread_mutex_unlock(&image_lock);
}

static void fork_ended_in_child(void)
{
	image_forks++;
	pthread_mutex_unlock(&image_lock);
}

static void watch_forks(void)
{
	image_atfork = -pthread_atfork(fork_begins, fork_ended, fork_ended_in_child);
}

/* Was it opened by this process, and not by its parent? */
static bool is_own(const struct image *image)
{
	return image->forks == image_forks;
}

int image_enter(const struct image *image)
{
	pthread_mutex_lock(&image_lock);
	if (is_own(image))
		return 0;
	pthread_mutex_unlock(&image_lock);
	return -EBUSY;
}

void image_leave(void)
{
	pthread_mutex_unlock(&image_lock);
}

static int locked_call(struct crabtree *ct, unsigned long cmd, void *arg)
{
	int err = image_enter((struct image *)ct);

	if (err)
		return err;
	err = image_call(ct, cmd, arg);
	image_leave();
	return err;
}

static int image_sync(struct crabtree *ct)
{
	struct image *image = (struct image *)ct;

	if (!is_own(image))
		return -EBUSY;
	if (image->readonly)
		return 0;
	return msync(image->media.base, image->media.size, MS_SYNC) < 0 ? -errno : 0;
}

static void image_reason(struct crabtree *ct, char *buf, size_t len)
{
	struct image *image = (struct image *)ct;

	pthread_mutex_lock(&image_lock);
	snprintf(buf, len, "%s", image->reason);
	pthread_mutex_unlock(&image_lock);
}

static int image_unmap(struct image *image)
{
	int err = 0;

	munmap(image->media.base, image->media.size);
	if (close(image->fd) < 0)
		err = -errno;
	free(image);
	return err;
}

/* The end of a child's copy: nothing is written, and the parent keeps the lock of the file */
static int image_drop(struct image *image)
{
	pthread_mutex_lock(&image_lock);
	crab_store_abandon(image->store);
	pthread_mutex_unlock(&image_lock);
	return image_unmap(image);
}

static int image_close(struct crabtree *ct)
{
	struct image *image = (struct image *)ct;
	int err, closed;

	if (!is_own(image))
		return image_drop(image);
	pthread_mutex_lock(&image_lock);
	crab_store_detach(image->store);
	pthread_mutex_unlock(&image_lock);
	err = image_sync(ct);
	/* Children that live have copies of the descriptor, which would keep the lock */
	flock(image->fd, LOCK_UN);
	closed = image_unmap(image);
	return err ? err : closed;
}

static const struct crabtree_backend image_backend = {
	.call = locked_call,
	.sync = image_sync,
	.reason = image_reason,
	.close = image_close,
};

static int lock_file(struct image *image)
{
	if (flock(image->fd, (image->readonly ? LOCK_SH : LOCK_EX) | LOCK_NB) < 0)
		return -errno;
	return 0;
}

/* Was another file, with another lock, given the path before this one was locked? */
static bool is_replaced(const struct image *image, const char *path)
{
	struct stat ours, named;

	return fstat(image->fd, &ours) || stat(path, &named) || ours.st_ino != named.st_ino ||
	       ours.st_dev != named.st_dev;
}

/* On an error, the file is closed */
static int open_file(struct image *image, const char *path)
{
	int mode = (image->readonly ? O_RDONLY : O_RDWR) | O_CLOEXEC | O_NONBLOCK, err;
	bool again;

	do {
		image->fd = open(path, mode);
		if (image->fd < 0)
			return -errno;
		err = lock_file(image);
		again = !err && is_replaced(image, path);
		if (err || again)
			close(image->fd);
	} while (again);
	return err;
}

/* A write to a hole for which the disk has no room is SIGBUS. Not all file systems can fill one. */
static int fill_holes(const struct image *image)
{
	if (image->readonly || !fallocate(image->fd, 0, 0, image->media.size))
		return 0;
	return errno == EOPNOTSUPP || errno == ENOSYS ? 0 : -errno;
}

static int image_map(struct image *image)
{
	int prot = image->readonly ? PROT_READ : PROT_READ | PROT_WRITE;
	struct stat st;
	void *base;
	int err;

	if (fstat(image->fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -ENOTTY;
	image->media.size = st.st_size & ~(IMAGE_PAGE - 1ULL);
	if (!image->media.size)
		return -EINVAL;
	err = fill_holes(image);
	if (err)
		return err;
	base = mmap(NULL, image->media.size, prot, MAP_SHARED, image->fd, 0);
	if (base == MAP_FAILED)
		return -errno;
	image->media.base = base;
	image->media.durability = CRAB_DURABILITY_NONE;
	image->media.fence_only = true;
	return 0;
}

static void image_name(struct image *image, const char *path)
{
	const char *slash = strrchr(path, '/');

	snprintf(image->name, sizeof(image->name), "%s", slash ? slash + 1 : path);
}

/* A file needs no clean: lines may be shorter, as the 32 bytes of QEMU's user emulation are */
static int prepare(void)
{
	int err;

	pthread_once(&image_once, watch_forks);
	if (image_atfork)
		return image_atfork;
	pthread_mutex_lock(&image_lock);
	/* Errors are returned as an errno and a reason; the caller prints them */
	crab_host_log = NULL;
	err = crab_persist_init();
	pthread_mutex_unlock(&image_lock);
	return err == -EOPNOTSUPP ? 0 : err;
}

int crabtree_open_image(struct crabtree **ct, const char *path, unsigned int flags)
{
	struct image *image;
	int err;

	if (flags & ~CRABTREE_OPEN_READONLY)
		return -EINVAL;
	err = prepare();
	if (err)
		return err;
	image = calloc(1, sizeof(*image));
	if (!image)
		return -ENOMEM;
	image->ct.backend = &image_backend;
	image->forks = image_forks;
	image->readonly = flags & CRABTREE_OPEN_READONLY;
	image_name(image, path);
	err = open_file(image, path);
	if (err)
		goto err_free;
	err = image_map(image);
	if (err)
		goto err_close;
	*ct = &image->ct;
	return 0;

err_close:
	close(image->fd);
err_free:
	free(image);
	return err;
}

int crabtree_create_image(const char *path, uint64_t size)
{
	int err, fd;

	if (size < IMAGE_PAGE || size % IMAGE_PAGE || size > INT64_MAX)
		return -EINVAL;
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (fd < 0)
		return -errno;
	err = -posix_fallocate(fd, 0, size);
	if (!err)
		err = new_name_sync(path, fd);
	if (close(fd) < 0 && !err)
		err = -errno;
	if (err)
		unlink(path);
	return err;
}

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file opens a block device by its path, exclusively, and reads its list of bad
 * blocks, on every kernel that compat.h supports. Included by region/dax.c only.
 */
#ifndef CRABTREE_COMPAT_BDEV_H
#define CRABTREE_COMPAT_BDEV_H

#include <linux/badblocks.h>
#include <linux/blkdev.h>
#include <linux/err.h>
#include <linux/file.h>
#include <linux/minmax.h>
#include <linux/version.h>

/**
 * struct crab_bdev - a block device, opened exclusively
 * @bdev: the device
 * @readonly: opened for reading only
 * @handle: reference to release (6.7 and newer)
 */
struct crab_bdev {
	struct block_device *bdev;
	bool readonly;
	void *handle;
};

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 7, 0)

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 5, 0)
#define crab_bdev_mode(readonly) \
	(FMODE_READ | FMODE_EXCL | ((readonly) ? 0 : FMODE_WRITE))
#define crab_blkdev_get(path, readonly, holder) \
	blkdev_get_by_path(path, crab_bdev_mode(readonly), holder)
#define crab_blkdev_put(bdev, readonly, holder)	blkdev_put(bdev, crab_bdev_mode(readonly))
#else
#define crab_bdev_mode(readonly)	(BLK_OPEN_READ | ((readonly) ? 0 : BLK_OPEN_WRITE))
#define crab_blkdev_get(path, readonly, holder) \
	blkdev_get_by_path(path, crab_bdev_mode(readonly), holder, NULL)
#define crab_blkdev_put(bdev, readonly, holder)	blkdev_put(bdev, holder)
#endif

static inline int crab_bdev_open(struct crab_bdev *b, const char *path, bool readonly, void *holder)
{
	b->readonly = readonly;
	b->bdev = crab_blkdev_get(path, readonly, holder);
	return PTR_ERR_OR_ZERO(b->bdev);
}

static inline void crab_bdev_close(struct crab_bdev *b, void *holder)
{
	crab_blkdev_put(b->bdev, b->readonly, holder);
}

#else

#define crab_bdev_mode(readonly)	(BLK_OPEN_READ | ((readonly) ? 0 : BLK_OPEN_WRITE))

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 9, 0)

static inline int crab_bdev_open(struct crab_bdev *b, const char *path, bool readonly, void *holder)
{
	struct bdev_handle *handle;

	handle = bdev_open_by_path(path, crab_bdev_mode(readonly), holder, NULL);
	if (IS_ERR(handle))
		return PTR_ERR(handle);
	b->bdev = handle->bdev;
	b->readonly = readonly;
	b->handle = handle;
	return 0;
}

static inline void crab_bdev_close(struct crab_bdev *b, void *holder)
{
	bdev_release(b->handle);
}

#else

static inline int crab_bdev_open(struct crab_bdev *b, const char *path, bool readonly, void *holder)
{
	struct file *file;

	file = bdev_file_open_by_path(path, crab_bdev_mode(readonly), holder, NULL);
	if (IS_ERR(file))
		return PTR_ERR(file);
	b->bdev = file_bdev(file);
	b->readonly = readonly;
	b->handle = file;
	return 0;
}

/* Releases the claim immediately, unlike fput(), so that the next caller can claim it */
static inline void crab_bdev_close(struct crab_bdev *b, void *holder)
{
	bdev_fput(b->handle);
}

#endif

#endif

/* 6.15: lengths are sectors, too */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 15, 0)
#define crab_badblocks_len	int
#else
#define crab_badblocks_len	sector_t
#endif

/* The first bad blocks in the sectors [*@at, @end); *@at is the sector after them */
static inline bool crab_bdev_badblocks(const struct crab_bdev *b, sector_t *at, sector_t end,
				       sector_t *first)
{
	struct badblocks *bb = b->bdev->bd_disk->bb;
	crab_badblocks_len count;
	sector_t n;

	for (; bb && *at < end; *at += n) {
		n = min_t(sector_t, end - *at, S32_MAX);
		if (!badblocks_check(bb, *at, n, first, &count))
			continue;
		*at = *first + count;
		return true;
	}
	return false;
}

#endif /* CRABTREE_COMPAT_BDEV_H */

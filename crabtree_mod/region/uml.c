// SPDX-License-Identifier: GPL-2.0
/*
 * This file provides regions to user-mode Linux: uml=PATH[,PATH...] maps a file
 * of the host, shared, into the kernel's process. The content survives the
 * death of that process, so that tests cut the power by kill -9; it does not
 * survive a crash of the host.
 *
 * Invariant: the class is DURABILITY_NONE; the file is locked against a second machine
 * while it is mapped. No lock: a region has one owner.
 */
#define pr_fmt(fmt) "crabtree: " fmt

#include <linux/err.h>
#include <linux/errno.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "provider.h"

/* Functions of the host, exported by user-mode Linux; -1 on error, errno is not accessible */
long syscall(long number, ...);

/* Numbers and values of the host's interface (x86-64), not of this kernel's */
#define HOST_CLOSE		3
#define HOST_LSEEK		8
#define HOST_MMAP		9
#define HOST_MUNMAP		11
#define HOST_OPEN		2
#define HOST_FLOCK		73
#define HOST_O_RDWR_CLOEXEC	02000002L
#define HOST_SEEK_END		2L
#define HOST_PROT_RW		3L
#define HOST_MAP_SHARED		1L
#define HOST_LOCK_EX_NB		6L
#define HOST_LOCK_UN		8L

/* The host's processes of user space have copies of the descriptor, which would keep the lock */
static void uml_close(long fd)
{
	syscall(HOST_FLOCK, fd, HOST_LOCK_UN);
	syscall(HOST_CLOSE, fd);
}

static void uml_release(struct crab_region *region)
{
	syscall(HOST_MUNMAP, region->media.base, region->media.size);
	uml_close((long)region->priv);
}

static const struct crab_region_ops uml_ops = {
	.provider	= "uml",
	.release	= uml_release,
};

static int uml_map(struct crab_region *region, long fd)
{
	long size = syscall(HOST_LSEEK, fd, 0L, HOST_SEEK_END);
	long base;
	int err;

	if (size < 0)
		return -EIO;
	err = crab_region_check(region->name, 0, size);
	if (err)
		return err;
	if (syscall(HOST_FLOCK, fd, HOST_LOCK_EX_NB) < 0) {
		crab_region_refuse("%s: locked by another", region->name);
		return -EBUSY;
	}
	base = syscall(HOST_MMAP, 0L, size, HOST_PROT_RW, HOST_MAP_SHARED, fd, 0L);
	if (base == -1) {
		crab_region_refuse("%s: cannot map %ld bytes", region->name, size);
		return -ENOMEM;
	}
	region->media.base = (u8 *)base;
	region->media.size = size;
	region->media.durability = CRAB_DURABILITY_NONE;
	region->priv = (void *)fd;
	return 0;
}

static struct crab_region *uml_open(const char *path)
{
	struct crab_region *region = crab_region_alloc(&uml_ops, "%s", path);
	int err = -ENOENT;
	long fd;

	if (!region)
		return ERR_PTR(-ENOMEM);
	fd = syscall(HOST_OPEN, path, HOST_O_RDWR_CLOEXEC, 0L);
	if (fd < 0) {
		crab_region_refuse("uml=%s: cannot open it on the host", path);
		goto err_free;
	}
	err = uml_map(region, fd);
	if (!err)
		return region;
	uml_close(fd);
err_free:
	kfree(region);
	return ERR_PTR(err);
}

/**
 * crab_region_uml_add() - map a file of the host
 * @request: its path
 * @events: the layer above, which receives the region
 *
 * Context: may sleep.
 * Return: 0 or an error, with the reason in the log.
 */
int crab_region_uml_add(const struct crab_region_request *request,
			const struct crab_region_events *events)
{
	struct crab_region *region = uml_open(request->name);

	if (!IS_ERR(region))
		region->readonly = request->readonly;
	return crab_region_give(region, events);
}

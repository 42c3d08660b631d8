/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares libcrabtree's second backend: an image of a region in a
 * file, served by the kernel's own code built for user space. It is not part of
 * the shared library: each of its users would then link the engine.
 */
#ifndef CRABTREE_IMAGE_H
#define CRABTREE_IMAGE_H

#include <crabtree.h>

/**
 * crabtree_open_image() - open an image of a region
 * @ct: out: a handle for all calls of crabtree.h
 * @path: a regular file
 * @flags: CRABTREE_OPEN_*
 *
 * The first call that needs the store attaches it. With CRABTREE_OPEN_READONLY
 * no byte of the file changes, and other programs may read it at the same time;
 * a writer locks the file exclusively. Writes are in the file after
 * crabtree_sync() or crabtree_close(). Unlike the handle of a device, this
 * handle must not be used by two threads at the same time.
 *
 * Return: 0; -EWOULDBLOCK if another program has it; -ENOTTY if it is not a
 * regular file; -EINVAL if it is smaller than a page; an errno of open(2).
 */
int crabtree_open_image(struct crabtree **ct, const char *path, unsigned int flags);

/**
 * crabtree_create_image() - create a file of zeros
 * @path: its name; the file must not exist
 * @size: bytes
 * Return: 0, -EEXIST, -EINVAL for less than a page or not a multiple of one, or
 * an errno of open(2) or posix_fallocate(3).
 */
int crabtree_create_image(const char *path, uint64_t size);

/**
 * struct crabtree_image_supers - the superblocks of an image
 * @valid: copies that are valid, 0 to 2
 * @detached: the last writer detached; true if no copy is valid
 */
struct crabtree_image_supers {
	unsigned int valid;
	bool detached;
};

/**
 * crabtree_image_supers() - examine the superblocks
 * @ct: a handle of crabtree_open_image()
 * @supers: out
 *
 * Return: 0 or an errno of mmap(2).
 */
int crabtree_image_supers(struct crabtree *ct, struct crabtree_image_supers *supers);

#endif /* CRABTREE_IMAGE_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares libcrabtree's second backend: an image of a region in a
 * file, served by the kernel's own code built for user space. It is a library of
 * its own, libcrabtree-image: it holds the engines, and is GPL-2.0 like these.
 */
#ifndef CRABTREE_IMAGE_H
#define CRABTREE_IMAGE_H

#include <stdbool.h>

#include <crabtree.h>

/**
 * crabtree_open_image() - open an image of a region
 * @ct: out: a handle for all calls of crabtree.h
 * @path: a regular file
 * @flags: CRABTREE_OPEN_*
 *
 * The first call that needs the store attaches it. With CRABTREE_OPEN_READONLY
 * no byte of the file changes, and other programs may read it at the same time;
 * a writer locks the file exclusively. Writes are durable after crabtree_close(),
 * or after crabtree_sync() until the next one; a power cut before may damage the
 * store. One call at a time runs in a process, on whichever image.
 *
 * Return: 0; -EWOULDBLOCK if another program has it; -ENOTTY if it is not a
 * regular file; -EINVAL if it is smaller than a page; an errno of open(2).
 */
int crabtree_open_image(struct crabtree **ct, const char *path, unsigned int flags);

/**
 * crabtree_create_image() - create a file of zeros
 * @path: its name; the file must not exist
 * @size: bytes
 *
 * Its name is durable then; the writes to it once it is closed, as of any image.
 *
 * Return: 0, -EEXIST, -EINVAL for less than a page or not a multiple of one, or
 * an errno of open(2), posix_fallocate(3) or fsync(2): then there is no file.
 */
int crabtree_create_image(const char *path, uint64_t size);

/**
 * struct crabtree_image_supers - the superblocks of an image
 * @valid: copies that are valid, 0 to 2
 * @detached: attach finds that the last writer detached: not by one copy alone;
 * true if no copy is valid
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
 * Return: 0, or -EBUSY in a child of fork(), as of all calls of images.
 */
int crabtree_image_supers(struct crabtree *ct, struct crabtree_image_supers *supers);

/**
 * struct crabtree_image_leaf - a leaf of a tree, or a node above the leaves
 * @number: its place in the pool
 * @offset: its offset in the region
 * @birth: greater than that of every older leaf
 * @level: 0: a leaf
 * @low: the lowest key that it may hold
 * @high: the highest key that it may hold
 * @records: records that a scan returns of it; 0 above the leaves
 * @quarantined: a scan returns -EUCLEAN in it
 */
struct crabtree_image_leaf {
	uint64_t number;
	uint64_t offset;
	uint64_t birth;
	uint32_t level;
	uint64_t low;
	uint64_t high;
	uint32_t records;
	bool quarantined;
};

/*
 * Called for each leaf; not 0 ends the walk with this result. No other call of an image runs
 * meanwhile: it must not make one.
 */
typedef int crabtree_image_leaf_fn(void *arg, const struct crabtree_image_leaf *leaf);

/**
 * crabtree_image_leaves() - walk all nodes on the media, level by level, in the order of keys
 * @ct: a handle of crabtree_open_image(); its store is attached
 * @fn: called for each, those of level 0 last
 * @arg: argument of @fn
 *
 * An engine without a tree on the media has none. A leaf that a power cut left empty has no range
 * and is left out.
 *
 * Return: 0, the result of @fn, or -EUCLEAN at a link that leads to no node; the levels below are
 * then left out. -EBUSY as of crabtree_image_supers().
 */
int crabtree_image_leaves(struct crabtree *ct, crabtree_image_leaf_fn *fn, void *arg);

#endif /* CRABTREE_IMAGE_H */

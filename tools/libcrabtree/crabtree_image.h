/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares libcrabtree's second backend: an image of a region in a
 * file, served by the kernel's own code built for user space. It is not part of
 * the shared library, whose users would drag the engine in.
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
 * The store is attached by the first call that needs it. With
 * CRABTREE_OPEN_READONLY not one byte of the file is changed, and others may
 * read at the same time; a writer has the file for itself. Writes are in the
 * file after crabtree_sync() or crabtree_close(). Other than the handle of a
 * device it belongs to one thread at a time.
 *
 * Return: 0; -EWOULDBLOCK if another program has it; -ENOTTY if it is not a
 * regular file; -EINVAL if it is smaller than a page; an errno of open(2).
 */
int crabtree_open_image(struct crabtree **ct, const char *path, unsigned int flags);

/**
 * crabtree_create_image() - create a file of zeros
 * @path: its name; it must not be there
 * @size: bytes
 * Return: 0, -EEXIST, -EINVAL for less than a page or not a multiple of one, or
 * an errno of open(2) or posix_fallocate(3).
 */
int crabtree_create_image(const char *path, uint64_t size);

#endif /* CRABTREE_IMAGE_H */

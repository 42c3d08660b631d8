/* SPDX-License-Identifier: LGPL-2.1-or-later */
/*
 * This file declares the backend of a handle: the device or an image file.
 *
 * Both take the kernel's commands with the kernel's structures, so that the rest
 * of the library is common to both.
 */
#ifndef CRABTREE_BACKEND_H
#define CRABTREE_BACKEND_H

#include <stddef.h>

struct crabtree;

/**
 * struct crabtree_backend - one way to reach a store
 * @call: do CRABTREE_* with its structure; 0 or a negative errno
 * @sync: write all changes to the file
 * @reason: crabtree_reason()
 * @close: free the handle
 */
struct crabtree_backend {
	int (*call)(struct crabtree *ct, unsigned long cmd, void *arg);
	int (*sync)(struct crabtree *ct);
	void (*reason)(struct crabtree *ct, char *buf, size_t len);
	int (*close)(struct crabtree *ct);
};

/* A handle; the head of each backend's own structure */
struct crabtree {
	const struct crabtree_backend *backend;
};

/**
 * crabtree_open_device() - open a device, in device.c
 * @ct: out: the handle
 * @path: /dev/crabN
 * @flags: CRABTREE_OPEN_*
 *
 * Return: as crabtree_open().
 */
int crabtree_open_device(struct crabtree **ct, const char *path, unsigned int flags);

/**
 * crabtree_wrap_device() - make a handle of a descriptor, in device.c
 * @ct: out: the handle
 * @fd: of a device or a snapshot; crabtree_close() closes it
 *
 * Return: 0 or -ENOMEM; then @fd is open.
 */
int crabtree_wrap_device(struct crabtree **ct, int fd);

#endif /* CRABTREE_BACKEND_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the ioctls on values of any length, for ioctl.c. Each takes its argument in
 * kernel memory, and fills in the answers.
 *
 * Layer L6; device/ includes it.
 */
#ifndef CRABTREE_IOCTL_BLOB_H
#define CRABTREE_IOCTL_BLOB_H

#include "verbs_blob.h"

struct crab_device;
struct crab_snap;

/**
 * crab_ioctl_put() - PUT: copy name and value in, and store them
 * @device: an open device
 * @put: the argument
 * Context: process; may sleep.
 * Return: the error of the verb.
 */
int crab_ioctl_put(struct crab_device *device, struct crabtree_put *put);

/**
 * crab_ioctl_get() - GET: read a value, and copy it out
 * @device: an open device
 * @snap: a snapshot of its store, which is read; or NULL
 * @get: the argument
 * Context: process; may sleep.
 * Return: the error of the verb.
 */
int crab_ioctl_get(struct crab_device *device, struct crab_snap *snap, struct crabtree_get *get);

/**
 * crab_ioctl_erase() - ERASE: copy the name in, and remove it
 * @device: an open device
 * @erase: the argument
 * Context: process; may sleep.
 * Return: the error of the verb.
 */
int crab_ioctl_erase(struct crab_device *device, const struct crabtree_erase *erase);

/**
 * crab_ioctl_list() - LIST: fill the user's array of keys
 * @device: an open device
 * @snap: as of crab_ioctl_get()
 * @list: the argument
 * Context: process; may sleep.
 * Return: the error of the verb.
 */
int crab_ioctl_list(struct crab_device *device, struct crab_snap *snap, struct crabtree_list *list);

/**
 * crab_ioctl_names() - NAMES: fill the user's room with names
 * @device: an open device
 * @snap: as of crab_ioctl_get()
 * @names: the argument
 * Context: process; may sleep.
 * Return: the error of the verb.
 */
int crab_ioctl_names(struct crab_device *device, struct crab_snap *snap,
		     struct crabtree_names *names);

/* ioctl_commit.c */

/**
 * crab_ioctl_commit() - COMMIT
 * @device: the device
 * @arg: the argument; its answers are filled in
 * @writable: the descriptor is open for writing
 * Context: process.
 * Return: the error of the verb.
 */
int crab_ioctl_commit(struct crab_device *device, struct crabtree_commit *arg, bool writable);

#endif /* CRABTREE_IOCTL_BLOB_H */

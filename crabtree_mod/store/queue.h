/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares queues of changes, which wait for the reader of a watch.
 *
 * Layer L5, for watch.c.
 *
 * Locking: that of the caller, for all functions but crab_queue_init() and _destroy().
 */
#ifndef CRABTREE_QUEUE_H
#define CRABTREE_QUEUE_H

#include <linux/list.h>
#include <linux/types.h>

#include "watch.h"

struct mem_cgroup;

/**
 * struct crab_queue - changes that wait for a reader
 * @pages: their memory, the oldest change first; at least one page
 * @count: how many wait
 * @most: how many may
 * @charged: the memory cgroup that pays for @pages, not that of a writer; constant
 */
struct crab_queue {
	struct list_head pages;
	u32 count;
	u32 most;
	struct mem_cgroup *charged;
};

/**
 * crab_queue_init() - make an empty queue
 * @queue: out
 * @most: how many changes may wait
 * @charged: the memory cgroup that pays for it; the caller has a reference to it until
 *	crab_queue_destroy()
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int crab_queue_init(struct crab_queue *queue, u32 most, struct mem_cgroup *charged);

/**
 * crab_queue_destroy() - free its memory
 * @queue: the queue, also one that crab_queue_init() refused
 * Context: any.
 */
void crab_queue_destroy(struct crab_queue *queue);

/**
 * crab_queue_put() - add a change
 * @queue: the queue
 * @change: the change; its number is not kept
 * Context: any.
 * Return: false if as many changes wait as may, or if there is no memory for one more.
 */
bool crab_queue_put(struct crab_queue *queue, const struct crab_change *change);

/**
 * crab_queue_read() - read the oldest changes, which stay
 * @queue: the queue
 * @changes: out, without their numbers; each name is in @names
 * @names: room for the name of each change; NULL if none has one
 * @cap: room
 * Context: any.
 * Return: the number of changes.
 */
u32 crab_queue_read(const struct crab_queue *queue, struct crab_change *changes,
		    struct crab_change_name *names, u32 cap);

/**
 * crab_queue_take() - remove the oldest changes
 * @queue: the queue
 * @n: how many; they wait
 * Context: any.
 */
void crab_queue_take(struct crab_queue *queue, u32 n);

#endif /* CRABTREE_QUEUE_H */

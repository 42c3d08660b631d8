// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements queues of changes: pages in a list, in which each change takes its own
 * length. A queue without changes has one page, whatever number of changes may wait.
 *
 * Invariants: there is a page, so a change for which there is no memory is one of many that wait;
 * only the last page has room; only a queue without changes has a page without one.
 *
 * Locking: queue.h.
 */
#include <linux/align.h>
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/stddef.h>
#include <linux/string.h>

#include "queue.h"

#define QUEUE_BYTES	4096U	/* of a page */

/**
 * struct queue_change - a change that waits
 * @key: as of struct crab_change, like all others
 * @value: as above
 * @old: as above
 * @verb: as above
 * @flags: as above
 * @type: as above
 * @name_bytes: as above
 * @name: as above
 */
struct queue_change {
	u64 key;
	u64 value;
	u64 old;
	u8 verb;
	u8 flags;
	u8 type;
	u8 name_bytes;
	char name[];
};

/**
 * struct queue_page - changes in a row
 * @list: in crab_queue.pages
 * @first: where the oldest one is in @changes
 * @end: where the next one will be
 * @changes: each at a multiple of 8
 */
struct queue_page {
	struct list_head list;
	u32 first;
	u32 end;
	char changes[QUEUE_BYTES - sizeof(struct list_head) - 2 * sizeof(u32)] __aligned(8);
};

static_assert(sizeof(struct queue_page) == QUEUE_BYTES);

static u32 change_bytes(u8 name_bytes)
{
	return ALIGN(offsetof(struct queue_change, name) + name_bytes, sizeof(u64));
}

/* The task is any writer, which does not pay */
static struct queue_page *page_add(struct crab_queue *queue, gfp_t gfp)
{
	struct mem_cgroup *before = set_active_memcg(queue->charged);
	struct queue_page *page = kmalloc(sizeof(*page), gfp | __GFP_ACCOUNT | __GFP_NOWARN);

	set_active_memcg(before);
	if (!page)
		return NULL;
	page->first = 0;
	page->end = 0;
	list_add_tail(&page->list, &queue->pages);
	return page;
}

static struct queue_page *page_first(const struct crab_queue *queue)
{
	return list_first_entry(&queue->pages, struct queue_page, list);
}

int crab_queue_init(struct crab_queue *queue, u32 most, struct mem_cgroup *charged)
{
	INIT_LIST_HEAD(&queue->pages);
	queue->count = 0;
	queue->most = most;
	queue->charged = charged;
	return page_add(queue, GFP_KERNEL) ? 0 : -ENOMEM;
}

void crab_queue_destroy(struct crab_queue *queue)
{
	struct queue_page *page;

	while (!list_empty(&queue->pages)) {
		page = page_first(queue);
		list_del(&page->list);
		kfree(page);
	}
}

/* Room for a change after all others; NULL: no memory */
static struct queue_change *queue_room(struct crab_queue *queue, u32 bytes)
{
	struct queue_page *page = list_last_entry(&queue->pages, struct queue_page, list);

	if (sizeof(page->changes) - page->end < bytes)
		page = page_add(queue, GFP_NOWAIT);	/* locks are held that a reclaim may need */
	if (!page)
		return NULL;
	page->end += bytes;
	return (struct queue_change *)(page->changes + page->end - bytes);
}

bool crab_queue_put(struct crab_queue *queue, const struct crab_change *change)
{
	struct queue_change *to;

	if (queue->count == queue->most)
		return false;
	to = queue_room(queue, change_bytes(change->name_bytes));
	if (!to)
		return false;
	to->key = change->key;
	to->value = change->value;
	to->old = change->old;
	to->verb = change->verb;
	to->flags = change->flags;
	to->type = change->type;
	to->name_bytes = change->name_bytes;
	if (change->name_bytes)
		memcpy(to->name, change->name, change->name_bytes);
	queue->count++;
	return true;
}

static void change_load(const struct queue_change *from, struct crab_change *change, char *name)
{
	*change = (struct crab_change){
		.key = from->key, .value = from->value, .old = from->old, .verb = from->verb,
		.flags = from->flags, .type = from->type, .name_bytes = from->name_bytes,
	};
	if (!from->name_bytes)
		return;
	memcpy(name, from->name, from->name_bytes);
	change->name = name;
}

u32 crab_queue_read(const struct crab_queue *queue, struct crab_change *changes,
		    struct crab_change_name *names, u32 cap)
{
	const struct queue_page *page = page_first(queue);
	u32 at = page->first, n;

	cap = min(cap, queue->count);
	for (n = 0; n < cap; n++) {
		if (at == page->end) {
			page = list_next_entry(page, list);
			at = page->first;
		}
		change_load((const void *)(page->changes + at), &changes[n],
			    names ? names[n].text : NULL);
		at += change_bytes(changes[n].name_bytes);
	}
	return n;
}

/* Frees the first page if no change is left in it, but never the only page */
static void page_leave(struct crab_queue *queue, struct queue_page *page)
{
	if (page->first < page->end)
		return;
	page->first = 0;
	page->end = 0;
	if (list_is_last(&page->list, &queue->pages))
		return;
	list_del(&page->list);
	kfree(page);
}

void crab_queue_take(struct crab_queue *queue, u32 n)
{
	const struct queue_change *change;
	struct queue_page *page;

	queue->count -= n;
	while (n--) {
		page = page_first(queue);
		change = (const void *)(page->changes + page->first);
		page->first += change_bytes(change->name_bytes);
		page_leave(queue, page);
	}
}

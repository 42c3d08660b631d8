/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_LIST_H
#define CRAB_SHIM_LINUX_LIST_H

/* Doubly linked lists. */
#include <linux/compiler.h>
#include <linux/container_of.h>
#include <linux/types.h>

#define LIST_HEAD_INIT(name)	{ &(name), &(name) }
#define LIST_HEAD(name)		struct list_head name = LIST_HEAD_INIT(name)

static inline void INIT_LIST_HEAD(struct list_head *head)
{
	head->next = head->prev = head;
}

static inline bool list_empty(const struct list_head *head)
{
	return head->next == head;
}

static inline bool list_is_last(const struct list_head *item, const struct list_head *head)
{
	return item->next == head;
}

static inline void crab_list_link(struct list_head *item, struct list_head *prev,
				  struct list_head *next)
{
	item->prev = prev;
	item->next = next;
	prev->next = next->prev = item;
}

static inline void list_add(struct list_head *item, struct list_head *head)
{
	crab_list_link(item, head, head->next);
}

static inline void list_add_tail(struct list_head *item, struct list_head *head)
{
	crab_list_link(item, head->prev, head);
}

static inline void list_del(struct list_head *item)
{
	item->prev->next = item->next;
	item->next->prev = item->prev;
	item->next = item->prev = NULL;
}

#define list_entry(p, type, member)		container_of(p, type, member)
#define list_first_entry(head, type, member)	list_entry((head)->next, type, member)
#define list_last_entry(head, type, member)	list_entry((head)->prev, type, member)
#define list_next_entry(p, member)	list_entry((p)->member.next, __typeof__(*(p)), member)
#define list_prev_entry(p, member)	list_entry((p)->member.prev, __typeof__(*(p)), member)
#define list_for_each_entry(p, head, member) \
	for (p = list_first_entry(head, __typeof__(*p), member); &p->member != (head); \
	     p = list_next_entry(p, member))

#endif /* CRAB_SHIM_LINUX_LIST_H */

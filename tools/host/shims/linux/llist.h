/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_LLIST_H
#define CRAB_SHIM_LINUX_LLIST_H

/* Lists that any number of threads add to, and any of them takes as a whole, without a lock */
#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/container_of.h>

struct llist_node {
	struct llist_node *next;
};

struct llist_head {
	struct llist_node *first;
};

static inline bool llist_empty(const struct llist_head *list)
{
	return !READ_ONCE(list->first);
}

static inline bool llist_add(struct llist_node *node, struct llist_head *list)
{
	struct llist_node *first;

	do {
		first = READ_ONCE(list->first);
		node->next = first;
	} while (cmpxchg(&list->first, first, node) != first);
	return !first;
}

static inline struct llist_node *llist_del_all(struct llist_head *list)
{
	struct llist_node *first;

	do
		first = READ_ONCE(list->first);
	while (cmpxchg(&list->first, first, NULL) != first);
	return first;
}

static inline struct llist_node *llist_reverse_order(struct llist_node *head)
{
	struct llist_node *reversed = NULL, *node;

	while ((node = head)) {
		head = node->next;
		node->next = reversed;
		reversed = node;
	}
	return reversed;
}

#endif /* CRAB_SHIM_LINUX_LLIST_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the table of names as a treap: a search tree by name that is a heap by
 * priority. The priorities are random, so its height is logarithmic for any order of the names.
 *
 * Invariant: the names below child[0] are before a name, and those below child[1] after it.
 *
 * Locking: the caller's.
 */
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/random.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "names.h"

/* Bytes of a name with a text of @bytes */
static size_t name_size(u32 bytes)
{
	return offsetof(struct crab_name, text) + bytes;
}

struct crab_name *crab_name_new(const char *text, u32 bytes, gfp_t gfp)
{
	struct crab_name *name = kmalloc(name_size(bytes), gfp);

	if (!name)
		return NULL;
	name->priority = get_random_u32();
	name->bytes = bytes;
	memcpy(name->text, text, bytes);
	return name;
}

int crab_name_compare(const struct crab_name *name, const char *text, u32 bytes)
{
	int order = memcmp(text, name->text, min_t(u32, bytes, name->bytes));

	return order ?: (int)bytes - name->bytes;
}

struct crab_name *crab_names_find(const struct crab_names *names, const char *text, u32 bytes)
{
	struct crab_name *name = names->root;
	int order;

	while (name) {
		order = crab_name_compare(name, text, bytes);
		if (!order)
			break;
		name = name->child[order > 0];
	}
	return name;
}

const struct crab_name *crab_names_next(const struct crab_names *names, const char *text,
					u32 bytes, bool after)
{
	const struct crab_name *name = names->root, *best = NULL;
	bool wanted;

	while (name) {
		wanted = crab_name_compare(name, text, bytes) < !after;
		if (wanted)
			best = name;
		name = name->child[!wanted];
	}
	return best;
}

/* Splits the tree below @at at @name: names before it go to @low, the others to @high */
static void names_split(struct crab_name *at, const struct crab_name *name,
			struct crab_name **low, struct crab_name **high)
{
	while (at) {
		if (crab_name_compare(at, name->text, name->bytes) > 0) {
			*low = at;
			low = &at->child[1];
			at = *low;
		} else {
			*high = at;
			high = &at->child[0];
			at = *high;
		}
	}
	*low = NULL;
	*high = NULL;
}

void crab_names_add(struct crab_names *names, struct crab_name *name)
{
	struct crab_name **place = &names->root;

	while (*place && (*place)->priority >= name->priority)
		place = &(*place)->child[crab_name_compare(*place, name->text, name->bytes) > 0];
	names_split(*place, name, &name->child[0], &name->child[1]);
	*place = name;
	WRITE_ONCE(names->dram, names->dram + name_size(name->bytes));
}

/* One tree of two, of which all names of @low are before those of @high */
static void names_join(struct crab_name **place, struct crab_name *low, struct crab_name *high)
{
	while (low && high) {
		if (low->priority >= high->priority) {
			*place = low;
			place = &low->child[1];
			low = *place;
		} else {
			*place = high;
			place = &high->child[0];
			high = *place;
		}
	}
	*place = low ?: high;
}

void crab_names_remove(struct crab_names *names, struct crab_name *name)
{
	struct crab_name **place = &names->root;

	while (*place != name)
		place = &(*place)->child[crab_name_compare(*place, name->text, name->bytes) > 0];
	names_join(place, name->child[0], name->child[1]);
	WRITE_ONCE(names->dram, names->dram - name_size(name->bytes));
}

void crab_names_clear(struct crab_names *names)
{
	names->root = NULL;
	WRITE_ONCE(names->dram, 0);
}

void crab_names_destroy(struct crab_names *names)
{
	struct crab_name *name, *low;

	while ((name = names->root)) {
		while ((low = name->child[0])) {
			name->child[0] = low->child[1];
			low->child[1] = name;
			name = low;
		}
		names->root = name->child[1];
		kfree(name);
		cond_resched();
	}
	crab_names_clear(names);
}

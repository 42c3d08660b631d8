/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the walk over all nodes, level by level: attach and check make it.
 *
 * Locking: attach has the region to itself; check holds ff.structure,
 * except between two turns.
 */
#ifndef CRABTREE_ENGINES_FASTFAIR_WALK_H
#define CRABTREE_ENGINES_FASTFAIR_WALK_H

#include "fastfair.h"

/* The media determines the amount of memory: an allocation fails before it kills a process */
#define FF_WALK_GFP	(GFP_KERNEL | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

/* A node of the level above */
struct ff_place {
	u64 number;
	u64 low;
	u64 high;
};

struct ff_places {
	struct ff_place *at;
	u64 count;
	u64 room;
};

/**
 * struct ff_found - the slots of a node
 * @count: slots before the end
 * @live: slots that are not void
 * @twin: slot that is void by R1; or @count
 * @tail: first slot that is void by R2; or @count
 */
struct ff_found {
	u32 count;
	u32 live;
	u32 twin;
	u32 tail;
};

/**
 * struct ff_walk - a walk
 * @ff: the store
 * @damage: descriptions of damage
 * @load: called for each node before its slots are read; false: it is in a list already, or memory
 *	is short, with @err set
 * @visit: called for each node after its slots were read
 * @bad: called for a node that is quarantined; NULL: by check, which follows the links of the level
 *	above and allocates no memory
 * @turn: by check: nodes after which the structure may change; 0: it may not
 * @changed: it has
 * @gone: the level does not exist any more, because the root shrank
 * @err: ends the walk
 * @above: the level above, so that a gap in its list is passed
 * @own: the level
 * @nodes: number of nodes so far
 * @again: those of them that were read before, as others with a part of their range
 * @counted: keys of the node that are below it were read before; 0: none
 * @more: @place is a node of the level above
 * @at: of the next place in @above
 * @first: link of the first node of the level
 * @follow: by check: link of the next place
 * @follow_low: by check: the next place has this lowest key or a higher one, so the list ends
 * @place: the node that has the current entry
 * @slot: slot of the next entry plus one; 0: the word `first`
 * @key: the lowest key of the node that it names; the reserved key: there is no more entry
 * @link: link of that node
 */
struct ff_walk {
	struct ff *ff;
	struct crab_damage *damage;
	bool (*load)(struct ff_walk *walk, struct ff_node *node);
	void (*visit)(struct ff_walk *walk, const struct ff_node *node,
		      const struct ff_found *found, bool has_entry);
	void (*bad)(struct ff_walk *walk, u64 number);
	u32 turn;
	bool changed;
	bool gone;
	int err;
	struct ff_places above;
	struct ff_places own;
	u64 nodes;
	u64 again;
	u64 counted;
	bool more;
	u64 at;
	u64 first;
	u64 follow;
	u64 follow_low;
	struct ff_place place;
	u32 slot;
	u64 key;
	u64 link;
};

/**
 * crab_ff_walk() - read all nodes
 * @walk: the caller has set @ff, @damage and the functions; the rest is zero
 * Context: may sleep.
 * Return: 0, -ENOMEM or -EINTR.
 */
int crab_ff_walk(struct ff_walk *walk);

#endif /* CRABTREE_ENGINES_FASTFAIR_WALK_H */

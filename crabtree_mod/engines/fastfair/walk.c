// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the walk over all nodes, level by level from the root.
 */

/**
 * DOC: damage of fastfair
 *
 * Each level is followed along its list. The entries of the level above are read at the same
 * time: they must name nodes of this list, in order, by link and by lowest key. A node without an
 * entry is no damage (R4). All else that a power cut cannot leave is damage:
 *
 *   a node whose slots are not in order is quarantined
 *   a link that leads nowhere ends the list; the next entry above it continues the list. The node
 *   with the link is quarantined, unless that entry names the same missing node: then the entry's
 *   key is the end of its range
 *   an inner node with an entry that names no node of the list is quarantined, with all below it
 *
 * An operation that cannot enter the next node takes the end of a range from above, too: from the
 * entry of that node, or of the node above that begins with it. If neither can be read, or the link
 * has changed, the keys of the range return -EUCLEAN as those of the next node do. But a search for
 * a key up to the last one of a leaf needs no end and finds it, where a scan passes the range.
 *
 * Scans and seeks read words whose crc only attach has compared. If one has changed since, they
 * pass no record that a search finds: the slots that they read ascend, from the lowest key of the
 * leaf to that of the next leaf, and are as many as in memory; and the next leaf begins at its
 * lowest key, or the crc of its header is right. Otherwise they return -EUCLEAN.
 *
 * Failing memory may return a word otherwise once. By other loads, the slots around a key, or the
 * lowest key of the node, must agree with a search; a shift, an add, a swap and attach load each
 * word twice. If the loads differ, the verb goes on with further ones, or returns -EUCLEAN and
 * changes nothing. A key that reads as another one of the range can be returned by a scan or a seek
 * upwards; a value that reads otherwise is returned.
 *
 * Leaves below a quarantined inner node are read by attach, for their blocks; so INFO counts their
 * records, which no read returns. CHECK follows the links of the level above: it counts records up
 * to such a node only.
 *
 * Void slots are traces of a power cut: at most one of R1 in a node, or else a tail of R2 whose
 * slots are in the next node, too. (They may be found below a superblock with the state "clean":
 * that of an earlier detach, if a FORMAT was cut.)
 *
 * Invariant: the lowest keys of a level ascend, and the caller accepts each node once, so the walk
 * ends for any content of the media. The work is linear in the nodes.
 *
 * Locking: walk.h documents it.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "engines/defaults.h"
#include "media/badmem.h"
#include "shared/lock.h"
#include "tree.h"
#include "walk.h"

#define WALK_PLACES	64	/* room of a list at first */

static void walk_damage(struct ff_walk *walk, u64 number, const char *what)
{
	crab_damage_note(walk->damage, crab_leaf_offset(&walk->ff->base.geo, number),
			 "node %llu: %s", (unsigned long long)number, what);
}

static void walk_bad(struct ff_walk *walk, u64 number, const char *what)
{
	walk_damage(walk, number, what);
	if (walk->bad)
		walk->bad(walk, number);
}

static bool is_bad(const struct ff *ff, u64 number)
{
	const struct crab_side *side = crab_side(&ff->sides, number);

	return side && READ_ONCE(side->flags) & FF_BAD;
}

/* Entries of the level above */

/* The next node of the level above, found by its link: check may allocate no memory */
static bool place_follow(struct ff_walk *walk)
{
	const struct crab_geometry *geo = &walk->ff->base.geo;
	u64 number = (walk->follow & CRAB_LINK_MASK) - 1, next;
	struct crab_head head;

	if (number >= geo->leaves || is_bad(walk->ff, number) ||
	    !crab_head_load(walk->ff->base.media, crab_leaf_offset(geo, number), geo->store_id,
			    &head) || head.low < walk->follow_low || head.low == CRAB_KEY_EMPTY)
		return false;
	walk->place = (struct ff_place) {
		.number = number, .low = head.low, .high = CRAB_KEY_EMPTY,
	};
	walk->follow = head.next;
	walk->follow_low = head.low + 1;
	next = (head.next & CRAB_LINK_MASK) - 1;
	if (next < geo->leaves && !is_bad(walk->ff, next) &&
	    crab_head_load(walk->ff->base.media, crab_leaf_offset(geo, next), geo->store_id, &head))
		walk->place.high = head.low;
	return true;
}

static bool place_next(struct ff_walk *walk)
{
	walk->slot = 0;
	if (!walk->bad)
		return place_follow(walk);
	while (walk->at < walk->above.count) {
		walk->place = walk->above.at[walk->at++];
		if (!is_bad(walk->ff, walk->place.number))
			return true;
	}
	return false;
}

/* The entry in slot @slot of the place; false: there is none, or it is void by R1 or R2 */
static bool entry_read(struct ff_walk *walk, u32 slot, bool *end)
{
	const struct ff *ff = walk->ff;
	u64 number = walk->place.number;
	u64 key = slot < ff->slots ? ff_key(ff, number, slot) : CRAB_KEY_EMPTY;

	*end = key >= walk->place.high;
	if (*end || (slot + 1 < ff->slots && ff_key(ff, number, slot + 1) == key))
		return false;
	walk->key = key;
	walk->link = ff_value(ff, number, slot);
	return true;
}

static void entry_next(struct ff_walk *walk)
{
	bool found = false, end;

	while (walk->more && !found) {
		end = false;
		if (!walk->slot++) {
			walk->key = walk->place.low;
			walk->link = crab_load(walk->ff->base.media,
					       &ff_media(walk->ff, walk->place.number)->first);
			return;
		}
		found = entry_read(walk, walk->slot - 2, &end);
		if (end)
			walk->more = place_next(walk);
	}
	if (found)
		return;
	walk->key = CRAB_KEY_EMPTY;
	walk->link = 0;
}

/* The current entry names no node of the list: its node cannot be trusted */
static void entry_refuse(struct ff_walk *walk)
{
	if (walk->more) {
		walk_bad(walk, walk->place.number, "an entry names no node of its list");
		walk->more = place_next(walk);
	}
	entry_next(walk);
}

/* Consumes the entry of @node, if it has one */
static bool entry_match(struct ff_walk *walk, const struct ff_node *node)
{
	while (walk->key != CRAB_KEY_EMPTY && walk->key <= node->low) {
		if (walk->key == node->low && walk->link == node->link) {
			entry_next(walk);
			return true;
		}
		entry_refuse(walk);
	}
	return false;
}

/* Nodes */

/* The target of a link, if it is a node of the level */
static bool node_load(struct ff_walk *walk, u64 link, u32 level, struct ff_node *node)
{
	u64 number = (link & CRAB_LINK_MASK) - 1;
	const struct crab_geometry *geo = &walk->ff->base.geo;
	struct crab_head head;

	if (number >= geo->leaves || is_bad(walk->ff, number))
		return false;
	if (!crab_head_load(walk->ff->base.media, crab_leaf_offset(geo, number), geo->store_id,
			    &head)) {
		walk_bad(walk, number, crab_badmem_hits(walk->ff->base.media,
							crab_leaf_offset(geo, number), CRAB_LINE) ?
			 "its header is in uncorrectable memory" : "its header is damaged");
		return false;
	}
	*node = (struct ff_node) {
		.number = number, .link = link, .low = head.low, .level = level,
	};
	return link == crab_link_to(geo, number, head.birth) && head.own == level &&
	       head.low != CRAB_KEY_EMPTY;
}

/* Continues at the next entry that names a node with a lowest key of at least @low */
static bool node_resume(struct ff_walk *walk, u32 level, u64 low, struct ff_node *node)
{
	while (walk->key != CRAB_KEY_EMPTY && !walk->err) {
		if (!node_load(walk, walk->link, level, node)) {
			crab_damage_note(walk->damage, CRAB_HEAD_OFFSET,
					 "the node with the lowest key %llu is missing",
					 (unsigned long long)walk->key);
			entry_next(walk);
		} else if (node->low != walk->key || node->low < low || !walk->load(walk, node)) {
			entry_refuse(walk);
		} else {
			return true;
		}
	}
	return false;
}

/* The next node of the list; 0: there is none, 1: it is in @next, -1: the link leads nowhere */
static int node_next(struct ff_walk *walk, const struct ff_node *node, struct ff_node *next)
{
	u64 link = crab_load(walk->ff->base.media, &ff_media(walk->ff, node->number)->head.next);

	if (link == ff_link_end(node))
		return 0;
	if (!node_load(walk, link, node->level, next) || next->low <= node->low ||
	    !walk->load(walk, next))
		return -1;
	return 1;
}

/* Slots */

static bool node_probe(const struct ff *ff, const struct ff_node *node)
{
	return crab_badmem_probe(ff->base.media, crab_leaf_offset(&ff->base.geo, node->number),
				 ff->base.geo.leaf_bytes);
}

/* Is the void slot of @node in the next node, too? */
static bool tail_matches(const struct ff *ff, u64 key, u64 value, const struct ff_node *next)
{
	u32 i;

	if (next->level && key == next->low)
		return value == crab_load(ff->base.media, &ff_media(ff, next->number)->first);
	for (i = 0; i < ff->slots; i++)
		if (ff_key(ff, next->number, i) == key)
			return ff_value(ff, next->number, i) == value;
	return false;
}

/* Reads the slots of a node; NULL, or the damage in words */
static const char *slots_read(const struct ff *ff, const struct ff_node *node, u64 high,
			      struct ff_found *found)
{
	u64 key, above = node->low + !!node->level;
	u32 i, twins = 0;

	found->twin = ff->slots;
	found->tail = ff->slots;
	for (i = 0; i < ff->slots; i++, above = key) {
		key = crab_load_settled(ff->base.media, &ff_slot(ff, node->number, i)->key);
		if (key == CRAB_KEY_EMPTY)
			break;
		if (key < above)
			return "keys do not ascend";
		if (i && key == above) {
			found->twin = i - 1;
			twins++;
		}
		if (key >= high)
			found->tail = min(found->tail, i);
	}
	found->count = i;
	found->twin = min(found->twin, i);
	found->tail = min(found->tail, i);
	found->live = found->tail - twins;
	return twins > 1 || (twins && found->tail < i) ? "too many void slots" : NULL;
}

/* Are the void slots traces of a power cut? */
static const char *slots_void(const struct ff *ff, const struct ff_node *node,
			      const struct ff_found *found, const struct ff_node *next)
{
	u32 i;

	/* The slots of a next node that cannot be read are damage, which is found there */
	if (next && found->tail < found->count && !node_probe(ff, next))
		return NULL;
	for (i = found->tail; i < found->count; i++)
		if (!next || !tail_matches(ff, ff_key(ff, node->number, i),
					   ff_value(ff, node->number, i), next))
			return "a key is not in the range of its node";
	return NULL;
}

static void node_read(struct ff_walk *walk, const struct ff_node *node, u64 high,
		      const struct ff_node *next, bool has_entry)
{
	struct ff *ff = walk->ff;
	struct ff_dnode *d = ff_media(ff, node->number);
	struct ff_found found = { };
	const char *what = NULL;

	if (!node_probe(ff, node))
		what = "uncorrectable memory";
	else if (crab_load(ff->base.media, &d->zero) ||
		 (!node->level && crab_load(ff->base.media, &d->first)))
		what = "a reserved word is not zero";
	else if (!high)
		what = "its link does not lead to the next node";
	if (!what)
		what = slots_read(ff, node, high, &found);
	if (!what)
		what = slots_void(ff, node, &found, next);
	if (what)
		walk_bad(walk, node->number, what);
	else
		walk->visit(walk, node, &found, has_entry);
}

/* Check reads a leaf under its lock, because writers may change it */
static void node_read_locked(struct ff_walk *walk, const struct ff_node *node, u64 high,
			     const struct ff_node *next, bool has_entry)
{
	if (walk->bad || node->level) {
		node_read(walk, node, high, next, has_entry);
		return;
	}
	crab_lock(&node->side->lock);
	node_read(walk, node, high, next, has_entry);
	crab_unlock(&node->side->lock);
}

static bool place_add(struct ff_walk *walk, const struct ff_node *node, u64 high)
{
	struct ff_places *own = &walk->own;
	u64 room = own->room ? 2 * own->room : WALK_PLACES;
	struct ff_place *at;

	if (own->count == own->room) {
		at = kvmalloc_array(room, sizeof(*at), FF_WALK_GFP);
		if (!at)
			return false;
		if (own->count)
			memcpy(at, own->at, own->count * sizeof(*at));
		kvfree(own->at);
		own->at = at;
		own->room = room;
	}
	own->at[own->count++] = (struct ff_place) {
		.number = node->number, .low = node->low, .high = high,
	};
	return true;
}

/* One node of the list, and the step to the next one; false: the list ends */
static bool walk_node(struct ff_walk *walk, struct ff_node *node)
{
	bool has_entry = entry_match(walk, node);
	struct ff_node next = { };
	u64 high = CRAB_KEY_EMPTY;
	int step = node_next(walk, node, &next);

	if (walk->err)
		return false;
	if (step > 0)
		high = next.low;
	else if (step < 0)
		high = walk->link && walk->link == crab_load(walk->ff->base.media,
				&ff_media(walk->ff, node->number)->head.next) ? walk->key : 0;
	if (step < 0)
		walk_damage(walk, node->number, "the next node is missing");
	node_read_locked(walk, node, high, step > 0 ? &next : NULL, has_entry);
	if (node->level && walk->bad && !place_add(walk, node, high))
		walk->err = -ENOMEM;
	if (step <= 0)
		return step && node_resume(walk, node->level, node->low + 1, node);
	*node = next;
	return true;
}

/* The entry that names @node, or the next one, in the node of the level above that covers it */
static int resume_above(struct ff_walk *walk, const struct ff_node *node)
{
	struct ff_find above;
	int err = crab_ff_find_exact(walk->ff, node->low, node->level + 1, &above);

	walk->key = CRAB_KEY_EMPTY;
	walk->more = false;
	if (err)
		return err == -ENOENT ? 0 : err;
	walk->follow = above.node.link;
	walk->follow_low = above.node.low;
	walk->more = place_next(walk);
	do
		entry_next(walk);
	while (walk->key < node->low);
	return 0;
}

/*
 * The structure has changed: continues at the node that covers the lowest key of @node now. The
 * first node of the level, from which the next level is read, may be another one, too.
 */
static bool walk_resume(struct ff_walk *walk, struct ff_node *node)
{
	struct ff_find find;
	int err = crab_ff_find_exact(walk->ff, 0, node->level, &find);

	walk->first = err ? 0 : find.node.link;
	err = crab_ff_find_exact(walk->ff, node->low, node->level, &find);
	walk->gone = err == -ENOENT;
	if (!err) {
		walk->counted = find.node.low < node->low ? node->low : 0;
		*node = find.node;
		err = resume_above(walk, node);
	}
	if (err && !walk->gone)
		walk_damage(walk, node->number, "the nodes from it on cannot be reached");
	return !err;
}

/* Lets the structure change between two nodes; false: the level cannot be followed further */
static bool walk_pause(struct ff_walk *walk, struct ff_node *node)
{
	struct ff *ff = walk->ff;
	u64 changes = ff->changes;

	lockdep_assert_held(&ff->structure);
	mutex_unlock(&ff->structure);
	cond_resched();
	mutex_lock(&ff->structure);
	if (ff->changes == changes)
		return true;
	walk->changed = true;
	return walk_resume(walk, node);
}

static int walk_level(struct ff_walk *walk, u32 level)
{
	struct ff_node node;
	bool more = node_resume(walk, level, 0, &node);

	walk->first = more ? node.link : 0;
	while (more && !walk->err) {
		if (crab_engine_breathe(&walk->ff->base))
			return -EINTR;
		more = walk_node(walk, &node);
		walk->nodes++;
		walk->again += !!walk->counted;
		walk->counted = 0;
		if (more && walk->turn && !(walk->nodes % walk->turn))
			more = walk_pause(walk, &node);
	}
	while (walk->key != CRAB_KEY_EMPTY && !walk->err && !walk->gone)
		entry_refuse(walk);
	return walk->err;
}

/* The level that was read is the one above the next */
static void walk_down(struct ff_walk *walk)
{
	swap(walk->above, walk->own);
	walk->own.count = 0;
	walk->at = 0;
	walk->follow = walk->first;
	walk->follow_low = 0;
	walk->more = place_next(walk);
	entry_next(walk);
}

/* The level of the root, which has none above it; false: there is no root */
static bool walk_root(struct ff_walk *walk, u32 *level)
{
	const struct crab_geometry *geo = &walk->ff->base.geo;
	struct crab_head head, root;
	u64 number;

	if (!crab_head_load(walk->ff->base.media, CRAB_HEAD_OFFSET, geo->store_id, &head))
		return false;
	number = (head.next & CRAB_LINK_MASK) - 1;
	if (number >= geo->leaves || is_bad(walk->ff, number) ||
	    !crab_head_load(walk->ff->base.media, crab_leaf_offset(geo, number), geo->store_id,
			    &root) || root.own >= FF_LEVELS || root.low)
		return false;
	*level = root.own;
	walk->more = false;
	walk->key = 0;
	walk->link = head.next;
	return true;
}

int crab_ff_walk(struct ff_walk *walk)
{
	u32 level;
	int err;

	if (!walk_root(walk, &level)) {
		crab_damage_note(walk->damage, CRAB_HEAD_OFFSET, "the head does not lead to a root");
		return 0;
	}
	err = walk_level(walk, level);
	while (!err && level) {
		if (!walk->gone) {
			level--;
			walk_down(walk);
		} else if (!walk_root(walk, &level)) {
			break;
		}
		walk->gone = false;
		err = walk_level(walk, level);
	}
	kvfree(walk->above.at);
	kvfree(walk->own.at);
	return err;
}

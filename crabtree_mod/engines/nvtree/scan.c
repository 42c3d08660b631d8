// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements reads of several keys: seek, scan, and the search for the end of a
 * quarantined range.
 *
 * Invariant: the records returned from one leaf belong to one state of it.
 *
 * Locking: access.c documents it.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/slab.h>

#include "engines/select.h"
#include "leaf.h"

#define SEEK_TRIES	4U	/* deleted keys that a seek passes before it sorts the leaf */

/* nv_seek.outside: a key was not in the range of the leaf */
#define SEEK_OUTSIDE	1U	/* the range has grown, or the media has changed */
#define SEEK_CHANGED	2U	/* the media has changed: no range that grows holds the key */

/**
 * struct nv_seek - a seek under way
 * @tree: the tree
 * @at: where it begins; then the nearest key of the next leaf
 * @dir: the direction
 * @record: out
 * @elements: memory for those of a leaf, once it is needed
 * @outside: SEEK_OUTSIDE and SEEK_CHANGED, of the leaf
 */
struct nv_seek {
	struct nv_tree *tree;
	u64 at;
	enum crab_seek_dir dir;
	struct crab_record *record;
	struct nv_element *elements;
	u32 outside;
};

/* Could a key outside of the range belong to the leaf? Ranges grow upwards only */
static bool key_is_possible(const struct nv_place *place, u64 key)
{
	return key >= place->low && key != CRAB_KEY_EMPTY;
}

/* The same of sorted elements, at least one */
static bool elements_are_possible(const struct nv_place *place, const struct nv_element *elements,
				  u32 count)
{
	return key_is_possible(place, elements[0].key) &&
	       key_is_possible(place, elements[count - 1].key);
}

/* The key nearest to @key among all elements of a leaf; false if none lies in the direction */
static bool leaf_near(struct nv_seek *seek, const struct nv_place *place, u32 count, u64 key,
		      u64 *best)
{
	bool up = seek->dir == CRAB_SEEK_GE, found = false;
	u64 at;
	u32 i;

	for (i = 0; i < count; i++) {
		at = crab_nv_leaf_key(seek->tree, place->leaf, i);
		if (unlikely(crab_nv_leaf_key(seek->tree, place->leaf, i) != at))
			seek->outside |= SEEK_CHANGED;
		if (at < place->low || at >= place->high) {
			seek->outside |= key_is_possible(place, at) ? SEEK_OUTSIDE : SEEK_CHANGED;
			continue;
		}
		if ((up ? at < key : at > key) || (found && (up ? at >= *best : at <= *best)))
			continue;
		*best = at;
		found = true;
	}
	return found;
}

/* The nearest record in a leaf; -EAGAIN: so many keys before it are deleted */
static int leaf_seek(struct nv_seek *seek, const struct nv_place *place, u32 count, u32 tries)
{
	struct crab_record *record = seek->record;
	u64 key = seek->at;
	int err;

	for (; tries; tries--) {
		if (!leaf_near(seek, place, count, key, &record->key))
			return -ENOENT;
		err = crab_nv_leaf_get(seek->tree, place->leaf, count, record->key, &record->value);
		if (!err)
			return 0;
		if (err == -ERANGE)
			seek->outside = SEEK_CHANGED;
		key = seek->dir == CRAB_SEEK_GE ? record->key + 1 : record->key - 1;
		if (seek->dir == CRAB_SEEK_GE ? !key : key == CRAB_KEY_EMPTY)
			return -ENOENT;
	}
	return -EAGAIN;
}

/* The nearest record among the elements of a leaf, in @seek->elements */
static int elements_seek(const struct nv_seek *seek, const struct nv_place *place, u32 count)
{
	u64 low = seek->dir == CRAB_SEEK_GE ? seek->at : place->low;
	u64 high = seek->dir == CRAB_SEEK_GE ? place->high - 1 : seek->at;
	const struct nv_element *e = seek->elements;
	int err = -ENOENT;
	u32 i;

	for (i = 0; i < count && (err || seek->dir == CRAB_SEEK_LE); i++) {
		if (e[i].negative || e[i].key < low || e[i].key > high ||
		    (i + 1 < count && e[i + 1].key == e[i].key))
			continue;
		*seek->record = (struct crab_record){ .key = e[i].key, .value = e[i].value };
		err = 0;
	}
	return err;
}

/* As leaf_seek(). With memory its work does not grow as the square of the deleted keys */
static noinline int leaf_seek_far(struct nv_seek *seek, const struct nv_place *place, u32 count)
{
	u32 room = seek->tree->room;

	if (!seek->elements)
		seek->elements = kmalloc_array(room, sizeof(*seek->elements),
					       GFP_NOIO | __GFP_NOWARN);
	if (!seek->elements)
		return leaf_seek(seek, place, count, count) ? -ENOENT : 0;
	crab_nv_leaf_read(seek->tree, place->leaf, count, seek->elements);
	if (!elements_are_possible(place, seek->elements, count))
		seek->outside = SEEK_CHANGED;
	return elements_seek(seek, place, count);
}

/* The nearest record in the leaf of @seek->at; -ENOENT: go on in the next one, unless @end */
static int seek_leaf(struct nv_seek *seek, bool *end)
{
	struct nv_place place;
	u32 count;
	int err;

	do {
		crab_nv_find_range(seek->tree, seek->at, &place);
		if (nv_is_quarantined(&place))
			return -EUCLEAN;
		seek->outside = 0;
		/* Pairs with crab_nv_leaf_append() */
		count = smp_load_acquire(&place.side->count);
		err = leaf_seek(seek, &place, count, SEEK_TRIES);
		if (unlikely(err == -EAGAIN))
			err = leaf_seek_far(seek, &place, count);
	} while (!crab_nv_holds(&place));
	/* The key may read as before again, as in call_end() of ops.c */
	if (unlikely(seek->outside) &&
	    (crab_nv_doubt(seek->tree, seek->at) || seek->outside & SEEK_CHANGED))
		return -EUCLEAN;
	seek->at = seek->dir == CRAB_SEEK_GE ? place.high : place.low - 1;
	*end = seek->at == CRAB_KEY_EMPTY;		/* also below the lowest key */
	return err;
}

int crab_nv_seek(struct crab_engine *engine, u64 key, enum crab_seek_dir dir,
		 struct crab_record *record)
{
	struct nv_seek seek = {
		.tree = nv_tree_of(engine), .at = key, .dir = dir, .record = record,
	};
	bool end;
	int err;

	for (;;) {
		err = seek_leaf(&seek, &end);
		if (err != -ENOENT || end)
			break;
		if (crab_engine_breathe(&seek.tree->base)) {
			err = -EINTR;
			break;
		}
	}
	kfree(seek.elements);
	return err;
}

/**
 * struct nv_room_for - memory of a scan
 * @records: of one leaf
 * @elements: of one leaf
 */
struct nv_room_for {
	struct crab_record *records;
	struct nv_element *elements;
};

/* Returns the records of the leaf of @at up to @end; @at advances to the next leaf */
static int scan_leaf(struct nv_tree *tree, const struct nv_room_for *room, u64 *at, u64 end,
		     struct crab_record *to, u32 cap)
{
	const struct nv_element *e = room->elements;
	struct nv_place place;
	u64 from = *at;
	bool same;
	u32 count;

	do {
		crab_nv_find_range(tree, *at, &place);
		if (nv_is_quarantined(&place))
			return -EUCLEAN;
		/* Pairs with crab_nv_leaf_append() */
		count = smp_load_acquire(&place.side->count);
		crab_nv_leaf_read(tree, place.leaf, count, room->elements);
		/* A value is returned as it was read, like that of a search */
		same = crab_nv_leaf_agrees(tree, place.leaf, count, room->elements, false);
	} while (!crab_nv_holds(&place));
	if (unlikely(!same))
		return crab_nv_doubt(tree, from) ?: -EUCLEAN;
	/* The range may have grown since it was found, or the media has changed */
	if (count && unlikely(e[0].key < place.low || e[count - 1].key >= place.high) &&
	    (crab_nv_doubt(tree, from) || !elements_are_possible(&place, e, count)))
		return -EUCLEAN;
	count = crab_nv_leaf_records(room->elements, count, room->records);
	*at = place.high;
	return crab_records_take(room->records, count, from, min(end, place.high - 1), to, cap);
}

static int scan_range(struct nv_tree *tree, const struct nv_room_for *room, u64 start, u64 end,
		      struct crab_record *records, u32 cap)
{
	u32 count = 0;
	int got;

	while (count < cap && start <= end && start != CRAB_KEY_EMPTY) {
		got = scan_leaf(tree, room, &start, end, records + count, cap - count);
		if (got < 0)		/* the next call begins here and returns it */
			return count ? count : got;
		count += got;
		if (crab_engine_breathe(&tree->base))
			return count ?: -EINTR;
	}
	return count;
}

int crab_nv_scan(struct crab_engine *engine, u64 start, u64 end, struct crab_record *records,
		 u32 cap)
{
	struct nv_tree *tree = nv_tree_of(engine);
	struct nv_room_for room = {
		.records = kmalloc_array(tree->room, sizeof(*room.records), GFP_NOIO),
		.elements = kmalloc_array(tree->room, sizeof(*room.elements), GFP_NOIO),
	};
	int got = -ENOMEM;

	if (room.records && room.elements)
		got = scan_range(tree, &room, start, end, records, cap);
	kfree(room.records);
	kfree(room.elements);
	return got;
}

/* A walk that is stopped returns a key of the range, where the next scan gets -EUCLEAN again */
u64 crab_nv_beyond(struct crab_engine *engine, u64 key, enum crab_seek_dir dir)
{
	struct nv_tree *tree = nv_tree_of(engine);
	struct nv_place place;
	bool bad = false;

	do {
		crab_nv_find_range(tree, key, &place);
		if (nv_is_quarantined(&place))
			bad = true;
		else if (bad)
			return key;
		key = dir == CRAB_SEEK_GE ? place.high : place.low - 1;
	} while (key != CRAB_KEY_EMPTY && !crab_engine_breathe(&tree->base));
	return key;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the structure modifications.
 */

/**
 * DOC: structure modifications of nvtree
 *
 * One or two neighbours are replaced by none, one or two fresh leaves, and the change that had no
 * room is in the fresh ones:
 *
 *   write the fresh leaves whole, linked to each other and to the leaf after them
 *   P7   they are durable
 *   store the predecessor's next, one word
 *   P8   it is durable; the old leaves are free
 *
 * Cut before P7: no link names the fresh leaves, which are free. Cut between P7 and P8: the word is
 * old or new, and so is the list after it. Which one a full leaf gets, with n live records after
 * the change, and room for r elements:
 *
 *   n > r / 2      a split into two leaves. A delete, and an insert that finds only one free leaf,
 *                  or no memory for the entry of a second one, replace the leaf if n <= r
 *   n <= r / 2     a merge with the next leaf if the two fill three quarters of one, else a
 *                  replacement: the elements that do not count any more are dropped
 *   n = 0          an unlink: no fresh leaf. The first leaf of the list is replaced
 *
 * A delete of the last record of a leaf with room unlinks it, too. If an insert needs two free
 * leaves and the pool has one, neighbours that fit in one leaf are merged first (compact.c). Only
 * if there are none the insert returns -ENOSPC. One leaf always remains free, so that a delete in
 * a full store can replace a leaf: a split takes two and frees one, each other change takes at
 * most one and frees one or two.
 *
 * Media that changes under an attached store is compared with memory before it is used. Failing
 * memory may return a word otherwise once: elements are read again before they are copied.
 *
 * Nothing is allocated and nothing fails between the first store and P8.
 *
 * Locking: nv_tree.smo_lock, and the leaves that are replaced. The predecessor's link is written
 * without its lock: no other path writes it.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/string.h>

#include "compact.h"
#include "inner.h"
#include "leaf.h"
#include "park.h"
#include "smo.h"

/**
 * struct nv_change - a structure modification under way
 * @write: the write
 * @leaf: the leaf that is replaced, locked
 * @right: the next leaf, which is replaced, too, locked; its @side is NULL if there is none
 * @spare: free leaves
 * @spares: their number
 * @full: the parent node has no room for an entry, and there is no memory for one that has
 * @count: records in nv_tree.scratch
 */
struct nv_change {
	struct nv_write *write;
	struct nv_place leaf;
	struct nv_place right;
	struct crab_spare spare[NV_SPARES];
	u32 spares;
	bool full;
	u32 count;
};

int crab_nv_damaged(struct nv_tree *tree, u64 leaf, const char *what)
{
	crab_nv_first_begin(tree);
	crab_engine_damaged(&tree->base, crab_leaf_offset(&tree->base.geo, leaf), "leaf %llu: %s",
			    (unsigned long long)leaf, what);
	crab_nv_first_end(tree);
	return -EUCLEAN;
}

/* Frees the spares from @from on, which are not used */
static void smo_give_back(struct nv_change *c, u32 from)
{
	for (; from < c->spares; from++)
		crab_pool_free(&c->write->tree->pool, c->spare[from].leaf);
}

/* Free leaves, as many as there are, their sides, and if possible room for an entry */
static int smo_reserve(struct nv_change *c, bool entry)
{
	struct nv_tree *tree = c->write->tree;
	int err = 0;
	u32 i;

	lockdep_assert_held(&tree->smo_lock);
	if (crab_pool_is_closed(&tree->pool))	/* see quarantine.c */
		return -EUCLEAN;
	for (c->spares = NV_SPARES; c->spares; c->spares--)
		if (!crab_pool_alloc(&tree->pool, c->spare, c->spares, 0))
			break;
	for (i = 0; i < c->spares && !err; i++)
		if (!crab_side_make(&tree->sides, c->spare[i].leaf, GFP_NOIO))
			err = -ENOMEM;
	if (!err && entry && !crab_nv_inner_has_room(tree, c->leaf.low))
		c->full = crab_nv_inner_rebuild(tree);
	if (err)
		smo_give_back(c, 0);
	return err;
}

/* Appends the records of a locked leaf to the scratch */
static int smo_gather(struct nv_change *c, const struct nv_place *leaf)
{
	struct nv_tree *tree = c->write->tree;
	u32 count = leaf->side->count;
	const char *fault;
	u32 n;

	crab_nv_leaf_read(tree, leaf->leaf, count, tree->elements);
	fault = crab_nv_leaf_fault(tree->elements, count, leaf->low, leaf->high);
	if (!fault && !crab_nv_leaf_agrees(tree, leaf->leaf, count, tree->elements, true))
		fault = "two readings of its elements differ";
	if (fault)
		return crab_nv_damaged(tree, leaf->leaf, fault);
	n = crab_nv_leaf_records(tree->elements, count, tree->scratch + c->count);
	if (n != nv_live(leaf->side))
		return crab_nv_damaged(tree, leaf->leaf, "records have appeared or vanished");
	c->count += n;
	return 0;
}

/* Locks and gathers the next leaf if both have at most @most records */
static int smo_take_right(struct nv_change *c, u32 most)
{
	struct nv_tree *tree = c->write->tree;
	struct nv_place right;
	int err = 0;

	if (c->leaf.high == CRAB_KEY_EMPTY)
		return 0;
	crab_nv_find_range(tree, c->leaf.high, &right);
	if (nv_is_quarantined(&right))	/* since now: this was its first read */
		return -EUCLEAN;
	crab_lock_nested(&right.side->lock);
	if (c->count + nv_live(right.side) <= most) {
		c->right = right;
		__release(&right.side->lock);	/* sparse cannot follow it: see smo_end() */
		err = smo_gather(c, &right);
	} else {
		crab_unlock(&right.side->lock);
	}
	return err;
}

/* The link to the leaf after the old ones; @end: the word if there is none */
static int smo_after(struct nv_tree *tree, const struct nv_place *last, u64 end, u64 *word)
{
	const __le64 *at = &nv_leaf_media(tree, last->leaf)->head.next;
	struct nv_place next;

	*word = end;
	if (last->high == CRAB_KEY_EMPTY)
		return 0;
	crab_nv_find(tree, last->high, &next);
	*word = crab_load(tree->base.media, at);
	if (likely((*word & CRAB_LINK_MASK) == next.leaf + 1 && !nv_is_quarantined(&next) &&
		   crab_load(tree->base.media, at) == *word))
		return 0;
	return crab_nv_damaged(tree, last->leaf, "link does not lead to the next leaf");
}

/* The header whose link names a leaf; NULL: it is damaged */
static struct crab_dhead *smo_before(struct nv_tree *tree, const struct nv_place *leaf)
{
	struct nv_place before;

	if (!leaf->low)
		return crab_list_head(tree->base.media);
	crab_nv_find(tree, leaf->low - 1, &before);
	return nv_is_quarantined(&before) ? NULL : &nv_leaf_media(tree, before.leaf)->head;
}

static void smo_link(struct nv_write *write, struct crab_dhead *before, u64 word)
{
	crab_store(write->flow, &before->next, word);
	crab_clean(write->flow, &before->next, sizeof(before->next));
	/* P8: the change is committed; the old leaves are free */
	crab_fence(write->flow, CRAB_P8_LINKED);
}

/* Headers of @n fresh leaves; the second one has the records from @split on */
static int smo_heads(struct nv_change *c, u32 n, u32 split, struct crab_head *head)
{
	const struct nv_place *last = c->right.side ? &c->right : &c->leaf;
	struct nv_tree *tree = c->write->tree;
	const struct crab_geometry *geo = &tree->base.geo;
	u64 end;
	u32 i;

	for (i = 0; i < n; i++)
		head[i] = (struct crab_head) {
			.self = crab_leaf_offset(geo, c->spare[i].leaf),
			.birth = tree->birth + 1 + i,
			.low = i ? tree->scratch[split].key : c->leaf.low,
		};
	end = crab_link_end(geo->store_id, head[n - 1].self, head[n - 1].birth);
	if (smo_after(tree, last, end, &head[n - 1].next))
		return -EUCLEAN;
	if (n > 1)
		head[0].next = crab_link_to(geo, c->spare[1].leaf, head[1].birth);
	tree->birth += n;
	return 0;
}

static void smo_side(struct nv_tree *tree, u64 leaf, u32 count)
{
	struct crab_side *side = crab_side(&tree->sides, leaf);

	WRITE_ONCE(side->count, count);
	WRITE_ONCE(side->flags, count);
}

/* Notes the fresh leaves, the last of which holds @key, where they fit with a neighbour */
static void smo_note(struct nv_change *c, u64 key)
{
	struct nv_tree *tree = c->write->tree;

	if (c->leaf.low)
		crab_nv_note_pair(tree, c->leaf.low - 1);
	if (key != c->leaf.low)
		crab_nv_note_pair(tree, c->leaf.low);
	crab_nv_note_pair(tree, key);
}

/* The fresh leaves take the place of the old ones in memory */
static void smo_publish(struct nv_change *c, u32 n, u32 split)
{
	struct nv_tree *tree = c->write->tree;
	struct nv_entry more = { .leaf = c->spare[1].leaf };

	smo_side(tree, c->spare[0].leaf, split);
	if (n > 1) {
		more.low = tree->scratch[split].key;
		smo_side(tree, more.leaf, c->count - split);
	}
	crab_nv_inner_replace(tree, c->leaf.low, c->spare[0].leaf, n > 1 ? &more : NULL);
	crab_nv_kill(c->leaf.side);
	if (c->right.side) {
		crab_nv_inner_remove(tree, c->right.low);
		crab_nv_kill(c->right.side);
	}
	WRITE_ONCE(tree->leaves, tree->leaves + n - 1 - !!c->right.side);
	WRITE_ONCE(tree->unlinks, tree->unlinks + !!c->right.side);
	smo_note(c, n > 1 ? more.low : c->leaf.low);
}

/* Replaces the old leaves by @n fresh ones; the second one has the records from @split on */
static int smo_replace(struct nv_change *c, u32 n, u32 split)
{
	struct nv_tree *tree = c->write->tree;
	const struct crab_geometry *geo = &tree->base.geo;
	struct crab_flow *flow = c->write->flow;
	struct crab_dhead *before = smo_before(tree, &c->leaf);
	struct crab_head head[NV_SPARES];

	if (!before || smo_heads(c, n, split, head))
		return -EUCLEAN;
	crab_nv_leaf_fresh(flow, geo, &head[0], tree->scratch, split);
	if (n > 1)
		crab_nv_leaf_fresh(flow, geo, &head[1], tree->scratch + split, c->count - split);
	/* P7: the fresh leaves are whole before P8 links them */
	crab_fence(flow, CRAB_P7_FRESH);
	smo_link(c->write, before, crab_link_to(geo, c->spare[0].leaf, head[0].birth));
	smo_publish(c, n, split);
	return 0;
}

/* Ends a change: the leaves are unlocked, and those that are not used any more are freed */
static int smo_end(struct nv_change *c, u32 used, int err)
	__releases(&c->leaf.side->lock)
{
	struct crab_pool *pool = &c->write->tree->pool;

	if (c->right.side) {
		__acquire(&c->right.side->lock);	/* hidden by smo_take_right() */
		crab_unlock(&c->right.side->lock);
	}
	crab_unlock(&c->leaf.side->lock);
	smo_give_back(c, err ? 0 : used);
	if (err)
		return err;
	crab_pool_free(pool, c->leaf.leaf);
	if (c->right.side)
		crab_pool_free(pool, c->right.leaf);
	return 0;
}

/* Applies the change of a key to the records in the scratch */
static int smo_apply(struct nv_change *c, u64 key, const u64 *value, enum crab_insert_mode mode,
		     struct crab_old *old)
{
	struct crab_record *at = c->write->tree->scratch, *end = at + c->count;
	u64 next = value ? *value : 0;
	int err = 0;

	while (at < end && at->key < key)
		at++;
	old->existed = at < end && at->key == key;
	if (old->existed)
		old->value = at->value;
	if (!old->existed && (!value || mode & CRAB_INSERT_NEEDS))
		return -ENOENT;
	if (old->existed && value)
		err = crab_insert_decide(mode, old, &next);
	if (err)
		return err;
	if (!value)
		memmove(at, at + 1, (void *)end - (void *)(at + 1));
	else if (!old->existed)
		memmove(at + 1, at, (void *)end - (void *)at);
	if (value)
		*at = (struct crab_record){ .key = key, .value = next };
	c->count += !!value - old->existed;
	return 0;
}

static int smo_split(struct nv_change *c, u64 key)
{
	struct nv_tree *tree = c->write->tree;
	bool append = c->leaf.high == CRAB_KEY_EMPTY && tree->scratch[c->count - 1].key == key;
	u32 split = append ? c->count - 1 : (c->count + 1) / 2;
	int err = smo_replace(c, 2, split);

	if (err)
		return err;
	WRITE_ONCE(tree->splits, tree->splits + 1);
	tree->recent++;
	tree->appends += append;
	return 0;
}

/* Replaces the leaf, whose records are in the scratch; @used: out: fresh leaves */
static int smo_choose(struct nv_change *c, u64 key, bool delete, u32 *used)
{
	struct nv_tree *tree = c->write->tree;
	u32 room = tree->room;
	int err = 0;

	*used = 1;
	if (c->count > room / 2 && c->spares == NV_SPARES && !delete && !c->full) {
		*used = 2;
		return smo_split(c, key);
	}
	if (c->count > room && c->full)
		return -ENOMEM;
	if (c->count > room || !c->spares)
		return -ENOSPC;
	if (c->count <= room / 2)
		err = smo_take_right(c, room * 3 / 4);
	return err ?: smo_replace(c, 1, c->count);
}

static void smo_count(struct nv_tree *tree, const u64 *value, const struct crab_old *old)
{
	if (!value)
		crab_count(&tree->base, deletes, 1);
	else if (old->existed)
		crab_count(&tree->base, updates, 1);
	else
		crab_count(&tree->base, inserts, 1);
}

int crab_nv_smo_change(struct nv_write *write, u64 key, const u64 *value,
		       enum crab_insert_mode mode, struct crab_old *old)
{
	struct nv_change c = { .write = write };
	u32 used = 0;
	int err;

	crab_nv_find_range(write->tree, key, &c.leaf);
	err = smo_reserve(&c, value);
	if (err)
		return err;
	crab_lock(&c.leaf.side->lock);
	err = smo_gather(&c, &c.leaf) ?: smo_apply(&c, key, value, mode, old);
	if (!err)
		err = smo_choose(&c, key, !value, &used);
	if (!err)
		smo_count(write->tree, value, old);
	return smo_end(&c, used, err);
}

/* The link that a leaf takes over from the next one, which is unlinked */
static int smo_unlink_word(struct nv_tree *tree, const struct nv_place *leaf,
			   const struct crab_dhead *before, u64 *word)
{
	const struct crab_media *media = tree->base.media;
	u32 store_id = tree->base.geo.store_id;
	struct crab_head head;

	if (!crab_head_load(media, (u8 *)before - media->base, store_id, &head))
		return crab_nv_damaged(tree, leaf->leaf, "the header before it is damaged");
	return smo_after(tree, leaf, crab_link_end(store_id, head.self, head.birth), word);
}

int crab_nv_smo_unlink(struct nv_write *write, const struct nv_place *leaf)
{
	struct nv_tree *tree = write->tree;
	struct crab_dhead *before = smo_before(tree, leaf);
	struct nv_change c = { .write = write };
	u64 word;
	int err;

	if (!before || crab_pool_is_closed(&tree->pool))
		return -EUCLEAN;
	crab_nv_find_range(tree, leaf->low, &c.leaf);
	/* No record but the one that is deleted goes with the leaf */
	err = smo_gather(&c, &c.leaf) ?: smo_unlink_word(tree, &c.leaf, before, &word);
	if (err)
		return err;
	smo_link(write, before, word);
	crab_nv_inner_remove(tree, leaf->low);
	crab_nv_kill(leaf->side);
	WRITE_ONCE(tree->leaves, tree->leaves - 1);
	WRITE_ONCE(tree->unlinks, tree->unlinks + 1);
	crab_count(&tree->base, deletes, 1);
	crab_nv_note_pair(tree, leaf->low - 1);
	crab_pool_free(&tree->pool, leaf->leaf);
	return 0;
}

int crab_nv_smo_merge(struct nv_write *write, const struct nv_place *leaf)
{
	struct nv_change c = { .write = write, .leaf = *leaf };
	int err = smo_reserve(&c, false);

	if (err)
		return err;
	crab_lock(&leaf->side->lock);
	err = c.spares ? smo_gather(&c, leaf) : -ENOSPC;
	if (!err)
		err = smo_take_right(&c, write->tree->room);
	if (!err)
		err = c.right.side ? smo_replace(&c, 1, c.count) : -EAGAIN;
	return smo_end(&c, 1, err);
}

/*
 * The most expensive write is an insert that finds one free leaf: a merge makes a second one for
 * the split. Each of their three fresh leaves is written whole; a link is a line.
 */
u64 crab_nv_smo_bound(const struct nv_tree *tree)
{
	return 3 * (tree->base.geo.leaf_bytes / CRAB_LINE) + 2;
}

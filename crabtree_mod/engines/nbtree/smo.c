// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the structure modifications.
 */

/**
 * DOC: structure modifications of nbtree
 *
 * A split copies the upper half of a full leaf to a fresh one:
 *
 *   write the fresh leaf whole, linked to the next one
 *   P7   it is durable
 *   store the link of the old leaf, one word
 *   P8   it is durable
 *
 * The new link ends the range of the old leaf, so that the copied keys are stale there. Nothing
 * erases them until their slots are needed. Where the range of a leaf grows, they must not return:
 *
 *   erase the stale keys of the leaf before an empty one
 *   P20  they are durably free
 *   store the link of the leaf before it, one word
 *   P8   it is durable; the empty leaf is free
 *
 * Neither changes a record: the insert or the delete that needs it is a step of its own. If the
 * new key is above all others, the fresh leaf has no records and begins with this key.
 *
 * Nothing is allocated and nothing fails between the first store and P8. Media that changes under
 * an attached store is compared with memory before it is used. Failing memory may return a word
 * otherwise once: the records that are copied are read twice.
 *
 * Locking: nb_tree.smo_lock, and the leaves whose range changes.
 */
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/slab.h>

#include "leaf.h"
#include "smo.h"

int crab_nb_damaged(struct nb_tree *tree, const struct nb_leaf *leaf, const char *what)
{
	lockdep_assert_held(&tree->smo_lock);
	return crab_engine_damaged(&tree->base, crab_leaf_offset(&tree->base.geo, leaf->number),
				   "leaf %llu: %s", (unsigned long long)leaf->number, what);
}

u64 crab_nb_smo_word(const struct nb_tree *tree, u64 self, u64 birth, u64 high)
{
	const struct crab_geometry *geo = &tree->base.geo;
	const struct nb_leaf *next;

	lockdep_assert_held(&tree->smo_lock);
	if (high == CRAB_KEY_EMPTY)
		return crab_link_end(geo->store_id, self, birth);
	next = crab_index_find(&tree->index, high);
	return crab_link_to(geo, next->number, next->birth);
}

/* The link of a leaf whose range ends at @high */
static u64 smo_word(const struct nb_tree *tree, const struct nb_leaf *leaf, u64 high)
{
	return crab_nb_smo_word(tree, crab_leaf_offset(&tree->base.geo, leaf->number), leaf->birth,
				high);
}

static bool smo_is_linked(const struct nb_tree *tree, const struct nb_leaf *leaf)
{
	return crab_load(tree->base.media, &nb_leaf_media(tree, leaf)->head.next) ==
	       smo_word(tree, leaf, leaf->high);
}

static void smo_link(struct nb_write *write, const struct nb_leaf *leaf, u64 word)
{
	struct crab_dhead *head = &nb_leaf_media(write->tree, leaf)->head;

	crab_store(write->flow, &head->next, word);
	crab_clean_word(write->flow, &head->next);
	/* P8: the range of the leaf ends at the next one; a leaf in between is free */
	crab_fence(write->flow, CRAB_P8_LINKED);
}

/*
 * Writes the fresh leaf and links it; the old one is locked. Its records are in the scratch, and
 * those from @split on are in the slots @upper
 */
static void split_write(struct nb_write *write, struct nb_leaf *leaf, struct nb_leaf *fresh,
			u32 split, u64 upper)
{
	u32 count = split + hweight64(upper);
	struct nb_tree *tree = write->tree;
	const struct crab_geometry *geo = &tree->base.geo;
	struct crab_head head = {
		.self = crab_leaf_offset(geo, fresh->number), .birth = fresh->birth,
		.low = fresh->low, .next = smo_word(tree, fresh, leaf->high),
	};

	crab_nb_leaf_fresh(write->flow, geo, &head, tree->scratch + split, count - split);
	/* P7: the fresh leaf is whole before P8 links it */
	crab_fence(write->flow, CRAB_P7_FRESH);
	smo_link(write, leaf, crab_link_to(geo, fresh->number, fresh->birth));
	crab_nb_leaf_fill(fresh, tree->scratch + split, count - split);
	fresh->high = leaf->high;
	nb_change_begin(leaf);
	crab_index_insert(&tree->index, fresh->low, fresh);
	crab_nb_leaf_cut(leaf, fresh->low, upper);
	nb_change_end(leaf);
	WRITE_ONCE(tree->leaves, tree->leaves + 1);
	WRITE_ONCE(tree->splits, tree->splits + 1);
}

/* Splits a full leaf, which is locked. -EAGAIN: it has room, or it is not the leaf of the key */
static int split_leaf(struct nb_write *write, struct nb_leaf *leaf, struct nb_leaf *fresh, u64 key)
{
	struct nb_tree *tree = write->tree;
	const char *fault;
	u32 count, split;
	u64 upper;

	if (crab_nb_leaf_free_slot(tree, leaf) != NB_SLOT_NONE)
		return -EAGAIN;
	fault = crab_nb_leaf_fault(tree, leaf, tree->scratch, &count);
	if (!fault && !smo_is_linked(tree, leaf))
		fault = "link does not lead to the next leaf";
	if (fault)
		return crab_nb_damaged(tree, leaf, fault);
	split = count / 2;
	fresh->low = tree->scratch[split].key;
	if (leaf->high == CRAB_KEY_EMPTY && key > tree->scratch[count - 1].key) {
		split = count;
		fresh->low = key;
	}
	if (!crab_nb_leaf_upper(tree, leaf, fresh->low, tree->scratch + split, count - split,
				&upper))
		return crab_nb_damaged(tree, leaf, "two readings of its records differ");
	fresh->birth = ++tree->birth;
	split_write(write, leaf, fresh, split, upper);
	return 0;
}

/* A free leaf, its place in DRAM, and memory for an entry of the index */
static int split_reserve(struct nb_tree *tree, struct nb_leaf **fresh)
{
	struct crab_spare spare;
	int err;

	lockdep_assert_held(&tree->smo_lock);
	if (crab_index_reserve(&tree->index))
		return -ENOMEM;
	err = crab_pool_alloc(&tree->pool, &spare, 1, 0);
	if (err)
		return err;
	*fresh = crab_nb_leaf_make(tree, spare.leaf, 0, 0, GFP_NOIO);
	if (*fresh)
		return 0;
	crab_pool_free(&tree->pool, spare.leaf);
	return -ENOMEM;
}

int crab_nb_smo_split(struct nb_write *write, u64 key)
{
	struct nb_tree *tree = write->tree;
	struct nb_leaf *leaf = crab_index_find(&tree->index, key), *fresh;
	int err = split_reserve(tree, &fresh);

	if (err)
		return err;
	crab_lock(&leaf->lock);
	err = split_leaf(write, leaf, fresh, key);
	crab_unlock(&leaf->lock);
	if (!err)
		return 0;
	crab_pool_free(&tree->pool, fresh->number);
	kfree(fresh);
	return err == -EAGAIN ? 0 : err;
}

/* Unlinks a leaf; both are locked */
static bool unlink_leaf(struct nb_write *write, struct nb_leaf *before, struct nb_leaf *leaf)
{
	struct nb_tree *tree = write->tree;

	if (leaf->live || before->quarantined || leaf->quarantined)
		return false;
	if (!smo_is_linked(tree, before) || !smo_is_linked(tree, leaf)) {
		crab_nb_damaged(tree, leaf, "links do not lead to it and to the next leaf");
		return false;
	}
	crab_nb_leaf_erase(write, before);
	smo_link(write, before, smo_word(tree, before, leaf->high));
	nb_change_begin(before);
	WRITE_ONCE(before->high, leaf->high);
	nb_change_end(before);
	nb_change_begin(leaf);
	crab_index_remove(&tree->index, leaf->low);
	WRITE_ONCE(leaf->high, leaf->low);
	nb_change_end(leaf);
	WRITE_ONCE(tree->leaves, tree->leaves - 1);
	WRITE_ONCE(tree->unlinks, tree->unlinks + 1);
	return true;
}

void crab_nb_smo_unlink(struct nb_write *write, u64 key)
{
	struct nb_tree *tree = write->tree;
	struct nb_leaf *leaf = crab_index_find(&tree->index, key), *before;
	bool done;

	lockdep_assert_held(&tree->smo_lock);
	if (!leaf->low)
		return;
	before = crab_index_find(&tree->index, leaf->low - 1);
	crab_lock(&before->lock);
	crab_lock_nested(&leaf->lock);
	done = unlink_leaf(write, before, leaf);
	crab_unlock(&leaf->lock);
	crab_unlock(&before->lock);
	if (!done)
		return;
	crab_pool_free(&tree->pool, leaf->number);
	kfree_rcu(leaf, rcu);
}

u64 crab_nb_smo_bound(const struct nb_tree *tree)
{
	/* A split, or the erasure of a leaf; a link; a slot */
	return tree->base.geo.leaf_bytes / CRAB_LINE + 2;
}

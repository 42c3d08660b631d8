// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements FORMAT, attach, repair and detach of the layout `eadr`, as far as they
 * differ from those of the engine.
 */

/**
 * DOC: attach of eadr
 *
 * FORMAT makes four leaves, one for each quarter of the key space: no range spans the border of
 * two, because the two highest bits of a key are where the state of its slot is.
 *
 * Attach follows the list. It takes live and frozen slots as records, and no others; the mark of a
 * frozen link does not count. A read-only attach leaves it at that. Otherwise repair removes these
 * traces of a power cut, before the first operation:
 *
 *   frozen    live: the fresh leaves, if there are any, are not in the list
 *   mark      erased, so that the link can change
 *
 * A free slot below one in use stays as it is, and counts as dead. Each of these is one store, and
 * each state in between is one that attach takes in the same way.
 *
 * Locking: attach, repair and detach have the region to themselves.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/slab.h>

#include "slots.h"

int crab_ea_format(struct crab_flow *flow, const struct crab_geometry *geo)
{
	struct crab_head head;
	u32 i;

	if (geo->leaves < EA_QUARTERS)
		return -ENOSPC;
	for (i = EA_QUARTERS; i--; ) {
		head = (struct crab_head) {
			.self = crab_leaf_offset(geo, i), .birth = i + 1,
			.low = (u64)i << EA_STATE_SHIFT,
		};
		head.next = i + 1 == EA_QUARTERS ?
			    crab_link_end(geo->store_id, head.self, head.birth) :
			    crab_link_to(geo, i + 1, i + 2);
		crab_nb_leaf_fresh(flow, geo, &head, NULL, 0);
	}
	crab_list_format(flow, geo);
	return 0;
}

static u64 link_settled(const struct ea_tree *tree, const struct nb_leaf *leaf)
{
	return crab_load_settled(tree->nb.base.media,
				 &nb_leaf_media(&tree->nb, leaf)->head.next);
}

const char *crab_ea_open(struct nb_tree *nb, struct nb_leaf *leaf)
{
	struct ea_tree *tree = ea_tree_of(&nb->base);
	const char *fault;

	atomic64_set(&tree->births, max_t(u64, atomic64_read(&tree->births), leaf->birth));
	if ((leaf->low ^ (leaf->high - 1)) & ~EA_KEY_BITS)
		return "its range spans a quarter of the key space";
	fault = crab_ea_open_slots(tree, leaf);
	if (!fault)
		tree->torn |= !!(link_settled(tree, leaf) & EA_LINK_MARK);
	return fault;
}

static void slot_repair(struct ea_tree *tree, struct crab_flow *flow, struct nb_leaf *leaf,
			u32 slot)
{
	u64 word = ea_settled(tree, leaf, slot);

	if (!ea_is_frozen(word))
		return;
	crab_store(flow, &ea_slot_at(tree, leaf, slot)->key, EA_LIVE | (word & EA_KEY_BITS));
	/* The order alone keeps the states of a cut few: any of them would do */
	crab_order(flow);
	tree->repairs++;
}

static void leaf_repair(struct ea_tree *tree, struct crab_flow *flow, struct nb_leaf *leaf)
{
	u64 link = link_settled(tree, leaf);
	u32 slot;

	for (slot = 0; slot < tree->nb.room; slot++)
		slot_repair(tree, flow, leaf, slot);
	if (!(link & EA_LINK_MARK))
		return;
	crab_store(flow, &nb_leaf_media(&tree->nb, leaf)->head.next, link & ~EA_LINK_MARK);
	tree->repairs++;
}

/*
 * The fence of the superblock makes the stores durable, in their order: no clean is needed. A
 * FORMAT that was cut can leave an older superblock with the state "clean": it counts for nothing.
 */
int crab_ea_repair(struct crab_engine *engine, struct crab_flow *flow)
{
	struct ea_tree *tree = ea_tree_of(engine);
	struct nb_leaf *leaf;
	u64 key;

	for (key = 0; key != CRAB_KEY_EMPTY && tree->torn; key = leaf->high) {
		leaf = crab_index_find(&tree->nb.index, key);
		leaf_repair(tree, flow, leaf);
		if (crab_engine_breathe(&tree->nb.base))
			return -EINTR;
	}
	return 0;
}

/* Adds the leaves that replace a leaf to a list, and frees its structure modification */
static struct nb_leaf *leaf_unfold(struct nb_leaf *leaf, struct nb_leaf *list)
{
	struct ea_smo *smo = ea_smo(leaf);
	u32 i;

	for (i = 0; i < 2; i++) {
		if (!smo->fresh[i])
			continue;
		smo->fresh[i]->before = list;
		list = smo->fresh[i];
	}
	kfree(smo->later);
	kfree(smo);
	leaf->smo = NULL;
	return list;
}

/* Frees the leaves to which the index does not lead: it has the one that they replace */
static void leaf_free_fresh(struct nb_leaf *leaf)
{
	struct nb_leaf *list, *first;

	if (!leaf->smo)
		return;
	for (list = leaf_unfold(leaf, NULL); (first = list); kfree(first)) {
		list = first->before;
		if (first->smo)
			list = leaf_unfold(first, list);
	}
}

void crab_ea_detach(struct crab_engine *engine)
{
	struct ea_tree *tree = ea_tree_of(engine);
	struct nb_leaf *leaf;
	u64 key;

	crab_ea_lock(tree);
	mutex_unlock(&tree->nb.smo_lock);
	for (key = 0; key != CRAB_KEY_EMPTY; ) {
		leaf = crab_index_find(&tree->nb.index, key);
		leaf_free_fresh(leaf);
		/* As in crab_nb_detach() */
		key = leaf->high > key ? leaf->high : CRAB_KEY_EMPTY;
	}
	crab_nb_detach(engine);
}

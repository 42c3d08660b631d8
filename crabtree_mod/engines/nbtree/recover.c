// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements FORMAT, attach, repair and detach of the engine `nbtree`.
 */

/**
 * DOC: attach of nbtree
 *
 * Attach follows the list and reads each leaf once, as soon as the next one is found: the lowest
 * key there ends the range. A link has check bits over place and birth of its target: it does not
 * lead to a leaf that was freed and used again.
 *
 * Any state that a power cut cannot leave is damage. A leaf with damaged slots is quarantined. A
 * link that leads nowhere quarantines its own leaf and all keys after it: without the end of its
 * range, stale keys look like records. The rest stays available read-only, the pool is
 * closed and nothing is repaired.
 *
 * A power cut leaves nothing to repair. After an attach that was not cleanly ended, repair cleans
 * all leaves in use, because the caches of a machine that survived may have words that the media
 * does not have. The fence of the superblock (P3) makes them durable.
 *
 * Births begin at the highest one in the list. Free leaves may have higher ones, but no link to
 * such a leaf is on the media: P8 follows P7, and a link that was found was followed.
 *
 * Locking: no other caller uses the region.
 */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "media/badmem.h"
#include "guess.h"
#include "leaf.h"

int crab_nb_format(struct crab_flow *flow, const struct crab_geometry *geo)
{
	struct crab_head head = { .self = crab_leaf_offset(geo, 0), .birth = 1 };

	head.next = crab_link_end(geo->store_id, head.self, head.birth);
	crab_nb_leaf_fresh(flow, geo, &head, NULL, 0);
	crab_list_format(flow, geo);
	return 0;
}

static void recover_quarantine(struct nb_tree *tree, struct nb_leaf *leaf, const char *fault)
{
	crab_damage_note(&tree->base.damage, crab_leaf_offset(&tree->base.geo, leaf->number),
			 "leaf %llu: %s", (unsigned long long)leaf->number, fault);
	leaf->quarantined = true;
	tree->quarantined++;
}

/* Reads a leaf, whose range ends at @high */
static void recover_leaf(struct nb_tree *tree, struct nb_leaf *leaf, u64 high)
{
	const char *fault = "uncorrectable memory";

	leaf->high = high;
	if (crab_badmem_probe(tree->base.media, crab_leaf_offset(&tree->base.geo, leaf->number),
			      tree->base.geo.leaf_bytes))
		fault = tree->kind->open(tree, leaf);
	if (fault)
		recover_quarantine(tree, leaf, fault);
}

/* The error of the leaf that a link names, or NULL; @leaf: the last one, or NULL */
static const char *recover_doubt(const struct nb_tree *tree, const struct nb_leaf *leaf, u64 word,
				 struct crab_head *head)
{
	const char *fault = crab_link_doubt(tree->base.media, &tree->base.geo, word,
					   tree->pool.used, head);

	if (!fault && (leaf ? head->low <= leaf->low || head->low == CRAB_KEY_EMPTY : head->low))
		fault = "lowest keys of leaves do not ascend";
	return fault;
}

/* Adds a leaf to the end of the index; or -ENOMEM */
static int recover_push(struct nb_tree *tree, u64 number, const struct crab_head *head,
			struct nb_leaf **leaf)
{
	*leaf = crab_nb_leaf_make(tree, number, head->birth, head->low, NB_GFP_ATTACH);
	if (!*leaf)
		return -ENOMEM;
	if (!crab_index_append(&tree->index, head->low, *leaf))
		return 0;
	kfree(*leaf);
	return -ENOMEM;
}

/* The list cannot be followed after @leaf, or at all */
static int recover_end(struct nb_tree *tree, struct nb_leaf *leaf, const char *fault)
{
	struct crab_head none = { };
	u64 offset = leaf ? crab_leaf_offset(&tree->base.geo, leaf->number) : CRAB_HEAD_OFFSET;

	crab_damage_note(&tree->base.damage, offset, "%s", fault);
	if (!leaf && recover_push(tree, NB_NOWHERE, &none, &leaf))
		return -ENOMEM;
	leaf->high = CRAB_KEY_EMPTY;
	leaf->quarantined = true;
	tree->quarantined++;
	return 0;
}

/* Enters the leaf that a link names; *@leaf: the last one, or NULL */
static int recover_enter(struct nb_tree *tree, u64 word, const struct crab_head *head,
			 struct nb_leaf **leaf)
{
	u64 number = (word & CRAB_LINK_MASK) - 1;
	struct nb_leaf *before = *leaf;

	/* Its slots and the next header arrive while the leaf before is read */
	crab_link_prefetch(tree->base.media, &tree->base.geo, number,
			   head->next & tree->kind->link_bits);
	if (recover_push(tree, number, head, leaf))
		return -ENOMEM;
	if (tree->by_number)
		tree->by_number[number] = *leaf;
	if (before)
		recover_leaf(tree, before, head->low);
	crab_pool_mark(&tree->pool, number);
	tree->birth = max(tree->birth, head->birth);
	tree->leaves++;
	return 0;
}

/* The link of a leaf that is the last one of the list */
static u64 recover_last(const struct crab_geometry *geo, const struct nb_leaf *leaf)
{
	return crab_link_end(geo->store_id, crab_leaf_offset(geo, leaf->number), leaf->birth);
}

static int recover_list(struct nb_tree *tree, u64 word)
{
	const struct crab_geometry *geo = &tree->base.geo;
	struct nb_leaf *leaf = NULL;
	struct crab_head head;
	const char *fault;
	int err;

	for (;;) {
		if (crab_engine_breathe(&tree->base))
			return -EINTR;
		if (leaf && word == recover_last(geo, leaf))
			break;
		fault = recover_doubt(tree, leaf, word, &head);
		if (fault)
			return recover_end(tree, leaf, fault);
		err = recover_enter(tree, word, &head, &leaf);
		if (err)
			return err;
		word = head.next & tree->kind->link_bits;
	}
	recover_leaf(tree, leaf, CRAB_KEY_EMPTY);
	return 0;
}

/* Reads the head, without which there is no list */
static int recover_tree(struct nb_tree *tree)
{
	const struct crab_media *media = tree->base.media;
	struct crab_head head;

	if (crab_head_load(media, CRAB_HEAD_OFFSET, tree->base.geo.store_id, &head))
		return recover_list(tree, head.next);
	return recover_end(tree, NULL, crab_badmem_hits(media, CRAB_HEAD_OFFSET, CRAB_LINE) ?
			   "the head of the leaf list is in uncorrectable memory" :
			   "the head of the leaf list is damaged");
}

static int tree_init(struct nb_tree *tree, struct crab_media *media,
		     const struct crab_geometry *geo, const struct crab_attach_how *how)
{
	mutex_init(&tree->smo_lock);
	crab_index_init(&tree->index);
	tree->room = nb_room(geo->leaf_bytes);
	tree->scratch = kvmalloc_array(tree->room, sizeof(*tree->scratch), NB_GFP_ATTACH);
	if (tree->kind->numbered)
		tree->by_number = kvcalloc(geo->leaves, sizeof(*tree->by_number), NB_GFP_ATTACH);
	if (crab_engine_init(&tree->base, tree->kind->ops, media, geo, how) || !tree->scratch ||
	    (tree->kind->numbered && !tree->by_number))
		return -ENOMEM;
	tree->base.pool = &tree->pool;
	return crab_pool_init(&tree->pool, geo->leaves);
}

struct crab_engine *crab_nb_attach(const struct nb_kind *kind, struct crab_media *media,
				   const struct crab_geometry *geo,
				   const struct crab_attach_how *how)
{
	struct nb_tree *tree;
	int err;

	tree = kvzalloc(kind->tree_bytes, NB_GFP_ATTACH);
	if (!tree)
		return ERR_PTR(-ENOMEM);
	tree->kind = kind;
	err = tree_init(tree, media, geo, how);
	if (!err)
		err = recover_tree(tree);
	if (err) {
		crab_nb_detach(&tree->base);
		return ERR_PTR(err);
	}
	crab_index_set_lock(&tree->index, &tree->smo_lock);
	crab_pool_spoil_bad(&tree->pool, media, geo);
	crab_damage_note_births(&tree->base.damage, tree->birth);
	if (tree->base.damage.count)
		crab_pool_close(&tree->pool);
	crab_nb_shorten_all(tree);
	return &tree->base;
}

/* The fence of the superblock completes the cleans */
int crab_nb_repair(struct crab_engine *engine, struct crab_flow *flow)
{
	struct nb_tree *tree = nb_tree_of(engine);
	const struct nb_leaf *leaf;
	u64 key;

	for (key = 0; key != CRAB_KEY_EMPTY && !engine->clean; key = leaf->high) {
		leaf = crab_index_find(&tree->index, key);
		crab_clean(flow, nb_leaf_media(tree, leaf), engine->geo.leaf_bytes);
		if (crab_engine_breathe(&tree->base))
			return -EINTR;
	}
	return 0;
}

void crab_nb_detach(struct crab_engine *engine)
{
	struct nb_tree *tree = nb_tree_of(engine);
	struct nb_leaf *leaf;
	u64 key = 0;

	/* An attach that failed has not set the end of the last range */
	while (key != CRAB_KEY_EMPTY && (leaf = crab_index_find(&tree->index, key))) {
		key = leaf->high > key ? leaf->high : CRAB_KEY_EMPTY;
		kfree(leaf);
	}
	crab_index_destroy(&tree->index);
	crab_pool_destroy(&tree->pool);
	kvfree(tree->by_number);
	kvfree(tree->scratch);
	crab_engine_exit(&tree->base);
	kvfree(tree);
}

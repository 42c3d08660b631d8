// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the structure primitive.
 */

/**
 * DOC: one structure primitive
 *
 * None, one or two adjacent leaves are replaced by none, one or two fresh ones:
 *
 *   write the fresh leaves whole, linked to each other and to the leaf after them
 *   P7   they are durable
 *   store the predecessor's next, one word
 *   P8   it is durable; the old leaves are free
 *
 * Cut before P7: nothing links to the fresh leaves, which are free. Cut between P7 and P8: the word
 * is old or new, and so is the list after it. A split is one leaf for two, a rewrite one for one, a
 * merge two for one, an append none for one, an unlink one for none. The extra record that made the
 * change necessary is in the fresh leaves, so the change is that operation's commit. No leaf in the
 * list ever holds a record outside its range: no record stays in the wrong leaf.
 *
 * Nothing is allocated and nothing fails between the first store and P8. Readers use the old leaves
 * until then, and do not see the change before it is durable.
 *
 * Locking: crab_tree.smo_lock, and the leaves that are replaced or whose range changes. The
 * predecessor's link is written without its lock: no other path writes it. Prefetch hints read
 * pointers that may be stale.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/prefetch.h>
#include <linux/string.h>

#include "access.h"
#include "layout.h"
#include "smo.h"
#include "verify.h"

/*
 * Dead descriptors that are freed at a time. A change retires two at most, so those whose grace
 * period has ended become fewer with each change.
 */
#define SMO_SETTLE	4

static struct crab_dhead *smo_dhead(const struct crab_tree *tree, const struct crab_leaf *pred)
{
	return pred ? &crab_leaf_media(tree, pred->number)->head :
		      crab_list_head(tree->base.media);
}

bool crab_smo_is_reserved(const struct crab_tree *tree)
{
	u32 i;

	lockdep_assert_held(&tree->smo_lock);
	for (i = 0; i < CRAB_SMO_FRESH; i++)
		if (!tree->fresh[i])
			return false;
	return crab_index_is_reserved(&tree->index);
}

/* A descriptor for the next change. No leaf is locked. */
static struct crab_leaf *smo_desc(struct crab_tree *tree)
{
	if (crab_leaf_table_reserve(&tree->table, 1, GFP_NOIO))
		return NULL;
	return crab_leaf_alloc(tree, NULL, GFP_NOIO);
}

int crab_smo_reserve(struct crab_tree *tree)
{
	u32 i;

	lockdep_assert_held(&tree->smo_lock);
	crab_leaf_table_settle(&tree->table, SMO_SETTLE);
	for (i = 0; i < CRAB_SMO_FRESH; i++) {
		if (!tree->fresh[i])
			tree->fresh[i] = smo_desc(tree);
		if (!tree->fresh[i])
			return -ENOMEM;
	}
	return crab_index_reserve(&tree->index);
}

void crab_smo_number(struct crab_write *write, struct crab_smo *smo)
{
	u32 i;

	lockdep_assert_held(&write->tree->smo_lock);
	for (i = 0; i < smo->n; i++) {
		smo->head[i].birth = ++write->tree->birth;
		crab_layout_alloc(write, smo->spare[i].leaf, true);
	}
}

int crab_smo_take(struct crab_tree *tree, struct crab_smo *smo, const struct crab_leaf *tail,
		  u32 leave)
{
	int err = crab_smo_verify_memory(tree);

	if (!err && tail->next)
		err = crab_smo_verify_next(tree, tail, &smo->after);
	if (err)
		return err;
	tree->wanted = smo->n + leave;
	if (tree->birth > CRAB_BIRTH_MAX - smo->n)
		return -ENOSPC;
	return crab_pool_alloc(&tree->pool, smo->spare, smo->n, leave);
}

int crab_smo_begin(struct crab_write *write, struct crab_smo *smo, const struct crab_leaf *tail,
		   u32 n, u32 leave)
{
	int err;
	u32 i;

	memset(smo, 0, sizeof(*smo));
	smo->n = n;
	err = crab_smo_take(write->tree, smo, tail, leave);
	if (err)
		return err;
	for (i = 0; i < n; i++) {
		smo->leaf[i] = write->tree->fresh[i];
		write->tree->fresh[i] = NULL;
	}
	crab_smo_number(write, smo);
	return 0;
}

void crab_smo_release(struct crab_write *write, u64 number)
{
	lockdep_assert_held(&write->tree->smo_lock);
	crab_layout_alloc(write, number, false);
	crab_pool_free(&write->tree->pool, number);
}

noinline int crab_smo_abort(struct crab_write *write, const struct crab_smo *smo, int err)
{
	u32 i;

	lockdep_assert_held(&write->tree->smo_lock);
	for (i = 0; i < smo->n; i++) {
		write->tree->fresh[i] = smo->leaf[i];
		crab_smo_release(write, smo->spare[i].leaf);
	}
	return err;
}

u64 crab_smo_last_word(const struct crab_tree *tree, const struct crab_smo *smo,
		       const struct crab_leaf *tail)
{
	const struct crab_geometry *geo = &tree->base.geo;
	u32 last = smo->n - 1;

	if (tail->next)
		return smo->after;
	return crab_link_end(geo->store_id, crab_leaf_offset(geo, smo->spare[last].leaf),
			     smo->head[last].birth);
}

void crab_smo_write(struct crab_write *write, struct crab_smo *smo, u64 low,
		    const struct crab_record *records, u32 count, u32 split,
		    const struct crab_leaf *tail)
{
	const struct crab_tree *tree = write->tree;
	const struct crab_geometry *geo = &tree->base.geo;
	u32 last = smo->n - 1;

	lockdep_assert_held(&tree->smo_lock);
	smo->head[last].next = crab_smo_last_word(tree, smo, tail);
	smo->head[0].low = low;
	if (last) {
		smo->head[0].next = crab_link_to(geo, smo->spare[1].leaf, smo->head[1].birth);
		crab_leaf_fresh(write, &smo->spare[1], &smo->head[1], records + split,
				count - split, smo->leaf[1]);
	}
	crab_leaf_fresh(write, &smo->spare[0], &smo->head[0], records, split, smo->leaf[0]);
	/* P7: the fresh leaves are whole before P8 links them */
	crab_fence(write->flow, CRAB_P7_FRESH);
}

void crab_smo_fetch_link(const struct crab_tree *tree, const struct crab_leaf *pred)
{
	crab_prefetchw_range(&smo_dhead(tree, pred)->next, sizeof(__le64));
}

void crab_smo_fetch(const struct crab_tree *tree, const struct crab_leaf *leaf, u32 n, u32 count)
{
	u64 number = crab_pool_next(&tree->pool);
	size_t bytes = offsetof(struct crab_dleaf, slots[min(count, tree->slots)]);

	crab_smo_fetch_link(tree, leaf->prev);
	for (; n && number < tree->base.geo.leaves; n--, number++)
		crab_prefetchw_range(crab_leaf_media(tree, number), bytes);
}

static void smo_store_link(struct crab_write *write, const struct crab_leaf *pred, u64 word)
{
	struct crab_dhead *d = smo_dhead(write->tree, pred);

	crab_store(write->flow, &d->next, word);
	crab_clean_word(write->flow, &d->next);
}

static void smo_commit(struct crab_write *write)
{
	/* P8: the change is committed; the bypassed leaves are free */
	crab_fence(write->flow, CRAB_P8_LINKED);
}

void crab_smo_link(struct crab_write *write, const struct crab_leaf *pred, u64 word)
{
	lockdep_assert_held(&write->tree->smo_lock);
	smo_store_link(write, pred, word);
	smo_commit(write);
}

u64 crab_smo_first_word(const struct crab_tree *tree, const struct crab_smo *smo)
{
	return crab_link_to(&tree->base.geo, smo->spare[0].leaf, smo->head[0].birth);
}

/* Joins two neighbours in DRAM; NULL is the end on either side */
static void smo_join(struct crab_tree *tree, struct crab_leaf *left, struct crab_leaf *right)
{
	if (left) {
		WRITE_ONCE(left->next, right);
		WRITE_ONCE(left->high, right ? right->low : CRAB_KEY_EMPTY);
	} else {
		WRITE_ONCE(tree->first, right);
	}
	if (right)
		/* Pairs with crab_slotted_keeps_empty(): a fresh leaf is complete */
		smp_store_release(&right->prev, left);
	else
		tree->last = left;
}

void crab_smo_splice(struct crab_tree *tree, struct crab_smo *smo, struct crab_leaf *pred,
		     struct crab_leaf *after)
{
	u32 i;

	lockdep_assert_held(&tree->smo_lock);
	smo_join(tree, smo->leaf[smo->n - 1], after);
	for (i = smo->n; --i; )
		smo_join(tree, smo->leaf[i - 1], smo->leaf[i]);
	smo_join(tree, pred, smo->leaf[0]);
	for (i = 0; i < smo->n; i++)
		crab_underfull_touch(tree, smo->leaf[i]);
	WRITE_ONCE(tree->leaves, tree->leaves + smo->n);
}

static void smo_retire(struct crab_write *write, struct crab_leaf *leaf)
{
	crab_smo_release(write, leaf->number);
	WRITE_ONCE(write->tree->leaves, write->tree->leaves - 1);
	crab_leaf_table_free_later(&write->tree->table, leaf);
}

void crab_smo_replace(struct crab_write *write, struct crab_smo *smo, struct crab_leaf *leaf,
		      struct crab_leaf *last, u32 count, u32 split) __must_hold(&leaf->lock)
{
	struct crab_leaf *pred = leaf->prev, *after = last->next;
	struct crab_tree *tree = write->tree;

	lockdep_assert_held(&tree->smo_lock);
	crab_smo_write(write, smo, leaf->low, tree->scratch, count, split, last);
	crab_smo_link(write, pred, crab_smo_first_word(tree, smo));
	crab_smo_splice(tree, smo, pred, after);
	crab_leaf_kill(leaf);
	crab_index_replace(&tree->index, leaf->low, crab_leaf_child(tree, smo->leaf[0]));
	if (last != leaf) {
		crab_leaf_kill(last);
		crab_index_remove(&tree->index, last->low);
		smo_retire(write, last);
	}
	if (smo->n == 2)
		crab_index_insert(&tree->index, smo->leaf[1]->low,
				  crab_leaf_child(tree, smo->leaf[1]));
	smo_retire(write, leaf);
}

void crab_smo_fetch_unlink(const struct crab_tree *tree, const struct crab_leaf *leaf)
{
	prefetchw(READ_ONCE(leaf->prev));
	prefetchw(READ_ONCE(leaf->next));
	prefetch(&smo_dhead(tree, leaf)->next);
}

void crab_smo_bypass(struct crab_write *write, struct crab_leaf *leaf, u64 word)
	__must_hold(&leaf->lock)
{
	struct crab_tree *tree = write->tree;
	struct crab_leaf *pred = leaf->prev, *after = leaf->next;

	lockdep_assert_held(&tree->smo_lock);
	smo_store_link(write, pred, word);
	/* The write sections hide the new links until they are durable */
	smo_join(tree, pred, after);
	WRITE_ONCE(leaf->high, leaf->low);
	if (crab_leaf_find(tree, leaf->low) == leaf)	/* not if it was found empty */
		crab_index_remove(&tree->index, leaf->low);
	WRITE_ONCE(tree->unlinks, tree->unlinks + 1);
	smo_commit(write);
	smo_retire(write, leaf);
}

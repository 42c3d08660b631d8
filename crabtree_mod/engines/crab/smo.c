// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the structure changes.
 *
 * DOC: one structure primitive
 *
 * None, one or two adjacent leaves are replaced by none, one or two fresh ones:
 *
 *   write the fresh leaves whole, linked to each other and to what follows
 *   P7   they are durable
 *   store the predecessor's next, one word
 *   P8   it is durable; the old leaves are free
 *
 * Cut before P7: nothing links to the fresh leaves, which are free. Between P7
 * and P8: the word is old or new, and so is everything behind it. A split is
 * one leaf for two, a rewrite one for one, a merge two for one, an append none
 * for one, an unlink one for none. The record that made the change necessary
 * rides along, so the change is that operation's commit. No leaf in the list
 * ever holds a record outside its range: records are not left behind.
 *
 * Nothing is allocated and nothing fails between the first store and P8. Readers stay in
 * the old leaves until then, and see what the change has not yet made of them.
 *
 * Locking: crab_tree.structure, and the leaves that are replaced or whose range grows or
 * shrinks; the predecessor's link is written without its lock, for nobody else writes it.
 * All but crab_smo_prepare(), which only touches a leaf that the pool gave to it alone, and
 * what only asks for lines: by pointers that may be old.
 */
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/prefetch.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "smo.h"

/**
 * struct smo - one structure change under way
 * @n: fresh leaves
 * @after: the word that leads to what follows the leaves that are replaced, if there is anything
 * @spare: their places
 * @leaf: their descriptors
 * @head: their headers; of the second the least key is given by who parts the records
 */
struct smo {
	u32 n;
	u64 after;
	struct crab_spare spare[CRAB_SMO_FRESH];
	struct crab_leaf *leaf[CRAB_SMO_FRESH];
	struct crab_head head[CRAB_SMO_FRESH];
};

static struct crab_dhead *smo_dhead(const struct crab_tree *tree, const struct crab_leaf *pred)
{
	return pred ? &crab_leaf_media(tree, pred->number)->head :
		      crab_list_head(tree->base.media);
}

bool crab_smo_is_reserved(const struct crab_tree *tree)
{
	u32 i;

	for (i = 0; i < CRAB_SMO_FRESH; i++)
		if (!tree->fresh[i])
			return false;
	return crab_index_is_reserved(&tree->index);
}

int crab_smo_reserve(struct crab_tree *tree)
{
	u32 i;

	lockdep_assert_held(&tree->structure);
	for (i = 0; i < CRAB_SMO_FRESH; i++) {
		if (!tree->fresh[i])
			tree->fresh[i] = crab_leaf_alloc(tree, GFP_NOIO);
		if (!tree->fresh[i])
			return -ENOMEM;
	}
	return crab_index_reserve(&tree->index);
}

/* The fresh leaves are this change's: births, and on demand their bits */
static void smo_number(struct crab_write *write, struct smo *smo)
{
	u32 i;

	for (i = 0; i < smo->n; i++) {
		smo->head[i].birth = ++write->tree->birth;
		crab_bitmap_set(write, smo->spare[i].leaf, true);
	}
}

/*
 * Places for the fresh leaves, births that every attach will take, and what follows: @tail is
 * the last leaf that is replaced, or the one after which the fresh ones go
 */
static int smo_take(struct crab_tree *tree, struct smo *smo, const struct crab_leaf *tail,
		    u32 leave)
{
	lockdep_assert_held(&tree->structure);
	if (tail->next && crab_smo_verify_next(tree, tail, &smo->after))
		return -EUCLEAN;
	tree->wanted = smo->n + leave;
	if (tree->birth > CRAB_BIRTH_MAX - smo->n)
		return -ENOSPC;
	return crab_pool_alloc(&tree->pool, smo->spare, smo->n, leave);
}

/*
 * All that can fail but what the records turn out to be; descriptors are reserved. @leave: free
 * leaves that must remain.
 */
static int smo_begin(struct crab_write *write, struct smo *smo, const struct crab_leaf *tail,
		     u32 n, u32 leave)
{
	int err;
	u32 i;

	memset(smo, 0, sizeof(*smo));
	smo->n = n;
	err = smo_take(write->tree, smo, tail, leave);
	if (err)
		return err;
	for (i = 0; i < n; i++) {
		smo->leaf[i] = write->tree->fresh[i];
		write->tree->fresh[i] = NULL;
	}
	smo_number(write, smo);
	return 0;
}

static void smo_release(struct crab_write *write, u64 number)
{
	crab_bitmap_set(write, number, false);
	crab_pool_free(&write->tree->pool, number);
}

/* Nothing was written: all is given back that smo_begin() took. Returns @err */
static noinline int smo_abort(struct crab_write *write, const struct smo *smo, int err)
{
	u32 i;

	for (i = 0; i < smo->n; i++) {
		write->tree->fresh[i] = smo->leaf[i];
		smo_release(write, smo->spare[i].leaf);
	}
	return err;
}

/* The word of the last fresh leaf: what @tail has behind it, or the end */
static u64 smo_last_word(const struct crab_tree *tree, const struct smo *smo,
			 const struct crab_leaf *tail)
{
	const struct crab_geometry *geo = &tree->base.geo;
	u32 last = smo->n - 1;

	if (tail->next)
		return smo->after;
	return crab_link_end(geo->store_id, crab_leaf_offset(geo, smo->spare[last].leaf),
			     smo->head[last].birth);
}

/*
 * Writes the fresh leaves: the first @split records into the first, the others
 * into the second. @low: of the first. @tail: the last leaf that is replaced, or
 * the one behind which the fresh ones go; its word says what follows.
 */
static void smo_write(struct crab_write *write, struct smo *smo, u64 low,
		      const struct crab_record *records, u32 count, u32 split,
		      const struct crab_leaf *tail)
{
	const struct crab_tree *tree = write->tree;
	const struct crab_geometry *geo = &tree->base.geo;
	u32 last = smo->n - 1;

	smo->head[last].next = smo_last_word(tree, smo, tail);
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

/* A hint: the link of a leaf will be written; NULL: of the head */
static void smo_fetch_link(const struct crab_tree *tree, const struct crab_leaf *pred)
{
	crab_prefetchw_range(&smo_dhead(tree, pred)->next, sizeof(__le64));
}

void crab_smo_fetch(const struct crab_tree *tree, const struct crab_leaf *leaf, u32 n, u32 count)
{
	u64 number = crab_pool_next(&tree->pool);
	size_t bytes = offsetof(struct crab_dleaf, slots[min(count, tree->slots)]);

	smo_fetch_link(tree, leaf->prev);
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
	/* P8: the change is committed; what the word bypasses is free */
	crab_fence(write->flow, CRAB_P8_LINKED);
}

static void smo_link(struct crab_write *write, const struct crab_leaf *pred, u64 word)
{
	smo_store_link(write, pred, word);
	smo_commit(write);
}

static u64 smo_first_word(const struct crab_tree *tree, const struct smo *smo)
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
		/* Pairs with leaf_stays(): a fresh leaf is complete before it is found */
		smp_store_release(&right->prev, left);
	else
		tree->last = left;
}

/* The range of @pred must not change, or it is in a write section */
static void smo_splice(struct crab_tree *tree, struct smo *smo, struct crab_leaf *pred,
		       struct crab_leaf *after)
{
	u32 i;

	smo_join(tree, smo->leaf[smo->n - 1], after);
	for (i = smo->n; --i; )
		smo_join(tree, smo->leaf[i - 1], smo->leaf[i]);
	smo_join(tree, pred, smo->leaf[0]);
	for (i = 0; i < smo->n; i++)
		crab_sparse_touch(tree, smo->leaf[i]);
	WRITE_ONCE(tree->leaves, tree->leaves + smo->n);
}

/* It is out of the list, the ranges and the index */
static void smo_retire(struct crab_write *write, struct crab_leaf *leaf)
{
	smo_release(write, leaf->number);
	WRITE_ONCE(write->tree->leaves, write->tree->leaves - 1);
	kfree_rcu(leaf, rcu);
}

/*
 * The leaves from @leaf to @last, one or two, by fresh ones that hold the @count
 * records in scratch, the first @split of them in the first
 */
static void smo_replace(struct crab_write *write, struct smo *smo, struct crab_leaf *leaf,
			struct crab_leaf *last, u32 count, u32 split)
{
	struct crab_leaf *pred = leaf->prev, *after = last->next;
	struct crab_tree *tree = write->tree;

	smo_write(write, smo, leaf->low, tree->scratch, count, split, last);
	smo_link(write, pred, smo_first_word(tree, smo));
	smo_splice(tree, smo, pred, after);
	crab_leaf_kill(leaf);
	crab_index_replace(&tree->index, leaf->low, smo->leaf[0],
			   crab_leaf_hint(tree, smo->leaf[0]));
	if (last != leaf) {
		crab_leaf_kill(last);
		crab_index_remove(&tree->index, last->low);
		smo_retire(write, last);
	}
	if (smo->n == 2)
		crab_index_insert(&tree->index, smo->leaf[1]->low, smo->leaf[1],
				  crab_leaf_hint(tree, smo->leaf[1]));
	smo_retire(write, leaf);
}

/* Where @key stands in scratch, or where it belongs */
static u32 smo_place(const struct crab_tree *tree, u32 count, u64 key)
{
	u32 i = count;

	while (i && (tree->sorted ? tree->scratch[i - 1].key >= key :
				    tree->scratch[i - 1].key != key))
		i--;
	if (tree->sorted)
		return i;
	return i ? i - 1 : count;
}

/* The records of @leaf and one more, or one changed, in scratch; of a sorted leaf in order */
u32 crab_smo_with(struct crab_tree *tree, const struct crab_leaf *leaf, u64 key, u64 value)
{
	u32 count = crab_leaf_collect(tree, leaf, tree->scratch);
	u32 i = smo_place(tree, count, key);

	if (i == count || tree->scratch[i].key != key) {
		memmove(&tree->scratch[i + 1], &tree->scratch[i],
			(count - i) * sizeof(tree->scratch[0]));
		count++;
	}
	tree->scratch[i].key = key;
	tree->scratch[i].value = value;
	return count;
}

bool crab_smo_may_merge(const struct crab_leaf *leaf, u32 most)
{
	u32 behind = leaf->next ? READ_ONCE(leaf->next->count) : U16_MAX;

	return !behind || READ_ONCE(leaf->count) + behind <= most;
}

int crab_smo_balance(struct crab_write *write, struct crab_leaf *leaf, u32 fresh)
{
	struct crab_tree *tree = write->tree;
	struct crab_leaf *right = leaf->next;
	struct smo smo;
	u32 count, split;
	int err;

	err = smo_begin(write, &smo, right, fresh, 0);
	if (err)
		return err;
	count = crab_leaf_collect(tree, leaf, tree->scratch);
	count += crab_leaf_collect(tree, right, tree->scratch + count);
	err = crab_smo_verify_records(tree, leaf, right->high, tree->scratch, count,
				      fresh * tree->slots);
	if (err)
		return smo_abort(write, &smo, err);
	split = fresh == 1 ? count : (count + 1) / 2;
	if (split < count)
		smo.head[1].low = tree->scratch[split].key;
	smo_replace(write, &smo, leaf, right, count, split);
	WRITE_ONCE(tree->unlinks, tree->unlinks + 2 - fresh);
	return 0;
}

int crab_smo_merge(struct crab_write *write, struct crab_leaf *leaf, u32 most)
{
	struct crab_leaf *right = leaf->next;
	int err = crab_smo_reserve(write->tree);

	if (err)
		return err;
	crab_leaf_lock_pair(write, leaf, right);
	err = crab_smo_may_merge(leaf, most) ? crab_smo_balance(write, leaf, 1) : -EAGAIN;
	crab_leaf_unlock_pair(leaf, right);
	return err;
}

/*
 * The dearest write is an insert that finds the pool empty: a merge for each leaf that it
 * wants, then the split. Each of those leaves is written whole, has a link, and on
 * demand two leaves' bits are given back where its own is taken.
 */
u64 crab_smo_bound(const struct crab_tree *tree)
{
	u32 leaves = CRAB_SMO_FRESH + CRAB_POOL_RESERVE + CRAB_SMO_FRESH;
	u32 bits = tree->base.tuning.on_demand && tree->sorted ? 3 : 0;

	return leaves * (tree->base.geo.leaf_bytes / CRAB_LINE + 1 + bits);
}

/* Keys that arrive in order: the full leaf stays full, a fresh one behind it takes the key */
static int smo_append(struct crab_write *write, struct crab_leaf *leaf, u64 key, u64 value)
{
	struct crab_record record = { .key = key, .value = value };
	struct crab_tree *tree = write->tree;
	struct smo smo;
	int err;

	/* The media said that it is above all others of a full leaf, whose range it is in */
	err = crab_smo_verify_low(tree, leaf, leaf->high, key) ?:
	      smo_begin(write, &smo, leaf, 1, CRAB_POOL_RESERVE);
	if (err)
		return err;
	smo_write(write, &smo, key, &record, 1, 1, leaf);
	smo_link(write, leaf, smo_first_word(tree, &smo));
	crab_leaf_begin(leaf);
	smo_splice(tree, &smo, leaf, leaf->next);
	crab_leaf_end(leaf);
	crab_index_insert(&tree->index, key, smo.leaf[0], crab_leaf_hint(tree, smo.leaf[0]));
	WRITE_ONCE(tree->splits, tree->splits + 1);
	return 0;
}

/* Does the key go behind all others of a full leaf, as keys in order do? */
static bool smo_is_append(const struct crab_tree *tree, const struct crab_leaf *leaf, u64 key)
{
	u64 last = 0, other;
	u32 slot;

	if (tree->sorted) {
		last = crab_leaf_key(tree, leaf, leaf->count - 1);
		if (last > key)
			return false;
	} else {
		for (slot = 0; slot < tree->slots; slot++) {	/* all are live */
			other = crab_leaf_key(tree, leaf, slot);
			if (other > key)
				return false;
			last = max(last, other);
		}
	}
	return leaf == tree->last || crab_run_split(key, last, leaf->count, leaf->high, 0);
}

/* Of the records in scratch, in order, those that go to the first of two leaves; @key is new */
static u32 smo_split_sorted(const struct crab_tree *tree, const struct crab_leaf *leaf, u32 count,
			    u64 key)
{
	u32 pos = smo_place(tree, count, key), above = count - 1 - pos;
	u64 lower = pos ? tree->scratch[pos - 1].key : leaf->low;
	u64 upper = above ? tree->scratch[pos + 1].key : leaf->high;

	return crab_run_split(key, lower, pos, upper, above) ?: (count + 1) / 2;
}

int crab_smo_copy(struct crab_write *write, struct crab_leaf *leaf, u32 slot,
		  const struct crab_record *rider)
{
	struct crab_tree *tree = write->tree;
	struct smo smo = { .n = 1 };
	u64 old = leaf->number;
	int err = smo_take(tree, &smo, leaf, 0);

	if (err)
		return err;
	smo_number(write, &smo);
	smo.head[0].self = crab_leaf_offset(&tree->base.geo, smo.spare[0].leaf);
	smo.head[0].low = leaf->low;
	smo.head[0].next = smo_last_word(tree, &smo, leaf);
	crab_sorted_copy(write, leaf, &smo.head[0], smo.spare[0].leaf, slot, rider);
	/* P7: the copy is whole before P8 links it */
	crab_fence(write->flow, CRAB_P7_FRESH);
	smo_link(write, leaf->prev, smo_first_word(tree, &smo));
	crab_leaf_begin(leaf);
	crab_sorted_copied(tree, leaf, smo.spare[0].leaf, slot, rider);
	crab_leaf_end(leaf);
	smo_release(write, old);
	return 0;
}

int crab_smo_split_right(struct crab_write *write, struct crab_leaf *leaf, u32 keep,
			 const struct crab_record *rider)
{
	struct crab_tree *tree = write->tree;
	const struct crab_record *moved = tree->scratch + keep;
	struct smo smo;
	u32 count;
	int err;

	err = smo_begin(write, &smo, leaf, 1, CRAB_POOL_RESERVE);
	if (err)
		return err;
	if (rider)
		count = crab_smo_with(tree, leaf, rider->key, rider->value) - keep;
	else
		count = crab_leaf_collect(tree, leaf, tree->scratch) - keep;
	err = crab_smo_verify_records(tree, leaf, leaf->high, tree->scratch, keep + count,
				      keep + tree->slots);
	if (err)
		return smo_abort(write, &smo, err);
	smo_write(write, &smo, moved->key, moved, count, count, leaf);
	smo_link(write, leaf, smo_first_word(tree, &smo));
	crab_leaf_begin(leaf);
	smo_splice(tree, &smo, leaf, leaf->next);
	crab_sorted_end(write, leaf, keep);
	WRITE_ONCE(leaf->count, keep);
	crab_sparse_touch(tree, leaf);
	crab_leaf_end(leaf);
	crab_index_insert(&tree->index, moved->key, smo.leaf[0], crab_leaf_hint(tree, smo.leaf[0]));
	WRITE_ONCE(tree->splits, tree->splits + 1);
	return 0;
}

/* The records of a full leaf and one more, in scratch: how many of them are below @low */
static u32 smo_halves(struct crab_tree *tree, const struct crab_leaf *leaf,
		      const struct crab_record *rider, u64 *low)
{
	u32 split, count;

	if (!tree->sorted)
		return crab_order_split(tree, leaf, rider, tree->scratch, low);
	count = crab_smo_with(tree, leaf, rider->key, rider->value);
	split = smo_split_sorted(tree, leaf, count, rider->key);
	*low = tree->scratch[split].key;
	if (count != leaf->count + 1 ||		/* the media has the key now, and had not before */
	    crab_smo_verify_records(tree, leaf, leaf->high, tree->scratch, count, count))
		*low = leaf->low;
	return split;
}

int crab_smo_add(struct crab_write *write, struct crab_leaf *leaf, u64 key, u64 value)
{
	const struct crab_record rider = { .key = key, .value = value };
	struct crab_tree *tree = write->tree;
	u32 count = leaf->count + 1, split;
	struct smo smo;
	int err;

	if (smo_is_append(tree, leaf, key))
		return smo_append(write, leaf, key, value);
	err = smo_begin(write, &smo, leaf, 2, CRAB_POOL_RESERVE);
	if (err)
		return err;
	smo_fetch_link(tree, leaf->prev);
	split = smo_halves(tree, leaf, &rider, &smo.head[1].low);
	err = crab_smo_verify_low(tree, leaf, leaf->high, smo.head[1].low);
	if (unlikely(err))
		return smo_abort(write, &smo, err);
	smo_replace(write, &smo, leaf, leaf, count, split);
	WRITE_ONCE(tree->splits, tree->splits + 1);
	return 0;
}

int crab_smo_rewrite(struct crab_write *write, struct crab_leaf *leaf, u64 key, u64 value)
{
	struct crab_tree *tree = write->tree;
	struct smo smo;
	u32 count;
	int err = smo_begin(write, &smo, leaf, 1, 0);

	if (err)
		return err;
	count = crab_smo_with(tree, leaf, key, value);
	err = crab_smo_verify_records(tree, leaf, leaf->high, tree->scratch, count, tree->slots);
	if (err)
		return smo_abort(write, &smo, err);
	smo_replace(write, &smo, leaf, leaf, count, count);
	return 0;
}

void crab_smo_fetch_unlink(const struct crab_tree *tree, const struct crab_leaf *leaf)
{
	prefetchw(READ_ONCE(leaf->prev));
	prefetchw(READ_ONCE(leaf->next));
	prefetch(&smo_dhead(tree, leaf)->next);
}

void crab_smo_bypass(struct crab_write *write, struct crab_leaf *leaf, u64 word)
{
	struct crab_tree *tree = write->tree;
	struct crab_leaf *pred = leaf->prev, *after = leaf->next;

	smo_store_link(write, pred, word);
	/* Until the sections end nobody sees what this makes of them */
	smo_join(tree, pred, after);
	crab_sparse_touch(tree, pred);
	WRITE_ONCE(leaf->high, leaf->low);
	if (crab_index_find(&tree->index, leaf->low) == leaf)	/* found empty: it is not in it */
		crab_index_remove(&tree->index, leaf->low);
	WRITE_ONCE(tree->unlinks, tree->unlinks + 1);
	smo_commit(write);
	smo_retire(write, leaf);
}

bool crab_smo_prepare(struct crab_tree *tree)
{
	struct crab_flow prepare = { .media = tree->base.media };
	struct crab_flow *flow = &prepare;
	struct crab_spare spare;
	struct crab_dleaf *d;

	if (!crab_pool_prepare_begin(&tree->pool, &spare))
		return false;
	d = crab_leaf_media(tree, spare.leaf);
	spare.tag = crab_slotted_void(NULL, 0);
	crab_slotted_landmarks(flow, d, CRAB_SLOTTED_BESIDE, tree->slots, spare.tag);
	crab_clean(flow, &d->slots[CRAB_SLOTTED_BESIDE],
		   (tree->slots - CRAB_SLOTTED_BESIDE) * sizeof(d->slots[0]));
	/* P5: the slots of the free leaf read as free, whatever else is cut */
	crab_fence(flow, CRAB_P5_PREPARED);
	crab_count_prepare(&tree->base, flow);
	spare.prepared = true;
	crab_pool_prepare_end(&tree->pool, &spare);
	return true;
}

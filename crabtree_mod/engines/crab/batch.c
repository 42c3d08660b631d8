// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements batches: several operations that share their fences and wait for
 * memory together.
 */

/**
 * DOC: batches
 *
 * Up to sixteen operations form a group. Their leaves are looked up in an interleaved way, and the
 * lines that they will access are prefetched. Then they are executed in order. Writes to slotted
 * leaves that do not modify the structure are only stored and cleaned; an *epoch* of them ends with
 * one fence (P6). Until then their leaves stay locked and in a write section, so that no reader
 * returns values that are not durable:
 *
 *   lock the leaves
 *   store and clean each record, any number of slots in any leaves
 *   P6   all of them are durable
 *   unlock the leaves; the batch continues or returns
 *
 * Cut before P6: each slot has any state that its own stores leave, independently of the others, so
 * each key has one of the states that its operations produce. To guarantee this, a slot that was
 * freed is not reused within the epoch: an insert into a leaf that lost a record in the epoch
 * first ends it. Then no key is inserted after its own delete either.
 *
 * An operation that modifies the structure ends the epoch and runs alone. So does each write to a
 * sorted leaf, which needs fences in between.
 *
 * Invariant: a batch that holds leaf locks waits for nothing. It blocks on the first leaf of an
 * epoch only and uses trylock for the others; a leaf whose trylock fails ends the epoch.
 *
 * Locking: see access.c.
 */
#include <linux/build_bug.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/string.h>

#include "access.h"
#include "layout.h"
#include "tree.h"

#define BATCH_GROUP	16U	/* enough to overlap the misses; maximum of locks held */

/**
 * struct batch - one group of operations
 * @write: the epoch's stores, cleans and fences
 * @ops: the group
 * @n: number of operations
 * @found: the leaf of each operation, from the index
 * @place: slotted: where the key of a search most likely is, and that of a write goes ...
 * @placed: ... if this is true: the key is in no slot ...
 * @seq: ... while the sequence count of its leaf is this
 * @which: index of the leaf in @held, for a write
 * @held: the leaves of the epoch
 * @seen: a hashed bit for each of them, as a filter
 * @lost: the leaf lost a record in this epoch
 * @holds: number of leaves in @held
 * @stored: stores wait for the fence
 */
struct batch {
	struct crab_write write;
	struct crab_batch_op *ops;
	u32 n;
	struct crab_leaf *found[BATCH_GROUP];
	struct crab_place place[BATCH_GROUP];
	unsigned int seq[BATCH_GROUP];
	bool placed[BATCH_GROUP];
	u32 which[BATCH_GROUP];
	struct crab_leaf *held[BATCH_GROUP];
	u64 seen;
	bool lost[BATCH_GROUP];
	u32 holds;
	bool stored;
};

static void batch_fence(struct batch *b)
{
	if (!b->stored)
		return;
	/* P6: every record of the epoch is durable */
	crab_fence(b->write.flow, CRAB_P6_RECORD);
	b->stored = false;
}

/* End of the epoch */
static void batch_close(struct batch *b)
{
	struct crab_leaf *leaf;

	batch_fence(b);
	b->seen = 0;
	while (b->holds) {
		leaf = b->held[--b->holds];
		__acquire(&leaf->lock);		/* hidden by batch_hold() */
		crab_leaf_end(leaf);
		crab_unlock(&leaf->lock);
	}
}

static u64 leaf_bit(const struct crab_leaf *leaf)
{
	return 1ULL << ((unsigned long)leaf / CRAB_LINE % 64);
}

/* Index of a leaf in the epoch, or BATCH_GROUP */
static u32 batch_which(const struct batch *b, const struct crab_leaf *leaf)
{
	u32 i;

	if (likely(!(b->seen & leaf_bit(leaf))))
		return BATCH_GROUP;
	for (i = 0; i < b->holds; i++)
		if (b->held[i] == leaf)
			return i;
	return BATCH_GROUP;
}

/*
 * Locks the leaves that the operations from @from on will write, before the first clean, because
 * an atomic instruction waits for earlier cleans. Returns the index one past the last operation of
 * this epoch; greater than @from unless @from is the end.
 */
static u32 batch_hold(struct batch *b, u32 from, u32 end)
{
	struct crab_leaf *leaf;
	u32 i;

	for (i = from; i < end; i++) {
		leaf = b->found[i];
		if (b->ops[i].status || b->ops[i].verb == CRAB_VERB_SEARCH)
			continue;
		/* Never cleared, and batch_one() reads it again under the lock */
		if (!leaf || data_race(leaf->quarantined))
			continue;
		b->which[i] = batch_which(b, leaf);
		if (b->which[i] < BATCH_GROUP) {
			b->placed[i] = false;
			continue;
		}
		if (!b->holds)
			crab_lock(&leaf->lock);
		else if (!crab_trylock(&leaf->lock))
			break;
		__release(&leaf->lock);		/* sparse cannot follow @held: see batch_close() */
		b->placed[i] &= crab_leaf_read_valid(leaf, b->seq[i]);
		crab_leaf_begin(leaf);
		b->seen |= leaf_bit(leaf);
		b->which[i] = b->holds;
		b->held[b->holds] = leaf;
		b->lost[b->holds++] = false;
	}
	return i;
}

/* Where the key is not in the slot that it is most likely in */
static noinline int batch_lookup_again(struct batch *b, u32 i)
{
	struct crab_batch_op *op = &b->ops[i];
	int err = crab_layout_lookup(b->write.tree, b->found[i], op->key, &op->value);

	return err == -ERANGE ? -EAGAIN : err;		/* alone it quarantines the leaf */
}

static __always_inline int batch_lookup(struct batch *b, u32 i)
{
	struct crab_batch_op *op = &b->ops[i];

	return likely(crab_layout_lookup_at(b->write.tree, b->found[i], b->place[i].slot, op->key,
					    &op->value)) ? 0 : batch_lookup_again(b, i);
}

/*
 * Searches a leaf of the epoch, or, with no leaf locked, any leaf as a reader. Otherwise it takes
 * the leaf's lock, if trylock succeeds: on PREEMPT_RT, reading an odd count waits for the writer.
 */
static int batch_search(struct batch *b, u32 i)
{
	struct crab_leaf *leaf = b->found[i];
	u64 key = b->ops[i].key;
	unsigned int seq;
	int err;

	if (likely(!b->holds)) {
		if (unlikely(!crab_leaf_read_begin(leaf, key, &seq)))
			return -EAGAIN;
		err = batch_lookup(b, i);
		return crab_leaf_read_valid(leaf, seq) ? err : -EAGAIN;
	}
	if (batch_which(b, leaf) < BATCH_GROUP)
		return crab_leaf_holds(leaf, key) ? batch_lookup(b, i) : -EAGAIN;
	if (!crab_trylock(&leaf->lock))
		return -EAGAIN;
	err = crab_leaf_holds(leaf, key) && !leaf->quarantined ? batch_lookup(b, i) : -EAGAIN;
	crab_unlock(&leaf->lock);
	return err;
}

static int batch_update(struct batch *b, struct crab_leaf *leaf, u32 slot,
			struct crab_batch_op *op)
{
	struct crab_dslot *d = crab_leaf_slot(b->write.tree, leaf, slot);
	u64 value = op->value;
	int err;

	op->old.value = crab_load(b->write.tree->base.media, &d->value);
	/* Failing memory may return a word otherwise once: a sum of it would be stored */
	if (unlikely(op->mode & CRAB_INSERT_DECIDES) &&
	    crab_load(b->write.tree->base.media, &d->value) != op->old.value)
		return -EAGAIN;
	err = crab_insert_decide(op->mode, &op->old, &value);
	if (err)
		return err;
	if (value == leaf->void_value)
		return -EAGAIN;
	crab_leaf_update_nofence(&b->write, d, value);
	b->stored = true;
	return 0;
}

/* As batch_lookup() */
static int batch_missing(struct batch *b, const struct crab_leaf *leaf, u64 key)
{
	return crab_leaf_missing(b->write.tree, leaf, key) == -ERANGE ? -EAGAIN : -ENOENT;
}

static int batch_insert(struct batch *b, u32 which, struct crab_place place,
			struct crab_batch_op *op)
{
	struct crab_leaf *leaf = b->held[which];

	op->old.existed = place.found;
	if (place.found)
		return batch_update(b, leaf, place.slot, op);
	if (op->mode & CRAB_INSERT_NEEDS)
		return batch_missing(b, leaf, op->key);
	if (place.slot >= b->write.tree->slots || op->value == leaf->void_value)
		return -EAGAIN;
	if (b->lost[which]) {	/* perhaps the same slot; the leaves stay locked */
		batch_fence(b);
		memset(b->lost, 0, sizeof(b->lost));
	}
	crab_slotted_insert_nofence(&b->write, leaf, place.slot, op->key, op->value);
	b->stored = true;
	return 0;
}

static int batch_delete(struct batch *b, u32 which, struct crab_place place,
			struct crab_batch_op *op)
{
	struct crab_leaf *leaf = b->held[which];

	op->old.existed = place.found;
	if (!place.found)
		return batch_missing(b, leaf, op->key);
	op->old.value = crab_leaf_value(b->write.tree, leaf, place.slot);
	if (leaf->count == 1 && leaf->low)
		return -EAGAIN;
	crab_slotted_remove_nofence(&b->write, leaf, place.slot);
	b->lost[which] = true;
	b->stored = true;
	return 0;
}

static int batch_write(struct batch *b, struct crab_leaf *leaf, u32 i)
{
	struct crab_batch_op *op = &b->ops[i];
	struct crab_place place;

	if (!crab_leaf_holds(leaf, op->key))
		return -EAGAIN;
	place = b->placed[i] ? b->place[i] :
			       crab_slotted_place(b->write.tree, leaf, op->key);
	return op->verb == CRAB_VERB_INSERT ? batch_insert(b, b->which[i], place, op) :
					      batch_delete(b, b->which[i], place, op);
}

/* Execute one operation in the epoch; -EAGAIN: it must run alone */
static int batch_one(struct batch *b, u32 i)
{
	struct crab_leaf *leaf = b->found[i];

	/* A write has the lock; batch_search() reads it again */
	if (!leaf || data_race(leaf->quarantined))
		return -EAGAIN;
	return b->ops[i].verb == CRAB_VERB_SEARCH ? batch_search(b, i) :
						    batch_write(b, leaf, i);
}

/* Execute it alone, without locked leaves */
static int batch_alone(struct batch *b, struct crab_batch_op *op)
{
	struct crab_engine *engine = &b->write.tree->base;

	switch (op->verb) {
	case CRAB_VERB_SEARCH:
		return crab_tree_lookup(engine, op->key, &op->value);
	case CRAB_VERB_INSERT:
		return crab_tree_insert(engine, b->write.flow, op->key, op->value, op->mode,
					&op->old);
	case CRAB_VERB_DELETE:
		return crab_tree_remove(engine, b->write.flow, op->key, &op->old);
	}
	return -EINVAL;
}

/* Index one past the last operation from @from on that an epoch may have */
static u32 batch_end(const struct batch *b, u32 from)
{
	if (crab_layout_shares_fences(b->write.tree))
		return b->n;
	while (from < b->n && b->ops[from].verb == CRAB_VERB_SEARCH)
		from++;
	return from;
}

/*
 * Finds the place of a key that the leaf does not have, before the leaf is locked. It reads nothing
 * of the media: the leaf may be quarantined
 */
static void batch_foresee(struct batch *b, u32 i, u64 key)
{
	const struct crab_leaf *leaf = b->found[i];

	b->seq[i] = raw_seqcount_begin(&leaf->seq);
	b->placed[i] = crab_slotted_foresee(b->write.tree, leaf, key, &b->place[i]);
}

/* Look up the leaves of the operations from @from on, and prefetch the records of their keys */
static void batch_find(struct batch *b, u32 from, u32 end)
{
	const struct crab_tree *tree = b->write.tree;
	u64 keys[BATCH_GROUP];
	u32 i;

	BUILD_BUG_ON(BATCH_GROUP > CRAB_SHORTCUT_MANY);
	for (i = from; i < end; i++)
		keys[i] = b->ops[i].status ? 0 : b->ops[i].key;
	crab_shortcut_find_many(&tree->index, keys + from, end - from, (void **)b->found + from);
	for (i = from; i < end; i++) {
		b->found[i] = crab_leaf_of(tree, b->found[i]);
		if (b->found[i])
			crab_layout_prefetch_find(tree, b->found[i], keys[i],
						  b->ops[i].verb == CRAB_VERB_INSERT);
	}
	for (i = from; i < end; i++) {
		if (!b->found[i])
			continue;
		if (b->ops[i].verb == CRAB_VERB_SEARCH)
			b->place[i].slot = crab_layout_likely_slot(tree, b->found[i], keys[i]);
		else
			batch_foresee(b, i, keys[i]);
	}
}

/* Execute one epoch; returns the index of the first operation that does not belong to it */
static u32 batch_epoch(struct batch *b, u32 from, u32 end, int *err)
{
	u32 i, stop = batch_hold(b, from, end);

	for (i = from; i < stop; i++) {
		if (b->ops[i].status)
			continue;
		*err = batch_one(b, i);
		if (*err == -EAGAIN)
			break;
		b->ops[i].status = *err;
	}
	batch_close(b);
	return i;
}

/* Execute epochs from @from on; returns the index of the first operation that must run alone */
static u32 batch_epochs(struct batch *b, u32 from)
{
	u32 end = batch_end(b, from);
	int err = 0;

	crab_rcu_enter();
	batch_find(b, from, end);
	while (from < end && err != -EAGAIN)
		from = batch_epoch(b, from, end, &err);
	crab_rcu_leave();
	return from;
}

void crab_tree_batch(struct crab_engine *engine, struct crab_flow *flow,
		     struct crab_batch_op *ops, u32 n)
{
	struct batch b = { .write = { .tree = crab_tree_of(engine), .flow = flow } };
	u32 i;

	for (; n; n -= b.n, ops += b.n) {
		b.ops = ops;
		b.n = min(n, BATCH_GROUP);
		for (i = 0; i < b.n; i++) {
			i = batch_epochs(&b, i);
			if (i == b.n || ops[i].status)
				continue;
			ops[i].status = batch_alone(&b, &ops[i]);
			crab_count_flow(engine, flow);
		}
		cond_resched();
	}
}

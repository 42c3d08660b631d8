// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the verbs on one key, and the entry of the engine `fastfair` in the engine
 * table.
 */

/**
 * DOC: protocol of fastfair
 *
 * `fastfair` is the FAST and FAIR B+-tree (Hwang et al. 2018) with repairs where the publication is
 * not sound. All nodes, inner ones too, are blocks of the pool on the media, and nothing is rebuilt
 * at attach. In memory there is a side for each node: lock, sequence, number of slots.
 *
 *   R1  of two equal neighbouring keys the left one is void
 *   R2  a slot whose key is not below the lowest key of the next node is void
 *   R3  the key of an entry is the lowest key of the node that it links: one entry for each node
 *   R4  a node without an entry is reached by its neighbour to the left
 *
 * shift.c, split.c and remove.c describe the steps of each change and the states that a power cut
 * leaves, find.c the search, recover.c the attach. The layout `shift` needs model L: under model W
 * a shift can lose a record.
 */

/**
 * DOC: locks of fastfair
 *
 * A write locks the leaf that covers its key (crab_side.lock), one leaf at a time. Splits, entries,
 * removals and the root change under ff.structure, a mutex, so inner nodes have one writer and need
 * no lock. A removal locks two neighbouring leaves. A search takes no lock; it reads a leaf between
 * crab_side_read_begin() and crab_side_read_valid(). The sequence is odd until the fence, so no
 * reader sees a record that a power cut could take back. The publication calls its lock-free reads
 * "read uncommitted".
 *
 * Order: ff.structure, crab_side.lock, crab_pool.lock.
 *
 * Invariant: a write that returns 0 is durable; one that returns an error has changed no record.
 *
 * Locking: see above.
 */
#include <linux/errno.h>
#include <linux/kernel.h>

#include "engines/counts.h"
#include "shared/lock.h"
#include "lazy.h"
#include "shift.h"

struct ff_tuning crab_ff_tuning_default;

#define LOOKUP_HOPS	16U	/* leaves to the right that a lookup enters without a lock */

int crab_ff_damaged(struct ff *ff, u64 number, const char *what)
{
	if (!ff->base.damage.count && !READ_ONCE(ff->quarantined) && !READ_ONCE(ff->headless))
		crab_engine_damaged(&ff->base, crab_leaf_offset(&ff->base.geo, number),
				    "node %llu: %s", (unsigned long long)number, what);
	return -EUCLEAN;
}

/* Why the leaf, which is locked, does not have a key, whose search has ended at @slot */
static int leaf_missing(const struct ff_op *op, u32 slot)
{
	const struct ff_node *leaf = &op->find.node;

	if (slot + op->above > leaf->side->count)
		return crab_ff_damaged(op->ff, leaf->number, "its keys have changed");
	return -ENOENT;
}

/*
 * Reads @key in the leaf; -EBUSY: it may be in the next one; -EAGAIN: not without the lock. No slot
 * is void by R1: such reads have the lock
 */
static int leaf_lookup(const struct ff *ff, const struct ff_node *leaf, u64 key, u64 *value)
{
	u64 at = CRAB_KEY_EMPTY;
	u32 i = ff_first(ff, leaf->number, key, &at);

	if (unlikely(!ff_first_holds(ff, leaf, key, i, at)))
		return -EAGAIN;
	if (at != key)
		return at == CRAB_KEY_EMPTY ? -EBUSY : -ENOENT;
	*value = ff_value(ff, leaf->number, i);
	return 0;
}

/* Without a lock; 1: the key is in the next leaf, which is now in @find; -EAGAIN: not valid */
static int lookup_one(const struct ff *ff, struct ff_find *find, u64 key, u64 *value)
{
	unsigned int seq = crab_side_read_begin(find->node.side);
	const struct crab_side *side = find->node.side;
	struct ff_node right;
	u64 high;
	int err;

	if (unlikely(READ_ONCE(side->flags) & (FF_DEAD | FF_BAD)))
		return -EAGAIN;
	err = leaf_lookup(ff, &find->node, key, value);
	if (err == -EBUSY) {
		if (crab_ff_high(ff, find, &right, &high, false))
			return -EAGAIN;
		err = key < high ? -ENOENT : 1;
	}
	if (!crab_side_read_valid(side, seq))
		return -EAGAIN;
	if (err == 1)
		find->node = right;
	return err;
}

static int lookup_try(const struct ff *ff, u64 key, u64 *value)
{
	struct ff_find find;
	u32 hops = LOOKUP_HOPS;
	int err;

	crab_rcu_enter();
	err = ff->locked ? -EAGAIN : crab_ff_find(ff, key, 0, &find);
	if (!err)
		do
			err = lookup_one(ff, &find, key, value);
		while (err == 1 && --hops);
	crab_rcu_leave();
	return err == 1 ? -EAGAIN : err;
}

/* The lookup if a writer changes the leaf, where the media is damaged or torn, or by an option */
static noinline int lookup_locked(struct ff *ff, u64 key, u64 *value)
{
	struct ff_op op = { .ff = ff, .fresh = FF_NONE };
	int err = crab_ff_leaf_lock(&op, key);
	u32 slot;

	if (!err) {
		if (crab_ff_slot_of(ff, &op.find.node, key, &slot))
			*value = ff_value(ff, op.find.node.number, slot);
		else
			err = leaf_missing(&op, slot);
		crab_ff_leaf_unlock(&op);
	}
	crab_ff_op_end(&op);
	return err;
}

static int ff_lookup(struct crab_engine *engine, u64 key, u64 *value)
{
	int err = lookup_try(ff_of(engine), key, value);

	return unlikely(err == -EAGAIN) ? lookup_locked(ff_of(engine), key, value) : err;
}

static int leaf_add(struct ff_op *op, u32 slot, u64 key, u64 value, struct ff_node *sibling)
{
	struct crab_side *side = op->find.node.side;
	int err;

	if (side->count == op->ff->slots && op->fresh == FF_NONE)
		return -EAGAIN;
	err = crab_ff_verify_shift(op->ff, &op->find.node, slot);
	if (err)
		return err;
	crab_side_begin(side);
	if (side->count < op->ff->slots)
		crab_ff_shift_in(op, &op->find.node, slot, key, value);
	else
		err = crab_ff_split(op, &op->find, slot, key, value, sibling);
	crab_side_end(side);
	if (!err)
		crab_count(&op->ff->base, inserts, 1);
	return err;
}

static int leaf_put(struct ff_op *op, u64 key, u64 value, enum crab_insert_mode mode,
		    struct crab_old *old, struct ff_node *sibling)
{
	const struct ff_node *leaf = &op->find.node;
	u32 slot;
	int err;

	old->existed = crab_ff_slot_of(op->ff, leaf, key, &slot);
	if (unlikely(slot + old->existed + op->above > leaf->side->count))
		return crab_ff_damaged(op->ff, leaf->number, "its slots do not end where they did");
	if (!old->existed)
		return mode & CRAB_INSERT_NEEDS ? leaf_missing(op, slot) :
		       leaf_add(op, slot, key, value, sibling);
	old->value = crab_load_settled(op->ff->base.media,
				       &ff_slot(op->ff, leaf->number, slot)->value);
	err = crab_insert_decide(mode, old, &value);
	if (err)
		return err;
	crab_side_begin(leaf->side);
	crab_ff_update(op, leaf, slot, value);
	crab_side_end(leaf->side);
	crab_count(&op->ff->base, updates, 1);
	return 0;
}

static int insert_once(struct ff_op *op, u64 key, u64 value, enum crab_insert_mode mode,
		       struct crab_old *old, struct ff_node *sibling)
{
	int err = crab_ff_leaf_lock(op, key);

	if (err)
		return err;
	err = leaf_put(op, key, value, mode, old, sibling);
	crab_ff_leaf_unlock(op);
	return err;
}

static int ff_insert(struct crab_engine *engine, struct crab_flow *flow, u64 key, u64 value,
		     enum crab_insert_mode mode, struct crab_old *old)
{
	struct ff_op op = { .ff = ff_of(engine), .flow = flow, .fresh = FF_NONE };
	struct ff_node sibling = { };
	int err;

	if (ff_is_lazy(op.ff))
		crab_ff_complete(&op, key);
	do
		err = insert_once(&op, key, value, mode, old, &sibling);
	while (err == -EAGAIN && !(err = crab_ff_op_reserve(&op, key)));
	if (sibling.side) {
		WRITE_ONCE(op.ff->splits, op.ff->splits + 1);
		crab_ff_adopt(&op, &sibling);
	}
	crab_ff_op_end(&op);
	return err;
}

/* Tests whether a neighbour of a locked leaf could be merged with it; a hint */
static bool leaf_is_sparse(const struct ff_op *op)
{
	const struct ff *ff = op->ff;
	const struct ff_find *find = &op->find;
	u32 count = find->node.side->count;
	u64 near[2] = { find->left, 0 };
	const struct crab_side *side;
	u32 i;

	if (count > ff->slots / 2)
		return false;
	near[1] = crab_load(ff->base.media, &ff_media(ff, find->node.number)->head.next);
	if (!count)
		return find->node.low || near[1] & CRAB_LINK_MASK;
	if (near[1] != find->after)
		near[1] = 0;
	for (i = 0; i < 2; i++) {
		side = crab_side(&ff->sides, (near[i] & CRAB_LINK_MASK) - 1);
		if (side && ff_is_sparse(ff, count, READ_ONCE(side->count)))
			return true;
	}
	return false;
}

static int leaf_remove(struct ff_op *op, u64 key, struct crab_old *old, bool *sparse)
{
	const struct ff_node *leaf = &op->find.node;
	u32 slot;
	int err;

	old->existed = crab_ff_slot_of(op->ff, leaf, key, &slot);
	if (!old->existed)
		return leaf_missing(op, slot);
	if (unlikely(slot + op->above >= leaf->side->count))
		return crab_ff_damaged(op->ff, leaf->number, "its slots do not end where they did");
	err = crab_ff_verify_shift(op->ff, leaf, slot + 1);
	if (err)
		return err;
	old->value = crab_load_settled(op->ff->base.media,
				       &ff_slot(op->ff, leaf->number, slot)->value);
	crab_side_begin(leaf->side);
	crab_ff_shift_out(op, leaf, slot);
	crab_side_end(leaf->side);
	crab_count(&op->ff->base, deletes, 1);
	*sparse = leaf_is_sparse(op);
	return 0;
}

static int remove_once(struct ff_op *op, u64 key, struct crab_old *old, bool *sparse)
{
	int err = crab_ff_leaf_lock(op, key);

	if (err)
		return err;
	err = leaf_remove(op, key, old, sparse);
	crab_ff_leaf_unlock(op);
	return err;
}

static int ff_remove(struct crab_engine *engine, struct crab_flow *flow, u64 key,
		     struct crab_old *old)
{
	struct ff_op op = { .ff = ff_of(engine), .flow = flow, .fresh = FF_NONE };
	bool sparse = false;
	int err;

	if (ff_is_lazy(op.ff))
		crab_ff_complete_near(&op, key);
	err = remove_once(&op, key, old, &sparse);
	if (sparse)
		crab_ff_thin(&op, key);
	crab_ff_op_end(&op);
	return err;
}

/* A node of each level; a root grows rarely enough for the few leaves of CRAB_COMMIT_LEAVES */
static int ff_takes(struct crab_engine *engine, u32 writes)
{
	return READ_ONCE(ff_of(engine)->levels);
}

/* A delete that removes one node on each level and shrinks the root; an insert costs less */
static u64 lines_bound(const struct ff *ff)
{
	u64 node = ff->base.geo.leaf_bytes / CRAB_LINE + 1;

	return (READ_ONCE(ff->levels) + 1ULL) * (3 * node + 4);
}

static void ff_stats(struct crab_engine *engine, struct crab_engine_stats *stats)
{
	struct ff *ff = ff_of(engine);
	struct crab_counts counts;

	crab_counts_sum(engine, &counts);
	stats->leaves_used = READ_ONCE(ff->nodes);
	stats->leaves_bad = READ_ONCE(ff->quarantined) + ff->pool.spoilt;
	stats->records = crab_counts_records(&counts, ff->records);
	stats->capacity = engine->geo.leaves * ff->slots;
	stats->dram_bytes = crab_sides_bytes(&ff->sides) + engine->geo.leaves / 8 +
			    READ_ONCE(ff->extras) * sizeof(*ff->extra);
	stats->splits = READ_ONCE(ff->splits);
	stats->unlinks = READ_ONCE(ff->unlinks);
	stats->repairs = ff->repairs;
	stats->lines_bound = lines_bound(ff);
}

u32 crab_ff_slots(u32 leaf_bytes)
{
	u32 slots = (leaf_bytes - sizeof(struct ff_dnode)) / sizeof(struct ff_dslot);

	return crab_hook_slots(slots);
}

static const struct crab_option ff_options[] = {
	CRAB_OPTION("binary", struct ff_tuning, binary, NULL),
	CRAB_OPTION("leaf_locks", struct ff_tuning, leaf_locks, NULL),
#ifdef CRAB_FF_LAZY
	CRAB_OPTION("lazy", struct ff_tuning, lazy, NULL),
#endif
	{ }
};

static const struct crab_layout ff_layouts[] = {
	{
		.name = "shift", .id = 1, .needs = CRAB_MODEL_LINE, .leaf_min = FF_NODE_BYTES_MIN,
		.leaf_max = CRAB_LEAF_BYTES_MAX, .leaf_default = FF_NODE_BYTES_DEFAULT,
		.records = crab_ff_slots,
	},
	{ }
};

const struct crab_engine_ops crab_engine_fastfair = {
	.name = "fastfair",
	.id = 4,
	.options = ff_options,
	.tuning = &crab_ff_tuning_default,
	.layouts = ff_layouts,
	.format = crab_ff_format,
	.attach = crab_ff_attach,
	.repair = crab_ff_repair,
	.detach = crab_ff_detach,
	.lookup = ff_lookup,
	.seek = crab_ff_seek,
	.scan = crab_ff_scan,
	.beyond = crab_ff_beyond,
	.insert = ff_insert,
	.remove = ff_remove,
	.takes = ff_takes,
	.quarantine = crab_ff_quarantine,
	.check = crab_ff_check,
	.stats = ff_stats,
};

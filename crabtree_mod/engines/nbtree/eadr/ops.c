// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the writes of one key of the layout `eadr`, and its operations table.
 *
 * Invariant: a write that returns 0 is durable; one that returns an error has changed no record. A
 * write waits for no other task, except for memory, in the pool, and for a free leaf.
 *
 * Locking: none; RCU from the search for a leaf to the last access to it.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/slab.h>

#include "engines/nbtree/guess.h"
#include "moves.h"
#include "slots.h"

#define WRITE_BREATHE	1024U	/* attempts of a write between two looks whether it is to end */

/* Counts a write that took effect */
#define write_count(write, what)							\
	do {										\
		if ((write)->structure)		/* the flow goes on */			\
			crab_count(&(write)->tree->base, what, 1);			\
		else									\
			crab_count_settled(&(write)->tree->base, what, (write)->flow, 0);	\
	} while (0)

/* Makes the swap of a write durable */
static void write_settle(struct nb_write *write)
{
	/* P6: the record is durable before the operation returns */
	crab_fence(write->flow, CRAB_P6_RECORD);
}

/* A frozen record was found: -EBUSY if its leaf freezes; otherwise no task has frozen it */
static int met_frozen(struct ea_tree *tree, const struct nb_leaf *leaf)
{
	return ea_smo(leaf) ? -EBUSY :
	       crab_ea_damaged(tree, leaf, "a record is frozen, but not its leaf");
}

/* Replaces a record that was found; -EBUSY: its leaf freezes; -EAGAIN: it changed */
static int record_set(struct nb_write *write, struct nb_leaf *leaf, const struct ea_slot *slot,
		      u64 value, const struct crab_old *old)
{
	if (ea_is_frozen(slot->word))
		return met_frozen(ea_tree_of(&write->tree->base), leaf);
	if (!ea_swap(write, leaf, slot->number, slot->word, old->value, slot->word, value))
		return -EAGAIN;
	write_settle(write);
	write_count(write, updates);
	return 0;
}

/*
 * -EBUSY: the leaf freezes; -EAGAIN: another task was faster; -ENOSPC: it is full; -ERANGE: the
 * media has changed
 */
static int leaf_put(struct nb_write *write, struct nb_leaf *leaf, struct crab_record record,
		    enum crab_insert_mode mode, struct crab_old *old)
{
	struct ea_tree *tree = ea_tree_of(&write->tree->base);
	struct ea_slot slot = crab_ea_find(tree, leaf, record.key, tree->nb.room);
	int err;

	old->existed = ea_is_record(slot.word);
	if (old->existed) {
		old->value = ea_value(tree, leaf, slot.number);
		err = crab_insert_decide(mode, old, &record.value);
		/* Failing memory may return a word otherwise once; a swap compares it */
		if (err == -ESTALE && ea_value(tree, leaf, slot.number) != old->value)
			return -EAGAIN;
		return err ?: record_set(write, leaf, &slot, record.value, old);
	}
	if (mode & CRAB_INSERT_NEEDS)
		return crab_ea_missing(&slot);
	err = crab_ea_add(write, leaf, slot.number, &record);
	if (err)
		return err == -ENOSPC && ea_smo(leaf) ? -EBUSY : err;
	write_settle(write);
	write_count(write, inserts);
	return 0;
}

/* @empty: as of struct ea_try */
static int leaf_drop(struct nb_write *write, struct nb_leaf *leaf, u64 key, struct crab_old *old,
		     bool *empty)
{
	struct ea_tree *tree = ea_tree_of(&write->tree->base);
	struct ea_slot slot = crab_ea_find(tree, leaf, key, tree->nb.room);

	old->existed = ea_is_record(slot.word);
	if (!old->existed)
		return crab_ea_missing(&slot);
	if (ea_is_frozen(slot.word))
		return met_frozen(tree, leaf);
	old->value = ea_value(tree, leaf, slot.number);
	if (!ea_swap(write, leaf, slot.number, slot.word, old->value, EA_DEAD, old->value))
		return -EAGAIN;
	write_settle(write);
	WRITE_ONCE(leaf->fp[slot.number], EA_FP_VOID);
	*empty = leaf->low & EA_KEY_BITS && crab_ea_is_empty(tree, leaf, slot.number);
	write->structure |= *empty;
	write_count(write, deletes);
	return 0;
}

/**
 * struct ea_try - an attempt of a write
 * @key: the key
 * @record: NULL for a delete
 * @mode: of an insert
 * @empty: out: a delete has left the leaf without records, and it is not the first of its quarter
 */
struct ea_try {
	u64 key;
	const struct crab_record *record;
	enum crab_insert_mode mode;
	bool empty;
};

/* -EAGAIN: begin again */
static int write_once(struct nb_write *write, struct ea_try *this, struct crab_old *old)
{
	struct nb_leaf *leaf;
	int err;

	crab_rcu_enter();
	leaf = crab_ea_leaf_of(ea_tree_of(&write->tree->base), this->key);
	if (!leaf || READ_ONCE(leaf->quarantined))
		err = -EUCLEAN;
	else
		err = this->record ? leaf_put(write, leaf, *this->record, this->mode, old) :
				     leaf_drop(write, leaf, this->key, old, &this->empty);
	if (err == -EBUSY)
		err = crab_ea_smo_finish(write, leaf) ? -EAGAIN : -EUCLEAN;
	crab_rcu_leave();
	return err;
}

static int write_loop(struct nb_write *write, struct ea_try *this, struct crab_old *old)
{
	struct ea_tree *tree = ea_tree_of(&write->tree->base);
	u32 tries = 0;
	int err;

	crab_count(&tree->nb.base, EA_COUNT_BEGUN, 1);
	for (;;) {
		err = write_once(write, this, old);
		if (err == -ENOSPC)
			err = crab_ea_smo_begin(write, this->key) ?: -EAGAIN;
		if (err != -EAGAIN)
			break;
		crab_count(&tree->nb.base, EA_COUNT_AGAIN, 1);
		/* Others may overtake it any number of times, and media that changes does */
		if (++tries % WRITE_BREATHE == 0 && crab_engine_breathe(&tree->nb.base)) {
			err = -EINTR;
			break;
		}
	}
	crab_count(&tree->nb.base, EA_COUNT_ENDED, 1);
	if (unlikely(err == -ERANGE))
		err = crab_ea_doubt(tree, this->key);
	if (this->empty)
		crab_ea_unlink(write, this->key);
	if (!err)		/* maintain does it otherwise */
		crab_ea_upkeep(tree);
	return err;
}

static int ea_insert(struct crab_engine *engine, struct crab_flow *flow, u64 key, u64 value,
		     enum crab_insert_mode mode, struct crab_old *old)
{
	struct nb_write write = { .tree = nb_tree_of(engine), .flow = flow };
	struct crab_record record = { .key = key, .value = value };
	struct ea_try this = { .key = key, .record = &record, .mode = mode };

	return write_loop(&write, &this, old);
}

static int ea_remove(struct crab_engine *engine, struct crab_flow *flow, u64 key,
		     struct crab_old *old)
{
	struct nb_write write = { .tree = nb_tree_of(engine), .flow = flow };
	struct ea_try this = { .key = key };

	return write_loop(&write, &this, old);
}

/* Exact only while no write is under way */
static void ea_stats(struct crab_engine *engine, struct crab_engine_stats *stats)
{
	const struct ea_tree *tree = ea_tree_of(engine);
	u64 leaves = READ_ONCE(tree->nb.leaves);
	struct crab_counts counts;

	crab_counts_sum(engine, &counts);
	*stats = (struct crab_engine_stats) {
		.leaves_used = leaves,
		.leaves_bad = READ_ONCE(tree->nb.quarantined) + tree->nb.pool.spoilt,
		.records = crab_counts_records(&counts, tree->nb.records),
		.capacity = engine->geo.leaves * tree->nb.room,
		.dram_bytes = crab_index_bytes(&tree->nb.index) +
			      leaves * sizeof(struct nb_leaf) + engine->geo.leaves / 8 +
			      engine->geo.leaves * sizeof(struct nb_leaf *),
		.splits = READ_ONCE(tree->nb.splits),
		.unlinks = READ_ONCE(tree->nb.unlinks),
		.repairs = tree->repairs,
	};
}

static bool ea_maintain(struct crab_engine *engine)
{
	struct ea_tree *tree = ea_tree_of(engine);

	crab_ea_upkeep(tree);
	return crab_ea_sweep(tree) || crab_nb_shorten(engine);
}

static bool ea_wants(struct crab_engine *engine)
{
	const struct ea_tree *tree = ea_tree_of(engine);

	return crab_ea_is_behind(tree) || crab_ea_sweep_is_due(tree) ||
	       crab_nb_shorten_is_due(engine);
}

static const char * const ea_counters[] = {
	"writes_begun", "writes_ended", "writes_again", NULL
};

static const struct crab_engine_ops ea_ops = {
	.name = "nbtree",
	.id = 6,
	.layouts = crab_nb_layouts,
	.counters = ea_counters,
	.repair = crab_ea_repair,
	.detach = crab_ea_detach,
	.lookup = crab_ea_lookup,
	.seek = crab_ea_seek,
	.scan = crab_ea_scan,
	.beyond = crab_ea_beyond,
	.insert = ea_insert,
	.remove = ea_remove,
	.quarantine = crab_ea_quarantine,
	.check = crab_ea_check,
	.stats = ea_stats,
	.maintain = ea_maintain,
	.wants = ea_wants,
};

const struct nb_kind crab_ea_kind = {
	.ops = &ea_ops,
	.tree_bytes = sizeof(struct ea_tree),
	.link_bits = ~EA_LINK_MARK,
	.numbered = true,
	.format = crab_ea_format,
	.open = crab_ea_open,
};

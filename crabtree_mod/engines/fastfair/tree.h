/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the functions that the files of the engine `fastfair` share.
 *
 * Locking: engine.c documents it.
 */
#ifndef CRABTREE_ENGINES_FASTFAIR_TREE_H
#define CRABTREE_ENGINES_FASTFAIR_TREE_H

#include "fastfair.h"
#include "sure.h"

/* engine.c */

/**
 * crab_ff_damaged() - note damage that an operation found
 * @ff: the store
 * @number: of the node
 * @what: description
 * Context: any but interrupts.
 * Return: -EUCLEAN.
 */
int crab_ff_damaged(struct ff *ff, u64 number, const char *what);

/* find.c */

/**
 * crab_ff_enter() - follow a link
 * @ff: the store
 * @link: the word, from the media
 * @level: of its target
 * @low: the highest lowest key that the target may have
 * @node: out: the target; unchanged on an error
 *
 * The place of the target is bounded, and its header must match the check bits.
 *
 * Context: RCU read-side section, or ff.structure.
 * Return: 0; -EUCLEAN: the target is quarantined; -EAGAIN: the link does not lead to such a node.
 */
int crab_ff_enter(const struct ff *ff, u64 link, u32 level, u64 low, struct ff_node *node);

/**
 * crab_ff_root() - the root
 * @ff: the store
 * @node: out: the root
 * Context: as crab_ff_enter().
 * Return: as crab_ff_enter().
 */
int crab_ff_root(const struct ff *ff, struct ff_node *node);

/**
 * crab_ff_next() - the next node of the level
 * @ff: the store
 * @node: the node
 * @right: out: the next one
 * Context: as crab_ff_enter().
 * Return: as crab_ff_enter(); or -ENOENT: @node is the last one.
 */
int crab_ff_next(const struct ff *ff, const struct ff_node *node, struct ff_node *right);

/**
 * crab_ff_high() - the end of a node's range
 * @ff: the store
 * @find: the node
 * @right: out: the next node, if the result is below the reserved key and @right->side is set
 * @high: out: its lowest key, or the reserved key
 * @exact: @find was read under ff.structure: its entries may be used in place of bad memory
 * Context: as crab_ff_enter().
 * Return: as crab_ff_enter().
 */
int crab_ff_high(const struct ff *ff, const struct ff_find *find, struct ff_node *right, u64 *high,
		 bool exact);

/**
 * crab_ff_find() - find the node of a level that covers a key, or one to the left of it
 * @ff: the store
 * @key: the key
 * @level: the level
 * @find: out: the node. On an error its high is where the range ends that cannot be read
 *
 * Takes no lock. Each node that it enters has a lowest key of at most @key; the caller goes to the
 * right as far as needed.
 *
 * Context: RCU read-side section, or ff.structure.
 * Return: as crab_ff_enter(); or -ENOENT: the root is below @level.
 */
int crab_ff_find(const struct ff *ff, u64 key, u32 level, struct ff_find *find);

/**
 * crab_ff_find_exact() - find the node of a level that covers a key
 * @ff: the store
 * @key: the key
 * @level: the level
 * @find: out: as for crab_ff_find()
 * Context: ff.structure.
 * Return: as crab_ff_find(), but -EUCLEAN with damage noted in place of -EAGAIN.
 */
int crab_ff_find_exact(struct ff *ff, u64 key, u32 level, struct ff_find *find);

/**
 * crab_ff_leaf_lock() - find and lock the leaf that covers a key
 * @op: the operation
 * @key: the key
 * Context: may sleep. On success an RCU read-side section begins, until crab_ff_leaf_unlock().
 * Return: 0, or -EUCLEAN with nothing locked.
 */
int crab_ff_leaf_lock(struct ff_op *op, u64 key);

/**
 * crab_ff_leaf_unlock() - release the leaf of crab_ff_leaf_lock()
 * @op: the operation
 * Context: ends the RCU read-side section.
 */
void crab_ff_leaf_unlock(struct ff_op *op);

/**
 * crab_ff_op_lock() - take ff.structure for an operation
 * @op: the operation, which may hold it already
 * Context: may sleep; no leaf is locked.
 */
void crab_ff_op_lock(struct ff_op *op);

/**
 * crab_ff_op_end() - end an operation
 * @op: the operation
 * Context: may sleep; no leaf is locked. Releases ff.structure, and the block of
 * crab_ff_op_reserve().
 */
void crab_ff_op_end(struct ff_op *op);

/**
 * crab_ff_slot_of() - find a key in a node
 * @ff: the store
 * @node: the node
 * @key: the key
 * @slot: out: its slot; else the slot before which it goes. After the end of the slots: the media
 *	has changed, perhaps for this read only
 * Context: the leaf is locked, or it is an inner node under ff.structure.
 * Return: true if the leaf has the key.
 */
bool crab_ff_slot_of(const struct ff *ff, const struct ff_node *node, u64 key, u32 *slot);

/* split.c */

/**
 * crab_ff_op_reserve() - allocate the block for the split of a full leaf
 * @op: the write, which has none
 * @key: a key of the leaf
 *
 * If the write does not hold ff.structure yet, the function only takes it: another task may have
 * split the leaf meanwhile. The pool keeps the blocks of the levels above that split with the leaf.
 *
 * Context: may sleep, also for a grace period; no leaf is locked. Takes ff.structure.
 * Return: 0: try again; -ENOSPC, -ENOMEM or -EUCLEAN.
 */
int crab_ff_op_reserve(struct ff_op *op, u64 key);

/**
 * crab_ff_verify() - verify the slots of a node before others depend on them
 * @ff: the store
 * @node: the node
 * @high: the end of its range
 * Context: the node is locked, or an inner one under ff.structure.
 * Return: 0; or -EUCLEAN with damage noted: the media has changed.
 */
int crab_ff_verify(struct ff *ff, const struct ff_node *node, u64 high);

/**
 * crab_ff_verify_shift() - verify that the slots of a node that will move have keys
 * @ff: the store
 * @node: the node
 * @pos: the first slot that will move
 *
 * Memory may read all ones, which would end the slots. It answers line by line, so one key of each
 * line is read.
 *
 * Context: as crab_ff_verify().
 * Return: 0; or -EUCLEAN with damage noted.
 */
int crab_ff_verify_shift(struct ff *ff, const struct ff_node *node, u32 pos);

/**
 * crab_ff_is_copied() - test whether slots of a node are copies of those of another one
 * @ff: the store
 * @node: the node with the copies
 * @at: the first of them
 * @from: the other node
 * @first: the first of its slots
 * @n: how many
 *
 * Memory may have read all ones while a slot was copied, and before and after that as it should.
 *
 * Context: as crab_ff_verify(), for both nodes.
 * Return: true if both read the same now.
 */
bool crab_ff_is_copied(const struct ff *ff, const struct ff_node *node, u32 at,
		       const struct ff_node *from, u32 first, u32 n);

/**
 * crab_ff_split() - split a full node and insert a slot (P7, P8, P10, P6 or P13)
 * @op: a write that holds ff.structure and has a fresh block
 * @find: the node
 * @pos: where the slot goes
 * @key: its key
 * @value: its value
 * @sibling: out: the fresh node
 * Context: as crab_ff_shift_in().
 * Return: 0; or -EUCLEAN with nothing changed.
 */
int crab_ff_split(struct ff_op *op, const struct ff_find *find, u32 pos, u64 key, u64 value,
		  struct ff_node *sibling);

/**
 * crab_ff_adopt() - give a node its entry in the level above (P13)
 * @op: a write that holds ff.structure
 * @node: the node; it is not the first of its level
 *
 * Splits the levels above and grows the root as needed. If no block is free, a node stays without
 * an entry: it is found by its neighbour to the left, and @op->missing is set.
 *
 * Context: may sleep; no leaf is locked.
 * Return: true if it has the entry now and had none.
 */
bool crab_ff_adopt(struct ff_op *op, const struct ff_node *node);

/* remove.c */

/**
 * crab_ff_thin() - merge a leaf with few records with a neighbour, or remove it
 * @op: a write, which takes ff.structure
 * @key: a key of the leaf
 * Context: may sleep; no leaf is locked.
 */
void crab_ff_thin(struct ff_op *op, u64 key);

/**
 * crab_ff_slots() - slots of a node
 * @leaf_bytes: its size
 * Context: any.
 * Return: their number.
 */
u32 crab_ff_slots(u32 leaf_bytes);

/* recover.c, check.c, scan.c: as in struct crab_engine_ops */

int crab_ff_format(struct crab_flow *flow, const struct crab_geometry *geo);
struct crab_engine *crab_ff_attach(struct crab_media *media, const struct crab_geometry *geo,
				   const struct crab_attach_how *how);
int crab_ff_repair(struct crab_engine *engine, struct crab_flow *flow);
void crab_ff_detach(struct crab_engine *engine);
int crab_ff_check(struct crab_engine *engine, struct crab_check_report *report);
u64 crab_ff_quarantine(struct crab_engine *engine, u64 from, u64 to);
int crab_ff_seek(struct crab_engine *engine, u64 key, enum crab_seek_dir dir,
		 struct crab_record *record);
int crab_ff_scan(struct crab_engine *engine, u64 start, u64 end, struct crab_record *records,
		 u32 cap);
u64 crab_ff_beyond(struct crab_engine *engine, u64 key, enum crab_seek_dir dir);

#endif /* CRABTREE_ENGINES_FASTFAIR_TREE_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the traces of a power cut, and their repair by later writes (lazy.c).
 *
 * Locking: see each function.
 */
#ifndef CRABTREE_ENGINES_FASTFAIR_LAZY_H
#define CRABTREE_ENGINES_FASTFAIR_LAZY_H

#include "tree.h"
#include "walk.h"

/**
 * struct ff_trace - a node that a power cut left unfinished
 * @next: of the list ff.traces, which ends with the traces of the highest level
 * @node: the node
 * @found: its slots
 * @has_entry: the level above has its entry
 */
struct ff_trace {
	struct ff_trace *next;
	struct ff_node node;
	struct ff_found found;
	bool has_entry;
};

/**
 * crab_ff_trace_slots() - take the void slots of a node away (P10; P9, P6 or P13)
 * @op: a write that holds ff.structure
 * @trace: of the node
 * Context: as crab_ff_shift_in().
 */
void crab_ff_trace_slots(struct ff_op *op, const struct ff_trace *trace);

#ifdef CRAB_FF_LAZY

/**
 * ff_is_lazy() - whether writes have to repair
 * @ff: the store
 * Context: any; without ff.structure a hint, which is true before the first write.
 * Return: true if so.
 */
static inline bool ff_is_lazy(const struct ff *ff)
{
	/* Pairs with smp_store_release() in lazy.c: a write that finds no trace passes none */
	return unlikely(ff->tuning.lazy) && smp_load_acquire(&ff->traces);
}

/**
 * crab_ff_complete() - complete the nodes on the way to a key, before a write stores there
 * @op: the write, which takes ff.structure
 * @key: the key
 * Context: may sleep; no leaf is locked.
 */
void crab_ff_complete(struct ff_op *op, u64 key);

/**
 * crab_ff_complete_near() - complete the nodes on the ways to a leaf and to its neighbours
 * @op: the write, which takes ff.structure
 * @key: a key of the leaf
 * Context: as crab_ff_complete().
 */
void crab_ff_complete_near(struct ff_op *op, u64 key);

#else

static inline bool ff_is_lazy(const struct ff *ff)
{
	return false;
}

static inline void crab_ff_complete(struct ff_op *op, u64 key)
{
}

static inline void crab_ff_complete_near(struct ff_op *op, u64 key)
{
}

#endif

#endif /* CRABTREE_ENGINES_FASTFAIR_LAZY_H */

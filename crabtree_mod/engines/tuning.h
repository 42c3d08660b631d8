/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the tuning of an engine: choices that the media format leaves open.
 *
 * No lock: constant while a store is attached.
 */
#ifndef CRABTREE_TUNING_H
#define CRABTREE_TUNING_H

#include <linux/types.h>

enum crab_strategy {
	CRAB_STRATEGY_AUTO,	/* per operation, whichever is estimated to cost less */
	CRAB_STRATEGY_SIP,	/* shift in place, always */
	CRAB_STRATEGY_COW,	/* copy on write, always */
};

/**
 * crab_strategy_name() - name of a strategy
 * @strategy: the strategy
 * Context: any.
 * Return: a name that crab_strategy_by_name() accepts.
 */
const char *crab_strategy_name(enum crab_strategy strategy);

/**
 * crab_strategy_by_name() - find a strategy
 * @name: auto, sip or cow
 * Return: the strategy, or -EINVAL.
 */
int crab_strategy_by_name(const char *name);

/**
 * struct crab_costs - what things cost on this CPU, in picoseconds
 * @round: clean one line and fence
 * @line: one line more before the same fence
 * @order: keep two stores in order
 * @record: copy or move one record
 * @pair: store a record as one event of 16 bytes, instead of two stores in order
 */
struct crab_costs {
	u32 round;
	u32 line;
	u32 order;
	u32 record;
	u32 pair;
};

/**
 * struct crab_tuning - how to do what the media format leaves open; see seed 000
 * @strategy: of writes to sorted leaves, section 4.1
 * @on_demand: allocate leaves by a bitmap on the media, not from the pool, section 5.1
 * @probe: a key not above the middle one is written by copying, section 5.2
 * @pair: store key and value as one event where the CPU can, section 5.3
 * @costs: prices for CRAB_STRATEGY_AUTO
 */
struct crab_tuning {
	enum crab_strategy strategy;
	bool on_demand;
	bool probe;
	bool pair;
	struct crab_costs costs;
};

/*
 * What is used where nothing else is asked for: Crab_opt. The module's parameters
 * are written here, and the costs it measured, before any store is attached.
 */
extern struct crab_tuning crab_tuning_default;

/**
 * crab_costs_measure() - price this CPU's cleans and fences by a short test
 * @costs: out
 * Context: may sleep; a few milliseconds; crab_persist_init() came before.
 * Return: 0 or -ENOMEM.
 */
int crab_costs_measure(struct crab_costs *costs);

/**
 * crab_costs_pair() - is a store of 16 bytes cheaper here than two stores in order?
 * @costs: as measured
 *
 * What crab_tuning.pair should be where nobody asks for anything else.
 */
static inline bool crab_costs_pair(const struct crab_costs *costs)
{
	return costs->pair < costs->order;
}

#endif /* CRABTREE_TUNING_H */

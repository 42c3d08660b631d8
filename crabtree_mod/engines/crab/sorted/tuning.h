/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the options of sorted leaves: the choices that the media format
 * leaves open (Wang et al. 2020, sections 4 and 5).
 *
 * Locking: crab_tuning_default is written by module parameters before the first
 * attach, then under a lock of tuning.c alone.
 */
#ifndef CRABTREE_TUNING_H
#define CRABTREE_TUNING_H

#include <linux/types.h>

#include "engines/options.h"

enum crab_strategy {
	CRAB_STRATEGY_AUTO,	/* for each operation the one with the lower estimated cost */
	CRAB_STRATEGY_SIP,	/* shift in place, always */
	CRAB_STRATEGY_COW,	/* copy on write, always */
};

/* crab_tuning.pair; both of the first two are final */
enum crab_pair {
	CRAB_PAIR_NEVER,
	CRAB_PAIR_ALWAYS,
	CRAB_PAIR_IF_CHEAPER,	/* than two stores in order; decided with the costs */
};

/**
 * struct crab_costs - costs on this CPU, in picoseconds; 0: not measured yet
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
 * struct crab_tuning - options of a store with sorted leaves
 * @strategy: enum crab_strategy of writes, section 4.1
 * @on_demand: allocate leaves by a bitmap on the media, not from the pool, section 5.1
 * @probe: write a key that is not above the middle one by copying, section 5.2
 * @pair: enum crab_pair: store key and value as one event where the CPU can, section 5.3
 * @costs: prices for CRAB_STRATEGY_AUTO
 */
struct crab_tuning {
	u32 strategy;
	u8 on_demand;
	u8 probe;
	u8 pair;
	struct crab_costs costs;
};

/* Own counters of the engine: writes, the lines that they cleaned, and their fences */
enum crab_sorted_counter {
	CRAB_SORTED_SIPS,	/* writes by shifting in place ... */
	CRAB_SORTED_SIP_LINES,
	CRAB_SORTED_SIP_FENCES,
	CRAB_SORTED_COWS,	/* ... and by copying */
	CRAB_SORTED_COW_LINES,
	CRAB_SORTED_COW_FENCES,
};

/* Names of them, ended by NULL */
extern const char * const crab_sorted_counters[];

/*
 * Used where a store is attached without options. The module's parameters are stored here.
 * User space and KUnit begin with fixed costs, so that runs can be repeated.
 */
extern struct crab_tuning crab_tuning_default;

/* Names of the fields, ended by a NULL name */
extern const struct crab_option crab_tuning_options[];

/**
 * crab_tuning_settle() - choose the options of a store that is being attached
 * @given: options that the caller of attach chose, used as they are; or NULL
 * @tuning: out: @given, or crab_tuning_default with its costs measured
 *
 * Context: may sleep; the first call without @given takes some milliseconds.
 * Return: 0 or -ENOMEM.
 */
int crab_tuning_settle(const struct crab_tuning *given, struct crab_tuning *tuning);

/**
 * crab_strategy_name() - name a strategy
 * @strategy: the strategy
 *
 * Context: any.
 * Return: its name, as the option takes it.
 */
const char *crab_strategy_name(enum crab_strategy strategy);

/**
 * crab_strategy_by_name() - find a strategy
 * @name: auto, sip or cow
 *
 * Context: any.
 * Return: the strategy, or -EINVAL.
 */
int crab_strategy_by_name(const char *name);

/**
 * crab_costs_measure() - price this CPU's cleans and fences by a short test
 * @costs: out
 *
 * Context: may sleep; takes some milliseconds; after crab_persist_init().
 * Return: 0 or -ENOMEM.
 */
int crab_costs_measure(struct crab_costs *costs);

/**
 * crab_costs_pair() - is a store of 16 bytes cheaper here than two stores in order?
 * @costs: as measured
 *
 * Context: any.
 * Return: the value of crab_tuning.pair to use by default.
 */
static inline bool crab_costs_pair(const struct crab_costs *costs)
{
	return costs->pair < costs->order;
}

#endif /* CRABTREE_TUNING_H */

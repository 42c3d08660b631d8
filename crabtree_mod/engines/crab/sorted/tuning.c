// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the options of sorted leaves: their names, their defaults,
 * and the costs, which are measured when the first sorted store is attached.
 *
 * Invariant: a cost or a "pair" that a module parameter set is never measured or
 * decided again.
 *
 * Locking: tuning_lock for crab_tuning_default once stores are attached.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/mutex.h>
#include <linux/string.h>

#include "tuning.h"

#if defined(CRABTREE_HOST) || defined(CRAB_COSTS_FIXED)
#define TUNING_PAIR	CRAB_PAIR_ALWAYS
#define TUNING_COSTS	\
	{ .round = 130000, .line = 16000, .order = 1000, .record = 1500, .pair = 500 }
#else
#define TUNING_PAIR	CRAB_PAIR_IF_CHEAPER
#define TUNING_COSTS	{ }
#endif

struct crab_tuning crab_tuning_default = {
	.strategy = CRAB_STRATEGY_AUTO,
	.probe = true,
	.pair = TUNING_PAIR,
	.costs = TUNING_COSTS,
};

static DEFINE_MUTEX(tuning_lock);

static const char * const tuning_strategies[] = { "auto", "sip", "cow", NULL };
static const char * const tuning_pairs[] = { "0", "1", "-1", NULL };

#define TUNING(name, field, words)	CRAB_OPTION(name, struct crab_tuning, field, words)

const struct crab_option crab_tuning_options[] = {
	TUNING("strategy", strategy, tuning_strategies),
	TUNING("on_demand", on_demand, NULL),
	TUNING("probe", probe, NULL),
	TUNING("pair", pair, tuning_pairs),
	TUNING("cost_round", costs.round, NULL),
	TUNING("cost_line", costs.line, NULL),
	TUNING("cost_order", costs.order, NULL),
	TUNING("cost_record", costs.record, NULL),
	TUNING("cost_pair", costs.pair, NULL),
	{ }
};

const char * const crab_sorted_counters[] = {
	[CRAB_SORTED_SIPS]		= "sips",
	[CRAB_SORTED_SIP_LINES]		= "sip_lines",
	[CRAB_SORTED_SIP_FENCES]	= "sip_fences",
	[CRAB_SORTED_COWS]		= "cows",
	[CRAB_SORTED_COW_LINES]		= "cow_lines",
	[CRAB_SORTED_COW_FENCES]	= "cow_fences",
	NULL
};

const char *crab_strategy_name(enum crab_strategy strategy)
{
	return tuning_strategies[strategy];
}

int crab_strategy_by_name(const char *name)
{
	u32 i;

	for (i = 0; tuning_strategies[i]; i++)
		if (!strcmp(tuning_strategies[i], name))
			return i;
	return -EINVAL;
}

static bool costs_are_known(const struct crab_costs *costs)
{
	return costs->round && costs->line && costs->order && costs->record && costs->pair;
}

/* Measures the costs that are 0 */
static int tuning_measure(struct crab_costs *costs)
{
	struct crab_costs measured;
	int err;

	if (costs_are_known(costs))
		return 0;
	err = crab_costs_measure(&measured);
	if (err)
		return err;
	costs->round = costs->round ?: measured.round;
	costs->line = costs->line ?: measured.line;
	costs->order = costs->order ?: measured.order;
	costs->record = costs->record ?: measured.record;
	costs->pair = costs->pair ?: measured.pair;
	return 0;
}

int crab_tuning_settle(const struct crab_tuning *given, struct crab_tuning *tuning)
{
	struct crab_tuning *ours = &crab_tuning_default;
	int err;

	if (given) {
		*tuning = *given;
		return 0;
	}
	mutex_lock(&tuning_lock);
	err = tuning_measure(&ours->costs);
	if (!err && ours->pair == CRAB_PAIR_IF_CHEAPER)
		ours->pair = crab_costs_pair(&ours->costs);
	*tuning = *ours;
	mutex_unlock(&tuning_lock);
	return err;
}

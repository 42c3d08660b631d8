// SPDX-License-Identifier: GPL-2.0
/*
 * This file says in the words of the user interface what a store knows of itself.
 * It is built in user space too, where crabctl says the same of an image.
 *
 * No lock: what it reads is the caller's copy.
 */
#include <linux/string.h>

#include "info.h"

static const u32 info_durabilities[] = {
	[CRAB_DURABILITY_NONE]		= CRABTREE_DURABILITY_NONE,
	[CRAB_DURABILITY_UNPROVEN]	= CRABTREE_DURABILITY_UNPROVEN,
	[CRAB_DURABILITY_POC]		= CRABTREE_DURABILITY_POC,
	[CRAB_DURABILITY_POP]		= CRABTREE_DURABILITY_POP,
	[CRAB_DURABILITY_PODP]		= CRABTREE_DURABILITY_PODP,
	[CRAB_DURABILITY_CACHE]		= CRABTREE_DURABILITY_CACHE,
};

static const u32 info_models[] = {
	[CRAB_MODEL_NONE]	= CRABTREE_MODEL_NONE,
	[CRAB_MODEL_WORD]	= CRABTREE_MODEL_WORD,
	[CRAB_MODEL_LINE]	= CRABTREE_MODEL_LINE,
};

static const u32 info_strategies[] = {
	[CRAB_STRATEGY_AUTO]	= CRABTREE_STRATEGY_AUTO,
	[CRAB_STRATEGY_SIP]	= CRABTREE_STRATEGY_SIP,
	[CRAB_STRATEGY_COW]	= CRABTREE_STRATEGY_COW,
};

u32 crab_info_durability(enum crab_durability durability)
{
	return info_durabilities[durability];
}

/* What stands in the superblock */
static void info_from_super(struct crabtree_info *info, const struct crab_super *super)
{
	info->version = super->version;
	memcpy(info->uuid, super->uuid, sizeof(info->uuid));
	strscpy(info->label, super->label, sizeof(info->label));
	info->leaf_bytes = super->leaf_bytes;
	info->leaves = super->leaves;
	info->feature_compat = super->feature_compat;
	info->feature_ro_compat = super->feature_ro_compat;
	info->feature_incompat = super->feature_incompat;
}

/* What the engine counts */
static void info_from_stats(struct crabtree_info *info, const struct crab_engine_stats *stats)
{
	info->leaves_used = stats->leaves_used;
	info->leaves_bad = stats->leaves_bad;
	info->records = stats->records;
	info->capacity = stats->capacity;
	info->dram_bytes = stats->dram_bytes;
	info->splits = stats->splits;
	info->unlinks = stats->unlinks;
	info->repairs = stats->repairs;
	info->lines_bound = stats->lines_bound;
}

/* What was done since attach */
static void info_from_counts(struct crabtree_info *info, const struct crab_counts *counts)
{
	info->lines = counts->lines;
	info->fences = counts->fences;
	info->orders = counts->orders;
	info->searches = counts->searches;
	info->inserts = counts->inserts;
	info->deletes = counts->deletes;
	info->updates = counts->updates;
	info->sips = counts->sips;
	info->sip_lines = counts->sip_lines;
	info->sip_fences = counts->sip_fences;
	info->cows = counts->cows;
	info->cow_lines = counts->cow_lines;
	info->cow_fences = counts->cow_fences;
}

/* How it was attached */
static void info_from_tuning(struct crabtree_info *info, const struct crab_tuning *tuning)
{
	info->strategy = info_strategies[tuning->strategy];
	info->options = (tuning->on_demand ? CRABTREE_OPTION_ON_DEMAND : 0) |
			(tuning->probe ? CRABTREE_OPTION_PROBE : 0) |
			(tuning->pair ? CRABTREE_OPTION_PAIR : 0);
}

void crab_info_store(struct crabtree_info *info, const struct crab_store_info *store)
{
	info_from_super(info, &store->super);
	info_from_stats(info, &store->stats);
	info_from_counts(info, &store->counts);
	info_from_tuning(info, &store->tuning);
	info->model = info_models[store->needs];
	strscpy(info->engine, store->engine, sizeof(info->engine));
	strscpy(info->layout, store->layout, sizeof(info->layout));
	info->attach_ns = store->attach_ns;
	info->prepare_lines = store->prepare_lines;
	info->prepare_fences = store->prepare_fences;
}

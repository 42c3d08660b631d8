// SPDX-License-Identifier: GPL-2.0
/*
 * This file holds the workloads.
 *
 * They differ in what they reach: the strategies and options of sorted leaves, leaves of
 * two and of four lines, recoveries that are cut themselves, FORMAT after FORMAT. What no
 * cut can leave is met by damage.
 */
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "engines/crab/crab.h"
#include "store/store_priv.h"
#include "workload.h"

#define DAMAGE_LEAVES	32
#define WORKLOAD_CONTENDED	5	/* of so many locks that a batch tries, one is taken */
#define DAMAGE_BIT	(1ULL << 50)	/* of a link: in its check */

#define SLOTTED(bytes)	{								\
	.layout = "slotted", .model = CRAB_SHADOW_MODEL_WORD, .leaf_bytes = bytes,	\
}

#define SORTED(how, bytes, ...)	{							\
	.layout = "sorted", .model = CRAB_SHADOW_MODEL_LINE, .leaf_bytes = bytes,	\
	.tuning = { .strategy = CRAB_STRATEGY_##how, ##__VA_ARGS__ },			\
}

/* As if a round to the media cost so much, and a store in order so little */
#define COSTS	.costs = { .round = 300, .line = 30, .order = 1, .record = 2, .pair = 1 }

const struct workload workloads[] = {
	{ "slotted", SLOTTED(128), 10, 128, 1000, 1, 0, 0, 0, false, 0 },
	{ "shift", SORTED(SIP, 128), 10, 128, 2000, 1, 0, 0, 0, false, 0 },
	{ "copy", SORTED(COW, 128), 10, 128, 500, 1, 0, 0, 0, false, 0 },
	{ "shift, on demand", SORTED(SIP, 128, .on_demand = true), 10, 128, 1000, 1, 0, 0, 0, false, 0 },
	{ "shift, pairs", SORTED(SIP, 256, .pair = true), 10, 128, 1000, 1, 0, 0, 0, false, 0 },
	{ "slotted, formatted", SLOTTED(128), 8, 8, 500, 1, 0, 0, 0, false, 0 },
	{ "sorted, formatted", SORTED(AUTO, 128, .on_demand = true, COSTS), 8, 8, 500, 1, 0, 0, 0, false, 0 },
	{ "slotted, survives", SLOTTED(128), 10, 128, 1000, 1, CRASH_SURVIVE, 3, 0, false, 0 },
	{ "shift, survives", SORTED(SIP, 128), 10, 128, 2000, 1, CRASH_SURVIVE, 3, 0, false, 0 },
	{ "slotted, prepared", SLOTTED(256), 10, 64, 2000, 1, CRASH_MAINTAIN, 3, 6, false, 0 },
	{ "shift, wide", SORTED(SIP, 256), 10, 128, 1000, 1, 0, 0, 0, false, 0 },
	{ "choice", SORTED(AUTO, 256, .on_demand = true, .probe = true, COSTS),
	  10, 128, 1000, 1, 0, 0, 0, false, 0 },
	{ "choice, more", SORTED(AUTO, 512, .probe = true, COSTS), 10, 128, 3000, 1, 0, 0, 17, false, 0 },
	{ "slotted, cut again", SLOTTED(128), 10, 128, 300, 2, 0, 0, 0, false, 0 },
	{ "shift, cut again", SORTED(SIP, 128), 10, 128, 300, 2, 0, 0, 0, false, 0 },
	{ "choice, cut again", SORTED(AUTO, 256, .pair = true, .probe = true, COSTS),
	  8, 128, 300, 2, 0, 0, 0, false, 0 },
	{ "copy, cut again", SORTED(COW, 128, .on_demand = true), 12, 128, 300, 2, 0, 0, 0, false, 0 },
	{ "slotted, damaged", SLOTTED(128), 10, 128, 30, 1, 0, 0, 0, true, 0 },
	{ "sorted, damaged", SORTED(SIP, 128), 10, 128, 30, 1, 0, 0, 0, true, 0 },
	{ "batches", SLOTTED(128), 10, 128, 400, 1, CRASH_BATCH, 2, 0, false, 4 },
	{ "batches, long", SLOTTED(128), 12, 128, 200, 1, CRASH_BATCH, 2, 0, false, 16 },
	{ "batches, sorted", SORTED(SIP, 128), 10, 128, 400, 1, CRASH_BATCH, 2, 0, false, 4 },
};

const u32 workloads_count = ARRAY_SIZE(workloads);

/* The store in @c has one broken link: are its records served, or are there errors instead? */
static bool damage_is_told(struct crash *c)
{
	struct crab_attach_options options = { .tuning = &c->setup.tuning };
	struct crab_attach_report report;
	u64 stores = c->shadow->counts.stores, value;
	bool told = true;
	u32 i;

	c->store = crab_store_attach(&c->media, &options, &report);
	if (IS_ERR(c->store)) {
		c->store = NULL;
		return false;
	}
	for (i = 0; i < CRASH_KEYS_DEFAULT; i++)
		if (c->content.there[i] &&
		    crab_store_search(c->store, c->keys[i], &value) == -ENOENT)
			told = false;
	told &= report.verdict == CRAB_VERDICT_RO && !crab_store_maintain(c->store);
	crab_store_abandon(c->store);
	c->store = NULL;
	return told && c->shadow->counts.stores == stores;
}

/* Breaks each link in turn, by a bit of its check */
static bool damage_all(struct crash *c)
{
	const struct crab_tree *tree = crab_tree_of(c->store->engine);
	struct crab_dhead *heads[DAMAGE_LEAVES];
	const struct crab_leaf *leaf;
	u32 n = 0;

	for (leaf = tree->first; leaf && n < DAMAGE_LEAVES; leaf = leaf->next)
		heads[n++] = &crab_leaf_media(tree, leaf->number)->head;
	crab_store_detach(c->store);
	c->store = NULL;
	while (n--) {
		heads[n]->next ^= cpu_to_le64(DAMAGE_BIT);
		if (!damage_is_told(c)) {
			strscpy(c->said, "a link is broken, and attach does not say so",
				sizeof(c->said));
			return false;
		}
		heads[n]->next ^= cpu_to_le64(DAMAGE_BIT);
	}
	return true;
}

enum workload_end workload_run(const struct workload *workload, char *said)
{
	enum workload_end end = WORKLOAD_SOUND;
	struct crash_setup setup = workload->setup;
	static struct crash c;
	bool ok;

	crab_host_contended = workload->batch ? WORKLOAD_CONTENDED : 0;
	setup.slots = workload->slots;
	ok = crash_begin(&c, &setup, workload->leaves, 1);

	c.format_every = workload->format_every;
	c.often = workload->often;
	c.often_every = workload->often_every;
	c.batches = workload->batch;
	c.every_store = workload->batch;
	if (!ok || !crash_run(&c, workload->steps, workload->depth) ||
	    (workload->damage && !damage_all(&c)))
		end = c.gave_up || c.shadow->errors ? WORKLOAD_GAVE_UP : WORKLOAD_FOUND;
	strscpy(said, c.said, CRASH_SAID);
	crash_end(&c);
	return end;
}

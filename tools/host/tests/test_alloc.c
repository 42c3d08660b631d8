// SPDX-License-Identifier: GPL-2.0
/*
 * This file fails the n-th allocation of an operation, for n = 1, 2, ... until it makes fewer. Each
 * time the operation must succeed without the memory, or return -ENOMEM without changing a byte of
 * the media and succeed when repeated. Random histories reach every structure change; attach is
 * tested on every state in which it can find a store. Every allocation site of L0-L5, which the
 * linker collects, must have failed. LeakSanitizer reports leaks.
 */
#include "alloc.h"
#include "engines/crab/format.h"
#include "engines/fastfair/tree.h"
#include "engines/nvtree/tuning.h"
#include "engines/crab/sorted/tuning.h"
#include "shared/shortcut.h"
#include "test.h"

#define LEAVES		64
#define LEAF_LARGE	8192	/* a scan allocates memory only for leaves of this size */
#define OPS		2500	/* of each phase */
#define MAINTAINED	8	/* from this phase on; before it, only a full pool merges leaves */
#define NEVER		(-1L)

extern struct crab_host_site __start_crab_sites[], __stop_crab_sites[];

/* Result of a write in which an allocation failed */
enum outcome {
	SPLIT,		/* refused, then succeeded with a split */
	REPLACED,	/* refused, then succeeded without a split */
	MERGED,		/* refused after neighbours were merged to make room */
	LATER,		/* succeeded; a change that only saves space is left for later, or took less memory */
	UNMERGED,	/* maintain left sparse neighbours as they are */
	UNORDERED,	/* a scan succeeded; the next one has to sort the leaf again */
	OUTCOMES
};

struct run {
	const struct config *config;
	struct crab_tuning tuning;
	struct crab_media media;
	u8 *before;
	struct crab_store *store;
	struct model *model;
	u64 seed;
	u32 outcomes[OUTCOMES];
	u32 attaches;
	u32 scans;
};

static const struct nv_tuning instant = { .instant = true };	/* a cut makes it an attach like others */

/* @wants: outcomes that must occur, a bit each */
static const struct config {
	const char *engine;
	const char *layout;
	u32 leaf_bytes;
	enum crab_strategy strategy;
	bool on_demand;
	u32 wants;
} configs[] = {
	{ "crab", "slotted", LEAF_BYTES, CRAB_STRATEGY_AUTO, false,
	  BIT(SPLIT) | BIT(REPLACED) | BIT(MERGED) | BIT(UNMERGED) | BIT(UNORDERED) },
	{ "crab", "slotted", LEAF_LARGE, CRAB_STRATEGY_AUTO, false, BIT(SPLIT) | BIT(UNORDERED) },
	{ "crab", "sorted", LEAF_BYTES, CRAB_STRATEGY_AUTO, false, BIT(SPLIT) | BIT(LATER) },
	{ "crab", "sorted", LEAF_BYTES, CRAB_STRATEGY_SIP, false, BIT(SPLIT) | BIT(LATER) },
	{ "crab", "sorted", LEAF_BYTES, CRAB_STRATEGY_COW, false, BIT(SPLIT) | BIT(LATER) },
	{ "crab", "sorted", LEAF_BYTES, CRAB_STRATEGY_SIP, true, BIT(SPLIT) | BIT(LATER) },
	{ "crab", "sorted", LEAF_BYTES, CRAB_STRATEGY_COW, true, BIT(SPLIT) | BIT(LATER) },
	{ "nvtree", "append", LEAF_BYTES, CRAB_STRATEGY_AUTO, false, BIT(LATER) },
	{ "volatile", "sorted", LEAF_BYTES, 0, false, BIT(SPLIT) }, { "nbtree", "adr", LEAF_BYTES, 0, false, BIT(SPLIT) },
	{ "nbtree", "eadr", LEAF_BYTES, 0, false, BIT(SPLIT) },
	{ "fastfair", "shift", LEAF_BYTES, CRAB_STRATEGY_AUTO, false, BIT(LATER) },
	{ "clfb", "inplace", LEAF_BYTES, 0, false, 0 }, { "clfb", "twin", LEAF_BYTES, 0, false, 0 },
	{ "clfb", "encoded", 64, 0, false, 0 },
};

void fail_begin(long n)
{
	crab_host_fail_alloc = n;
}

bool fail_end(void)
{
	bool struck = crab_host_fail_alloc < 0;

	crab_host_fail_alloc = NEVER;
	return struck;
}

static bool run_is_volatile(const struct run *run)
{
	return !strcmp(run->config->engine, "volatile");
}

static struct crab_engine_stats run_stats(const struct run *run)
{
	return store_info(run->store).stats;
}

static bool run_media_same(const struct run *run)
{
	return !memcmp(run->before, run->media.base, run->media.size);
}

static struct crab_dleaf *run_leaf(const struct run *run, u32 number)
{
	struct crab_super super;
	char reason[CRAB_REASON_LEN];

	crab_super_read(&run->media, &super, reason);
	return (void *)run->media.base + super.pool_offset + number % super.leaves * super.leaf_bytes;
}

/* Sometimes the void value of a leaf, which a slotted leaf cannot hold */
static u64 run_value(struct run *run)
{
	u64 r = rng(&run->seed);

	return r % 8 ? r >> 3 : le64_to_cpu(run_leaf(run, (r >> 8) % LEAVES)->head.own);
}

/* A refused write changed nothing, except that it may have merged leaves in a full pool */
static void run_refused(struct run *run, int err, u64 leaves)
{
	tap_check(err == -ENOMEM, "%d", err);
	if (run_stats(run).leaves_used < leaves)
		run->outcomes[MERGED]++;
	else
		tap_check(run_media_same(run), "media changed");
	model_compare(run->model, run->store);
}

static int run_write(struct run *run, u32 at, bool put, u64 value)
{
	if (put)
		return store_put(run->store, run->model->keys[at], value);
	return store_delete(run->store, run->model->keys[at]);
}

/* Repeats one write until no allocation fails */
static void run_step(struct run *run, u32 at, bool put, u64 value)
{
	u64 splits = run_stats(run).splits, leaves = run_stats(run).leaves_used;
	struct model *m = run->model;
	bool struck;
	int err;
	long n;

	for (n = 0; ; n++) {
		memcpy(run->before, run->media.base, run->media.size);
		fail_begin(n);
		err = run_write(run, at, put, value);
		struck = fail_end();
		if (!struck || !err)
			break;
		run_refused(run, err, leaves);
	}
	run->outcomes[LATER] += struck;
	if (!err)
		run->outcomes[run_stats(run).splits > splits ? SPLIT : REPLACED] += n;
	if (put)
		tap_check(!err || (err == -ENOSPC && !m->there[at]), "%d", err);
	else
		tap_check(err == (m->there[at] ? 0 : -ENOENT), "%d", err);
	if (!err && put)
		model_put(m, at, value);
	else if (!err)
		model_drop(m, at);
}

/* A scan without memory does not move its cursor; it needs none for the order of a leaf */
static void run_scan(struct run *run, bool back)
{
	struct crab_record records[50];
	struct crab_cursor cursor, before;
	bool struck;
	long n;
	int got;

	if (back)
		crab_cursor_init_back(&cursor, 0, CRAB_KEY_EMPTY);
	else
		crab_cursor_init(&cursor, 0, CRAB_KEY_EMPTY);
	before = cursor;
	for (n = 0; ; n++) {
		fail_begin(n);
		got = crab_cursor_read(run->store, &cursor, records, ARRAY_SIZE(records));
		struck = fail_end();
		if (!struck || got >= 0)
			break;
		tap_check(got == -ENOMEM && !memcmp(&cursor, &before, sizeof(cursor)), "%d", got);
		run->scans++;
	}
	run->outcomes[UNORDERED] += struck;
	tap_check(got == min_t(u32, run->model->count, ARRAY_SIZE(records)), "%d", got);
}

/* Maintenance without memory for a merge leaves the leaves unchanged */
static void run_maintain(struct run *run)
{
	bool more, struck;
	long n;

	for (n = 0; ; n++) {
		fail_begin(n % 4);
		more = crab_store_maintain(run->store);
		struck = fail_end();
		run->outcomes[UNMERGED] += struck;
		if (!struck && !more)
			break;
	}
	model_compare(run->model, run->store);
}

/* Operations that allocate no memory and therefore cannot return -ENOMEM */
static void run_reads(struct run *run)
{
	struct crab_check_report report;
	struct crab_store_info info;
	struct crab_record record;

	fail_begin(0);
	store_search(run->store, run->model->keys[run->model->n / 2]);
	crab_store_seek(run->store, 1, CRAB_SEEK_GE, &record);
	crab_store_check(run->store, &report);
	crab_store_info(run->store, &info);
	tap_check(!fail_end(), "reading or checking took memory");
	tap_check(!report.damage.count, "%s", report.damage.what);
	run_scan(run, false);
	run_scan(run, true);
}

static void run_history(struct run *run)
{
	static const u32 bias[] = { 15, 4, 15, 8, 15, 2, 15, 5, 15, 3 };	/* of 16 writes insert */
	u32 phase, i;

	for (phase = 0; phase < ARRAY_SIZE(bias); phase++) {
		for (i = 0; i < OPS; i++) {
			run_step(run, rng(&run->seed) % run->model->n,
				 rng(&run->seed) % 16 < bias[phase], run_value(run));
			if (i % 50)
				continue;
			run_reads(run);
			if (phase >= MAINTAINED)
				run_maintain(run);
		}
		model_compare(run->model, run->store);
	}
	for (i = 0; i < run->model->n / 4; i++)
		run_step(run, i, false, 0);	/* free leaves */
}

static void attach_refused(struct run *run, const struct crab_attach_report *report)
{
	tap_check(run_media_same(run), "media changed");
	tap_check(report->verdict <= CRAB_VERDICT_MISFIT, "verdict %d", report->verdict);
	tap_check(report->reason[0] && memchr(report->reason, 0, CRAB_REASON_LEN), "no reason");
	run->attaches++;
}

static const void *run_tuning(const struct run *run)
{
	return strcmp(run->config->engine, "nvtree") ? (const void *)&run->tuning : &instant;
}

/* Repeats attach until no allocation fails */
static void run_attach(struct run *run, bool readonly)
{
	struct crab_attach_options options = { .readonly = readonly, .tuning = run_tuning(run) };
	struct crab_attach_report report;
	long n;

	memcpy(run->before, run->media.base, run->media.size);
	for (n = 0; ; n++) {
		memset(&report, 0x5a, sizeof(report));
		fail_begin(n);
		run->store = crab_store_attach(&run->media, &options, &report);
		if (!fail_end())
			break;
		tap_check(run->store == ERR_PTR(-ENOMEM), "%ld", PTR_ERR(run->store));
		attach_refused(run, &report);
	}
	if (IS_ERR(run->store))
		tap_bail("attach: %ld %s", PTR_ERR(run->store), report.reason);
}

static void run_end(struct run *run, bool clean)
{
	fail_begin(0);
	if (clean)
		crab_store_detach(run->store);
	else
		crab_store_abandon(run->store);
	tap_check(!fail_end(), "detach took memory");
}

/* Damages one of the sentinels of a free slot, as a cut insert does */
static void tear_slotted(struct crab_dleaf *leaf, u32 slots)
{
	u32 i;

	for (i = 0; i < slots; i++)
		if (leaf->slots[i].key == cpu_to_le64(CRAB_KEY_EMPTY) &&
		    leaf->slots[i].value == leaf->head.own)
			break;
	if (i < slots)
		leaf->slots[i].key = cpu_to_le64(12345);
}

/* Duplicates the last record, as a cut shift does */
static void tear_sorted(struct crab_dleaf *leaf, u32 slots)
{
	u32 end = 0;

	while (end < slots && leaf->slots[end].key != cpu_to_le64(CRAB_KEY_EMPTY))
		end++;
	if (!end || end == slots)
		return;
	leaf->slots[end] = leaf->slots[end - 1];
	if (end + 1 < slots)
		leaf->slots[end + 1].key = cpu_to_le64(CRAB_KEY_EMPTY);
}

static void run_attach_torn(struct run *run)
{
	u32 i, slots = crab_leaf_slots(run->config->leaf_bytes);

	for (i = 0; i < LEAVES; i++) {
		if (!strcmp(run->config->layout, "sorted"))
			tear_sorted(run_leaf(run, i), slots);
		else
			tear_slotted(run_leaf(run, i), slots);
	}
	run_attach(run, false);
	tap_check(store_info(run->store).stats.repairs, "nothing was torn");
	model_compare(run->model, run->store);
}

/* Removes the last entry of the root of fastfair, as a cut before its store leaves it */
static void run_attach_no_entry(struct run *run)
{
	u64 link = le64_to_cpu(crab_list_head(&run->media)->next);
	struct ff_dnode *root = (void *)run_leaf(run, (link & CRAB_LINK_MASK) - 1);
	u32 slots = crab_ff_slots(run->config->leaf_bytes), end = 0;

	while (end < slots && root->slot[end].key != cpu_to_le64(CRAB_KEY_EMPTY))
		end++;
	tap_check(root->head.own && end, "a root without entries");
	root->slot[end - 1].key = cpu_to_le64(CRAB_KEY_EMPTY);
	run_attach(run, false);
	tap_check(store_info(run->store).stats.repairs, "no entry was missing");
	model_compare(run->model, run->store);
}

static void run_attach_damaged(struct run *run)
{
	u8 *good = malloc(run->media.size);
	u32 i;

	memcpy(good, run->media.base, run->media.size);
	for (i = 1; i < LEAVES; i += 3)
		if (run_leaf(run, i)->head.low)		/* a bad first leaf would hide the others */
			run_leaf(run, i)->head.birth ^= cpu_to_le64(1);
	run_attach(run, false);
	tap_check(store_info(run->store).readonly && store_info(run->store).stats.leaves_bad,
		  "no damage was found");
	run_end(run, true);
	memcpy(run->media.base, good, run->media.size);
	free(good);
}

/* Attaches a store that was detached, cut off, torn or damaged, read-only and writable */
static void run_attaches(struct run *run)
{
	run_end(run, true);
	run_attach(run, true);
	if (!run_is_volatile(run))
		model_compare(run->model, run->store);
	run_end(run, true);
	run_attach(run, false);
	if (run_is_volatile(run))
		return;
	model_compare(run->model, run->store);
	run_end(run, false);
	if (!strcmp(run->config->engine, "crab")) {
		run_attach_torn(run);
		run_end(run, false);
	}
	if (!strcmp(run->config->engine, "fastfair")) {
		run_attach_no_entry(run);
		run_end(run, false);
	}
	run_attach_damaged(run);
	run_attach(run, false);
	model_compare(run->model, run->store);
}

static void run_format(struct run *run)
{
	struct crab_format_options options = {
		.force = true, .leaf_bytes = run->config->leaf_bytes, .engine = run->config->engine,
		.layout = run->config->layout, .label = "test",
	};
	char reason[CRAB_REASON_LEN];
	bool struck;
	long n;
	int err;

	for (n = 0; ; n++) {
		memcpy(run->before, run->media.base, run->media.size);
		fail_begin(n);
		err = crab_store_format(&run->media, &options, reason);
		struck = fail_end();
		if (!struck)
			break;
		tap_check(err == -ENOMEM && !strcmp(reason, "no memory"), "%d: %s", err, reason);
		tap_check(run_media_same(run), "FORMAT without memory wrote");
	}
	tap_check(!err && n, "%d: %s", err, reason);
}

static void test_config(const struct config *config)
{
	struct run run = { .config = config, .tuning = crab_tuning_default, .seed = 20261120 };
	u32 outcome, capacity = LEAVES * crab_leaf_slots(config->leaf_bytes);

	run.tuning.strategy = config->strategy;
	run.tuning.on_demand = config->on_demand;
	run.media = media_create(CRAB_POOL_OFFSET + LEAVES * config->leaf_bytes);
	run.before = malloc(run.media.size);
	run.model = model_create(capacity, MODEL_UNIFORM, run.seed);
	run_format(&run);
	run_attach(&run, false);
	run_history(&run);
	run_attaches(&run);
	run_end(&run, true);
	for (outcome = 0; outcome < OUTCOMES; outcome++)
		tap_check(run.outcomes[outcome] || !(config->wants & BIT(outcome)),
			  "outcome %u was not seen", outcome);
	tap_ok(true, "%s/%s, %u, %s%s: failed %u times in splits, %u in replacements, %u after merges, done %u times without, %u not merged by maintain; %u in scans, %u without an order, %u in attaches",
	       config->engine, config->layout, config->leaf_bytes, crab_strategy_name(config->strategy),
	       config->on_demand ? ", on demand" : "", run.outcomes[SPLIT], run.outcomes[REPLACED],
	       run.outcomes[MERGED], run.outcomes[LATER], run.outcomes[UNMERGED], run.scans,
	       run.outcomes[UNORDERED], run.attaches);
	model_destroy(run.model);
	free(run.before);
	media_destroy(&run.media);
}

/* An engine that allocates only at attach */
static void test_toy(void)
{
	static const struct config config = { .engine = "toy", .layout = "array", .leaf_bytes = LEAF_BYTES };
	struct run run = { .config = &config, .tuning = crab_tuning_default };

	run.media = media_create(CRAB_POOL_OFFSET + LEAVES * config.leaf_bytes);
	run.before = malloc(run.media.size);
	run_format(&run);
	run_attach(&run, false);
	run_end(&run, true);
	tap_ok(run.attaches > 0, "toy: failed %u times in attaches", run.attaches);
	free(run.before);
	media_destroy(&run.media);
}

static void test_costs(void)
{
	struct crab_costs costs;

	tap_check(refused(crab_costs_measure(&costs)), "costs");
	tap_ok(!crab_costs_measure(&costs), "costs: -ENOMEM, then measured");
}

/* Without memory, an index has no table of shortcuts, or a part of it; later it has */
static void test_shortcuts(void)
{
	struct crab_index index;
	u64 low;

	crab_index_init(&index);
	for (low = 0; low < CRAB_SHORTCUT_LEAST; low++)
		tap_check(!crab_index_append(&index, low, (void *)(unsigned long)(low + 1)), "append");
	fail_begin(0);
	crab_shortcut_build(&index);
	tap_check(fail_end() && !index.shortcuts, "a table without memory");
	fail_begin(1);
	crab_shortcut_build(&index);
	tap_check(fail_end() && index.shortcuts && !crab_shortcut_find(&index, 2), "a chunk without memory");
	for (; low < 3 * CRAB_SHORTCUT_LEAST; low++) {
		tap_check(!crab_index_reserve(&index), "reserve");
		crab_index_insert(&index, low, (void *)(unsigned long)(low + 1));
	}
	tap_ok(crab_shortcut_find(&index, 2) == (void *)3, "shortcuts: none without memory, and later some");
	crab_index_destroy(&index);
}

static void test_sites(void)
{
	u32 failures = 0;
	const struct crab_host_site *site;

	for (site = __start_crab_sites; site < __stop_crab_sites; site++) {
		tap_check(site->failed, "%s:%d never failed", site->file, site->line);
		failures += site->failed;
	}
	tap_ok(failures, "each of %td places that allocate failed, %u failures in all", __stop_crab_sites - __start_crab_sites, failures);
}

int main(void)
{
	u32 i;

	crab_host_seed(1);
	crab_host_log = NULL;
	for (i = 0; i < ARRAY_SIZE(configs); i++)
		test_config(&configs[i]);
	test_toy();
	alloc_test_names();
	alloc_test_observers();
	test_costs();
	test_shortcuts();
	test_sites();
	return tap_done();
}

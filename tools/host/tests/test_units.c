// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests the parts that stand alone: index, pool, counters, crc, FORMAT
 * and attach with their errors.
 */
#include <stdio.h>
#include <stdlib.h>

#include <linux/cpumask.h>
#include <linux/crc32.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "engines/crab/crab.h"
#include "engines/crab/recover.h"
#include "shared/index.h"
#include "model.h"
#include "shared/pool.h"
#include "store/store_priv.h"
#include "tap.h"

/* The index: lows are even numbers, leaves are their own lows plus one, as are their hints */

static void *index_leaf(u64 low)
{
	return (void *)(unsigned long)(low + 1);
}

static void index_expect(const struct crab_index *index, u64 key, u64 low)
{
	const void *hint, *hints[4];
	void *leaf = crab_index_find_hint(index, key, &hint), *run[4];
	u32 n = crab_index_find_run(index, key, 4, run, hints), i;

	tap_check(leaf == index_leaf(low), "key %llu: %p, not %llu", key, leaf, low);
	tap_check(hint == leaf, "key %llu: the hint of %p is %p", key, leaf, hint);
	tap_check(n && run[0] == leaf, "key %llu: a run of %u from %p on", key, n, run[0]);
	for (i = 0; i < n; i++)
		tap_check(hints[i] == run[i] && (!i || run[i] > run[i - 1]),
			  "key %llu: %p with hint %p is number %u of the run", key, run[i], hints[i], i);
}

/* A run that ends before the index does, of no more than two levels */
static bool index_falls_short(const struct crab_index *index, u64 key, u32 behind)
{
	const void *hints[4];
	void *run[4];

	return index->root->level < 2 &&
	       crab_index_find_run(index, key, 4, run, hints) < min(behind, 4U);
}

static void index_build(struct crab_index *index, u32 n)
{
	void *leaf;
	u32 i;

	crab_index_init(index);
	for (i = 0; i < n; i++) {
		leaf = index_leaf(i * 2);
		tap_check(!crab_index_append(index, i * 2, leaf, leaf), "append");
	}
}

static void test_index_bulk(void)
{
	struct crab_index index;
	u32 n, i;

	for (n = 1; n <= 5000; n += n < 1000 ? 1 : 41) {
		index_build(&index, n);
		for (i = 0; i < n; i += 1 + n / 97) {
			index_expect(&index, i * 2, i * 2);
			index_expect(&index, i * 2 + 1, i * 2);
			tap_check(!index_falls_short(&index, i * 2, n - i), "%u of %u", i, n);
		}
		index_expect(&index, CRAB_INDEX_PAD - 1, (n - 1) * 2);
		crab_index_destroy(&index);
	}
	tap_ok(!index.nodes, "index: bulk-built with 1 to 5000 leaves");
}

static void index_compare(const struct crab_index *index, const bool *there, u32 n)
{
	u32 i, last = 0;

	for (i = 0; i < n; i++) {
		if (there[i])
			last = i;
		index_expect(index, i * 2, last * 2);
		index_expect(index, i * 2 + 1, last * 2);
	}
}

/* Random inserts, removes and replacements on a bulk-built index */
static void test_index_random(u64 seed, u32 n, u32 begin)
{
	bool *there = calloc(n, sizeof(bool));
	struct crab_index index;
	void *leaf;
	u32 i, at;

	index_build(&index, begin);
	for (i = 0; i < begin; i++)
		there[i] = true;
	for (i = 0; i < n * 8; i++) {
		at = 1 + rng(&seed) % (n - 1);
		leaf = index_leaf(at * 2);
		tap_check(!crab_index_reserve(&index), "reserve");
		if (there[at] && i / n % 2)
			crab_index_remove(&index, at * 2);
		else if (there[at])
			crab_index_replace(&index, at * 2, leaf, leaf);
		else
			crab_index_insert(&index, at * 2, leaf, leaf);
		there[at] = !there[at] || !(i / n % 2);
		if (i % (n / 4) == 0)
			index_compare(&index, there, n);
	}
	for (at = n - 1; at; at--)
		if (there[at])
			crab_index_remove(&index, at * 2);
	index_expect(&index, CRAB_INDEX_PAD - 1, 0);
	crab_index_destroy(&index);
	free(there);
	tap_ok(!index.nodes, "index: %u leaves, %u random changes, emptied", n, n * 8);
}

/* The pool */

static void test_pool(void)
{
	struct crab_spare spares[80];
	struct crab_pool pool;
	bool seen[70] = { false };
	u32 i;

	tap_check(!crab_pool_init(&pool, 70), "init");
	tap_check(crab_pool_mark(&pool, 3) && !crab_pool_mark(&pool, 3), "mark twice");
	tap_check(pool.free == 69, "%llu free", pool.free);
	tap_check(crab_pool_alloc(&pool, spares, 70, 0) == -ENOSPC, "more than there are");
	tap_check(crab_pool_alloc(&pool, spares, 68, 2) == -ENOSPC, "the reserve");
	tap_check(pool.free == 69, "a failure took %llu", 69 - pool.free);
	tap_check(!crab_pool_alloc(&pool, spares, 69, 0), "all");
	for (i = 0; i < 69; i++) {
		tap_check(spares[i].leaf < 70 && spares[i].leaf != 3 && !seen[spares[i].leaf],
			  "leaf %llu", spares[i].leaf);
		seen[spares[i].leaf] = true;
	}
	tap_check(crab_pool_alloc(&pool, spares, 1, 0) == -ENOSPC, "one more");
	crab_pool_free(&pool, 17);
	tap_check(!crab_pool_alloc(&pool, spares, 1, 0) && spares[0].leaf == 17, "one given");
	tap_ok(true, "pool: take, give, mark, reserve");
	crab_pool_destroy(&pool);
}

static void test_pool_stock(void)
{
	struct crab_spare spare, spares[4];
	struct crab_pool pool;
	u32 stocked = 0;

	tap_check(!crab_pool_init(&pool, 100), "init");
	tap_check(crab_pool_needs_refill(&pool), "an empty stock is low");
	while (crab_pool_prepare_begin(&pool, &spare)) {
		spare.prepared = true;
		spare.tag = 1000 + spare.leaf;
		crab_pool_prepare_end(&pool, &spare);
		stocked++;
	}
	tap_check(stocked == CRAB_POOL_READY, "%u", stocked);
	tap_check(pool.free == 100, "%llu free: the stock is free too", pool.free);
	tap_check(!crab_pool_needs_refill(&pool), "a full stock");
	tap_check(!crab_pool_alloc(&pool, spares, 2, 0), "take");
	tap_check(spares[0].prepared && spares[1].prepared, "prepared leaves first");
	tap_check(spares[0].tag == 1000 + spares[0].leaf, "%llu", spares[0].tag);
	tap_check(crab_pool_prepare_begin(&pool, &spare) && pool.free == 97, "%llu free",
		  pool.free);
	tap_check(!crab_pool_prepare_begin(&pool, &spares[0]), "two are prepared at a time");
	tap_check(crab_pool_has(&pool, 98) && !crab_pool_has(&pool, 99), "it is counted");
	tap_check(crab_pool_alloc(&pool, spares, 1, 98) == -ENOSPC, "and so is no other");
	tap_check(!crab_pool_alloc(&pool, spares, 1, 97), "it may be one of those that remain");
	crab_pool_close(&pool);
	tap_check(crab_pool_alloc(&pool, spares, 1, 0) == -ENOSPC, "closed");
	tap_check(!crab_pool_prepare_begin(&pool, &spare) && !crab_pool_needs_refill(&pool),
		  "closed");
	tap_ok(true, "pool: stock of prepared leaves, closing");
	crab_pool_destroy(&pool);
}

/* L1: what is stored is there, and counted */
static void test_persist(bool fence_only)
{
	struct crab_media media = media_create(8192);
	struct crab_flow flow = { .media = &media };
	__le64 *word = (__le64 *)media.base;

	media.fence_only = fence_only;
	crab_store(&flow, word + 1, 0x0102030405060708ULL);
	tap_check(media.base[8] == 8 && media.base[15] == 1, "not little-endian");
	tap_check(crab_load(&media, word + 1) == 0x0102030405060708ULL, "load");
	crab_store_pair(&flow, word + 2, 11, 12);
	tap_check(crab_load(&media, word + 2) == 11 && crab_load(&media, word + 3) == 12, "pair");
	tap_check(!flow.lines && !flow.fences, "counts stores");
	crab_clean(&flow, word, 64);
	tap_check(flow.lines == 1, "%llu", flow.lines);
	crab_clean(&flow, word + 7, 16);
	tap_check(flow.lines == 3, "%llu: 16 bytes over a line's end are 2", flow.lines);
	crab_clean(&flow, media.base + 1, 1024);
	tap_check(flow.lines == 20, "%llu", flow.lines);
	crab_fence(&flow, CRAB_P6_RECORD);
	tap_check(flow.fences == 1, "%llu", flow.fences);
	tap_ok(true, "persist: stores and counts by %s, pairs %s",
	       fence_only ? "fence only" : crab_persist_method(),
	       crab_pair_is_atomic() ? "atomic" : "in order");
	media_destroy(&media);
}

static void test_crc(void)
{
	static const u8 zeros[32];

	tap_check(~crab_crc32c(~0U, "123456789", 9) == 0xe3069283, "check value");
	tap_check(~crab_crc32c(~0U, zeros, 32) == 0x8a9136aa, "RFC 3720, 32 zeros");
	tap_check(crab_crc32c(crab_crc32c(~0U, "12345", 5), "6789", 4) ==
		  crab_crc32c(~0U, "123456789", 9), "in two parts");
	tap_ok(true, "crc32c: known values");
}

/* FORMAT: what it refuses, and that it then changes nothing */

static void format_refuses(struct crab_media *media, const struct crab_format_options *options,
			   int want, const char *says)
{
	u8 *before = malloc(media->size);
	char reason[CRAB_REASON_LEN];
	int err;

	memcpy(before, media->base, media->size);
	err = crab_store_format(media, options, reason);
	tap_check(err == want, "%d, not %d", err, want);
	tap_check(strstr(reason, says), "reason: %s", reason);
	tap_check(!memcmp(before, media->base, media->size), "media changed");
	tap_ok(true, "format: %d, %s", want, reason);
	free(before);
}

static void test_format(void)
{
	static const u32 sizes[] = { 1, 64, CRAB_LEAF_BYTES_MIN / 2, 1536, 16384, 1U << 31 };
	struct crab_format_options good = { .engine = "", .layout = "", .label = "x" }, bad;
	struct crab_media media = media_create(CRAB_POOL_OFFSET + 8 * 1024 - 1);
	char reason[CRAB_REASON_LEN];
	u32 i;

	format_refuses(&media, &good, -ENOSPC, "too small");
	media.size = 4096;
	format_refuses(&media, &good, -ENOSPC, "too small");
	media_destroy(&media);
	media = media_create(1 << 16);
	bad = good;
	bad.engine = "nosuch";
	format_refuses(&media, &bad, -EINVAL, "unknown engine");
	bad = good;
	bad.layout = "nosuch";
	format_refuses(&media, &bad, -EINVAL, "unknown layout");
	bad.layout = "";
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		bad.leaf_bytes = sizes[i];
		format_refuses(&media, &bad, -EINVAL, "leaf size");
	}
	media.base[60000] = 1;
	format_refuses(&media, &good, -EEXIST, "other data at offset 60000");
	media.base[60000] = 0;
	tap_check(!crab_store_format(&media, &good, reason), "%s", reason);
	format_refuses(&media, &good, -EEXIST, "holds a store");
	good.force = true;
	tap_ok(!crab_store_format(&media, &good, reason), "format: with force");
	media_destroy(&media);
}

/* A read-only attach writes nothing, ever; a reserved key is refused */
static void test_readonly(void)
{
	struct crab_media media = media_create(1 << 16);
	struct crab_store *store = store_format_attach(&media, "crab", "", 512);
	struct crab_attach_options options = { .readonly = true };
	struct crab_attach_report report;
	struct crab_store_info info;
	struct crab_record record;
	struct crab_old old;
	u8 *before = malloc(media.size);
	u64 value;

	crab_store_insert(store, 5, 50, CRAB_INSERT_EITHER, &old);
	tap_check(crab_store_insert(store, CRAB_KEY_EMPTY, 1, CRAB_INSERT_EITHER, &old) == -EINVAL,
		  "insert");
	tap_check(crab_store_delete(store, CRAB_KEY_EMPTY, &old) == -EINVAL, "delete");
	tap_check(crab_store_search(store, CRAB_KEY_EMPTY, &value) == -EINVAL, "search");
	tap_check(crab_store_seek(store, CRAB_KEY_EMPTY, CRAB_SEEK_LE, &record) == -EINVAL, "seek");
	crab_store_abandon(store);
	memcpy(before, media.base, media.size);
	store = crab_store_attach(&media, &options, &report);
	tap_check(!IS_ERR(store) && report.verdict == CRAB_VERDICT_RO, "%d", report.verdict);
	crab_store_info(store, &info);
	tap_check(info.durability == CRAB_DURABILITY_UNPROVEN, "%d", info.durability);
	tap_check(!crab_store_search(store, 5, &value) && value == 50, "search");
	tap_check(crab_store_insert(store, 6, 1, CRAB_INSERT_EITHER, &old) == -EROFS, "insert");
	tap_check(crab_store_delete(store, 5, &old) == -EROFS, "delete");
	crab_store_detach(store);
	tap_check(!memcmp(before, media.base, media.size), "media changed");
	tap_ok(true, "attach: read-only changes nothing; the reserved key is refused");
	free(before);
	media_destroy(&media);
}

/* A pool so large that attach shares it out: what is found does not depend on how */

#define PARTS_LEAVES	33000
#define PARTS_KEYS	500000

static void parts_attach(struct crab_media *media, u32 cpus, struct crab_store_info *info)
{
	struct crab_attach_options options = { .readonly = true };
	struct crab_attach_report report;
	struct crab_store *store;

	crab_host_cpus = cpus;
	store = crab_store_attach(media, &options, &report);
	crab_host_cpus = 0;
	if (IS_ERR(store)) {
		tap_fail("%u CPUs: %s", cpus, report.reason);
		return;
	}
	crab_store_info(store, info);
	info->attach_ns = 0;
	crab_store_detach(store);
}

/* The same key twice, or out of order */
static void parts_damage(struct crab_media *media)
{
	struct crab_dleaf *leaf;
	u64 n;

	for (n = PARTS_LEAVES / 10; n < PARTS_LEAVES; n += 101) {
		leaf = (struct crab_dleaf *)(media->base + CRAB_POOL_OFFSET + n * 512);
		leaf->slots[1] = leaf->slots[3];
	}
}

static void parts_compare(struct crab_media *media, u64 bad)
{
	struct crab_store_info one = { }, info = { };
	u32 cpus;

	parts_attach(media, 1, &one);
	tap_check(one.stats.records > PARTS_KEYS * 9 / 10 && one.stats.leaves_bad >= bad &&
		  !one.stats.leaves_bad == !bad, "%llu records, %llu leaves bad: %s",
		  one.stats.records, one.stats.leaves_bad, one.reason);
	for (cpus = 2; cpus <= 4; cpus++) {
		parts_attach(media, cpus, &info);
		tap_check(!strcmp(info.reason, one.reason), "%u CPUs: %s; one: %s", cpus,
			  info.reason, one.reason);
		tap_check(!memcmp(&info.stats, &one.stats, sizeof(one.stats)), "%u CPUs", cpus);
	}
}

static void test_parts(const char *layout)
{
	struct crab_media media = media_create(CRAB_POOL_OFFSET + PARTS_LEAVES * 512);
	struct crab_store *store = store_format_attach(&media, "crab", layout, 512);
	struct crab_old old;
	u64 i;

	for (i = 0; i < PARTS_KEYS; i++)
		crab_store_insert(store, i * 0x9e3779b97f4a7c15ULL, i, CRAB_INSERT_CREATE, &old);
	crab_store_detach(store);
	parts_compare(&media, 0);
	parts_damage(&media);
	parts_compare(&media, 100);
	tap_ok(true, "attach: %s, the pool shared out among CPUs, whole and damaged", layout);
	media_destroy(&media);
}

/*
 * Attach follows the list from many places at a time: to the end, and to what one who goes
 * leaf by leaf finds; not over a link that is broken
 */

#define WALK_LEAVES	2000
#define WALK_KEYS	30000

static void walk_compare(struct recover *many, struct recover *one, u64 head)
{
	const struct recover_leaf *of_many, *of_one;
	u64 n, used = 0;

	crab_recover_headers(many);
	crab_recover_headers(one);
	tap_check(crab_recover_walk(many, head), "no end");
	crab_recover_list(one, head);
	tap_check(many->count == one->count && many->count > WALK_KEYS / 31, "%llu leaves, %llu",
		  many->count, one->count);
	for (n = 0; n < one->extent; n++) {
		of_many = recover_at(many, n);
		of_one = recover_at(one, n);
		tap_check(!of_many == !of_one, "leaf %llu: valid or not", n);
		if (!of_many || !of_one)
			continue;
		used++;
		if (recover_place(many, of_many) != recover_place(one, of_one)) {
			tap_fail("leaf %llu: in place %llu, not %llu", n,
				 recover_place(many, of_many), recover_place(one, of_one));
			return;
		}
		if (of_one->listed)
			tap_check(of_many->low == of_one->low && of_many->high == of_one->high,
				  "range of leaf %llu", n);
	}
	tap_check(used > one->count, "no leaf of old in the way");
}

/* What a lookup asks for before it knows the leaf; where it is wrong all is slower, and right */

#define HOME_KEYS	20000

static bool is_at_home(const struct crab_homes *homes, u64 key, u32 slot)
{
	u64 hash = crab_hash(key);

	return slot - crab_home_front(homes, hash) < CRAB_SLOTTED_LINE ||
	       slot - crab_home_back(homes, hash) < CRAB_SLOTTED_LINE;
}

/* Every hint is its leaf's place and three records in four are at home */
static void home_compare(const struct crab_tree *tree)
{
	const struct crab_leaf *leaf;
	u32 slot, home = 0, all = 0;
	const void *hint;

	for (leaf = tree->first; leaf; leaf = leaf->next) {
		crab_index_find_hint(&tree->index, leaf->low, &hint);
		tap_check(hint == crab_leaf_media(tree, leaf->number), "leaf %llu: the hint is not it",
			  leaf->number);
		crab_leaf_for_each(tree, leaf, slot) {
			home += is_at_home(&tree->homes, crab_leaf_key(tree, leaf, slot), slot);
			all++;
		}
	}
	tap_check(all == HOME_KEYS && home > all / 4 * 3, "%u of %u records are at home", home, all);
}

static void test_homes(u32 leaf_bytes)
{
	struct crab_media media = media_create(CRAB_POOL_OFFSET + (1 << 20));
	struct crab_store *store = store_format_attach(&media, "crab", "slotted", leaf_bytes);
	struct crab_old old;
	u64 seed = 1;
	u32 i;

	for (i = 0; i < HOME_KEYS; i++)
		crab_store_insert(store, rng(&seed), i, CRAB_INSERT_CREATE, &old);
	home_compare(crab_tree_of(store->engine));
	crab_store_detach(store);
	store = store_attach(&media);
	home_compare(crab_tree_of(store->engine));
	tap_ok(true, "homes: leaves of %u, hints before and after an attach", leaf_bytes);
	crab_store_detach(store);
	media_destroy(&media);
}

static void test_walk(const char *layout)
{
	struct crab_media media = media_create(CRAB_POOL_OFFSET + WALK_LEAVES * 512);
	struct crab_store *store = store_format_attach(&media, "crab", layout, 512);
	struct crab_tree *tree = crab_tree_of(store->engine);
	struct recover *many = crab_recover_alloc(tree), *one = crab_recover_alloc(tree);
	struct crab_dhead *broken;
	struct crab_old old;
	u64 i, head;

	for (i = 0; i < WALK_KEYS; i++)
		crab_store_insert(store, i * 0x9e3779b97f4a7c15ULL, i, CRAB_INSERT_CREATE, &old);
	for (i = 0; i < WALK_KEYS; i++)
		if (i * 0x9e3779b97f4a7c15ULL >> 60 == 5)
			crab_store_delete(store, i * 0x9e3779b97f4a7c15ULL, &old);
	head = le64_to_cpu(crab_list_head(&media)->next);
	walk_compare(many, one, head);
	broken = &crab_leaf_media(tree, one->nth[one->count / 2].number)->head;
	broken->next ^= cpu_to_le64(1ULL << 50);
	crab_recover_headers(many);
	tap_check(!crab_recover_walk(many, head), "a way over a broken link");
	broken->next ^= cpu_to_le64(1ULL << 50);
	tap_ok(true, "attach: %s, the list followed from many places at a time", layout);
	crab_store_detach(store);
	crab_recover_free(many);
	crab_recover_free(one);
	media_destroy(&media);
}

/* A check that is told to stop does, at the next leaf, and harms nothing */
static u32 patience;

static bool out_of_patience(void *arg)
{
	(void)arg;
	return !patience--;
}

static void test_interrupted(const struct crab_engine_ops *ops)
{
	struct crab_attach_options options = { .interrupted = out_of_patience };
	struct crab_media media = media_create(CRAB_POOL_OFFSET + 64 * 512);
	struct crab_attach_report attached;
	struct crab_check_report report;
	struct crab_store_info info;
	struct crab_store *store;
	struct crab_old old;
	u32 leaves;
	u64 key;

	crab_store_detach(store_format_attach(&media, ops->name, "", 512));
	patience = 1000;
	store = crab_store_attach(&media, &options, &attached);
	for (key = 0; key < 500; key++)
		crab_store_insert(store, key, key, CRAB_INSERT_EITHER, &old);
	crab_store_info(store, &info);
	for (leaves = 0; leaves < min_t(u64, info.stats.leaves_used, 10); leaves++) {
		patience = leaves;
		tap_check(crab_store_check(store, &report) == -EINTR, "after %u leaves", leaves);
		tap_check(report.leaves == leaves && !report.damage.count, "%llu leaves",
			  report.leaves);
	}
	patience = 1000;
	tap_check(!crab_store_check(store, &report) && report.records == info.stats.records &&
		  !report.damage.count, "%llu records", report.records);
	crab_store_detach(store);
	tap_ok(true, "%s: a check that is interrupted ends at the next leaf", ops->name);
	media_destroy(&media);
}

/* The tests' own eyes: a planted difference must be told */
static void test_oracle(void)
{
	struct crab_media media = media_create(1 << 16);
	struct crab_store *store = store_format_attach(&media, "crab", "", 512);
	struct model *m = model_create(100, MODEL_DENSE, 3);
	struct crab_old old;
	u32 i, told = 0;

	for (i = 0; i < 50; i++) {
		crab_store_insert(store, i, i, CRAB_INSERT_EITHER, &old);
		model_put(m, i, i);
	}
	model_compare(m, store);
	tap_check(!tap_faults, "agrees at first");
	tap_quiet = true;
	m->values[7]++;
	model_compare(m, store);
	told += !!tap_faults, tap_faults = 0, m->values[7]--;
	model_drop(m, 9);
	model_compare(m, store);
	told += !!tap_faults, tap_faults = 0;
	model_put(m, 9, 9);
	model_put(m, 70, 0);
	model_compare(m, store);
	told += !!tap_faults, tap_faults = 0;
	tap_quiet = false;
	tap_ok(told == 3, "the comparison tells a wrong value, a key too many, a key too few");
	crab_store_detach(store);
	model_destroy(m);
	media_destroy(&media);
}

/* With the structure and every leaf locked: who waited for a lock would never come back */
static void test_lockless(const char *layout)
{
	struct crab_media media = media_create(1 << 18);
	struct crab_store *store = store_format_attach(&media, "crab", layout, 512);
	struct crab_tree *tree = crab_tree_of(store->engine);
	struct crab_record records[256], record;
	struct crab_cursor cursor;
	struct crab_leaf *leaf;
	struct crab_old old;
	u64 value, i;
	int got, n = 0;

	for (i = 0; i < 4000; i++)
		crab_store_insert(store, i * 7919 % 4001, i, CRAB_INSERT_EITHER, &old);
	mutex_lock(&tree->smo_lock);
	for (leaf = tree->first; leaf; leaf = leaf->next)
		spin_lock(&leaf->lock);
	for (i = 0; i < 4001; i++)
		crab_store_search(store, i, &value);
	crab_store_seek(store, 4001, CRAB_SEEK_LE, &record);
	crab_cursor_init(&cursor, 0, ~0ULL);
	while ((got = crab_cursor_read(store, &cursor, records, ARRAY_SIZE(records))) > 0)
		n += got;
	for (leaf = tree->first; leaf; leaf = leaf->next)
		spin_unlock(&leaf->lock);
	mutex_unlock(&tree->smo_lock);
	tap_ok(n == 4000 && !got, "%s: search, seek and a scan of %llu leaves take no lock", layout,
	       tree->leaves);
	crab_store_detach(store);
	media_destroy(&media);
}

/* One write after the other in a pool that is nearly full: the dearest of them, in lines */
static u64 bound_dearest(struct crab_store *store, struct model *m, u64 bound, u64 *seed)
{
	struct crab_store_info before, after;
	u64 dearest = 0, lines;
	struct crab_old old;
	u32 i;

	crab_store_info(store, &before);
	for (i = 0; i < 60000; i++, before = after) {
		u64 key = m->keys[rng(seed) % m->n], r = rng(seed);

		/* Ups and downs, so that leaves are sparse when the pool is empty */
		if (r % 100 < (i / 2000 % 2 ? 25 : 80))
			crab_store_insert(store, key, r, CRAB_INSERT_EITHER, &old);
		else
			crab_store_delete(store, key, &old);
		crab_store_info(store, &after);
		lines = after.counts.lines - before.counts.lines;
		tap_check(lines <= bound, "%llu lines, at most %llu", lines, bound);
		dearest = max(dearest, lines);
	}
	return dearest;
}

/* @than: leaves' worth of lines that the dearest write does need */
static void test_bound(const char *layout, enum crab_strategy strategy, bool on_demand, u32 than)
{
	struct crab_tuning tuning = crab_tuning_default;
	struct crab_media media = media_create(1 << 16);
	struct model *m = model_create(4000, MODEL_UNIFORM, 5);
	struct crab_attach_options options = { .tuning = &tuning };
	struct crab_attach_report report;
	struct crab_store_info info;
	struct crab_store *store;
	u64 dearest, seed = 7;

	tuning.strategy = strategy;
	tuning.on_demand = on_demand;
	store = store_format_attach(&media, "crab", layout, 512);
	crab_store_detach(store);
	store = crab_store_attach(&media, &options, &report);
	crab_store_info(store, &info);
	dearest = bound_dearest(store, m, info.stats.lines_bound, &seed);
	tap_check(dearest >= than * 512 / CRAB_LINE, "%llu", dearest);
	tap_ok(true, "lines of one operation: %s, %s%s: %llu at most, bound %llu", layout,
	       crab_strategy_name(strategy), on_demand ? ", on demand" : "", dearest,
	       info.stats.lines_bound);
	crab_store_detach(store);
	model_destroy(m);
	media_destroy(&media);
}

int main(void)
{
	const struct crab_engine_ops * const *ops;

	if (crab_persist_init())
		return 2;
	crab_host_seed(1);
	test_index_bulk();
	test_index_random(1, 40, 1);
	test_index_random(2, 3000, 1);
	test_index_random(3, 5000, 2500);
	test_pool();
	test_pool_stock();
	test_persist(true);
	test_persist(false);
	test_crc();
	test_format();
	test_readonly();
	test_parts("slotted");
	test_parts("sorted");
	test_homes(512);
	test_homes(1024);
	test_homes(4096);
	test_walk("slotted");
	test_walk("sorted");
	for (ops = crab_engines; *ops; ops++)
		test_interrupted(*ops);
	test_oracle();
	test_lockless("slotted");
	test_lockless("sorted");
	test_bound("slotted", CRAB_STRATEGY_AUTO, false, 3);
	test_bound("sorted", CRAB_STRATEGY_SIP, true, 1);
	test_bound("sorted", CRAB_STRATEGY_COW, true, 2);
	return tap_done();
}

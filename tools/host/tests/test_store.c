// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests promises of a whole store: a check can be interrupted, reads take no
 * lock, no operation cleans more lines than INFO promises. It also tests that the
 * comparison with the model reports each kind of difference.
 */
#include "engines/crab/crab.h"
#include "engines/options.h"
#include "shared/shortcut.h"
#include "test.h"

/* An interrupted check ends at the next leaf and changes nothing */
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
	u32 leaves;
	u64 key;

	crab_store_detach(store_format_attach(&media, ops->name, "", 512));
	patience = 1000;
	store = crab_store_attach(&media, &options, &attached);
	for (key = 0; key < 500; key++)
		store_put(store, key, key);
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
	store_end(store);
	tap_ok(true, "%s: a check that is interrupted ends at the next leaf", ops->name);
}

/* The comparison of the tests must report a planted difference */
static void test_oracle(void)
{
	struct model *m = model_create(100, MODEL_DENSE, 3);
	u32 i, told = 0;

	store_begin(1 << 16, "crab", "", 512);
	for (i = 0; i < 50; i++) {
		store_put(store, i, i);
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

/* All locks of the structure and the leaves are held: a read that takes one never returns */
static void test_lockless(const char *layout)
{
	struct crab_media media = media_create(1 << 18);
	struct crab_store *store = store_format_attach(&media, "crab", layout, 512);
	struct crab_tree *tree = crab_tree_of(store->engine);
	struct crab_record records[256], record;
	struct crab_cursor cursor;
	struct crab_leaf *leaf;
	u64 i;
	int got, n = 0;

	for (i = 0; i < 4000; i++)
		store_put(store, i * 7919 % 4001, i);
	mutex_lock(&tree->smo_lock);
	for (leaf = tree->first; leaf; leaf = leaf->next)
		spin_lock(&leaf->lock);
	for (i = 0; i < 4001; i++)
		store_search(store, i);
	crab_store_seek(store, 4001, CRAB_SEEK_LE, &record);
	crab_cursor_init(&cursor, 0, ~0ULL);
	while ((got = crab_cursor_read(store, &cursor, records, ARRAY_SIZE(records))) > 0)
		n += got;
	for (leaf = tree->first; leaf; leaf = leaf->next)
		spin_unlock(&leaf->lock);
	mutex_unlock(&tree->smo_lock);
	tap_ok(n == 4000 && !got, "%s: search, seek and a scan of %llu leaves take no lock", layout,
	       tree->leaves);
	store_end(store);
}

/* Puts keys from @key on until the store is full; the first that does not fit */
static u64 fill(struct crab_store *store, u64 key)
{
	while (!store_put(store, key, ~key))
		key++;
	return key;
}

/* CHECK finds the keys below @n, and nothing wrong */
static void holds(struct crab_store *store, const char *engine, u64 n)
{
	u64 key, value, wrong = 0;

	tap_check(store_check_good(store).records == n, "%s: not %llu records", engine, n);
	for (key = 0; key < n; key++)
		wrong += crab_store_search(store, key, &value) || value != ~key;
	tap_check(!wrong, "%s: %llu records are wrong", engine, wrong);
}

/*
 * The node lines of clfb are before the pool, in an area that FORMAT makes long enough for the region
 * as it is: a region that has grown is used as far as there are nodes for it
 */
static bool has_fixed_area(const struct crab_engine_ops *ops)
{
	return !strcmp(ops->name, "clfb");
}

static void is_empty(struct crab_store *store, const char *name)
{
	struct crab_record record;
	struct crab_cursor cursor;
	int n;

	crab_cursor_init(&cursor, 0, ~0ULL);
	n = crab_cursor_read(store, &cursor, &record, 1);
	tap_check(!n && cursor.done, "%s: scan: %d", name, n);
	crab_cursor_init_back(&cursor, 0, ~0ULL);
	n = crab_cursor_read(store, &cursor, &record, 1);
	tap_check(!n && cursor.done, "%s: scan back: %d", name, n);
	tap_check(crab_store_seek(store, 5, CRAB_SEEK_GE, &record) == -ENOENT &&
		  crab_store_seek(store, 5, CRAB_SEEK_LE, &record) == -ENOENT, "%s: seek", name);
}

/* One leaf more has no room in the region, or in the engine's area before the pool */
static bool is_largest(const struct crab_super *super, const struct crab_layout *layout, u64 size)
{
	u64 area = super->pool_offset - CRAB_AREA_OFFSET, leaf = super->leaf_bytes;

	if (layout->before_pool && layout->before_pool(super->leaves, leaf) > area)
		return false;
	return super->pool_offset + (super->leaves + 1) * leaf > size ||
	       (layout->before_pool && layout->before_pool(super->leaves + 1, leaf) > area);
}

/* A region grows twice under a full store; the new memory is full of a pattern */
static void test_growth(const struct crab_engine_ops *ops, const struct crab_layout *layout)
{
	struct crab_media media = media_create(1 << 20);
	struct crab_attach_options options = { };
	struct crab_attach_report report;
	struct crab_store *store;
	u64 size, n, before;

	memset(media.base, 0xa5, media.size);
	media.size = 1 << 16;
	store = store_format_attach(&media, ops->name, layout->name, min(512U, layout->leaf_max));
	is_empty(store, ops->name);
	n = fill(store, 0);
	for (size = 1 << 17; size <= 1 << 20; size <<= 3) {
		crab_store_abandon(store);
		media.size = size;
		store = crab_store_attach(&media, &options, &report);
		tap_check(is_largest(&store->super, layout, size), "%s: %llu leaves in %llu bytes",
			  ops->name, store->super.leaves, size);
		if (ops->flags & CRAB_ENGINE_VOLATILE)
			n = 0;
		holds(store, ops->name, n);
		before = n;
		n = fill(store, n);
		tap_check(n >= 2 * before || has_fixed_area(ops), "%s: %llu records, and %llu in a region that has grown",
			  ops->name, before, n);
		crab_store_detach(store);
		store = crab_store_attach(&media, &options, &report);
		if (ops->flags & CRAB_ENGINE_VOLATILE)
			n = 0;
		holds(store, ops->name, n);
	}
	tap_ok(true, "%s/%s: grows with its region", ops->name, layout->name);
	store_end(store);
}

/* Writes to a nearly full pool; returns the highest number of lines of one write */
static u64 bound_dearest(struct crab_store *store, struct model *m, u64 bound, u64 *seed)
{
	struct crab_store_info before, after;
	u64 dearest = 0, lines;
	u32 i;

	crab_store_info(store, &before);
	for (i = 0; i < 60000; i++, before = after) {
		u64 key = m->keys[rng(seed) % m->n], r = rng(seed);

		/* The store grows and shrinks, so that leaves are sparse when the pool is empty */
		if (r % 100 < (i / 2000 % 2 ? 25 : 80))
			store_put(store, key, r);
		else
			store_delete(store, key);
		crab_store_info(store, &after);
		lines = after.counts.lines - before.counts.lines;
		tap_check(lines <= bound, "%llu lines, at most %llu", lines, bound);
		dearest = max(dearest, lines);
	}
	return dearest;
}

/* @than: the most expensive write needs at least the lines of this many leaves */
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

#ifdef __x86_64__

/* The oldest CPUs have no 16-byte compare-and-swap: FORMAT and attach return the reason, and a read-only attach works */
static void test_no_swap(void)
{
	const struct crab_format_options how = {
		.engine = "nbtree", .layout = "eadr", .leaf_bytes = 512, .force = true, .label = "swap",
	};
	struct crab_media media = media_create(CRAB_POOL_OFFSET + 16 * 512);
	const char *says = "no 16-byte compare-and-swap on this CPU: layout eadr needs it";
	struct crab_attach_options options = { };
	struct crab_attach_report report;
	char reason[CRAB_REASON_LEN] = "";
	struct crab_store *store;

	crab_store_detach(store_format_attach(&media, "nbtree", "eadr", 512));
	crab_x86_cx16 = false;
	tap_check(crab_store_format(&media, &how, reason) == -EOPNOTSUPP && !strcmp(reason, says),
		  "FORMAT: %s", reason);
	store = crab_store_attach(&media, &options, &report);
	tap_check(store == ERR_PTR(-EOPNOTSUPP) && !strcmp(report.reason, says), "attach: %s",
		  report.reason);
	options.readonly = true;
	store = crab_store_attach(&media, &options, &report);
	tap_check(!IS_ERR(store), "attach to read: %s", report.reason);
	if (!IS_ERR(store))
		crab_store_detach(store);
	crab_x86_cx16 = true;
	tap_ok(true, "without a 16-byte compare-and-swap: %s", reason);
	media_destroy(&media);
}

#else

static void test_no_swap(void)
{
}

#endif

/* A delete that is counted, of a record whose insert is not counted yet */
static void test_counts(void)
{
	const struct crab_engine_ops * const *ops;
	const struct crab_layout *layout;

	for (ops = crab_engines; *ops; ops++) {
		for (layout = (*ops)->layouts; layout->name; layout++) {
			store_begin(1 << 16, (*ops)->name, layout->name, layout->leaf_min);
			crab_count(store->engine, deletes, 1);
			tap_check(!store_info(store).stats.records, "%s/%s: %llu records",
				  (*ops)->name, layout->name, store_info(store).stats.records);
			store_end(store);
		}
	}
	tap_ok(true, "a delete that is counted before its insert: no record");
}

/* Descriptors that wait for readers, after each delete */
static u64 most_dead(struct crab_store *store, u64 keys)
{
	const struct crab_leaf *leaf;
	u64 key, dead, most = 0;

	for (key = 0; key < keys; key++) {
		store_delete(store, key);
		dead = 0;
		for (leaf = crab_tree_of(store->engine)->table.dead; leaf; leaf = leaf->dead.next)
			dead++;
		most = max(most, dead);
	}
	return most;
}

/* The memory of the leaves that a delete unlinks is freed by the deletes after it */
static void test_dead(const char *layout)
{
	struct crab_store_info before, full, after;
	u64 keys, dead;

	store_begin(1 << 18, "crab", layout, 512);
	crab_store_info(store, &before);
	keys = fill(store, 0);
	crab_store_info(store, &full);
	dead = most_dead(store, keys);
	crab_store_info(store, &after);
	tap_check(dead <= 4, "%llu dead descriptors", dead);
	tap_check(full.stats.leaves_used > 200, "%llu leaves", full.stats.leaves_used);
	tap_check((after.stats.dram_bytes - before.stats.dram_bytes) * 10 <
		  full.stats.dram_bytes - before.stats.dram_bytes, "%llu bytes, then %llu, then %llu",
		  before.stats.dram_bytes, full.stats.dram_bytes, after.stats.dram_bytes);
	tap_ok(true, "%s: deletes free the memory of leaves", layout);
	store_end(store);
}

/* A table of shortcuts that had readers until the last split is freed without another one */
static void test_shortcuts_before(void)
{
	struct crab_media media = media_create(CRAB_POOL_OFFSET + 2048 * 512);
	struct crab_store *store = store_format_attach(&media, "crab", "slotted", 512);
	struct crab_index *index = &crab_tree_of(store->engine)->index;
	u64 n, seed = 7, bytes;

	for (n = 0; !crab_host_poll_late || !index->before; n++) {
		/* It has more chunks than a step frees */
		crab_host_poll_late = index->shortcuts && index->shortcuts->filled > 5;
		store_put(store, rng(&seed) >> 1, n);
	}
	store_maintain(store);
	tap_check(index->before && !store->engine->ops->wants(store->engine), "it has readers");
	bytes = index->table_bytes;
	crab_host_poll_late = false;
	tap_check(store->engine->ops->wants(store->engine), "it has none");
	store_maintain(store);
	tap_ok(!index->before && index->table_bytes < bytes,
	       "crab: maintenance frees a table of shortcuts whose readers have ended");
	store_end(store);
}

/* Maintenance is due until a table of shortcuts that a split has made is whole, without another split */
static void test_shortcuts(void)
{
	struct crab_media media = media_create(CRAB_POOL_OFFSET + 2048 * 512);
	struct crab_store *store = store_format_attach(&media, "crab", "slotted", 512);
	const struct crab_index *index = &crab_tree_of(store->engine)->index;
	const struct crab_shortcuts *table;
	u64 n, seed = 7;
	u32 tables = 0;

	for (n = 0; n < 20000; n++) {
		table = index->shortcuts;
		store_put(store, rng(&seed) >> 1, n);
		if (index->shortcuts == table)
			continue;
		crab_host_poll_late = true;	/* no table has lost its readers */
		tap_check(crab_shortcut_wants(index), "a new table");
		store_maintain(store);
		tap_check(!crab_shortcut_wants(index), "a whole table");
		crab_host_poll_late = false;
		table = index->shortcuts;
		tap_check(table->filled == DIV_ROUND_UP(table->buckets, CRAB_SHORTCUT_CHUNK),
			  "%u chunks of %u buckets", table->filled, table->buckets);
		tables++;
	}
	tap_ok(tables > 1, "crab: maintenance completes a table of shortcuts, %u times", tables);
	store_end(store);
}

/* A store whose memory failed is not finished, and FINISH has an effect once */
static void test_finish(bool fails)
{
	struct crab_super super;
	const struct crab_format_options options = {
		.engine = "crab", .layout = "", .leaf_bytes = 512, .label = "", .unfinished = &super,
	};
	const struct crab_attach_options attach = { .unfinished = &super };
	struct crab_media media = media_create(1 << 18);
	struct crab_attach_report report;
	char reason[CRAB_REASON_LEN];
	struct crab_store *store;
	int err, again;

	tap_check(!crab_store_format(&media, &options, reason), "%s", reason);
	store = crab_store_attach(&media, &attach, &report);
	if (fails)
		crab_store_fail(store, media.size - 4096, 4096);
	err = crab_store_finish(store);
	again = crab_store_finish(store);
	tap_ok(fails ? err == -EROFS && again == -EROFS && crab_store_is_unfinished(store) :
		       !err && again == -ENODATA && !crab_store_is_unfinished(store),
	       "FINISH%s: %d, then %d", fails ? " of a store that is read-only" : "", err, again);
	store_abandon(store);
}

/* INFO reports each option that a store has, with the value in use; returns whether it has any */
static bool reports(const struct crab_engine_ops *ops, const struct crab_layout *layout)
{
	struct crab_media media = media_create(1 << 16);
	struct crab_store *store = store_format_attach(&media, ops->name, layout->name,
						       layout->leaf_min);
	const struct crab_option *option;
	struct crab_store_info info;
	char text[64], value[32];

	crab_store_info(store, &info);
	for (option = ops->options; *info.options && option->name; option++) {
		crab_option_print(option, ops->tuning, value, sizeof(value));
		snprintf(text, sizeof(text), "%s=%s", option->name, value);
		tap_check(strstr(info.options, text), "%s is not in \"%s\"", text, info.options);
	}
	store_end(store);
	return *info.options;
}

static void test_options(const struct crab_engine_ops *ops)
{
	const struct crab_layout *layout;
	bool any = false;

	for (layout = ops->layouts; layout->name; layout++)
		any |= reports(ops, layout);
	tap_ok(any || !ops->options, "%s: INFO reports the options of a store", ops->name);
}

/* FORMAT chooses larger leaves for a large region, unless it is asked for others */
static void test_leaf_bytes(const char *layout, u64 size, u32 asked, u32 wanted)
{
	store_begin(size, "crab", layout, asked);
	tap_ok(store->super.leaf_bytes == wanted, "FORMAT: %s, %llu bytes, leaves of %u if %u is asked for",
	       layout, size, store->super.leaf_bytes, asked);
	store_end(store);
}

int main(void)
{
	const struct crab_engine_ops * const *ops;
	const struct crab_layout *layout;

	crab_host_seed(1);
	for (ops = crab_engines; *ops; ops++) {
		test_interrupted(*ops);
		test_options(*ops);
		/* All records of the toy are in one leaf */
		for (layout = (*ops)->layouts; layout->name && strcmp((*ops)->name, "toy"); layout++)
			test_growth(*ops, layout);
	}
	test_oracle();
	test_lockless("slotted");
	test_lockless("sorted");
	test_bound("slotted", CRAB_STRATEGY_AUTO, false, 3);
	test_bound("sorted", CRAB_STRATEGY_SIP, true, 1);
	test_bound("sorted", CRAB_STRATEGY_COW, true, 2);
	test_no_swap();
	test_counts();
	test_dead("slotted");
	test_dead("sorted");
	test_shortcuts();
	test_shortcuts_before();
	test_finish(false);
	test_finish(true);
	test_leaf_bytes("slotted", CRAB_LARGE_REGION - 4096, 0, 1024);
	test_leaf_bytes("slotted", CRAB_LARGE_REGION, 0, 2048);
	test_leaf_bytes("slotted", CRAB_LARGE_REGION, 1024, 1024);
	test_leaf_bytes("sorted", CRAB_LARGE_REGION, 0, 1024);
	return tap_done();
}

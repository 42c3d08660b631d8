// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests values at the edge of those that the parts of a store accept: numbers that
 * no store writes, though their check bits are right; the smallest memory of snapshots; an operation
 * in a batch that is wrong for two reasons; lengths and numbers at a limit.
 */
#include "changes.h"
#include "same_crc.h"
#include "media/badmem.h"
#include "shared/link.h"
#include "store/blob_commit.h"
#include "store/blob_media.h"
#include "store/blob_priv.h"
#include "store/commit_priv.h"
#include "store/snap.h"
#include "test.h"

#define BIRTHS_OFFSET	(CRAB_BLOBS_OFFSET + offsetof(struct crab_dblobs, births))

static void begin(unsigned int kind, bool commits)
{
	media = media_create(CRAB_POOL_OFFSET + 256 * 512);
	store = store_make(&media, "crab", "", 512, kind | (commits ? STORE_COMMITS : 0));
}

/* Attaches again; whether the store is damaged, and can only be read */
static bool attach_finds_damage(void)
{
	struct crab_attach_report report;

	crab_store_abandon(store);
	store = store_try(&media, &report);
	return !IS_ERR(store) && report.verdict == CRAB_VERDICT_RO;
}

/* Births from there on could come to the end of their numbers, and begin again */
static void test_births(void)
{
	u64 births;

	begin(STORE_BLOBS, false);
	for (births = CRAB_LINK_MASK / 2 - 1; births < CRAB_LINK_MASK / 2 + 3; births++) {
		*(__le64 *)(media.base + BIRTHS_OFFSET) = cpu_to_le64(
			crab_blob_number(store->super.store_id, BIRTHS_OFFSET, births));
		tap_check(attach_finds_damage() == (births > CRAB_LINK_MASK / 2), "%llu", births);
	}
	tap_ok(true, "more births than a store can have had are damage");
	store_abandon(store);
}

/* Another blob could overwrite the value */
static void test_free_extent(void)
{
	struct crab_store_info before, info;
	struct crab_check_report report;
	u64 word = 0;

	begin(STORE_BLOBS, false);
	crab_store_info(store, &before);
	tap_check(!store_blob_put(store, 5, "abc", 3), "put");
	crab_store_info(store, &info);
	tap_check(info.stats.leaves_used >= before.stats.leaves_used + CRAB_SLAB_BYTES_MIN / 512,
		  "%llu leaves in use", info.stats.leaves_used);
	store->blobs->raw->lookup(store->engine, 5, &word);
	tap_check(crab_extents_holds(&store->blobs->extents, word & CRAB_PLACE_MASK), "held");
	tap_check(!crab_extents_holds(&store->blobs->extents, (word & CRAB_PLACE_MASK) + 1),
		  "an extent of another class, at the same place");
	crab_extents_free(&store->blobs->extents, word & CRAB_PLACE_MASK);
	crab_store_check(store, &report);
	tap_check(strstr(report.damage.what, "is free"), "%s", report.damage.what);
	tap_ok(true, "CHECK reports the extent of a value that is free");
	store_abandon(store);
}

static int insert(u64 key, u64 value)
{
	return store_put(store, key, value);
}

/* The first changed key is kept, however little memory there may be; the second one is too many */
static void test_least_memory(void)
{
	struct crab_snap *snap;
	u64 value = 0;

	begin(STORE_RECORDS, false);
	store->options.snapshot_bytes = 1;
	insert(1, 10);
	insert(2, 20);
	tap_check(crab_store_observe(store) >= 0, "observe");
	snap = crab_snap_open(store);
	insert(1, 11);
	tap_check(!crab_snap_search(store, snap, 1, &value) && value == 10, "%llu", value);
	insert(2, 21);
	tap_check(crab_snap_search(store, snap, 1, &value) == -ESTALE, "a second key fits");
	crab_snap_close(snap);
	tap_ok(true, "a snapshot keeps one key in any memory");
	store_abandon(store);
}

/* The operand is wrong in any store: it is no matter of this one */
static void test_two_reasons(void)
{
	struct crab_batch_op ops[] = {
		{ .verb = CRAB_VERB_INSERT, .key = CRAB_KEY_EMPTY },
		{ .verb = CRAB_VERB_DELETE, .key = 1 },
		{ .verb = CRAB_VERB_DELETE, .key = 1, .status = -EINVAL },
	};

	begin(STORE_RECORDS, false);
	crab_store_set_readonly(store, "edges");
	crab_store_batch(store, ops, ARRAY_SIZE(ops));
	tap_check(ops[0].status == -EINVAL, "the reserved key: %d", ops[0].status);
	tap_check(ops[1].status == -EROFS, "a delete: %d", ops[1].status);
	tap_check(ops[2].status == -EINVAL, "a delete that was refused: %d", ops[2].status);
	tap_ok(true, "a batch in a store that is read-only names wrong operands first");
	store_abandon(store);
}

/* The list is full, and memory after all of its ranges fails */
static void test_full_list(void)
{
	struct crab_badmem *bad = malloc(sizeof(*bad));
	struct crab_media bare = { .bad = bad };
	u64 i, from, to;

	crab_badmem_init(bad);
	for (i = 0; i <= CRAB_BADMEM_MAX; i++)
		crab_badmem_add(bad, i * 1000, 64);
	tap_check(bad->count == CRAB_BADMEM_MAX, "%u ranges", bad->count);
	for (i = 0; i <= CRAB_BADMEM_MAX; i++)
		tap_check(crab_badmem_hits(&bare, i * 1000, 1), "range %llu is forgotten", i);
	tap_check(crab_badmem_next(&bare, CRAB_BADMEM_MAX * 1000ULL, &from, &to) &&
		  to == CRAB_BADMEM_MAX * 1000ULL + 64, "the end is %llu", to);
	tap_ok(true, "a full list of bad memory takes a range after the last one");
	free(bad);
}

/* The memory after the last leaf is not the region's */
static void test_link_after(void)
{
	unsigned long used[8] = { };
	struct crab_geometry geo;
	struct crab_head head;
	const char *doubt;

	begin(STORE_RECORDS, false);
	crab_store_geometry(&store->super, &geo);
	doubt = crab_link_doubt(&media, &geo, crab_link_to(&geo, geo.leaves, 1), used, &head);
	tap_check(doubt && strstr(doubt, "out of the pool"), "%s", doubt);
	tap_check(crab_head_load(&media, crab_leaf_offset(&geo, 0), geo.store_id, &head), "a leaf");
	doubt = crab_link_doubt(&media, &geo, crab_link_to(&geo, 0, head.birth), used, &head);
	tap_check(!doubt, "a leaf: %s", doubt);
	doubt = crab_link_doubt(&media, &geo, crab_link_to(&geo, 0, head.birth + 1), used, &head);
	tap_check(doubt && strstr(doubt, "another birth"), "%s", doubt);
	used[0] = 1;
	doubt = crab_link_doubt(&media, &geo, crab_link_to(&geo, 0, head.birth), used, &head);
	tap_check(doubt && strstr(doubt, "in the list already"), "%s", doubt);
	memcpy(media.base + crab_leaf_offset(&geo, 5), media.base + crab_leaf_offset(&geo, 0),
	       CRAB_LINE);
	tap_check(!crab_head_load(&media, crab_leaf_offset(&geo, 5), geo.store_id, &head), "a copy");
	tap_ok(true, "no link to the leaf after the last one, to a copy, or to a leaf twice is followed");
	store_abandon(store);
}

/* Lengths at the limit of the store, of which @leaves decide, or at that of all stores: @all */
static void test_longest(u64 leaves, bool all)
{
	static struct crab_blob_commit commit;
	struct crab_blob_write *put = &commit.ops[0].write;
	static u8 value[CRAB_BLOB_BYTES_MAX + 1];
	u32 most;
	int err;

	media = media_create(CRAB_POOL_OFFSET + leaves * 512);
	store = store_make(&media, "crab", "", 512, STORE_BLOBS | STORE_COMMITS);
	most = crab_blob_most(store, 0);
	tap_check((most == CRAB_BLOB_BYTES_MAX) == all, "%u bytes", most);
	commit.n = 1;
	commit.ops[0].verb = CRAB_VERB_INSERT;
	*put = (struct crab_blob_write){ .key = 1, .data = value, .bytes = most };
	err = crab_blob_commit(store, &commit) ?: crab_blob_put(store, put);
	tap_check(!err, "the longest value: %d", err);
	put->bytes++;
	err = crab_blob_commit(store, &commit);
	tap_check(err == -EMSGSIZE && !commit.failed, "a commit of one byte more: %d", err);
	err = crab_blob_put(store, put);
	tap_ok(err == -EMSGSIZE, "a commit has values as long as a put has them, %u bytes: %d", most, err);
	store_abandon(store);
}

/* A power cut left the list of as many writes as a commit can have */
static void test_longest_list(void)
{
	static struct crab_commit_list list = { .n = CRAB_COMMIT_MAX };
	struct crab_flow flow = { .media = &media };
	u64 value = 0;
	u32 i;

	begin(STORE_RECORDS, true);
	for (i = 0; i < list.n; i++)
		list.record[i] = (struct crab_record){ 1000 + i, i };
	crab_flow_pin();
	crab_commit_store(&flow, store->super.store_id, &list);
	crab_flow_unpin();
	store = store_cut(store);
	for (i = 0; i < list.n; i++)
		tap_check(!crab_store_search(store, 1000 + i, &value) && value == i, "key %u", i);
	tap_ok(true, "attach does all %u writes of the longest list", list.n);
	store_abandon(store);
}

/* Operations of the engine that others replace */
static struct crab_engine_ops ops;
static const struct crab_engine_ops *own;
static u32 scans;

/* Another task deletes the first record that both scans found */
static int scan_and_lose(struct crab_engine *engine, u64 start, u64 end,
			 struct crab_record *records, u32 cap)
{
	struct crab_flow flow = { .media = &media };
	int n = own->scan(engine, start, end, records, cap);
	struct crab_old old;

	if (n > 0 && ++scans == 2)
		own->remove(engine, &flow, records[0].key, &old);
	return n;
}

/* A store of two records, and the operations of its engine, of which a test replaces one */
static void delete_begin(void)
{
	begin(STORE_RECORDS, false);
	insert(1, 10);
	insert(2, 20);
	own = store->engine->ops;
	ops = *own;
}

/* DELETE_RANGE with them */
static int delete_run(struct crab_cursor *cursor, u64 end, u64 *deleted)
{
	int err;

	store->engine->ops = &ops;
	crab_cursor_init(cursor, 0, end);
	err = crab_cursor_delete(store, cursor, 100, deleted);
	store->engine->ops = own;
	return err;
}

static void test_lost_race(void)
{
	struct crab_cursor cursor;
	u64 deleted = 0;

	delete_begin();
	scans = 0;
	ops.scan = scan_and_lose;
	tap_check(!delete_run(&cursor, 100, &deleted) && deleted == 1, "%llu deleted", deleted);
	tap_ok(true, "DELETE_RANGE goes on after a record that another task has deleted");
	store_abandon(store);
}

static void batch_but_last(struct crab_engine *engine, struct crab_flow *flow,
			   struct crab_batch_op *batch, u32 n)
{
	own->batch(engine, flow, batch, n - 1);
	batch[n - 1].status = -ENOMEM;
}

static void test_last_fails(void)
{
	struct crab_cursor cursor;
	u64 deleted = 0;

	delete_begin();
	ops.batch = batch_but_last;
	tap_ok(delete_run(&cursor, 2, &deleted) == -ENOMEM && deleted == 1 && !cursor.done &&
	       cursor.next == 2, "DELETE_RANGE stays at a record that it could not delete");
	store_abandon(store);
}

/* A quarantined range from key 40 to 99 */
static int lost_lookup(struct crab_engine *engine, u64 key, u64 *value)
{
	return key >= 40 && key < 100 ? -EUCLEAN : -ENOENT;
}

static u64 lost_beyond(struct crab_engine *engine, u64 key, enum crab_seek_dir dir)
{
	return 100;
}

/* The write of a list that is in force is known in a quarantined range, and no other record is */
static void test_listed_in_range(void)
{
	struct crab_batch_op batch[3];
	struct crab_cursor cursor;

	begin(STORE_RECORDS, true);
	own = store->engine->own;
	ops = *own;
	ops.lookup = lost_lookup;
	ops.beyond = lost_beyond;
	store->engine->own = &ops;
	store->commits->list = (struct crab_commit_list){ .n = 1, .record[0] = { 50, 500 } };
	crab_commits_turn(store->commits);
	crab_cursor_init(&cursor, 45, 1000);
	crab_cursor_skip(store, &cursor);
	tap_check(cursor.next == 50, "a scan goes on at %llu", cursor.next);
	crab_cursor_init(&cursor, 50, 1000);
	crab_cursor_skip(store, &cursor);
	tap_check(cursor.next == 100, "a scan goes on at %llu", cursor.next);
	batch[0] = (struct crab_batch_op){ .verb = CRAB_VERB_SEARCH, .key = 50 };
	batch[1] = (struct crab_batch_op){ .verb = CRAB_VERB_DELETE, .key = 1, .status = -EINVAL };
	batch[2] = (struct crab_batch_op){ .verb = CRAB_VERB_DELETE, .key = 1 };
	crab_store_batch(store, batch, 3);
	tap_check(!batch[0].status && batch[0].value == 500, "a search: %d", batch[0].status);
	tap_check(batch[1].status == -EINVAL, "a wrong operand: %d", batch[1].status);
	tap_check(batch[2].status == -EROFS, "a delete: %d", batch[2].status);
	crab_store_set_readonly(store, "edges");
	tap_check(store_info(store).stats.records == 1, "INFO: %llu records",
		  store_info(store).stats.records);
	crab_commits_turn(store->commits);
	store->engine->own = own;
	tap_ok(true, "in a quarantined range only the writes of a list in force are known");
	store_abandon(store);
}

/* Only the first leaf of the run is free to be lent */
static void test_run_in_use(void)
{
	struct crab_pool pool;
	u64 leaf;

	tap_check(!crab_pool_init(&pool, 64), "memory");
	for (leaf = 0; leaf < 4; leaf++) {
		tap_check(crab_pool_mark(&pool, leaf), "leaf %llu", leaf);
		tap_check(crab_pool_lend(&pool, 0, 4) == -EUCLEAN, "leaf %llu is lent", leaf);
		tap_check(!pool.lent && pool.free == 63, "%llu free", pool.free);
		crab_pool_free(&pool, leaf);
	}
	tap_check(!crab_pool_lend(&pool, 0, 4) && pool.free == 60, "%llu free", pool.free);
	tap_ok(true, "no run of leaves is lent if one of them is in use");
	crab_pool_destroy(&pool);
}

static int put_name(const char *name, u32 bytes)
{
	return store_name_put(store, name, bytes, NULL, 0);
}

static void test_whole_prefix(void)
{
	const struct crab_watch_options options = {
		.prefix = "abc", .prefix_bytes = 3, .entries = 8, .wake = wake_none,
	};
	struct crab_change_name names[8];
	struct crab_change changes[8];
	struct crab_watch *watch;
	int n;

	begin(STORE_NAMES, false);
	tap_check(crab_store_observe(store) >= 0, "observe");
	watch = crab_watch_open(store, &options);
	tap_check(!put_name("abc", 2) && !put_name("abc", 3) && !put_name("abcd", 4), "put");
	n = take_changes(watch, changes, names, 8);
	tap_check(n == 2 && changes[0].name_bytes == 3 && changes[1].name_bytes == 4, "%d", n);
	crab_watch_close(watch);
	tap_ok(true, "a watch reports the name that is its prefix");
	store_abandon(store);
}

/* Their keys are neighbours, and so are those that the table of names has after the next attach */
static void test_twins_in_commit(void)
{
	static struct crab_blob_commit commit;
	char name[3][SAME_CRC_BYTES];
	u32 i;
	int err;

	begin(STORE_NAMES, true);
	commit.n = 3;
	for (i = 0; i < 3; i++) {
		same_crc(i + 1, name[i]);
		commit.ops[i].verb = CRAB_VERB_INSERT;
		commit.ops[i].write = (struct crab_blob_write){
			.name = name[i], .name_bytes = SAME_CRC_BYTES, .data = &i, .bytes = i,
		};
	}
	err = crab_named_commit(store, &commit);
	tap_check(!err, "commit: %d", err);
	for (i = 1; i < 3; i++)
		tap_check(commit.ops[i].write.key == commit.ops[0].write.key + i, "key %u", i);
	tap_check(!attach_finds_damage(), "damage");
	for (i = 0; i < 3; i++) {
		struct crab_blob_read get = { };

		err = crab_named_get(store, name[i], SAME_CRC_BYTES, &get);
		tap_check(err == (i ? -EMSGSIZE : 0) && get.bytes == i, "name %u: %d", i, err);
	}
	commit.n = 1;
	commit.ops[0].verb = CRAB_VERB_DELETE;
	commit.ops[0].write = (struct crab_blob_write){
		.name = "none", .name_bytes = 4, .existed = true,
	};
	tap_check(!crab_named_commit(store, &commit) && !commit.ops[0].write.existed, "no name");
	tap_ok(true, "new names of one commit that have the same crc get different keys");
	store_abandon(store);
}

static void test_least_region(void)
{
	const struct crab_format_options options = {
		.engine = "crab", .layout = "", .label = "", .leaf_bytes = 512, .blobs = true,
	};
	char reason[CRAB_REASON_LEN];
	struct crab_media region = media_create(CRAB_POOL_OFFSET + 4 * CRAB_SLAB_BYTES_MIN);

	region.size -= options.leaf_bytes;
	tap_check(crab_store_format(&region, &options, reason) == -ENOSPC, "smaller: %s", reason);
	region.size += options.leaf_bytes;
	tap_ok(!crab_store_format(&region, &options, reason), "a store of values has four slabs: %s",
	       reason);
	media_destroy(&region);
}

/* A snapshot needs the name: its memory is not free yet */
static void test_erased_dram(void)
{
	struct crab_store_info before, erased, after;
	struct crab_snap *snap;

	begin(STORE_NAMES, false);
	put_name("abc", 3);
	tap_check(crab_store_observe(store) >= 0, "observe");
	snap = crab_snap_open(store);
	crab_store_info(store, &before);
	tap_check(!store_name_erase(store, "abc", 3), "erase");
	crab_store_info(store, &erased);
	crab_snap_close(snap);
	crab_store_info(store, &after);
	tap_check(erased.stats.dram_bytes == before.stats.dram_bytes, "before the end of the snapshot");
	tap_check(after.stats.dram_bytes < before.stats.dram_bytes, "after it");
	tap_ok(true, "INFO counts the memory of erased names that a snapshot needs");
	store_abandon(store);
}

/* A store that only reads breaks no promise if the caches lose stores */
static void test_read_anywhere(void)
{
	const struct crab_format_options format = {
		.engine = "nbtree", .layout = "eadr", .label = "edges",
	};
	struct crab_attach_options options = { };
	struct crab_attach_report report;
	char reason[CRAB_REASON_LEN];

	media = media_create(1 << 18);
	media.durability = CRAB_DURABILITY_CACHE;
	media.fence_only = true;
	tap_check(!crab_store_format(&media, &format, reason), "%s", reason);
	media.durability = CRAB_DURABILITY_POP;
	media.fence_only = false;
	store = crab_store_attach(&media, &options, &report);
	tap_check(PTR_ERR(store) == -EOPNOTSUPP && report.verdict == CRAB_VERDICT_MISFIT, "%s",
		  report.reason);
	options.readonly = true;
	store = crab_store_attach(&media, &options, &report);
	tap_check(!IS_ERR(store) && report.verdict == CRAB_VERDICT_RO, "%s", report.reason);
	tap_ok(true, "a layout that needs persistent caches can be read without them");
	if (!IS_ERR(store))
		store_abandon(store);
}

/* Bytes above 0x7f are those of UTF-8 */
static void test_label(void)
{
	static const struct {
		const char *label;
		int err;
	} cases[] = {
		{ "gr\xc3\xb6\xc3\x9f" "e", 0 }, { " ", 0 }, { "~", 0 }, { "\x7f", -EINVAL },
		{ "a\x1f", -EINVAL }, { "a/b", -EINVAL },
	};
	struct crab_format_options options = { .engine = "crab", .layout = "" };
	char reason[CRAB_REASON_LEN];
	u32 i;
	int err;

	media = media_create(CRAB_POOL_OFFSET + 256 * 512);
	for (i = 0; i < ARRAY_SIZE(cases); i++) {
		options.label = cases[i].label;
		err = crab_store_format_check(&media, &options, reason);
		tap_check(err == cases[i].err, "label %u: %d", i, err);
	}
	tap_ok(true, "a label has any characters but '/' and those that move a cursor");
	media_destroy(&media);
}

/* Another task writes a value, unless the reader has locked its key */
static void other_puts(u64 key, u32 times)
{
	store->blobs->raw = own;
	while (times-- && !crab_blob_stripe(store->blobs, key)->held)
		tap_check(!store_blob_put(store, key, "value", 5), "put");
	store->blobs->raw = &ops;
}

/* The word is another one each time, and its extent is used again at once */
static int lookup_and_lose(struct crab_engine *engine, u64 key, u64 *word)
{
	int err;

	other_puts(key, 1);
	err = own->lookup(engine, key, word);
	other_puts(key, 2);
	return err;
}

static void test_lost_often(void)
{
	u8 value[8];
	struct crab_blob_read get = { .key = 5, .buffer = value, .capacity = sizeof(value) };
	struct crab_blob_entry entry = { };
	struct crab_cursor cursor;
	int err;

	begin(STORE_BLOBS, false);
	tap_check(!store_blob_put(store, 5, "value", 5), "put");
	own = store->blobs->raw;
	ops = *own;
	ops.lookup = lookup_and_lose;
	store->blobs->raw = &ops;
	err = crab_blob_get(store, &get);
	crab_cursor_init(&cursor, 0, CRAB_KEY_EMPTY);
	tap_check(crab_blob_list(store, &cursor, &entry, 1) == 1 && !entry.err && entry.bytes == 5, "list");
	store->blobs->raw = own;
	tap_check(!crab_blob_stripe(store->blobs, 5)->held, "the key remains locked");
	tap_ok(!err && get.bytes == 5, "a reader that loses often locks the key: %d", err);
	store_abandon(store);
}

/* A slab is sparse, but the store can only be read since */
static void test_maintained(void)
{
	static u8 value[480], before[CRAB_POOL_OFFSET + 256 * 512];
	u32 rounds = 0, key;

	begin(STORE_BLOBS, false);
	for (key = 0; key < 60; key++)
		store_blob_put(store, key, value, sizeof(value));
	for (key = 0; key < 60; key++)
		if (key % 5)
			store_blob_erase(store, key);
	tap_check(crab_blobs_want(store), "nothing to do");
	crab_store_set_readonly(store, "edges");
	memcpy(before, media.base, sizeof(before));
	while (crab_store_maintain(store) && rounds < 100)
		rounds++;
	tap_check(!memcmp(before, media.base, sizeof(before)), "the media changed");
	tap_check(!rounds, "%u rounds", rounds);
	tap_ok(true, "no maintenance writes to a store that is read-only");
	store_abandon(store);
}

/* Planted damage is reported in the log */
static void no_log(char level, const char *line)
{
}

int main(void)
{
	crab_host_log = no_log;
	test_births();
	test_free_extent();
	test_least_memory();
	test_two_reasons();
	test_full_list();
	test_link_after();
	test_longest(256, false);
	test_longest(16384, true);
	test_longest_list();
	test_lost_race();
	test_last_fails();
	test_listed_in_range();
	test_run_in_use();
	test_whole_prefix();
	test_twins_in_commit();
	test_least_region();
	test_erased_dram();
	test_read_anywhere();
	test_label();
	test_lost_often();
	test_maintained();
	return tap_done();
}

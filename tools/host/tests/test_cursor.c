// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests cursors over an engine whose scans return any records: ranges of one key,
 * buffers without room, records out of order or out of the range, deletes that fail; and the copies
 * that FINISH writes.
 */
#include "store/cursor.h"
#include "test.h"

static const struct crab_engine_ops *own;
static struct crab_engine_ops ops;

static struct crab_record set[4];
static u32 records_set;
static u64 failing;	/* the lowest key of which deletes fail, each with another error */

static int scan_set(struct crab_engine *engine, u64 start, u64 end, struct crab_record *records, u32 cap)
{
	memcpy(records, set, records_set * sizeof(*set));
	return records_set;
}

static void batch_set(struct crab_engine *engine, struct crab_flow *flow, struct crab_batch_op *op, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++)
		op[i].status = op[i].key < failing ? 0 : op[i].key == failing ? -ENOMEM : -EINTR;
}

static void begin(void)
{
	u64 key;

	store_begin(CRAB_POOL_OFFSET + 64 * 512, "crab", "slotted", 512);
	for (key = 0; key < 10; key++)
		store_put(store, key, key);
	own = store->engine->ops;
	ops = *own;
}

static void end(void)
{
	store->engine->ops = own;
	store_end(store);
}

static void test_ranges(bool back)
{
	void (*init)(struct crab_cursor *cursor, u64 start, u64 end) =
		back ? crab_cursor_init_back : crab_cursor_init;
	struct crab_record record;
	struct crab_cursor cursor;

	begin();
	init(&cursor, 5, 5);
	tap_check(crab_cursor_read(store, &cursor, &record, 0) == 0, "no room");
	tap_check(crab_cursor_read(store, &cursor, &record, 1) == 1 && record.key == 5, "one key");
	tap_check(crab_cursor_read(store, &cursor, &record, 1) == 0, "the end");
	init(&cursor, 6, 5);
	tap_ok(crab_cursor_read(store, &cursor, &record, 1) == 0, "ranges of one key and of none, %s",
	       back ? "down" : "up");
	end();
}

/* Keys that a scan up of the range 2 to 7 returns */
static void strange(u64 a, u64 b, u64 c, bool delete_only)
{
	const u64 keys[] = { a, b, c };
	struct crab_record found[4];
	struct crab_cursor cursor;
	u64 deleted = 0;
	u32 i;
	int n;

	for (i = 0; i < 3; i++)
		set[i] = (struct crab_record){ keys[i], 1 };
	records_set = 3;
	crab_cursor_init(&cursor, 2, 7);
	n = crab_cursor_read(store, &cursor, found, 3);
	tap_check(n == (delete_only ? 3 : -EUCLEAN), "%llu %llu %llu: %d", a, b, c, n);
	crab_cursor_init(&cursor, 2, 7);
	n = crab_cursor_delete(store, &cursor, 3, &deleted);
	tap_check(n == -EUCLEAN && !deleted && cursor.next == 2 && !cursor.done,
		  "delete %llu %llu %llu: %d, next is %llu", a, b, c, n, cursor.next);
}

static void test_strange(void)
{
	begin();
	ops.scan = scan_set;
	store->engine->ops = &ops;
	strange(2, 3, 1, false);
	strange(2, 3, 8, false);
	strange(2, 8, 4, true);
	strange(4, 3, 5, true);
	strange(1, 3, 5, true);
	tap_ok(true, "records that are out of the range, or of order, are not deleted");
	end();
}

/* The first error, at its key */
static void test_errors(void)
{
	struct crab_cursor cursor;
	u64 deleted = 0;
	int err;

	begin();
	ops.batch = batch_set;
	store->engine->ops = &ops;
	failing = 4;
	crab_cursor_init(&cursor, 2, 7);
	err = crab_cursor_delete(store, &cursor, 16, &deleted);
	tap_check(err == -ENOMEM && deleted == 2 && cursor.next == 4 && !cursor.done, "%d, %llu deleted", err,
		  deleted);
	store->engine->ops = own;
	crab_store_set_readonly(store, "test");
	crab_cursor_init(&cursor, 100, 200);
	tap_ok(crab_cursor_delete(store, &cursor, 16, &deleted) == -EROFS, "deletes of a range that fail");
	end();
}

/* Each of the copies alone is a store */
static void test_finish(void)
{
	struct crab_super super;
	struct crab_format_options format = {
		.engine = "crab", .layout = "slotted", .leaf_bytes = 512, .label = "", .unfinished = &super,
	};
	struct crab_attach_options options = { .unfinished = &super };
	struct crab_attach_report report;
	char reason[CRAB_REASON_LEN];
	u32 copy;

	media = media_create(CRAB_POOL_OFFSET + 64 * 512);
	tap_check(!crab_store_format(&media, &format, reason), "%s", reason);
	store = crab_store_attach(&media, &options, &report);
	tap_check(!IS_ERR(store) && !crab_store_finish(store), "%s", report.reason);
	crab_store_abandon(store);
	for (copy = 0; copy < CRAB_SUPER_COPIES; copy++) {
		u8 *magic = media.base + copy * CRAB_SUPER_STRIDE;

		*magic ^= 1;
		tap_check(crab_super_read(&media, &super, reason) == CRAB_VERDICT_GOOD, "copy %u: %s", !copy,
			  reason);
		*magic ^= 1;
	}
	tap_ok(crab_super_read(&media, &super, reason) == CRAB_VERDICT_GOOD && !super.unwritten,
	       "FINISH writes both superblocks");
	media_destroy(&media);
}

int main(void)
{
	crab_host_log = NULL;	/* damage is planted, and reported in the log */
	test_ranges(false);
	test_ranges(true);
	test_strange();
	test_errors();
	test_finish();
	return tap_done();
}

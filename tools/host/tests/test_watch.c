// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests watches, with every engine: random verbs and batches against the changes that
 * they must report, ranges, a full queue, its memory, a detach, and that the gate is off without an
 * observer.
 */
#include <malloc.h>

#include "changes.h"
#include "store/gate.h"
#include "store/queue.h"
#include "test.h"

#define KEYS	200U
#define OPS	8U	/* of a batch at most */
#define ENTRIES	64U

static const struct kind {
	const char *engine;
	const char *layout;
} kinds[] = {
	{ "crab", "slotted" }, { "crab", "sorted" }, { "nvtree", "append" }, { "fastfair", "shift" },
	{ "volatile", "" }, { "clfb", "inplace" }, { "nbtree", "adr" },
	{ "nbtree", "eadr" },
};

static u32 wakes;
static unsigned long long seed = 7;

static void wake(void *arg)
{
	(void)arg;
	wakes++;
}

static struct crab_watch *open_watch(struct crab_store *store, u64 start, u64 end, u32 entries)
{
	tap_check(crab_store_observe(store) >= 0, "no memory");
	return crab_watch_open(store, &(struct crab_watch_options){
		.start = start, .end = end, .entries = entries, .wake = wake,
	});
}

static struct crab_batch_op random_op(const u64 *values)
{
	static const enum crab_insert_mode modes[] = {
		CRAB_INSERT_EITHER, CRAB_INSERT_CREATE, CRAB_INSERT_REPLACE, CRAB_INSERT_SWAP,
		CRAB_INSERT_ADD, CRAB_INSERT_ADD_REPLACE,
	};
	u32 key = rng_below(&seed, KEYS), dice = rng_below(&seed, 10);

	return (struct crab_batch_op){
		.verb = dice < 6 ? CRAB_VERB_INSERT : dice < 9 ? CRAB_VERB_DELETE : CRAB_VERB_SEARCH,
		.mode = modes[rng_below(&seed, ARRAY_SIZE(modes))], .key = key,
		.value = 1 + rng_below(&seed, 1000),
		.old.expected = rng_below(&seed, 2) ? values[key] : 1,
	};
}

static void do_one(struct crab_store *store, struct crab_batch_op *op)
{
	if (op->verb == CRAB_VERB_INSERT)
		op->status = crab_store_insert(store, op->key, op->value, op->mode, &op->old);
	else if (op->verb == CRAB_VERB_DELETE)
		op->status = crab_store_delete(store, op->key, &op->old);
	else
		op->status = crab_store_search(store, op->key, &op->value);
}

/* The change that @op must be reported as; keeps @values, where 0 is an absent key */
static bool expect(const struct crab_batch_op *op, u64 *values, u64 *seq, u64 from, u64 to,
		   struct crab_change *want)
{
	u64 value = op->verb == CRAB_VERB_DELETE ? 0 : op->value, before = values[op->key];

	if (op->status || op->verb == CRAB_VERB_SEARCH)
		return false;
	if (op->verb == CRAB_VERB_INSERT && (op->mode & CRAB_INSERT_ADDS))
		value += before;
	values[op->key] = value;
	if (op->key < from || op->key > to)
		return false;
	*want = (struct crab_change){
		.seq = ++*seq, .key = op->key, .value = value, .old = before, .verb = op->verb,
		.flags = before ? CRAB_CHANGE_EXISTED : 0,
	};
	return true;
}

static bool same(const struct crab_change *a, const struct crab_change *b)
{
	return a->seq == b->seq && a->key == b->key && a->value == b->value && a->old == b->old &&
	       a->verb == b->verb && a->flags == b->flags && a->name_bytes == b->name_bytes &&
	       a->type == b->type && !memcmp(a->name ?: "", b->name ?: "", a->name_bytes);
}

static void compare(struct crab_watch *watch, const struct crab_change *want, u32 n)
{
	struct crab_change got[OPS + 1];
	int count = take_changes(watch, got, NULL, OPS + 1), i;

	tap_check(count == (int)n, "%d changes, not %u", count, n);
	for (i = 0; i < count && i < (int)n; i++)
		tap_check(same(&got[i], &want[i]), "change %llu of key %llu", got[i].seq,
			  got[i].key);
}

static void run_random(struct crab_store *store, struct crab_watch *watch, u64 from, u64 to)
{
	struct crab_change want[OPS];
	struct crab_batch_op op[OPS];
	u64 values[KEYS] = { 0 }, seq = 0;
	u32 round, i, n, many, before;

	for (round = 0; round < 3000; round++) {
		n = rng_below(&seed, 2) ? 1 : 1 + rng_below(&seed, OPS);
		for (i = 0; i < n; i++)
			op[i] = random_op(values);
		before = wakes;
		if (n == 1)
			do_one(store, op);
		else
			crab_store_batch(store, op, n);
		for (i = 0, many = 0; i < n; i++)
			many += expect(&op[i], values, &seq, from, to, &want[many]);
		tap_check(wakes - before == !!many, "%u wakes for %u changes", wakes - before, many);
		tap_check(crab_watch_peek(watch) == !!many, "peek");
		compare(watch, want, many);
	}
	tap_check(seq > 1000, "only %llu changes", seq);
}

static void test_random(const struct kind *kind)
{
	struct crab_media media = media_create(1 << 18);
	struct crab_store *store = store_format_attach(&media, kind->engine, kind->layout, 512);
	struct crab_watch *watch = open_watch(store, 20, 150, ENTRIES);

	run_random(store, watch, 20, 150);
	crab_watch_close(watch);
	tap_check(!store->aside, "the gate is still on");
	store_end(store);
	tap_ok(true, "%s %s: a watch reports each change of its range, in order", kind->engine,
	       kind->layout);
}

/* A ring of four: dropped changes are counted, and a reader that reads all keys again is right */
static void test_lost(void)
{
	struct crab_media media = media_create(1 << 18);
	struct crab_store *store = store_format_attach(&media, "crab", "", 512);
	struct crab_watch *watch = open_watch(store, 0, ~0ULL, 4);
	struct crab_change got[8];
	struct crab_old old;
	u64 i;

	for (i = 1; i <= 10; i++)
		crab_store_insert(store, i, i, CRAB_INSERT_EITHER, &old);
	tap_check(take_changes(watch, got, NULL, 3) == 3 && got[2].seq == 3, "the first three");
	crab_store_insert(store, 11, 11, CRAB_INSERT_EITHER, &old);
	tap_check(take_changes(watch, got, NULL, 8) == 2, "the fourth, and one that is lost");
	tap_check(got[0].seq == 4 && !(got[0].flags & CRAB_CHANGE_LOST), "seq %llu", got[0].seq);
	tap_check(got[1].seq == 11 && got[1].value == 7 && got[1].flags == CRAB_CHANGE_LOST,
		  "lost %llu up to %llu", got[1].value, got[1].seq);
	tap_check(!take_changes(watch, got, NULL, 8) && !crab_watch_peek(watch), "nothing is left");
	crab_store_delete(store, 11, &old);
	tap_check(take_changes(watch, got, NULL, 8) == 1 && got[0].seq == 12 && got[0].old == 11,
		  "the ring works again");
	tap_ok(true, "a full ring: one change that stands for those that were dropped");
	crab_watch_close(watch);
	store_end(store);
}

/* A reader that cannot use the changes reads them again; more are dropped meanwhile */
static void test_again(void)
{
	struct crab_media media = media_create(1 << 18);
	struct crab_store *store = store_format_attach(&media, "crab", "", 512);
	struct crab_watch *watch = open_watch(store, 0, ~0ULL, 4);
	struct crab_change got[8], same[8];
	u64 key;

	for (key = 1; key <= 6; key++)
		store_put(store, key, key);
	tap_check(crab_watch_read(watch, got, NULL, 8) == 5 && got[4].seq == 6 && got[4].value == 2,
		  "four, and two that are lost");
	tap_check(crab_watch_read(watch, same, NULL, 8) == 5 && same[0].seq == 1 &&
		  same[4].seq == 6 && same[4].value == 2, "the same");
	crab_watch_take(watch, got, 3);
	tap_check(crab_watch_read(watch, got, NULL, 8) == 2 && got[0].seq == 4 && got[1].value == 2,
		  "the rest");
	store_put(store, 7, 7);
	crab_watch_take(watch, got, 2);
	tap_check(take_changes(watch, got, NULL, 8) == 1 && got[0].flags == CRAB_CHANGE_LOST &&
		  got[0].seq == 7 && got[0].value == 1, "the one that was lost since");
	store_put(store, 8, 8);
	tap_check(take_changes(watch, got, NULL, 8) == 1 && got[0].seq == 8 && !got[0].flags,
		  "the ring works again");
	tap_ok(!crab_watch_peek(watch), "changes that were read wait until they are taken");
	crab_watch_close(watch);
	store_end(store);
}

static void test_end(void)
{
	struct crab_media media = media_create(1 << 18);
	struct crab_store *store = store_format_attach(&media, "crab", "", 512);
	struct crab_watch *a = open_watch(store, 0, ~0ULL, 4), *b = open_watch(store, 5, 5, 4);
	struct crab_change got[8];

	store_put(store, 1, 1);
	wakes = 0;
	crab_store_detach(store);
	tap_check(wakes == 2, "%u wakes", wakes);
	tap_check(crab_watch_peek(a) == 1 && take_changes(a, got, NULL, 8) == 1, "the last change");
	tap_check(crab_watch_peek(a) == -ENODEV && take_changes(a, got, NULL, 8) == -ENODEV, "the end");
	tap_check(take_changes(b, got, NULL, 8) == -ENODEV, "the end of the other one");
	crab_watch_close(a);
	crab_watch_close(b);
	tap_ok(true, "a detach ends the watches: waiting changes are read first, then ENODEV");
	media_destroy(&media);
}

/* Writes of a store that turned read-only fail, watched or not */
static void test_readonly(void)
{
	struct crab_media media = media_create(1 << 18);
	struct crab_store *store = store_format_attach(&media, "crab", "", 512);
	struct crab_watch *watch = open_watch(store, 0, ~0ULL, 4);
	struct crab_batch_op op = { .verb = CRAB_VERB_INSERT, .key = 1 };
	struct crab_old old = { };

	crab_store_set_readonly(store, "a test");
	tap_check(crab_store_insert(store, 1, 1, CRAB_INSERT_EITHER, &old) == -EROFS, "insert");
	tap_check(crab_store_delete(store, 1, &old) == -EROFS, "delete");
	crab_store_batch(store, &op, 1);
	tap_check(op.status == -EROFS, "batch");
	tap_check(!crab_watch_peek(watch), "no change");
	crab_watch_close(watch);
	tap_check(store->aside, "still read-only");
	tap_check(crab_store_insert(store, 1, 1, CRAB_INSERT_EITHER, &old) == -EROFS, "insert");
	store_end(store);
	tap_ok(true, "a read-only store can be watched: its writes fail and report nothing");
}

/* As many as there may be, then one more */
static void test_many(void)
{
	struct crab_watch *watch[CRAB_WATCHES_MAX];
	u32 i;

	store_begin(1 << 18, "crab", "", 512);
	for (i = 0; i < CRAB_WATCHES_MAX; i++) {
		watch[i] = open_watch(store, 0, ~0ULL, 4);
		tap_check(!IS_ERR(watch[i]), "watch %u: %ld", i, PTR_ERR(watch[i]));
	}
	tap_check(PTR_ERR(open_watch(store, 0, ~0ULL, 4)) == -EMFILE, "one more");
	crab_store_unobserve(store);
	crab_watch_close(watch[7]);
	watch[7] = open_watch(store, 0, ~0ULL, 4);
	tap_check(!IS_ERR(watch[7]), "in place of another: %ld", PTR_ERR(watch[7]));
	for (i = 0; i < CRAB_WATCHES_MAX; i++)
		crab_watch_close(watch[i]);
	tap_check(!store->aside, "the gate is still on");
	store_end(store);
	tap_ok(true, "%u watches, and no more", CRAB_WATCHES_MAX);
}

/* The changes that were dropped wait when the ring is empty; a new key had no value */
static void test_dropped(void)
{
	struct crab_media media = media_create(CRAB_POOL_OFFSET + 64 * 512);
	struct crab_store *store = store_format_attach(&media, "crab", "slotted", 512);
	struct crab_watch *watch = open_watch(store, 0, ~0ULL, 2);
	struct crab_change changes[2];
	struct crab_old old;
	u64 key;

	wakes = 0;
	for (key = 1; key < 5; key++) {
		old.value = 77;
		tap_check(!crab_store_insert(store, key, key, CRAB_INSERT_ADD, &old), "insert");
	}
	tap_check(wakes == 4, "%u wakes", wakes);
	tap_check(take_changes(watch, changes, NULL, 2) == 2 && !changes[0].old && !changes[1].old &&
		  changes[1].value == 2 && !changes[1].flags, "old: %llu, value: %llu", changes[0].old,
		  changes[1].value);
	tap_check(crab_watch_peek(watch) == 1, "nothing waits");
	tap_check(take_changes(watch, changes, NULL, 2) == 1 && changes[0].flags == CRAB_CHANGE_LOST &&
		  changes[0].value == 2, "%llu dropped", changes[0].value);
	tap_ok(!crab_watch_peek(watch), "dropped changes wait when the ring is empty");
	crab_watch_close(watch);
	store_end(store);
}

/* Memory: that of the changes that wait, and of one page for each watch */

#define WATCH_MOST	8192U	/* bytes of a watch without changes */

size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

static size_t heap(void)
{
	if (__sanitizer_get_current_allocated_bytes)
		return __sanitizer_get_current_allocated_bytes();
	return mallinfo2().uordblks;
}

static void take_all(struct crab_watch *watch, u64 n)
{
	struct crab_change got[OPS];
	u64 seq = 0;
	int i, count;

	while ((count = take_changes(watch, got, NULL, OPS)) > 0)
		for (i = 0; i < count; i++)
			tap_check(got[i].seq == ++seq && got[i].key == seq, "change %llu", seq);
	tap_check(seq == n, "%llu changes", seq);
}

static void test_memory(void)
{
	struct crab_watch *watch[CRAB_WATCHES_MAX];
	size_t before, most = CRAB_WATCHES_MAX * WATCH_MOST, used;
	u32 i;

	store_begin(1 << 18, "crab", "", 512);
	crab_store_observe(store);
	before = heap();
	for (i = 0; i < CRAB_WATCHES_MAX; i++)
		watch[i] = open_watch(store, 0, ~0ULL, 65536);
	tap_check(heap() - before <= most, "%zu bytes for no change", heap() - before);
	for (i = 1; i <= 1000; i++)
		store_put(store, i, i);
	used = heap() - before;
	tap_check(used >= CRAB_WATCHES_MAX * 1000 * 32 && used <= most + CRAB_WATCHES_MAX * 1000 * 64,
		  "%zu bytes for 1000 changes", used);
	for (i = 0; i < CRAB_WATCHES_MAX; i++)
		take_all(watch[i], 1000);
	used = heap() - before;
	tap_check(used <= most + 65536, "%zu bytes once they are read", used);
	for (i = 0; i < CRAB_WATCHES_MAX; i++)
		crab_watch_close(watch[i]);
	crab_store_unobserve(store);
	store_end(store);
	tap_ok(true, "watches use memory for the changes that wait, not for those that may");
}

/* A change that needs a page, which there is not, is lost as one that finds no room */
static void test_no_page(void)
{
	struct crab_change got[OPS];
	struct crab_watch *watch;
	u32 n = 0;
	int count;

	store_begin(1 << 18, "crab", "", 512);
	for (n = 1; n <= 500; n++)
		store_put(store, n, 1);
	watch = open_watch(store, 0, ~0ULL, 65536);
	for (n = 1; n <= 500; n++) {
		crab_host_fail_alloc = 0;
		store_put(store, n, 2);
		crab_host_fail_alloc = -1;
	}
	n = 0;
	while ((count = take_changes(watch, got, NULL, 1)) > 0 && !(got->flags & CRAB_CHANGE_LOST))
		tap_check(got->seq == ++n, "change %u", n);
	tap_check(n > 100 && n < 200 && got->flags == CRAB_CHANGE_LOST && got->value == 500 - n,
		  "%u changes in a page, %llu lost", n, got->value);
	store_put(store, 1, 3);
	tap_check(take_changes(watch, got, NULL, 1) == 1 && got->seq == 501, "and it goes on");
	crab_watch_close(watch);
	store_end(store);
	tap_ok(true, "changes for which there is no memory are reported as lost");
}

/* The change that a queue has at place @at: its name has from 0 to 240 bytes, all the same */
static struct crab_change queued(u64 at)
{
	static char name[CRAB_NAME_MAX];
	u64 random = (at + 1) * 0x9E3779B97F4A7C15ULL;

	memset(name, random >> 8, sizeof(name));
	return (struct crab_change){
		.key = random, .value = at, .old = ~at, .verb = 1 + at % 2, .flags = at & 1,
		.type = random >> 16, .name = name, .name_bytes = random % (CRAB_NAME_MAX + 1),
	};
}

static void test_queue(void)
{
	static struct crab_change_name names[OPS];
	struct crab_change got[OPS], want;
	struct crab_queue queue;
	u64 put = 0, taken = 0, full = 0;
	u32 round, i, n;

	tap_check(!crab_queue_init(&queue, 300, NULL), "init");
	for (round = 0; round < 20000; round++) {
		n = rng_below(&seed, OPS + 1);
		for (i = rng_below(&seed, round % 500 < 250 ? 2 : 12); i; i--) {
			want = queued(put);
			if (!crab_queue_put(&queue, &want))
				full++;
			else
				put++;
		}
		n = crab_queue_read(&queue, got, names, n);
		for (i = 0; i < n; i++) {
			want = queued(taken + i);
			tap_check(same(&got[i], &want), "change %llu", taken + i);
		}
		i = rng_below(&seed, n + 1);
		crab_queue_take(&queue, i);
		taken += i;
		tap_check(queue.count == put - taken && queue.count <= 300, "%u wait", queue.count);
	}
	crab_queue_destroy(&queue);
	tap_ok(full > 100 && taken > 10000, "a queue of names of any length: %llu, %llu times full", taken,
	       full);
}

/* The stripes that are held while operations are done */
static u32 stripes_held, many_held;

static void count_stripes(struct crab_store *store, struct crab_batch_op *ops, u32 n)
{
	u32 i;

	stripes_held = 0;
	for (i = 0; i < CRAB_GATE_STRIPES; i++)
		stripes_held += store->gate->own[i].held;
	many_held = store->gate->many.held;
}

/* Five keys that have different stripes, three of which are written */
static void test_stripes(void)
{
	struct crab_media media = media_create(1 << 18);
	struct crab_store *store = store_format_attach(&media, "crab", "", 512);
	struct crab_watch *watch = open_watch(store, 0, ~0ULL, 8);
	struct crab_batch_op ops[] = {
		{ .verb = CRAB_VERB_SEARCH, .key = 1 },
		{ .verb = CRAB_VERB_INSERT, .key = 2 },
		{ .verb = CRAB_VERB_INSERT, .key = 3, .status = -ECANCELED },
		{ .verb = CRAB_VERB_DELETE, .key = 4 },
		{ .verb = CRAB_VERB_INSERT, .key = 5 },
	};

	crab_gate_run(store, &ops[1], 1, count_stripes);
	tap_check(stripes_held == 1 && !many_held, "one write: %u stripes", stripes_held);
	crab_gate_run(store, ops, ARRAY_SIZE(ops), count_stripes);
	tap_check(stripes_held == 3 && many_held, "three writes: %u stripes", stripes_held);
	count_stripes(store, NULL, 0);
	tap_ok(!stripes_held && !many_held, "writes hold the stripes of their keys, and no others");
	crab_watch_close(watch);
	store_end(store);
}

/* Each write of a value wakes the reader, if it is in the range */
static void test_values(void)
{
	struct crab_media media = media_create(1 << 18);
	struct crab_store *store = store_make(&media, "crab", "", 512, STORE_BLOBS);
	struct crab_watch *watch = open_watch(store, 5, 5, 8);
	struct crab_change got[4];

	wakes = 0;
	tap_check(!store_blob_put(store, 5, "a", 1) && wakes == 1, "%u wakes for a put", wakes);
	tap_check(!store_blob_put(store, 6, "a", 1) && wakes == 1, "%u wakes for another key", wakes);
	tap_check(!store_blob_erase(store, 5) && wakes == 2, "%u wakes for an erase", wakes);
	tap_ok(take_changes(watch, got, NULL, 4) == 2, "a watch of values wakes its reader for each change");
	crab_watch_close(watch);
	store_end(store);
}

int main(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		test_random(&kinds[i]);
	test_lost();
	test_again();
	test_dropped();
	test_end();
	test_readonly();
	test_many();
	test_memory();
	test_no_page();
	test_queue();
	test_stripes();
	test_values();
	return tap_done();
}

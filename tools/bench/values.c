// SPDX-License-Identifier: GPL-2.0
/*
 * This file measures blobs, and commits of several records. Each operation is alone (alone.h); lines and fences are counted as well, and are the same on every machine.
 *
 *   values [--counts]	-> JSON on standard output; --counts: without times
 *
 * The floor of the ratios is a store to a line, its clean and a fence, alone, anywhere in a buffer.
 */
#include <getopt.h>
#include <json-c/json.h>
#include <stdlib.h>

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/random.h>
#include <linux/string.h>

#include "alone.h"
#include "rig.h"
#include "row.h"
#include "store/blob.h"
#include "store/commit.h"

#define TOGETHER	16U		/* writes of a batch or commit */
#define MANY		1000000ULL	/* blobs of the attach */
#define MANY_BYTES	100U
#define EXTENT		128U		/* of a blob of 64 bytes */

/**
 * struct bench_case - one kind of operation
 * @name: of the row
 * @run: one operation
 * @n: how many
 * @region: bytes of the region
 * @bytes: length of a blob; 0: the store has records
 * @filled: the keys are there
 * @commits: it is a store of commits
 */
struct bench_case {
	const char *name;
	int (*run)(void *map, struct crab_bench_work *work);
	u64 n;
	u64 region;
	u32 bytes;
	bool filled;
	bool commits;
};

static const struct bench_case *now;
static struct crab_store *store;
static struct crab_media media;
static struct crab_commit commit;
static u8 value[CRAB_BLOB_BYTES_MAX] __aligned(8), room[CRAB_BLOB_BYTES_MAX] __aligned(8);
static bool kicked;
static int counts_only;

static void kick(void *arg)
{
	kicked = true;
}

static const struct crab_attach_options how = { .kick = kick };

/* Maintenance is no part of an operation */
static void maintain(struct crab_bench_work *work)
{
	u64 began;

	if (!kicked)
		return;
	kicked = false;
	began = ktime_get_ns();
	while (crab_store_maintain(store))
		;
	work->prepare_ns += ktime_get_ns() - began;
}

static int run_floor(void *map, struct crab_bench_work *work)
{
	struct crab_flow flow = { .media = &media };
	__le64 *at = (__le64 *)(media.base + *work->keys % (media.size / CRAB_LINE) * CRAB_LINE);

	crab_store(&flow, at, *work->keys);
	crab_clean_word(&flow, at);
	crab_fence(&flow, CRAB_P6_RECORD);
	return 0;
}

/* A copy to the media, cleaned at once: no put of this length can be faster */
static int run_copy(void *map, struct crab_bench_work *work)
{
	struct crab_flow flow = { .media = &media };
	u32 bytes = now->bytes, i;
	__le64 *at = (__le64 *)(media.base + *work->keys % (media.size / bytes) * bytes);

	for (i = 0; i < bytes / sizeof(*at); i++)
		crab_store(&flow, at + i, ((u64 *)value)[i]);
	crab_clean(&flow, at, bytes);
	crab_fence(&flow, CRAB_P6_RECORD);
	return 0;
}

static int run_put(void *map, struct crab_bench_work *work)
{
	struct crab_blob_write put = { .key = *work->keys, .data = value, .bytes = now->bytes };
	int err = crab_blob_put(store, &put);

	maintain(work);
	return err;
}

static int run_get(void *map, struct crab_bench_work *work)
{
	struct crab_blob_read get = { .key = *work->keys, .buffer = room, .capacity = sizeof(room) };

	return crab_blob_get(store, &get);
}

/* No get can be faster: the value is elsewhere, and its place is known after the search */
static int run_search(void *map, struct crab_bench_work *work)
{
	const __le64 *from;
	u64 word;
	u32 i;
	int err = crab_store_search(store, *work->keys, &word);

	from = (const __le64 *)(media.base + media.size / 2 +
				(*work->keys + word) % now->n * EXTENT);
	for (i = 0; i < 64 / sizeof(*from); i++)
		((u64 *)room)[i] = crab_load(&media, from + i);
	return err;
}

static int run_insert(void *map, struct crab_bench_work *work)
{
	struct crab_old old;
	int err = crab_store_insert(store, *work->keys, 1, CRAB_INSERT_EITHER, &old);

	maintain(work);
	return err;
}

/* Replacements of keys that are far from each other */
static void replace(struct crab_batch_op *ops, u64 key)
{
	u32 i;

	for (i = 0; i < TOGETHER; i++)
		ops[i] = (struct crab_batch_op){
			.verb = CRAB_VERB_INSERT, .key = crab_bench_key((key + i * 4099) % now->n),
			.value = key,
		};
}

static int run_batch(void *map, struct crab_bench_work *work)
{
	struct crab_batch_op ops[TOGETHER];

	replace(ops, *work->keys);
	crab_store_batch(store, ops, TOGETHER);
	maintain(work);
	return ops[0].status;
}

static int run_commit(void *map, struct crab_bench_work *work)
{
	int err;

	commit.n = TOGETHER;
	memset(commit.when, 0, sizeof(commit.when));
	replace(commit.ops, *work->keys);
	err = crab_store_commit(store, &commit);
	maintain(work);
	return err;
}

#define SMALL	(128ULL << 20)
#define LARGE	(512ULL << 20)

#define CASE(_name, _run, _n, _region, ...)	\
	{ .name = (_name), .run = (_run), .n = (_n), .region = (_region), __VA_ARGS__ }

static const struct bench_case cases[] = {
	CASE("floor", run_floor, 100000, SMALL),
	CASE("put of 64 B, new", run_put, 100000, SMALL, .bytes = 64),
	CASE("put of 64 B, replacing", run_put, 100000, SMALL, .bytes = 64, .filled = true),
	CASE("put of 1 KiB, new", run_put, 100000, LARGE, .bytes = 1024),
	CASE("put of 1 KiB, replacing", run_put, 100000, LARGE, .bytes = 1024, .filled = true),
	CASE("put of 64 KiB, new", run_put, 1000, SMALL, .bytes = 65536),
	CASE("copy and clean of 64 KiB", run_copy, 1000, SMALL, .bytes = 65536),
	CASE("get of 64 B", run_get, 100000, SMALL, .bytes = 64, .filled = true),
	CASE("search, and copy of 64 B", run_search, 100000, SMALL, .filled = true),
	CASE("batch of 16 replacements", run_batch, 100000, SMALL, .filled = true),
	CASE("commit of 16 replacements", run_commit, 100000, SMALL, .filled = true, .commits = true),
	{ }
};

static void store_make(u64 region, bool blobs, bool commits)
{
	const struct crab_format_options options = {
		.force = true, .leaf_bytes = CRAB_LEAF_BYTES_DEFAULT, .engine = "crab", .layout = "slotted",
		.label = "bench", .blobs = blobs, .commits = commits,
	};

	media = rig_region(region);
	rig_format_as(&media, &options);
	store = rig_attach(&media, &how);
}

static void fill(const u64 *keys, u64 n, u32 bytes)
{
	u64 i;
	int err = 0;

	for (i = 0; i < n && !err; i++) {
		struct crab_bench_work work = { .keys = keys + i, .n = 1 };

		err = bytes ? run_put(NULL, &work) : run_insert(NULL, &work);
	}
	if (err)
		rig_fail("fill", err);
}

static struct json_object *row_begin(const char *name)
{
	struct json_object *row = json_object_new_object();

	row_text(row, "what", name);
	return row;
}

static void measure(struct json_object *row, u64 *keys)
{
	struct crab_bench_work work = { .keys = keys, .n = now->n };
	const struct peer peer = { .run = now->run };
	struct crab_store_info a, b;
	struct alone_time time;
	int err;

	crab_store_info(store, &a);
	err = alone_run(&peer, NULL, &work, 1, &time);
	if (err)
		rig_fail(now->name, err);
	crab_store_info(store, &b);
	row_double(row, "lines", (double)(b.counts.lines - a.counts.lines) / now->n);
	row_double(row, "fences", (double)(b.counts.fences - a.counts.fences) / now->n);
	if (!counts_only)
		row_double(row, "ns", time.p50);
}

/* Batches and commits have numbers of keys, the others keys */
static void keys_make(u64 *keys)
{
	bool numbers = now->run == run_batch || now->run == run_commit;
	u64 i;

	for (i = 0; i < now->n; i++)
		keys[i] = numbers ? crab_bench_key(i + now->n) % now->n : crab_bench_key(i);
}

static struct json_object *one(u64 *keys)
{
	struct json_object *row = row_begin(now->name);
	u64 i;

	store_make(now->region, now->bytes, now->commits);
	for (i = 0; i < now->n; i++)
		keys[i] = crab_bench_key(i);
	if (now->filled)
		fill(keys, now->n, now->bytes);
	keys_make(keys);
	measure(row, keys);
	crab_store_detach(store);
	rig_region_free(&media);
	return row;
}

/* After a power cut: every blob's word is read, and its extent is found again */
static struct json_object *attach(u64 *keys)
{
	static const struct bench_case blobs = { .name = "attach", .n = MANY, .bytes = MANY_BYTES };
	struct json_object *row = row_begin("attach with a million blobs of 100 B, a blob");
	u64 i, began;

	now = &blobs;
	store_make(LARGE, true, false);
	for (i = 0; i < MANY; i++)
		keys[i] = crab_bench_key(i);
	fill(keys, MANY, MANY_BYTES);
	crab_store_abandon(store);
	began = ktime_get_ns();
	store = rig_attach(&media, &how);
	row_double(row, "ns", (double)(ktime_get_ns() - began) / MANY);
	crab_store_detach(store);
	rig_region_free(&media);
	return row;
}

int main(int argc, char **argv)
{
	static const struct option known[] = { { "counts", no_argument, &counts_only, 1 }, { } };
	struct json_object *rows = json_object_new_array();
	u64 *keys = calloc(MANY, sizeof(*keys));

	while (!getopt_long(argc, argv, "", known, NULL))
		;
	if (optind < argc || !keys)
		rig_fail("usage: values [--counts]", -EINVAL);
	if (crab_persist_init())
		rig_fail("this CPU cannot clean a cache line", -EOPNOTSUPP);
	crab_host_seed(1);
	rig_pin(0);
	for (now = cases; now->name; now++)
		json_object_array_add(rows, one(keys));
	if (!counts_only)
		json_object_array_add(rows, attach(keys));
	row_print(rows);
	free(keys);
	return 0;
}

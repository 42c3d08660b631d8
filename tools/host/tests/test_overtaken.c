// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests reads of a value that two puts overtake before and after each look at its word, so
 * that the extent which was found has another value by then: unless the reader locks the key.
 *
 *   test_overtaken
 */
#include "store/blob_priv.h"
#include "test.h"

#define WORDS		20U	/* of a value: all are the same */

static const struct crab_engine_ops *raw;
static u32 overtaken;

/* The second put stores to the extent of the word that was found */
static void overtake(void)
{
	u64 words[WORDS];
	u32 i, j;

	if (crab_blob_stripe(store->blobs, 1)->held)
		return;
	overtaken++;
	for (i = 0; i < 2; i++) {
		for (j = 0; j < WORDS; j++)
			words[j] = 2 * overtaken + i;
		tap_check(!store_blob_put(store, 1, words, sizeof(words)), "put");
	}
}

static int lookup(struct crab_engine *engine, u64 key, u64 *word)
{
	int err;

	overtake();
	err = raw->lookup(engine, key, word);
	overtake();
	return err;
}

static void test_get(void)
{
	u64 words[WORDS];
	struct crab_blob_read get = { .key = 1, .buffer = words, .capacity = sizeof(words) };
	int err = crab_blob_get(store, &get);

	tap_check(!err && words[0] == words[WORDS - 1], "get: %d", err);
	tap_ok(overtaken > 4, "a get that writers overtake %u times", overtaken);
}

static void test_list(void)
{
	struct crab_blob_entry entry;
	struct crab_cursor cursor;
	int n;

	crab_cursor_init(&cursor, 0, 1);
	n = crab_blob_list(store, &cursor, &entry, 1);
	tap_check(n == 1 && !entry.err, "list: %d, %d", n, entry.err);
	tap_ok(overtaken > 3, "a list that writers overtake %u times", overtaken);
}

/* It locks the key before it looks */
static void test_check(void)
{
	store_check_good(store);
	tap_ok(!overtaken, "CHECK, which no writer overtakes");
}

static void test_overtaken(void (*reader)(void))
{
	static const u64 words[WORDS];
	struct crab_engine_ops ops;

	store_begin_of(CRAB_POOL_OFFSET + 300 * 256, "crab", "slotted", 256, STORE_BLOBS);
	tap_check(!store_blob_put(store, 1, words, sizeof(words)), "put");
	overtaken = 0;
	raw = store->blobs->raw;
	ops = *raw;
	ops.lookup = lookup;
	store->blobs->raw = &ops;
	reader();
	store->blobs->raw = raw;
	store_end(store);
}

int main(void)
{
	crab_host_cpus = 1;
	test_overtaken(test_get);
	test_overtaken(test_list);
	test_overtaken(test_check);
	return tap_done();
}

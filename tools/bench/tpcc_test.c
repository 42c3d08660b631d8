// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests the operations of tpcc.c against a model, a sorted array of keys: each operation
 * must succeed, each scan must stay in its table, and afterwards each table must have the rows that
 * the transactions left. The number of operations of each kind is known: another number means
 * that results are not comparable with earlier ones.
 *
 *   tpcc_test	-> TAP on standard output
 */
#include <stdio.h>
#include <stdlib.h>

#include <linux/kernel.h>
#include <linux/string.h>

#include "rig.h"
#include "tap.h"
#include "tpcc.h"

#define RECORDS		10000
#define TRANSACTIONS	2000
#define ROOM		(1 << 17)

/* Inserts, searches, scans, deletes */
static const u64 known[TPCC_MIXES][4] = {
	{ 9648, 78777, 2645, 792 }, { 7533, 61994, 2875, 639 },
	{ 5849, 46172, 3065, 541 }, { 4251, 27681, 3354, 421 },
};

static u64 *model;
static u64 model_n;

static void test(bool ok, u32 mix, const char *what)
{
	tap_ok(ok, "W%u: %s", mix + 1, what);
}

/* The first place whose key is not below @key */
static u64 model_find(u64 key)
{
	u64 low = 0, high = model_n, middle;

	while (low < high) {
		middle = (low + high) / 2;
		if (model[middle] < key)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool model_insert(u64 at, u64 key)
{
	if (model_n == ROOM || (at < model_n && model[at] == key))
		return false;
	memmove(&model[at + 1], &model[at], (model_n++ - at) * sizeof(*model));
	model[at] = key;
	return true;
}

static bool model_delete(u64 at)
{
	memmove(&model[at], &model[at + 1], (--model_n - at) * sizeof(*model));
	return true;
}

static bool model_scan(u64 at, u64 key, u32 records)
{
	return records && at + records <= model_n && tpcc_same_table(key, model[at]) &&
	       tpcc_same_table(key, model[at + records - 1]);
}

static bool model_do(enum crab_bench_op op, u64 key, u32 records)
{
	u64 at = model_find(key);

	if (op == CRAB_BENCH_INSERT)
		return model_insert(at, key);
	if (op == CRAB_BENCH_SCAN_FULL)
		return model_scan(at, key, records);
	if (at == model_n || model[at] != key)
		return false;
	return op == CRAB_BENCH_DELETE ? model_delete(at) : op == CRAB_BENCH_SEARCH;
}

/* Operations that succeeded, by kind */
static u64 run_all(const struct tpcc *tpcc, u64 *counts)
{
	u64 i, good = 0;

	for (i = 0; i < tpcc->n; i++) {
		good += model_do(tpcc->ops[i], tpcc->keys[i], tpcc->scans[i]);
		counts[tpcc->ops[i]]++;
	}
	return good;
}

static u64 rows_of(u32 table)
{
	return model_find((u64)(table + 1) << 60) - model_find((u64)table << 60);
}

static void test_rows(const struct tpcc *tpcc, u32 mix)
{
	u64 orders = 0, undelivered = 0, i;

	for (i = 0; i < tpcc->warehouses * 10; i++) {
		orders += tpcc->next[i];
		undelivered += tpcc->next[i] - tpcc->oldest[i];
	}
	test(rows_of(6) == orders && rows_of(11) == orders, mix, "a row for each order");
	test(orders == tpcc->warehouses * 10 * tpcc->customers + tpcc->transactions[TPCC_NEW_ORDER],
	     mix, "an order for each new order");
	test(rows_of(5) == undelivered, mix, "a row for each order that is not delivered");
	test(rows_of(4) == tpcc->warehouses * 10 * tpcc->customers +
	     tpcc->transactions[TPCC_PAYMENT], mix, "a row for each payment");
	test(rows_of(7) >= 5 * orders && rows_of(7) <= 15 * orders, mix, "five to 15 lines an order");
}

static void test_mix(u32 mix)
{
	u64 counts[CRAB_BENCH_OPS] = { }, loaded;
	struct tpcc tpcc;

	model_n = 0;
	tpcc_begin(&tpcc, RECORDS);
	tpcc_load(&tpcc);
	loaded = run_all(&tpcc, counts);
	test(loaded == tpcc.n && model_n == tpcc.n, mix, "the first content");
	memset(counts, 0, sizeof(counts));
	tpcc_run(&tpcc, mix, TRANSACTIONS);
	test(run_all(&tpcc, counts) == tpcc.n, mix, "each operation succeeds");
	test_rows(&tpcc, mix);
	printf("# %llu inserts, %llu searches, %llu scans, %llu deletes\n",
	       (unsigned long long)counts[CRAB_BENCH_INSERT],
	       (unsigned long long)counts[CRAB_BENCH_SEARCH],
	       (unsigned long long)counts[CRAB_BENCH_SCAN_FULL],
	       (unsigned long long)counts[CRAB_BENCH_DELETE]);
	test(counts[CRAB_BENCH_INSERT] == known[mix][0] &&
	     counts[CRAB_BENCH_SEARCH] == known[mix][1] &&
	     counts[CRAB_BENCH_SCAN_FULL] == known[mix][2] &&
	     counts[CRAB_BENCH_DELETE] == known[mix][3], mix, "as many operations as ever");
	tpcc_end(&tpcc);
}

int main(void)
{
	u32 mix;

	model = calloc(ROOM, sizeof(*model));
	if (!model)
		rig_fail("no memory", -ENOMEM);
	for (mix = 0; mix < TPCC_MIXES; mix++)
		test_mix(mix);
	return tap_done();
}

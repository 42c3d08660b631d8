// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests how full leaves become when keys arrive in some order.
 */
#include "engines/crab/crab.h"
#include "test.h"

#define LEAF_BYTES	512U
#define KEYS		20000ULL

static u64 key_ascending(u64 i, u64 n)
{
	return i * 16;
}

static u64 key_descending(u64 i, u64 n)
{
	return (n - i) * 16;
}

static u64 key_outwards(u64 i, u64 n)
{
	return (1ULL << 62) + (i % 2 ? i * 16 : -i * 16);
}

static u64 key_runs(u64 i, u64 n)
{
	return i % 64 << 40 | i / 64;
}

static u64 key_runs_down(u64 i, u64 n)
{
	return i % 64 << 40 | (n - i) / 64;
}

static u64 key_random(u64 i, u64 n)
{
	return i * 0xd1342543de82ef95ULL;
}

/* The @i-th of @n keys that arrive in some order */
static const struct arrival {
	const char *what;
	u64 (*key)(u64 i, u64 n);
	u32 percent;		/* of slots in use afterwards, at least */
} arrivals[] = {
	{ "ascending", key_ascending, 97 },
	{ "descending", key_descending, 90 },
	{ "from the middle outwards", key_outwards, 90 },
	{ "in 64 ascending runs", key_runs, 75 },
	{ "in 64 descending runs", key_runs_down, 75 },
	{ "random", key_random, 60 },
};

static void test_arrival(const char *layout, const struct arrival *arrival)
{
	u64 i, percent;

	store_begin(CRAB_POOL_OFFSET + KEYS / 8 * LEAF_BYTES, "crab", layout, LEAF_BYTES);
	for (i = 0; i < KEYS; i++)
		tap_check(!store_insert(store, arrival->key(i, KEYS), i, CRAB_INSERT_CREATE),
			  "key %llu", i);
	percent = KEYS * 100 / (store_info(store).stats.leaves_used * crab_leaf_slots(LEAF_BYTES));
	tap_check(percent >= arrival->percent, "leaves are not so full");
	tap_check(store_check_good(store).records == KEYS, "not all records");
	tap_ok(true, "%s, keys %s: leaves are full to %llu %%", layout, arrival->what, percent);
	store_end(store);
}

int main(void)
{
	u32 i;

	crab_host_seed(1);
	for (i = 0; i < ARRAY_SIZE(arrivals); i++) {
		test_arrival("slotted", &arrivals[i]);
		test_arrival("sorted", &arrivals[i]);
	}
	return tap_done();
}

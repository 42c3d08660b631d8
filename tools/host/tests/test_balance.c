// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests that a sorted leaf which is less than half full gets records of a full neighbour, from
 * either side: one in place, or half of all by copies.
 */
#include "small.h"

static struct crab_leaf *second_or_first(bool second)
{
	return second ? tree->first->next : tree->first;
}

/* @second: the second leaf is the emptier one, and the first leaf is full */
static void test_balance(enum crab_strategy strategy, bool second)
{
	const char *how = strategy == CRAB_STRATEGY_COW ? "by copies" : "in place";
	struct crab_leaf *poor, *rich;
	u32 half, total;
	u64 n, key;

	begin("sorted", LEAVES);
	tree->tuning.strategy = CRAB_STRATEGY_SIP;
	for (n = 0; tree->leaves < 4; n++)
		put(n * STEP);
	half = tree->slots / 2;
	total = tree->slots + half - 1;
	poor = second_or_first(second);
	for (key = poor->high - STEP; poor->count > half; key -= STEP)
		del(key);
	tree->tuning.strategy = strategy;
	del(poor->low + STEP);
	poor = second_or_first(second);
	rich = second_or_first(!second);
	tap_check(poor->count == (strategy == CRAB_STRATEGY_COW ? total / 2 : half) &&
		  rich->count == total - poor->count, "%u and %u records", poor->count, rich->count);
	tap_check(tree->first->high == tree->first->next->low, "a gap");
	tap_check(tree->leaves == 4 && store_check_good(store).records == n - tree->slots + half - 1, "CHECK");
	attach_again(false);
	tap_ok(store_check_good(store).records == n - tree->slots + half - 1,
	       "sorted: the %s of two leaves gets records of the other one, %s", second ? "second" : "first", how);
	end();
}

int main(void)
{
	test_balance(CRAB_STRATEGY_SIP, false);
	test_balance(CRAB_STRATEGY_SIP, true);
	test_balance(CRAB_STRATEGY_COW, false);
	test_balance(CRAB_STRATEGY_COW, true);
	return tap_done();
}

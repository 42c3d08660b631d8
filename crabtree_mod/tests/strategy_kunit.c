// SPDX-License-Identifier: GPL-2.0
/*
 * This suite tests the choice between shifting and copying: that it follows from
 * the costs alone, is never the more expensive one, and that the estimated writes are
 * those executed, line by line and fence by fence.
 */
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "engines/crab/crab.h"
#include "kunit.h"

#define STRATEGY_LEAF	256	/* 13 slots */
#define STRATEGY_SLOTS	13

/* round, line, order, record, pair: a cheap order, dear cleans; the reverse; extremes */
static const struct crab_costs strategy_costs[] = {
	{ 130000, 16000, 1000, 1500, 500 },
	{ 1, 1, 1, 1, 1 },
	{ 1000000, 1, 1, 1, 1 },
	{ 1, 1000000, 1, 1, 1 },
	{ 1, 1, 1000000, 1, 1 },
	{ 1, 1, 1, 1000000, 1 },
	{ 1, 1, 1, 1, 1000000 },
	{ U32_MAX, U32_MAX, U32_MAX, U32_MAX, U32_MAX },
};

static struct crab_tree *strategy_tree(struct kunit *test, u32 leaf_bytes)
{
	struct crab_tree *tree = kunit_kzalloc(test, sizeof(*tree), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, tree);
	tree->slots = crab_leaf_slots(leaf_bytes);
	tree->base.geo.leaf_bytes = leaf_bytes;
	return tree;
}

/* By hand: slot 0 shares the line of the header, four slots are in each other one */
static void strategy_prices(struct kunit *test)
{
	struct crab_tree *tree = strategy_tree(test, 512);
	u32 second = crab_pair_is_atomic() ? 3 : 10;

	tree->tuning.costs = (struct crab_costs){ 1000, 100, 10, 1, 3 };
	KUNIT_EXPECT_EQ(test, crab_strategy_lines(0, 0), 1U);
	KUNIT_EXPECT_EQ(test, crab_strategy_lines(0, 1), 2U);
	KUNIT_EXPECT_EQ(test, crab_strategy_lines(1, 4), 1U);
	KUNIT_EXPECT_EQ(test, crab_strategy_lines(4, 9), 3U);
	KUNIT_EXPECT_EQ(test, crab_strategy_sip(tree, 5, 0), 1021ULL);
	KUNIT_EXPECT_EQ(test, crab_strategy_sip(tree, 0, 4), 2105ULL);
	KUNIT_EXPECT_EQ(test, crab_strategy_cow(tree, 0), 2000ULL);
	KUNIT_EXPECT_EQ(test, crab_strategy_cow(tree, 5), 2210ULL);
	KUNIT_EXPECT_EQ(test, crab_strategy_cow(tree, 29), 2758ULL);
	tree->tuning.on_demand = true;
	KUNIT_EXPECT_EQ(test, crab_strategy_cow(tree, 5), 4210ULL);
	tree->tuning.pair = true;
	KUNIT_EXPECT_EQ(test, crab_strategy_sip(tree, 0, 4), 2055ULL + 5 * second);
}

static u64 strategy_chosen(const struct crab_tree *tree, u64 sip, u64 cow)
{
	return crab_strategy_is_sip(tree, sip, cow) ? sip : cow;
}

/* One way to price all writes to leaves of one size: how often is auto the dearer? */
static u32 strategy_dearer(struct crab_tree *tree)
{
	u32 step = max(tree->slots / 48, 1U), count, pos, dearer = 0;
	u64 sip, cow;

	for (count = 0; count <= tree->slots; count += step) {
		for (pos = 0; pos <= count; pos += step) {
			sip = crab_strategy_sip(tree, pos, count - pos);
			cow = crab_strategy_cow(tree, min(count + 1, tree->slots));
			dearer += strategy_chosen(tree, sip, cow) > min(sip, cow);
			if (pos == count)
				continue;
			sip = crab_strategy_sip(tree, pos, count - 1 - pos);
			cow = crab_strategy_cow(tree, count - 1);
			dearer += strategy_chosen(tree, sip, cow) > min(sip, cow);
		}
	}
	return dearer;
}

/* All four options; @costs is an index of strategy_costs */
static void strategy_least_priced(struct kunit *test, struct crab_tree *tree, u32 costs)
{
	u32 options;

	tree->tuning.costs = strategy_costs[costs];
	for (options = 0; options < 4; options++) {
		tree->tuning.on_demand = options & 1;
		tree->tuning.pair = options & 2;
		KUNIT_EXPECT_EQ_MSG(test, strategy_dearer(tree), 0U, "leaf of %u, costs %u",
				    tree->base.geo.leaf_bytes, costs);
	}
}

static void strategy_least(struct kunit *test)
{
	static const u32 sizes[] = { 128, 512, 1024, 2048, 4096, 8192 };
	struct crab_tree *tree;
	u32 size, costs;

	for (size = 0; size < ARRAY_SIZE(sizes); size++) {
		tree = strategy_tree(test, sizes[size]);
		for (costs = 0; costs < ARRAY_SIZE(strategy_costs); costs++)
			strategy_least_priced(test, tree, costs);
	}
}

static void strategy_forced(struct kunit *test)
{
	struct crab_tree *tree = strategy_tree(test, 512);

	tree->tuning.strategy = CRAB_STRATEGY_SIP;
	KUNIT_EXPECT_TRUE(test, crab_strategy_is_sip(tree, U64_MAX, 0));
	KUNIT_EXPECT_TRUE(test, crab_strategy_is_sip(tree, 0, U64_MAX));
	tree->tuning.strategy = CRAB_STRATEGY_COW;
	KUNIT_EXPECT_FALSE(test, crab_strategy_is_sip(tree, 0, U64_MAX));
	KUNIT_EXPECT_FALSE(test, crab_strategy_is_sip(tree, U64_MAX, 0));
}

/* A store that is counted, and a tree without one that prices the same */
struct strategy {
	struct kunit *test;
	struct crab_tuning tuning;
	struct crab_tree *tree;
	struct crab_store_info *info;
};

/* The strategy of a write, from the counters */
struct strategy_did {
	u64 lines;
	u64 fences;
	u64 sips;
	u64 cows;
};

static struct strategy_did strategy_read(const struct strategy *s)
{
	struct crab_test *t = s->test->priv;

	crab_store_info(t->store, s->info);
	return (struct strategy_did){
		.lines = s->info->counts.lines, .fences = s->info->counts.fences,
		.sips = s->info->counts.own[CRAB_SORTED_SIPS],
		.cows = s->info->counts.own[CRAB_SORTED_COWS],
	};
}

/* One leaf with keys 10, 20, ...; after them every slot reads as the end */
static void strategy_fill(struct kunit *test, u32 count)
{
	struct crab_test *t = test->priv;
	u32 i;

	memset(t->media.base, 0xff, t->media.size);
	crab_test_format(test, "crab", "sorted", STRATEGY_LEAF);
	for (i = 1; i <= count; i++)
		KUNIT_ASSERT_EQ(test, crab_test_put(test, 10 * i, i), 0);
}

/* The estimate for a write that moves @moved records from @pos on */
static struct strategy_did strategy_expect(const struct strategy *s, u32 pos, u32 moved, u32 left)
{
	u64 sip = crab_strategy_sip(s->tree, pos, moved);
	bool is_sip = crab_strategy_is_sip(s->tree, sip, crab_strategy_cow(s->tree, left));
	struct strategy_did will = { .sips = is_sip, .cows = !is_sip };

	if (is_sip) {
		will.lines = crab_strategy_lines(pos, pos + moved);
		will.fences = will.lines;
	} else {
		will.lines = crab_strategy_lines(0, min(left, STRATEGY_SLOTS - 1U)) + 1;
		will.fences = 2;
	}
	if (!is_sip && s->tuning.on_demand) {
		will.lines += 2;
		will.fences += 2;
	}
	return will;
}

/* Insert or delete at @pos in a leaf of @count records: the estimate is exact */
static void strategy_write(const struct strategy *s, u32 count, u32 pos, bool insert)
{
	struct strategy_did will = strategy_expect(s, pos, count - pos - !insert,
						   insert ? count + 1 : count - 1);
	struct strategy_did before, after;
	struct kunit *test = s->test;

	strategy_fill(test, count);
	before = strategy_read(s);
	KUNIT_ASSERT_EQ(test, insert ? crab_test_put(test, 10 * pos + 5, 1) :
				       crab_test_del(test, 10 * pos + 10), 0);
	after = strategy_read(s);
	crab_test_cut(test);
	KUNIT_EXPECT_EQ_MSG(test, after.lines - before.lines, will.lines, "%u of %u", pos, count);
	KUNIT_EXPECT_EQ_MSG(test, after.fences - before.fences, will.fences, "%u of %u", pos,
			    count);
	KUNIT_EXPECT_EQ(test, after.sips - before.sips, will.sips);
	KUNIT_EXPECT_EQ(test, after.cows - before.cows, will.cows);
}

static void strategy_writes(const struct strategy *s)
{
	u32 count, pos;

	for (count = 1; count <= STRATEGY_SLOTS; count++) {
		for (pos = 0; pos <= count; pos++) {
			if (count < STRATEGY_SLOTS)
				strategy_write(s, count, pos, true);
			if (pos < count && count > 1)
				strategy_write(s, count, pos, false);
		}
	}
}

static void strategy_counted(struct kunit *test, enum crab_strategy strategy, bool on_demand)
{
	struct strategy s = {
		.test = test,
		.tuning = {
			.strategy = strategy, .on_demand = on_demand,
			.costs = { 1000, 300, 10, 20, 5 },
		},
		.tree = strategy_tree(test, STRATEGY_LEAF),
		.info = kunit_kzalloc(test, sizeof(*s.info), GFP_KERNEL),
	};
	struct crab_test *t = test->priv;

	KUNIT_ASSERT_NOT_NULL(test, s.info);
	s.tree->tuning = s.tuning;
	t->tuning = &s.tuning;
	strategy_writes(&s);
	t->tuning = NULL;
}

static void strategy_counted_sip(struct kunit *test)
{
	strategy_counted(test, CRAB_STRATEGY_SIP, false);
}

static void strategy_counted_cow(struct kunit *test)
{
	strategy_counted(test, CRAB_STRATEGY_COW, false);
}

static void strategy_counted_auto(struct kunit *test)
{
	strategy_counted(test, CRAB_STRATEGY_AUTO, false);
}

static void strategy_counted_on_demand(struct kunit *test)
{
	strategy_counted(test, CRAB_STRATEGY_AUTO, true);
}

/* Equal costs lead to equal choices: two stores perform the same writes in the same way */
static void strategy_deterministic(struct kunit *test)
{
	struct crab_tuning tuning = { .pair = true, .costs = strategy_costs[0] };
	struct crab_test *t = test->priv;
	struct crab_counts counts[2];
	u32 run, i;

	t->tuning = &tuning;
	for (run = 0; run < 2; run++) {
		strategy_fill(test, 0);
		for (i = 0; i < 60; i++)
			KUNIT_EXPECT_EQ(test, crab_test_put(test, i * 37 % 61, i), 0);
		for (i = 0; i < 40; i++)
			KUNIT_EXPECT_EQ(test, crab_test_del(test, i * 37 % 61), 0);
		crab_test_expect_check(test, 20);
		counts[run] = crab_test_counts(test);
		crab_test_cut(test);
	}
	t->tuning = NULL;
	KUNIT_EXPECT_GT(test, counts[0].own[CRAB_SORTED_SIPS], 0ULL);
	KUNIT_EXPECT_GT(test, counts[0].own[CRAB_SORTED_COWS], 0ULL);
	KUNIT_EXPECT_TRUE(test, !memcmp(&counts[0], &counts[1], sizeof(counts[0])));
}

/* The probe copies for a key in the lower half, regardless of the costs, and only then */
static void strategy_probe(struct kunit *test)
{
	struct crab_tuning tuning = { .probe = true, .costs = { 1, 1000000, 1, 1000000, 1 } };
	struct crab_test *t = test->priv;
	u64 value;

	t->tuning = &tuning;
	strategy_fill(test, 8);
	KUNIT_EXPECT_EQ(test, crab_test_counts(test).own[CRAB_SORTED_COWS], 0ULL);
	KUNIT_EXPECT_EQ(test, crab_test_put(test, 15, 1), 0);
	KUNIT_EXPECT_EQ(test, crab_test_counts(test).own[CRAB_SORTED_COWS], 1ULL);
	KUNIT_EXPECT_EQ(test, crab_test_put(test, 75, 2), 0);
	KUNIT_EXPECT_EQ(test, crab_test_counts(test).own[CRAB_SORTED_COWS], 1ULL);
	KUNIT_EXPECT_EQ(test, crab_test_put(test, 15, 3), 0);
	/* An update copies nothing */
	KUNIT_EXPECT_EQ(test, crab_test_counts(test).own[CRAB_SORTED_COWS], 1ULL);
	KUNIT_EXPECT_EQ(test, crab_test_del(test, 16), -ENOENT);
	KUNIT_EXPECT_EQ(test, crab_store_search(t->store, 15, &value), 0);
	KUNIT_EXPECT_EQ(test, value, 3ULL);
	crab_test_expect_check(test, 10);
	crab_test_cut(test);
	t->tuning = NULL;
}

static void strategy_measured(struct kunit *test)
{
	struct crab_costs costs = { };

	KUNIT_ASSERT_EQ(test, crab_costs_measure(&costs), 0);
	KUNIT_EXPECT_GT(test, costs.round, 0U);
	KUNIT_EXPECT_GT(test, costs.line, 0U);
	KUNIT_EXPECT_GT(test, costs.order, 0U);
	KUNIT_EXPECT_GT(test, costs.record, 0U);
	KUNIT_EXPECT_GT(test, costs.pair, 0U);
}

static void strategy_names(struct kunit *test)
{
	int i;

	for (i = CRAB_STRATEGY_AUTO; i <= CRAB_STRATEGY_COW; i++)
		KUNIT_EXPECT_EQ(test, crab_strategy_by_name(crab_strategy_name(i)), i);
	KUNIT_EXPECT_EQ(test, crab_strategy_by_name(""), -EINVAL);
	KUNIT_EXPECT_EQ(test, crab_strategy_by_name("sips"), -EINVAL);
}

/* Each option prints the text that sets it, and refuses all other text */
static void strategy_options(struct kunit *test)
{
	struct crab_tuning tuning = { .strategy = CRAB_STRATEGY_COW, .pair = CRAB_PAIR_IF_CHEAPER,
				      .costs = { .order = 7 } };
	struct crab_tuning again = { .on_demand = true, .probe = true };
	const struct crab_option *option;
	void *values;
	char text[32], same[32];

	for (option = crab_tuning_options; option->name; option++) {
		crab_option_print(option, &tuning, text, sizeof(text));
		KUNIT_EXPECT_EQ(test, crab_option_set(option, &again, text), 0);
		KUNIT_EXPECT_EQ(test, crab_option_set(option, &again, "much"), -EINVAL);
		KUNIT_EXPECT_EQ(test, crab_option_set(option, &again, "-2"), -EINVAL);
		crab_option_print(option, &again, same, sizeof(same));
		KUNIT_EXPECT_EQ(test, strcmp(text, same), 0);
		KUNIT_EXPECT_PTR_EQ(test, crab_option_find(option->name, &values), option);
		KUNIT_EXPECT_PTR_EQ(test, values, (void *)&crab_tuning_default);
	}
	KUNIT_EXPECT_PTR_EQ(test, crab_option_find("none", &values), NULL);
}

/* A flag takes every word that a module parameter of type bool takes */
static void strategy_flags(struct kunit *test)
{
	static const char * const words[] = { "N", "1", "0", "Y", "n", "on", "off", "y" };
	const struct crab_option *option;
	void *values;
	char text[32];
	u32 i;

	option = crab_option_find("on_demand", &values);
	KUNIT_ASSERT_NOT_NULL(test, option);
	for (i = 0; i < ARRAY_SIZE(words); i++) {
		struct crab_tuning tuning = { .on_demand = i % 2 == 0 };

		KUNIT_EXPECT_EQ(test, crab_option_set(option, &tuning, words[i]), 0);
		KUNIT_EXPECT_EQ(test, tuning.on_demand, i % 2 == 1);
		crab_option_print(option, &tuning, text, sizeof(text));
		KUNIT_EXPECT_STREQ(test, text, i % 2 ? "1" : "0");
	}
	KUNIT_EXPECT_EQ(test, crab_option_set(option, values, "2"), -EINVAL);
}

static struct kunit_case strategy_cases[] = {
	KUNIT_CASE(strategy_prices),
	KUNIT_CASE(strategy_least),
	KUNIT_CASE(strategy_forced),
	KUNIT_CASE(strategy_counted_sip),
	KUNIT_CASE(strategy_counted_cow),
	KUNIT_CASE(strategy_counted_auto),
	KUNIT_CASE(strategy_counted_on_demand),
	KUNIT_CASE(strategy_deterministic),
	KUNIT_CASE(strategy_probe),
	KUNIT_CASE(strategy_measured),
	KUNIT_CASE(strategy_names),
	KUNIT_CASE(strategy_options),
	KUNIT_CASE(strategy_flags),
	{}
};

static int strategy_init(struct kunit *test)
{
	int err = crab_test_init(test);

	return err ?: crab_test_resize(test, STRATEGY_LEAF);
}

CRAB_TEST_SUITE(strategy, strategy_init, crab_test_exit);

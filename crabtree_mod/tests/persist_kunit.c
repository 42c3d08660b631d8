// SPDX-License-Identifier: GPL-2.0
/*
 * This suite tests the shadow, on which the crash tests depend: a fence
 * completes the cleans of its CPU only, and exploration tries every image that a
 * reader can distinguish, once.
 */
#include <linux/string.h>

#include "media/swap.h"
#include "kunit.h"

struct shadow_test {
	struct kunit *test;
	__le64 *word;
	struct crab_flow flow;
	struct crab_shadow *shadow;
	u32 seen;		/* a bit for each value read */
	u32 runs;
};

static void shadow_begin(struct kunit *test, struct shadow_test *s, enum crab_shadow_model model)
{
	struct crab_test *t = test->priv;

	crab_test_shadow(test);
	memset(s, 0, sizeof(*s));
	s->test = test;
	s->word = (__le64 *)t->media.base;
	s->flow.media = &t->media;
	s->shadow = t->media.hooks.shadow;
	s->shadow->model = model;
}

/* Values of word 0 after a cut now */
static int judge_one(struct crab_shadow *shadow, void *arg)
{
	struct shadow_test *s = arg;

	s->seen |= 1U << crab_load(s->flow.media, s->word);
	s->runs++;
	return 0;
}

static u32 shadow_outcomes(struct shadow_test *s, crab_shadow_judge judge)
{
	struct crab_shadow_image *now = crab_shadow_capture(s->shadow);

	s->seen = 0;
	s->runs = 0;
	KUNIT_EXPECT_TRUE(s->test, now);
	KUNIT_EXPECT_EQ(s->test, crab_shadow_explore(s->shadow, now, judge, s, 1000), 0);
	crab_shadow_restore(s->shadow, now);
	crab_shadow_release(now);
	KUNIT_EXPECT_EQ_MSG(s->test, s->shadow->errors, 0ULL, "%s", s->shadow->error);
	return s->seen;
}

/* One location is coherent: a later value may be lost, but not before an earlier one is durable */
static void shadow_fence(struct kunit *test)
{
	struct shadow_test s;

	shadow_begin(test, &s, CRAB_SHADOW_MODEL_WORD);
	crab_store(&s.flow, s.word, 1);
	KUNIT_EXPECT_EQ(test, shadow_outcomes(&s, judge_one), 3U);
	crab_fence(&s.flow, CRAB_P6_RECORD);		/* nothing was cleaned */
	KUNIT_EXPECT_EQ(test, shadow_outcomes(&s, judge_one), 3U);
	crab_clean(&s.flow, s.word, 8);			/* not fenced */
	KUNIT_EXPECT_EQ(test, shadow_outcomes(&s, judge_one), 3U);
	crab_store(&s.flow, s.word, 2);			/* after the clean */
	KUNIT_EXPECT_EQ(test, shadow_outcomes(&s, judge_one), 7U);
	crab_fence(&s.flow, CRAB_P6_RECORD);
	KUNIT_EXPECT_EQ(test, shadow_outcomes(&s, judge_one), 6U);
	KUNIT_EXPECT_EQ(test, crab_load(s.flow.media, s.word), 2ULL);
	crab_clean(&s.flow, s.word + 7, 1);		/* the same line */
	crab_fence(&s.flow, CRAB_P6_RECORD);
	KUNIT_EXPECT_EQ(test, shadow_outcomes(&s, judge_one), 4U);
	KUNIT_EXPECT_EQ(test, s.runs, 1U);
}

static void shadow_other_line(struct kunit *test)
{
	struct shadow_test s;

	shadow_begin(test, &s, CRAB_SHADOW_MODEL_WORD);
	crab_store(&s.flow, s.word, 1);
	crab_clean(&s.flow, s.word + 8, 8);
	crab_fence(&s.flow, CRAB_P6_RECORD);
	KUNIT_EXPECT_EQ(test, shadow_outcomes(&s, judge_one), 3U);
	KUNIT_EXPECT_EQ(test, s.shadow->counts.idle_cleans, 1ULL);
}

/* A fence completes only the cleans of its own CPU */
static void shadow_other_cpu(struct kunit *test)
{
	struct shadow_test s;

	shadow_begin(test, &s, CRAB_SHADOW_MODEL_WORD);
	crab_store(&s.flow, s.word, 1);
	crab_clean(&s.flow, s.word, 8);
	s.shadow->cpu = 1;
	crab_fence(&s.flow, CRAB_P6_RECORD);
	KUNIT_EXPECT_EQ(test, shadow_outcomes(&s, judge_one), 3U);
	s.shadow->cpu = 0;
	crab_fence(&s.flow, CRAB_P6_RECORD);
	KUNIT_EXPECT_EQ(test, shadow_outcomes(&s, judge_one), 2U);
}

static int judge_two(struct crab_shadow *shadow, void *arg)
{
	struct shadow_test *s = arg;
	u64 a = crab_load(s->flow.media, s->word);
	u64 b = crab_load(s->flow.media, s->word + 1);

	KUNIT_EXPECT_EQ(s->test, crab_load(s->flow.media, s->word), a);
	s->seen |= 1U << (a * 4 + b);
	s->runs++;
	return 0;
}

/* Word 1 is read only where word 0 is new */
static int judge_lazy(struct crab_shadow *shadow, void *arg)
{
	struct shadow_test *s = arg;

	if (crab_load(s->flow.media, s->word))
		return judge_two(shadow, arg);
	s->runs++;
	return 0;
}

/* Two words of one line are independent: model W */
static void shadow_images(struct kunit *test)
{
	struct shadow_test s;

	shadow_begin(test, &s, CRAB_SHADOW_MODEL_WORD);
	crab_store(&s.flow, s.word, 1);
	crab_store(&s.flow, s.word + 1, 1);
	crab_store(&s.flow, s.word + 1, 2);
	KUNIT_EXPECT_EQ(test, shadow_outcomes(&s, judge_two), 0x77U);
	KUNIT_EXPECT_EQ(test, s.runs, 6U);
	KUNIT_EXPECT_EQ(test, shadow_outcomes(&s, judge_lazy), 0x70U);
	KUNIT_EXPECT_EQ(test, s.runs, 4U);
	crab_store(&s.flow, s.word + 1, 0);		/* a value that it had before */
	KUNIT_EXPECT_EQ(test, shadow_outcomes(&s, judge_two), 0x77U);
	KUNIT_EXPECT_EQ(test, s.runs, 6U);
}

/* After the cut: read the remaining words, overwrite them, cut again */
static int judge_life(struct crab_shadow *shadow, void *arg)
{
	struct shadow_test *s = arg;
	struct shadow_test inner = *s;
	u64 left = crab_load(s->flow.media, s->word);

	crab_store(&s->flow, s->word, 3);
	KUNIT_EXPECT_EQ(s->test, crab_load(s->flow.media, s->word), 3ULL);
	KUNIT_EXPECT_EQ(s->test, shadow_outcomes(&inner, judge_one), 1U << left | 8U);
	crab_store(&s->flow, s->word + 1, 3);		/* of a word not read: still open */
	KUNIT_EXPECT_EQ(s->test, shadow_outcomes(&inner, judge_two) & 0xffff,
			(left ? 0xb0U : 0xbU) | 0xb000U);
	s->runs++;
	return 0;
}

static void shadow_lives(struct kunit *test)
{
	struct shadow_test s;

	shadow_begin(test, &s, CRAB_SHADOW_MODEL_WORD);
	crab_store(&s.flow, s.word, 1);
	crab_store(&s.flow, s.word + 1, 1);
	shadow_outcomes(&s, judge_life);
	KUNIT_EXPECT_EQ(test, s.runs, 2U);
}

/* An access outside the media, or one that bypasses L1, is reported */
static void shadow_misuse(struct kunit *test)
{
	struct shadow_test s;

	shadow_begin(test, &s, CRAB_SHADOW_MODEL_WORD);
	crab_shadow_store(s.flow.media, (__le64 *)((u8 *)s.word + 4), 1);
	KUNIT_EXPECT_EQ(test, s.shadow->errors, 1ULL);
	crab_shadow_store(s.flow.media, s.word + s.shadow->words, 1);
	KUNIT_EXPECT_EQ(test, s.shadow->errors, 2ULL);
	crab_shadow_store(s.flow.media, s.word - 1, 1);
	crab_shadow_clean(s.flow.media, s.word + s.shadow->words - 1, 9);
	KUNIT_EXPECT_EQ(test, s.shadow->errors, 4ULL);
	crab_shadow_load(s.flow.media, s.word - 1);
	KUNIT_EXPECT_EQ(test, s.shadow->errors, 5ULL);
	KUNIT_EXPECT_EQ(test, s.shadow->counts.stores, 0ULL);
	crab_store(&s.flow, s.word, 1);
	crab_shadow_crash(s.shadow);
	KUNIT_EXPECT_GT(test, le64_to_cpu(*s.word), 1ULL);
}

/* The planted faults have their effect */
static void shadow_faults(struct kunit *test)
{
	struct shadow_test s;
	u32 fault;

	shadow_begin(test, &s, CRAB_SHADOW_MODEL_WORD);
	s.shadow->fault_point = CRAB_P7_FRESH;
	for (fault = CRAB_SHADOW_FENCE_LOST; fault <= CRAB_SHADOW_CLEAN_LOST; fault++) {
		s.shadow->fault = fault;
		crab_store(&s.flow, s.word, 1);
		crab_clean(&s.flow, s.word, 8);
		crab_fence(&s.flow, CRAB_P7_FRESH);
		KUNIT_EXPECT_EQ(test, shadow_outcomes(&s, judge_one), 3U);
		crab_fence(&s.flow, CRAB_P8_LINKED);	/* completes the cleans */
		KUNIT_EXPECT_EQ(test, shadow_outcomes(&s, judge_one),
				fault == CRAB_SHADOW_FENCE_LOST ? 2U : 3U);
		crab_store(&s.flow, s.word, 0);
		crab_clean(&s.flow, s.word, 8);
		crab_fence(&s.flow, CRAB_P6_RECORD);
		KUNIT_EXPECT_EQ(test, shadow_outcomes(&s, judge_one), 1U);
	}
	KUNIT_EXPECT_EQ(test, s.shadow->fault_hits, 3ULL);
}

static void persist_names(struct kunit *test)
{
	char number[4];
	u32 point;

	for (point = 1; point < CRAB_POINTS; point++) {
		snprintf(number, sizeof(number), "%u ", point);
		KUNIT_EXPECT_FALSE(test, strncmp(crab_shadow_point_name(point) + 1, number,
						 strlen(number)));
	}
	KUNIT_EXPECT_STREQ(test, crab_shadow_point_name(0), "no point");
	KUNIT_EXPECT_STREQ(test, crab_shadow_point_name(CRAB_POINTS), "no point");
}

/* The real primitives: lines are counted, values arrive */
static void persist_counts(struct kunit *test)
{
	struct crab_test *t = test->priv;
	struct crab_flow flow = { .media = &t->media };
	__le64 *word = (__le64 *)t->media.base;

	crab_store_pair(&flow, word + 2, 11, 12);
	KUNIT_EXPECT_EQ(test, crab_load(&t->media, word + 2), 11ULL);
	KUNIT_EXPECT_EQ(test, crab_load(&t->media, word + 3), 12ULL);
	crab_clean(&flow, word, 64);
	crab_clean(&flow, word + 7, 16);
	crab_fence(&flow, CRAB_P6_RECORD);
	KUNIT_EXPECT_EQ(test, flow.lines, 3ULL);
	KUNIT_EXPECT_EQ(test, flow.fences, 1ULL);
	t->media.fence_only = true;
	crab_clean(&flow, t->media.base + 1, 1024);
	KUNIT_EXPECT_EQ(test, flow.lines, 20ULL);
}

/* A swap is one event of its line; under model W a cut still separates its words */
static void shadow_swap(struct kunit *test)
{
	struct shadow_test s;
	u64 old[2] = { 0, 1 };

	shadow_begin(test, &s, CRAB_SHADOW_MODEL_LINE);
	KUNIT_ASSERT_EQ(test, crab_cas_pair_check(), 0);
	KUNIT_EXPECT_FALSE(test, crab_cas_pair(&s.flow, s.word, old, 2, 2));
	KUNIT_EXPECT_EQ(test, old[1], 0ULL);
	KUNIT_EXPECT_EQ(test, shadow_outcomes(&s, judge_two), 1U);
	KUNIT_EXPECT_TRUE(test, crab_cas_pair(&s.flow, s.word, old, 1, 1));
	KUNIT_EXPECT_EQ(test, shadow_outcomes(&s, judge_two), 0x21U);
	KUNIT_EXPECT_EQ(test, crab_cas(&s.flow, s.word, 0, 3), 1ULL);
	KUNIT_EXPECT_EQ(test, shadow_outcomes(&s, judge_two), 0x21U);
	KUNIT_EXPECT_EQ(test, crab_cas(&s.flow, s.word, 1, 2), 1ULL);
	KUNIT_EXPECT_EQ(test, shadow_outcomes(&s, judge_two), 0x221U);
	s.shadow->model = CRAB_SHADOW_MODEL_WORD;
	KUNIT_EXPECT_EQ(test, shadow_outcomes(&s, judge_two), 0x333U);
}

static void shadow_line(struct kunit *test)
{
	const u64 words[CRAB_LINE_WORDS] = { 1, 1 };
	struct shadow_test s;
	u32 model;

	shadow_begin(test, &s, CRAB_SHADOW_MODEL_WORD);
	for (model = CRAB_SHADOW_MODEL_WORD; model <= CRAB_SHADOW_MODEL_WHOLE_LINE; model++) {
		s.shadow->model = model;
		crab_store_line(&s.flow, s.word, words);
		KUNIT_EXPECT_EQ(test, shadow_outcomes(&s, judge_two),
				model == CRAB_SHADOW_MODEL_WHOLE_LINE ? 0x21U : 0x33U);
		crab_store(&s.flow, s.word, 0);
		crab_order(&s.flow);
		crab_store(&s.flow, s.word + 1, 0);
		crab_clean(&s.flow, s.word, CRAB_LINE);
		crab_fence(&s.flow, CRAB_P6_RECORD);
	}
}

/* Model E: stores of a CPU persist in their order, and a fence completes them without a clean */
static void shadow_cache(struct kunit *test)
{
	struct shadow_test s;

	shadow_begin(test, &s, CRAB_SHADOW_MODEL_CACHE);
	s.word += CRAB_LINE_WORDS - 1;			/* the second word is in another line */
	crab_store(&s.flow, s.word, 1);
	crab_store(&s.flow, s.word + 1, 1);		/* without order */
	KUNIT_EXPECT_EQ(test, shadow_outcomes(&s, judge_two), 0x33U);
	crab_order(&s.flow);
	crab_store(&s.flow, s.word, 2);
	KUNIT_EXPECT_EQ(test, shadow_outcomes(&s, judge_two), 0x233U);
	crab_fence(&s.flow, CRAB_P6_RECORD);
	KUNIT_EXPECT_EQ(test, shadow_outcomes(&s, judge_two), 0x200U);
	crab_store(&s.flow, s.word + 1, 2);
	crab_order(&s.flow);
	crab_store(&s.flow, s.word, 3);
	KUNIT_EXPECT_EQ(test, shadow_outcomes(&s, judge_two), 0x4600U);
	KUNIT_EXPECT_EQ(test, s.runs, 4U);
	s.shadow->model = CRAB_SHADOW_MODEL_LINE;
	KUNIT_EXPECT_EQ(test, shadow_outcomes(&s, judge_two), 0x6600U);
}

/* Model E: an order of one CPU is not that of another; a value that another CPU loads is durable */
static void shadow_cache_cpus(struct kunit *test)
{
	struct shadow_test s;

	shadow_begin(test, &s, CRAB_SHADOW_MODEL_CACHE);
	crab_store(&s.flow, s.word, 1);
	s.shadow->cpu = 1;
	crab_order(&s.flow);
	crab_store(&s.flow, s.word + 1, 1);
	KUNIT_EXPECT_EQ(test, shadow_outcomes(&s, judge_two), 0x33U);
	crab_fence(&s.flow, CRAB_P6_RECORD);		/* completes only its own store */
	KUNIT_EXPECT_EQ(test, shadow_outcomes(&s, judge_two), 0x22U);
	s.shadow->cpu = 0;
	crab_order(&s.flow);
	crab_store(&s.flow, s.word + 1, 2);
	KUNIT_EXPECT_EQ(test, shadow_outcomes(&s, judge_two), 0x62U);
	s.shadow->cpu = 1;
	KUNIT_EXPECT_EQ(test, crab_load(s.flow.media, s.word + 1), 2ULL);
	KUNIT_EXPECT_EQ(test, shadow_outcomes(&s, judge_two), 0x40U);
}

/* Model E: a CPU that loads one word of a swap has seen the swap */
static void shadow_cache_swap(struct kunit *test)
{
	struct shadow_test s;
	u64 old[2] = { 0, 0 };

	shadow_begin(test, &s, CRAB_SHADOW_MODEL_CACHE);
	KUNIT_EXPECT_TRUE(test, crab_cas_pair(&s.flow, s.word, old, 1, 1));
	KUNIT_EXPECT_EQ(test, shadow_outcomes(&s, judge_two), 0x21U);
	s.shadow->cpu = 1;
	KUNIT_EXPECT_EQ(test, crab_load(s.flow.media, s.word), 1ULL);
	KUNIT_EXPECT_EQ(test, shadow_outcomes(&s, judge_two), 0x20U);
}

/* Before the second word of a swap is loaded, another CPU stores the first */
static void shadow_store_first(struct crab_shadow *shadow, u32 word)
{
	struct crab_flow flow = { .media = shadow->media };
	__le64 *p = (__le64 *)shadow->media->base + word;

	if (word % 2 == 0)
		return;
	shadow->loading = NULL;
	shadow->cpu = 0;
	crab_store(&flow, p - 1, 1);
	shadow->cpu = 1;
}

/* Model E: a CPU whose swap is refused has seen both words */
static void shadow_cache_refused(struct kunit *test)
{
	struct shadow_test s;
	u64 old[2] = { 0, 0 };

	shadow_begin(test, &s, CRAB_SHADOW_MODEL_CACHE);
	s.shadow->cpu = 1;
	s.shadow->loading = shadow_store_first;
	KUNIT_EXPECT_FALSE(test, crab_cas_pair(&s.flow, s.word, old, 2, 2));
	KUNIT_EXPECT_EQ(test, old[0], 1ULL);
	KUNIT_EXPECT_EQ(test, shadow_outcomes(&s, judge_two), 0x10U);
}

/* Model E: a choice that is made late after a cut leaves the stores since the cut alone */
static void shadow_cache_late(struct kunit *test)
{
	struct shadow_test s;
	u64 value;

	shadow_begin(test, &s, CRAB_SHADOW_MODEL_CACHE);
	crab_store(&s.flow, s.word + 1, 1);
	crab_shadow_crash(s.shadow);
	for (value = 1; value <= 8; value++) {
		crab_order(&s.flow);
		crab_store(&s.flow, s.word, value);
	}
	KUNIT_EXPECT_EQ(test, crab_shadow_pending(s.shadow), 9U);
	crab_load(s.flow.media, s.word + 1);		/* chooses its value, and nothing else */
	KUNIT_EXPECT_EQ(test, crab_shadow_pending(s.shadow), 8U);
}

/* The real primitives of lock-free writers */
static void persist_swaps(struct kunit *test)
{
	struct crab_test *t = test->priv;
	struct crab_flow flow = { .media = &t->media };
	__le64 *word = (__le64 *)t->media.base;
	u64 words[CRAB_LINE_WORDS], old[2] = { 0, 0 };
	u32 i;

	KUNIT_EXPECT_EQ(test, crab_cas(&flow, word, 0, 5), 0ULL);
	KUNIT_EXPECT_EQ(test, crab_cas(&flow, word, 0, 6), 5ULL);
	KUNIT_EXPECT_EQ(test, crab_load_acquire(&t->media, word), 5ULL);
	KUNIT_EXPECT_FALSE(test, crab_cas_pair(&flow, word, old, 7, 8));
	KUNIT_EXPECT_EQ(test, old[0], 5ULL);
	KUNIT_EXPECT_TRUE(test, crab_cas_pair(&flow, word, old, 7, 8));
	KUNIT_EXPECT_EQ(test, crab_load(&t->media, word), 7ULL);
	KUNIT_EXPECT_EQ(test, crab_load(&t->media, word + 1), 8ULL);
	for (i = 0; i < CRAB_LINE_WORDS; i++)
		words[i] = i + 100;
	crab_store_line(&flow, word + CRAB_LINE_WORDS, words);
	for (i = 0; i < CRAB_LINE_WORDS; i++)
		KUNIT_EXPECT_EQ(test, crab_load(&t->media, word + CRAB_LINE_WORDS + i), i + 100ULL);
	KUNIT_EXPECT_EQ(test, crab_load(&t->media, word + 1), 8ULL);
	KUNIT_EXPECT_EQ(test, crab_load(&t->media, word + 2 * CRAB_LINE_WORDS), 0ULL);
}

static struct kunit_case persist_cases[] = {
	KUNIT_CASE(shadow_swap),
	KUNIT_CASE(shadow_line),
	KUNIT_CASE(shadow_cache),
	KUNIT_CASE(shadow_cache_cpus),
	KUNIT_CASE(shadow_cache_swap),
	KUNIT_CASE(shadow_cache_refused),
	KUNIT_CASE(shadow_cache_late),
	KUNIT_CASE(persist_swaps),
	KUNIT_CASE(shadow_fence),
	KUNIT_CASE(shadow_other_line),
	KUNIT_CASE(shadow_other_cpu),
	KUNIT_CASE(shadow_images),
	KUNIT_CASE(shadow_lives),
	KUNIT_CASE(shadow_misuse),
	KUNIT_CASE(shadow_faults),
	KUNIT_CASE(persist_names),
	KUNIT_CASE(persist_counts),
	{}
};

CRAB_TEST_SUITE(persist, crab_test_init, crab_test_exit);

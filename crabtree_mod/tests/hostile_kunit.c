// SPDX-License-Identifier: GPL-2.0
/*
 * This suite runs hostile scripts: each unmodified image, and every script that the
 * fuzzer kept. The oracle decides, together with KASAN, UBSAN
 * and lockdep.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "kunit.h"
#include "hostile.h"

static const char * const corpus[] = {
#include "hostile_corpus.h"
#include "hostile_bugs.h"
};

static int hostile_init(struct kunit *test)
{
	struct crab_hostile *h;
	int err = crab_persist_init();

	if (err)
		return err;
	h = vzalloc(sizeof(*h));
	test->priv = h;
	if (!h)
		return -ENOMEM;
	h->media.durability = CRAB_DURABILITY_POP;
	h->media.base = vzalloc(CRAB_HOSTILE_BYTES);
	return h->media.base ? 0 : -ENOMEM;
}

static void hostile_exit(struct kunit *test)
{
	struct crab_hostile *h = test->priv;

	if (h)
		vfree(h->media.base);
	vfree(h);
}

static void play(struct kunit *test, const u8 *script, size_t len, const char *name)
{
	struct crab_hostile *h = test->priv;

	KUNIT_ASSERT_EQ(test, crab_hostile_plant(h, script[0] % crab_hostile_seeds()), 0);
	crab_hostile_edit(h, script, len);
	KUNIT_EXPECT_TRUE_MSG(test, crab_hostile_judge(h, script, len), "%s: %s: %s", name,
			      h->seed->name, h->said);
}

static void hostile_seeds(struct kunit *test)
{
	u8 script[CRAB_HOSTILE_HEAD];
	u32 i;

	for (i = 0; i < crab_hostile_seeds(); i++) {
		script[0] = i;
		script[1] = CRAB_HOSTILE_READ | CRAB_HOSTILE_WRITE;
		play(test, script, sizeof(script), "as it is");
	}
}

static u8 nibble(char c)
{
	return c <= '9' ? c - '0' : c - 'a' + 10;
}

static void hostile_corpus(struct kunit *test)
{
	u8 script[CRAB_HOSTILE_HEAD + CRAB_HOSTILE_VERBS * CRAB_HOSTILE_VERB];
	size_t len;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(corpus); i++) {
		for (len = 0; corpus[i][2 * len] && len < sizeof(script); len++)
			script[len] = nibble(corpus[i][2 * len]) << 4 |
				      nibble(corpus[i][2 * len + 1]);
		play(test, script, len, corpus[i]);
	}
	kunit_info(test, "%zu scripts", ARRAY_SIZE(corpus));
}

static struct kunit_case hostile_cases[] = {
	KUNIT_CASE(hostile_seeds),
	KUNIT_CASE(hostile_corpus),
	{}
};

CRAB_TEST_SUITE(hostile, hostile_init, hostile_exit);

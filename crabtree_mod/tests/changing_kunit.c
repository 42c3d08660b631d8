// SPDX-License-Identifier: GPL-2.0
/*
 * This suite changes the media under a store: a word, a line, a leaf or all of it, to ones, to
 * zeros, to other words of it or to anything, before any load of attach, of an operation, of CHECK
 * or of detach. Half of the changes are of the very word that is about to be loaded: two loads of
 * one word differ.
 *
 * The records may then have any content. The suite checks that no access leaves the region (by
 * the shadow of the media) or the kernel's own tables (by KASAN), that each operation ends with a
 * documented result, and that damage turns the store read-only.
 */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "engines/crab/crab.h"
#include "engines/nbtree/eadr/eadr.h"
#include "media/format.h"
#include "store/store_priv.h"
#include "kunit.h"
#include "rng.h"

/* For each kind of store. An emulated kernel with every checker does about 20 in a second */
#if defined(CRABTREE_HOST)
#define RUNS		1000
#elif defined(CONFIG_UML)
#define RUNS		50
#else
#define RUNS		15
#endif
#define STEPS		60	/* operations of a run */
#define KEYS		192
#define LOADS		400	/* between two changes, at most */
#define LOADS_OF_CALL	200	/* of each word of the media, in one call at most */
#define BATCH		24
#define NODES		8192

/* The value that a change stores in a word */
enum fill { FILL_ONES, FILL_ZEROS, FILL_RANDOM, FILL_COPY, FILL_FLIP, FILLS };

struct kind {
	const char *name;
	const char *engine;
	const char *layout;
	u32 leaf_bytes;
	u32 leaves;
	struct crab_tuning tuning;
};

/* CRAB_LEAF_BYTES_MIN is smaller in a build with the shadow */
static const struct kind kinds[] = {
	{ "slotted, 128 bytes", "crab", "slotted", 128, 60, { } },
	{ "slotted, 1 KiB", "crab", "slotted", 1024, 12, { } },
	{ "slotted, 8 KiB", "crab", "slotted", 8192, 6, { } },
	{ "sorted, shifted", "crab", "sorted", 128, 60, { .strategy = CRAB_STRATEGY_SIP } },
	{ "sorted, copied", "crab", "sorted", 128, 60, { .strategy = CRAB_STRATEGY_COW,
							 .on_demand = true } },
	{ "sorted, 512 bytes", "crab", "sorted", 512, 20, { .strategy = CRAB_STRATEGY_AUTO,
							    .pair = true, .probe = true } },
	{ "adr", "nbtree", "adr", 128, 60, { } },
	{ "eadr, 128 bytes", "nbtree", "eadr", 128, 60, { } },
	{ "eadr, 512 bytes", "nbtree", "eadr", 512, 20, { } },
	{ "clfb, inplace", "clfb", "inplace", 128, 60, { } },
	{ "clfb, twin", "clfb", "twin", 128, 60, { } },
	{ "clfb, atomic", "clfb", "atomic", 256, 30, { } },
	{ "clfb, encoded", "clfb", "encoded", 64, 120, { } },
	{ "nvtree", "nvtree", "append", 256, 30, { } },
	{ "fastfair", "fastfair", "shift", 256, 60, { } },
};

/**
 * struct changing - one run
 * @test: its test
 * @kind: of the store
 * @media: its memory
 * @number: of the run
 * @seed: of all choices
 * @quiet: loads until the next change
 * @loads: loads by the call in progress
 * @changes: changes that are left
 */
struct changing {
	struct kunit *test;
	const struct kind *kind;
	struct crab_media media;
	u32 number;
	u64 seed;
	u32 quiet;
	u64 loads;
	u32 changes;
};

static void change_words(struct changing *c, u32 from, u32 n, enum fill fill)
{
	__le64 *words = (__le64 *)c->media.base;
	u32 i, end = min_t(u32, from + n, c->media.size / sizeof(*words));

	for (i = from; i < end; i++) {
		switch (fill) {
		case FILL_ONES:
			words[i] = cpu_to_le64(~0ULL);
			break;
		case FILL_ZEROS:
			words[i] = 0;
			break;
		case FILL_RANDOM:
			words[i] = cpu_to_le64(rng(&c->seed));
			break;
		case FILL_COPY:
			words[i] = words[rng_below(&c->seed, c->media.size / sizeof(*words))];
			break;
		default:
			words[i] ^= cpu_to_le64(1ULL << rng_below(&c->seed, 64));
		}
	}
}

/* Number of words that change: mostly one, sometimes a line or a leaf, rarely all */
static u32 change_size(struct changing *c)
{
	switch (rng_below(&c->seed, 16)) {
	case 0:
		return c->media.size / sizeof(u64);
	case 1 ... 3:
		return c->kind->leaf_bytes / sizeof(u64);
	case 4 ... 7:
		return CRAB_LINE / sizeof(u64);
	default:
		return 1;
	}
}

static void change(struct changing *c, u32 loading)
{
	u32 n = change_size(c), words = c->media.size / sizeof(u64);
	u32 at = rng_below(&c->seed, 2) ? loading : rng_below(&c->seed, words);

	change_words(c, n == 1 ? at : at / n * n, n, rng_below(&c->seed, FILLS));
}

static void changing_loading(struct crab_shadow *shadow, u32 word)
{
	struct changing *c = shadow->hook_arg;

	c->loads++;
	if (!c->changes || c->quiet--)
		return;
	change(c, word);
	c->changes--;
	c->quiet = rng_below(&c->seed, LOADS);
}

/* A call has returned: its error must be a permitted one, and its loads few enough */
static void over(struct changing *c, const char *call, int err)
{
	static const int errors[] = { 0, -ENOENT, -EEXIST, -ENOSPC, -EUCLEAN, -EROFS, -ENODATA,
				      -EMEDIUMTYPE, -EPROTONOSUPPORT, -EINVAL };
	u64 most = c->media.size / sizeof(u64) * LOADS_OF_CALL;
	bool known = err > 0;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(errors); i++)
		known |= err == errors[i];
	KUNIT_EXPECT_TRUE_MSG(c->test, known, "%s, run %u: %s: error %d", c->kind->name, c->number,
			      call, err);
	KUNIT_EXPECT_TRUE_MSG(c->test, c->loads <= most, "%s, run %u: %s: %llu loads",
			      c->kind->name, c->number, call, (unsigned long long)c->loads);
	c->loads = 0;
}

static u64 random_key(struct changing *c)
{
	return rng_below(&c->seed, KEYS) * 1000003ULL;
}

/* Any value, or the void of a leaf, which a slotted leaf cannot hold */
static u64 random_value(struct changing *c)
{
	u32 leaf = rng_below(&c->seed, c->kind->leaves);
	const struct crab_dleaf *d = (const void *)(c->media.base + CRAB_POOL_OFFSET +
						    leaf * c->kind->leaf_bytes);

	return rng_below(&c->seed, 4) ? rng(&c->seed) : le64_to_cpu(d->head.own);
}

static void call_batch(struct changing *c, struct crab_store *store)
{
	struct crab_batch_op ops[BATCH];
	u32 i;

	memset(ops, 0, sizeof(ops));
	for (i = 0; i < BATCH; i++) {
		ops[i].verb = rng_below(&c->seed, 3);
		ops[i].key = random_key(c);
		ops[i].value = random_value(c);
	}
	crab_store_batch(store, ops, BATCH);
	for (i = 0; i < BATCH; i++)
		over(c, "batch", ops[i].status);
}

/* Scans to the end, or stops at a quarantined range */
static void call_scan(struct changing *c, struct crab_store *store)
{
	struct crab_record records[BATCH];
	struct crab_cursor cursor;
	u32 calls;
	int n = 0;

	if (rng_below(&c->seed, 2))
		crab_cursor_init(&cursor, random_key(c), CRAB_KEY_EMPTY - 1);
	else
		crab_cursor_init_back(&cursor, 0, random_key(c));
	for (calls = 0; !cursor.done && n >= 0 && calls < 4 * KEYS; calls++) {
		n = crab_cursor_read(store, &cursor, records, 1 + rng_below(&c->seed, BATCH));
		over(c, "scan", n);
		if (n == -EUCLEAN && calls % 2) {
			crab_cursor_skip(store, &cursor);
			n = 0;
		}
	}
	KUNIT_EXPECT_TRUE_MSG(c->test, calls < 4 * KEYS, "%s, run %u: a scan without end",
			      c->kind->name, c->number);
}

static void call_check(struct changing *c, struct crab_store *store)
{
	struct crab_check_report report;

	over(c, "check", crab_store_check(store, &report));
}

static void call(struct changing *c, struct crab_store *store)
{
	struct crab_record record;
	struct crab_old old;
	u64 value;

	switch (rng_below(&c->seed, 16)) {
	case 0 ... 6:
		over(c, "insert", crab_store_insert(store, random_key(c), random_value(c),
						    rng_below(&c->seed, 3), &old));
		break;
	case 7 ... 9:
		over(c, "delete", crab_store_delete(store, random_key(c), &old));
		break;
	case 10:
		over(c, "search", crab_store_search(store, random_key(c), &value));
		break;
	case 11:
		over(c, "seek", crab_store_seek(store, random_key(c), rng_below(&c->seed, 2),
						&record));
		break;
	case 12:
		call_scan(c, store);
		break;
	case 13:
		call_batch(c, store);
		break;
	case 14:
		crab_store_maintain(store);
		over(c, "maintain", 0);
		break;
	default:
		if (!rng_below(&c->seed, 4))
			call_check(c, store);
	}
}

static void fill(struct changing *c, struct crab_store *store)
{
	u32 i, n = rng_below(&c->seed, KEYS);
	struct crab_old old;

	for (i = 0; i < n; i++)
		crab_store_insert(store, random_key(c), i, CRAB_INSERT_EITHER, &old);
}

/* The media may change during this attach */
static struct crab_store *changing_attach(struct changing *c)
{
	struct crab_attach_options options = { .readonly = !rng_below(&c->seed, 6),
					       .tuning = &c->kind->tuning };
	struct crab_attach_report report;
	struct crab_store *store = crab_store_attach(&c->media, &options, &report);

	over(c, "attach", PTR_ERR_OR_ZERO(store));
	return store;
}

static void changing_life(struct changing *c)
{
	struct crab_store *store = changing_attach(c);
	u32 i;

	if (IS_ERR(store))
		return;
	for (i = 0; i < STEPS; i++)
		call(c, store);
	call_check(c, store);
	if (rng_below(&c->seed, 2))
		crab_store_detach(store);
	else
		crab_store_abandon(store);
	over(c, "detach", 0);
}

/* The engine that has the layout */
static const struct crab_engine_ops *engine_of(const char *layout)
{
	u32 i = 0;

	while (!crab_layout_by_name(crab_engines[i], layout))
		i++;
	return crab_engines[i];
}

static enum crab_model needs_of(const char *layout)
{
	return crab_layout_by_name(engine_of(layout), layout)->needs;
}

/* Fills a store; then attaches and uses it twice while the media changes */
static void changing_run(struct changing *c)
{
	struct crab_format_options options = {
		.force = true, .leaf_bytes = c->kind->leaf_bytes, .layout = c->kind->layout,
		.engine = c->kind->engine, .label = "kunit",
	};
	struct crab_shadow *shadow = crab_shadow_create(&c->media, NODES);
	char reason[CRAB_REASON_LEN];
	struct crab_store *store;

	KUNIT_ASSERT_NOT_NULL(c->test, shadow);
	shadow->hook_arg = c;
	shadow->model = crab_shadow_model_of(needs_of(c->kind->layout));
	KUNIT_EXPECT_EQ(c->test, crab_store_format(&c->media, &options, reason), 0);
	store = changing_attach(c);
	if (!IS_ERR(store)) {
		fill(c, store);
		crab_store_detach(store);
	}
	c->loads = 0;
	c->changes = 1 + rng_below(&c->seed, 8);
	c->quiet = rng_below(&c->seed, 20 * LOADS);
	shadow->loading = changing_loading;
	changing_life(c);
	changing_life(c);
	KUNIT_EXPECT_EQ_MSG(c->test, shadow->errors, (u64)0, "%s, run %u: %s", c->kind->name,
			    c->number, shadow->error);
	crab_shadow_destroy(shadow);
}

static void changing_media(struct kunit *test)
{
	struct changing *c = kunit_kzalloc(test, sizeof(*c), GFP_KERNEL);
	u32 run, i;

	crab_test_long(test);
	KUNIT_ASSERT_NOT_NULL(test, c);
	KUNIT_ASSERT_EQ(test, crab_persist_init(), 0);
	for (run = 1; run <= RUNS; run++) {
		for (i = 0; i < ARRAY_SIZE(kinds); i++) {
			memset(c, 0, sizeof(*c));
			c->test = test;
			c->kind = &kinds[i];
			c->number = run;
			c->seed = run * 0x9e3779b97f4a7c15ULL | 1;
			c->media.size = 2 * CRAB_POOL_OFFSET +
					kinds[i].leaves * kinds[i].leaf_bytes;
			c->media.durability = CRAB_DURABILITY_POP;
			c->media.fence_only = needs_of(kinds[i].layout) == CRAB_MODEL_CACHE;
			c->media.base = vzalloc(c->media.size);
			KUNIT_ASSERT_NOT_NULL(test, c->media.base);
			changing_run(c);
			vfree(c->media.base);
		}
	}
	kunit_info(test, "%u runs of each of %zu kinds of store", RUNS, ARRAY_SIZE(kinds));
}

/* A structure modification finds damage: one -EUCLEAN, and read-only from then on */
static void expect_damage(struct kunit *test, int err, const char *what)
{
	struct crab_store_info *info = kunit_kzalloc(test, sizeof(*info), GFP_KERNEL);
	struct crab_test *t = test->priv;

	KUNIT_ASSERT_NOT_NULL(test, info);
	KUNIT_EXPECT_EQ_MSG(test, err, -EUCLEAN, "%s", what);
	KUNIT_EXPECT_EQ_MSG(test, crab_test_put(test, 1, 1), -EROFS, "%s", what);
	crab_store_info(t->store, info);
	KUNIT_EXPECT_TRUE_MSG(test, info->readonly, "%s", what);
	KUNIT_EXPECT_TRUE_MSG(test, strstr(info->reason, what), "%s: %s", what, info->reason);
}

/* A store of one full leaf with the keys 0, 10, 20, ... */
static struct crab_dleaf *full_leaf(struct kunit *test, const char *layout)
{
	struct crab_test *t;
	u32 i;

	KUNIT_ASSERT_EQ(test, crab_test_init(test), 0);
	crab_test_format(test, "crab", layout, CRAB_TEST_LEAF);
	/* Not at random: the key that needs room has the fingerprint of no other one */
	t = test->priv;
	crab_tree_of(t->store->engine)->mix = (struct crab_mix){ .factor = 0x9e3779b97f4a7c15ULL };
	for (i = 0; i < CRAB_TEST_SLOTS; i++)
		KUNIT_EXPECT_EQ(test, crab_test_put(test, 10 * i, i), 0);
	return crab_test_leaf(test, 0);
}

static void changing_split(struct kunit *test)
{
	struct crab_dleaf *leaf = full_leaf(test, "slotted");
	const size_t size = CRAB_TEST_SLOTS * sizeof(leaf->slots[0]);
	struct crab_dslot slots[CRAB_TEST_SLOTS];

	memcpy(slots, leaf->slots, size);
	memset(leaf->slots, 0xff, size);
	expect_damage(test, crab_test_put(test, 15, 1), "leaf 0: a key that splits");
	/* The fresh leaves were freed: each leaf is in the list or in the pool */
	memcpy(leaf->slots, slots, size);
	crab_test_expect_check(test, CRAB_TEST_SLOTS);
	crab_test_exit(test);
}

/* The OR of keys: a bit that no key of the range can have is detected, in ranges of any size */
static void changing_keys(struct kunit *test)
{
	struct crab_leaf leaf = { .low = 0x100, .high = 0x180 };

	KUNIT_EXPECT_TRUE(test, crab_leaf_may_have(&leaf, leaf.high, 0x100 | 0x17f));
	KUNIT_EXPECT_FALSE(test, crab_leaf_may_have(&leaf, leaf.high, 0x100 | 0x180));
	KUNIT_EXPECT_FALSE(test, crab_leaf_may_have(&leaf, leaf.high, ~0ULL));
	leaf.high = leaf.low + 1;
	KUNIT_EXPECT_TRUE(test, crab_leaf_may_have(&leaf, leaf.high, leaf.low));
	KUNIT_EXPECT_FALSE(test, crab_leaf_may_have(&leaf, leaf.high, leaf.low | 1));
	leaf.low = 0;
	KUNIT_EXPECT_TRUE(test, crab_leaf_may_have(&leaf, CRAB_KEY_EMPTY, ~0ULL));
}

static void changing_order(struct kunit *test)
{
	struct crab_dleaf *leaf = full_leaf(test, "sorted");

	swap(leaf->slots[2].key, leaf->slots[3].key);
	expect_damage(test, crab_test_put(test, 5, 1), "leaf 0: keys do not ascend");
	crab_test_exit(test);
}

/* When the rewrite loads the first slot, the key of the second slot changes */
static void vanish_loading(struct crab_shadow *shadow, u32 word)
{
	struct crab_dleaf *leaf = shadow->hook_arg;

	if ((__le64 *)shadow->media->base + word == &leaf->slots[0].key)
		leaf->slots[1].key = cpu_to_le64(le64_to_cpu(leaf->slots[1].key) + 1);
}

/* A value equal to the leaf's void makes the store rewrite the leaf; the key has vanished then */
static void changing_rewrite(struct kunit *test)
{
	struct crab_dleaf *leaf = full_leaf(test, "slotted");
	u64 key = le64_to_cpu(leaf->slots[1].key), value = le64_to_cpu(leaf->head.own);
	struct crab_test *t = test->priv;

	crab_test_shadow(test);
	t->shadow->hook_arg = leaf;
	t->shadow->loading = vanish_loading;
	expect_damage(test, crab_test_put(test, key, value), "leaf 0: a key that it held");
	KUNIT_EXPECT_EQ_MSG(test, t->shadow->errors, (u64)0, "%s", t->shadow->error);
	crab_test_exit(test);
}

/* The link of the second of three leaves is damaged, then its records */
static void changing_link(struct kunit *test)
{
	struct crab_dleaf *leaf;
	u64 key;
	int err = 0;
	u32 i;

	full_leaf(test, "slotted");
	for (i = CRAB_TEST_SLOTS; i < 3 * CRAB_TEST_SLOTS; i++)
		KUNIT_EXPECT_EQ(test, crab_test_put(test, 10 * i, i), 0);
	leaf = crab_test_listed(test, 1);
	KUNIT_ASSERT_NOT_NULL(test, leaf);
	leaf->head.next = cpu_to_le64(~0ULL);
	for (i = 0; i < CRAB_TEST_SLOTS && !err; i++) {
		key = le64_to_cpu(leaf->slots[i].key);
		if (key != CRAB_KEY_EMPTY)
			err = crab_test_del(test, key);
	}
	expect_damage(test, err, "link does not lead to the next leaf");
	crab_test_exit(test);
}

/* A full leaf of eadr with the keys 0, 10, 20, ..., a slot of which has changed */
static void change_eadr(struct kunit *test, u32 slot, u64 word)
{
	struct nb_dleaf *leaf;
	u32 i;

	KUNIT_ASSERT_EQ(test, crab_test_init(test), 0);
	crab_test_format(test, "nbtree", "eadr", CRAB_TEST_LEAF);
	for (i = 0; i < CRAB_TEST_SLOTS; i++)
		KUNIT_EXPECT_EQ(test, crab_test_put(test, 10 * i, i), 0);
	leaf = (struct nb_dleaf *)crab_test_leaf(test, 0);
	leaf->slot[slot].key = cpu_to_le64(word);
}

static void changing_eadr(struct kunit *test)
{
	change_eadr(test, CRAB_TEST_SLOTS - 1, EA_FREE);
	expect_damage(test, crab_test_put(test, 15, 1), "leaf 0: a slot in use is free");
	crab_test_exit(test);
	change_eadr(test, 3, EA_FROZEN | 30);
	expect_damage(test, crab_test_del(test, 30), "leaf 0: a record is frozen, but not");
	crab_test_exit(test);
}

static struct kunit_case changing_cases[] = {
	KUNIT_CASE(changing_media),
	KUNIT_CASE(changing_split),
	KUNIT_CASE(changing_keys),
	KUNIT_CASE(changing_order),
	KUNIT_CASE(changing_rewrite),
	KUNIT_CASE(changing_link),
	KUNIT_CASE(changing_eadr),
	{}
};

CRAB_TEST_SUITE(changing, NULL, NULL);

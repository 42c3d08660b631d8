// SPDX-License-Identifier: GPL-2.0
/*
 * This file damages superblocks, one field at a time. Attach must return the exact error,
 * the verdict and a reason, and must not change the media.
 */
#include "media/badmem.h"
#include "target.h"
#include "test.h"
#include "tests/seal.h"

struct super_case {
	const char *name;
	void (*damage)(void);
	int err;
	enum crab_verdict verdict;
	const char *says;
};

#define both(d, what)							\
	do {								\
		struct crab_dsuper *d;					\
		u32 _i;							\
		for (_i = 0; _i < CRAB_SUPER_COPIES; _i++) {		\
			d = target_super(_i);					\
			what;						\
			crab_seal_super(d);					\
		}							\
	} while (0)

static void super_blank(void)		{ memset(target.media.base, 0, target.media.size); }
static void super_foreign(void)		{ super_blank(); target.media.base[1024] = 0xef; }
static void super_torn(u32 copy)	{ target_super(copy)->leaves ^= 1; }
static void super_torn_both(void)	{ super_torn(0); super_torn(1); }
static void super_newer(void)		{ both(d, d->version = cpu_to_le32(2)); }
static void super_older(void)		{ both(d, d->version = 0); }
static void super_incompat(void)	{ both(d, d->feature_incompat = cpu_to_le64(8)); }
static void super_names(void)		{ both(d, d->feature_incompat = cpu_to_le64(4)); }
static void super_both(void)		{ both(d, d->feature_incompat = cpu_to_le64(6)); }
static void super_engine(void)		{ both(d, d->engine = cpu_to_le16(77)); }
static void super_layout(void)		{ both(d, d->layout = cpu_to_le16(9)); }
static void super_larger(void)		{ both(d, d->region_bytes = cpu_to_le64(1 << 30)); }
static void super_leaf_odd(void)	{ both(d, d->leaf_bytes = cpu_to_le32(1000)); }
static void super_leaf_small(void)	{ both(d, d->leaf_bytes = cpu_to_le32(256)); }
static void super_leaf_zero(void)	{ both(d, d->leaf_bytes = 0); }
static void super_leaf_huge(void)	{ both(d, d->leaf_bytes = cpu_to_le32(1U << 31)); }
static void super_pool_low(void)	{ both(d, d->pool_offset = cpu_to_le64(4096)); }
static void super_pool_odd(void)	{ both(d, d->pool_offset = cpu_to_le64(16385)); }
static void super_pool_huge(void)	{ both(d, d->pool_offset = cpu_to_le64(~0ULL << 14)); }
static void super_leaves_many(void)	{ both(d, d->leaves = cpu_to_le64(TARGET_LEAVES + 1)); }
static void super_leaves_huge(void)	{ both(d, d->leaves = cpu_to_le64(1ULL << 60)); }
/* The region would be large enough */
static void super_leaves_most(void)
{
	both(d, d->leaves = cpu_to_le64(CRAB_LEAVES_MAX + 1);
	     d->region_bytes = cpu_to_le64(1ULL << 62));
}

static void super_leaves_none(void)	{ both(d, d->leaves = 0); }
static void super_state(void)		{ both(d, d->state = cpu_to_le32(9)); }
static void super_small(void)		{ target.media.size = 8192; }

#define NEWER	-EPROTONOSUPPORT, CRAB_VERDICT_NEWER
#define MISFIT	-EINVAL, CRAB_VERDICT_MISFIT
#define DAMAGED	-EUCLEAN, CRAB_VERDICT_DAMAGED

static const struct super_case super_cases[] = {
	{ "blank region", super_blank, -ENODATA, CRAB_VERDICT_BLANK, "blank" },
	{ "foreign data", super_foreign, -EMEDIUMTYPE, CRAB_VERDICT_FOREIGN, "1024" },
	{ "both superblocks torn", super_torn_both, DAMAGED, "0 or 4096" },
	{ "newer format", super_newer, NEWER, "version 2" },
	{ "a format before the first one", super_older, NEWER, "version 0" },
	{ "names without blobs", super_names, DAMAGED, "names without blobs" },
	{ "names and commits without blobs", super_both, DAMAGED, "names without blobs" },
	{ "unknown incompat bit", super_incompat, NEWER, "0x8" },
	{ "unknown engine", super_engine, NEWER, "engine 77" },
	{ "unknown layout", super_layout, NEWER, "layout 9" },
	{ "region smaller than the store", super_larger, MISFIT, "region of" },
	{ "region smaller than any store", super_small, MISFIT, "too small" },
	{ "leaf size not a power of two", super_leaf_odd, DAMAGED, "leaf size" },
	{ "leaf size below those of the layout", super_leaf_small, DAMAGED, "leaf size" },
	{ "leaf size 0", super_leaf_zero, DAMAGED, "leaf size" },
	{ "leaf size 2 GiB", super_leaf_huge, DAMAGED, "leaf size" },
	{ "more leaves than any store has", super_leaves_most, DAMAGED, "number of leaves" },
	{ "pool over the superblocks", super_pool_low, DAMAGED, "pool offset" },
	{ "pool unaligned", super_pool_odd, DAMAGED, "pool offset" },
	{ "pool out of the region", super_pool_huge, DAMAGED, "pool offset" },
	{ "one leaf too many", super_leaves_many, DAMAGED, "number of leaves" },
	{ "leaves without number", super_leaves_huge, DAMAGED, "number of leaves" },
	{ "no leaves", super_leaves_none, DAMAGED, "number of leaves" },
	{ "state unknown", super_state, DAMAGED, "state" },
};

static void super_case_run(const struct super_case *t)
{
	struct crab_attach_report report;
	struct crab_store *store;
	u8 *before = malloc(TARGET_BYTES);

	target_begin();
	t->damage();
	memcpy(before, target.media.base, TARGET_BYTES);
	memset(&report, 0x5a, sizeof(report));
	store = store_try(&target.media, &report);
	tap_check(PTR_ERR(store) == t->err, "%ld", PTR_ERR(store));
	tap_check(report.verdict == t->verdict, "%d", report.verdict);
	tap_check(strstr(report.reason, t->says), "reason: %s", report.reason);
	tap_check(!memcmp(before, target.media.base, TARGET_BYTES), "media changed");
	tap_ok(true, "%s: %s", t->name, report.reason);
	free(before);
	if (!IS_ERR(store))
		crab_store_abandon(store);
}

/* Damage that costs no record */
static void good_cases(void)
{
	u32 copy;

	for (copy = 0; copy < CRAB_SUPER_COPIES; copy++) {
		target_begin();
		target_super(copy)->leaves ^= 0x55;
		target_expect_good("one superblock torn", true);
		target_begin();
		memset(target_super(copy), 0, sizeof(struct crab_dsuper));
		target_expect_good("one superblock gone", true);
	}
	target_begin();
	both(d, d->feature_compat = cpu_to_le64(1));
	target_expect_good("unknown compat bit", true);
	target_begin();
	both(d, d->feature_ro_compat = cpu_to_le64(1));
	target_expect_good("unknown ro-compat bit", false);
}

static bool is_unwritten(void)
{
	char reason[CRAB_REASON_LEN];
	struct crab_super super;

	return crab_super_read(&target.media, &super, reason) == CRAB_VERDICT_GOOD && super.unwritten;
}

/* Only FORMAT leaves both copies clean, of one store, with its sequences */
static void unwritten_cases(void)
{
	target_begin();
	both(d, d->state = cpu_to_le32(CRAB_SUPER_STATE_CLEAN); d->sequence = cpu_to_le64(2 - _i));
	tap_check(is_unwritten(), "as FORMAT");
	target_super(0)->sequence = cpu_to_le64(4);
	crab_seal_super(target_super(0));
	tap_check(!is_unwritten(), "another sequence of the first copy");
	target_super(0)->sequence = cpu_to_le64(2);
	crab_seal_super(target_super(0));
	target_super(1)->sequence = cpu_to_le64(3);
	crab_seal_super(target_super(1));
	tap_check(!is_unwritten(), "another sequence of the second copy");
	target_super(1)->sequence = cpu_to_le64(1);
	target_super(1)->store_id ^= 1;
	crab_seal_super(target_super(1));
	tap_check(!is_unwritten(), "another store");
	both(d, d->state = cpu_to_le32(CRAB_SUPER_STATE_ATTACHED); d->sequence = cpu_to_le64(2 - _i));
	tap_check(!is_unwritten(), "as FINISH");
	tap_ok(true, "a store is unwritten as FORMAT left it");
}

static enum crab_verdict read_super(struct crab_super *super, char *reason)
{
	return crab_super_read(&target.media, super, reason);
}

/* Sequences are counted modulo 2^64 */
static void sequence_cases(void)
{
	char reason[CRAB_REASON_LEN];
	struct crab_super super;
	u32 newer;

	for (newer = 0; newer < CRAB_SUPER_COPIES; newer++) {
		target_begin();
		both(d, d->sequence = cpu_to_le64(_i == newer ? 1 : ~0ULL - 1));
		tap_check(read_super(&super, reason) == CRAB_VERDICT_GOOD && super.copy == newer,
			  "copy %u is newer: %u", newer, super.copy);
	}
	tap_ok(true, "the newer superblock is found when the sequence overflows");
}

/* A copy that cannot be read: the verdict on the other one remains, or it can only be read */
static void unreadable_cases(void)
{
	static struct crab_badmem bad;
	char reason[CRAB_REASON_LEN], at[64];
	struct crab_super super;
	enum crab_verdict verdict;
	u32 copy;

	for (copy = 0; copy < CRAB_SUPER_COPIES; copy++) {
		target_begin();
		crab_badmem_init(&bad);
		crab_badmem_add(&bad, copy * CRAB_SUPER_STRIDE + 128, 1);
		target.media.bad = &bad;
		verdict = read_super(&super, reason);
		snprintf(at, sizeof(at), "superblock, at %llu,", copy * CRAB_SUPER_STRIDE);
		tap_check(verdict == CRAB_VERDICT_RO && strstr(reason, at), "copy %u: %d, %s", copy, verdict,
			  reason);
		tap_check(super.state == CRAB_SUPER_STATE_ATTACHED && !super.engine_root && !super.unwritten,
			  "copy %u: state %u", copy, super.state);
		target_super(!copy)->version = cpu_to_le32(2);
		crab_seal_super(target_super(!copy));
		verdict = read_super(&super, reason);
		tap_check(verdict == CRAB_VERDICT_NEWER, "copy %u: %d, %s", copy, verdict, reason);
		target.media.bad = NULL;
	}
	tap_ok(true, "a superblock that cannot be read, next to a good one, and to one of a newer version");
}

/* One copy is torn, and the other one is gone: it is a store, though a damaged one */
static void remains_cases(void)
{
	char reason[CRAB_REASON_LEN];
	struct crab_super super;
	u32 copy;

	for (copy = 0; copy < CRAB_SUPER_COPIES; copy++) {
		target_begin();
		super_torn(copy);
		memset(target_super(!copy), 0, sizeof(struct crab_dsuper));
		tap_check(read_super(&super, reason) == CRAB_VERDICT_DAMAGED, "copy %u: %s", copy, reason);
		target_super(!copy)->magic = cpu_to_le64(CRAB_MAGIC_VOID);
		tap_check(read_super(&super, reason) == CRAB_VERDICT_BLANK, "copy %u: %s", copy, reason);
	}
	tap_ok(true, "the remains of a store, and of a FORMAT");
}

/* All fields that the next attach needs after a clean detach */
static void root_case(void)
{
	struct crab_flow flow = { .media = &target.media };
	char reason[CRAB_REASON_LEN];
	struct crab_super super, again;

	target_begin();
	read_super(&super, reason);
	super.engine_root = 12345;
	super.state = CRAB_SUPER_STATE_CLEAN;
	crab_super_write(&flow, &super);
	tap_ok(read_super(&again, reason) == CRAB_VERDICT_GOOD && again.engine_root == 12345 &&
	       again.sequence == super.sequence && again.copy == super.copy &&
	       again.state == CRAB_SUPER_STATE_CLEAN, "the root of the engine: %llu", again.engine_root);
}

/* An update writes all fields, those of a newer version, too */
static void fields_case(void)
{
	struct crab_attach_report report;
	struct crab_store *store;

	target_begin();
	both(d, d->feature_compat = cpu_to_le64(1); d->formatted_at = cpu_to_le64(77));
	store = store_try(&target.media, &report);
	tap_check(store->super.formatted_at == 77, "%llu", store->super.formatted_at);
	crab_store_detach(store);
	tap_check(target_super(0)->feature_compat == cpu_to_le64(1) &&
		  target_super(1)->feature_compat == cpu_to_le64(1), "the unknown bit");
	tap_ok(target_super(0)->formatted_at == cpu_to_le64(77) &&
	       target_super(1)->formatted_at == cpu_to_le64(77), "an update keeps all fields");
	tap_ok(crab_super_geometry(1 << 24, CRAB_BLOCK_BYTES_MAX) &&
	       !crab_super_geometry(1 << 24, 2 * CRAB_BLOCK_BYTES_MAX) &&
	       crab_super_geometry(1 << 24, CRAB_BLOCK_BYTES_MIN) && !crab_super_geometry(4096, 512) &&
	       !crab_super_geometry(1 << 24, CRAB_BLOCK_BYTES_MIN / 2) &&
	       crab_super_geometry(CRAB_POOL_OFFSET + CRAB_LEAVES_MIN * 512, 512) &&
	       !crab_super_geometry(CRAB_POOL_OFFSET + CRAB_LEAVES_MIN * 512 - 1, 512),
	       "leaves have the sizes between two limits");
}

/* Other data is searched at both ends of a large region */
static void large_cases(void)
{
	static const struct {
		u64 offset;
		bool found;
	} words[] = {
		{ 8192, true }, { (256 << 10) - 8, true }, { 256 << 10, false },
		{ (960 << 10) - 8, false }, { 960 << 10, true }, { (1 << 20) - 8, true },
	};
	struct crab_media media = media_create(1 << 20);
	char reason[CRAB_REASON_LEN], text[32];
	struct crab_super super;
	enum crab_verdict verdict;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(words); i++) {
		media.base[words[i].offset] = 1;
		verdict = crab_super_read(&media, &super, reason);
		media.base[words[i].offset] = 0;
		snprintf(text, sizeof(text), "offset %llu", (unsigned long long)words[i].offset);
		tap_check(verdict == (words[i].found ? CRAB_VERDICT_FOREIGN : CRAB_VERDICT_BLANK) &&
			  !!strstr(reason, text) == words[i].found, "%s: %s", text, reason);
	}
	tap_ok(true, "other data at both ends of a region is found");
	media_destroy(&media);
}

static void layout_run(bool sorted)
{
	u32 i;

	target_make(sorted, 7);
	for (i = 0; i < ARRAY_SIZE(super_cases); i++)
		super_case_run(&super_cases[i]);
	good_cases();
	unwritten_cases();
	sequence_cases();
	unreadable_cases();
	remains_cases();
	root_case();
	fields_case();
	target_destroy();
}

int main(void)
{
	layout_run(false);
	layout_run(true);
	large_cases();
	return tap_done();
}

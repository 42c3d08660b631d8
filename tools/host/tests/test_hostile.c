// SPDX-License-Identifier: GPL-2.0
/*
 * This file damages real images, one thing at a time, and holds attach to its
 * rule: the exact error, one line that says what and where, the rest served
 * read-only, a key in doubt never said to be absent, no byte of the media
 * changed.
 *
 *   test_hostile [FLIPS [SEED]]
 */
#include <stdio.h>
#include <stdlib.h>

#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/printk.h>
#include <linux/random.h>
#include <linux/string.h>

#include "engines/crab/crab.h"
#include "model.h"
#include "tap.h"
#include "tests/seal.h"

#define LEAF_BYTES	512
#define LEAVES		40
#define KEYS		400
#define MEDIA_BYTES	(CRAB_POOL_OFFSET + LEAVES * LEAF_BYTES)

static struct crab_media image;		/* good; each case damages a copy */
static struct crab_media media;
static struct model *model;
static u32 order[LEAVES], leaves;	/* leaf numbers in the order of the list */
static struct crab_geometry geo;
static bool sorted;			/* the layout of the image, else slotted */

static u32 log_lines;
static char log_last[512];

static void log_keep(char level, const char *line)
{
	log_lines++;
	strscpy(log_last, line, sizeof(log_last));
}

/* Places in the copy */

static struct crab_dsuper *dsuper(u32 copy)
{
	return (struct crab_dsuper *)(media.base + copy * CRAB_SUPER_STRIDE);
}

static struct crab_dleaf *dleaf(u32 nth)
{
	return (struct crab_dleaf *)(media.base + CRAB_POOL_OFFSET + order[nth] * LEAF_BYTES);
}

static u64 leaf_offset(u32 nth)
{
	return CRAB_POOL_OFFSET + order[nth] * LEAF_BYTES;
}

static void leaf_seal(u32 nth)
{
	crab_seal_head(&dleaf(nth)->head);
}

/* The least key that the @nth leaf may hold: of a sorted one its first key says it */
static u64 leaf_low(u32 nth)
{
	if (sorted)
		return nth ? le64_to_cpu(dleaf(nth)->slots[0].key) : 0;
	return le64_to_cpu(dleaf(nth)->head.low);
}

static u64 link_to(u32 nth)
{
	return crab_link_to(&geo, order[nth], le64_to_cpu(dleaf(nth)->head.birth));
}

/* Cases about superblocks: what attach says before it looks at a leaf */

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
			d = dsuper(_i);					\
			what;						\
			crab_seal_super(d);					\
		}							\
	} while (0)

static void super_blank(void)		{ memset(media.base, 0, media.size); }
static void super_foreign(void)		{ super_blank(); memcpy(media.base + 1024, "EXT", 3); }
static void super_torn_both(void)	{ dsuper(0)->leaves ^= 1; dsuper(1)->uuid[3] ^= 1; }
static void super_newer(void)		{ both(d, d->version = cpu_to_le32(2)); }
static void super_incompat(void)	{ both(d, d->feature_incompat = cpu_to_le64(4)); }
static void super_engine(void)		{ both(d, d->engine = cpu_to_le16(77)); }
static void super_layout(void)		{ both(d, d->layout = cpu_to_le16(9)); }
static void super_larger(void)		{ both(d, d->region_bytes = cpu_to_le64(1 << 30)); }
static void super_leaf_odd(void)	{ both(d, d->leaf_bytes = cpu_to_le32(1000)); }
static void super_leaf_zero(void)	{ both(d, d->leaf_bytes = 0); }
static void super_leaf_huge(void)	{ both(d, d->leaf_bytes = cpu_to_le32(1U << 31)); }
static void super_pool_low(void)	{ both(d, d->pool_offset = cpu_to_le64(4096)); }
static void super_pool_odd(void)	{ both(d, d->pool_offset = cpu_to_le64(16385)); }
static void super_pool_huge(void)	{ both(d, d->pool_offset = cpu_to_le64(~0ULL << 14)); }
static void super_leaves_many(void)	{ both(d, d->leaves = cpu_to_le64(LEAVES + 1)); }
static void super_leaves_huge(void)	{ both(d, d->leaves = cpu_to_le64(1ULL << 60)); }
static void super_leaves_none(void)	{ both(d, d->leaves = 0); }
static void super_state(void)		{ both(d, d->state = cpu_to_le32(9)); }
static void super_small(void)		{ media.size = 8192; }

#define NEWER	-EPROTONOSUPPORT, CRAB_VERDICT_NEWER
#define MISFIT	-EINVAL, CRAB_VERDICT_MISFIT
#define DAMAGED	-EUCLEAN, CRAB_VERDICT_DAMAGED

static const struct super_case super_cases[] = {
	{ "blank region", super_blank, -ENODATA, CRAB_VERDICT_BLANK, "blank" },
	{ "foreign data", super_foreign, -EMEDIUMTYPE, CRAB_VERDICT_FOREIGN, "1024" },
	{ "both superblocks torn", super_torn_both, DAMAGED, "0 or 4096" },
	{ "newer format", super_newer, NEWER, "version 2" },
	{ "unknown incompat bit", super_incompat, NEWER, "0x4" },
	{ "unknown engine", super_engine, NEWER, "engine 77" },
	{ "unknown layout", super_layout, NEWER, "layout 9" },
	{ "region smaller than the store", super_larger, MISFIT, "region of" },
	{ "region smaller than any store", super_small, MISFIT, "too small" },
	{ "leaf size not a power of two", super_leaf_odd, DAMAGED, "leaf size" },
	{ "leaf size 0", super_leaf_zero, DAMAGED, "leaf size" },
	{ "leaf size 2 GiB", super_leaf_huge, DAMAGED, "leaf size" },
	{ "pool over the superblocks", super_pool_low, DAMAGED, "pool offset" },
	{ "pool unaligned", super_pool_odd, DAMAGED, "pool offset" },
	{ "pool out of the region", super_pool_huge, DAMAGED, "pool offset" },
	{ "one leaf too many", super_leaves_many, DAMAGED, "number of leaves" },
	{ "leaves without number", super_leaves_huge, DAMAGED, "number of leaves" },
	{ "no leaves", super_leaves_none, DAMAGED, "number of leaves" },
	{ "state unknown", super_state, DAMAGED, "state" },
};

static void case_begin(void)
{
	media.size = image.size;
	memcpy(media.base, image.base, image.size);
	log_lines = 0;
}

static void super_case_run(const struct super_case *t)
{
	struct crab_attach_options options = { 0 };
	struct crab_attach_report report;
	struct crab_store *store;
	u8 *before = malloc(MEDIA_BYTES);

	case_begin();
	t->damage();
	memcpy(before, media.base, MEDIA_BYTES);
	memset(&report, 0x5a, sizeof(report));
	store = crab_store_attach(&media, &options, &report);
	tap_check(PTR_ERR(store) == t->err, "%ld", PTR_ERR(store));
	tap_check(report.verdict == t->verdict, "%d", report.verdict);
	tap_check(strstr(report.reason, t->says), "reason: %s", report.reason);
	tap_check(!memcmp(before, media.base, MEDIA_BYTES), "media changed");
	tap_ok(true, "%s: %s", t->name, report.reason);
	free(before);
	if (!IS_ERR(store))
		crab_store_abandon(store);
}

/* Cases in which all is served */

static void good_case(const char *name, bool writable)
{
	struct crab_attach_options options = { 0 };
	struct crab_attach_report report;
	struct crab_store *store = crab_store_attach(&media, &options, &report);
	struct crab_old old;
	int err;

	if (IS_ERR(store)) {
		tap_ok(false, "%s: %ld %s", name, PTR_ERR(store), report.reason);
		return;
	}
	tap_check(report.verdict == (writable ? CRAB_VERDICT_GOOD : CRAB_VERDICT_RO), "%d",
		  report.verdict);
	tap_check(!report.reason[0] == writable, "%s", report.reason);
	model_compare(model, store);
	err = crab_store_insert(store, model->keys[0], model->values[0], CRAB_INSERT_EITHER, &old);
	tap_check(err == (writable ? 0 : -EROFS), "%d", err);
	crab_store_detach(store);
	if (!writable)
		tap_check(!memcmp(media.base + sizeof(struct crab_dsuper),
				  image.base + sizeof(struct crab_dsuper), 2048), "media changed");
	tap_ok(true, "%s: all is served%s", name, writable ? "" : ", read-only");
}

static void good_cases(void)
{
	u32 copy;

	for (copy = 0; copy < CRAB_SUPER_COPIES; copy++) {
		case_begin();
		dsuper(copy)->leaves ^= 0x55;
		good_case("one superblock torn", true);
		case_begin();
		memset(dsuper(copy), 0, sizeof(struct crab_dsuper));
		good_case("one superblock gone", true);
	}
	case_begin();
	both(d, d->feature_compat = cpu_to_le64(1));
	good_case("unknown compat bit", true);
	case_begin();
	both(d, d->feature_ro_compat = cpu_to_le64(1));
	good_case("unknown ro-compat bit", false);
}

/* Cases about the list and the leaves: the store is served, but not all of it */

struct leaf_case {
	const char *name;
	void (*damage)(u32 nth);
	s32 from;	/* leaves in quarantine, seen from the damaged one */
	s32 to;
	s32 at;		/* leaf in which the offset lies that the reason names */
	const char *says;
};

#define ALL_BEHIND	LEAVES

static void leaf_crc(u32 n)	{ dleaf(n)->head.low ^= 256; }
static void leaf_foreign(u32 n)	{ dleaf(n)->head.store_id ^= 1; leaf_seal(n); }
static void leaf_moved(u32 n)	{ dleaf(n)->head.self ^= 512; leaf_seal(n); }
static void leaf_reborn(u32 n)	{ dleaf(n)->head.birth ^= 64; leaf_seal(n); }
static void link_range(u32 n)	{ dleaf(n)->head.next |= 0xffffffff; }
static void link_check(u32 n)	{ dleaf(n)->head.next ^= 1ULL << 50; }
static void link_end_early(u32 n) { dleaf(n)->head.next &= ~CRAB_LINK_MASK; }
static void link_zero(u32 n)	{ dleaf(n)->head.next = 0; }
static void link_loop(u32 n)	{ dleaf(n)->head.next = link_to(n - 2); }
static void link_self(u32 n)	{ dleaf(n)->head.next = link_to(n); }

static u32 live_slot(u32 n, u32 from)
{
	const struct crab_dleaf *d = dleaf(n);

	while (d->slots[from].key == CRAB_KEY_EMPTY || d->slots[from].value == d->head.void_value)
		from++;
	return from;
}

static void slot_key(u32 n, u64 key)
{
	dleaf(n)->slots[live_slot(n, 0)].key = cpu_to_le64(key);
}

static void slot_foreign(u32 n)	{ slot_key(n, le64_to_cpu(dleaf(n + 1)->head.low)); }
static void slot_below(u32 n)	{ slot_key(n, le64_to_cpu(dleaf(n)->head.low) - 1); }

static void slot_twin(u32 n)
{
	u32 a = live_slot(n, 0), b = live_slot(n, a + 1);

	dleaf(n)->slots[b].key = dleaf(n)->slots[a].key;
}

static void slot_low(u32 n)	{ dleaf(n)->head.low = dleaf(n - 1)->head.low; leaf_seal(n); }

/* What both layouts have: headers and links */
static const struct leaf_case list_cases[] = {
	{ "header damaged", leaf_crc, 0, 1, -1, "valid header" },
	{ "leaf of another store", leaf_foreign, 0, 1, -1, "valid header" },
	{ "leaf that says it is elsewhere", leaf_moved, 0, 1, -1, "valid header" },
	{ "stale leaf", leaf_reborn, 0, ALL_BEHIND, -1, "another birth" },
	{ "link out of range", link_range, 1, ALL_BEHIND, 0, "out of the pool" },
	{ "link with a wrong check", link_check, 1, ALL_BEHIND, 0, "another birth" },
	{ "list ends early", link_end_early, 1, ALL_BEHIND, 0, "out of the pool" },
	{ "link zeroed", link_zero, 1, ALL_BEHIND, 0, "out of the pool" },
	{ "loop", link_loop, 1, ALL_BEHIND, 0, "in the list already" },
	{ "leaf linked to itself", link_self, 1, ALL_BEHIND, 0, "in the list already" },
};

static const struct leaf_case slotted_cases[] = {
	{ "least key does not ascend", slot_low, 0, ALL_BEHIND, -1, "ascend" },
	{ "key above the leaf's range", slot_foreign, 0, 1, 0, "outside the leaf's range" },
	{ "key below the leaf's range", slot_below, 0, 1, 0, "outside the leaf's range" },
	{ "key twice", slot_twin, 0, 1, 0, "twice" },
};

/* Sorted leaves: records of the @nth, and one of them changed to what no cut leaves */

static u32 sorted_count(u32 nth)
{
	u32 count = 0;

	while (count < crab_leaf_slots(LEAF_BYTES) &&
	       dleaf(nth)->slots[count].key != cpu_to_le64(CRAB_KEY_EMPTY))
		count++;
	return count;
}

static void sorted_first(u32 n)	{ dleaf(n)->slots[0].key = dleaf(n - 1)->slots[0].key; }
static void sorted_twins(u32 n)	{ dleaf(n)->slots[1] = dleaf(n)->slots[2];
				  dleaf(n)->slots[3] = dleaf(n)->slots[4]; }
static void sorted_triple(u32 n) { dleaf(n)->slots[1] = dleaf(n)->slots[2];
				   dleaf(n)->slots[3] = dleaf(n)->slots[2]; }

static void sorted_swap(u32 n)
{
	struct crab_dslot slot = dleaf(n)->slots[2];

	dleaf(n)->slots[2] = dleaf(n)->slots[3];
	dleaf(n)->slots[3] = slot;
}

/* At or above the first key behind it, and not there */
static void sorted_beyond(u32 n)
{
	u64 low = leaf_low(n + 1);

	dleaf(n)->slots[sorted_count(n) - 1].key = cpu_to_le64(low + 1);
}

/* The leaf after the damaged one has no records, which no cut leaves ... */
static void sorted_emptied(u32 n)
{
	leaf_crc(n);
	dleaf(n + 1)->slots[0].key = cpu_to_le64(CRAB_KEY_EMPTY);
}

/* ... or its first record also stands in the leaf before, as a cut leaves it */
static void sorted_astride(u32 n)
{
	struct crab_dslot *slots = dleaf(n - 1)->slots;
	u32 count = sorted_count(n - 1), all = crab_leaf_slots(LEAF_BYTES);

	leaf_crc(n);
	tap_check(count < all, "leaf %u has no room", n - 1);
	slots[count] = dleaf(n + 1)->slots[0];
	if (count + 1 < all)
		slots[count + 1].key = cpu_to_le64(CRAB_KEY_EMPTY);
}

static const struct leaf_case sorted_cases[] = {
	{ "first key does not ascend", sorted_first, 0, ALL_BEHIND, -1, "ascend" },
	{ "keys not ascending", sorted_swap, 0, 1, 0, "do not ascend" },
	{ "two twins", sorted_twins, 0, 1, 0, "more than one record" },
	{ "a key three times", sorted_triple, 0, 1, 0, "more than one record" },
	{ "overlap that is not in the next leaf", sorted_beyond, 0, 1, 0, "a later leaf" },
	{ "header damaged before an empty leaf", sorted_emptied, 0, 2, -1, "valid header" },
	{ "header damaged, and an overlap over it", sorted_astride, 0, 1, -1, "valid header" },
};

/* Which leaf of the good list holds a key */
static u32 leaf_of(u64 key)
{
	u32 n = leaves;

	while (n-- && leaf_low(n) > key)
		;
	return n;
}

/* Every key: the right value outside [@from, @to), -EUCLEAN inside, and never a guess */
static void served(struct crab_store *store, const u32 *home, u32 from, u32 to)
{
	bool in_doubt;
	u64 value;
	u32 i;
	int err;

	for (i = 0; i < model->n; i++) {
		in_doubt = home[i] >= from && home[i] < to;
		value = 0;
		err = crab_store_search(store, model->keys[i], &value);
		if (in_doubt)
			tap_check(err == -EUCLEAN, "key %llu in leaf %u: %d", model->keys[i],
				  home[i], err);
		else if (model->there[i])
			tap_check(!err && value == model->values[i], "key %llu in leaf %u: %d",
				  model->keys[i], home[i], err);
		else	/* absent; at the edge of a gap nobody can know */
			tap_check(err == -ENOENT || err == -EUCLEAN, "key %llu: %d",
				  model->keys[i], err);
	}
}

/* Behind each gap it goes on, with greater keys, and so comes to an end */
static void scanned_behind(struct crab_store *store, struct crab_cursor *cursor)
{
	struct crab_record r;
	u64 before;
	int n;

	do {
		before = cursor->next;
		n = crab_cursor_read(store, cursor, &r, 1);
		if (n == -EUCLEAN)
			crab_cursor_skip(store, cursor);
		if (!cursor->done && cursor->next <= before) {
			tap_fail("scan stands still at %llu", before);
			return;
		}
	} while (!cursor->done);
	tap_check(n >= 0 || n == -EUCLEAN, "scan ends with %d", n);
}

/* A scan gives all before the first gap and then says so */
static void scanned(struct crab_store *store, const u32 *home, u32 from)
{
	struct crab_record r[7];
	struct crab_cursor cursor;
	u32 i = 0;
	int n, k;

	crab_cursor_init(&cursor, 0, CRAB_KEY_EMPTY);
	while ((n = crab_cursor_read(store, &cursor, r, ARRAY_SIZE(r))) > 0) {
		for (k = 0; k < n; k++, i++) {
			while (i < model->n && !model->there[i])
				i++;
			tap_check(i < model->n && home[i] < from && r[k].key == model->keys[i],
				  "scan gives %llu", r[k].key);
		}
	}
	tap_check(n == -EUCLEAN, "scan ends with %d", n);
	for (; i < model->n; i++)
		tap_check(!model->there[i] || home[i] >= from, "scan leaves out %llu",
			  model->keys[i]);
	scanned_behind(store, &cursor);
}

static void refused(struct crab_store *store)
{
	struct crab_check_report report;
	struct crab_store_info info;
	struct crab_old old;
	u32 i;

	for (i = 0; i < model->n; i += 37) {
		tap_check(crab_store_insert(store, model->keys[i], 1, CRAB_INSERT_EITHER, &old) ==
			  -EROFS, "insert");
		tap_check(crab_store_delete(store, model->keys[i], &old) == -EROFS, "delete");
	}
	tap_check(!crab_store_maintain(store), "maintain");
	crab_store_check(store, &report);
	tap_check(report.damage.count, "check finds nothing");
	crab_store_info(store, &info);
	tap_check(info.readonly && info.reason[0], "info: %s", info.reason);
}

/* The offset that a reason names lies in the structure of @bytes at @begin */
static void located(const char *reason, u64 begin, u64 bytes)
{
	unsigned long long at = 0;

	tap_check(sscanf(reason, "damaged at offset %llu", &at) == 1 && at >= begin &&
		  at < begin + bytes, "%s: not in %llu + %llu", reason, begin, bytes);
}

static void damaged(const char *name, const char *says, u64 at, u32 from, u32 to, const u32 *home)
{
	struct crab_attach_options options = { 0 };
	struct crab_attach_report report;
	struct crab_store *store;
	u8 *before = malloc(MEDIA_BYTES);

	memcpy(before, media.base, MEDIA_BYTES);
	store = crab_store_attach(&media, &options, &report);
	if (IS_ERR(store)) {
		tap_ok(false, "%s: %ld %s", name, PTR_ERR(store), report.reason);
		free(before);
		return;
	}
	tap_check(report.verdict == CRAB_VERDICT_RO, "%d", report.verdict);
	tap_check(strstr(report.reason, says), "reason: %s", report.reason);
	tap_check(log_lines == 1 && strstr(log_last, "at offset") && strstr(log_last, says),
		  "%u lines, the last: %s", log_lines, log_last);
	located(report.reason, at, at == CRAB_HEAD_OFFSET ? sizeof(struct crab_dhead) : LEAF_BYTES);
	served(store, home, from, to);
	scanned(store, home, from);
	refused(store);
	crab_store_detach(store);
	tap_check(!memcmp(before, media.base, MEDIA_BYTES), "media changed");
	tap_ok(true, "%s: %s", name, report.reason);
	free(before);
}

static void homes(u32 *home)
{
	u32 i;

	case_begin();
	for (i = 0; i < model->n; i++)
		home[i] = leaf_of(model->keys[i]);
}

static void leaf_case_run(const struct leaf_case *t, u32 nth)
{
	char name[64];
	u32 home[KEYS];

	homes(home);
	t->damage(nth);
	snprintf(name, sizeof(name), "%s, leaf %u of %u: %s", sorted ? "sorted" : "slotted", nth,
		 leaves, t->name);
	damaged(name, t->says, leaf_offset(nth + t->at), nth + t->from,
		t->to == ALL_BEHIND ? LEAVES : nth + t->to, home);
}

static void leaf_cases_run(const struct leaf_case *t, u32 count)
{
	for (; count--; t++) {
		leaf_case_run(t, 2);
		leaf_case_run(t, leaves - 2);
	}
}

/* A leaf of the middle with room, and with room behind the next one's first record */
static u32 leaf_with_room(void)
{
	u32 n = leaves / 2;

	while (sorted_count(n) + 1 >= crab_leaf_slots(LEAF_BYTES))
		n++;
	return n;
}

/* Sorted: what cuts leave is no damage, and what nobody reads may hold anything */
static void sorted_good_cases(u64 seed)
{
	struct crab_dslot *d;
	u64 *bitmap, garbage[64];
	u32 n, i, count;

	case_begin();
	n = leaf_with_room();
	count = sorted_count(n);
	d = dleaf(n)->slots;
	memmove(&d[2], &d[1], (count - 1) * sizeof(*d));
	d[1].value = cpu_to_le64(~0ULL);
	d[count + 1].key = cpu_to_le64(CRAB_KEY_EMPTY);
	good_case("sorted: a shift that was cut", true);
	case_begin();
	d = &dleaf(n)->slots[count];
	d[1].key = cpu_to_le64(CRAB_KEY_EMPTY);
	d[0] = dleaf(n + 1)->slots[0];
	d[0].value = cpu_to_le64(0);
	good_case("sorted: a record in two neighbours", true);
	case_begin();
	bitmap = (u64 *)(media.base + CRAB_BITMAP_OFFSET);
	for (i = 0; i < ARRAY_SIZE(garbage); i++)
		garbage[i] = rng(&seed);
	memcpy(bitmap, garbage, sizeof(garbage));
	good_case("sorted: garbage in the bitmap", true);
	tap_ok(!memcmp(bitmap, garbage, sizeof(garbage)), "sorted: which is left as it is");
}

static void head_cases(void)
{
	struct crab_dhead *head = (struct crab_dhead *)(media.base + CRAB_HEAD_OFFSET);
	u32 home[KEYS];

	homes(home);
	head->birth ^= 1;
	damaged("head damaged", "head of the leaf list", CRAB_HEAD_OFFSET, 0, LEAVES, home);
	homes(home);
	head->next = 0;
	damaged("head linked to nothing", "out of the pool", CRAB_HEAD_OFFSET, 0, LEAVES, home);
	homes(home);
	head->next = link_to(3);
	damaged("head linked into the middle", "ascend", CRAB_HEAD_OFFSET, 0, LEAVES, home);
	homes(home);
	leaf_crc(0);
	damaged("first leaf damaged", "valid header", CRAB_HEAD_OFFSET, 0, 1, home);
	homes(home);
	link_zero(leaves - 1);
	damaged("end of the list zeroed", "out of the pool", leaf_offset(leaves - 1), LEAVES,
		LEAVES, home);
}

/* Whatever is flipped, wherever: no crash, no hang, and no write where damage was seen */
static void flips(u32 count, u64 seed)
{
	struct crab_attach_options options = { 0 };
	struct crab_attach_report report;
	u8 *before = malloc(MEDIA_BYTES);
	u32 i, n, seen = 0, at, home[KEYS];
	struct crab_store *store;

	for (i = 0; i < count; i++) {
		homes(home);
		for (n = 1 + rng(&seed) % 3; n; n--) {
			at = rng(&seed) % (MEDIA_BYTES - 8192 + 512);
			at = at < 256 ? at : at < 512 ? at + 4096 - 256 : at + 8192 - 512;
			media.base[at] ^= 1 << rng(&seed) % 8;
		}
		memcpy(before, media.base, MEDIA_BYTES);
		store = crab_store_attach(&media, &options, &report);
		if (!IS_ERR(store) && report.verdict == CRAB_VERDICT_GOOD) {
			crab_store_abandon(store);
			continue;
		}
		seen++;
		tap_check(report.reason[0], "no reason");
		if (!IS_ERR(store)) {
			refused(store);
			crab_store_detach(store);
		}
		tap_check(!memcmp(before, media.base, MEDIA_BYTES), "media changed");
	}
	tap_ok(seen > count / 20, "%u random flips: %u seen as damage, none harmful", count, seen);
	free(before);
}

/* A good image: a list of many leaves, out of order in the pool, holes in the leaves */
static void image_make(u64 seed)
{
	struct crab_store *store;
	struct crab_old old;
	u64 word;
	u32 i, at;

	crab_host_seed(seed);
	image = media_create(MEDIA_BYTES);
	media = media_create(MEDIA_BYTES);
	model = model_create(KEYS, MODEL_UNIFORM, seed);
	store = store_format_attach(&image, "crab", sorted ? "sorted" : "slotted", LEAF_BYTES);
	for (i = 0; i < KEYS; i++) {
		at = i * 61 % model->n;
		if (at == model->n - 1)
			continue;	/* something must be left behind the last leaf to doubt */
		if (!crab_store_insert(store, model->keys[at], i, CRAB_INSERT_EITHER, &old))
			model_put(model, at, i);
	}
	for (i = 0; i < KEYS; i += 5) {
		if (!crab_store_delete(store, model->keys[i], &old))
			model_drop(model, i);
	}
	crab_store_detach(store);
	case_begin();
	geo.pool_offset = CRAB_POOL_OFFSET;
	geo.leaf_bytes = LEAF_BYTES;
	geo.store_id = le32_to_cpu(dsuper(0)->store_id);
	word = le64_to_cpu(((struct crab_dhead *)(media.base + CRAB_HEAD_OFFSET))->next);
	for (leaves = 0; word & CRAB_LINK_MASK; word = le64_to_cpu(dleaf(leaves++)->head.next))
		order[leaves] = (word & CRAB_LINK_MASK) - 1;
}

static void layout_run(u32 count, u64 seed)
{
	u32 i;

	image_make(seed);
	tap_ok(leaves >= 8, "%s: an image with a list of %u leaves",
	       sorted ? "sorted" : "slotted", leaves);
	for (i = 0; i < ARRAY_SIZE(super_cases); i++)
		super_case_run(&super_cases[i]);
	good_cases();
	leaf_cases_run(list_cases, ARRAY_SIZE(list_cases));
	if (sorted) {
		sorted_good_cases(seed);
		leaf_cases_run(sorted_cases, ARRAY_SIZE(sorted_cases));
	} else {
		leaf_cases_run(slotted_cases, ARRAY_SIZE(slotted_cases));
	}
	head_cases();
	flips(count, seed);
	model_destroy(model);
	media_destroy(&image);
	media_destroy(&media);
}

int main(int argc, char **argv)
{
	u32 count = argc > 1 ? atoi(argv[1]) : 20000;
	u64 seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 7;

	if (crab_persist_init())
		return 2;
	crab_host_log = log_keep;
	layout_run(count, seed);
	sorted = true;
	layout_run(count, seed);
	return tap_done();
}

// SPDX-License-Identifier: GPL-2.0
/*
 * This file damages the list and the leaves of real images, one word at a time. Attach must
 * log one line with the kind and the place of the damage and serve the remaining records
 * read-only. Each key whose leaf is unknown must return -EUCLEAN, and the media must not change.
 *
 *   test_hostile [FLIPS [SEED]]
 */
#include "target.h"
#include "test.h"

/* Cases of the list and the leaves: attach serves a part of the store */

struct leaf_case {
	const char *name;
	void (*damage)(u32 nth);
	s32 from;	/* leaves in quarantine, relative to the damaged one */
	s32 to;
	s32 at;		/* leaf with the offset in the reason, relative to the damaged one */
	const char *says;
};

#define ALL_AFTER	TARGET_LEAVES

static void leaf_crc(u32 n)	{ target_leaf(n)->head.low ^= 256; }
static void leaf_foreign(u32 n)	{ target_leaf(n)->head.store_id ^= 1; target_seal(n); }
static void leaf_moved(u32 n)	{ target_leaf(n)->head.self ^= 512; target_seal(n); }
static void leaf_reborn(u32 n)	{ target_leaf(n)->head.birth ^= 64; target_seal(n); }
static void link_range(u32 n)	{ target_leaf(n)->head.next |= 0xffffffff; }
static void leaf_crcs(u32 n)	{ leaf_crc(n); leaf_crc(n + 1); }
static void link_past(u32 n)
{
	u64 *next = &target_leaf(n)->head.next;

	*next = (*next & ~CRAB_LINK_MASK) | (TARGET_LEAVES + 1);
}

static void link_check(u32 n)	{ target_leaf(n)->head.next ^= 1ULL << 50; }
static void link_end_early(u32 n) { target_leaf(n)->head.next &= ~CRAB_LINK_MASK; }
static void link_zero(u32 n)	{ target_leaf(n)->head.next = 0; }
static void link_loop(u32 n)	{ target_leaf(n)->head.next = target_link(n - 2); }
static void link_self(u32 n)	{ target_leaf(n)->head.next = target_link(n); }

static u32 live_slot(u32 n, u32 from)
{
	const struct crab_dleaf *d = target_leaf(n);

	while (d->slots[from].key == CRAB_KEY_EMPTY || d->slots[from].value == d->head.own)
		from++;
	return from;
}

static void slot_key(u32 n, u64 key)
{
	target_leaf(n)->slots[live_slot(n, 0)].key = cpu_to_le64(key);
}

static void slot_foreign(u32 n)	{ slot_key(n, le64_to_cpu(target_leaf(n + 1)->head.low)); }
static void slot_below(u32 n)	{ slot_key(n, le64_to_cpu(target_leaf(n)->head.low) - 1); }

static void slot_twin(u32 n)
{
	u32 a = live_slot(n, 0), b = live_slot(n, a + 1);

	target_leaf(n)->slots[b].key = target_leaf(n)->slots[a].key;
}

static void slot_low(u32 n)
{
	target_leaf(n)->head.low = target_leaf(n - 1)->head.low;
	target_seal(n);
}

/* Cases of both layouts: headers and links */
static const struct leaf_case list_cases[] = {
	{ "header damaged", leaf_crc, 0, 1, -1, "valid header" },
	{ "leaf of another store", leaf_foreign, 0, 1, -1, "valid header" },
	{ "leaf that says it is elsewhere", leaf_moved, 0, 1, -1, "valid header" },
	{ "two headers damaged", leaf_crcs, 0, ALL_AFTER, -1, "valid header" },
	{ "stale leaf", leaf_reborn, 0, ALL_AFTER, -1, "another birth" },
	{ "link out of range", link_range, 1, ALL_AFTER, 0, "out of the pool" },
	{ "link to the end of the pool", link_past, 1, ALL_AFTER, 0, "out of the pool" },
	{ "link with a wrong check", link_check, 1, ALL_AFTER, 0, "another birth" },
	{ "list ends early", link_end_early, 1, ALL_AFTER, 0, "out of the pool" },
	{ "link zeroed", link_zero, 1, ALL_AFTER, 0, "out of the pool" },
	{ "loop", link_loop, 1, ALL_AFTER, 0, "in the list already" },
	{ "leaf linked to itself", link_self, 1, ALL_AFTER, 0, "in the list already" },
};

static const struct leaf_case slotted_cases[] = {
	{ "least key does not ascend", slot_low, 0, ALL_AFTER, -1, "ascend" },
	{ "key above the leaf's range", slot_foreign, 0, 1, 0, "outside the leaf's range" },
	{ "key below the leaf's range", slot_below, 0, 1, 0, "outside the leaf's range" },
	{ "key twice", slot_twin, 0, 1, 0, "twice" },
};

/* Sorted leaves: number of records of leaf @nth, and changes that no cut leaves */

static u32 sorted_count(u32 nth)
{
	u32 count = 0;

	while (count < crab_leaf_slots(TARGET_LEAF_BYTES) &&
	       target_leaf(nth)->slots[count].key != cpu_to_le64(CRAB_KEY_EMPTY))
		count++;
	return count;
}

static void sorted_first(u32 n)
{
	target_leaf(n)->slots[0].key = target_leaf(n - 1)->slots[0].key;
}

static void sorted_twins(u32 n)	{ target_leaf(n)->slots[1] = target_leaf(n)->slots[2];
				  target_leaf(n)->slots[3] = target_leaf(n)->slots[4]; }
static void sorted_triple(u32 n) { target_leaf(n)->slots[1] = target_leaf(n)->slots[2];
				   target_leaf(n)->slots[3] = target_leaf(n)->slots[2]; }

static void sorted_swap(u32 n)
{
	struct crab_dslot slot = target_leaf(n)->slots[2];

	target_leaf(n)->slots[2] = target_leaf(n)->slots[3];
	target_leaf(n)->slots[3] = slot;
}

/* At or above the lowest key of the next leaf, and absent there */
static void sorted_beyond(u32 n)
{
	u64 low = target_low(n + 1);

	target_leaf(n)->slots[sorted_count(n) - 1].key = cpu_to_le64(low + 1);
}

/* The leaf after the damaged one has no records, which no cut leaves ... */
static void sorted_emptied(u32 n)
{
	leaf_crc(n);
	target_leaf(n + 1)->slots[0].key = cpu_to_le64(CRAB_KEY_EMPTY);
}

static void sorted_between(u32 n)
{
	sorted_emptied(n - 1);
	leaf_crc(n + 1);
}

/* ... or its first record is also in the previous leaf, as a cut leaves it */
static void sorted_astride(u32 n)
{
	struct crab_dslot *slots = target_leaf(n - 1)->slots;
	u32 count = sorted_count(n - 1), all = crab_leaf_slots(TARGET_LEAF_BYTES);

	leaf_crc(n);
	tap_check(count < all, "leaf %u has no room", n - 1);
	slots[count] = target_leaf(n + 1)->slots[0];
	if (count + 1 < all)
		slots[count + 1].key = cpu_to_le64(CRAB_KEY_EMPTY);
}

static const struct leaf_case sorted_cases[] = {
	{ "first key does not ascend", sorted_first, 0, ALL_AFTER, -1, "ascend" },
	{ "keys not ascending", sorted_swap, 0, 1, 0, "do not ascend" },
	{ "two twins", sorted_twins, 0, 1, 0, "more than one record" },
	{ "a key three times", sorted_triple, 0, 1, 0, "more than one record" },
	{ "overlap that is not in the next leaf", sorted_beyond, 0, 1, 0, "a later leaf" },
	{ "header damaged before an empty leaf", sorted_emptied, 0, 2, -1, "valid header" },
	{ "headers damaged around an empty leaf", sorted_between, -1, 2, -2, "valid header" },
	{ "header damaged, and an overlap over it", sorted_astride, 0, 1, -1, "valid header" },
};

/* Which leaf of the good list holds a key */
static u32 leaf_of(u64 key)
{
	u32 n = target.leaves;

	while (n-- && target_low(n) > key)
		;
	return n;
}

/* Every key: the right value outside [@from, @to), -EUCLEAN inside */
static void served(struct crab_store *store, const u32 *home, u32 from, u32 to)
{
	bool in_doubt;
	u64 value;
	u32 i;
	int err;

	for (i = 0; i < target.model->n; i++) {
		in_doubt = home[i] >= from && home[i] < to;
		value = 0;
		err = crab_store_search(store, target.model->keys[i], &value);
		if (in_doubt)
			tap_check(err == -EUCLEAN, "key %llu in leaf %u: %d", target.model->keys[i],
				  home[i], err);
		else if (target.model->there[i])
			tap_check(!err && value == target.model->values[i],
				  "key %llu in leaf %u: %d", target.model->keys[i], home[i], err);
		else	/* absent; -EUCLEAN is allowed at the edge of a gap */
			tap_check(err == -ENOENT || err == -EUCLEAN, "key %llu: %d",
				  target.model->keys[i], err);
	}
}

/* A scan continues after each gap with higher keys, so that it ends */
static void scanned_after(struct crab_store *store, struct crab_cursor *cursor)
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
			tap_fail("scan makes no progress at %llu", before);
			return;
		}
	} while (!cursor->done);
	tap_check(n >= 0 || n == -EUCLEAN, "scan ends with %d", n);
}

/* A scan returns all records before the first gap and then -EUCLEAN */
static void scanned(struct crab_store *store, const u32 *home, u32 from)
{
	struct crab_record r[7];
	struct crab_cursor cursor;
	u32 i = 0;
	int n, k;

	crab_cursor_init(&cursor, 0, CRAB_KEY_EMPTY);
	while ((n = crab_cursor_read(store, &cursor, r, ARRAY_SIZE(r))) > 0) {
		for (k = 0; k < n; k++, i++) {
			while (i < target.model->n && !target.model->there[i])
				i++;
			tap_check(i < target.model->n && home[i] < from &&
				  r[k].key == target.model->keys[i], "scan gives %llu", r[k].key);
		}
	}
	tap_check(n == -EUCLEAN, "scan ends with %d", n);
	for (; i < target.model->n; i++)
		tap_check(!target.model->there[i] || home[i] >= from, "scan leaves out %llu",
			  target.model->keys[i]);
	scanned_after(store, &cursor);
}

static void refused(struct crab_store *store)
{
	struct crab_check_report report;
	struct crab_store_info info;
	u64 key;
	u32 i;

	for (i = 0; i < target.model->n; i += 37) {
		key = target.model->keys[i];
		tap_check(store_put(store, key, 1) == -EROFS, "insert");
		tap_check(store_delete(store, key) == -EROFS, "delete");
	}
	tap_check(!crab_store_maintain(store), "maintain");
	crab_store_check(store, &report);
	tap_check(report.damage.count, "check finds nothing");
	crab_store_info(store, &info);
	tap_check(info.readonly && info.reason[0], "info: %s", info.reason);
}

/* The offset in the reason lies in the structure of @bytes at @begin */
static void located(const char *reason, u64 begin, u64 bytes)
{
	unsigned long long at = 0;

	tap_check(sscanf(reason, "damaged at offset %llu", &at) == 1 && at >= begin &&
		  at < begin + bytes, "%s: not in %llu + %llu", reason, begin, bytes);
}

static void damaged(const char *name, const char *says, u64 at, u32 from, u32 to, const u32 *home)
{
	struct crab_attach_report report;
	struct crab_store *store;
	u8 *before = malloc(TARGET_BYTES);

	memcpy(before, target.media.base, TARGET_BYTES);
	store = store_try(&target.media, &report);
	if (IS_ERR(store)) {
		tap_ok(false, "%s: %ld %s", name, PTR_ERR(store), report.reason);
		free(before);
		return;
	}
	tap_check(report.verdict == CRAB_VERDICT_RO, "%d", report.verdict);
	tap_check(strstr(report.reason, says), "reason: %s", report.reason);
	tap_check(target.log_lines == 1 && strstr(target.log_last, "at offset") &&
		  strstr(target.log_last, says),
		  "%u lines, the last: %s", target.log_lines, target.log_last);
	located(report.reason, at,
		at == CRAB_HEAD_OFFSET ? sizeof(struct crab_dhead) : TARGET_LEAF_BYTES);
	served(store, home, from, to);
	scanned(store, home, from);
	refused(store);
	crab_store_detach(store);
	tap_check(!memcmp(before, target.media.base, TARGET_BYTES), "media changed");
	tap_ok(true, "%s: %s", name, report.reason);
	free(before);
}

static void homes(u32 *home)
{
	u32 i;

	target_begin();
	for (i = 0; i < target.model->n; i++)
		home[i] = leaf_of(target.model->keys[i]);
}

static void leaf_case_run(const struct leaf_case *t, u32 nth)
{
	char name[64];
	u32 home[TARGET_KEYS];

	homes(home);
	t->damage(nth);
	snprintf(name, sizeof(name), "%s, leaf %u of %u: %s",
		 target.sorted ? "sorted" : "slotted", nth, target.leaves, t->name);
	damaged(name, t->says, target_offset(nth + t->at), nth + t->from,
		t->to == ALL_AFTER ? TARGET_LEAVES : nth + t->to, home);
}

static void leaf_cases_run(const struct leaf_case *t, u32 count)
{
	for (; count--; t++) {
		leaf_case_run(t, 2);
		leaf_case_run(t, target.leaves - 2);
	}
}

/* A leaf in the middle with room for one record */
static u32 leaf_with_room(void)
{
	u32 n = target.leaves / 2;

	while (sorted_count(n) + 1 >= crab_leaf_slots(TARGET_LEAF_BYTES))
		n++;
	return n;
}

/* Sorted leaves: the traces of a cut are no damage; words that no code reads may have any value */
static void sorted_good_cases(u64 seed)
{
	struct crab_dslot *d;
	u64 *bitmap, garbage[64];
	u32 n, i, count;

	target_begin();
	n = leaf_with_room();
	count = sorted_count(n);
	d = target_leaf(n)->slots;
	memmove(&d[2], &d[1], (count - 1) * sizeof(*d));
	d[1].value = cpu_to_le64(~0ULL);
	d[count + 1].key = cpu_to_le64(CRAB_KEY_EMPTY);
	target_expect_good("sorted: a shift that was cut", true);
	target_begin();
	d = &target_leaf(n)->slots[count];
	d[1].key = cpu_to_le64(CRAB_KEY_EMPTY);
	d[0] = target_leaf(n + 1)->slots[0];
	d[0].value = cpu_to_le64(0);
	target_expect_good("sorted: a record in two neighbours", true);
	target_begin();
	bitmap = (u64 *)(target.media.base + CRAB_BITMAP_OFFSET);
	for (i = 0; i < ARRAY_SIZE(garbage); i++)
		garbage[i] = rng(&seed);
	memcpy(bitmap, garbage, sizeof(garbage));
	target_expect_good("sorted: garbage in the bitmap", true);
	tap_ok(!memcmp(bitmap, garbage, sizeof(garbage)), "sorted: which is left as it is");
}

static void head_cases(void)
{
	struct crab_dhead *head = crab_list_head(&target.media);
	u32 home[TARGET_KEYS];

	homes(home);
	head->birth ^= 1;
	damaged("head damaged", "head of the leaf list", CRAB_HEAD_OFFSET, 0, TARGET_LEAVES, home);
	homes(home);
	head->next = 0;
	damaged("head linked to nothing", "out of the pool", CRAB_HEAD_OFFSET, 0, TARGET_LEAVES,
		home);
	homes(home);
	head->next = target_link(3);
	damaged("head linked into the middle", "ascend", CRAB_HEAD_OFFSET, 0, TARGET_LEAVES, home);
	homes(home);
	leaf_crc(0);
	damaged("first leaf damaged", "valid header", CRAB_HEAD_OFFSET, 0, 1, home);
	homes(home);
	link_zero(target.leaves - 1);
	damaged("end of the list zeroed", "out of the pool", target_offset(target.leaves - 1),
		TARGET_LEAVES, TARGET_LEAVES, home);
}

/* Random flips of bits: no crash, no endless loop, and no write after damage was found */
static void flips(u32 count, u64 seed)
{
	struct crab_attach_report report;
	u8 *before = malloc(TARGET_BYTES);
	u32 i, n, seen = 0, at, home[TARGET_KEYS];
	struct crab_store *store;

	for (i = 0; i < count; i++) {
		homes(home);
		for (n = 1 + rng(&seed) % 3; n; n--) {
			at = rng(&seed) % (TARGET_BYTES - 8192 + 512);
			at = at < 256 ? at : at < 512 ? at + 4096 - 256 : at + 8192 - 512;
			target.media.base[at] ^= 1 << rng(&seed) % 8;
		}
		memcpy(before, target.media.base, TARGET_BYTES);
		store = store_try(&target.media, &report);
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
		tap_check(!memcmp(before, target.media.base, TARGET_BYTES), "media changed");
	}
	tap_ok(seen > count / 20, "%u random flips: %u seen as damage, none harmful", count, seen);
	free(before);
}

static void layout_run(bool sorted, u32 count, u64 seed)
{
	target_make(sorted, seed);
	tap_ok(target.leaves >= 8, "%s: an image with a list of %u leaves",
	       sorted ? "sorted" : "slotted", target.leaves);
	leaf_cases_run(list_cases, ARRAY_SIZE(list_cases));
	if (sorted) {
		sorted_good_cases(seed);
		leaf_cases_run(sorted_cases, ARRAY_SIZE(sorted_cases));
	} else {
		leaf_cases_run(slotted_cases, ARRAY_SIZE(slotted_cases));
	}
	head_cases();
	flips(count, seed);
	target_destroy();
}

int main(int argc, char **argv)
{
	u32 count = argc > 1 ? atoi(argv[1]) : 20000;
	u64 seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 7;

	layout_run(false, count, seed);
	layout_run(true, count, seed);
	return tap_done();
}

// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests that a change of the structure, a shift, or an access that cannot decode a line
 * notices memory that reads all ones: it returns -EUCLEAN, the store turns read-only, and no record
 * is lost once the memory answers again. Reads of `eadr` notice a slot that is free again.
 */
#include "engines/clfb/node.h"
#include "engines/crab/crab.h"
#include "engines/nbtree/fingerprint.h"
#include "test.h"

#define POOL_BYTES	(64 * 1024)
#define KEYS		256U
#define HIGH		(KEYS - 1)	/* its key is above the middle of all keys */
#define SLOTS		29U	/* of a slotted leaf of 512 bytes */
#define FIRST		1000U	/* the lowest key; the others follow in steps of 10 */

static bool there[KEYS];

/* Memory that reads all ones for a while */
static struct {
	u64 *at;
	u32 words;
	u64 saved[CRAB_LEAF_BYTES_MAX / sizeof(u64)];
} blind;

static u64 key_of(u64 nth)
{
	return nth == HIGH ? 3ULL << 62 : FIRST + nth * 10;
}

static int put(u64 key, u64 value)
{
	return store_put(store, key, value);
}

static void begin(const char *engine, const char *layout, u32 leaf_bytes, u64 count)
{
	u64 i;

	store_begin(CRAB_POOL_OFFSET + POOL_BYTES, engine, layout, leaf_bytes);
	memset(there, 0, sizeof(there));
	for (i = 0; i < count; i++) {
		tap_check(!put(key_of(i), i), "insert %llu", i);
		there[i] = true;
	}
}

/* Lines from an offset on read all ones */
static void hide_at(u64 offset, u32 lines)
{
	blind.at = (u64 *)(media.base + offset);
	blind.words = lines * CRAB_LINE / sizeof(u64);
	memcpy(blind.saved, blind.at, lines * CRAB_LINE);
	memset(blind.at, 0xff, lines * CRAB_LINE);
}

/* Lines [@from, @from + @lines) of a leaf read all ones */
static void hide(u64 leaf, u32 from, u32 lines)
{
	hide_at(crab_leaf_offset(&store->engine->geo, leaf) + from * CRAB_LINE, lines);
}

/* The memory answers again: words that were stored meanwhile, and the others as before */
static void show(void)
{
	u32 i;

	for (i = 0; i < blind.words; i++)
		if (blind.at[i] == ~0ULL)
			blind.at[i] = blind.saved[i];
	blind.words = 0;
}

static void expect_all(const char *when)
{
	struct crab_check_report report;
	u64 i, value, count = 0, found = 0;

	for (i = 0; i < KEYS; i++) {
		count += there[i];
		found += there[i] && !crab_store_search(store, key_of(i), &value) && value == i;
	}
	tap_check(found == count, "%s: %llu of %llu records", when, found, count);
	crab_store_check(store, &report);
	tap_check(report.records == count, "%s: check finds %llu records, not %llu", when,
		  report.records, count);
}

/* All records are there after an attach. @err: of the operation that met the memory */
static void kept_media(int err, const char *name)
{
	tap_check(err == -EUCLEAN, "%d", err);
	store = store_again(store);
	expect_all("the next attach");
	store_check_good(store);
	store_end(store);
	tap_ok(true, "%s", name);
}

/* And before: no leaf is quarantined */
static void kept(int err, const char *name)
{
	show();
	expect_all("afterwards");
	kept_media(err, name);
}

static void refused(int err, const char *name)
{
	tap_check(READ_ONCE(store->readonly), "the store is writable");
	kept(err, name);
}

/* Sorted: a leaf of 61 slots, all ones in part or as a whole */

static void sorted_begin(enum crab_strategy strategy, u64 count)
{
	begin("crab", "sorted", 1024, count);
	crab_tree_of(store->engine)->tuning.strategy = strategy;
}

static void test_sorted_copy(void)
{
	sorted_begin(CRAB_STRATEGY_AUTO, 40);
	hide(crab_tree_of(store->engine)->last->number, 0, 1024 / CRAB_LINE);
	refused(put(5, 5), "sorted: an insert copies the last leaf");
	sorted_begin(CRAB_STRATEGY_COW, 40);
	hide(crab_tree_of(store->engine)->last->number, 8, 1);
	refused(store_delete(store, FIRST), "sorted: a delete copies the last leaf");
}

static void test_sorted_shift(void)
{
	sorted_begin(CRAB_STRATEGY_SIP, 40);
	hide(crab_tree_of(store->engine)->last->number, 8, 1);
	refused(put(5, 5), "sorted: an insert shifts");
	sorted_begin(CRAB_STRATEGY_SIP, 40);
	hide(crab_tree_of(store->engine)->last->number, 10, 1);
	refused(store_delete(store, FIRST), "sorted: a delete shifts the line of the last record");
}

static void test_sorted_link(void)
{
	struct crab_leaf *leaf;
	u64 *next;

	sorted_begin(CRAB_STRATEGY_COW, 200);
	leaf = crab_tree_of(store->engine)->first->next;
	next = (u64 *)&crab_leaf_media(crab_tree_of(store->engine), leaf->number)->head.next;
	*next ^= 3;
	tap_check(store_delete(store, crab_leaf_key(crab_tree_of(store->engine), leaf,
						    5)) == -EUCLEAN, "delete");
	*next ^= 3;
	refused(-EUCLEAN, "sorted: a delete copies a leaf whose link has changed");
}

/* Slotted: the last leaf has no link to compare, and its range includes high keys */

static void slotted_begin(u64 count)
{
	begin("crab", "slotted", 512, count);
	store_maintain(store);
}

static u64 last_leaf(void)
{
	return crab_tree_of(store->engine)->last->number;
}

static void test_slotted_merge(void)
{
	u64 i;

	slotted_begin(SLOTS + 4);
	for (i = 4; i < SLOTS; i++) {
		tap_check(!store_delete(store, key_of(i)), "delete");
		there[i] = false;
	}
	hide(last_leaf(), 0, 512 / CRAB_LINE);
	store_maintain(store);
	refused(-EUCLEAN, "slotted: a merge of the last two leaves");
}

static void test_slotted_rewrite(void)
{
	slotted_begin(SLOTS - 5);
	hide(last_leaf(), 3, 1);
	refused(put(5, crab_tree_of(store->engine)->last->void_value),
		"slotted: the last leaf gets another void");
}

static void test_slotted_split(void)
{
	slotted_begin(SLOTS - 1);
	there[HIGH] = !put(key_of(HIGH), HIGH);
	hide(last_leaf(), 3, 1);
	refused(put(key_of(9) + 5, 5), "slotted: a split of the last leaf");
}

/* The first leaf of other engines is the first one of the pool */

static void test_clfb_split(const char *layout)
{
	char name[32];

	begin("clfb", layout, 512, 20);
	hide(0, 0, 1);		/* all slots are in use */
	snprintf(name, sizeof(name), "clfb %s: a split", layout);
	refused(put(5, 5), name);
}

/* An insert in a leaf with a key of all ones, which may be its own: the leaf is quarantined */
static void test_insert(const char *engine, const char *layout)
{
	char name[48];
	int err;

	begin(engine, layout, 512, 20);
	hide(0, 0, 512 / CRAB_LINE);
	snprintf(name, sizeof(name), "%s %s: an insert", engine, layout);
	err = put(5, 5);
	tap_check(READ_ONCE(store->readonly), "the store is writable");
	show();
	kept_media(err, name);
}

/* Verbs that only find a leaf */
enum verb { SEARCH, SEEK, SCAN, INSERT, DELETE, VERBS };

static const char * const verbs[VERBS] = { "search", "seek", "scan", "insert", "delete" };

static int call(enum verb verb)
{
	struct crab_record record;
	struct crab_cursor cursor;

	switch (verb) {
	case SEARCH:
		return store_search(store, FIRST);
	case SEEK:
		return crab_store_seek(store, FIRST, CRAB_SEEK_GE, &record);
	case SCAN:
		crab_cursor_init(&cursor, 0, CRAB_KEY_EMPTY);
		return crab_cursor_read(store, &cursor, &record, 1);
	case INSERT:
		return put(FIRST, 0);
	default:
		return store_delete(store, FIRST);
	}
}

/* The line of the root cannot be decoded: of a node, or of the only leaf of `encoded` */
static void test_clfb_line(const char *layout, enum verb verb)
{
	bool encoded = !strcmp(layout, "encoded");
	struct clfb_tree *tree;
	char name[48];

	begin("clfb", layout, encoded ? CRAB_LINE : 512, encoded ? 3 : 2 * SLOTS);
	tree = clfb_tree_of(store->engine);
	tap_check(!tree->levels == encoded, "%u levels", tree->levels);
	if (encoded)
		hide(tree->root, 0, 1);
	else
		hide_at(crab_clfb_node_offset(tree, tree->root), tree->copies);
	snprintf(name, sizeof(name), "clfb %s: %s: a line that is none", layout, verbs[verb]);
	refused(call(verb), name);
}

static void test_clfb_lines(const char *layout)
{
	enum verb verb;

	for (verb = 0; verb < VERBS; verb++)
		test_clfb_line(layout, verb);
}

static void test_fastfair_shift(void)
{
	begin("fastfair", "shift", 512, 20);
	hide(0, 3, 1);
	refused(put(5, 5), "fastfair: an insert shifts");
	begin("fastfair", "shift", 512, 20);
	hide(0, 3, 1);
	refused(store_delete(store, FIRST), "fastfair: a delete shifts");
}

static void test_eadr_move(void)
{
	begin("nbtree", "eadr", 512, SLOTS);
	hide(0, 3, 1);
	refused(put(5, 5), "nbtree eadr: a full leaf moves");
}

/* The slot of a record: its key and two bits, then its value */
static u64 *slot_of(u64 key, u64 value)
{
	u64 *slot = (u64 *)media.base;

	while ((slot[0] & ~0ULL >> 2) != key || slot[1] != value)
		slot += 2;
	return slot;
}

/* Reads all records, by a scan or one seek; returns their number, or the error */
static int read_all(bool scan)
{
	struct crab_record records[SLOTS];
	struct crab_cursor cursor;
	int err;

	if (scan) {
		crab_cursor_init(&cursor, 0, KEYS);
		return crab_cursor_read(store, &cursor, records, SLOTS);
	}
	err = crab_store_seek(store, 0, CRAB_SEEK_GE, records);
	return err ?: 1;
}

/* A slot in use is free again. The fingerprints 0 and 1 have a meaning of their own in DRAM */
static void test_eadr_freed(u32 fingerprint, bool scan)
{
	struct crab_check_report report;
	u64 key = 1;
	int got;

	begin("nbtree", "eadr", 512, 0);
	while (nb_fingerprint(key) != fingerprint)
		key++;
	tap_check(key < KEYS && !put(key, 77) && !put(KEYS, 78), "insert");
	memset(slot_of(key, 77), 0xff, 2 * sizeof(u64));
	got = read_all(scan);
	tap_check(!crab_store_check(store, &report) && report.damage.count, "CHECK");
	tap_ok(got == -EUCLEAN && crab_store_is_readonly(store),
	       "nbtree eadr: a %s notices a free slot, fingerprint %u", scan ? "scan" : "seek",
	       fingerprint);
	store_abandon(store);
}

/* A free slot below one in use, as a power cut leaves it, is no damage */
static void test_eadr_hole(void)
{
	begin("nbtree", "eadr", 512, 0);
	tap_check(!put(1, 77) && !put(2, 78), "insert");
	crab_store_detach(store);
	memset(slot_of(1, 77), 0xff, 2 * sizeof(u64));
	store = store_attach(&media);
	store_check_good(store);
	tap_ok(read_all(true) == 1 && read_all(false) == 1 && !put(1, 77) && read_all(true) == 2,
	       "nbtree eadr: a hole is no damage");
	store_end(store);
}

int main(void)
{
	u32 i;

	/* Without a key whose fingerprint is that of a hidden record: the leaf would be quarantined */
	crab_host_seed(1);
	test_sorted_copy();
	test_sorted_shift();
	test_sorted_link();
	test_slotted_merge();
	test_slotted_rewrite();
	test_slotted_split();
	test_clfb_split("inplace");
	test_clfb_split("twin");
	test_insert("clfb", "inplace");
	test_insert("clfb", "twin");
	test_insert("nvtree", "append");
	test_clfb_lines("inplace");
	test_clfb_lines("twin");
	test_clfb_lines("encoded");
	test_fastfair_shift();
	test_eadr_move();
	for (i = 0; i < 6; i++)
		test_eadr_freed(i / 2, i % 2);
	test_eadr_hole();
	return tap_done();
}

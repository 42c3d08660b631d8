// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests attach of stores of the engine `crab` whose list of leaves has gaps: the header of a
 * leaf is damaged. Every key that may be lost is in doubt, and no other one.
 */
#include "small.h"

/* The first leaf has no record, and the second one no header: the keys of both are in doubt */
static void test_gap(void)
{
	u64 key, high, beyond, value;

	begin("slotted", LEAVES);
	for (key = 0; tree->leaves < 4; key++)
		put(key * STEP);
	high = tree->first->high;
	beyond = tree->first->next->high;
	for (key = 0; key < high; key += STEP)
		del(key);
	tap_check(!tree->first->count && tree->leaves == 4, "the first leaf is not empty");
	crab_leaf_media(tree, tree->first->next->number)->head.crc ^= cpu_to_le32(1);
	attach_again(false);
	for (key = 0; key < beyond; key += STEP)
		tap_check(crab_store_search(store, key, &value) == -EUCLEAN, "key %llu", key / STEP);
	tap_ok(!crab_store_search(store, beyond, &value) && value == beyond + 5,
	       "attach: an empty leaf does not hide the damage of the next one");
	end();
}

/* A record in the first leaf has the last key of the second one, whose header is damaged */
static void test_holder(void)
{
	struct crab_dslot *slots;
	u64 key, beyond;

	begin("slotted", LEAVES);
	for (key = 0; tree->leaves < 4; key++)
		put(key * STEP);
	beyond = tree->first->next->high;
	slots = crab_leaf_media(tree, tree->first->number)->slots;
	slots[tree->first->count - 1].key = cpu_to_le64(beyond - 1);
	crab_leaf_media(tree, tree->first->next->number)->head.crc ^= cpu_to_le32(1);
	attach_again(false);
	for (key = 0; key < beyond; key += STEP)
		tap_check(store_search(store, key) == -EUCLEAN, "key %llu", key / STEP);
	tap_ok(!store_search(store, beyond),
	       "attach: a record at the end of a damaged range does not stand for the others");
	end();
}

/* Keys without distance: the damage of a leaf begins after the last record of the previous one */
static void test_border(bool one)
{
	u64 key, from, to, low;

	begin("slotted", LEAVES);
	for (key = 1; tree->leaves < 5; key++)
		put(key);
	low = tree->first->next->low;
	from = tree->first->next->high;
	to = tree->first->next->next->high;
	for (key = low + 1; one && key < from; key++)
		del(key);
	crab_leaf_media(tree, tree->first->next->next->number)->head.crc ^= cpu_to_le32(1);
	attach_again(false);
	for (key = 1; key <= (one ? low : from - 1); key++)
		tap_check(!store_search(store, key), "key %llu is lost", key);
	for (key = from; key < to; key++)
		tap_check(store_search(store, key) == -EUCLEAN, "key %llu is absent", key);
	tap_check(tree->quarantined == 1, "%llu in quarantine", tree->quarantined);
	tap_ok(!store_search(store, to), "attach: damage ends where the next leaf begins, after %s",
	       one ? "one record" : "a full leaf");
	end();
}

/* A leaf with a misplaced key before a leaf without a header */
static void test_both(void)
{
	const struct crab_leaf *leaf;
	u64 key, low, to;

	begin("slotted", LEAVES);
	for (key = 1; tree->leaves < 5; key++)
		put(key);
	leaf = tree->first->next;
	low = leaf->low;
	to = leaf->next->high;
	crab_leaf_media(tree, leaf->number)->slots[0].key = 0;
	crab_leaf_media(tree, leaf->next->number)->head.crc ^= cpu_to_le32(1);
	attach_again(false);
	for (key = low; key < to; key++)
		tap_check(store_search(store, key) == -EUCLEAN, "key %llu", key);
	tap_ok(tree->quarantined == 2 && !store_search(store, low - 1) && !store_search(store, to),
	       "attach: a gap does not end the quarantine of the leaf before it");
	end();
}

/* Every other leaf has no valid header, from the first to the last */
static void test_gaps(const char *layout)
{
	u64 key, lost = 0, value, last = 0;
	struct crab_record records[64];
	const struct crab_leaf *leaf;
	bool bad = false;
	int err;

	begin(layout, LEAVES);
	for (key = 1; tree->leaves < 9; key++)
		put(key * STEP);
	for (leaf = tree->first; leaf; leaf = leaf->next) {
		bad = !bad;
		if (bad)
			crab_leaf_media(tree, leaf->number)->head.crc ^= cpu_to_le32(1);
	}
	attach_again(false);
	tap_check(bad && tree->leaves == 4, "%llu leaves", tree->leaves);
	for (leaf = tree->first; leaf; leaf = leaf->next)
		tap_check(leaf->quarantined ||
			  crab_tree_scan(store->engine, leaf->low, CRAB_KEY_EMPTY - 1, records,
					 ARRAY_SIZE(records)) == leaf->count, "a scan passes a gap");
	for (last = key, key = 1; key < last; key++) {
		err = crab_store_search(store, key * STEP, &value);
		tap_check(err == -EUCLEAN || (!err && value == key * STEP + 5), "%llu: %d", key, err);
		lost += !!err;
	}
	tap_ok(lost >= last / 2 && lost < last * 2 / 3, "attach: %s, gaps around each leaf hide %llu of %llu keys",
	       layout, lost, last - 1);
	end();
}

int main(void)
{
	crab_host_log = NULL;	/* damage is planted, and reported in the log */
	test_gap();
	test_holder();
	test_border(false);
	test_border(true);
	test_both();
	test_gaps("slotted");
	test_gaps("sorted");
	return tap_done();
}

// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests scans of a leaf in which one key has changed on the media: a scan that is not
 * refused returns all other records that it should, in order, and none that it should not. A scan
 * that is stopped returns the records that it has read. It also tests batches, deletes and an
 * unlink that meet such words.
 */
#include "small.h"

#define WIDE	(STEP / 4)	/* a changed key is so far from its neighbour */

static u64 keys[64];
static u32 count;

/**
 * struct changed - a key that has changed
 * @at: place in @keys of the record
 * @key: the key that the media has now
 */
struct changed {
	u32 at;
	u64 key;
};

/* The next record of a scan, other than the changed one */
static u32 next_at(const struct changed *changed, u32 at, bool back)
{
	do {
		at += back ? -1 : 1;
	} while (at == changed->at);
	return at;
}

/* Are @got records those of a scan from @start to @end, apart from the changed one? */
static bool is_right(const struct changed *changed, u32 start, u32 end, bool back,
		     const struct crab_record *records, int got, u32 cap)
{
	u32 at = next_at(changed, back ? end + 1 : start - 1, back);
	int i;

	for (i = 0; i < got; i++) {
		if (records[i].key == changed->key)
			continue;
		if (at - start > end - start || records[i].key != keys[at])
			return false;
		at = next_at(changed, at, back);
	}
	return got == cap || at - start > end - start;
}

/* The first record and the last one are of the range that the scan wants */
static bool is_within(u32 start, u32 end, const struct crab_record *records, int got)
{
	return !got || (min(records[0].key, records[got - 1].key) >= keys[start] &&
			max(records[0].key, records[got - 1].key) <= keys[end]);
}

/* A cursor goes on after the last record: it must neither skip others nor repeat them */
static bool can_go_on(const struct changed *changed, u32 start, u32 end, bool back,
		      const struct crab_record *records, int got)
{
	u32 at = back ? end + 1 : start - 1;
	int i;

	for (i = 0; i < got; i++)
		if (records[i].key != changed->key)
			at = next_at(changed, at, back);
	if (at - start <= end - start &&
	    (back ? records[got - 1].key > keys[at] : records[got - 1].key < keys[at]))
		return false;
	at = next_at(changed, at, back);
	return at - start > end - start ||
	       (back ? records[got - 1].key > keys[at] : records[got - 1].key < keys[at]);
}

static u64 wrong, refused, scans;

static void scan(struct crab_leaf *leaf, const struct changed *changed, u32 start, u32 end, u32 cap,
		 bool back)
{
	struct crab_reader reader = crab_layout_reader(tree, crab_leaf_child(tree, leaf));
	struct crab_record records[64];
	int got;

	got = back ? crab_layout_scan_back(&reader, keys[start], keys[end], records, cap, NULL) :
		     crab_layout_scan(&reader, keys[start], keys[end], records, cap, NULL);
	scans++;
	if (got == -EAGAIN) {
		refused++;
	} else if (got < 0 || !is_right(changed, start, end, back, records, got, cap) ||
		   !is_within(start, end, records, got) ||
		   (got == cap && !can_go_on(changed, start, end, back, records, got))) {
		if (!wrong++)
			tap_fail("key %u is %llu, scan of %u to %u, at most %u%s: %d", changed->at,
				 changed->key / WIDE, start, end, cap, back ? ", down" : "", got);
	}
}

static void scan_all(struct crab_leaf *leaf, const struct changed *changed)
{
	u32 start, cap;

	for (start = 0; start < count; start++)
		for (cap = 3; cap <= 64; cap += 61) {
			scan(leaf, changed, start, count - 1, cap, false);
			scan(leaf, changed, 0, start, cap, false);
			scan(leaf, changed, start, count - 1, cap, true);
			scan(leaf, changed, 0, start, cap, true);
		}
}

static __le64 *word_of(struct crab_leaf *leaf, u64 key)
{
	return &crab_leaf_slot(tree, leaf, crab_layout_find(tree, leaf, key))->key;
}

static void test_misled(const char *layout)
{
	struct crab_record records[64];
	struct crab_leaf *leaf;
	struct changed changed;
	__le64 *word;
	u32 to;
	u64 n;

	begin(layout, LEAVES);
	for (n = 1; tree->leaves < 4; n++)
		put(n * STEP);
	leaf = tree->first->next;
	count = leaf->count;
	wrong = 0;
	refused = 0;
	scans = 0;
	tap_check(crab_tree_scan(store->engine, leaf->low, leaf->high - 1, records, 64) == count, "scan");
	for (n = 0; n < count; n++)
		keys[n] = records[n].key;
	for (changed.at = 0; changed.at < count; changed.at++) {
		word = word_of(leaf, keys[changed.at]);
		for (to = 0; to < count; to++) {
			changed.key = keys[to] + WIDE;
			*word = cpu_to_le64(changed.key);
			scan_all(leaf, &changed);
		}
		*word = cpu_to_le64(keys[changed.at]);
	}
	tap_ok(!wrong && refused, "%s: of %llu scans of a leaf with a changed key %llu are refused, %llu wrong",
	       layout, scans, refused, wrong);
	end();
}

static void test_stopped(const char *layout)
{
	static struct crab_record many[2048];
	int up, down;
	u64 n;

	begin(layout, LEAVES);
	for (n = 0; tree->leaves < 40; n++)
		put(n * STEP);
	store->engine->stop.asked = stop_always;
	up = crab_tree_scan(store->engine, 0, CRAB_KEY_EMPTY - 1, many, ARRAY_SIZE(many));
	tap_check(up > 0 && up < n && many[up - 1].key == (up - 1) * STEP, "%d up", up);
	down = crab_tree_scan_back(store->engine, 0, CRAB_KEY_EMPTY - 1, many, ARRAY_SIZE(many));
	tap_check(down > 0 && down < n && many[0].key == (n - 1) * STEP, "%d down", down);
	tap_check(crab_tree_scan(store->engine, 0, STEP, many, 8) == 2, "one leaf");
	store->engine->stop.asked = NULL;
	tap_ok(true, "%s: a scan that is stopped has %d records of %llu, down %d", layout, up, n, down);
	end();
}

/* The first leaf is quarantined, and from now on nothing is changed: a read was misled */
static bool is_doubted(void)
{
	return tree->first->quarantined && tree->quarantined == 1 && tree->pool.closed &&
	       store->engine->found.count == 1;
}

/* Key 1, which exists, and key 2 get @value, alone or in a batch; @status: of both */
static void put_void(u64 value, bool batch, int status)
{
	struct crab_batch_op ops[2] = { { .verb = CRAB_VERB_INSERT, .key = 1, .value = value },
					{ .verb = CRAB_VERB_INSERT, .key = 2, .value = value } };
	u32 i;

	for (i = 0; i < 2; i += batch ? 2 : 1)
		crab_store_batch(store, ops + i, batch ? 2 : 1);
	for (i = 0; i < 2; i++)
		tap_check(ops[i].status == status, "key %u: %d", i + 1, ops[i].status);
}

/* A value that is the void of its leaf needs another leaf: if none is free, nothing changes */
static void test_void(void)
{
	u64 value = 0, want;
	struct crab_spare spare;
	u32 batch;

	for (batch = 0; batch < 2; batch++) {
		begin("slotted", LEAVES);
		put(1);
		want = tree->first->void_value;
		while (!crab_pool_alloc(&tree->pool, &spare, 1, 0))
			;
		put_void(want, batch, -ENOSPC);
		tap_check(!crab_store_search(store, 1, &value) && value == 6 &&
			  crab_store_search(store, 2, &value) == -ENOENT, "a value that was refused");
		crab_pool_free(&tree->pool, spare.leaf);
		put_void(want, batch, 0);
		tap_check(tree->pool.free == 1, "%llu free", tree->pool.free);
		attach_again(false);
		tap_check(!crab_store_search(store, 1, &value) && value == want &&
			  !crab_store_search(store, 2, &value) && value == want, "%llu", value);
		end();
	}
	tap_ok(true, "a value that is the void of its leaf needs a free leaf");
}

/* A value that is the void of its leaf, and a record that reads all ones, in a batch */
static void test_batch(void)
{
	struct crab_batch_op ops[2] = { { .verb = CRAB_VERB_INSERT, .key = 2 },
					{ .verb = CRAB_VERB_INSERT, .key = 3 } };
	u64 value = 0, want;
	u32 i;

	begin("slotted", LEAVES);
	put(1);
	want = tree->first->void_value;
	ops[0].value = want;
	crab_store_batch(store, ops, 2);
	attach_again(false);
	tap_check(!ops[0].status && !crab_store_search(store, 2, &value) && value == want,
		  "%d, %llu", ops[0].status, value);
	memset(word_of(tree->first, 1), 0xff, sizeof(struct crab_dslot));
	for (i = 0; i < 2; i++)
		ops[i] = (struct crab_batch_op){ .verb = CRAB_VERB_SEARCH, .key = 1 + i };
	crab_store_batch(store, ops, 2);
	tap_ok(ops[0].status == -EUCLEAN && is_doubted(),
	       "a batch meets a void and a record of ones: %d", ops[0].status);
	end();
}

/* A write that needs a record, which reads all ones: alone, or in a batch */
static void test_needed(const char *layout, u32 ops)
{
	static const struct crab_batch_op writes[] = {
		{ .verb = CRAB_VERB_DELETE, .key = 2 },
		{ .verb = CRAB_VERB_INSERT, .mode = CRAB_INSERT_REPLACE, .key = 2 },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(writes); i++) {
		struct crab_batch_op op[] = { writes[i], { .verb = CRAB_VERB_SEARCH, .key = CRAB_KEY_EMPTY } };

		begin(layout, LEAVES);
		put(1);
		put(2);
		memset(word_of(tree->first, 2), 0xff, sizeof(struct crab_dslot));
		crab_store_batch(store, op, ops);
		tap_check(op[0].status == -EUCLEAN && is_doubted(), "%d", op[0].status);
		end();
	}
	tap_ok(true, "%s: a record of ones is not absent for a write of %u", layout, ops);
}

/* Read-only: keys whose values a cut left void are absent for a batch, too */
static void test_half(void)
{
	struct crab_batch_op ops[8];
	u32 i, absent = 0;

	begin("slotted", LEAVES);
	for (i = 0; i < ARRAY_SIZE(ops); i++) {
		put(i);
		word_of(tree->first, i)[1] = cpu_to_le64(tree->first->void_value);
		ops[i] = (struct crab_batch_op){ .verb = CRAB_VERB_SEARCH, .key = i };
	}
	attach_again(true);
	crab_store_batch(store, ops, ARRAY_SIZE(ops));
	for (i = 0; i < ARRAY_SIZE(ops); i++)
		absent += ops[i].status == -ENOENT;
	tap_ok(absent == ARRAY_SIZE(ops), "a batch finds no half of a record: %u of %zu", absent,
	       ARRAY_SIZE(ops));
	end();
}

/* Read-only: a scan passes the void one of two records that a cut left with one key */
static void test_twin(void)
{
	struct crab_record records[16];
	u32 i;

	begin("sorted", LEAVES);
	for (i = 0; i < 8; i++)
		put(i);
	*word_of(tree->first, 3) = cpu_to_le64(4);
	attach_again(true);
	tap_check(crab_tree_scan(store->engine, 0, 9, records, 16) == 7, "up");
	for (i = 0; i < 7; i++)
		tap_check(records[i].key == i + (i >= 3), "up: %llu", records[i].key);
	tap_check(crab_tree_scan_back(store->engine, 0, 9, records, 16) == 7, "down");
	for (i = 0; i < 7; i++)
		tap_check(records[i].key == 7 - i - (i >= 4), "down: %llu", records[i].key);
	tap_ok(records[3].value == 9, "sorted: scans of a leaf with a void record");
	end();
}

/* A seek that meets a key which is not of the leaf's range */
static void test_seek(void)
{
	struct crab_record record;
	int err;

	begin("slotted", LEAVES);
	put(1);
	*word_of(tree->first, 1) = cpu_to_le64(CRAB_KEY_EMPTY);
	err = crab_tree_seek(store->engine, 0, CRAB_SEEK_GE, &record);
	tap_check(crab_tree_seek(store->engine, 0, CRAB_SEEK_GE, &record) == -EUCLEAN &&
		  crab_tree_scan(store->engine, 0, 2, &record, 1) == -EUCLEAN, "a leaf in quarantine");
	tap_ok(err == -EUCLEAN && is_doubted(), "a seek meets a key of ones: %d", err);
	end();
}

/* A read that finds its key in no leaf takes the lock of the structure in the end, and unlocks it */
static void expect_nowhere(const char *verb, int err)
{
	bool unlocked = mutex_trylock(&tree->smo_lock);

	tap_check(err == -EUCLEAN && unlocked, "%s: %d", verb, err);
	mutex_unlock(&tree->smo_lock);
}

/* The second operation of a batch, after an update or a search of @first */
static int after(enum crab_verb update, u64 first, enum crab_verb verb, u64 key)
{
	struct crab_batch_op ops[] = { { .verb = update, .key = first, .value = 1 },
				       { .verb = verb, .key = key } };

	crab_store_batch(store, ops, ARRAY_SIZE(ops));
	tap_check(!ops[0].status, "first operation: %d", ops[0].status);
	return ops[1].status;
}

/* The index does not lead to a leaf, as while it is being changed */
static void test_nowhere(void)
{
	struct crab_record record;
	struct crab_leaf *leaf;
	u64 key, value;

	begin("slotted", LEAVES);
	for (key = 0; tree->leaves < 4; key += STEP)
		put(key);
	leaf = tree->first->next;
	key = leaf->low + STEP;
	mutex_lock(&tree->smo_lock);
	crab_index_remove(&tree->index, leaf->low);
	mutex_unlock(&tree->smo_lock);
	expect_nowhere("search", crab_tree_lookup(store->engine, key, &value));
	expect_nowhere("seek", crab_tree_seek(store->engine, key, CRAB_SEEK_GE, &record));
	expect_nowhere("scan", crab_tree_scan(store->engine, key, key, &record, 1));
	expect_nowhere("scan down", crab_tree_scan_back(store->engine, key, key, &record, 1));
	expect_nowhere("beyond", crab_tree_beyond(store->engine, key, CRAB_SEEK_GE) == CRAB_KEY_EMPTY ?
		       -EUCLEAN : 0);
	expect_nowhere("insert", put(key + 1));
	expect_nowhere("second search", after(CRAB_VERB_SEARCH, 0, CRAB_VERB_SEARCH, key));
	expect_nowhere("search after an update", after(CRAB_VERB_INSERT, tree->last->low, CRAB_VERB_SEARCH, key));
	expect_nowhere("search of a locked leaf", after(CRAB_VERB_INSERT, 0, CRAB_VERB_SEARCH, key));
	expect_nowhere("insert in a batch", after(CRAB_VERB_INSERT, 0, CRAB_VERB_INSERT, key));
	expect_nowhere("delete in a batch", after(CRAB_VERB_INSERT, 0, CRAB_VERB_DELETE, key));
	mutex_lock(&tree->smo_lock);
	tap_check(!crab_index_reserve(&tree->index), "no memory");
	crab_index_insert(&tree->index, leaf->low, crab_leaf_child(tree, leaf));
	mutex_unlock(&tree->smo_lock);
	tap_ok(!crab_tree_lookup(store->engine, key, &value) && !put(key + 1) &&
	       !store->engine->found.count, "a key that is in no leaf for some time is not absent");
	end();
}

/* The lowest key of a full leaf whose records all have lower keys: no leaf begins there twice */
static void test_lowest(const char *layout)
{
	u64 n, low;
	u32 i;
	int err;

	begin(layout, LEAVES);
	for (n = 0; tree->leaves < 3 || tree->last->count < tree->slots; n++)
		put(n * STEP);
	low = tree->last->low;
	for (i = 0; i < tree->slots; i++)
		crab_leaf_slot(tree, tree->last, i)->key = cpu_to_le64(i);
	err = put(low);
	tap_ok(err == -EUCLEAN && tree->last->low == low && store->engine->found.count,
	       "%s: the lowest key of a full leaf is not appended: %d", layout, err);
	end();
}

/* The last leaf is not unlinked if the header of the leaf before it has changed */
static void test_unlink(void)
{
	u64 n, leaves;
	int err;

	begin("sorted", LEAVES);
	for (n = 0; tree->leaves < 3; n++)
		put(n * STEP);
	tap_check(tree->last->count == 1, "%u records", tree->last->count);
	crab_leaf_media(tree, tree->last->prev->number)->head.crc ^= cpu_to_le32(1);
	leaves = tree->leaves;
	err = store_delete(store, (n - 1) * STEP);
	tap_ok(err == -EUCLEAN && tree->leaves == leaves && store->engine->found.count,
	       "sorted: the last leaf is unlinked from a valid one only: %d", err);
	end();
}

int main(void)
{
	crab_host_log = NULL;	/* damage is planted, and reported in the log */
	test_misled("slotted");
	test_misled("sorted");
	test_stopped("slotted");
	test_stopped("sorted");
	test_void();
	test_batch();
	test_needed("slotted", 1);
	test_needed("slotted", 2);
	test_needed("sorted", 1);
	test_half();
	test_twin();
	test_seek();
	test_nowhere();
	test_lowest("slotted");
	test_lowest("sorted");
	test_unlink();
	return tap_done();
}

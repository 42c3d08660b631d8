// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests reads and writes when a word of the media changes under the attached store: each
 * word that the store uses has another value, one after the other.
 *
 * Searches decide which records can be read. A scan or a seek passes none of them without an error,
 * nor a key for which the search returns one; scans ascend or descend strictly, and end. Writes lose
 * no record that a search finds; CHECK counts those that are lost.
 *
 *   test_flips [SEED [LAYOUT]]
 */
#include "badmedia.h"
#include "flip.h"
#include "test.h"

#define RECORDS		400U
#define KEYS		(2 * RECORDS)	/* records have the odd ones */
#define CAP		64
#define WRITES		120U
#define SPARSE		7U		/* words between two that change before writes */

enum state {
	ABSENT,		/* or a value that was never stored: the word is in this record */
	PRESENT,
	LOST,
};

static const struct run {
	const char *names[2];
	u32 seed;		/* of the other values */
} runs[] = {
	{ { "crab", "slotted" }, 1 }, { { "crab", "sorted" }, 1 }, { { "nvtree", "append" }, 1 },
	{ { "fastfair", "shift" }, 1 }, { { "clfb", "inplace" }, 1 }, { { "clfb", "twin" }, 1 },
	{ { "clfb", "atomic" }, 1 }, { { "clfb", "encoded" }, 1 }, { { "nbtree", "adr" }, 1 },
	{ { "nbtree", "eadr" }, 1 },
	{ { "crab", "slotted" }, 15 }, { { "crab", "slotted" }, 47 }, { { "crab", "sorted" }, 2 },
};

static struct crab_geometry geo;
static bool there[KEYS];
static enum state states[KEYS];
static bool passed[KEYS];	/* by a scan, as a record or with an error */
static u8 image[BAD_SIZE];	/* of the store before a word changes */
static u64 changed;		/* offset of the word */
static bool slotted;		/* the layout of the store */
static u32 strangers;		/* keys without a record that a search finds */

static __le64 *word_at(u64 offset)
{
	return (__le64 *)(badmedia.base + offset);
}

/* The store is detached, and its image is kept */
static void fill(const char *const *subject)
{
	slotted = !strcmp(subject[1], "slotted");
	badmedia_begin();
	geo = badmedia_ragged(subject, RECORDS, 128, there);
	memcpy(image, badmedia.base, BAD_SIZE);
}

static void attach(void)
{
	memcpy(badmedia.base, image, BAD_SIZE);
	store = badmedia_attach(NULL);
}

static bool line_is_used(u64 offset)
{
	static const u8 zero[CRAB_LINE];

	return memcmp(image + offset / CRAB_LINE * CRAB_LINE, zero, CRAB_LINE);
}

/*
 * Has a key of a slotted leaf turned into this one? Then only ECC detects it: a scan may return
 * it in its old place, and a split may let it replace the record that had this key
 */
static bool is_turned(u64 key)
{
	return slotted && key == le64_to_cpu(*word_at(changed));
}

static unsigned long long value_seed, value_turn;

static void search_all(void)
{
	u32 key;
	u64 value;
	int err;

	strangers = 0;
	for (key = 0; key < KEYS; key++) {
		err = crab_store_search(store, key, &value);
		strangers += !err && !there[key];
		states[key] = err == -EUCLEAN ? LOST :
			      !err && there[key] && value == BAD_VALUE(key) ? PRESENT : ABSENT;
	}
}

/* Marks the keys that a skip has passed */
static void skip(struct crab_cursor *cursor)
{
	u64 key = cursor->next, to;

	crab_cursor_skip(store, cursor);
	to = cursor->done ? cursor->end : cursor->next + (cursor->back ? 1 : -1);
	for (; key != to; key += cursor->back ? -1 : 1)
		passed[key] = true;
	passed[to] = true;
}

/* Marks the keys of records; @last: the key before them, or beyond the ends */
static void returned(const struct crab_record *record, int n, bool back, u64 *last)
{
	int i;

	for (i = 0; i < n; i++) {
		passed[min_t(u64, record[i].key, KEYS - 1)] = true;
		if (is_turned(record[i].key))
			continue;
		tap_check(back ? record[i].key < *last : record[i].key + 1 > *last + 1,
			  "@%llu: %llu after %llu", changed, record[i].key, *last);
		*last = record[i].key;
	}
}

static void scan(u32 cap, bool back)
{
	u64 last = back ? KEYS : ~0ULL;
	struct crab_record record[CAP];
	struct crab_cursor cursor;
	u32 turns = 0, key;
	int n;

	memset(passed, 0, sizeof(passed));
	(back ? crab_cursor_init_back : crab_cursor_init)(&cursor, 0, KEYS - 1);
	while (!cursor.done && turns++ < 2 * KEYS) {
		n = crab_cursor_read(store, &cursor, record, cap);
		if (n == -EUCLEAN)
			skip(&cursor);
		else
			returned(record, n, back, &last);
	}
	tap_check(cursor.done, "@%llu: an endless scan", changed);
	for (key = 0; key < KEYS; key++)
		tap_check(passed[key] || !there[key] || states[key] == ABSENT,
			  "@%llu: a scan %s by %u passes %u", changed, back ? "down" : "up", cap, key);
}

static void seek(u32 key, bool back)
{
	struct crab_record record = { };
	u32 want = key, steps = back ? key + 1 : KEYS - key;
	int err = crab_store_seek(store, key, back ? CRAB_SEEK_LE : CRAB_SEEK_GE, &record);

	for (; steps && (!there[want] || states[want] == ABSENT); steps--)
		want += back ? -1 : 1;
	if (steps && err != -EUCLEAN)
		tap_check(!err && (back ? record.key >= want : record.key <= want),
			  "@%llu: a seek of %u: %d, passes %u", changed, key, err, want);
	tap_check(err || (back ? record.key <= key : record.key >= key), "@%llu: a seek of %u: %llu",
		  changed, key, record.key);
}

static void read_all(void)
{
	u32 key;

	search_all();
	scan(3, false);
	scan(3, true);
	scan(CAP, false);
	scan(CAP, true);
	for (key = 0; key < KEYS; key += 3) {
		seek(key, false);
		seek(key, true);
	}
}

/*
 * A key that turns into another one of its leaf is as good; so one record may be lost. A bitmap that
 * brings as many deleted records back as it loses is as good, too
 */
static void check_lost(void)
{
	struct crab_check_report report;
	u32 key, lost = 0;

	for (key = 0; key < KEYS; key++)
		lost += there[key] && states[key] == ABSENT;
	tap_check(!crab_store_check(store, &report), "@%llu: CHECK", changed);
	tap_check(lost < 2 + strangers || report.damage.count, "@%llu: CHECK misses %u records", changed, lost);
}

/* Reads store nothing, so that one attach is enough */
static void test_reads(const char *layout)
{
	u32 words = 0;
	u64 was;

	attach();
	for (changed = CRAB_HEAD_OFFSET; changed < BAD_SIZE && tap_faults < 5; changed += 8) {
		if (!line_is_used(changed))
			continue;
		was = le64_to_cpu(*word_at(changed));
		*word_at(changed) = cpu_to_le64(flip_value(&value_seed, value_turn++, was, KEYS));
		read_all();
		check_lost();
		*word_at(changed) = cpu_to_le64(was);
		words++;
	}
	tap_ok(words > 500, "%s: one of %u words changes: no read passes a record", layout, words);
	crab_store_abandon(store);
}

/* Writes next to each other, and then anywhere; returns how many were done */
static u32 write_some(unsigned long long *seed)
{
	u32 base = rng_below(seed, KEYS), i, key, done = 0;
	int err;

	for (i = 0; i < WRITES; i++) {
		key = (base + rng_below(seed, i % 4 ? 80 : KEYS)) % KEYS;
		if (rng_below(seed, 5) < 3)
			err = store_put(store, key, BAD_VALUE(key));
		else
			err = store_delete(store, key);
		done += !err;
		if (!err)
			states[key] = ABSENT;	/* it was changed by a write */
		tap_check(!err || err == -ENOENT || err == -EUCLEAN || err == -EROFS,
			  "@%llu: a write of %u: %d", changed, key, err);
	}
	return done;
}

static void keep_all(void)
{
	u32 key;
	u64 value;
	int err;

	for (key = 0; key < KEYS; key++) {
		if (states[key] != PRESENT || is_turned(key))
			continue;
		err = crab_store_search(store, key, &value);
		tap_check(err == -EUCLEAN || (!err && value == BAD_VALUE(key)),
			  "@%llu: %u is lost with a write of another key: %d", changed, key, err);
	}
}

/* DELETE_RANGE of the keys from @from to @end */
static int delete_range(u64 from, u64 end, bool back)
{
	struct crab_cursor cursor;
	u64 deleted = 0;
	u32 turns = 0;
	int n = 0;

	(back ? crab_cursor_init_back : crab_cursor_init)(&cursor, from, end);
	while (!cursor.done && n >= 0 && turns++ < KEYS)
		n = crab_cursor_delete(store, &cursor, 16, &deleted);
	tap_check(cursor.done || n < 0, "@%llu: an endless DELETE_RANGE", changed);
	return n;
}

/*
 * No record of the range is left, unless there was an error; all others are. Two may have one key
 * since a word changed: one of them may be left
 */
static void test_range(unsigned long long *seed)
{
	u32 from = rng_below(seed, KEYS), end = min_t(u32, from + rng_below(seed, 200), KEYS - 1);
	int n = delete_range(from, end, rng_below(seed, 2));
	u32 key;

	for (key = from; key <= end; key++) {
		tap_check(n < 0 || states[key] != PRESENT ||
			  key == le64_to_cpu(*word_at(changed)) || store_search(store, key),
			  "@%llu: %u is left", changed, key);
		states[key] = ABSENT;
	}
	keep_all();
}

/* The searches find out about the records; the writes go to a store that has met no damage */
static void change(u64 value)
{
	attach();
	*word_at(changed) = cpu_to_le64(value);
	search_all();
	crab_store_abandon(store);
	attach();
	*word_at(changed) = cpu_to_le64(value);
}

static void test_writes(const char *layout)
{
	struct crab_check_report report;
	unsigned long long seed = 1;
	u32 words = 0, done = 0;
	u64 value;

	for (changed = CRAB_HEAD_OFFSET; changed < BAD_SIZE && tap_faults < 5; changed += 8 * SPARSE) {
		if (!line_is_used(changed))
			continue;
		value = flip_value(&value_seed, value_turn++,
				   le64_to_cpu(*(__le64 *)(image + changed)), KEYS);
		change(value);
		done += write_some(&seed);
		keep_all();
		crab_store_check(store, &report);
		crab_store_detach(store);
		change(value);
		test_range(&seed);
		crab_store_detach(store);
		words++;
	}
	tap_ok(words > 70 && done > 20 * words,
	       "%s: one of %u words changes: %u writes, which lose no other record", layout, words, done);
}

/* A line of a node loses a bit while the store is detached: attach finds it, or has all records */
static void test_nodes(const char *layout)
{
	u32 lines = 0, key;

	for (changed = CRAB_AREA_OFFSET; changed < geo.pool_offset; changed += 8) {
		if (!line_is_used(changed))
			continue;
		memcpy(badmedia.base, image, BAD_SIZE);
		*word_at(changed) ^= cpu_to_le64(1ULL << changed / 8 % 64);
		store = badmedia_attach(NULL);
		search_all();
		for (key = 0; key < KEYS; key++)
			tap_check(!there[key] || states[key] != ABSENT, "@%llu: %u is lost", changed, key);
		crab_store_abandon(store);
		lines += changed % CRAB_LINE == 0;
	}
	tap_ok(lines > 2, "clfb, %s: one of %u lines changes: attach believes no older one", layout, lines);
}

/* The last word of the media with this value */
static __le64 *last_word(u64 value)
{
	__le64 *word = word_at(BAD_SIZE);

	while (*--word != cpu_to_le64(value))
		;
	return word;
}

/*
 * The element that deleted a key has another one: the key is there again, and its second delete
 * leaves more records in the leaf than memory counts. They do not go with the last one counted
 */
static void test_unlink(void)
{
	u32 key;
	int err;

	badmedia_begin();
	store = store_format_attach(&badmedia, "nvtree", "append", leaf_bytes_of("nvtree", "append"));
	for (key = 1; key <= 30; key++)
		store_insert(store, key, BAD_VALUE(key), CRAB_INSERT_CREATE);
	tap_check(!store_delete(store, 30), "delete");
	*last_word(30) = cpu_to_le64(KEYS);
	for (key = 30; key > 23; key--)
		tap_check(!store_delete(store, key), "delete of %u", key);
	err = store_delete(store, 23);
	tap_check(!store_search(store, 22), "22 is lost");
	tap_ok(err == -EUCLEAN, "append: a leaf with more records than are counted stays: %d", err);
	crab_store_detach(store);
	badmedia_end();
}

static void test_run(const char *const *names, u32 seed)
{
	value_seed = value_turn = seed;
	fill(names);
	test_reads(names[1]);
	test_writes(names[1]);
	if (!strcmp(names[0], "clfb"))
		test_nodes(names[1]);
	badmedia_end();
}

int main(int argc, char **argv)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(runs); i++)
		if (argc < 3 || !strcmp(argv[2], runs[i].names[1]))
			test_run(runs[i].names,
				 argc > 1 ? strtoul(argv[1], NULL, 0) : runs[i].seed);
	test_unlink();
	return tap_done();
}

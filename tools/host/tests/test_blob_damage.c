// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests damage to the words of a store of blobs: of the numbers in the page of the head,
 * in a store of names; of the word of a record, while the store is attached; and leaves that read
 * all ones when blobs are read, and not before.
 *
 * Invariant: no value is overwritten, and no name that exists is reported as missing.
 */
#include "shadow/shadow.h"
#include "store/blob_commit.h"
#include "store/blob_media.h"
#include "store/blob_snap.h"
#include "store/named_priv.h"
#include "test.h"

#define LEAVES		512U
#define NAMES		120U
#define NODES		8192U
#define SLAB_OFFSET	(CRAB_BLOBS_OFFSET + offsetof(struct crab_dblobs, slab_bytes))

/* The crc of a leaf of `encoded`, which is the last one, covers its words */
#define PLAIN		(STORE_VALUE_LAYOUTS - 1)

static void begin(const char *engine, const char *layout, bool names)
{
	store_begin_of(CRAB_POOL_OFFSET + 2 * LEAVES * 512, engine, layout, leaf_bytes_of(engine, layout),
		       (names ? STORE_NAMES : STORE_BLOBS) | STORE_COMMITS);
}

/* Attaches a store that may be damaged; is it read-only? */
static bool attach_readonly(void)
{
	struct crab_attach_report report;

	store = store_try(&media, &report);
	tap_check(!IS_ERR(store), "attach: %s", report.reason);
	return report.verdict == CRAB_VERDICT_RO;
}

/* Names, and their values */

static u32 name_make(char name[16], u32 i)
{
	return snprintf(name, 16, "name %u", i);
}

static void names_put(u32 n)
{
	char name[16];
	u32 i, bytes;

	for (i = 0; i < n; i++) {
		bytes = name_make(name, i);
		tap_check(!store_name_put(store, name, bytes, name, bytes), "put %u", i);
	}
}

static int name_get(u32 i)
{
	char name[16], value[16] = "";
	struct crab_blob_read get = { .buffer = value, .capacity = sizeof(value) };
	u32 bytes = name_make(name, i);
	int err = crab_named_get(store, name, bytes, &get);

	tap_check(err || (get.bytes == bytes && !memcmp(name, value, bytes)), "value of %u", i);
	return err;
}

/* Counts the names of a list, of now or of a snapshot; returns how it ends */
static int list_end(struct crab_snap *snap, u32 *names)
{
	struct crab_named_cursor cursor = { .bytes = 0 };
	struct crab_named_entry entry;
	int got;

	for (*names = 0; ; ++*names) {
		got = snap ? crab_snap_named_next(store, snap, &cursor, &entry) :
			     crab_named_next(store, &cursor, &entry);
		if (got <= 0)
			return got;
	}
}

static void list_is_true(struct crab_snap *snap, u32 n, const char *what)
{
	u32 listed;
	int err = list_end(snap, &listed);

	tap_check(err == -EUCLEAN || (!err && listed == n), "a list %s of %u names ends: %d", what,
		  listed, err);
}

/* Each list has all names, or ends with an error; each name is there, or damaged */
static u32 names_are_true(u32 n)
{
	struct crab_snap *snap = store_snap(store);
	u32 i, served = 0;
	int err;

	for (i = 0; i < n; i++) {
		err = name_get(i);
		tap_check(!err || err == -EUCLEAN, "name %u: %d", i, err);
		served += !err;
	}
	list_is_true(NULL, n, "of now");
	list_is_true(snap, n, "of a snapshot");
	crab_snap_close(snap);
	return served;
}

/* Each bit of both numbers. Without the size of slabs no name is known */
static void test_numbers(void)
{
	u32 bit, bits = sizeof(struct crab_dblobs) * 8, served, lost = 0;

	begin("crab", "slotted", true);
	names_put(2);
	crab_store_detach(store);
	for (bit = 0; bit < bits; bit++) {
		media.base[CRAB_BLOBS_OFFSET + bit / 8] ^= 1 << bit % 8;
		tap_check(attach_readonly(), "bit %u", bit);
		served = names_are_true(2);
		tap_check(name_get(3) == (served ? -ENOENT : -EUCLEAN), "bit %u: a new name", bit);
		lost += !served;
		crab_store_abandon(store);
		media.base[CRAB_BLOBS_OFFSET + bit / 8] ^= 1 << bit % 8;
	}
	tap_check(lost == bits / 2, "%u sizes of slabs", lost);
	store = store_attach(&media);
	tap_ok(true, "names: each of %u bits of the numbers, flipped: no name is missing", bits);
	store_abandon(store);
}

/* Sizes with their right check: attach makes tables for none that FORMAT does not choose */
static void test_sizes(void)
{
	struct crab_check_report report;
	u64 bytes;

	begin("clfb", "encoded", false);
	for (bytes = CRAB_LINE / 2; bytes <= 2 * CRAB_SLAB_BYTES_MAX; bytes *= 2) {
		if (bytes >= CRAB_SLAB_BYTES_MIN && bytes <= CRAB_SLAB_BYTES_MAX)
			continue;
		*(__le64 *)(media.base + SLAB_OFFSET) =
			crab_blob_number(store->super.store_id, SLAB_OFFSET, bytes);
		crab_store_abandon(store);
		tap_check(attach_readonly(), "slabs of %llu bytes", bytes);
		tap_check(!store->blobs->extents.slabs, "a table of slabs of %llu bytes", bytes);
		tap_check(!crab_store_check(store, &report) && report.damage.offset == SLAB_OFFSET,
			  "CHECK, slabs of %llu bytes: %s", bytes, report.damage.what);
	}
	*(__le64 *)(media.base + SLAB_OFFSET) =
		crab_blob_number(store->super.store_id, SLAB_OFFSET, 3 * CRAB_SLAB_BYTES_MIN);
	crab_store_abandon(store);
	tap_check(attach_readonly(), "three times the smallest size");
	tap_ok(true, "slabs that are smaller or larger than FORMAT makes them are damage");
	store_abandon(store);
}

/* The size of slabs changes under the store, to another one that FORMAT could choose */
static void test_changed_size(void)
{
	struct crab_check_report report;
	u64 bytes;

	begin("crab", "slotted", false);
	bytes = (u64)store->blobs->extents.slab_lines * CRAB_LINE;
	*(__le64 *)(media.base + SLAB_OFFSET) =
		crab_blob_number(store->super.store_id, SLAB_OFFSET, 2 * bytes);
	tap_check(!crab_store_check(store, &report), "check");
	tap_ok(report.damage.count == 1 && report.damage.offset == SLAB_OFFSET,
	       "CHECK notices another size of slabs: %s", report.damage.what);
	store_abandon(store);
}

/* The word of key 1 is made to name the extent of key 2 */

static u64 word_of(u64 key)
{
	u64 word = 0;

	tap_check(!store->blobs->raw->lookup(store->engine, key, &word), "key %llu", key);
	return word;
}

static void word_strays(void)
{
	u64 word = word_of(1), place = word_of(2) & CRAB_PLACE_MASK, i;
	__le64 *at = (__le64 *)media.base;

	for (i = 0; i < media.size / sizeof(*at); i++)
		if (at[i] == cpu_to_le64(word))
			at[i] = cpu_to_le64((word & ~CRAB_PLACE_MASK) | place);
	tap_check((word_of(1) & CRAB_PLACE_MASK) == place, "the word has not changed");
}

static char values[8][64];

static int put(u64 key)
{
	return store_blob_put(store, key, values[key], sizeof(values[key]));
}

static int erase(u64 key)
{
	return store_blob_erase(store, key);
}

static int commit(u64 key)
{
	struct crab_blob_commit *commit = calloc(1, sizeof(*commit));
	int err;

	commit->n = 1;
	commit->ops[0].verb = CRAB_VERB_INSERT;
	commit->ops[0].write = (struct crab_blob_write){
		.key = key, .data = values[key], .bytes = sizeof(values[key]),
	};
	err = crab_blob_commit(store, commit);
	free(commit);
	return err;
}

/* The note of the snapshot has the word, and would own the extent */
static int put_noted(u64 key)
{
	struct crab_snap *snap = store_snap(store);
	int err = put(key);

	crab_snap_close(snap);
	return err;
}

static const struct {
	const char *name;
	int (*write)(u64 key);
} writes[] = {
	{ "put", put }, { "erase", erase }, { "commit", commit }, { "noted put", put_noted },
};

static int get(u64 key)
{
	char value[64];
	struct crab_blob_read read = { .key = key, .buffer = value, .capacity = sizeof(value) };
	int err = crab_blob_get(store, &read);

	tap_check(err || !memcmp(value, values[key], sizeof(value)), "value of key %llu", key);
	return err;
}

static void stray_write(const char *name, int (*write)(u64 key))
{
	struct crab_check_report report;
	u64 key;
	int err;

	for (key = 1; key < 4; key++)
		tap_check(!put(key), "put");
	word_strays();
	tap_check(get(1) == -EUCLEAN, "%s: the word is damaged", name);
	tap_check(!write(1), "%s", name);
	for (key = 4; key < 8; key++)
		tap_check(!put(key), "put of %llu", key);
	for (key = 2; key < 8; key++) {
		err = get(key);
		tap_check(!err, "%s: key %llu: %d", name, key, err);
	}
	crab_store_check(store, &report);
	tap_check(!report.damage.count, "%s: %s", name, report.damage.what);
	store = store_cut(store);
	tap_check(store->blobs->extents.lines == (write == erase ? 12 : 14),
		  "%s: %llu lines in use after the next attach", name, store->blobs->extents.lines);
}

static void test_stray(const char *engine, const char *layout)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(writes); i++) {
		begin(engine, layout, false);
		stray_write(writes[i].name, writes[i].write);
		store_abandon(store);
	}
	tap_ok(true, "%s %s: a write of a key whose word names the extent of another key", engine,
	       layout);
}

static bool asked(void *arg)
{
	++*(u32 *)arg;
	return false;
}

/* Scans find each key, changed on the media, and no lookup does: its fingerprint is the old one */
static void test_unlisted(void)
{
	struct crab_blob_entry entry[1];
	struct crab_cursor cursor;
	u32 questions = 0;
	u64 key, word, i;
	__le64 *at;

	crab_host_seed(1);	/* with one in eighty two of the keys have one fingerprint */
	begin("crab", "slotted", false);
	at = (__le64 *)media.base;
	for (key = 1; key < 8; key++)
		tap_check(!put(key), "put");
	for (key = 1; key < 8; key++)
		for (word = word_of(key), i = 1; i < media.size / sizeof(*at); i++)
			if (at[i] == cpu_to_le64(word))
				at[i - 1] = cpu_to_le64(key + 1000);
	store->engine->stop = (struct crab_stop){ .asked = asked, .arg = &questions };
	crab_cursor_init(&cursor, 0, 1007);
	tap_check(!crab_blob_list(store, &cursor, entry, 1) && cursor.done, "a list");
	tap_ok(questions >= 7, "a list asks %u times, at keys that it leaves out, whether it is to end",
	       questions);
	store->engine->stop.asked = NULL;
	store_abandon(store);
}

/* A key in the middle of a leaf becomes the reserved one, which no engine looks up */
static void test_reserved(void)
{
	struct crab_check_report report;
	struct crab_blob_entry entry[4];	/* not full: the place of the last one would be compared */
	struct crab_cursor cursor;
	u64 key;
	__le64 *at;

	begin("crab", "slotted", false);
	for (key = 1; key < 4; key++)
		tap_check(!put(key), "put");
	at = (__le64 *)media.base;
	while (at[1] != cpu_to_le64(word_of(2)))
		at++;
	for (key = 0; key < 2; key++) {	/* in the order that the first list has kept */
		crab_cursor_init(&cursor, 0, CRAB_KEY_EMPTY);
		tap_check(crab_blob_list(store, &cursor, entry, 4) == 3, "a list");
		*at = cpu_to_le64(CRAB_KEY_EMPTY);
	}
	tap_check(!entry[0].err && entry[1].err == -EUCLEAN && !entry[2].err, "%d", entry[1].err);
	tap_ok(!crab_store_check(store, &report) && report.damage.count,
	       "a key becomes the reserved one: a list and CHECK do not look it up");
	store_abandon(store);
}

/* The word of key 1 is another one at each load: a list and a get of it end */

#define ENDLESS		100000U	/* loads after which it rests: the test has failed */

static __le64 *restless;
static u32 restless_left;

static void restless_loading(struct crab_shadow *shadow, u32 word)
{
	if ((__le64 *)media.base + word != restless || !restless_left)
		return;
	*restless = cpu_to_le64(le64_to_cpu(*restless) + (1ULL << 60));
	restless_left--;
}

static struct crab_shadow *restless_begin(void)
{
	struct crab_shadow *shadow = crab_shadow_create(&media, NODES);
	u64 word = word_of(1);

	restless = (__le64 *)media.base;
	while (*restless != cpu_to_le64(word))
		restless++;
	restless_left = ENDLESS;
	shadow->loading = restless_loading;
	return shadow;
}

static void test_restless(const char *engine, const char *layout)
{
	struct crab_blob_entry entry[2];
	struct crab_shadow *shadow;
	struct crab_cursor cursor;

	begin(engine, layout, false);
	tap_check(!put(1) && !put(2), "put");
	shadow = restless_begin();
	crab_cursor_init(&cursor, 0, 2);
	tap_check(crab_blob_list(store, &cursor, entry, 2) == 2, "a list");
	tap_check(entry[0].err == -EUCLEAN && !entry[1].err, "%d, %d", entry[0].err, entry[1].err);
	tap_check(get(1) == -EUCLEAN && !get(2), "get");
	crab_shadow_destroy(shadow);
	tap_ok(restless_left && restless_left < ENDLESS,
	       "%s %s: the word of a blob is another one at each load: %u loads", engine, layout,
	       ENDLESS - restless_left);
	store_abandon(store);
}

/* From the load of the size of slabs on, a leaf reads all ones */

static struct {
	u8 *leaf;
	u32 bytes;
	u8 was[4096];
	bool now;
} blind;

static void blind_loading(struct crab_shadow *shadow, u32 word)
{
	if (word != SLAB_OFFSET / sizeof(u64) || blind.now)
		return;
	memcpy(blind.was, blind.leaf, blind.bytes);
	memset(blind.leaf, 0xff, blind.bytes);
	blind.now = true;
}

static struct crab_shadow *blind_begin(u64 leaf)
{
	struct crab_shadow *shadow = crab_shadow_create(&media, NODES);
	const struct crab_layout *layout;

	layout = crab_layout_by_id(store->engine->own, store->super.layout);
	shadow->model = crab_shadow_model_of(layout->needs);
	blind.bytes = store->super.leaf_bytes;
	blind.leaf = media.base + crab_leaf_offset(&store->engine->geo, leaf);
	blind.now = false;
	shadow->loading = blind_loading;
	return shadow;
}

static void blind_end(struct crab_shadow *shadow)
{
	tap_check(blind.now, "the leaf was not hidden");
	memcpy(blind.leaf, blind.was, blind.bytes);
	tap_check(!shadow->errors, "%s", shadow->error);
	crab_shadow_destroy(shadow);
}

/* Is it a leaf, or a node in a leaf, and no extent? */
static bool is_leaf(u64 n)
{
	u64 bytes = store->engine->geo.leaf_bytes;
	const struct crab_extents *extents = &store->blobs->extents;

	return crab_pool_uses(store->engine->pool, n) &&
	       !extents->slabs[n * bytes / (extents->slab_lines * CRAB_LINE)];
}

/* Attaches with a hidden leaf: all extents are in use afterwards, or no write comes */
static bool blind_attach(u64 leaf, u64 lines)
{
	struct crab_shadow *shadow = blind_begin(leaf);
	bool readonly;

	crab_store_abandon(store);
	readonly = attach_readonly();
	blind_end(shadow);
	tap_check(readonly || store->blobs->extents.lines == lines, "leaf %llu: %llu of %llu lines",
		  leaf, store->blobs->extents.lines, lines);
	names_are_true(NAMES);
	return readonly;
}

static void test_blind(const char *engine, const char *layout)
{
	u32 hidden = 0, found = 0;
	u64 n, lines;

	begin(engine, layout, true);
	names_put(NAMES);
	store = store_again(store);
	lines = store->blobs->extents.lines;
	for (n = 0; n < store->engine->geo.leaves; n++) {
		if (!is_leaf(n))
			continue;
		hidden++;
		found += blind_attach(n, lines);
		store = store_cut(store);
	}
	tap_check(found > 1, "%u leaves are noticed", found);
	tap_ok(true, "%s %s: attach notices %u of %u leaves that read ones when blobs are marked",
	       engine, layout, found, hidden);
	store_abandon(store);
}

/* A hidden leaf whose lines have a crc: the engine has verified it just before */
static void test_check(void)
{
	struct crab_check_report report;
	struct crab_shadow *shadow;
	u32 hidden = 0, found = 0;
	u64 n;

	begin("clfb", "encoded", true);
	names_put(NAMES);
	for (n = 0; n < store->engine->geo.leaves; n++) {
		if (!is_leaf(n))
			continue;
		hidden++;
		shadow = blind_begin(n);
		tap_check(!crab_store_check(store, &report), "check");
		found += !!report.damage.count;
		blind_end(shadow);
	}
	crab_store_check(store, &report);
	tap_check(!report.damage.count, "%s", report.damage.what);
	tap_check(hidden > 1 && found == hidden, "%u of %u leaves", found, hidden);
	tap_ok(true, "clfb encoded: CHECK reports each of %u leaves that it cannot read", hidden);
	store_abandon(store);
}

int main(void)
{
	u64 seed = 5;
	u32 i;

	crab_host_log = NULL;	/* damage is planted, and reported in the log */
	for (i = 0; i < ARRAY_SIZE(values); i++)
		rng_fill((u8 *)values[i], seed + i, sizeof(values[i]));
	test_numbers();
	test_sizes();
	test_changed_size();
	for (i = 0; i < PLAIN; i++)
		test_stray(store_value_layouts[i][0], store_value_layouts[i][1]);
	for (i = 0; i < STORE_VALUE_LAYOUTS; i++)
		test_blind(store_value_layouts[i][0], store_value_layouts[i][1]);
	for (i = 0; i < PLAIN; i++)
		test_restless(store_value_layouts[i][0], store_value_layouts[i][1]);
	test_unlisted();
	test_reserved();
	test_check();
	return tap_done();
}

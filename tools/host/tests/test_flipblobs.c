// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests stores of blobs, of names and of commits when a word of the media changes under
 * the attached store: each word that the store uses has another value, one after the other, or
 * changes between two loads. A get returns a value that its key had, or an error; a name that exists
 * is never missing. Lists ascend, and end. A snapshot returns nothing that was written later. Writes
 * lose no other value that a get finds; CHECK reports damage if a value is lost.
 *
 *   test_flipblobs [SEED [LAYOUT]]
 */
#include "flip.h"
#include "shadow/shadow.h"
#include "store/blob_commit.h"
#include "store/blob_snap.h"
#include "store/named_priv.h"
#include "test.h"

#define KEYS		60U
#define LEAVES		512U
#define LONGEST		800U
#define WRITES		16U
#define TURNS		64U		/* of maintenance */
#define SPARSE		13U		/* words of slabs of which one changes */
#define RESTLESS	11U		/* words of which one changes between two loads */
#define ENDLESS		100000U		/* changes after which it rests: the test has failed */
#define NODES		8192U
#define NAME_ROOM	16U

static const char * const kinds[] = { "words", "blobs", "names" };

static const struct run {
	const char *names[2];
	unsigned int kind;
	bool commits;
} runs[] = {
	{ { "crab", "slotted" }, STORE_BLOBS, true }, { { "crab", "slotted" }, STORE_NAMES, true },
	{ { "crab", "sorted" }, STORE_BLOBS, false }, { { "crab", "sorted" }, STORE_NAMES, true },
	{ { "nvtree", "append" }, STORE_BLOBS, false }, { { "nvtree", "append" }, STORE_NAMES, true },
	{ { "fastfair", "shift" }, STORE_BLOBS, true }, { { "fastfair", "shift" }, STORE_NAMES, false },
	{ { "clfb", "inplace" }, STORE_BLOBS, true }, { { "clfb", "twin" }, STORE_NAMES, false },
	{ { "clfb", "atomic" }, STORE_BLOBS, false }, { { "clfb", "encoded" }, STORE_NAMES, true },
	{ { "nbtree", "adr" }, STORE_BLOBS, false }, { { "nbtree", "adr" }, STORE_NAMES, true },
	{ { "nbtree", "eadr" }, STORE_BLOBS, true }, { { "nbtree", "eadr" }, STORE_NAMES, false },
	{ { "crab", "slotted" }, STORE_RECORDS, true }, { { "fastfair", "shift" }, STORE_RECORDS, true },
	{ { "nvtree", "append" }, STORE_RECORDS, true },
};

static const struct run *run;
static struct crab_snap *snap;
static u32 now[KEYS], before[KEYS];	/* stamps of values; those of the image and of @snap; 0: none */
static bool found[KEYS];		/* by a get, in the store of now */
static u32 stamps, stamps_before;	/* stamps so far, each of one put; those of the image */
static u8 *image;
static u64 changed;			/* offset of the word */
static bool in_slab, attached;		/* it is in a blob, not in a leaf; changed before attach */
static u32 stale, done;			/* old values that were returned; writes */
static unsigned long long seed, value_seed, value_turn;
static u8 value[LONGEST], buffer[LONGEST];

static struct {
	u64 value[2];	/* of the word, before and after its change */
	u32 period;	/* loads of one value; 0: it rests, because a caller was killed */
	u32 left;	/* loads until the word rests */
	bool now;	/* it changes between two loads */
} restless;

static u64 word_now(void)
{
	return le64_to_cpu(*(__le64 *)(media.base + changed));
}

static void word_set(u64 to)
{
	*(__le64 *)(media.base + changed) = cpu_to_le64(to);
}

/* Values: each has its stamp in front, and its other bytes follow from it and from the key */

static u32 value_make(u32 i, u32 stamp)
{
	u32 bytes = 4 + rng_mix(stamp) % (stamp % 8 ? 150 : LONGEST - 4);

	rng_fill(value, (u64)stamp << 8 | i, bytes);
	memcpy(value, &stamp, 4);
	return bytes;
}

static u32 name_of(u32 i, char *text)
{
	return sprintf(text, "name %02u", i);
}

/* A word of a leaf that was replaced may count again, and its blob may still be there */
static void stamp_check(u32 i, u32 stamp, bool of_snap)
{
	if (stamp == (of_snap ? before : now)[i])
		return;
	tap_check(!in_slab && stamp <= (of_snap ? stamps_before : stamps), "@%llu: %s %u: put %u, not %u",
		  changed, of_snap ? "snapshot" : "get", i, stamp, (of_snap ? before : now)[i]);
	stale++;
}

static int get_word(u32 i, struct crab_snap *from)
{
	u64 word;
	int err = from ? crab_snap_search(store, from, i, &word) : crab_store_search(store, i, &word);

	/* Only ECC notices another key or another value in a record */
	if (!err && word != restless.value[0] && word != restless.value[1] && (word & 0xff) == i)
		stamp_check(i, word >> 8, from);
	return err;
}

static int get_blob(u32 i, struct crab_snap *from)
{
	struct crab_blob_read get = { .key = i, .buffer = buffer, .capacity = LONGEST };
	char text[NAME_ROOM];
	u32 bytes = name_of(i, text), stamp = 0;
	int err;

	if (run->kind == STORE_NAMES)
		err = from ? crab_snap_named_get(store, from, text, bytes, &get) :
			     crab_named_get(store, text, bytes, &get);
	else
		err = from ? crab_snap_get(store, from, &get) : crab_blob_get(store, &get);
	if (err)
		return err;
	memcpy(&stamp, buffer, min(get.bytes, 4U));
	tap_check(stamp && stamp <= stamps && get.bytes == value_make(i, stamp) &&
		  !memcmp(buffer, value, get.bytes), "@%llu: %u has other bytes", changed, i);
	stamp_check(i, stamp, from);
	return 0;
}

/* Is the error that of changed media, or of a killed caller? */
static bool is_allowed(int err)
{
	return err == -EUCLEAN || (err == -EINTR && restless.now);
}

/* Is the key there, and never missing? Only ECC notices that a record has lost its key */
static bool is_sure(u32 i, bool of_snap)
{
	return (of_snap ? before : now)[i] && (in_slab || (run->kind == STORE_NAMES && !attached));
}

static int get_one(u32 i, struct crab_snap *from)
{
	int err = run->kind == STORE_RECORDS ? get_word(i, from) : get_blob(i, from);

	tap_check(!err || is_allowed(err) || (err == -ENOENT && !is_sure(i, from)),
		  "@%llu: %s %u: %d", changed, from ? "snapshot" : "get", i, err);
	return err;
}

static void get_all(struct crab_snap *from)
{
	u32 i;
	int err;

	for (i = 0; i < KEYS; i++) {
		err = get_one(i, from);
		if (!from)
			found[i] = !err && now[i];
	}
}

/* Lists */

static int list_some(struct crab_snap *from, struct crab_cursor *cursor,
		     struct crab_blob_entry *entry, u32 cap)
{
	int n = from ? crab_snap_list(store, from, cursor, entry, cap) :
		       crab_blob_list(store, cursor, entry, cap);

	tap_check(n >= 0 || is_allowed(n), "@%llu: a list ends: %d", changed, n);
	if (n < 0)
		crab_cursor_skip(store, cursor);
	return n;
}

/* A list may return a key that has turned into another one, in its old place */
static void list_keys(struct crab_snap *from, bool *listed)
{
	struct crab_blob_entry entry[5];
	struct crab_cursor cursor;
	u64 last = ~0ULL, at;
	u32 turns = 0;
	int n, i;

	crab_cursor_init(&cursor, 0, KEYS - 1);
	while (!cursor.done && turns++ < 2 * KEYS) {
		at = cursor.next;
		n = list_some(from, &cursor, entry, ARRAY_SIZE(entry));
		for (; n < 0 && at < KEYS && (cursor.done || at < cursor.next); at++)
			listed[at] = true;
		for (i = 0; i < n; i++) {
			tap_check(!entry[i].err || entry[i].err == -EUCLEAN, "@%llu: entry %llu: %d",
				  changed, entry[i].key, entry[i].err);
			listed[min_t(u64, entry[i].key, KEYS)] = true;
			if (restless.now || entry[i].key == word_now())
				continue;
			tap_check(entry[i].key + 1 > last + 1, "@%llu: %llu after %llu", changed,
				  entry[i].key, last);
			last = entry[i].key;
		}
	}
	tap_check(cursor.done, "@%llu: an endless list", changed);
}

static void list_names(struct crab_snap *from, bool *listed)
{
	struct crab_named_cursor cursor = { .bytes = 0 };
	struct crab_named_entry entry;
	u32 turns = 0, i;
	int n = 1, last = -1;

	for (; n > 0 && turns++ < 2 * KEYS; last = i) {
		n = from ? crab_snap_named_next(store, from, &cursor, &entry) :
			   crab_named_next(store, &cursor, &entry);
		if (n <= 0)
			break;
		i = entry.name_bytes == 7 ? atoi(entry.text + 5) : KEYS;
		tap_check(i < KEYS && (int)i > last && (!entry.err || entry.err == -EUCLEAN),
			  "@%llu: name %.7s after %d: %d", changed, entry.text, last, entry.err);
		listed[min(i, KEYS)] = true;
	}
	tap_check(!n || is_allowed(n), "@%llu: a list of names ends: %d", changed, n);
	memset(listed, true, n ? KEYS : 0);
}

static void list_all(struct crab_snap *from)
{
	bool listed[KEYS + 1] = { };
	u32 i;

	if (run->kind == STORE_RECORDS)
		return;
	(run->kind == STORE_NAMES ? list_names : list_keys)(from, listed);
	for (i = 0; i < KEYS && !restless.now; i++)
		tap_check(listed[i] || !found[i] || (from && !before[i]),
			  "@%llu: a list%s leaves out %u", changed, from ? " of a snapshot" : "", i);
}

static void read_all(void)
{
	get_all(NULL);
	list_all(NULL);
	if (snap) {
		get_all(snap);
		list_all(snap);
	}
}

/* Writes: the model follows those that succeed */

static void write_begin(struct crab_blob_write *write, u32 i, char *text, bool put)
{
	*write = (struct crab_blob_write){ .key = i, .data = value };
	if (run->kind == STORE_NAMES)
		*write = (struct crab_blob_write){ 0, text, name_of(i, text), .data = value };
	if (put)
		write->bytes = value_make(i, ++stamps);
}

static void write_end(u32 i, bool put, int err)
{
	tap_check(!err || is_allowed(err) || err == -EROFS ||
		  (err == -ENOENT && !put && (!found[i] || restless.now)),
		  "@%llu: a write of %u: %d", changed, i, err);
	if (err)
		return;
	done++;
	now[i] = put ? stamps : 0;
	found[i] = put;
}

static void write_word(u32 i, bool put)
{
	u64 word = (u64)(stamps += put) << 8 | i;

	write_end(i, put, put ? store_put(store, i, word) : store_delete(store, i));
}

/* Returns whether a put was refused by its condition, as it had to be or could be */
static bool is_refused(u32 i, enum crab_insert_mode mode, int err)
{
	tap_check(err || mode != CRAB_INSERT_CREATE || !is_sure(i, false), "@%llu: %u is created again",
		  changed, i);
	tap_check(err != -ENOENT || mode != CRAB_INSERT_REPLACE || restless.now ||
		  !(found[i] || is_sure(i, false)), "@%llu: %u is not replaced", changed, i);
	return (err == -EEXIST && mode == CRAB_INSERT_CREATE) ||
	       (err == -ENOENT && mode == CRAB_INSERT_REPLACE);
}

static void write_blob(u32 i, bool put)
{
	static const enum crab_insert_mode modes[] = {
		CRAB_INSERT_EITHER, CRAB_INSERT_EITHER, CRAB_INSERT_CREATE, CRAB_INSERT_REPLACE,
	};
	struct crab_blob_write write;
	char text[NAME_ROOM];
	int err;

	write_begin(&write, i, text, put);
	write.mode = changed && put ? modes[rng_below(&seed, ARRAY_SIZE(modes))] : CRAB_INSERT_EITHER;
	if (run->kind == STORE_NAMES)
		err = put ? crab_named_put(store, &write) : crab_named_erase(store, &write);
	else
		err = put ? crab_blob_put(store, &write) : crab_blob_erase(store, &write);
	if (!put || !is_refused(i, write.mode, err))
		write_end(i, put, err);
}

static int commit_words(u32 i, u32 j)
{
	static struct crab_commit two;

	two.n = 2;
	two.ops[0] = (struct crab_batch_op){ .verb = CRAB_VERB_DELETE, .key = j };
	two.ops[1] = (struct crab_batch_op){
		.verb = CRAB_VERB_INSERT, .key = i, .value = (u64)++stamps << 8 | i,
	};
	return crab_store_commit(store, &two);
}

static int commit_blobs(u32 i, u32 j)
{
	static struct crab_blob_commit two;
	char text[2][NAME_ROOM];

	two.n = 2;
	two.ops[0].verb = CRAB_VERB_DELETE;
	write_begin(&two.ops[0].write, j, text[0], false);
	two.ops[1].verb = CRAB_VERB_INSERT;
	write_begin(&two.ops[1].write, i, text[1], true);
	return run->kind == STORE_NAMES ? crab_named_commit(store, &two) : crab_blob_commit(store, &two);
}

static void write_one(u32 i, bool put)
{
	u32 j = (i + 1 + rng_below(&seed, 5)) % KEYS;
	int err;

	if (!run->commits || rng_below(&seed, 3)) {
		(run->kind == STORE_RECORDS ? write_word : write_blob)(i, put);
		return;
	}
	err = run->kind == STORE_RECORDS ? commit_words(i, j) : commit_blobs(i, j);
	write_end(i, true, err);
	write_end(j, false, err);
}

static void write_some(void)
{
	u32 base = rng_below(&seed, KEYS), n;

	for (n = 0; n < WRITES; n++)
		write_one((base + rng_below(&seed, n % 4 ? 12 : KEYS)) % KEYS, rng_below(&seed, 5) < 3);
}

static void maintain(void)
{
	u32 turns;

	for (turns = 0; turns < TURNS && crab_store_maintain(store); turns++)
		;
	tap_check(turns < TURNS, "@%llu: endless maintenance", changed);
}

static void keep_all(const char *after)
{
	u32 i;
	int err;

	for (i = 0; i < KEYS; i++) {
		err = get_one(i, NULL);
		tap_check(!err || err == -EUCLEAN || !found[i] || i == word_now(),
			  "@%llu: %u is lost with %s: %d", changed, i, after, err);
	}
}

/* The store, its image, and the word */

static void attach(bool observe)
{
	memcpy(media.base, image, media.size);
	store = store_attach(&media);
	memcpy(now, before, sizeof(now));
	attached = false;
	snap = observe && crab_store_observe(store) >= 0 ? crab_snap_open(store) : NULL;
}

static void attach_again(void)
{
	struct crab_attach_report report;

	store = crab_store_attach(&media, &(struct crab_attach_options){ }, &report);
	if (IS_ERR(store))
		return;
	/* A record that is gone when attach reads the leaves has no trace, nor one that comes and goes */
	attached = report.verdict != CRAB_VERDICT_RO || restless.now;
	snap = NULL;
	read_all();
	crab_store_detach(store);
}

/* Returns the damage that CHECK finds */
static u64 check(void)
{
	struct crab_check_report report;
	int err;

	tap_check(!crab_engine_is_damaged(store->engine) || crab_store_is_readonly(store),
		  "@%llu: damaged, and not read-only", changed);
	err = crab_store_check(store, &report);
	tap_check(!err || is_allowed(err), "@%llu: CHECK: %d", changed, err);
	return report.damage.count;
}

/* A write may replace a record that has turned into that of its key: then it has no trace */
static void check_lost(void)
{
	u32 i, lost = 0;

	for (i = 0; i < KEYS && run->kind != STORE_RECORDS; i++)
		lost += now[i] && !found[i];
	tap_check(check() || !lost, "@%llu: CHECK misses %u values", changed, lost);
}

static void test_reads(void)
{
	attach(true);
	word_set(restless.value[1]);
	read_all();
	check_lost();
	crab_snap_close(snap);
	crab_store_abandon(store);
}

static void test_writes(bool observe)
{
	attach(observe);
	word_set(restless.value[1]);
	write_some();
	keep_all("writes");
	if (snap) {
		get_all(snap);
		crab_snap_close(snap);
	}
	maintain();
	keep_all("maintenance");
	check();
	crab_store_detach(store);
	attach_again();
}

static void restless_loading(struct crab_shadow *shadow, u32 word)
{
	if (word == changed / 8 && restless.left && restless.period)
		word_set(restless.value[--restless.left / restless.period % 2]);
}

/* A write of eadr that others overtake again and again ends when its caller is killed */
static bool restless_asked(void *arg)
{
	restless.period = restless.left < ENDLESS / 2 ? 0 : restless.period;
	return !restless.period;
}

/* The word changes after each load, or each second or third one */
static void test_restless(void)
{
	const struct crab_layout *layout;
	struct crab_shadow *shadow;

	attach(true);
	layout = crab_layout_by_id(store->engine->own, store->super.layout);
	shadow = crab_shadow_create(&media, NODES);
	shadow->model = crab_shadow_model_of(layout->needs);
	shadow->loading = restless_loading;
	restless.period = 1 + value_turn % 3;
	restless.left = ENDLESS;
	restless.now = true;
	store->engine->stop.asked = restless_asked;
	read_all();
	write_some();
	read_all();
	check();
	crab_snap_close(snap);
	maintain();
	crab_store_abandon(store);
	attach_again();
	tap_check(restless.left && !shadow->errors, "@%llu: %s", changed, shadow->error);
	restless.now = false;
	crab_shadow_destroy(shadow);
}

/* The image: keys were put, replaced and erased */
static void fill(void)
{
	u32 n;

	store_begin_of(CRAB_POOL_OFFSET + LEAVES * 512, run->names[0], run->names[1],
		       leaf_bytes_of(run->names[0], run->names[1]),
		       run->kind | (run->commits ? STORE_COMMITS : 0));
	memset(now, 0, sizeof(now));
	for (n = 0; n < 3 * KEYS; n++)
		write_one(n < KEYS ? n * 7 % KEYS : rng_below(&seed, KEYS), n < KEYS || n % 3);
	maintain();
	memcpy(before, now, sizeof(before));
	stamps_before = stamps;
	crab_store_detach(store);
	image = malloc(media.size);
	memcpy(image, media.base, media.size);
}

static bool is_in_slab(void)
{
	const struct crab_extents *extents = store->blobs ? &store->blobs->extents : NULL;
	u64 pool = store->engine->geo.pool_offset, slab;

	if (!extents || changed < pool)
		return false;
	slab = (changed - pool) / CRAB_LINE / extents->slab_lines;
	return slab < extents->slabs_max && extents->slabs[slab];
}

/* A word of a line that the store uses; one of a few words of slabs, as there are many of them */
static bool is_wanted(void)
{
	static const u8 zero[CRAB_LINE];
	static u32 turn;

	if (!memcmp(image + changed / CRAB_LINE * CRAB_LINE, zero, CRAB_LINE))
		return false;
	attach(false);
	in_slab = is_in_slab();
	restless.value[0] = word_now();
	restless.value[1] = flip_value(&value_seed, value_turn++, restless.value[0], KEYS);
	crab_store_abandon(store);
	return !in_slab || !(turn++ % SPARSE);
}

static void test_run(void)
{
	u32 words = 0;

	changed = in_slab = 0;
	fill();
	stale = done = 0;
	for (changed = CRAB_HEAD_OFFSET; changed < media.size && tap_faults < 5; changed += 8) {
		if (!is_wanted())
			continue;
		test_reads();
		test_writes(words % 2);
		if (words++ % RESTLESS == 0)
			test_restless();
	}
	tap_ok(words > 100, "%s, %s%s: one of %u words changes: %u writes, %u old values",
	       run->names[1], kinds[run->kind], run->commits ? ", commits" : "", words, done, stale);
	free(image);
	media_destroy(&media);
}

int main(int argc, char **argv)
{
	crab_host_seed(1);
	crab_host_log = NULL;	/* damage is planted, and reported in the log */
	for (run = runs; run < runs + ARRAY_SIZE(runs); run++) {
		seed = value_seed = value_turn = argc > 1 ? strtoul(argv[1], NULL, 0) : 4;
		stamps = 0;
		if (argc < 3 || !strcmp(argv[2], run->names[1]))
			test_run();
	}
	return tap_done();
}

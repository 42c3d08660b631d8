// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests stores of blobs: random puts, erases, gets, lists and restarts against a model, on
 * each engine that can hold blobs; versions, limits, a full store, damage to single blobs and to
 * words.
 *
 * Invariant: each byte of a value depends on its key and on its generation, so that a part of
 * another value is noticed.
 */
#include "store/blob_priv.h"
#include "test.h"

#define KEYS		64U
#define STEPS		6000U
#define LEAVES		2048U
#define LONGEST		CRAB_BLOB_BYTES_MAX

/* Content and history of a key */
struct known {
	bool there;
	u32 bytes;
	u32 generation;
	u64 version;
};

struct run {
	struct crab_media media;
	struct crab_store *store;
	struct known key[KEYS];
	u64 newest;		/* version so far */
	u64 seed;
	u32 full;
	u32 refused;
};

static u8 buffer[LONGEST], value[LONGEST];

/* Keys at both ends of the range, and the lowest ones */
static u64 key_of(u32 i)
{
	return i == KEYS - 1 ? CRAB_KEY_EMPTY - 1 : i * 3;
}

static void value_make(u8 *to, u32 key, u32 generation, u32 bytes)
{
	rng_fill(to, key * 1000003ULL + generation, bytes);
}

/* Mostly short, sometimes of the length of a class, or as long as possible */
static u32 random_bytes(struct run *r)
{
	u64 kind = rng_below(&r->seed, 16);

	if (kind == 0)
		return rng_below(&r->seed, crab_blob_most(r->store, 0) + 1);
	if (kind == 1)
		return min_t(u32, (64U << rng_below(&r->seed, 8)) - 42 + rng_below(&r->seed, 4),
			     crab_blob_most(r->store, 0));
	return rng_below(&r->seed, 300);
}

static void run_format(struct run *r, const char *engine, const char *layout, u32 leaves)
{
	/* Nodes take as much of the region as leaves of one line */
	u32 nodes = leaf_bytes_of(engine, layout) == CRAB_LINE ? leaves * 512 : 0;

	memset(r, 0, sizeof(*r));
	r->media = media_create(CRAB_POOL_OFFSET + leaves * 512 + nodes);
	r->seed = 7;
	r->store = store_make(&r->media, engine, layout, leaf_bytes_of(engine, layout),
			      STORE_BLOBS);
}

/* A condition that holds, or one that does not; returns the error that must come */
static int put_condition(struct run *r, const struct known *k, struct crab_blob_write *put)
{
	switch (rng_below(&r->seed, 6)) {
	case 0:
		put->mode = CRAB_INSERT_CREATE;
		return k->there ? -EEXIST : 0;
	case 1:
		put->mode = CRAB_INSERT_REPLACE;
		return k->there ? 0 : -ENOENT;
	case 2:
		put->checked = true;
		put->version = k->version;
		return k->there ? 0 : -ENOENT;
	case 3:
		put->checked = true;
		put->version = k->version + 1;
		return k->there ? -ESTALE : -ENOENT;
	default:
		return 0;
	}
}

static void step_put(struct run *r, u32 i)
{
	struct known *k = &r->key[i];
	struct crab_blob_write put = { .key = key_of(i), .bytes = random_bytes(r), .data = value };
	int want = put_condition(r, k, &put), err;

	value_make(value, i, k->generation + 1, put.bytes);
	err = crab_blob_put(r->store, &put);
	if (err == -ENOSPC && !want) {
		r->full++;
		return;
	}
	tap_check(err == want, "put of key %u, %u bytes: %d, not %d", i, put.bytes, err, want);
	if (err) {
		r->refused++;
		return;
	}
	tap_check(put.existed == k->there, "key %u existed", i);
	tap_check(put.version > r->newest, "version %llu after %llu", put.version, r->newest);
	r->newest = put.version;
	*k = (struct known){ true, put.bytes, k->generation + 1, put.version };
}

static void step_erase(struct run *r, u32 i)
{
	struct known *k = &r->key[i];
	struct crab_blob_write erase = { .key = key_of(i), .checked = rng_below(&r->seed, 3) == 0 };
	int want = k->there ? 0 : -ENOENT, err;

	erase.version = k->version + rng_below(&r->seed, 2);
	if (k->there && erase.checked && erase.version != k->version)
		want = -ESTALE;
	err = crab_blob_erase(r->store, &erase);
	tap_check(err == want, "erase of key %u: %d, not %d", i, err, want);
	k->there &= err != 0;
}

static void key_holds(struct run *r, u32 i)
{
	const struct known *k = &r->key[i];
	struct crab_blob_read get = { .key = key_of(i), .buffer = buffer, .capacity = k->bytes };
	int err = crab_blob_get(r->store, &get);

	tap_check(err == (k->there ? 0 : -ENOENT), "get of key %u: %d", i, err);
	if (err)
		return;
	value_make(value, i, k->generation, k->bytes);
	tap_check(get.bytes == k->bytes && get.version == k->version &&
		  !memcmp(buffer, value, k->bytes), "key %u has %u bytes, version %llu", i,
		  get.bytes, get.version);
	get.capacity = k->bytes - 1;
	err = k->bytes ? crab_blob_get(r->store, &get) : -EMSGSIZE;
	tap_check(err == -EMSGSIZE && get.bytes == k->bytes, "a short buffer for key %u: %d", i, err);
}

static void list_holds(struct run *r, u32 from)
{
	struct crab_blob_entry entry[5];
	struct crab_cursor cursor;
	u32 at = from;
	int i, n;

	crab_cursor_init(&cursor, key_of(from), CRAB_KEY_EMPTY);
	while ((n = crab_blob_list(r->store, &cursor, entry, ARRAY_SIZE(entry))) > 0) {
		for (i = 0; i < n; i++, at++) {
			while (at < KEYS && !r->key[at].there)
				at++;
			if (at == KEYS)
				break;
			tap_check(!entry[i].err && entry[i].key == key_of(at) &&
				  entry[i].bytes == r->key[at].bytes &&
				  entry[i].version == r->key[at].version, "entry of key %u", at);
		}
	}
	while (at < KEYS && !r->key[at].there)
		at++;
	tap_check(!n && at == KEYS, "list from %u ends at %u: %d", from, at, n);
}

/* A restart finds all free space again: as many lines are in use, and no slab more */
static void step_restart(struct run *r, bool clean)
{
	u64 lines = r->store->blobs->extents.lines, lent = r->store->blobs->extents.lent;

	r->store = clean ? store_again(r->store) : store_cut(r->store);
	tap_check(r->store->blobs->extents.lines == lines, "%llu lines in use, not %llu",
		  r->store->blobs->extents.lines, lines);
	tap_check(r->store->blobs->extents.lent == lent, "%llu slabs, not %llu",
		  r->store->blobs->extents.lent, lent);
}

static void step(struct run *r)
{
	u32 i = rng_below(&r->seed, KEYS);
	u64 verb = rng_below(&r->seed, 100);

	if (verb < 55)
		step_put(r, i);
	else if (verb < 75)
		step_erase(r, i);
	else if (verb < 96)
		key_holds(r, i);
	else if (verb < 98)
		list_holds(r, i);
	else
		step_restart(r, verb == 98);
	crab_store_maintain(r->store);
}

static void test_model(const char *engine, const char *layout, u32 leaves)
{
	struct run r;
	u32 i;

	run_format(&r, engine, layout, leaves);
	for (i = 0; i < STEPS && !tap_faults; i++)
		step(&r);
	for (i = 0; i < KEYS; i++)
		key_holds(&r, i);
	list_holds(&r, 0);
	store_check_good(r.store);
	for (i = 0; i < KEYS; i++)
		if (r.key[i].there)
			step_erase(&r, i);
	tap_check(r.refused > 100, "%u refusals", r.refused);
	tap_check(!r.full == (leaves == LEAVES), "%u times full", r.full);
	tap_ok(true, "%s %s: %u steps with blobs in %u leaves agree with the model, %u times full",
	       engine, layout, STEPS, leaves, r.full);
	store_end(r.store);
}

/* The verbs on records are refused, and those on blobs in a store of records */
static void test_refused(void)
{
	struct crab_media media = media_create(1 << 20);
	struct crab_store *plain = store_format_attach(&media, "crab", "", 512);
	struct crab_batch_op op = { .verb = CRAB_VERB_INSERT, .key = 1 };
	struct crab_blob_write put = { .key = 1, .data = value };
	struct crab_blob_read get = { .key = 1 };
	struct crab_blob_entry entry;
	struct crab_cursor cursor;
	struct crab_record record;
	struct run r;
	u64 word;

	run_format(&r, "crab", "", LEAVES);
	tap_check(!crab_blob_put(r.store, &put), "a value of no bytes");
	crab_cursor_init(&cursor, 0, 10);
	tap_check(crab_store_search(r.store, 1, &word) == -EOPNOTSUPP, "search");
	tap_check(crab_store_seek(r.store, 1, CRAB_SEEK_GE, &record) == -EOPNOTSUPP, "seek");
	tap_check(crab_cursor_read(r.store, &cursor, &record, 1) == -EOPNOTSUPP, "scan");
	tap_check(store_put(r.store, 1, 2) == -EOPNOTSUPP, "insert");
	tap_check(store_delete(r.store, 1) == -EOPNOTSUPP, "delete");
	tap_check(crab_cursor_delete(r.store, &cursor, 1, &word) == -EOPNOTSUPP, "delete a range");
	crab_store_batch(r.store, &op, 1);
	tap_check(op.status == -EOPNOTSUPP, "batch: %d", op.status);
	tap_check(!crab_blob_get(r.store, &get) && !get.bytes, "the value of no bytes is there");
	tap_check(crab_blob_put(plain, &put) == -EOPNOTSUPP && crab_blob_get(plain, &get) == -EOPNOTSUPP &&
		  crab_blob_erase(plain, &put) == -EOPNOTSUPP &&
		  crab_blob_list(plain, &cursor, &entry, 1) == -EOPNOTSUPP, "blobs in a plain store");
	put.key = get.key = CRAB_KEY_EMPTY;
	tap_check(crab_blob_put(r.store, &put) == -EINVAL && crab_blob_erase(r.store, &put) == -EINVAL &&
		  crab_blob_get(r.store, &get) == -EINVAL, "the reserved key");
	put = (struct crab_blob_write){ .key = 1, .data = value, .bytes = crab_blob_most(r.store, 0) + 1 };
	tap_check(crab_blob_put(r.store, &put) == -EMSGSIZE, "a value that is too long");
	store_end(plain);
	store_end(r.store);
	tap_ok(true, "verbs of the other kind of store, the reserved key, too long values");
}

static int format_blobs(u64 size, const char *engine, char *reason)
{
	struct crab_format_options options = {
		.engine = engine, .layout = "", .label = "", .blobs = true, .leaf_bytes = 512,
	};
	struct crab_media media = media_create(size);
	int err = crab_store_format(&media, &options, reason);
	u64 sum = 0, i;

	for (i = 0; i < size; i++)
		sum += media.base[i];
	tap_check(!err == !!sum, "a refused FORMAT writes nothing");
	media_destroy(&media);
	return err;
}

static void test_format(void)
{
	char reason[CRAB_REASON_LEN];

	tap_check(format_blobs(1 << 20, "volatile", reason) == -EOPNOTSUPP, "%s", reason);
	tap_check(format_blobs(CRAB_POOL_OFFSET + 8192, "crab", reason) == -ENOSPC, "%s", reason);
	tap_check(!format_blobs(CRAB_POOL_OFFSET + 16384, "crab", reason), "%s", reason);
	tap_ok(true, "FORMAT refuses engines and regions that cannot hold blobs");
}

/* Fills the store, erases everything, and fills it again: as many fit */
static u32 fill(struct run *r, u32 bytes)
{
	struct crab_blob_write put = { .bytes = bytes, .data = value };

	while (!crab_blob_put(r->store, &put))
		put.key++;
	tap_check(crab_blob_put(r->store, &put) == -ENOSPC, "full");
	return put.key;
}

static void test_full(const char *engine, const char *layout)
{
	struct crab_blob_write erase = { };
	u32 first, again;
	struct run r;

	run_format(&r, engine, layout, LEAVES);
	first = fill(&r, 900);
	for (erase.key = 0; erase.key < first; erase.key++)
		tap_check(!crab_blob_erase(r.store, &erase), "erase %llu in a full store", erase.key);
	tap_check(!r.store->blobs->extents.lent, "all slabs went back");
	again = fill(&r, 900);
	tap_check(again >= first - first / 10, "%u fit again of %u", again, first);
	step_restart(&r, true);
	tap_check(!fill(&r, 900), "a full store has no room to replace a value");
	store_check_good(r.store);
	tap_ok(first > 500, "%s %s: %u blobs of 900 bytes fill 1 MiB; they can be erased, and fit again",
	       engine, layout, first);
	store_end(r.store);
}

/* Every fourth blob remains; returns how many */
static u32 thin_out(struct run *r, u32 blobs)
{
	struct crab_blob_write erase = { };
	u32 left = 0;

	for (erase.key = 0; erase.key < blobs; erase.key++)
		if (erase.key % 4)
			tap_check(!crab_blob_erase(r->store, &erase), "erase");
		else
			left++;
	return left;
}

static void versions_read(struct run *r, u32 blobs, u64 *version)
{
	struct crab_blob_read get = { .buffer = buffer, .capacity = LONGEST };

	for (get.key = 0; get.key < blobs; get.key += 4) {
		tap_check(!crab_blob_get(r->store, &get) && get.bytes == 900, "get of %llu", get.key);
		version[get.key] = get.version;
	}
}

/* Slabs of which a quarter is in use return: off the write path, or when a put needs them */
static void test_evacuation(const char *engine, const char *layout, bool urgent)
{
	struct crab_blob_write put = { .key = 1ULL << 40, .data = value, .bytes = 4000 };
	static u64 before[4096], after[4096];
	u32 blobs, left, i;
	struct run r;
	u64 lent;

	run_format(&r, engine, layout, LEAVES);
	blobs = fill(&r, 900);
	left = thin_out(&r, blobs);
	versions_read(&r, blobs, before);
	lent = r.store->blobs->extents.lent;
	for (i = 0; !urgent && crab_store_maintain(r.store); i++)
		tap_check(i < 100000, "maintenance does not end");
	for (i = 0; urgent && i < 100; i++, put.key++)
		tap_check(!crab_blob_put(r.store, &put), "put %u of 4000 bytes", i);
	lent -= r.store->blobs->extents.lent;
	versions_read(&r, blobs, after);
	for (i = 0; i < blobs; i += 4)
		tap_check(before[i] == after[i], "version of key %u", i);
	store_check_good(r.store);
	step_restart(&r, true);
	versions_read(&r, blobs, after);
	tap_check(urgent || lent > r.store->blobs->extents.lent, "%llu slabs returned, %llu are left",
		  lent, r.store->blobs->extents.lent);
	tap_ok(true, "%s %s: %u of %u blobs remain, and their slabs return %s", engine, layout, left, blobs,
	       urgent ? "as puts need them" : "in maintenance");
	store_end(r.store);
}

/* Each bit of a blob's words but those of the padding: the key reads as damaged, and no other one */
static void test_damage(void)
{
	struct crab_blob_write put = { .key = 5, .bytes = 100, .data = value };
	struct crab_blob_write other = { .key = 6, .bytes = 100, .data = value };
	struct crab_blob_read get = { .key = 5, .buffer = buffer, .capacity = LONGEST };
	struct crab_blob_read get_other = { .key = 6, .buffer = buffer, .capacity = LONGEST };
	struct crab_check_report report;
	u64 word, offset, bit;
	struct run r;

	run_format(&r, "crab", "", LEAVES);
	value_make(value, 5, 1, 100);
	crab_blob_put(r.store, &put);
	crab_blob_put(r.store, &other);
	r.store->blobs->raw->lookup(r.store->engine, 5, &word);
	offset = crab_extent_offset(&r.store->blobs->extents, word & CRAB_PLACE_MASK);
	for (bit = 0; bit < (sizeof(struct crab_dblob) + 100) * 8; bit++) {
		r.media.base[offset + bit / 8] ^= 1 << bit % 8;
		tap_check(crab_blob_get(r.store, &get) == -EUCLEAN, "bit %llu is not noticed", bit);
		tap_check(!crab_blob_get(r.store, &get_other), "bit %llu: the other key", bit);
		r.media.base[offset + bit / 8] ^= 1 << bit % 8;
	}
	r.media.base[offset + 50] ^= 1;
	crab_store_check(r.store, &report);
	tap_check(report.damage.count == 1 && report.damage.offset == offset, "check: %s",
		  report.damage.what);
	put.checked = true;
	tap_check(!crab_blob_put(r.store, &put) && !crab_blob_get(r.store, &get),
		  "a damaged value can be replaced");
	crab_store_check(r.store, &report);
	tap_check(!report.damage.count && !crab_store_is_readonly(r.store), "check: %s",
		  report.damage.what);
	tap_ok(true, "each of %llu bits of a blob, flipped, is the damage of one key", bit);
	store_end(r.store);
}

/* Changes the word of key 5 by the engine, and attaches: is it reported, and the store read-only? */
static void word_is_reported(u64 (*change)(u64 word, u64 other), const char *what)
{
	struct crab_blob_write put = { .bytes = 100, .data = value };
	struct crab_flow flow = { };
	struct crab_attach_report report;
	struct crab_blob_read get = { .key = 5 };
	u64 word, other;
	struct crab_old old;
	struct run r;
	int err;

	run_format(&r, "crab", "", LEAVES);
	for (put.key = 5; put.key < 7; put.key++)
		crab_blob_put(r.store, &put);
	flow.media = &r.media;
	r.store->blobs->raw->lookup(r.store->engine, 5, &word);
	r.store->blobs->raw->lookup(r.store->engine, 6, &other);
	r.store->blobs->raw->insert(r.store->engine, &flow, 5, change(word, other),
				    CRAB_INSERT_EITHER, &old);
	tap_check(crab_blob_get(r.store, &get) == -EUCLEAN, "%s: get", what);
	crab_store_detach(r.store);
	r.store = store_try(&r.media, &report);
	tap_check(!IS_ERR(r.store) && report.verdict == CRAB_VERDICT_RO, "%s: %s", what,
		  report.reason);
	err = crab_blob_get(r.store, &get);
	tap_check(err == -EUCLEAN, "%s: get after attach: %d", what, err);
	get = (struct crab_blob_read){ .key = 6, .buffer = buffer, .capacity = LONGEST };
	tap_check(!crab_blob_get(r.store, &get), "%s: the other key", what);
	put.key = 9;
	tap_check(crab_blob_put(r.store, &put) == -EROFS, "%s: put", what);
	store_end(r.store);
}

static u64 change_twin(u64 word, u64 other)	{ return other; }
static u64 change_class(u64 word, u64 other)	{ return word ^ 1; }
static u64 change_beyond(u64 word, u64 other)	{ return word | 1ULL << 39; }
static u64 change_leaf(u64 word, u64 other)	{ return (word & ~CRAB_PLACE_MASK) | 2; }
static u64 change_no_class(u64 word, u64 other)	{ return word | 31; }

static void test_words(void)
{
	word_is_reported(change_twin, "two words name one extent");
	word_is_reported(change_class, "another class");
	word_is_reported(change_beyond, "out of the pool");
	word_is_reported(change_leaf, "a leaf of the engine");
	word_is_reported(change_no_class, "a class that is none");
	tap_ok(true, "attach reports words that name no extent of their own");
}

/* The page of the head: CHECK reports the damage that attach found */
static void test_numbers(void)
{
	struct crab_check_report check;
	u32 bit, wrong = 0, missed = 0;
	struct run r;

	run_format(&r, "crab", "", LEAVES);
	crab_store_detach(r.store);
	for (bit = 0; bit < sizeof(struct crab_dblobs) * 8; bit++) {
		struct crab_attach_report report;

		r.media.base[CRAB_BLOBS_OFFSET + bit / 8] ^= 1 << bit % 8;
		r.store = store_try(&r.media, &report);
		wrong += IS_ERR(r.store) || report.verdict != CRAB_VERDICT_RO;
		crab_store_check(r.store, &check);
		missed += !check.damage.count;
		crab_store_abandon(r.store);
		r.media.base[CRAB_BLOBS_OFFSET + bit / 8] ^= 1 << bit % 8;
	}
	tap_ok(!wrong, "each bit of the numbers in the head's page, flipped, is damage: %u not", wrong);
	tap_check(!missed, "CHECK misses %u of them", missed);
	media_destroy(&r.media);
}

/* Versions go on after a cut, also if the blob with the highest one was erased */
static void test_versions(void)
{
	struct crab_blob_write put = { .key = 1, .data = value }, erase = { .key = 1 };
	u64 before = 0;
	struct run r;
	u32 life;

	run_format(&r, "crab", "", LEAVES);
	for (life = 0; life < 5; life++) {
		crab_blob_put(r.store, &put);
		tap_check(put.version > before, "life %u: version %llu after %llu", life, put.version,
			  before);
		before = put.version;
		crab_blob_erase(r.store, &erase);
		r.store = store_cut(r.store);
	}
	r.store->blobs->birth = r.store->blobs->birth_end + (1 << CRAB_BIRTHS_SHIFT) - 1;
	r.store->blobs->birth_end = r.store->blobs->birth + 1;
	for (life = 0; life < 3; life++) {
		crab_blob_put(r.store, &put);
		tap_check(put.version > before, "version %llu after %llu", put.version, before);
		before = put.version;
	}
	tap_ok(true, "no version is used twice");
	store_end(r.store);
}

int main(void)
{
	u32 i;

	crab_host_log = NULL;	/* damage is planted, and reported in the log */
	for (i = 0; i < STORE_VALUE_LAYOUTS; i++) {
		test_model(store_value_layouts[i][0], store_value_layouts[i][1], LEAVES);
		test_model(store_value_layouts[i][0], store_value_layouts[i][1], 96);
		test_full(store_value_layouts[i][0], store_value_layouts[i][1]);
		test_evacuation(store_value_layouts[i][0], store_value_layouts[i][1], false);
		test_evacuation(store_value_layouts[i][0], store_value_layouts[i][1], true);
	}
	test_refused();
	test_format();
	test_damage();
	test_words();
	test_numbers();
	test_versions();
	return tap_done();
}

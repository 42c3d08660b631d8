// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests stores of names: random puts, erases, gets, lists and restarts against a model, on
 * each engine that can hold blobs; names that have the same crc; limits; damage to names.
 *
 * Invariant: each byte of a value depends on its name and on its generation.
 */
#include "store/blob_snap.h"
#include "store/named_priv.h"
#include "store/named.h"
#include "test.h"

#define NAMES	48U
#define STEPS	4000U
#define LEAVES	2048U
#define LONGEST	2000U
#define WORDS	500U	/* that are changed, one at a time */

/* A name, and its value. The model has its names in their order */
struct known {
	char text[CRAB_NAME_MAX];
	u32 length;
	bool there;
	u32 bytes;
	u32 generation;
	u8 type;
	u64 version;
};

struct run {
	struct crab_media media;
	struct crab_store *store;
	struct known name[NAMES];
	u64 seed;
};

static u8 buffer[LONGEST], value[LONGEST];

static int known_compare(const void *a, const void *b)
{
	const struct known *x = a, *y = b;
	int order = memcmp(x->text, y->text, min(x->length, y->length));

	return order ?: (int)x->length - (int)y->length;
}

/* Names that begin with one another, with any bytes, of all lengths */
static void names_make(struct run *r)
{
	u32 i, j;

	for (i = 0; i < NAMES; i++) {
		struct known *k = &r->name[i];

		k->length = i < 16 ? i + 1 : i < 20 ? CRAB_NAME_MAX - i + 16 :
			    1 + rng_below(&r->seed, 30);
		for (j = 0; j < k->length; j++)
			k->text[j] = i < 20 ? 'a' : i < 36 ? 'a' + rng_below(&r->seed, 3) :
						    rng_below(&r->seed, 256);
	}
	qsort(r->name, NAMES, sizeof(r->name[0]), known_compare);
}

static bool same_as_before(const struct run *r, u32 i)
{
	return i && !known_compare(&r->name[i - 1], &r->name[i]);
}

static void value_make(u8 *to, const struct known *k, u32 generation, u32 bytes)
{
	rng_fill(to, crab_name_key(k->text, k->length) + generation, bytes);
}

static void run_format(struct run *r, const char *engine, const char *layout)
{
	memset(r, 0, sizeof(*r));
	r->media = media_create(CRAB_POOL_OFFSET + LEAVES * 512);
	r->seed = 11;
	names_make(r);
	r->store = store_make(&r->media, engine, layout, leaf_bytes_of(engine, layout),
			      STORE_NAMES);
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
		put->version = k->version + rng_below(&r->seed, 2);
		return !k->there ? -ENOENT : put->version == k->version ? 0 : -ESTALE;
	default:
		return 0;
	}
}

static void step_put(struct run *r, struct known *k)
{
	struct crab_blob_write put = {
		.name = k->text, .name_bytes = k->length, .type = rng_below(&r->seed, 256),
		.bytes = rng_below(&r->seed, LONGEST), .data = value,
	};
	int want = put_condition(r, k, &put), err;

	value_make(value, k, k->generation + 1, put.bytes);
	err = crab_named_put(r->store, &put);
	tap_check(err == want, "put: %d, not %d", err, want);
	if (err)
		return;
	tap_check(put.existed == k->there, "existed");
	k->there = true;
	k->bytes = put.bytes;
	k->generation++;
	k->type = put.type;
	k->version = put.version;
}

static void step_erase(struct run *r, struct known *k)
{
	struct crab_blob_write erase = {
		.name = k->text, .name_bytes = k->length, .checked = rng_below(&r->seed, 2),
		.version = k->version + rng_below(&r->seed, 2),
	};
	int want = !k->there ? -ENOENT : erase.checked && erase.version != k->version ? -ESTALE : 0;
	int err = crab_named_erase(r->store, &erase);

	tap_check(err == want, "erase: %d, not %d", err, want);
	k->there &= err != 0;
}

static void name_holds(struct run *r, const struct known *k)
{
	struct crab_blob_read get = { .buffer = buffer, .capacity = k->bytes };
	int err = crab_named_get(r->store, k->text, k->length, &get);

	tap_check(err == (k->there ? 0 : -ENOENT), "get: %d", err);
	if (err)
		return;
	value_make(value, k, k->generation, k->bytes);
	tap_check(get.bytes == k->bytes && get.version == k->version && get.type == k->type &&
		  !memcmp(buffer, value, k->bytes), "a value of %u bytes", get.bytes);
	get.capacity = k->bytes - 1;
	err = k->bytes ? crab_named_get(r->store, k->text, k->length, &get) : -EMSGSIZE;
	tap_check(err == -EMSGSIZE && get.bytes == k->bytes, "a short buffer: %d", err);
}

/* Is a name in a list from @start to @end? */
static bool is_listed(const struct known *k, const struct known *start, bool after,
		      const struct known *end, bool prefix)
{
	int order = known_compare(k, start);

	if (!k->there || order < 0 || (after && !order))
		return false;
	if (prefix)
		return k->length >= end->length && !memcmp(k->text, end->text, end->length);
	return !end->length || known_compare(k, end) <= 0;
}

static void list_holds(struct run *r)
{
	struct known start = r->name[rng_below(&r->seed, NAMES)];
	struct known end = r->name[rng_below(&r->seed, NAMES)];
	bool prefix = rng_below(&r->seed, 2), after = rng_below(&r->seed, 2);
	struct crab_named_cursor cursor;
	struct crab_named_entry entry;
	u32 i;

	if (prefix)
		end.length = rng_below(&r->seed, 4);
	if (rng_below(&r->seed, 3) == 0)
		start.length = 0;
	crab_named_cursor_init(&cursor, start.text, start.length, end.text, end.length);
	cursor.after = after;
	if (prefix)
		crab_named_cursor_prefix(&cursor);
	for (i = 0; i < NAMES; i++) {
		const struct known *k = &r->name[i];

		if (same_as_before(r, i) || !is_listed(k, &start, after, &end, prefix))
			continue;
		tap_check(crab_named_next(r->store, &cursor, &entry) == 1 &&
			  entry.name_bytes == k->length && !memcmp(entry.text, k->text, k->length) &&
			  !entry.err && entry.bytes == k->bytes && entry.version == k->version &&
			  entry.type == k->type, "name %u of the list", i);
	}
	tap_check(!crab_named_next(r->store, &cursor, &entry), "the list goes on");
}

static void restart(struct run *r, bool clean)
{
	u64 dram = r->store->blobs->names.dram;

	r->store = clean ? store_again(r->store) : store_cut(r->store);
	tap_check(r->store->blobs->names.dram == dram, "%llu bytes of names, not %llu",
		  r->store->blobs->names.dram, dram);
}

static void step(struct run *r)
{
	u32 i = rng_below(&r->seed, NAMES);
	u64 verb = rng_below(&r->seed, 100);

	while (same_as_before(r, i))
		i--;
	if (verb < 50)
		step_put(r, &r->name[i]);
	else if (verb < 70)
		step_erase(r, &r->name[i]);
	else if (verb < 90)
		name_holds(r, &r->name[i]);
	else if (verb < 98)
		list_holds(r);
	else
		restart(r, verb == 98);
	crab_store_maintain(r->store);
}

static void test_model(const char *engine, const char *layout)
{
	struct run r;
	u32 i;

	run_format(&r, engine, layout);
	for (i = 0; i < STEPS && !tap_faults; i++)
		step(&r);
	for (i = 0; i < NAMES; i++)
		if (!same_as_before(&r, i))
			name_holds(&r, &r.name[i]);
	store_check_good(r.store);
	for (i = 0; i < NAMES; i++)
		if (!same_as_before(&r, i) && r.name[i].there)
			step_erase(&r, &r.name[i]);
	tap_ok(true, "%s %s: %u steps with names agree with the model", engine, layout, STEPS);
	store_end(r.store);
}

/* Names that have the same crc, found by trying */

struct tried {
	u64 key;
	u32 number;
};

static int tried_compare(const void *a, const void *b)
{
	const struct tried *x = a, *y = b;

	return x->key < y->key ? -1 : x->key > y->key;
}

#define TRIED	(1U << 18)

/* A name of 7 bytes that differs from number to number in more bits than the crc has */
static u32 number_name(u32 number, char name[8])
{
	u64 mixed = rng_mix(number);

	return snprintf(name, 8, "%07llx", mixed & 0xfffffff);
}

static bool same_crc(char a[8], char b[8])
{
	struct tried *tried = calloc(TRIED, sizeof(*tried));
	bool found = false;
	u32 i;

	for (i = 0; i < TRIED; i++)
		tried[i] = (struct tried){ crab_name_key(a, number_name(i, a)), i };
	qsort(tried, TRIED, sizeof(*tried), tried_compare);
	for (i = 1; i < TRIED && !found; i++) {
		number_name(tried[i - 1].number, a);
		number_name(tried[i].number, b);
		found = tried[i].key == tried[i - 1].key && memcmp(a, b, 7);
	}
	free(tried);
	return found;
}

static bool has_value(struct run *r, const char *name, u32 bytes, const char *text)
{
	struct crab_blob_read get = { .buffer = buffer, .capacity = sizeof(buffer) };

	return !crab_named_get(r->store, name, bytes, &get) && get.bytes == strlen(text) &&
	       !memcmp(buffer, text, get.bytes);
}

static int put_text(struct run *r, const char *name, u32 bytes, const char *text)
{
	return store_name_put(r->store, name, bytes, text, strlen(text));
}

static void test_same_crc(void)
{
	char a[8], b[8];
	struct run r;

	tap_check(same_crc(a, b), "two names with the same crc");
	run_format(&r, "crab", "");
	tap_check(!put_text(&r, a, 7, "one") && !put_text(&r, b, 7, "two"), "put");
	restart(&r, false);
	tap_check(has_value(&r, a, 7, "one") && has_value(&r, b, 7, "two"), "both are there");
	tap_check(!store_name_erase(r.store, a, 7) && has_value(&r, b, 7, "two"), "erase of one");
	tap_check(!put_text(&r, a, 7, "three"), "put again");
	restart(&r, true);
	tap_check(has_value(&r, a, 7, "three") && has_value(&r, b, 7, "two"), "both again");
	store_check_good(r.store);
	tap_ok(true, "two names that have the same crc: %s and %s", a, b);
	store_end(r.store);
}

static void test_limits(void)
{
	struct crab_media media = media_create(1 << 20);
	struct crab_store *plain = store_format_attach(&media, "crab", "", 512);
	struct crab_named_cursor cursor = { .bytes = 0 };
	struct crab_blob_read get = { .capacity = 0 };
	struct crab_named_entry entry;
	char name[CRAB_NAME_MAX + 1];
	struct crab_blob_write put = { .name = name, .data = value };
	struct run r;

	memset(name, 'n', sizeof(name));
	run_format(&r, "crab", "");
	tap_check(crab_named_put(r.store, &put) == -EINVAL && crab_named_erase(r.store, &put) == -EINVAL &&
		  crab_named_get(r.store, name, 0, &get) == -EINVAL, "a name without bytes");
	put.name_bytes = sizeof(name);
	tap_check(crab_named_put(r.store, &put) == -EINVAL && crab_named_erase(r.store, &put) == -EINVAL &&
		  crab_named_get(r.store, name, sizeof(name), &get) == -EINVAL, "a name of 241 bytes");
	put.name_bytes = CRAB_NAME_MAX;
	put.bytes = crab_blob_most(r.store, CRAB_NAME_MAX) + 1;
	tap_check(crab_named_put(r.store, &put) == -EMSGSIZE, "a value that is too long");
	put.bytes = 0;
	tap_check(!crab_named_put(r.store, &put), "a name of 240 bytes, and no value");
	tap_check(crab_named_put(plain, &put) == -EOPNOTSUPP && crab_named_erase(plain, &put) == -EOPNOTSUPP &&
		  crab_named_get(plain, name, 1, &get) == -EOPNOTSUPP &&
		  crab_named_next(plain, &cursor, &entry) == -EOPNOTSUPP, "names in a plain store");
	store_end(plain);
	store_end(r.store);
	tap_ok(true, "lengths of names and values; another kind of store");
}

/* Where the blob of a name is in the region */
static u64 blob_offset(struct run *r, const char *name)
{
	struct crab_name *known = crab_names_find(&r->store->blobs->names, name, strlen(name));
	u64 word;

	r->store->blobs->raw->lookup(r->store->engine, known->key, &word);
	return crab_extent_offset(&r->store->blobs->extents, word & CRAB_PLACE_MASK);
}

/* A list of now, or of a snapshot, has the name "b"; how does it end? */
static int list_end(struct run *r, struct crab_snap *snap)
{
	struct crab_named_cursor cursor = { .bytes = 0 };
	struct crab_named_entry entry;
	bool found = false;
	int got;

	while ((got = snap ? crab_snap_named_next(r->store, snap, &cursor, &entry) :
			     crab_named_next(r->store, &cursor, &entry)) > 0)
		found |= entry.name_bytes == 1 && *entry.text == 'b' && !entry.err;
	tap_check(found, "a list without the other name");
	return got;
}

/* A list may lack the name that is damaged */
static void lists_end(struct run *r, int want)
{
	struct crab_snap *snap = store_snap(r->store);

	tap_check(list_end(r, NULL) == want, "the end of a list");
	tap_check(snap && list_end(r, snap) == want, "the end of a list of a snapshot");
	crab_snap_close(snap);
}

/* Attaches a store that is damaged; the name "b" must be served. Is it read-only? */
static bool attach_readonly(struct run *r)
{
	struct crab_attach_report report;
	int err;

	r->store = store_try(&r->media, &report);
	tap_check(!IS_ERR(r->store), "attach: %s", report.reason);
	tap_check(has_value(r, "b", 1, "two"), "the other name");
	lists_end(r, report.verdict == CRAB_VERDICT_RO ? -EUCLEAN : 0);
	err = put_text(r, "b", 1, "two");
	tap_check(err == (report.verdict == CRAB_VERDICT_RO ? -EROFS : 0), "put: %d", err);
	return report.verdict == CRAB_VERDICT_RO;
}

static void attach_damaged(struct run *r, const char *what)
{
	tap_check(attach_readonly(r), "%s", what);
}

/* Each bit of the header and the name, while attached and at attach */
static void test_damage(void)
{
	struct crab_blob_read get = { .capacity = 0 };
	u32 bit, err, bits = (sizeof(struct crab_dblob) + 1) * 8, late = 0;
	struct run r;
	u64 offset;

	run_format(&r, "crab", "");
	put_text(&r, "a", 1, "one");
	put_text(&r, "b", 1, "two");
	offset = blob_offset(&r, "a");
	for (bit = 0; bit < bits; bit++) {
		r.media.base[offset + bit / 8] ^= 1 << bit % 8;
		tap_check(crab_named_get(r.store, "a", 1, &get) == -EUCLEAN, "bit %u is not noticed",
			  bit);
		crab_store_abandon(r.store);
		/* Some bits of the length, the type and the crc are verified by a read only */
		late += !attach_readonly(&r);
		err = -crab_named_get(r.store, "a", 1, &get);
		tap_check(err == EUCLEAN, "bit %u: get after attach: %u", bit, err);
		crab_store_abandon(r.store);
		r.media.base[offset + bit / 8] ^= 1 << bit % 8;
		r.store = store_attach(&r.media);
	}
	tap_check(crab_named_get(r.store, "d", 1, &get) == -ENOENT, "another name");
	tap_check(late == 4 + 8 + 32, "attach does not find %u", late);
	tap_ok(true, "each of %u bits of a header and a name, flipped, is damage of that name", bits);
	store_end(r.store);
}

/* Is a name served as it was put, or reported as damaged? */
static void name_is_true(struct run *r, const struct known *k, u64 word)
{
	struct crab_blob_read get = { .buffer = buffer, .capacity = sizeof(buffer) };
	int err = crab_named_get(r->store, k->text, k->length, &get);

	if (err == -EUCLEAN || (err == -ENOENT && !k->there))
		return;
	value_make(value, k, k->generation, k->bytes);
	tap_check(!err && k->there && get.bytes == k->bytes && !memcmp(buffer, value, k->bytes),
		  "word %llu: a name of %u bytes: %d, %u bytes", word, k->length, err, get.bytes);
}

static void list_ends(struct run *r, u64 word)
{
	struct crab_named_cursor cursor = { .bytes = 0 };
	struct crab_named_entry entry;
	u32 names = 0;

	while (crab_named_next(r->store, &cursor, &entry) == 1)
		names++;
	tap_check(names <= NAMES, "word %llu: %u names", word, names);
}

/* Any word of the media with another value: no wrong value, no wrong absence, no read beyond memory */
static void test_words(const char *engine, const char *layout)
{
	struct crab_attach_report report;
	u32 i, served = 0, n;
	struct run r;
	u8 *good;

	run_format(&r, engine, layout);
	for (i = 0; i < NAMES; i++)
		if (!same_as_before(&r, i))
			step_put(&r, &r.name[i]);
	crab_store_detach(r.store);
	good = malloc(r.media.size);
	memcpy(good, r.media.base, r.media.size);
	for (n = 0; n < WORDS; n++) {
		u64 word = rng_below(&r.seed, r.media.size / 8);

		while (!((u64 *)good)[word])
			word = (word + 1) % (r.media.size / 8);
		((u64 *)r.media.base)[word] ^= n % 2 ? 1ULL << rng_below(&r.seed, 64) : rng_mix(n);
		r.store = store_try(&r.media, &report);
		if (!IS_ERR(r.store)) {
			served++;
			for (i = 0; i < NAMES; i++)
				if (!same_as_before(&r, i))
					name_is_true(&r, &r.name[i], word);
			list_ends(&r, word);
			crab_store_abandon(r.store);
		}
		memcpy(r.media.base, good, r.media.size);
	}
	tap_ok(served > WORDS / 2, "%s: %u words changed, %u stores attached: no wrong value", engine,
	       WORDS, served);
	r.store = store_attach(&r.media);
	free(good);
	store_end(r.store);
}

/* Two blobs with one name; a blob without a name; names without blobs */
static void test_forged(void)
{
	struct crab_blob_write put = { .name = "a", .name_bytes = 1, .data = "x", .bytes = 1 };
	struct crab_check_report report;
	struct run r;

	run_format(&r, "crab", "");
	put_text(&r, "a", 1, "one");
	put_text(&r, "b", 1, "two");
	put.key = crab_name_key("a", 1) + 1;
	tap_check(!crab_blob_put(r.store, &put), "another blob of the name");
	tap_check(!crab_store_check(r.store, &report) && report.damage.count == 1, "check: %s",
		  report.damage.what);
	crab_store_detach(r.store);
	attach_damaged(&r, "two blobs of a name");
	store_end(r.store);

	run_format(&r, "crab", "");
	put_text(&r, "b", 1, "two");
	put = (struct crab_blob_write){ .key = 1, .data = "x", .bytes = 1 };
	tap_check(!crab_blob_put(r.store, &put), "a blob without a name");
	crab_store_detach(r.store);
	attach_damaged(&r, "a blob without a name");
	store_end(r.store);
	tap_ok(true, "two blobs of one name, and a blob without a name, are damage");
}

int main(void)
{
	u32 i;

	crab_host_log = NULL;	/* damage is planted, and reported in the log */
	for (i = 0; i < STORE_VALUE_LAYOUTS; i++)
		test_model(store_value_layouts[i][0], store_value_layouts[i][1]);
	test_same_crc();
	test_limits();
	test_damage();
	test_forged();
	for (i = 0; i < STORE_VALUE_LAYOUTS; i++)
		test_words(store_value_layouts[i][0], store_value_layouts[i][1]);
	return tap_done();
}

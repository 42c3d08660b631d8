// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests attach of a store of blobs: numbers of the head's page that cannot be read or that
 * no store has, headers of values that no store writes, scans of the records that fail, and attach
 * that is interrupted; and the verbs on records, which such a store refuses in both directions and in
 * a batch.
 *
 * Invariant: after an attach that has not read all records no extent is allocated.
 */
#include "media/badmem.h"
#include "media/crc.h"
#include "store/blob_commit.h"
#include "store/blob_media.h"
#include "store/blob_snap.h"
#include "store/commit_priv.h"
#include "store/named_priv.h"
#include "store/snap.h"
#include "test.h"

#define LEAVES		256U
#define VALUES		150U	/* more than one chunk of attach */
#define NUMBERS		CRAB_BLOBS_OFFSET
#define SLAB_OFFSET	(NUMBERS + offsetof(struct crab_dblobs, slab_bytes))

static struct crab_badmem bad;

static void begin(bool names, bool commits)
{
	store_begin_of(CRAB_POOL_OFFSET + LEAVES * 512, "crab", "slotted", 512,
		       (names ? STORE_NAMES : STORE_BLOBS) | (commits ? STORE_COMMITS : 0));
}

static void fill(void)
{
	u64 key;

	for (key = 0; key < VALUES; key++)
		tap_check(!store_blob_put(store, key, "value", 5), "put %llu", key);
}

/* Attaches again; whether the store is damaged, and can only be read */
static bool attach_finds_damage(bool readonly)
{
	const struct crab_attach_options options = { .readonly = readonly };
	struct crab_attach_report report;

	crab_store_abandon(store);
	store = crab_store_attach(&media, &options, &report);
	tap_check(!IS_ERR(store), "attach: %s", report.reason);
	return store->engine->damage.count;
}

static void test_records(void)
{
	struct crab_batch_op ops[2] = {
		{ .verb = CRAB_VERB_INSERT, .key = 1 }, { .verb = CRAB_VERB_DELETE, .key = 2 },
	};
	struct crab_record record;
	struct crab_cursor cursor;

	begin(false, false);
	fill();
	crab_cursor_init_back(&cursor, 0, CRAB_KEY_EMPTY);
	tap_check(crab_cursor_read(store, &cursor, &record, 1) == -EOPNOTSUPP, "a scan back");
	crab_store_batch(store, ops, 2);
	tap_ok(ops[0].status == -EOPNOTSUPP && ops[1].status == -EOPNOTSUPP,
	       "a store of values has no records that are scanned back, or written in a batch: %d, %d",
	       ops[0].status, ops[1].status);
	store_abandon(store);
}

/* Memory of one number that cannot be read: both are unknown */
static void test_unreadable(void)
{
	u64 from;

	begin(false, false);
	crab_badmem_init(&bad);
	for (from = NUMBERS; from <= SLAB_OFFSET; from += SLAB_OFFSET - NUMBERS) {
		bad.count = 0;
		crab_badmem_add(&bad, from, sizeof(u64));
		media.bad = &bad;
		tap_check(attach_finds_damage(false), "the numbers are read");
		tap_check(strstr(store->engine->damage.what, "the births of blobs"), "%s",
			  store->engine->damage.what);
		tap_check(store->engine->damage.count == 2, "%llu parts", store->engine->damage.count);
		media.bad = NULL;
	}
	tap_ok(!attach_finds_damage(false), "numbers in uncorrectable memory are damage");
	store_abandon(store);
}

/* A size of slabs whose low half is that of the store, and the one of an extent without slabs */
static void test_sizes(void)
{
	struct crab_damage damage = { };
	u32 i;

	begin(false, false);
	for (i = 0; i < 2; i++) {
		u64 bytes = i ? CRAB_LINE : (1ULL << 32) + crab_extent_slab_bytes(&store->engine->geo);

		*(__le64 *)(media.base + SLAB_OFFSET) = cpu_to_le64(
			crab_blob_number(store->super.store_id, SLAB_OFFSET, bytes));
		tap_check(attach_finds_damage(false) && !store->blobs->extents.slabs &&
			  store->blobs->unnamed, "%llu bytes", bytes);
	}
	crab_blobs_check_head(store, &damage);
	tap_ok(damage.count == 1 && damage.offset == SLAB_OFFSET,
	       "a size of slabs is damage if its low half is right, and if no slab is known");
	store_abandon(store);
}

/* Attach of the blobs alone, by an engine whose scans fail */

static const struct crab_engine_ops *own;
static struct crab_engine_ops ops;
static int result;		/* of the second scan, if it is an error */
static u32 scans;
static bool hidden;		/* the scans of the second part find no more records */
static u64 fewer;		/* records that the engine does not count */
static bool strange;		/* the first record that a scan finds has the reserved key */

static int scan_fails(struct crab_engine *engine, u64 start, u64 last, struct crab_record *records,
		      u32 cap)
{
	bool second = (++scans + 1) / 2 == 2;	/* of the parts, each of which is read twice */
	int n;

	if (second && hidden)
		return 0;
	n = second && result ? result : own->scan(engine, start, last, records, cap);
	if (strange && n > 1)
		records[0].key = CRAB_KEY_EMPTY;
	return n;
}

static void stats_fewer(struct crab_engine *engine, struct crab_engine_stats *stats)
{
	own->stats(engine, stats);
	stats->records -= fewer;
}

static u32 asked;

static bool stop_late(void *arg)
{
	return ++asked == 2;
}

/* The slabs return to the pool, and attach searches for them */
static int attach_again(void)
{
	struct crab_extents *extents = &store->blobs->extents;
	u32 leaves = extents->slab_lines * CRAB_LINE / store->engine->geo.leaf_bytes;
	u64 n;

	for (n = 0; n < extents->slabs_max; n++)
		if (extents->slabs[n])
			crab_pool_free_run(store->engine->pool, n * leaves, leaves);
	crab_blobs_detach(store);
	own = store->engine->ops;
	ops = *own;
	ops.scan = scan_fails;
	ops.stats = stats_fewer;
	scans = 0;
	store->engine->ops = store->engine->own = &ops;
	return crab_blobs_attach(store);
}

static void attach_end(void)
{
	store->engine->own = own;
	if (!store->blobs)
		store->engine->ops = own;
	store_abandon(store);
}

static void test_scan(void)
{
	u64 lost = 0;

	begin(false, false);
	fill();
	result = -EIO;
	tap_check(attach_again() == -EIO && !store->blobs && store->engine->ops == &ops, "-EIO");
	attach_end();
	result = 0;
	begin(false, false);
	fill();
	store->engine->stop.asked = stop_late;
	asked = 0;
	tap_check(attach_again() == -EINTR, "it was interrupted after a part of the records");
	attach_end();
	begin(false, false);
	fill();
	result = -EUCLEAN;
	tap_check(!attach_again() && store->blobs->unnamed, "unknown records");
	tap_check(sscanf(store->engine->damage.what, "%*u records in the leaves, and %llu when", &lost) == 1 &&
		  lost && lost < VALUES, "%s", store->engine->damage.what);
	tap_check(store->engine->pool->closed, "extents of unknown records may be allocated");
	attach_end();
	result = 0;
	tap_ok(true, "attach ends with the error of a scan; a range that cannot be read is damage");
}

/* The scan finds other records than the engine has counted */
static void test_count(void)
{
	begin(false, false);
	fill();
	hidden = true;
	tap_check(!attach_again() && store->blobs->unnamed && store->engine->damage.count == 1, "fewer");
	hidden = false;
	attach_end();
	begin(false, false);
	fill();
	fewer = 1;
	tap_check(!attach_again() && store->blobs->unnamed && store->engine->damage.count == 1, "more");
	fewer = 0;
	attach_end();
	tap_ok(true, "attach finds as many records as the engine, or the store is damaged");
}

/* The reserved key in a leaf and in a header, and a name that has its crc: no engine looks it up */
static void test_reserved(void)
{
	struct crab_named_cursor cursor = { };
	struct crab_named_entry entry;
	u64 word = 0;

	begin(true, false);
	tap_check(!store_name_put(store, "\xff\xff\xff\xff", 4, "v", 1), "put");
	store->blobs->raw->lookup(store->engine, store->blobs->names.root->key, &word);
	*(__le64 *)(media.base + crab_extent_offset(&store->blobs->extents, word & CRAB_PLACE_MASK) + 16) =
		cpu_to_le64(CRAB_KEY_EMPTY);
	tap_check(!store_name_put(store, "\xff\xff\xff\xff\0", 5, "v", 1), "put of the next key");
	strange = true;
	tap_check(!attach_again() && store->blobs->unnamed && store->engine->damage.count, "no damage");
	strange = false;
	tap_check(crab_named_next(store, &cursor, &entry) == 1 && entry.name_bytes == 5, "the other name");
	tap_ok(crab_named_next(store, &cursor, &entry) == -EUCLEAN, "the reserved key has no name: %s",
	       store->engine->damage.what);
	attach_end();
}

/* A number that is no place: one name is unknown, and the others are known */
static void test_word(void)
{
	struct crab_flow flow = { .media = &media };
	struct crab_old old;
	u64 key;

	begin(true, false);
	tap_check(!store_name_put(store, "name", 4, "v", 1), "put");
	key = store->blobs->names.root->key;
	store->blobs->raw->insert(store->engine, &flow, key, 31, CRAB_INSERT_EITHER, &old);
	tap_check(attach_finds_damage(false) && store->blobs->unnamed, "no damage");
	tap_check(store->engine->damage.count == 1 &&
		  strstr(store->engine->damage.what, "names no extent of its own"), "%llu: %s",
		  store->engine->damage.count, store->engine->damage.what);
	tap_ok(!store->blobs->names.root, "a word that names no extent is the damage of one name");
	store_abandon(store);
}

/* One word is that of another name: attach finds either of them first, and the other name can be read */
static void test_two_words(void)
{
	static const char * const names[] = { "a", "b", "c" };
	struct crab_flow flow = { .media = &media };
	u64 key[3], word[3];
	struct crab_old old;
	u32 i, j, n;

	begin(true, false);
	for (i = 0; i < 3; i++) {
		struct crab_blob_write put = {
			.name = names[i], .name_bytes = 1, .data = names[i], .bytes = 1,
		};

		tap_check(!crab_named_put(store, &put), "put");
		key[i] = put.key;
		tap_check(!store->blobs->raw->lookup(store->engine, key[i], &word[i]), "lookup");
	}
	for (n = 0; n < 9; n++) {
		i = n / 3;
		if (i == n % 3)
			continue;
		store->blobs->raw->insert(store->engine, &flow, key[i], word[n % 3], CRAB_INSERT_EITHER,
					  &old);
		tap_check(attach_finds_damage(false) && store->blobs->unnamed, "no damage");
		for (j = 0; j < 3; j++) {
			u8 value = 0;
			struct crab_blob_read get = { .buffer = &value, .capacity = 1 };
			int err = crab_named_get(store, names[j], 1, &get);

			tap_check(err == (i == j ? -EUCLEAN : 0) && (err || value == *names[j]),
				  "name %u has the word of %u: get of %u: %d", i, n % 3, j, err);
		}
		store->blobs->raw->insert(store->engine, &flow, key[i], word[i], CRAB_INSERT_EITHER, &old);
		tap_check(!attach_finds_damage(false), "%s", store->engine->damage.what);
	}
	tap_ok(true, "a word that names the extent of another name is the damage of one name");
	store_abandon(store);
}

/* Each allocation fails in turn */
static void test_memory(bool names)
{
	struct crab_blob_write put = { .name = "name", .name_bytes = 4, .data = "v", .bytes = 1 };
	u32 n = 0, failed = 0;
	bool last;
	int err;

	do {
		begin(names, false);
		tap_check(!(names ? crab_named_put(store, &put) : crab_blob_put(store, &put)), "put");
		crab_host_fail_alloc = n;
		err = attach_again();
		last = crab_host_fail_alloc >= 0;
		crab_host_fail_alloc = -1;
		tap_check(!err || err == -ENOMEM, "allocation %u: %d", n, err);
		tap_check(!store->engine->damage.count, "allocation %u: %s", n, store->engine->damage.what);
		failed += !!err;
		n++;
		attach_end();
	} while (!last);
	tap_ok(failed >= 4 + names, "attach of %s without memory is no damage: %u allocations",
	       names ? "names" : "values", failed);
}

/* A read-only attach counts the records that the list of a commit adds and removes */
static void test_list(void)
{
	struct crab_commit_list list = { .n = 2, .removes = 3 };
	struct crab_flow flow = { .media = &media };

	begin(false, true);
	fill();
	list.record[0].key = 5;
	list.record[1].key = VALUES;	/* there is none */
	crab_commit_store(&flow, store->super.store_id, &list);
	tap_check(!attach_finds_damage(true), "read-only: %s", store->engine->damage.what);
	tap_check(!attach_finds_damage(false), "writable: %s", store->engine->damage.what);
	tap_ok(true, "the records of a list in force are those that attach counts");
	store_abandon(store);
}

/* A snapshot needs the names that are erased, as long as the store is attached */
static void test_erased(void)
{
	struct crab_snap *snap;

	begin(true, false);
	tap_check(!store_name_put(store, "name", 4, "v", 1), "put");
	snap = store_snap(store);
	tap_check(!store_name_erase(store, "name", 4) && store->blobs->erased.root, "erase");
	store_abandon(store);
	tap_ok(snap && crab_snap_state(snap) == -ENODEV,
	       "a store is detached that has erased names, and a snapshot");
	crab_snap_close(snap);
}

/* A put with the first birth that an older number of the head's page does not cover */
static void put_born(const char *name)
{
	struct crab_blob_write put = { .key = 1, .data = "v", .bytes = 1 };

	put.name = name;
	put.name_bytes = name ? 1 : 0;
	store->blobs->birth = store->blobs->birth_end;
	tap_check(!(name ? crab_named_put : crab_blob_put)(store, &put), "put");
}

/* An old number of births returns: versions would be given again */
static void test_born(bool names)
{
	struct crab_check_report report;
	__le64 *at, old;
	bool found;

	begin(names, false);
	at = (__le64 *)(media.base + NUMBERS);
	put_born(names ? "a" : NULL);
	old = *at;
	put_born(names ? "b" : NULL);
	tap_check(*at != old, "the number has not been raised");
	store_check_good(store);
	tap_check(!attach_finds_damage(false), "attach: %s", store->engine->damage.what);
	store_check_good(store);
	*at = old;
	tap_check(!crab_store_check(store, &report) && report.damage.count == 1 &&
		  report.damage.offset == NUMBERS, "CHECK while it is attached: %s", report.damage.what);
	found = attach_finds_damage(false);
	tap_check(found == names, "attach: %s", store->engine->damage.what);
	tap_check(!crab_store_check(store, &report), "check");
	tap_ok(report.damage.count, "%s: an old number of births returns: %s", names ? "names" : "blobs",
	       report.damage.what);
	store_abandon(store);
}

static void expect_value(struct crab_snap *snap, u64 key, const char *value)
{
	char found[8] = { };
	struct crab_blob_read get = { .key = key, .buffer = found, .capacity = sizeof(found) };
	int err = snap ? crab_snap_get(store, snap, &get) : crab_blob_get(store, &get);

	tap_check(err == (value ? 0 : -ENOENT) && (err || !strcmp(found, value)), "key %llu: %d, %s", key,
		  err, found);
}

/* A write of key 0, whose blob has a birth that is to come; by a commit, if the store has commits */
struct again {
	const char *name;
	bool commits;
	struct crab_blob_write write;
	enum crab_verb verb;
	int err;
};

static int write_again(const struct again *again, struct crab_blob_write *write)
{
	static struct crab_blob_commit commit;	/* too large for a stack */
	int err;

	if (!again->commits)
		return (again->verb == CRAB_VERB_DELETE ? crab_blob_erase : crab_blob_put)(store, write);
	commit.n = 1;
	commit.ops[0] = (struct crab_blob_op){ .verb = again->verb, .write = *write };
	err = crab_blob_commit(store, &commit);
	*write = commit.ops[0].write;
	return err;
}

/* Attach continues at an older number: the first blob gets the birth that key 0 has. Returns this */
static u64 begin_again(bool commits)
{
	struct crab_blob_read get = { };
	__le64 *at, old;

	begin(false, commits);
	at = (__le64 *)(media.base + NUMBERS);
	tap_check(!store_blob_put(store, VALUES, "v", 1), "put");
	old = *at;
	store->blobs->birth = store->blobs->birth_end;
	fill();
	*at = old;
	tap_check(!attach_finds_damage(false), "attach: %s", store->engine->damage.what);
	tap_check(!crab_blob_get(store, &get) || get.version, "get");
	return get.version;
}

/* No condition holds with a version that another value has had: the store is read-only before */
static void test_again(const struct again *again)
{
	struct crab_blob_write write = again->write, stale = {
		.checked = true, .version = begin_again(again->commits), .data = "stale", .bytes = 6,
	};
	const char *now = again->err ? "value" : again->verb == CRAB_VERB_DELETE ? NULL : "again";
	struct crab_snap *snap = store_snap(store);
	int err;

	write.version = stale.version;
	err = write_again(again, &write);
	tap_check(err == again->err, "%s: %d", again->name, err);
	expect_value(NULL, 0, now);
	err = crab_blob_put(store, &stale);
	tap_check(err == -EROFS, "%s: a condition that does not hold: %d", again->name, err);
	expect_value(NULL, 0, now);
	expect_value(snap, 0, "value");
	crab_snap_close(snap);
	tap_ok(crab_store_is_readonly(store), "%s: a birth is to come: %s", again->name, store->reason);
	store_abandon(store);
}

static const struct again agains[] = {
	{ "put", .write = { .data = "again", .bytes = 6 }, .verb = CRAB_VERB_INSERT },
	{ "conditional put", .write = { .data = "again", .bytes = 6, .checked = true },
	  .verb = CRAB_VERB_INSERT, .err = -EUCLEAN },
	{ "erase", .verb = CRAB_VERB_DELETE },
	{ "conditional erase", .write = { .checked = true }, .verb = CRAB_VERB_DELETE, .err = -EUCLEAN },
	{ "commit", true, .write = { .data = "again", .bytes = 6 }, .verb = CRAB_VERB_INSERT },
	{ "conditional commit", true, .write = { .checked = true }, .verb = CRAB_VERB_DELETE,
	  .err = -EUCLEAN },
};

/* CHECK notices it also when the number on the media has been raised since */
static void test_raised(void)
{
	struct crab_check_report report;

	begin_again(false);
	tap_check(!store_blob_put(store, VALUES + 1, "v", 1), "put");
	tap_check(!crab_store_check(store, &report), "check");
	tap_ok(strstr(report.damage.what, "is to come"), "CHECK after a put: %s", report.damage.what);
	store_abandon(store);
}

/* The header of a value, with one field that no store writes, and the right crc */

#define FORGED	300U	/* bytes of the value, and one of its name */

static const struct forged {
	const char *what;
	u32 field;
	u64 change;	/* of the bits of the field */
	u64 more;	/* bytes than fit the extent, plus 1; or 0: the lengths do not depend on it */
	bool names;
	int err;
} forgeds[] = {
	{ "no change", .names = true },
	{ "no name", 3, 1ULL << 32, .names = true, .err = -EUCLEAN },
	{ "a name that is too long", 3, 240ULL << 32, .more = 1, .names = true, .err = -EUCLEAN },
	{ "bits above the type", 3, 1ULL << 48, .names = true, .err = -EUCLEAN },
	{ "an extent that is full", 3, .more = 1, .names = true },
	{ "a value that is too long", 3, .more = 2, .names = true, .err = -EUCLEAN },
	{ "the longest name", 3, (240ULL ^ 1) << 32, .more = 1, .names = true },
	{ "a value that is too long for it", 3, (240ULL ^ 1) << 32, .more = 2, .names = true,
	  .err = -EUCLEAN },
	{ .what = "no change" },
	{ "a name in a store of keys", 3, 1ULL << 32, .err = -EUCLEAN },
	{ "a type in a store of keys", 3, 1ULL << 40, .err = -EUCLEAN },
	{ "an extent that is full", 3, .more = 1 },
	{ "a value that is too long", 3, .more = 2, .err = -EUCLEAN },
	{ "another place", 0, CRAB_LINE, .err = -EUCLEAN },
	{ "another store", 4, 1, .err = -EUCLEAN },
};

static void forge(const struct forged *f, u64 place)
{
	__le64 *head = (__le64 *)(media.base + crab_extent_offset(&store->blobs->extents, place));
	u64 lengths, name;
	u32 crc;

	head[4] = cpu_to_le64((u32)le64_to_cpu(head[4]));
	head[f->field] ^= cpu_to_le64(f->change);
	lengths = le64_to_cpu(head[3]);
	name = round_up(lengths >> 32 & 0xff, sizeof(*head));
	if (f->more)
		lengths += crab_extent_bytes(place) - sizeof(struct crab_dblob) - name + f->more - 1 -
			   (u32)lengths;
	head[3] = cpu_to_le64(lengths);
	crc = ~crab_crc32c(~0U, head, sizeof(struct crab_dblob) + name + (u32)lengths);
	head[4] |= cpu_to_le64((u64)crc << 32);
}

static void test_forged(const struct forged *f)
{
	static u8 value[4096];
	struct crab_blob_read get = { .key = 5, .buffer = value, .capacity = sizeof(value) };
	u64 word = 0;
	int err;

	begin(f->names, false);
	tap_check(!(f->names ? store_name_put(store, "n", 1, value, FORGED) :
			       store_blob_put(store, 5, value, FORGED)), "put");
	if (f->names)
		get.key = store->blobs->names.root->key;
	tap_check(!store->blobs->raw->lookup(store->engine, get.key, &word), "lookup");
	forge(f, word & CRAB_PLACE_MASK);
	err = crab_blob_load(store->blobs, word, &get);
	tap_ok(err == f->err && crab_blob_load_head(store->blobs, word, &get) == f->err,
	       "a value under a %s, with %s: %d", f->names ? "name" : "key", f->what, err);
	store_abandon(store);
}

int main(void)
{
	u32 i;

	crab_host_log = NULL;	/* damage is planted, and reported in the log */
	test_records();
	test_unreadable();
	test_sizes();
	test_scan();
	test_count();
	test_reserved();
	test_word();
	test_two_words();
	test_memory(false);
	test_memory(true);
	test_list();
	test_erased();
	test_born(false);
	test_born(true);
	for (i = 0; i < ARRAY_SIZE(agains); i++)
		test_again(&agains[i]);
	test_raised();
	for (i = 0; i < ARRAY_SIZE(forgeds); i++)
		test_forged(&forgeds[i]);
	return tap_done();
}

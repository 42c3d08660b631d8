// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests commits of values and of names that are refused, and operands next to those
 * that are: fields that a verb does not use, names that do not exist, keys of names whose crc is the
 * same, a commit that has no room for its second value, an old value that cannot be noted, a record
 * that is gone.
 */
#include "same_crc.h"
#include "store/blob_commit.h"
#include "store/named_priv.h"
#include "store/snap.h"
#include "test.h"

#define LEAVES	300U
#define LARGE	3000U

static struct crab_blob_commit commit;	/* too large for a stack */
static struct crab_engine_ops ops;
static const struct crab_engine_ops *raw;
static u8 value[LARGE];

static void begin(bool names)
{
	store_begin_of(CRAB_POOL_OFFSET + LEAVES * 512, "crab", "slotted", 512,
		       (names ? STORE_NAMES : STORE_BLOBS) | STORE_COMMITS);
	raw = store->blobs->raw;
	ops = *raw;
	memset(&commit, 0, sizeof(commit));
	/* The caller does not set these */
	memset(&commit.words, 0x5a, sizeof(commit.words));
}

static void end(void)
{
	if (store->blobs)
		store->blobs->raw = raw;
	store_abandon(store);
}

static int put(u64 key, u32 bytes)
{
	return store_blob_put(store, key, value, bytes);
}

static int get(u64 key)
{
	struct crab_blob_read read = { .key = key };
	int err = crab_blob_get(store, &read);

	return err == -EMSGSIZE ? 0 : err;
}

static struct crab_blob_write *add(enum crab_verb verb, u64 key, u32 bytes)
{
	struct crab_blob_op *op = &commit.ops[commit.n++];

	*op = (struct crab_blob_op){
		.verb = verb, .write = { .key = key, .data = value, .bytes = bytes },
	};
	return &op->write;
}

static struct crab_blob_write *add_name(enum crab_verb verb, const char *name, u32 name_bytes)
{
	struct crab_blob_write *write = add(verb, 0, 1);

	write->name = name;
	write->name_bytes = name_bytes;
	return write;
}

static int get_name(const char *name, u32 bytes)
{
	struct crab_blob_read read = { };
	int err = crab_named_get(store, name, bytes, &read);

	return err == -EMSGSIZE ? 0 : err;
}

/* Only the length of a put counts; a verb that is none, and a store that is read-only do */
static void test_operands(void)
{
	begin(false);
	tap_check(!put(1, 10) && !put(2, 10), "put");
	add(CRAB_VERB_SEARCH, 1, ~0U);
	add(CRAB_VERB_DELETE, 2, ~0U)->version = 7;
	tap_check(!crab_blob_commit(store, &commit) && get(2) == -ENOENT, "unused lengths");
	tap_check(commit.ops[1].write.existed && commit.ops[1].write.version == 7, "a version of an erase");
	commit.ops[1].verb = CRAB_VERB_DELETE + 1;
	tap_check(crab_blob_commit(store, &commit) == -EINVAL && commit.failed == 1, "a fourth verb");
	commit.ops[1].verb = CRAB_VERB_DELETE;
	commit.ops[1].write.key = 1;
	add(CRAB_VERB_SEARCH, 3, 0);
	tap_check(crab_blob_commit(store, &commit) == -EINVAL && commit.failed == 1, "a key twice");
	commit.n = 0;
	add(CRAB_VERB_DELETE, 1, 0);
	crab_store_set_readonly(store, "test");
	tap_check(crab_blob_commit(store, &commit) == -EROFS && !commit.failed, "read-only");
	tap_ok(!get(1), "a commit of values has the operands that its verbs need");
	end();
}

/* Only puts have places, and that of the second value is not known when the first one is freed */
static void test_no_room(void)
{
	u64 word, key, lines;
	int err;

	begin(false);
	tap_check(!put(1, 1) && !raw->lookup(store->engine, 1, &word), "a small value");
	for (key = 2; !put(key, LARGE); key++)
		;
	lines = store->blobs->extents.lines;
	add(CRAB_VERB_DELETE, 1ULL << 41, 0);
	add(CRAB_VERB_INSERT, 1ULL << 40, 1);
	add(CRAB_VERB_INSERT, (1ULL << 40) + 1, LARGE);
	add(CRAB_VERB_INSERT, (1ULL << 40) + 2, LARGE);
	commit.ops[0].place = commit.ops[2].place = commit.ops[3].place = word & CRAB_PLACE_MASK;
	err = crab_blob_commit(store, &commit);
	tap_check(err == -ENOSPC && commit.failed == commit.n, "%d", err);
	tap_check(crab_extents_holds(&store->blobs->extents, word & CRAB_PLACE_MASK), "the other value");
	tap_ok(store->blobs->extents.lines == lines,
	       "a commit without room frees its own extents only: %llu lines of %llu remain",
	       store->blobs->extents.lines, lines);
	end();
}

static int lookup_lost(struct crab_engine *engine, u64 key, u64 *word)
{
	return key == 1 ? -EUCLEAN : raw->lookup(engine, key, word);
}

/* The first of two old values cannot be read, so that a snapshot would not have it */
static void test_note(void)
{
	struct crab_snap *snap;
	int err;

	begin(false);
	tap_check(!put(1, 10) && !put(2, 10), "put");
	snap = crab_store_observe(store) < 0 ? NULL : crab_snap_open(store);
	add(CRAB_VERB_INSERT, 1, 20);
	add(CRAB_VERB_INSERT, 2, 20);
	ops.lookup = lookup_lost;
	store->blobs->raw = &ops;
	err = crab_blob_commit(store, &commit);
	store->blobs->raw = raw;
	tap_check(store->blobs->extents.lines == 2, "%llu lines", store->blobs->extents.lines);
	tap_ok(err == -EUCLEAN, "a commit over a value that a snapshot needs, and cannot have: %d", err);
	crab_snap_close(snap);
	end();
}

/* The locks that a commit holds when it looks its conditions up */
static u32 held;
static bool missing;

static u32 stripes_held(void)
{
	u32 i, n = 0;

	for (i = 0; i < CRAB_BLOB_STRIPES; i++)
		n += store->blobs->stripes[i].held;
	return n;
}

static int lookup_locked(struct crab_engine *engine, u64 key, u64 *word)
{
	held = stripes_held();
	missing |= !store->blobs->many.held || !crab_blob_stripe(store->blobs, key)->held;
	return raw->lookup(engine, key, word);
}

/* One stripe for two keys; and none for a name that does not exist */
static void test_stripes(void)
{
	struct crab_blob_write first = { .name = "first", .name_bytes = 5, .data = value, .bytes = 1 };
	u64 key = 1;

	begin(false);
	do
		key++;
	while (crab_blob_stripe(store->blobs, key) != crab_blob_stripe(store->blobs, 1));
	ops.lookup = lookup_locked;
	store->blobs->raw = &ops;
	add(CRAB_VERB_SEARCH, 1, 0)->mode = CRAB_INSERT_CREATE;
	add(CRAB_VERB_INSERT, 2, 1)->mode = CRAB_INSERT_CREATE;
	add(CRAB_VERB_INSERT, key, 1)->mode = CRAB_INSERT_CREATE;
	tap_check(!crab_blob_commit(store, &commit) && held == 2, "keys: %u stripes", held);
	tap_check(!stripes_held() && !store->blobs->many.held, "they are not released");
	end();
	begin(true);
	tap_check(!crab_named_put(store, &first), "put");
	ops.lookup = lookup_locked;
	store->blobs->raw = &ops;
	add_name(CRAB_VERB_SEARCH, "first", 5)->mode = CRAB_INSERT_REPLACE;
	add_name(CRAB_VERB_DELETE, "second", 6)->key = ~first.key;
	tap_check(!crab_named_commit(store, &commit) && held == 1, "names: %u stripes", held);
	tap_ok(!missing && !stripes_held(), "a commit holds the stripes of its keys, and no others");
	end();
}

/* A name that does not exist has no key, whatever is in the field */
static void test_no_name(void)
{
	struct crab_blob_write first = { .name = "first", .name_bytes = 5, .data = value, .bytes = 1 };
	struct crab_blob_write *write;

	begin(true);
	tap_check(!crab_named_put(store, &first), "put");
	write = add_name(CRAB_VERB_DELETE, "second", 6);
	write->key = first.key;
	add_name(CRAB_VERB_SEARCH, "first", 5);
	add_name(CRAB_VERB_SEARCH, "third", 5)->key = first.key;
	tap_check(!crab_named_commit(store, &commit), "a delete and a search of nothing");
	tap_check(!write->existed && !get_name("first", 5), "the name of the key is erased");
	commit.n = 0;
	write = add_name(CRAB_VERB_SEARCH, "second", 6);
	write->key = first.key;
	write->checked = true;
	write->version = first.version;
	tap_check(crab_named_commit(store, &commit) == -ENOENT && !commit.failed, "a condition");
	tap_ok(!get_name("first", 5), "a name that does not exist has the key of no other one");
	end();
}

/* Records that disappear and names that attach could not read are damage, and not missing */
static void test_damage(void)
{
	struct crab_blob_write first = { .name = "first", .name_bytes = 5, .data = value, .bytes = 1 };
	struct crab_flow flow = { .media = &media };
	struct crab_blob_write *write;
	struct crab_old old;
	int err;

	begin(true);
	tap_check(!crab_named_put(store, &first), "put");
	raw->remove(store->engine, &flow, first.key, &old);
	write = add_name(CRAB_VERB_SEARCH, "first", 5);
	write->checked = true;
	write->version = first.version;
	err = crab_named_commit(store, &commit);
	tap_check(err == -EUCLEAN && !commit.failed, "a name without a record: %d", err);
	commit.n = 0;
	add_name(CRAB_VERB_INSERT, "second", 6);
	add_name(CRAB_VERB_SEARCH, "third", 5);
	add_name(CRAB_VERB_DELETE, "first", 5);
	err = crab_named_commit(store, &commit);
	tap_check(err == -EUCLEAN && commit.failed == 2, "an erase of that name: %d, %u", err, commit.failed);
	tap_check(get_name("second", 6) == -ENOENT && get_name("first", 5) == -EUCLEAN, "a part is done");
	commit.n = 2;
	tap_check(!crab_named_commit(store, &commit), "a new name");
	store->blobs->unnamed = true;
	err = crab_named_commit(store, &commit);
	tap_check(err == -EUCLEAN && commit.failed == 1, "a name that may be there: %d, %u", err, commit.failed);
	swap(commit.ops[0], commit.ops[1]);
	err = crab_named_commit(store, &commit);
	tap_check(err == -EUCLEAN && !commit.failed, "it is the first one: %d, %u", err, commit.failed);
	tap_ok(true, "commits of names notice records and names that are lost");
	end();
}

/* The record of a name is gone: its key is not that of a new name of the same commit as well */
static void test_lost_twin(const char *name, const char *twin)
{
	struct crab_blob_write put = {
		.name = name, .name_bytes = SAME_CRC_BYTES, .data = value, .bytes = 1,
	};
	struct crab_flow flow = { .media = &media };
	struct crab_old old;
	int err;

	begin(true);
	tap_check(!crab_named_put(store, &put), "put");
	raw->remove(store->engine, &flow, put.key, &old);
	add_name(CRAB_VERB_INSERT, name, SAME_CRC_BYTES);
	add_name(CRAB_VERB_INSERT, twin, SAME_CRC_BYTES);
	crab_host_fail_alloc = 0;
	err = crab_named_commit(store, &commit);
	crab_host_fail_alloc = -1;
	tap_check(err == -ENOMEM && commit.failed == 1, "no memory: %d, %u", err, commit.failed);
	swap(commit.ops[0], commit.ops[1]);
	err = crab_named_commit(store, &commit);
	tap_check(err == -EUCLEAN && commit.failed == 1, "the new one first: %d, %u", err, commit.failed);
	tap_check(get_name(twin, SAME_CRC_BYTES) == -ENOENT, "the new name is there");
	swap(commit.ops[0], commit.ops[1]);
	err = crab_named_commit(store, &commit);
	tap_check(!err && commit.failed == 2, "%d, %u", err, commit.failed);
	tap_ok(commit.ops[0].write.key != commit.ops[1].write.key && !get_name(name, SAME_CRC_BYTES) &&
	       !get_name(twin, SAME_CRC_BYTES), "no key is twice in a commit");
	end();
}

/* New names whose keys are the last ones: there is one key for two names */
static void test_last_key(const char *name, const char *twin, u32 bytes, u32 twin_bytes)
{
	struct crab_blob_write put = { .name = twin, .name_bytes = twin_bytes, .data = value, .bytes = 1 };
	u64 last = min(crab_name_key(name, bytes) | U32_MAX, CRAB_KEY_EMPTY - 1);
	struct crab_flow flow = { .media = &media };
	struct crab_old old;
	int err;

	tap_check(crab_name_key(name, bytes) == crab_name_key(twin, twin_bytes), "another crc");
	begin(true);
	raw->insert(store->engine, &flow, last - 1, 31, CRAB_INSERT_EITHER, &old);
	add_name(CRAB_VERB_INSERT, name, bytes);
	add_name(CRAB_VERB_INSERT, twin, twin_bytes);
	err = crab_named_commit(store, &commit);
	tap_check(err == -ENOSPC && commit.failed == 1, "%d, %u", err, commit.failed);
	tap_check(get_name(name, bytes) == -ENOENT, "the first name is there");
	commit.n = 1;
	err = crab_named_commit(store, &commit);
	tap_check(crab_named_put(store, &put) == -ENOSPC, "a put of the second name");
	tap_ok(!err && commit.ops[0].write.key == last && !get_name(name, bytes),
	       "two names and one key, which is 0x%llx: %d", commit.ops[0].write.key, err);
	end();
}

int main(void)
{
	char name[2][SAME_CRC_BYTES];

	crab_host_log = NULL;	/* damage is planted, and reported in the log */
	same_crc(1, name[0]);
	same_crc(2, name[1]);
	test_operands();
	test_no_room();
	test_note();
	test_stripes();
	test_no_name();
	test_damage();
	test_lost_twin(name[0], name[1]);
	test_last_key(name[0], name[1], SAME_CRC_BYTES, SAME_CRC_BYTES);
	/* The crc of these is ~0, with as many zeros at the end as one likes */
	test_last_key("\xff\xff\xff\xff", "\xff\xff\xff\xff\0", 4, 5);
	return tap_done();
}

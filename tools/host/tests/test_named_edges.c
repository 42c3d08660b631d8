// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests named values at their edges: operands that are used again, stores that are
 * read-only, keys of names with the same crc, records and names that change on the media, names that
 * were erased under a snapshot.
 */
#include "same_crc.h"
#include "store/blob_snap.h"
#include "store/gate.h"
#include "store/named_priv.h"
#include "store/snap.h"
#include "test.h"

static struct crab_engine_ops ops;
static const struct crab_engine_ops *raw;

static void begin(void)
{
	store_begin_of(CRAB_POOL_OFFSET + 256 * 512, "crab", "slotted", 512, STORE_NAMES);
	raw = store->blobs->raw;
	ops = *raw;
}

static void end(void)
{
	store->blobs->raw = raw;
	store_abandon(store);
}

static struct crab_blob_write write_of(const char *name)
{
	return (struct crab_blob_write){
		.name = name, .name_bytes = strlen(name), .data = name, .bytes = 1, .type = *name,
		.existed = true,
	};
}

static int put(const char *name)
{
	struct crab_blob_write write = write_of(name);

	return crab_named_put(store, &write);
}

static int put_if(const char *name, enum crab_insert_mode mode)
{
	struct crab_blob_write write = write_of(name);

	write.mode = mode;
	return crab_named_put(store, &write);
}

static int erase(const char *name)
{
	struct crab_blob_write write = write_of(name);
	int err = crab_named_erase(store, &write);

	tap_check(write.existed == !err, "%s: it existed, and %d", name, err);
	return err;
}

static int get(const char *name, u32 capacity)
{
	u8 value[8];
	struct crab_blob_read read = { .buffer = value, .capacity = capacity };
	int err = crab_named_get(store, name, strlen(name), &read);

	tap_check(!read.name, "%s: the name of a stack remains", name);
	tap_check(err || (read.bytes == 1 && value[0] == *name && read.type == *name), "%s", name);
	return err;
}

static struct crab_name *find(const struct crab_names *names, const char *name)
{
	return crab_names_find(names, name, strlen(name));
}

static u64 key_of(const char *name)
{
	return find(&store->blobs->names, name)->key;
}

/* A name that does not exist is not looked for */
static void test_readonly(void)
{
	begin();
	tap_check(!put("a"), "put");
	crab_store_set_readonly(store, "edges");
	tap_check(put("a") == -EROFS && put("b") == -EROFS, "put");
	tap_check(put_if("b", CRAB_INSERT_REPLACE) == -EROFS && put_if("a", CRAB_INSERT_CREATE) == -EROFS,
		  "a condition");
	tap_check(erase("a") == -EROFS && erase("b") == -EROFS, "erase");
	tap_ok(!get("a", 8) && get("b", 8) == -ENOENT, "a store of names that is read-only");
	end();
}

/* The operands of one call are those of the next one */
static void test_again(void)
{
	struct crab_blob_write write = write_of("a");

	begin();
	write.listed = true;
	tap_check(!crab_named_put(store, &write) && !write.existed, "the first put");
	tap_check(!crab_named_put(store, &write) && write.existed, "the second one");
	tap_check(!erase("a"), "erase");
	write.mode = CRAB_INSERT_CREATE;
	tap_check(!crab_named_put(store, &write) && !write.existed, "it was erased");
	tap_check(crab_named_put(store, &write) == -EEXIST && write.existed, "it is there");
	tap_check(!crab_named_erase(store, &write) && write.existed, "erase, and no condition");
	tap_check(crab_named_erase(store, &write) == -ENOENT && !write.existed, "erase again");
	tap_check(!crab_named_put(store, &write), "a put once more");
	tap_ok(!get("a", 8), "operands that are used again");
	end();
}

static struct crab_snap *snap_open(void)
{
	return crab_store_observe(store) < 0 ? NULL : crab_snap_open(store);
}

/* The lists of now, and of a snapshot: "a" is damaged, and "b" is there */
static void list_lost(struct crab_snap *snap)
{
	struct crab_named_cursor cursor = { .bytes = 0 };
	struct crab_named_entry entry[2];
	int i, n;

	for (i = 0; i < 2; i++) {
		n = snap ? crab_snap_named_next(store, snap, &cursor, &entry[i]) :
			   crab_named_next(store, &cursor, &entry[i]);
		tap_check(n == 1 && entry[i].err == (i ? 0 : -EUCLEAN) && *entry[i].text == "ab"[i],
			  "list: %d, %d", n, entry[i].err);
	}
	tap_check(!entry[0].bytes && !entry[0].type && !entry[0].version, "a lost name");
	tap_check(entry[1].bytes == 1 && entry[1].type == 'b' && entry[1].version, "the other name");
}

/* The record of a name is gone: it is damaged, and not missing, until another value is stored */
static void test_lost(void)
{
	struct crab_flow flow = { .media = &media };
	struct crab_blob_write write = write_of("a");
	struct crab_blob_read read = { .capacity = 0 };
	struct crab_snap *snap;
	struct crab_old old;

	begin();
	tap_check(!put("a") && !put("b"), "put");
	raw->remove(store->engine, &flow, key_of("a"), &old);
	tap_check(get("a", 8) == -EUCLEAN && !get("b", 8), "get");
	list_lost(NULL);
	snap = snap_open();
	list_lost(snap);
	tap_check(crab_snap_named_get(store, snap, "a", 1, &read) == -EUCLEAN && !read.name, "get");
	tap_check(put("a") == -EUCLEAN, "the snapshot could not have its value");
	crab_snap_close(snap);
	tap_check(put_if("a", CRAB_INSERT_CREATE) == -EUCLEAN, "create");
	tap_check(put_if("a", CRAB_INSERT_REPLACE) == -EUCLEAN, "replace");
	write.checked = true;
	tap_check(crab_named_put(store, &write) == -EUCLEAN, "a version");
	tap_check(erase("a") == -EUCLEAN && find(&store->blobs->names, "a"), "erase");
	tap_check(!put("a"), "put");
	tap_ok(!get("a", 8), "a name whose record has gone");
	end();
}

static int failure;

static int seek_fails(struct crab_engine *engine, u64 key, enum crab_seek_dir dir,
		      struct crab_record *record)
{
	return failure;
}

/* Without a key there is no name */
static void test_no_key(int err)
{
	struct crab_blob_write write = write_of("b");
	u64 lines;

	begin();
	tap_check(!put("a"), "put");
	lines = store->blobs->extents.lines;
	ops.seek = seek_fails;
	failure = err;
	store->blobs->raw = &ops;
	tap_check(put("b") == err && !put("a"), "put");
	/* No key is chosen for a name that does not exist, and must */
	write.checked = true;
	tap_check(put_if("b", CRAB_INSERT_REPLACE) == -ENOENT && crab_named_put(store, &write) == -ENOENT,
		  "conditions");
	store->blobs->raw = raw;
	tap_check(!find(&store->blobs->names, "b") && store->blobs->extents.lines == lines, "it is there");
	tap_ok(get("b", 8) == -ENOENT, "a name for which no key can be chosen: %d", err);
	end();
}

/* Another task stores the name while this one allocates memory for it */
static const char *meanwhile;

void *__real_crab_host_alloc(size_t size, size_t align, gfp_t gfp);
void *__wrap_crab_host_alloc(size_t size, size_t align, gfp_t gfp)
{
	const char *name = meanwhile;

	meanwhile = NULL;
	if (name)
		tap_check(!put(name), "the other put");
	return __real_crab_host_alloc(size, align, gfp);
}

static void test_meanwhile(void)
{
	struct crab_blob_write write = write_of("a");
	u64 key;

	begin();
	meanwhile = "a";
	tap_check(!crab_named_put(store, &write) && write.existed, "it is there");
	key = write.key;
	tap_check(key_of("a") == key && store->blobs->extents.lines == 1, "it is there twice");
	write = write_of("b");
	write.mode = CRAB_INSERT_CREATE;
	meanwhile = "b";
	tap_check(crab_named_put(store, &write) == -EEXIST, "it was created");
	crab_host_fail_alloc = 0;
	tap_check(put("c") == -ENOMEM, "no memory");
	crab_host_fail_alloc = -1;
	tap_ok(!get("a", 8) && !get("b", 8) && get("c", 8) == -ENOENT, "a name that two tasks store at once");
	end();
}

/* The blob has another name than the table: as long, longer, shorter */
static void test_other_name(const char *other)
{
	struct crab_blob_write write = write_of(other);
	struct crab_check_report report;

	begin();
	tap_check(!put("ab") && !put("x"), "put");
	write.key = key_of("ab");
	tap_check(!crab_blob_put(store, &write), "a blob of another name");
	tap_check(!crab_store_check(store, &report) && strstr(report.damage.what, "is not its own"), "%s",
		  report.damage.what);
	tap_check(get("ab", 8) == -EUCLEAN && get("ab", 0) == -EUCLEAN, "it is that of the name");
	tap_ok(!get("x", 8) && get("x", 0) == -EMSGSIZE, "the name %s under the key of another one", other);
	end();
}

/* Each new name gets the key after the last one of the same crc, and the others do not count */
static void test_keys(void)
{
	char text[3][SAME_CRC_BYTES];
	struct crab_blob_write write = { .name_bytes = SAME_CRC_BYTES };
	u64 low;
	u32 i;

	begin();
	tap_check(!put("a") && !put("b") && !put("c"), "put");
	tap_check(key_of("a") == crab_name_key("a", 1) && key_of("b") == crab_name_key("b", 1) &&
		  key_of("c") == crab_name_key("c", 1), "keys of names with another crc");
	for (i = 0; i < 3; i++)
		same_crc(i + 1, text[i]);
	low = crab_name_key(text[0], SAME_CRC_BYTES);
	for (i = 0; i < 2; i++) {
		write.name = text[i];
		tap_check(!crab_named_put(store, &write) && write.key == low + i, "key %u", i);
	}
	write.name = text[0];
	tap_check(!crab_named_erase(store, &write), "erase");
	write.name = text[2];
	tap_check(!crab_named_put(store, &write) && write.key == low + 2, "after the last one");
	write.name = text[0];
	tap_ok(!crab_named_put(store, &write) && write.key == low + 3, "keys of names: %llx",
	       write.key - low);
	end();
}

/* A name that attach did not read may be any */
static void test_unnamed(void)
{
	struct crab_named_cursor cursor = { .bytes = 0 };
	struct crab_blob_read read = { .capacity = 0 };
	struct crab_named_entry entry;
	struct crab_snap *snap;
	int err;

	begin();
	tap_check(!put("a"), "put");
	store->blobs->unnamed = true;
	tap_check(!get("a", 8) && get("b", 8) == -EUCLEAN, "get");
	tap_check(crab_named_next(store, &cursor, &entry) == 1, "the name that is known");
	tap_check(crab_named_next(store, &cursor, &entry) == -EUCLEAN, "the other one");
	snap = snap_open();
	err = crab_snap_named_get(store, snap, "b", 1, &read);
	crab_snap_close(snap);
	tap_ok(err == -EUCLEAN, "a store with an unknown name, which a snapshot may have, too: %d", err);
	end();
}

/* The second table has a name once, with its key, until no snapshot is open */
static void test_erased(void)
{
	struct crab_named_cursor cursor = { .bytes = 0 };
	const struct crab_names *erased;
	struct crab_named_entry entry;
	struct crab_snap *snap;
	u64 key;

	begin();
	erased = &store->blobs->erased;
	tap_check(!put("a") && !put("b"), "put");
	tap_check(!erase("b") && !erased->root && !erased->dram, "no snapshot has it");
	snap = snap_open();
	key = key_of("a");
	tap_check(!erase("a") && find(erased, "a")->key == key && erased->dram, "erase");
	crab_names_forget(store);
	tap_check(find(erased, "a"), "a name is forgotten while a snapshot is open");
	tap_check(!put("a") && !erase("a") && find(erased, "a")->key == key, "erase again");
	tap_check(!store->blobs->names.root && !store->blobs->names.dram, "names are left");
	tap_check(!crab_named_next(store, &cursor, &entry), "an erased name is listed");
	tap_check(!put("c") && !erase("c") && find(erased, "c"), "a name that came later");
	crab_snap_close(snap);
	tap_check(!erased->root && !erased->dram, "they are not forgotten");
	snap = snap_open();
	crab_snap_end_all(store->gate, -ESTALE);
	tap_check(!put("d") && !erase("d") && !erased->root, "a snapshot that has ended");
	crab_snap_close(snap);
	tap_ok(true, "names that are erased under a snapshot");
	end();
}

static void same_put(u32 n, u8 type)
{
	char text[SAME_CRC_BYTES];
	struct crab_blob_write write = {
		.name = text, .name_bytes = SAME_CRC_BYTES, .type = type, .data = "1", .bytes = 1,
	};

	same_crc(n, text);
	tap_check(!crab_named_put(store, &write), "put of name %u", n);
}

static void same_erase(u32 n)
{
	char text[SAME_CRC_BYTES];
	struct crab_blob_write write = { .name = text, .name_bytes = SAME_CRC_BYTES };

	same_crc(n, text);
	tap_check(!crab_named_erase(store, &write), "erase of name %u", n);
}

/* The type of the value of a name in a snapshot, or an error */
static int same_get(struct crab_snap *snap, u32 n)
{
	char text[SAME_CRC_BYTES];
	u8 value[8];
	struct crab_blob_read get = { .buffer = value, .capacity = sizeof(value) };
	int err;

	same_crc(n, text);
	err = crab_snap_named_get(store, snap, text, SAME_CRC_BYTES, &get);
	return err ?: get.type;
}

/* A name with a key above those of @n, which cannot be read */
static void damage_above(u32 n)
{
	char text[SAME_CRC_BYTES], name[] = "a";
	u64 word = 0;

	same_crc(n, text);
	while (crab_name_key(name, 1) < crab_name_key(text, SAME_CRC_BYTES))
		name[0]++;
	tap_check(!put(name) && !raw->lookup(store->engine, key_of(name), &word), "put of a higher name");
	media.base[crab_extent_offset(&store->blobs->extents, word & CRAB_PLACE_MASK)] ^= 1;
}

/* A name that was erased under two keys is not the last one of its crc; then it cannot be read */
static void test_several(void)
{
	char text[SAME_CRC_BYTES];
	struct crab_snap *snap, *later;
	u64 word, offset;
	int type, err;

	begin();
	same_put(1, 11);
	same_put(2, 12);
	damage_above(1);
	same_crc(1, text);
	raw->lookup(store->engine, crab_name_key(text, SAME_CRC_BYTES), &word);
	snap = snap_open();
	same_erase(1);
	same_put(1, 13);
	same_erase(1);
	tap_check(crab_names_find(&store->blobs->erased, text, SAME_CRC_BYTES)->key == CRAB_KEY_EMPTY,
		  "one key");
	type = same_get(snap, 1);
	tap_check(same_get(snap, 2) == 12 && same_get(snap, 3) == -ENOENT, "other names");
	later = snap_open();
	tap_check(same_get(later, 1) == -ENOENT && same_get(later, 2) == 12, "a later snapshot");
	crab_snap_close(later);
	offset = crab_extent_offset(&store->blobs->extents, word & CRAB_PLACE_MASK);
	media.base[offset + sizeof(struct crab_dblob)] ^= 1;
	err = same_get(snap, 1);
	tap_ok(type == 11 && err == -EUCLEAN, "a name that was erased under two keys: %d, damaged: %d",
	       type, err);
	crab_snap_close(snap);
	end();
}

#define TWIN_BYTES	(9U + SAME_CRC_BYTES)

/* Two such names begin alike, and end in a part of a word */
static int twin_write(int (*verb)(struct crab_store *store, struct crab_blob_write *write), u32 n)
{
	char text[TWIN_BYTES] = "beginning";
	struct crab_blob_write write = {
		.name = text, .name_bytes = TWIN_BYTES, .data = "2", .bytes = 1, .existed = true,
	};
	int err;

	same_crc(n, text + TWIN_BYTES - SAME_CRC_BYTES);
	err = verb(store, &write);
	tap_check(!err || !write.existed, "name %u: it existed, and %d", n, err);
	return err;
}

static int put_replace(struct crab_store *at, struct crab_blob_write *write)
{
	write->mode = CRAB_INSERT_REPLACE;
	return crab_named_put(at, write);
}

/* Damages the value that a key has */
static void twin_damage(u64 key, u32 offset)
{
	u64 word = 0;

	tap_check(!raw->lookup(store->engine, key, &word), "the new name has another key");
	media.base[crab_extent_offset(&store->blobs->extents, word & CRAB_PLACE_MASK) + offset] ^= 1;
}

/* A new name gets the key of a name whose record has gone: no write of that one takes its value */
static void test_lost_twin(void)
{
	struct crab_flow flow = { .media = &media };
	struct crab_old old;
	u64 key;

	begin();
	tap_check(!twin_write(crab_named_put, 1), "put");
	key = store->blobs->names.root->key;
	raw->remove(store->engine, &flow, key, &old);
	tap_check(!twin_write(crab_named_put, 2), "put of another name");
	tap_check(twin_write(crab_named_put, 1) == -EUCLEAN, "put");
	tap_check(twin_write(crab_named_erase, 1) == -EUCLEAN, "erase");
	tap_check(twin_write(put_replace, 1) == -EUCLEAN, "a condition");
	tap_check(!twin_write(crab_named_put, 2), "put of the new name");
	raw->insert(store->engine, &flow, key, 31, CRAB_INSERT_EITHER, &old);
	tap_check(!twin_write(crab_named_put, 2), "put over a word that names no extent");
	twin_damage(key, 0);
	tap_check(!twin_write(crab_named_put, 2), "put over a damaged value");
	twin_damage(key, sizeof(struct crab_dblob));
	tap_check(!twin_write(crab_named_erase, 2), "erase of a damaged name");
	tap_ok(!twin_write(crab_named_put, 1), "a name whose key another one got when its record had gone");
	end();
}

/* The same with names of which one is the beginning of the other one; their crc is ~0 */
static void test_lost_beginning(void)
{
	static const char name[] = "\xff\xff\xff\xff\0";
	struct crab_flow flow = { .media = &media };
	struct crab_old old;

	begin();
	tap_check(!store_name_put(store, name, 4, "v", 1), "put");
	raw->remove(store->engine, &flow, store->blobs->names.root->key, &old);
	tap_check(!store_name_put(store, name, 5, "v", 1), "put of the longer name");
	tap_ok(store_name_put(store, name, 4, "v", 1) == -EUCLEAN &&
	       !store_name_put(store, name, 5, "v", 1), "a lost name that begins another one");
	end();
}

/* The key of a name that was erased becomes that of another one: a snapshot has the first one only */
static void test_next_beginning(u32 was, u32 now)
{
	static const char name[] = "\xff\xff\xff\xff\0";
	struct crab_blob_write erase = { .name = name, .name_bytes = was };
	struct crab_blob_read read = { .capacity = 0 };
	struct crab_snap *snap;
	int err;

	begin();
	tap_check(!store_name_put(store, name, was, "v", 1), "put");
	snap = snap_open();
	tap_check(!crab_named_erase(store, &erase) && !store_name_put(store, name, now, "v", 1), "writes");
	tap_check(store->blobs->names.root->key == erase.key, "another key");
	err = crab_snap_named_get(store, snap, name, now, &read);
	tap_ok(err == -ENOENT && crab_snap_named_get(store, snap, name, was, &read) == -EMSGSIZE,
	       "a name of %u bytes with the key that one of %u had in a snapshot: %d", now, was, err);
	crab_snap_close(snap);
	end();
}

/* As much memory as the limit allows, and then one name more */
static void test_limit(void)
{
	char name[8][36];
	struct crab_snap *snap;
	u32 i;

	begin();
	for (i = 0; i < 8; i++) {
		snprintf(name[i], sizeof(name[i]), "%-34s%u", "of 35 bytes, 64 in all", i);
		tap_check(!put(name[i]), "put");
	}
	snap = snap_open();
	store->gate->most = 6;
	for (i = 0; i < 6; i++)
		tap_check(!erase(name[i]), "erase");
	tap_check(store->blobs->erased.dram == 6 * CRAB_NOTE_BYTES, "%llu bytes",
		  store->blobs->erased.dram);
	tap_check(!crab_snap_state(snap), "below the limit");
	store->gate->most = 8;
	tap_check(!erase(name[6]) && !crab_snap_state(snap), "below the limit again");
	store->gate->most = 7;
	store->gate->notes = 0;		/* those of the keys have the same limit */
	tap_check(!erase(name[7]) && crab_snap_state(snap) == -ESTALE, "above the limit");
	store->gate->notes = 8;
	tap_ok(!store->blobs->erased.root, "memory of names that a snapshot needs");
	crab_snap_close(snap);
	end();
}

int main(void)
{
	crab_host_log = NULL;	/* damage is planted, and reported in the log */
	test_readonly();
	test_again();
	test_lost();
	test_no_key(-EUCLEAN);
	test_no_key(-EINTR);
	test_meanwhile();
	test_other_name("xy");
	test_other_name("abc");
	test_other_name("a");
	test_keys();
	test_unnamed();
	test_erased();
	test_several();
	test_lost_twin();
	test_lost_beginning();
	test_next_beginning(5, 4);
	test_next_beginning(4, 5);
	test_limit();
	return tap_done();
}

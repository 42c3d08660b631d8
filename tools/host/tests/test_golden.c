// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests the code with golden images: small ones of each layout and state, made
 * once and never changed. Each NAME.gz has a NAME.txt with the content that it must have.
 *
 *   test_golden DIR		attach each image, compare its content; test FORMAT
 *   test_golden --make DIR	make the images that are missing
 *
 * Invariant: no existing image is made again. A change of the code that fails here is a
 * change of the format.
 */
#include <unistd.h>

#include "store/named.h"
#include "test.h"
#include "tests/hostile.h"
#include "tests/seal.h"

#define SEED		2026
#define TEXT_BYTES	(64 * 1024)
#define LARGE		(17ULL << 20)	/* the bitmap of this many leaves moves the pool */
#define NO_STATE	(~0U)
#define BLOBS_STATE	(~0U - 1)
#define BLOBS_SIZE	(64 * 1024)	/* slabs of 4 KiB */

/**
 * struct golden - an image
 * @name: of its files
 * @state: which of the hostile images; NO_STATE: as FORMAT left it; BLOBS_STATE: with some blobs
 * @engine: of the hostile images
 * @layout: of the hostile images
 * @leaf_bytes: size of its leaves
 * @size: of its region
 * @blobs: it is a store of blobs
 * @commits: it is a store of commits
 * @names: it is a store of names
 */
struct golden {
	const char *name;
	u32 state;
	const char *engine;
	const char *layout;
	u32 leaf_bytes;
	u64 size;
	bool blobs;
	bool commits;
	bool names;
};

#define SMALL(leaf)	ALIGN(CRAB_POOL_OFFSET + CRAB_HOSTILE_LEAVES * (leaf), 4096)
#define STATE_OF(n, s, e, leaf)	{ n, s, e, NULL, leaf, SMALL(leaf), false, false, false }
#define STATE(n, s, leaf)	STATE_OF(n, s, "crab", leaf)
#define FORMATTED(n, e, l, leaf, bytes)	{ n, NO_STATE, e, l, leaf, bytes, false, false, false }
#define BLOBS(n, s, e, l, leaf)	{ n, s, e, l, leaf, BLOBS_SIZE, true, false, false }
#define NAMES(n, s, e, l, leaf)	{ n, s, e, l, leaf, BLOBS_SIZE, false, false, true }
/* Nodes take some of the region */
#define CLFB_BLOBS(n, s, blobs, names)	{ n, s, "clfb", "inplace", 512, 2 * BLOBS_SIZE, blobs, false, names }
#define COMMITS(n, s, e, l, leaf)	{ n, s, e, l, leaf, SMALL(leaf), false, true, false }

/* Append new images at the end */
static const struct golden goldens[] = {
	FORMATTED("formatted-slotted", "crab", "slotted", 512, SMALL(512)),
	FORMATTED("formatted-slotted-8192", "crab", "slotted", 8192, SMALL(8192)),
	FORMATTED("formatted-sorted", "crab", "sorted", 512, SMALL(512)),
	FORMATTED("formatted-sorted-large", "crab", "sorted", 512, LARGE),
	FORMATTED("formatted-volatile", "volatile", "sorted", 512, SMALL(512)),
	STATE("slotted-one-leaf", 1, 512),
	STATE("slotted-many", 2, 512),
	STATE("slotted-many-1024", 2, 1024),
	STATE("slotted-cut-off", 3, 512),
	STATE("slotted-full", 4, 512),
	STATE("sorted-many", 6, 512),
	STATE("sorted-cut-shift", 7, 512),
	STATE("sorted-cut-split", 8, 512),
	STATE("sorted-cut-split-1024", 8, 1024),
	STATE("sorted-full", 9, 512),
	STATE("sorted-on-demand", 10, 512),
	FORMATTED("toy/formatted", "toy", "array", 512, SMALL(512)),
	STATE_OF("toy/full", 23, "toy", 512),
	FORMATTED("fastfair/formatted", "fastfair", "shift", 512, SMALL(512)),
	STATE_OF("fastfair/many", 24, "fastfair", 512),
	STATE_OF("fastfair/full", 25, "fastfair", 512),
	FORMATTED("nvtree/formatted", "nvtree", "append", 512, SMALL(512)),
	STATE_OF("nvtree/cut-off", 26, "nvtree", 512),
	STATE_OF("nvtree/many", 27, "nvtree", 512),
	STATE_OF("nvtree/full", 28, "nvtree", 512),
	BLOBS("blobs/formatted", NO_STATE, "crab", "slotted", 512),
	BLOBS("blobs/slotted", BLOBS_STATE, "crab", "slotted", 512),
	BLOBS("blobs/sorted", BLOBS_STATE, "crab", "sorted", 1024),
	BLOBS("blobs/nvtree", BLOBS_STATE, "nvtree", "append", 512),
	FORMATTED("clfb/formatted-inplace", "clfb", "inplace", 512, SMALL(512)),
	FORMATTED("clfb/formatted-twin", "clfb", "twin", 512, SMALL(512)),
	FORMATTED("clfb/formatted-atomic", "clfb", "atomic", 512, SMALL(512)),
	STATE_OF("clfb/inplace-many", 29, "clfb", 512),
	STATE_OF("clfb/inplace-cut-node", 30, "clfb", 512),
	STATE_OF("clfb/twin-many", 31, "clfb", 512),
	STATE_OF("clfb/twin-full", 32, "clfb", 512),
	COMMITS("commits/formatted", NO_STATE, "crab", "slotted", 512),
	COMMITS("commits/slotted", 44, "crab", NULL, 512),
	COMMITS("commits/slotted-list", 45, "crab", NULL, 512),
	COMMITS("commits/nvtree-list", 46, "nvtree", NULL, 512),
	FORMATTED("nbtree/formatted", "nbtree", "adr", 512, SMALL(512)),
	STATE_OF("nbtree/cut-off", 52, "nbtree", 512),
	STATE_OF("nbtree/many", 53, "nbtree", 512),
	STATE_OF("nbtree/cut-insert", 54, "nbtree", 512),
	STATE_OF("nbtree/cut-unlink", 55, "nbtree", 512),
	STATE_OF("nbtree/full", 56, "nbtree", 512),
	NAMES("names/formatted", NO_STATE, "crab", "slotted", 512),
	NAMES("names/slotted", BLOBS_STATE, "crab", "slotted", 512),
	NAMES("names/nvtree", BLOBS_STATE, "nvtree", "append", 512),
	COMMITS("commits/nbtree-list", 57, "nbtree", NULL, 512),
	COMMITS("commits/sorted-list", 64, "crab", NULL, 512),
	COMMITS("commits/fastfair-list", 65, "fastfair", NULL, 512),
	COMMITS("commits/clfb-list", 66, "clfb", NULL, 512),
	BLOBS("blobs/fastfair", BLOBS_STATE, "fastfair", "shift", 512),
	CLFB_BLOBS("blobs/clfb", BLOBS_STATE, true, false),
	BLOBS("blobs/nbtree", BLOBS_STATE, "nbtree", "adr", 512),
	NAMES("names/sorted", BLOBS_STATE, "crab", "sorted", 1024),
	NAMES("names/fastfair", BLOBS_STATE, "fastfair", "shift", 512),
	CLFB_BLOBS("names/clfb", BLOBS_STATE, false, true),
	NAMES("names/nbtree", BLOBS_STATE, "nbtree", "adr", 512),
	FORMATTED("nbtree/eadr-formatted", "nbtree", "eadr", 512, SMALL(512)),
	STATE_OF("nbtree/eadr-cut-off", 70, "nbtree", 512),
	STATE_OF("nbtree/eadr-many", 71, "nbtree", 512),
	STATE_OF("nbtree/eadr-cut-inserts", 72, "nbtree", 512),
	STATE_OF("nbtree/eadr-cut-move", 73, "nbtree", 512),
	STATE_OF("nbtree/eadr-full", 74, "nbtree", 512),
	COMMITS("commits/eadr-list", 75, "nbtree", NULL, 512),
	BLOBS("blobs/eadr", BLOBS_STATE, "nbtree", "eadr", 512),
	NAMES("names/eadr", BLOBS_STATE, "nbtree", "eadr", 512),
	FORMATTED("clfb/formatted-encoded", "clfb", "encoded", 64, SMALL(64)),
	STATE_OF("clfb/encoded-many", 82, "clfb", 64),
	STATE_OF("clfb/encoded-full", 83, "clfb", 64),
};

static struct crab_hostile hostile;
static const char *dir;
static char text[TEXT_BYTES];		/* description of a store */
static u8 blob[4096];
static char expected[TEXT_BYTES];	/* NAME.txt */

static const char *path(const struct golden *g, const char *suffix)
{
	static char name[512];

	snprintf(name, sizeof(name), "%s/%s%s", dir, g->name, suffix);
	return name;
}

static FILE *must(FILE *f, const char *what)
{
	if (f)
		return f;
	tap_bail("%s", what);
}

/* Each blob: key, length, version and a checksum that is not the store's own */
static u64 blob_hash(u32 bytes)
{
	u64 hash = 14695981039346656037ULL;
	u32 i;

	for (i = 0; i < bytes; i++)
		hash = (hash ^ blob[i]) * 1099511628211ULL;	/* FNV-1a */
	return hash;
}

static void describe_blobs(struct crab_store *store, size_t n)
{
	struct crab_blob_entry e;
	struct crab_cursor c;

	crab_cursor_init(&c, 0, CRAB_KEY_EMPTY);
	while (crab_blob_list(store, &c, &e, 1) == 1) {
		struct crab_blob_read get = { .key = e.key, .buffer = blob, .capacity = sizeof(blob) };

		tap_check(!crab_blob_get(store, &get) && get.bytes == e.bytes, "get of %llu", e.key);
		n += scnprintf(text + n, sizeof(text) - n, "%llu %u %llu %016llx\n", e.key, e.bytes,
			       e.version, blob_hash(e.bytes));
	}
}

/* The same with name and type */
static void describe_names(struct crab_store *store, size_t n)
{
	struct crab_named_cursor c = { .bytes = 0 };
	struct crab_named_entry e;

	while (crab_named_next(store, &c, &e) == 1) {
		struct crab_blob_read get = { .buffer = blob, .capacity = sizeof(blob) };

		tap_check(!crab_named_get(store, e.text, e.name_bytes, &get) && get.bytes == e.bytes,
			  "get of %.*s", e.name_bytes, e.text);
		n += scnprintf(text + n, sizeof(text) - n, "%.*s %u %u %llu %016llx\n", e.name_bytes,
			       e.text, e.type, e.bytes, e.version, blob_hash(e.bytes));
	}
}

/* All data that a user may rely on, as text */
static void describe(struct crab_store *store)
{
	struct crab_store_info info;
	struct crab_record r;
	struct crab_cursor c;
	size_t n;
	u32 i;

	crab_store_info(store, &info);
	n = scnprintf(text, sizeof(text), "# %s %s leaf %u leaves %llu pool %llu label %s uuid ",
		      info.engine, info.layout, info.super.leaf_bytes, info.super.leaves,
		      info.super.pool_offset, info.super.label);
	for (i = 0; i < CRAB_UUID_LEN; i++)
		n += scnprintf(text + n, sizeof(text) - n, "%02x", info.super.uuid[i]);
	n += scnprintf(text + n, sizeof(text) - n, "\n");
	if (crab_store_has_names(store))
		return describe_names(store, n);
	if (crab_blob_most(store, 0))
		return describe_blobs(store, n);
	crab_cursor_init(&c, 0, CRAB_KEY_EMPTY);
	while (crab_cursor_read(store, &c, &r, 1) == 1)
		n += scnprintf(text + n, sizeof(text) - n, "%llu %llu\n", r.key, r.value);
}

static struct crab_store *attach(bool readonly)
{
	struct crab_attach_options options = { .readonly = readonly };
	struct crab_attach_report report;
	struct crab_store *store = crab_store_attach(&hostile.media, &options, &report);

	if (IS_ERR(store)) {
		tap_fail("attach: %ld %s", PTR_ERR(store), report.reason);
		return NULL;
	}
	tap_check(report.verdict == (readonly ? CRAB_VERDICT_RO : CRAB_VERDICT_GOOD), "%s",
		  report.reason);
	store_check_good(store);
	return store;
}

static void format(const struct golden *g)
{
	struct crab_format_options options = {
		.force = true, .leaf_bytes = g->leaf_bytes, .engine = g->engine,
		.layout = g->layout, .label = "golden", .blobs = g->blobs,
		.commits = g->commits, .names = g->names,
	};

	memset(hostile.media.base, 0, g->size);
	if (crab_store_format(&hostile.media, &options, hostile.said))
		tap_fail("format: %s", hostile.said);
}

/* FORMAT writes the same bytes, except for the time of day */
static void formatted_alike(const struct golden *g)
{
	u8 *was = malloc(g->size);
	struct crab_dsuper *d;
	u32 i;

	memcpy(was, hostile.media.base, g->size);
	crab_host_seed(SEED);
	format(g);
	for (i = 0; i < CRAB_SUPER_COPIES; i++) {
		d = (struct crab_dsuper *)(hostile.media.base + i * CRAB_SUPER_STRIDE);
		d->formatted_at = ((struct crab_dsuper *)(was + i * CRAB_SUPER_STRIDE))->formatted_at;
		crab_seal_super(d);
	}
	tap_ok(!memcmp(was, hostile.media.base, g->size), "%s: FORMAT makes the same bytes",
	       g->name);
	memcpy(hostile.media.base, was, g->size);
	free(was);
}

static void load(const struct golden *g)
{
	char command[600];
	FILE *f;
	size_t n;

	snprintf(command, sizeof(command), "exec gzip -dc '%s'", path(g, ".gz"));
	memset(hostile.media.base, 0, g->size);
	f = must(popen(command, "r"), g->name);
	n = fread(hostile.media.base, 1, g->size, f);
	if (pclose(f) || n != g->size)
		must(NULL, path(g, ".gz"));
	f = must(fopen(path(g, ".txt"), "r"), path(g, ".txt"));
	n = fread(expected, 1, sizeof(expected) - 1, f);
	expected[n] = '\0';
	fclose(f);
}

static void save(const struct golden *g)
{
	char command[600];
	FILE *f;

	snprintf(command, sizeof(command), "exec gzip -9n >'%s'", path(g, ".gz"));
	f = must(popen(command, "w"), g->name);
	if (fwrite(hostile.media.base, 1, g->size, f) != g->size || pclose(f))
		must(NULL, path(g, ".gz"));
	f = must(fopen(path(g, ".txt"), "w"), path(g, ".txt"));
	fputs(text, f);
	fclose(f);
}

static void media_for(const struct golden *g)
{
	hostile.media = media_create(g->size);
	hostile.leaf_bytes = g->leaf_bytes;
	crab_host_seed(SEED);
}

/* The name that a key has: of many lengths, and all below "k" */
static u32 name_of(u64 key, char name[64])
{
	return sprintf(name, "k/%llu%.*s", key, (int)(key % 40), "/abcdefghijklmnopqrstuvwxyzabcdefghijklm");
}

static int put(struct crab_store *store, u64 key, u32 bytes)
{
	char name[64];
	struct crab_blob_write write = {
		.key = key, .name = name, .name_bytes = name_of(key, name), .type = key % 256,
		.bytes = bytes, .data = blob,
	};
	u32 i;

	for (i = 0; i < bytes; i++)
		blob[i] = key * 31 + bytes + i * 7;
	if (crab_store_has_names(store))
		return crab_named_put(store, &write);
	write.name_bytes = 0;
	write.type = 0;
	return crab_blob_put(store, &write);
}

static int erase(struct crab_store *store, u64 key)
{
	char name[64];
	struct crab_blob_write write = {
		.key = key, .name = name, .name_bytes = name_of(key, name),
	};

	return crab_store_has_names(store) ? crab_named_erase(store, &write) :
					     crab_blob_erase(store, &write);
}

/* Lengths at both ends of some classes of extents; replaced and erased blobs or names; several leaves */
static void make_blobs(void)
{
	static const u32 lengths[] = { 0, 1, 24, 25, 88, 89, 344, 345, 1000, 4056 };
	struct crab_attach_report report;
	struct crab_store *store = store_try(&hostile.media, &report);
	u32 i, longest = crab_store_has_names(store) ? 4000 : 4056;
	int err = 0;

	for (i = 0; i < 60; i++)
		err = err ?: put(store, i * 8, i < ARRAY_SIZE(lengths) ? min(lengths[i], longest) : i);
	for (i = 7; i < 60; i += 7)
		err = err ?: put(store, i * 8, 200 - i);
	for (i = 20; i < 60; i += 3)
		err = err ?: erase(store, i * 8);
	tap_check(!err, "put or erase: %d", err);
	crab_store_detach(store);
}

static void make(const struct golden *g)
{
	struct crab_store *store;

	if (!access(path(g, ".gz"), F_OK))
		return;
	media_for(g);
	if (g->state >= BLOBS_STATE) {
		format(g);
		if (g->state == BLOBS_STATE)
			make_blobs();
	} else {
		crab_hostile_choose(&hostile, g->state);
		hostile.leaf_bytes = g->leaf_bytes;
		hostile.media.size = g->size;
		if (crab_hostile_make(&hostile, "golden"))
			tap_fail("%s: %s", g->name, hostile.said);
	}
	store = attach(true);
	describe(store);
	crab_store_detach(store);
	save(g);
	media_destroy(&hostile.media);
	tap_ok(true, "%s made", g->name);
}

static void read_only(const struct golden *g)
{
	u8 *before = malloc(g->size);
	struct crab_store *store;

	memcpy(before, hostile.media.base, g->size);
	store = attach(true);
	if (store) {
		describe(store);
		tap_check(!strcmp(text, expected), "its content differs");
		crab_store_detach(store);
	}
	tap_ok(!memcmp(before, hostile.media.base, g->size), "%s: read-only, all is there", g->name);
	free(before);
}

/* A record or a blob comes and goes */
static void use(struct crab_store *store)
{
	struct crab_old old;
	u64 key = 8;
	int err;

	if (crab_blob_most(store, 0)) {
		tap_check(!put(store, 12, 500), "put");
		tap_check(!erase(store, 12), "erase");
		return;
	}
	/* In a full store, a leaf of eadr has room again once half of its records are deleted */
	do {
		crab_store_delete(store, key, &old);
		err = crab_store_insert(store, 8, 1, CRAB_INSERT_EITHER, &old);
		key += 8;
	} while (err == -ENOSPC && key < 8 * crab_leaf_slots(hostile.leaf_bytes));
	tap_check(!err, "insert: %d", err);
	tap_check(!crab_store_delete(store, 8, &old) && old.value == 1, "delete");
}

/* Attaches the image writable, uses the store and attaches it again */
static void writable(const struct golden *g)
{
	struct crab_store *store = attach(false);

	if (store) {
		describe(store);
		tap_check(!strcmp(text, expected), "its content differs");
		use(store);
		describe(store);
		strscpy(expected, text, sizeof(expected));
		crab_store_detach(store);
		store = attach(false);
	}
	if (store) {
		describe(store);
		tap_check(!strcmp(text, expected) || !strcmp(g->engine, "volatile"),
			  "its content differs afterwards");
		crab_store_detach(store);
	}
	tap_ok(true, "%s: writable, all is there, and can be used", g->name);
}

static void test(const struct golden *g)
{
	media_for(g);
	load(g);
	if (g->state == NO_STATE)
		formatted_alike(g);
	read_only(g);
	writable(g);
	media_destroy(&hostile.media);
}

static bool has_image(const struct crab_engine_ops *ops, const struct crab_layout *layout)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(goldens); i++)
		if (goldens[i].layout && !strcmp(goldens[i].engine, ops->name) &&
		    !strcmp(goldens[i].layout, layout->name))
			return true;
	return false;
}

/* Without an image, nothing notices a change of the format */
static void test_table(void)
{
	const struct crab_engine_ops * const *ops;
	const struct crab_layout *layout;

	for (ops = crab_engines; *ops; ops++)
		for (layout = (*ops)->layouts; layout->name; layout++)
			tap_check(has_image(*ops, layout), "%s/%s has no image", (*ops)->name,
				  layout->name);
	tap_ok(true, "every layout of the table has an image");
}

int main(int argc, char **argv)
{
	bool making = argc > 2 && !strcmp(argv[1], "--make");
	u32 i;

	if (argc < 2)
		return 2;
	dir = argv[argc - 1];
	for (i = 0; i < ARRAY_SIZE(goldens); i++)
		(making ? make : test)(&goldens[i]);
	if (!making)
		test_table();
	return tap_done();
}

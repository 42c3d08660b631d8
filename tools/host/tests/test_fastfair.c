// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests the engine fastfair where only directed content and directed changes of the media
 * lead: leaves that no entry names, words that change between two readings of an operation, and a
 * repair while the list of a commit is in force.
 *
 * Invariant: the operation ends; it stores nothing outside its nodes, and damage is noted.
 */
#include "engines/fastfair/tree.h"
#include "shadow/shadow.h"
#include "store/blob_priv.h"
#include "store/commit_priv.h"
#include "test.h"
#include "tests/points.h"

#define NODE_BYTES	512U
#define CHAIN		40U	/* leaves without entries: more than a scan follows without a lock */
#define LOADS		8U	/* of a word, by an operation, at most */

/* A word that has another value for one load, or from that on */
static struct {
	__le64 *word;
	u64 was;
	u64 then;
	u32 loads;
	u32 when;
	bool stays;
	struct crab_shadow *shadow;
} changing;

static void changing_load(struct crab_shadow *shadow, u32 word)
{
	bool other;

	if ((__le64 *)shadow->media->base + word != changing.word)
		return;
	changing.loads++;
	other = changing.loads == changing.when ||
		(changing.stays && changing.loads > changing.when);
	*changing.word = cpu_to_le64(other ? changing.then : changing.was);
}

static void changing_begin(struct crab_media *media, __le64 *word, u64 then, u32 when, bool stays)
{
	changing.shadow = crab_shadow_create(media, 8192);
	changing.word = word;
	changing.was = le64_to_cpu(*word);
	changing.then = then;
	changing.loads = 0;
	changing.when = when;
	changing.stays = stays;
	changing.shadow->loading = changing_load;
}

static struct crab_store *fresh_of(struct crab_media *media, u32 bytes, u32 blocks, u32 records)
{
	struct crab_store *store;
	u32 i;

	*media = media_create(CRAB_POOL_OFFSET + (u64)blocks * bytes);
	store = store_format_attach(media, "fastfair", "", bytes);
	for (i = 0; i < records; i++)
		store_put(store, i * 10, i);
	return store;
}

static struct crab_store *fresh(struct crab_media *media, u32 blocks, u32 records)
{
	return fresh_of(media, NODE_BYTES, blocks, records);
}

static void end(struct crab_media *media, struct crab_store *store)
{
	crab_shadow_destroy(changing.shadow);
	store_end(store);
}

/* Leaf @i of the chain, with one record, and if @twin a void slot before it */
static void chain_leaf(struct crab_media *media, const struct crab_geometry *geo, u32 i, bool twin)
{
	struct ff_dnode *d = (struct ff_dnode *)(media->base + crab_leaf_offset(geo, i));
	struct crab_head head = { .self = crab_leaf_offset(geo, i), .birth = i + 1, .low = i * 10 };
	struct crab_flow flow = { .media = media };
	u32 slot;

	head.next = i + 1 < CHAIN ? crab_link_to(geo, i + 1, i + 2) :
				    crab_link_end(geo->store_id, head.self, head.birth);
	memset(d, 0, NODE_BYTES);
	crab_head_store(&flow, geo->store_id, &head);
	for (slot = 0; slot <= twin; slot++) {
		d->slot[slot].key = cpu_to_le64(i * 10);
		d->slot[slot].value = cpu_to_le64(i);
	}
	d->slot[slot].key = cpu_to_le64(CRAB_KEY_EMPTY);
}

/* A detached store of @blocks blocks, of which the leaves of the chain are the only nodes */
static void chain(struct crab_media *media, u32 blocks, bool twins)
{
	struct crab_store *store = fresh(media, blocks, 0);
	struct crab_geometry geo = store->engine->geo;
	u32 i;

	crab_store_detach(store);
	for (i = 0; i < CHAIN; i++)
		chain_leaf(media, &geo, i, twins);
}

static void test_chain(void)
{
	struct crab_attach_options options = { .readonly = true };
	struct crab_attach_report report;
	struct crab_record record[4];
	struct crab_cursor cursor;
	struct crab_media media;
	struct crab_store *store;
	int got;

	chain(&media, CHAIN, false);
	store = crab_store_attach(&media, &options, &report);
	tap_check(!IS_ERR(store), "attach: %s", report.reason);
	crab_cursor_init(&cursor, (CHAIN - 10) * 10, CRAB_KEY_EMPTY - 1);
	got = crab_cursor_read(store, &cursor, record, ARRAY_SIZE(record));
	tap_ok(got == ARRAY_SIZE(record) && record[0].key == (CHAIN - 10) * 10,
	       "a scan that begins beyond many leaves without entries ends: %d records", got);
	store_end(store);
}

static u32 looks;		/* of repair, before its caller is dead */

static bool dying(void *arg)
{
	looks -= !!looks;
	return !looks;
}

/* Attach again and again, each time with a caller that dies later; counts the attaches */
static struct crab_store *chain_attach(struct crab_media *media, u32 *attaches)
{
	struct crab_attach_options options = { .interrupted = dying };
	struct crab_attach_report report;
	struct crab_store *store;

	for (*attaches = 1;; ++*attaches) {
		looks = *attaches;
		store = crab_store_attach(media, &options, &report);
		if (looks)
			break;
		tap_check(PTR_ERR(store) == -EINTR, "attach %u goes on", *attaches);
		if (!IS_ERR(store))
			crab_store_abandon(store);
	}
	tap_check(!IS_ERR(store), "attach: %s", report.reason);
	looks = U32_MAX;
	return store;
}

/* Without a free block repair adds no entry, and attach keeps those in memory */
static void test_repair(u32 blocks, bool all)
{
	struct crab_store_info info;
	struct crab_media media;
	struct crab_store *store;
	u32 attaches, i, lost = 0;
	struct ff *ff;
	u64 value;

	chain(&media, blocks, false);
	store = chain_attach(&media, &attaches);
	ff = ff_of(store->engine);
	crab_store_info(store, &info);
	tap_check(ff->extras == (all ? 0 : CHAIN - 1) && !!ff->extra == !all, "%llu entries in memory",
		  ff->extras);
	tap_check(ff->gaps == !all && !ff->traces, "%s", ff->gaps ? "gaps" : "no gaps, or traces");
	tap_check(!!info.stats.repairs == all, "%llu repairs", info.stats.repairs);
	store_check_good(store);
	for (i = 0; i < CHAIN; i++)
		lost += crab_store_search(store, i * 10, &value) || value != i;
	tap_ok(!lost && attaches > (all ? 2 * CHAIN : CHAIN), "repair with %u blocks, in %u attaches: %u records are lost",
	       blocks, attaches, lost);
	store_end(store);
}

/* Attach looks at each node whether its caller is dead; repair, at each void slot and each entry */
static void test_torn(void)
{
	struct crab_attach_options options = { .interrupted = dying };
	struct crab_attach_report report;
	struct crab_media media;

	chain(&media, 2 * CHAIN, true);
	looks = U32_MAX;
	crab_store_detach(crab_store_attach(&media, &options, &report));
	tap_ok(U32_MAX - looks >= 3 * CHAIN - 1, "attach and repair look %u times", U32_MAX - looks);
	media_destroy(&media);
}

/* The middle key of a full leaf rises after the place of a key above it was found */
static void split_once(u32 when)
{
	struct crab_media media;
	struct crab_store *store = fresh(&media, 8, (NODE_BYTES - CRAB_LINE) / sizeof(struct ff_dslot));
	struct ff *ff = ff_of(store->engine);
	struct ff_dslot *after = ff_slot(ff, 0, ff->slots);
	int err;

	changing_begin(&media, &ff_slot(ff, 0, ff->slots / 2)->key, 5000, when, false);
	err = store_put(store, 4000, 1);
	tap_check(le64_to_cpu(after->key) != 4000, "load %u: stored after the last slot, error %d", when,
		  err);
	end(&media, store);
}

static void test_split(void)
{
	u32 when;

	for (when = 1; when <= LOADS; when++)
		split_once(when);
	tap_ok(true, "a middle key that changes during a split: nothing is stored after its last slot");
}

/* The lowest key of a leaf falls between the way to it and the way to its neighbour */
static void merge_once(u32 when)
{
	struct crab_media media;
	struct crab_store *store = fresh(&media, 64, 60);
	struct ff *ff = ff_of(store->engine);
	struct ff_find find;
	u64 low, i;

	crab_ff_find_exact(ff, 200, 0, &find);
	low = find.node.low;
	for (i = 0; i < 6; i++)
		store_delete(store, low + 10 * i);
	changing_begin(&media, &ff_media(ff, find.node.number)->head.low, low - 5, when, true);
	store_delete(store, low + 60);
	end(&media, store);
}

static void test_merge(void)
{
	u32 when;

	for (when = 1; when <= LOADS; when++)
		merge_once(when);
	tap_ok(true, "a lowest key that changes during a delete: no leaf is its own neighbour");
}

/* The media as the caches have it when a kernel stops in the first split: the root has no parent */

#define STOP_BYTES	(CRAB_POOL_OFFSET + 256 * NODE_BYTES)

static struct {
	bool stopped;
	u8 media[STOP_BYTES];
	struct crab_shadow_image *fresh;	/* attach: before the first fence of a fresh node */
} stop;

static void stop_at_split(struct crab_shadow *shadow, enum crab_shadow_event event,
			  enum crab_point point)
{
	if (event != CRAB_SHADOW_FENCING || point != CRAB_P8_LINKED || stop.stopped)
		return;
	memcpy(stop.media, shadow->media->base, STOP_BYTES);
	stop.stopped = true;
}

static void stop_at_fresh(struct crab_shadow *shadow, enum crab_shadow_event event,
			  enum crab_point point)
{
	if (event == CRAB_SHADOW_FENCING && point == CRAB_P7_FRESH && !stop.fresh)
		stop.fresh = crab_shadow_capture(shadow);
}

static struct crab_shadow *stop_shadow(struct crab_media *media, crab_shadow_hook hook)
{
	struct crab_shadow *shadow = crab_shadow_create(media, 8192);

	shadow->model = CRAB_SHADOW_MODEL_LINE;
	shadow->hook = hook;
	return shadow;
}

/* Leaves stop.media; returns the id of the store */
static u32 stop_fill(struct crab_media *media)
{
	struct crab_shadow *shadow = stop_shadow(media, stop_at_split);
	struct crab_blob_write put = { .data = "value", .bytes = 5 };
	struct crab_store *store;
	u32 id;

	store = store_make(media, "fastfair", "", NODE_BYTES, STORE_BLOBS | STORE_COMMITS);
	id = store->super.store_id;
	for (; !stop.stopped && put.key < 100; put.key++)
		tap_check(!crab_blob_put(store, &put), "put");
	crab_store_abandon(store);
	crab_shadow_destroy(shadow);
	memcpy(media->base, stop.media, STOP_BYTES);
	return id;
}

/* An attach that only reads uses no memory that the superblock does not have */
static int grown_judge(struct crab_shadow *shadow, void *arg)
{
	struct crab_attach_options options = { .readonly = true };
	struct crab_store *store = crab_store_attach(shadow->media, &options, arg);
	bool good = !IS_ERR(store) && !store->engine->damage.count;

	if (!IS_ERR(store))
		crab_store_abandon(store);
	return good ? 0 : -EUCLEAN;
}

/* A full store without entries, whose region has grown: repair takes the new memory for them */
static void test_grown(void)
{
	struct crab_media media = media_create(CRAB_POOL_OFFSET + 2 * CHAIN * NODE_BYTES), small;
	struct crab_crash_points *points = crab_crash_points_alloc(1024, false);
	struct crab_attach_report report;
	struct crab_shadow *shadow;
	int err = 0, i;

	chain(&small, CHAIN, false);
	memcpy(media.base, small.base, small.size);
	media_destroy(&small);
	shadow = stop_shadow(&media, NULL);
	crab_crash_points_collect(points, shadow);
	crab_store_abandon(store_attach(&media));
	crab_crash_points_collect(NULL, shadow);
	for (i = 0; i < points->count && !err; i++)
		err = crab_shadow_explore(shadow, points->at[i].image, grown_judge, &report, 1000);
	tap_ok(!err && i > CHAIN, "entries in memory by which the region has grown: cut %d: %d", i, err);
	crab_crash_points_free(points);
	crab_shadow_destroy(shadow);
	media_destroy(&media);
}

/* A list that only the caches have: the kernel stopped before P21 */
static void stop_list(struct crab_shadow *shadow, u32 id)
{
	static const struct crab_commit_list list = { .n = 1, .removes = 1, .record[0].key = 3 };
	struct crab_flow flow = { .media = shadow->media };

	shadow->fault = CRAB_SHADOW_CLEANS_LOST;
	shadow->fault_point = CRAB_P21_LISTED;
	crab_flow_pin();
	crab_commit_store(&flow, id, &list);
	crab_flow_unpin();
	shadow->fault = CRAB_SHADOW_SOUND;
}

static int list_counts(struct crab_shadow *shadow, void *id)
{
	struct crab_commit_list list;

	return crab_commit_load(shadow->media, *(u32 *)id, &list) == 1 ? 0 : -EUCLEAN;
}

/* The extent of the value that the list removes is free: a fresh node of the repair may be there */
static void test_listed(void)
{
	struct crab_media media = media_create(STOP_BYTES);
	u32 id = stop_fill(&media);
	struct crab_shadow *shadow = stop_shadow(&media, stop_at_fresh);
	struct crab_blob_read get = { .key = 3 };
	struct crab_store *store;
	int err;

	stop_list(shadow, id);
	store = store_attach(&media);
	tap_check(crab_blob_get(store, &get) == -ENOENT, "the list is in force");
	crab_store_abandon(store);
	tap_check(stop.stopped && stop.fresh, "the repair has made no node");
	err = stop.fresh ? crab_shadow_explore(shadow, stop.fresh, list_counts, &id, 1000) : 0;
	tap_check(!err, "a power cut takes the list back: %d", err);
	tap_check(!shadow->errors, "%s", shadow->error);
	tap_ok(true, "a list in force is durable before repair makes the first node");
	crab_shadow_release(stop.fresh);
	crab_shadow_destroy(shadow);
	media_destroy(&media);
}

static u32 asked;

static bool stop_soon(void *arg)
{
	return ++asked > 1000;
}

/* Reads lock the leaf; the lowest key of the second leaf falls below the last key of the first one */
static struct crab_store *overlapped(struct crab_media *media, u64 *key)
{
	struct crab_attach_options options = { .tuning = &(struct ff_tuning){ .leaf_locks = true } };
	struct crab_store *store = fresh(media, 64, 60);
	struct crab_attach_report report;
	struct ff_node second;
	struct ff_find find;
	struct ff *ff;

	crab_store_detach(store);
	store = crab_store_attach(media, &options, &report);
	tap_check(!IS_ERR(store), "attach: %s", report.reason);
	ff = ff_of(store->engine);
	tap_check(!crab_ff_find_exact(ff, 0, 0, &find) && !crab_ff_next(ff, &find.node, &second),
		  "two leaves");
	*key = second.low - 20;
	ff_media(ff, second.number)->head.low = cpu_to_le64(second.low - 25);
	asked = 0;
	store->engine->stop.asked = stop_soon;
	return store;
}

static void test_overlap(void)
{
	struct crab_record record[4];
	struct crab_cursor cursor;
	struct crab_media media;
	struct crab_store *store;
	u64 key;
	int err;

	store = overlapped(&media, &key);
	err = crab_store_seek(store, key, CRAB_SEEK_GE, record);
	tap_ok(err == -EUCLEAN, "a seek ends in a leaf whose range ends below its keys: %d", err);
	store_end(store);
	store = overlapped(&media, &key);
	crab_cursor_init(&cursor, key, CRAB_KEY_EMPTY - 1);
	err = crab_cursor_read(store, &cursor, record, ARRAY_SIZE(record));
	tap_ok(err == -EUCLEAN, "a scan ends in a leaf whose range ends below its keys: %d", err);
	store_end(store);
}

/* Inserts, or deletes, each tenth key below @end from @key on; returns the first error */
static int change_keys(struct crab_store *store, u64 key, u64 end, bool insert)
{
	int err = 0;

	for (; key < end && !err; key += 10)
		err = insert ? store_put(store, key, 1) : store_delete(store, key);
	return err;
}

/* Three leaves in a row; the first and the third have too many records to be merged with others */
static void stale_leaves(struct crab_store *store, struct ff_node *leaf)
{
	struct ff *ff = ff_of(store->engine);
	struct ff_find find;

	tap_check(!crab_ff_find_exact(ff, 0, 0, &find), "find");
	leaf[0] = find.node;
	tap_check(!crab_ff_next(ff, &leaf[0], &leaf[1]) && !crab_ff_next(ff, &leaf[1], &leaf[2]),
		  "three leaves");
	tap_check(!change_keys(store, 5, 5 + 80, true), "first");
	tap_check(!change_keys(store, leaf[2].low + 5, leaf[2].low + 5 + 80, true), "third");
}

static void stale_expect(struct crab_store *store, int err)
{
	struct crab_pool *pool = &ff_of(store->engine)->pool;
	static struct crab_store_info info;
	u64 n, free = 0;

	crab_store_info(store, &info);
	tap_check(err == -EUCLEAN && info.readonly, "%d: %s", err, info.reason);
	crab_pool_wait(pool);
	for (n = 0; n < pool->leaves; n++)
		free += !test_bit(n, pool->used);
	tap_check(pool->free == free, "%llu free nodes of %llu", pool->free, free);
}

/* A link reads as it did before its leaf was removed, whose header remains */
static void test_stale_link(void)
{
	struct crab_media media;
	struct crab_store *store = fresh(&media, 64, 60);
	struct ff_node leaf[3];
	__le64 *word, was;
	int err;

	stale_leaves(store, leaf);
	word = &ff_media(ff_of(store->engine), leaf[0].number)->head.next;
	was = *word;
	tap_check(!change_keys(store, leaf[1].low, leaf[2].low, false) && *word != was, "removed");
	*word = was;
	err = change_keys(store, 0, leaf[1].low, false) ?: change_keys(store, 5, 5 + 80, false);
	stale_expect(store, err);
	tap_ok(true, "a leaf that an earlier link names is not removed twice");
	store_end(store);
}

/* The same of the head and a root that has shrunk */
static void test_stale_head(void)
{
	struct crab_media media;
	struct crab_store *store = fresh(&media, 64, 60);
	struct ff *ff = ff_of(store->engine);
	__le64 was = crab_list_head(&media)->next;

	tap_check(!change_keys(store, 0, 600, false) && ff->levels == 1, "%u levels", ff->levels);
	crab_list_head(&media)->next = was;
	stale_expect(store, change_keys(store, 0, 10, true));
	tap_ok(true, "a root that an earlier head names is not entered");
	store_end(store);
}

#define FAR_LEAVES	100U	/* more than a search passes where each leaf has its entry */

/* The entries of the root end at once: a search would follow the list of leaves */
static void test_far(void)
{
	struct crab_media media;
	struct crab_store *store = fresh_of(&media, CRAB_LEAF_BYTES_MAX, 2 * FAR_LEAVES,
					    FAR_LEAVES * CRAB_LEAF_BYTES_MAX / 32);
	struct ff *ff = ff_of(store->engine);
	struct ff_node root;

	tap_check(!crab_ff_root(ff, &root) && root.level == 1 && root.side->count > 64, "root");
	ff_slot(ff, root.number, 0)->key = cpu_to_le64(CRAB_KEY_EMPTY);
	stale_expect(store, store_search(store, FAR_LEAVES * CRAB_LEAF_BYTES_MAX / 4));
	tap_ok(true, "a search does not follow the list of leaves from a root without entries");
	store_end(store);
}

/* The head reads as it did when the first leaf was the root */
static void test_low_head(void)
{
	struct crab_media media;
	struct crab_store *store = fresh(&media, 64, 20);
	__le64 was = crab_list_head(&media)->next;
	int err;

	tap_check(!change_keys(store, 0, 600, true) && ff_of(store->engine)->levels == 2, "levels");
	crab_list_head(&media)->next = was;
	err = change_keys(store, 5, 100, true) ?: change_keys(store, 7, 100, true);
	stale_expect(store, err);
	tap_ok(true, "no leaf that an earlier head names becomes the root again");
	store_end(store);
}

/* The link of the last leaf, to whose right no entry is, reads 0 */
static void test_last_link(u32 records)
{
	struct crab_media media;
	struct crab_store *store = fresh(&media, 64, records);
	struct ff *ff = ff_of(store->engine);
	struct ff_find find;

	tap_check(!crab_ff_find_exact(ff, records * 10, 0, &find), "find");
	ff_media(ff, find.node.number)->head.next = 0;
	stale_expect(store, change_keys(store, records * 10, records * 10 + 10, true));
	tap_ok(true, "a link of 0 does not end the list of %u levels", ff->levels);
	store_end(store);
}

#define HIGH_NODES	(1U << 18)
#define HIGH_KEYS	(1U << 17)	/* more than a tree of nodes with two slots has entries for */

/* The root at the highest level has siblings, and attach finds it */
static void test_levels(void)
{
	struct crab_media media;
	struct crab_store *store;
	u64 keys = 0, value, i;
	u32 levels, lost = 0;

	crab_tiny_slots = 2;
	store = fresh_of(&media, CRAB_LEAF_BYTES_MIN, HIGH_NODES, 0);
	for (; keys < HIGH_KEYS && !ff_of(store->engine)->gaps; keys += 100)
		tap_check(!change_keys(store, keys * 10, keys * 10 + 1000, true), "key %llu", keys);
	store = store_cut(store);
	levels = ff_of(store->engine)->levels;
	for (i = 0; i < keys; i++)
		lost += !!crab_store_search(store, i * 10, &value);
	tap_ok(levels == FF_LEVELS && !lost, "a tree of %u levels does not grow: %u of %llu keys are lost",
	       levels, lost, keys);
	crab_tiny_slots = 0;
	store_end(store);
}

int main(void)
{
	test_chain();
	test_repair(2 * CHAIN, true);
	test_repair(CHAIN, false);
	test_torn();
	test_split();
	test_merge();
	test_grown();
	test_listed();
	test_overlap();
	test_stale_link();
	test_stale_head();
	test_far();
	test_low_head();
	test_last_link(20);
	test_last_link(60);
	test_levels();
	return tap_done();
}

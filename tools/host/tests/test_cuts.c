// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests two and more power cuts, each of which meets the leftovers of the one before: a FORMAT
 * over a FORMAT that was cut, the redo of a commit that is cut again and again in a store that is
 * full, and stores that are filled and emptied between cuts, which must not lose room.
 */
#include "store/blob_commit.h"
#include "store/blob_priv.h"
#include "store/commit_priv.h"
#include "shadow/shadow.h"
#include "test.h"
#include "tests/points.h"

#define NODES		8192U	/* stores pending at once */
#define KEYS		12U	/* of the old store of a FORMAT */
#define WRITES		16U	/* of a commit */
#define REDOS		40U	/* cuts of one redo */
#define ROOM_STEPS	500U
#define GROW_STEPS	120U

static struct crab_shadow *shadow;

static void shadow_begin(const char *engine, const char *layout)
{
	const struct crab_layout *found = crab_layout_by_name(crab_engine_by_name(engine), layout);

	shadow = crab_shadow_create(&media, NODES);
	shadow->model = crab_shadow_model_of(found->needs);
}

static void shadow_end(void)
{
	tap_check(!shadow->errors, "%s", shadow->error);
	crab_shadow_destroy(shadow);
	shadow = NULL;
	media_destroy(&media);
}

/* One cut at a random event */

static struct cut {
	struct crab_shadow_image *image;
	bool begun;
	bool ended;
	u32 events;
	u64 seed;
} cut;

/* Any of the events between P21 and the clearing of the list */
static void cut_hook(struct crab_shadow *shadow, enum crab_shadow_event event, enum crab_point point)
{
	cut.ended |= cut.begun && event == CRAB_SHADOW_STORED &&
		     shadow->stored == CRAB_COMMIT_OFFSET / sizeof(__le64) + 1;
	if (cut.begun && !cut.ended && !rng_below(&cut.seed, ++cut.events)) {
		crab_shadow_release(cut.image);
		cut.image = crab_shadow_capture(shadow);
	}
	cut.begun |= event == CRAB_SHADOW_FENCING && point == CRAB_P21_LISTED;
}

static void cut_begin(bool begun)
{
	cut.image = NULL;
	cut.begun = begun;
	cut.ended = false;
	cut.events = 0;
	shadow->hook = cut_hook;
}

/*
 * Where the hook has chosen, the power fails; or the kernel stops, the caches survive, and another CPU
 * goes on. The store is not attached any more
 */
static void cut_end(void)
{
	shadow->hook = NULL;
	if (!cut.image)
		tap_bail("no event");
	crab_shadow_restore(shadow, cut.image);
	crab_shadow_release(cut.image);
	shadow->seed = cut.seed;
	if (rng_below(&cut.seed, 3))
		crab_shadow_crash(shadow);
	else
		shadow->cpu = (shadow->cpu + 1) % CRAB_SHADOW_CPUS;
}

/* FORMAT over a FORMAT that was cut */

struct formats {
	struct crab_crash_points *first;
	struct crab_crash_points *second;
	const char *engine;
	u64 images;
};

static int format(const char *engine, const char *label)
{
	const struct crab_format_options options = {
		.force = true, .engine = engine, .layout = "", .label = label,
		.leaf_bytes = leaf_bytes_of(engine, ""),
	};
	char reason[CRAB_REASON_LEN];

	return crab_store_format(&media, &options, reason);
}

static bool has_records(struct crab_store *store)
{
	u64 value, key;

	for (key = 0; key < KEYS; key++)
		if (crab_store_search(store, key, &value) || value != key + 1)
			return false;
	return true;
}

/* No store, the old one as it was, or an empty one */
static int formats_judge(struct crab_shadow *shadow, void *arg)
{
	struct crab_attach_report report;
	struct crab_store *store = store_try(&media, &report);
	struct crab_store_info info;
	struct formats *f = arg;
	bool right;

	f->images++;
	if (IS_ERR(store))
		return report.verdict == CRAB_VERDICT_BLANK ? 0 : -1;
	info = store_info(store);
	right = report.verdict == CRAB_VERDICT_GOOD &&
		(strcmp(info.super.label, "old") ? !info.stats.records : has_records(store));
	if (!right)
		tap_check(right, "%s: '%s', verdict %d, %s, %llu records", f->engine, info.super.label,
			  report.verdict, report.reason, info.stats.records);
	crab_store_abandon(store);
	return right ? 0 : -1;
}

static int formats_again(struct crab_shadow *shadow, void *arg)
{
	struct formats *f = arg;
	u32 i;
	int err;

	crab_crash_points_collect(f->second, shadow);
	err = format(f->engine, "second");
	crab_crash_points_collect(NULL, shadow);
	for (i = 0; i < f->second->count && !err; i++)
		err = crab_shadow_explore(shadow, f->second->at[i].image, formats_judge, f, 100000);
	crab_crash_points_clear(f->second);
	return err;
}

static void test_formats(const char *engine)
{
	struct formats f = {
		.first = crab_crash_points_alloc(256, false), .second = crab_crash_points_alloc(256, false),
		.engine = engine,
	};
	u64 key;
	u32 i;
	int err = 0;

	media = media_create(CRAB_POOL_OFFSET + 16 * 512);
	shadow_begin("crab", "slotted");
	tap_check(!format("crab", "old"), "FORMAT");
	store = store_attach(&media);
	for (key = 0; key < KEYS; key++)
		store_put(store, key, key + 1);
	crab_store_detach(store);
	crab_crash_points_collect(f.first, shadow);
	tap_check(!format("crab", "first"), "FORMAT");
	crab_crash_points_collect(NULL, shadow);
	for (i = 0; i < f.first->count && !err; i++)
		err = crab_shadow_explore(shadow, f.first->at[i].image, formats_again, &f, 100000);
	tap_ok(!err && f.first->count > 3, "%s: FORMAT over a FORMAT that was cut: %llu images", engine,
	       f.images);
	crab_crash_points_free(f.first);
	crab_crash_points_free(f.second);
	shadow_end();
}

/* A commit in a full store, whose redo is cut again and again */

static struct crab_commit commit;	/* too large for a stack */

static u64 new_key(u32 i)
{
	return 64ULL * (i + 1) + 33;
}

static void commit_fill(void)
{
	u32 i;

	memset(&commit, 0, sizeof(commit));
	commit.n = WRITES;
	for (i = 0; i < WRITES; i++) {
		commit.when[i] = CRAB_WHEN_ANY;
		commit.ops[i] = (struct crab_batch_op){
			.verb = CRAB_VERB_INSERT, .key = new_key(i), .value = i,
		};
	}
}

/* Deletes from the highest key on until a commit has room; returns the number of keys */
static u64 commit_cut(struct crab_store *store, u64 keys)
{
	int err;

	for (;;) {
		commit_fill();
		cut_begin(false);
		err = crab_store_commit(store, &commit);
		if (!err || keys < 2 * WRITES)
			break;
		store_delete(store, --keys * 8);
		store_maintain(store);
	}
	tap_check(!err, "commit: %d", err);
	crab_store_abandon(store);
	cut_end();
	return keys;
}

static void expect_all(struct crab_store *store, u64 keys)
{
	u64 key, value;
	u32 i;

	for (i = 0; i < WRITES; i++)
		tap_check(!crab_store_search(store, new_key(i), &value) && value == i, "key %llu", new_key(i));
	for (key = 0; key < keys; key++)
		tap_check(!store_search(store, 8 * key), "key %llu", 8 * key);
	store_check_good(store);
}

static void test_redo(const char *engine, const char *layout)
{
	struct crab_attach_report report;
	u64 keys = 0, least = U64_MAX;
	u32 i;

	cut.seed = 7;
	media = media_create(CRAB_POOL_OFFSET * 2 + 80 * leaf_bytes_of(engine, layout));
	shadow_begin(engine, layout);
	store = store_make(&media, engine, layout, leaf_bytes_of(engine, layout), STORE_COMMITS);
	while (!store_put(store, 8 * keys, 1))
		keys++;
	keys = commit_cut(store, keys);
	for (i = 0; i < REDOS; i++) {
		cut_begin(true);
		store = store_try(&media, &report);
		if (IS_ERR(store) || report.verdict != CRAB_VERDICT_GOOD || !cut.events)
			break;
		least = min(least, store_info(store).super.leaves - store_info(store).stats.leaves_used);
		crab_store_abandon(store);
		cut_end();
	}
	tap_check(i == REDOS, "redo %u: verdict %d, %s, %u events", i, report.verdict, report.reason,
		  cut.events);
	shadow->hook = NULL;
	if (i == REDOS) {
		store = store_attach(&media);
		expect_all(store, keys);
		crab_store_abandon(store);
	}
	tap_ok(true, "%s %s: a redo that is cut again and again in a full store: %llu leaves", engine, layout,
	       least);
	shadow_end();
}

/* Stores that are filled and emptied, with cuts in between, lose no room */

static u64 fill_up(struct crab_store *store)
{
	u64 key = 0;

	while (!store_put(store, key, key))
		key++;
	return key;
}

/* The power fails at any event */
static void any_hook(struct crab_shadow *shadow, enum crab_shadow_event event, enum crab_point point)
{
	if (rng_below(&cut.seed, ++cut.events))
		return;
	crab_shadow_release(cut.image);
	cut.image = crab_shadow_capture(shadow);
}

static void any_begin(void)
{
	cut.image = NULL;
	cut.events = 0;
	shadow->hook = any_hook;
}

/* Writes of keys near each other, mostly of one kind */
static void batch_run(struct crab_store *store, u64 *seed, u64 keys)
{
	struct crab_batch_op ops[16] = { };
	u64 from = rng_below(seed, keys), step = rng_below(seed, 2) ? 1 : 37;
	u32 bias = rng_below(seed, 2) * 7, i;

	for (i = 0; i < ARRAY_SIZE(ops); i++)
		ops[i] = (struct crab_batch_op){
			.verb = rng_below(seed, 8) < bias ? CRAB_VERB_DELETE : CRAB_VERB_INSERT,
			.mode = CRAB_INSERT_EITHER, .key = (from + i * step) % keys, .value = rng(seed),
		};
	crab_store_batch(store, ops, ARRAY_SIZE(ops));
}

/* A batch; the power may fail in it: then the store is attached again */
static u32 room_step(u64 *seed, u64 keys)
{
	bool fails = !rng_below(seed, 4);

	if (fails)
		any_begin();
	batch_run(store, seed, keys);
	shadow->hook = NULL;
	if (!rng_below(seed, 8))
		store_maintain(store);
	if (!fails || !cut.image)
		return 0;
	crab_store_abandon(store);
	cut_end();
	store = store_attach(&media);
	return 1;
}

static void test_room(const char *engine, const char *layout)
{
	u32 i, cuts = 0, bytes = leaf_bytes_of(engine, layout);
	u64 seed = 5, key, fresh, again;

	media = media_create(CRAB_POOL_OFFSET * 2 + 40 * bytes);
	shadow_begin(engine, layout);
	store = store_format_attach(&media, engine, layout, bytes);
	fresh = fill_up(store);
	for (i = 0; i < ROOM_STEPS; i++)
		cuts += room_step(&seed, fresh);
	for (key = 0; key < fresh; key++)
		store_delete(store, key);
	tap_check(!store_info(store).stats.records, "records");
	store = store_again(store);
	again = fill_up(store);
	/* The first leaf may be left half full */
	tap_ok(again + bytes / 16 > fresh, "%s %s: %llu keys fit, and %llu after %u cuts", engine, layout,
	       fresh, again, cuts);
	crab_store_detach(store);
	shadow_end();
}

/* A region that grows among cuts of commits, of puts and of attaches */

#define GROW_KEYS	400U
#define GROW_LEAVES	120U
#define BLOB_MOST	200U

static struct grow {
	u64 now[GROW_KEYS];		/* 0: the key is absent */
	u64 next[GROW_KEYS];		/* after the write that is cut */
	bool blobs;
	u64 seed;
	u64 version;			/* the highest one that was there */
	u32 steps;
	u32 cuts;
	u32 grown;
	u32 full;
	u64 emptied;			/* slabs */
} grow;

static u32 grow_blob(u64 value, u8 *bytes)
{
	u32 n = 1 + value % BLOB_MOST;

	rng_fill(bytes, value, n);
	return n;
}

static u64 grow_value(struct crab_store *store, u64 key)
{
	u8 bytes[BLOB_MOST], want[BLOB_MOST];
	struct crab_blob_read get = { .key = key, .buffer = bytes, .capacity = sizeof(bytes) };
	u64 value, i;
	int err;

	if (!grow.blobs) {
		err = crab_store_search(store, key, &value);
		tap_check(!err || err == -ENOENT, "key %llu: %d", key, err);
		return err ? 0 : value;
	}
	err = crab_blob_get(store, &get);
	tap_check(!err || err == -ENOENT, "key %llu: %d", key, err);
	grow.version = max_t(u64, grow.version, get.version);
	for (i = 0; i < 2 && !err; i++) {
		value = i ? grow.next[key] : grow.now[key];
		if (value && grow_blob(value, want) == get.bytes && !memcmp(bytes, want, get.bytes))
			return value;
	}
	return err ? 0 : U64_MAX;
}

/* The content is that before the write, or after it */
static void grow_compare(struct crab_store *store)
{
	u64 key, was[GROW_KEYS];
	bool now = true, next = true;

	for (key = 0; key < GROW_KEYS; key++) {
		was[key] = grow_value(store, key);
		now &= was[key] == grow.now[key];
		next &= was[key] == grow.next[key];
	}
	tap_check(now || next, "neither the content before the write nor the one after it");
	memcpy(grow.now, was, sizeof(was));
	store_check_good(store);
}

static int grow_commit(struct crab_store *store)
{
	static struct crab_blob_commit blobs;
	static u8 bytes[8][BLOB_MOST];
	u64 from = rng_below(&grow.seed, GROW_KEYS), value;
	u32 i, n = 1 + rng_below(&grow.seed, 8), bias = grow.steps / 30 % 2 ? 1 : 8;
	int err;

	memset(&commit, 0, sizeof(commit));
	memset(&blobs, 0, sizeof(blobs));
	memcpy(grow.next, grow.now, sizeof(grow.now));
	for (i = 0; i < n; i++) {
		u64 key = (from + i * 7) % GROW_KEYS;

		value = rng_below(&grow.seed, 9) < bias ? 1 + (rng(&grow.seed) >> 8) : 0;
		grow.next[key] = value;
		commit.when[i] = CRAB_WHEN_ANY;
		commit.ops[i] = (struct crab_batch_op){
			.verb = value ? CRAB_VERB_INSERT : CRAB_VERB_DELETE, .key = key, .value = value,
			.mode = CRAB_INSERT_EITHER,
		};
		blobs.ops[i] = (struct crab_blob_op){
			.verb = commit.ops[i].verb, .write.key = key, .write.data = bytes[i],
			.write.bytes = value ? grow_blob(value, bytes[i]) : 0,
			.write.mode = CRAB_INSERT_EITHER,
		};
	}
	commit.n = n;
	blobs.n = n;
	if (!grow.blobs)
		return crab_store_commit(store, &commit);
	err = crab_blob_commit(store, &blobs);
	for (i = 0; i < n && !err; i++) {
		if (blobs.ops[i].verb != CRAB_VERB_INSERT)
			continue;
		tap_check(blobs.ops[i].write.version > grow.version, "a version comes again");
	}
	return err;
}

/* A commit that is not cut, then all work off the write path: evacuation, too */
static int grow_maintain(struct crab_store *store)
{
	u64 before = grow.blobs ? store->blobs->evac.freed : 0;

	if (grow_commit(store))
		memcpy(grow.next, grow.now, sizeof(grow.now));
	memcpy(grow.now, grow.next, sizeof(grow.now));
	any_begin();
	store_maintain(store);
	shadow->hook = NULL;
	grow.emptied += grow.blobs ? store->blobs->evac.freed - before : 0;
	return 0;
}

/* Attaches, and loses power within the attach up to twice before that */
static struct crab_store *grow_attach(void)
{
	struct crab_attach_report report;
	struct crab_store *store;
	u32 cuts = rng_below(&grow.seed, 3);

	while (cuts--) {
		any_begin();
		store = store_try(&media, &report);
		shadow->hook = NULL;
		if (IS_ERR(store))
			break;
		crab_store_abandon(store);
		if (cut.image)
			cut_end();
		grow.cuts++;
	}
	return store_attach(&media);
}

static void grow_step(u32 leaf_bytes, u64 most)
{
	int err;

	if (!rng_below(&grow.seed, 4)) {
		err = grow_maintain(store);
	} else {
		any_begin();
		err = grow_commit(store);
		shadow->hook = NULL;
	}
	tap_check(!err || err == -ENOSPC, "commit: %d", err);
	if (err)
		memcpy(grow.next, grow.now, sizeof(grow.now));
	grow.full += !!err;
	if (!err && rng_below(&grow.seed, 2) && cut.image) {
		crab_store_abandon(store);
		cut_end();
	} else {
		crab_shadow_release(cut.image);
		if (!err)
			memcpy(grow.now, grow.next, sizeof(grow.now));
		if (rng_below(&grow.seed, 2))
			crab_store_detach(store);
		else
			crab_store_abandon(store);
	}
	if (rng_below(&grow.seed, 4) == 0 && media.size < most) {
		media.size += leaf_bytes * (1 + rng_below(&grow.seed, 3));
		grow.grown++;
	}
	store = grow_attach();
	grow_compare(store);
}

static void test_grow(const char *engine, const char *layout, bool blobs)
{
	u32 bytes = leaf_bytes_of(engine, layout);
	u64 most = CRAB_POOL_OFFSET * 2 + GROW_LEAVES * bytes;

	memset(&grow, 0, sizeof(grow));
	grow.blobs = blobs;
	grow.seed = 3;
	media = media_create(most + 4 * bytes);
	shadow_begin(engine, layout);
	media.size = CRAB_POOL_OFFSET * 2 + 36 * bytes;
	store = store_make(&media, engine, layout, bytes, STORE_COMMITS | (blobs ? STORE_BLOBS : 0));
	for (grow.steps = 0; grow.steps < GROW_STEPS; grow.steps++)
		grow_step(bytes, most);
	tap_ok(grow.grown, "%s %s%s: %u cuts, the region grows %u times, %u times full, %llu slabs emptied",
	       engine, layout, blobs ? ", blobs" : "", grow.cuts, grow.grown, grow.full, grow.emptied);
	crab_store_detach(store);
	shadow_end();
}

int main(void)
{
	u32 i;

	crab_host_log = NULL;
	test_formats("volatile");
	for (i = 0; i < STORE_LAYOUTS; i++) {
		test_redo(store_layouts[i][0], store_layouts[i][1]);
		test_room(store_layouts[i][0], store_layouts[i][1]);
		test_grow(store_layouts[i][0], store_layouts[i][1], false);
		test_grow(store_layouts[i][0], store_layouts[i][1], true);
	}
	return tap_done();
}

// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the verbs of an engine in a store of commits.
 *
 * Invariants: from the time when the list of a commit is durable until the engine has all of its
 * writes, the list is in force: readers take the keys of the list from it, and all other keys from
 * the engine. So the writes of a commit become visible together, and only when no power cut can
 * take them back. No other write runs meanwhile.
 *
 * A reader takes no lock. It reads crab_commits.turn before and after; if it has moved, the reader
 * repeats its work under crab_commits.lock. Pairs with crab_commits_turn().
 *
 * Locking: crab_commits.lock, for reading, around each write and around maintenance. The locks of
 * the engine are within it.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "commit_priv.h"
#include "engines/defaults.h"
#include "store_priv.h"

/**
 * struct view - a read: the operands of one verb of struct crab_engine_ops
 * @read: does it: @in_force: the list is in force
 * @key: the key, or where to begin
 * @end: seek and scan: where to end
 * @dir: the direction
 * @value: lookup, beyond: out
 * @records: seek and scan: out
 * @cap: scan: room in @records
 */
struct view {
	int (*read)(struct crab_engine *engine, const struct view *view, bool in_force);
	u64 key;
	u64 end;
	enum crab_seek_dir dir;
	u64 *value;
	struct crab_record *records;
	u32 cap;
};

static struct crab_commits *commits_of(const struct crab_engine *engine)
{
	return engine->commits;
}

void crab_commits_turn(struct crab_commits *commits)
{
	/* Pairs with smp_load_acquire() in view_read(): the list, and the writes of the engine */
	smp_store_release(&commits->turn, commits->turn + 1);
	/* Pairs with smp_rmb() there: before the next writes of the engine, or of the list */
	smp_wmb();
}

/* A read without a lock, if no list comes into force or ceases to be meanwhile */
static int view_read(struct crab_engine *engine, const struct view *view)
{
	struct crab_commits *commits = commits_of(engine);
	/* Pairs with crab_commits_turn() */
	u32 turn = smp_load_acquire(&commits->turn);
	int ret = view->read(engine, view, turn & 1);

	/* Pairs with smp_wmb() in crab_commits_turn() */
	smp_rmb();
	if (likely(READ_ONCE(commits->turn) == turn))
		return ret;
	down_read(&commits->lock);
	ret = view->read(engine, view, crab_commits_in_force(commits));
	up_read(&commits->lock);
	return ret;
}

/*
 * The write of the list with the key that is nearest to @key, or CRAB_COMMIT_MAX. The list may
 * change meanwhile: then the caller's turn has moved.
 */
static u32 list_near(const struct crab_commits *commits, u64 key, enum crab_seek_dir dir,
		     struct crab_record *near)
{
	const struct crab_record *record = commits->list.record;
	u32 n = min_t(u32, READ_ONCE(commits->list.n), CRAB_COMMIT_MAX), i, best = CRAB_COMMIT_MAX;
	u64 at;

	for (i = 0; i < n; i++) {
		at = READ_ONCE(record[i].key);
		if (crab_seek_is_before(dir, at, key) ||
		    (best < n && crab_seek_is_before(dir, near->key, at)))
			continue;
		best = i;
		*near = (struct crab_record){ at, READ_ONCE(record[i].value) };
	}
	return best;
}

static bool list_removes(const struct crab_commits *commits, u32 i)
{
	return READ_ONCE(commits->list.removes) >> i & 1;
}

static int view_lookup(struct crab_engine *engine, const struct view *view, bool in_force)
{
	struct crab_commits *commits = commits_of(engine);
	struct crab_record near = { };
	u32 i = CRAB_COMMIT_MAX;

	if (in_force)
		i = list_near(commits, view->key, CRAB_SEEK_GE, &near);
	if (i == CRAB_COMMIT_MAX || near.key != view->key)
		return engine->own->lookup(engine, view->key, view->value);
	*view->value = near.value;
	return list_removes(commits, i) ? -ENOENT : 0;
}

/* The nearest of the record of the engine, if @err is 0, and of @near; its key if it is removed */
static int seek_choose(enum crab_seek_dir dir, int err, struct crab_record *record,
		       const struct crab_record *near, bool removed)
{
	if (!err && crab_seek_is_before(dir, record->key, near->key))
		return 0;
	*record = *near;
	return removed ? -EAGAIN : 0;
}

/*
 * The engine met a quarantined range when it searched from @key on: is that range after @near, the
 * key of the next write @i of the list, or after the end of the read? Then no record is before.
 */
static bool seek_is_ahead(struct crab_engine *engine, const struct view *view, u64 key, u32 i,
			  u64 near)
{
	struct crab_record found;
	u64 last = view->end;

	if (i < CRAB_COMMIT_MAX && near == key)
		return true;
	if (i < CRAB_COMMIT_MAX && !crab_seek_is_before(view->dir, last, near))
		last = near + (view->dir == CRAB_SEEK_GE ? -1 : 1);
	return crab_seek_is_before(view->dir, last, key) ||
	       !engine->own->scan(engine, min(key, last), max(key, last), &found, 1);
}

static int view_seek(struct crab_engine *engine, const struct view *view, bool in_force)
{
	u64 key = view->key, last = view->dir == CRAB_SEEK_GE ? CRAB_KEY_EMPTY - 1 : 0;
	struct crab_commits *commits = commits_of(engine);
	struct crab_record near = { };
	u32 i;
	int err;

	do {
		err = engine->own->seek(engine, key, view->dir, view->records);
		if (!in_force || (err && err != -ENOENT && err != -EUCLEAN))
			return err;
		i = list_near(commits, key, view->dir, &near);
		if (err == -EUCLEAN && seek_is_ahead(engine, view, key, i, near.key))
			err = -ENOENT;
		/* In a quarantined range only the list knows whether a key exists */
		if (i == CRAB_COMMIT_MAX || err == -EUCLEAN)
			return err;
		err = seek_choose(view->dir, err, view->records, &near, list_removes(commits, i));
		if (err != -EAGAIN)
			return err;
		key = near.key + (view->dir == CRAB_SEEK_GE ? 1 : -1);
	} while (near.key != last);
	return -ENOENT;
}

/* In a quarantined range the next key of the list is known, and so is the end of the range */
static int view_beyond(struct crab_engine *engine, const struct view *view, bool in_force)
{
	u64 last = view->dir == CRAB_SEEK_GE ? CRAB_KEY_EMPTY - 1 : 0;
	struct crab_record near = { };
	u32 i = CRAB_COMMIT_MAX;

	*view->value = engine->own->beyond(engine, view->key, view->dir);
	if (in_force && view->key != last)
		i = list_near(commits_of(engine), view->key + (view->dir == CRAB_SEEK_GE ? 1 : -1),
			      view->dir, &near);
	if (i < CRAB_COMMIT_MAX && (*view->value == CRAB_KEY_EMPTY ||
				    crab_seek_is_before(view->dir, near.key, *view->value)))
		*view->value = near.key;
	return 0;
}

/* A scan while a list is in force: by seeks */
static int scan_by_seeks(struct crab_engine *engine, const struct view *view)
{
	struct view seek = *view;
	u32 n = 0;
	int err = 0;

	while (n < view->cap && !crab_seek_is_before(view->dir, view->end, seek.key)) {
		seek.records = &view->records[n];
		err = view_seek(engine, &seek, true);
		if (err || crab_seek_is_before(view->dir, view->end, seek.records->key))
			break;
		n++;
		if (seek.records->key == view->end)
			break;
		seek.key = seek.records->key + (view->dir == CRAB_SEEK_GE ? 1 : -1);
	}
	return n || err == -ENOENT ? n : err;
}

static int view_scan(struct crab_engine *engine, const struct view *view, bool in_force)
{
	const struct crab_engine_ops *own = engine->own;

	if (in_force)
		return scan_by_seeks(engine, view);
	if (view->dir == CRAB_SEEK_GE)
		return own->scan(engine, view->key, view->end, view->records, view->cap);
	return (own->scan_back ?: crab_engine_scan_back)(engine, view->end, view->key,
							 view->records, view->cap);
}

/* The verbs of the guard */

static int guard_lookup(struct crab_engine *engine, u64 key, u64 *value)
{
	return view_read(engine, &(struct view){
		.read = view_lookup, .key = key, .value = value,
	});
}

static int guard_seek(struct crab_engine *engine, u64 key, enum crab_seek_dir dir,
		      struct crab_record *record)
{
	return view_read(engine, &(struct view){
		.read = view_seek, .key = key, .dir = dir, .records = record,
		.end = dir == CRAB_SEEK_GE ? CRAB_KEY_EMPTY - 1 : 0,
	});
}

static int guard_scan(struct crab_engine *engine, u64 start, u64 end,
		      struct crab_record *records, u32 cap)
{
	return view_read(engine, &(struct view){
		.read = view_scan, .key = start, .end = end, .dir = CRAB_SEEK_GE,
		.records = records, .cap = cap,
	});
}

static int guard_scan_back(struct crab_engine *engine, u64 start, u64 end,
			   struct crab_record *records, u32 cap)
{
	return view_read(engine, &(struct view){
		.read = view_scan, .key = end, .end = start, .dir = CRAB_SEEK_LE,
		.records = records, .cap = cap,
	});
}

static u64 guard_beyond(struct crab_engine *engine, u64 key, enum crab_seek_dir dir)
{
	u64 next = CRAB_KEY_EMPTY;

	view_read(engine, &(struct view){
		.read = view_beyond, .key = key, .dir = dir, .value = &next,
	});
	return next;
}

/* Begins a write; false: a list could not be applied, and the store is read-only since */
static bool write_begin(struct crab_commits *commits)
{
	down_read(&commits->lock);
	return !crab_commits_in_force(commits);
}

static void write_end(struct crab_commits *commits)
{
	up_read(&commits->lock);
}

static int guard_insert(struct crab_engine *engine, struct crab_flow *flow, u64 key, u64 value,
			enum crab_insert_mode mode, struct crab_old *old)
{
	struct crab_commits *commits = commits_of(engine);
	int err = -EROFS;

	if (write_begin(commits))
		err = engine->own->insert(engine, flow, key, value, mode, old);
	write_end(commits);
	return err;
}

static int guard_remove(struct crab_engine *engine, struct crab_flow *flow, u64 key,
			struct crab_old *old)
{
	struct crab_commits *commits = commits_of(engine);
	int err = -EROFS;

	if (write_begin(commits))
		err = engine->own->remove(engine, flow, key, old);
	write_end(commits);
	return err;
}

/* A batch while the list stays in force: its searches */
static void batch_view(struct crab_engine *engine, struct crab_batch_op *ops, u32 n)
{
	struct view view = { };
	u32 i;

	for (i = 0; i < n; i++) {
		view.key = ops[i].key;
		view.value = &ops[i].value;
		if (!ops[i].status)
			ops[i].status = ops[i].verb == CRAB_VERB_SEARCH ?
					view_lookup(engine, &view, true) : -EROFS;
	}
}

static void guard_batch(struct crab_engine *engine, struct crab_flow *flow,
			struct crab_batch_op *ops, u32 n)
{
	struct crab_commits *commits = commits_of(engine);

	if (write_begin(commits))
		engine->own->batch(engine, flow, ops, n);
	else
		batch_view(engine, ops, n);
	write_end(commits);
}

static bool guard_maintain(struct crab_engine *engine)
{
	struct crab_commits *commits = commits_of(engine);
	bool more = write_begin(commits) && engine->own->maintain(engine);

	write_end(commits);
	return more;
}

void crab_commits_guard(struct crab_commits *commits, struct crab_engine *engine)
{
	struct crab_engine_ops *guard = &commits->guard;

	*guard = *engine->own;
	guard->lookup = guard_lookup;
	guard->seek = guard_seek;
	guard->scan = guard_scan;
	guard->scan_back = guard_scan_back;
	guard->beyond = guard_beyond;
	guard->insert = guard_insert;
	guard->remove = guard_remove;
	guard->batch = guard->batch ? guard_batch : NULL;
	guard->maintain = guard->maintain ? guard_maintain : NULL;
	engine->ops = guard;
	engine->commits = commits;
}

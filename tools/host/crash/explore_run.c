// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the runs of the explorer: an attach, one operation or one batch on the
 * store, and power cuts at each of its crash points.
 *
 * Locking: one thread.
 */
#include "blobs.h"
#include "commits.h"
#include "explore_priv.h"
#include "store/blob.h"
#include "test.h"

static_assert(EXPLORE_RUN <= STATE_KEYS);	/* explore.changes */

#define EXPLORE_CHUNK	2	/* records of a range that one call removes */

/*
 * In a store of commits each operation runs on another CPU than the one before: its fences complete
 * no clean of that one
 */
static void next_cpu(struct explore *x)
{
	if (x->space->commits)
		x->shadow->cpu ^= 1;
}

/* Begins or ends the collection of crash points */
static void explore_collect(struct explore *x, bool on)
{
	crab_crash_points_collect(on ? x->points : NULL, x->shadow);
}

/* The attach that each run begins with, cut everywhere */
static int run_attach(struct explore *x)
{
	struct crab_attach_report report;
	struct crab_store *store;
	int err;

	explore_collect(x, true);
	store = explore_attach(x, false, &report);
	explore_collect(x, false);
	if (x->is_blank)
		return IS_ERR(store) && report.verdict == CRAB_VERDICT_BLANK ? 0 :
			explore_say(x, "attach of a blank region: %s", report.reason);
	if (IS_ERR(store) || report.verdict != CRAB_VERDICT_GOOD)
		return explore_say(x, "attach: %s", report.reason);
	x->counts.repairs += explore_repairs(store);
	x->node[x->at].changed |= explore_repairs(store) != 0;
	err = explore_holds(x, store, &x->content);
	crab_store_abandon(store);
	return err ?: explore_cut(x, &x->content, &x->content, false);
}

static u64 op_value(const struct explore *x, struct crab_store *store, const struct explore_op *op)
{
	u64 sum;

	switch (op->verb) {
	case EXPLORE_PUT_SPARE:
		return x->spare_special;
	case EXPLORE_PUT_SPECIAL:
		return x->space->driver->special(store, state_key(x->space, op->key));
	case EXPLORE_ADD:
		sum = op->value < STATE_VALUES ? op->value + 1 :
		      x->space->driver->special(store, state_key(x->space, op->key));
		return sum - x->content.key[op->key].value;	/* 0 if it is not there */
	default:
		return op->value + 1;
	}
}

static enum crab_insert_mode op_mode(const struct explore_op *op)
{
	return op->verb == EXPLORE_SWAP ? CRAB_INSERT_SWAP :
	       op->verb == EXPLORE_ADD ? CRAB_INSERT_ADD : CRAB_INSERT_EITHER;
}

/* Operation @i of the run, as a call of the store */
static void record_begin(struct explore *x, struct crab_store *store, u32 i)
{
	const struct explore_op *op = &x->run[i];

	x->ops[i] = (struct crab_batch_op) {
		.verb = op->verb == EXPLORE_DELETE || op->verb == EXPLORE_THIN ?
			CRAB_VERB_DELETE : CRAB_VERB_INSERT,
		.key = state_key(x->space, op->key), .value = op_value(x, store, op),
		.mode = op_mode(op), .old.expected = STATE_VALUES - op->value,
	};
}

/* Judges the answer of operation @i; @content: out: the content that the store must hold then */
static int record_judge(struct explore *x, struct crab_store *store, u32 i,
			struct content *content)
{
	const struct crab_batch_op *op = &x->ops[i];
	struct crab_key_state *state = &content->key[x->run[i].key];
	const char *what = x->space->blobs ? blobs_answer(state, op) : crab_oracle_answer(state, op);

	if (!what && op->status == -ENOSPC) {
		x->counts.full++;
		if (x->space->blobs ? !blobs_is_full(x->space, store, op) :
				      !x->space->driver->is_full(store, x->run_n))
			what = "is refused, though there is room";
	}
	if (what)
		return explore_say(x, "operation %u %s: %d, value %llx", i, what, op->status,
				   op->old.existed ? op->old.value : 0);
	if (!op->status)
		x->changes[x->changed++] = (struct crab_oracle_change) {
			.key = x->run[i].key, .to = *state,
		};
	return 0;
}

static void record_alone(struct crab_store *store, struct crab_batch_op *op)
{
	if (crab_store_has_blobs(store)) {
		blobs_perform(store, op);
		return;
	}
	op->status = op->verb == CRAB_VERB_DELETE ?
		     crab_store_delete(store, op->key, &op->old) :
		     crab_store_insert(store, op->key, op->value, op->mode, &op->old);
}

/* Operations on records: one, or a batch */
static int run_records(struct explore *x, struct crab_store *store, struct content *content)
{
	u32 i;

	x->changed = 0;
	for (i = 0; i < x->run_n; i++)
		record_begin(x, store, i);
	explore_collect(x, true);
	if (x->run_n > 1)
		crab_store_batch(store, x->ops, x->run_n);
	else
		record_alone(store, &x->ops[0]);
	explore_collect(x, false);
	for (i = 0; i < x->run_n; i++)
		if (record_judge(x, store, i, content))
			return -1;
	return 0;
}

/* One operation, of a life or alone */
static int run_commit(struct explore *x, struct crab_store *store, u32 i, struct content *content)
{
	int err;

	explore_collect(x, i + 1 == x->run_n);
	err = commits_run(x, store, &x->run[i], content);
	explore_collect(x, false);
	return err;
}

/* The operations of a life, one after the other; only the last one is cut */
static int run_life(struct explore *x, struct crab_store *store, struct content *content)
{
	u32 i;

	for (i = 0; i < x->run_n; i++) {
		x->before = *content;
		next_cpu(x);
		if (x->run[i].verb == EXPLORE_COMMIT) {
			if (run_commit(x, store, i, content))
				return -1;
			continue;
		}
		x->changed = 0;
		record_begin(x, store, i);
		explore_collect(x, i + 1 == x->run_n);
		record_alone(store, &x->ops[i]);
		explore_collect(x, false);
		if (record_judge(x, store, i, content))
			return -1;
	}
	return 0;
}

/* The range of an operation, whose records are removed by as many calls as it needs */
static u64 range_delete(struct explore *x, struct crab_store *store, int *err)
{
	struct crab_cursor cursor;
	u64 deleted = 0;

	crab_cursor_init(&cursor, x->keys[x->run[0].key], x->keys[x->run[0].value]);
	for (*err = 0; !*err && !cursor.done;)
		*err = crab_cursor_delete(store, &cursor, EXPLORE_CHUNK, &deleted);
	return deleted;
}

/* All records of the range are removed, and a cut leaves any of them */
static int run_range(struct explore *x, struct crab_store *store, struct content *content)
{
	u64 deleted;
	u32 i;
	int err;

	explore_collect(x, true);
	deleted = range_delete(x, store, &err);
	explore_collect(x, false);
	x->changed = 0;
	for (i = x->run[0].key; i <= x->run[0].value; i++) {
		if (!content->key[i].there)
			continue;
		content->key[i] = (struct crab_key_state) { };
		x->changes[x->changed++] = (struct crab_oracle_change) { .key = i };
	}
	return !err && deleted == x->changed ? 0 :
		explore_say(x, "%llu of %u records removed: %d", deleted, x->changed, err);
}

static void run_prepare(struct explore *x, struct crab_store *store)
{
	crab_host_seed(EXPLORE_SEED);
	x->spare_special = get_random_u64();
	crab_host_seed(EXPLORE_SEED);
	x->shadow->cpu = 1;	/* the worker may run on another CPU */
	crab_store_maintain(store);
	x->shadow->cpu = 0;
}

/* A delete, then all maintenance; only the maintenance is cut */
static int run_thin(struct explore *x, struct crab_store *store, struct content *content)
{
	int err = run_records(x, store, content);

	crab_crash_points_clear(x->points);
	explore_collect(x, true);
	x->shadow->cpu = 1;
	while (crab_store_maintain(store))
		;
	x->shadow->cpu = 0;
	explore_collect(x, false);
	return err;
}

/* The operation on @store, which it may detach */
static int run_op(struct explore *x, struct crab_store **store, struct content *content)
{
	if (x->run_n == 1)
		next_cpu(x);
	if (x->run[0].verb == EXPLORE_THIN)
		return run_thin(x, *store, content);
	if (x->run[0].verb == EXPLORE_DELETE_RANGE)
		return run_range(x, *store, content);
	if (x->run[0].verb == EXPLORE_COMMIT && x->run_n == 1)
		return run_commit(x, *store, 0, content);
	if (x->run[0].prepared)
		run_prepare(x, *store);
	if (x->run[0].verb != EXPLORE_PREPARE && x->run[0].verb != EXPLORE_DETACH)
		return x->space->lives && x->run_n > 1 ? run_life(x, *store, content) :
							 run_records(x, *store, content);
	explore_collect(x, true);
	if (x->run[0].verb == EXPLORE_PREPARE) {
		run_prepare(x, *store);
	} else {
		crab_store_detach(*store);
		*store = NULL;
	}
	explore_collect(x, false);
	return 0;
}

static int run_store(struct explore *x)
{
	struct crab_store *store = explore_attach_good(x);
	struct content after = x->content;
	struct crab_store_info info;
	int err;

	x->before = x->content;
	err = store ? run_op(x, &store, &after) : -1;
	x->counts.ops++;
	if (!err && store) {
		crab_store_info(store, &info);
		x->counts.splits += info.stats.splits;
		x->counts.unlinks += info.stats.unlinks;
		err = explore_holds(x, store, &after);
	}
	crab_store_abandon(store);
	return err ?: explore_cut(x, x->run[0].verb == EXPLORE_THIN ? &after : &x->before, &after,
			      false);
}

int explore_format(struct explore *x, bool force)
{
	struct crab_format_options options = {
		.force = force, .leaf_bytes = x->space->leaf_bytes, .engine = x->space->driver->engine,
		.layout = x->space->layout, .label = "explore", .uuid = { 1 },
		.blobs = x->space->blobs, .names = x->space->names, .commits = x->space->commits,
	};
	char reason[CRAB_REASON_LEN];

	if (crab_store_format(&x->media, &options, reason))
		return explore_say(x, "format: %s", reason);
	return 0;
}

static int run_format(struct explore *x)
{
	static const struct content empty;
	int err;

	explore_collect(x, true);
	err = explore_format(x, !x->is_blank);
	explore_collect(x, false);
	x->counts.ops++;
	return err ?: explore_cut(x, x->is_blank ? &empty : &x->content, &empty, true);
}

int explore_run_once(struct crab_shadow *shadow, void *arg)
{
	struct explore *x = arg;
	int err;

	crab_host_seed(EXPLORE_SEED + 1);
	shadow->cpu = 0;
	switch (x->run[0].verb) {
	case EXPLORE_ATTACH:
		err = run_attach(x);
		break;
	case EXPLORE_FORMAT:
		err = run_format(x);
		break;
	default:
		err = run_store(x);
		break;
	}
	crab_crash_points_clear(x->points);
	if (!err && shadow->errors)
		err = explore_say(x, "%s", shadow->error);
	return err;
}

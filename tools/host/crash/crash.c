// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the crash test.
 *
 * The oracle: what an image recovers to is the content before the operation or
 * the content after it (once it returned: after); the verifier finds nothing;
 * another attach repairs nothing and finds the same; operations go on; and all
 * of this again where the recovery itself, or the operation after it, is cut.
 * Of a batch each key may be in any of the states that its own operations lead through,
 * whatever the other keys are in. Batches of many have more images than can be tried:
 * some are, chosen at random.
 * Where leaves are allocated on demand, the bitmap has every leaf of the list, and no
 * other once an operation has returned.
 */
#include <stdio.h>
#include <stdlib.h>

#include <linux/bitops.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/printk.h>
#include <linux/random.h>
#include <linux/string.h>

#include "crash.h"
#include "host_driver.h"
#include "model.h"
#include "store/store_priv.h"

#define CRASH_NODES	8192
#define CRASH_STRIDE	389	/* prime to the numbers of keys: from one to the next */
#define CRASH_BUDGET	200000
#define CRASH_OTHERS	128	/* one in so many operations that change no structure is cut */
#define CRASH_WINDOWS	3	/* of the keys: a growth and the shrinking after it are in one */
#define CRASH_SAMPLES	64	/* images of a moment of a longer one */

struct crash_point {
	struct crab_shadow_image *image;
	enum crab_shadow_event event;
	enum crab_point point;
};

/* Moments of one operation; belongs to whoever set the hook */
struct crash_points {
	u32 count;
	struct crash_point at[CRASH_POINTS];
};

/* How strictly the media's account of the allocated leaves is judged */
enum crash_allocator {
	CRASH_ALLOCATOR_ANY,		/* not at all: until the first attach */
	CRASH_ALLOCATOR_COVERS,		/* each leaf in use is allocated */
	CRASH_ALLOCATOR_EXACT,		/* and no other is */
};

/* What recovery of one point may find */
struct crash_trial {
	struct crash *crash;
	const struct crash_content *allowed[2];
	const struct crash_batch *batch;	/* or each key on its way through it, or NULL */
	bool blank;			/* or no store at all: a FORMAT was cut */
	enum crash_allocator allocator;
	u32 depth;			/* cuts that may still follow this one */
};

static const char * const verb_names[CRASH_VERBS] = {
	"insert", "insert special", "delete", "maintain", "reattach", "cut", "survive", "format",
	"batch",
};

int crash_say(struct crash *c, const char *fmt, ...)
{
	va_list args;
	size_t n = strlen(c->said);

	if (n)
		return -1;
	n = scnprintf(c->said, sizeof(c->said), "step %u, %s key %llu value %llx: ", c->step,
		      verb_names[c->op.verb], c->keys[c->op.key], c->op.value);
	va_start(args, fmt);
	vsnprintf(c->said + n, sizeof(c->said) - n, fmt, args);
	va_end(args);
	return -1;
}

__printf(2, 3)
static void crash_say_more(struct crash *c, const char *fmt, ...)
{
	size_t n = strlen(c->said);
	va_list args;

	va_start(args, fmt);
	vsnprintf(c->said + n, sizeof(c->said) - n, fmt, args);
	va_end(args);
}

/* Adds the choices that led to a failure: the reproducer */
static void crash_say_path(struct crash *c)
{
	const struct crab_shadow_path *path;
	u32 i;

	for (path = c->shadow->failed; path; path = path->inner) {
		crash_say_more(c, "; cut with");
		for (i = 0; i < path->depth; i++)
			if (path->steps[i].choice)
				crash_say_more(c, " [%u]=%llx", path->steps[i].word * 8,
					       path->steps[i].value);
	}
}

/* Collecting moments */

static void crash_hook(struct crab_shadow *shadow, enum crab_shadow_event event,
		       enum crab_point point)
{
	struct crash *c = shadow->hook_arg;
	struct crash_points *points = c->points;

	if (event == CRAB_SHADOW_STORED && !c->every_store)
		return;
	if (points->count == CRASH_POINTS) {
		c->gave_up = true;
		crash_say(c, "more than %u moments", CRASH_POINTS);
		return;
	}
	points->at[points->count].image = crab_shadow_capture(shadow);
	points->at[points->count].event = event;
	points->at[points->count++].point = point;
}

/* From now on moments are kept in @points; NULL: in none */
static void crash_collect(struct crash *c, struct crash_points *points)
{
	c->points = points;
	c->shadow->hook = points ? crash_hook : NULL;
	c->shadow->hook_arg = c;
}

static struct crash_points *points_alloc(void)
{
	struct crash_points *points = malloc(sizeof(*points));

	points->count = 0;
	return points;
}

static void points_free(struct crash_points *points)
{
	while (points->count)
		crab_shadow_release(points->at[--points->count].image);
	free(points);
}

/* The oracle */

/* May that be found? */
static bool trial_allows(const struct crash_trial *t, const struct crash_content *found)
{
	const struct crash *c = t->crash;

	if (t->batch)
		return crash_batch_leads(t->batch, c->setup.keys, t->allowed[0], found);
	return crash_content_equal(c, found, t->allowed[0]) || crash_content_equal(c, found, t->allowed[1]);
}

static struct crab_store *crash_attach(struct crash *c, struct crab_attach_report *report)
{
	struct crab_attach_options options = { .tuning = &c->setup.tuning };
	struct crab_store *store = crab_store_attach(&c->media, &options, report);

	c->counts.recoveries++;
	return store;
}

/* Attaches again: nothing is left to repair, and the content is the same */
static struct crab_store *crash_attach_again(struct crash *c, const struct crash_content *content)
{
	struct crab_attach_report report;
	struct crab_store *store = crash_attach(c, &report);
	struct crash_content found;
	struct crab_store_info info;

	if (IS_ERR(store)) {
		crash_say(c, "second attach: %ld %s", PTR_ERR(store), report.reason);
		return NULL;
	}
	crab_store_info(store, &info);
	if (report.verdict != CRAB_VERDICT_GOOD)
		crash_say(c, "second attach: %s", report.reason);
	else if (info.stats.repairs)
		crash_say(c, "second attach repairs %llu slots", info.stats.repairs);
	else if (!crash_content_read(c, store, &found) && !crash_content_equal(c, &found, content))
		crash_say(c, "second attach finds other content");
	if (!c->said[0])
		return store;
	crab_store_abandon(store);
	return NULL;
}

/* One record operation on a store; the content it leaves. -1 where it fails as it must not. */
static int crash_apply(struct crash *c, struct crab_store *store, const struct crash_op *op,
		       struct crash_content *content)
{
	bool delete = op->verb == CRASH_DELETE;
	struct crab_old old;
	int err = delete ? crab_store_delete(store, c->keys[op->key], &old) :
			   crab_store_insert(store, c->keys[op->key], op->value,
					     CRAB_INSERT_EITHER, &old);

	if (old.existed != content->there[op->key] ||
	    (old.existed && old.value != content->value[op->key]))
		return crash_say(c, "operation says existed=%d, old value %llx", old.existed,
				 old.existed ? old.value : 0);
	if (err == -ENOSPC && !delete && !old.existed && c->setup.driver->is_full(store, 1)) {
		c->counts.full++;
		return 0;
	}
	if (err != (delete && !old.existed ? -ENOENT : 0))
		return crash_say(c, "operation fails: %d", err);
	content->there[op->key] = !delete;
	content->value[op->key] = delete ? 0 : op->value;
	return 0;
}

/* A number that each structure change changes */
static u64 crash_shape(const struct crash *c, struct crab_store *store)
{
	const struct host_driver *driver = c->setup.driver;

	return store && driver->shape ? driver->shape(store) : 0;
}

/* Is what was just done on @store worth a cut? */
static bool crash_cuts(const struct crash *c, struct crab_store *store, u64 shape)
{
	return !c->setup.changes || !store || crash_shape(c, store) != shape ||
	       c->step % CRASH_OTHERS == 0;
}

static int crash_judge(struct crab_shadow *shadow, void *arg);
static int explore_op(struct crash *c, struct crab_store *store, const struct crash_op *op,
		      struct crash_content *content, u32 depth);

/* Recoveries are cut themselves one in eight times */
static bool crash_deepens(const struct crash *c)
{
	return c->counts.recoveries % 8 == 0;
}

/* Life goes on: one of each, cut everywhere where @depth allows */
static int crash_go_on(struct crash *c, struct crab_store *store, struct crash_content *content,
		       u32 depth)
{
	struct crash_op op = { .value = 0x600d };
	u32 verb;

	for (verb = 0; verb < 3; verb++) {
		op.verb = verb == 1 ? CRASH_DELETE : CRASH_INSERT;
		for (op.key = c->step % c->setup.keys; content->there[op.key] != (verb != 0); )
			if ((op.key = (op.key + 1) % c->setup.keys) == c->step % c->setup.keys)
				break;
		if (explore_op(c, store, &op, content, depth))
			return -1;
	}
	return 0;
}

/* The store that recovery gave: judged, attached again, used */
static int crash_judge_store(struct crash_trial *t, struct crab_store *store,
			     const struct crab_attach_report *report, struct crash_content *found)
{
	struct crash *c = t->crash;
	struct crash_content content;
	struct crab_store_info info;
	int err;

	crab_store_info(store, &info);
	c->counts.repairs += info.stats.repairs;
	err = report->verdict == CRAB_VERDICT_GOOD ? crash_content_read(c, store, found) :
						     crash_say(c, "attach: %s", report->reason);
	if (!err && !trial_allows(t, found))
		err = crash_say(c, "recovered content is neither the one before nor the one after");
	if (!err)
		err = crash_store_judge(c, store, found);
	content = *found;
	if (!err && info.stats.repairs && t->depth)
		err = crash_go_on(c, store, &content, t->depth);
	crab_store_abandon(store);
	if (err)
		return err;
	store = crash_attach_again(c, &content);
	if (!store)
		return -1;
	err = crash_go_on(c, store, &content, 0);
	if (!err)
		err = crash_store_judge(c, store, &content);
	crab_store_abandon(store);
	if (err)
		return err;
	store = crash_attach_again(c, &content);
	crab_store_abandon(store);
	return store ? 0 : -1;
}

/* Some images of one moment */
static int sample_point(struct crash_trial *t, const struct crash_point *at)
{
	struct crash *c = t->crash;
	int err = 0;
	u32 i;

	for (i = 0; i < CRASH_SAMPLES && !err; i++) {
		crab_shadow_restore(c->shadow, at->image);
		c->shadow->seed = c->seed + i * 0x9e3779b97f4a7c15ULL;
		crab_shadow_crash(c->shadow);
		c->counts.sampled++;
		err = crash_judge(c->shadow, t);
	}
	return err;
}

static int explore_point(struct crash_trial *t, const struct crash_point *at)
{
	if (t->batch && t->batch->n > CRASH_TOGETHER)
		return sample_point(t, at);
	return crab_shadow_explore(t->crash->shadow, at->image, crash_judge, t, CRASH_BUDGET);
}

/* Every image of every moment */
static int explore_points(struct crash_trial *t, struct crash_points *points)
{
	struct crash *c = t->crash;
	const struct crash_point *at;
	u64 images;
	u32 i;
	int err = 0;

	for (i = 0; i < points->count && !err; i++) {
		at = &points->at[i];
		images = c->shadow->counts.images;
		err = explore_point(t, at);
		c->counts.largest = max(c->counts.largest, c->shadow->counts.images - images);
		if (err == -E2BIG) {
			c->gave_up = true;
			crash_say(c, "more than %u images", CRASH_BUDGET);
		}
		if (err)
			crash_say_more(c, "; moment %u of %u, %s %s", i + 1, points->count,
				       at->event == CRAB_SHADOW_FENCING ? "before fence" : "store",
				       at->point ? crab_shadow_point_name(at->point) : "");
	}
	return err;
}

/* Under a read-only attach the media is as the power cut left it */
static int allocator_judge(const struct crash_trial *t, struct crab_store *store)
{
	const struct host_driver *driver = t->crash->setup.driver;
	const char *what = NULL;

	if (t->allocator && driver->allocator)
		what = driver->allocator(store, t->allocator == CRASH_ALLOCATOR_EXACT);
	return what ? crash_say(t->crash, "%s", what) : 0;
}

/*
 * A read-only attach writes nothing and finds what the writable one will find; it
 * also settles every word that the content depends on, so that what is cut within
 * the recovery can be held to that content.
 */
static int crash_peek(struct crash_trial *t, struct crash_content *content)
{
	struct crash *c = t->crash;
	struct crab_attach_options options = { .readonly = true, .tuning = &c->setup.tuning };
	u64 stores = c->shadow->counts.stores;
	struct crab_attach_report report;
	struct crab_store *store = crab_store_attach(&c->media, &options, &report);
	int err;

	if (IS_ERR(store))
		return 1;	/* the writable attach will say why */
	err = crash_content_read(c, store, content) ?: crash_store_judge(c, store, content) ?:
	      allocator_judge(t, store);
	crab_store_abandon(store);
	if (!err && c->shadow->counts.stores != stores)
		err = crash_say(c, "a read-only attach wrote to the media");
	return err;
}

static int crash_judge(struct crab_shadow *shadow, void *arg)
{
	struct crash_trial *t = arg;
	struct crash *c = t->crash;
	struct crash_points *points = t->depth && crash_deepens(c) ? points_alloc() : NULL;
	struct crash_content found, peeked;
	struct crash_trial inner = {
		.crash = c, .allowed = { &found, &found }, .allocator = t->allocator,
		.depth = t->depth - 1,
	};
	struct crab_attach_report report;
	struct crab_store *store;
	int err, peek;

	crab_host_seed(c->seed);	/* no choice of the judge may be left to chance */
	peek = crash_peek(t, &peeked);
	crash_collect(c, points);
	store = crash_attach(c, &report);
	crash_collect(c, NULL);
	if (!IS_ERR(store))
		err = crash_judge_store(t, store, &report, &found);
	else if (t->blank && report.verdict == CRAB_VERDICT_BLANK)
		err = 0;
	else
		err = crash_say(c, "attach: %ld %s", PTR_ERR(store), report.reason);
	if (!err && peek < 0)
		err = peek;
	if (!err && !peek && !IS_ERR(store) && !crash_content_equal(c, &peeked, &found))
		err = crash_say(c, "a read-only attach finds other content");
	if (points) {
		c->counts.nested += points->count;
		if (!err)
			err = explore_points(&inner, points);
		points_free(points);
	}
	return err;
}

/* @during at each of @points, @done now; the store is as it was afterwards */
static int explore_trials(struct crash_trial *during, struct crash_points *points,
			  struct crash_trial *done)
{
	struct crash_points end = { .count = 1 };
	struct crash *c = during->crash;
	int err;

	end.at[0].image = crab_shadow_capture(c->shadow);
	end.at[0].event = CRAB_SHADOW_STORED;
	c->counts.points += points->count + 1;
	err = explore_points(during, points);
	if (!err) {
		err = explore_points(done, &end);
		if (err)
			crash_say_more(c, ", after it returned");
	}
	crab_shadow_restore(c->shadow, end.at[0].image);
	crab_shadow_release(end.at[0].image);
	return err;
}

/* The moments of an operation, and the one at its end, at which only @after may be found */
static int explore_moments(struct crash *c, struct crash_points *points,
			   const struct crash_content *before, const struct crash_content *after,
			   const struct crash_batch *batch, bool blank, u32 depth)
{
	bool records = c->op.verb <= CRASH_DELETE || c->op.verb == CRASH_BATCH;
	struct crash_trial during = {
		.crash = c, .allowed = { before, after }, .batch = batch, .blank = blank,
		.allocator = records ? CRASH_ALLOCATOR_COVERS : CRASH_ALLOCATOR_ANY, .depth = depth - 1,
	};
	struct crash_trial done = {
		.crash = c, .allowed = { after, after },
		.allocator = records ? CRASH_ALLOCATOR_EXACT : CRASH_ALLOCATOR_ANY, .depth = depth - 1,
	};

	return explore_trials(&during, points, &done);
}

/* The batch that was stopped, or NULL */
static const struct crash_batch *stopped_batch(const struct crash *c)
{
	return c->batches && c->op.value % 8 == 3 ? &c->batch : NULL;
}

/* The same of the attach of what survived, which made up its mind: c->content */
static int explore_recovery(struct crash *c, struct crash_points *points,
			    const struct crash_content *before,
			    const struct crash_content *after, u32 depth)
{
	struct crash_trial during = {
		.crash = c, .allowed = { before, after }, .batch = stopped_batch(c),
		.blank = c->op.value % 8 == 7, .depth = depth - 1,
	};
	struct crash_trial done = {
		.crash = c, .allowed = { &c->content, &c->content }, .depth = depth - 1,
	};

	return depth ? explore_trials(&during, points, &done) : 0;
}

static int explore_op(struct crash *c, struct crab_store *store, const struct crash_op *op,
		      struct crash_content *content, u32 depth)
{
	struct crash_points *points = depth ? points_alloc() : NULL;
	struct crash_content before = *content;
	u64 shape = crash_shape(c, store);
	int err;

	crash_collect(c, points);
	err = crash_apply(c, store, op, content);
	crash_collect(c, NULL);
	if (points) {
		if (!err && crash_cuts(c, store, shape))
			err = explore_moments(c, points, &before, content, NULL, false, depth);
		points_free(points);
	}
	return err;
}

/* Batches */

static int batch_apply(struct crash *c)
{
	const char *what = NULL;
	u32 i;

	crash_batch_make(c);
	crab_store_batch(c->store, c->batch.ops, c->batch.n);
	for (i = 0; i < c->batch.n && !what; i++) {
		what = crash_batch_judge(&c->batch, i, &c->content);
		if (c->batch.ops[i].status != -ENOSPC)
			continue;
		c->counts.full++;
		if (!c->setup.driver->is_full(c->store, c->batch.n))
			what = "is refused, though there is room";
	}
	return what ? crash_say(c, "operation %u of the batch %s", i - 1, what) : 0;
}

/* Operations of the run */

static int step_attach(struct crash *c)
{
	struct crab_attach_options options = { .tuning = &c->setup.tuning };
	struct crab_attach_report report;

	c->store = crab_store_attach(&c->media, &options, &report);
	if (!IS_ERR(c->store))
		return 0;
	crash_say(c, "attach: %ld %s", PTR_ERR(c->store), report.reason);
	c->store = NULL;
	return -1;
}

static void step_count(struct crash *c)
{
	struct crab_store_info info;

	if (!c->store)
		return;
	crab_store_info(c->store, &info);
	c->counts.splits += info.stats.splits;
	c->counts.unlinks += info.stats.unlinks;
}

static int step_maintain(struct crash *c)
{
	c->shadow->cpu ^= 1;	/* as the worker that does it may well be elsewhere */
	crab_store_maintain(c->store);
	c->shadow->cpu ^= 1;
	return 0;
}

static int step_reattach(struct crash *c)
{
	step_count(c);
	crab_store_detach(c->store);
	c->store = NULL;
	if (step_attach(c))
		return -1;
	return c->store->engine->clean ? 0 : crash_say(c, "what was detached is not clean");
}

static bool super_is_there(const struct crash *c, u32 copy)
{
	const __le64 *magic = (const __le64 *)(c->media.base + copy * CRAB_SUPER_STRIDE);

	return le64_to_cpu(*magic) == CRAB_MAGIC;
}

static int step_format(struct crash *c)
{
	char reason[CRAB_REASON_LEN], label[CRAB_LABEL_LEN];
	struct crab_format_options options = {
		.force = true, .leaf_bytes = c->setup.leaf_bytes, .engine = c->setup.driver->engine,
		.layout = c->setup.layout, .label = label,
	};

	snprintf(label, sizeof(label), "crash %u", c->step);
	step_count(c);
	crab_store_abandon(c->store);
	c->store = NULL;
	memset(&c->content, 0, sizeof(c->content));
	if (crab_store_format(&c->media, &options, reason))
		return crash_say(c, "format: %s", reason);
	if (!super_is_there(c, 0) || !super_is_there(c, 1))
		return crash_say(c, "format leaves one superblock");
	return 0;
}

/* What stops: an insert, a delete, a batch, an attach after a detach, or a FORMAT */
static int crash_stopped(struct crash *c)
{
	struct crash_op op = { .key = c->op.key, .value = c->op.value };

	if (stopped_batch(c))
		return batch_apply(c);
	switch (c->op.value % 8) {
	case 0:
	case 4:
		return step_reattach(c);
	case 7:
		return step_format(c);
	default:
		op.verb = op.value % 2 ? CRASH_DELETE : CRASH_INSERT;
		return crash_apply(c, c->store, &op, &c->content);
	}
}

/*
 * Stop at a random moment of it. The store is gone, and the media is what the CPU sees;
 * c->content what the operation would have made of it.
 */
static int crash_stop(struct crash *c)
{
	struct crash_points *points = points_alloc();
	bool every_store = c->every_store;
	int err;

	c->every_store = true;
	crash_collect(c, points);
	err = crash_stopped(c);
	crash_collect(c, NULL);
	c->every_store = every_store;
	step_count(c);
	crab_store_abandon(c->store);
	c->store = NULL;
	if (points->count)
		crab_shadow_restore(c->shadow, points->at[rng(&c->seed) % points->count].image);
	points_free(points);
	return err;
}

/* Attaches what stopped; where that was a FORMAT too early to leave a store, it is done again */
static int crash_attach_stopped(struct crash *c)
{
	struct crab_super super;
	char reason[CRAB_REASON_LEN];

	if (c->op.value % 8 == 7 &&
	    crab_super_read(&c->media, &super, reason) == CRAB_VERDICT_BLANK && step_format(c))
		return -1;
	return step_attach(c);
}

/* After that the content is that of @before or c->content, and now both */
static int crash_resume(struct crash *c, const struct crash_content *before)
{
	const struct crash_trial stopped = {
		.crash = c, .allowed = { before, &c->content }, .batch = stopped_batch(c),
	};
	struct crash_content found;
	int err = crash_attach_stopped(c) ?: crash_content_read(c, c->store, &found);

	if (!err && !trial_allows(&stopped, &found))
		err = crash_say(c, "content is neither the one before nor the one after");
	c->content = found;
	return err;
}

/* Lose power for good, with a random image, and live on */
static int step_cut(struct crash *c)
{
	struct crash_content before = c->content;
	int err = crash_stop(c);

	c->shadow->seed = c->op.value;
	crab_shadow_crash(c->shadow);
	return err ?: crash_resume(c, &before);
}

/*
 * The caches survive, as after an oops: what attach finds in them it makes durable, on
 * another CPU, which no clean of the first one helps.
 */
static int step_survive(struct crash *c, u32 depth)
{
	struct crash_content before = c->content, after;
	struct crash_points *points = points_alloc();
	int err = crash_stop(c);

	after = c->content;
	c->shadow->cpu ^= 2;
	crash_collect(c, depth ? points : NULL);
	err = err ?: crash_resume(c, &before);
	crash_collect(c, NULL);
	if (!err)
		err = explore_recovery(c, points, &before, &after, depth);
	points_free(points);
	return err;
}

static int step_other(struct crash *c)
{
	switch (c->op.verb) {
	case CRASH_MAINTAIN:
		return step_maintain(c);
	case CRASH_REATTACH:
		return step_reattach(c);
	case CRASH_BATCH:
		return batch_apply(c);
	default:
		return step_format(c);
	}
}

bool crash_step(struct crash *c, const struct crash_op *op, u32 depth)
{
	struct crash_content before = c->content;
	u64 shape = crash_shape(c, c->store);
	struct crash_points *points;
	int err;

	c->op = *op;
	c->step++;
	c->counts.ops[op->verb]++;
	crab_host_seed(c->seed * 1000003 + c->step);
	if (op->verb <= CRASH_DELETE) {
		err = explore_op(c, c->store, op, &c->content, depth);
	} else if (op->verb == CRASH_CUT) {
		err = step_cut(c);
	} else if (op->verb == CRASH_SURVIVE) {
		err = step_survive(c, depth);
	} else {
		points = points_alloc();
		crash_collect(c, depth ? points : NULL);
		err = step_other(c);
		crash_collect(c, NULL);
		if (!err && (op->verb == CRASH_FORMAT || crash_cuts(c, c->store, shape)))
			err = explore_moments(c, points, &before, &c->content,
					      op->verb == CRASH_BATCH ? &c->batch : NULL,
					      op->verb == CRASH_FORMAT, depth);
		points_free(points);
		if (!err && !c->store)
			err = step_attach(c);
	}
	if (!err && c->shadow->errors)
		err = crash_say(c, "%s", c->shadow->error);
	if (err)
		crash_say_path(c);
	return !err;
}

/* A number below the keys; where structure changes are wanted, one of some neighbours for a while */
static u32 next_key(const struct crash *c, u64 r)
{
	u32 window = c->setup.keys / CRASH_WINDOWS;

	if (!c->setup.changes)
		return r % c->setup.keys;
	return c->step / CRASH_TIDE / 2 % CRASH_WINDOWS * window + r % window;
}

struct crash_op crash_next(struct crash *c)
{
	u64 r = rng(&c->seed);
	struct crash_op op = { .key = next_key(c, r >> 8), .value = (r >> 16) % 8 };
	u32 grow = crash_grows(c) ? 46 : 10, most = c->setup.keys;
	u32 i;

	if (c->setup.changes) {		/* leaves fill up and empty */
		grow = crash_grows(c) ? 54 : 2;
		most = 0;
	}
	if (op.value > 2)
		op.value = r >> 16;
	if (r % 64 < grow)
		op.verb = CRASH_INSERT;
	else if (r % 64 < 56)
		op.verb = CRASH_DELETE;
	else
		op.verb = (const enum crash_verb[]) { CRASH_SPECIAL, CRASH_SPECIAL, CRASH_MAINTAIN,
			CRASH_MAINTAIN, CRASH_REATTACH, CRASH_CUT, CRASH_CUT, CRASH_SURVIVE }[r % 8];
	if (c->setup.changes && op.verb > CRASH_MAINTAIN && r >> 40 & 15)
		op.verb = CRASH_MAINTAIN;	/* a cut forgets which leaves are sparse */
	if (op.verb == CRASH_SPECIAL)
		op.value = crash_special(c, r >> 24);
	for (i = 0; op.verb == CRASH_DELETE && !c->content.there[op.key] && i < most; i++)
		op.key = (op.key + 1) % c->setup.keys;
	if (c->often_every && c->step % c->often_every == c->often_every - 1)
		op.verb = c->often;
	if (c->setup.changes && op.value % 8 == 7 && op.verb >= CRASH_CUT)
		op.value--;	/* a cut FORMAT would empty the store */
	if (c->step % c->format_every == c->format_every - 1)
		op.verb = CRASH_FORMAT;
	return op;
}

bool crash_run(struct crash *c, u32 steps, u32 depth)
{
	struct crash_op op;

	while (c->step < steps) {
		op = crash_next(c);
		if (!crash_step(c, &op, depth))
			return false;
	}
	return true;
}

/* What a fault does to a store is said by the oracle; the log need not say it too */
static void crash_log(char level, const char *line)
{
}

static void crash_keys(struct crash *c)
{
	u32 i;

	for (i = 0; i < c->setup.keys; i++)
		c->keys[i] = i < c->setup.keys / 2 ? i : ~0ULL - (c->setup.keys - i);
}

/* Key @i of those that are filled in: neighbours do not come one after the other */
static u32 fill_key(const struct crash *c, u32 i)
{
	return (u64)i * CRASH_STRIDE % c->setup.keys;
}

static bool crash_fill(struct crash *c)
{
	struct crash_op op = { .verb = CRASH_INSERT };
	u32 i;

	for (i = 0; i < c->setup.inserts; i++) {
		op.key = fill_key(c, i);
		op.value = i;
		if (crash_apply(c, c->store, &op, &c->content))
			return false;
	}
	op.verb = CRASH_DELETE;
	for (i = 0; i < c->setup.deletes; i++) {
		op.key = fill_key(c, i);
		if (crash_apply(c, c->store, &op, &c->content))
			return false;
	}
	return true;
}

bool crash_begin(struct crash *c, const struct crash_setup *setup, u32 leaves, u64 seed)
{
	memset(c, 0, sizeof(*c));
	c->setup = *setup;
	c->setup.keys = setup->keys ?: CRASH_KEYS_DEFAULT;
	crab_host_log = crash_log;
	c->seed = seed;
	c->format_every = 128;
	crab_tiny_slots = setup->slots;
	crash_keys(c);
	crab_host_seed(seed);
	c->media = media_create(CRAB_POOL_OFFSET + (u64)leaves * setup->leaf_bytes);
	c->shadow = crab_shadow_create(&c->media, CRASH_NODES);
	c->shadow->model = host_driver_model(setup->driver, setup->layout);
	return !step_format(c) && !step_attach(c) && crash_fill(c);
}

void crash_end(struct crash *c)
{
	step_count(c);
	c->counts.images = c->shadow->counts.images;
	memcpy(c->counts.fences, c->shadow->counts.fences, sizeof(c->counts.fences));
	crab_store_abandon(c->store);
	crab_shadow_destroy(c->shadow);
	media_destroy(&c->media);
}

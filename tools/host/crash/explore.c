// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the explorer.
 *
 * Invariant: node[0 .. explored) are explored.
 *
 * DOC: moments without a run
 *
 * A moment is a store or a fence. Between two fences each adds to what a cut may
 * leave, and takes nothing away. So of the images of a store only those are new that
 * hold what it stored; where no recovery of the moment before read that word, none
 * is, for a reader that does not read a word cannot tell its values apart, nor come
 * to read it by them. A fence adds nothing to the store before it. Such moments are
 * counted as cut, and in a count of their own.
 *
 * Locking: one thread.
 */
#include <stdio.h>
#include <stdlib.h>

#include <linux/err.h>
#include <linux/crc32.h>
#include <linux/kernel.h>
#include <linux/random.h>
#include <linux/string.h>

#include "explore_priv.h"
#include "model.h"
#include "reproducer.h"

#define EXPLORE_NODES	4096		/* stores pending at once */
#define EXPLORE_CPU	2		/* on which what caches hold is attached; not one of before */
#define EXPLORE_BUDGET	1000000		/* images of one moment */

/* What a batch is made of */
static const struct explore_op batch_verbs[] = {
	{ .verb = EXPLORE_PUT, .value = 0 },
	{ .verb = EXPLORE_PUT, .value = 1 },
	{ .verb = EXPLORE_PUT_SPECIAL },
	{ .verb = EXPLORE_DELETE },
};

struct explore_point {
	struct crab_shadow_image *image;
	enum crab_shadow_event event;
	enum crab_point point;
	u32 stored;
	bool same;		/* recovery reads nothing that the moment changed */
};

struct explore_points {
	u32 count;
	struct explore_point at[EXPLORE_POINTS];
};

/* Moments */

static void explore_hook(struct crab_shadow *shadow, enum crab_shadow_event event,
			 enum crab_point point)
{
	struct explore *x = shadow->hook_arg;
	struct explore_point *at = &x->points->at[x->points->count];

	if (x->points->count == EXPLORE_POINTS) {
		explore_say(x, "more than %u moments", EXPLORE_POINTS);
		return;
	}
	at->image = crab_shadow_capture(shadow);
	at->event = event;
	at->point = point;
	at->stored = event == CRAB_SHADOW_STORED ? shadow->stored : 0;
	at->same = false;
	x->points->count++;
}

static void collect(struct explore *x, bool on)
{
	x->shadow->hook = on ? explore_hook : NULL;
	x->shadow->hook_arg = x;
}

static void points_forget(struct explore_points *points)
{
	while (points->count)
		crab_shadow_release(points->at[--points->count].image);
}

/* Cutting */

static int cut_moment(struct explore *x, const struct explore_point *at, u32 moment, u32 forced)
{
	int err;

	x->shadow->forced = forced;
	err = crab_shadow_explore(x->shadow, at->image, explore_judge, x, EXPLORE_BUDGET);
	x->shadow->forced = 0;
	if (err == -E2BIG)
		explore_say(x, "more than %u images", EXPLORE_BUDGET);
	if (err)
		x->moment = moment;
	return err;
}

/* One image of one moment, as a reproducer says */
static int cut_again(struct explore *x, const struct explore_point *at)
{
	crab_shadow_restore(x->shadow, at->image);
	crab_shadow_crash(x->shadow);
	x->shadow->script = &x->script[1];
	return explore_judge(x->shadow, x);
}

/* Every image of every moment that was collected */
static int cut_moments(struct explore *x)
{
	struct explore_points *points = x->points;
	const struct explore_point *at;
	bool first = true;
	u32 i;
	int err = 0;

	memset(x->shadow->reads, 0, x->shadow->words * sizeof(bool));
	for (i = 0; i < points->count && !err; i++) {
		at = &points->at[i];
		x->counts.points++;
		if (!first && (at->event == CRAB_SHADOW_FENCING ||
			       (at->stored && !x->shadow->reads[at->stored - 1]))) {
			x->counts.same++;
			points->at[i].same = true;
			continue;
		}
		err = cut_moment(x, at, i + 1, first ? 0 : at->stored);
		first = x->plain;
	}
	return err;
}

/* What a kernel found in caches that survived @image, no later cut takes back */
static int survive_found(struct explore *x, const struct content *found)
{
	struct crab_shadow_image *end = crab_shadow_capture(x->shadow);
	const struct content *allowed[2] = { x->allowed[0], x->allowed[1] };
	bool batch = x->batch, blank = x->blank;
	int err;

	x->allowed[0] = found;
	x->allowed[1] = found;
	x->batch = false;
	x->blank = false;
	err = crab_shadow_explore(x->shadow, end, explore_judge, x, EXPLORE_BUDGET);
	crab_shadow_release(end);
	x->allowed[0] = allowed[0];
	x->allowed[1] = allowed[1];
	x->batch = batch;
	x->blank = blank;
	return err;
}

/*
 * The kernel stops at @image, and the caches survive. Another CPU attaches what is in them; then
 * the power is cut.
 */
static int survive_moment(struct explore *x, const struct crab_shadow_image *image)
{
	struct crab_attach_report report;
	struct content found;
	struct crab_store *store;
	int err;

	crab_shadow_restore(x->shadow, image);
	x->shadow->cpu = EXPLORE_CPU;
	store = explore_attach(x, false, &report);
	if (IS_ERR(store)) {
		x->shadow->cpu = 0;
		return x->blank && report.verdict == CRAB_VERDICT_BLANK ? 0 :
			explore_say(x, "attach of what the caches hold: %s", report.reason);
	}
	err = explore_content(x, store, &found);
	if (!err && !explore_allows(x, &found))
		err = explore_say(x, "the caches hold another content");
	crab_store_abandon(store);
	if (!err)
		err = survive_found(x, &found);
	x->shadow->cpu = 0;
	return err;
}

static int survive_moments(struct explore *x)
{
	u32 i;
	int err = 0;

	for (i = 0; i < x->points->count && !err; i++) {
		x->counts.points++;
		if (x->points->at[i].same)
			x->counts.same++;
		else
			err = survive_moment(x, x->points->at[i].image);
	}
	return err;
}

/*
 * The moments of what was just done, at which @before or @after may be found, and
 * the one at its end, at which only @after may
 */
static int cut_all(struct explore *x, const struct content *before, const struct content *after,
		   bool blank)
{
	const struct explore_points *points = x->points;
	struct explore_point end = { .image = crab_shadow_capture(x->shadow) };
	int err = 0;

	x->allowed[0] = before;
	x->allowed[1] = after;
	x->batch = x->life_n > 1;
	x->blank = blank;
	if (!x->replayed)
		err = cut_moments(x);
	if (!x->replayed && !err && x->space->survive)
		err = survive_moments(x);
	if (x->replayed && x->replayed <= points->count)
		err = cut_again(x, &points->at[x->replayed - 1]);
	x->allowed[0] = after;
	x->batch = false;
	x->blank = false;
	x->settling = x->life[0].verb == EXPLORE_ATTACH;
	if (!err && !x->replayed)
		err = cut_moment(x, &end, points->count + 1, 0);
	else if (!err && x->replayed > points->count)
		err = cut_again(x, &end);
	x->settling = false;
	crab_shadow_release(end.image);
	points_forget(x->points);
	return err;
}

/* Lives */

/* The state that a life begins with: an attach, cut everywhere */
static int life_attach(struct explore *x)
{
	struct crab_attach_report report;
	struct crab_store *store;
	int err;

	collect(x, true);
	store = explore_attach(x, false, &report);
	collect(x, false);
	if (x->is_blank)
		return IS_ERR(store) && report.verdict == CRAB_VERDICT_BLANK ? 0 :
			explore_say(x, "attach of what is blank: %s", report.reason);
	if (IS_ERR(store) || report.verdict != CRAB_VERDICT_GOOD)
		return explore_say(x, "attach: %s", report.reason);
	x->counts.repairs += explore_repairs(store);
	x->node[x->at].changed |= explore_repairs(store) != 0;
	err = explore_holds(x, store, &x->content);
	crab_store_abandon(store);
	return err ?: cut_all(x, &x->content, &x->content, false);
}

static u64 op_value(const struct explore *x, struct crab_store *store, const struct explore_op *op)
{
	switch (op->verb) {
	case EXPLORE_PUT_SPARE:
		return x->spare_special;
	case EXPLORE_PUT_SPECIAL:
		return x->space->driver->special(store, state_key(x->space, op->key));
	default:
		return op->value + 1;
	}
}

/* Operation @i of the life, as the store takes it */
static void record_begin(struct explore *x, struct crab_store *store, u32 i)
{
	const struct explore_op *op = &x->life[i];

	x->ops[i] = (struct crab_batch_op) {
		.verb = op->verb == EXPLORE_DELETE || op->verb == EXPLORE_THIN ?
			CRAB_VERB_DELETE : CRAB_VERB_INSERT,
		.key = state_key(x->space, op->key), .value = op_value(x, store, op),
	};
}

/* What the store says of it; @content becomes what it must hold then */
static int record_judge(struct explore *x, struct crab_store *store, u32 i,
			struct content *content)
{
	const struct crab_batch_op *op = &x->ops[i];
	bool delete = op->verb == CRAB_VERB_DELETE;
	u32 key = x->life[i].key;
	bool there = content->there[key];

	if (op->old.existed != there || (there && op->old.value != content->value[key]))
		return explore_say(x, "operation %u says existed=%d, value %llx", i, op->old.existed,
			   op->old.value);
	if (op->status == -ENOSPC && !delete && !there && x->space->driver->is_full(store, x->life_n)) {
		x->counts.full++;
		return 0;
	}
	if (op->status != (delete && !there ? -ENOENT : 0))
		return explore_say(x, "operation %u fails: %d", i, op->status);
	content->there[key] = !delete;
	content->value[key] = delete ? 0 : op->value;
	return 0;
}

static void record_alone(struct crab_store *store, struct crab_batch_op *op)
{
	op->status = op->verb == CRAB_VERB_DELETE ?
		     crab_store_delete(store, op->key, &op->old) :
		     crab_store_insert(store, op->key, op->value, op->mode, &op->old);
}

/* Verbs on records: one, or a batch */
static int life_records(struct explore *x, struct crab_store *store, struct content *content)
{
	u32 i;

	for (i = 0; i < x->life_n; i++)
		record_begin(x, store, i);
	collect(x, true);
	if (x->life_n > 1)
		crab_store_batch(store, x->ops, x->life_n);
	else
		record_alone(store, &x->ops[0]);
	collect(x, false);
	for (i = 0; i < x->life_n; i++)
		if (record_judge(x, store, i, content))
			return -1;
	return 0;
}

static void life_prepare(struct explore *x, struct crab_store *store)
{
	crab_host_seed(EXPLORE_SEED);
	x->spare_special = get_random_u64();
	crab_host_seed(EXPLORE_SEED);
	x->shadow->cpu = 1;	/* as the worker that does it may well be elsewhere */
	crab_store_maintain(store);
	x->shadow->cpu = 0;
}

/* A delete; then all that is off the write path, which alone is cut */
static int life_thin(struct explore *x, struct crab_store *store, struct content *content)
{
	int err = life_records(x, store, content);

	points_forget(x->points);
	collect(x, true);
	x->shadow->cpu = 1;
	while (crab_store_maintain(store))
		;
	x->shadow->cpu = 0;
	collect(x, false);
	return err;
}

/* The life on @store, which it may end */
static int life_live(struct explore *x, struct crab_store **store, struct content *content)
{
	if (x->life[0].verb == EXPLORE_THIN)
		return life_thin(x, *store, content);
	if (x->life[0].prepared)
		life_prepare(x, *store);
	if (x->life[0].verb != EXPLORE_PREPARE && x->life[0].verb != EXPLORE_DETACH)
		return life_records(x, *store, content);
	collect(x, true);
	if (x->life[0].verb == EXPLORE_PREPARE) {
		life_prepare(x, *store);
	} else {
		crab_store_detach(*store);
		*store = NULL;
	}
	collect(x, false);
	return 0;
}

static int life_run(struct explore *x)
{
	struct crab_store *store = explore_attach_good(x);
	struct content after = x->content;
	struct crab_store_info info;
	int err = store ? life_live(x, &store, &after) : -1;

	x->counts.ops++;
	if (!err && store) {
		crab_store_info(store, &info);
		x->counts.splits += info.stats.splits;
		x->counts.unlinks += info.stats.unlinks;
		err = explore_holds(x, store, &after);
	}
	crab_store_abandon(store);
	return err ?: cut_all(x, x->life[0].verb == EXPLORE_THIN ? &after : &x->content, &after,
			      false);
}

static int explore_format(struct explore *x, bool force)
{
	struct crab_format_options options = {
		.force = force, .leaf_bytes = x->space->leaf_bytes, .engine = x->space->driver->engine,
		.layout = x->space->layout, .label = "explore", .uuid = { 1 },
	};
	char reason[CRAB_REASON_LEN];

	return crab_store_format(&x->media, &options, reason) ? explore_say(x, "format: %s", reason) : 0;
}

static int life_format(struct explore *x)
{
	static const struct content empty;
	int err;

	collect(x, true);
	err = explore_format(x, !x->is_blank);
	collect(x, false);
	x->counts.ops++;
	return err ?: cut_all(x, x->is_blank ? &empty : &x->content, &empty, true);
}

static int explore_life(struct crab_shadow *shadow, void *arg)
{
	struct explore *x = arg;
	int err;

	crab_host_seed(EXPLORE_SEED + 1);
	switch (x->life[0].verb) {
	case EXPLORE_ATTACH:
		err = life_attach(x);
		break;
	case EXPLORE_FORMAT:
		err = life_format(x);
		break;
	default:
		err = life_run(x);
		break;
	}
	points_forget(x->points);
	if (!err && shadow->errors)
		err = explore_say(x, "%s", shadow->error);
	return err;
}

/* The whole */

static int life_explore(struct explore *x, const struct crab_shadow_image *base)
{
	int err;

	x->moment = 0;
	if (x->replayed) {
		crab_shadow_restore(x->shadow, base);
		crab_shadow_crash(x->shadow);
		x->shadow->script = &x->script[0];
		return explore_life(x->shadow, x);
	}
	err = crab_shadow_explore(x->shadow, base, explore_life, x, EXPLORE_BUDGET);
	if (err == -E2BIG)
		explore_say(x, "more than %u images", EXPLORE_BUDGET);
	if (err)
		reproducer_say(x, &x->node[x->at].state);
	return err;
}

static int life_of(struct explore *x, const struct crab_shadow_image *base,
		   const struct explore_op *op)
{
	x->life[0] = *op;
	x->life_n = 1;
	return life_explore(x, base);
}

/* Puts of a key: each value, and those that are voids */
static int explore_puts(struct explore *x, const struct crab_shadow_image *base, u32 key,
			bool prepared)
{
	struct explore_op op = { .verb = EXPLORE_PUT, .key = key, .prepared = prepared };
	int err = 0;

	for (; op.value < STATE_VALUES && !err; op.value++)
		err = life_of(x, base, &op);
	op.verb = prepared ? EXPLORE_PUT_SPARE : EXPLORE_PUT_SPECIAL;
	op.value = 0;
	if (!err && x->space->specials)
		err = life_of(x, base, &op);
	return err;
}

static int explore_records(struct explore *x, const struct crab_shadow_image *base)
{
	u32 key;
	int err = 0;

	for (key = 0; key < x->space->keys && !err; key++) {
		err = explore_puts(x, base, key, false) ?:
		      life_of(x, base, &(struct explore_op) {
			.verb = EXPLORE_DELETE, .key = key });
		if (!err && x->space->prepare)
			err = explore_puts(x, base, key, true);
		if (!err && x->space->sparse)
			err = life_of(x, base, &(struct explore_op) {
				.verb = EXPLORE_THIN, .key = key });
	}
	return err;
}

/* Everything that can be done with the state that @base is */
static int explore_ops(struct explore *x, const struct crab_shadow_image *base)
{
	static const struct explore_op format = { .verb = EXPLORE_FORMAT };
	int err = life_of(x, base, &(struct explore_op) { .verb = EXPLORE_ATTACH });

	if (!err && (x->space->format || x->is_blank))
		err = life_of(x, base, &format);
	if (err || x->is_blank)
		return err;
	err = life_of(x, base, &(struct explore_op) { .verb = EXPLORE_DETACH });
	if (!err && x->space->prepare)
		err = life_of(x, base, &(struct explore_op) { .verb = EXPLORE_PREPARE });
	return err ?: explore_records(x, base);
}

/* Writes a state; that it reads the same is what canonical means */
static struct crab_shadow_image *node_write(struct explore *x, const struct state *state)
{
	enum crab_shadow_fault fault = x->shadow->fault;
	struct state again;

	crab_shadow_restore(x->shadow, x->pristine);
	x->shadow->fault = CRAB_SHADOW_SOUND;	/* what is planted is not planted here */
	state_write(state, x->space, &x->geo, &x->media, &x->super);
	x->shadow->fault = fault;
	if (explore_image(x, &again, &x->content))
		return NULL;
	if (again.len != state->len || memcmp(again.byte, state->byte, again.len)) {
		explore_say(x, "a state that was written does not read the same");
		return NULL;
	}
	x->is_blank = state->len == CRAB_SUPER_COPIES;
	return crab_shadow_capture(x->shadow);
}

static int explore_node(struct explore *x)
{
	const struct state state = x->node[x->at].state;
	struct crab_shadow_image *base = node_write(x, &state);
	int err = base ? explore_ops(x, base) : -1;

	crab_shadow_release(base);
	return err;
}

/* Attaching again changes nothing */
static void explore_settled(struct explore *x)
{
	u32 i;

	for (i = 0; i < x->explored; i++) {
		x->counts.stable += x->node[i].settled;
		if (x->node[i].settled && x->node[i].changed)
			explore_say(x, "%s: an attach changes state %u, which an attach left",
			    x->space->name, i);
	}
}

/* Each record behind those of the batch so far, and so on */
static int batch_extend(struct explore *x, const struct crab_shadow_image *base)
{
	struct explore_op *op = &x->life[x->life_n++];
	u32 key, verb;
	int err = 0;

	for (key = 0; key < x->space->keys; key++) {
		for (verb = 0; verb < ARRAY_SIZE(batch_verbs) && !err; verb++) {
			*op = batch_verbs[verb];
			op->key = key;
			if (op->verb == EXPLORE_PUT_SPECIAL && !x->space->specials)
				continue;
			if (x->life_n > 1)
				err = life_explore(x, base);
			if (!err && x->life_n < x->space->batch)
				err = batch_extend(x, base);
		}
	}
	x->life_n--;
	return err;
}

static int node_batches(struct explore *x)
{
	const struct state state = x->node[x->at].state;
	struct crab_shadow_image *base = node_write(x, &state);
	int err;

	x->life_n = 0;
	err = base ? batch_extend(x, base) : -1;
	crab_shadow_release(base);
	x->node[x->at].batched = true;
	return err;
}

/* The batches of what attaches left; where a cut of one led is explored then */
static int explore_batches(struct explore *x)
{
	int err = 0;

	for (x->at = 0; x->at < x->explored && !err; x->at += !err)
		if (x->node[x->at].settled && !x->node[x->at].batched)
			err = node_batches(x);
	return err;
}

static int explore_nodes(struct explore *x)
{
	int err = 0;

	for (x->at = x->explored; x->at < x->nodes && x->at < x->limit && !err; x->at += !err)
		err = explore_node(x);
	x->explored = x->at;
	return err;
}

bool explore_run(struct explore *x)
{
	int err;

	do
		err = explore_nodes(x) ?: x->space->batch ? explore_batches(x) : 0;
	while (!err && x->explored < x->nodes && x->explored < x->limit);
	x->closed = !err && x->explored == x->nodes;
	explore_settled(x);
	x->counts.states = x->nodes;
	return !x->said[0];
}

/* The log need not say what the oracle does */
static void explore_log(char level, const char *line)
{
}

bool explore_begin(struct explore *x, const struct space *space)
{
	struct content content;
	struct state state;
	bool is_new;

	memset(x, 0, sizeof(*x));
	x->space = space;
	x->limit = U32_MAX;
	x->points = calloc(1, sizeof(*x->points));
	crab_host_log = explore_log;
	crab_tiny_slots = space->slots;
	crab_host_seed(EXPLORE_SEED);
	x->media = media_create(CRAB_POOL_OFFSET + space->leaves * space->leaf_bytes);
	x->shadow = crab_shadow_create(&x->media, EXPLORE_NODES);
	x->shadow->model = host_driver_model(space->driver, space->layout);
	x->shadow->reads = calloc(x->shadow->words, sizeof(bool));
	if (explore_format(x, false))
		return false;
	memcpy(&x->super, x->media.base, sizeof(x->super));
	x->geo = (struct crab_geometry) {
		.pool_offset = le64_to_cpu(x->super.pool_offset),
		.leaves = le64_to_cpu(x->super.leaves),
		.leaf_bytes = space->leaf_bytes,
		.store_id = le32_to_cpu(x->super.store_id),
		.layout = le16_to_cpu(x->super.layout),
	};
	if (x->geo.leaves != space->leaves)
		return !explore_say(x, "%llu leaves", x->geo.leaves);
	x->pristine = crab_shadow_capture(x->shadow);
	x->life_n = 1;
	if (explore_image(x, &state, &content))
		return false;
	explore_add(x, &state, &is_new);
	return true;
}

void explore_end(struct explore *x)
{
	points_forget(x->points);
	free(x->points);
	free(x->node);
	free(x->table);
	free(x->shadow->reads);
	crab_shadow_release(x->pristine);
	crab_shadow_destroy(x->shadow);
	media_destroy(&x->media);
	crab_tiny_slots = 0;
}

bool explore_replay(struct explore *x, const char *said)
{
	struct crab_shadow_image *base;
	int err;

	if (!reproducer_parse(said, x, &x->node[0].state))
		return !explore_say(x, "no reproducer: %s", said);
	base = node_write(x, &x->node[0].state);
	err = base ? life_explore(x, base) : -1;
	crab_shadow_release(base);
	x->shadow->script = NULL;
	return !err;
}

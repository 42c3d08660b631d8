// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the operations of the random crash test that end by a power cut or by a
 * stop of the kernel; the run continues with the remaining state.
 *
 * Locking: one thread.
 */
#include <linux/kernel.h>

#include "crash_priv.h"
#include "model.h"

/* The operation that is stopped: a FORMAT? */
static bool stops_format(const struct crash *c)
{
	return c->op.value % 8 == 7;
}

/* A batch? */
static bool stops_batch(const struct crash *c)
{
	return c->batches && c->op.value % 8 == 3;
}

static struct crab_oracle_allowed stopped_allowed(const struct crash *c,
						  const struct crash_content *before,
						  const struct crash_content *after)
{
	if (stops_batch(c))
		return crash_batch_allowed(c, before);
	return (struct crab_oracle_allowed) { .before = before->key, .after = after->key };
}

/* An insert, a delete, a batch, an attach after a detach, or a FORMAT */
static int stopped_op(struct crash *c)
{
	struct crash_op op = { .key = c->op.key, .value = c->op.value };

	if (stops_batch(c))
		return crash_apply_batch(c);
	if (stops_format(c))
		return crash_format(c);
	if (op.value % 4 == 0)
		return crash_reattach(c);
	op.verb = op.value % 2 ? CRASH_DELETE : CRASH_INSERT;
	return crash_apply(c, c->store, &op, &c->content);
}

/*
 * Stops at a random crash point. The store is gone, and the media has all stores of the CPU;
 * c->content is the content that the operation would have left.
 */
static int stop(struct crash *c)
{
	struct crab_crash_points *points = crash_points(c);
	int err;

	points->every_store = true;
	crash_collect(c, points);
	err = stopped_op(c);
	crash_collect(c, NULL);
	crash_count(c);
	crab_store_abandon(c->store);
	c->store = NULL;
	if (points->count)
		crab_shadow_restore(c->shadow, points->at[rng(&c->seed) % points->count].image);
	crab_crash_points_free(points);
	return err;
}

/* Attaches. A FORMAT that was stopped too early to leave a store is repeated. */
static int attach_stopped(struct crash *c)
{
	struct crab_super super;
	char reason[CRAB_REASON_LEN];

	if (stops_format(c) && crab_super_read(&c->media, &super, reason) == CRAB_VERDICT_BLANK &&
	    crash_format(c))
		return -1;
	return c->store ? 0 : crash_attach_store(c, NULL);
}

/* The content is now that before, or c->content; it is decided from here on */
static int resume(struct crash *c, const struct crash_content *before)
{
	const struct crab_oracle_allowed allowed = stopped_allowed(c, before, &c->content);
	struct crash_content found;
	int err = attach_stopped(c) ?: crash_read(c, c->store, &found);

	if (!err && !crab_oracle_allows(&c->oracle, &allowed, found.key))
		err = crash_say(c, "content is neither the one before nor the one after");
	c->content = found;
	return err;
}

int crash_step_cut(struct crash *c)
{
	struct crash_content before = c->content;
	int err = stop(c);

	c->shadow->seed = c->op.value;
	crab_shadow_crash(c->shadow);
	return err ?: resume(c, &before);
}

/* Power cuts during the attach that found c->content, and after it */
static int cut_recovery(struct crash *c, struct crab_crash_points *points,
			const struct crash_content *before, const struct crash_content *after,
			u32 depth)
{
	struct crash_cut during = {
		.crash = c, .allowed = stopped_allowed(c, before, after),
		.sampled = stops_batch(c) && c->batch.n > CRASH_TOGETHER,
		.blank = stops_format(c), .depth = depth - 1,
	};
	struct crash_cut done = {
		.crash = c, .allowed = { .before = c->content.key, .after = c->content.key },
		.depth = depth - 1,
	};

	return depth ? crash_cut_points(&during, points, &done) : 0;
}

int crash_step_survive(struct crash *c, u32 depth)
{
	struct crash_content before = c->content, after;
	struct crab_crash_points *points = crash_points(c);
	int err = stop(c);

	after = c->content;
	c->shadow->cpu ^= 2;	/* whose fences complete no clean of the first CPU */
	crash_collect(c, depth ? points : NULL);
	err = err ?: resume(c, &before);
	crash_collect(c, NULL);
	if (!err)
		err = cut_recovery(c, points, &before, &after, depth);
	crab_crash_points_free(points);
	return err;
}

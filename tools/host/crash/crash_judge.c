// SPDX-License-Identifier: GPL-2.0
/*
 * This file cuts the power at crash points and judges the recovery of each crash image.
 *
 * The oracle: recovery finds the content before the operation or the content after it, and once
 * the operation has returned, the content after it. The verifier finds nothing; another attach
 * repairs nothing and finds the same; operations go on. The same holds if the recovery itself, or
 * the operation after it, is cut. After a batch is cut, each key may be in any state that its own
 * operations led to, independently of the other keys. If the media records which leaves are
 * allocated, these are all leaves in use, and no others once an operation has returned.
 *
 * Locking: one thread.
 */
#include "crash_priv.h"
#include "test.h"

#define CRASH_BUDGET	200000		/* images of one point */
#define CRASH_SAMPLES	64		/* images of one point of a long batch */
#define CRASH_DEEPER	8		/* one of this many recoveries is cut itself */

static int cut_at(struct crash_cut *cut, struct crab_crash_points *points);

struct crab_oracle_allowed crash_batch_allowed(const struct crash *c,
					       const struct crash_content *before)
{
	if (c->setup.commits)
		return (struct crab_oracle_allowed) {
			.before = before->key, .after = c->content.key,
		};
	return (struct crab_oracle_allowed) {
		.before = before->key, .changes = c->batch.changes, .n = c->batch.changed,
	};
}

static struct crab_store *attach(struct crash *c, struct crab_attach_report *report)
{
	struct crab_attach_options options = { .tuning = &c->setup.tuning };

	c->counts.recoveries++;
	return crab_store_attach(&c->media, &options, report);
}

/* Attaches again: there is nothing to repair, and the content is the same */
static struct crab_store *attach_again(struct crash *c, const struct crash_content *content)
{
	struct crab_attach_report report;
	struct crab_store *store = attach(c, &report);
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
	else if (!crash_read(c, store, &found) &&
		 !crab_oracle_equal(&c->oracle, found.key, content->key))
		crash_say(c, "second attach finds other content");
	if (!c->said[0])
		return store;
	crab_store_abandon(store);
	return NULL;
}

int crash_read(struct crash *c, struct crab_store *store, struct crash_content *content)
{
	return c->setup.blobs ? crab_oracle_read_blobs(&c->oracle, store, content->key) :
				crab_oracle_read(&c->oracle, store, content->key);
}

int crash_judge_reads(struct crash *c, struct crab_store *store,
		      const struct crash_content *content)
{
	if (c->setup.blobs)
		return crab_oracle_check(&c->oracle, store);
	return crab_oracle_judge(&c->oracle, store, content->key) ?:
	       crab_oracle_judge_some(&c->oracle, store, content->key, c->counts.recoveries);
}

/* Operations go on: one of each kind, cut everywhere if @depth allows */
static int go_on(struct crash *c, struct crab_store *store, struct crash_content *content, u32 depth)
{
	struct crash_op op = { .value = 0x600d };
	u32 verb;

	for (verb = 0; verb < 3; verb++) {
		op.verb = verb == 1 ? CRASH_DELETE : CRASH_INSERT;
		for (op.key = c->step % c->setup.keys; content->key[op.key].there != (verb != 0); )
			if ((op.key = (op.key + 1) % c->setup.keys) == c->step % c->setup.keys)
				break;
		if (crash_op_cut(c, store, &op, content, depth))
			return -1;
	}
	return 0;
}

/* Attached twice more, and used in between */
static int judge_again(struct crash *c, struct crash_content *content)
{
	struct crab_store *store = attach_again(c, content);
	int err;

	if (!store)
		return -1;
	err = go_on(c, store, content, 0) ?: crash_judge_reads(c, store, content);
	crab_store_abandon(store);
	if (err)
		return err;
	store = attach_again(c, content);
	crab_store_abandon(store);
	return store ? 0 : -1;
}

/* The store that recovery attached: judged, attached again, used. It is freed. */
static int judge_store(struct crash_cut *cut, struct crab_store *store,
		       const struct crab_attach_report *report, struct crash_content *found)
{
	struct crash *c = cut->crash;
	struct crash_content content;
	struct crab_store_info info;
	int err;

	crab_store_info(store, &info);
	c->counts.repairs += info.stats.repairs;
	err = report->verdict == CRAB_VERDICT_GOOD ?
	      crash_read(c, store, found) :
	      crash_say(c, "attach: %s", report->reason);
	if (!err && !crab_oracle_allows(&c->oracle, &cut->allowed, found->key))
		err = crash_say(c, "recovered content is neither the one before nor the one after");
	if (!err)
		err = crash_judge_reads(c, store, found);
	content = *found;
	if (!err && info.stats.repairs && cut->depth)
		err = go_on(c, store, &content, cut->depth);
	crab_store_abandon(store);
	return err ?: judge_again(c, &content);
}

/* Under a read-only attach the media is as the power cut left it */
static int judge_allocator(const struct crash_cut *cut, struct crab_store *store)
{
	const struct host_driver *driver = cut->crash->setup.driver;
	const char *what = NULL;

	if (cut->allocator && driver->allocator)
		what = driver->allocator(store, cut->allocator == CRASH_ALLOCATOR_EXACT);
	return what ? crash_say(cut->crash, "%s", what) : 0;
}

/*
 * A read-only attach writes nothing, and finds the same content as the writable attach after it.
 * It also decides every word that the content depends on: a cut within the recovery can therefore
 * be held to that content. Returns 1 if there is no store.
 */
static int peek(const struct crash_cut *cut, struct crash_content *content)
{
	struct crash *c = cut->crash;
	struct crab_attach_options options = { .readonly = true, .tuning = &c->setup.tuning };
	u64 stores = c->shadow->counts.stores;
	struct crab_attach_report report;
	struct crab_store *store = crab_store_attach(&c->media, &options, &report);
	int err;

	if (IS_ERR(store))
		return 1;	/* the writable attach will report why */
	err = crash_read(c, store, content) ?: crash_judge_reads(c, store, content) ?:
	      judge_allocator(cut, store);
	crab_store_abandon(store);
	if (!err && c->shadow->counts.stores != stores)
		err = crash_say(c, "a read-only attach wrote to the media");
	return err;
}

/* Recovers the image, and collects @points of the recovery */
static int judge_attach(struct crash_cut *cut, struct crab_crash_points *points, int peeked,
			const struct crash_content *read, struct crash_content *found)
{
	struct crash *c = cut->crash;
	struct crab_attach_report report;
	struct crab_store *store;
	int err;

	crash_collect(c, points);
	store = attach(c, &report);
	crash_collect(c, NULL);
	if (!IS_ERR(store))
		err = judge_store(cut, store, &report, found);
	else if (cut->blank && report.verdict == CRAB_VERDICT_BLANK)
		err = 0;
	else
		err = crash_say(c, "attach: %ld %s", PTR_ERR(store), report.reason);
	if (err || peeked < 0)
		return err ?: peeked;
	if (!peeked && !IS_ERR(store) && !crab_oracle_equal(&c->oracle, read->key, found->key))
		return crash_say(c, "a read-only attach finds other content");
	return 0;
}

static int judge(struct crab_shadow *shadow, void *arg)
{
	struct crash_cut *cut = arg;
	struct crash *c = cut->crash;
	bool deeper = cut->depth && c->counts.recoveries % CRASH_DEEPER == 0;
	struct crab_crash_points *points = deeper ? crash_points(c) : NULL;
	struct crash_content read, found;
	struct crash_cut inner = {
		.crash = c, .allowed = { .before = found.key, .after = found.key },
		.allocator = cut->allocator, .depth = cut->depth - 1,
	};
	int err;

	crab_host_seed(c->seed);	/* the judge's choices must not be random */
	err = peek(cut, &read);
	err = judge_attach(cut, points, err, &read, &found);
	if (points) {
		c->counts.nested += points->count;
		err = err ?: cut_at(&inner, points);
		crab_crash_points_free(points);
	}
	return err;
}

/* Some images of one point */
static int sample_images(struct crash_cut *cut, const struct crab_crash_point *at)
{
	struct crash *c = cut->crash;
	int err = 0;
	u32 i;

	for (i = 0; i < CRASH_SAMPLES && !err; i++) {
		crab_shadow_restore(c->shadow, at->image);
		c->shadow->seed = c->seed + i * 0x9e3779b97f4a7c15ULL;
		crab_shadow_crash(c->shadow);
		c->counts.sampled++;
		err = judge(c->shadow, cut);
	}
	return err;
}

static int cut_point(struct crash_cut *cut, const struct crab_crash_point *at)
{
	struct crash *c = cut->crash;
	u64 images = c->shadow->counts.images;
	int err;

	if (cut->sampled)
		return sample_images(cut, at);
	err = crab_shadow_explore(c->shadow, at->image, judge, cut, CRASH_BUDGET);
	c->counts.largest = max(c->counts.largest, c->shadow->counts.images - images);
	if (err == -E2BIG) {
		c->gave_up = true;
		crash_say(c, "more than %u images", CRASH_BUDGET);
	}
	return err;
}

/* Every image of every point */
static int cut_at(struct crash_cut *cut, struct crab_crash_points *points)
{
	const struct crab_crash_point *at;
	u32 i;
	int err = 0;

	if (points->overflow) {
		cut->crash->gave_up = true;
		return crash_say(cut->crash, "more than %u crash points", points->room);
	}
	for (i = 0; i < points->count && !err; i++) {
		at = &points->at[i];
		err = cut_point(cut, at);
		if (err)
			crash_say_more(cut->crash, "; point %u of %u, %s %s", i + 1, points->count,
				       at->event == CRAB_SHADOW_FENCING ? "before fence" : "store",
				       at->point ? crab_shadow_point_name(at->point) : "");
	}
	return err;
}

int crash_cut_points(struct crash_cut *during, struct crab_crash_points *points,
		     struct crash_cut *done)
{
	struct crash *c = during->crash;
	struct crab_crash_point end = {
		.image = crab_shadow_capture(c->shadow), .event = CRAB_SHADOW_STORED,
	};
	int err;

	c->counts.points += points->count + 1;
	err = cut_at(during, points);
	if (!err) {
		err = cut_point(done, &end);
		if (err)
			crash_say_more(c, ", after it returned");
	}
	crab_shadow_restore(c->shadow, end.image);
	crab_shadow_release(end.image);
	return err;
}

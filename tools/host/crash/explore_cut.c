// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the power cuts of the explorer, and the stops that the caches survive.
 *
 * DOC: crash points without images
 *
 * A crash point is a store or a fence. A store between two fences adds images that a cut may
 * leave, and removes none. Only images with the stored word are new. If no recovery of the
 * previous point read that word, no image is new for recovery: code that does not read a word
 * cannot distinguish its values, and its value cannot make the code read it. A fence adds no
 * image to those of the store before it. The explorer counts such points as cut, and also
 * separately.
 *
 * Locking: one thread.
 */
#include "explore_priv.h"
#include "test.h"

#define SURVIVE_POINTS	256	/* crash points of an attach after a stop */
#define EXPLORE_CPU	2	/* attaches the caches' content; it ran nothing before */

static int cut_point(struct explore *x, const struct crab_crash_point *at, u32 point, u32 forced)
{
	int err;

	x->shadow->forced = forced;
	err = crab_shadow_explore(x->shadow, at->image, explore_judge, x, EXPLORE_BUDGET);
	x->shadow->forced = 0;
	if (err == -E2BIG)
		explore_say(x, "more than %u images", EXPLORE_BUDGET);
	if (err) {
		x->point = point;
		x->events = x->points->count;
		x->fencing = at->event == CRAB_SHADOW_FENCING;
	}
	return err;
}

/* One image of one point: that of a reproducer */
static int cut_again(struct explore *x, const struct crab_crash_point *at)
{
	crab_shadow_restore(x->shadow, at->image);
	crab_shadow_crash(x->shadow);
	x->shadow->script = &x->script[1];
	return explore_judge(x->shadow, x);
}

/* Every image of every point */
static int cut_points(struct explore *x)
{
	struct crab_crash_points *points = x->points;
	const struct crab_crash_point *at;
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
		err = cut_point(x, at, i + 1, first ? 0 : at->stored);
		first = x->plain;
	}
	return err;
}

/* A kernel found a content in caches that survived: no later power cut may revert it */
static int survive_found(struct explore *x, const struct content *found)
{
	struct crab_shadow_image *end = crab_shadow_capture(x->shadow);
	const struct crab_oracle_allowed allowed = x->allowed;
	bool blank = x->blank;
	int err;

	x->allowed = (struct crab_oracle_allowed) { .before = found->key, .after = found->key };
	x->blank = false;
	err = crab_shadow_explore(x->shadow, end, explore_judge, x, EXPLORE_BUDGET);
	crab_shadow_release(end);
	x->allowed = allowed;
	x->blank = blank;
	return err;
}

/* The power is cut during the attach of the caches' content, before any of its fences */
static int survive_cut(struct explore *x, const struct crab_crash_points *points)
{
	u32 i;
	int err = 0;

	for (i = 0; i < points->count && !err; i++)
		err = crab_shadow_explore(x->shadow, points->at[i].image, explore_judge, x,
					  EXPLORE_BUDGET);
	return err;
}

/* An attach of the caches' content. In a store of commits it writes records, and is cut */
static struct crab_store *survive_attach(struct explore *x, struct crab_attach_report *report)
{
	struct crab_crash_points *points;
	struct crab_shadow_image *end;
	struct crab_store *store;
	int err;

	if (!x->space->commits)
		return explore_attach(x, false, report);
	points = crab_crash_points_alloc(SURVIVE_POINTS, false);
	crab_crash_points_collect(points, x->shadow);
	store = explore_attach(x, false, report);
	crab_crash_points_collect(NULL, x->shadow);
	end = crab_shadow_capture(x->shadow);
	err = survive_cut(x, points);
	crab_crash_points_free(points);
	crab_shadow_restore(x->shadow, end);
	crab_shadow_release(end);
	if (!err || IS_ERR(store))
		return store;
	crab_store_abandon(store);
	return ERR_PTR(-EUCLEAN);
}

/*
 * The kernel stops at @image, and the caches survive. Another CPU attaches their content; then
 * the power is cut.
 */
static int survive_point(struct explore *x, const struct crab_shadow_image *image)
{
	struct crab_attach_report report;
	struct content found;
	struct crab_store *store;
	int err;

	crab_shadow_restore(x->shadow, image);
	x->shadow->cpu = EXPLORE_CPU;
	store = survive_attach(x, &report);
	if (IS_ERR(store)) {
		x->shadow->cpu = 0;
		return x->blank && report.verdict == CRAB_VERDICT_BLANK ? 0 :
			explore_say(x, "attach of the caches' content: %s", report.reason);
	}
	err = explore_read(x, store, &found);
	if (!err && !crab_oracle_allows(&x->oracle, &x->allowed, found.key))
		err = explore_say(x, "the caches hold another content");
	crab_store_abandon(store);
	if (!err)
		err = survive_found(x, &found);
	x->shadow->cpu = 0;
	return err;
}

static int survive_points(struct explore *x)
{
	u32 i;
	int err = 0;

	for (i = 0; i < x->points->count && !err; i++) {
		x->counts.points++;
		if (x->points->at[i].same)
			x->counts.same++;
		else
			err = survive_point(x, x->points->at[i].image);
	}
	return err;
}

/* At each point, where the content before or after may be found; or the one of a reproducer */
static int cut_during(struct explore *x)
{
	int err;

	if (x->points->overflow)
		return explore_say(x, "more than %u crash points", x->points->room);
	if (x->replayed)
		return x->replayed <= x->points->count ?
		       cut_again(x, &x->points->at[x->replayed - 1]) : 0;
	err = cut_points(x);
	return err || !x->space->survive ? err : survive_points(x);
}

/* At the end, where only the content after may be found */
static int cut_end(struct explore *x, const struct crab_crash_point *end,
		   const struct content *after)
{
	int err = 0;

	x->allowed = (struct crab_oracle_allowed) { .before = after->key, .after = after->key };
	x->blank = false;
	x->settling = x->run[0].verb == EXPLORE_ATTACH;
	if (!x->replayed)
		err = cut_point(x, end, x->points->count + 1, 0);
	else if (x->replayed > x->points->count)
		err = cut_again(x, end);
	x->settling = false;
	return err;
}

int explore_cut(struct explore *x, const struct content *before, const struct content *after,
		bool blank)
{
	struct crab_crash_point end = { .image = crab_shadow_capture(x->shadow) };
	int err;

	x->allowed = (struct crab_oracle_allowed) { .before = before->key, .after = after->key };
	if ((x->run_n > 1 && !x->space->lives) || x->run[0].verb == EXPLORE_DELETE_RANGE)
		x->allowed = (struct crab_oracle_allowed) {
			.before = before->key, .changes = x->changes, .n = x->changed,
		};
	x->blank = blank;
	err = cut_during(x) ?: cut_end(x, &end, after);
	crab_shadow_release(end.image);
	crab_crash_points_clear(x->points);
	return err;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the collection of crash points by the hook of a shadow.
 *
 * Locking: one thread.
 */
#include <linux/overflow.h>
#include <linux/slab.h>

#include "points.h"

static void points_hook(struct crab_shadow *shadow, enum crab_shadow_event event,
			enum crab_point point)
{
	struct crab_crash_points *points = shadow->hook_arg;

	if (event == CRAB_SHADOW_STORED && !points->every_store)
		return;
	if (points->count == points->room) {
		points->overflow = true;
		return;
	}
	points->at[points->count++] = (struct crab_crash_point) {
		.image = crab_shadow_capture(shadow), .event = event, .point = point,
		.stored = event == CRAB_SHADOW_STORED ? shadow->stored : 0,
	};
}

void crab_crash_points_init(struct crab_crash_points *points, u32 room, bool every_store)
{
	points->room = room;
	points->count = 0;
	points->every_store = every_store;
	points->overflow = false;
}

struct crab_crash_points *crab_crash_points_alloc(u32 room, bool every_store)
{
	struct crab_crash_points *points =
		kvmalloc(struct_size((struct crab_crash_points *)NULL, at, room), GFP_KERNEL);

	if (points)
		crab_crash_points_init(points, room, every_store);
	return points;
}

void crab_crash_points_collect(struct crab_crash_points *points, struct crab_shadow *shadow)
{
	shadow->hook = points ? points_hook : NULL;
	shadow->hook_arg = points;
}

void crab_crash_points_clear(struct crab_crash_points *points)
{
	while (points->count)
		crab_shadow_release(points->at[--points->count].image);
	points->overflow = false;
}

void crab_crash_points_free(struct crab_crash_points *points)
{
	if (!points)
		return;
	crab_crash_points_clear(points);
	kvfree(points);
}

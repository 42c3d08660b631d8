/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the crash points of a run: the images of a shadow at each store or fence of
 * the code that runs, from which the power is cut afterwards.
 */
#ifndef CRABTREE_TESTS_POINTS_H
#define CRABTREE_TESTS_POINTS_H

#include "shadow/shadow.h"

/**
 * struct crab_crash_point - one crash point
 * @image: of the shadow
 * @event: store or fence
 * @point: the fence's persist point
 * @stored: the word that was stored, plus one; 0: a pair, or no store
 * @same: the test found that recovery reads no word that the event changed
 */
struct crab_crash_point {
	struct crab_shadow_image *image;
	enum crab_shadow_event event;
	enum crab_point point;
	u32 stored;
	bool same;
};

/**
 * struct crab_crash_points - the crash points of one run
 * @room: the largest number of points
 * @count: number of points
 * @every_store: points at each store; else only before each fence
 * @overflow: there were more points than @room; the rest is lost
 * @at: the points
 */
struct crab_crash_points {
	u32 room;
	u32 count;
	bool every_store;
	bool overflow;
	struct crab_crash_point at[];
};

/**
 * crab_crash_points_init() - initialise room for crash points
 * @points: the room
 * @room: for how many
 * @every_store: points at each store, too
 *
 * Context: any.
 */
void crab_crash_points_init(struct crab_crash_points *points, u32 room, bool every_store);

/**
 * crab_crash_points_alloc() - allocate room for crash points
 * @room: for how many
 * @every_store: points at each store, too
 *
 * Context: may sleep.
 * Return: the points, none yet; or NULL.
 */
struct crab_crash_points *crab_crash_points_alloc(u32 room, bool every_store);

/**
 * crab_crash_points_collect() - collect crash points from now on
 * @points: where; NULL: end collecting
 * @shadow: of the media
 *
 * Context: any; one thread.
 */
void crab_crash_points_collect(struct crab_crash_points *points, struct crab_shadow *shadow);

/**
 * crab_crash_points_clear() - forget all crash points
 * @points: the points
 *
 * Context: any.
 */
void crab_crash_points_clear(struct crab_crash_points *points);

/**
 * crab_crash_points_free() - forget all crash points, and free the room
 * @points: the points, or NULL
 *
 * Context: may sleep.
 */
void crab_crash_points_free(struct crab_crash_points *points);

#endif /* CRABTREE_TESTS_POINTS_H */

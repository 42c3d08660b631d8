/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file defines the hooks in each access to the media. In the module they are empty, except
 * for the one of the fence: it tests whether the event of persist points is traced.
 *
 * A test build includes shadow/test_config.h before every file. The header defines the
 * same include guard and its own hooks, so the compiler skips this file.
 */
#ifndef CRABTREE_HOOKS_H
#define CRABTREE_HOOKS_H

#include <linux/tracepoint-defs.h>

struct crab_media;

DECLARE_TRACEPOINT(crabtree_persist_point);

/**
 * crab_trace_point() - record the event of a persist point
 * @media: the media
 * @point: enum crab_point
 *
 * Context: any.
 */
void crab_trace_point(const struct crab_media *media, unsigned int point);

/* Member of struct crab_media: the state of the hooks */
struct crab_hooks { };

/* Several threads or interrupts may run the code: locks are taken */
#define CRAB_ALONE	false

/* True if the hook loaded the word at @p into @value */
#define crab_hook_load(media, p, value)				false

/* After a store */
#define crab_hook_stored(media, p, value)			((void)0)
#define crab_hook_stored_pair(media, p, first, second)		((void)0)
#define crab_hook_swapped_pair(media, p, first, second)		((void)0)
#define crab_hook_stored_line(media, p, words)			((void)0)

/* Around the store of a line */
#define crab_hook_line(store)					store

/* After a swap that failed, and has read both words */
#define crab_hook_refused_pair(media, p)			((void)0)

/* Before the lines are cleaned */
#define crab_hook_clean(media, p, len)				((void)0)

/* After the instruction */
#define crab_hook_ordered(media)				((void)0)
#define crab_hook_fenced(media, point)						\
	do {									\
		if (tracepoint_enabled(crabtree_persist_point))			\
			crab_trace_point(media, point);				\
	} while (0)

/* Number of slots that a leaf with room for @slots uses */
#define crab_hook_slots(slots)					(slots)

#endif /* CRABTREE_HOOKS_H */

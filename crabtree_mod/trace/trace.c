// SPDX-License-Identifier: GPL-2.0
/*
 * This file creates the trace events, and has the slow path of the fence.
 *
 * Invariant: an event that is off costs one instruction where it would be recorded.
 *
 * No lock: an event may be recorded in any context.
 */
#include <linux/types.h>

#include "media/hooks.h"
#include "media/media.h"

#define CREATE_TRACE_POINTS
#include "events.h"

void crab_trace_point(const struct crab_media *media, unsigned int point)
{
	trace_crabtree_persist_point(media, point);
}

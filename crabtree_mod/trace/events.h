/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file defines the trace events: an operation, a persist point, a state
 * (Documentation/admin-guide/tracing.rst).
 *
 * Layer L2: it includes kernel headers only; device/ includes it. The fence of L1 tests the key of
 * its event by itself (media/hooks.h).
 *
 * No lock.
 */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM crabtree

#if !defined(CRABTREE_EVENTS_H) || defined(TRACE_HEADER_MULTI_READ)
#define CRABTREE_EVENTS_H

#include <linux/tracepoint.h>

/* After an operation; @verb is the number of its ioctl */
TRACE_EVENT(crabtree_op,
	TP_PROTO(u32 device, u32 verb, u32 flags, u64 key, u32 count, int result),
	TP_ARGS(device, verb, flags, key, count, result),
	TP_STRUCT__entry(
		__field(u32, device)
		__field(u32, verb)
		__field(u32, flags)
		__field(u64, key)
		__field(u32, count)
		__field(int, result)
	),
	TP_fast_assign(
		__entry->device = device;
		__entry->verb = verb;
		__entry->flags = flags;
		__entry->key = key;
		__entry->count = count;
		__entry->result = result;
	),
	TP_printk("crab%u %s flags=%#x key=%llu count=%u result=%d", __entry->device,
		  __print_symbolic(__entry->verb,
				   { 0x21, "INSERT" }, { 0x22, "SEARCH" },
				   { 0x23, "DELETE" }, { 0x24, "SCAN" }, { 0x25, "BATCH" },
				   { 0x26, "CHECK" }, { 0x27, "FORMAT" },
				   { 0x28, "DELETE_RANGE" }, { 0x2b, "PUT" },
				   { 0x2c, "GET" }, { 0x2d, "ERASE" }, { 0x2e, "LIST" },
				   { 0x2f, "NAMES" }, { 0x30, "COMMIT" }),
		  __entry->flags, __entry->key, __entry->count, __entry->result)
);

/* After a durability fence */
TRACE_EVENT(crabtree_persist_point,
	TP_PROTO(const void *media, u32 point),
	TP_ARGS(media, point),
	TP_STRUCT__entry(
		__field(const void *, media)
		__field(u32, point)
	),
	TP_fast_assign(
		__entry->media = media;
		__entry->point = point;
	),
	TP_printk("media=%p point=P%u", __entry->media, __entry->point)
);

/* A device has another state, or was attached again */
TRACE_EVENT(crabtree_state,
	TP_PROTO(u32 device, const char *state, const char *reason),
	TP_ARGS(device, state, reason),
	TP_STRUCT__entry(
		__field(u32, device)
		__string(state, state)
		__string(reason, reason)
	),
	TP_fast_assign(
		__entry->device = device;
		crab_assign_str(state, state);
		crab_assign_str(reason, reason);
	),
	TP_printk("crab%u %s %s", __entry->device, __get_str(state), __get_str(reason))
);

#endif /* CRABTREE_EVENTS_H */

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH trace
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE events
#include <trace/define_trace.h>

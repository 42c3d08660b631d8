/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the events of a log: the module's accesses to the region,
 * as offsets into it, in order.
 */
#ifndef TRACE_LOG_H
#define TRACE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum log_type {
	LOG_STORE, LOG_CLEAN, LOG_FENCE, LOG_ORDER,
	LOG_CALL,			/* @offset: verb; value[0]: number */
	LOG_ANSWER,			/* @offset: TRACE_FOUND(); value[0]: value found */
	LOG_RETURN,			/* @offset: verb; value[0]: errno */
};

/**
 * struct log_event - one of them
 * @type: kind of event
 * @cpu: by which processor
 * @size: of a store: 1 to 64 bytes
 * @foreign: of a store: not by the module
 * @offset: in the region; of a clean: of the line
 * @value: of a store, the first 16 bytes of it; all others are 0
 */
struct log_event {
	enum log_type type;
	uint8_t cpu;
	uint8_t size;
	bool foreign;
	uint64_t offset;
	uint64_t value[2];
};

/**
 * struct log - a log
 * @events: in order; a CALL, events, ANSWERs, a RETURN, and the worker's events between them
 * @count: how many
 * @orders: whether there are any: on x86-64 they are no instruction
 * @cleans_by: how many cleans there are of each kind (trace.h)
 */
struct log {
	struct log_event *events;
	size_t count;
	bool orders;
	size_t cleans_by[256];
};

/**
 * log_read() - read a log; ends the program where it cannot be one
 * @path: name of the file
 * @region_bytes: size of the region
 * @swaps: the module stores records by compare-and-swap: on arm64, each has an order before it and
 *	one after it
 *
 * Only full fences of the module count: other code of the kernel has
 * barriers too, which happen to complete cleans but are no part of any promise.
 */
struct log log_read(const char *path, uint64_t region_bytes, bool swaps);

/**
 * log_print() - print an event
 * @who: did it
 * @e: the event
 */
void log_print(const char *who, const struct log_event *e);

/**
 * region_read() - read the whole region's file into page-aligned memory
 * @path: name of the file
 * @size: out: its size
 *
 * Return: the memory; an error exits.
 */
uint8_t *region_read(const char *path, size_t *size);

#endif /* TRACE_LOG_H */

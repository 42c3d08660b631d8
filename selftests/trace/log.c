// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the reading of a log.
 *
 * The module's code and the region's mapping are known only when they have been used:
 * records between the load of a module and its first store are read with information
 * from later records.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "trace.h"
#include "workload.h"

#define PAGE	4096
#define LINE	64

struct reader {
	const struct trace_record *records;
	size_t count;
	uint64_t region_bytes;
	uint64_t code, code_bytes;
	uint64_t mapped;
	bool stored;		/* by the module, since its last fence */
	bool swaps;
};

static void *file_read(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rb");
	long length;
	void *data;

	if (!f || fseek(f, 0, SEEK_END) || (length = ftell(f)) < 0) {
		perror(path);
		exit(2);
	}
	rewind(f);
	data = aligned_alloc(PAGE, ((size_t)length / PAGE + 1) * PAGE);
	if (!data || fread(data, 1, length, f) != (size_t)length) {
		perror(path);
		exit(2);
	}
	fclose(f);
	*size = length;
	return data;
}

uint8_t *region_read(const char *path, size_t *size)
{
	return file_read(path, size);
}

static bool is_load(const struct trace_record *r)
{
	return r->type == TRACE_MARK && r->address == TRACE_CALL && r->value[0] == WORKLOAD_LOAD;
}

/* From a load on: where this module will turn out to be, and the region */
static void reader_look_ahead(struct reader *reader, const struct trace_record *r)
{
	const struct trace_record *end = reader->records + reader->count;

	reader->mapped = 0;
	reader->code_bytes = 0;
	for (r++; r < end && !is_load(r); r++) {
		if (r->type == TRACE_MAP && !reader->mapped)
			reader->mapped = r->address;
		if (r->type == TRACE_MARK && r->address == TRACE_MODULE) {
			reader->code = r->value[0];
			reader->code_bytes = r->value[1];
		}
	}
}

/* After an unload the addresses are free: stacks of new processes come there, and are zeroed */
static void reader_forget(struct reader *reader, const struct trace_record *r)
{
	if (r->type != TRACE_MARK || r->address != TRACE_RETURN || r->value[0] != WORKLOAD_UNLOAD)
		return;
	reader->mapped = 0;
	reader->code_bytes = 0;
}

static bool by_module(const struct reader *reader, const struct trace_record *r)
{
	return r->pc - reader->code < reader->code_bytes;
}

static bool in_region(const struct reader *reader, const struct trace_record *r, uint64_t *offset)
{
	*offset = r->address - reader->mapped;
	return reader->mapped && *offset < reader->region_bytes;
}

static bool barrier_event(const struct trace_record *r, struct log_event *e)
{
	switch (r->kind) {
	case TRACE_DSB | TRACE_BARRIER_SY:
	case TRACE_DSB | TRACE_BARRIER_ISH:
	case TRACE_SFENCE:
	case TRACE_MFENCE:
		e->type = LOG_FENCE;
		return true;
	case TRACE_DMB | TRACE_BARRIER_ISHST:
		e->type = LOG_ORDER;
		return true;
	default:
		return false;
	}
}

static bool mark_event(const struct trace_record *r, struct log_event *e)
{
	e->offset = r->value[0];
	e->value[0] = r->value[1];
	switch (r->address) {
	case TRACE_CALL:
		e->type = LOG_CALL;
		return true;
	case TRACE_ANSWER:
		e->type = LOG_ANSWER;
		return true;
	case TRACE_RETURN:
		e->type = LOG_RETURN;
		return true;
	default:
		return false;
	}
}

/* Convert a record to an event; false: it is none */
static bool record_event(const struct reader *reader, const struct trace_record *r,
			 struct log_event *e)
{
	*e = (struct log_event) { .cpu = r->cpu, .size = r->size };
	switch (r->type) {
	case TRACE_STORE:
		e->foreign = !by_module(reader, r);
		e->offset = r->address;
		memcpy(e->value, r->value, sizeof(e->value));
		return true;
	case TRACE_ZERO:
		e->foreign = true;
		e->size = LINE;
		return in_region(reader, r, &e->offset);
	case TRACE_CLEAN:
		e->type = LOG_CLEAN;
		return by_module(reader, r) && in_region(reader, r, &e->offset);
	case TRACE_BARRIER:
		return by_module(reader, r) && barrier_event(r, e);
	case TRACE_MARK:
		return mark_event(r, e);
	default:
		return false;
	}
}

/*
 * An order after a fence, with nothing stored since, orders nothing on the media: it is
 * only for other CPUs, or superfluous
 */
static bool is_idle_order(struct reader *reader, const struct log_event *e)
{
	if (e->type == LOG_STORE)
		reader->stored |= !e->foreign;
	else if (e->type == LOG_FENCE)
		reader->stored = false;
	return e->type == LOG_ORDER && !reader->stored;
}

/* The order that a swap implies, before its store or after it */
static void add_order(struct reader *reader, const struct trace_record *r, struct log *log)
{
	struct log_event *e = &log->events[log->count];

	if (!reader->swaps || r->type != TRACE_STORE || r->kind != TRACE_SWAP || !by_module(reader, r))
		return;
	*e = (struct log_event) { .type = LOG_ORDER, .cpu = r->cpu };
	if (is_idle_order(reader, e))
		return;
	log->count++;
	log->orders = true;
}

struct log log_read(const char *path, uint64_t region_bytes, bool swaps)
{
	struct reader reader = { .region_bytes = region_bytes, .swaps = swaps };
	const struct trace_record *r;
	struct log log = { };
	struct log_event *e;
	size_t bytes;

	reader.records = r = file_read(path, &bytes);
	reader.count = bytes / sizeof(*r);
	log.events = calloc(3 * reader.count + 1, sizeof(*log.events));
	if (!log.events || bytes % sizeof(*r)) {
		fprintf(stderr, "%s: not whole records\n", path);
		exit(2);
	}
	for (; r < reader.records + reader.count; r++) {
		if (is_load(r))
			reader_look_ahead(&reader, r);
		if (r->type == TRACE_MAP)
			reader.mapped = r->address;
		reader_forget(&reader, r);
		add_order(&reader, r, &log);
		e = &log.events[log.count];
		if (!record_event(&reader, r, e) || is_idle_order(&reader, e))
			continue;
		log.count++;
		log.orders |= e->type == LOG_ORDER;
		add_order(&reader, r, &log);
		if (e->type != LOG_CLEAN)
			continue;
		e->offset &= ~(uint64_t)(LINE - 1);
		log.cleans_by[r->kind]++;
	}
	free((void *)reader.records);
	return log;
}

static const char * const type_names[] = {
	"store", "clean", "fence", "order", "call", "answer", "return",
};

void log_print(const char *who, const struct log_event *e)
{
	printf("  %s: %s", who, type_names[e->type]);
	if (e->type == LOG_STORE)
		printf(" of %u at %" PRIu64 ", %" PRIx64 " %" PRIx64 "%s", e->size, e->offset, e->value[0],
		       e->value[1], e->foreign ? ", not by the module" : "");
	else if (e->type == LOG_CLEAN)
		printf(" at %" PRIu64, e->offset);
	printf("\n");
}

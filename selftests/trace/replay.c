// SPDX-License-Identifier: GPL-2.0
/*
 * replay LOG REGION [SKIP] - is the log complete?
 *
 * Performs the stores of the log on memory that is zero, as the region was, and
 * compares it with the region's file after the run. SKIP leaves out the
 * last store but so many that changed anything: the test of this test.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "trace.h"

#define LINE	64

static const char * const clean_names[] = {
	[TRACE_CVAC] = "dc cvac", [TRACE_CVAP] = "dc cvap", [TRACE_CVADP] = "dc cvadp",
	[TRACE_CIVAC] = "dc civac", [TRACE_CLFLUSH] = "clflush",
	[TRACE_CLFLUSHOPT] = "clflushopt", [TRACE_CLWB] = "clwb",
};

/* Performs a store; false if it changed nothing */
static bool store(uint8_t *memory, uint64_t size, const struct log_event *e)
{
	uint8_t bytes[LINE] = { };
	bool changed;

	memcpy(bytes, e->value, sizeof(e->value));
	if (e->size > LINE || e->offset + e->size > size) {
		fprintf(stderr, "replay: a store of %u at %llu\n", e->size,
			(unsigned long long)e->offset);
		exit(1);
	}
	changed = memcmp(memory + e->offset, bytes, e->size);
	memcpy(memory + e->offset, bytes, e->size);
	return changed;
}

/* All stores but the one numbered @skip, from 1; how many changed anything */
static size_t replay(const struct log *log, uint8_t *memory, uint64_t size, size_t skip)
{
	const struct log_event *e;
	uint8_t old[LINE];
	size_t changes = 0;

	memset(memory, 0, size);
	for (e = log->events; e < log->events + log->count; e++) {
		if (e->type != LOG_STORE)
			continue;
		memcpy(old, memory + e->offset / LINE * LINE, sizeof(old));
		if (store(memory, size, e) && ++changes == skip)
			memcpy(memory + e->offset / LINE * LINE, old, sizeof(old));
	}
	return changes;
}

static size_t lines_differing(const uint8_t *a, const uint8_t *b, uint64_t size)
{
	uint64_t at;
	size_t n = 0;

	for (at = 0; at < size; at += LINE)
		n += memcmp(a + at, b + at, LINE) != 0;
	return n;
}

static void tell(const struct log *log, size_t differing)
{
	size_t n[LOG_RETURN + 1] = { }, i;

	for (i = 0; i < log->count; i++)
		n[log->events[i].type]++;
	printf("%zu stores, %zu fences, %zu orders", n[LOG_STORE], n[LOG_FENCE], n[LOG_ORDER]);
	for (i = 0; i < sizeof(clean_names) / sizeof(clean_names[0]); i++)
		if (log->cleans_by[i])
			printf(", %zu %s", log->cleans_by[i], clean_names[i]);
	printf("; %zu lines differ\n", differing);
}

int main(int argc, char **argv)
{
	size_t size, skip, changes, differing;
	uint8_t *left, *memory;
	struct log log;

	if (argc < 3 || argc > 4) {
		fprintf(stderr, "usage: replay LOG REGION [SKIP]\n");
		return 2;
	}
	left = region_read(argv[2], &size);
	log = log_read(argv[1], size, false);
	memory = calloc(1, size + LINE);
	changes = replay(&log, memory, size, 0);
	skip = argc == 4 ? strtoull(argv[3], NULL, 0) : changes;
	if (skip < changes)
		replay(&log, memory, size, changes - skip);
	differing = lines_differing(memory, left, size);
	tell(&log, differing);
	return differing || !log.count;
}

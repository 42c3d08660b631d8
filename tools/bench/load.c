// SPDX-License-Identifier: GPL-2.0
/*
 * This file counts the lines and fences of loading a file of records, for comparison with the
 * module's counts for the same file (selftests/vm/counts).
 *
 *   load LEAF_BYTES auto|sip|cow FILE	-> "LINES FENCES" on standard output
 *
 * Lines of FILE are `key value`, decimal. The layout is sorted, the tuning is
 * crab_tuning_default with its fixed costs. Cleans are counted, not executed.
 */
#include <stdio.h>
#include <stdlib.h>

#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "engines/crab/sorted/tuning.h"
#include "store/store.h"

#define LOAD_REGION	(128U << 20)

static void fail(const char *what)
{
	fprintf(stderr, "load: %s\n", what);
	exit(1);
}

static struct crab_store *make_store(struct crab_media *media, u32 leaf_bytes)
{
	struct crab_format_options format = {
		.force = true, .leaf_bytes = leaf_bytes, .engine = "crab", .layout = "sorted",
		.label = "load",
	};
	struct crab_attach_options attach = { 0 };
	struct crab_attach_report report;
	char reason[CRAB_REASON_LEN];
	struct crab_store *store;

	if (crab_store_format(media, &format, reason))
		fail(reason);
	store = crab_store_attach(media, &attach, &report);
	if (IS_ERR(store))
		fail(report.reason);
	return store;
}

static void load(struct crab_store *store, FILE *file)
{
	unsigned long long key, value;
	struct crab_old old;

	while (fscanf(file, "%llu %llu", &key, &value) == 2)
		if (crab_store_insert(store, key, value, CRAB_INSERT_EITHER, &old))
			fail("a record was refused");
}

/* A store on the media of the previous one: the bytes after the end of a leaf matter */
static void count(struct crab_media *media, const char *strategy, u32 leaf_bytes, FILE *file)
{
	int chosen = crab_strategy_by_name(strategy);
	struct crab_store_info info;
	struct crab_store *store;

	if (chosen < 0)
		fail("no such strategy");
	crab_tuning_default.strategy = chosen;
	store = make_store(media, leaf_bytes);
	rewind(file);
	load(store, file);
	crab_store_info(store, &info);
	printf("%s %u %llu %llu\n", strategy, leaf_bytes, (unsigned long long)info.counts.lines,
	       (unsigned long long)info.counts.fences);
	crab_store_detach(store);
}

int main(int argc, char **argv)
{
	struct crab_media media = {
		.base = aligned_alloc(4096, LOAD_REGION), .size = LOAD_REGION,
		.durability = CRAB_DURABILITY_POP, .fence_only = true,
	};
	FILE *file = argc > 3 ? fopen(argv[1], "r") : NULL;
	int i;

	if (!file || !media.base || crab_persist_init())
		fail("usage: load FILE STRATEGY LEAF_BYTES [STRATEGY LEAF_BYTES]...");
	memset(media.base, 0, media.size);
	for (i = 2; i + 1 < argc; i += 2)
		count(&media, argv[i], strtoul(argv[i + 1], NULL, 0), file);
	return 0;
}

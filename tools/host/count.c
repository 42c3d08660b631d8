// SPDX-License-Identifier: GPL-2.0
/*
 * This file counts what the engine asks of the media: lines cleaned and fences
 * per operation, by leaf size; DRAM per byte of media in use; and how long attach
 * takes against reading the region once. Counts are exact and the same on every
 * machine; times are this machine's.
 *
 *   count [--json] [--keys N] [--attach-keys N]
 *
 * Keys are uniform over 64 bits. On the write path: what stands between a call
 * and its return. Prepared: landmarks of free leaves, which crab_store_maintain()
 * makes durable off the write path; it runs after each operation while it says
 * that more waits.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/random.h>
#include <linux/sort.h>
#include <linux/string.h>

#include "model.h"

#define ATTACH_ROUNDS	3

enum { INSERT, UPDATE, DELETE, VERBS };

static const char * const verb_names[VERBS] = { "insert", "update", "delete" };

struct cost {
	double lines;
	double fences;
	double prepare_lines;
	double prepare_fences;
};

struct row {
	u32 leaf_bytes;
	struct cost cost[VERBS];
	double fill;		/* records per slot of the leaves in use, after the inserts */
	double dram;		/* bytes per byte of the leaves in use */
};

struct attach {
	u64 keys;
	u64 bytes;		/* of the leaves in use */
	u64 attach_ns;
	u64 read_ns;
};

static u64 keys = 1000000, attach_keys = 10000000;
static bool json;

/* The @i-th key: a bijection of the numbers, so that no key comes twice */
static u64 key_of(u64 i)
{
	i += 1;
	i = (i ^ i >> 31) * 0x7fb5d329728ea185ULL;
	i = (i ^ i >> 27) * 0x81dadef4bc2dd44dULL;
	return (i ^ i >> 33) & ~1ULL;	/* never the reserved key */
}

static struct crab_media region_map(u64 bytes)
{
	struct crab_media media = { .size = bytes, .durability = CRAB_DURABILITY_POP };

	media.base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (media.base == MAP_FAILED) {
		perror("count: no memory for the region");
		exit(1);
	}
	madvise(media.base, bytes, MADV_HUGEPAGE);	/* as the kernel maps a region */
	return media;
}

/* Room for @n keys in leaves that random inserts leave five eighths full, and some more */
static u64 region_bytes(u64 n, u32 leaf_bytes)
{
	return CRAB_POOL_OFFSET + ALIGN((n * 16 / 5 + 64) / crab_leaf_slots(leaf_bytes), 64) *
	       leaf_bytes / 2 * 5 / 4;
}

static void fail(const char *what, int err)
{
	fprintf(stderr, "count: %s: %s\n", what, strerror(-err));
	exit(1);
}

static void do_verb(struct crab_store *store, u32 verb, u64 i)
{
	struct crab_old old;
	int err;

	if (verb == DELETE)
		err = crab_store_delete(store, key_of(i), &old);
	else
		err = crab_store_insert(store, key_of(i), i + verb, CRAB_INSERT_EITHER, &old);
	if (err)
		fail(verb_names[verb], err);
}

/* @n operations of a kind, and their costs per operation */
static struct cost run_verb(struct crab_store *store, u32 verb, u64 n)
{
	struct crab_store_info a, b;
	u64 i;

	crab_store_info(store, &a);
	for (i = 0; i < n; i++) {
		do_verb(store, verb, i);
		while (crab_store_maintain(store))
			;
	}
	crab_store_info(store, &b);
	return (struct cost) {
		.lines = (double)(b.counts.lines - a.counts.lines) / n,
		.fences = (double)(b.counts.fences - a.counts.fences) / n,
		.prepare_lines = (double)(b.prepare_lines - a.prepare_lines) / n,
		.prepare_fences = (double)(b.prepare_fences - a.prepare_fences) / n,
	};
}

static struct row count_row(u32 leaf_bytes)
{
	struct crab_media media = region_map(region_bytes(keys, leaf_bytes));
	struct row row = { .leaf_bytes = leaf_bytes };
	struct crab_store_info info;
	struct crab_store *store;
	u32 verb;

	media.fence_only = true;	/* lines are counted, not cleaned */
	store = store_format_attach(&media, "crab", "slotted", leaf_bytes);
	for (verb = 0; verb < VERBS; verb++) {
		row.cost[verb] = run_verb(store, verb, keys);
		if (verb != INSERT)
			continue;
		crab_store_info(store, &info);
		row.fill = (double)keys / (info.stats.leaves_used * crab_leaf_slots(leaf_bytes));
		row.dram = (double)info.stats.dram_bytes / (info.stats.leaves_used * leaf_bytes);
	}
	crab_store_detach(store);
	munmap(media.base, media.size);
	return row;
}

/* Reads what the leaves in use occupy, once, word by word */
static u64 read_ns(const struct crab_media *media, u64 bytes)
{
	const u64 *word = (const u64 *)media->base, *end = word + bytes / sizeof(u64);
	u64 began = ktime_get_ns(), sum = 0;

	for (; word < end; word++)
		sum += *word;
	asm volatile("" :: "r" (sum));
	return ktime_get_ns() - began;
}

static u64 attach_ns(struct crab_media *media, u64 n)
{
	struct crab_store *store = store_attach(media);
	struct crab_store_info info;

	crab_store_info(store, &info);
	if (info.stats.records != n)
		fail("attach lost records", -EIO);
	crab_store_detach(store);
	return info.attach_ns;
}

static int u64_cmp(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

static u64 median(u64 *values)
{
	sort(values, ATTACH_ROUNDS, sizeof(*values), u64_cmp, NULL);
	return values[ATTACH_ROUNDS / 2];
}

static struct attach count_attach(u32 leaf_bytes)
{
	struct crab_media media = region_map(region_bytes(attach_keys, leaf_bytes));
	struct attach result = { .keys = attach_keys };
	u64 attached[ATTACH_ROUNDS], read[ATTACH_ROUNDS], i;
	struct crab_store_info info;
	struct crab_store *store;

	media.fence_only = true;
	store = store_format_attach(&media, "crab", "slotted", leaf_bytes);
	for (i = 0; i < attach_keys; i++)
		do_verb(store, INSERT, i);
	crab_store_info(store, &info);
	result.bytes = info.stats.leaves_used * leaf_bytes;
	crab_store_detach(store);
	for (i = 0; i < ATTACH_ROUNDS; i++) {
		attached[i] = attach_ns(&media, attach_keys);
		read[i] = read_ns(&media, result.bytes);
	}
	result.attach_ns = median(attached);
	result.read_ns = median(read);
	munmap(media.base, media.size);
	return result;
}

static void print_text(const struct row *rows, u32 n, const struct attach *a)
{
	const struct row *r;
	u32 verb;

	printf("lines cleaned and fences per operation, %llu uniform keys\n\n", keys);
	printf("%6s", "leaf");
	for (verb = 0; verb < VERBS; verb++)
		printf("  %-24s", verb_names[verb]);
	printf("  fill   DRAM/media\n%6s", "bytes");
	for (verb = 0; verb < VERBS; verb++)
		printf("  lines fences (prepared)  ");
	printf("\n");
	for (r = rows; r < rows + n; r++) {
		printf("%6u", r->leaf_bytes);
		for (verb = 0; verb < VERBS; verb++)
			printf("  %5.3f %5.3f (%5.3f %5.3f) ", r->cost[verb].lines,
			       r->cost[verb].fences, r->cost[verb].prepare_lines,
			       r->cost[verb].prepare_fences);
		printf("  %.3f  %.3f\n", r->fill, r->dram);
	}
	printf("\nattach of %llu keys in leaves of 1024: %.0f ms; ", a->keys, a->attach_ns / 1e6);
	printf("reading their %.0f MiB once: %.0f ms; ratio %.2f\n", a->bytes / 1048576.0,
	       a->read_ns / 1e6, (double)a->attach_ns / a->read_ns);
}

static void print_json_cost(const char *name, const struct cost *cost)
{
	printf(", \"%s\": { \"lines\": %.4f, \"fences\": %.4f, ", name, cost->lines, cost->fences);
	printf("\"prepared_lines\": %.4f, \"prepared_fences\": %.4f }", cost->prepare_lines,
	       cost->prepare_fences);
}

static void print_json(const struct row *rows, u32 n, const struct attach *a)
{
	const struct row *r;
	u32 verb;

	printf("{\n  \"keys\": %llu,\n  \"leaves\": [\n", keys);
	for (r = rows; r < rows + n; r++) {
		printf("    { \"leaf_bytes\": %u", r->leaf_bytes);
		for (verb = 0; verb < VERBS; verb++)
			print_json_cost(verb_names[verb], &r->cost[verb]);
		printf(", \"fill\": %.4f, \"dram_per_media\": %.4f }%s\n", r->fill, r->dram,
		       r == rows + n - 1 ? "" : ",");
	}
	printf("  ],\n  \"attach\": { \"leaf_bytes\": 1024, \"keys\": %llu, \"bytes\": %llu, ",
	       a->keys, a->bytes);
	printf("\"attach_ns\": %llu, \"read_ns\": %llu, \"ratio\": %.3f }\n}\n", a->attach_ns,
	       a->read_ns, (double)a->attach_ns / a->read_ns);
}

static void options(int argc, char **argv)
{
	static const struct option known[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "keys", required_argument, NULL, 'k' },
		{ "attach-keys", required_argument, NULL, 'a' },
		{ }
	};
	int c;

	while ((c = getopt_long(argc, argv, "", known, NULL)) != -1) {
		if (c == 'j')
			json = true;
		else if (c == 'k')
			keys = strtoull(optarg, NULL, 0);
		else if (c == 'a')
			attach_keys = strtoull(optarg, NULL, 0);
		else
			exit(2);
	}
	if (!keys || !attach_keys) {
		fprintf(stderr, "count: a number of keys is more than 0\n");
		exit(2);
	}
}

int main(int argc, char **argv)
{
	struct row rows[8];
	struct attach attach;
	u32 leaf_bytes, n = 0;

	options(argc, argv);
	if (crab_persist_init())
		return 1;
	crab_host_seed(1);
	for (leaf_bytes = 512; leaf_bytes <= CRAB_LEAF_BYTES_MAX; leaf_bytes *= 2)
		rows[n++] = count_row(leaf_bytes);
	attach = count_attach(1024);
	(json ? print_json : print_text)(rows, n, &attach);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * This file measures the workloads of YCSB on stores of values under names.
 *
 *   ycsb [-n RECORDS] [-o OPERATIONS] [-s SECONDS] [-b BYTES] [-d PLACE] [-w WORKLOADS] STORE
 *	-> JSON on standard output, a row for each workload
 *
 * A workload ends after OPERATIONS operations or SECONDS seconds. One thread. The values that are
 * read have the number of their key in front, which is verified.
 */
#include <getopt.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/string.h>

#include "mix.h"
#include "rig.h"
#include "row.h"
#include "ycsb.h"

#define VALUE_MOST	65536U
#define CLOCK_EVERY	16U	/* operations between two looks at the clock */
#define PAIRS		3U	/* of runs of A, without and with a snapshot */
#define CALLS		1000000U

static const struct ycsb_store * const stores[] = {
	&ycsb_crab, &ycsb_lmdb, &ycsb_sqlite, &ycsb_redis,
};

/**
 * struct run - the arguments, and the open store
 * @kind: of the store
 * @store: the store
 * @records: that are loaded
 * @most: operations of a workload, at most
 * @seconds: likewise
 * @bytes: of a value
 * @place: a directory
 * @wanted: letters of the workloads
 */
static struct run {
	const struct ycsb_store *kind;
	void *store;
	u64 records;
	u64 most;
	u64 seconds;
	u32 bytes;
	const char *place;
	const char *wanted;
} run = { .records = 100000, .most = 200000, .seconds = 5, .bytes = 100, .place = "/tmp", .wanted = "abcfde" };

static u8 value[VALUE_MOST], room[VALUE_MOST];

void ycsb_fail(const char *store, const char *what, const char *why)
{
	fprintf(stderr, "ycsb: %s: %s: %s\n", store, what, why);
	exit(1);
}

static const char *key_text(u64 key)
{
	static char text[YCSB_KEY + 1];

	snprintf(text, sizeof(text), "user%020llu", key);
	return text;
}

static void put(u64 key, u32 version, bool fresh)
{
	memcpy(value, &key, sizeof(key));
	memcpy(value + sizeof(key), &version, sizeof(version));
	run.kind->put(run.store, key_text(key), value, run.bytes, fresh);
}

static void get(u64 key)
{
	u32 bytes = run.kind->get(run.store, key_text(key), room, sizeof(room));

	if (bytes != run.bytes || memcmp(room, &key, sizeof(key)))
		ycsb_fail(run.kind->name, "get", "a wrong value");
}

static void scan(u64 key, u32 n)
{
	if (!run.kind->scan(run.store, key_text(key), n, room, sizeof(room)))
		ycsb_fail(run.kind->name, "scan", "nothing found");
}

static void operation(enum crab_bench_op op, u64 key, u64 i)
{
	switch (op) {
	case CRAB_BENCH_SEARCH:
		get(key);
		return;
	case CRAB_BENCH_MODIFY:
		get(key);
		put(key, i, false);
		return;
	case CRAB_BENCH_INSERT:
		put(key, i, true);
		return;
	case CRAB_BENCH_SCAN_SOME:
		scan(key, 1 + crab_bench_key(i) % 100);
		return;
	default:
		put(key, i, false);
	}
}

static void load(void)
{
	u64 i;

	if (run.kind->load)
		run.kind->load(run.store, true);
	for (i = 0; i < run.records; i++)
		put(crab_bench_key(i), 0, true);
	if (run.kind->load)
		run.kind->load(run.store, false);
}

/* Operations a second */
static double measure(const u8 *ops, const u64 *keys)
{
	u64 began = ktime_get_ns(), i, ns = 0;

	for (i = 0; i < run.most && ns < run.seconds * 1000000000ULL; i++) {
		operation(ops[i], keys[i], i);
		if (i % CLOCK_EVERY == CLOCK_EVERY - 1)
			ns = ktime_get_ns() - began;
	}
	return i * 1e9 / (ktime_get_ns() - began);
}

static void row(struct json_object *rows, const char *name, double rate)
{
	struct json_object *json = json_object_new_object();

	row_text(json, "workload", name);
	row_double(json, "rate", rate);
	json_object_array_add(rows, json);
}

/* @held: a snapshot that is open meanwhile */
static void workload(struct json_object *rows, const struct mix *mix, bool held, u64 fresh)
{
	u64 *keys = malloc(run.most * sizeof(*keys));
	u8 *ops = malloc(run.most);
	char name[32];

	if (!keys || !ops)
		rig_fail("operations", -ENOMEM);
	mix_fill(mix, ops, keys, run.most, run.records, fresh);
	if (held)
		run.kind->hold(run.store, true);
	snprintf(name, sizeof(name), "%c%s", mix->name[5], held ? " under a snapshot" : "");
	row(rows, name, measure(ops, keys));
	if (held)
		run.kind->hold(run.store, false);
	free(keys);
	free(ops);
}

/* A system call: the store that runs in this process has none, and as a module it has one */
static void call(struct json_object *rows)
{
	u64 began = ktime_get_ns(), i;

	for (i = 0; i < CALLS; i++)
		syscall(SYS_getppid);
	row(rows, "system call", CALLS * 1e9 / (ktime_get_ns() - began));
}

static void parse(int argc, char **argv)
{
	u32 i;
	int opt;

	while ((opt = getopt(argc, argv, "n:o:s:b:d:w:")) >= 0) {
		if (opt == 'n')
			run.records = strtoull(optarg, NULL, 0);
		else if (opt == 'o')
			run.most = strtoull(optarg, NULL, 0);
		else if (opt == 's')
			run.seconds = strtoull(optarg, NULL, 0);
		else if (opt == 'b')
			run.bytes = strtoul(optarg, NULL, 0);
		else if (opt == 'd')
			run.place = optarg;
		else if (opt == 'w')
			run.wanted = optarg;
		else
			exit(2);
	}
	for (i = 0; i < ARRAY_SIZE(stores) && optind < argc; i++)
		if (!strcmp(argv[optind], stores[i]->name))
			run.kind = stores[i];
	if (!run.kind || run.bytes < 12 || run.bytes > VALUE_MOST) {
		fprintf(stderr, "ycsb: STORE is crabtree, lmdb, sqlite or redis; -b is 12 to 65536\n");
		exit(2);
	}
}

int main(int argc, char **argv)
{
	struct json_object *rows = json_object_new_array();
	const struct mix *mix;
	u64 fresh;
	u32 i;

	parse(argc, argv);
	if (crab_persist_init())
		return 1;
	rig_pin(0);
	fresh = run.records;
	run.store = run.kind->open(run.place, run.records + 2 * run.most, run.bytes);
	load();
	call(rows);
	for (mix = mixes; mix->name; mix++) {
		if (!strchr(run.wanted, mix->name[5]))
			continue;
		workload(rows, mix, false, fresh);
		fresh += mix->insert ? run.most : 0;
		for (i = 0; mix->name[5] == 'a' && run.kind->hold && i < 2 * PAIRS; i++)
			workload(rows, mix, i & 1, fresh);
	}
	run.kind->close(run.store);
	puts(json_object_to_json_string_ext(rows, JSON_C_TO_STRING_PLAIN));
	return 0;
}

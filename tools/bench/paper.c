// SPDX-License-Identifier: GPL-2.0
/*
 * This file runs one map through phases, for the figures of a paper. scripts/paper knows the
 * figures; it runs this program once for each bar and round.
 *
 *   paper [--engine NAME] [--layout NAME] [--option NAME=VALUE]... [--leaf N] [--keys N]
 *	   [--threads N] [--bits N] [--counted] [--alone] [--no-cleans] [--no-floor] PHASE...
 *		-> JSON on standard output
 *   paper --list		the engines and layouts of the store
 *   paper --floor		the floor, and what the engines think that operations cost
 *
 * A phase is insert, search, update or delete: all keys, each once, each phase in another order;
 * scan-N: scans of N records; mix-I-S-D: I inserts of new keys, S searches and D deletes, in turn;
 * zipf-S-U: updates of U % of the operations, and searches, of present keys by Zipf, skew S / 100;
 * clean or cut: attach after a clean detach or after a power cut; tpcc-load, and tpcc-1 to tpcc-4 with
 * the mixes W1 to W4 of TPC-C. Keys are uniform and unique, except those of TPC-C; with --bits the
 * phase insert takes keys of so many bits.
 *
 * Threads are pinned. Time is the CPU time of all threads, maintenance included, and the elapsed
 * time. With --counted nothing is measured, lines are not cleaned, and the costs of operations are
 * fixed: the counts are the same on every machine. With --alone the time of each operation is measured,
 * and percentiles are printed. --no-cleans measures as with persistent caches.
 * --no-floor leaves out the floor, which takes longer than a short test.
 */
#include <errno.h>
#include <getopt.h>
#include <json-c/json.h>
#include <stdio.h>
#include <stdlib.h>

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/random.h>
#include <linux/string.h>

#include "alone.h"
#include "bench/loop.h"
#include "engines/crab/sorted/tuning.h"
#include "mix.h"
#include "peer.h"
#include "rig.h"
#include "row.h"
#include "slab.h"
#include "table.h"
#include "team.h"
#include "tpcc.h"

#define FLOOR_BYTES	(64ULL << 20)
#define HEAP_PER_KEY	40	/* bytes, for the map that needs most */
#define SCANS_MIN	20
#define TRANSACTIONS(n)	((n) / 10)

static const char *engine = "crab", *layout = "";
static u64 n = 1000000;
static u32 threads = 1, leaf_bytes, bits;
static bool counted;
static int alone, floor_only, no_floor;

static const struct peer *peer;
static void *map;
static u64 *keys;		/* of the current phase, one for each operation */
static u8 *ops;
static u32 *scans;
static u64 fresh;		/* keys inserted so far */
static struct tpcc tpcc;
static struct json_object *phases;

static void add_floor(struct json_object *row)
{
	struct crab_media media = rig_region(FLOOR_BYTES);
	struct crab_bench_floor floor;

	crab_bench_floor_measure(&media, FLOOR_BYTES, rig_cpu_ns, &floor);
	rig_region_free(&media);
	row_floor(row, &floor);
}

/* Counters of the engine, since @before */
static void add_own(struct json_object *row, const struct peer_counts *now,
		    const struct peer_counts *before)
{
	u32 i;

	for (i = 0; now->names && now->names[i]; i++)
		row_int(row, now->names[i], now->own[i] - before->own[i]);
}

static void add_counts(struct json_object *row, const struct peer_counts *before, u64 count)
{
	struct peer_counts now = peer_count(peer, map);

	row_double(row, "lines", (double)(now.lines - before->lines) / count);
	row_double(row, "fences", (double)(now.fences - before->fences) / count);
	row_double(row, "orders", (double)(now.orders - before->orders) / count);
	row_double(row, "prepare_lines", (double)(now.prepare_lines - before->prepare_lines) / count);
	row_double(row, "prepare_fences", (double)(now.prepare_fences - before->prepare_fences) / count);
	row_int(row, "leaves", now.leaves);
	row_int(row, "splits", now.splits - before->splits);
	row_int(row, "media", now.media);
	row_int(row, "dram", now.dram);
	add_own(row, &now, before);
}

static struct json_object *add_phase(const char *name, u64 count)
{
	struct json_object *row = json_object_new_object();

	row_text(row, "phase", name);
	row_int(row, "count", count);
	json_object_array_add(phases, row);
	return row;
}

static int run_together(struct json_object *row, const struct crab_bench_work *work, u64 count)
{
	struct team_time time;
	int err = team_run(peer, map, work, threads, &time);

	if (!counted) {
		row_double(row, "ns", (double)(time.cpu_ns + time.prepare_ns) / count);
		row_double(row, "prepare_ns", (double)time.prepare_ns / count);
		row_double(row, "ns_wall", (double)time.wall_ns / count);
	}
	row_int(row, "waits", time.waits);
	return err;
}

static int run_alone(struct json_object *row, const struct crab_bench_work *work)
{
	struct alone_time time;
	int err = alone_run(peer, map, work, threads, &time);

	row_double(row, "p50", time.p50);
	row_double(row, "p99", time.p99);
	row_double(row, "p999", time.p999);
	return err;
}

/* Does @work. Results are those of one of @count units, operations or transactions */
static struct json_object *run_work(const char *name, const struct crab_bench_work *work, u64 count)
{
	struct json_object *row = add_phase(name, count);
	struct peer_counts before = peer_count(peer, map);
	int err = alone ? run_alone(row, work) : run_together(row, work, count);

	if (err)
		rig_fail(name, err);
	add_counts(row, &before, count);
	return row;
}

/* Key @i of @bits bits. Each step is a bijection of these numbers: odd factors, and xors from above */
static u64 narrow_key(u64 i)
{
	const u64 mask = (1ULL << bits) - 1;
	u64 key = i;
	u32 round;

	for (round = 0; round < 4; round++) {
		key = key * 0x9E3779B97F4A7C15ULL & mask;
		key ^= key >> (bits / 2 + 1);
	}
	return key;
}

/* All keys, each once. In the first phase their order is that of their numbers */
static bool phase_each(const char *name)
{
	static const struct {
		const char *name;
		enum crab_bench_op op;
	} each[] = {
		{ "insert", CRAB_BENCH_INSERT }, { "search", CRAB_BENCH_SEARCH },
		{ "update", CRAB_BENCH_UPDATE }, { "delete", CRAB_BENCH_DELETE },
	};
	struct crab_bench_work work = { .keys = keys, .n = n };
	u64 k;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(each); i++) {
		if (strcmp(each[i].name, name))
			continue;
		work.op = each[i].op;
		crab_bench_order(keys, n, 0);
		if (i)
			crab_bench_order(keys, n, i);
		else
			fresh = n;
		for (k = 0; bits && !i && k < n; k++)
			keys[k] = narrow_key(k);
		run_work(name, &work, n);
		return true;
	}
	return false;
}

static bool phase_scan(const char *name)
{
	struct crab_bench_work work = { .op = CRAB_BENCH_SCAN_FULL, .keys = keys, .scans = scans };
	u32 records;
	u64 i;

	if (sscanf(name, "scan-%u", &records) != 1 || !records)
		return false;
	work.n = clamp_t(u64, n / records, SCANS_MIN, n);
	for (i = 0; i < work.n; i++) {
		keys[i] = crab_bench_key(n + fresh + i);
		scans[i] = records;
	}
	run_work(name, &work, work.n);
	return true;
}

/* @n operations; deletes take the last keys that were inserted before, searches the others */
static bool phase_mix(const char *name)
{
	struct crab_bench_work work = { .op = CRAB_BENCH_OPS, .ops = ops, .keys = keys, .n = n };
	u32 inserts, searches, deletes, sum, at;
	u64 gone = 0, kept, made = fresh, i;

	if (sscanf(name, "mix-%u-%u-%u", &inserts, &searches, &deletes) != 3 || !fresh)
		return false;
	sum = inserts + searches + deletes;
	if (!sum || deletes > sum / 2)
		return false;
	kept = fresh - (n / sum + 1) * deletes;
	for (i = 0; i < n; i++) {
		at = i % sum;
		if (at < inserts) {
			ops[i] = CRAB_BENCH_INSERT;
			keys[i] = crab_bench_key(made++);
		} else if (at < inserts + searches) {
			ops[i] = CRAB_BENCH_SEARCH;
			keys[i] = crab_bench_key(crab_bench_key(made + i) % kept);
		} else {
			ops[i] = CRAB_BENCH_DELETE;
			keys[i] = crab_bench_key(fresh - ++gone);
		}
	}
	run_work(name, &work, n);
	fresh = made;
	return true;
}

/* Which operations are updates, a hash of their numbers decides */
static bool phase_zipf(const char *name)
{
	struct crab_bench_work work = { .op = CRAB_BENCH_OPS, .ops = ops, .keys = keys, .n = n };
	u32 skew, updates;
	u64 i;

	if (sscanf(name, "zipf-%u-%u", &skew, &updates) != 2 || !skew || skew > 99 ||
	    updates > 100 || !fresh)
		return false;
	mix_zipf(keys, n, fresh, skew / 100.0, skew);
	for (i = 0; i < n; i++)
		ops[i] = crab_bench_key(i) % 100 < updates ? CRAB_BENCH_UPDATE : CRAB_BENCH_SEARCH;
	run_work(name, &work, n);
	return true;
}

static bool phase_attach(const char *name)
{
	bool clean = !strcmp(name, "clean");
	const struct peer_counts none = { };
	struct peer_attach times;
	struct peer_counts now;
	struct json_object *row;

	if (!peer->attach || (!clean && strcmp(name, "cut")))
		return false;
	peer->attach(map, clean, &times);
	row = add_phase(name, n);
	now = peer_count(peer, map);
	row_int(row, "leaves", now.leaves);
	add_own(row, &now, &none);
	if (!counted) {
		row_double(row, "ns", (double)times.attach_ns / n);
		row_double(row, "used_ns", (double)times.used_ns / n);
	}
	return true;
}

static void add_kinds(struct json_object *row, const struct crab_bench_work *work)
{
	static const char * const names[CRAB_BENCH_OPS] = {
		[CRAB_BENCH_INSERT] = "inserts", [CRAB_BENCH_SEARCH] = "searches",
		[CRAB_BENCH_SCAN_FULL] = "scans", [CRAB_BENCH_DELETE] = "deletes",
	};
	u64 counts[CRAB_BENCH_OPS] = { }, i;

	for (i = 0; i < work->n; i++)
		counts[work->ops[i]]++;
	for (i = 0; i < CRAB_BENCH_OPS; i++)
		if (names[i])
			row_int(row, names[i], counts[i]);
}

static bool phase_tpcc(const char *name)
{
	bool load = !strcmp(name, "tpcc-load");
	struct crab_bench_work work = { .op = CRAB_BENCH_OPS };
	u32 mix = 0;

	if (!load && (sscanf(name, "tpcc-%u", &mix) != 1 || !mix || mix > TPCC_MIXES ||
		      !tpcc.warehouses))
		return false;
	if (load) {
		tpcc_begin(&tpcc, n);
		tpcc_load(&tpcc);
	} else {
		tpcc_run(&tpcc, mix - 1, TRANSACTIONS(n));
	}
	work.ops = tpcc.ops;
	work.keys = tpcc.keys;
	work.scans = tpcc.scans;
	work.n = tpcc.n;
	add_kinds(run_work(name, &work, load ? tpcc.n : TRANSACTIONS(n)), &work);
	return true;
}

static void phase(const char *name)
{
	if (bits && strcmp(name, "insert"))
		rig_fail("--bits: only the phase insert has such keys", -EINVAL);
	if (!phase_each(name) && !phase_scan(name) && !phase_mix(name) && !phase_zipf(name) &&
	    !phase_attach(name) && !phase_tpcc(name))
		rig_fail(name, -EINVAL);
}

static void print_floor(void)
{
	struct json_object *said = json_object_new_object(), *row = json_object_new_object();
	struct crab_costs costs;

	if (crab_costs_measure(&costs))
		rig_fail("no memory", -ENOMEM);
	add_floor(said);
	row_text(said, "method", crab_persist_method());
	row_int(row, "round", costs.round);
	row_int(row, "line", costs.line);
	row_int(row, "order", costs.order);
	row_int(row, "record", costs.record);
	row_int(row, "pair", costs.pair);
	json_object_object_add(said, "costs_ps", row);
	row_print(said);
}

static void option(int c)
{
	static const u32 most = TEAM_MAX;

	switch (c) {
	case 'e':
		engine = optarg;
		break;
	case 'l':
		layout = optarg;
		break;
	case 'o':
		if (!peer_store_option(optarg))
			rig_fail(optarg, -EINVAL);
		break;
	case 'b':
		leaf_bytes = strtoul(optarg, NULL, 0);
		break;
	case 'k':
		n = strtoull(optarg, NULL, 0);
		break;
	case 't':
		threads = clamp_t(u32, strtoul(optarg, NULL, 0), 1, most);
		break;
	case 'B':
		bits = clamp_t(u32, strtoul(optarg, NULL, 0), 24, 63);
		break;
	case 'c':
		counted = true;
		peer_fence_only = true;
		break;
	case 'n':
		peer_fence_only = true;
		break;
	case 'L':
		table_print();
		exit(0);
	case 0:		/* a flag is set */
		break;
	default:
		exit(2);
	}
}

static void options(int argc, char **argv)
{
	static const struct option known[] = {
		{ "engine", required_argument, NULL, 'e' },
		{ "layout", required_argument, NULL, 'l' },
		{ "option", required_argument, NULL, 'o' },
		{ "leaf", required_argument, NULL, 'b' },
		{ "keys", required_argument, NULL, 'k' },
		{ "threads", required_argument, NULL, 't' },
		{ "bits", required_argument, NULL, 'B' },
		{ "counted", no_argument, NULL, 'c' },
		{ "alone", no_argument, &alone, 1 },
		{ "no-cleans", no_argument, NULL, 'n' },
		{ "floor", no_argument, &floor_only, 1 },
		{ "no-floor", no_argument, &no_floor, 1 },
		{ "list", no_argument, NULL, 'L' },
		{ }
	};
	int c;

	while ((c = getopt_long(argc, argv, "", known, NULL)) != -1)
		option(c);
	if (n < 1000)
		rig_fail("at least 1000 keys", -EINVAL);
	peer = peer_find(engine, layout);
	if (!peer)
		rig_fail("no such engine or layout", -EINVAL);
	if (alone && counted)
		rig_fail("--alone measures times, --counted does not", -EINVAL);
	if (threads > 1 && !peer->threads)
		rig_fail("this engine has no locks", -EINVAL);
}

/* Room for the keys, and for those that a mix and the transactions of TPC-C add */
static void prepare(void)
{
	struct crab_media media;

	crab_host_seed(1);	/* faster random numbers: no system call each, as in the kernel */
	slab_populate(n * HEAP_PER_KEY);
	media = rig_region(n * (sizeof(*keys) + sizeof(*scans) + sizeof(*ops)));
	keys = (u64 *)media.base;
	scans = (u32 *)(keys + n);
	ops = (u8 *)(scans + n);
	map = peer->open(peer, 2 * n + 20000, leaf_bytes ?: CRAB_LEAF_BYTES_DEFAULT);
}

int main(int argc, char **argv)
{
	struct json_object *said = json_object_new_object();

	options(argc, argv);
	rig_pin(0);
	if (crab_persist_init())
		rig_fail("this CPU cannot clean a cache line", -EOPNOTSUPP);
	if (floor_only) {
		print_floor();
		return 0;
	}
	prepare();
	phases = json_object_new_array();
	if (!counted && !no_floor)
		add_floor(said);
	for (; optind < argc; optind++)
		phase(argv[optind]);
	json_object_object_add(said, "phases", phases);
	row_print(said);
	return 0;
}

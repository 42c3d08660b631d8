// SPDX-License-Identifier: GPL-2.0
/*
 * This file measures one map once: it creates the map, executes one phase after the other,
 * and prints a row of JSON for each. scripts/bench does rounds, ratios and pages.
 *
 *   bench [--engine NAME] [--layout NAME] [--workload NAME] [--keys N] [--threads N]
 *	   [--batch N] [--leaf N] [--op NAME]... [--caches] [--floor-once]
 *   bench --list	the engines and layouts of the store that scripts/bench measures
 *
 * A workload is uniform, alone, sequential, zipfian, sparse, ycsb, attach or apart. `alone` is uniform,
 * but each operation begins after all earlier loads and stores are complete (alone.h). `apart` is
 * uniform while another process does the same concurrently, phase by phase, with its own store on
 * another CPU: the limit of two CPUs that share only the memory. --op, which may be repeated, selects
 * operations; the others are left out, except those that insert the keys. --caches: the caches persist, so no
 * line is cleaned; the rows have this after the name of the layout. --floor-once: the floor of the first
 * phase is that of all, for tests of the programs.
 *
 * The keys of a phase are computed before the phase, and the floor is measured immediately before
 * it. Threads are pinned, one to a CPU, and begin together. Time is reported twice: the CPU time
 * of all threads without maintenance, which is reported separately; and the time from the begin of
 * the first thread to the end of the last one, including maintenance.
 */
#include <errno.h>
#include <getopt.h>
#include <json-c/json.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/random.h>
#include <linux/string.h>

#include "alone.h"
#include "bench/loop.h"
#include "mix.h"
#include "peer.h"
#include "rig.h"
#include "row.h"
#include "slab.h"
#include "table.h"
#include "team.h"

#define FLOOR_BYTES	(64ULL << 20)
#define HEAP_PER_KEY	40	/* bytes, for the map that needs most */
#define ATTACHES	5
#define ONLY_MAX	16

static const char *engine = "crab", *layout = "", *workload = "uniform";
static const char *only[ONLY_MAX];
static u32 only_count;
static u64 n = 1000000;
static int floor_once;
static u32 threads = 1, batch = 1, leaf_bytes;

static const struct peer *peer;
static void *map;
static u64 *keys;		/* of the current phase, one for each operation */
static u8 *ops;
static struct crab_media floor_media;
static struct json_object *rows;
static pthread_barrier_t *beside;	/* before each phase, with two processes */

static struct json_object *add_row(const char *named, const char *op)
{
	struct json_object *row = json_object_new_object();
	char layout_text[64];

	snprintf(layout_text, sizeof(layout_text), "%s%s", peer->layout,
		 peer_fence_only ? " caches" : "");
	row_text(row, "engine", peer->engine);
	row_text(row, "layout", layout_text);
	row_text(row, "workload", named);
	row_text(row, "op", op);
	row_int(row, "keys", n);
	row_int(row, "threads", threads);
	row_int(row, "batch", batch);
	row_int(row, "leaf_bytes", leaf_bytes);
	json_object_array_add(rows, row);
	return row;
}

static struct crab_bench_floor floor;	/* of the phase */

static void add_floor(struct json_object *row)
{
	if (!floor_once || !floor.line)
		crab_bench_floor_measure(&floor_media, FLOOR_BYTES, rig_cpu_ns, &floor);
	row_floor(row, &floor);
}

static void add_counts(struct json_object *row, const struct peer_counts *before, u64 count)
{
	struct peer_counts now = peer_count(peer, map);

	row_double(row, "lines", (double)(now.lines - before->lines) / count);
	row_double(row, "fences", (double)(now.fences - before->fences) / count);
	row_double(row, "prepare_lines", (double)(now.prepare_lines - before->prepare_lines) / count);
	row_double(row, "prepare_fences", (double)(now.prepare_fences - before->prepare_fences) / count);
	row_double(row, "dram", now.dram);
}

/* @count operations: @op on each of the keys, or @ops */
static void phase(const char *named, const char *name, enum crab_bench_op op, u64 count)
{
	struct crab_bench_work work = {
		.op = op, .ops = op == CRAB_BENCH_OPS ? ops : NULL, .keys = keys, .n = count,
		.batch = batch,
	};
	struct peer_counts before;
	struct json_object *row;
	struct team_time time;
	int err;

	rig_pin(0);
	row = add_row(named, name);
	add_floor(row);
	before = peer_count(peer, map);
	if (beside)
		pthread_barrier_wait(beside);
	err = team_run(peer, map, &work, threads, &time);
	if (err)
		rig_fail(name, err);
	row_double(row, "ns_cpu", (double)time.cpu_ns / count);
	row_double(row, "ns_wall", (double)time.wall_ns / count);
	row_double(row, "prepare_ns", (double)time.prepare_ns / count);
	add_counts(row, &before, count);
}

/* @count operations, each alone; their time in dependent loads, without the floor if they clean */
static void phase_alone(const char *name, enum crab_bench_op op, u64 count)
{
	struct crab_bench_work work = { .op = op, .keys = keys, .n = count };
	struct json_object *row = add_row(workload, name);
	struct peer_counts before;
	struct alone_time time;
	bool cleans;
	int err;

	rig_pin(0);
	add_floor(row);
	before = peer_count(peer, map);
	err = alone_run(peer, map, &work, 1, &time);
	if (err)
		rig_fail(name, err);
	row_double(row, "ns_cpu", time.mean);
	row_double(row, "p50", time.p50);
	row_double(row, "p99", time.p99);
	row_double(row, "p999", time.p999);
	row_double(row, "worst", time.worst);
	row_double(row, "prepare_ns", (double)time.prepare_ns / count);
	cleans = !peer_fence_only && peer_count(peer, map).lines > before.lines;
	row_double(row, "loads", (time.mean * 1000 - (cleans ? floor.line : 0)) / floor.load);
	add_counts(row, &before, count);
}

/* Insert the keys without measuring it; this thread is not pinned */
static void fill(void)
{
	struct crab_bench_work work = { .op = CRAB_BENCH_INSERT, .keys = keys, .n = n };
	struct team_time time;
	int err;

	crab_bench_order(keys, n, 0);
	err = team_run(peer, map, &work, 1, &time);
	if (err)
		rig_fail("insert", err);
}

/* Was the operation or the mix of this name selected? */
static bool wanted(const char *named, const char *op)
{
	u32 i;

	for (i = 0; i < only_count; i++)
		if (!strcmp(only[i], named) || !strcmp(only[i], op))
			return true;
	return !only_count;
}

static void run_uniform(void)
{
	const struct crab_bench_phase *p;

	for (p = crab_bench_phases; p->name; p++) {
		crab_bench_order(keys, n, p - crab_bench_phases);
		if (batch > 1 && p->op == CRAB_BENCH_SCAN_FULL)
			continue;
		if (wanted(workload, p->name) || p->op == CRAB_BENCH_INSERT)
			phase(workload, p->name, p->op, n / p->part);
	}
}

static void run_alone(void)
{
	const struct crab_bench_phase *p;

	for (p = crab_bench_phases; p->name; p++) {
		crab_bench_order(keys, n, p - crab_bench_phases);
		if (p->op == CRAB_BENCH_SCAN_FULL)
			continue;
		if (wanted(workload, p->name) || p->op == CRAB_BENCH_INSERT)
			phase_alone(p->name, p->op, n);
	}
}

static void run_sequential(void)
{
	const struct crab_bench_phase *p;
	u64 i;

	for (i = 0; i < n; i++)
		keys[i] = i;
	for (p = crab_bench_phases; p->name; p++)
		if (wanted(workload, p->name) || p->op == CRAB_BENCH_INSERT)
			phase(workload, p->name, p->op, n / p->part);
}

/* Each key is inserted and deleted only once, so these two have no such distribution */
static void run_zipfian(void)
{
	const struct crab_bench_phase *p;

	fill();
	for (p = crab_bench_phases; p->name; p++) {
		if (!wanted(workload, p->name) || p->op == CRAB_BENCH_INSERT || p->op == CRAB_BENCH_DELETE)
			continue;
		mix_zipf(keys, n / p->part, n, MIX_THETA, p - crab_bench_phases);
		phase(workload, p->name, p->op, n / p->part);
	}
}

/* Delete nine in ten keys; then access the rest */
static void run_sparse(void)
{
	const struct crab_bench_phase *p;
	u64 gone = n / 10 * 9;

	fill();
	crab_bench_order(keys, n, 1);
	phase(workload, "delete", CRAB_BENCH_DELETE, gone);
	keys += gone;
	for (p = crab_bench_phases; p->name; p++) {
		if (!wanted(workload, p->name) || p->op == CRAB_BENCH_INSERT || p->op == CRAB_BENCH_DELETE)
			continue;
		crab_bench_order(keys, n - gone, 1);
		phase(workload, p->name, p->op, n - gone);
	}
}

static void run_ycsb(void)
{
	const struct mix *mix;
	u64 count, fresh = n, from, to;
	u32 i;

	fill();
	for (mix = mixes; mix->name; mix++) {
		count = mix->scan ? n / 10 : n;
		for (i = 0; i < threads; i++) {
			team_share(count, threads, i, &from, &to);
			mix_fill(mix, ops + from, keys + from, to - from, n, fresh + from);
		}
		fresh += count;
		if (wanted(mix->name, "mix"))
			phase(mix->name, "mix", CRAB_BENCH_OPS, count);
	}
}

static int double_cmp(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *values, u32 count)
{
	qsort(values, count, sizeof(*values), double_cmp);
	return values[count / 2];
}

static void attach_row(const char *op, double *times)
{
	struct json_object *row = add_row(workload, op);

	add_floor(row);
	row_double(row, "ns_wall", median(times, ATTACHES) / n);
}

/* Attach uses all CPUs, so this is elapsed time, not CPU time */
static void run_attach(void)
{
	double attach[ATTACHES], region[ATTACHES], used[ATTACHES];
	struct peer_attach times;
	u32 i;

	if (!peer->attach)
		rig_fail("there is nothing to attach", -EINVAL);
	fill();
	for (i = 0; i < ATTACHES; i++) {
		peer->attach(map, true, &times);
		attach[i] = times.attach_ns;
		region[i] = times.region_ns;
		used[i] = times.used_ns;
	}
	attach_row("attach", attach);
	attach_row("read", region);
	attach_row("read-used", used);
}

/* Fails if the other process fails, instead of waiting for it */
static void beside_ended(int signal)
{
	static const char said[] = "bench: the other process failed\n";
	int status;

	if (waitpid(-1, &status, WNOHANG) <= 0 || !status)
		return;
	_exit(write(STDERR_FILENO, said, sizeof(said) - 1) ? 1 : 2);
}

/* Starts a second process, which prints nothing and ends with this one */
static void beside_begin(void)
{
	pthread_barrierattr_t shared;
	pid_t pid;

	beside = mmap(NULL, sizeof(*beside), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (beside == MAP_FAILED)
		rig_fail("no memory for a barrier", -ENOMEM);
	pthread_barrierattr_init(&shared);
	pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(beside, &shared, 2);
	signal(SIGCHLD, beside_ended);
	pid = fork();
	if (pid < 0)
		rig_fail("no other process", -errno);
	if (pid)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	rig_leave_first_cpu();
	if (!freopen("/dev/null", "w", stdout))
		rig_fail("/dev/null", -errno);
}

static const struct {
	const char *name;
	void (*run)(void);
} workloads[] = {
	{ "uniform", run_uniform },
	{ "alone", run_alone },
	{ "sequential", run_sequential },
	{ "zipfian", run_zipfian },
	{ "sparse", run_sparse },
	{ "ycsb", run_ycsb },
	{ "attach", run_attach },
	{ "apart", run_uniform },
};

static void find_peer(void)
{
	peer = peer_find(engine, layout);
	if (!peer)
		rig_fail("no such engine or layout", -EINVAL);
	if (threads > 1 && !peer->threads)
		rig_fail("this engine has no locks", -EINVAL);
	if (batch > 1 && !peer->batches)
		rig_fail("this engine has no batches", -EINVAL);
}

static void option(int c)
{
	switch (c) {
	case 'e':
		engine = optarg;
		break;
	case 'l':
		layout = optarg;
		break;
	case 'w':
		workload = optarg;
		break;
	case 'k':
		n = strtoull(optarg, NULL, 0);
		break;
	case 't':
		threads = strtoul(optarg, NULL, 0);
		break;
	case 'n':
		batch = strtoul(optarg, NULL, 0);
		break;
	case 'b':
		leaf_bytes = strtoul(optarg, NULL, 0);
		break;
	case 'o':
		if (only_count < ONLY_MAX)
			only[only_count++] = optarg;
		break;
	case 'c':
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
		{ "workload", required_argument, NULL, 'w' },
		{ "keys", required_argument, NULL, 'k' },
		{ "threads", required_argument, NULL, 't' },
		{ "batch", required_argument, NULL, 'n' },
		{ "leaf", required_argument, NULL, 'b' },
		{ "op", required_argument, NULL, 'o' },
		{ "caches", no_argument, NULL, 'c' },
		{ "floor-once", no_argument, &floor_once, 1 },
		{ "list", no_argument, NULL, 'L' },
		{ }
	};
	int c;

	while ((c = getopt_long(argc, argv, "", known, NULL)) != -1)
		option(c);
	if (n < 1000 || !threads || threads > TEAM_MAX || !batch || batch > CRAB_BENCH_BATCH)
		rig_fail("at least 1000 keys, 1 to 64 threads, batches of 1 to 64", -EINVAL);
	find_peer();
}

static void prepare(void)
{
	struct crab_media media;

	if (crab_persist_init())
		rig_fail("this CPU cannot clean a cache line", -EOPNOTSUPP);
	peer_store_price();
	crab_host_seed(1);	/* faster random numbers: no system call each, as in the kernel */
	slab_populate(n * HEAP_PER_KEY);
	floor_media = rig_region(FLOOR_BYTES);
	media = rig_region(n * (sizeof(*keys) + sizeof(*ops)));
	keys = (u64 *)media.base;
	ops = (u8 *)(keys + n);
	rows = json_object_new_array();
	map = peer->open(peer, n + n / 5, leaf_bytes);	/* some mixes insert, too */
}

int main(int argc, char **argv)
{
	u32 i;

	options(argc, argv);
	for (i = 0; strcmp(workloads[i].name, workload); )
		if (++i == ARRAY_SIZE(workloads))
			rig_fail(workload, -EINVAL);
	if (!strcmp(workload, "apart"))
		beside_begin();
	prepare();
	workloads[i].run();
	row_print(rows);
	return 0;
}

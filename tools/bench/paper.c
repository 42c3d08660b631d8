// SPDX-License-Identifier: GPL-2.0
/*
 * This file repeats the measurements of Wang et al. 2020, section 6, with the engines of this
 * tree: the workload of section 6.2, figures 7 to 13.
 *
 *   paper [--keys N] [--big-keys N] [--rounds N] [--leaves B,B...]
 *	   [--big-leaves B,B...] [--figure N]... [--system NAME] [--json FILE]
 *
 * Keys are uniform and unique. All are inserted, searched in another order and
 * deleted in a third. One thread, pinned to one core; time is that thread's CPU
 * time. The store is the same as in the module, with its lock and its counters;
 * cleans and fences are real.
 *
 * Each run is a separate process with its own region and heap, and begins by
 * measuring the floor. Systems that are compared run in turn, round after
 * round. The result is the median of the rounds, of times and of ratios alike.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/sort.h>
#include <linux/string.h>

#include "bench/floor.h"
#include "bench/loop.h"
#include "engines/crab/sorted/tuning.h"
#include "rig.h"

#define ROUNDS_MAX	9
#define LEAVES_MAX	8
#define SYSTEMS_MAX	16
#define FLOOR_BYTES	(64ULL << 20)

enum { INSERT, SEARCH, DELETE, CLEAN_ATTACH, CUT_ATTACH, FLOOR, TIMES };

static const char * const time_names[TIMES] = {
	"insert_ns", "search_ns", "delete_ns", "attach_clean_ns", "attach_cut_ns", "floor_ns"
};

/* Phases of a run after its inserts */
#define DO_READ		(1U << 0)	/* search and delete */
#define DO_REBUILD	(1U << 1)	/* attach after detach, and after a cut */

/**
 * struct system - one bar of a figure
 * @name: as the page names it
 * @engine: its engine
 * @layout: its layout
 * @tuning: how it is attached
 */
struct system {
	const char *name;
	const char *engine;
	const char *layout;
	struct crab_tuning tuning;
};

/**
 * struct result - one run
 * @ns: per operation, or per key
 * @info: of the store after the inserts
 * @delete_lines: lines of the deletes
 * @delete_fences: fences of the deletes
 * @floor: before the run
 */
struct result {
	double ns[TIMES];
	struct crab_store_info info;
	u64 delete_lines;
	u64 delete_fences;
	struct crab_bench_floor floor;
};

/**
 * struct figure - bars that are compared with each other
 * @number: in the paper
 * @big: with the greater number of keys
 * @flags: DO_*
 * @only: the one leaf size, or 0: all
 * @systems: the bars
 */
struct figure {
	u32 number;
	bool big;
	u32 flags;
	u32 only;
	u32 n;
	struct system systems[SYSTEMS_MAX];
};

static u64 keys = 1000000, big_keys = 10000000;
static u32 rounds = 3;
static u32 leaves[LEAVES_MAX] = { 512, 1024, 2048, 4096, 8192 };
static u32 big_leaves[LEAVES_MAX] = { 512, 1024, 2048, 4096, 8192 };
static u32 wanted;		/* a bit a figure; 0: all */
static const char *only_system;
static struct crab_costs costs;
static FILE *out;
static bool comma;

static struct crab_store *attach(struct crab_media *media, const struct crab_tuning *tuning)
{
	struct crab_attach_options options = { .tuning = tuning };

	return rig_attach(media, &options);
}

static int operate(struct crab_store *store, u32 what, u64 i)
{
	struct crab_old old;
	u64 value;
	int err;

	if (what == INSERT) {
		err = crab_store_insert(store, crab_bench_key(i), i, CRAB_INSERT_EITHER, &old);
		crab_store_maintain(store);
		return err;
	}
	if (what == DELETE)
		return crab_store_delete(store, crab_bench_key(i), &old);
	err = crab_store_search(store, crab_bench_key(i), &value);
	return err ?: value == i ? 0 : -EIO;
}

/* All keys, each once, in an order that belongs to @what; ns per operation */
static double run_phase(struct crab_store *store, u32 what, u64 n)
{
	static const u64 strides[] = { [INSERT] = 1, [SEARCH] = 611953, [DELETE] = 352327 };
	u64 stride = strides[what] % n, at = 0, i, began = rig_cpu_ns();
	int err;

	for (i = 0; i < n; i++) {
		err = operate(store, what, at);
		if (err)
			rig_fail(time_names[what], err);
		at += stride;
		if (at >= n)
			at -= n;
	}
	return (double)(rig_cpu_ns() - began) / n;
}

static double attach_ns(struct crab_store *store, u64 n)
{
	struct crab_store_info info;

	crab_store_info(store, &info);
	if (info.stats.records != n)
		rig_fail("attach lost records", -EIO);
	return (double)info.attach_ns / n;
}

/* Rebuilding, section 6.5: after a normal exit, and after a cut */
static struct crab_store *run_rebuild(struct crab_store *store, struct crab_media *media,
				      const struct system *system, u64 n, struct result *r)
{
	crab_store_detach(store);
	store = attach(media, &system->tuning);
	r->ns[CLEAN_ATTACH] = attach_ns(store, n);
	crab_store_abandon(store);
	store = attach(media, &system->tuning);
	r->ns[CUT_ATTACH] = attach_ns(store, n);
	return store;
}

static void run_rest(struct crab_store *store, u64 n, struct result *r)
{
	struct crab_store_info info;

	crab_store_info(store, &r->info);
	r->ns[SEARCH] = run_phase(store, SEARCH, n);
	r->ns[DELETE] = run_phase(store, DELETE, n);
	crab_store_info(store, &info);
	r->delete_lines = info.counts.lines - r->info.counts.lines;
	r->delete_fences = info.counts.fences - r->info.counts.fences;
}

static struct result run(const struct system *system, u32 leaf_bytes, u64 n, u32 flags)
{
	u64 bytes = crab_bench_region_bytes(system->engine, system->layout, n, leaf_bytes);
	struct crab_media media = rig_region(max(bytes, FLOOR_BYTES));
	struct crab_store *store;
	struct result r = { };

	crab_bench_floor_measure(&media, FLOOR_BYTES, rig_cpu_ns, &r.floor);
	memset(media.base, 0, FLOOR_BYTES);
	r.ns[FLOOR] = r.floor.line / 1000.0;
	rig_format(&media, system->engine, system->layout, leaf_bytes);
	store = attach(&media, &system->tuning);
	media.fence_only = flags & DO_REBUILD;	/* these inserts are not measured */
	r.ns[INSERT] = run_phase(store, INSERT, n);
	media.fence_only = false;
	crab_store_info(store, &r.info);
	if (flags & DO_REBUILD)
		store = run_rebuild(store, &media, system, n, &r);
	if (flags & DO_READ)
		run_rest(store, n, &r);
	return r;
}

/* Runs in a separate process, whose heap and region are freed at its end */
static void run_apart(const struct system *system, u32 leaf_bytes, u64 n, u32 flags,
		      struct result *result)
{
	int ends[2], status;
	pid_t pid;

	if (pipe(ends) || (pid = fork()) < 0)
		rig_fail("no process", -errno);
	if (!pid) {
		*result = run(system, leaf_bytes, n, flags);
		_exit(write(ends[1], result, sizeof(*result)) != sizeof(*result));
	}
	close(ends[1]);
	if (read(ends[0], result, sizeof(*result)) != sizeof(*result) ||
	    waitpid(pid, &status, 0) != pid || status)
		rig_fail("a run failed", -EIO);
	close(ends[0]);
}

static int double_cmp(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static double median(double *values, u32 n)
{
	sort(values, n, sizeof(*values), double_cmp, NULL);
	return values[n / 2];
}

/* The median of a time, or of its ratio to @by if that is a time, too */
static double median_of(const struct result *results, u32 n, u32 time, u32 by)
{
	double values[ROUNDS_MAX];
	u32 i;

	for (i = 0; i < n; i++)
		values[i] = results[i].ns[time] / (by < TIMES ? results[i].ns[by] : 1);
	return median(values, n);
}

static void print_number(const char *name, double value)
{
	fprintf(out, ", \"%s\": %.4f", name, value);
}

static void print_counts(const struct crab_store_info *info, u64 n)
{
	const struct crab_counts *c = &info->counts;
	const char * const *names = info->counters;
	u32 i;

	print_number("lines", (double)c->lines / n);
	print_number("fences", (double)c->fences / n);
	print_number("orders", (double)c->orders / n);
	print_number("prepare_lines", (double)info->prepare_lines / n);
	print_number("leaves", info->stats.leaves_used);
	for (i = 0; names && names[i]; i++)
		print_number(names[i], (double)c->own[i] / n);
}

static void print_row(const struct figure *figure, const struct system *system, u32 leaf_bytes,
		      u64 n, const struct result *results, u32 runs)
{
	u32 i;

	fprintf(out, "%s\n    { \"figure\": %u, \"system\": \"%s\", \"leaf_bytes\": %u, \"keys\": %llu",
		comma ? "," : "", figure->number, system->name, leaf_bytes, (unsigned long long)n);
	for (i = 0; i < TIMES; i++)
		if (results->ns[i])
			print_number(time_names[i], median_of(results, runs, i, TIMES));
	print_number("insert_floors", median_of(results, runs, INSERT, FLOOR));
	print_number("delete_lines", (double)results->delete_lines / n);
	print_number("delete_fences", (double)results->delete_fences / n);
	print_counts(&results->info, n);
	fprintf(out, ", \"runs\": %u }", runs);
	fflush(out);
	comma = true;
}

static void figure_leaf(const struct figure *figure, u32 leaf_bytes)
{
	static struct result results[SYSTEMS_MAX][ROUNDS_MAX];
	u32 runs = figure->big ? 1 : rounds, round, i;
	u64 n = figure->big ? big_keys : keys;

	for (round = 0; round < runs; round++) {
		for (i = 0; i < figure->n; i++) {
			fprintf(stderr, "paper: figure %u, leaves of %u, %llu keys, round %u of %u: %s\n",
				figure->number, leaf_bytes, (unsigned long long)n, round + 1, runs,
				figure->systems[i].name);
			run_apart(&figure->systems[i], leaf_bytes, n, figure->flags,
				  &results[i][round]);
		}
	}
	for (i = 0; i < figure->n; i++)
		print_row(figure, &figure->systems[i], leaf_bytes, n, results[i], runs);
}

static void figure_run(const struct figure *figure)
{
	const u32 *sizes = figure->big ? big_leaves : leaves;
	u32 i;

	if (wanted && !(wanted & 1U << figure->number))
		return;
	if (figure->only) {
		figure_leaf(figure, figure->only);
		return;
	}
	for (i = 0; i < LEAVES_MAX && sizes[i]; i++)
		figure_leaf(figure, sizes[i]);
}

static struct crab_tuning tuning(enum crab_strategy strategy, bool pool, bool probe, bool pair)
{
	return (struct crab_tuning) {
		.strategy = strategy, .on_demand = !pool, .probe = probe, .pair = pair,
		.costs = costs,
	};
}

static void add(struct figure *figure, const char *name, const char *engine, const char *layout,
		struct crab_tuning tuning)
{
	if (only_system && strcmp(name, only_system))
		return;
	figure->systems[figure->n++] = (struct system) {
		.name = name, .engine = engine, .layout = layout, .tuning = tuning,
	};
}

static void add_sorted(struct figure *figure, const char *name, struct crab_tuning tuning)
{
	add(figure, name, "crab", "sorted", tuning);
}

/* Figures 7, 8, 10 with few keys, 9 with many */
static void figure_systems(u32 number, bool big)
{
	struct figure figure = { .number = number, .big = big, .flags = DO_READ };
	struct crab_tuning opt = tuning(CRAB_STRATEGY_AUTO, true, true, true);

	add(&figure, "volatile", "volatile", "", opt);
	add_sorted(&figure, "crab", tuning(CRAB_STRATEGY_AUTO, false, false, false));
	add_sorted(&figure, "crab_opt", opt);
	if (!big)
		add(&figure, "slotted", "crab", "slotted", opt);
	figure_run(&figure);
}

static void figure_strategies(void)
{
	struct figure figure = { .number = 11 };

	add_sorted(&figure, "crab", tuning(CRAB_STRATEGY_AUTO, false, false, false));
	add_sorted(&figure, "crab, COW only", tuning(CRAB_STRATEGY_COW, false, false, false));
	add_sorted(&figure, "crab, SIP only", tuning(CRAB_STRATEGY_SIP, false, false, false));
	add_sorted(&figure, "crab_opt", tuning(CRAB_STRATEGY_AUTO, true, true, true));
	add_sorted(&figure, "crab_opt, pair as priced",
		   tuning(CRAB_STRATEGY_AUTO, true, true, crab_costs_pair(&costs)));
	add_sorted(&figure, "crab_opt, no probe", tuning(CRAB_STRATEGY_AUTO, true, false, true));
	add_sorted(&figure, "crab_opt, COW only", tuning(CRAB_STRATEGY_COW, true, true, true));
	add_sorted(&figure, "crab_opt, SIP only", tuning(CRAB_STRATEGY_SIP, true, true, true));
	figure_run(&figure);
}

static void figure_combinations(void)
{
	static const char * const names[] = {
		"crab", "+16B_AW", "+probe", "+probe +16B_AW", "+self_space",
		"+self_space +16B_AW", "+self_space +probe", "crab_opt",
	};
	struct figure figure = { .number = 12, .only = 1024 };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(names); i++)
		add_sorted(&figure, names[i], tuning(CRAB_STRATEGY_AUTO, i & 4, i & 2, i & 1));
	figure_run(&figure);
}

static void figure_rebuild(bool big)
{
	struct figure figure = { .number = 13, .big = big, .flags = DO_REBUILD };

	add_sorted(&figure, "crab_opt", tuning(CRAB_STRATEGY_AUTO, true, true, true));
	figure_run(&figure);
}

static void print_head(void)
{
	struct crab_media media = rig_region(FLOOR_BYTES);
	struct crab_bench_floor floor;

	crab_bench_floor_measure(&media, FLOOR_BYTES, rig_cpu_ns, &floor);
	rig_region_free(&media);
	fprintf(out, "{\n  \"keys\": %llu, \"big_keys\": %llu, \"rounds\": %u, \"method\": \"%s\",\n",
		(unsigned long long)keys, (unsigned long long)big_keys, rounds,
		crab_persist_method());
	fprintf(out, "  \"floor\": { \"random_ns\": %.1f, \"sequential_ns\": %.1f, \"load_ns\": %.1f },\n",
		floor.any / 1000.0, floor.line / 1000.0, floor.load / 1000.0);
	fprintf(out, "  \"costs_ps\": { \"round\": %u, \"line\": %u, \"order\": %u, \"record\": %u, \"pair\": %u },\n",
		costs.round, costs.line, costs.order, costs.record, costs.pair);
	fprintf(out, "  \"rows\": [");
}

static void parse_leaves(u32 *sizes, char *text)
{
	u32 n = 0;
	char *word;

	memset(sizes, 0, LEAVES_MAX * sizeof(*sizes));
	for (word = strtok(text, ","); word && n < LEAVES_MAX; word = strtok(NULL, ","))
		sizes[n++] = strtoul(word, NULL, 0);
}

static void option(int c)
{
	switch (c) {
	case 'k':
		keys = strtoull(optarg, NULL, 0);
		break;
	case 'b':
		big_keys = strtoull(optarg, NULL, 0);
		break;
	case 'r':
		rounds = clamp_t(u32, strtoul(optarg, NULL, 0), 1, ROUNDS_MAX);
		break;
	case 'l':
		parse_leaves(leaves, optarg);
		break;
	case 'L':
		parse_leaves(big_leaves, optarg);
		break;
	case 'f':
		wanted |= 1U << (strtoul(optarg, NULL, 0) & 31);
		break;
	case 's':
		only_system = optarg;
		break;
	case 'j':
		out = fopen(optarg, "w");
		if (!out)
			rig_fail(optarg, -errno);
		break;
	default:
		exit(2);
	}
}

static void options(int argc, char **argv)
{
	static const struct option known[] = {
		{ "keys", required_argument, NULL, 'k' },
		{ "big-keys", required_argument, NULL, 'b' },
		{ "rounds", required_argument, NULL, 'r' },
		{ "leaves", required_argument, NULL, 'l' },
		{ "big-leaves", required_argument, NULL, 'L' },
		{ "figure", required_argument, NULL, 'f' },
		{ "system", required_argument, NULL, 's' },
		{ "json", required_argument, NULL, 'j' },
		{ }
	};
	int c;

	while ((c = getopt_long(argc, argv, "", known, NULL)) != -1)
		option(c);
	if (keys < 1000 || big_keys < 1000)
		rig_fail("a number of keys is at least 1000", -EINVAL);
}

int main(int argc, char **argv)
{
	out = stdout;
	options(argc, argv);
	rig_pin(0);
	if (crab_persist_init() || crab_costs_measure(&costs))
		return 1;
	print_head();
	figure_systems(7, false);
	figure_strategies();
	figure_combinations();
	figure_rebuild(false);
	figure_systems(9, true);
	figure_rebuild(true);
	fprintf(out, "\n  ]\n}\n");
	return fclose(out) != 0;
}

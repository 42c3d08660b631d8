// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements `crabctl top`: the operations of a store per second, and the lines and
 * fences that a write took, from the differences of two INFO calls.
 *
 * Invariant: if the store was attached again in between, its counters began again: that
 * interval has no rates.
 */
#include "crabctl.h"

#include <inttypes.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

struct args {
	struct target *target;
	uint64_t interval_ms;
	bool once;
};

enum { OPT_ONCE = 0x2000 };

static double seconds(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

/* Differences of the counters since @before; false if they began again */
static bool differences(const struct crabtree_info *before, const struct crabtree_info *now,
			struct crabtree_info *delta)
{
	if (now->inserts < before->inserts || now->updates < before->updates ||
	    now->deletes < before->deletes || now->searches < before->searches ||
	    now->lines < before->lines || now->fences < before->fences)
		return false;
	delta->inserts = now->inserts - before->inserts;
	delta->updates = now->updates - before->updates;
	delta->deletes = now->deletes - before->deletes;
	delta->searches = now->searches - before->searches;
	delta->lines = now->lines - before->lines;
	delta->fences = now->fences - before->fences;
	return true;
}

static double per(uint64_t part, double whole)
{
	return whole > 0 ? part / whole : 0;
}

static uint64_t writes_of(const struct crabtree_info *info)
{
	return info->inserts + info->updates + info->deletes;
}

static void print_json(const struct target *target, const struct crabtree_info *now,
		       const struct crabtree_info *delta, double elapsed)
{
	struct json_object *json = json_object_new_object();

	json_text(json, target->image ? "image" : "device", target_path(target));
	json_text(json, "state", crabtree_state_name(now->state));
	json_object_object_add(json, "seconds", json_object_new_double(elapsed));
	json_u64(json, "inserts", delta->inserts);
	json_u64(json, "updates", delta->updates);
	json_u64(json, "deletes", delta->deletes);
	json_u64(json, "searches", delta->searches);
	json_u64(json, "lines", delta->lines);
	json_u64(json, "fences", delta->fences);
	json_u64(json, "records", now->records);
	json_u64(json, "leaves_used", now->leaves_used);
	puts(json_object_to_json_string_ext(json, JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(json);
}

static void print_text(const struct crabtree_info *now, const struct crabtree_info *delta,
		       double elapsed)
{
	double writes = writes_of(delta);

	printf("%-10s %12" PRIu64 " %10.0f %10.0f %10.0f %10.0f %8.2f %8.2f\n",
	       crabtree_state_name(now->state), (uint64_t)now->records,
	       per(delta->inserts, elapsed), per(delta->updates, elapsed),
	       per(delta->deletes, elapsed), per(delta->searches, elapsed),
	       per(delta->lines, writes), per(delta->fences, writes));
}

static void print_header(void)
{
	printf("%-10s %12s %10s %10s %10s %10s %8s %8s\n", "STATE", "RECORDS", "INSERT/S",
	       "UPDATE/S", "DELETE/S", "SEARCH/S", "LINES/W", "FENCES/W");
}

static int show(struct args *args, struct crabtree_info *before, double *since)
{
	struct crabtree_info now, delta = { 0 };
	double at;
	int err = crabtree_info(args->target->ct, &now, sizeof(now));

	if (err)
		return fail(args->target, err, "top");
	at = seconds();
	differences(before, &now, &delta);
	if (args->target->json)
		print_json(args->target, &now, &delta, at - *since);
	else
		print_text(&now, &delta, at - *since);
	fflush(stdout);
	*before = now;
	*since = at;
	return ferror(stdout) ? EXIT_FAILED : EXIT_OK;
}

static int top(struct args *args)
{
	const struct timespec interval = {
		.tv_sec = args->interval_ms / 1000,
		.tv_nsec = args->interval_ms % 1000 * 1000000,
	};
	struct crabtree_info before;
	double since = seconds();
	unsigned int row = 0;
	int code = 0, err = crabtree_info(args->target->ct, &before, sizeof(before));

	if (err)
		return fail(args->target, err, "top");
	do {
		if (!args->target->json && !(row++ % 20))
			print_header();
		nanosleep(&interval, NULL);
		code = show(args, &before, &since);
	} while (!code && !args->once);
	return code;
}

static error_t parse_opt(int key, char *arg, struct argp_state *state)
{
	struct args *args = state->input;

	switch (key) {
	case 'i':
		args->interval_ms = number_arg(state, "--interval", arg);
		if (!args->interval_ms || args->interval_ms > 3600000)
			arg_error(state, "--interval %s: 1 to 3600000 ms", arg);
		return 0;
	case OPT_ONCE:
		args->once = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option options[] = {
	{ "interval", 'i', "MS", 0, "milliseconds between two rows [1000]", 0 },
	{ "once", OPT_ONCE, NULL, 0, "one row, then end", 0 },
	{ 0 }
};

static const struct argp argp = {
	.options = options,
	.parser = parse_opt,
	.doc = "Operations per second, and lines and fences of a write, until interrupted.",
};

int verb_top(struct target *target, int argc, char **argv)
{
	struct args args = { .target = target, .interval_ms = 1000 };

	verb_parse(&argp, argc, argv, &args);
	return target_open(target, CRABTREE_OPEN_READONLY) ?: top(&args);
}

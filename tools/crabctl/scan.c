// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements `crabctl scan`: records of a range in the order of their
 * keys, or in the reverse order, read in chunks, each of which begins after the last key of the
 * previous one; writers are not blocked. Quarantined ranges are skipped and reported.
 */
#include "crabctl.h"

struct args {
	struct target *target;
	uint64_t from;
	uint64_t to;
	uint64_t limit;
	uint64_t last;
	bool reverse;
	bool hex;
};

enum { OPT_FROM = 0x2000, OPT_TO, OPT_LIMIT, OPT_LAST };

static const struct argp_option options[] = {
	{ "from", OPT_FROM, "KEY", 0, "the lowest key wanted", 0 },
	{ "to", OPT_TO, "KEY", 0, "the highest key wanted", 0 },
	{ "limit", OPT_LIMIT, "N", 0, "at most N records", 0 },
	{ "last", OPT_LAST, "N", 0, "the last N records of the range", 0 },
	{ "reverse", 'r', NULL, 0, "in descending order", 0 },
	{ "hex", 'x', NULL, 0, "print numbers in hexadecimal", 0 },
	{ 0 }
};

static error_t parse_opt(int key, char *arg, struct argp_state *state)
{
	struct args *args = state->input;

	switch (key) {
	case OPT_FROM:
		args->from = number_arg(state, "--from", arg);
		return 0;
	case OPT_TO:
		args->to = number_arg(state, "--to", arg);
		return 0;
	case OPT_LIMIT:
		args->limit = number_arg(state, "--limit", arg);
		return 0;
	case OPT_LAST:
		args->last = number_arg(state, "--last", arg);
		return 0;
	case 'r':
		args->reverse = true;
		return 0;
	case 'x':
		args->hex = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse_opt,
	.doc = "Print records in the order of their keys.",
};

static int scan(struct target *target, const struct args *args)
{
	struct record_writer writer = { .file = stdout, .json = target->json, .hex = args->hex };
	struct walk walk = {
		.target = target,
		.verb = "scan",
		.from = args->from,
		.to = args->to,
		.limit = args->limit,
		.reverse = args->reverse,
	};
	int code = EXIT_OK;

	if (args->last != UINT64_MAX)
		code = walk_find_last(&walk, args->last, &walk.from);
	if (code == EXIT_OK)
		code = walk_records(&walk, &writer);
	return writer.gaps ? EXIT_FAILED : code;
}

int verb_scan(struct target *target, int argc, char **argv)
{
	struct args args = {
		.target = target,
		.to = CRABTREE_KEY_RESERVED - 1,
		.limit = UINT64_MAX,
		.last = UINT64_MAX,
	};

	verb_parse(&argp, argc, argv, &args);
	return target_open(target, CRABTREE_OPEN_READONLY) ?: scan(target, &args);
}

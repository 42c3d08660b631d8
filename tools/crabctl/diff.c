// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements `crabctl diff`: the records in which two stores or snapshots differ.
 *
 * Invariant: both sides are read once, in the order of their keys.
 */
#include "stream.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/**
 * struct side - one of the two
 * @path: a device, file:IMAGE, or the file of a snapshot
 * @ct: the store, or NULL
 * @reader: the handle that is read: @ct or a snapshot of it
 * @iter: its records
 * @stream: the snapshot's file, if @ct is NULL
 * @record: the next record, if @more
 * @more: there is one
 */
struct side {
	const char *path;
	struct crabtree *ct;
	struct crabtree *reader;
	struct crabtree_iter *iter;
	struct stream stream;
	struct crabtree_record record;
	bool more;
};

struct args {
	struct target *target;
	struct side side[2];
	uint64_t differ;
};

static error_t parse_opt(int key, char *arg, struct argp_state *state)
{
	struct args *args = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = args->target;
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num > 1)
			argp_error(state, "%s: one argument too many", arg);
		args->side[state->arg_num].path = arg;
		return 0;
	case ARGP_KEY_END:
		if (state->arg_num < 2)
			argp_error(state, "diff needs two stores or snapshots");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.parser = parse_opt,
	.args_doc = "OLD NEW",
	.doc = "Print the records in which two stores differ: `- key value' of OLD, `+ key value' of "
	       "NEW. Each is a device, file:IMAGE, or the file of a snapshot.",
	.children = target_child,
};

static int side_failed(const struct side *side, int err)
{
	return fail_file(side->path, err, "diff");
}

static int next(struct side *side)
{
	int got = side->iter ? crabtree_iter_next(side->iter, &side->record) :
			       stream_next(&side->stream, &side->record);

	side->more = got > 0;
	return got < 0 ? side_failed(side, got) : EXIT_OK;
}

/* A device is read as of one point in time; an image has no other writer */
static int open_store(struct side *side)
{
	int err = crabtree_open(&side->ct, side->path, CRABTREE_OPEN_READONLY);

	if (err)
		return side_failed(side, err);
	err = crabtree_snapshot(side->ct, &side->reader);
	if (err == -EOPNOTSUPP) {
		side->reader = side->ct;
		err = 0;
	}
	if (!err)
		err = crabtree_iter_new(side->reader, 0, CRABTREE_KEY_RESERVED - 1, &side->iter);
	return err ? side_failed(side, err) : next(side);
}

static int open_side(struct side *side)
{
	int code;

	side->stream.file = strncmp(side->path, "file:", 5) && strncmp(side->path, "/dev/", 5) ?
			    fopen(side->path, "re") : NULL;
	if (!side->stream.file)
		return open_store(side);
	stream_open(&side->stream, side->stream.file, side->path);
	code = stream_verify(&side->stream);
	return code ? code : next(side);
}

static void close_side(struct side *side)
{
	crabtree_iter_free(side->iter);
	if (side->reader && side->reader != side->ct)
		crabtree_close(side->reader);
	crabtree_close(side->ct);
	if (side->stream.file)
		fclose(side->stream.file);
}

static void print(char mark, const struct crabtree_record *record)
{
	printf("%c %" PRIu64 " %" PRIu64 "\n", mark, (uint64_t)record->key,
	       (uint64_t)record->value);
}

/* Prints the lowest key of both, if they differ in it, and goes on after it */
static int step(struct args *args)
{
	struct side *old = &args->side[0], *new = &args->side[1];
	bool of_old = old->more && (!new->more || old->record.key <= new->record.key);
	bool of_new = new->more && (!old->more || new->record.key <= old->record.key);
	bool same = of_old && of_new && old->record.value == new->record.value;
	int code = EXIT_OK;

	if (of_old && !same)
		print('-', &old->record);
	if (of_new && !same)
		print('+', &new->record);
	args->differ += !same;
	if (of_old)
		code = next(old);
	if (of_new && !code)
		code = next(new);
	return code;
}

int verb_diff(struct target *target, int argc, char **argv)
{
	static struct args args;
	int code;

	args.target = target;
	verb_parse(&argp, argc, argv, &args);
	code = open_side(&args.side[0]);
	if (!code)
		code = open_side(&args.side[1]);
	while (!code && (args.side[0].more || args.side[1].more) && !ferror(stdout))
		code = step(&args);
	close_side(&args.side[0]);
	close_side(&args.side[1]);
	return code ? code : args.differ ? EXIT_NOT_FOUND : EXIT_OK;
}

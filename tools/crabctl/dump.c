// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements `crabctl dump`: all records as `crabctl load` reads them.
 *
 * Invariant: a file named on the command line is the old one or the whole new
 * one: the dump goes to FILE.partial, is made durable and then renamed.
 */
#include "crabctl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct args {
	struct target *target;
	const char *path;
	bool hex;
};

static const struct argp_option options[] = {
	{ "hex", 'x', NULL, 0, "write numbers in hexadecimal", 0 },
	{ 0 }
};

static error_t parse_opt(int key, char *arg, struct argp_state *state)
{
	struct args *args = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = args->target;
		return 0;
	case 'x':
		args->hex = true;
		return 0;
	case ARGP_KEY_ARG:
		if (args->path)
			argp_error(state, "%s: one argument too many", arg);
		args->path = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse_opt,
	.args_doc = "[FILE]",
	.doc = "Write all records, as load reads them; to standard output without a FILE "
	       "or with -.",
	.children = target_child,
};

static int write_records(struct target *target, struct record_writer *writer)
{
	struct crabtree_info info = { 0 };
	struct crabtree_record record;
	struct crabtree_iter *iter;
	int err;

	err = crabtree_info(target->ct, &info);
	if (!err)
		err = crabtree_iter_new(target->ct, 0, CRABTREE_KEY_RESERVED - 1, &iter);
	if (err)
		return fail(target, err, "dump");
	progress_begin("records", info.records);
	record_begin(writer);
	while (!ferror(writer->file) && (err = crabtree_iter_next(iter, &record)) > 0) {
		record_put(writer, &record);
		progress_show(writer->count, writer->count);
	}
	record_end(writer);
	progress_clear();
	crabtree_iter_free(iter);
	return err < 0 ? fail(target, err, "dump, after %" PRIu64 " records", writer->count) :
			 EXIT_OK;
}

static int finish(struct target *target, const char *path, uint64_t count)
{
	struct json_object *json;

	if (!target->json) {
		fprintf(stderr, "%" PRIu64 " records written to %s\n", count, path);
		return EXIT_OK;
	}
	json = json_object_new_object();
	json_text(json, "file", path);
	json_u64(json, "records", count);
	return json_print(json);
}

/* Closes @file. A device or pipe cannot be synced, and need not be */
static int settle(FILE *file, const char *path)
{
	int err = 0;

	if (fflush(file) || ferror(file))
		err = errno ? -errno : -EIO;
	else if (fsync(fileno(file)) && errno != EINVAL && errno != EROFS && errno != ENOTSUP)
		err = -errno;
	if (fclose(file) && !err)
		err = -errno;
	return err ? fail_file(path, err, "write") : EXIT_OK;
}

static int dump_to(struct target *target, const struct args *args, const char *path,
		   uint64_t *count)
{
	struct record_writer writer = { .hex = args->hex };
	int code, settled;

	writer.file = fopen(path, "we");
	if (!writer.file)
		return fail_file(path, -errno, "open");
	code = write_records(target, &writer);
	settled = settle(writer.file, path);
	*count = writer.count;
	return code ? code : settled;
}

static int dump_file(struct target *target, const struct args *args)
{
	char *partial = NULL;
	struct stat st;
	uint64_t count;
	int code;

	if (!stat(args->path, &st) && !S_ISREG(st.st_mode)) {
		code = dump_to(target, args, args->path, &count);
		return code ? code : finish(target, args->path, count);
	}
	if (asprintf(&partial, "%s.partial", args->path) < 0)
		return fail_file(args->path, -ENOMEM, "open");
	code = dump_to(target, args, partial, &count);
	if (!code && rename(partial, args->path))
		code = fail_file(args->path, -errno, "rename");
	if (code)
		unlink(partial);
	free(partial);
	return code ? code : finish(target, args->path, count);
}

static int dump_stdout(struct target *target, const struct args *args)
{
	struct record_writer writer = {
		.file = stdout,
		.json = target->json,
		.hex = args->hex,
	};

	return write_records(target, &writer);
}

int verb_dump(struct target *target, int argc, char **argv)
{
	struct args args = { .target = target };
	int code;

	verb_parse(&argp, argc, argv, &args);
	code = target_open(target, CRABTREE_OPEN_READONLY);
	if (code)
		return code;
	code = args.path && strcmp(args.path, "-") ? dump_file(target, &args) :
						     dump_stdout(target, &args);
	target_close(target);
	return code;
}

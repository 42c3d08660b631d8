// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements `crabctl dump`: all records as `crabctl load` reads them.
 *
 * Invariant: a file named on the command line has its old content or the complete
 * new one: the dump goes to a partial file, is made durable and then renamed. If a
 * quarantined range was left out, it becomes FILE.partial.
 */
#include "crabctl.h"
#include "partial.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct args {
	struct target *target;
	bool hex;
};

static const struct argp_option options[] = {
	{ "hex", 'x', NULL, 0, "write numbers in hexadecimal", 0 },
	{ 0 }
};

static error_t parse_opt(int key, char *arg, struct argp_state *state)
{
	struct args *args = state->input;

	(void)arg;
	if (key != 'x')
		return ARGP_ERR_UNKNOWN;
	args->hex = true;
	return 0;
}

static const struct argp argp = {
	.options = options,
	.parser = parse_opt,
	.args_doc = "[FILE]",
	.doc = "Write all records, as load reads them; to standard output without a FILE "
	       "or with -.",
};

static int write_records(struct target *target, struct record_writer *writer)
{
	const struct walk walk = {
		.target = target,
		.verb = "dump",
		.to = CRABTREE_KEY_RESERVED - 1,
		.limit = UINT64_MAX,
	};
	struct crabtree_info info = { 0 };
	int err = crabtree_info(target->ct, &info, sizeof(info));

	if (err)
		return fail(target, err, "dump");
	progress_begin(writer->file, "records", info.records);
	return walk_records(&walk, writer);
}

static int finish(struct target *target, const char *path, const struct record_writer *writer)
{
	struct json_object *json;

	if (target->json) {
		json = json_object_new_object();
		json_text(json, "file", path);
		json_u64(json, "records", writer->count);
		json_u64(json, "left_out", writer->gaps);
		json_print(json);
	} else {
		fprintf(stderr, "%" PRIu64 " %s written to %s\n", writer->count,
			noun(writer->count, "record", "records"), path);
	}
	return writer->gaps ? EXIT_FAILED : EXIT_OK;
}

/* A device or pipe cannot be synced, and need not be */
int file_settle(FILE *file, const char *path)
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

static int dump_to(struct target *target, FILE *file, const char *path,
		   struct record_writer *writer)
{
	int code, settled;

	writer->file = file;
	if (!file)
		return fail_file(path, -errno, "open");
	code = write_records(target, writer);
	settled = file_settle(file, path);
	return code ? code : settled;
}

static int dump_partial(struct target *target, const char *path, struct record_writer *writer)
{
	struct partial partial;
	int err, code = dump_to(target, partial_open(&partial, path), path, writer);

	if (!code) {
		err = writer->gaps ? partial_keep(&partial) : partial_place(&partial, true);
		code = err ? fail_file(path, err, "rename") :
			     finish(target, writer->gaps ? partial.to : path, writer);
	}
	partial_end(&partial);
	return code;
}

static int dump_file(struct target *target, const char *path, bool hex)
{
	struct record_writer writer = { .hex = hex };
	struct stat st;
	int code = target_spare(target, path);

	if (code)
		return code;
	if (stat(path, &st) || S_ISREG(st.st_mode))
		return dump_partial(target, path, &writer);
	code = dump_to(target, fopen(path, "we"), path, &writer);
	return code ? code : finish(target, path, &writer);
}

static int dump_stdout(struct target *target, bool hex)
{
	struct record_writer writer = { .file = stdout, .json = target->json, .hex = hex };
	int code = write_records(target, &writer);

	return writer.gaps ? EXIT_FAILED : code;
}

int verb_dump(struct target *target, int argc, char **argv)
{
	struct args args = { .target = target };
	const char *path;

	verb_parse(&argp, argc, argv, &args);
	path = target->word[0];
	return target_open(target, CRABTREE_OPEN_READONLY) ?:
	       (path && strcmp(path, "-") ? dump_file(target, path, args.hex) : dump_stdout(target, args.hex));
}

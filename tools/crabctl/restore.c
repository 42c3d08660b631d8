// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements `crabctl restore`: a new image with the content of a snapshot.
 *
 * Invariants: the stream is verified to its last line before anything is written; the image has
 * its old content or the complete new one, because it is made under another name, written to its
 * disk, checked and then renamed.
 */
#include "stream.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef CRABCTL_IMAGE
#include <crabtree_image.h>

#define BATCH	1024

struct args {
	struct target *target;
	const char *path;
	uint64_t size;
	bool force;
	struct crabtree_format format;
	struct crabtree *ct;
};

enum { OPT_ENGINE = 0x2000, OPT_LAYOUT, OPT_LEAF_SIZE, OPT_SIZE, OPT_FORCE, OPT_COMMITS };

static const struct argp_option options[] = {
	{ "engine", OPT_ENGINE, "NAME", 0, "the engine [that of the snapshot]", 0 },
	{ "layout", OPT_LAYOUT, "NAME", 0, "its leaf layout [that of the snapshot, or of --engine]", 0 },
	{ "leaf-size", OPT_LEAF_SIZE, "BYTES", 0, "size of a leaf [the layout's default]", 0 },
	{ "size", OPT_SIZE, "BYTES", 0, "size of the image [that of the old file]", 0 },
	{ "commits", OPT_COMMITS, NULL, 0, "a store of commits, of any kind", 0 },
	{ "force", OPT_FORCE, NULL, 0, "replace the file of --image", 0 },
	{ 0 }
};

static void name_arg(struct argp_state *state, const char *what, const char *text,
		     char field[CRABTREE_NAME_LEN])
{
	if (strlen(text) >= CRABTREE_NAME_LEN)
		argp_error(state, "%s %s: longer than %d bytes", what, text, CRABTREE_NAME_LEN - 1);
	else
		strcpy(field, text);
}

static error_t parse_rest(int key, char *arg, struct argp_state *state)
{
	struct args *args = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = args->target;
		return 0;
	case ARGP_KEY_ARG:
		if (args->path)
			argp_error(state, "%s: one argument too many", arg);
		args->path = arg;
		return 0;
	case ARGP_KEY_END:
		if (!args->path || !args->target->image)
			argp_error(state, "restore needs --image and a FILE; a device: format it, then load FILE");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_opt(int key, char *arg, struct argp_state *state)
{
	struct args *args = state->input;

	switch (key) {
	case OPT_ENGINE:
		name_arg(state, "--engine", arg, args->format.engine);
		return 0;
	case OPT_LAYOUT:
		name_arg(state, "--layout", arg, args->format.layout);
		return 0;
	case OPT_LEAF_SIZE:
		args->format.leaf_bytes = size_arg(state, "--leaf-size", arg);
		return 0;
	case OPT_SIZE:
		args->size = size_arg(state, "--size", arg);
		return 0;
	case OPT_COMMITS:
		args->format.flags |= CRABTREE_FORMAT_COMMITS;
		return 0;
	case OPT_FORCE:
		args->force = true;
		return 0;
	default:
		return parse_rest(key, arg, state);
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse_opt,
	.args_doc = "FILE",
	.doc = "Make the file of --image a store with the records, blobs or named values of a snapshot.",
	.children = target_child,
};

/* Label and identity are those of the snapshot, and the engine if none was asked for */
static int format(struct args *args, const struct stream *stream)
{
	struct crabtree_format *format = &args->format;

	if (!*format->engine && !*format->layout)
		memcpy(format->layout, stream->info.layout, sizeof(format->layout));
	if (!*format->engine)
		memcpy(format->engine, stream->info.engine, sizeof(format->engine));
	memcpy(format->label, stream->info.label, sizeof(format->label));
	memcpy(format->uuid, stream->info.uuid, sizeof(format->uuid));
	format->flags |= item_format_flags(stream->kind);
	return crabtree_format(args->ct, format, sizeof(*format));
}

static int store(struct args *args, struct crabtree_batch_op *ops, uint32_t n)
{
	int err = crabtree_batch(args->ct, ops, n, NULL);
	uint32_t i;

	for (i = 0; i < n && !err; i++)
		err = ops[i].status;
	return err;
}

static int fill_records(struct args *args, struct stream *stream)
{
	static struct crabtree_batch_op ops[BATCH];
	int got, err = 0;
	struct item item = { 0 };
	uint32_t n = 0;

	do {
		got = stream_next(stream, &item);
		if (got > 0)
			ops[n++] = (struct crabtree_batch_op){
				.verb = CRABTREE_BATCH_INSERT, .flags = CRABTREE_INSERT_CREATE,
				.key = item.key, .value = item.value,
			};
		if (n == BATCH || (!got && n)) {
			err = store(args, ops, n);
			n = 0;
		}
	} while (got > 0 && !err);
	return err ? err : got;
}

static int fill(struct args *args, struct stream *stream)
{
	uint64_t stored;

	return stream->kind == ITEM_RECORD ? fill_records(args, stream) :
	       stream_store(stream, args->ct, CRABTREE_PUT_CREATE, &stored);
}

static int check(struct args *args, const struct stream *stream)
{
	struct crabtree_check check;
	int err = crabtree_check(args->ct, &check, sizeof(check));

	return !err && (check.errors || check.records != stream->count) ? -EUCLEAN : err;
}

static int sync_path(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;

	err = fd < 0 || fsync(fd) ? -errno : 0;
	if (fd >= 0)
		close(fd);
	return err;
}

static int make_image(struct args *args, struct stream *stream, const char *partial)
{
	int closed, err = crabtree_create_image(partial, args->size);

	if (err)
		return err;
	err = crabtree_open_image(&args->ct, partial, 0);
	if (err)
		return err;
	err = format(args, stream);
	if (!err)
		err = fill(args, stream);
	if (!err)
		err = check(args, stream);
	closed = crabtree_close(args->ct);
	err = err ? err : closed;
	return err ? err : sync_path(partial);
}

/* The stream is good. The renamed file is durable once its directory is, which the caller owns */
static int restore(struct args *args, struct stream *stream)
{
	const char *image = args->target->image;
	char *partial;
	int err;

	if (asprintf(&partial, "%s.partial", image) < 0)
		return fail_file(image, -ENOMEM, "restore");
	unlink(partial);
	err = make_image(args, stream, partial);
	if (!err && rename(partial, image))
		err = -errno;
	if (err)
		unlink(partial);
	free(partial);
	if (err)
		return fail_file(image, err, "restore%s",
				 err == -ENOSPC || err == -EMSGSIZE ? " (give a larger --size)" : "");
	printf("%s: %" PRIu64 " %s restored\n", image, stream->count, item_kind_name(stream->kind));
	return EXIT_OK;
}

/* An image that is there is replaced only with --force, and only if no program has it open */
static int check_old(struct args *args)
{
	struct crabtree *old;
	struct stat st;
	int err;

	if (stat(args->target->image, &st)) {
		if (!args->size)
			fprintf(stderr, "crabctl: %s: restore: there is no such file: give --size\n",
				args->target->image);
		return args->size ? EXIT_OK : EXIT_USAGE;
	}
	if (!args->force)
		return fail_file(args->target->image, -EEXIST, "restore (--force replaces it)");
	if (!args->size)
		args->size = st.st_size;
	err = crabtree_open_image(&old, args->target->image, 0);
	if (err)
		return fail_file(args->target->image, err, "restore");
	crabtree_close(old);
	return EXIT_OK;
}

int verb_restore(struct target *target, int argc, char **argv)
{
	struct args args = { .target = target };
	struct stream stream;
	FILE *file;
	int code;

	verb_parse(&argp, argc, argv, &args);
	file = fopen(args.path, "re");
	if (!file)
		return fail_file(args.path, -errno, "open");
	stream_open(&stream, file, args.path);
	code = stream_verify(&stream);
	if (!code)
		code = check_old(&args);
	if (!code)
		code = restore(&args, &stream);
	fclose(file);
	return code;
}
#else
int verb_restore(struct target *target, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	fprintf(stderr, "crabctl: %s: this crabctl was built without support for image files\n",
		target_path(target));
	return EXIT_FAILED;
}
#endif

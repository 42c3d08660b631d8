// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements `crabctl restore`: a store with the content of a snapshot, in an image file
 * or in a device.
 *
 * Invariant: the stream is verified to its last line before the old store is touched.
 */
#include "restore.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define BATCH	1024

enum {
	OPT_ENGINE = 0x2000, OPT_LAYOUT, OPT_LEAF_SIZE, OPT_LABEL, OPT_UUID, OPT_SIZE, OPT_FORCE, OPT_YES,
	OPT_COMMITS,
};

static const struct argp_option options[] = {
	{ "engine", OPT_ENGINE, "NAME", 0, "the engine [that of the snapshot]", 0 },
	{ "layout", OPT_LAYOUT, "NAME", 0, "its leaf layout [that of the snapshot, or of --engine]", 0 },
	{ "leaf-size", OPT_LEAF_SIZE, "BYTES", 0, "size of a leaf [that of the snapshot, or of --layout]", 0 },
	{ "label", OPT_LABEL, "TEXT", 0, "a name for people, at most 31 bytes [that of the snapshot]", 0 },
	{ "uuid", OPT_UUID, "UUID", 0, "the identity [that of the snapshot]", 0 },
	{ "size", OPT_SIZE, "BYTES", 0, "size of the image [that of the old file]", 0 },
	{ "commits", OPT_COMMITS, NULL, 0, "a store of commits, also if the snapshot is of none", 0 },
	{ "force", OPT_FORCE, NULL, 0, "replace the file of --image, or the store of the device", 0 },
	{ "yes", OPT_YES, NULL, 0, "do not ask before a device is overwritten", 0 },
	{ 0 }
};

static void parse_end(struct argp_state *state, const struct restore *restore)
{
	if (restore->size && !restore->target->image)
		arg_error(state, "--size is for --image: a device has the size that it has");
	else if (restore->target->image && !strcmp(restore->format.engine, ENGINE_VOLATILE))
		arg_error(state, "--engine " ENGINE_VOLATILE " keeps nothing in an image");
}

static error_t parse_opt(int key, char *arg, struct argp_state *state)
{
	struct restore *restore = state->input;
	struct crabtree_format *format = &restore->format;

	switch (key) {
	case OPT_ENGINE:
		text_arg(state, "--engine", arg, format->engine, sizeof(format->engine));
		return 0;
	case OPT_LAYOUT:
		text_arg(state, "--layout", arg, format->layout, sizeof(format->layout));
		return 0;
	case OPT_LEAF_SIZE:
		format->leaf_bytes = leaf_arg(state, arg);
		return 0;
	case OPT_LABEL:
		text_arg(state, "--label", arg, format->label, sizeof(format->label));
		restore->label = true;
		return 0;
	case OPT_UUID:
		uuid_arg(state, arg, format->uuid);
		restore->uuid = true;
		return 0;
	case OPT_SIZE:
		restore->size = image_size_arg(state, arg);
		return 0;
	case OPT_COMMITS:
		format->flags |= CRABTREE_FORMAT_COMMITS;
		return 0;
	case OPT_FORCE:
		restore->force = true;
		return 0;
	case OPT_YES:
		restore->yes = true;
		return 0;
	case ARGP_KEY_END:
		parse_end(state, restore);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse_opt,
	.args_doc = "FILE|-",
	.doc = "Make the file of --image, or the device, a store with the records, blobs or named "
	       "values of a snapshot.",
};

/* The engine of the snapshot, if none was asked for; but the default for one that keeps nothing */
static void choose_engine(struct crabtree_format *format, const struct stream *stream)
{
	if (*format->engine)
		return;
	if (!strcmp(stream->info.engine, ENGINE_VOLATILE)) {
		message("restore: %s is of the engine " ENGINE_VOLATILE
			", which keeps nothing: the default is used", stream->name);
		return;
	}
	if (!*format->layout) {
		memcpy(format->layout, stream->info.layout, sizeof(format->layout));
		if (!format->leaf_bytes)
			format->leaf_bytes = stream->info.leaf_bytes;
	}
	memcpy(format->engine, stream->info.engine, sizeof(format->engine));
}

/* Label and identity are those of the snapshot, unless others were asked for; a store of commits remains one */
int restore_format(struct restore *restore, const struct stream *stream)
{
	struct crabtree_format *format = &restore->format;

	choose_engine(format, stream);
	if (!restore->label)
		memcpy(format->label, stream->info.label, sizeof(format->label));
	if (!restore->uuid)
		memcpy(format->uuid, stream->info.uuid, sizeof(format->uuid));
	format->flags |= item_format_flags(stream->kind);
	if (stream->info.feature_incompat & CRABTREE_INCOMPAT_COMMITS)
		format->flags |= CRABTREE_FORMAT_COMMITS;
	return crabtree_format(restore->ct, format, sizeof(*format));
}

/* A signal may cut a call short */
static int store(struct restore *restore, struct crabtree_batch_op *ops, uint32_t n)
{
	uint32_t i, first = 0, done;
	int err = 0;

	while (!err && first < n) {
		done = 0;
		err = crabtree_batch(restore->ct, ops + first, n - first, &done);
		if (err == -EINTR)
			err = 0;
		for (i = first, first += done; i < first && !err; i++)
			err = ops[i].status;
	}
	return err;
}

static int fill_records(struct restore *restore, struct stream *stream)
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
			err = store(restore, ops, n);
			n = 0;
			progress_show(stream->count, ftello(stream->file));
		}
	} while (got > 0 && !err);
	return err ? err : got;
}

static int fill(struct restore *restore, struct stream *stream, uint32_t parts)
{
	uint32_t part;
	uint64_t stored;
	struct stat st;
	int err = 0;

	progress_begin(NULL, item_kind_name(stream->kind),
		       fstat(fileno(stream->file), &st) ? 0 : st.st_size);
	for (part = 0; part < parts && !err; part++) {
		stream_begin_part(stream, part, parts);
		err = stream->kind == ITEM_RECORD ? fill_records(restore, stream) :
		      stream_store(stream, restore->ct, CRABTREE_PUT_CREATE, &stored);
	}
	progress_clear();
	return err;
}

/* As of fsck: in leaves that ascending keys fill by half, a second pass fills the other half */
int restore_fill(struct restore *restore, struct stream *stream)
{
	int err = fill(restore, stream, 1);

	if (err != -ENOSPC)
		return err;
	restore->format.flags |= CRABTREE_FORMAT_FORCE;
	err = crabtree_format(restore->ct, &restore->format, sizeof(restore->format));
	return err ? err : fill(restore, stream, 2);
}

int restore_check(struct restore *restore, const struct stream *stream)
{
	struct crabtree_check check;
	int err = crabtree_check(restore->ct, &check, sizeof(check));

	return !err && (check.errors || check.records != stream->count) ? -EUCLEAN : err;
}

static int report(const struct restore *restore, const struct stream *stream)
{
	struct json_object *json;

	if (!restore->target->json) {
		printf("%s: %" PRIu64 " %s restored\n", target_path(restore->target), stream->count,
		       item_noun(stream->kind, stream->count));
		return EXIT_OK;
	}
	json = json_object_new_object();
	json_text(json, "file", stream->name);
	json_text(json, "kind", item_kind_name(stream->kind));
	json_u64(json, "restored", stream->count);
	return json_print(json);
}

int verb_restore(struct target *target, int argc, char **argv)
{
	struct restore restore = { .target = target };
	struct stream stream;
	const char *name;
	FILE *file;
	int code;

	verb_parse(&argp, argc, argv, &restore);
	name = strcmp(target->word[0], "-") ? target->word[0] : "standard input";
	file = stream_file(target->word[0], name, "restore");
	if (!file)
		return EXIT_FAILED;
	stream_open(&stream, file, name);
	code = stream_verify(&stream);
	if (!code && strcmp(target->word[0], "-"))
		code = target_spare(target, target->word[0]);
	if (!code)
		code = target->image ? restore_image(&restore, &stream) :
				       restore_device(&restore, &stream);
	fclose(file);
	return code ? code : report(&restore, &stream);
}

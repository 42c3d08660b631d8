// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements `crabctl fsck`: all records, blobs or named values that a damaged image still
 * serves, in a new image, and the ranges of keys, or the names, that are lost.
 *
 * Invariants: the damaged image is opened for reading only and does not change. The new image
 * must not exist; it is made under another name, and gets its own only if CHECK finds it sound and
 * its disk has it.
 */
#include "named.h"
#include "partial.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef CRABCTL_IMAGE
#include <crabtree_blob.h>
#include <crabtree_image.h>
#include <crabtree_names.h>

#define MOST_LOST	4096	/* ranges that are reported */

struct range {
	uint64_t from;
	uint64_t to;
};

struct args {
	struct target *target;
	const char *to;
	struct partial partial;		/* the new image, until it gets the name @to */
	uint64_t size;			/* of it; 0: that of the old one */
	struct crabtree *copy;
	uint64_t part, parts;		/* a pass copies every item whose number has this remainder */
	uint64_t seen;			/* items so far */
	uint64_t records;
	struct json_object *names;	/* damaged values; NULL: it is no store of names */
	uint64_t nameless;		/* values whose names are damaged */
	uint64_t leaves;		/* damaged leaves, with an unknown number of names */
	uint64_t ranges;
	struct range lost[MOST_LOST];
};

static bool is_of_blobs(const struct crabtree_info *info)
{
	return info->feature_incompat & CRABTREE_INCOMPAT_BLOBS;
}

/* The first pass reports them all */
static void lose(struct args *args, uint64_t from, uint64_t to)
{
	if (args->part)
		return;
	if (args->ranges < MOST_LOST)
		args->lost[args->ranges] = (struct range){ from, to };
	args->ranges++;
}

static bool is_of_pass(struct args *args)
{
	progress_show(args->seen, args->seen);
	return args->seen++ % args->parts == args->part;
}

/* Copies until the end; a quarantined range moves the iterator and is lost */
static int copy_records(struct args *args, struct crabtree_iter *iter)
{
	struct crabtree_record record;
	uint64_t from;
	int got, err;

	for (;;) {
		from = crabtree_iter_tell(iter);
		got = crabtree_iter_next(iter, &record);
		if (!got)
			return 0;
		if (got == -EUCLEAN && crabtree_iter_tell(iter) > from) {
			lose(args, from, crabtree_iter_tell(iter) - 1);
			continue;
		}
		if (got < 0)
			return got;
		if (!is_of_pass(args))
			continue;
		err = crabtree_insert(args->copy, record.key, record.value,
				      CRABTREE_INSERT_CREATE, NULL, NULL);
		if (err)
			return err;
		args->records++;
	}
}

/* A damaged value is lost, as is a quarantined range. A copied one gets a new version */
static int copy_blob(struct args *args, const struct crabtree_entry *entry)
{
	static unsigned char value[CRABTREE_BLOB_MAX];
	uint32_t bytes;
	int err = entry->status;

	if (!err)
		err = crabtree_get(args->target->ct, entry->key, value, sizeof(value), &bytes, NULL);
	if (err == -EUCLEAN) {
		lose(args, entry->key, entry->key);
		return 0;
	}
	if (!err && !is_of_pass(args))
		return 0;
	if (!err)
		err = crabtree_put(args->copy, entry->key, value, bytes, CRABTREE_PUT_CREATE, NULL);
	args->records += !err;
	return err;
}

static int copy_blobs(struct args *args)
{
	struct crabtree_cursor cursor;
	struct crabtree_entry entry;
	uint64_t from;
	int got, err;

	crabtree_cursor_init(&cursor, 0, CRABTREE_KEY_RESERVED - 1);
	for (;;) {
		from = cursor.next;
		got = crabtree_list(args->target->ct, &cursor, &entry, 1);
		if (!got)
			return 0;
		/* The last range of all moves the cursor to its end */
		if (got == -EUCLEAN && (cursor.done || cursor.next > from)) {
			lose(args, from, (cursor.done ? CRABTREE_KEY_RESERVED : cursor.next) - 1);
			continue;
		}
		err = got < 0 ? got : copy_blob(args, &entry);
		if (err)
			return err;
	}
}

/* As copy_blob() */
static int copy_name(const struct crabtree_name *name, void *arg)
{
	static unsigned char value[CRABTREE_BLOB_MAX];
	struct args *args = arg;
	struct crabtree_named named = {
		.name = name->name, .name_bytes = name->name_bytes, .value = value,
		.capacity = sizeof(value),
	};
	char text[NAME_TEXT];
	int err = name->status;

	if (!err)
		err = crabtree_get_named(args->target->ct, &named);
	if (err == -EUCLEAN && args->part)
		return 0;
	if (err == -EUCLEAN) {
		name_text(name->name, name->name_bytes, text);
		return json_object_array_add(args->names, json_object_new_string(text));
	}
	if (!err && !is_of_pass(args))
		return 0;
	if (!err)
		err = crabtree_put_named(args->copy, &named, CRABTREE_PUT_CREATE);
	args->records += !err;
	return err;
}

/* A value that attach found without a name is in no list: -EUCLEAN at its end */
static int copy_names(struct args *args, const struct crabtree_info *info)
{
	struct crabtree_names all = { .flags = 0 };
	int err = crabtree_names(args->target->ct, &all, copy_name, args);
	uint64_t listed = args->seen + json_object_array_length(args->names);

	args->nameless = info->records > listed ? info->records - listed : 0;
	args->leaves = info->leaves_bad;
	return err == -EUCLEAN ? 0 : err;
}

static int format_copy(struct args *args, const struct crabtree_info *info)
{
	struct crabtree_format format = {
		.leaf_bytes = info->leaf_bytes, .flags = CRABTREE_FORMAT_FORCE,
	};

	if (is_of_blobs(info))
		format.flags |= CRABTREE_FORMAT_BLOBS;
	if (info->feature_incompat & CRABTREE_INCOMPAT_NAMES)
		format.flags |= CRABTREE_FORMAT_NAMES;
	if (info->feature_incompat & CRABTREE_INCOMPAT_COMMITS)
		format.flags |= CRABTREE_FORMAT_COMMITS;
	memcpy(format.engine, info->engine, sizeof(format.engine));
	memcpy(format.layout, info->layout, sizeof(format.layout));
	memcpy(format.label, info->label, sizeof(format.label));
	memcpy(format.uuid, info->uuid, sizeof(format.uuid));
	return crabtree_format(args->copy, &format, sizeof(format));
}

/* CHECK must be content, and find what was copied */
static int check_copy(struct args *args)
{
	struct crabtree_check check;
	int err = crabtree_check(args->copy, &check, sizeof(check));

	if (!err && (check.errors || check.records != args->records))
		err = -EUCLEAN;
	return err;
}

static int copy_pass(struct args *args, const struct crabtree_info *info)
{
	struct crabtree_iter *iter;
	int err;

	args->seen = 0;
	if (args->names)
		return copy_names(args, info);
	if (is_of_blobs(info))
		return copy_blobs(args);
	err = crabtree_iter_new(args->target->ct, 0, CRABTREE_KEY_RESERVED - 1, &iter);
	if (err)
		return err;
	err = copy_records(args, iter);
	crabtree_iter_free(iter);
	return err;
}

static int fill_copy(struct args *args, const struct crabtree_info *info, uint64_t parts)
{
	int err = format_copy(args, info);

	if (args->names) {
		json_object_put(args->names);
		args->names = json_object_new_array();
	}
	args->records = 0;
	args->ranges = 0;
	args->parts = parts;
	for (args->part = 0; args->part < parts && !err; args->part++)
		err = copy_pass(args, info);
	return err ? err : check_copy(args);
}

/*
 * Ascending inserts fill the leaves of an engine that splits at the end of the list, and half of
 * each leaf with the others: there the second pass fills the other half.
 */
static int fill_and_check(struct args *args, const struct crabtree_info *info)
{
	int err = fill_copy(args, info, 1);

	return err == -ENOSPC ? fill_copy(args, info, 2) : err;
}

static int make_copy(struct args *args, const struct crabtree_info *info)
{
	int closed, err = partial_room(&args->partial, args->size);

	if (!err)
		err = crabtree_open_image(&args->copy, args->partial.path, 0);
	if (err)
		return err;
	err = fill_and_check(args, info);
	closed = crabtree_close(args->copy);
	err = err ? err : closed;
	return !err && fsync(args->partial.file) ? -errno : err;
}

/* A size that is enough, after that of @args was not: found by trial */
static int refuse_small(struct args *args, const struct crabtree_info *info)
{
	uint64_t given = args->size;
	int err = -ENOSPC;
	unsigned int n;

	for (n = 0; is_too_small(err) && n < SIZE_TRIALS; n++) {
		args->size = size_larger(given, n);
		err = make_copy(args, info);
	}
	if (err)
		return fail_file(args->to, err, "fsck, with %" PRIu64 " bytes", given);
	message("%s: fsck: %" PRIu64 " bytes are too few; --size=%" PRIu64 " is enough", args->to,
		given, args->size);
	return EXIT_FAILED;
}

static int make_and_place(struct args *args, const struct crabtree_info *info)
{
	int err = make_copy(args, info);

	if (is_too_small(err))
		return refuse_small(args, info);
	if (!err)
		err = partial_place(&args->partial, false);
	return err ? fail_file(args->to, err, "fsck") : EXIT_OK;
}

static int make_new(struct args *args, const struct crabtree_info *info)
{
	int err = partial_new(&args->partial, args->to);
	int code = err ? fail_file(args->to, err, "fsck") : make_and_place(args, info);

	partial_end(&args->partial);
	return code;
}

static int report_json(const struct args *args)
{
	struct json_object *json = json_object_new_object();
	struct json_object *list = json_object_new_array(), *one;
	uint64_t i;

	json_text(json, "image", args->to);
	json_u64(json, "records", args->records);
	json_u64(json, "lost_ranges", args->ranges);
	for (i = 0; i < args->ranges && i < MOST_LOST; i++) {
		one = json_object_new_object();
		json_u64(one, "from", args->lost[i].from);
		json_u64(one, "to", args->lost[i].to);
		json_object_array_add(list, one);
	}
	json_object_object_add(json, "lost", list);
	if (args->names) {
		json_u64(json, "nameless", args->nameless);
		json_u64(json, "damaged_leaves", args->leaves);
		json_object_object_add(json, "lost_names", json_object_get(args->names));
	}
	return json_print(json);
}

static void report_names(const struct args *args)
{
	size_t i;

	for (i = 0; i < json_object_array_length(args->names); i++)
		printf("lost: %s\n", json_object_get_string(json_object_array_get_idx(args->names, i)));
	if (args->nameless)
		printf("lost: %" PRIu64 " %s damaged\n", args->nameless,
		       noun(args->nameless, "value whose name is", "values whose names are"));
	if (args->leaves)
		printf("lost: all names of %" PRIu64 " damaged %s\n", args->leaves,
		       noun(args->leaves, "leaf", "leaves"));
}

static bool is_complete(const struct args *args)
{
	return !args->ranges && !args->nameless && !args->leaves &&
	       !(args->names && json_object_array_length(args->names));
}

static void report(const struct args *args)
{
	uint64_t i;

	printf("%s: %" PRIu64 " %s, sound\n", args->to, args->records,
	       noun(args->records, "record", "records"));
	if (args->names)
		report_names(args);
	for (i = 0; i < args->ranges && i < MOST_LOST; i++)
		printf("lost: all keys from %" PRIu64 " to %" PRIu64 "\n", args->lost[i].from,
		       args->lost[i].to);
	if (args->ranges > MOST_LOST)
		printf("lost: %" PRIu64 " more %s\n", args->ranges - MOST_LOST,
		       noun(args->ranges - MOST_LOST, "range", "ranges"));
}

static int fsck(struct args *args)
{
	struct crabtree_info info;
	int code, err = crabtree_info(args->target->ct, &info, sizeof(info));

	if (target_store(args->target, "fsck", NULL))
		return EXIT_FAILED;
	if (has_names(args->target))
		args->names = json_object_new_array();
	if (!args->size)
		args->size = info.region_bytes;
	progress_begin(NULL, item_kind_name(item_kind(&info)), info.records);
	code = err ? fail_file(args->to, err, "fsck") : make_new(args, &info);
	progress_clear();
	if (code)
		return code;
	if (args->target->json)
		report_json(args);
	else
		report(args);
	return is_complete(args) ? EXIT_OK : EXIT_NOT_FOUND;
}

enum { OPT_SIZE = 0x2000 };

static const struct argp_option options[] = {
	{ "size", OPT_SIZE, "BYTES", 0, "size of the new image [that of the damaged one]", 0 },
	{ 0 }
};

static error_t parse_opt(int key, char *arg, struct argp_state *state)
{
	struct args *args = state->input;

	switch (key) {
	case OPT_SIZE:
		args->size = image_size_arg(state, arg);
		return 0;
	case ARGP_KEY_END:
		if (!args->target->image)
			arg_error(state, "fsck needs --image, the damaged one");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse_opt,
	.args_doc = "NEW",
	.doc = "Copy all records that a damaged --image still serves into the image NEW, and report "
	       "the ranges of keys, or the names, that are lost. The damaged image does not change.",
};

int verb_fsck(struct target *target, int argc, char **argv)
{
	static struct args args;
	int code;

	args.target = target;
	verb_parse(&argp, argc, argv, &args);
	args.to = target->word[0];
	code = target_open(target, CRABTREE_OPEN_READONLY);
	if (code)
		return code;
	code = fsck(&args);
	json_object_put(args.names);
	return code;
}
#else
int verb_fsck(struct target *target, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	message("%s: %s", target_path(target), target_error(target, -ELIBACC));
	return EXIT_FAILED;
}
#endif

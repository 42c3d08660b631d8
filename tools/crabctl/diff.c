// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements `crabctl diff`: the records, blobs or named values in which two stores or
 * snapshots differ.
 *
 * Invariant: both sides are read once, in the order of their keys or names. Damaged ones of a store
 * are named and not compared: the other side may have the same.
 */
#include "named.h"
#include "stream.h"
#include "typed.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/**
 * struct side - one of the two
 * @path: a device, file:IMAGE, the file or pipe of a snapshot, or "-"
 * @ct: the store, or NULL
 * @reader: the handle that is read: @ct or a snapshot of it
 * @kind: of the store
 * @items: the walk over @reader
 * @stream: the snapshot's file, if @ct is NULL
 * @item: the next item, if @more
 * @more: there is one
 * @lost: it is damaged: the keys from @from to that of @item, or the name
 * @from: its lowest key
 * @losses: messages about damage
 */
struct side {
	const char *path;
	struct crabtree *ct;
	struct crabtree *reader;
	enum item_kind kind;
	struct items items;
	struct stream stream;
	struct item item;
	bool more;
	bool lost;
	uint64_t from;
	uint64_t losses;
};

struct args {
	struct target *target;
	struct side side[2];
	uint64_t steps;
	uint64_t differ;
	uint64_t printed;	/* objects of JSON */
};

static const struct argp argp = {
	.args_doc = "OLD NEW",
	.doc = "Print the records in which two stores differ: `- key value' of OLD, `+ key value' of "
	       "NEW; of blobs `key length checksum', of names `name type value', or a length and a "
	       "checksum of a value that is no number. Each is a device, file:IMAGE, the file or pipe "
	       "of a snapshot, or - for one from standard input.",
};

/* Never 1, which would be a difference */
static int side_failed(const struct side *side, int err)
{
	struct target target = { .device = side->path, .ct = side->ct };

	fail(&target, err, "diff");
	return EXIT_FAILED;
}

/* A path that is not there is no device, unless it looks like one */
static int open_failed(const struct side *side, int err)
{
	bool file = is_image_path(side->path) || (err == -ENOENT && strncmp(side->path, "/dev/", 5));
	const struct target target = { .device = side->path, .image = file ? side->path : NULL };

	message("%s: diff: %s", side->path,
		err == -ENOTTY ? "neither a store nor a snapshot" : target_error(&target, err));
	return EXIT_FAILED;
}

/* An error that ends the walk; a snapshot's file names its lines itself */
static int walk_failed(const struct side *side, int err)
{
	struct target target = { .device = side->path, .ct = side->ct };
	char label[ITEM_LABEL];

	if (err == -ESTALE)
		message("%s: diff: ended: " SNAPSHOT_ENDED, side->path);
	else if (!item_is_known(side->kind, &side->item))
		return side_failed(side, err);
	else
		fail(&target, err, "diff, at %s", item_label(side->kind, &side->item, label));
	return EXIT_FAILED;
}

/* Names a loss, which is the next item unless its place is unknown; false: the walk ends here */
static bool lose(struct side *side)
{
	bool known = item_is_known(side->kind, &side->item);
	struct target target = { .device = side->path, .ct = side->ct };
	char label[ITEM_LABEL];
	const char *what = items_skipped(&side->items, &side->item, label);

	if (!what)
		return false;
	if (known)
		message("%s: diff: %s not compared: %s", side->path, what, crabtree_strerror(-EUCLEAN));
	else
		fail(&target, -EUCLEAN, "diff: %s not compared", what);
	side->losses++;
	side->lost = known || side->kind != ITEM_NAMED;
	side->from = known ? side->item.key : side->items.from;
	if (!known)
		side->item.key = side->items.to;
	return true;
}

static int next_of_store(struct side *side)
{
	int got = items_next(&side->items, &side->item);

	side->lost = false;
	if (got < 0 && (got != -EUCLEAN || !lose(side)))
		return walk_failed(side, got);
	side->more = got > 0 || side->lost;
	return EXIT_OK;
}

static int next(struct side *side)
{
	int got;

	if (side->ct)
		return next_of_store(side);
	got = stream_next(&side->stream, &side->item);
	side->more = got > 0;
	return got < 0 ? side_failed(side, got) : EXIT_OK;
}

/* A device is read as of one point in time; an image has no other writer */
static int open_store(struct side *side)
{
	int err = crabtree_open(&side->ct, side->path, CRABTREE_OPEN_READONLY);
	struct crabtree_info info = { 0 };

	if (err)
		return open_failed(side, err);
	err = crabtree_info(side->ct, &info, sizeof(info));
	if (err)
		return side_failed(side, err);
	side->kind = item_kind(&info);
	err = crabtree_snapshot(side->ct, &side->reader);
	if (err == -EOPNOTSUPP) {
		side->reader = side->ct;
		err = 0;
	}
	if (!err)
		err = items_open(&side->items, side->reader, side->kind);
	return err ? side_failed(side, err) : next(side);
}

static bool is_stdin(const char *path)
{
	return !strcmp(path, "-");
}

/* A file or a pipe, in any directory: a store is a device or the image in a file */
static bool is_snapshot(const char *path)
{
	struct stat st;

	if (is_stdin(path))
		return true;
	return !is_image_path(path) && !stat(path, &st) &&
	       (S_ISREG(st.st_mode) || S_ISFIFO(st.st_mode));
}

static int open_side(struct side *side)
{
	int code, err = item_init(&side->item);
	const char *name;

	if (err)
		return side_failed(side, err);
	if (!is_snapshot(side->path))
		return open_store(side);
	name = is_stdin(side->path) ? "standard input" : side->path;
	side->stream.file = stream_file(side->path, name, "diff");
	if (!side->stream.file)
		return EXIT_FAILED;
	if (stream_open(&side->stream, side->stream.file, name) && side->stream.line == 1) {
		message("%s: diff: not a snapshot; an image is file:%s", name,
			is_stdin(side->path) ? "PATH" : side->path);
		return EXIT_FAILED;
	}
	code = stream_verify(&side->stream);
	side->kind = side->stream.kind;
	return code ? code : next(side);
}

static void close_side(struct side *side)
{
	items_close(&side->items);
	free(side->item.data);
	if (side->reader && side->reader != side->ct)
		crabtree_close(side->reader);
	crabtree_close(side->ct);
	if (side->stream.file)
		fclose(side->stream.file);
}

static bool is_number(enum item_kind kind, const struct item *item)
{
	return kind == ITEM_NAMED && item->type != CRABTREE_TYPE_BYTES &&
	       item->type != CRABTREE_TYPE_TEXT;
}

/* A number, or the length and the checksum of anything else */
static void print_value(enum item_kind kind, const struct item *item)
{
	if (is_number(kind, item))
		typed_print(item->type, item->data, item->bytes, false);
	else
		printf("%" PRIu32 " %08" PRIx32 "\n", item->bytes,
		       crc32c(0, item->data, item->bytes));
}

static void print(char mark, enum item_kind kind, const struct item *item)
{
	char text[NAME_TEXT];

	line_begin(stdout, LINE_NAME);
	switch (kind) {
	case ITEM_RECORD:
		printf("%c %" PRIu64 " %" PRIu64 "\n", mark, item->key, item->value);
		return;
	case ITEM_BLOB:
		printf("%c %" PRIu64 " ", mark, item->key);
		break;
	case ITEM_NAMED:
		printf("%c %s %s ", mark, name_text(item->name, item->name_bytes, text),
		       type_name(item->type));
		break;
	}
	print_value(kind, item);
}

static void add_value(struct json_object *json, enum item_kind kind, const struct item *item)
{
	char sum[9];

	if (kind == ITEM_RECORD) {
		json_u64(json, "value", item->value);
	} else if (is_number(kind, item)) {
		json_object_object_add(json, "value", typed_json(item->type, item->data, item->bytes));
	} else {
		snprintf(sum, sizeof(sum), "%08" PRIx32, crc32c(0, item->data, item->bytes));
		json_u64(json, "bytes", item->bytes);
		json_text(json, "checksum", sum);
	}
}

static void print_json(struct args *args, char mark, enum item_kind kind, const struct item *item)
{
	struct json_object *json = json_object_new_object();
	char text[NAME_TEXT];

	json_text(json, "side", mark == '-' ? "old" : "new");
	if (kind == ITEM_NAMED) {
		json_text(json, "name", name_text(item->name, item->name_bytes, text));
		json_text(json, "type", type_name(item->type));
	} else {
		json_u64(json, "key", item->key);
	}
	add_value(json, kind, item);
	json_element(json, &args->printed);
}

static void print_one(struct args *args, char mark, const struct side *side)
{
	progress_clear();
	if (args->target->json)
		print_json(args, mark, side->kind, &side->item);
	else
		print(mark, side->kind, &side->item);
}

/* Whether @side may have the item of the other one, which is not after its own */
static bool may_have(const struct side *side, const struct side *other)
{
	if (!side->more || !side->lost)
		return false;
	return side->kind == ITEM_NAMED ? !item_compare(side->kind, &side->item, &other->item) :
					  side->from <= other->item.key;
}

static void print_unless_lost(struct args *args, char mark, const struct side *side,
			      const struct side *other)
{
	if (side->lost || may_have(other, side))
		return;
	print_one(args, mark, side);
	args->differ++;
}

/* Prints the lowest of both, if they differ in it, and goes on after it */
static int step(struct args *args)
{
	struct side *old = &args->side[0], *new = &args->side[1];
	int order = old->more && new->more ? item_compare(old->kind, &old->item, &new->item) :
					     new->more - old->more;
	bool of_old = order <= 0, of_new = order >= 0;
	bool same = !order && !old->lost && !new->lost &&
		    item_same(old->kind, &old->item, &new->item);
	int code = EXIT_OK;

	if (of_old && !same)
		print_unless_lost(args, '-', old, new);
	if (of_new && !same)
		print_unless_lost(args, '+', new, old);
	if (of_old)
		code = next(old);
	if (of_new && !code)
		code = next(new);
	return code;
}

static int same_kind(const struct side *old, const struct side *new)
{
	if (old->kind == new->kind)
		return EXIT_OK;
	message("diff: %s has %s, %s has %s", old->path, item_kind_name(old->kind), new->path,
		item_kind_name(new->kind));
	return EXIT_FAILED;
}

/* Also after an error, the array of JSON has an end */
static int differences(struct args *args)
{
	int code = EXIT_OK;

	progress_begin(NULL, item_kind_name(args->side[0].kind), 0);
	while (!code && (args->side[0].more || args->side[1].more) && !ferror(stdout)) {
		code = step(args);
		progress_show(++args->steps, 0);
	}
	progress_clear();
	if (args->target->json)
		json_elements_end(args->printed);
	return code;
}

/* A loss is an error, too */
static int end(const struct args *args)
{
	uint64_t losses = args->side[0].losses + args->side[1].losses;

	if (losses) {
		message("diff: not complete: %" PRIu64 " damaged %s not compared", losses,
			noun(losses, "part was", "parts were"));
		return EXIT_FAILED;
	}
	return args->differ ? EXIT_NOT_FOUND : EXIT_OK;
}

int verb_diff(struct target *target, int argc, char **argv)
{
	static struct args args;
	int code;

	args.target = target;
	verb_parse(&argp, argc, argv, &args);
	if (target_no_option(target, "diff"))
		return EXIT_USAGE;
	args.side[0].path = target_device(target->word[0]);
	args.side[1].path = target_device(target->word[1]);
	code = open_side(&args.side[0]);
	if (!code)
		code = open_side(&args.side[1]);
	if (!code)
		code = same_kind(&args.side[0], &args.side[1]);
	if (!code)
		code = differences(&args);
	close_side(&args.side[0]);
	close_side(&args.side[1]);
	return code ? code : end(&args);
}

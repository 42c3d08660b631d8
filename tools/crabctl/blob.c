// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements `crabctl set`, `cat`, `rm` and `ls`: values of any length, in stores of blobs
 * and in stores of names.
 */
#include "item.h"
#include "named.h"
#include "typed.h"

#include <crabtree_blob.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define LIST_CHUNK	64

struct args {
	struct target *target;
	const char *verb;
	const char *file;
	const char *text;
	const char *name;	/* the key as text */
	bool escaped;
	int type;		/* -1: not given */
	bool has_version;
	bool values;
	unsigned int flags;
	uint64_t key;
	uint64_t version;
};

enum { OPT_CREATE = 0x2100, OPT_REPLACE, OPT_FILE, OPT_VERSION, OPT_TYPE, OPT_VALUES };

static unsigned char value[CRABTREE_BLOB_MAX + 1];

static int type_arg(struct argp_state *state, const char *arg)
{
	int type = type_find(arg);

	if (type < 0)
		arg_error(state, "type %s: not one of " TYPE_LIST, arg);
	return type;
}

static error_t parse_opt(int key, char *arg, struct argp_state *state)
{
	struct args *args = state->input;

	switch (key) {
	case OPT_CREATE:
		args->flags |= CRABTREE_PUT_CREATE;
		return 0;
	case OPT_REPLACE:
		args->flags |= CRABTREE_PUT_REPLACE;
		return 0;
	case OPT_FILE:
		args->file = arg;
		return 0;
	case OPT_VERSION:
		args->version = number_arg(state, "version", arg);
		args->has_version = true;
		return 0;
	case OPT_TYPE:
		args->type = type_arg(state, arg);
		return 0;
	case OPT_VALUES:
		args->values = true;
		return 0;
	case 'e':
		args->escaped = true;
		return 0;
	case ARGP_KEY_ARG:
		*(state->arg_num ? &args->text : &args->name) = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

#define VERSION_OPTION	{ "if-version", OPT_VERSION, "N", 0, "fail if the version is another one", 0 }

static const struct argp_option set_options[] = {
	{ "create", OPT_CREATE, NULL, 0, "fail if the key is there", 0 },
	{ "replace", OPT_REPLACE, NULL, 0, "fail if the key is not there", 0 },
	VERSION_OPTION,
	{ "file", OPT_FILE, "FILE", 0, "the value is the content of a file; -: of standard input", 0 },
	{ "type", OPT_TYPE, "TYPE", 0,
	  "store of names: bytes, text, bool, u8, u16, u32, u64, i64 or f64 [text; of a file: bytes]", 0 },
	{ 0 }
};

static const struct argp_option cat_options[] = { ESCAPED_OPTION, { 0 } };
static const struct argp_option rm_options[] = { ESCAPED_OPTION, VERSION_OPTION, { 0 } };

static const struct argp_option ls_options[] = {
	{ "values", OPT_VALUES, NULL, 0, "store of names: with the values", 0 },
	{ 0 }
};

static const struct argp set_argp = {
	.options = set_options,
	.parser = parse_opt,
	.args_doc = "KEY|NAME [TEXT]",
	.doc = "Store a value of up to 64 KiB, in a store of blobs or of names.",
};

static const struct argp cat_argp = {
	.options = cat_options,
	.parser = parse_opt,
	.args_doc = "KEY|NAME",
	.doc = "Write the bytes of a value, in a store of blobs or of names, to standard output.",
};

static const struct argp rm_argp = {
	.options = rm_options,
	.parser = parse_opt,
	.args_doc = "KEY|NAME",
	.doc = "Remove a key and its value from a store of blobs or of names.",
};

int value_read(FILE *from, void *room, size_t most, size_t *bytes)
{
	errno = 0;
	*bytes = fread(room, 1, most, from);
	if (!ferror(from))
		return 0;
	return errno ? -errno : -EIO;
}

/* Reads the value into @value; EXIT_OK or an exit code */
static int set_read(const struct args *args, size_t *bytes)
{
	bool is_stdin = args->file && !strcmp(args->file, "-");
	FILE *from;
	int err;

	if (!args->file) {
		*bytes = strnlen(args->text, sizeof(value));
		memcpy(value, args->text, *bytes);
		return EXIT_OK;
	}
	from = is_stdin ? stdin : fopen(args->file, "rb");
	if (!from)
		return fail_file(args->file, -errno, "set");
	err = value_read(from, value, sizeof(value), bytes);
	if (err || !is_stdin)
		fclose(from);
	return err ? fail_file(args->file, err, "set") : EXIT_OK;
}

/* The value of a store of names, in the form of its type */
static int set_named(struct target *target, struct args *args, uint32_t bytes)
{
	struct crabtree_named named = {
		.type = args->type >= 0 ? args->type : args->file ? CRABTREE_TYPE_BYTES :
								  CRABTREE_TYPE_TEXT,
		.value = value, .bytes = bytes, .version = args->version,
	};
	const char *wrong = NULL;

	if (bytes < sizeof(value))
		wrong = args->file ? typed_wrong(named.type, value, bytes) :
				     typed_parse(named.type, args->text, value, &named.bytes);
	if (!wrong)
		return named_set(target, args->name, &named, args->flags);
	message("set: %s: %s", args->file ? args->file : args->text, wrong);
	return args->file ? EXIT_FAILED : EXIT_USAGE;
}

static int blob_key(struct target *target, struct args *args)
{
	return key_read_kind(target, ITEM_BLOB, args->verb, args->name, &args->key);
}

static int set_blob(struct target *target, struct args *args, uint32_t bytes)
{
	struct json_object *json;
	int err = blob_key(target, args);

	if (!err && args->type >= 0) {
		message("set: --type is of stores of names");
		err = EXIT_USAGE;
	}
	if (err)
		return err;
	err = crabtree_put(target->ct, args->key, value, bytes, args->flags, &args->version);
	if (err)
		return fail(target, err, "set %" PRIu64, args->key);
	if (!target->json)
		return EXIT_OK;
	json = json_object_new_object();
	json_u64(json, "key", args->key);
	json_u64(json, "bytes", bytes);
	json_u64(json, "version", args->version);
	return json_print(json);
}

static int set(struct target *target, struct args *args)
{
	size_t bytes = 0;
	int err = set_read(args, &bytes);

	if (err)
		return err;
	if (args->has_version)
		args->flags |= CRABTREE_IF_VERSION;
	return has_names(target) ? set_named(target, args, bytes) : set_blob(target, args, bytes);
}

static int cat(struct target *target, struct args *args)
{
	const struct name_word word = { args->name, args->escaped };
	uint32_t bytes;
	int err;

	if (has_names(target))
		return named_cat(target, &word);
	err = blob_key(target, args);
	if (err)
		return err;
	err = crabtree_get(target->ct, args->key, value, sizeof(value), &bytes, NULL);
	if (err)
		return fail(target, err, "cat %" PRIu64, args->key);
	return fwrite(value, 1, bytes, stdout) == bytes ? EXIT_OK : EXIT_FAILED;
}

static int rm(struct target *target, struct args *args)
{
	const uint64_t *version = args->has_version ? &args->version : NULL;
	const struct name_word word = { args->name, args->escaped };
	int err;

	if (has_names(target))
		return named_rm(target, &word, version);
	err = blob_key(target, args);
	if (err)
		return err;
	err = crabtree_erase(target->ct, args->key, version);
	return err ? fail(target, err, "rm %" PRIu64, args->key) : EXIT_OK;
}

/* @count: elements of JSON, or NULL */
static void ls_entry(const struct crabtree_entry *entry, uint64_t *count)
{
	struct json_object *json;

	if (!count) {
		line_begin(stdout, LINE_NUMBERS);
		printf("%" PRIu64 " %" PRIu32 " %" PRIu64 "%s\n", (uint64_t)entry->key, entry->bytes,
		       (uint64_t)entry->version, entry->status ? " damaged" : "");
		return;
	}
	json = json_object_new_object();
	json_u64(json, "key", entry->key);
	json_u64(json, "bytes", entry->bytes);
	json_u64(json, "version", entry->version);
	json_object_object_add(json, "damaged", json_object_new_boolean(entry->status != 0));
	json_element(json, count);
}

/* As of scan: a quarantined range, from @from to the cursor, is reported, and the list goes on after it */
static int ls_damaged(struct target *target, const struct crabtree_cursor *cursor, uint64_t from)
{
	uint64_t to = cursor->done ? CRABTREE_KEY_RESERVED : cursor->next;

	if (to <= from)
		return fail(target, -EUCLEAN, "ls");
	fail(target, -EUCLEAN, "ls: keys %" PRIu64 " to %" PRIu64 " left out", from, to - 1);
	return EXIT_OK;
}

/* The error that ends the list, as an exit code; @damaged: are ranges left out, or values damaged? */
static int ls_entries(struct target *target, uint64_t *count, bool *damaged)
{
	struct crabtree_entry entry[LIST_CHUNK];
	struct crabtree_cursor cursor;
	int i, n, code = EXIT_OK;
	uint64_t from;

	crabtree_cursor_init(&cursor, 0, CRABTREE_KEY_RESERVED - 1);
	do {
		from = cursor.next;
		n = crabtree_list(target->ct, &cursor, entry, LIST_CHUNK);
		for (i = 0; i < n; i++) {
			ls_entry(&entry[i], count);
			*damaged |= entry[i].status;
			if (entry[i].status)
				fail(target, entry[i].status, "ls: value of key %" PRIu64, (uint64_t)entry[i].key);
		}
		*damaged |= n == -EUCLEAN;
		if (n < 0)
			code = n == -EUCLEAN ? ls_damaged(target, &cursor, from) : fail(target, n, "ls");
	} while (n && !code);
	return code;
}

static int ls(struct target *target)
{
	uint64_t count = 0;
	bool damaged = false;
	int code = ls_entries(target, target->json ? &count : NULL, &damaged);

	if (target->json)
		json_elements_end(count);
	return damaged ? EXIT_FAILED : code;
}

static int with_target(struct target *target, unsigned int flags, struct args *args,
		       int (*run)(struct target *target, struct args *args))
{
	return target_open(target, flags) ?: target_store(target, args->verb, args->name) ?:
	       run(target, args);
}

int verb_set(struct target *target, int argc, char **argv)
{
	struct args args = { .target = target, .verb = "set", .type = -1 };

	verb_parse(&set_argp, argc, argv, &args);
	if (!args.text == !args.file) {
		message("set: either TEXT or --file");
		return EXIT_USAGE;
	}
	return with_target(target, 0, &args, set);
}

int verb_cat(struct target *target, int argc, char **argv)
{
	struct args args = { .target = target, .verb = "cat", .type = -1 };

	verb_parse(&cat_argp, argc, argv, &args);
	return target_no_json(target, "cat") ?:
	       with_target(target, CRABTREE_OPEN_READONLY, &args, cat);
}

int verb_rm(struct target *target, int argc, char **argv)
{
	struct args args = { .target = target, .verb = "rm", .type = -1 };

	verb_parse(&rm_argp, argc, argv, &args);
	return target_no_json(target, "rm") ?: with_target(target, 0, &args, rm);
}

static int ls_run(struct target *target, struct args *args)
{
	if (has_names(target))
		return named_ls(target, args->name, args->values);
	if (!args->name && !args->values)
		return ls(target);
	message("ls: %s: only the list of a store of names has %s", args->name ? args->name : "--values",
		args->name ? "a PREFIX" : "it");
	return EXIT_USAGE;
}

int verb_ls(struct target *target, int argc, char **argv)
{
	const struct argp argp = {
		.options = ls_options, .parser = parse_opt, .args_doc = "[PREFIX]",
		.doc = "List the keys of a store of blobs: key, bytes, version; "
		       "or the names of a store of names: name, type, bytes, version.",
	};
	struct args args = { .target = target, .verb = "ls" };

	verb_parse(&argp, argc, argv, &args);
	return with_target(target, CRABTREE_OPEN_READONLY, &args, ls_run);
}

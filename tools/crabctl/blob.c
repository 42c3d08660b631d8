// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements `crabctl set`, `cat`, `rm` and `ls`: values of any length, in stores of blobs.
 */
#include "crabctl.h"

#include <crabtree_blob.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define LIST_CHUNK	64

struct args {
	struct target *target;
	const char *file;
	const char *text;
	bool has_key;
	bool has_version;
	unsigned int flags;
	uint64_t key;
	uint64_t version;
};

enum { OPT_CREATE = 0x2100, OPT_REPLACE, OPT_FILE, OPT_VERSION };

static unsigned char value[CRABTREE_BLOB_MAX + 1];

static error_t parse_arg(struct args *args, char *arg, struct argp_state *state)
{
	if (!args->has_key)
		args->key = key_arg(state, arg);
	else if (!args->text)
		args->text = arg;
	else
		argp_error(state, "%s: one argument too many", arg);
	args->has_key = true;
	return 0;
}

static error_t parse_opt(int key, char *arg, struct argp_state *state)
{
	struct args *args = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = args->target;
		return 0;
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
	case ARGP_KEY_ARG:
		return parse_arg(args, arg, state);
	case ARGP_KEY_END:
		if (!args->has_key)
			argp_error(state, "KEY is missing");
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
	{ 0 }
};

static const struct argp_option rm_options[] = { VERSION_OPTION, { 0 } };

static const struct argp set_argp = {
	.options = set_options,
	.parser = parse_opt,
	.args_doc = "KEY [TEXT]",
	.doc = "Store a value of up to 64 KiB under a key, in a store of blobs.",
	.children = target_child,
};

static const struct argp cat_argp = {
	.parser = parse_opt,
	.args_doc = "KEY",
	.doc = "Write the value of a key, in a store of blobs, to standard output.",
	.children = target_child,
};

static const struct argp rm_argp = {
	.options = rm_options,
	.parser = parse_opt,
	.args_doc = "KEY",
	.doc = "Remove a key and its value from a store of blobs.",
	.children = target_child,
};

/* Reads the value into @value; EXIT_OK or an exit code */
static int set_read(const struct args *args, size_t *bytes)
{
	bool is_stdin = args->file && !strcmp(args->file, "-");
	FILE *from;

	if (!args->file) {
		*bytes = strnlen(args->text, sizeof(value));
		memcpy(value, args->text, *bytes);
		return EXIT_OK;
	}
	from = is_stdin ? stdin : fopen(args->file, "rb");
	if (!from)
		return fail_file(args->file, -errno, "set");
	*bytes = fread(value, 1, sizeof(value), from);
	if (ferror(from)) {
		fclose(from);
		return fail_file(args->file, -EIO, "set");
	}
	if (!is_stdin)
		fclose(from);
	return EXIT_OK;
}

static int set(struct target *target, struct args *args)
{
	struct json_object *json;
	size_t bytes = 0;
	int err = set_read(args, &bytes);

	if (err)
		return err;
	if (args->has_version)
		args->flags |= CRABTREE_IF_VERSION;
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

static int cat(struct target *target, struct args *args)
{
	uint32_t bytes;
	int err = crabtree_get(target->ct, args->key, value, sizeof(value), &bytes, NULL);

	if (err)
		return fail(target, err, "cat %" PRIu64, args->key);
	return fwrite(value, 1, bytes, stdout) == bytes ? EXIT_OK : EXIT_FAILED;
}

static int rm(struct target *target, struct args *args)
{
	int err = crabtree_erase(target->ct, args->key, args->has_version ? &args->version : NULL);

	return err ? fail(target, err, "rm %" PRIu64, args->key) : EXIT_OK;
}

static void ls_entry(const struct crabtree_entry *entry, struct json_object *array)
{
	struct json_object *json;

	if (!array) {
		printf("%" PRIu64 " %" PRIu32 " %" PRIu64 "%s\n", (uint64_t)entry->key, entry->bytes,
		       (uint64_t)entry->version, entry->status ? " damaged" : "");
		return;
	}
	json = json_object_new_object();
	json_u64(json, "key", entry->key);
	json_u64(json, "bytes", entry->bytes);
	json_u64(json, "version", entry->version);
	json_object_object_add(json, "damaged", json_object_new_boolean(entry->status != 0));
	json_object_array_add(array, json);
}

static int ls(struct target *target)
{
	struct json_object *array = target->json ? json_object_new_array() : NULL;
	struct crabtree_entry entry[LIST_CHUNK];
	struct crabtree_cursor cursor;
	int i, n;

	crabtree_cursor_init(&cursor, 0, CRABTREE_KEY_RESERVED - 1);
	while ((n = crabtree_list(target->ct, &cursor, entry, LIST_CHUNK)) > 0)
		for (i = 0; i < n; i++)
			ls_entry(&entry[i], array);
	if (!n)
		return array ? json_print(array) : EXIT_OK;
	json_object_put(array);
	return fail(target, n, "ls");
}

static int with_target(struct target *target, unsigned int flags, struct args *args,
		       int (*run)(struct target *target, struct args *args))
{
	int code = target_open(target, flags);

	return code ? code : target_end(target, run(target, args));
}

int verb_set(struct target *target, int argc, char **argv)
{
	struct args args = { .target = target };

	verb_parse(&set_argp, argc, argv, &args);
	if (!args.text == !args.file) {
		fprintf(stderr, "crabctl: set: either TEXT or --file\n");
		return EXIT_USAGE;
	}
	return with_target(target, 0, &args, set);
}

int verb_cat(struct target *target, int argc, char **argv)
{
	struct args args = { .target = target };

	verb_parse(&cat_argp, argc, argv, &args);
	return with_target(target, CRABTREE_OPEN_READONLY, &args, cat);
}

int verb_rm(struct target *target, int argc, char **argv)
{
	struct args args = { .target = target };

	verb_parse(&rm_argp, argc, argv, &args);
	return with_target(target, 0, &args, rm);
}

static int ls_run(struct target *target, struct args *args)
{
	(void)args;
	return ls(target);
}

int verb_ls(struct target *target, int argc, char **argv)
{
	verb_parse_bare(target, "List the keys of a store of blobs: key, bytes, version.", argc, argv);
	return with_target(target, CRABTREE_OPEN_READONLY, NULL, ls_run);
}

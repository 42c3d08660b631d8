// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements `crabctl get`, `put`, `swap`, `add` and `del`: one record, or the removal of a range.
 */
#include "named.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

struct args {
	struct target *target;
	const char *verb;
	bool text;		/* get: the key is wanted as text, in @name */
	bool swap;		/* the second word is @expected */
	bool add;		/* it may be negative */
	bool range;
	unsigned int flags;
	bool hex;
	bool escaped;
	const char *name;
	uint64_t key;
	uint64_t expected;
	uint64_t value;
	uint64_t *to;		/* a verb of a range: where its highest key goes */
};

enum { OPT_CREATE = 0x2000, OPT_REPLACE };

/* A word that is no number may be meant for a store of another kind, which is the error then */
static uint64_t number_word(struct args *args, struct argp_state *state, const char *what,
			    const char *text)
{
	struct target *target = args->target;
	struct crabtree_info info;
	uint64_t number;

	if (number_parse(text, &number) && !target_try(target, CRABTREE_OPEN_READONLY) &&
	    !crabtree_info(target->ct, &info, sizeof(info)) && item_kind(&info) != ITEM_RECORD)
		exit(fail(target, -EOPNOTSUPP, "%s %s", args->verb, target->word[0]));
	return *what == 'k' ? key_arg(state, text) : number_arg(state, what, text);
}

/* The value; the addend of `add' may be negative: it is added modulo 2^64 */
static uint64_t value_word(struct args *args, struct argp_state *state, const char *text)
{
	bool minus = args->add && *text == '-';
	uint64_t value = number_word(args, state, "value", text + minus);

	return minus ? -value : value;
}

/* All words are there, and the options of the target, also those after the words */
static void take_words(struct args *args, struct argp_state *state)
{
	const char *const *word = args->target->word;

	args->name = word[0];
	if (args->text)
		return;
	args->key = number_word(args, state, "key", word[0]);
	args->range = args->to && word[1];
	if (args->range)
		*args->to = number_word(args, state, "key", word[1]);
	else if (word[1])
		args->value = value_word(args, state, word[1]);
	if (!args->swap)
		return;
	args->expected = args->value;
	args->value = value_word(args, state, word[2]);
}

static error_t parse_opt(int key, char *arg, struct argp_state *state)
{
	struct args *args = state->input;

	(void)arg;
	switch (key) {
	case OPT_CREATE:
		args->flags |= CRABTREE_INSERT_CREATE;
		return 0;
	case OPT_REPLACE:
		args->flags |= CRABTREE_INSERT_REPLACE;
		return 0;
	case 'x':
		args->hex = true;
		return 0;
	case 'e':
		args->escaped = true;
		return 0;
	case ARGP_KEY_END:
		take_words(args, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option get_options[] = {
	{ "hex", 'x', NULL, 0, "print the value in hexadecimal", 0 },
	ESCAPED_OPTION,
	{ 0 }
};

static const struct argp_option put_options[] = {
	{ "create", OPT_CREATE, NULL, 0, "fail if the key is there", 0 },
	{ "replace", OPT_REPLACE, NULL, 0, "fail if the key is not there", 0 },
	{ 0 }
};

static const struct argp_option add_options[] = {
	{ "replace", OPT_REPLACE, NULL, 0, "fail if the key is not there", 0 },
	{ 0 }
};

static const struct argp get_argp = {
	.options = get_options,
	.parser = parse_opt,
	.args_doc = "KEY|NAME",
	.doc = "Print the value of a key, or of a name in a store of names.",
};

static const struct argp put_argp = {
	.options = put_options,
	.parser = parse_opt,
	.args_doc = "KEY VALUE",
	.doc = "Store a value under a key.",
};

static const struct argp swap_argp = {
	.parser = parse_opt,
	.args_doc = "KEY EXPECTED VALUE",
	.doc = "Replace the value of a key if it is the expected one.",
};

static const struct argp add_argp = {
	.options = add_options,
	.parser = parse_opt,
	.args_doc = "KEY N",
	.doc = "Add to the value of a key, modulo 2^64, and print the sum. A negative N needs -- before the key.",
};

static const struct argp del_argp = {
	.parser = parse_opt,
	.args_doc = "KEY [TO]",
	.doc = "Remove a key, or all keys from KEY to TO, and print how many.",
};

static struct json_object *record_json(const struct args *args)
{
	struct json_object *json = json_object_new_object();

	json_u64(json, "key", args->key);
	return json;
}

static int get(struct target *target, struct args *args)
{
	const struct name_word word = { args->name, args->escaped };
	int err = target_store(target, "get", args->name);
	struct json_object *json;

	if (err)
		return err;
	if (has_names(target))
		return named_get(target, &word, args->hex);
	err = key_read_kind(target, ITEM_RECORD, "get", args->name, &args->key);
	if (err)
		return err;
	err = crabtree_search(target->ct, args->key, &args->value);
	if (err)
		return fail(target, err, "get %" PRIu64, args->key);
	if (!target->json) {
		printf(args->hex ? "0x%" PRIx64 "\n" : "%" PRIu64 "\n", args->value);
		return EXIT_OK;
	}
	json = record_json(args);
	json_u64(json, "value", args->value);
	return json_print(json);
}

static int put(struct target *target, struct args *args)
{
	struct json_object *json;
	uint64_t old_value;
	bool existed;
	int err = crabtree_insert(target->ct, args->key, args->value, args->flags, &existed,
				  &old_value);

	if (err)
		return fail(target, err, "put %" PRIu64, args->key);
	if (!target->json)
		return EXIT_OK;
	json = record_json(args);
	json_u64(json, "value", args->value);
	json_object_object_add(json, "existed", json_object_new_boolean(existed));
	if (existed)
		json_u64(json, "old_value", old_value);
	return json_print(json);
}

static int swap(struct target *target, struct args *args)
{
	struct json_object *json;
	uint64_t old_value;
	int err = crabtree_swap(target->ct, args->key, args->expected, args->value, &old_value);

	if (err == -ESTALE)
		return fail(target, err, "swap %" PRIu64 ", whose value is %" PRIu64, args->key,
			    old_value);
	if (err)
		return fail(target, err, "swap %" PRIu64, args->key);
	if (!target->json)
		return EXIT_OK;
	json = record_json(args);
	json_u64(json, "value", args->value);
	json_u64(json, "old_value", old_value);
	return json_print(json);
}

static int add(struct target *target, struct args *args)
{
	struct json_object *json;
	uint64_t old_value;
	int err = crabtree_add(target->ct, args->key, args->value, args->flags, &old_value);

	if (err)
		return fail(target, err, "add %" PRIu64, args->key);
	if (!target->json) {
		printf("%" PRIu64 "\n", old_value + args->value);
		return EXIT_OK;
	}
	json = record_json(args);
	json_u64(json, "value", old_value + args->value);
	json_u64(json, "old_value", old_value);
	return json_print(json);
}

static int del_range(struct target *target, const struct args *args)
{
	uint64_t deleted, next;
	struct json_object *json;
	int err = crabtree_delete_range(target->ct, args->key, *args->to, &deleted, &next);

	if (err)
		return fail(target, err, "del, after %" PRIu64 " %s: key %" PRIu64, deleted,
			    noun(deleted, "record", "records"), next);
	if (!target->json) {
		printf("%" PRIu64 "\n", deleted);
		return EXIT_OK;
	}
	json = json_object_new_object();
	json_u64(json, "deleted", deleted);
	return json_print(json);
}

static int del(struct target *target, struct args *args)
{
	struct json_object *json;
	uint64_t old_value;
	int err;

	if (args->range)
		return del_range(target, args);
	err = crabtree_delete(target->ct, args->key, &old_value);
	if (err)
		return fail(target, err, "del %" PRIu64, args->key);
	if (!target->json)
		return EXIT_OK;
	json = record_json(args);
	json_u64(json, "old_value", old_value);
	return json_print(json);
}

int verb_get(struct target *target, int argc, char **argv)
{
	struct args args = { .target = target, .verb = "get", .text = true };

	verb_parse(&get_argp, argc, argv, &args);
	return target_open(target, CRABTREE_OPEN_READONLY) ?: get(target, &args);
}

int verb_put(struct target *target, int argc, char **argv)
{
	struct args args = { .target = target, .verb = "put" };

	verb_parse(&put_argp, argc, argv, &args);
	return target_open(target, 0) ?: put(target, &args);
}

int verb_swap(struct target *target, int argc, char **argv)
{
	struct args args = { .target = target, .verb = "swap", .swap = true };

	verb_parse(&swap_argp, argc, argv, &args);
	return target_open(target, 0) ?: swap(target, &args);
}

int verb_add(struct target *target, int argc, char **argv)
{
	struct args args = { .target = target, .verb = "add", .add = true };

	verb_parse(&add_argp, argc, argv, &args);
	return target_open(target, 0) ?: add(target, &args);
}

int verb_del(struct target *target, int argc, char **argv)
{
	uint64_t to;
	struct args args = { .target = target, .verb = "del", .to = &to };

	verb_parse(&del_argp, argc, argv, &args);
	return target_open(target, 0) ?: del(target, &args);
}

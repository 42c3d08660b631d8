// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements `crabctl watch`: a line for each change of a range of keys.
 *
 * Invariant: a change is printed once no power cut can take it back; changes that were dropped
 * because this program was too slow are reported by a line of their own.
 */
#include "crabctl.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#define CHANGES	256	/* of one read */

struct args {
	struct target *target;
	uint64_t from;
	uint64_t to;
	uint64_t count;		/* changes to print; 0: no end */
	uint64_t entries;
	uint64_t printed;
};

enum { OPT_ENTRIES = 0x2000 };

static const struct argp_option options[] = {
	{ "count", 'n', "N", 0, "end after N changes [never]", 0 },
	{ "entries", OPT_ENTRIES, "N", 0,
	  "changes that the kernel keeps until they are printed [1024]", 0 },
	{ 0 }
};

static error_t parse_opt(int key, char *arg, struct argp_state *state)
{
	struct args *args = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = args->target;
		return 0;
	case 'n':
		args->count = number_arg(state, "--count", arg);
		return 0;
	case OPT_ENTRIES:
		args->entries = number_arg(state, "--entries", arg);
		if (!args->entries || args->entries > CRABTREE_WATCH_ENTRIES_MAX)
			argp_error(state, "--entries %s: 1 to %u", arg, CRABTREE_WATCH_ENTRIES_MAX);
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num > 1)
			argp_error(state, "%s: one argument too many", arg);
		*(state->arg_num ? &args->to : &args->from) = key_arg(state, arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse_opt,
	.args_doc = "[FROM [TO]]",
	.doc = "Print a line for each change of a key from FROM to TO, once it is durable.",
	.children = target_child,
};

static const char *verb_name(const struct crabtree_change *change)
{
	if (change->flags & CRABTREE_CHANGE_LOST)
		return "lost";
	return change->verb == CRABTREE_BATCH_DELETE ? "del" : "put";
}

static void print_json(const struct crabtree_change *change)
{
	struct json_object *json = json_object_new_object();
	bool lost = change->flags & CRABTREE_CHANGE_LOST;

	json_u64(json, "seq", change->seq);
	json_text(json, "verb", verb_name(change));
	if (!lost)
		json_u64(json, "key", change->key);
	if (lost)
		json_u64(json, "changes", change->value);
	else if (change->verb == CRABTREE_BATCH_INSERT)
		json_u64(json, "value", change->value);
	if (change->flags & CRABTREE_CHANGE_EXISTED)
		json_u64(json, "old", change->old);
	puts(json_object_to_json_string_ext(json, JSON_C_TO_STRING_PLAIN));
	json_object_put(json);
}

static void print_text(const struct crabtree_change *change)
{
	if (change->flags & CRABTREE_CHANGE_LOST)
		printf("lost %" PRIu64 "\n", (uint64_t)change->value);
	else if (change->verb == CRABTREE_BATCH_DELETE)
		printf("del %" PRIu64 "\n", (uint64_t)change->key);
	else
		printf("put %" PRIu64 " %" PRIu64 "\n", (uint64_t)change->key,
		       (uint64_t)change->value);
}

static bool is_done(const struct args *args)
{
	return ferror(stdout) || (args->count && args->printed >= args->count);
}

/* Until the end of the store: then the error, or 0 */
static int follow(struct args *args, int fd)
{
	struct crabtree_change changes[CHANGES];
	int n, i;

	while (!is_done(args)) {
		n = crabtree_watch_read(fd, changes, CHANGES);
		if (n <= 0 && n != -EINTR)
			return n;
		for (i = 0; i < n && !is_done(args); i++, args->printed++) {
			if (args->target->json)
				print_json(&changes[i]);
			else
				print_text(&changes[i]);
		}
		fflush(stdout);
	}
	return 0;
}

int verb_watch(struct target *target, int argc, char **argv)
{
	struct args args = { .target = target, .to = CRABTREE_KEY_RESERVED - 1 };
	int fd, err, code;

	verb_parse(&argp, argc, argv, &args);
	code = target_open(target, CRABTREE_OPEN_READONLY);
	if (code)
		return code;
	fd = crabtree_watch(target->ct, args.from, args.to, args.entries);
	err = fd < 0 ? fd : follow(&args, fd);
	if (fd >= 0)
		close(fd);
	code = err ? fail(target, err, "watch") : EXIT_OK;
	target_close(target);
	return code;
}

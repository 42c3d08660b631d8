// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements `crabctl watch`: a line for each change of a range of keys, or of names.
 *
 * Invariant: a change is printed once no power cut can take it back; changes that were dropped
 * because this program was too slow are reported by a line of their own.
 */
#include "named.h"
#include "typed.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define CHANGES	256	/* of one read */

struct args {
	struct target *target;
	uint64_t count;		/* changes to print */
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
	case 'n':
		args->count = number_arg(state, "--count", arg);
		return 0;
	case OPT_ENTRIES:
		args->entries = number_arg(state, "--entries", arg);
		if (!args->entries || args->entries > CRABTREE_WATCH_ENTRIES_MAX)
			arg_error(state, "--entries %s: 1 to %u", arg, CRABTREE_WATCH_ENTRIES_MAX);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse_opt,
	.args_doc = "[FROM [TO]]\n[PREFIX]",
	.doc = "Print a line for each change of a key from FROM to TO, or of a name with a PREFIX, once "
	       "it is durable. In stores of blobs and of names values are versions.",
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
	puts(json_object_to_json_string_ext(json, JSON_C_TO_STRING_NOSLASHESCAPE));
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
	return ferror(stdout) || args->printed >= args->count;
}

static int read_changes(struct args *args, int fd)
{
	struct crabtree_change changes[CHANGES];
	int n = crabtree_watch_read(fd, changes, CHANGES), i;

	for (i = 0; i < n && !is_done(args); i++, args->printed++) {
		line_begin(stdout, LINE_NUMBERS);
		if (args->target->json)
			print_json(&changes[i]);
		else
			print_text(&changes[i]);
	}
	return n;
}

/* The change of a key that a change of a name would be */
static struct crabtree_change without_name(const struct crabtree_name_change *change)
{
	return (struct crabtree_change){
		.seq = change->seq, .value = change->value, .old = change->old,
		.verb = change->verb, .flags = change->flags,
	};
}

static void name_json(const struct crabtree_name_change *change, const char *name)
{
	struct json_object *json = json_object_new_object();

	json_u64(json, "seq", change->seq);
	json_text(json, "verb", change->verb == CRABTREE_BATCH_DELETE ? "rm" : "set");
	json_text(json, "name", name);
	if (change->verb == CRABTREE_BATCH_INSERT) {
		json_text(json, "type", type_name(change->type));
		json_u64(json, "version", change->value);
	}
	if (change->flags & CRABTREE_CHANGE_EXISTED)
		json_u64(json, "old", change->old);
	puts(json_object_to_json_string_ext(json, JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(json);
}

static void name_print(const struct crabtree_name_change *change, void *arg)
{
	struct args *args = arg;
	struct crabtree_change lost = without_name(change);
	char name[NAME_TEXT];

	if (is_done(args))
		return;
	args->printed++;
	line_begin(stdout, LINE_NAME);
	name_text(change->name, change->name_bytes, name);
	if ((change->flags & CRABTREE_CHANGE_LOST) && args->target->json)
		print_json(&lost);
	else if (change->flags & CRABTREE_CHANGE_LOST)
		print_text(&lost);
	else if (args->target->json)
		name_json(change, name);
	else if (change->verb == CRABTREE_BATCH_DELETE)
		printf("rm %s\n", name);
	else
		printf("set %s %s %" PRIu64 "\n", name, type_name(change->type),
		       (uint64_t)change->value);
}

/* Until the end of the store: then the error, or 0 */
static int follow(struct args *args, int fd, bool names)
{
	struct pollfd polled[2] = { { .fd = fd, .events = POLLIN } };
	int n;

	while (!is_done(args)) {
		output_poll(polled, 1, -1);
		n = names ? crabtree_watch_names_read(fd, name_print, args) :
			    read_changes(args, fd);
		if (n <= 0 && n != -EINTR)
			return n;
		fflush(stdout);
	}
	return 0;
}

static int follow_watch(struct args *args, int fd, bool names)
{
	int err = fd < 0 ? fd : follow(args, fd, names);

	if (fd >= 0)
		close(fd);
	return err ? fail(args->target, err, "watch") : EXIT_OK;
}

static int watch_keys(struct args *args)
{
	const char * const *word = args->target->word;
	uint64_t from = 0, to = CRABTREE_KEY_RESERVED - 1;
	int code = word[0] ? key_read(args->target, "watch", word[0], &from) : EXIT_OK;

	if (!code && word[1])
		code = key_read(args->target, "watch", word[1], &to);
	if (!code && from > to) {
		message("watch: %s to %s: the range ends below its start", word[0], word[1]);
		code = EXIT_USAGE;
	}
	return code ? code :
	       follow_watch(args, crabtree_watch(args->target->ct, from, to, args->entries), false);
}

static int watch_names(struct args *args)
{
	const char * const *word = args->target->word;
	const char *prefix = word[0] ? word[0] : "";

	if (word[1]) {
		message("watch: %s: a store of names has one argument, PREFIX", word[1]);
		return EXIT_USAGE;
	}
	if (prefix_check("watch", prefix))
		return EXIT_USAGE;
	return follow_watch(args, crabtree_watch_names(args->target->ct, prefix, strlen(prefix),
						       args->entries), true);
}

static int watch(struct args *args)
{
	struct target *target = args->target;
	int code = target_store(target, "watch", target->word[0]);

	if (code)
		return code;
	if (!target->image)
		return has_names(target) ? watch_names(args) : watch_keys(args);
	message("%s: watch: an image has no other writer", target->image);
	return EXIT_FAILED;
}

int verb_watch(struct target *target, int argc, char **argv)
{
	struct args args = { .target = target, .count = UINT64_MAX };

	verb_parse(&argp, argc, argv, &args);
	return target_open(target, CRABTREE_OPEN_READONLY) ?: watch(&args);
}

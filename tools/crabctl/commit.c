// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements `crabctl commit`: the operations of a file, all of them or none.
 */
#include "crabctl.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/**
 * struct commit - a file of operations
 * @name: of the file, for messages
 * @line: number of the line read last
 * @count: operations
 * @ops: each
 * @lines: the line of each
 */
struct commit {
	const char *name;
	uint64_t line;
	uint32_t count;
	struct crabtree_batch_op ops[CRABTREE_COMMIT_MAX];
	uint64_t lines[CRABTREE_COMMIT_MAX];
};

static const struct verb {
	const char *name;
	uint32_t verb;
	uint32_t flags;
} verbs[] = {
	{ "put", CRABTREE_BATCH_INSERT, 0 },
	{ "add", CRABTREE_BATCH_INSERT, CRABTREE_INSERT_ADD },
	{ "get", CRABTREE_BATCH_SEARCH, 0 },
	{ "del", CRABTREE_BATCH_DELETE, 0 },
	{ NULL, 0, 0 }
};

static const char doc[] =
	"Do all operations of a file, or none, in a store of commits: up to 64 lines `put KEY VALUE', "
	"`add KEY N', `get KEY' or `del KEY', each on another key; with `absent', `exists' or "
	"`was VALUE' at its end, the line is also a condition. "
	"Blank lines and text after # are skipped.";

static char *word(char **save)
{
	return strtok_r(NULL, " \t\r\n", save);
}

static const char *key_parse(const char *text, struct crabtree_batch_op *op)
{
	uint64_t key = 0;
	const char *wrong = text ? number_parse(text, &key) : "KEY is missing";

	if (!wrong && key == CRABTREE_KEY_RESERVED)
		wrong = "this key is reserved, it marks a free slot";
	op->key = key;
	return wrong;
}

/* The addend of `add' may be negative: it is added modulo 2^64 */
static const char *value_parse(const char *text, struct crabtree_batch_op *op)
{
	bool minus = text && *text == '-' && (op->flags & CRABTREE_INSERT_ADD);
	uint64_t value = 0;
	const char *wrong = text ? number_parse(text + minus, &value) : "VALUE is missing";

	op->value = minus ? -value : value;
	return wrong;
}

/* @text: the first word of a condition, or NULL */
static const char *condition_parse(const char *text, char **save, struct crabtree_batch_op *op)
{
	const char *wrong = NULL;
	uint64_t was = 0;

	if (!text)
		return NULL;
	if (!strcmp(text, "exists")) {
		op->flags |= CRABTREE_IF_EXISTS;
	} else if (op->flags & CRABTREE_INSERT_ADD) {
		wrong = "`add' has no condition but `exists'";
	} else if (!strcmp(text, "absent")) {
		op->flags |= CRABTREE_IF_ABSENT;
	} else if (!strcmp(text, "was")) {
		op->flags |= CRABTREE_IF_VALUE;
		text = word(save);
		wrong = text ? number_parse(text, &was) : "the value after `was' is missing";
	} else {
		wrong = "not a condition: absent, exists, or was VALUE";
	}
	op->old_value = was;
	if (!wrong && word(save))
		wrong = "text after the condition";
	return wrong;
}

/* NULL, or the error in the line; @op->verb is 0 for a line without an operation */
static const char *line_parse(char *text, struct crabtree_batch_op *op)
{
	const struct verb *verb = verbs;
	char *name, *save;
	const char *wrong;

	text[strcspn(text, "#")] = '\0';
	name = strtok_r(text, " \t\r\n", &save);
	*op = (struct crabtree_batch_op){ };
	if (!name)
		return NULL;
	while (verb->name && strcmp(verb->name, name))
		verb++;
	if (!verb->name)
		return "not an operation: put, add, get or del";
	op->verb = verb->verb;
	op->flags = verb->flags;
	wrong = key_parse(word(&save), op);
	if (!wrong && verb->verb == CRABTREE_BATCH_INSERT)
		wrong = value_parse(word(&save), op);
	return wrong ? wrong : condition_parse(word(&save), &save, op);
}

static const char *line_add(struct commit *commit, char *text, size_t len)
{
	struct crabtree_batch_op op;
	const char *wrong = strlen(text) == len ? line_parse(text, &op) :
						  "not text: it holds a zero byte";
	uint32_t i;

	if (wrong || !op.verb)
		return wrong;
	if (commit->count == CRABTREE_COMMIT_MAX)
		return "more than 64 operations";
	for (i = 0; i < commit->count; i++)
		if (commit->ops[i].key == op.key)
			return "another line has this key";
	commit->lines[commit->count] = commit->line;
	commit->ops[commit->count++] = op;
	return NULL;
}

static int commit_lines(struct commit *commit, FILE *file)
{
	const char *wrong = NULL;
	char *text = NULL;
	size_t size = 0;
	ssize_t len;

	while (!wrong && (len = getline(&text, &size, file)) >= 0) {
		commit->line++;
		wrong = line_add(commit, text, len);
	}
	free(text);
	if (!wrong && ferror(file))
		return fail_file(commit->name, -errno, "read");
	if (!wrong && !commit->count)
		wrong = "no operation";
	if (!wrong)
		return EXIT_OK;
	fprintf(stderr, "crabctl: %s:%" PRIu64 ": %s\n", commit->name, commit->line, wrong);
	return EXIT_FAILED;
}

static int commit_read(struct commit *commit, const char *path)
{
	bool named = strcmp(path, "-");
	FILE *file = named ? fopen(path, "re") : stdin;
	int code;

	commit->name = named ? path : "standard input";
	if (!file)
		return fail_file(path, -errno, "open");
	code = commit_lines(commit, file);
	if (named)
		fclose(file);
	return code;
}

static struct json_object *op_json(const struct crabtree_batch_op *op)
{
	struct json_object *json = json_object_new_object();
	bool found = op->verb == CRABTREE_BATCH_INSERT ? op->existed : !op->status;
	const struct verb *verb = verbs;

	while (verb->verb != op->verb ||
	       verb->flags != (op->flags & CRABTREE_INSERT_ADD))
		verb++;
	json_text(json, "operation", verb->name);
	json_u64(json, "key", op->key);
	json_object_object_add(json, "existed", json_object_new_boolean(found));
	if (found)
		json_u64(json, "old_value", op->verb == CRABTREE_BATCH_SEARCH ? op->value : op->old_value);
	return json;
}

static int print(const struct target *target, const struct commit *commit)
{
	struct json_object *array = target->json ? json_object_new_array() : NULL;
	const struct crabtree_batch_op *op;

	for (op = commit->ops; op < commit->ops + commit->count; op++) {
		if (array)
			json_object_array_add(array, op_json(op));
		else if (op->verb == CRABTREE_BATCH_SEARCH && !op->status)
			printf("%" PRIu64 " %" PRIu64 "\n", (uint64_t)op->key, (uint64_t)op->value);
		else if (op->verb == CRABTREE_BATCH_SEARCH)
			printf("%" PRIu64 " -\n", (uint64_t)op->key);
	}
	return array ? json_print(array) : EXIT_OK;
}

static int commit_run(struct target *target, struct commit *commit)
{
	uint32_t failed;
	int err = crabtree_commit(target->ct, commit->ops, commit->count, &failed);

	if (!err)
		return print(target, commit);
	if (failed >= commit->count)
		return fail(target, err, "commit");
	return fail(target, err, "commit %s:%" PRIu64 ", key %" PRIu64, commit->name,
		    commit->lines[failed], (uint64_t)commit->ops[failed].key);
}

int verb_commit(struct target *target, int argc, char **argv)
{
	static struct commit commit;
	const char *path;
	int code;

	path = verb_parse_file(target, doc, "standard input", argc, argv);
	code = commit_read(&commit, path);
	if (!code)
		code = target_open(target, 0);
	return code ? code : target_end(target, commit_run(target, &commit));
}

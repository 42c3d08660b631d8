// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements `crabctl commit`: the operations of a file, all of them or none.
 */
#include "commit.h"
#include "item.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BLANKS	" \t\r\n"

struct records {
	struct commit_file file;
	struct crabtree_batch_op ops[CRABTREE_COMMIT_MAX];
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
	"In a store of blobs the lines are `put KEY FILE' and `del KEY', in a store of names "
	"`set NAME TYPE VALUE' and `rm NAME'; and in both `test KEY' or `test NAME' with `exists', "
	"`absent' or `version N', the condition of the line with the same key or name, if there is one. "
	"Blank lines and lines that begin with # are skipped, and the rest of a line after a word that "
	"begins with #, but for the VALUE of a text or of bytes and for a FILE, which may have it.";

char *commit_word(char **text)
{
	char *word = *text + strspn(*text, BLANKS);

	*text = word + strcspn(word, BLANKS);
	if (**text)
		*(*text)++ = '\0';
	return *word ? word : NULL;
}

char *commit_rest(char *text)
{
	char *end = text + strlen(text);

	text += strspn(text, BLANKS);
	while (end > text && strchr(BLANKS, end[-1]))
		end--;
	*end = '\0';
	return text;
}

void commit_uncomment(char *text)
{
	char *at = text;

	while ((at = strchr(at, '#')) && at != text && !strchr(BLANKS, at[-1]))
		at++;
	if (at)
		*at = '\0';
}

const char *commit_key(const char *text, uint64_t *key)
{
	const char *wrong = text ? number_parse(text, key) : "KEY is missing";

	if (!wrong && *key == CRABTREE_KEY_RESERVED)
		wrong = "this key is reserved, it marks a free slot";
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

static const char *condition_parse(char *line, struct crabtree_batch_op *op)
{
	const char *text = commit_word(&line), *wrong = NULL;
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
		text = commit_word(&line);
		wrong = text ? number_parse(text, &was) : "the value after `was' is missing";
	} else {
		wrong = "not a condition: absent, exists, or was VALUE";
	}
	op->old_value = was;
	if (!wrong && commit_word(&line))
		wrong = "text after the condition";
	return wrong;
}

/* NULL, or the error in the line */
static const char *line_parse(const char *name, char *text, struct crabtree_batch_op *op)
{
	const struct verb *verb = verbs;
	const char *wrong;
	uint64_t key = 0;

	*op = (struct crabtree_batch_op){ };
	while (verb->name && strcmp(verb->name, name))
		verb++;
	if (!verb->name)
		return "not an operation: put, add, get or del";
	op->verb = verb->verb;
	op->flags = verb->flags;
	wrong = commit_key(commit_word(&text), &key);
	op->key = key;
	if (!wrong && verb->verb == CRABTREE_BATCH_INSERT)
		wrong = value_parse(commit_word(&text), op);
	return wrong ? wrong : condition_parse(text, op);
}

static const char *line_add(struct commit_file *file, char *text, void *arg)
{
	struct records *records = arg;
	struct crabtree_batch_op op;
	const char *name, *wrong;
	uint32_t i;

	text[strcspn(text, "#")] = '\0';	/* no number has one */
	name = commit_word(&text);
	wrong = line_parse(name, text, &op);
	for (i = 0; i < file->count && !wrong; i++)
		if (records->ops[i].key == op.key)
			wrong = "another line has this key";
	if (!wrong)
		wrong = commit_count(file);
	if (!wrong)
		records->ops[file->count - 1] = op;
	return wrong;
}

const char *commit_count(struct commit_file *file)
{
	if (file->count == CRABTREE_COMMIT_MAX)
		return "more than 64 operations";
	file->lines[file->count++] = file->line;
	return NULL;
}

static const char *line_read(struct commit_file *file, char *text, size_t len, commit_line_fn *add,
			     void *arg)
{
	file->line++;
	file->label[0] = '\0';
	if (len == LINE_ROOM)
		return LINE_LONG;
	if (strlen(text) != len)
		return "not text: it holds a zero byte";
	text += strspn(text, BLANKS);
	return *text && *text != '#' ? add(file, text, arg) : NULL;
}

static int lines_read(struct commit_file *file, FILE *from, commit_line_fn *add, void *arg)
{
	static char text[LINE_ROOM];
	const char *wrong = NULL;
	size_t len;
	int got;

	while (!wrong && (got = line_next(from, text, &len))) {
		if (got < 0 && got != -EMSGSIZE)
			return fail_file(file->name, got, "read");
		if (!file->line)
			line_drop_mark(text, &len);
		wrong = line_read(file, text, got < 0 ? LINE_ROOM : len, add, arg);
	}
	if (!wrong && !file->count)
		wrong = "no operation";
	if (!wrong)
		return EXIT_OK;
	message("%s:%" PRIu64 ": %s%s%s", file->name, file->line, file->label,
		file->label[0] ? ": " : "", wrong);
	return EXIT_FAILED;
}

int commit_read(struct commit_file *file, const char *path, commit_line_fn *add, void *arg)
{
	bool named = strcmp(path, "-");
	FILE *from = named ? fopen(path, "re") : stdin;
	int code;

	file->name = named ? path : "standard input";
	if (!from)
		return fail_file(path, -errno, "open");
	code = lines_read(file, from, add, arg);
	if (named)
		fclose(from);
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

static int print(const struct target *target, const struct records *records)
{
	struct json_object *array = target->json ? json_object_new_array() : NULL;
	const struct crabtree_batch_op *op;

	for (op = records->ops; op < records->ops + records->file.count; op++) {
		if (array)
			json_object_array_add(array, op_json(op));
		else if (op->verb == CRABTREE_BATCH_SEARCH && !op->status)
			printf("%" PRIu64 " %" PRIu64 "\n", (uint64_t)op->key, (uint64_t)op->value);
		else if (op->verb == CRABTREE_BATCH_SEARCH)
			printf("%" PRIu64 " -\n", (uint64_t)op->key);
	}
	return array ? json_print(array) : EXIT_OK;
}

static int commit_records(struct target *target, const char *path)
{
	static struct records records;
	const struct commit_file *file = &records.file;
	int err, code = commit_read(&records.file, path, line_add, &records);
	uint32_t failed;

	if (code)
		return code;
	err = crabtree_commit(target->ct, records.ops, file->count, &failed);
	if (!err)
		return print(target, &records);
	if (failed >= file->count)
		return fail(target, err, "commit");
	return fail(target, err, "commit %s:%" PRIu64 ", key %" PRIu64, file->name,
		    file->lines[failed], (uint64_t)records.ops[failed].key);
}

/* The lines depend on the kind of the store */
static int commit(struct target *target, const char *path)
{
	struct crabtree_info info;
	int err, code = target_store(target, "commit", NULL);
	enum item_kind kind;

	if (code)
		return code;
	err = crabtree_info(target->ct, &info, sizeof(info));
	if (err)
		return fail(target, err, "commit");
	kind = item_kind(&info);
	return kind == ITEM_RECORD ? commit_records(target, path) :
				     commit_values(target, path, kind == ITEM_NAMED);
}

int verb_commit(struct target *target, int argc, char **argv)
{
	const char *path = verb_parse_file(target, doc, argc, argv);

	return target_open(target, 0) ?: commit(target, path);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements `crabctl commit` in stores of blobs and of names: puts, erases and tests of
 * values.
 *
 * Invariant: each operation is on another key or name. A test is the condition of the put or the
 * erase of the same key, whichever line comes first; without one it is an operation of its own.
 */
#include "commit.h"
#include "typed.h"

#include <crabtree_blob.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/**
 * struct values - a file of operations on values
 * @file: the file
 * @named: the store is one of names
 * @ops: each; the memory of its value, and of its name, is its own
 * @tests: the line of the condition of each, or 0
 */
struct values {
	struct commit_file file;
	bool named;
	struct crabtree_commit_op ops[CRABTREE_COMMIT_MAX];
	uint64_t tests[CRABTREE_COMMIT_MAX];
};

#define VERBS	3

static const char * const verbs[2][VERBS] = { { "put", "test", "del" }, { "set", "test", "rm" } };

static const char *verb_name(bool named, uint32_t verb)
{
	return verbs[named][verb - CRABTREE_COMMIT_PUT];
}

static const char *verb_parse_word(bool named, const char *name, uint32_t *verb)
{
	for (*verb = CRABTREE_COMMIT_PUT; *verb < CRABTREE_COMMIT_PUT + VERBS; (*verb)++)
		if (!strcmp(verb_name(named, *verb), name))
			return NULL;
	return named ? "not an operation: set, rm or test" : "not an operation: put, del or test";
}

static void *pointer(uint64_t address)
{
	return (void *)(uintptr_t)address;
}

static void op_free(bool named, const struct crabtree_commit_op *op)
{
	free(pointer(op->value));
	if (named)
		free(pointer(op->key));
}

static const char *name_parse(const char *text, struct crabtree_commit_op *op)
{
	const char *wrong = text ? name_wrong(text) : "NAME is missing";

	if (wrong)
		return wrong;
	op->key = (uintptr_t)strdup(text);
	op->name_bytes = strlen(text);
	return op->key ? NULL : strerror(ENOMEM);
}

static const char *key_parse(struct values *values, const char *text,
			     struct crabtree_commit_op *op)
{
	const char *wrong;
	uint64_t key = 0;

	if (values->named) {
		wrong = name_parse(text, op);
	} else {
		wrong = commit_key(text, &key);
		op->key = key;
	}
	if (!wrong)
		snprintf(values->file.label, COMMIT_LABEL, "%s %s", values->named ? "name" : "key", text);
	return wrong;
}

/* NAME has been read: TYPE VALUE */
static const char *typed_value(char *line, struct crabtree_commit_op *op)
{
	const char *type = commit_word(&line), *text, *wrong;
	int number = type ? type_find(type) : -1;
	bool verbatim = number == CRABTREE_TYPE_TEXT || number == CRABTREE_TYPE_BYTES;
	uint32_t bytes = 0;
	void *value;

	if (number < 0)
		return type ? "the type is not one of " TYPE_LIST : "TYPE is missing";
	if (!verbatim)
		commit_uncomment(line);
	text = commit_rest(line);
	if (!*text && !verbatim)
		return "VALUE is missing";
	value = malloc(strlen(text) + sizeof(uint64_t));
	if (!value)
		return strerror(ENOMEM);
	wrong = typed_parse(number, text, value, &bytes);
	op->value = (uintptr_t)value;
	op->type = number;
	op->bytes = bytes;
	return wrong;
}

/* KEY has been read: FILE */
static const char *file_value(char *line, struct crabtree_commit_op *op)
{
	const char *path = commit_rest(line);
	size_t bytes = 0;
	void *value;
	FILE *from;
	int err;

	if (!*path)
		return "FILE is missing";
	from = fopen(path, "re");
	if (!from)
		return strerror(errno);
	value = malloc(CRABTREE_BLOB_MAX + 1);
	err = value ? value_read(from, value, CRABTREE_BLOB_MAX + 1, &bytes) : -ENOMEM;
	fclose(from);
	op->value = (uintptr_t)value;
	op->bytes = bytes;
	return err ? strerror(-err) : NULL;
}

static const char *condition_parse(char *line, struct crabtree_commit_op *op)
{
	const char *text = commit_word(&line), *wrong = NULL;
	uint64_t version = 0;

	if (text && !strcmp(text, "exists")) {
		op->flags = CRABTREE_IF_EXISTS;
	} else if (text && !strcmp(text, "absent")) {
		op->flags = CRABTREE_IF_ABSENT;
	} else if (text && !strcmp(text, "version")) {
		op->flags = CRABTREE_IF_VERSION;
		text = commit_word(&line);
		wrong = text ? number_parse(text, &version) : "the number after `version' is missing";
	} else {
		wrong = "not a condition: exists, absent or version N";
	}
	op->version = version;
	if (!wrong && commit_word(&line))
		wrong = "text after the condition";
	return wrong;
}

static const char *line_parse(struct values *values, char *text, struct crabtree_commit_op *op)
{
	const char *wrong = verb_parse_word(values->named, commit_word(&text), &op->verb);

	if (!wrong)
		wrong = key_parse(values, commit_word(&text), op);
	if (wrong)
		return wrong;
	if (op->verb != CRABTREE_COMMIT_PUT)
		commit_uncomment(text);
	switch (op->verb) {
	case CRABTREE_COMMIT_PUT:
		return values->named ? typed_value(text, op) : file_value(text, op);
	case CRABTREE_COMMIT_TEST:
		return condition_parse(text, op);
	default:
		return commit_word(&text) ? "text after it" : NULL;
	}
}

static bool is_same(bool named, const struct crabtree_commit_op *a, const struct crabtree_commit_op *b)
{
	return named ? !strcmp(pointer(a->key), pointer(b->key)) : a->key == b->key;
}

/* Two lines with one key: a test and a write */
static const char *op_join(struct values *values, uint32_t n, const struct crabtree_commit_op *op)
{
	struct crabtree_commit_op *old = &values->ops[n], write;
	bool is_test = op->verb == CRABTREE_COMMIT_TEST;

	if (is_test ? values->tests[n] : old->verb != CRABTREE_COMMIT_TEST)
		return is_test ? "another line tests it" : "another line writes it";
	write = is_test ? *old : *op;
	write.flags = is_test ? op->flags : old->flags;
	write.version = is_test ? op->version : old->version;
	op_free(values->named, is_test ? op : old);
	*old = write;
	*(is_test ? &values->tests[n] : &values->file.lines[n]) = values->file.line;
	return NULL;
}

static const char *op_add(struct values *values, const struct crabtree_commit_op *op)
{
	struct commit_file *file = &values->file;
	const char *wrong;
	uint32_t i;

	for (i = 0; i < file->count; i++)
		if (is_same(values->named, &values->ops[i], op))
			return op_join(values, i, op);
	wrong = commit_count(file);
	if (wrong)
		return wrong;
	values->ops[i] = *op;
	values->tests[i] = op->verb == CRABTREE_COMMIT_TEST ? file->line : 0;
	return NULL;
}

static const char *line_add(struct commit_file *file, char *text, void *arg)
{
	struct values *values = arg;
	struct crabtree_commit_op op = { 0 };
	const char *wrong = line_parse(values, text, &op);

	(void)file;
	if (!wrong)
		wrong = op_add(values, &op);
	if (wrong)
		op_free(values->named, &op);
	return wrong;
}

/* Was the key there before the commit? A test that held shows it */
static bool op_existed(const struct crabtree_commit_op *op)
{
	switch (op->verb) {
	case CRABTREE_COMMIT_PUT:
		return op->existed;
	case CRABTREE_COMMIT_TEST:
		return !(op->flags & CRABTREE_IF_ABSENT);
	default:
		return !op->status;
	}
}

static struct json_object *op_json(bool named, const struct crabtree_commit_op *op)
{
	struct json_object *json = json_object_new_object();

	json_text(json, "operation", verb_name(named, op->verb));
	if (named)
		json_text(json, "name", pointer(op->key));
	else
		json_u64(json, "key", op->key);
	json_object_object_add(json, "existed", json_object_new_boolean(op_existed(op)));
	if (op->verb == CRABTREE_COMMIT_PUT)
		json_u64(json, "version", op->version);
	return json;
}

static int print(const struct target *target, const struct values *values)
{
	struct json_object *array;
	uint32_t i;

	if (!target->json)
		return EXIT_OK;
	array = json_object_new_array();
	for (i = 0; i < values->file.count; i++)
		json_object_array_add(array, op_json(values->named, &values->ops[i]));
	return json_print(array);
}

/* A condition that does not hold is the error of its own line */
static uint64_t failed_line(const struct values *values, uint32_t failed, int err)
{
	bool condition = err == -EEXIST || err == -ENOENT || err == -ESTALE;

	return condition && values->tests[failed] ? values->tests[failed] : values->file.lines[failed];
}

static int run(struct target *target, struct values *values)
{
	const struct commit_file *file = &values->file;
	uint32_t failed;
	int err = crabtree_commit_values(target->ct, values->ops, file->count, &failed);
	uint64_t line;

	if (!err)
		return print(target, values);
	if (failed >= file->count)
		return fail(target, err, "commit");
	line = failed_line(values, failed, err);
	if (values->named)
		return fail(target, err, "commit %s:%" PRIu64 ", name %s", file->name, line,
			    (const char *)pointer(values->ops[failed].key));
	return fail(target, err, "commit %s:%" PRIu64 ", key %" PRIu64, file->name, line,
		    (uint64_t)values->ops[failed].key);
}

int commit_values(struct target *target, const char *path, bool named)
{
	static struct values values;
	int code;

	values.named = named;
	code = commit_read(&values.file, path, line_add, &values);
	if (!code)
		code = run(target, &values);
	while (values.file.count)
		op_free(named, &values.ops[--values.file.count]);
	return code;
}

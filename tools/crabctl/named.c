// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements get, set, cat, rm and ls in a store of names. A new name is UTF-8 without control
 * characters; other programs may have stored other names, which can be listed, and read and removed
 * as they are listed.
 */
#include "named.h"
#include "typed.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define LINE_VALUE	(4 * CRABTREE_BLOB_MAX + 1)

static unsigned char room[CRABTREE_BLOB_MAX];

bool has_names(const struct target *target)
{
	struct crabtree_info info;

	return !crabtree_info(target->ct, &info, sizeof(info)) &&
	       info.feature_incompat & CRABTREE_INCOMPAT_NAMES;
}

/* A word may be meant as a name */
static void key_wrong(const struct target *target, const char *verb, const char *text,
		      const char *wrong)
{
	struct crabtree_info info;

	if (!isalpha((unsigned char)*text) || crabtree_info(target->ct, &info, sizeof(info)))
		message("%s: key %s: %s", verb, text, wrong);
	else
		message("%s: key %s: %s; %s has %s: names need a store of format --names", verb, text, wrong,
			target_path(target), item_kind_name(item_kind(&info)));
}

int key_read(const struct target *target, const char *verb, const char *text, uint64_t *key)
{
	const char *wrong = number_parse(text, key);

	if (!wrong && *key == CRABTREE_KEY_RESERVED)
		wrong = "reserved, it marks a free slot";
	if (!wrong)
		return EXIT_OK;
	key_wrong(target, verb, text, wrong);
	return EXIT_USAGE;
}

int key_read_kind(struct target *target, enum item_kind kind, const char *verb, const char *text,
		  uint64_t *key)
{
	struct crabtree_info info;

	if (crabtree_info(target->ct, &info, sizeof(info)) || item_kind(&info) == kind)
		return key_read(target, verb, text, key);
	return fail(target, -EOPNOTSUPP, "%s %s", verb, text);
}

static bool has_control(const char *text)
{
	while (*text && !is_control(*text))
		text++;
	return *text;
}

/* NULL, or the error of any name */
static const char *length_wrong(size_t bytes)
{
	if (!bytes)
		return "empty";
	return bytes > CRABTREE_NAME_MAX ? "longer than 240 bytes" : NULL;
}

const char *name_wrong(const char *name)
{
	const char *wrong = length_wrong(strlen(name));

	if (wrong)
		return wrong;
	if (!is_utf8(name, strlen(name)))
		return "not UTF-8";
	return has_control(name) ? "it has a control character" : NULL;
}

/* A name of the command line */
static int name_check(const char *verb, const char *name, const char *wrong)
{
	if (!wrong)
		return EXIT_OK;
	message("%s: name \"%s\": %s", verb, name, wrong);
	return EXIT_USAGE;
}

int prefix_check(const char *verb, const char *prefix)
{
	if (strlen(prefix) <= CRABTREE_NAME_MAX)
		return EXIT_OK;
	message("%s: prefix \"%s\": longer than any name", verb, prefix);
	return EXIT_USAGE;
}

const char *name_text(const char *name, uint32_t bytes, char text[NAME_TEXT])
{
	return name_escape(name, bytes, text);
}

int named_set(struct target *target, const char *name, struct crabtree_named *named,
	      unsigned int flags)
{
	struct json_object *json;
	int err = name_check("set", name, name_wrong(name));

	if (err)
		return err;
	named->name = name;
	named->name_bytes = strlen(name);
	err = crabtree_put_named(target->ct, named, flags);
	if (err)
		return fail(target, err, "set %s", name);
	if (!target->json)
		return EXIT_OK;
	json = json_object_new_object();
	json_text(json, "name", name);
	json_text(json, "type", type_name(named->type));
	json_u64(json, "bytes", named->bytes);
	json_u64(json, "version", named->version);
	return json_print(json);
}

/* The bytes of a name of the command line, which may be as `ls' prints it; EXIT_OK or EXIT_USAGE */
static int name_read(const char *verb, const struct name_word *word, char bytes[NAME_TEXT],
		     uint32_t *count)
{
	size_t length = strlen(word->text);

	*count = 0;
	if (length >= NAME_TEXT)
		return name_check(verb, word->text, length_wrong(length));
	memcpy(bytes, word->text, length);
	if (word->escaped)
		length = name_unescape(word->text, bytes);
	*count = length;
	return name_check(verb, word->text, length_wrong(length));
}

/* Reads a value into @room; @name: room for the name */
static int named_read(struct target *target, const char *verb, const struct name_word *word,
		      char name[NAME_TEXT], struct crabtree_named *named)
{
	uint32_t bytes;
	int err = name_read(verb, word, name, &bytes);

	if (err)
		return err;
	*named = (struct crabtree_named){
		.name = name, .name_bytes = bytes, .value = room, .capacity = sizeof(room),
	};
	err = crabtree_get_named(target->ct, named);
	return err ? fail(target, err, "%s %s", verb, word->text) : EXIT_OK;
}

int named_get(struct target *target, const struct name_word *word, bool hex)
{
	char name[NAME_TEXT], text[NAME_TEXT];
	struct crabtree_named named;
	struct json_object *json;
	int err = named_read(target, "get", word, name, &named);

	if (err)
		return err;
	if (!target->json) {
		typed_print(named.type, room, named.bytes, hex);
		return EXIT_OK;
	}
	json = json_object_new_object();
	json_text(json, "name", name_text(name, named.name_bytes, text));
	json_text(json, "type", type_name(named.type));
	json_object_object_add(json, typed_json_field(named.type, room, named.bytes),
			       typed_json(named.type, room, named.bytes));
	json_u64(json, "version", named.version);
	return json_print(json);
}

int named_cat(struct target *target, const struct name_word *word)
{
	struct crabtree_named named;
	char name[NAME_TEXT];
	int err = named_read(target, "cat", word, name, &named);

	if (err)
		return err;
	return fwrite(room, 1, named.bytes, stdout) == named.bytes ? EXIT_OK : EXIT_FAILED;
}

int named_rm(struct target *target, const struct name_word *word, const uint64_t *version)
{
	char name[NAME_TEXT];
	uint32_t bytes;
	int err = name_read("rm", word, name, &bytes);

	if (err)
		return err;
	err = crabtree_erase_named(target->ct, name, bytes, version);
	return err ? fail(target, err, "rm %s", word->text) : EXIT_OK;
}

/**
 * struct ls - a list of names
 * @target: the store
 * @values: with the values
 * @named: the value of the name that is printed; its bytes are in @room
 * @count: elements of JSON
 * @damaged: a value is
 */
struct ls {
	struct target *target;
	bool values;
	struct crabtree_named named;
	uint64_t count;
	bool damaged;
};

static void ls_json(struct ls *ls, const char *text, int status)
{
	const struct crabtree_named *named = &ls->named;
	struct json_object *json = json_object_new_object();

	json_text(json, "name", text);
	json_text(json, "type", type_name(named->type));
	json_u64(json, "bytes", named->bytes);
	json_u64(json, "version", named->version);
	json_object_object_add(json, "damaged", json_object_new_boolean(status != 0));
	if (ls->values && !status)
		json_object_object_add(json, typed_json_field(named->type, room, named->bytes),
				       typed_json(named->type, room, named->bytes));
	json_element(json, &ls->count);
}

/* A text is on one line, as a name is */
static void ls_line(const struct ls *ls, const char *text, int status)
{
	const struct crabtree_named *named = &ls->named;
	static char line[LINE_VALUE];

	line_begin(stdout, ls->values ? LINE_NAME + LINE_VALUE : LINE_NAME);
	printf("%s %s %" PRIu32 " %" PRIu64, text, type_name(named->type), named->bytes, named->version);
	if (status || !ls->values) {
		puts(status ? " damaged" : "");
		return;
	}
	putchar(' ');
	if (named->type == CRABTREE_TYPE_TEXT)
		puts(name_escape((const char *)room, named->bytes, line));
	else
		typed_print(named->type, room, named->bytes, false);
}

/* Length and version are those of the value, which may be newer than the list; -ENOENT: it is gone */
static int ls_read(struct ls *ls, const struct crabtree_name *name)
{
	ls->named = (struct crabtree_named){
		.name = name->name, .name_bytes = name->name_bytes, .type = name->type,
		.value = room, .capacity = sizeof(room), .bytes = name->bytes, .version = name->version,
	};
	if (!ls->values || name->status)
		return name->status;
	return crabtree_get_named(ls->target->ct, &ls->named);
}

static int ls_name(const struct crabtree_name *name, void *arg)
{
	struct ls *ls = arg;
	int status = ls_read(ls, name);
	char text[NAME_TEXT];

	if (status == -ENOENT)
		return 0;
	name_text(name->name, name->name_bytes, text);
	if (ls->target->json)
		ls_json(ls, text, status);
	else
		ls_line(ls, text, status);
	if (status)
		fail(ls->target, status, "ls: value of %s", text);
	ls->damaged |= status;
	return 0;
}

int named_ls(struct target *target, const char *prefix, bool values)
{
	static char buffer[2 * (LINE_NAME + LINE_VALUE)];
	struct ls ls = { .target = target, .values = values };
	struct crabtree_names range = {
		.flags = prefix ? CRABTREE_NAMES_PREFIX : 0,
		.end = (uintptr_t)prefix,
		.end_bytes = prefix ? strlen(prefix) : 0,
	};
	int err = prefix ? prefix_check("ls", prefix) : EXIT_OK;

	if (err)
		return err;
	if (values && !isatty(STDOUT_FILENO))
		setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
	err = crabtree_names(target->ct, &range, ls_name, &ls);
	if (target->json)
		json_elements_end(ls.count);
	if (err)
		return fail(target, err, "ls");
	return ls.damaged ? EXIT_FAILED : EXIT_OK;
}

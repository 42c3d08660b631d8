// SPDX-License-Identifier: GPL-2.0
/*
 * This file reads and prints the options that engines name in their tables.
 *
 * Invariant: a text that crab_option_print() returned sets the same value again.
 *
 * No lock.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "engine.h"

static u32 option_get(const struct crab_option *option, const void *values)
{
	const u8 *field = (const u8 *)values + option->offset;

	return option->bytes == 1 ? *field : *(const u32 *)field;
}

static void option_put(const struct crab_option *option, void *values, u32 value)
{
	u8 *field = (u8 *)values + option->offset;

	if (option->bytes == 1)
		*field = value;
	else
		*(u32 *)field = value;
}

static int option_word(const char * const *words, const char *text, u32 *value)
{
	for (*value = 0; words[*value]; ++*value)
		if (!strcmp(words[*value], text))
			return 0;
	return -EINVAL;
}

static int option_flag(const char *text, u32 *value)
{
	bool flag;
	int err = kstrtobool(text, &flag);

	if (!err)
		*value = flag;
	return err;
}

static int option_parse(const struct crab_option *option, const char *text, u32 *value)
{
	if (option->words)
		return option_word(option->words, text, value);
	return option->bytes == 1 ? option_flag(text, value) : kstrtou32(text, 0, value);
}

static const struct crab_option *option_of(const struct crab_engine_ops *ops, const char *name)
{
	const struct crab_option *option;

	for (option = ops->options; option && option->name; option++)
		if (!strcmp(option->name, name))
			return option;
	return NULL;
}

const struct crab_option *crab_option_find(const char *name, void **values)
{
	const struct crab_engine_ops * const *e;
	const struct crab_option *option;

	for (e = crab_engines; *e; e++) {
		option = option_of(*e, name);
		*values = (*e)->tuning;
		if (option)
			return option;
	}
	return NULL;
}

int crab_option_set(const struct crab_option *option, void *values, const char *text)
{
	u32 value;

	if (option_parse(option, text, &value))
		return -EINVAL;
	option_put(option, values, value);
	return 0;
}

int crab_option_print(const struct crab_option *option, const void *values, char *buf, size_t size)
{
	u32 value = option_get(option, values);

	if (option->words)
		return scnprintf(buf, size, "%s", option->words[value]);
	return scnprintf(buf, size, "%u", value);
}

void crab_options_print(const struct crab_engine *engine, char *buf, size_t size)
{
	const struct crab_option *option = engine->ops->options;
	size_t at = 0;

	buf[0] = '\0';
	if (!engine->tuning)
		return;
	for (; option && option->name; option++) {
		at += scnprintf(buf + at, size - at, "%s%s=", at ? " " : "", option->name);
		at += crab_option_print(option, engine->tuning, buf + at, size - at);
	}
}

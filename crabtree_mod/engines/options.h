/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the options of an engine: a table in which the engine names
 * each field of its own structure of options. Module parameters, INFO and debugfs
 * work by these names alone.
 *
 * Locking: the caller's. Options are set before a store is attached.
 */
#ifndef CRABTREE_OPTIONS_H
#define CRABTREE_OPTIONS_H

#include <linux/kernel.h>

#define CRAB_OPTIONS_TEXT	192	/* all options of an engine as text, with the NUL */

struct crab_engine;

/**
 * struct crab_option - an option of an engine
 * @name: as a module parameter and in INFO
 * @offset: of the field in the engine's structure of options
 * @bytes: of the field: 1 or 4
 * @words: names of the values 0, 1, ..., ended by NULL; or NULL: of 1 byte it is a flag, else a
 *	number
 */
struct crab_option {
	const char *name;
	u16 offset;
	u16 bytes;
	const char * const *words;
};

#define CRAB_OPTION(_name, _type, _field, _words)				\
	{									\
		.name	= (_name),						\
		.offset	= offsetof(_type, _field),				\
		.bytes	= sizeof(((_type *)0)->_field),				\
		.words	= (_words),						\
	}

/**
 * crab_option_find() - find an option by its name
 * @name: the name
 * @values: out: where the engine keeps the value that a store is attached with by default
 *
 * Context: any.
 * Return: the option, or NULL if no engine has one of this name.
 */
const struct crab_option *crab_option_find(const char *name, void **values);

/**
 * crab_option_set() - set an option from text
 * @option: the option
 * @values: the engine's structure
 * @text: a word of the option, a flag as kstrtobool() takes it, or a number
 *
 * Context: any.
 * Return: 0 or -EINVAL.
 */
int crab_option_set(const struct crab_option *option, void *values, const char *text);

/**
 * crab_option_print() - print the value of an option, as crab_option_set() takes it
 * @option: the option
 * @values: the engine's structure
 * @buf: out: NUL-terminated
 * @size: of @buf
 *
 * Context: any.
 * Return: characters printed.
 */
int crab_option_print(const struct crab_option *option, const void *values, char *buf,
		      size_t size);

/**
 * crab_options_print() - print the options that a store is attached with
 * @engine: engine of the store
 * @buf: out: "name=value name=value ..."; empty if there is nothing to choose
 * @size: of @buf
 *
 * Context: any.
 */
void crab_options_print(const struct crab_engine *engine, char *buf, size_t size);

#endif /* CRABTREE_OPTIONS_H */

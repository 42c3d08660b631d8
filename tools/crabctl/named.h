/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares get, set, cat, rm and ls for a store of names. Each returns an exit code,
 * after a message if it is not EXIT_OK.
 */
#ifndef CRABCTL_NAMED_H
#define CRABCTL_NAMED_H

#include "item.h"

#define NAME_TEXT	(4 * CRABTREE_NAME_MAX + 1)

/**
 * struct name_word - a name on the command line
 * @text: as it is there
 * @escaped: \xNN in it is that byte
 */
struct name_word {
	const char *text;
	bool escaped;
};

#define ESCAPED_OPTION	{ "escaped", 'e', NULL, 0, "NAME is as ls prints it: \\xNN is a byte", 0 }

/* Any name as text: control characters, and all bytes of a name that is not UTF-8, as \xNN */
const char *name_text(const char *name, uint32_t bytes, char text[NAME_TEXT]);

/* A name on the command line or in a file: NULL, or the error in it */
const char *name_wrong(const char *name);

/* A prefix of names on the command line: EXIT_OK, or EXIT_USAGE after a message */
int prefix_check(const char *verb, const char *prefix);

/* Is the open store one of names? */
bool has_names(const struct target *target);

/* @named: type, value, length, and with CRABTREE_IF_VERSION the version */
int named_set(struct target *target, const char *name, struct crabtree_named *named,
	      unsigned int flags);
int named_get(struct target *target, const struct name_word *word, bool hex);
int named_cat(struct target *target, const struct name_word *word);
int named_rm(struct target *target, const struct name_word *word, const uint64_t *version);

/* @prefix: of the names wanted; or NULL: all. @values: with the values */
int named_ls(struct target *target, const char *prefix, bool values);

/* The number in the key argument of a store of records or blobs; EXIT_OK or EXIT_USAGE */
int key_read(const struct target *target, const char *verb, const char *text, uint64_t *key);

/* The same of a verb for a kind of store: another kind is the error, not a name that is no number */
int key_read_kind(struct target *target, enum item_kind kind, const char *verb, const char *text,
		  uint64_t *key);

/* Reads the content of an open file as a value, at most @room bytes; 0 or a negative errno */
int value_read(FILE *from, void *value, size_t room, size_t *bytes);

#endif /* CRABCTL_NAMED_H */

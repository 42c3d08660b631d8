/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the parts of `crabctl commit` that all kinds of stores share: the file of
 * operations, one on each line, and its words.
 */
#ifndef CRABCTL_COMMIT_H
#define CRABCTL_COMMIT_H

#include "named.h"

#define COMMIT_LABEL	(CRABTREE_NAME_MAX + 32)

/**
 * struct commit_file - a file of operations
 * @name: for messages
 * @line: number of the line read last
 * @label: key or name of this line, for messages; empty while it is unknown
 * @count: operations so far
 * @lines: the line of each
 */
struct commit_file {
	const char *name;
	uint64_t line;
	char label[COMMIT_LABEL];
	uint32_t count;
	uint64_t lines[CRABTREE_COMMIT_MAX];
};

/*
 * Adds the operation of a line, which is not empty and does not begin with #: NULL, or the error in
 * the line. It ends the line before a comment itself, because the values of some may have a #
 */
typedef const char *commit_line_fn(struct commit_file *file, char *text, void *arg);

/* Reads all lines; "-": of standard input. EXIT_OK, or EXIT_FAILED after a message */
int commit_read(struct commit_file *file, const char *path, commit_line_fn *add, void *arg);

/* Counts the operation of this line: NULL, or an error */
const char *commit_count(struct commit_file *file);

/* The next word of a line, or NULL; @text continues after it */
char *commit_word(char **text);

/* The rest of a line, without blanks at its ends */
char *commit_rest(char *text);

/* Ends the rest of a line before a word that begins with # */
void commit_uncomment(char *text);

/* @text: a word, or NULL */
const char *commit_key(const char *text, uint64_t *key);

/* commit_values.c: the verb in a store of names or, without @named, of blobs */
int commit_values(struct target *target, const char *path, bool named);

#endif /* CRABCTL_COMMIT_H */

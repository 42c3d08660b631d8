/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the table of names: an ordered set of byte strings in DRAM, each with the key
 * under which the engine has its value. Attach fills it from the blobs, which have their names.
 *
 * Locking: the caller's.
 */
#ifndef CRABTREE_NAMES_H
#define CRABTREE_NAMES_H

#include <linux/types.h>

#include "media/format.h"

/**
 * struct crab_name - a name
 * @child: names before it, and after it
 * @key: of its value
 * @priority: not above that of its parent
 * @bytes: length of @text, 1 to CRAB_NAME_MAX
 * @text: any bytes
 */
struct crab_name {
	struct crab_name *child[2];
	u64 key;
	u32 priority;
	u8 bytes;
	char text[];
};

/**
 * struct crab_names - the table
 * @root: a name, or NULL
 * @dram: bytes of memory that they take; read without the caller's lock
 */
struct crab_names {
	struct crab_name *root;
	u64 dram;
};

/**
 * crab_name_new() - allocate a name
 * @text: the name
 * @bytes: its length, 1 to CRAB_NAME_MAX
 * @gfp: as of kmalloc()
 * Context: as of kmalloc(). kfree() frees it.
 * Return: the name, in no table and without a key; or NULL.
 */
struct crab_name *crab_name_new(const char *text, u32 bytes, gfp_t gfp);

/**
 * crab_name_compare() - the order of a name and a text
 * @name: the name
 * @text: the text; bytes are compared as unsigned numbers, and a prefix comes first
 * @bytes: its length
 * Context: any.
 * Return: negative if the text is before the name, 0 if it is the name, positive if it is after it.
 */
int crab_name_compare(const struct crab_name *name, const char *text, u32 bytes);

/**
 * crab_names_find() - find a name
 * @names: the table
 * @text: the name
 * @bytes: its length, up to CRAB_NAME_MAX
 * Context: any.
 * Return: the name, or NULL.
 */
struct crab_name *crab_names_find(const struct crab_names *names, const char *text, u32 bytes);

/**
 * crab_names_next() - find the first name from a position on
 * @names: the table
 * @text: the position; in the order of crab_name_compare()
 * @bytes: its length, 0 to CRAB_NAME_MAX
 * @after: the position itself is left out
 * Context: any.
 * Return: the name, or NULL.
 */
const struct crab_name *crab_names_next(const struct crab_names *names, const char *text,
					u32 bytes, bool after);

/**
 * crab_names_add() - add a name
 * @names: the table, which does not have it
 * @name: from crab_name_new(), with its key
 * Context: any.
 */
void crab_names_add(struct crab_names *names, struct crab_name *name);

/**
 * crab_names_remove() - take a name out
 * @names: the table
 * @name: in it; the caller frees it
 * Context: any.
 */
void crab_names_remove(struct crab_names *names, struct crab_name *name);

/**
 * crab_names_clear() - make a table empty whose names are in another one now
 * @names: out: empty
 * Context: any.
 */
void crab_names_clear(struct crab_names *names);

/**
 * crab_names_destroy() - free all names
 * @names: out: empty
 * Context: may sleep.
 */
void crab_names_destroy(struct crab_names *names);

#endif /* CRABTREE_NAMES_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares items: a record, a blob, or a named value, by the kind of the store; and the
 * walk over all items of a store in their order.
 */
#ifndef CRABCTL_ITEM_H
#define CRABCTL_ITEM_H

#include "crabctl.h"

#include <crabtree_names.h>

enum item_kind { ITEM_RECORD, ITEM_BLOB, ITEM_NAMED };

#define ITEM_LABEL	(4 * CRABTREE_NAME_MAX + 32)	/* room for a key or a name as text */

/**
 * struct item - an item
 * @key: of a record or a blob
 * @value: of a record
 * @name: of a named value, with a NUL
 * @name_bytes: its length
 * @type: of a named value
 * @bytes: length of @data
 * @data: value of a blob or a named value: room for CRABTREE_BLOB_MAX bytes
 */
struct item {
	uint64_t key;
	uint64_t value;
	char name[CRABTREE_NAME_MAX + 1];
	uint32_t name_bytes;
	uint32_t type;
	uint32_t bytes;
	unsigned char *data;
};

/* Makes it unknown and allocates @data; 0 or -ENOMEM. free() it */
int item_init(struct item *item);

enum item_kind item_kind(const struct crabtree_info *info);

/* "records", "blobs" or "names"; and of a number of them: also "record", "blob" or "name" */
const char *item_kind_name(enum item_kind kind);
const char *item_noun(enum item_kind kind, uint64_t n);

/* CRABTREE_FORMAT_* for a store of a kind */
unsigned int item_format_flags(enum item_kind kind);

/* Negative, 0 or positive: the order of two items in a store */
int item_compare(enum item_kind kind, const struct item *a, const struct item *b);

/* Have two items with one key, or one name, the same value? */
bool item_same(enum item_kind kind, const struct item *a, const struct item *b);

/* Stores a blob or a named value; @flags: CRABTREE_PUT_* */
int item_put(struct crabtree *ct, enum item_kind kind, struct item *item, unsigned int flags);

/* The cause of -ESTALE of an item of a snapshot */
#define SNAPSHOT_ENDED	"others wrote so much meanwhile that the module's snapshot_bytes, or the memory of " \
			"the region, were used up"

/* Is @item, with which items_next() returned an error, the one that the error is about? */
bool item_is_known(enum item_kind kind, const struct item *item);

/* "key 12", "name a/b", for messages */
const char *item_label(enum item_kind kind, const struct item *item, char label[ITEM_LABEL]);

/**
 * struct items - a walk
 * @ct: the store or a snapshot of it
 * @kind: of the store
 * @iter: of records
 * @cursor: of blobs
 * @last: of names: the last one
 * @ahead: of names: the next ones
 * @first: of names: index of the next one in @ahead
 * @count: of names: number of those in @ahead
 * @unlisted: of names: the list ended where damaged names are missing
 * @skipped: after -EUCLEAN: a range of keys was skipped
 * @from: its lowest key
 * @to: its highest key
 */
struct items {
	struct crabtree *ct;
	enum item_kind kind;
	struct crabtree_iter *iter;
	struct crabtree_cursor cursor;
	char last[CRABTREE_NAME_MAX];
	uint32_t last_bytes;
	struct names_ahead_room *ahead;
	uint32_t first;
	uint32_t count;
	bool unlisted;
	bool skipped;
	uint64_t from;
	uint64_t to;
};

/**
 * items_open() - begin a walk
 * @items: out
 * @ct: the store or a snapshot of it
 * @kind: of the store
 * Return: 0 or a negative errno.
 */
int items_open(struct items *items, struct crabtree *ct, enum item_kind kind);

/**
 * items_next() - read the next item
 * @items: the walk
 * @item: out; on an error the key or the name that it is about, if one is known
 * Return: 1, 0 at the end, or a negative errno.
 */
int items_next(struct items *items, struct item *item);

/**
 * items_skipped() - the items that a walk leaves out after -EUCLEAN
 * @items: the walk
 * @item: the item of that call
 * @label: out
 * Return: a text for messages, after which the walk may go on; NULL: it cannot.
 */
const char *items_skipped(const struct items *items, const struct item *item, char label[ITEM_LABEL]);

void items_close(struct items *items);

#endif /* CRABCTL_ITEM_H */

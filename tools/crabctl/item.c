// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements items.
 *
 * Invariant: a walk over names reads some ahead; each value is read when its turn comes, so in a
 * store that others change it may be gone, and is left out. A snapshot does not change.
 */
#include "item.h"
#include "named.h"

#include <crabtree_blob.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define AHEAD	64U	/* names of one call */

struct names_ahead_room {
	uint32_t bytes[AHEAD];
	char text[AHEAD][CRABTREE_NAME_MAX];
};

int item_init(struct item *item)
{
	*item = (struct item){ .key = CRABTREE_KEY_RESERVED, .data = malloc(CRABTREE_BLOB_MAX) };
	return item->data ? 0 : -ENOMEM;
}

enum item_kind item_kind(const struct crabtree_info *info)
{
	if (info->feature_incompat & CRABTREE_INCOMPAT_NAMES)
		return ITEM_NAMED;
	return info->feature_incompat & CRABTREE_INCOMPAT_BLOBS ? ITEM_BLOB : ITEM_RECORD;
}

const char *item_kind_name(enum item_kind kind)
{
	static const char * const names[] = { "records", "blobs", "names" };

	return names[kind];
}

const char *item_noun(enum item_kind kind, uint64_t n)
{
	static const char * const names[] = { "record", "blob", "name" };

	return noun(n, names[kind], item_kind_name(kind));
}

unsigned int item_format_flags(enum item_kind kind)
{
	if (kind == ITEM_NAMED)
		return CRABTREE_FORMAT_NAMES;
	return kind == ITEM_BLOB ? CRABTREE_FORMAT_BLOBS : 0;
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

int item_compare(enum item_kind kind, const struct item *a, const struct item *b)
{
	int order;

	if (kind != ITEM_NAMED)
		return a->key < b->key ? -1 : a->key > b->key;
	order = memcmp(a->name, b->name, least(a->name_bytes, b->name_bytes));
	return order ? order : (int)a->name_bytes - (int)b->name_bytes;
}

bool item_same(enum item_kind kind, const struct item *a, const struct item *b)
{
	if (kind == ITEM_RECORD)
		return a->value == b->value;
	return a->type == b->type && a->bytes == b->bytes && !memcmp(a->data, b->data, a->bytes);
}

int item_put(struct crabtree *ct, enum item_kind kind, struct item *item, unsigned int flags)
{
	struct crabtree_named named = {
		.name = item->name, .name_bytes = item->name_bytes, .type = item->type,
		.value = item->data, .bytes = item->bytes,
	};

	if (kind == ITEM_NAMED)
		return crabtree_put_named(ct, &named, flags);
	return crabtree_put(ct, item->key, item->data, item->bytes, flags, NULL);
}

bool item_is_known(enum item_kind kind, const struct item *item)
{
	return kind == ITEM_NAMED ? item->name_bytes :
	       kind == ITEM_BLOB && item->key != CRABTREE_KEY_RESERVED;
}

const char *item_label(enum item_kind kind, const struct item *item, char label[ITEM_LABEL])
{
	char text[NAME_TEXT];

	if (kind == ITEM_NAMED)
		snprintf(label, ITEM_LABEL, "name %s",
			 name_text(item->name, item->name_bytes, text));
	else
		snprintf(label, ITEM_LABEL, "key %" PRIu64, item->key);
	return label;
}

/* Walks */

int items_open(struct items *items, struct crabtree *ct, enum item_kind kind)
{
	*items = (struct items){ .ct = ct, .kind = kind };
	crabtree_cursor_init(&items->cursor, 0, CRABTREE_KEY_RESERVED - 1);
	if (kind == ITEM_RECORD)
		return crabtree_iter_new(ct, 0, CRABTREE_KEY_RESERVED - 1, &items->iter);
	if (kind == ITEM_NAMED)
		items->ahead = malloc(sizeof(*items->ahead));
	return kind == ITEM_NAMED && !items->ahead ? -ENOMEM : 0;
}

void items_close(struct items *items)
{
	crabtree_iter_free(items->iter);
	free(items->ahead);
}

/* The walk was at @from, and is at @next after an error: between them is a quarantined range, if any */
static void skip(struct items *items, uint64_t from, uint64_t next)
{
	items->skipped = next > from;
	items->from = from;
	items->to = next - 1;
}

static int next_record(struct items *items, struct item *item)
{
	uint64_t from = crabtree_iter_tell(items->iter);
	struct crabtree_record record;
	int got = crabtree_iter_next(items->iter, &record);

	if (got == -EUCLEAN)
		skip(items, from, crabtree_iter_tell(items->iter));
	if (got > 0) {
		item->key = record.key;
		item->value = record.value;
	}
	return got;
}

static int next_blob(struct items *items, struct item *item)
{
	struct crabtree_cursor *cursor = &items->cursor;
	struct crabtree_entry entry;
	uint64_t from;
	int got, err;

	do {
		from = cursor->next;
		got = crabtree_list(items->ct, cursor, &entry, 1);
		if (got == -EUCLEAN)
			skip(items, from, cursor->done ? CRABTREE_KEY_RESERVED : cursor->next);
		item->key = got > 0 ? entry.key : CRABTREE_KEY_RESERVED;
		if (got <= 0)
			return got;
		err = entry.status ? entry.status :
		      crabtree_get(items->ct, entry.key, item->data, CRABTREE_BLOB_MAX,
				   &item->bytes, NULL);
	} while (err == -ENOENT);
	return err ? err : 1;
}

/* Keeps a name; the list ends once there is no room for the next one */
static int name_keep(const struct crabtree_name *name, void *arg)
{
	struct items *items = arg;

	items->ahead->bytes[items->count] = name->name_bytes;
	memcpy(items->ahead->text[items->count], name->name, name->name_bytes);
	return ++items->count == AHEAD;
}

/* The number of names ahead, or an error */
static int names_ahead(struct items *items)
{
	struct crabtree_names range = {
		.flags = items->last_bytes ? CRABTREE_NAMES_AFTER : 0,
		.start = (uintptr_t)items->last, .start_bytes = items->last_bytes,
	};
	int err;

	items->first = 0;
	items->count = 0;
	err = crabtree_names(items->ct, &range, name_keep, items);
	/* After those ahead, the next call has the error again; after that one, it is the end */
	if (!items->count && err == -EUCLEAN) {
		err = items->unlisted ? 0 : err;
		items->unlisted = true;
	}
	return items->count ? (int)items->count : err;
}

/* The value of the next name ahead */
static int name_read(struct items *items, struct item *item)
{
	struct crabtree_named named = {
		.name = item->name, .value = item->data, .capacity = CRABTREE_BLOB_MAX,
	};
	int err;

	named.name_bytes = items->ahead->bytes[items->first];
	memcpy(item->name, items->ahead->text[items->first++], named.name_bytes);
	item->name[named.name_bytes] = '\0';
	item->name_bytes = named.name_bytes;
	memcpy(items->last, item->name, named.name_bytes);
	items->last_bytes = named.name_bytes;
	err = crabtree_get_named(items->ct, &named);
	item->type = named.type;
	item->bytes = named.bytes;
	return err;
}

static int next_named(struct items *items, struct item *item)
{
	int got, err;

	do {
		got = items->first < items->count ? 1 : names_ahead(items);
		if (got <= 0) {
			item->name_bytes = 0;	/* an error is about an unknown one */
			return got;
		}
		err = name_read(items, item);
	} while (err == -ENOENT);
	return err ? err : 1;
}

int items_next(struct items *items, struct item *item)
{
	switch (items->kind) {
	case ITEM_BLOB:
		return next_blob(items, item);
	case ITEM_NAMED:
		return next_named(items, item);
	default:
		return next_record(items, item);
	}
}

const char *items_skipped(const struct items *items, const struct item *item, char label[ITEM_LABEL])
{
	if (item_is_known(items->kind, item))
		return item_label(items->kind, item, label);
	if (items->kind == ITEM_NAMED)
		return items->unlisted ? "damaged names" : NULL;
	if (!items->skipped)
		return NULL;
	snprintf(label, ITEM_LABEL, "keys %" PRIu64 " to %" PRIu64, items->from, items->to);
	return label;
}

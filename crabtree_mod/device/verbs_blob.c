// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the verbs on values of any length, under keys and under names: structure in,
 * store call, structure out.
 *
 * Invariant: as of verbs.c.
 *
 * No lock: arguments belong to the caller.
 */
#include <linux/align.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "store/watch.h"
#include "verbs.h"
#include "verbs_blob.h"

static_assert(CRABTREE_BLOB_MAX == CRAB_BLOB_BYTES_MAX);
static_assert(CRABTREE_NAME_MAX == CRAB_NAME_MAX);

enum crab_insert_mode crab_verbs_put_mode(u32 flags)
{
	switch (flags & (CRABTREE_PUT_CREATE | CRABTREE_PUT_REPLACE)) {
	case CRABTREE_PUT_CREATE:
		return CRAB_INSERT_CREATE;
	case CRABTREE_PUT_REPLACE:
		return CRAB_INSERT_REPLACE;
	default:
		return CRAB_INSERT_EITHER;
	}
}

/* The length of a value of a type; 0: any */
static int type_bytes(u32 type)
{
	static const u8 bytes[] = {
		[CRABTREE_TYPE_BYTES] = 0, [CRABTREE_TYPE_TEXT] = 0, [CRABTREE_TYPE_BOOL] = 1,
		[CRABTREE_TYPE_U8] = 1, [CRABTREE_TYPE_U16] = 2, [CRABTREE_TYPE_U32] = 4,
		[CRABTREE_TYPE_U64] = 8, [CRABTREE_TYPE_I64] = 8, [CRABTREE_TYPE_F64] = 8,
	};

	return type < ARRAY_SIZE(bytes) ? bytes[type] : -EINVAL;
}

int crab_verbs_kind_check(const struct crab_store *store, u32 name_bytes)
{
	return crab_store_has_names(store) == !!name_bytes ? 0 : -EOPNOTSUPP;
}

int crab_verbs_value_check(const struct crab_store *store, u32 name_bytes, u32 type, u32 bytes,
			   const u8 *value)
{
	int err = crab_verbs_kind_check(store, name_bytes), want = type_bytes(type);

	if (err)
		return err;
	if (!name_bytes)
		return type ? -EINVAL : 0;
	if (want < 0 || (want && bytes != (u32)want))
		return -EINVAL;
	return type == CRABTREE_TYPE_BOOL && *value > 1 ? -EINVAL : 0;
}

int crab_verbs_put(struct crab_store *store, struct crabtree_put *put, const char *name,
		   const void *value)
{
	struct crab_blob_write write = {
		.key = put->key, .name = name, .name_bytes = put->name_bytes, .type = put->type,
		.bytes = put->bytes, .data = value, .mode = crab_verbs_put_mode(put->flags),
		.checked = put->flags & CRABTREE_IF_VERSION, .version = put->version,
	};
	int err = crab_verbs_value_check(store, put->name_bytes, put->type, put->bytes, value);

	if (!err)
		err = crab_store_has_names(store) ? crab_named_put(store, &write) :
						    crab_blob_put(store, &write);
	put->existed = write.existed;
	if (!err)
		put->version = write.version;
	return err;
}

static int get_in(struct crab_store *store, struct crab_snap *snap, const struct crabtree_get *get,
		  const char *name, struct crab_blob_read *read)
{
	int err = crab_verbs_kind_check(store, get->name_bytes);
	bool names = get->name_bytes;

	if (err)
		return err;
	if (snap)
		return names ? crab_snap_named_get(store, snap, name, get->name_bytes, read) :
			       crab_snap_get(store, snap, read);
	return names ? crab_named_get(store, name, get->name_bytes, read) :
		       crab_blob_get(store, read);
}

int crab_verbs_get(struct crab_store *store, struct crab_snap *snap, struct crabtree_get *get,
		   const char *name, void *value, u32 capacity)
{
	struct crab_blob_read read = {
		.key = get->key, .buffer = value, .capacity = capacity,
	};
	int err = get_in(store, snap, get, name, &read);

	if (err && err != -EMSGSIZE)
		read = (struct crab_blob_read){ };
	get->bytes = read.bytes;
	get->version = read.version;
	get->type = read.type;
	return err;
}

int crab_verbs_erase(struct crab_store *store, const struct crabtree_erase *erase,
		     const char *name)
{
	struct crab_blob_write write = {
		.key = erase->key, .name = name, .name_bytes = erase->name_bytes,
		.version = erase->version, .checked = erase->flags & CRABTREE_IF_VERSION,
	};
	int err = crab_verbs_kind_check(store, erase->name_bytes);

	if (err)
		return err;
	return erase->name_bytes ? crab_named_erase(store, &write) : crab_blob_erase(store, &write);
}

void crab_verbs_list_begin(struct crabtree_list *list, struct crab_cursor *cursor)
{
	list->count = 0;
	crab_cursor_init(cursor, list->start, list->end);
}

int crab_verbs_list_chunk(struct crab_store *store, struct crab_snap *snap,
			  const struct crabtree_list *list, struct crab_cursor *cursor,
			  struct crabtree_entry *entries)
{
	u32 cap = min(list->capacity - list->count, CRAB_LIST_CHUNK);
	struct crab_blob_entry found[CRAB_LIST_CHUNK];
	int i, got;

	if (crab_store_has_names(store))
		return -EOPNOTSUPP;
	got = snap ? crab_snap_list(store, snap, cursor, found, cap) :
		     crab_blob_list(store, cursor, found, cap);
	for (i = 0; i < got; i++)
		entries[i] = (struct crabtree_entry){
			.key = found[i].key, .version = found[i].version,
			.bytes = found[i].bytes, .status = found[i].err,
		};
	if (got == -EUCLEAN && !list->count)
		crab_cursor_skip(store, cursor);
	return got;
}

int crab_verbs_list_end(struct crabtree_list *list, const struct crab_cursor *cursor, int err)
{
	if (err == -EUCLEAN && list->count)
		err = 0;
	if (err && err != -EUCLEAN)
		return err;
	list->more = !cursor->done;
	list->next = cursor->done ? 0 : cursor->next;
	return err;
}

/* Bytes of the entry of a name, with a NUL after it */
static u32 entry_bytes(u32 name_bytes)
{
	return ALIGN(offsetof(struct crabtree_name, name) + name_bytes + 1, sizeof(u64));
}

static_assert(ALIGN(offsetof(struct crabtree_name, name) + CRABTREE_NAME_MAX + 1, sizeof(u64)) ==
	      CRABTREE_NAME_ENTRY_MAX);

static void names_put(void *to, const struct crab_named_entry *from)
{
	u32 bytes = entry_bytes(from->name_bytes);
	struct crabtree_name head = {
		.version = from->version, .bytes = from->bytes, .status = from->err,
		.entry_bytes = bytes, .name_bytes = from->name_bytes, .type = from->type,
	};

	memset(to, 0, bytes);
	memcpy(to, &head, offsetof(struct crabtree_name, name));
	memcpy(to + offsetof(struct crabtree_name, name), from->text, from->name_bytes);
}

int crab_verbs_names_begin(struct crabtree_names *names, const char *start, const char *end,
			   struct crab_named_cursor *cursor)
{
	names->used = 0;
	names->count = 0;
	names->more = 1;
	if (names->capacity < CRABTREE_NAME_ENTRY_MAX)
		return -EMSGSIZE;
	crab_named_cursor_init(cursor, start, names->start_bytes, end, names->end_bytes);
	cursor->after = names->flags & CRABTREE_NAMES_AFTER;
	if (names->flags & CRABTREE_NAMES_PREFIX)
		crab_named_cursor_prefix(cursor);
	return 0;
}

int crab_verbs_names_chunk(struct crab_store *store, struct crab_snap *snap,
			   struct crabtree_names *names, struct crab_named_cursor *cursor,
			   void *entries, u32 capacity)
{
	struct crab_named_entry entry;
	u32 used = 0;
	int got = 1;

	capacity = min(capacity, names->capacity - names->used);
	while (capacity - used >= CRABTREE_NAME_ENTRY_MAX) {
		got = snap ? crab_snap_named_next(store, snap, cursor, &entry) :
			     crab_named_next(store, cursor, &entry);
		if (got <= 0)
			break;
		names_put(entries + used, &entry);
		used += entry_bytes(entry.name_bytes);
		names->count++;
	}
	names->more = got > 0;
	/* The next call has the error again */
	return used ? used : min(got, 0);
}

/* Bytes of the change of a name, with a NUL after it */
static u32 change_bytes(u32 name_bytes)
{
	return ALIGN(offsetof(struct crabtree_name_change, name) + name_bytes + 1, sizeof(u64));
}

static_assert(ALIGN(offsetof(struct crabtree_name_change, name) + CRABTREE_NAME_MAX + 1,
		    sizeof(u64)) == CRABTREE_NAME_CHANGE_MAX);

static u32 name_change(const struct crab_change *from, void *to)
{
	struct crabtree_name_change head = {
		.entry_bytes = change_bytes(from->name_bytes), .name_bytes = from->name_bytes,
		.type = from->type,
	};
	struct crabtree_change change;

	crab_verbs_changes(from, &change, 1);
	head.seq = change.seq;
	head.value = change.value;
	head.old = change.old;
	head.verb = change.verb;
	head.flags = change.flags;
	memset(to, 0, head.entry_bytes);
	memcpy(to, &head, offsetof(struct crabtree_name_change, name));
	memcpy(to + offsetof(struct crabtree_name_change, name), from->name, from->name_bytes);
	return head.entry_bytes;
}

u32 crab_verbs_name_changes(const struct crab_change *from, void *to, u32 n)
{
	u32 i, used = 0;

	for (i = 0; i < n; i++)
		used += name_change(&from[i], to + used);
	return used;
}

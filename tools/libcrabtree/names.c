// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * This file implements the calls of the library on named values over a backend.
 */
#include "crabtree_names.h"
#include "backend.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#define NAMES_ROOM	8192	/* bytes of entries in one call */

int crabtree_put_named(struct crabtree *ct, struct crabtree_named *named, unsigned int flags)
{
	struct crabtree_put put = {
		.size = sizeof(put),
		.flags = flags,
		.key = (uintptr_t)named->name,
		.value = (uintptr_t)named->value,
		.bytes = named->bytes,
		.version = flags & CRABTREE_IF_VERSION ? named->version : 0,
		.name_bytes = named->name_bytes,
		.type = named->type,
	};
	int err = named->name_bytes ? ct->backend->call(ct, CRABTREE_PUT, &put) : -EINVAL;

	if (!err)
		named->version = put.version;
	return err;
}

int crabtree_get_named(struct crabtree *ct, struct crabtree_named *named)
{
	struct crabtree_get get = {
		.size = sizeof(get),
		.key = (uintptr_t)named->name,
		.value = (uintptr_t)named->value,
		.capacity = named->capacity,
		.name_bytes = named->name_bytes,
	};
	int err = named->name_bytes ? ct->backend->call(ct, CRABTREE_GET, &get) : -EINVAL;

	named->type = get.type;
	named->bytes = get.bytes;
	named->version = get.version;
	return err;
}

int crabtree_erase_named(struct crabtree *ct, const char *name, uint32_t name_bytes,
			 const uint64_t *version)
{
	struct crabtree_erase erase = {
		.size = sizeof(erase),
		.flags = version ? CRABTREE_IF_VERSION : 0,
		.key = (uintptr_t)name,
		.version = version ? *version : 0,
		.name_bytes = name_bytes,
	};

	return name_bytes ? ct->backend->call(ct, CRABTREE_ERASE, &erase) : -EINVAL;
}

/* Is an entry of @bytes bytes whole, in @room bytes, of which @head are those before its name? */
static bool entry_is_whole(size_t room, size_t bytes, size_t head, size_t name_bytes)
{
	return bytes <= room && head + name_bytes < bytes && name_bytes <= CRABTREE_NAME_MAX;
}

/* Calls @each for the entries of one call; @last: out: the last of them */
static int names_deliver(const char *room, const struct crabtree_names *names,
			 crabtree_names_fn each, void *arg, const struct crabtree_name **last)
{
	const struct crabtree_name *name;
	uint32_t at;
	int stop;

	for (at = 0; at < names->used; at += name->entry_bytes) {
		name = (const void *)(room + at);
		if (names->used - at < sizeof(*name) ||
		    !entry_is_whole(names->used - at, name->entry_bytes,
				    offsetof(struct crabtree_name, name), name->name_bytes))
			return -EPROTO;
		*last = name;
		stop = each(name, arg);
		if (stop)
			return stop;
	}
	return 0;
}

int crabtree_names(struct crabtree *ct, const struct crabtree_names *range, crabtree_names_fn each,
		   void *arg)
{
	char room[NAMES_ROOM] __attribute__((aligned(8)));
	const struct crabtree_name *last = NULL;
	char start[CRABTREE_NAME_MAX];
	struct crabtree_names names;
	int err, stop;

	do {
		names = (struct crabtree_names){
			.size = sizeof(names),
			.flags = range->flags,
			.start = range->start,
			.end = range->end,
			.start_bytes = range->start_bytes,
			.end_bytes = range->end_bytes,
			.buffer = (uintptr_t)room,
			.capacity = sizeof(room),
		};
		if (last) {
			names.flags |= CRABTREE_NAMES_AFTER;
			names.start = (uintptr_t)memcpy(start, last->name, last->name_bytes);
			names.start_bytes = last->name_bytes;
			last = NULL;
		}
		err = ct->backend->call(ct, CRABTREE_NAMES, &names);
		/* The last entries of a list that lacks a name come with an error */
		stop = !err || err == -EUCLEAN ? names_deliver(room, &names, each, arg, &last) : 0;
		err = stop ? stop : err;
	} while (!err && names.more && last);
	return err;
}

int crabtree_watch_names(struct crabtree *ct, const char *prefix, uint32_t prefix_bytes,
			 uint32_t entries)
{
	struct crabtree_watch watch = {
		.size = sizeof(watch),
		.entries = entries,
		.prefix = (uintptr_t)prefix,
		.prefix_bytes = prefix_bytes,
	};
	struct crabtree_info info;
	int err = crabtree_info(ct, &info, sizeof(info));

	if (!err && !(info.feature_incompat & CRABTREE_INCOMPAT_NAMES))
		err = -EOPNOTSUPP;
	if (!err)
		err = ct->backend->call(ct, CRABTREE_WATCH, &watch);
	return err ? err : watch.fd;
}

int crabtree_watch_names_read(int fd, crabtree_change_fn each, void *arg)
{
	char room[NAMES_ROOM] __attribute__((aligned(8)));
	const struct crabtree_name_change *change;
	ssize_t n = read(fd, room, sizeof(room)), at;
	int count = 0;

	if (n < 0)
		return -errno;
	for (at = 0; at < n; at += change->entry_bytes, count++) {
		change = (const void *)(room + at);
		if (n - at < (ssize_t)sizeof(*change) ||
		    !entry_is_whole(n - at, change->entry_bytes,
				    offsetof(struct crabtree_name_change, name), change->name_bytes))
			return -EPROTO;
		each(change, arg);
	}
	return count;
}

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file holds the verbs of stores of blobs as functions.
 *
 * Invariant: as of device.h.
 */
#ifndef SELFTEST_BLOB_H
#define SELFTEST_BLOB_H

#include "device.h"

static inline int put(int fd, u64 key, const void *from, u32 bytes, u32 flags, u64 *version)
{
	struct crabtree_put p;
	int err;

	poison(&p, sizeof(p));
	p.flags = flags;
	p.key = key;
	p.value = (uintptr_t)from;
	p.bytes = bytes;
	p.version = *version;
	p.name_bytes = 0;
	p.type = 0;
	err = call(fd, CRABTREE_PUT, &p);
	*version = p.version;
	return err;
}

static inline int get(int fd, u64 key, void *to, u32 capacity, struct crabtree_get *g)
{
	poison(g, sizeof(*g));
	g->key = key;
	g->value = (uintptr_t)to;
	g->capacity = capacity;
	g->name_bytes = 0;
	return call(fd, CRABTREE_GET, g);
}

static inline int erase(int fd, u64 key, u32 flags, u64 version)
{
	struct crabtree_erase e;

	poison(&e, sizeof(e));
	e.flags = flags;
	e.key = key;
	e.version = version;
	e.name_bytes = 0;
	e.reserved = 0;
	return call(fd, CRABTREE_ERASE, &e);
}

static inline int list(int fd, u64 start, struct crabtree_entry *entries, u32 capacity,
		       struct crabtree_list *l)
{
	poison(l, sizeof(*l));
	l->start = start;
	l->end = ~0ULL;
	l->entries = (uintptr_t)entries;
	l->capacity = capacity;
	l->reserved = 0;
	return call(fd, CRABTREE_LIST, l);
}

#endif /* SELFTEST_BLOB_H */

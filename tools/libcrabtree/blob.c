// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * This file implements the calls of the library on blobs over a backend.
 */
#include "crabtree_blob.h"
#include "backend.h"

#include <errno.h>

int crabtree_put(struct crabtree *ct, uint64_t key, const void *value, uint32_t bytes,
		 unsigned int flags, uint64_t *version)
{
	struct crabtree_put put = {
		.size = sizeof(put),
		.flags = flags,
		.key = key,
		.value = (uintptr_t)value,
		.bytes = bytes,
	};
	int err;

	if (flags & CRABTREE_IF_VERSION && !version)
		return -EINVAL;
	if (flags & CRABTREE_IF_VERSION)
		put.version = *version;
	err = ct->backend->call(ct, CRABTREE_PUT, &put);
	if (!err && version)
		*version = put.version;
	return err;
}

int crabtree_commit_values(struct crabtree *ct, struct crabtree_commit_op *ops, uint32_t count,
			   uint32_t *failed)
{
	struct crabtree_commit commit = {
		.size = sizeof(commit),
		.ops = (uintptr_t)ops,
		.count = count,
		.failed = count,
	};
	int err = ct->backend->call(ct, CRABTREE_COMMIT, &commit);

	if (failed)
		*failed = commit.failed;
	return err;
}

int crabtree_get(struct crabtree *ct, uint64_t key, void *value, uint32_t capacity,
		 uint32_t *bytes, uint64_t *version)
{
	struct crabtree_get get = {
		.size = sizeof(get),
		.key = key,
		.value = (uintptr_t)value,
		.capacity = capacity,
	};
	int err = ct->backend->call(ct, CRABTREE_GET, &get);

	*bytes = get.bytes;
	if (version)
		*version = get.version;
	return err;
}

int crabtree_erase(struct crabtree *ct, uint64_t key, const uint64_t *version)
{
	struct crabtree_erase erase = {
		.size = sizeof(erase),
		.flags = version ? CRABTREE_IF_VERSION : 0,
		.key = key,
		.version = version ? *version : 0,
	};

	return ct->backend->call(ct, CRABTREE_ERASE, &erase);
}

int crabtree_list(struct crabtree *ct, struct crabtree_cursor *cursor,
		  struct crabtree_entry *entries, uint32_t capacity)
{
	struct crabtree_list list = {
		.size = sizeof(list),
		.start = cursor->next,
		.end = cursor->end,
		.entries = (uintptr_t)entries,
		.capacity = capacity,
		.more = true,			/* until the backend reports the end */
		.next = cursor->next,
	};
	int err;

	if (cursor->done)
		return 0;
	if (cursor->reverse || !capacity)
		return -EINVAL;
	err = ct->backend->call(ct, CRABTREE_LIST, &list);
	if (err && err != -EUCLEAN)
		return err;
	/* A whole store that is damaged has no key where the list may go on */
	if (err && list.more && list.next == cursor->next)
		return err;
	if (list.count > capacity || (list.more && list.next <= cursor->next))
		return -EPROTO;
	cursor->done = !list.more;
	cursor->next = list.next;
	return err ? err : (int)list.count;
}

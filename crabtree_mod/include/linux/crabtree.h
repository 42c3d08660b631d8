/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The interface of crabtree to other kernel code: an ordered index of 64-bit
 * keys to 64-bit values, or variables with names, in persistent memory.
 * Documentation/driver-api/crabtree.rst
 *
 * All functions may sleep. A user module imports the namespace CRABTREE. While it
 * holds a tree open, this module cannot be unloaded and FORMAT is refused. The region
 * itself can be removed: every call then returns -ENODEV, and the tree must still be
 * closed.
 */
#ifndef _LINUX_CRABTREE_H
#define _LINUX_CRABTREE_H

#include <linux/types.h>
#include <linux/uuid.h>
#include <uapi/linux/crabtree.h>

struct crabtree;
struct notifier_block;

/**
 * struct crabtree_cursor - a scan that can stop and continue
 * @next: the lowest key not returned yet; @reverse: the highest one
 * @end: the highest key wanted; @reverse: the lowest one
 * @done: no record is left
 * @reverse: keys descend
 *
 * It refers to nothing in the tree: it needs no release, and may be copied and kept.
 */
struct crabtree_cursor {
	u64 next;
	u64 end;
	bool done;
	bool reverse;
};

/**
 * CRABTREE_CURSOR() - initialise a cursor
 * @_start: the lowest key wanted
 * @_end: the highest key wanted
 */
#define CRABTREE_CURSOR(_start, _end)	{ .next = (_start), .end = (_end) }

/**
 * CRABTREE_CURSOR_REVERSE() - initialise a cursor of a scan in descending order
 * @_start: the lowest key wanted
 * @_end: the highest key wanted
 */
#define CRABTREE_CURSOR_REVERSE(_start, _end)						\
	{ .next = (_end), .end = (_start), .reverse = true }

/**
 * enum crabtree_event - events of a notifier
 * @CRABTREE_CAME: a store is available and can be opened
 * @CRABTREE_GOING: it will not be served any longer: close it
 */
enum crabtree_event {
	CRABTREE_CAME = 1,
	CRABTREE_GOING,
};

/**
 * struct crabtree_identity - the data of a notifier
 * @label: label of the store
 * @uuid: its identity
 * @tree: a tree that is open is of this store if it is the same pointer, which is for nothing else.
 *	Other stores may have the same label, and copies of an image the same identity, too
 */
struct crabtree_identity {
	const char *label;
	const uuid_t *uuid;
	const struct crabtree *tree;
};

struct crabtree *crabtree_open_by_label(const char *label);
struct crabtree *crabtree_open_by_uuid(const uuid_t *uuid);
void crabtree_close(struct crabtree *tree);

int crabtree_search(struct crabtree *tree, u64 key, u64 *value);
int crabtree_seek(struct crabtree *tree, u64 key, unsigned int flags,
		  struct crabtree_record *record);
int crabtree_insert(struct crabtree *tree, u64 key, u64 value, unsigned int flags, u64 *old);
int crabtree_swap(struct crabtree *tree, u64 key, u64 expected, u64 value, u64 *old);
int crabtree_add(struct crabtree *tree, u64 key, u64 addend, unsigned int flags, u64 *old);
int crabtree_delete(struct crabtree *tree, u64 key, u64 *old);
int crabtree_delete_range(struct crabtree *tree, u64 start, u64 end, u64 *deleted, u64 *next);
int crabtree_commit(struct crabtree *tree, struct crabtree_batch_op *ops, u32 count, u32 *failed);
int crabtree_commit_values(struct crabtree *tree, struct crabtree_commit_op *ops, u32 count,
			   u32 *failed);
int crabtree_scan(struct crabtree *tree, struct crabtree_cursor *cursor,
		  struct crabtree_record *records, u32 capacity);

int crabtree_var_set(struct crabtree *tree, const char *name, enum crabtree_type type,
		     const void *value, u32 bytes);
int crabtree_var_get(struct crabtree *tree, const char *name, enum crabtree_type type,
		     void *value, u32 capacity, u32 *bytes);
int crabtree_var_remove(struct crabtree *tree, const char *name);

int crabtree_register_notifier(struct notifier_block *nb);
int crabtree_unregister_notifier(struct notifier_block *nb);

#endif /* _LINUX_CRABTREE_H */

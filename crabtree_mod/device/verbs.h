/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the verbs of the user interface: for each one the structure
 * that it takes, the rules for that structure, and the call on a store. The ioctls
 * of a device and the calls on an image in user space are both built on them.
 *
 * Layer L6: it includes all lower layers and uapi/; device/ and tools/libcrabtree include it.
 *
 * No function here touches user memory, and none has a lock.
 */
#ifndef CRABTREE_VERBS_H
#define CRABTREE_VERBS_H

#include <uapi/linux/crabtree.h>

#include "store/snap.h"
#include "store/store.h"
#include "store/watch.h"

#define CRAB_SCAN_CHUNK	256U	/* records of a scan in one call on the store */

/* Any argument but INFO's, which is large; all begin with size and flags */
union crab_verb_arg {
	struct {
		__u32 size;
		__u32 flags;
	} head;
	struct crabtree_insert insert;
	struct crabtree_search search;
	struct crabtree_delete delete;
	struct crabtree_delete_range delete_range;
	struct crabtree_scan scan;
	struct crabtree_batch batch;
	struct crabtree_check check;
	struct crabtree_format format;
	struct crabtree_snapshot snapshot;
	struct crabtree_watch watch;
	struct crabtree_put put;
	struct crabtree_get get;
	struct crabtree_erase erase;
	struct crabtree_list list;
	struct crabtree_names names;
	struct crabtree_commit commit;
};

#define CRAB_VERB_WRITES	(1U << 0)	/* needs a descriptor open for writing */
#define CRAB_VERB_ANSWERS	(1U << 1)	/* its structure has fields for answers */
#define CRAB_VERB_SHORT		(1U << 2)	/* @run is all of it, and ends soon */
#define CRAB_VERB_OPENS		(1U << 3)	/* it returns a descriptor */
#define CRAB_VERB_SNAPSHOT	(1U << 4)	/* also for the descriptor of a snapshot */

/**
 * struct crab_verb_desc - one verb of the user interface
 * @size: of its structure in this version; 0: there is no such verb
 * @min_size: of its structure in the first version
 * @known_flags: other flags return -EINVAL
 * @reserved: offset of a __u32 that must be zero, or 0 if there is none
 * @traits: mask of CRAB_VERB_*
 * @run: one call on the store; NULL for INFO, SCAN, BATCH, FORMAT, DELETE_RANGE, PUT, GET, ERASE,
 *	LIST and NAMES, which the caller assembles from the functions below and those of
 *	verbs_commit.h and verbs_blob.h, and for SNAPSHOT and WATCH, which only a device has
 */
struct crab_verb_desc {
	u32 size;
	u32 min_size;
	u32 known_flags;
	u16 reserved;
	u16 traits;
	int (*run)(struct crab_store *store, union crab_verb_arg *arg);
};

#define CRAB_VERB_INDEX(ioctl)	(_IOC_NR(ioctl) - _IOC_NR(CRABTREE_INFO))
#define CRAB_VERBS_COUNT	17

/* Indexed by CRAB_VERB_INDEX() */
extern const struct crab_verb_desc crab_verbs[CRAB_VERBS_COUNT];

/**
 * crab_verbs_check() - verify the flags and the reserved field of an argument
 * @verb: the verb
 * @arg: its argument
 *
 * Context: any.
 * Return: 0 or -EINVAL.
 */
static inline int crab_verbs_check(const struct crab_verb_desc *verb,
				   const union crab_verb_arg *arg)
{
	if (arg->head.flags & ~verb->known_flags)
		return -EINVAL;
	if (verb->reserved && *(const __u32 *)((const char *)arg + verb->reserved))
		return -EINVAL;
	return 0;
}

/**
 * crab_verbs_find() - find a verb
 * @index: CRAB_VERB_INDEX() of any ioctl
 *
 * Context: any.
 * Return: the verb, or NULL.
 */
static inline const struct crab_verb_desc *crab_verbs_find(unsigned int index)
{
	if (index >= CRAB_VERBS_COUNT || !crab_verbs[index].size)
		return NULL;
	return &crab_verbs[index];
}

/**
 * struct crab_device_info - the data that INFO reports about a device or an image
 * @state: its state
 * @serving: @store is filled
 * @durability: class of durability that a returned write has
 * @reason: cause of the state
 * @region: name of the region
 * @provider: its provider
 * @region_bytes: its size
 * @store: the store, if @serving
 */
struct crab_device_info {
	enum crabtree_state state;
	bool serving;
	enum crab_durability durability;
	char reason[CRAB_REASON_LEN];
	char region[sizeof_field(struct crabtree_info, region)];
	const char *provider;
	u64 region_bytes;
	struct crab_store_info store;
};

/**
 * crab_verbs_info() - INFO: fill the structure
 * @info: out; its size word is kept
 * @from: the device or image
 *
 * Context: any.
 */
void crab_verbs_info(struct crabtree_info *info, const struct crab_device_info *from);

#define CRAB_PUT_FLAGS		(CRABTREE_PUT_CREATE | CRABTREE_PUT_REPLACE | CRABTREE_IF_VERSION)

#define CRAB_INSERT_FLAGS	(CRABTREE_INSERT_CREATE | CRABTREE_INSERT_REPLACE |	\
				 CRABTREE_INSERT_SWAP | CRABTREE_INSERT_ADD)

/**
 * crab_verbs_insert_mode() - translate CRABTREE_INSERT_* for the store
 * @flags: any mask
 *
 * Context: any.
 * Return: enum crab_insert_mode, or -EINVAL: an unknown flag, or flags that exclude each other.
 */
int crab_verbs_insert_mode(u32 flags);

/**
 * crab_verbs_search_snap() - SEARCH in a snapshot
 * @store: the store
 * @snap: the snapshot
 * @search: the argument
 *
 * Context: may sleep.
 * Return: as crab_snap_search() and crab_snap_seek(); -EINVAL for flags that exclude each other.
 */
int crab_verbs_search_snap(struct crab_store *store, struct crab_snap *snap,
			   struct crabtree_search *search);

/**
 * crab_verbs_scan_begin() - SCAN: start at the first key
 * @scan: the argument; its answers are cleared
 * @cursor: out
 *
 * Call crab_verbs_scan_chunk() until @scan->count is @scan->capacity, @cursor is done, or it
 * returns 0 or an error; then crab_verbs_scan_end().
 *
 * Context: any.
 */
void crab_verbs_scan_begin(struct crabtree_scan *scan, struct crab_cursor *cursor);

/**
 * crab_verbs_scan_chunk() - SCAN: read the next records
 * @store: the store
 * @snap: a snapshot of it, which is read; or NULL
 * @scan: the argument; the caller adds the records that it delivered to @scan->count
 * @cursor: the position; after -EUCLEAN for the first record it is after the quarantined range
 * @records: out: room for CRAB_SCAN_CHUNK records
 *
 * Context: may sleep.
 * Return: as crab_cursor_read(), or crab_snap_read().
 */
int crab_verbs_scan_chunk(struct crab_store *store, struct crab_snap *snap,
			  const struct crabtree_scan *scan, struct crab_cursor *cursor,
			  struct crab_record *records);

/**
 * crab_verbs_scan_end() - SCAN: fill in where the next scan continues
 * @scan: the argument
 * @cursor: the position
 * @err: how the last chunk ended
 *
 * Records found before a quarantined range are returned without an error. The scan that
 * continues there returns -EUCLEAN, no record, and the first key after the range.
 *
 * Context: any.
 * Return: the error of the verb.
 */
int crab_verbs_scan_end(struct crabtree_scan *scan, const struct crab_cursor *cursor, int err);

/**
 * crab_verbs_delete_range_begin() - DELETE_RANGE: begin
 * @range: the argument; its answers are cleared
 * @cursor: out: the position
 *
 * Call crab_cursor_delete() until @cursor->done or an error, then crab_verbs_delete_range_end().
 *
 * Context: any.
 */
void crab_verbs_delete_range_begin(struct crabtree_delete_range *range,
				   struct crab_cursor *cursor);

/**
 * crab_verbs_delete_range_end() - DELETE_RANGE: fill in where another call continues
 * @range: the argument
 * @cursor: the position
 * Context: any.
 */
void crab_verbs_delete_range_end(struct crabtree_delete_range *range,
				 const struct crab_cursor *cursor);

/**
 * crab_verbs_batch_begin() - BATCH: mark every operation as not tried
 * @ops: the operations, in kernel memory
 * @count: how many
 * @writable: the descriptor is open for writing
 *
 * Context: any.
 * Return: 0, or -EBADF if an operation needs a descriptor open for writing.
 */
int crab_verbs_batch_begin(struct crabtree_batch_op *ops, u32 count, bool writable);

/**
 * crab_verbs_batch_chunk() - BATCH: run the next operations
 * @store: the store
 * @ops: the operations; their answers are filled in
 * @n: how many, at most CRAB_BATCH_CHUNK
 *
 * Context: may sleep.
 */
void crab_verbs_batch_chunk(struct crab_store *store, struct crabtree_batch_op *ops, u32 n);

/**
 * crab_verbs_batch_answer() - BATCH: translate the result of an operation
 * @op: the operation, after it was done
 * @to: out: its answers
 *
 * Context: any.
 */
void crab_verbs_batch_answer(const struct crab_batch_op *op, struct crabtree_batch_op *to);

/**
 * crab_verbs_changes() - WATCH: translate changes for the reader
 * @from: the changes
 * @to: out
 * @n: how many
 *
 * Context: any.
 */
void crab_verbs_changes(const struct crab_change *from, struct crabtree_change *to, u32 n);

/**
 * crab_verbs_format_finishes() - FORMAT: whether it finishes an unfinished store
 * @format: the argument
 *
 * Context: any.
 * Return: 1 if so, 0 if not, or -EINVAL if more than FINISH is asked.
 */
int crab_verbs_format_finishes(const struct crabtree_format *format);

/**
 * crab_verbs_format_options() - FORMAT: translate the argument for the store
 * @format: the argument; @options refers to its names
 * @options: out
 * @super: room for the superblock of an unfinished store; @options refers to it
 *
 * Context: any.
 * Return: 0, or -EINVAL for a name without a NUL.
 */
int crab_verbs_format_options(const struct crabtree_format *format,
			      struct crab_format_options *options, struct crab_super *super);

#endif /* CRABTREE_VERBS_H */

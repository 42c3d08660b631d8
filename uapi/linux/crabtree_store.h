/* SPDX-License-Identifier: GPL-2.0 WITH Linux-syscall-note */
/*
 * A device and its store: FORMAT, INFO and CHECK. <linux/crabtree.h> includes this file, and has
 * its rules.
 */
#ifndef _UAPI_LINUX_CRABTREE_STORE_H
#define _UAPI_LINUX_CRABTREE_STORE_H

#include <linux/types.h>

#define CRABTREE_NAME_LEN	16	/* engine and layout names, NUL-terminated */
#define CRABTREE_LABEL_LEN	32	/* label, NUL-terminated */
#define CRABTREE_UUID_LEN	16

/* State of a device, crabtree_info.state */
enum crabtree_state {
	CRABTREE_STATE_UNFORMATTED	= 0,	/* no signature: FORMAT it */
	CRABTREE_STATE_READY		= 1,	/* served, writable */
	CRABTREE_STATE_READONLY		= 2,	/* served; writes get -EROFS */
	CRABTREE_STATE_REJECTED		= 3,	/* not a store to serve: see reason */
	CRABTREE_STATE_GONE		= 4,	/* the region was taken away */
};

/* Class of durability that a returned write has, crabtree_info.durability */
enum crabtree_durability {
	CRABTREE_DURABILITY_NONE	= 0,	/* volatile memory, or an engine without cleans */
	CRABTREE_DURABILITY_UNPROVEN	= 1,	/* read-only, and not cleanly detached before */
	CRABTREE_DURABILITY_POC		= 2,	/* cleaned to the point of coherency */
	CRABTREE_DURABILITY_POP		= 3,	/* cleaned to the point of persistence */
	CRABTREE_DURABILITY_PODP	= 4,	/* cleaned to the point of deep persistence */
	CRABTREE_DURABILITY_CACHE	= 5,	/* caches are persistent: fences only */
};

/* Media model that the layout needs, crabtree_info.model */
enum crabtree_model {
	CRABTREE_MODEL_NONE	= 0,
	CRABTREE_MODEL_WORD	= 1,	/* W: any subset of words not yet fenced */
	CRABTREE_MODEL_LINE	= 2,	/* L: stores to one line persist in order */
	CRABTREE_MODEL_CACHE	= 3,	/* E: caches persist, all stores of a CPU in order */
	CRABTREE_MODEL_WHOLE_LINE = 4,	/* A: L, and a line stored by one instruction is whole */
};

/* Whether the region leaves only states of the model after a power cut, crabtree_info.keeps */
enum crabtree_keeps {
	CRABTREE_KEEPS_UNKNOWN	= 0,	/* no store, or an older module */
	CRABTREE_KEEPS_YES	= 1,	/* by the architecture, or nothing survives at all */
	CRABTREE_KEEPS_UNPROVEN	= 2,	/* the architecture does not promise it */
};

#define CRABTREE_COUNTERS	8	/* counters of an engine in crabtree_info */
#define CRABTREE_OPTIONS_LEN	192	/* options of an engine as text, NUL-terminated */

/**
 * struct crabtree_counter - a counter that the engine names
 * @name: its name, NUL-terminated; empty: no more counters
 * @value: since attach
 */
struct crabtree_counter {
	char  name[CRABTREE_NAME_LEN];
	__u64 value;
};

/**
 * struct crabtree_info - INFO: state and statistics of a device and its store
 * @size: sizeof(struct crabtree_info)
 * @flags: 0
 * @state: enum crabtree_state
 * @durability: enum crabtree_durability
 * @model: enum crabtree_model
 * @version: version of the media format
 * @uuid: identity of the store
 * @label: its label
 * @engine: name of the engine
 * @layout: name of the leaf layout
 * @region: name of the region as its provider calls it; empty without CAP_SYS_ADMIN
 * @reason: cause of the state; empty when ready
 * @region_bytes: size of the region
 * @leaf_bytes: size of a leaf
 * @leaves: leaves in the region
 * @leaves_used: leaves that hold records, or the values of blobs and names
 * @leaves_bad: quarantined leaves: keys in their range get -EUCLEAN; and free leaves that are
 *	not used because their memory cannot be read
 * @records: live records
 * @capacity: records that the leaves could hold
 * @feature_compat: feature word
 * @feature_ro_compat: feature word
 * @feature_incompat: feature word: CRABTREE_INCOMPAT_*
 * @dram_bytes: memory held for descriptors and index
 * @attach_ns: duration of the last attach, in nanoseconds
 * @lines: cache lines cleaned by operations since attach
 * @fences: fences by operations since attach
 * @prepare_lines: cache lines cleaned off the write path since attach
 * @prepare_fences: fences off the write path since attach
 * @inserts: successful inserts of new keys since attach
 * @updates: successful replacements since attach
 * @deletes: successful deletes since attach
 * @searches: SEARCH, SEEK and GET, and the searches of batches and commits, since attach
 * @splits: leaves split since attach
 * @unlinks: leaves unlinked since attach: emptied, or merged with a neighbour
 * @repairs: slots that the last attach repaired after a power cut
 * @orders: stores kept in order by operations since attach
 * @lines_bound: cache lines that one operation cleans at most; 0: the engine cleans none
 * @counters: counters of the engine itself
 * @options: options of the engine that the store was attached with, as
 *	"name=value name=value"; empty if the layout has nothing to choose
 * @keeps: enum crabtree_keeps: whether the region keeps @model
 * @reserved: 0
 */
struct crabtree_info {
	__u32 size;
	__u32 flags;
	__u32 state;
	__u32 durability;
	__u32 model;
	__u32 version;
	__u8  uuid[CRABTREE_UUID_LEN];
	char  label[CRABTREE_LABEL_LEN];
	char  engine[CRABTREE_NAME_LEN];
	char  layout[CRABTREE_NAME_LEN];
	char  region[64];
	char  reason[128];
	__u64 region_bytes;
	__u64 leaf_bytes;
	__u64 leaves;
	__u64 leaves_used;
	__u64 leaves_bad;
	__u64 records;
	__u64 capacity;
	__u64 feature_compat;
	__u64 feature_ro_compat;
	__u64 feature_incompat;
	__u64 dram_bytes;
	__u64 attach_ns;
	__u64 lines;
	__u64 fences;
	__u64 prepare_lines;
	__u64 prepare_fences;
	__u64 inserts;
	__u64 updates;
	__u64 deletes;
	__u64 searches;
	__u64 splits;
	__u64 unlinks;
	__u64 repairs;
	__u64 orders;
	__u64 lines_bound;
	struct crabtree_counter counters[CRABTREE_COUNTERS];
	char  options[CRABTREE_OPTIONS_LEN];
	__u32 keeps;
	__u32 reserved;
};

#define CRABTREE_FORMAT_FORCE	(1U << 0)	/* over a live or a foreign signature */
#define CRABTREE_FORMAT_BLOBS	(1U << 1)	/* a store of blobs: PUT, GET, ERASE, LIST */
#define CRABTREE_FORMAT_COMMITS	(1U << 2)	/* of commits: CRABTREE_BATCH_ATOMIC, or COMMIT */
#define CRABTREE_FORMAT_NAMES	(1U << 3)	/* a store of names: values with names as keys */
#define CRABTREE_FORMAT_UNFINISHED (1U << 4)	/* it is no store before FORMAT with FINISH */
#define CRABTREE_FORMAT_FINISH	(1U << 5)	/* finish it; nothing else is set */
#define CRABTREE_INCOMPAT_BLOBS	(1U << 0)	/* of crabtree_info: it is a store of blobs */
#define CRABTREE_INCOMPAT_COMMITS (1U << 1)	/* of crabtree_info: it is a store of commits */
#define CRABTREE_INCOMPAT_NAMES	(1U << 2)	/* of crabtree_info, with BLOBS: a store of names */

/**
 * struct crabtree_format - FORMAT: make an empty store; CAP_SYS_ADMIN
 * @size: sizeof(struct crabtree_format)
 * @flags: CRABTREE_FORMAT_*
 * @leaf_bytes: power of two, 64 to 8192, as the layout has it; 0: its default, which can depend on
 *	the size of the region
 * @reserved: 0
 * @engine: name; empty: "crab"
 * @layout: name; empty: the default layout of the engine
 * @label: NUL-terminated; -EINVAL if it has a '/' or a control character
 * @uuid: identity; all zero: a random one
 *
 * -EEXIST if the region holds a store or a foreign signature and
 * CRABTREE_FORMAT_FORCE is not set; -EBUSY while others hold the device open.
 *
 * UNFINISHED: only this descriptor can use the store. It can be filled, and its changes are on the
 * media, but a power cut, or the end of the descriptor, leaves no store: the region is unformatted,
 * and was overwritten. FINISH makes it a store, durable on return; -ENODATA if there is none that
 * is unfinished.
 */
struct crabtree_format {
	__u32 size;
	__u32 flags;
	__u32 leaf_bytes;
	__u32 reserved;
	char  engine[CRABTREE_NAME_LEN];
	char  layout[CRABTREE_NAME_LEN];
	char  label[CRABTREE_LABEL_LEN];
	__u8  uuid[CRABTREE_UUID_LEN];
};

/**
 * struct crabtree_check - CHECK: verify every invariant of the store
 * @size: sizeof(struct crabtree_check)
 * @flags: 0
 * @leaves: out: leaves read
 * @records: out: live records found
 * @errors: out: broken invariants; 0 means sound
 * @first_offset: out: if @errors, offset in the region of the first
 * @first: out: if @errors, description of the first
 */
struct crabtree_check {
	__u32 size;
	__u32 flags;
	__u64 leaves;
	__u64 records;
	__u64 errors;
	__u64 first_offset;
	char  first[96];
};

#endif /* _UAPI_LINUX_CRABTREE_STORE_H */

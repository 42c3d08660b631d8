/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the interface of an engine: one const table of operations, chosen at
 * FORMAT by name and found at attach by the id in the superblock. The store calls them. No
 * engine includes another; the parts that engines share are in shared/.
 *
 * Layer L4: it includes media/ and shared/; store/, device/, main.c and engines include it.
 *
 * Locking: the engine's own. lookup, seek, scan, scan_back, beyond, insert, remove, batch, check
 * and stats run concurrently on any number of CPUs. maintain runs concurrently with all of them,
 * one call at a time. attach, format, repair, settle and detach have the region to themselves.
 */
#ifndef CRABTREE_ENGINE_H
#define CRABTREE_ENGINE_H

#include <linux/spinlock.h>

#include "media/model.h"
#include "media/persist.h"
#include "shared/geometry.h"
#include "damage.h"
#include "options.h"
#include "verb.h"

/**
 * struct crab_attach_how - conditions of an attach, which hold until detach; the engine copies them
 * @clean: the superblock has the state "clean": all that the media holds is durable
 * @readonly: no operation that writes to the media will be called
 * @root: the word that settle returned at the clean detach before this attach; else 0
 * @stop: how to end the attach early, and later check, seek and scan
 * @tuning: the engine's own structure of options; NULL: its defaults
 */
struct crab_attach_how {
	bool clean, readonly;
	u64 root;
	struct crab_stop stop;
	const void *tuning;
};

/**
 * struct crab_engine - an attached engine; the head of each engine's own structure
 * @ops: its operations
 * @media: the region
 * @geo: where its leaves are
 * @counts: counts of each CPU
 * @damage: damage found by attach; does not change afterwards
 * @found: damage found by operations; see crab_engine_damaged()
 * @clean: as of &struct crab_attach_how, and so are @root and @stop
 * @noting: serialises crab_engine_damaged(); innermost
 * @root: see @clean
 * @stop: see @clean
 * @tuning: values of its options in use; NULL if the layout has nothing to choose
 * @prepare_lines: lines cleaned by maintain; not on the cache line that all CPUs read
 * @prepare_fences: fences of maintain
 * @pool: lends runs of leaves; or NULL
 * @own: the operations of the engine itself; @ops differs if a layer above the engine guards it
 * @commits: of a store of commits, for its guard; else NULL
 */
struct crab_engine {
	const struct crab_engine_ops *ops;
	struct crab_media *media;
	struct crab_geometry geo;
	struct crab_counts __percpu *counts;
	struct crab_damage damage;
	bool clean;
	spinlock_t noting;
	u64 root;
	struct crab_stop stop;
	const void *tuning;
	u64 prepare_lines, prepare_fences;
	struct crab_damage found;
	struct crab_pool *pool;
	const struct crab_engine_ops *own;
	struct crab_commits *commits;
};

/**
 * crab_engine_is_stopped() - whether long work is to end early: by -EINTR
 * @engine: the engine
 * Context: process context.
 * Return: true if so.
 */
static inline bool crab_engine_is_stopped(const struct crab_engine *engine)
{
	return engine->stop.asked && engine->stop.asked(engine->stop.arg);
}

/**
 * crab_engine_init() - the head of an engine that is being attached, zeroed
 * @engine: the head
 * @ops: its operations
 * @media: the region
 * @geo: its leaves
 * @how: copied into the head
 * Context: may sleep.
 * Return: 0 or -ENOMEM; the caller calls crab_engine_exit() in either case.
 */
int crab_engine_init(struct crab_engine *engine, const struct crab_engine_ops *ops,
		     struct crab_media *media, const struct crab_geometry *geo,
		     const struct crab_attach_how *how);

/**
 * crab_engine_exit() - free the memory that crab_engine_init() allocated
 * @engine: the head
 * Context: may sleep; no other call runs.
 */
void crab_engine_exit(struct crab_engine *engine);

/**
 * struct crab_engine_stats - state of an engine
 * @leaves_used: leaves that hold records; in crab_store_info also those that hold values
 * @leaves_bad: quarantined leaves, and free leaves whose memory cannot be read
 * @records: live records; in crab_store_info of a read-only store as a list in force leaves them
 * @capacity: records that all leaves together could hold
 * @dram_bytes: memory of descriptors and index
 * @splits: splits since attach
 * @unlinks: unlinked leaves since attach, including merged ones
 * @repairs: slots that attach repaired
 * @lines_bound: lines that one operation cleans at most; 0: not known
 */
struct crab_engine_stats {
	u64 leaves_used, leaves_bad, records, capacity, dram_bytes;
	u64 splits, unlinks;
	u64 repairs, lines_bound;
};

/**
 * struct crab_engine_ops - an engine
 * @name: its name at FORMAT
 * @id: its id in the superblock; never reused
 * @layouts: its leaf layouts, ended by a NULL name; the first is the default
 * @flags: CRAB_ENGINE_*
 * @counters: names of its own counters, at most CRAB_OWN_COUNTERS, ended by NULL; or NULL
 * @options: its options, ended by a NULL name; or NULL
 * @tuning: its structure of options, with the values that are used by default
 * @format: write an empty body, if there is one, durable on return (P2). The superblocks are void
 * @attach: read the media; writes nothing. Damage is noted in @damage of the returned engine.
 *	ERR_PTR(-ENOMEM), or ERR_PTR(-EINTR) if it was stopped. The engine knows all conditions
 *	from @how: the store sets no field of it afterwards
 * @repair: make durable all that attach read (P4), and repair the traces of a power cut; cleaned
 *	on return, durable with the superblock (P3). Called once, only without damage and
 *	only when writable. 0, or -EINTR: the next attach repeats it. Or NULL
 * @settle: the last call before a clean detach writes the superblock with the state "clean". May
 *	write to the media; all that it wrote is durable on return, because the superblock names
 *	@root. The next attach receives @root in its &struct crab_attach_how, unless a writer was
 *	attached in between. After an error the root is 0, and the detach is clean. Or NULL
 * @detach: free all memory; writes no media
 * @lookup: find the value of a key, or -ENOENT
 * @seek: find the nearest record in a direction, or -ENOENT; -EINTR if it was stopped
 * @scan: read the records in [@start, @end] in ascending order, at most @cap. Returns their
 *	number: 0 only at the end of the range; -EINTR: stopped before the first one. Ends before a
 *	quarantined leaf; the next call, which begins there, returns -EUCLEAN
 * @scan_back: as @scan, in descending order from @end. Or NULL: the store seeks each record
 * @beyond: the key after the first quarantined range from @key on, or the reserved key
 * @insert: durable on return. -ENOSPC, -EINTR, -EEXIST, -ENOENT, -ESTALE: nothing stored. The old
 *	record is read and replaced under one lock, which is held until the new one is durable
 * @remove: durable on return, or -ENOENT; -EINTR as @insert
 * @batch: several of lookup, insert and remove; those of one key in their order; all durable on
 *	return, with fewer fences. Not atomic: a power cut leaves each key in any of its states.
 *	Or NULL: the store calls them one by one
 * @takes: leaves that each of the next @writes writes may take; a commit reckons with two at least.
 *	-ENOSPC: one of them could fail for want of other space. No write runs. Or NULL
 * @quarantine: the bytes [@from, @to) cannot be accessed any more: quarantine the leaves there.
 *	Returns their number. Writes that found the store writable may follow. NULL: it has no media
 * @check: read the media again and verify every invariant; -EINTR if it was stopped
 * @stats: fill in the statistics
 * @maintain: do one bounded piece of work off the write path; true if more is due. Or NULL
 * @wants: whether maintain is due. Any context, takes no lock. Or NULL
 *
 * The engine counts inserts, deletes and updates itself (counts.h). It sets crab_flow.settled
 * only after a write that it counted and that leaves no work due; the store counts others.
 * Any operation returns -EUCLEAN if the range of the key is quarantined.
 */
struct crab_engine_ops {
	const char *name;
	u16 id;
	u32 flags;
	const char * const *counters;
	const struct crab_option *options;
	void *tuning;
	const struct crab_layout *layouts;

	int (*format)(struct crab_flow *flow, const struct crab_geometry *geo);
	struct crab_engine *(*attach)(struct crab_media *media, const struct crab_geometry *geo,
				      const struct crab_attach_how *how);
	int (*repair)(struct crab_engine *engine, struct crab_flow *flow);
	int (*settle)(struct crab_engine *engine, struct crab_flow *flow, u64 *root);
	void (*detach)(struct crab_engine *engine);

	int (*lookup)(struct crab_engine *engine, u64 key, u64 *value);
	int (*seek)(struct crab_engine *engine, u64 key, enum crab_seek_dir dir,
		    struct crab_record *record);
	int (*scan)(struct crab_engine *engine, u64 start, u64 end,
		    struct crab_record *records, u32 cap);
	int (*scan_back)(struct crab_engine *engine, u64 start, u64 end,
			 struct crab_record *records, u32 cap);
	u64 (*beyond)(struct crab_engine *engine, u64 key, enum crab_seek_dir dir);
	int (*insert)(struct crab_engine *engine, struct crab_flow *flow, u64 key, u64 value,
		      enum crab_insert_mode mode, struct crab_old *old);
	int (*remove)(struct crab_engine *engine, struct crab_flow *flow, u64 key,
		      struct crab_old *old);
	void (*batch)(struct crab_engine *engine, struct crab_flow *flow,
		      struct crab_batch_op *ops, u32 n);
	int (*takes)(struct crab_engine *engine, u32 writes);

	u64 (*quarantine)(struct crab_engine *engine, u64 from, u64 to);
	int (*check)(struct crab_engine *engine, struct crab_check_report *report);
	void (*stats)(struct crab_engine *engine, struct crab_engine_stats *stats);
	bool (*maintain)(struct crab_engine *engine);
	bool (*wants)(struct crab_engine *engine);
};

#define CRAB_ENGINE_VOLATILE	(1U << 0)	/* content does not outlive its attach */

/**
 * struct crab_layout - a leaf layout of an engine
 * @name: its name at FORMAT
 * @id: its id in the superblock; never reused
 * @needs: the media model under which its promise holds
 * @swaps: its writes need crab_cas_pair()
 * @leaf_min: smallest size of a leaf, a power of two
 * @leaf_max: largest size of a leaf
 * @leaf_default: size of a leaf where FORMAT is not asked for one
 * @leaf_large: ... in a region of CRAB_LARGE_REGION or more; 0: @leaf_default
 * @records: records that a leaf of this size holds
 * @before_pool: bytes of the engine from CRAB_AREA_OFFSET to a pool of so many such leaves; or NULL
 */
struct crab_layout {
	const char *name;
	u16 id;
	enum crab_model needs;
	bool swaps;
	u32 leaf_min, leaf_max, leaf_default, leaf_large;
	u32 (*records)(u32 leaf_bytes);
	u64 (*before_pool)(u64 leaves, u32 leaf_bytes);
};

extern const struct crab_engine_ops crab_engine_crab, crab_engine_volatile, crab_engine_nvtree,
	crab_engine_fastfair, crab_engine_clfb, crab_engine_nbtree, crab_engine_toy;
extern const struct crab_engine_ops * const crab_engines[];	/* the table, ended by NULL */

/**
 * crab_engine_by_name() - find an engine
 * @name: as in FORMAT; empty: the default engine
 * Context: any.
 * Return: the engine, or NULL.
 */
const struct crab_engine_ops *crab_engine_by_name(const char *name);

/**
 * crab_engine_by_id() - find an engine
 * @id: as in the superblock
 * Context: any.
 * Return: the engine, or NULL.
 */
const struct crab_engine_ops *crab_engine_by_id(u16 id);

/**
 * crab_layout_by_name() - find a layout of an engine
 * @ops: the engine
 * @name: as in FORMAT; empty: its default
 * Context: any.
 * Return: the layout, or NULL.
 */
const struct crab_layout *crab_layout_by_name(const struct crab_engine_ops *ops, const char *name);

/**
 * crab_layout_by_id() - find a layout of an engine
 * @ops: the engine
 * @id: as in the superblock
 * Context: any.
 * Return: the layout, or NULL.
 */
const struct crab_layout *crab_layout_by_id(const struct crab_engine_ops *ops, u16 id);

/**
 * crab_engine_damaged() - an operation found an invariant of the media broken
 * @engine: the engine
 * @offset: where on the media
 * @fmt: description
 * Keeps the first. The store looks for damage after a write whose flow is not settled, a batch,
 * maintain, and a read that returns -EUCLEAN; and turns read-only.
 * Context: any but interrupts; takes crab_engine.noting.
 * Return: -EUCLEAN.
 */
__printf(3, 4)
int crab_engine_damaged(struct crab_engine *engine, u64 offset, const char *fmt, ...);

/**
 * crab_engine_is_damaged() - whether crab_engine.found holds a description
 * @engine: the engine
 * Context: any.
 * Return: true if so.
 */
static inline bool crab_engine_is_damaged(const struct crab_engine *engine)
{
	return crab_damage_is_published(&engine->found);
}

#endif /* CRABTREE_ENGINE_H */

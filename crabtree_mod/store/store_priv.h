/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the inside of a store, for the files of this folder and for tests.
 */
#ifndef CRABTREE_STORE_PRIV_H
#define CRABTREE_STORE_PRIV_H

#include <linux/mutex.h>

#include "store.h"

struct crab_blobs;
struct crab_commits;
struct crab_gate;

/**
 * struct crab_store - one attached store
 * @media: the region
 * @engine: the attached engine
 * @super: superblock; written by attach and detach, and by FINISH under @lock
 * @grown: leaves that this attach adds to the pool
 * @options: options of the attach
 * @gate: allocated for the first watch or snapshot, then kept until detach; or NULL
 * @lock: protects @reason, and changes of @readonly, @gated and @aside; @super from FINISH
 * @readonly: writes return -EROFS; never cleared. A write that runs may still end
 * @gated: writes pass @gate
 * @aside: @readonly or @gated: the one word that a write tests
 * @unfinished: no superblock on the media names the store; crab_store_finish() clears it
 * @reason: why @readonly is set; written before it
 * @durability: class of durability that a returned write has
 * @attach_ns: duration of the attach
 * @bad_added: additions to the list of bad memory that this store knows; written by attach, and by
 *	crab_store_catch_up()
 * @blobs: the blobs, of a store of blobs; else NULL
 * @commits: the commits, of a store of commits; else NULL
 */
struct crab_store {
	struct crab_media *media;
	struct crab_engine *engine;
	struct crab_super super;
	u64 grown;
	struct crab_attach_options options;
	struct crab_gate *gate;
	struct mutex lock;
	bool readonly;
	bool gated;
	bool aside;
	bool unfinished;
	char reason[CRAB_REASON_LEN];
	enum crab_durability durability;
	u64 attach_ns;
	u32 bad_added;
	struct crab_blobs *blobs;
	struct crab_commits *commits;
};

/**
 * crab_store_geometry() - the geometry that a superblock describes
 * @super: the superblock
 * @geo: out
 * Context: any.
 */
void crab_store_geometry(const struct crab_super *super, struct crab_geometry *geo);

/**
 * crab_store_fits() - whether a layout can serve a superblock's geometry
 * @super: the superblock
 * @layout: its layout
 *
 * The superblock's own checks do not know the layout: its bounds of leaf sizes, and the bytes
 * that its engine needs before the pool.
 *
 * Context: any.
 * Return: NULL, or the name of the impossible field.
 */
const char *crab_store_fits(const struct crab_super *super, const struct crab_layout *layout);

/**
 * crab_store_keeps() - whether a media and this CPU are good enough for a layout
 * @media: the media
 * @layout: the layout
 * @reason: out, on error: CRAB_REASON_LEN bytes
 * Context: any.
 * Return: 0, or -EOPNOTSUPP: a power cut could leave states that the layout does not expect, or the
 * CPU has no crab_cas_pair().
 */
int crab_store_keeps(const struct crab_media *media, const struct crab_layout *layout,
		     char *reason);

/**
 * crab_store_plan_growth() - extend the geometry of a store to its region, in DRAM
 * @store: its superblock was read; a store that may be written
 * @layout: its layout
 *
 * The pool grows as far as the region, and the engine's area before the pool, permit.
 *
 * Context: any; before the engine is attached.
 */
void crab_store_plan_growth(struct crab_store *store, const struct crab_layout *layout);

/**
 * crab_store_grow() - write the geometry that crab_store_plan_growth() made, durable on return
 * @store: the store
 * @flow: the caller's flow
 * Context: pinned; before the engine allocates a leaf. If the store does not grow, nothing is done.
 */
void crab_store_grow(struct crab_store *store, struct crab_flow *flow);

/**
 * crab_store_set_readonly() - turn a store read-only
 * @store: the store
 * @reason: why
 * Context: may sleep; takes crab_store.lock.
 */
void crab_store_set_readonly(struct crab_store *store, const char *reason);

/**
 * crab_store_set_gated() - switch the gate of a store
 * @store: the store; its gate is allocated
 * @gated: whether writes that begin after this call pass the gate
 * Context: may sleep; takes crab_store.lock.
 */
void crab_store_set_gated(struct crab_store *store, bool gated);

/**
 * crab_store_is_gated() - whether writes that begin pass the gate
 * @store: the store
 * Context: any.
 * Return: true if so.
 */
static inline bool crab_store_is_gated(const struct crab_store *store)
{
	/* Pairs with smp_store_release() in crab_store_set_gated() */
	return smp_load_acquire(&store->gated);
}

/**
 * crab_store_damaged() - report damage and turn the store read-only
 * @store: the store
 * @damage: a complete description
 * Context: may sleep; takes crab_store.lock.
 */
void crab_store_damaged(struct crab_store *store, const struct crab_damage *damage);

/**
 * crab_store_look() - turn the store read-only if an operation found damage
 * @store: the store
 * Context: may sleep; takes crab_store.lock.
 */
void crab_store_look(struct crab_store *store);

/**
 * crab_store_read_end() - end a read, which may have found damage
 * @store: the store
 * @err: the result of the engine
 * Context: may sleep; takes crab_store.lock.
 * Return: @err.
 */
static inline int crab_store_read_end(struct crab_store *store, int err)
{
	if (unlikely(err == -EUCLEAN))
		crab_store_look(store);
	return err;
}

/* The result of the engine: a key that is @listed has a record, unless the media has changed */
static inline int crab_store_listed(bool listed, int err)
{
	return listed && err == -ENOENT ? -EUCLEAN : err;
}

/**
 * crab_store_lookup_twice() - look up a value that decides, or that is kept
 * @engine: of the store
 * @ops: the verbs
 * @key: the key
 * @value: out: the value of two lookups; if they differ, that of a third
 *
 * Failing memory may return a word otherwise once.
 *
 * Context: may sleep; no write changes the key meanwhile.
 * Return: as crab_engine_ops.lookup.
 */
int crab_store_lookup_twice(struct crab_engine *engine, const struct crab_engine_ops *ops, u64 key,
			    u64 *value);

/**
 * crab_store_pause() - after keys that a read leaves out: there may be millions of them
 * @store: the store
 * Context: may sleep.
 * Return: 0, or -EINTR if the read is to end.
 */
int crab_store_pause(const struct crab_store *store);

/**
 * crab_store_settle() - end a batch, or a write whose flow is not settled
 * @store: the store
 * @flow: of the write
 * Context: may sleep; takes crab_store.lock.
 */
void crab_store_settle(struct crab_store *store, struct crab_flow *flow);

/**
 * crab_cursor_scan() - crab_cursor_read() by other verbs of the engine than those of the store
 * @engine: of the store
 * @ops: the verbs
 * @cursor: the scan
 * @records: out
 * @cap: room for records
 * Context: may sleep.
 * Return: as crab_cursor_read().
 */
int crab_cursor_scan(struct crab_engine *engine, const struct crab_engine_ops *ops,
		     struct crab_cursor *cursor, struct crab_record *records, u32 cap);

/**
 * crab_cursor_scan_twice() - crab_cursor_scan() by two scans; if they differ, a third decides
 * @engine: of the store
 * @ops: the verbs
 * @cursor: the scan
 * @records: out
 * @cap: room for records
 *
 * For records on which more depends than the result of a read: failing memory may return a word
 * otherwise once.
 *
 * Context: may sleep.
 * Return: as crab_cursor_read().
 */
int crab_cursor_scan_twice(struct crab_engine *engine, const struct crab_engine_ops *ops,
			   struct crab_cursor *cursor, struct crab_record *records, u32 cap);

/**
 * crab_store_kick() - call the owner's kick if the engine has work off the write path
 * @store: the store
 * Context: any.
 */
void crab_store_kick(struct crab_store *store);

#endif /* CRABTREE_STORE_PRIV_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the superblock: identity, geometry and state of a store.
 *
 * Layer L3: it includes media/ only; engines/, store/ and tests include it.
 *
 * Locking: the caller owns the superblocks; attach, detach and FORMAT do.
 */
#ifndef CRABTREE_SUPER_H
#define CRABTREE_SUPER_H

#include "media/persist.h"

#define CRAB_REASON_LEN	128

/* Result of reading the superblocks of a region */
enum crab_verdict {
	CRAB_VERDICT_GOOD,	/* a store that this code can serve */
	CRAB_VERDICT_RO,	/* a store that this code can only read */
	CRAB_VERDICT_BLANK,	/* no data to lose: zeros or an unfinished FORMAT */
	CRAB_VERDICT_FOREIGN,	/* other data */
	CRAB_VERDICT_DAMAGED,	/* our signature, but no valid copy */
	CRAB_VERDICT_NEWER,	/* a format or a feature that this code does not know */
	CRAB_VERDICT_MISFIT,	/* a store for a larger region, or for one that keeps a model */
};

/**
 * struct crab_super - the superblock in use, in the CPU's byte order
 * @copy: number of the copy that was read; the next update writes the other one
 * @sequence: sequence of that copy
 * @unwritten: both copies are as FORMAT wrote them: no writer has attached the store
 * @version: version of the media format
 * @feature_compat: unknown bits forbid nothing
 * @feature_ro_compat: unknown bits forbid writing
 * @feature_incompat: unknown bits forbid reading
 * @uuid: identity of the store
 * @label: NUL-terminated
 * @engine: id in the engine table
 * @layout: id of the engine's leaf layout
 * @leaf_bytes: size of a leaf, a power of two
 * @region_bytes: size of the region at FORMAT, or when the store grew last
 * @pool_offset: offset of leaf 0
 * @leaves: leaves in the pool
 * @state: CRAB_SUPER_STATE_*; "attached" if this copy alone is valid
 * @store_id: random, in the header of every leaf since this FORMAT
 * @formatted_at: seconds since 1970
 * @engine_root: word that the engine returned at a clean detach; 0 in a store that is attached
 */
struct crab_super {
	u32 copy;
	u64 sequence;
	bool unwritten;
	u32 version;
	u64 feature_compat;
	u64 feature_ro_compat;
	u64 feature_incompat;
	u8 uuid[CRAB_UUID_LEN];
	char label[CRAB_LABEL_LEN];
	u16 engine;
	u16 layout;
	u32 leaf_bytes;
	u64 region_bytes;
	u64 pool_offset;
	u64 leaves;
	u32 state;
	u32 store_id;
	u64 formatted_at;
	u64 engine_root;
};

/**
 * crab_super_read() - find the superblock of a region; writes nothing
 * @media: the region
 * @super: out: the copy in use, where the verdict is GOOD or RO
 * @reason: out: CRAB_REASON_LEN bytes: the defect and its place; empty when GOOD
 *
 * A torn copy is ignored silently if the other one is valid: a power cut during an update
 * leaves such a copy.
 *
 * Context: may sleep; the caller owns the region.
 * Return: the verdict.
 */
enum crab_verdict crab_super_read(const struct crab_media *media, struct crab_super *super,
				  char *reason);

/**
 * crab_super_clear() - make both copies void, durable on return (P1)
 * @flow: the caller's flow
 * Context: pinned; the caller owns the superblocks.
 */
void crab_super_clear(struct crab_flow *flow);

/**
 * crab_super_flush() - make both copies and the engine's head durable as they were read (P4)
 * @flow: the caller's flow; all that it cleaned before is durable as well
 * Context: pinned; the caller owns the superblocks.
 */
void crab_super_flush(struct crab_flow *flow);

/**
 * crab_super_write() - write the copy that is not in use, durable on return (P3)
 * @flow: the caller's flow
 * @super: the content; @copy and @sequence are advanced
 * Context: pinned; the caller owns the superblocks.
 */
void crab_super_write(struct crab_flow *flow, struct crab_super *super);

/**
 * crab_super_geometry() - number of leaves that a region holds
 * @region_bytes: size of the region, without the engine's area beyond CRAB_POOL_OFFSET
 * @leaf_bytes: size of a leaf
 *
 * Context: any.
 * Return: leaves, or 0 if the size is not allowed or the region is too small.
 */
u64 crab_super_geometry(u64 region_bytes, u32 leaf_bytes);

#endif /* CRABTREE_SUPER_H */

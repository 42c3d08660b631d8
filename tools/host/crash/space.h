/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares state spaces: the geometry of a small store and the operations that the
 * explorer performs on it until no new state appears.
 */
#ifndef CRAB_HOST_SPACE_H
#define CRAB_HOST_SPACE_H

#include "engines/crab/sorted/tuning.h"
#include "engines/engine.h"
#include "engines/fastfair/tuning.h"
#include "engines/nvtree/tuning.h"

struct host_driver;

enum space_tier {
	SPACE_QUICK,		/* `make check`: where a table names no other */
	SPACE_TINY,		/* `make check`, with sanitizers as well */
	SPACE_LONG,		/* `make crash`: larger than a quick one of the same kind */
	SPACE_FULL,		/* `make crash-full` */
};

/**
 * struct space - one state space
 * @name: first word of its reproducers
 * @driver: engine
 * @layout: of the engine
 * @tuning: options of each attach, of the engine `crab`
 * @nv: those of the engine `nvtree`
 * @leaf_bytes: 128 or 256
 * @slots: records in a leaf, at most as many as fit
 * @leaves: of the pool
 * @keys: number of keys
 * @specials: puts also store the values that host_driver.special returns
 * @modify: operations are compare-and-swaps and adds, too
 * @prepare: operations also follow the preparation of a leaf
 * @sparse: a delete is also followed by all maintenance, which merges or unlinks sparse leaves
 * @format: FORMAT is an operation, too
 * @survive: at each crash point the kernel also stops while the caches survive
 * @batch: records of one batch at most; from 2 on, each sequence of so many records is
 *	performed from every state that an attach leaves
 * @lives: operations of one life at most; from 2 on, each sequence of so many is performed one after
 *	the other from every state that an attach leaves, and only the last one is cut. Without batches
 * @ranges: every range of keys is also removed, by batches of two records
 * @blobs: values are blobs (blobs.h). Without @specials, @modify and @batch; without @commits also
 *	without @lives
 * @names: as @blobs, which is set as well; keys are those of names
 * @commits: keys that a commit writes, all keys or one less; 0: the store has no commits. Without
 *	@specials, @modify and @batch
 * @tier: the command that explores the space
 */
struct space {
	const char *name;
	const struct host_driver *driver;
	const char *layout;
	union {
		struct crab_tuning tuning;
		struct nv_tuning nv;
		struct ff_tuning ff;
	};
	u32 leaf_bytes;
	u32 slots;
	u32 leaves;
	u32 keys;
	bool specials;
	bool modify;
	bool prepare;
	bool sparse;
	bool format;
	bool survive;
	u32 batch;
	u32 lives;
	bool ranges;
	bool blobs;
	bool names;
	u32 commits;
	enum space_tier tier;
};

/**
 * space_next() - iterate over the spaces of all engines
 * @space: the previous one; NULL: begin
 *
 * Return: the next space, or NULL after the last one.
 */
const struct space *space_next(const struct space *space);

#define for_each_space(space)	\
	for ((space) = space_next(NULL); (space); (space) = space_next(space))

/**
 * space_by_name() - find a space
 * @name: its name
 *
 * Return: the space, or NULL.
 */
const struct space *space_by_name(const char *name);

#endif /* CRAB_HOST_SPACE_H */

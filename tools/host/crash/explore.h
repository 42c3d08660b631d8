/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the explorer: breadth first over all states in which a small store can be at
 * rest, until no new state appears.
 *
 * From each state it performs runs: an attach, then one operation, each cut at every store and
 * fence. A power cut leads to a state again. If the space has batches, the explorer also performs
 * each batch from every state that an attach leaves, with its records in flight together.
 */
#ifndef CRAB_HOST_EXPLORE_H
#define CRAB_HOST_EXPLORE_H

#include "state.h"
#include "tests/points.h"

#define EXPLORE_SAID	1024
#define EXPLORE_RUN	4	/* operations of one run: more than one are a batch, or a life */

enum explore_verb {
	EXPLORE_ATTACH,		/* the attach of every run, alone */
	EXPLORE_PUT,
	EXPLORE_PUT_SPECIAL,	/* the value is host_driver.special of the key */
	EXPLORE_PUT_SPARE,	/* the value is special to the leaf that was just prepared */
	EXPLORE_SWAP,		/* expects the other value */
	EXPLORE_ADD,		/* to the value, from the content before the run; alone */
	EXPLORE_DELETE,
	EXPLORE_DELETE_RANGE,	/* of the keys from number @key to number @value */
	EXPLORE_THIN,		/* a delete, then all maintenance, which is cut */
	EXPLORE_PREPARE,
	EXPLORE_DETACH,
	EXPLORE_FORMAT,
	EXPLORE_COMMIT,		/* of the list with number @key, on condition @value: commits.h */
	EXPLORE_VERBS
};

struct explore_op {
	u8 verb;
	u8 key;			/* number */
	u8 value;		/* number, of a value unless the verb has another one */
	bool prepared;		/* a leaf is prepared first */
};

struct explore_counts {
	u64 states;
	u64 stable;		/* of these: an attach does not change them */
	u64 ops;
	u64 points;		/* crash points */
	u64 same;		/* of these: recovery reads no word that the event changed */
	u64 images;
	u64 recoveries;		/* attaches of an image */
	u64 repairs;
	u64 full;		/* operations that returned -ENOSPC */
	u64 splits;
	u64 unlinks;
	u64 violations;
};

struct explore_node {
	struct state state;
	u32 parent;		/* the state from which it was found first ... */
	struct explore_op run[EXPLORE_RUN];	/* ... by this run */
	u32 run_n;
	bool settled;		/* an attach left it */
	bool batched;		/* its batches are explored */
	bool changed;		/* an attach changes it */
};

/**
 * struct explore - one exploration
 * @space: the state space
 * @media: the region
 * @shadow: of the region
 * @oracle: knows @keys; its faults go to @said
 * @keys: the keys of the space
 * @geo: where the leaves are
 * @super: a superblock of the store
 * @pristine: the media after its FORMAT
 * @node: all states, in the order in which they were found
 * @nodes: number of states
 * @room: for how many
 * @table: by hash, a state's number plus one
 * @mask: of the hash
 * @explored: number of states that are explored
 * @at: the state that is being explored
 * @run: operations of the current run
 * @run_n: number of operations
 * @ops: the operations on records, as calls of the store
 * @changes: those that succeeded
 * @changed: number of changes
 * @allowed: the contents that an image may have
 * @blank: an image may have no store at all
 * @settling: an attach left the states that are found now
 * @is_blank: no superblock of the state holds
 * @content: of the state
 * @before: before the last operation of a life; otherwise @content
 * @spare_special: the value that is special to the leaf that was prepared last
 * @points: the crash points of the current run
 * @point: number of the point at which a fault was found, from 1; 0: none
 * @events: stores and fences of the run at that time
 * @fencing: the cut was before a fence, not after a store
 * @replayed: the point that a reproducer names, or 0
 * @script: the choices in the reproducer: of the operation, and of recovery
 * @counts: so far
 * @plain: no shortcuts: every image of every point, each judged whole
 * @limit: states at most; then the space is not closed
 * @closed: no new state appeared
 * @said: the first violation, and its reproducer
 */
struct explore {
	const struct space *space;
	struct crab_media media;
	struct crab_shadow *shadow;
	struct crab_oracle oracle;
	u64 keys[STATE_KEYS];
	struct crab_geometry geo;
	struct crab_dsuper super;
	struct crab_shadow_image *pristine;
	struct explore_node *node;
	u32 nodes;
	u32 room;
	u32 *table;
	u32 mask;
	u32 explored;
	u32 at;
	struct explore_op run[EXPLORE_RUN];
	u32 run_n;
	struct crab_batch_op ops[EXPLORE_RUN];
	struct crab_oracle_change changes[STATE_KEYS];
	u32 changed;
	struct crab_oracle_allowed allowed;
	bool blank;
	bool settling;
	bool is_blank;
	struct content content;
	struct content before;
	u64 spare_special;
	struct crab_crash_points *points;
	u32 point;
	u32 events;
	bool fencing;
	u32 replayed;
	struct crab_shadow_path script[2];
	struct explore_counts counts;
	bool plain;
	u32 limit;
	bool closed;
	char said[EXPLORE_SAID];
};

/**
 * explore_begin() - format the store of a space
 * @explore: the exploration
 * @space: the space
 *
 * Return: false with @explore->said; explore_end() in either case.
 */
bool explore_begin(struct explore *explore, const struct space *space);

/**
 * explore_end() - free an exploration
 * @explore: the exploration
 */
void explore_end(struct explore *explore);

/**
 * explore_history() - the shortest way to the state in which a fault was found
 * @explore: after explore_run()
 * @to: out: from an empty store, the operations, each after an attach, each whole or cut
 * @size: of @to
 */
void explore_history(const struct explore *explore, char *to, size_t size);

/**
 * explore_digest() - one number for the set of states that were found
 * @explore: after explore_run()
 *
 * Return: the number.
 */
u64 explore_digest(const struct explore *explore);

/**
 * explore_run() - explore to the end, or up to @explore->limit states
 * @explore: after explore_begin()
 *
 * Return: false if a violation was found.
 */
bool explore_run(struct explore *explore);

/**
 * explore_replay() - repeat a violation
 * @explore: after explore_begin()
 * @said: begins with the reproducer
 *
 * Return: true if nothing is found.
 */
bool explore_replay(struct explore *explore, const char *said);

#endif /* CRAB_HOST_EXPLORE_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the explorer: breadth first over all states that a small
 * store can be in at rest, until no new one appears.
 *
 * From every state: attach, cut at every store and fence; then each operation,
 * each of them cut at every store and fence. What a cut leaves is a state again. Where the
 * space has batches: from every state that an attach leaves each of them too, its records
 * in flight together.
 */
#ifndef CRAB_HOST_EXPLORE_H
#define CRAB_HOST_EXPLORE_H

#include "state.h"

#define EXPLORE_SAID	1024
#define EXPLORE_POINTS	1024	/* moments in one operation */
#define EXPLORE_IN_LIFE	4	/* operations of one life: more than one are a batch */

enum explore_verb {
	EXPLORE_ATTACH,		/* nothing but the attach before every operation */
	EXPLORE_PUT,
	EXPLORE_PUT_SPECIAL,	/* the value is host_driver.special of the key */
	EXPLORE_PUT_SPARE,	/* the value is special to the leaf that was just prepared */
	EXPLORE_DELETE,
	EXPLORE_THIN,		/* a delete, and all the work off the write path behind it */
	EXPLORE_PREPARE,
	EXPLORE_DETACH,
	EXPLORE_FORMAT,
	EXPLORE_VERBS
};

struct explore_op {
	u8 verb;
	u8 key;			/* which one */
	u8 value;		/* which one */
	bool prepared;		/* a leaf is prepared first */
};

struct explore_counts {
	u64 states;
	u64 stable;		/* of these, what an attach leaves as it is */
	u64 ops;
	u64 points;		/* moments of a cut */
	u64 same;		/* of these: recovery reads nothing that the moment changed */
	u64 images;
	u64 recoveries;		/* attaches of an image */
	u64 repairs;
	u64 full;		/* operations that met -ENOSPC */
	u64 splits;
	u64 unlinks;
	u64 violations;
};

struct explore_node {
	struct state state;
	u32 parent;		/* where it was found first ... */
	struct explore_op life[EXPLORE_IN_LIFE];	/* ... in doing what */
	u32 life_n;
	bool settled;		/* what an attach left */
	bool batched;		/* its batches are explored */
	bool changed;		/* what an attach does not leave as it is */
};

struct explore_points;

/**
 * struct explore - one exploration
 * @space: of what
 * @media: the region
 * @shadow: its double
 * @geo: where the leaves are
 * @super: a superblock of the store
 * @pristine: the media after its FORMAT
 * @node: all states, in the order in which they were found
 * @nodes: how many
 * @room: for how many
 * @table: by hash, a state's number plus one
 * @mask: of the hash
 * @explored: how many of them are explored
 * @at: the state that is being explored
 * @life: operations of this life
 * @life_n: how many
 * @ops: those on records, as the store had them
 * @allowed: what an image may hold
 * @batch: or each key what its own operations lead through
 * @blank: or no store at all
 * @settling: what is found now is what an attach left
 * @is_blank: no superblock of the state holds
 * @content: of the state
 * @spare_special: the value that is special to the leaf that was prepared last
 * @points: where moments are kept
 * @moment: which one was cut when something was found; from 1; 0: none
 * @replayed: the one that is repeated, or 0
 * @script: what it chose: what the operation read, what recovery read
 * @counts: so far
 * @plain: no shortcut: every image of every moment, each judged to the end
 * @limit: states at most; then the space is not closed
 * @closed: no new state appeared
 * @said: the first violation, and how to repeat it
 */
struct explore {
	const struct space *space;
	struct crab_media media;
	struct crab_shadow *shadow;
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
	struct explore_op life[EXPLORE_IN_LIFE];
	u32 life_n;
	struct crab_batch_op ops[EXPLORE_IN_LIFE];
	const struct content *allowed[2];
	bool batch;
	bool blank;
	bool settling;
	bool is_blank;
	struct content content;
	u64 spare_special;
	struct explore_points *points;
	u32 moment;
	u32 replayed;
	struct crab_shadow_path script[2];
	struct explore_counts counts;
	bool plain;
	u32 limit;
	bool closed;
	char said[EXPLORE_SAID];
};

/** explore_begin() - format the store of a space; false where that fails */
bool explore_begin(struct explore *explore, const struct space *space);
void explore_end(struct explore *explore);

/**
 * explore_history() - how the state comes about in which something was found
 * @explore: after explore_run()
 * @to: the shortest way there from an empty store: operations, each with an attach
 *	before it, each whole or cut
 * @size: of @to
 */
void explore_history(const struct explore *explore, char *to, size_t size);

/** explore_add() - note a state; @is_new: it was not known */
void explore_add(struct explore *explore, const struct state *state, bool *is_new);

/** explore_digest() - one number for the set of states that were found */
u64 explore_digest(const struct explore *explore);

/** explore_run() - to the end, or to @limit states; false if anything was found */
bool explore_run(struct explore *explore);

/** explore_replay() - repeat what explore.said says; true if nothing is found */
bool explore_replay(struct explore *explore, const char *said);

#endif /* CRAB_HOST_EXPLORE_H */

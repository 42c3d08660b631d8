/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares states: what stands on a media at rest, as a few bytes that
 * are equal where no attach and no operation could tell the difference.
 *
 * DOC: canonical states
 *
 * What is left out, and why nothing hides there:
 *
 *   places      Leaves are numbered in the order of the list. The code knows places by
 *               their number only, and takes whichever is free.
 *   births      1, 2, ... in that order. Of a birth the code asks only whether a link was
 *               made for it, and makes the next one greater than all it sees.
 *   identity    Of the store, and the superblocks' sequences but for which is greater:
 *               compared for equality and order only.
 *   voids       One of its own for each leaf of the list. A value is compared with voids and
 *               with nothing else, so one that was a void once is the same as any other.
 *   free leaves An attach reads their headers, for the greatest birth. Their slots are
 *               written before anything links to them; of a sorted leaf only so far as
 *               its records reach, so there, and behind the end of a listed one, each key
 *               may be any that was ever stored, or none: crab_shadow_open() tries all.
 *
 * Everything else is kept as it stands: each slot of each leaf with half of a
 * record in it, least keys, the torn superblock. A word that is kept is read by
 * crab_load(), so that one that a cut left open is decided, each way, first.
 */
#ifndef CRAB_HOST_STATE_H
#define CRAB_HOST_STATE_H

#include "shadow/shadow.h"
#include "store/store.h"

#define STATE_KEYS	8
#define STATE_VALUES	2
#define STATE_LEAVES	12
#define STATE_SLOTS	13
#define STATE_BYTES	160
#define STATE_STALE	0xdeadULL	/* a value that nobody stored */

enum space_tier {
	SPACE_TINY,		/* `make check`, under sanitizers too */
	SPACE_QUICK,		/* `make crash`, and in `make check` */
	SPACE_FULL,		/* `make crash-full` */
};

/**
 * struct space - the geometry of a state space, and what is done in it
 * @name: for people and for reproducers
 * @layout: of the engine crab
 * @model: what a cut may leave
 * @tuning: how it is attached
 * @leaf_bytes: 128 or 256
 * @slots: records in a leaf, at most what fits
 * @leaves: of the pool
 * @keys: how many there are
 * @voids: values that are some leaf's void are stored too
 * @prepare: leaves are prepared too
 * @sparse: behind a delete sparse leaves are merged too
 * @format: FORMAT comes too, and cuts of it
 * @survive: at each moment the kernel stops, too, and the caches survive
 * @batch: records of one batch at most: from 2 on, each sequence of as many, from every
 *	state that an attach leaves
 * @tier: who explores it
 */
struct space {
	const char *name;
	const char *layout;
	enum crab_shadow_model model;
	struct crab_tuning tuning;
	u32 leaf_bytes;
	u32 slots;
	u32 leaves;
	u32 keys;
	bool voids;
	bool prepare;
	bool sparse;
	bool format;
	bool survive;
	u32 batch;
	enum space_tier tier;
};

/* All that are explored, ended by one without a name */
extern const struct space spaces[];

/** space_by_name() - one of them, or NULL */
const struct space *space_by_name(const char *name);

/* What a superblock copy is */
enum state_super {
	SUPER_CLEAN,
	SUPER_ATTACHED,
	SUPER_TORN,		/* its crc does not hold */
	SUPER_VOID,		/* FORMAT began: neither magic nor crc hold */
	SUPER_ASLEEP,		/* and only the magic is missing */
};

struct picture_leaf {
	u64 number;
	u64 low;
	u64 void_value;
	u32 slots;		/* that mean something */
	struct crab_record slot[STATE_SLOTS];
};

/* What stands on the media, as it is */
struct picture {
	enum state_super super[CRAB_SUPER_COPIES];
	u32 newest;
	bool blank;		/* no superblock holds */
	u32 leaves;
	struct picture_leaf leaf[STATE_LEAVES];
};

struct state {
	u32 len;
	u8 byte[STATE_BYTES];
};

/* What a store holds */
struct content {
	bool there[STATE_KEYS];
	u64 value[STATE_KEYS];
};

/* The keys of a space: the least one, and the greatest that there is */
static inline u64 state_key(const struct space *space, u32 i)
{
	return i + 1 < space->keys ? i : CRAB_KEY_EMPTY - 1;
}

/** state_key_index() - which key, or the number of keys */
u32 state_key_index(const struct space *space, u64 key);

static inline bool space_is_sorted(const struct space *space)
{
	return space->layout[1] == 'o';
}

/**
 * picture_read() - read the media, word by word; decides what is open
 * @picture: out
 * @space: whose
 * @geo: where the leaves are
 * @media: what is read
 * Return: NULL, or what is wrong.
 */
const char *picture_read(struct picture *picture, const struct space *space,
			 const struct crab_geometry *geo, const struct crab_media *media);

/** picture_content() - what it means: a second opinion, by the rules of format.rst */
const char *picture_content(const struct picture *picture, const struct space *space,
			    struct content *content);

/** picture_encode() - its canonical state; NULL, or what is wrong */
const char *picture_encode(const struct picture *picture, const struct space *space,
			   struct state *state);

/**
 * state_write() - make the media hold a state, durably
 * @state: the state
 * @space: whose
 * @geo: where the leaves are
 * @media: under a shadow
 * @super: a superblock of that store
 */
void state_write(const struct state *state, const struct space *space,
		 const struct crab_geometry *geo, struct crab_media *media,
		 const struct crab_dsuper *super);

/** state_void() - the void of leaf @i of the list in a media that was so written */
u64 state_void(u32 i);

#endif /* CRAB_HOST_STATE_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares canonical states: the content of a media at rest as a few bytes, which are
 * equal if no attach and no operation can distinguish two media. Two bytes encode the
 * superblocks; the engine's driver encodes the leaves and documents its omissions.
 *
 * A state omits the superblocks' sequences, except for which is higher, and the
 * identity of the store: the code compares them only for equality and order.
 */
#ifndef CRAB_HOST_STATE_H
#define CRAB_HOST_STATE_H

#include "host_driver.h"
#include "space.h"
#include "tests/oracle.h"

#define STATE_KEYS	8
#define STATE_VALUES	2
#define STATE_BYTES	160
#define STATE_STALE	0xdeadULL	/* a value that no operation stores */

/* State of a superblock copy */
enum state_super {
	SUPER_CLEAN,
	SUPER_ATTACHED,
	SUPER_TORN,		/* the crc is wrong */
	SUPER_VOID,		/* a FORMAT began: the magic and the crc are wrong */
	SUPER_ASLEEP,		/* a FORMAT began: only the magic is wrong */
};

struct state {
	u32 len;
	u8 byte[STATE_BYTES];
};

/* Content of a store */
struct content {
	struct crab_key_state key[STATE_KEYS];
};

/* blobs.c: the keys of the names of a space, ascending */
extern u64 blobs_name_key[STATE_KEYS];

/* The keys of a space: those of names; or the smallest ones, and the highest key that exists */
static inline u64 state_key(const struct space *space, u32 i)
{
	if (space->names)
		return blobs_name_key[i];
	return i + 1 < space->keys ? i : CRAB_KEY_EMPTY - 1;
}

/**
 * state_key_index() - number of a key
 * @space: its space
 * @key: the key
 *
 * Return: the number, or the number of keys if the space does not have this key.
 */
u32 state_key_index(const struct space *space, u64 key);

/**
 * state_add() - append a byte to a state
 * @state: the state, which has room
 * @byte: the byte
 */
static inline void state_add(struct state *state, u8 byte)
{
	state->byte[state->len++] = byte;
}

/**
 * content_add() - add a record that the media holds
 * @content: the content
 * @space: its space
 * @r: the record
 *
 * Return: NULL, or the fault in words.
 */
const char *content_add(struct content *content, const struct space *space,
			const struct crab_record *r);

/**
 * state_is_blank() - does no superblock of a state hold?
 * @state: the state
 *
 * Return: true if an attach finds no store.
 */
static inline bool state_is_blank(const struct state *state)
{
	return state->byte[0] > SUPER_ATTACHED && state->byte[1] > SUPER_ATTACHED;
}

/**
 * state_read() - encode the state of a media
 * @state: out
 * @content: out: its content, decoded by the driver
 * @space: the space
 * @geo: where the leaves are
 * @media: the media; each word that is read and open is decided
 *
 * Return: NULL, or the fault in words.
 */
const char *state_read(struct state *state, struct content *content, const struct space *space,
		       const struct crab_geometry *geo, const struct crab_media *media);

/**
 * state_root() - the engine root that an attach finds
 * @media: the media; each word that is read and open is decided
 *
 * Return: that of the copy that counts, if it is clean and both copies hold; else 0.
 */
u64 state_root(const struct crab_media *media);

/**
 * state_write() - make a media hold a state, durably
 * @state: the state
 * @space: its space
 * @geo: where the leaves are
 * @media: a media with a shadow
 * @super: a superblock of the same store
 */
void state_write(const struct state *state, const struct space *space,
		 const struct crab_geometry *geo, struct crab_media *media,
		 const struct crab_dsuper *super);

#endif /* CRAB_HOST_STATE_H */

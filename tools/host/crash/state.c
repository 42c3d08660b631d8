// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements states: it encodes the superblocks of a media and writes them back, and
 * leaves the leaves to the engine's driver.
 *
 * Invariant: a state that is written and read again is the same state.
 *
 * Locking: one thread.
 */
#include <linux/kernel.h>
#include <linux/math.h>
#include <linux/string.h>

#include "blobs.h"
#include "commits.h"
#include "media/crc.h"
#include "state.h"

#define SUPER_WORDS	(sizeof(struct crab_dsuper) / sizeof(__le64))
#define SUPER_SEQUENCE	1000

u32 state_key_index(const struct space *space, u64 key)
{
	u32 i;

	for (i = 0; i < space->keys && state_key(space, i) != key; i++)
		;
	return i;
}

const char *content_add(struct content *content, const struct space *space,
			const struct crab_record *r)
{
	u32 key = state_key_index(space, r->key);

	if (key == space->keys)
		return "a foreign key";
	if (content->key[key].there)
		return "a key twice";
	content->key[key] = (struct crab_key_state) {
		.there = true, .value = space->blobs ? blobs_content(r->value) : r->value,
	};
	return NULL;
}

/* A list in force hides records of its keys: an insert of its redo may be cut */
static bool content_is_whole(const struct content *content, const struct space *space)
{
	u32 i;

	for (i = 0; space->blobs && i < space->keys; i++)
		if (content->key[i].there && !content->key[i].value)
			return false;
	return true;
}

static u32 super_crc(const struct crab_dsuper *super)
{
	struct crab_dsuper d = *super;

	d.crc = 0;
	return ~crab_crc32c(~0U, &d, sizeof(d));
}

static enum state_super super_read(const struct crab_media *media, u32 copy, u64 *sequence,
				   u64 *root)
{
	const __le64 *from = (const __le64 *)(media->base + copy * CRAB_SUPER_STRIDE);
	struct crab_dsuper d;
	bool magic;
	u32 i;

	for (i = 0; i < SUPER_WORDS; i++)
		((__le64 *)&d)[i] = cpu_to_le64(crab_load(media, from + i));
	*sequence = le64_to_cpu(d.sequence);
	*root = le64_to_cpu(d.engine_root);
	magic = le64_to_cpu(d.magic) == CRAB_MAGIC;
	d.magic = cpu_to_le64(CRAB_MAGIC);
	if (le32_to_cpu(d.crc) != super_crc(&d))
		return magic ? SUPER_TORN : SUPER_VOID;
	if (!magic)
		return SUPER_ASLEEP;
	return le32_to_cpu(d.state) == CRAB_SUPER_STATE_CLEAN ? SUPER_CLEAN : SUPER_ATTACHED;
}

/* The superblock copy that an attach chooses; 0 if neither holds */
static u32 newest_copy(const enum state_super *super, const u64 *sequence)
{
	if (super[0] > SUPER_ATTACHED)
		return super[1] <= SUPER_ATTACHED;
	return super[1] <= SUPER_ATTACHED && sequence[1] > sequence[0];
}

/* Reads both copies; returns the one that counts */
static u32 supers_read(const struct crab_media *media, enum state_super *super, u64 *root)
{
	u64 sequence[CRAB_SUPER_COPIES];
	u32 i;

	for (i = 0; i < CRAB_SUPER_COPIES; i++)
		super[i] = super_read(media, i, &sequence[i], &root[i]);
	return newest_copy(super, sequence);
}

/* A store that a FORMAT has just made has another one than that of the space */
static u32 super_store_id(const struct crab_media *media, u32 copy)
{
	const u8 *super = media->base + copy * CRAB_SUPER_STRIDE;
	u64 at = round_down(offsetof(struct crab_dsuper, store_id), sizeof(__le64));

	return crab_load(media, (const __le64 *)(super + at)) >> 32;
}

u64 state_root(const struct crab_media *media)
{
	enum state_super super[CRAB_SUPER_COPIES];
	u64 root[CRAB_SUPER_COPIES];
	u32 newest = supers_read(media, super, root);

	return super[newest] == SUPER_CLEAN && super[!newest] <= SUPER_ATTACHED ? root[newest] : 0;
}

const char *state_read(struct state *state, struct content *content, const struct space *space,
		       const struct crab_geometry *geo, const struct crab_media *media)
{
	enum state_super super[CRAB_SUPER_COPIES];
	u64 root[CRAB_SUPER_COPIES];
	u32 newest = supers_read(media, super, root);
	const char *fault;

	state->len = 0;
	state_add(state, super[newest]);
	state_add(state, super[!newest]);
	memset(content, 0, sizeof(*content));
	blobs_begin(space->names);
	if (state_is_blank(state))
		return NULL;
	fault = space->driver->read(space, geo, media, content, state);
	if (!fault && space->commits) {
		commits_decode(space, geo, super_store_id(media, newest), media, state);
		commits_apply(space, state->byte[state->len - 1], content);
	}
	return fault ?: content_is_whole(content, space) ? NULL : "a record without its blob";
}

static void super_write(struct crab_flow *flow, u32 copy, enum state_super kind,
			const struct crab_dsuper *like, u64 root)
{
	__le64 *to = (__le64 *)(flow->media->base + copy * CRAB_SUPER_STRIDE);
	struct crab_dsuper d = *like;
	u32 i;

	d.magic = cpu_to_le64(CRAB_MAGIC);
	d.sequence = cpu_to_le64(SUPER_SEQUENCE - copy);
	d.state = cpu_to_le32(kind == SUPER_CLEAN ? CRAB_SUPER_STATE_CLEAN :
						    CRAB_SUPER_STATE_ATTACHED);
	d.engine_root = cpu_to_le64(root);
	d.crc = cpu_to_le32(super_crc(&d));
	if (kind == SUPER_TORN)
		d.crc ^= cpu_to_le32(1);
	if (kind == SUPER_VOID)
		d.crc = 0;
	if (kind >= SUPER_VOID)
		d.magic = cpu_to_le64(CRAB_MAGIC_VOID);
	for (i = 0; i < SUPER_WORDS; i++)
		crab_store(flow, to + i, le64_to_cpu(((__le64 *)&d)[i]));
	crab_clean(flow, to, sizeof(d));
}

void state_write(const struct state *state, const struct space *space,
		 const struct crab_geometry *geo, struct crab_media *media,
		 const struct crab_dsuper *super)
{
	const u8 *at = state->byte + CRAB_SUPER_COPIES, *end = state->byte + state->len;
	struct crab_flow flow = { .media = media };
	u64 root = at < end && space->driver->root ? space->driver->root(space, geo, at, end) : 0;
	u32 i;

	if (space->commits && at < end)
		end -= commits_bytes(space, end[-1]);
	for (i = 0; i < CRAB_SUPER_COPIES; i++)
		super_write(&flow, i, state->byte[i], super, i ? 0 : root);
	crab_fence(&flow, CRAB_P3_SUPER);
	blobs_begin(space->names);
	space->driver->write(space, geo, media, at, end);
	if (end < state->byte + state->len)
		commits_write(space, geo, media, state->byte + state->len);
	if (space->blobs)
		blobs_write(geo, media);
}

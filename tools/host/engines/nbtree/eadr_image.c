// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements an independent decoder of the media of the layout `eadr`: it decodes the
 * leaves by the rules of protocols-nbtree.rst, into a content and into a canonical state, and writes
 * states.
 *
 * DOC: canonical states of eadr
 *
 * A state has for each leaf of the list its lowest key, whether its link is frozen, and for each slot
 * its state: with key and value if it is a record. It has the omissions of `adr`, and the
 * following, because the code does not depend on it:
 *
 *   dead   A slot without a record has no use of its value.
 *
 * Locking: one thread.
 */
#include <linux/kernel.h>

#include "blobs.h"
#include "nbtree_driver.h"
#include "shared/link.h"
#include "state.h"

#define LINK_MARK	(1ULL << 39)
#define LINK_BITS	(LINK_MARK - 1)

#define STATE_OF(word)	((word) >> 62)
#define KEY_BITS	((1ULL << 62) - 1)

#define CODE_QUARTER	0x10	/* a lowest key: of a quarter */
#define CODE_FREE	0x20
#define CODE_DEAD	0x21
#define CODE_FROZEN	0x40	/* with the number of a key */
#define CODE_MARK	0x80	/* with a lowest key */

enum { LIVE = 1, FROZEN };

static u8 low_code(const struct space *space, u64 low)
{
	return low & KEY_BITS ? state_key_index(space, low) : CODE_QUARTER + STATE_OF(low);
}

static u64 low_of(const struct space *space, u8 code)
{
	code &= ~CODE_MARK;
	return code >= CODE_QUARTER ? (u64)(code - CODE_QUARTER) << 62 : state_key(space, code);
}

static const char *slot_read(const struct space *space, const struct crab_geometry *geo,
			     const struct crab_media *media, u64 leaf, u32 i, u64 low, u64 high,
			     struct content *content, struct state *state)
{
	u64 word = crab_load(media, nbtree_word(media, geo, leaf, NBTREE_WORD_SLOTS + 2 * i));
	struct crab_record r = { .key = (low & ~KEY_BITS) | (word & KEY_BITS) };
	const char *fault;
	u32 at;

	if (word >= ~0ULL - 1) {
		state_add(state, word == ~0ULL ? CODE_FREE : CODE_DEAD);
		return NULL;
	}
	if (STATE_OF(word) != LIVE && STATE_OF(word) != FROZEN)
		return "an unknown state";
	if (r.key < low || r.key >= high)
		return "a key out of its leaf";
	r.value = crab_load(media, nbtree_word(media, geo, leaf, NBTREE_WORD_SLOTS + 2 * i + 1));
	at = state->len;
	fault = nbtree_record_read(space, geo, media, &r, content, state);
	if (STATE_OF(word) == FROZEN)
		state->byte[at] |= CODE_FROZEN;
	return fault;
}

static const char *leaf_read(const struct space *space, const struct crab_geometry *geo,
			     const struct crab_media *media, u64 leaf, struct content *content,
			     struct state *state)
{
	u64 low = crab_load(media, nbtree_word(media, geo, leaf, NBTREE_WORD_LOW));
	u64 high = nbtree_next_low(geo, media, leaf, LINK_BITS);
	u64 link = crab_load(media, nbtree_word(media, geo, leaf, 0));
	const char *fault = NULL;
	u32 i;

	if (low & KEY_BITS && state_key_index(space, low) == space->keys)
		return "a foreign lowest key";
	if (state->len + 1 + 2 * space->slots > STATE_BYTES)
		return "more than a state can hold";
	state_add(state, low_code(space, low) | (link & LINK_MARK ? CODE_MARK : 0));
	for (i = 0; i < space->slots && !fault; i++)
		fault = slot_read(space, geo, media, leaf, i, low, high, content, state);
	return fault;
}

const char *eadr_image_read(const struct space *space, const struct crab_geometry *geo,
			    const struct crab_media *media, struct content *content,
			    struct state *state)
{
	const __le64 *word = (const __le64 *)(media->base + CRAB_HEAD_OFFSET);
	const char *fault = NULL;
	u32 leaves = 0;
	u64 number;

	while (!fault && (number = crab_load(media, word) & LINK_BITS)) {
		if (number > geo->leaves || leaves++ == NBTREE_IMAGE_LEAVES)
			return "a link out of the pool, or a ring";
		fault = leaf_read(space, geo, media, number - 1, content, state);
		word = nbtree_word(media, geo, number - 1, 0);
	}
	return fault ?: leaves >= 4 ? NULL : "fewer than four leaves";
}

/* Writing */

/* One slot; returns the position after it in the state */
static const u8 *slot_write(struct crab_flow *flow, const struct space *space,
			    const struct crab_geometry *geo, u64 leaf, u32 i, u64 low, const u8 *at)
{
	u8 code = *at++;
	u64 key, value;

	if (code >= CODE_FREE && code < CODE_FROZEN) {
		nbtree_slot_write(flow, geo, leaf, i, code == CODE_FREE ? ~0ULL : ~0ULL - 1,
				  STATE_STALE);
		return at;
	}
	key = state_key(space, code & ~CODE_FROZEN);
	value = space->blobs ? blobs_encode(geo, key, *at + 1) : *at + 1;
	nbtree_slot_write(flow, geo, leaf, i,
			  (code & CODE_FROZEN ? 2ULL : 1ULL) << 62 | (key & KEY_BITS), value);
	return at + 1;
}

/* The position after a leaf in the state */
static const u8 *leaf_end(const struct space *space, const u8 *at)
{
	u32 i;

	for (at++, i = 0; i < space->slots; i++)
		at += *at >= CODE_FREE && *at < CODE_FROZEN ? 1 : 2;
	return at;
}

static void leaf_write(struct crab_flow *flow, const struct space *space,
		       const struct crab_geometry *geo, u32 n, const u8 *at, const u8 *end)
{
	u64 low = low_of(space, *at);
	__le64 *link = nbtree_word(flow->media, geo, n, 0);
	bool marked = *at & CODE_MARK;
	u32 i;

	nbtree_header_write(flow, geo, n, n + 1, low, leaf_end(space, at) == end);
	if (marked)
		crab_store(flow, link, crab_load(flow->media, link) | LINK_MARK);
	for (at++, i = 0; i < space->slots; i++)
		at = slot_write(flow, space, geo, n, i, low, at);
	crab_clean(flow, flow->media->base + crab_leaf_offset(geo, n), geo->leaf_bytes);
}

/* A free leaf: with the birth of the next one, and records that the code must not read */
static void free_write(struct crab_flow *flow, const struct space *space,
		       const struct crab_geometry *geo, u32 i, u64 birth)
{
	u32 slot;

	nbtree_header_write(flow, geo, i, birth, state_key(space, 1), true);
	for (slot = 0; slot < space->slots; slot++)
		nbtree_slot_write(flow, geo, i, slot, 1ULL << 62 | state_key(space, 1), STATE_STALE);
	crab_clean(flow, flow->media->base + crab_leaf_offset(geo, i), geo->leaf_bytes);
}

void eadr_image_write(const struct space *space, const struct crab_geometry *geo,
		      struct crab_media *media, const u8 *at, const u8 *end)
{
	struct crab_flow flow = { .media = media };
	struct crab_head head = { .self = CRAB_HEAD_OFFSET, .next = crab_link_to(geo, 0, 1) };
	u32 n = 0, used;

	if (at == end)		/* no superblock holds */
		return;
	crab_head_store(&flow, geo->store_id, &head);
	crab_clean(&flow, media->base + CRAB_HEAD_OFFSET, sizeof(struct crab_dhead));
	for (; at < end; at = leaf_end(space, at), n++)
		leaf_write(&flow, space, geo, n, at, end);
	for (used = n; n < geo->leaves; n++)
		free_write(&flow, space, geo, n, used + 1);
	crab_fence(&flow, CRAB_P7_FRESH);
}

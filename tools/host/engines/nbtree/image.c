// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements an independent decoder of the media of the engine `nbtree`: it decodes the
 * leaves by the rules of protocols-nbtree.rst, into a content and into a canonical state, and writes
 * states.
 *
 * DOC: canonical states of nbtree
 *
 * A state has for each leaf of the list its lowest key, and for each slot its key and value, or that
 * it is free or stale. It omits the following, because the code does not depend on it:
 *
 *   places      Leaves are numbered in the order of the list. The code knows places only by
 *               number, and takes any free one.
 *   births      1, 2, ... in the same order. The code only checks whether a link was made for
 *               the birth of its leaf, and makes the next birth the highest one of the list.
 *   stale keys  The code compares them with the end of the range only. The state writer writes the
 *               key at the end of the range, which returns first if the range grows.
 *   values      of free and stale slots.
 *   free leaves The code writes them before it reads them. The state writer writes the next birth
 *               into them, so that a link which is durable too early leads to a leaf with records.
 *
 * crab_load() reads each of the other words, so that every word that a power cut left open is
 * decided first, with each possible value.
 *
 * Locking: one thread.
 */
#include <linux/kernel.h>

#include "blobs.h"
#include "nbtree_driver.h"
#include "shared/link.h"
#include "state.h"

#define CODE_FREE	0x20
#define CODE_STALE	0x30

__le64 *nbtree_word(const struct crab_media *media, const struct crab_geometry *geo, u64 leaf,
		    u32 word)
{
	return (__le64 *)(media->base + crab_leaf_offset(geo, leaf)) + word;
}

const char *nbtree_record_read(const struct space *space, const struct crab_geometry *geo,
			       const struct crab_media *media, struct crab_record *r,
			       struct content *content, struct state *state)
{
	if (space->blobs)
		r->value = blobs_decode(geo, media, r->key, r->value);
	if (!r->value || r->value > (space->blobs ? BLOBS_DEAD : STATE_VALUES))
		return "a foreign value";
	state_add(state, state_key_index(space, r->key));
	state_add(state, r->value - 1);
	return content_add(content, space, r);
}

/* A leaf whose range ends at @high */
static const char *leaf_read(const struct space *space, const struct crab_geometry *geo,
			     const struct crab_media *media, u64 leaf, u64 high,
			     struct content *content, struct state *state)
{
	u64 low = crab_load(media, nbtree_word(media, geo, leaf, NBTREE_WORD_LOW));
	const char *fault = NULL;
	struct crab_record r;
	u32 i;

	if (low && state_key_index(space, low) == space->keys)
		return "a foreign lowest key";
	if (state->len + 1 + 2 * space->slots > STATE_BYTES)
		return "more than a state can hold";
	state_add(state, low ? state_key_index(space, low) : 0);
	for (i = 0; i < space->slots && !fault; i++) {
		r.key = crab_load(media, nbtree_word(media, geo, leaf, NBTREE_WORD_SLOTS + 2 * i));
		if (r.key < high) {
			r.value = crab_load(media, nbtree_word(media, geo, leaf, NBTREE_WORD_SLOTS + 2 * i + 1));
			fault = r.key < low ? "a key below its leaf" :
			       nbtree_record_read(space, geo, media, &r, content, state);
			continue;
		}
		state_add(state, r.key == CRAB_KEY_EMPTY ? CODE_FREE : CODE_STALE);
	}
	return fault;
}

u64 nbtree_next_low(const struct crab_geometry *geo, const struct crab_media *media, u64 leaf,
		    u64 bits)
{
	u64 next = crab_load(media, nbtree_word(media, geo, leaf, 0)) & bits;

	if (!next || next > geo->leaves)
		return CRAB_KEY_EMPTY;
	return crab_load(media, nbtree_word(media, geo, next - 1, NBTREE_WORD_LOW));
}

const char *nbtree_image_read(const struct space *space, const struct crab_geometry *geo,
			      const struct crab_media *media, struct content *content,
			      struct state *state)
{
	const __le64 *word = (const __le64 *)(media->base + CRAB_HEAD_OFFSET);
	const char *fault = NULL;
	u32 leaves = 0;
	u64 number;

	while (!fault && (number = crab_load(media, word) & CRAB_LINK_MASK)) {
		if (number > geo->leaves || leaves++ == NBTREE_IMAGE_LEAVES)
			return "a link out of the pool, or a ring";
		fault = leaf_read(space, geo, media, number - 1, nbtree_next_low(geo, media, number - 1, CRAB_LINK_MASK),
				 content, state);
		word = nbtree_word(media, geo, number - 1, 0);
	}
	return fault ?: leaves ? NULL : "no leaf";
}

/* Writing */

void nbtree_slot_write(struct crab_flow *flow, const struct crab_geometry *geo, u64 leaf, u32 i,
		       u64 key, u64 value)
{
	crab_store(flow, nbtree_word(flow->media, geo, leaf, NBTREE_WORD_SLOTS + 2 * i), key);
	crab_store(flow, nbtree_word(flow->media, geo, leaf, NBTREE_WORD_SLOTS + 2 * i + 1), value);
}

/* The slots of a leaf; returns the position after them in the state */
static const u8 *slots_write(struct crab_flow *flow, const struct space *space,
			     const struct crab_geometry *geo, u64 leaf, u64 high, const u8 *at)
{
	u64 key, value;
	u32 i;

	for (i = 0; i < space->slots; i++, at++) {
		if (*at >= CODE_FREE) {
			nbtree_slot_write(flow, geo, leaf, i, *at == CODE_STALE ? high : CRAB_KEY_EMPTY,
				   STATE_STALE);
			continue;
		}
		key = state_key(space, *at++);
		value = space->blobs ? blobs_encode(geo, key, *at + 1) : *at + 1;
		nbtree_slot_write(flow, geo, leaf, i, key, value);
	}
	return at;
}

/* The position after a leaf in the state */
static const u8 *leaf_end(const struct space *space, const u8 *at)
{
	u32 i;

	for (at++, i = 0; i < space->slots; i++)
		at += *at >= CODE_FREE ? 1 : 2;
	return at;
}

void nbtree_header_write(struct crab_flow *flow, const struct crab_geometry *geo, u32 i, u64 birth,
			 u64 low, bool last)
{
	struct crab_head head = { .self = crab_leaf_offset(geo, i), .birth = birth, .low = low };

	head.next = last ? crab_link_end(geo->store_id, head.self, birth) :
			   crab_link_to(geo, i + 1, birth + 1);
	crab_head_store(flow, geo->store_id, &head);
}

/* A free leaf: with the birth of the next one, and records that the code must not read */
static void free_write(struct crab_flow *flow, const struct space *space,
		       const struct crab_geometry *geo, u32 i, u64 birth)
{
	u32 slot;

	nbtree_header_write(flow, geo, i, birth, state_key(space, space->keys - 1), true);
	for (slot = 0; slot < space->slots; slot++)
		nbtree_slot_write(flow, geo, i, slot, state_key(space, space->keys - 1), STATE_STALE);
	crab_clean(flow, flow->media->base + crab_leaf_offset(geo, i), geo->leaf_bytes);
}

void nbtree_image_write(const struct space *space, const struct crab_geometry *geo,
			struct crab_media *media, const u8 *at, const u8 *end)
{
	struct crab_flow flow = { .media = media };
	struct crab_head head = { .self = CRAB_HEAD_OFFSET, .next = crab_link_to(geo, 0, 1) };
	const u8 *next;
	u64 high, low;
	u32 n = 0, used;

	if (at == end)		/* no superblock holds */
		return;
	crab_head_store(&flow, geo->store_id, &head);
	crab_clean(&flow, media->base + CRAB_HEAD_OFFSET, sizeof(struct crab_dhead));
	for (; at < end; at = next, n++) {
		next = leaf_end(space, at);
		high = next < end ? state_key(space, *next) : CRAB_KEY_EMPTY;
		low = n ? state_key(space, *at) : 0;
		nbtree_header_write(&flow, geo, n, n + 1, low, next == end);
		slots_write(&flow, space, geo, n, high, at + 1);
		crab_clean(&flow, media->base + crab_leaf_offset(geo, n), geo->leaf_bytes);
	}
	for (used = n; n < geo->leaves; n++)
		free_write(&flow, space, geo, n, used + 1);
	crab_fence(&flow, CRAB_P7_FRESH);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements an independent decoder of the media of the engine `crab`: it decodes the
 * leaves by the rules of format.rst, into a content and into a canonical state, and writes states.
 *
 * DOC: canonical states of crab
 *
 * A state omits the following, because the code does not depend on it:
 *
 *   places      Leaves are numbered in the order of the list. The code knows places only by
 *               number, and takes any free one.
 *   births      1, 2, ... in the same order. The code only checks whether a link was made for
 *               the birth of its leaf, and makes the next birth the highest one on the media.
 *   voids       Each leaf of the list has its own. The code compares a value only with voids, so
 *               a value that was once a void is the same as any other value.
 *   free leaves An attach reads their headers, for the highest birth. Their slots are written
 *               before any link refers to the leaf. A sorted leaf is written only up to the end
 *               of its records. After that end, and in a free leaf, each slot may have any key
 *               that was ever stored, or none: crab_shadow_open() tries all of them.
 *
 * A state contains everything else, such as each slot with half a record, and the lowest keys.
 * crab_load() reads each of these words, so that every word that a power cut left open is
 * decided first, with each possible value.
 *
 * Locking: one thread.
 */
#include <linux/kernel.h>

#include "blobs.h"
#include "crab_driver.h"
#include "engines/crab/crab.h"
#include "state.h"

#define IMAGE_LEAVES	12
#define IMAGE_SLOTS	13

/* Codes of keys and values in a state; smaller codes: the number in the alphabet */
#define CODE_NONE	0x20	/* key: free slot */
#define CODE_OWN	0x20	/* value: the void of the leaf ... */
#define CODE_DEAD	0x30	/* ... the word of no blob ... */
#define CODE_VOID	0x40	/* ... the void of leaf 0, 1, ... of the list */

struct image_leaf {
	u64 number;
	u64 low;
	u64 void_value;
	u32 slots;		/* that mean something */
	struct crab_record slot[IMAGE_SLOTS];
};

/* The decoded list of leaves */
struct image {
	u32 leaves;
	struct image_leaf leaf[IMAGE_LEAVES];
};

/* "sorted", or "slotted": asked for each slot, so without a call of strcmp() */
static bool space_is_sorted(const struct space *space)
{
	return space->layout[1] == 'o';
}

static u64 image_void(u32 i)
{
	return 0xc0de0000ULL + i;
}

static void leaf_read(struct image_leaf *leaf, const struct space *space,
		      const struct crab_geometry *geo, const struct crab_media *media)
{
	const struct crab_dleaf *d =
		(const void *)(media->base + crab_leaf_offset(geo, leaf->number));
	struct crab_record *r;

	leaf->low = crab_load(media, &d->head.low);
	leaf->void_value = crab_load(media, &d->head.own);
	for (leaf->slots = 0; leaf->slots < space->slots; ) {
		r = &leaf->slot[leaf->slots];
		r->key = crab_load(media, &d->slots[leaf->slots].key);
		if (space_is_sorted(space) && r->key == CRAB_KEY_EMPTY)
			break;
		r->value = crab_load(media, &d->slots[leaf->slots++].value);
		if (space->blobs && r->value != leaf->void_value)
			r->value = r->key == CRAB_KEY_EMPTY ? BLOBS_DEAD :
				   blobs_decode(geo, media, r->key, r->value);
	}
}

static const char *image_read(struct image *p, const struct space *space,
			      const struct crab_geometry *geo, const struct crab_media *media)
{
	const struct crab_dhead *head = (const void *)(media->base + CRAB_HEAD_OFFSET);
	struct image_leaf *leaf;
	u64 number;

	p->leaves = 0;
	while ((number = crab_load(media, &head->next) & CRAB_LINK_MASK)) {
		if (number > geo->leaves || p->leaves == IMAGE_LEAVES)
			return "a link out of the pool, or a ring";
		leaf = &p->leaf[p->leaves++];
		leaf->number = number - 1;
		leaf_read(leaf, space, geo, media);
		head = (const void *)(media->base + crab_leaf_offset(geo, leaf->number));
	}
	return p->leaves ? NULL : "no leaf";
}

/* The lowest key of the leaves after leaf @i: a sorted record at or above it is dead */
static u64 sorted_bound(const struct image *p, u32 i)
{
	while (++i < p->leaves)
		if (p->leaf[i].slots)
			return p->leaf[i].slot[0].key;
	return CRAB_KEY_EMPTY;
}

static bool slot_is_live(const struct image *p, const struct space *space, u32 leaf, u32 slot,
			 u64 bound)
{
	const struct image_leaf *l = &p->leaf[leaf];
	const struct crab_record *r = &l->slot[slot];

	if (!space_is_sorted(space))
		return r->key != CRAB_KEY_EMPTY && r->value != l->void_value;
	return r->key < bound && !(slot + 1 < l->slots && r[1].key == r->key);
}

static const char *image_content(const struct image *p, const struct space *space,
				 struct content *content)
{
	const char *what = NULL;
	u32 leaf, slot;
	u64 bound;

	for (leaf = 0; leaf < p->leaves; leaf++) {
		bound = sorted_bound(p, leaf);
		for (slot = 0; slot < p->leaf[leaf].slots && !what; slot++)
			if (slot_is_live(p, space, leaf, slot, bound))
				what = content_add(content, space, &p->leaf[leaf].slot[slot]);
	}
	return what;
}

static u8 value_code(const struct image *p, const struct space *space, u32 leaf, u64 value)
{
	u32 i;

	if (space_is_sorted(space))
		return value && value <= STATE_VALUES ? value - 1 : CODE_OWN;
	if (value == p->leaf[leaf].void_value)
		return CODE_OWN;
	for (i = 0; i < p->leaves; i++)
		if (value == p->leaf[i].void_value)
			return CODE_VOID + i;
	if (space->blobs)
		return value < BLOBS_DEAD ? value - 1 : CODE_DEAD;
	return value == 1 ? 0 : 1;
}

static const char *encode_leaf(const struct image *p, const struct space *space, u32 leaf,
			       struct state *state)
{
	const struct image_leaf *l = &p->leaf[leaf];
	u32 slot, key, low = state_key_index(space, l->low);

	if (state->len + 2 + 2 * l->slots > STATE_BYTES)
		return "more than a state can hold";
	if (low == space->keys)
		return "a foreign lowest key";
	state_add(state, space_is_sorted(space) ? !!low : low);
	state_add(state, l->slots);
	for (slot = 0; slot < l->slots; slot++) {
		key = state_key_index(space, l->slot[slot].key);
		if (key == space->keys && l->slot[slot].key != CRAB_KEY_EMPTY)
			return "a foreign key in a slot";
		state_add(state, key == space->keys ? CODE_NONE : key);
		state_add(state, value_code(p, space, leaf, l->slot[slot].value));
		if (state->byte[state->len - 1] >= STATE_VALUES && space_is_sorted(space))
			return "a foreign value";
	}
	return NULL;
}

const char *crab_image_read(const struct space *space, const struct crab_geometry *geo,
			    const struct crab_media *media, struct content *content,
			    struct state *state)
{
	struct image image;
	const char *what = image_read(&image, space, geo, media);
	u32 i;

	what = what ?: image_content(&image, space, content);
	for (i = 0; !what && i < image.leaves; i++)
		what = encode_leaf(&image, space, i, state);
	return what;
}

/* Writing */

static void slot_write(struct crab_flow *flow, struct crab_dslot *slot, u64 key, u64 value)
{
	crab_store(flow, &slot->key, key);
	crab_store(flow, &slot->value, value);
}

static u64 code_value(u8 code, u32 leaf)
{
	if (code < STATE_VALUES)
		return code + 1;
	return image_void(code == CODE_OWN ? leaf : code - CODE_VOID);
}

/* The value of a slot; @at: its codes */
static u64 slot_value(const struct space *space, const struct crab_geometry *geo, const u8 *at,
		      u32 leaf)
{
	if (!space->blobs || at[1] == CODE_OWN || at[1] >= CODE_VOID)
		return code_value(at[1], leaf);
	return at[1] == CODE_DEAD ? STATE_STALE :
	       blobs_encode(geo, state_key(space, at[0]), at[1] + 1);
}

/* Fills a slot that the code must not read */
static void slot_junk(struct crab_flow *flow, const struct space *space, struct crab_dslot *slot,
		      u32 i)
{
	u64 keys[STATE_KEYS + 1];
	u32 n;

	slot_write(flow, slot, state_key(space, i % space->keys), STATE_STALE);
	if (!space_is_sorted(space))
		return;
	keys[0] = CRAB_KEY_EMPTY;
	for (n = 0; n < space->keys; n++)
		keys[n + 1] = state_key(space, n);
	crab_shadow_open(flow->media->hooks.shadow, &slot->key, keys, n + 1);
}

/* Leaf @i of the list, or a free leaf if @at is NULL; returns the position after it in the state */
static const u8 *leaf_write(struct crab_flow *flow, const struct space *space,
			    const struct crab_geometry *geo, u32 i, bool last, const u8 *at)
{
	struct crab_dleaf *d = (void *)(flow->media->base + crab_leaf_offset(geo, i));
	struct crab_head head = {
		.self = crab_leaf_offset(geo, i), .birth = i + 1, .own = image_void(i),
		.low = at ? state_key(space, *at) : 0,
	};
	u32 slot, slots = at ? at[1] : 0;

	head.next = at && !last ? crab_link_to(geo, i + 1, i + 2) :
				  crab_link_end(geo->store_id, head.self, head.birth);
	/* A free sorted leaf gets no header: attach would then read its first key in vain */
	crab_head_store(flow, geo->store_id + (!at && space_is_sorted(space)), &head);
	for (slot = 0; slot < slots; slot++)
		slot_write(flow, &d->slots[slot],
			   at[2 + 2 * slot] == CODE_NONE ? CRAB_KEY_EMPTY :
							   state_key(space, at[2 + 2 * slot]),
			   slot_value(space, geo, &at[2 + 2 * slot], i));
	if (at && slot < space->slots)
		slot_write(flow, &d->slots[slot++], CRAB_KEY_EMPTY, STATE_STALE);
	crab_clean(flow, d, geo->leaf_bytes);
	crab_fence(flow, CRAB_P7_FRESH);
	for (; slot < space->slots; slot++)
		slot_junk(flow, space, &d->slots[slot], slot);
	crab_clean(flow, d, geo->leaf_bytes);
	crab_fence(flow, CRAB_P7_FRESH);
	return at + 2 + 2 * slots;
}

static void head_write(struct crab_flow *flow, const struct crab_geometry *geo)
{
	struct crab_head head = { .self = CRAB_HEAD_OFFSET, .next = crab_link_to(geo, 0, 1) };

	crab_head_store(flow, geo->store_id, &head);
	crab_clean(flow, crab_list_head(flow->media), sizeof(struct crab_dhead));
}

void crab_image_write(const struct space *space, const struct crab_geometry *geo,
		      struct crab_media *media, const u8 *at, const u8 *end)
{
	struct crab_flow flow = { .media = media };
	u32 i;

	head_write(&flow, geo);
	for (i = 0; at < end; i++)
		at = leaf_write(&flow, space, geo, i, at + 2 + 2 * at[1] == end, at);
	for (; i < geo->leaves; i++)
		leaf_write(&flow, space, geo, i, true, NULL);
}

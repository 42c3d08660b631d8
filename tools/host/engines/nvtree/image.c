// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements an independent decoder of the media of the engine `nvtree`: it decodes the
 * leaves by the rules of format.rst, into a content and into a canonical state, and writes states.
 *
 * DOC: canonical states of nvtree
 *
 * A state has for each leaf of the list its lowest key, its number of elements, and for each
 * element its key and its value or that it is negative. It omits the following, because the code
 * does not depend on it:
 *
 *   places      Leaves are numbered in the order of the list. The code knows places only by
 *               number, and takes any free one.
 *   births      1, 2, ... in the same order. The code only checks whether a link was made for
 *               the birth of its leaf, and makes the next birth the highest one of the list.
 *   the rest    of a leaf after its count, the signs there, and free leaves. The code writes them
 *               before it reads them. The state writer fills them with elements that would count.
 *   values      of negative elements.
 *
 * With the option `instant` a state begins with a byte: whether the superblock names parked entries,
 * which must be those of the list. The roots of other superblocks and the blocks of earlier
 * detaches are omitted. The state writer fills free blocks with entries that would be
 * believed if a superblock named them too early: under the birth of the next parked block, they
 * lack all leaves but the first.
 *
 * crab_load() reads each of the other words, so that every word that a power cut left open is
 * decided first, with each possible value.
 *
 * Locking: one thread.
 */
#include <linux/kernel.h>

#include "blobs.h"
#include "media/crc.h"
#include "nvtree_driver.h"
#include "shared/link.h"
#include "state.h"

#define IMAGE_LEAVES	12
#define IMAGE_ELEMENTS	9
#define IMAGE_LINE	3		/* elements of a line */

#define CODE_NEGATIVE	0x20
#define CODE_DEAD	0x30		/* a word that a later element replaces */

/* Words of a leaf */
#define WORD_LOW	3
#define WORD_COUNT	6
#define WORD_LINES	8
#define WORDS_LINE	8
#define WORD_SIGN	6

/* Words of a parked block */
#define WORD_NEXT	0
#define WORD_OWN	4
#define WORD_LEAVES	6
#define WORD_RECORDS	7
#define WORD_ENTRIES	8

static __le64 *word_of(const struct crab_media *media, const struct crab_geometry *geo, u64 leaf,
		       u32 word)
{
	return (__le64 *)(media->base + crab_leaf_offset(geo, leaf)) + word;
}

static __le64 *element_of(const struct crab_media *media, const struct crab_geometry *geo,
			  u64 leaf, u32 i)
{
	return word_of(media, geo, leaf,
		       WORD_LINES + i / IMAGE_LINE * WORDS_LINE + i % IMAGE_LINE * 2);
}

static __le64 *sign_of(const struct crab_media *media, const struct crab_geometry *geo, u64 leaf,
		       u32 i)
{
	return word_of(media, geo, leaf, WORD_LINES + i / IMAGE_LINE * WORDS_LINE + WORD_SIGN);
}

static u64 value_of(const struct space *space, u64 value)
{
	if (!space->blobs)
		return value;
	return value < BLOBS_DEAD ? blobs_content(value) : STATE_STALE;
}

/* Does a later element of the leaf have the key of element @i? */
static bool is_replaced(const struct crab_geometry *geo, const struct crab_media *media, u64 leaf,
			u64 count, u32 i)
{
	u64 key = crab_load(media, element_of(media, geo, leaf, i));

	while (++i < count)
		if (crab_load(media, element_of(media, geo, leaf, i)) == key)
			return true;
	return false;
}

static const char *element_read(const struct space *space, const struct crab_record *r,
				bool negative, struct content *content, struct state *state)
{
	u32 key = state_key_index(space, r->key);

	if (key == space->keys)
		return "a foreign key";
	if (!negative && (!r->value || r->value > (space->blobs ? BLOBS_DEAD : STATE_VALUES)))
		return "a foreign value";
	state_add(state, key);
	state_add(state, negative ? CODE_NEGATIVE :
			 space->blobs && r->value == BLOBS_DEAD ? CODE_DEAD : r->value - 1);
	if (negative && !content->key[key].there)
		return "a key is deleted that is not there";
	content->key[key] = (struct crab_key_state){ .there = !negative,
						     .value = negative ? 0 : value_of(space, r->value) };
	return NULL;
}

static const char *leaf_read(const struct space *space, const struct crab_geometry *geo,
			     const struct crab_media *media, u64 leaf, struct content *content,
			     struct state *state)
{
	u64 count = crab_load(media, word_of(media, geo, leaf, WORD_COUNT));
	u32 low = state_key_index(space, crab_load(media, word_of(media, geo, leaf, WORD_LOW)));
	const char *what = NULL;
	struct crab_record r;
	bool negative;
	u32 i;

	if (count > space->slots)
		return "more elements than fit";
	if (low == space->keys)
		return "a foreign lowest key";
	if (state->len + 2 + 2 * count > STATE_BYTES)
		return "more than a state can hold";
	state_add(state, low);
	state_add(state, count);
	for (i = 0; i < count && !what; i++) {
		r.key = crab_load(media, element_of(media, geo, leaf, i));
		r.value = crab_load(media, element_of(media, geo, leaf, i) + 1);
		negative = crab_load(media, sign_of(media, geo, leaf, i)) >> i % IMAGE_LINE & 1;
		if (space->blobs && !negative)
			r.value = is_replaced(geo, media, leaf, count, i) ? BLOBS_DEAD :
				  blobs_decode(geo, media, r.key, r.value);
		what = element_read(space, &r, negative, content, state);
	}
	return what;
}

/* One parked block; @word: where the link to the next leaf is. Returns NULL, or the fault */
static const char *parked_read(const struct crab_geometry *geo, const struct crab_media *media,
			       u64 *block, const __le64 **word)
{
	u32 entries = crab_load(media, word_of(media, geo, *block - 1, WORD_OWN)), i;
	const __le64 *entry = word_of(media, geo, *block - 1, WORD_ENTRIES);
	u64 link = 0;

	if (!entries || entries > IMAGE_LEAVES)
		return "a parked block without entries, or with too many";
	for (i = 0; i < entries; i++, entry += 2) {
		link = crab_load(media, *word);
		if (!(link & CRAB_LINK_MASK) || crab_load(media, entry + 1) != link)
			return "another parked link than in the list";
		*word = word_of(media, geo, (link & CRAB_LINK_MASK) - 1, 0);
		if (crab_load(media, entry) != crab_load(media, *word + WORD_LOW))
			return "another parked lowest key than in the list";
	}
	*block = crab_load(media, word_of(media, geo, *block - 1, WORD_NEXT)) & CRAB_LINK_MASK;
	return *block > geo->leaves ? "a link out of the pool" : NULL;
}

/* The entries that the superblock names: those of the list, or none */
static const char *park_read(const struct space *space, const struct crab_geometry *geo,
			     const struct crab_media *media, struct state *state)
{
	const __le64 *word = (const __le64 *)(media->base + CRAB_HEAD_OFFSET);
	u64 block = state_root(media) & CRAB_LINK_MASK;
	const char *what = block > geo->leaves ? "a root out of the pool" : NULL;

	if (!space->nv.instant)
		return NULL;
	state_add(state, block != 0);
	if (!block)
		return NULL;
	while (block && !what)
		what = parked_read(geo, media, &block, &word);
	if (!what && crab_load(media, word) & CRAB_LINK_MASK)
		what = "a leaf is not parked";
	return what;
}

const char *nvtree_image_read(const struct space *space, const struct crab_geometry *geo,
			      const struct crab_media *media, struct content *content,
			      struct state *state)
{
	const struct crab_dhead *head = (const void *)(media->base + CRAB_HEAD_OFFSET);
	const char *what = park_read(space, geo, media, state);
	u32 leaves = 0;
	u64 number;

	while (!what && (number = crab_load(media, &head->next) & CRAB_LINK_MASK)) {
		if (number > geo->leaves || leaves++ == IMAGE_LEAVES)
			return "a link out of the pool, or a ring";
		what = leaf_read(space, geo, media, number - 1, content, state);
		head = (const void *)(media->base + crab_leaf_offset(geo, number - 1));
	}
	return what ?: leaves ? NULL : "no leaf";
}

/* Writing */

/* An element that the code must not read */
static void junk_write(struct crab_flow *flow, const struct space *space,
		       const struct crab_geometry *geo, u64 leaf, u32 i)
{
	__le64 *at = element_of(flow->media, geo, leaf, i);

	crab_store(flow, at, state_key(space, i % space->keys));
	crab_store(flow, at + 1, STATE_STALE);
}

/* The value of an element; @at: its codes */
static u64 element_value(const struct space *space, const struct crab_geometry *geo, const u8 *at)
{
	if (at[1] >= CODE_NEGATIVE)
		return STATE_STALE;
	return space->blobs ? blobs_encode(geo, state_key(space, at[0]), at[1] + 1) : at[1] + 1;
}

/* The elements of a leaf; @at: of the state, NULL: a free leaf */
static void elements_write(struct crab_flow *flow, const struct space *space,
			   const struct crab_geometry *geo, u64 leaf, const u8 *at)
{
	u32 count = at ? at[1] : 0, i;
	u64 sign[IMAGE_ELEMENTS / IMAGE_LINE] = { };
	__le64 *to;

	for (i = 0; i < IMAGE_ELEMENTS && i < (geo->leaf_bytes / CRAB_LINE - 1) * IMAGE_LINE; i++) {
		to = element_of(flow->media, geo, leaf, i);
		if (i >= count || at[3 + 2 * i] == CODE_NEGATIVE)
			sign[i / IMAGE_LINE] |= 1ULL << i % IMAGE_LINE;
		crab_store(flow, sign_of(flow->media, geo, leaf, i), sign[i / IMAGE_LINE]);
		if (i >= count) {
			junk_write(flow, space, geo, leaf, i);
			continue;
		}
		crab_store(flow, to, state_key(space, at[2 + 2 * i]));
		crab_store(flow, to + 1, element_value(space, geo, &at[2 + 2 * i]));
	}
}

/* Leaf @i of the list, or a free leaf if @at is NULL; returns the position after it in the state */
static const u8 *leaf_write(struct crab_flow *flow, const struct space *space,
			    const struct crab_geometry *geo, u32 i, bool last, const u8 *at)
{
	struct crab_head head = {
		.self = crab_leaf_offset(geo, i), .birth = i + 1, .low = at ? state_key(space, *at) : 0,
	};

	head.next = at && !last ? crab_link_to(geo, i + 1, i + 2) :
				  crab_link_end(geo->store_id, head.self, head.birth);
	crab_head_store(flow, geo->store_id, &head);
	crab_store(flow, word_of(flow->media, geo, i, WORD_COUNT), at ? at[1] : 1);
	elements_write(flow, space, geo, i, at);
	crab_clean(flow, flow->media->base + head.self, geo->leaf_bytes);
	crab_fence(flow, CRAB_P7_FRESH);
	return at ? at + 2 + 2 * at[1] : NULL;
}

/* Leaves of the list of a state */
static u32 leaves_of(const u8 *at, const u8 *end)
{
	u32 n = 0;

	for (; at < end; at += 2 + 2 * at[1])
		n++;
	return n;
}

static u32 live_of(const struct space *space, const u8 *at, const u8 *end)
{
	bool there[STATE_KEYS] = { };
	u32 i, live = 0;

	for (; at < end; at += 2 + 2 * at[1])
		for (i = 0; i < at[1]; i++)
			there[at[2 + 2 * i]] = at[3 + 2 * i] != CODE_NEGATIVE;
	for (i = 0; i < space->keys; i++)
		live += there[i];
	return live;
}

/* Parked entries of @n leaves from number @first, at @at, on; returns the place of the next leaf */
static const u8 *parked_write(struct crab_flow *flow, const struct space *space,
			      const struct crab_geometry *geo, struct crab_head *head, u64 block,
			      u32 first, u32 n, const u8 *at)
{
	__le64 *word = word_of(flow->media, geo, block, WORD_LEAVES);
	u32 i;

	for (i = 0; i < n; i++, at += 2 + 2 * at[1]) {
		crab_store(flow, word + 2 + 2 * i, state_key(space, *at));
		crab_store(flow, word + 3 + 2 * i, crab_link_to(geo, first + i, first + i + 1));
	}
	head->self = crab_leaf_offset(geo, block);
	head->own = (u64)crab_crc32c(~0U, word, (2 + 2 * n) * sizeof(*word)) << 32 | n;
	crab_head_store(flow, geo->store_id, head);
	crab_clean(flow, flow->media->base + head->self, geo->leaf_bytes);
	crab_fence(flow, CRAB_P16_PARKED);
	return at;
}

static void sums_write(struct crab_flow *flow, const struct crab_geometry *geo, u64 block, u64 leaves,
		       u64 records)
{
	crab_store(flow, word_of(flow->media, geo, block, WORD_LEAVES), leaves);
	crab_store(flow, word_of(flow->media, geo, block, WORD_RECORDS), records);
}

/* The parked blocks of a state follow its leaves; returns their number */
static u32 park_write(struct crab_flow *flow, const struct space *space,
		      const struct crab_geometry *geo, const u8 *at, const u8 *end)
{
	u32 leaves = leaves_of(at, end), live = live_of(space, at, end), first, n, block = leaves;
	struct crab_head head;

	for (first = 0; first < leaves; first += n, block++) {
		n = min(space->slots, leaves - first);
		head = (struct crab_head) { .birth = block + 1 };
		head.next = first + n < leaves ? crab_link_to(geo, block + 1, block + 2) :
			    crab_link_end(geo->store_id, crab_leaf_offset(geo, block), head.birth);
		sums_write(flow, geo, block, leaves, live);
		at = parked_write(flow, space, geo, &head, block, first, n, at);
	}
	return block - leaves;
}

/* A block that an earlier detach could have parked, under the next birth */
static void stale_write(struct crab_flow *flow, const struct space *space,
			const struct crab_geometry *geo, u64 block, u64 birth, const u8 *at)
{
	struct crab_head head = {
		.birth = birth,
		.next = crab_link_end(geo->store_id, crab_leaf_offset(geo, block), birth),
	};

	sums_write(flow, geo, block, 1, 1);
	parked_write(flow, space, geo, &head, block, 0, 1, at);
}

u64 nvtree_image_root(const struct space *space, const struct crab_geometry *geo, const u8 *at,
		      const u8 *end)
{
	u32 leaves = leaves_of(at + 1, end);

	return space->nv.instant && *at ? crab_link_to(geo, leaves, leaves + 1) : 0;
}

void nvtree_image_write(const struct space *space, const struct crab_geometry *geo,
			struct crab_media *media, const u8 *at, const u8 *end)
{
	struct crab_head head = { .self = CRAB_HEAD_OFFSET, .next = crab_link_to(geo, 0, 1) };
	const u8 *list = at += at < end && space->nv.instant;
	struct crab_flow flow = { .media = media };
	u32 i, parked = 0;

	crab_head_store(&flow, geo->store_id, &head);
	crab_clean(&flow, media->base + CRAB_HEAD_OFFSET, sizeof(struct crab_dhead));
	for (i = 0; at < end; i++)
		at = leaf_write(&flow, space, geo, i, at + 2 + 2 * at[1] == end, at);
	if (i && space->nv.instant && list[-1])
		parked = park_write(&flow, space, geo, list, end);
	for (i += parked; i < geo->leaves; i++) {
		if (list < end && space->nv.instant)
			stale_write(&flow, space, geo, i, leaves_of(list, end) + parked + 1, list);
		else
			leaf_write(&flow, space, geo, i, true, NULL);
	}
}

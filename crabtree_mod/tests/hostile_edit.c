// SPDX-License-Identifier: GPL-2.0
/*
 * This file damages an image as a script describes. An edit changes one word or moves
 * slots. Then the crc over the word and the checks of links are made valid again, unless
 * the script has the flags against it: otherwise attach would report only the crc.
 *
 * Invariant: any bytes are a script; only the media is written.
 */
#include <linux/kernel.h>
#include <linux/string.h>

#include "engines/clfb/node.h"
#include "engines/crab/crab.h"
#include "hostile.h"
#include "seal.h"

#define HEAD_WORDS	(sizeof(struct crab_dhead) / sizeof(__le64))
#define SUPER_WORDS	(sizeof(struct crab_dsuper) / sizeof(__le64))
#define BITMAP_WORDS	2

/**
 * struct edit - a verb of a script and its arguments
 * @verb: enum crab_hostile_verb and CRAB_HOSTILE_UNSEALED
 * @leaf: which leaf of the pool, or which superblock
 * @at: which word or slot there
 * @how: enum change
 * @x: first argument
 * @y: second argument
 */
struct edit {
	u8 verb;
	u8 leaf;
	u8 at;
	u8 how;
	u8 x;
	u8 y;
};

enum change {
	CHANGE_FLIP,		/* bit x */
	CHANGE_ADD,		/* x, signed, shifted by y */
	CHANGE_SPECIAL,		/* special[x] */
	CHANGE_SET,		/* y * 256 + x */
	CHANGE_OF_SLOT,		/* word y of the slots of leaf x */
	CHANGE_OF_HEADER,	/* word y of the header of leaf x */
	CHANGE_ADD_SPECIAL,	/* special[x], shifted by y */
	CHANGE_KINDS
};

static const u64 special[] = {
	0, 1, 2, 0x7f, 0x80, 0xff, 0x200, 0x2000, 0x4000, 0x7fffffff, 0x80000000, 0xffffffff,
	1ULL << 40, (1ULL << 40) - 1, (1ULL << 62) - 1, 1ULL << 62, (1ULL << 63) - 1, 1ULL << 63,
	CRAB_KEY_EMPTY - 1, CRAB_KEY_EMPTY, CRAB_MAGIC, CRAB_MAGIC_VOID,
	0xffffffff00000000ULL, 0xfffffffffffff000ULL,
};

static u32 slots_of(const struct crab_hostile *h)
{
	return crab_leaf_slots(h->leaf_bytes);
}

static __le64 *slot_word(struct crab_hostile *h, u8 leaf, u8 at)
{
	return (__le64 *)crab_hostile_leaf(h, leaf % CRAB_HOSTILE_LEAVES)->slots +
	       at % (2 * slots_of(h));
}

static __le64 *head_word(struct crab_dhead *head, u8 at)
{
	return (__le64 *)head + at % HEAD_WORDS;
}

static struct crab_dhead *leaf_head(struct crab_hostile *h, u8 leaf)
{
	return &crab_hostile_leaf(h, leaf % CRAB_HOSTILE_LEAVES)->head;
}

static u64 changed(struct crab_hostile *h, const struct edit *e, u64 old)
{
	switch (e->how % CHANGE_KINDS) {
	case CHANGE_FLIP:
		return old ^ 1ULL << (e->x % 64);
	case CHANGE_ADD:
		return old + ((u64)(s64)(s8)e->x << (e->y % 64));
	case CHANGE_SPECIAL:
		return special[e->x % ARRAY_SIZE(special)];
	case CHANGE_SET:
		return e->y * 256 + e->x;
	case CHANGE_OF_SLOT:
		return le64_to_cpu(*slot_word(h, e->x, e->y));
	case CHANGE_OF_HEADER:
		return le64_to_cpu(*head_word(leaf_head(h, e->x), e->y));
	default:
		return old + (special[e->x % ARRAY_SIZE(special)] << (e->y % 64));
	}
}

static void change(struct crab_hostile *h, const struct edit *e, __le64 *word)
{
	*word = cpu_to_le64(changed(h, e, le64_to_cpu(*word)));
}

static void edit_super(struct crab_hostile *h, const struct edit *e)
{
	struct crab_dsuper *d;
	u32 copy;

	for (copy = 0; copy < CRAB_SUPER_COPIES; copy++) {
		if (e->leaf % 3 == 1 - copy)	/* 0: copy 0 alone, 1: copy 1 alone, 2: both */
			continue;
		d = crab_hostile_super(h, copy);
		change(h, e, (__le64 *)d + e->at % SUPER_WORDS);
		if (!(e->verb & CRAB_HOSTILE_UNSEALED))
			crab_seal_super(d);
	}
}

static void edit_head(struct crab_hostile *h, const struct edit *e, struct crab_dhead *head)
{
	change(h, e, head_word(head, e->at));
	if (!(e->verb & CRAB_HOSTILE_UNSEALED))
		crab_seal_head(head);
}

static u32 seed_id(struct crab_hostile *h)
{
	return le32_to_cpu(crab_hostile_super(h, 0)->store_id);
}

/* The geometry of the seed, even if its superblock has changed */
static struct crab_geometry seed_geometry(struct crab_hostile *h)
{
	struct crab_geometry geo = {
		.pool_offset = CRAB_POOL_OFFSET,
		.leaves = CRAB_HOSTILE_LEAVES,
		.leaf_bytes = h->leaf_bytes,
		.store_id = seed_id(h),
	};

	return geo;
}

/* A valid link to leaf @number, or a valid end of the list in @from */
static u64 right_word(struct crab_hostile *h, const struct crab_geometry *geo,
		      const struct crab_dhead *from, u64 number)
{
	if (number >= CRAB_HOSTILE_LEAVES)
		return crab_link_end(geo->store_id, le64_to_cpu(from->self),
				     le64_to_cpu(from->birth));
	return crab_link_to(geo, number,
			    le64_to_cpu(crab_hostile_leaf(h, number)->head.birth));
}

static struct crab_dhead *some_head(struct crab_hostile *h, u8 leaf)
{
	leaf %= CRAB_HOSTILE_LEAVES + 1;
	return leaf == CRAB_HOSTILE_LEAVES ? crab_hostile_list(h) :
					     &crab_hostile_leaf(h, leaf)->head;
}

static void edit_link(struct crab_hostile *h, const struct edit *e)
{
	struct crab_geometry geo = seed_geometry(h);
	struct crab_dhead *from = some_head(h, e->leaf);

	from->next = cpu_to_le64(right_word(h, &geo, from, e->at % (CRAB_HOSTILE_LEAVES + 1)));
}

static void edit_copy(struct crab_hostile *h, const struct edit *e)
{
	struct crab_dleaf *to = crab_hostile_leaf(h, e->leaf % CRAB_HOSTILE_LEAVES);
	struct crab_dleaf *from = crab_hostile_leaf(h, e->x % CRAB_HOSTILE_LEAVES);

	to->slots[e->at % slots_of(h)] = from->slots[e->y % slots_of(h)];
}

static void edit_shift(struct crab_hostile *h, const struct edit *e)
{
	struct crab_dslot *d = crab_hostile_leaf(h, e->leaf % CRAB_HOSTILE_LEAVES)->slots;
	u32 from = e->at % slots_of(h), tail = slots_of(h) - from - 1;

	if (e->how % 2)
		memmove(&d[from + 1], &d[from], tail * sizeof(*d));
	else
		memmove(&d[from], &d[from + 1], tail * sizeof(*d));
}

static bool is_clfb(const struct crab_hostile *h)
{
	return h->seed->engine && !strcmp(h->seed->engine, crab_engine_clfb.name);
}

static bool is_encoded(const struct crab_hostile *h)
{
	return h->seed->layout && !strcmp(h->seed->layout, "encoded");
}

/* clfb, `encoded`: a word of the line of a leaf */
static void edit_line(struct crab_hostile *h, const struct edit *e)
{
	struct crab_geometry geo = seed_geometry(h);
	u64 leaf = e->leaf % CRAB_HOSTILE_LEAVES;
	__le64 *words = (__le64 *)(h->media.base + crab_leaf_offset(&geo, leaf));

	change(h, e, words + e->at % CLFB_LINE_WORDS);
	if (!(e->verb & CRAB_HOSTILE_UNSEALED))
		crab_seal_node((u8 *)words, true, leaf | 1ULL << 63, seed_id(h));
}

/* clfb: the log line, as one of node @leaf, or a line of a node */
static void edit_node(struct crab_hostile *h, const struct edit *e)
{
	bool twin = !strcmp(h->seed->layout, "twin");
	u32 lines = 1 + CRAB_HOSTILE_LEAVES * (1 + twin), line = e->at / CLFB_LINE_WORDS % lines;
	u64 number = line ? (line - 1) / (1 + twin) : e->leaf % CRAB_HOSTILE_LEAVES;
	__le64 *words = (__le64 *)(h->media.base + CRAB_AREA_OFFSET) + line * CLFB_LINE_WORDS;

	change(h, e, words + e->at % CLFB_LINE_WORDS);
	if (!(e->verb & CRAB_HOSTILE_UNSEALED))
		crab_seal_node((u8 *)words, twin, number, seed_id(h));
}

/* A word of the list of a commit */
static void edit_commit(struct crab_hostile *h, const struct edit *e)
{
	struct crab_dcommit *list = crab_hostile_commit(h);

	change(h, e, (__le64 *)list + e->at % (sizeof(*list) / sizeof(__le64)));
	if (!(e->verb & CRAB_HOSTILE_UNSEALED))
		crab_seal_list(list, seed_id(h));
}

/* The list of a commit, or the engine's own area: the bitmap of leaves in use, or nodes */
static void edit_area(struct crab_hostile *h, const struct edit *e)
{
	if (h->seed->commits)
		return edit_commit(h, e);
	if (is_clfb(h))
		return edit_node(h, e);
	change(h, e, (__le64 *)(h->media.base + CRAB_BITMAP_OFFSET) + e->at % BITMAP_WORDS);
}

static void edit(struct crab_hostile *h, const struct edit *e)
{
	switch (e->verb % CRAB_HOSTILE_UNSEALED % CRAB_HOSTILE_VERB_KINDS) {
	case CRAB_HOSTILE_SUPER:
		return edit_super(h, e);
	case CRAB_HOSTILE_LIST:
		return edit_head(h, e, crab_hostile_list(h));
	case CRAB_HOSTILE_HEADER:
		return is_encoded(h) ? edit_line(h, e) : edit_head(h, e, leaf_head(h, e->leaf));
	case CRAB_HOSTILE_SLOT:
		return is_encoded(h) ? edit_line(h, e) : change(h, e, slot_word(h, e->leaf, e->at));
	case CRAB_HOSTILE_BITMAP:
		return edit_area(h, e);
	case CRAB_HOSTILE_LINK:
		return edit_link(h, e);
	case CRAB_HOSTILE_COPY:
		return edit_copy(h, e);
	case CRAB_HOSTILE_SHIFT:
		return edit_shift(h, e);
	default:
		return;		/* an operation */
	}
}

/* Makes the check of each link to a leaf of the pool valid */
static void relink(struct crab_hostile *h)
{
	struct crab_geometry geo = seed_geometry(h);
	struct crab_dhead *head;
	u64 number;
	u32 i;

	for (i = 0; i <= CRAB_HOSTILE_LEAVES; i++) {
		head = some_head(h, i);
		number = (le64_to_cpu(head->next) & CRAB_LINK_MASK) - 1;
		if (number < CRAB_HOSTILE_LEAVES || number == ~0ULL)
			head->next = cpu_to_le64(right_word(h, &geo, head, number));
	}
}

/* Makes the check of the root word of clfb valid */
static void reroot(struct crab_hostile *h)
{
	__le64 *word = (__le64 *)(h->media.base + CRAB_HEAD_OFFSET);
	u64 root = le64_to_cpu(*word);

	*word = cpu_to_le64(crab_clfb_root_word(seed_id(h), root & CLFB_ROOT_MASK,
						root >> CLFB_ROOT_BITS & CLFB_LEVEL_MASK));
}

void crab_hostile_edit(struct crab_hostile *h, const u8 *script, size_t len)
{
	u32 verbs = 0;
	size_t i;

	if (len < CRAB_HOSTILE_HEAD)
		return;
	for (i = CRAB_HOSTILE_HEAD; i + CRAB_HOSTILE_VERB <= len &&
	     verbs++ < CRAB_HOSTILE_VERBS; i += CRAB_HOSTILE_VERB)
		edit(h, (const struct edit *)&script[i]);
	if (!(script[1] & CRAB_HOSTILE_RAW)) {
		if (is_clfb(h))
			reroot(h);
		else
			relink(h);
	}
	if (script[1] & CRAB_HOSTILE_SMALLER)
		h->media.size -= h->leaf_bytes;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements states: reading a media into one, and writing it back.
 *
 * Invariant: a state that is written, read and encoded is the same state.
 *
 * Locking: one thread.
 */
#include <linux/crc32.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "engines/crab/crab.h"
#include "state.h"

#define SUPER_WORDS	(sizeof(struct crab_dsuper) / sizeof(__le64))
#define SUPER_SEQUENCE	1000

/* Codes of keys and values in a state; below them: which one of the alphabet */
#define CODE_NONE	0x20	/* key: free */
#define CODE_OWN	0x20	/* value: the leaf's void ... */
#define CODE_VOID	0x40	/* ... that of leaf 0, 1, ... of the list */

u64 state_void(u32 i)
{
	return 0xc0de0000ULL + i;
}

u32 state_key_index(const struct space *space, u64 key)
{
	u32 i;

	for (i = 0; i < space->keys && state_key(space, i) != key; i++)
		;
	return i;
}

static u32 super_crc(const struct crab_dsuper *super)
{
	struct crab_dsuper d = *super;

	d.crc = 0;
	return ~crab_crc32c(~0U, &d, sizeof(d));
}

static enum state_super super_read(const struct crab_media *media, u32 copy, u64 *sequence)
{
	const __le64 *from = (const __le64 *)(media->base + copy * CRAB_SUPER_STRIDE);
	struct crab_dsuper d;
	bool magic;
	u32 i;

	for (i = 0; i < SUPER_WORDS; i++)
		((__le64 *)&d)[i] = cpu_to_le64(crab_load(media, from + i));
	*sequence = le64_to_cpu(d.sequence);
	magic = le64_to_cpu(d.magic) == CRAB_MAGIC;
	d.magic = cpu_to_le64(CRAB_MAGIC);
	if (le32_to_cpu(d.crc) != super_crc(&d))
		return magic ? SUPER_TORN : SUPER_VOID;
	if (!magic)
		return SUPER_ASLEEP;
	return le32_to_cpu(d.state) == CRAB_SUPER_STATE_CLEAN ? SUPER_CLEAN : SUPER_ATTACHED;
}

static void picture_supers(struct picture *p, const struct crab_media *media)
{
	u64 sequence[CRAB_SUPER_COPIES];
	u32 i;

	for (i = 0; i < CRAB_SUPER_COPIES; i++)
		p->super[i] = super_read(media, i, &sequence[i]);
	p->blank = p->super[0] > SUPER_ATTACHED && p->super[1] > SUPER_ATTACHED;
	p->newest = p->super[0] > SUPER_ATTACHED ||
		    (p->super[1] <= SUPER_ATTACHED && sequence[1] > sequence[0]);
}

static void leaf_read(struct picture_leaf *leaf, const struct space *space,
		      const struct crab_geometry *geo, const struct crab_media *media)
{
	const struct crab_dleaf *d =
		(const void *)(media->base + crab_leaf_offset(geo, leaf->number));
	struct crab_record *r;

	leaf->low = crab_load(media, &d->head.low);
	leaf->void_value = crab_load(media, &d->head.void_value);
	for (leaf->slots = 0; leaf->slots < space->slots; ) {
		r = &leaf->slot[leaf->slots];
		r->key = crab_load(media, &d->slots[leaf->slots].key);
		if (space_is_sorted(space) && r->key == CRAB_KEY_EMPTY)
			break;
		r->value = crab_load(media, &d->slots[leaf->slots++].value);
	}
}

const char *picture_read(struct picture *p, const struct space *space,
			 const struct crab_geometry *geo, const struct crab_media *media)
{
	const struct crab_dhead *head = (const void *)(media->base + CRAB_HEAD_OFFSET);
	struct picture_leaf *leaf;
	u64 number;

	p->leaves = 0;
	picture_supers(p, media);
	if (p->blank)
		return NULL;
	while ((number = crab_load(media, &head->next) & CRAB_LINK_MASK)) {
		if (number > geo->leaves || p->leaves == STATE_LEAVES)
			return "a link out of the pool, or a ring";
		leaf = &p->leaf[p->leaves++];
		leaf->number = number - 1;
		leaf_read(leaf, space, geo, media);
		head = (const void *)(media->base + crab_leaf_offset(geo, leaf->number));
	}
	return p->leaves ? NULL : "no leaf";
}

static const char *content_add(struct content *content, const struct space *space,
			       const struct crab_record *r)
{
	u32 key = state_key_index(space, r->key);

	if (key == space->keys)
		return "a foreign key";
	if (content->there[key])
		return "a key twice";
	content->there[key] = true;
	content->value[key] = r->value;
	return NULL;
}

/* The least first key behind leaf @i; a sorted record at or above it is void */
static u64 sorted_bound(const struct picture *p, u32 i)
{
	while (++i < p->leaves)
		if (p->leaf[i].slots)
			return p->leaf[i].slot[0].key;
	return CRAB_KEY_EMPTY;
}

static bool slot_is_live(const struct picture *p, const struct space *space, u32 leaf, u32 slot,
			 u64 bound)
{
	const struct picture_leaf *l = &p->leaf[leaf];
	const struct crab_record *r = &l->slot[slot];

	if (!space_is_sorted(space))
		return r->key != CRAB_KEY_EMPTY && r->value != l->void_value;
	return r->key < bound && !(slot + 1 < l->slots && r[1].key == r->key);
}

const char *picture_content(const struct picture *p, const struct space *space,
			    struct content *content)
{
	const char *what = NULL;
	u32 leaf, slot;
	u64 bound;

	memset(content, 0, sizeof(*content));
	for (leaf = 0; leaf < p->leaves; leaf++) {
		bound = sorted_bound(p, leaf);
		for (slot = 0; slot < p->leaf[leaf].slots && !what; slot++)
			if (slot_is_live(p, space, leaf, slot, bound))
				what = content_add(content, space, &p->leaf[leaf].slot[slot]);
	}
	return what;
}

static u8 value_code(const struct picture *p, const struct space *space, u32 leaf, u64 value)
{
	u32 i;

	if (space_is_sorted(space))
		return value && value <= STATE_VALUES ? value - 1 : CODE_OWN;
	if (value == p->leaf[leaf].void_value)
		return CODE_OWN;
	for (i = 0; i < p->leaves; i++)
		if (value == p->leaf[i].void_value)
			return CODE_VOID + i;
	return value == 1 ? 0 : 1;
}

static void state_add(struct state *state, u8 byte)
{
	state->byte[state->len++] = byte;
}

static const char *encode_leaf(const struct picture *p, const struct space *space, u32 leaf,
			       struct state *state)
{
	const struct picture_leaf *l = &p->leaf[leaf];
	u32 slot, key, low = state_key_index(space, l->low);

	if (state->len + 2 + 2 * l->slots > STATE_BYTES)
		return "more than a state can hold";
	if (low == space->keys)
		return "a foreign least key";
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

const char *picture_encode(const struct picture *p, const struct space *space,
			   struct state *state)
{
	u32 newest = p->blank ? 0 : p->newest, i;
	const char *what = NULL;

	state->len = 0;
	state_add(state, p->super[newest]);
	state_add(state, p->super[!newest]);
	for (i = 0; i < p->leaves && !what; i++)
		what = encode_leaf(p, space, i, state);
	return what;
}

/* Writing */

static void super_write(struct crab_flow *flow, u32 copy, enum state_super kind,
			const struct crab_dsuper *like)
{
	__le64 *to = (__le64 *)(flow->media->base + copy * CRAB_SUPER_STRIDE);
	struct crab_dsuper d = *like;
	u32 i;

	d.magic = cpu_to_le64(CRAB_MAGIC);
	d.sequence = cpu_to_le64(SUPER_SEQUENCE - copy);
	d.state = cpu_to_le32(kind == SUPER_CLEAN ? CRAB_SUPER_STATE_CLEAN :
						    CRAB_SUPER_STATE_ATTACHED);
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

static void slot_write(struct crab_flow *flow, struct crab_dslot *slot, u64 key, u64 value)
{
	crab_store(flow, &slot->key, key);
	crab_store(flow, &slot->value, value);
}

static u64 code_value(u8 code, u32 leaf)
{
	if (code < STATE_VALUES)
		return code + 1;
	return state_void(code == CODE_OWN ? leaf : code - CODE_VOID);
}

/* What stands in a slot where nobody looks */
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
	crab_shadow_open(flow->media->shadow, &slot->key, keys, n + 1);
}

/* Leaf @i of the list, or, without @at, a free one; returns what is behind it in the state */
static const u8 *leaf_write(struct crab_flow *flow, const struct space *space,
			    const struct crab_geometry *geo, u32 i, bool last, const u8 *at)
{
	struct crab_dleaf *d = (void *)(flow->media->base + crab_leaf_offset(geo, i));
	struct crab_head head = {
		.self = crab_leaf_offset(geo, i), .birth = i + 1, .void_value = state_void(i),
		.low = at ? state_key(space, *at) : 0,
	};
	u32 slot, slots = at ? at[1] : 0;

	head.next = at && !last ? crab_link_to(geo, i + 1, i + 2) :
				  crab_link_end(geo->store_id, head.self, head.birth);
	/* A free sorted leaf has no header: or attach would read its first key, for nothing */
	crab_head_store(flow, geo->store_id + (!at && space_is_sorted(space)), &head);
	for (slot = 0; slot < slots; slot++)
		slot_write(flow, &d->slots[slot],
			   at[2 + 2 * slot] == CODE_NONE ? CRAB_KEY_EMPTY :
							   state_key(space, at[2 + 2 * slot]),
			   code_value(at[3 + 2 * slot], i));
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

void state_write(const struct state *state, const struct space *space,
		 const struct crab_geometry *geo, struct crab_media *media,
		 const struct crab_dsuper *super)
{
	struct crab_flow flow = { .media = media };
	const u8 *at = state->byte + CRAB_SUPER_COPIES, *end = state->byte + state->len;
	u32 i;

	for (i = 0; i < CRAB_SUPER_COPIES; i++)
		super_write(&flow, i, state->byte[i], super);
	head_write(&flow, geo);
	for (i = 0; at < end; i++)
		at = leaf_write(&flow, space, geo, i, at + 2 + 2 * at[1] == end, at);
	for (; i < geo->leaves; i++)
		leaf_write(&flow, space, geo, i, true, NULL);
}

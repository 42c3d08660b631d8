// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements an independent decoder of the media of the engine `fastfair`: it decodes the
 * nodes by the rules of format.rst, into a content and into a canonical state, and writes states.
 *
 * DOC: canonical states of fastfair
 *
 * A state has one byte for the number of levels. Then for each level, from the root's down: the
 * number of nodes, and for each node the number of its lowest key, the number of its slots up to the
 * end, and each slot: the number of its key, and the number of its value or of the node that it
 * links. It omits the following, because the code does not depend on it:
 *
 *   places      Nodes are numbered in the order of the state.
 *   births      1, 2, ... in the same order.
 *   first       It links the node with the same lowest key; any other word is a fault.
 *   free blocks Attach does not read them. Their slots, and those after the end of a node, may have
 *               any key that was ever stored, or none: crab_shadow_open() tries all of them.
 *
 * Locking: one thread.
 */
#include <linux/kernel.h>
#include <linux/string.h>

#include "engines/fastfair/fastfair.h"
#include "fastfair_driver.h"
#include "state.h"

#define IMAGE_NODES	16
#define IMAGE_LEVELS	5
#define IMAGE_SLOTS	12
#define CODE_ELSEWHERE	0xfe	/* a link to no node of the level below */
#define LINK_ELSEWHERE	0xdead0000dead0000ULL

struct image_node {
	u64 link;
	u64 low;
	u64 first;
	u32 slots;
	struct crab_record slot[IMAGE_SLOTS];
};

struct image_level {
	u32 nodes;
	struct image_node node[IMAGE_NODES];
};

/* The levels from the root down */
struct image {
	u32 levels;
	struct image_level level[IMAGE_LEVELS];
};

static const struct ff_dnode *node_of(const struct crab_geometry *geo,
				      const struct crab_media *media, u64 link)
{
	return (const void *)(media->base + crab_leaf_offset(geo, (link & CRAB_LINK_MASK) - 1));
}

static void node_read(struct image_node *node, const struct space *space,
		      const struct crab_media *media, const struct ff_dnode *d)
{
	struct crab_record *r;

	node->low = crab_load(media, &d->head.low);
	node->first = crab_load(media, &d->first);
	for (node->slots = 0; node->slots < space->slots; node->slots++) {
		r = &node->slot[node->slots];
		r->key = crab_load(media, &d->slot[node->slots].key);
		if (r->key == CRAB_KEY_EMPTY)
			break;
		r->value = crab_load(media, &d->slot[node->slots].value);
	}
}

/* The list of a level, from its first node on */
static const char *level_read(struct image_level *level, const struct space *space,
			      const struct crab_geometry *geo, const struct crab_media *media,
			      u64 link, u64 number)
{
	const struct ff_dnode *d;

	for (level->nodes = 0; link & CRAB_LINK_MASK; link = crab_load(media, &d->head.next)) {
		if ((link & CRAB_LINK_MASK) > geo->leaves || level->nodes == IMAGE_NODES)
			return "a link out of the pool, or a ring";
		d = node_of(geo, media, link);
		if (crab_load(media, &d->head.own) != number)
			return "a node of another level";
		level->node[level->nodes].link = link;
		node_read(&level->node[level->nodes++], space, media, d);
	}
	return level->nodes ? NULL : "a level without a node";
}

static const char *image_read(struct image *p, const struct space *space,
			      const struct crab_geometry *geo, const struct crab_media *media)
{
	u64 link = crab_load(media, (const __le64 *)(media->base + CRAB_HEAD_OFFSET)), number;
	const char *what = NULL;
	u32 i;

	if ((link & CRAB_LINK_MASK) - 1 >= geo->leaves)
		return "the head links no root";
	number = crab_load(media, &node_of(geo, media, link)->head.own);
	if (number >= IMAGE_LEVELS)
		return "more levels than fit";
	p->levels = number + 1;
	for (i = 0; i < p->levels && !what; i++) {
		what = level_read(&p->level[i], space, geo, media, link, number - i);
		link = p->level[i].node[0].first;
	}
	return what;
}

/* One past the highest key that node @i may have */
static u64 level_bound(const struct image_level *level, u32 i)
{
	return i + 1 < level->nodes ? level->node[i + 1].low : CRAB_KEY_EMPTY;
}

static const char *image_content(const struct image *p, const struct space *space,
				 struct content *content)
{
	const struct image_level *leaves = &p->level[p->levels - 1];
	const struct crab_record *r;
	const char *what = NULL;
	u32 i, slot;

	for (i = 0; i < leaves->nodes; i++) {
		for (slot = 0; slot < leaves->node[i].slots && !what; slot++) {
			r = &leaves->node[i].slot[slot];
			if (slot + 1 < leaves->node[i].slots && r[1].key == r->key)
				continue;
			if (r->key < level_bound(leaves, i))
				what = content_add(content, space, r);
		}
	}
	return what;
}

/* The number of the node that a word links in the level below */
static u8 link_code(const struct image_level *below, u64 link)
{
	u32 i;

	for (i = 0; i < below->nodes; i++)
		if (below->node[i].link == link)
			return i;
	return CODE_ELSEWHERE;
}

static const char *encode_slot(const struct image_level *below, const struct space *space,
			       const struct crab_record *r, struct state *state)
{
	u32 key = state_key_index(space, r->key);

	if (key == space->keys)
		return "a foreign key in a slot";
	if (!below && r->value - 1 >= STATE_VALUES)
		return "a foreign value";
	state_add(state, key);
	state_add(state, below ? link_code(below, r->value) : r->value - 1);
	return NULL;
}

static const char *encode_node(const struct image_level *below, const struct space *space,
			       const struct image_node *node, struct state *state)
{
	u32 low = state_key_index(space, node->low), i;
	const char *what = NULL;
	u8 first;

	if (state->len + 2 + 2 * node->slots > STATE_BYTES)
		return "more than a state can hold";
	if (low == space->keys)
		return "a foreign lowest key";
	if (below) {
		first = link_code(below, node->first);
		if (first == CODE_ELSEWHERE || below->node[first].low != node->low)
			return "`first` links no node with the same lowest key";
	} else if (node->first) {
		return "`first` of a leaf is not 0";
	}
	state_add(state, low);
	state_add(state, node->slots);
	for (i = 0; i < node->slots && !what; i++)
		what = encode_slot(below, space, &node->slot[i], state);
	return what;
}

const char *fastfair_image_read(const struct space *space, const struct crab_geometry *geo,
				const struct crab_media *media, struct content *content,
				struct state *state)
{
	const struct image_level *below;
	struct image image;
	const char *what = image_read(&image, space, geo, media);
	u32 i, n;

	if (what)
		return what;
	what = image_content(&image, space, content);
	state_add(state, image.levels);
	for (i = 0; i < image.levels && !what; i++) {
		below = i + 1 < image.levels ? &image.level[i + 1] : NULL;
		state_add(state, image.level[i].nodes);
		for (n = 0; n < image.level[i].nodes && !what; n++)
			what = encode_node(below, space, &image.level[i].node[n], state);
	}
	return what;
}

/* Writing */

/* Where the levels and nodes of an encoded state are */
struct plan {
	u32 levels;
	u32 nodes[IMAGE_LEVELS];
	u32 number[IMAGE_LEVELS];		/* of the first node of a level */
	const u8 *at[IMAGE_LEVELS][IMAGE_NODES];
};

static void plan_make(struct plan *plan, const u8 *at)
{
	u32 i, n, number = 0;

	plan->levels = *at++;
	for (i = 0; i < plan->levels; i++) {
		plan->nodes[i] = *at++;
		plan->number[i] = number;
		number += plan->nodes[i];
		for (n = 0; n < plan->nodes[i]; n++) {
			plan->at[i][n] = at;
			at += 2 + 2 * at[1];
		}
	}
}

static u64 link_to(const struct crab_geometry *geo, u32 number)
{
	return crab_link_to(geo, number, number + 1);
}

/* The link of node @n of a level */
static u64 plan_link(const struct plan *plan, const struct crab_geometry *geo, u32 level, u32 n)
{
	return n == CODE_ELSEWHERE ? LINK_ELSEWHERE : link_to(geo, plan->number[level] + n);
}

static u64 plan_first(const struct plan *plan, const struct crab_geometry *geo, u32 level, u32 n)
{
	u32 i;

	if (level + 1 == plan->levels)
		return 0;
	for (i = 0; plan->at[level + 1][i][0] != plan->at[level][n][0]; i++)
		;
	return plan_link(plan, geo, level + 1, i);
}

static void slot_write(struct crab_flow *flow, struct ff_dslot *slot, u64 key, u64 value)
{
	crab_store(flow, &slot->key, key);
	crab_store(flow, &slot->value, value);
}

/* Fills slots that the code must not use */
static void slots_junk(struct crab_flow *flow, const struct space *space, struct ff_dnode *d,
		       u32 slot)
{
	u64 keys[STATE_KEYS + 1] = { CRAB_KEY_EMPTY };
	u32 n, from = slot;

	for (n = 0; n < space->keys; n++)
		keys[n + 1] = state_key(space, n);
	for (; slot < space->slots; slot++)
		slot_write(flow, &d->slot[slot], state_key(space, slot % space->keys), STATE_STALE);
	crab_clean(flow, d, space->leaf_bytes);
	crab_fence(flow, CRAB_P7_FRESH);
	for (slot = from; slot < space->slots; slot++)
		crab_shadow_open(flow->media->hooks.shadow, &d->slot[slot].key, keys, n + 1);
}

static void node_write(struct crab_flow *flow, const struct space *space,
		       const struct crab_geometry *geo, const struct plan *plan, u32 level, u32 n)
{
	u32 number = plan->number[level] + n, slot;
	struct ff_dnode *d = (void *)(flow->media->base + crab_leaf_offset(geo, number));
	const u8 *at = plan->at[level][n], *code = at + 2;
	struct crab_head head = {
		.self = crab_leaf_offset(geo, number), .birth = number + 1,
		.low = state_key(space, at[0]), .own = plan->levels - 1 - level,
	};
	bool leaf = level + 1 == plan->levels;

	head.next = n + 1 < plan->nodes[level] ? link_to(geo, number + 1) :
		    crab_link_end(geo->store_id, head.self, head.birth);
	crab_head_store(flow, geo->store_id, &head);
	crab_store(flow, &d->first, plan_first(plan, geo, level, n));
	crab_store(flow, &d->zero, 0);
	for (slot = 0; slot < at[1]; slot++, code += 2)
		slot_write(flow, &d->slot[slot], state_key(space, code[0]),
			   leaf ? code[1] + 1 : plan_link(plan, geo, level + 1, code[1]));
	if (slot < space->slots)
		slot_write(flow, &d->slot[slot++], CRAB_KEY_EMPTY, STATE_STALE);
	slots_junk(flow, space, d, slot);
}

void fastfair_image_write(const struct space *space, const struct crab_geometry *geo,
			  struct crab_media *media, const u8 *at, const u8 *end)
{
	struct crab_head head = { .self = CRAB_HEAD_OFFSET, .next = link_to(geo, 0) };
	struct crab_flow flow = { .media = media };
	struct plan plan = { };
	u32 level, n, number = 0;

	if (at < end)
		plan_make(&plan, at);
	crab_head_store(&flow, geo->store_id, &head);
	crab_clean(&flow, media->base + CRAB_HEAD_OFFSET, sizeof(struct crab_dhead));
	for (level = 0; level < plan.levels; level++)
		for (n = 0; n < plan.nodes[level]; n++, number++)
			node_write(&flow, space, geo, &plan, level, n);
	for (; number < geo->leaves; number++)
		slots_junk(&flow, space, (void *)(media->base + crab_leaf_offset(geo, number)), 0);
	crab_fence(&flow, CRAB_P7_FRESH);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the inner nodes.
 */

/**
 * DOC: inner nodes of nvtree
 *
 * All inner nodes are in one array in memory, without pointers. The last nodes, the parent nodes,
 * have sorted entries (lowest key, number of a leaf). Above them there are only keys: a level is an
 * array with the lowest key of each node of the level below, and node n of a level has the keys
 * from n * fanout on. So the number of a child is a sum, a level has no gaps, and a node that does
 * not exist takes no memory (Yang et al. 2015, section 3.2.2, number the nodes of the complete
 * tree instead, whose last levels can be mostly empty).
 *
 * The levels above the parent nodes never change. A split adds an entry to a parent node. If that
 * is full, new inner nodes are built from the entries of the old ones, with room in every parent
 * node, before the first store of the insert, and replace the old ones by RCU. Writers append to
 * leaves meanwhile. Parent nodes with one entry each, as published, take as much memory as the
 * leaves. A rebuild that finds too little of it makes fewer ones, with more entries.
 *
 * Removed entries can leave a parent node empty, or without an entry for the lowest keys that lead
 * to it. The last entry before it then counts: the leaf that it names may be split there, so that
 * an earlier parent node has entries above the lowest key that leads to a later one. A reader that
 * goes back validates by nv_inner.seq, any other by the sequence count of the parent node. After
 * many deletes most parent nodes can be empty: a search passes a few of them one by one, and the
 * others by nv_inner.busy.
 *
 * Invariants: the entries of all parent nodes ascend; the lowest one is never removed; an entry
 * names a leaf in use, or a gap in a damaged list.
 *
 * Locking: nv_tree.smo_lock for changes; entries change under nv_tree.inner_lock, too.
 */
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/lockdep.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "inner.h"

#define INNER_BREATHE	1023	/* entries between two cond_resched(), as a mask */
#define INNER_NEAR	8U	/* parent nodes that a search passes one by one */

/* A rebuild allocates as much as all leaves have: it fails before it takes the last free pages */
#define INNER_GFP	(GFP_NOIO | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

/* The first of the keys from @from to @to that is above @key */
static u64 key_above(const u64 *keys, u64 from, u64 to, u64 key)
{
	u64 mid;

	while (from < to) {
		mid = from + (to - from) / 2;
		if (keys[mid] <= key)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

/* The parent node to which a key leads */
static u64 inner_route(const struct nv_inner *inner, u64 key)
{
	u64 n = 0, from, above;
	u32 level;

	for (level = inner->levels; level; level--) {
		from = n * inner->fanout;
		above = key_above(inner->key + inner->keys[level], from,
				  min(from + inner->fanout, inner->nodes[level - 1]), key);
		n = above > from ? above - 1 : from;
	}
	return n;
}

static u32 parent_count(const struct nv_inner *inner, u64 n)
{
	return min(READ_ONCE(nv_parent(inner, n)->count), inner->entries);
}

/* Entries of a parent node whose keys are not above @key */
static u32 parent_search(const struct nv_inner *inner, u64 n, u64 key)
{
	const struct nv_parent *parent = nv_parent(inner, n);
	u32 from = 0, to = parent_count(inner, n), mid;

	while (from < to) {
		mid = (from + to) / 2;
		if (READ_ONCE(parent->entry[mid].low) <= key)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

/* The parent node before @n, which is not the first. Past some of them, empty ones are left out */
static u64 parent_before(const struct nv_inner *inner, u64 n, u32 passed)
{
	u64 before;

	if (likely(passed < INNER_NEAR))
		return n - 1;
	/* The caller validates by nv_inner.seq */
	before = data_race(crab_numset_before(&inner->busy, n));
	return min(before, n - 1);
}

/* The one after @n, in the same way; the number of parent nodes: there is none */
static u64 parent_after(const struct nv_inner *inner, u64 n, u32 passed)
{
	u64 after;

	if (likely(passed < INNER_NEAR))
		return n + 1;
	/* The caller validates by nv_inner.seq */
	after = data_race(crab_numset_after(&inner->busy, n));
	return after > n ? after : inner->nodes[0];
}

/* As parent_search(); goes back to an earlier parent node if there is no such entry */
static u32 inner_search(const struct nv_inner *inner, u64 *n, u64 key)
{
	u32 pos = parent_search(inner, *n, key), passed = 0;

	while (unlikely(!pos && *n)) {
		*n = parent_before(inner, *n, passed++);
		pos = parent_search(inner, *n, key);
	}
	return pos;
}

/* The key of the first entry from @pos on, or the reserved key */
static u64 inner_high(const struct nv_inner *inner, u64 n, u32 pos)
{
	u32 passed = 0;

	for (; n < inner->nodes[0]; n = parent_after(inner, n, passed++), pos = 0)
		if (pos < parent_count(inner, n))
			return READ_ONCE(nv_parent(inner, n)->entry[pos].low);
	return CRAB_KEY_EMPTY;
}

void crab_nv_inner_look(const struct nv_inner *inner, u64 key, struct nv_entry *entry, u64 *high,
			const seqcount_spinlock_t **seq, unsigned int *at)
{
	u64 n = inner_route(inner, key);
	u32 pos;

	*seq = high ? &inner->seq : &nv_parent(inner, n)->seq;
	*at = raw_seqcount_begin(*seq);
	pos = parent_search(inner, n, key);
	if (unlikely(!pos)) {
		*seq = &inner->seq;
		*at = raw_seqcount_begin(*seq);
		pos = inner_search(inner, &n, key);
	}
	if (high)
		*high = inner_high(inner, n, pos);
	entry->leaf = NV_LEAF_NOWHERE;
	if (unlikely(!pos))	/* a change is under way */
		return;
	entry->low = READ_ONCE(nv_parent(inner, n)->entry[pos - 1].low);
	entry->leaf = READ_ONCE(nv_parent(inner, n)->entry[pos - 1].leaf);
}

static struct nv_inner *inner_of(const struct nv_tree *tree)
{
	lockdep_assert_held(&tree->smo_lock);
	return rcu_dereference_protected(tree->inner, true);
}

/* Under smo_lock: the parent node with the entry of a key, and the number of entries up to it */
static struct nv_parent *inner_at(const struct nv_tree *tree, struct nv_inner **inner, u64 key,
				  u32 *pos)
{
	u64 n;

	*inner = inner_of(tree);
	n = inner_route(*inner, key);
	*pos = inner_search(*inner, &n, key);
	return nv_parent(*inner, n);
}

bool crab_nv_inner_has_room(const struct nv_tree *tree, u64 key)
{
	struct nv_inner *inner;
	u32 pos;

	return inner_at(tree, &inner, key, &pos)->count < inner->entries;
}

/* Readers of the entries of @parent begin again */
static void inner_begin(struct nv_tree *tree, struct nv_inner *inner, struct nv_parent *parent)
	__acquires(&tree->inner_lock)
{
	crab_lock(&tree->inner_lock);
	raw_write_seqcount_begin(&inner->seq);
	raw_write_seqcount_begin(&parent->seq);
}

static void inner_end(struct nv_tree *tree, struct nv_inner *inner, struct nv_parent *parent)
	__releases(&tree->inner_lock)
{
	raw_write_seqcount_end(&parent->seq);
	raw_write_seqcount_end(&inner->seq);
	crab_unlock(&tree->inner_lock);
}

static void entry_put(struct nv_entry *to, u64 low, u64 leaf)
{
	WRITE_ONCE(to->low, low);
	WRITE_ONCE(to->leaf, leaf);
}

/* Counts the lines that a durable shift of so many entries would clean, and its fence */
static void inner_cost(struct nv_tree *tree, u32 entries)
{
	u64 lines = DIV_ROUND_UP(entries * sizeof(struct nv_entry), CRAB_LINE) + 1;

	crab_count(&tree->base, own[NV_INNER_LINES], lines);
	crab_count(&tree->base, own[NV_INNER_FENCES], 1);
}

/* Adds an entry at @pos; there is room */
static void parent_add(struct nv_tree *tree, const struct nv_inner *inner,
		       struct nv_parent *parent, u32 pos, const struct nv_entry *entry)
{
	u32 i;

	for (i = parent->count; i > pos; i--)
		entry_put(&parent->entry[i], parent->entry[i - 1].low, parent->entry[i - 1].leaf);
	entry_put(&parent->entry[pos], entry->low, entry->leaf);
	WRITE_ONCE(parent->count, parent->count + 1);
	if (parent->count * 4 >= inner->entries * 3)
		WRITE_ONCE(tree->dense, true);
	inner_cost(tree, parent->count - pos);
}

void crab_nv_inner_replace(struct nv_tree *tree, u64 low, u64 leaf, const struct nv_entry *more)
{
	struct nv_inner *inner;
	u32 pos;
	struct nv_parent *parent = inner_at(tree, &inner, low, &pos);

	inner_begin(tree, inner, parent);
	WRITE_ONCE(parent->entry[pos - 1].leaf, leaf);
	if (more)
		parent_add(tree, inner, parent, pos, more);
	inner_end(tree, inner, parent);
}

/* A parent node without entries gets none before the next rebuild */
static void parent_emptied(struct nv_inner *inner, const struct nv_parent *parent)
{
	size_t offset = (const u8 *)parent - (const u8 *)nv_parent(inner, 0);

	crab_numset_remove(&inner->busy, offset / inner->stride);
}

void crab_nv_inner_remove(struct nv_tree *tree, u64 low)
{
	struct nv_inner *inner;
	u32 pos, i;
	struct nv_parent *parent = inner_at(tree, &inner, low, &pos);

	inner_begin(tree, inner, parent);
	for (i = pos; i < parent->count; i++)
		entry_put(&parent->entry[i - 1], parent->entry[i].low, parent->entry[i].leaf);
	WRITE_ONCE(parent->count, parent->count - 1);
	if (!parent->count)
		parent_emptied(inner, parent);
	inner_cost(tree, parent->count - pos + 1);
	inner_end(tree, inner, parent);
}

static u32 inner_entries(const struct nv_tree *tree)
{
	return CRAB_NV_ENTRIES(tree->base.geo.leaf_bytes);
}

/* Sets the geometry; returns the bytes */
static size_t inner_plan(struct nv_inner *inner, const struct nv_tree *tree, u64 count, u32 pack)
{
	u64 keys = 0, words;
	u32 level;

	memset(inner, 0, sizeof(*inner));
	inner->entries = inner_entries(tree);
	inner->fanout = CRAB_NV_FANOUT(tree->base.geo.leaf_bytes);
	inner->nodes[0] = DIV_ROUND_UP_ULL(count, pack);
	for (level = 0; inner->nodes[level] > 1; level++) {
		inner->keys[level + 1] = keys;
		keys += inner->nodes[level];
		inner->nodes[level + 1] = DIV_ROUND_UP_ULL(inner->nodes[level], inner->fanout);
	}
	inner->levels = level;
	inner->stride = round_up(offsetof(struct nv_parent, entry[inner->entries]), CRAB_LINE);
	inner->parents = round_up(offsetof(struct nv_inner, key) + keys * sizeof(u64), CRAB_LINE);
	words = crab_numset_plan(&inner->busy, inner->nodes[0]);
	inner->bytes = inner->parents + inner->nodes[0] * inner->stride + words * sizeof(long);
	return inner->bytes;
}

static const struct nv_entry *list_next(struct nv_list *list)
{
	const struct nv_parent *parent;

	if (list->entry)
		return &list->entry[list->pos++];
	for (;;) {
		parent = nv_parent(list->inner, list->parent);
		if (list->pos < parent->count)
			return &parent->entry[list->pos++];
		list->parent++;
		list->pos = 0;
	}
}

/* The lowest keys of a level are those of every @fanout-th node below, as of the list's entries */
static void inner_fill_keys(struct nv_inner *inner)
{
	const u64 *below;
	u32 level;
	u64 n;

	for (level = 2; level <= inner->levels; level++) {
		below = inner->key + inner->keys[level - 1];
		for (n = 0; n < inner->nodes[level - 1]; n++)
			inner->key[inner->keys[level] + n] = below[n * inner->fanout];
	}
}

/* An empty set of parent nodes, in the words after them */
static void inner_clear(struct nv_inner *inner)
{
	inner->busy.words = (unsigned long *)nv_parent(inner, inner->nodes[0]);
	memset(inner->busy.words, 0, (u8 *)inner + inner->bytes - (u8 *)inner->busy.words);
}

static void inner_fill(struct nv_tree *tree, struct nv_inner *inner, struct nv_list *list, u32 pack)
{
	struct nv_parent *parent;
	u64 n, left = list->count;
	u32 i;

	for (n = 0; n < inner->nodes[0]; n++) {
		parent = nv_parent(inner, n);
		seqcount_spinlock_init(&parent->seq, &tree->inner_lock);
		parent->count = min_t(u64, left, pack);
		crab_numset_add(&inner->busy, n);
		for (i = 0; i < parent->count; i++)
			parent->entry[i] = *list_next(list);
		left -= parent->count;
		if (inner->levels)
			inner->key[n] = parent->entry[0].low;
		if (!(n & INNER_BREATHE))
			cond_resched();
	}
	inner_fill_keys(inner);
}

struct nv_inner *crab_nv_inner_build(struct nv_tree *tree, struct nv_list *list, u32 pack,
				     gfp_t gfp)
{
	struct nv_inner plan, *inner;

	inner = __vmalloc(inner_plan(&plan, tree, list->count, pack), gfp);
	if (!inner)
		return NULL;
	memcpy(inner, &plan, sizeof(plan));
	seqcount_spinlock_init(&inner->seq, &tree->inner_lock);
	inner_clear(inner);
	inner_fill(tree, inner, list, pack);
	return inner;
}

u32 crab_nv_inner_pack(const struct nv_tree *tree, bool dense)
{
	u32 pack = tree->tuning.pack;

	if (!pack && dense)
		pack = inner_entries(tree) / 4;
	return clamp(pack, 1U, inner_entries(tree) - 1);
}

/* Without memory for so many parent nodes, as many as after attach; else the fewest with room */
static struct nv_inner *inner_build(struct nv_tree *tree, struct nv_list *list, u32 pack)
{
	u32 entries = inner_entries(tree), i;
	const u32 packs[] = { pack, max(pack, entries / 4), entries - 1 };
	struct nv_inner *inner = NULL;

	for (i = 0; i < ARRAY_SIZE(packs) && !inner; i++)
		inner = crab_nv_inner_build(tree, list, packs[i], INNER_GFP);
	return inner;
}

int crab_nv_inner_rebuild(struct nv_tree *tree)
{
	struct nv_inner *old = inner_of(tree);
	struct nv_list list = { .inner = old, .count = tree->leaves };	/* no write: no gaps */
	u32 pack = crab_nv_inner_pack(tree, 2 * tree->appends > tree->recent);
	struct nv_inner *inner;
	u64 began = ktime_get_ns();

	inner = inner_build(tree, &list, pack);
	if (!inner)
		return -ENOMEM;
	rcu_assign_pointer(tree->inner, inner);
	kvfree_rcu(old, rcu);
	WRITE_ONCE(tree->dense, false);
	tree->recent = 0;
	tree->appends = 0;
	crab_count(&tree->base, own[NV_REBUILDS], 1);
	crab_count(&tree->base, own[NV_REBUILT], list.count);
	crab_count(&tree->base, own[NV_REBUILD_NS], ktime_get_ns() - began);
	return 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the option `instant`: a clean detach parks the entries of the parent nodes,
 * and attach reads them instead of the leaves. Only test builds have it.
 */

/**
 * DOC: parked inner nodes of nvtree
 *
 * Yang et al. 2015, section 3.2.6, flush the inner nodes at a clean stop, then a root pointer and a
 * flag, and reset the flag at the next start. Here the last step of a clean detach is:
 *
 *   write the entries (lowest key, link) of all leaves to free blocks, linked to each other
 *   P16  they are durable
 *   write the superblock: "clean", and in engine_root the link to the first block
 *   P3   it is durable
 *
 * Attach writes a superblock "attached" whose engine_root is 0 before the first operation (P3), so
 * that root and flag are one copy with one crc.
 *
 *   power is cut          on the media                          the next attach
 *   before P16            "attached", root 0; any words in      reads all leaves
 *                         free blocks
 *   from P16 to P3        "attached", root 0, or the copy is    reads all leaves
 *                         damaged, and the other one counts
 *   after P3              "clean" with the root                 may believe the blocks
 *   attach, before P3     the same, or "attached", root 0       believes them, or reads all leaves
 *   attach, after P3      "attached", root 0                    reads all leaves
 *
 * P16 is necessary in spite of the crc: the blocks can hold entries that an earlier detach parked
 * under the same births, because an unlink changes the list and takes no birth.
 *
 * Attach believes the blocks only if all of this holds: both superblocks are valid; no memory is
 * known to be unreadable; each link names a block of this birth, and births ascend by one; the crc
 * of each block holds; the lowest keys ascend from 0; no leaf occurs twice; the head of the list
 * leads to the first leaf. Otherwise it reads the leaves. If there are too few free blocks, nothing
 * is parked, and the root is 0.
 *
 * The first access to a leaf reads it whole: its header must have the birth of its parked link and
 * the lowest key of its entry, its own link must be that of the next entry, and count and elements
 * must be as attach demands. If not, it is quarantined, as attach would. The detach after
 * that parks nothing, so the next attach reads all leaves.
 *
 * Invariant: header, elements, link and range of a leaf that was not read are as they were parked:
 * each change of them finds the leaf before, by crab_nv_find(). So the leaf after it is still the
 * one of the next entry. crab_side.gen of both holds the check bits of their links.
 *
 * Births continue from those of the parked blocks, which are above those of all leaves.
 *
 * Locking: nv_first.lock.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/overflow.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "media/badmem.h"
#include "compact.h"
#include "inner.h"
#include "leaf.h"
#include "media/crc.h"
#include "park.h"

#define PARK_CRC	32	/* the crc is in these bits of crab_head.own, from here on */

/**
 * struct nv_park - entries on their way to parked blocks, or from them
 * @tree: the tree
 * @flow: of the detach
 * @crc: of the words of a block so far
 * @key: the next entry to park
 * @birth: of the block; attach: of the one before it
 * @entry: entries that attach read; nv_entry.leaf is the link
 * @count: of them
 * @leaves: how many there must be
 */
struct nv_park {
	struct nv_tree *tree;
	struct crab_flow *flow;
	u32 crc;
	u64 key;
	u64 birth;
	struct nv_entry *entry;
	u64 count;
	u64 leaves;
};

static struct nv_dparked *park_media(const struct nv_tree *tree, u64 block)
{
	return (struct nv_dparked *)nv_leaf_media(tree, block);
}

static void park_crc(struct nv_park *p, u64 word)
{
	__le64 w = cpu_to_le64(word);

	p->crc = crab_crc32c(p->crc, &w, sizeof(w));
}

/* Detach */

static void park_word(struct nv_park *p, __le64 *to, u64 word)
{
	crab_store(p->flow, to, word);
	park_crc(p, word);
}

/* The link to a leaf, which is not quarantined; 0: its header is not as it was */
static u64 park_link(const struct nv_tree *tree, const struct nv_place *leaf)
{
	const struct crab_geometry *geo = &tree->base.geo;
	struct crab_head head;
	u64 link;

	if (!crab_head_load(tree->base.media, crab_leaf_offset(geo, leaf->leaf), geo->store_id,
			    &head) || head.low != leaf->low)
		return 0;
	link = crab_link_to(geo, leaf->leaf, head.birth);
	if (leaf->side->flags & NV_UNREAD && link >> CRAB_LINK_BITS != leaf->side->gen)
		return 0;
	return link;
}

/* Stores entries from nv_park.key on to a block; their number, or 0 after a damaged header */
static u32 park_entries(struct nv_park *p, struct nv_dparked *d)
{
	u32 n, room = nv_park_room(p->tree->base.geo.leaf_bytes);
	struct nv_place leaf;
	u64 link;

	for (n = 0; n < room && p->key != CRAB_KEY_EMPTY; n++, p->key = leaf.high) {
		crab_nv_look(p->tree, p->key, &leaf, &leaf.high);
		link = park_link(p->tree, &leaf);
		if (!link)
			return 0;
		park_word(p, &d->entry[n].low, leaf.low);
		park_word(p, &d->entry[n].link, link);
	}
	return n;
}

static int park_next(struct nv_park *p, u64 *next)
{
	struct crab_spare spare;

	if (crab_pool_alloc(&p->tree->pool, &spare, 1, 0))
		return -ENOSPC;
	*next = spare.leaf;
	return 0;
}

/* Fills a block; @block: becomes the next one */
static int park_block(struct nv_park *p, u64 records, u64 *block)
{
	const struct crab_geometry *geo = &p->tree->base.geo;
	struct nv_dparked *d = park_media(p->tree, *block);
	struct crab_head head = { .self = crab_leaf_offset(geo, *block), .birth = ++p->birth };
	u32 n;

	p->crc = ~0U;
	park_word(p, &d->leaves, p->tree->leaves);
	park_word(p, &d->records, records);
	n = park_entries(p, d);
	if (!n)
		return -EUCLEAN;
	head.own = (u64)p->crc << PARK_CRC | n;
	head.next = crab_link_end(geo->store_id, head.self, head.birth);
	if (p->key != CRAB_KEY_EMPTY) {
		if (park_next(p, block))
			return -ENOSPC;
		head.next = crab_link_to(geo, *block, head.birth + 1);
	}
	crab_head_store(p->flow, geo->store_id, &head);
	crab_clean(p->flow, d, offsetof(struct nv_dparked, entry[n]));
	cond_resched();
	return 0;
}

static int park_tree(struct nv_tree *tree, struct crab_flow *flow, u64 *root)
{
	struct nv_park park = { .tree = tree, .flow = flow, .birth = tree->birth };
	struct crab_engine_stats stats;
	u64 block;
	int err = park_next(&park, &block);

	if (err)
		return err;
	tree->base.ops->stats(&tree->base, &stats);
	*root = crab_link_to(&tree->base.geo, block, park.birth + 1);
	while (!err && park.key != CRAB_KEY_EMPTY)
		err = park_block(&park, stats.records, &block);
	/* P16: the entries are whole before the superblock names them */
	crab_fence(flow, CRAB_P16_PARKED);
	return err;
}

int crab_nv_park(struct crab_engine *engine, struct crab_flow *flow, u64 *root)
{
	struct nv_tree *tree = nv_tree_of(engine);

	*root = 0;
	if (!tree->tuning.instant || tree->quarantined)
		return 0;
	return park_tree(tree, flow, root);
}

/* Attach */

static u64 park_load(struct nv_park *p, const __le64 *from)
{
	u64 word = crab_load(p->tree->base.media, from);

	park_crc(p, word);
	return word;
}

/* The header of the block that a link names; false: it is none */
static bool unpark_head(const struct nv_park *p, u64 link, struct crab_head *head)
{
	const struct nv_tree *tree = p->tree;
	const struct crab_geometry *geo = &tree->base.geo;
	u64 block = (link & CRAB_LINK_MASK) - 1, offset = crab_leaf_offset(geo, block);

	return block < geo->leaves &&
	       crab_badmem_probe(tree->base.media, offset, geo->leaf_bytes) &&
	       crab_head_load(tree->base.media, offset, geo->store_id, head) &&
	       link == crab_link_to(geo, block, head->birth) &&
	       (!p->birth || head->birth == p->birth + 1);
}

/* The first block: room for all entries */
static int unpark_begin(struct nv_park *p, u64 leaves, u64 records)
{
	if (!leaves || leaves > p->tree->base.geo.leaves)
		return -EAGAIN;
	p->entry = __vmalloc(array_size(leaves, sizeof(*p->entry)), NV_GFP_ATTACH);
	p->leaves = leaves;
	p->tree->records = records;
	return p->entry ? 0 : -ENOMEM;
}

/* Reads the block that @link names; @link: becomes that to the next one, or 0 */
static int unpark_block(struct nv_park *p, u64 *link)
{
	struct nv_tree *tree = p->tree;
	const struct crab_geometry *geo = &tree->base.geo;
	const struct nv_dentry *from;
	struct nv_dparked *d;
	struct crab_head head;
	u64 leaves, records, end;
	int err;

	if (!unpark_head(p, *link, &head))
		return -EAGAIN;
	d = park_media(tree, (*link & CRAB_LINK_MASK) - 1);
	p->crc = ~0U;
	leaves = park_load(p, &d->leaves);
	records = park_load(p, &d->records);
	err = p->entry ? 0 : unpark_begin(p, leaves, records);
	if (err)
		return err;
	end = p->count + (u32)head.own;
	if (end == p->count || (u32)head.own > nv_park_room(geo->leaf_bytes) || end > p->leaves)
		return -EAGAIN;
	for (from = d->entry; p->count < end; p->count++, from++) {
		p->entry[p->count].low = park_load(p, &from->low);
		p->entry[p->count].leaf = park_load(p, &from->link);
	}
	crab_count(&tree->base, own[NV_ATTACH_LINES],
		   DIV_ROUND_UP(offsetof(struct nv_dparked, entry[(u32)head.own]), CRAB_LINE));
	p->birth = head.birth;
	*link = head.next == crab_link_end(geo->store_id, head.self, head.birth) ? 0 : head.next;
	return head.own >> PARK_CRC == p->crc && leaves == p->leaves &&
	       records == tree->records ? 0 : -EAGAIN;
}

/* The leaf of an entry; its link becomes its number */
static int unpark_leaf(struct nv_park *p, u64 at)
{
	struct nv_entry *entry = &p->entry[at];
	struct nv_tree *tree = p->tree;
	u64 link = entry->leaf, leaf = (link & CRAB_LINK_MASK) - 1;
	struct crab_side *side;

	if (entry->low == CRAB_KEY_EMPTY || (at ? entry->low <= entry[-1].low : entry->low))
		return -EAGAIN;
	if (leaf >= tree->base.geo.leaves || !crab_pool_mark(&tree->pool, leaf))
		return -EAGAIN;
	side = crab_side_make(&tree->sides, leaf, NV_GFP_ATTACH);
	if (!side)
		return -ENOMEM;
	side->gen = link >> CRAB_LINK_BITS;
	side->flags = NV_UNREAD;
	crab_nv_note(&tree->notes, leaf);
	entry->leaf = leaf;
	return crab_engine_breathe(&tree->base) ? -EINTR : 0;
}

static int unpark_list(struct nv_park *p)
{
	const struct crab_media *media = p->tree->base.media;
	struct crab_head head;
	u64 at;
	int err;

	if (p->count != p->leaves ||
	    !crab_head_load(media, CRAB_HEAD_OFFSET, p->tree->base.geo.store_id, &head) ||
	    head.next != p->entry[0].leaf)
		return -EAGAIN;
	for (at = 0, err = 0; at < p->count && !err; at++)
		err = unpark_leaf(p, at);
	return err;
}

static int unpark_build(struct nv_park *p)
{
	struct nv_list list = { .entry = p->entry, .count = p->count };
	struct nv_tree *tree = p->tree;
	struct nv_inner *inner;

	tree->first.elements = kvmalloc_array(tree->room, sizeof(*tree->elements), NV_GFP_ATTACH);
	tree->first.records = kvmalloc_array(tree->room, sizeof(*tree->scratch), NV_GFP_ATTACH);
	inner = crab_nv_inner_build(tree, &list, crab_nv_inner_pack(tree, true), NV_GFP_ATTACH);
	RCU_INIT_POINTER(tree->inner, inner);
	tree->birth = p->birth;
	tree->leaves = p->count;
	return inner && tree->first.elements && tree->first.records ? 0 : -ENOMEM;
}

/* After -EAGAIN: no leaves. Sides and notes of leaves that are not in use mean nothing */
static int unpark_undo(struct nv_tree *tree)
{
	tree->records = 0;
	crab_pool_destroy(&tree->pool);
	return crab_pool_init(&tree->pool, tree->base.geo.leaves) ?: -EAGAIN;
}

int crab_nv_unpark(struct nv_tree *tree)
{
	struct nv_park park = { .tree = tree };
	u64 link = tree->base.root;
	int err = 0;

	if (!tree->tuning.instant || !link ||
	    crab_badmem_hits(tree->base.media, 0, tree->base.media->size))
		return -EAGAIN;
	while (!err && link)
		err = unpark_block(&park, &link) ?:
		      crab_engine_breathe(&tree->base) ? -EINTR : 0;
	err = err ?: unpark_list(&park) ?: unpark_build(&park);
	if (err == -EAGAIN)
		err = unpark_undo(tree);
	vfree(park.entry);
	return err;
}

void crab_nv_first_exit(struct nv_tree *tree)
{
	kvfree(tree->first.elements);
	kvfree(tree->first.records);
}

/* First reads */

/* The link that a leaf has as it was parked; @next: the leaf of the next entry */
static u64 first_link(const struct nv_tree *tree, const struct nv_place *leaf,
		      const struct nv_place *next, const struct crab_head *head)
{
	if (leaf->high == CRAB_KEY_EMPTY)
		return crab_link_end(tree->base.geo.store_id, head->self, head->birth);
	return (u64)next->gen << CRAB_LINK_BITS | (next->leaf + 1);
}

/* The error of the header of a leaf, or NULL */
static const char *first_head_fault(const struct nv_tree *tree, const struct nv_place *leaf,
				    const struct nv_place *next)
{
	const struct crab_geometry *geo = &tree->base.geo;
	u64 offset = crab_leaf_offset(geo, leaf->leaf);
	struct crab_head head;

	if (!crab_badmem_probe(tree->base.media, offset, geo->leaf_bytes))
		return "uncorrectable memory";
	if (!crab_head_load(tree->base.media, offset, geo->store_id, &head))
		return "no valid header";
	if (crab_link_to(geo, leaf->leaf, head.birth) >> CRAB_LINK_BITS != leaf->side->gen ||
	    head.birth > READ_ONCE(tree->birth))
		return "another birth than in the parked entry";
	if (head.low != leaf->low)
		return "another lowest key than in the parked entry";
	if (head.next != first_link(tree, leaf, next, &head))
		return "link does not lead to the leaf of the next parked entry";
	return NULL;
}

static const char *first_fault(struct nv_tree *tree, const struct nv_place *leaf,
			       const struct nv_place *next)
{
	const char *fault = first_head_fault(tree, leaf, next);
	u64 count;

	if (fault)
		return fault;
	count = crab_load(tree->base.media, &nv_leaf_media(tree, leaf->leaf)->count);
	if (count > tree->room)
		return "more elements than fit";
	crab_nv_leaf_read(tree, leaf->leaf, count, tree->first.elements);
	WRITE_ONCE(leaf->side->count, count);
	return crab_nv_leaf_fault(tree->first.elements, count, leaf->low, leaf->high);
}

/* Under nv_first.lock */
static void first_read(struct nv_tree *tree, const struct nv_place *leaf,
		       const struct nv_place *next)
{
	const char *fault = first_fault(tree, leaf, next);
	u32 flags = NV_QUARANTINED;

	if (fault) {
		crab_engine_damaged(&tree->base, crab_leaf_offset(&tree->base.geo, leaf->leaf),
				    "leaf %llu: %s", (unsigned long long)leaf->leaf, fault);
		WRITE_ONCE(tree->quarantined, tree->quarantined + 1);
		WRITE_ONCE(leaf->side->count, 0);
		crab_pool_close(&tree->pool);
	} else {
		flags = crab_nv_leaf_records(tree->first.elements, leaf->side->count,
					     tree->first.records);
	}
	/* Pairs with smp_load_acquire() in crab_nv_touch() */
	smp_store_release(&leaf->side->flags, flags);
}

/* The places that were found before the lock are still valid if the leaf was not read meanwhile */
void crab_nv_first_read(struct nv_tree *tree, const struct nv_place *found)
{
	struct nv_place leaf, next = { };

	crab_nv_look(tree, found->low, &leaf, &leaf.high);
	if (leaf.high != CRAB_KEY_EMPTY)
		crab_nv_look(tree, leaf.high, &next, NULL);
	crab_nv_first_begin(tree);
	if (leaf.side->flags & NV_UNREAD)
		first_read(tree, &leaf, &next);
	crab_nv_first_end(tree);
}

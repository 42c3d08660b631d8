/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares a leaf: its descriptor in DRAM, and access to its words on the media.
 *
 * Invariant: the words of a leaf on the media are read and written by these functions and those
 * of its layout only.
 *
 * Locking: access.c documents it. A function that takes a leaf expects a read of it under way, or
 * its lock.
 */
#ifndef CRABTREE_ENGINES_CRAB_LEAF_H
#define CRABTREE_ENGINES_CRAB_LEAF_H

#include <linux/bitops.h>
#include <linux/seqlock.h>
#include <linux/spinlock.h>

#include "shared/link.h"
#include "shared/shortcut.h"
#include "tree.h"

/**
 * struct crab_leaf - descriptor of a leaf in the list
 * @prev: previous leaf, NULL for the first; under crab_tree.smo_lock, as is @next
 * @next: next leaf, NULL for the last
 * @dead: of a dead leaf that waits for readers: the next one, and the state of RCU at its death
 * @low: lowest key that the leaf may hold; its key in the index
 * @high: end of the range: lowest key above it; equal to @low in a dead leaf
 * @void_value: slotted: value of free slots
 * @number: number of the leaf in the pool; CRAB_LEAF_NOWHERE for a gap in a damaged list
 * @lock: protects the fields below, the records, and changes of the fields above
 * @seq: odd while records or the range change and until that is durable
 * @count: live records
 * @torn: slots that a power cut left torn, and that repair completes
 * @duplicate: sorted: the slot that is void because the next one has the same key, or
 *	CRAB_LEAF_NO_DUPLICATE; there is none once repaired
 * @ordered: slotted: number of records whose order is cached (order.c), all of them, or 0
 * @quarantined: every access to the range returns -EUCLEAN; never cleared
 * @misplaced_key: a key of the range is in a leaf that must not hold it: a lookup that fails
 *	returns -EUCLEAN, not -ENOENT
 * @fps: slotted: CRAB_SLOTTED_PLANES words for each group of slots. Bit s of word b is bit b of the
 *	fingerprint of the key in slot s, and 0 in all words if the slot is free. Sorted:
 *	crab_sorted_firsts()
 *
 * Everything before @fps fits in one cache line (without lock debugging).
 */
struct crab_leaf {
	union {
		struct {
			struct crab_leaf *prev;
			struct crab_leaf *next;
		};
		struct {
			struct crab_leaf *next;
			unsigned long cookie;
		} dead;
	};
	u64 low;
	u64 high;
	u64 void_value;
	u64 number;
	spinlock_t lock;
	seqcount_spinlock_t seq;
	u16 count;
	u16 torn;
	union {
		u16 duplicate;
		u16 ordered;
	};
	bool quarantined;
	bool misplaced_key;
	u64 fps[];
};

#define CRAB_LEAF_NOWHERE	(~0ULL)
#define CRAB_LEAF_NO_DUPLICATE	0xffff

static inline struct crab_dleaf *crab_leaf_media(const struct crab_tree *tree, u64 number)
{
	return (struct crab_dleaf *)(tree->base.media->base +
				     crab_leaf_offset(&tree->base.geo, number));
}

/**
 * crab_leaf_child() - the word for a leaf in the index
 * @tree: the tree
 * @leaf: the leaf
 *
 * The upper half is the leaf's offset in the region, in leaves. A shortcut has its lowest 25 bits:
 * beyond 32 million leaves it is wrong, which costs time only. The lower half is the place of the
 * descriptor.
 *
 * Context: under crab_tree.smo_lock, or attach.
 * Return: the word, not NULL.
 */
static inline void *crab_leaf_child(const struct crab_tree *tree, const struct crab_leaf *leaf)
{
	u64 offset = leaf->number == CRAB_LEAF_NOWHERE ? 0 :
		     crab_leaf_offset(&tree->base.geo, leaf->number);

	return (void *)(unsigned long)(offset / tree->base.geo.leaf_bytes << 32 |
				       crab_leaf_table_place(&tree->table, leaf));
}

/**
 * crab_leaf_of() - the leaf of a word in the index
 * @tree: the tree
 * @child: of crab_leaf_child(), or NULL
 * Context: RCU read-side section in which the index returned the word; or under
 *	crab_tree.smo_lock.
 * Return: the leaf, or NULL.
 */
static __always_inline struct crab_leaf *crab_leaf_of(const struct crab_tree *tree,
						      const void *child)
{
	return unlikely(!child) ? NULL :
	       crab_leaf_table_at(&tree->table, (u32)(unsigned long)child);
}

/**
 * crab_leaf_of_media() - the address on the media of the leaf of a word in the index
 * @tree: the tree
 * @child: of crab_leaf_child(), not NULL
 * Context: any.
 * Return: the address, for prefetches; for a gap, the begin of the region.
 */
static __always_inline const void *crab_leaf_of_media(const struct crab_tree *tree,
						      const void *child)
{
	return tree->region + ((unsigned long)child >> 32) * tree->base.geo.leaf_bytes;
}

/**
 * crab_leaf_guess() - find the word in the index of the leaf whose range most likely holds a key
 * @tree: the tree
 * @key: any but the reserved key
 * Context: as crab_index_find(): the caller compares @key with the range of the leaf, and asks the
 *	index if it is another one.
 * Return: the word, or NULL if the index is empty.
 */
static __always_inline const void *crab_leaf_guess(const struct crab_tree *tree, u64 key)
{
	const void *child = crab_shortcut_find(&tree->index, key);

	return likely(child) ? child : crab_index_find(&tree->index, key);
}

/**
 * crab_leaf_find() - find the leaf whose range most likely holds a key
 * @tree: the tree
 * @key: any but the reserved key
 * Context: as crab_index_find(): the caller compares @key with the range of the leaf.
 * Return: the leaf, or NULL if there is none.
 */
static __always_inline struct crab_leaf *crab_leaf_find(const struct crab_tree *tree, u64 key)
{
	return crab_leaf_of(tree, crab_index_find(&tree->index, key));
}

static inline struct crab_dslot *crab_leaf_slot(const struct crab_tree *tree,
						const struct crab_leaf *leaf, u32 slot)
{
	return &crab_leaf_media(tree, READ_ONCE(leaf->number))->slots[slot];
}

static inline u64 crab_leaf_key(const struct crab_tree *tree, const struct crab_leaf *leaf,
				u32 slot)
{
	return crab_load(tree->base.media, &crab_leaf_slot(tree, leaf, slot)->key);
}

static inline u64 crab_leaf_value(const struct crab_tree *tree, const struct crab_leaf *leaf,
				  u32 slot)
{
	return crab_load(tree->base.media, &crab_leaf_slot(tree, leaf, slot)->value);
}

/**
 * crab_leaf_holds() - test whether a key is in the range of a leaf
 * @leaf: the leaf; a dead leaf holds no key
 * @key: the key
 *
 * Context: any; a reader without the lock validates the result (crab_leaf_read_valid()).
 * Return: true if the key is in the range.
 */
static inline bool crab_leaf_holds(const struct crab_leaf *leaf, u64 key)
{
	return key >= READ_ONCE(leaf->low) && key < READ_ONCE(leaf->high);
}

/**
 * crab_leaf_may_have() - quick test whether keys can be in the range of a leaf
 * @leaf: the leaf
 * @high: end of the range, which may be that of a later leaf
 * @keys: all keys, combined by bitwise or
 *
 * This is one instruction a key; a comparison with both ends is three.
 *
 * Context: the leaf is locked.
 * Return: false if a key has a bit that no key of the range has, as all ones nearly always do; for
 * other ranges see crab_slotted_may_have().
 */
static inline bool crab_leaf_may_have(const struct crab_leaf *leaf, u64 high, u64 keys)
	__must_hold(&leaf->lock)
{
	u32 differ = fls64(leaf->low ^ (high - 1));	/* bits that differ within the range */
	u64 common = differ < 64 ? ~0ULL << differ : 0;

	return !(keys & ~leaf->low & common);
}

/**
 * crab_leaf_alloc() - allocate the descriptor of a leaf without records
 * @tree: the tree, whose table has room for a chunk
 * @own: as of crab_leaf_table_alloc()
 * @gfp: flags of the allocation
 *
 * Context: may sleep, as @gfp permits; attach, or under crab_tree.smo_lock.
 * Return: the descriptor, or NULL.
 */
struct crab_leaf *crab_leaf_alloc(struct crab_tree *tree, struct crab_leaf_chunk **own, gfp_t gfp);

/**
 * crab_leaf_record() - read the record in a slot
 * @tree: the tree
 * @leaf: the leaf
 * @slot: the slot
 *
 * Context: a read of the leaf is under way, or the leaf is locked.
 * Return: the record.
 */
static inline struct crab_record crab_leaf_record(const struct crab_tree *tree,
						  const struct crab_leaf *leaf, u32 slot)
{
	const struct crab_dslot *d = crab_leaf_slot(tree, leaf, slot);

	return (struct crab_record) {
		.key = crab_load(tree->base.media, &d->key),
		.value = crab_load(tree->base.media, &d->value),
	};
}

/**
 * crab_leaf_update() - store a value in place (P6)
 * @write: the write
 * @leaf: the leaf
 * @d: slot of the key
 * @value: the value; in a slotted leaf not its void
 *
 * Context: the leaf is locked; readers wait until the value is durable.
 */
void crab_leaf_update(struct crab_write *write, struct crab_leaf *leaf, struct crab_dslot *d,
		      u64 value) __must_hold(&leaf->lock);

/**
 * crab_leaf_update_nofence() - crab_leaf_update() without section and fence
 * @write: the write
 * @d: slot of the key
 * @value: the value
 *
 * Context: the leaf is locked and in a write section, which the caller ends after a fence.
 */
void crab_leaf_update_nofence(struct crab_write *write, struct crab_dslot *d, u64 value);

/**
 * crab_leaf_quarantine() - note damage in a slot and quarantine the leaf
 * @tree: the tree
 * @leaf: the leaf
 * @damage: where to note it
 * @slot: the slot
 * @what: description
 *
 * Context: attach.
 */
void crab_leaf_quarantine(const struct crab_tree *tree, struct crab_leaf *leaf,
			  struct crab_damage *damage, u32 slot, const char *what);

/**
 * crab_leaf_fresh() - write a whole leaf that nothing links to yet
 * @write: the write
 * @spare: the leaf of the pool
 * @head: header; the caller sets @next, @low and @birth
 * @records: the records, of a sorted leaf in order
 * @count: number of records, not more than the slots of a leaf
 * @leaf: out: descriptor, from crab_leaf_alloc()
 *
 * Context: under crab_tree.smo_lock; the caller fences (P7).
 */
void crab_leaf_fresh(struct crab_write *write, const struct crab_spare *spare,
		     struct crab_head *head, const struct crab_record *records, u32 count,
		     struct crab_leaf *leaf);

#endif /* CRABTREE_ENGINES_CRAB_LEAF_H */

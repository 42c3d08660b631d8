/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the check of the media words that a structure modification uses (verify.c).
 *
 * Locking: crab_tree.smo_lock and the leaf, or attach.
 */
#ifndef CRABTREE_ENGINES_CRAB_VERIFY_H
#define CRABTREE_ENGINES_CRAB_VERIFY_H

#include "leaf.h"
#include "media/again.h"

/**
 * crab_smo_verify_memory() - verify that no memory has failed under the attached store
 * @tree: the tree
 *
 * A change uses the links of leaves that it does not replace; they may be in that memory. No damage
 * is noted: the store is read-only already (quarantine.c).
 *
 * Context: under crab_tree.smo_lock, before the first access of a change.
 * Return: 0 or -EUCLEAN.
 */
int crab_smo_verify_memory(const struct crab_tree *tree);

/**
 * crab_slot_settled() - read a record that will be stored in another slot
 * @media: the media
 * @d: the slot
 *
 * Context: the leaf is locked.
 * Return: the record, each word of it by crab_load_settled().
 */
static __always_inline struct crab_record crab_slot_settled(const struct crab_media *media,
							    const struct crab_dslot *d)
{
	return (struct crab_record) {
		.key = crab_load_settled(media, &d->key),
		.value = crab_load_settled(media, &d->value),
	};
}

/**
 * crab_smo_verify_failed() - note damage of a leaf
 * @tree: the tree
 * @leaf: the leaf
 * @what: description
 *
 * Context: under crab_tree.smo_lock.
 * Return: -EUCLEAN.
 */
int crab_smo_verify_failed(struct crab_tree *tree, const struct crab_leaf *leaf, const char *what);

/**
 * crab_smo_verify_low() - verify the lowest key of a fresh leaf
 * @tree: the tree
 * @leaf: the leaf that is split
 * @high: end of the range
 * @low: the key
 *
 * Context: under crab_tree.smo_lock; the leaf is locked.
 * Return: 0 if @low is above that of @leaf and below @high, else -EUCLEAN.
 */
int crab_smo_verify_low(struct crab_tree *tree, const struct crab_leaf *leaf, u64 high, u64 low)
	__must_hold(&leaf->lock);

/**
 * crab_smo_verify_records() - verify the keys of records that were collected
 * @tree: the tree
 * @leaf: first leaf of the records
 * @high: end of the range of the last leaf
 * @records: the records
 * @count: number of records
 * @most: number of records that the fresh leaves have room for
 *
 * Context: under crab_tree.smo_lock; the leaves are locked.
 * Return: 0 or -EUCLEAN.
 */
int crab_smo_verify_records(struct crab_tree *tree, const struct crab_leaf *leaf, u64 high,
			    const struct crab_record *records, u32 count, u32 most)
	__must_hold(&leaf->lock);

/**
 * crab_smo_verify_next() - read the link of a leaf, and verify that it names the next leaf
 * @tree: the tree
 * @leaf: the leaf, not the last one
 * @word: out: the link
 *
 * Context: under crab_tree.smo_lock.
 * Return: 0 or -EUCLEAN.
 */
int crab_smo_verify_next(struct crab_tree *tree, const struct crab_leaf *leaf, u64 *word);

/**
 * crab_smo_verify_unlink() - make the link that the previous leaf gets when a leaf is unlinked
 * @tree: the tree
 * @leaf: the leaf
 * @word: out: the link
 *
 * Context: under crab_tree.smo_lock.
 * Return: 0 or -EUCLEAN.
 */
int crab_smo_verify_unlink(struct crab_tree *tree, const struct crab_leaf *leaf, u64 *word);

#endif /* CRABTREE_ENGINES_CRAB_VERIFY_H */

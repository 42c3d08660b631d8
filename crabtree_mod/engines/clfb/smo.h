/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the structure modifications of the engine `clfb`.
 *
 * Locking: clfb_tree.lock for writing.
 */
#ifndef CRABTREE_ENGINES_CLFB_SMO_H
#define CRABTREE_ENGINES_CLFB_SMO_H

#include "clfb.h"

/**
 * crab_clfb_smo_split() - insert a key into a full leaf (P7, then P13 or P14)
 * @write: the write
 * @place: the leaf
 * @record: the record; its key is new
 * Context: clfb_tree.lock for writing.
 * Return: 0; or with nothing changed -ENOSPC, or -EUCLEAN: damage.
 */
int crab_clfb_smo_split(struct clfb_write *write, const struct clfb_place *place,
			const struct crab_record *record);

/**
 * crab_clfb_smo_unlink() - delete the last record of a leaf, and the leaf (P13 or P14)
 * @write: the write
 * @place: the leaf
 * Context: clfb_tree.lock for writing.
 * Return: 0; or with nothing changed -EBUSY: the leaf remains, or -EUCLEAN: damage, or bad memory.
 */
int crab_clfb_smo_unlink(struct clfb_write *write, const struct clfb_place *place);

/**
 * crab_clfb_smo_bound() - bound the lines that one operation cleans
 * @tree: the tree
 * Context: any.
 * Return: lines.
 */
u64 crab_clfb_smo_bound(const struct clfb_tree *tree);

/**
 * crab_clfb_smo_nodes() - bound the nodes that writes take
 * @tree: the tree
 * @writes: how many
 * Context: clfb_tree.lock.
 * Return: nodes: if so many are free now, none of the writes fails for want of one.
 */
u64 crab_clfb_smo_nodes(const struct clfb_tree *tree, u32 writes);

#endif /* CRABTREE_ENGINES_CLFB_SMO_H */

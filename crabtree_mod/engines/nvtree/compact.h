/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the search for neighbours to merge when the pool is short, and the notes
 * that lead to them.
 *
 * Locking: nv_notes.lock protects the notes; nv_tree.smo_lock the search.
 */
#ifndef CRABTREE_ENGINES_NVTREE_COMPACT_H
#define CRABTREE_ENGINES_NVTREE_COMPACT_H

#include "nvtree.h"

/**
 * crab_nv_notes_init() - allocate the notes; there are none
 * @notes: the notes
 * @leaves: number of leaves of the pool
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int crab_nv_notes_init(struct nv_notes *notes, u64 leaves);

/**
 * crab_nv_notes_destroy() - free the notes
 * @notes: the notes; zeroed memory is allowed, too
 * Context: may sleep; no other call is running or will come.
 */
void crab_nv_notes_destroy(struct nv_notes *notes);

/**
 * crab_nv_notes_bytes() - memory of the notes
 * @notes: the notes
 * Context: any.
 * Return: bytes.
 */
u64 crab_nv_notes_bytes(const struct nv_notes *notes);

/**
 * crab_nv_note() - a leaf may fit in one leaf together with a neighbour
 * @notes: the notes
 * @leaf: its number
 * Context: any but interrupts; takes nv_notes.lock.
 */
void crab_nv_note(struct nv_notes *notes, u64 leaf);

/**
 * crab_nv_note_pair() - note a leaf if it fits in one leaf together with the next one
 * @tree: the tree
 * @key: a key of its range
 * Context: under nv_tree.smo_lock.
 */
void crab_nv_note_pair(struct nv_tree *tree, u64 key);

/**
 * crab_nv_compact() - merge two neighbours, because the pool is short
 * @write: the write
 *
 * Context: may sleep; under nv_tree.smo_lock, which is released meanwhile; no leaf is locked.
 * Return: 0 if a leaf was freed; -ENOSPC if no two neighbours fit in one leaf, or another error.
 */
int crab_nv_compact(struct nv_write *write);

#endif /* CRABTREE_ENGINES_NVTREE_COMPACT_H */

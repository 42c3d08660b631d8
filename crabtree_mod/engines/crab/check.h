/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the verifier: the functions shared by check.c and the layouts.
 *
 * Locking: crab_tree.smo_lock, and the lock of the leaf that is read.
 */
#ifndef CRABTREE_ENGINES_CRAB_CHECK_H
#define CRABTREE_ENGINES_CRAB_CHECK_H

#include "engines/defaults.h"
#include "leaf.h"

/**
 * struct crab_check - a check under way
 * @tree: the tree
 * @report: its result
 * @high: end of the range of the leaf that is read
 * @counted: keys below it were read, and records counted, in leaves that are others now; 0: none
 * @last: lowest key of the leaf that was read last
 */
struct crab_check {
	struct crab_tree *tree;
	struct crab_check_report *report;
	u64 high;
	u64 counted;
	u64 last;
};

/**
 * crab_check_record() - verify that a record is in the range of its leaf, and is found; count it
 * @c: the check
 * @leaf: the leaf
 * @slot: slot of the record
 * @r: the record
 * @offset: place of the leaf on the media
 *
 * Context: the leaf is locked.
 */
void crab_check_record(const struct crab_check *c, const struct crab_leaf *leaf, u32 slot,
		       const struct crab_record *r, u64 offset) __must_hold(&leaf->lock);

#endif /* CRABTREE_ENGINES_CRAB_CHECK_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the verbs on a leaf of each layout, which leaf.c calls: `append` for leaves
 * with slots, `encoded` for leaves of one line. Both have the same verbs, but for two checks;
 * leaf.h documents them.
 *
 * Locking: as leaf.h.
 */
#ifndef CRABTREE_ENGINES_CLFB_LEAF_LAYOUTS_H
#define CRABTREE_ENGINES_CLFB_LEAF_LAYOUTS_H

#include "leaf.h"

#define CLFB_LEAF_VERBS(layout)									\
int crab_clfb_##layout##_find(const struct clfb_tree *tree, u64 leaf, u64 key);			\
u64 crab_clfb_##layout##_value(const struct clfb_tree *tree, u64 leaf, u32 slot);		\
u32 crab_clfb_##layout##_count(const struct clfb_tree *tree, u64 leaf);				\
u64 crab_clfb_##layout##_low(const struct clfb_tree *tree, u64 leaf);				\
int crab_clfb_##layout##_near(const struct clfb_tree *tree, const struct clfb_place *place,	\
	u64 key, enum crab_seek_dir dir, struct crab_record *record);				\
int crab_clfb_##layout##_sorted(const struct clfb_tree *tree, u64 leaf,				\
	struct crab_record *records);								\
const char *crab_clfb_##layout##_fault(const struct clfb_tree *tree,				\
	const struct clfb_place *place, u32 *count);						\
bool crab_clfb_##layout##_add(struct clfb_write *write, u64 leaf,				\
	const struct crab_record *record);							\
void crab_clfb_##layout##_set(struct clfb_write *write, u64 leaf, u32 slot, u64 value);		\
void crab_clfb_##layout##_drop(struct clfb_write *write, u64 leaf, u32 slot);			\
void crab_clfb_##layout##_fresh(struct crab_flow *flow, const struct crab_geometry *geo,	\
	u64 leaf, u64 low, const struct crab_record *records, u32 count)

CLFB_LEAF_VERBS(append);
CLFB_LEAF_VERBS(encoded);
bool crab_clfb_append_agrees(const struct clfb_tree *tree, u64 leaf,
			     const struct crab_record *records, u32 count);
bool crab_clfb_encoded_holds(const struct clfb_tree *tree, u64 leaf);

#endif /* CRABTREE_ENGINES_CLFB_LEAF_LAYOUTS_H */

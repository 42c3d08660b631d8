// SPDX-License-Identifier: GPL-2.0
/*
 * This file leads from the verbs on a leaf to those of the layout: each function is one test and
 * two calls, or one if the other layout has nothing to do. No other file but format.h tests it.
 *
 * Locking: as leaf.h.
 */
#include "leaf_layouts.h"

static bool is_encoded(const struct clfb_tree *tree)
{
	return tree->base.geo.layout == CLFB_LAYOUT_ENCODED;
}

bool crab_clfb_leaf_holds(const struct clfb_tree *tree, u64 leaf)
{
	return !is_encoded(tree) || crab_clfb_encoded_holds(tree, leaf);
}

int crab_clfb_leaf_find(const struct clfb_tree *tree, u64 leaf, u64 key)
{
	return is_encoded(tree) ? crab_clfb_encoded_find(tree, leaf, key) :
				  crab_clfb_append_find(tree, leaf, key);
}

u64 crab_clfb_leaf_value(const struct clfb_tree *tree, u64 leaf, u32 slot)
{
	return is_encoded(tree) ? crab_clfb_encoded_value(tree, leaf, slot) :
				  crab_clfb_append_value(tree, leaf, slot);
}

u32 crab_clfb_leaf_count(const struct clfb_tree *tree, u64 leaf)
{
	return is_encoded(tree) ? crab_clfb_encoded_count(tree, leaf) :
				  crab_clfb_append_count(tree, leaf);
}

u64 crab_clfb_leaf_low(const struct clfb_tree *tree, u64 leaf)
{
	return is_encoded(tree) ? crab_clfb_encoded_low(tree, leaf) :
				  crab_clfb_append_low(tree, leaf);
}

int crab_clfb_leaf_near(const struct clfb_tree *tree, const struct clfb_place *place, u64 key,
			enum crab_seek_dir dir, struct crab_record *record)
{
	return is_encoded(tree) ? crab_clfb_encoded_near(tree, place, key, dir, record) :
				  crab_clfb_append_near(tree, place, key, dir, record);
}

int crab_clfb_leaf_sorted(const struct clfb_tree *tree, u64 leaf, struct crab_record *records)
{
	return is_encoded(tree) ? crab_clfb_encoded_sorted(tree, leaf, records) :
				  crab_clfb_append_sorted(tree, leaf, records);
}

bool crab_clfb_leaf_agrees(const struct clfb_tree *tree, u64 leaf,
			   const struct crab_record *records, u32 count)
{
	/* A line was loaded twice already */
	return is_encoded(tree) || crab_clfb_append_agrees(tree, leaf, records, count);
}

const char *crab_clfb_leaf_fault(const struct clfb_tree *tree, const struct clfb_place *place,
				 u32 *count)
{
	return is_encoded(tree) ? crab_clfb_encoded_fault(tree, place, count) :
				  crab_clfb_append_fault(tree, place, count);
}

bool crab_clfb_leaf_add(struct clfb_write *write, u64 leaf, const struct crab_record *record)
{
	return is_encoded(write->tree) ? crab_clfb_encoded_add(write, leaf, record) :
					 crab_clfb_append_add(write, leaf, record);
}

void crab_clfb_leaf_set(struct clfb_write *write, u64 leaf, u32 slot, u64 value)
{
	if (is_encoded(write->tree))
		crab_clfb_encoded_set(write, leaf, slot, value);
	else
		crab_clfb_append_set(write, leaf, slot, value);
}

void crab_clfb_leaf_drop(struct clfb_write *write, u64 leaf, u32 slot)
{
	if (is_encoded(write->tree))
		crab_clfb_encoded_drop(write, leaf, slot);
	else
		crab_clfb_append_drop(write, leaf, slot);
}

void crab_clfb_leaf_fresh(struct crab_flow *flow, const struct crab_geometry *geo, u64 leaf,
			  u64 low, const struct crab_record *records, u32 count)
{
	if (geo->layout == CLFB_LAYOUT_ENCODED)
		crab_clfb_encoded_fresh(flow, geo, leaf, low, records, count);
	else
		crab_clfb_append_fresh(flow, geo, leaf, low, records, count);
}

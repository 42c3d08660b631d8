// SPDX-License-Identifier: GPL-2.0
/*
 * This file leaves traces of power cuts on the media of an attached store: attach finds and
 * repairs them.
 */
#include <linux/string.h>

#include "engines/crab/leaf.h"
#include "engines/fastfair/fastfair.h"
#include "engines/nbtree/eadr/eadr.h"
#include "traces.h"

/* The traces of a power cut while a leaf of `eadr` freezes */
static void freeze(struct crab_engine *engine, u64 key)
{
	struct nb_tree *tree = nb_tree_of(engine);
	struct nb_dleaf *d = nb_leaf_media(tree, crab_index_find(&tree->index, key));
	u32 i;

	for (i = 0; i < tree->room; i++)
		if (ea_is_live(le64_to_cpu(d->slot[i].key)))
			d->slot[i].key ^= cpu_to_le64(EA_LIVE ^ EA_FROZEN);
	d->head.next |= cpu_to_le64(EA_LINK_MARK);
}

/* The traces of power cuts in each sorted leaf with room: a record in two slots, or in two leaves */
static void tear(struct crab_engine *engine)
{
	struct crab_tree *tree = crab_tree_of(engine);
	const struct crab_leaf *leaf;
	struct crab_dslot *end;
	bool twice = true;

	for (leaf = tree->first; leaf; leaf = leaf->next) {
		if (!leaf->count || leaf->count == tree->slots || !leaf->next)
			continue;
		end = crab_leaf_slot(tree, leaf, leaf->count);
		*end = twice ? end[-1] : *crab_leaf_slot(tree, leaf->next, 0);
		if (leaf->count + 1 < tree->slots)
			end[1].key = cpu_to_le64(CRAB_KEY_EMPTY);
		twice = !twice;
	}
}

/* `shift`: the traces of a power cut in an insert, and before a node got its entry */
static void stop_shift(struct crab_engine *engine)
{
	struct ff *ff = ff_of(engine);
	const struct crab_side *side;
	struct ff_dnode *d;
	u64 n;

	for (n = 0; n < ff->base.geo.leaves; n++) {
		side = crab_side(&ff->sides, n);
		d = ff_media(ff, n);
		if (!side || side->flags != FF_USED || !side->count || side->count == ff->slots)
			continue;
		if (d->head.own) {
			d->slot[side->count - 1].key = cpu_to_le64(CRAB_KEY_EMPTY);
			continue;
		}
		if (side->count + 1U < ff->slots)
			d->slot[side->count + 1].key = cpu_to_le64(CRAB_KEY_EMPTY);
		d->slot[side->count] = d->slot[side->count - 1];
	}
}

void traces_leave(struct crab_engine *engine, const char *layout, u64 key)
{
	if (!strcmp(layout, "eadr"))
		freeze(engine, key);
	if (!strcmp(layout, "sorted"))
		tear(engine);
	if (!strcmp(layout, "shift"))
		stop_shift(engine);
}

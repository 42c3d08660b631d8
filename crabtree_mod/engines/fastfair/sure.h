/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file has loads on which a change or a result depends: failing memory may return a word
 * otherwise once.
 *
 * Locking: see each function.
 */
#ifndef CRABTREE_ENGINES_FASTFAIR_SURE_H
#define CRABTREE_ENGINES_FASTFAIR_SURE_H

#include "fastfair.h"
#include "media/again.h"

/* Tests whether the lowest key of a node reads the same again */
static inline bool ff_low_repeats(const struct ff *ff, const struct ff_node *node)
{
	return crab_load(ff->base.media, &ff_media(ff, node->number)->head.low) == node->low;
}

/**
 * ff_first_holds() - test the result of ff_first() by other loads
 * @ff: the store
 * @node: the node
 * @key: the key
 * @i: the result
 * @at: the key of the slot, or the reserved key
 *
 * As keys ascend, the two slots around @key decide for all others; if there is none to the left,
 * the lowest key of the node does.
 *
 * Context: as ff_first().
 * Return: false if the loads contradict each other, or the number of slots in memory.
 */
static __always_inline bool ff_first_holds(const struct ff *ff, const struct ff_node *node, u64 key,
					   u32 i, u64 at)
{
	const struct crab_media *media = ff->base.media;
	const struct ff_dnode *d = ff_media(ff, node->number);
	const struct ff_dslot *slot = &d->slot[i];
	u32 count = READ_ONCE(node->side->count);

	if (unlikely(at == CRAB_KEY_EMPTY)) {
		if (i != count)
			return false;
	} else if (unlikely(i >= count || crab_load(media, &slot->key) != at)) {
		return false;
	}
	return at == key || (i ? crab_load(media, &slot[-1].key) < key :
				 crab_load(media, &d->head.low) <= key);
}

#endif /* CRABTREE_ENGINES_FASTFAIR_SURE_H */

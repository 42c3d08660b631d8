/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares a set of hashes of keys, by which a pass over a leaf without order knows of
 * most keys that they do not occur twice. Slotted leaves have a set of their own, which serves
 * many leaves.
 *
 * Layer L3: it includes nothing of the module; engines/ and tests include it.
 *
 * No lock: it is on the stack of its user.
 */
#ifndef CRABTREE_KEYSET_H
#define CRABTREE_KEYSET_H

#include <linux/bitops.h>
#include <linux/hash.h>
#include <linux/types.h>

#define CRAB_KEYSET_BITS	10U	/* of a hash: in a leaf of 60 keys, two have the same one */

/**
 * struct crab_keyset - hashes of the keys of a pass
 * @bits: one bit for each hash; 0 at first
 */
struct crab_keyset {
	unsigned long bits[BITS_TO_LONGS(1U << CRAB_KEYSET_BITS)];
};

/**
 * crab_keyset_add() - add a key to the set
 * @set: the set
 * @key: the key
 * Context: any.
 * Return: false if the key is a new one; true if it may have been in the set.
 */
static inline bool crab_keyset_add(struct crab_keyset *set, u64 key)
{
	return __test_and_set_bit(hash_64(key, CRAB_KEYSET_BITS), set->bits);
}

#endif /* CRABTREE_KEYSET_H */

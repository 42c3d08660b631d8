/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the fingerprints of the keys of a leaf: a byte for each slot, in DRAM. A
 * search compares eight at a time, and reads the keys of those that are equal.
 *
 * Locking: see nb_leaf.fp.
 */
#ifndef CRABTREE_ENGINES_NBTREE_FINGERPRINT_H
#define CRABTREE_ENGINES_NBTREE_FINGERPRINT_H

#include "nbtree.h"

#define NB_FP_BITS	8U
#define NB_FP_BYTES	((u32)sizeof(__le64))
#define NB_FP_EACH	0x0101010101010101ULL	/* 1 in each byte */
#define NB_FP_TOP	(NB_FP_EACH << 7)

/**
 * nb_fingerprint() - fingerprint of a key
 * @key: the key
 * Context: any.
 * Return: any byte.
 */
static inline u8 nb_fingerprint(u64 key)
{
	return key * 0x9e3779b97f4a7c15ULL >> 56;
}

/**
 * nb_fp_load() - the fingerprints of eight slots
 * @leaf: the leaf
 * @first: the first slot, a multiple of eight
 * Context: any.
 * Return: that of @first in the lowest byte.
 */
static inline u64 nb_fp_load(const struct nb_leaf *leaf, u32 first)
{
	return le64_to_cpu(READ_ONCE(leaf->fp_words[first / NB_FP_BYTES]));
}

/**
 * nb_fp_equal() - find a fingerprint among eight
 * @fps: of nb_fp_load()
 * @fp: the fingerprint
 * Context: any.
 * Return: the highest bit of each byte that is equal, and of some above one that is.
 */
static inline u64 nb_fp_equal(u64 fps, u8 fp)
{
	u64 zero = fps ^ NB_FP_EACH * fp;

	return (zero - NB_FP_EACH) & ~zero & NB_FP_TOP;
}

#endif /* CRABTREE_ENGINES_NBTREE_FINGERPRINT_H */

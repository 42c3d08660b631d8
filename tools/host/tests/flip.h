/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file makes other values for a word of the media, for tests in which it changes under an
 * attached store.
 */
#ifndef CRAB_HOST_FLIP_H
#define CRAB_HOST_FLIP_H

#include "tests/rng.h"

/**
 * flip_value() - another value for a word: one of six kinds, by turns
 * @seed: of the values
 * @turn: number of the word
 * @was: its value
 * @keys: how many there are: the word may be the key of another record
 *
 * Return: the value.
 */
static inline u64 flip_value(unsigned long long *seed, u64 turn, u64 was, u32 keys)
{
	switch (turn % 6) {
	case 0:
		return 0;
	case 1:
		return ~0ULL;
	case 2:
		return rng(seed);
	case 3:
		return was ^ 1ULL << rng_below(seed, 12);
	case 4:
		return was ^ 1ULL << rng_below(seed, 64);
	default:
		return was + 2 * rng_below(seed, keys) - keys;
	}
}

#endif /* CRAB_HOST_FLIP_H */

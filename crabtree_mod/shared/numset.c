// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements a set of numbers.
 *
 * Invariant: a bit of a level above the lowest is set if and only if the word that it stands for
 * is not 0.
 */
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/math.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "numset.h"

u64 crab_numset_plan(struct crab_numset *set, u64 bound)
{
	u64 words = 0, n = bound;

	set->levels = 0;
	do {
		n = n / BITS_PER_LONG + 1;
		set->first[set->levels++] = words;
		words += n;
	} while (n > 1);
	return words;
}

int crab_numset_init(struct crab_numset *set, u64 bound)
{
	u64 words = crab_numset_plan(set, bound);

	set->words = kvcalloc(words, sizeof(long),
			      GFP_KERNEL | __GFP_RETRY_MAYFAIL | __GFP_NOWARN);
	return set->words ? 0 : -ENOMEM;
}

void crab_numset_destroy(struct crab_numset *set)
{
	kvfree(set->words);
	set->words = NULL;
}

/* The word with bit @n of a level */
static unsigned long *numset_word(const struct crab_numset *set, u32 level, u64 n)
{
	return &set->words[set->first[level] + n / BITS_PER_LONG];
}

void crab_numset_fill(struct crab_numset *set, u64 n)
{
	u32 level;

	for (level = 0; level < set->levels; level++) {
		memset(numset_word(set, level, 0), 0xff, n / BITS_PER_LONG * sizeof(long));
		if (n % BITS_PER_LONG)
			*numset_word(set, level, n) = BIT_MASK(n) - 1;
		n = DIV_ROUND_UP_ULL(n, BITS_PER_LONG);
	}
}

void crab_numset_add(struct crab_numset *set, u64 n)
{
	unsigned long *word, before;
	u32 level;

	for (level = 0; level < set->levels; level++, n /= BITS_PER_LONG) {
		word = numset_word(set, level, n);
		before = *word;
		*word |= BIT_MASK(n);
		if (before)
			return;
	}
}

void crab_numset_remove(struct crab_numset *set, u64 n)
{
	unsigned long *word;
	u32 level;

	for (level = 0; level < set->levels; level++, n /= BITS_PER_LONG) {
		word = numset_word(set, level, n);
		*word &= ~BIT_MASK(n);
		if (*word)
			return;
	}
}

u64 crab_numset_after(const struct crab_numset *set, u64 n)
{
	unsigned long bits = 0;
	u64 at = n;
	u32 level;

	for (level = 0; level < set->levels; level++, at /= BITS_PER_LONG) {
		bits = *numset_word(set, level, at) & ~1UL << at % BITS_PER_LONG;
		if (bits)
			break;
	}
	if (!bits)
		return n;
	at = round_down(at, BITS_PER_LONG) + __ffs(bits);
	while (level--) {
		bits = set->words[set->first[level] + at];
		if (unlikely(!bits))	/* a number was removed meanwhile */
			return n;
		at = at * BITS_PER_LONG + __ffs(bits);
	}
	return at;
}

u64 crab_numset_before(const struct crab_numset *set, u64 n)
{
	unsigned long bits = 0;
	u64 at = n;
	u32 level;

	for (level = 0; level < set->levels; level++, at /= BITS_PER_LONG) {
		bits = *numset_word(set, level, at) & (BIT_MASK(at) - 1);
		if (bits)
			break;
	}
	if (!bits)
		return n;
	at = round_down(at, BITS_PER_LONG) + __fls(bits);
	while (level--) {
		bits = set->words[set->first[level] + at];
		if (unlikely(!bits))	/* a number was removed meanwhile */
			return n;
		at = at * BITS_PER_LONG + __fls(bits);
	}
	return at;
}

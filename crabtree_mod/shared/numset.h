/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares a set of numbers: one bit for each number, a summary with one bit for each
 * word of these, a summary of the summary, and so on. So the next number of the set is found in
 * two words of each level at most, however far it is.
 *
 * Layer L3: it includes nothing of the module; shared/ and tests include it.
 *
 * Locking: that of the set's user.
 */
#ifndef CRABTREE_NUMSET_H
#define CRABTREE_NUMSET_H

#include <linux/types.h>

#define CRAB_NUMSET_LEVELS	9U	/* 2^40 numbers, with words of 32 bits, too */

/**
 * struct crab_numset - numbers below a bound
 * @words: of all levels
 * @first: by level: its first word
 * @levels: number of levels; the last one is a single word
 */
struct crab_numset {
	unsigned long *words;
	u64 first[CRAB_NUMSET_LEVELS];
	u32 levels;
};

/**
 * crab_numset_plan() - plan a set whose memory belongs to its user
 * @set: out: all but @words, which the user sets; the words must be zeroed
 * @bound: as of crab_numset_init()
 * Context: any.
 * Return: number of words.
 */
u64 crab_numset_plan(struct crab_numset *set, u64 bound);

/**
 * crab_numset_init() - make an empty set
 * @set: out
 * @bound: all numbers are below it; at most 2^40
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int crab_numset_init(struct crab_numset *set, u64 bound);

/**
 * crab_numset_destroy() - free the memory of a set
 * @set: the set; zeroed memory is allowed, too
 * Context: may sleep.
 */
void crab_numset_destroy(struct crab_numset *set);

/**
 * crab_numset_fill() - add the lowest numbers to an empty set
 * @set: the set
 * @n: how many
 * Context: any.
 */
void crab_numset_fill(struct crab_numset *set, u64 n);

/**
 * crab_numset_add() - add a number
 * @set: the set
 * @n: the number; it may be there
 * Context: any.
 */
void crab_numset_add(struct crab_numset *set, u64 n);

/**
 * crab_numset_remove() - remove a number
 * @set: the set
 * @n: the number; it may be missing
 * Context: any.
 */
void crab_numset_remove(struct crab_numset *set, u64 n);

/**
 * crab_numset_after() - find the next number
 * @set: the set
 * @n: any number below the bound
 * Context: any. If numbers are removed meanwhile, the result may be any number of the set, or @n.
 * Return: the lowest number of the set above @n, or @n if there is none.
 */
u64 crab_numset_after(const struct crab_numset *set, u64 n);

/**
 * crab_numset_before() - find the previous number
 * @set: the set
 * @n: any number below the bound
 * Context: as crab_numset_after().
 * Return: the highest number of the set below @n, or @n if there is none.
 */
u64 crab_numset_before(const struct crab_numset *set, u64 n);

#endif /* CRABTREE_NUMSET_H */

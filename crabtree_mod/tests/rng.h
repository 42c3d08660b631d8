/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file has the random numbers of all tests, in the kernel and in user space. A
 * sequence is the same on every machine. selftests/powercut/sequence.py repeats rng_mix().
 */
#ifndef CRABTREE_TESTS_RNG_H
#define CRABTREE_TESTS_RNG_H

/* Next number of a sequence (xorshift64*); @state is never 0 */
static inline unsigned long long rng(unsigned long long *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state * 0x2545f4914f6cdd1dULL;
}

/* Next number of a sequence, less than @limit */
static inline unsigned int rng_below(unsigned long long *state, unsigned int limit)
{
	return (rng(state) >> 32) % limit;
}

/* A number as good as random for each @x (splitmix64); different for different @x */
static inline unsigned long long rng_mix(unsigned long long x)
{
	x += 0x9e3779b97f4a7c15ULL;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

/* Bytes, of which each depends on @seed and on its place */
static inline void rng_fill(unsigned char *to, unsigned long long seed, unsigned int bytes)
{
	unsigned int i;

	for (i = 0; i < bytes; i++)
		to[i] = rng_mix(seed + i / 8) >> i % 8 * 8;
}

#endif /* CRABTREE_TESTS_RNG_H */

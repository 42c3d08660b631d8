/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The sequence of operations that churn performs: operation I of a seed is a
 * function of the two alone, so that a verifier that never saw the machine
 * knows it. sequence.py says the same in Python; `selftest` compares them.
 */
#ifndef POWERCUT_SEQUENCE_H
#define POWERCUT_SEQUENCE_H

#include <stdint.h>

#define SEQUENCE_BASE	(1ULL << 40)	/* the keys: below any kernel address */
#define SEQUENCE_KEYS	16384ULL

struct operation {
	int remove;		/* else insert or replace */
	uint64_t key;
	uint64_t value;
};

/* splitmix64's finisher: one to one, so that values differ */
static inline uint64_t sequence_mix(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ULL;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
	return x ^ (x >> 31);
}

/* Operation @i, from 1. One in four removes; a key may be absent then */
static inline struct operation sequence_at(uint64_t seed, uint64_t i)
{
	uint64_t dice = sequence_mix(seed ^ sequence_mix(i));

	return (struct operation){
		.remove = !(dice >> 62),
		.key = SEQUENCE_BASE + dice % SEQUENCE_KEYS,
		.value = sequence_mix((seed << 32) + i),
	};
}

#endif /* POWERCUT_SEQUENCE_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The sequence of operations that churn performs: operation I of a writer is a
 * function of these two and a seed alone, so that a verifier outside the machine
 * can compute it. sequence.py implements it in Python; `selftest` compares the two.
 *
 * The keys of the writers are disjoint and interleave, so that the writers work in
 * the same leaves. Waves of operations that mostly insert and that mostly remove
 * follow each other, so that leaves fill and split, drain and are unlinked.
 */
#ifndef POWERCUT_SEQUENCE_H
#define POWERCUT_SEQUENCE_H

#include <stdint.h>

#define SEQUENCE_BASE	(1ULL << 40)	/* the keys: below any kernel address */
#define SEQUENCE_KEYS	4096ULL		/* of a writer */
#define SEQUENCE_WRITERS 64ULL
#define SEQUENCE_WAVE	4096ULL

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

/* Operation @i, from 1. One in sixteen goes against the wave; a key may be absent when removed */
static inline struct operation sequence_at(uint64_t seed, uint64_t writer, uint64_t i)
{
	uint64_t own = seed * SEQUENCE_WRITERS + writer;
	uint64_t dice = sequence_mix(own ^ sequence_mix(i));
	int drains = i / SEQUENCE_WAVE & 1;

	return (struct operation){
		.remove = drains ^ !(dice >> 60),
		.key = SEQUENCE_BASE + dice % SEQUENCE_KEYS * SEQUENCE_WRITERS + writer,
		.value = sequence_mix((own << 32) + i),
	};
}

#endif /* POWERCUT_SEQUENCE_H */

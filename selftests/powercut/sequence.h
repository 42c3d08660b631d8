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

#include "tests/rng.h"

#define SEQUENCE_BASE	(1ULL << 40)	/* the keys: below any kernel address */
#define SEQUENCE_KEYS	4096ULL		/* of a writer */
#define SEQUENCE_WRITERS 64ULL
#define SEQUENCE_WAVE	4096ULL

struct operation {
	int remove;		/* else insert or replace */
	uint64_t key;
	uint64_t value;
};

/* Operation @i, from 1. One in sixteen goes against the wave; a key may be absent when removed */
static inline struct operation sequence_at(uint64_t seed, uint64_t writer, uint64_t i)
{
	uint64_t own = seed * SEQUENCE_WRITERS + writer;
	uint64_t dice = rng_mix(own ^ rng_mix(i));
	int drains = i / SEQUENCE_WAVE & 1;

	return (struct operation){
		.remove = drains ^ !(dice >> 60),
		.key = SEQUENCE_BASE + dice % SEQUENCE_KEYS * SEQUENCE_WRITERS + writer,
		.value = rng_mix((own << 32) + i),
	};
}

#endif /* POWERCUT_SEQUENCE_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the accesses for engines whose writers take no lock: compare-and-swap of
 * one word and of two, loads with acquire semantics, and stores of whole lines.
 *
 * Layer L1: it includes nothing outside media/; every folder may include it.
 *
 * Invariant: a swap is one event. It is visible to all CPUs at once and, like every store, it
 * is durable only after a clean and a fence.
 *
 * Locking: none needed.
 */
#ifndef CRABTREE_SWAP_H
#define CRABTREE_SWAP_H

#include <linux/atomic.h>

#include "persist.h"

#define CRAB_LINE_WORDS	(CRAB_LINE / sizeof(__le64))

/**
 * crab_cas_pair_check() - whether this CPU has crab_cas_pair()
 *
 * An engine that needs it returns the error from attach.
 *
 * Context: any; after crab_persist_init().
 * Return: 0, or -EOPNOTSUPP.
 */
int crab_cas_pair_check(void);

/**
 * crab_line_is_atomic() - whether crab_store_line() stores a line as one event on this CPU
 *
 * Context: any; after crab_persist_init().
 * Return: true if a power cut leaves the old line or the new line, by the architecture.
 */
bool crab_line_is_atomic(void);

/**
 * crab_load_acquire() - load one word of the media before all later accesses
 * @media: the media
 * @p: aligned to 8, inside the media
 * Context: any.
 * Return: its value in the CPU's byte order.
 */
static __always_inline u64 crab_load_acquire(const struct crab_media *media, const __le64 *p)
{
	u64 value;

	if (crab_hook_load(media, p, &value))
		return value;
	/* Pairs with the swap, or the release store, that published the word */
	return le64_to_cpu(smp_load_acquire(p));
}

/**
 * crab_cas() - replace one word if it has an expected value
 * @flow: the caller's flow
 * @p: aligned to 8, inside the media
 * @old: expected value
 * @new: new value
 *
 * Fully ordered if it replaces the word; otherwise no more than a load.
 *
 * Context: any.
 * Return: the value before; the word was replaced if it equals @old.
 */
static __always_inline u64 crab_cas(struct crab_flow *flow, __le64 *p, u64 old, u64 new)
{
	u64 found;

	(void)crab_hook_load(flow->media, p, &found);
	crab_hook_ordered(flow->media);
	found = le64_to_cpu((__force __le64)cmpxchg((__force u64 *)p,
						    (__force u64)cpu_to_le64(old),
						    (__force u64)cpu_to_le64(new)));
	if (found == old)
		crab_hook_stored(flow->media, p, new);
	crab_hook_ordered(flow->media);
	return found;
}

/**
 * crab_cas_pair() - replace two words if both have expected values; fully ordered
 * @flow: the caller's flow
 * @p: aligned to 16, inside the media
 * @old: expected values; out, on failure: each word as it was at some time during the call
 * @first: new value of @p[0]
 * @second: new value of @p[1]
 * Context: any; crab_cas_pair_check() returned 0.
 * Return: true if the words were replaced.
 */
static __always_inline bool crab_cas_pair(struct crab_flow *flow, __le64 *p, u64 old[2],
					  u64 first, u64 second)
{
	u64 lo = (__force u64)cpu_to_le64(old[0]), hi = (__force u64)cpu_to_le64(old[1]);
	bool done;

	(void)crab_hook_load(flow->media, p, &old[0]);
	(void)crab_hook_load(flow->media, p + 1, &old[1]);
	crab_hook_ordered(flow->media);
	done = crab_arch_cas_pair(p, &lo, &hi, cpu_to_le64(first), cpu_to_le64(second));
	if (done)
		crab_hook_swapped_pair(flow->media, p, first, second);
	else
		crab_hook_refused_pair(flow->media, p);
	crab_hook_ordered(flow->media);
	old[0] = le64_to_cpu((__force __le64)lo);
	old[1] = le64_to_cpu((__force __le64)hi);
	return done;
}

/**
 * crab_store_line() - store a whole line
 * @flow: the caller's flow
 * @line: aligned to CRAB_LINE, inside the media
 * @words: eight words in the CPU's byte order
 *
 * One event of its line where crab_line_is_atomic(), and under model A. Otherwise eight stores
 * in no order. Ordered after all earlier stores and before all later ones.
 *
 * Context: any.
 */
static __always_inline void crab_store_line(struct crab_flow *flow, __le64 *line,
					    const u64 words[CRAB_LINE_WORDS])
{
	__le64 source[CRAB_LINE_WORDS] __aligned(CRAB_LINE);
	u32 i;

	for (i = 0; i < CRAB_LINE_WORDS; i++)
		source[i] = cpu_to_le64(words[i]);
	crab_order(flow);
	crab_hook_line(crab_arch_store_line(line, source));
	crab_hook_stored_line(flow->media, line, words);
	crab_order(flow);
}

#endif /* CRABTREE_SWAP_H */

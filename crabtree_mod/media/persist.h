/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the accesses to the media: load, store, clean, fence. The only other ones
 * are the swaps of swap.h.
 *
 * Layer L1: it includes nothing outside media/; every folder may include it.
 *
 * The model (Documentation/design/media-model.rst): an aligned store of 8 bytes is atomic. A
 * stored word is durable once its line was cleaned and then a full fence completed on the same
 * CPU. Until then any subset of the stored words may be on the media (model W).
 *
 * A fence completes the cleans of its own CPU only, so a task must not migrate between the two:
 * it holds the spinlock of a leaf, or it is between crab_flow_pin() and crab_flow_unpin().
 * Preemption in between is harmless. Nothing relies on the barrier in a switch of tasks: on
 * arm64 that is a dsb ish, and no manual guarantees that it completes a clean to the point of
 * persistence.
 *
 * These functions order persistence. The order in which other CPUs see stores is the callers'
 * task, by locks and smp_*(). The two vocabularies are never mixed.
 *
 * Locking: a flow belongs to one thread at a time: each write has its own.
 */
#ifndef CRABTREE_PERSIST_H
#define CRABTREE_PERSIST_H

#include <linux/compiler.h>
#include <linux/kernel.h>
#include <linux/preempt.h>
#include <linux/prefetch.h>
#include <linux/sched.h>
#include <linux/types.h>
#include <asm/byteorder.h>

#include "format.h"
#include "hooks.h"
#include "media.h"
#include "point.h"

#if defined(__aarch64__)
#include "persist_arm64.h"
#elif defined(__x86_64__)
#include "persist_x86.h"
#else
#error "crabtree: this architecture needs primitives: Documentation/design/media-model.rst"
#endif

/**
 * crab_persist_init() - choose the primitives for this CPU
 *
 * Context: once, before any other call; may sleep.
 * Return: 0, or -EOPNOTSUPP if the CPU cannot clean a line, or if its lines are shorter than
 * CRAB_LINE.
 */
int crab_persist_init(void);

/**
 * crab_persist_class() - how far a fenced clean reaches on this CPU
 *
 * Context: any; after crab_persist_init().
 * Return: the class of a region whose memory itself survives.
 */
enum crab_durability crab_persist_class(void);

/**
 * crab_persist_method() - name of the clean instruction in use
 *
 * Context: any; after crab_persist_init().
 * Return: a name for logs.
 */
const char *crab_persist_method(void);

/**
 * crab_pair_is_atomic() - whether crab_store_pair() stores 16 bytes as one event of its line
 *
 * Context: any; after crab_persist_init().
 * Return: true if so.
 */
bool crab_pair_is_atomic(void);

/**
 * crab_load() - load one word of the media
 * @media: the media
 * @p: aligned to 8, inside the media
 *
 * Context: any.
 * Return: its value in the CPU's byte order.
 */
static __always_inline u64 crab_load(const struct crab_media *media, const __le64 *p)
{
	u64 value;

	if (crab_hook_load(media, p, &value))
		return value;
	return le64_to_cpu(READ_ONCE(*p));
}

/**
 * crab_store() - store one word of the media; atomic, and not yet durable
 * @flow: the caller's flow
 * @p: aligned to 8, inside the media
 * @value: in the CPU's byte order
 *
 * Context: any.
 */
static __always_inline void crab_store(struct crab_flow *flow, __le64 *p, u64 value)
{
	WRITE_ONCE(*p, cpu_to_le64(value));
	crab_hook_stored(flow->media, p, value);
}

/**
 * crab_store_pair() - store two words, @p[0] and @p[1]
 * @flow: the caller's flow
 * @p: aligned to 16, inside the media
 * @first: for @p[0]
 * @second: for @p[1]
 *
 * One event of its line where crab_pair_is_atomic(); otherwise @second is
 * visible to other CPUs no later than @first. Under model W always two words.
 *
 * Context: any.
 */
static __always_inline void crab_store_pair(struct crab_flow *flow, __le64 *p,
					    u64 first, u64 second)
{
	crab_arch_store_pair(p, cpu_to_le64(first), cpu_to_le64(second));
	crab_hook_stored_pair(flow->media, p, first, second);
}

/**
 * crab_prefetchw_range() - announce lines that will be written soon
 * @p: first byte
 * @len: bytes; 0: nothing
 *
 * A store that misses the caches delays the clean that follows it, and so the fence.
 *
 * Context: any.
 */
static __always_inline void crab_prefetchw_range(const void *p, u64 len)
{
	unsigned long line = (unsigned long)p & ~(CRAB_LINE - 1UL);
	unsigned long end = (unsigned long)p + len;

	for (; line < end; line += CRAB_LINE)
		prefetchw((void *)line);
}

/**
 * crab_prefetch_range() - announce lines that will be read soon
 * @p: first byte
 * @len: bytes
 *
 * Into the second cache, which has more outstanding misses than the first.
 *
 * Context: any.
 */
static __always_inline void crab_prefetch_range(const void *p, u64 len)
{
	const u8 *line = p, *end = line + len;

	/* Without it the compiler deletes the call of a function that does only this */
	asm volatile("");
	for (; line + CRAB_LINE < end; line += 2 * CRAB_LINE) {
		__builtin_prefetch(line, 0, 2);
		__builtin_prefetch(line + CRAB_LINE, 0, 2);
	}
	if (line < end)
		__builtin_prefetch(line, 0, 2);
}

/**
 * crab_flow_pin() - keep this task on its CPU until crab_flow_unpin()
 *
 * For stores, cleans and their fence where no spinlock is held.
 *
 * Context: any; the task may sleep and may be preempted until crab_flow_unpin().
 */
static inline void crab_flow_pin(void)
{
	migrate_disable();
}

/**
 * crab_flow_unpin() - end a section that crab_flow_pin() began
 *
 * Context: any; the fence is done.
 */
static inline void crab_flow_unpin(void)
{
	migrate_enable();
}

/* Checks only in kernels with DEBUG_ATOMIC_SLEEP */
static __always_inline void crab_assert_pinned(void)
{
	if (!CRAB_ALONE)
		cant_migrate();
}

/**
 * crab_clean() - begin to write lines back; a fence completes the write-back
 * @flow: the caller's flow; counts the lines
 * @p: first byte
 * @len: bytes, more than 0
 *
 * Context: a spinlock is held, or crab_flow_pin().
 */
static __always_inline void crab_clean(struct crab_flow *flow, const void *p, u64 len)
{
	unsigned long line = (unsigned long)p & ~(CRAB_LINE - 1UL);
	unsigned long end = (unsigned long)p + len;

	crab_assert_pinned();
	crab_hook_clean(flow->media, p, len);
	for (; line < end; line += CRAB_LINE) {
		flow->lines++;
		if (!flow->media->fence_only)
			crab_arch_clean_line((void *)line);
	}
}

/**
 * crab_clean_word() - crab_clean() of the line of one word
 * @flow: the caller's flow; counts the line
 * @p: aligned to 8
 *
 * Context: as crab_clean().
 */
static __always_inline void crab_clean_word(struct crab_flow *flow, const __le64 *p)
{
	crab_assert_pinned();
	crab_hook_clean(flow->media, p, sizeof(*p));
	flow->lines++;
	if (!flow->media->fence_only)
		crab_arch_clean_line((void *)p);
}

/**
 * crab_order() - make earlier stores visible before later ones
 * @flow: the caller's flow; counts the call
 *
 * Under model L, and only there, a power cut keeps the stores to one line in the same order.
 *
 * Context: any.
 */
static __always_inline void crab_order(struct crab_flow *flow)
{
	flow->orders++;
	crab_arch_order();
	crab_hook_ordered(flow->media);
}

/**
 * crab_fence() - make durable all that this flow has cleaned
 * @flow: the caller's flow; counts the fence
 * @point: the persist point of this fence
 *
 * Context: as crab_clean().
 */
static __always_inline void crab_fence(struct crab_flow *flow, enum crab_point point)
{
	flow->fences++;
	crab_arch_fence();
	crab_hook_fenced(flow->media, point);
}

#endif /* CRABTREE_PERSIST_H */

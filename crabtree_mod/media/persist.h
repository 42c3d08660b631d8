/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file is the only way to the media: load, store, clean, fence.
 *
 * The model (Documentation/design/media-model.rst): an aligned 8-byte store is
 * atomic; a stored word is durable once its line was cleaned and then a full
 * fence completed on the same CPU; until then any subset of the words stored
 * may be on the media (model W).
 *
 * A fence completes the cleans of its own CPU, so a task does not migrate between the
 * two: it holds a leaf's spinlock, or it is within crab_flow_pin(). Preemption in between
 * is harmless. Nothing relies on the barrier in the switch of tasks: on arm64 that is a
 * dsb ish, and no reference says that it completes a clean to the point of persistence.
 *
 * Two vocabularies, never mixed: what is here orders persistence; what other
 * CPUs see is ordered by locks and smp_*() in the callers.
 *
 * Locking: a flow belongs to one thread of execution at a time: each write has its
 * own.
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

/*
 * Persist points: every durability fence is one of these. The names stand in
 * the protocol comments, the shadow's log and the manual alike.
 */
enum crab_point {
	CRAB_P1_CLEARED = 1,	/* FORMAT: both superblocks void before anything else changes */
	CRAB_P2_BODY,		/* FORMAT: head and first leaf, before a superblock names them */
	CRAB_P3_SUPER,		/* one superblock copy whole, and what attach repaired before it */
	CRAB_P4_FOUND,		/* what attach read, before anything is built on it */
	CRAB_P5_PREPARED,	/* landmarks of a free leaf, before the pool hands it out */
	CRAB_P6_RECORD,		/* a slot, or those of an epoch: insert, update, delete */
	CRAB_P7_FRESH,		/* fresh leaves whole, before P8 links them */
	CRAB_P8_LINKED,		/* the predecessor's link; what it bypasses is free after it */
	CRAB_P9_SHIFTED,	/* a line that received a record, before its old place changes */
	CRAB_P10_ENDED,		/* the end of a leaf's records, before or after what it hides */
	CRAB_P11_APPENDED,	/* records behind the end, before the first key reveals them */
	CRAB_P12_ALLOCATED,	/* one word of the bitmap, where leaves are allocated on demand */
	CRAB_POINTS
};

enum crab_durability {
	CRAB_DURABILITY_NONE,		/* volatile memory */
	CRAB_DURABILITY_UNPROVEN,	/* may stand in caches of a life before this one */
	CRAB_DURABILITY_POC,
	CRAB_DURABILITY_POP,
	CRAB_DURABILITY_PODP,
	CRAB_DURABILITY_CACHE,
};

struct crab_badmem;

/**
 * struct crab_media - a mapped region as L1 sees it
 * @base: where it is mapped, aligned to a page
 * @size: bytes
 * @durability: what a fenced clean means here
 * @fence_only: caches are in the persistence domain: cleans are not needed
 * @bad: ranges that cannot be read, or NULL where the provider knows of none
 * @hooks: nothing, but in test builds
 */
struct crab_media {
	u8 *base;
	u64 size;
	enum crab_durability durability;
	bool fence_only;
	struct crab_badmem *bad;
	struct crab_hooks hooks;
};

/**
 * struct crab_flow - a sequence of stores, cleans and fences by one thread
 * @media: where they go
 * @lines: lines cleaned so far, or since somebody took this number
 * @fences: fences, in the same way
 * @orders: stores kept in order within a line, see crab_order(), in the same way
 * @settled: the engine has counted this write, and nothing is left to do after it
 */
struct crab_flow {
	struct crab_media *media;
	u64 lines;
	u64 fences;
	u64 orders;
	bool settled;
};

#if defined(__aarch64__)
#include "persist_arm64.h"
#elif defined(__x86_64__)
#include "persist_x86.h"
#else
#error "crabtree: no persistence primitives for this architecture"
#endif

/**
 * crab_persist_init() - choose the primitives for this CPU
 *
 * Context: once, before any other call; may sleep.
 * Return: 0, or -EOPNOTSUPP where the CPU cannot clean a line, or has lines that
 * are shorter than CRAB_LINE.
 */
int crab_persist_init(void);

/**
 * crab_persist_class() - what a fenced clean reaches on this CPU
 *
 * Return: the class of a region whose memory itself survives.
 */
enum crab_durability crab_persist_class(void);

/** crab_persist_method() - name of the instruction in use, for people */
const char *crab_persist_method(void);

/** crab_pair_is_atomic() - does crab_store_pair() store 16 bytes as one event of its line? */
bool crab_pair_is_atomic(void);

/**
 * crab_load() - one word of the media
 * @media: the media
 * @p: aligned to 8, inside it
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
 * crab_store() - one word of the media, atomic but not yet durable
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
 * crab_store_pair() - two words, @p[0] and @p[1]
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
 * crab_prefetchw_range() - lines that will be written soon; a hint
 * @p: first byte
 * @len: bytes; 0: nothing
 *
 * A store that misses the caches makes the clean behind it wait, and the fence with it.
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
 * crab_prefetch_range() - lines that will be read soon; a hint
 * @p: first byte
 * @len: bytes
 *
 * As far as the second cache, which waits for more lines at a time than the first.
 *
 * Context: any.
 */
static __always_inline void crab_prefetch_range(const void *p, u64 len)
{
	const u8 *line = p, *end = line + len;

	for (; line < end; line += CRAB_LINE)
		__builtin_prefetch(line, 0, 2);
}

/**
 * crab_flow_pin() - this task stays on its CPU until crab_flow_unpin()
 *
 * Around stores, cleans and their fence where no spinlock is held.
 *
 * Context: any; it may sleep and be preempted until crab_flow_unpin().
 */
static inline void crab_flow_pin(void)
{
	migrate_disable();
}

/** crab_flow_unpin() - the fence is done */
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
 * crab_clean() - begin to write lines back; a fence completes it
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
 * crab_clean_word() - crab_clean() of the line that a word is in
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
 * crab_order() - stores before it are visible before stores after it
 * @flow: the caller's flow; counts it
 *
 * Under model L, and only there, the same holds for what a cut leaves of one line.
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
 * crab_fence() - all that this flow cleaned is durable on return
 * @flow: the caller's flow; counts the fence
 * @point: which promise this fence keeps
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

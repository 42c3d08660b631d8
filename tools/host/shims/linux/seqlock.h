/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_SEQLOCK_H
#define CRAB_SHIM_LINUX_SEQLOCK_H

/*
 * A sequence count whose writers hold a spinlock, with the order of the kernel's: odd
 * while a writer is in its section. Readers use READ_ONCE() and writers WRITE_ONCE() for
 * the data. With one thread no reader can wait for a writer.
 */
#include <asm/processor.h>
#include <linux/lockdep.h>
#include <linux/spinlock.h>
#include <linux/types.h>

typedef struct {
	u32 sequence;
} seqcount_spinlock_t;

#define seqcount_spinlock_init(s, l)	((void)(l), (s)->sequence = 0)

static inline u32 read_seqcount_begin(const seqcount_spinlock_t *s)
{
	u32 turns = 0, seq;

	while (unlikely((seq = smp_load_acquire(&s->sequence)) & 1)) {
#if !defined(CRABTREE_HOST_THREADS) && !defined(CRABTREE_HOST_TASKS)
		BUG_ON(seq & 1);
#endif
		crab_host_turn(&turns);
	}
	return seq;
}

/* Does not wait: data read during a writer's section is not valid */
static inline u32 raw_seqcount_begin(const seqcount_spinlock_t *s)
{
	return smp_load_acquire(&s->sequence) & ~1U;
}

static inline bool read_seqcount_retry(const seqcount_spinlock_t *s, u32 seq)
{
	smp_rmb();
	return unlikely(READ_ONCE(s->sequence) != seq);
}

static inline void write_seqcount_begin(seqcount_spinlock_t *s)
{
	crab_host_assert(!(s->sequence & 1));
	WRITE_ONCE(s->sequence, s->sequence + 1);
	smp_wmb();
}

static inline void write_seqcount_end(seqcount_spinlock_t *s)
{
	crab_host_assert(s->sequence & 1);
	smp_store_release(&s->sequence, s->sequence + 1);
}

#define raw_write_seqcount_begin(s)	write_seqcount_begin(s)
#define raw_write_seqcount_end(s)	write_seqcount_end(s)

#endif /* CRAB_SHIM_LINUX_SEQLOCK_H */

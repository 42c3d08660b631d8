/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_BITOPS_H
#define CRAB_SHIM_LINUX_BITOPS_H

/* Single bits; the atomic forms are atomic here too. */
#include <linux/bits.h>
#include <linux/types.h>

#define BITS_TO_LONGS(n)	(((n) + BITS_PER_LONG - 1) / BITS_PER_LONG)
#define BIT_WORD(n)		((n) / BITS_PER_LONG)
#define BIT_MASK(n)		(1UL << ((n) % BITS_PER_LONG))

static inline unsigned long __ffs(unsigned long w)	{ return __builtin_ctzl(w); }
static inline unsigned int __ffs64(u64 w)		{ return __builtin_ctzll(w); }
static inline unsigned long __fls(unsigned long w)	{ return 63 - __builtin_clzl(w); }
static inline u64 rol64(u64 word, unsigned int shift)
{
	return word << (shift & 63) | word >> (-shift & 63);
}

static inline u64 ror64(u64 word, unsigned int shift)
{
	return word >> (shift & 63) | word << (-shift & 63);
}

static inline int fls64(u64 w)				{ return w ? 64 - __builtin_clzll(w) : 0; }
static inline unsigned long hweight64(u64 w)		{ return __builtin_popcountll(w); }

static inline bool test_bit(unsigned long n, const volatile unsigned long *p)
{
	return p[BIT_WORD(n)] & BIT_MASK(n);
}

static inline void __set_bit(unsigned long n, volatile unsigned long *p)
{
	p[BIT_WORD(n)] |= BIT_MASK(n);
}

static inline bool __test_and_set_bit(unsigned long n, volatile unsigned long *p)
{
	bool old = test_bit(n, p);

	__set_bit(n, p);
	return old;
}

static inline void __clear_bit(unsigned long n, volatile unsigned long *p)
{
	p[BIT_WORD(n)] &= ~BIT_MASK(n);
}

static inline bool __test_and_clear_bit(unsigned long n, volatile unsigned long *p)
{
	bool old = test_bit(n, p);

	__clear_bit(n, p);
	return old;
}

#endif /* CRAB_SHIM_LINUX_BITOPS_H */

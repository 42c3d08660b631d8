/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_BITMAP_H
#define CRAB_SHIM_LINUX_BITMAP_H

/* Bitmaps. */
#include <linux/find.h>
#include <linux/slab.h>
#include <linux/string.h>

static inline unsigned long *bitmap_alloc(unsigned int bits, gfp_t gfp)
{
	return kmalloc_array(BITS_TO_LONGS(bits), sizeof(long), gfp);
}

static inline unsigned long *bitmap_zalloc(unsigned int bits, gfp_t gfp)
{
	return kcalloc(BITS_TO_LONGS(bits), sizeof(long), gfp);
}

static inline void bitmap_free(const unsigned long *map)
{
	kfree(map);
}

static inline void bitmap_zero(unsigned long *map, unsigned int bits)
{
	memset(map, 0, BITS_TO_LONGS(bits) * sizeof(long));
}

static inline void bitmap_fill(unsigned long *map, unsigned int bits)
{
	memset(map, 0xff, BITS_TO_LONGS(bits) * sizeof(long));
}

static inline void bitmap_copy(unsigned long *to, const unsigned long *from, unsigned int bits)
{
	memcpy(to, from, BITS_TO_LONGS(bits) * sizeof(long));
}

static inline void bitmap_set(unsigned long *map, unsigned int at, unsigned int n)
{
	while (n--)
		__set_bit(at++, map);
}

static inline void bitmap_clear(unsigned long *map, unsigned int at, unsigned int n)
{
	while (n--)
		__clear_bit(at++, map);
}

static inline bool bitmap_empty(const unsigned long *map, unsigned int bits)
{
	return find_first_bit(map, bits) == bits;
}

static inline bool bitmap_full(const unsigned long *map, unsigned int bits)
{
	return find_first_zero_bit(map, bits) == bits;
}

static inline unsigned int bitmap_weight(const unsigned long *map, unsigned int bits)
{
	unsigned int n = 0, bit;

	for_each_set_bit(bit, map, bits)
		n++;
	return n;
}

#endif /* CRAB_SHIM_LINUX_BITMAP_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_FIND_H
#define CRAB_SHIM_LINUX_FIND_H

/* Searching bitmaps. */
#include <linux/align.h>
#include <linux/bitops.h>
#include <linux/minmax.h>

static inline unsigned long crab_find(const unsigned long *map, unsigned long size,
				      unsigned long at, unsigned long flip)
{
	unsigned long word;

	if (at >= size)
		return size;
	word = (map[BIT_WORD(at)] ^ flip) & (~0UL << (at % BITS_PER_LONG));
	at = ALIGN_DOWN(at, BITS_PER_LONG);
	while (!word) {
		at += BITS_PER_LONG;
		if (at >= size)
			return size;
		word = map[BIT_WORD(at)] ^ flip;
	}
	return min(at + __ffs(word), size);
}

#define find_next_bit(map, size, at)		crab_find(map, size, at, 0)
#define find_next_zero_bit(map, size, at)	crab_find(map, size, at, ~0UL)
#define find_first_bit(map, size)		crab_find(map, size, 0, 0)
#define find_first_zero_bit(map, size)		crab_find(map, size, 0, ~0UL)

#define for_each_set_bit(bit, map, size) \
	for ((bit) = find_first_bit(map, size); (bit) < (size); \
	     (bit) = find_next_bit(map, size, (bit) + 1))

#endif /* CRAB_SHIM_LINUX_FIND_H */

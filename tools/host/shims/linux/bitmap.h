/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_BITMAP_H
#define CRAB_SHIM_LINUX_BITMAP_H

/* Bitmaps. */
#include <linux/find.h>
#include <linux/slab.h>
#include <linux/string.h>

#define DECLARE_BITMAP(name, bits)	unsigned long name[((bits) + 63) / 64]

/* The bits after the last one are 0 in both */
static inline bool bitmap_intersects(const unsigned long *a, const unsigned long *b, unsigned int bits)
{
	unsigned int i;

	for (i = 0; i < (bits + 63) / 64; i++)
		if (a[i] & b[i])
			return true;
	return false;
}

#endif /* CRAB_SHIM_LINUX_BITMAP_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file makes names that have the same crc32c, so that their keys differ in the lower half only:
 * multiples of the polynomial, without carries.
 */
#ifndef CRAB_HOST_SAME_CRC_H
#define CRAB_HOST_SAME_CRC_H

#include <linux/bitops.h>
#include <linux/types.h>

#define SAME_CRC_BYTES	8U
#define SAME_CRC_POLY	0x105EC76F1ULL	/* of 33 bits, the highest power first */

/**
 * same_crc() - make a name
 * @n: number of the name, below 2^31
 * @text: out: SAME_CRC_BYTES bytes
 */
static inline void same_crc(u32 n, char *text)
{
	u64 bits = 0;
	u32 i;

	for (; n; n &= n - 1)
		bits ^= SAME_CRC_POLY << __ffs(n);
	for (i = 0; i < SAME_CRC_BYTES; i++)
		text[i] = bits >> 8 * i;
}

#endif /* CRAB_HOST_SAME_CRC_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file has the blobs of tests whose oracle knows keys and 64-bit values: a value chooses the
 * blob, in the kernel and in user space, and is its first word.
 */
#ifndef CRABTREE_TESTS_BLOB_VALUE_H
#define CRABTREE_TESTS_BLOB_VALUE_H

#include "rng.h"

#define BLOB_VALUE_MAX	208U	/* bytes: fits a slab of the test builds */

/* Makes the blob of a value; returns its length */
static inline unsigned int blob_value(unsigned long long value, unsigned char *bytes)
{
	unsigned int length = 8 + rng_mix(value) % (BLOB_VALUE_MAX - 7), i;

	for (i = 0; i < length; i++)
		bytes[i] = (i < 8 ? value : rng_mix(value + i / 8)) >> i % 8 * 8;
	return length;
}

#endif /* CRABTREE_TESTS_BLOB_VALUE_H */

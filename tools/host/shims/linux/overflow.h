/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_OVERFLOW_H
#define CRAB_SHIM_LINUX_OVERFLOW_H

#include <stddef.h>
#include <stdint.h>

#define check_add_overflow(a, b, d)	__builtin_add_overflow(a, b, d)

static inline size_t size_add(size_t a, size_t b)
{
	size_t sum;

	return __builtin_add_overflow(a, b, &sum) ? SIZE_MAX : sum;
}

static inline size_t size_mul(size_t a, size_t b)
{
	size_t product;

	return __builtin_mul_overflow(a, b, &product) ? SIZE_MAX : product;
}

#define array_size(n, size)		size_mul(n, size)
#define flex_array_size(p, m, n)	size_mul(n, sizeof(*(p)->m))
#define struct_size(p, m, n)		size_add(sizeof(*(p)), flex_array_size(p, m, n))

#endif /* CRAB_SHIM_LINUX_OVERFLOW_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_SORT_H
#define CRAB_SHIM_LINUX_SORT_H

#include <linux/types.h>

typedef int (*cmp_func_t)(const void *a, const void *b);
typedef int (*cmp_r_func_t)(const void *a, const void *b, const void *priv);
typedef void (*swap_func_t)(void *a, void *b, int size);
typedef void (*swap_r_func_t)(void *a, void *b, int size, const void *priv);

void sort(void *base, size_t num, size_t size, cmp_func_t cmp, swap_func_t swap_func);
void sort_r(void *base, size_t num, size_t size, cmp_r_func_t cmp, swap_r_func_t swap_func,
	    const void *priv);

#endif /* CRAB_SHIM_LINUX_SORT_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the heap of the benchmark: the host build's functions of
 * linux/slab.h, and the function below.
 */
#ifndef CRAB_BENCH_SLAB_H
#define CRAB_BENCH_SLAB_H

#include <linux/types.h>

/**
 * slab_populate() - reserve heap memory in huge pages, before anything is measured
 * @bytes: number of bytes for small objects, and again for objects of a huge page or more
 */
void slab_populate(u64 bytes);

#endif /* CRAB_BENCH_SLAB_H */

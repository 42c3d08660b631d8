/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the parts of test_alloc, which is one program: all of its places that allocate
 * must have failed.
 */
#ifndef CRAB_HOST_ALLOC_H
#define CRAB_HOST_ALLOC_H

#include <linux/types.h>

#define LEAF_BYTES	512

/* From now on, @n allocations succeed and the next one fails */
void fail_begin(long n);

/* Ends the injection of failures; did an allocation fail? */
bool fail_end(void);

/* Does the call return -ENOMEM if its first allocation fails? */
#define refused(call)	(fail_begin(0), (call) == -ENOMEM && fail_end())

/* alloc_layers.c: names, with their evacuation; watches and snapshots */
void alloc_test_names(void);
void alloc_test_observers(void);

#endif /* CRAB_HOST_ALLOC_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_TYPES_H
#define CRAB_SHIM_LINUX_TYPES_H

/* Kernel types on top of the system's uapi ones. */
#include_next <linux/types.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <linux/compiler.h>

typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __s8 s8;
typedef __s16 s16;
typedef __s32 s32;
typedef __s64 s64;
typedef unsigned int gfp_t;
typedef u64 phys_addr_t;
typedef u64 resource_size_t;

typedef struct { int counter; } atomic_t;
typedef struct { s64 counter; } atomic64_t;

struct list_head {
	struct list_head *next, *prev;
};

#endif /* CRAB_SHIM_LINUX_TYPES_H */

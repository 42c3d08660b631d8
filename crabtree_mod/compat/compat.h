/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This directory is the only place that knows kernel versions. This file is
 * included before every source of the module (Kbuild), so that the rest reads as
 * if written for the newest kernel. Floor: 6.1.
 *
 * Each entry: the name that our code uses, and what it is made of where.
 */
#ifndef CRABTREE_COMPAT_H
#define CRABTREE_COMPAT_H

#include <linux/crc32.h>
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "crabtree: needs Linux 6.1 or newer"
#endif

#if !IS_REACHABLE(CONFIG_CRC32)
#error "crabtree: needs CONFIG_CRC32"
#endif

/* 6.14: crc32c() moved to linux/crc32.h and no longer allocates a transform */
static inline u32 crab_crc32c(u32 seed, const void *data, size_t size)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 14, 0)
	return __crc32c_le(seed, data, size);
#else
	return crc32c(seed, data, size);
#endif
}

/* 6.13: namespaces became strings */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 13, 0)
#define CRAB_EXPORT_SYMBOL(sym)		EXPORT_SYMBOL_NS_GPL(sym, CRABTREE)
#define CRAB_IMPORT_NS()		MODULE_IMPORT_NS(CRABTREE)
#else
#define CRAB_EXPORT_SYMBOL(sym)		EXPORT_SYMBOL_NS_GPL(sym, "CRABTREE")
#define CRAB_IMPORT_NS()		MODULE_IMPORT_NS("CRABTREE")
#endif

/* 6.2: class.dev_uevent takes a const device */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 2, 0)
#define crab_uevent_device		struct device
#else
#define crab_uevent_device		const struct device
#endif

/* 6.11: platform_driver.remove returns nothing */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
#define crab_remove_result		int
#define CRAB_REMOVED			0
#else
#define crab_remove_result		void
#define CRAB_REMOVED
#endif

#endif /* CRABTREE_COMPAT_H */

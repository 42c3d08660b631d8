/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This folder contains all code that depends on the kernel's version. Kbuild includes this file
 * before every source of the module, so that the other folders are written for the newest kernel.
 * The oldest supported kernel is 6.1. It may include kernel headers only. No lock.
 *
 * Each entry defines a name that the module uses, for each range of versions.
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

/* 6.14: on x86-64, too, the kernel's function uses the instruction of the CPU */
#define CRAB_CRC32C_LIB_FAST	(LINUX_VERSION_CODE >= KERNEL_VERSION(6, 14, 0))

/* 6.15: crc32c() moved to linux/crc32.h, in place of __crc32c_le() */
static inline u32 crab_crc32c_lib(u32 seed, const void *data, size_t size)
{
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 15, 0)
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

/* 6.10: __assign_str() knows the source from __string() */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0)
#define crab_assign_str(field, source)	__assign_str(field, source)
#else
#define crab_assign_str(field, source)	__assign_str(field)
#endif

/* 6.11: platform_driver.remove returns nothing */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 11, 0)
#define crab_remove_result		int
#define CRAB_REMOVED			0
#else
#define crab_remove_result		void
#define CRAB_REMOVED
#endif

/* 6.12: memory that reserve_mem= reserved by name; a macro, because few files include linux/mm.h */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#define crab_reserve_mem_find(name, start, size)	(-EOPNOTSUPP)
#else
#define crab_reserve_mem_find(name, start, size)				\
({										\
	phys_addr_t _start, _size;						\
	int _found = reserve_mem_find_by_name(name, &_start, &_size);		\
										\
	if (_found) {								\
		*(start) = _start;						\
		*(size) = _size;						\
	}									\
	_found ? 0 : -ENOENT;							\
})
#endif

/* 7.0: clang's annotations of locks took the place of sparse's */
#ifndef __cond_lock
#define __cond_lock(lock, taken)	(taken)
#endif

#endif /* CRABTREE_COMPAT_H */

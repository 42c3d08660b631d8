/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_VMALLOC_H
#define CRAB_SHIM_LINUX_VMALLOC_H

#include <linux/slab.h>

#define __vmalloc(size, gfp)		crab_host_here(crab_host_alloc(size, PAGE_SIZE, gfp))
#define vmalloc(size)			__vmalloc(size, GFP_KERNEL)
#define vzalloc(size)			__vmalloc(size, GFP_KERNEL | __GFP_ZERO)
#define vfree(p)			kfree(p)

#endif /* CRAB_SHIM_LINUX_VMALLOC_H */

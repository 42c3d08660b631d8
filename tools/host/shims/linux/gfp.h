/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_GFP_H
#define CRAB_SHIM_LINUX_GFP_H

#include <linux/types.h>

#define GFP_KERNEL		0x1U
#define GFP_NOIO		0x8U
#define GFP_NOFS		0x10U
#define GFP_ATOMIC		0x20U
#define GFP_NOWAIT		0x40U
#define __GFP_ZERO		0x100U
#define __GFP_NOWARN		0x200U
#define __GFP_NORETRY		0x400U
#define __GFP_RETRY_MAYFAIL	0x800U
#define __GFP_ACCOUNT		0x2000U
#define GFP_KERNEL_ACCOUNT	(GFP_KERNEL | __GFP_ACCOUNT)

#define gfpflags_allow_blocking(gfp)	((gfp) & (GFP_KERNEL | GFP_NOIO | GFP_NOFS))

#ifndef PAGE_SIZE
#define PAGE_SHIFT		12
#define PAGE_SIZE		(1UL << PAGE_SHIFT)
#endif
#define PAGE_ALIGN(x)		(((x) + PAGE_SIZE - 1) & ~(PAGE_SIZE - 1))

#endif /* CRAB_SHIM_LINUX_GFP_H */

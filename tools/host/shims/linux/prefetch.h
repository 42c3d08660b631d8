/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_PREFETCH_H
#define CRAB_SHIM_LINUX_PREFETCH_H

#define prefetch(p)		__builtin_prefetch(p)
#define prefetchw(p)		__builtin_prefetch(p, 1)

#endif /* CRAB_SHIM_LINUX_PREFETCH_H */

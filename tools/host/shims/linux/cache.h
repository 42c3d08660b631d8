/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_CACHE_H
#define CRAB_SHIM_LINUX_CACHE_H

#define SMP_CACHE_BYTES			64

#endif /* CRAB_SHIM_LINUX_CACHE_H */

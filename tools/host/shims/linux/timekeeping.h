/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_TIMEKEEPING_H
#define CRAB_SHIM_LINUX_TIMEKEEPING_H

#include <linux/ktime.h>

#endif /* CRAB_SHIM_LINUX_TIMEKEEPING_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_RATELIMIT_H
#define CRAB_SHIM_LINUX_RATELIMIT_H

#include <linux/printk.h>

#endif /* CRAB_SHIM_LINUX_RATELIMIT_H */

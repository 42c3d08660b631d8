/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_ARRAY_SIZE_H
#define CRAB_SHIM_LINUX_ARRAY_SIZE_H

#include <linux/kernel.h>

#endif /* CRAB_SHIM_LINUX_ARRAY_SIZE_H */

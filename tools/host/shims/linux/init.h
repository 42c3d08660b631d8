/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_INIT_H
#define CRAB_SHIM_LINUX_INIT_H

#include <linux/compiler.h>

#endif /* CRAB_SHIM_LINUX_INIT_H */

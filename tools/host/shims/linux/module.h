/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_MODULE_H
#define CRAB_SHIM_LINUX_MODULE_H

#include <linux/export.h>
#include <linux/moduleparam.h>

#define THIS_MODULE		((void *)0)
#define MODULE_LICENSE(x)
#define MODULE_AUTHOR(x)
#define MODULE_DESCRIPTION(x)

#endif /* CRAB_SHIM_LINUX_MODULE_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_KERNEL_H
#define CRAB_SHIM_LINUX_KERNEL_H

/* The headers that linux/kernel.h includes in the kernel. */
#include <linux/align.h>
#include <linux/bug.h>
#include <linux/build_bug.h>
#include <linux/compiler.h>
#include <linux/container_of.h>
#include <linux/limits.h>
#include <linux/log2.h>
#include <linux/math.h>
#include <linux/minmax.h>
#include <linux/printk.h>
#include <linux/types.h>

int kstrtou32(const char *text, unsigned int base, u32 *value);
int kstrtobool(const char *text, bool *value);

#define ARRAY_SIZE(a)		(sizeof(a) / sizeof((a)[0]))
#define cant_migrate()		((void)0)

#endif /* CRAB_SHIM_LINUX_KERNEL_H */

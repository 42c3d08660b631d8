/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_BITMAP_H
#define CRAB_SHIM_LINUX_BITMAP_H

/* Bitmaps. */
#include <linux/find.h>
#include <linux/slab.h>
#include <linux/string.h>

#define DECLARE_BITMAP(name, bits)	unsigned long name[((bits) + 63) / 64]

#endif /* CRAB_SHIM_LINUX_BITMAP_H */

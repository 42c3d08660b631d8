/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_MM_H
#define CRAB_SHIM_LINUX_MM_H

/* Like the kernel's header, this one includes most of the basic headers. */
#include <linux/atomic.h>
#include <linux/bitmap.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/list.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/vmalloc.h>

/* Number of free pages, set by a test */
extern long crab_host_pages;

#define si_mem_available()	crab_host_pages

#endif /* CRAB_SHIM_LINUX_MM_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_ERRNO_H
#define CRAB_SHIM_LINUX_ERRNO_H

/* glibc's errno.h includes this file, too: it defines only the numbers. */
#include_next <linux/errno.h>

#endif /* CRAB_SHIM_LINUX_ERRNO_H */

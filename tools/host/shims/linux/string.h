/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_STRING_H
#define CRAB_SHIM_LINUX_STRING_H

#include <string.h>
#include <linux/types.h>

ssize_t strscpy(char *to, const char *from, size_t size);
void *memchr_inv(const void *p, int c, size_t size);

#endif /* CRAB_SHIM_LINUX_STRING_H */

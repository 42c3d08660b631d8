/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_STRING_H
#define CRAB_SHIM_LINUX_STRING_H

#include <string.h>
#include <linux/types.h>

ssize_t strscpy(char *to, const char *from, size_t size);
void *memchr_inv(const void *p, int c, size_t size);
void *memset64(u64 *p, u64 value, size_t words);

#define memzero_explicit(p, n)	explicit_bzero(p, n)
#define str_has_prefix(s, p)	(strncmp(s, p, strlen(p)) ? 0 : strlen(p))

#endif /* CRAB_SHIM_LINUX_STRING_H */

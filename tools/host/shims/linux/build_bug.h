/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_BUILD_BUG_H
#define CRAB_SHIM_LINUX_BUILD_BUG_H

/* Assertions at build time. */
#include <linux/compiler.h>
#include <stddef.h>

#undef static_assert
#define static_assert(expr, ...)	crab_static_assert(expr, ##__VA_ARGS__, #expr)
#define crab_static_assert(expr, msg, ...)	_Static_assert(expr, msg)
#define BUILD_BUG_ON_ZERO(cond)		((int)sizeof(struct { int : (-!!(cond)); }))
#define BUILD_BUG_ON(cond)		_Static_assert(!(cond), "BUILD_BUG_ON: " #cond)

#endif /* CRAB_SHIM_LINUX_BUILD_BUG_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_MATH_H
#define CRAB_SHIM_LINUX_MATH_H

#include <stdlib.h>

#include <linux/align.h>

#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
#define DIV_ROUND_UP_ULL(n, d)	DIV_ROUND_UP((unsigned long long)(n), (d))
#define round_up(x, y)		ALIGN(x, y)
#define round_down(x, y)	ALIGN_DOWN(x, y)
#define abs(x)			({ __typeof__(x) _x = (x); _x < 0 ? -_x : _x; })

#endif /* CRAB_SHIM_LINUX_MATH_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_MATH_H
#define CRAB_SHIM_LINUX_MATH_H

#include <stdint.h>
#include <stdlib.h>

#include <linux/align.h>

#define DIV_ROUND_UP(n, d)	(((n) + (d) - 1) / (d))
/* As in a kernel, the divisor has 32 bits */
#define DIV_ROUND_UP_ULL(n, d)	(((unsigned long long)(n) + (d) - 1) / (uint32_t)(d))
#define round_up(x, y)		ALIGN(x, y)
#define round_down(x, y)	ALIGN_DOWN(x, y)

#endif /* CRAB_SHIM_LINUX_MATH_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_JUMP_LABEL_H
#define CRAB_SHIM_LINUX_JUMP_LABEL_H

#include <linux/types.h>

#define DECLARE_STATIC_KEY_FALSE(x)	extern bool x
#define DEFINE_STATIC_KEY_FALSE(x)	bool x
#define static_branch_unlikely(x)	unlikely(*(x))
#define static_branch_enable(x)		(*(x) = true)

#endif /* CRAB_SHIM_LINUX_JUMP_LABEL_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_STDDEF_H
#define CRAB_SHIM_LINUX_STDDEF_H

#include_next <linux/stddef.h>
#include <stddef.h>
#include <linux/compiler.h>

#define sizeof_field(type, member)	sizeof(((type *)0)->member)
#define offsetofend(type, member)	(offsetof(type, member) + sizeof_field(type, member))

#endif /* CRAB_SHIM_LINUX_STDDEF_H */

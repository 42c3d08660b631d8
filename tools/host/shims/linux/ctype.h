/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_CTYPE_H
#define CRAB_SHIM_LINUX_CTYPE_H

#include <ctype.h>

#endif /* CRAB_SHIM_LINUX_CTYPE_H */

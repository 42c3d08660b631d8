/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_STDARG_H
#define CRAB_SHIM_LINUX_STDARG_H

#include <stdarg.h>

#endif /* CRAB_SHIM_LINUX_STDARG_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_EXPORT_H
#define CRAB_SHIM_LINUX_EXPORT_H

#define EXPORT_SYMBOL_NS_GPL(x, ns)

#endif /* CRAB_SHIM_LINUX_EXPORT_H */

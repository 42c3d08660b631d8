/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_MODULEPARAM_H
#define CRAB_SHIM_LINUX_MODULEPARAM_H

#define module_param(name, type, perm)
#define module_param_named(name, value, type, perm)
#define MODULE_PARM_DESC(name, what)

#endif /* CRAB_SHIM_LINUX_MODULEPARAM_H */

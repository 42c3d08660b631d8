/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_LOCKDEP_H
#define CRAB_SHIM_LINUX_LOCKDEP_H

#define lockdep_assert_held(l)		((void)(l))
#define lockdep_assert_held_read(l)	((void)(l))
#define lockdep_assert_held_write(l)	((void)(l))
#define might_sleep()			((void)0)

#endif /* CRAB_SHIM_LINUX_LOCKDEP_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file reads the changes of a watch, and takes them, as the device does.
 */
#ifndef TESTS_CHANGES_H
#define TESTS_CHANGES_H

#include "store/watch.h"

static inline int take_changes(struct crab_watch *watch, struct crab_change *changes,
			       struct crab_change_name *names, u32 cap)
{
	int n = crab_watch_read(watch, changes, names, cap);

	if (n > 0)
		crab_watch_take(watch, changes, n);
	return n;
}

#endif /* TESTS_CHANGES_H */

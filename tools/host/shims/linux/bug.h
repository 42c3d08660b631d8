/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_BUG_H
#define CRAB_SHIM_LINUX_BUG_H

/* A broken assertion ends a host run, because a warning could be overlooked. */
#include <stdlib.h>
#include <linux/build_bug.h>
#include <linux/printk.h>

#define crab_host_bug(what) \
	(crab_host_printk('3', "%s:%d: %s\n", __FILE__, __LINE__, what), abort())
#define BUG()			crab_host_bug("BUG")
#define BUG_ON(cond)		do { if (unlikely(cond)) crab_host_bug("BUG_ON " #cond); } while (0)
#define WARN_ON(cond) \
	({ bool _bad = (cond); if (unlikely(_bad)) crab_host_bug("WARN_ON " #cond); _bad; })
#define WARN_ON_ONCE(cond)	WARN_ON(cond)

#endif /* CRAB_SHIM_LINUX_BUG_H */

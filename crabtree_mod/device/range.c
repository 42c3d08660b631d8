// SPDX-License-Identifier: GPL-2.0
/*
 * This file removes the records of a range, for ioctls and for other kernel code.
 *
 * Invariant: each chunk is one call on the store (device.h), so that a detach waits for a few
 * records only, however long the range is.
 *
 * No lock of its own.
 */
#include <linux/err.h>
#include <linux/sched/signal.h>

#include "device.h"

static int range_chunk(struct crab_device *device, struct crab_cursor *cursor, u64 *deleted)
{
	struct crab_store *store = crab_device_get_store(device);
	int err;

	if (IS_ERR(store))
		return PTR_ERR(store);
	err = crab_cursor_delete(store, cursor, CRAB_BATCH_CHUNK, deleted);
	return crab_device_end_call(device, err);
}

int crab_device_delete_range(struct crab_device *device, struct crab_cursor *cursor, u64 *deleted,
			     void (*pause)(void))
{
	int err = 0;

	while (!err && !cursor->done) {
		if (fatal_signal_pending(current))
			return -EINTR;
		err = range_chunk(device, cursor, deleted);
		pause();
	}
	return err;
}

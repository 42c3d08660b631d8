// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the code shared by all providers of regions: allocation, release, the check
 * of bounds, and the reason for which a region is refused.
 *
 * Invariant: a region that reached the layer above starts on a page, is whole
 * pages long, holds at least the smallest pool and does not wrap around.
 * No lock: a region belongs to one owner at a time.
 */
#define pr_fmt(fmt) "crabtree: " fmt

#include <linux/atomic.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "region.h"

bool crab_region_readonly;

/* Set before the first region is added, then constant */
static void (*region_listener)(const char *text);

void crab_region_listen(void (*listener)(const char *text))
{
	region_listener = listener;
}

void crab_region_refuse(const char *fmt, ...)
{
	char text[CRAB_REGION_REASON_LEN];
	va_list args;

	va_start(args, fmt);
	vscnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	pr_err("%s\n", text);
	region_listener(text);
}

struct crab_region *crab_region_alloc(const struct crab_region_ops *ops, const char *name, ...)
{
	static atomic64_t ids = ATOMIC64_INIT(0);
	struct crab_region *region = kzalloc(sizeof(*region), GFP_KERNEL);
	va_list args;

	if (!region)
		return NULL;
	region->id = atomic64_inc_return(&ids);
	region->ops = ops;
	va_start(args, name);
	vscnprintf(region->name, sizeof(region->name), name, args);
	va_end(args);
	return region;
}

void crab_region_free(struct crab_region *region)
{
	if (!region)
		return;
	region->ops->release(region);
	kfree(region);
}

int crab_region_check(const char *name, u64 start, u64 size)
{
	u64 end;

	if (!PAGE_ALIGNED(start) || !PAGE_ALIGNED(size)) {
		crab_region_refuse("%s: %#llx bytes at %#llx are not whole pages of %lu bytes",
				   name, size, start, PAGE_SIZE);
		return -EINVAL;
	}
	if (size < CRAB_REGION_BYTES_MIN) {
		crab_region_refuse("%s: %llu bytes are less than the smallest region, %llu",
				   name, size, PAGE_ALIGN(CRAB_REGION_BYTES_MIN));
		return -EINVAL;
	}
	if (check_add_overflow(start, size - 1, &end) || size > LONG_MAX) {
		crab_region_refuse("%s: %#llx bytes at %#llx are beyond any memory", name, size,
				   start);
		return -EINVAL;
	}
	return 0;
}

int crab_region_give(struct crab_region *region, const struct crab_region_events *events)
{
	int err;

	if (IS_ERR(region))
		return PTR_ERR(region);
	err = events->added(region);
	if (err)
		crab_region_free(region);
	return err;
}

void crab_region_caches(struct crab_region *region)
{
	region->media.fence_only = true;
	if (region->media.durability != CRAB_DURABILITY_NONE)
		region->media.durability = CRAB_DURABILITY_CACHE;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * This file provides volatile regions: ram=SIZE[,cache][,SIZE...]. They work on any machine, for
 * trials and development; their content is lost at unload.
 *
 * Invariant: the class is DURABILITY_NONE, regardless of the CPU. "cache" omits the cleans, as on a
 * platform whose caches persist. No lock: a region has one owner.
 */
#define pr_fmt(fmt) "crabtree: " fmt

#include <linux/err.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "provider.h"

static void ram_release(struct crab_region *region)
{
	vfree(region->media.base);
}

static const struct crab_region_ops ram_ops = {
	.provider	= "ram",
	.release	= ram_release,
};

/* A larger allocation would invoke the OOM killer and then fail */
static int ram_available(const char *name, u64 size)
{
	if (size >> PAGE_SHIFT < si_mem_available())
		return 0;
	crab_region_refuse("%s: only %ld KiB of memory are free", name,
			   si_mem_available() << (PAGE_SHIFT - 10));
	return -ENOMEM;
}

static struct crab_region *ram_open(u64 size, bool readonly)
{
	struct crab_region *region;
	int err;

	region = crab_region_alloc(&ram_ops, "ram:%llu", size);
	if (!region)
		return ERR_PTR(-ENOMEM);
	err = crab_region_check(region->name, 0, size) ?: ram_available(region->name, size);
	if (err)
		goto err_free;
	region->media.size = size;
	region->readonly = readonly;
	region->media.durability = CRAB_DURABILITY_NONE;
	region->media.base = vmalloc_huge(size, GFP_KERNEL | __GFP_ZERO | __GFP_NOWARN |
					  __GFP_RETRY_MAYFAIL);
	if (region->media.base)
		return region;
	crab_region_refuse("%s: no memory", region->name);
	err = -ENOMEM;
err_free:
	kfree(region);
	return ERR_PTR(err);
}

int crab_region_ram_parse(char **spec, struct crab_region_request *request)
{
	return crab_region_size(spec, &request->size);
}

int crab_region_ram_add(const struct crab_region_request *request,
			const struct crab_region_events *events)
{
	struct crab_region *region = ram_open(request->size, request->readonly);

	if (request->caches && !IS_ERR(region))
		crab_region_caches(region);
	return crab_region_give(region, events);
}

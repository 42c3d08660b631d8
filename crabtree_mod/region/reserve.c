// SPDX-License-Identifier: GPL-2.0
/*
 * This file provides regions in memory that the kernel reserved by name:
 * reserve=NAME[,OFFSET,SIZE][,cache][,NAME...], with reserve_mem=SIZE:ALIGN:NAME on the kernel's
 * command line (6.12 and newer). The kernel chooses the address at each boot: it is the same one
 * as long as kernel, firmware and command line are, and nothing else takes the place first.
 *
 * Invariant: a byte belongs to one region at most. The memory is System RAM, which /proc/iomem
 * cannot claim, so that this file keeps its own list; another user of the same name, such as
 * ramoops, is not noticed. Reserved memory is in the kernel's own mapping and no page of it is
 * ever free.
 *
 * Lock: reserve_lock protects the list.
 */
#define pr_fmt(fmt) "crabtree: " fmt

#include <linux/err.h>
#include <linux/list.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/utsname.h>

#include "provider.h"

/* A claimed range; @region's private data */
struct crab_reserve {
	struct list_head list;
	u64 start;
	u64 size;
};

static LIST_HEAD(reserve_list);
static DEFINE_MUTEX(reserve_lock);

static int reserve_find(const struct crab_region_request *request, u64 *start, u64 *size)
{
	int err = crab_reserve_mem_find(request->name, start, size);

	if (err == -EOPNOTSUPP)
		crab_region_refuse("reserve=%s: reserve_mem= needs Linux 6.12, this is %s",
				   request->name, init_utsname()->release);
	else if (err)
		crab_region_refuse("reserve=%s: no such name in reserve_mem= on the kernel's command line, or no memory was free for it at boot",
				   request->name);
	return err ?: crab_region_part("reserve", request, start, size);
}

static int reserve_claim(const char *name, struct crab_reserve *claim)
{
	struct crab_reserve *other;
	int err = 0;

	mutex_lock(&reserve_lock);
	list_for_each_entry(other, &reserve_list, list)
		if (claim->start < other->start + other->size &&
		    other->start < claim->start + claim->size)
			err = -EBUSY;
	if (!err)
		list_add(&claim->list, &reserve_list);
	mutex_unlock(&reserve_lock);
	if (err)
		crab_region_refuse("%s: a part of it is another region already", name);
	return err;
}

static void reserve_unclaim(struct crab_reserve *claim)
{
	mutex_lock(&reserve_lock);
	list_del(&claim->list);
	mutex_unlock(&reserve_lock);
	kfree(claim);
}

static void reserve_release(struct crab_region *region)
{
	crab_region_phys_unmap(region);
	reserve_unclaim(region->priv);
}

static const struct crab_region_ops reserve_ops = {
	.provider	= "reserve",
	.release	= reserve_release,
};

/* On an error nothing stays claimed */
static int reserve_open(struct crab_region *region, struct crab_reserve *claim,
			const struct crab_region_request *request)
{
	int err = reserve_find(request, &claim->start, &claim->size) ?:
		  crab_region_check(region->name, claim->start, claim->size) ?:
		  reserve_claim(region->name, claim);

	if (err)
		goto err_free;
	region->readonly = request->readonly;
	region->priv = claim;
	err = crab_region_phys_map(region, claim->start, claim->size);
	if (!err)
		return 0;
	reserve_unclaim(claim);
	return err;

err_free:
	kfree(claim);
	return err;
}

/**
 * crab_region_reserve_add() - claim memory that reserve_mem= of the command line names
 * @request: its name, and the part of it that is wanted
 * @events: the layer above, which receives the region
 *
 * Context: may sleep.
 * Return: 0, or an error with the reason in the log: -EOPNOTSUPP before Linux 6.12, -ENOENT,
 * -EINVAL, -EBUSY, -ENOMEM.
 */
int crab_region_reserve_add(const struct crab_region_request *request,
			    const struct crab_region_events *events)
{
	struct crab_region *region = crab_region_alloc_part(&reserve_ops, "reserve:", request);
	struct crab_reserve *claim = kzalloc(sizeof(*claim), GFP_KERNEL);
	int err = -ENOMEM;

	if (!region || !claim)
		goto err_free;
	err = reserve_open(region, claim, request);
	if (err) {
		kfree(region);
		return err;
	}
	if (request->caches)
		crab_region_caches(region);
	return crab_region_give(region, events);

err_free:
	kfree(claim);
	kfree(region);
	return err;
}

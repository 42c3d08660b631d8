// SPDX-License-Identifier: GPL-2.0
/*
 * This file provides regions at unclaimed physical addresses:
 * region=START,SIZE[,cache][,START,SIZE...], each pair also as SIZE@START. The memory is reserved
 * by mem= or, on x86, by memmap=SIZE$START. The file also claims and maps memory for providers
 * that find an address by other means.
 *
 * Invariant: a region has no byte of System RAM and no byte that another driver claimed. Mapped
 * memory is claimed in /proc/iomem as "crabtree", exclusively: with STRICT_DEVMEM /dev/mem cannot
 * map it. No lock: the caller owns the region.
 */
#define pr_fmt(fmt) "crabtree: " fmt

#include <linux/err.h>
#include <linux/io.h>
#include <linux/ioport.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/vmalloc.h>

#include "provider.h"

/**
 * crab_region_phys_unmap() - unmap the memory
 * @region: from crab_region_phys_map()
 *
 * Context: may sleep; no CPU accesses the memory.
 */
void crab_region_phys_unmap(struct crab_region *region)
{
	if (region->sealed)
		vunmap(region->media.base);
	else
		memunmap(region->media.base);
}

/**
 * crab_region_phys_release() - unmap the memory and release the claim
 * @region: from crab_region_phys_claim()
 *
 * Context: as crab_region_phys_unmap().
 */
void crab_region_phys_release(struct crab_region *region)
{
	crab_region_phys_unmap(region);
	release_mem_region(region->phys, region->media.size);
}

static const struct crab_region_ops phys_ops = {
	.provider	= "phys",
	.release	= crab_region_phys_release,
};

static int phys_claim(const char *name, u64 start, u64 size)
{
	int err = crab_region_check(name, start, size);

	if (err)
		return err;
	if (region_intersects(start, size, IORESOURCE_SYSTEM_RAM, IORES_DESC_NONE) !=
	    REGION_DISJOINT) {
		crab_region_refuse("%s: System RAM between %#llx and %#llx; keep it from the kernel first",
				   name, start, start + size - 1);
		return -EINVAL;
	}
	if (request_mem_region_exclusive(start, size, "crabtree"))
		return 0;
	crab_region_refuse("%s: something between %#llx and %#llx is in use, see /proc/iomem",
			   name, start, start + size - 1);
	return -EBUSY;
}

/**
 * crab_region_seal() - replace the mapping of a region by one that a store cannot pass
 * @region: the region, of a known size
 * @start: its physical address
 *
 * Does nothing unless the region is read-only or parameter readonly=1 is set. If the kernel cannot
 * map the memory so, the log reports it, and the region keeps its mapping.
 *
 * Context: may sleep; before @region is passed to the layer above.
 */
void crab_region_seal(struct crab_region *region, phys_addr_t start)
{
	void *base;

	if (!region->readonly && !crab_region_readonly)
		return;
	base = crab_region_map_readonly(start, region->media.size);
	if (!base) {
		pr_info("%s: this kernel cannot map it read-only\n", region->name);
		return;
	}
	region->media.base = base;
	region->sealed = true;
}

/**
 * crab_region_phys_map() - map physical memory that the caller has claimed
 * @region: the region; its @readonly is set
 * @start: first byte
 * @size: bytes
 *
 * Context: may sleep.
 * Return: 0, or -ENOMEM, with the reason in the log.
 */
int crab_region_phys_map(struct crab_region *region, u64 start, u64 size)
{
	region->phys = start;
	region->media.size = size;
	region->media.durability = crab_persist_class();
	crab_region_seal(region, start);
	if (!region->sealed)
		region->media.base = memremap(start, size, MEMREMAP_WB);
	if (region->media.base)
		return 0;
	crab_region_refuse("%s: cannot map %#llx bytes at %#llx", region->name, size, start);
	return -ENOMEM;
}

/**
 * crab_region_phys_claim() - claim and map physical memory
 * @ops: the provider; its release ends with crab_region_phys_release()
 * @name: of the region
 * @start: first byte
 * @size: bytes
 * @readonly: nothing may write it
 *
 * Context: may sleep.
 * Return: the region, or ERR_PTR: -EINVAL, -EBUSY, -ENOMEM, with the reason in the log.
 */
struct crab_region *crab_region_phys_claim(const struct crab_region_ops *ops, const char *name,
					   u64 start, u64 size, bool readonly)
{
	struct crab_region *region = crab_region_alloc(ops, "%s", name);
	int err;

	if (!region)
		return ERR_PTR(-ENOMEM);
	err = phys_claim(name, start, size);
	if (err)
		goto err_free;
	region->readonly = readonly;
	err = crab_region_phys_map(region, start, size);
	if (!err)
		return region;
	release_mem_region(start, size);
err_free:
	kfree(region);
	return ERR_PTR(err);
}

/* One item is SIZE@START, two are START and SIZE */
static int phys_parse(char **spec, u64 *start, u64 *size)
{
	char *item = strsep(spec, ",");
	u64 first = 0;
	char *end;
	int err = crab_region_number(item, &first, &end);

	if (!err && !*end) {
		*start = first;
		return crab_region_size(spec, size);
	}
	*size = first;
	if (!err && *end == '@') {
		item = end + 1;
		err = crab_region_number(item, start, &end);
		if (!err && !*end)
			return 0;
	}
	if (err != -ERANGE)
		crab_region_refuse("region=: %s is neither START,SIZE nor SIZE@START", item);
	return -EINVAL;
}

int crab_region_phys_parse(char **spec, struct crab_region_request *request)
{
	return phys_parse(spec, &request->start, &request->size);
}

int crab_region_phys_add(const struct crab_region_request *request,
			 const struct crab_region_events *events)
{
	char name[CRAB_REGION_NAME_LEN];
	struct crab_region *region;

	snprintf(name, sizeof(name), "phys:%#llx,%#llx", request->start, request->size);
	region = crab_region_phys_claim(&phys_ops, name, request->start, request->size,
					request->readonly);
	if (request->caches && !IS_ERR(region))
		crab_region_caches(region);
	return crab_region_give(region, events);
}

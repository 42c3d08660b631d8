// SPDX-License-Identifier: GPL-2.0
/*
 * This file maps memory so that a store to it faults: for regions that nothing may write.
 *
 * Invariant: the mapping is in addition to those that the kernel has, and has their memory type,
 * write-back. memremap() maps nothing read-only, and ioremap_prot() of x86 ignores the protection.
 * vmap() takes memory that has page frames in the kernel's tables, vmap_pfn() all other memory.
 *
 * No lock: the caller owns the memory.
 */
#include <linux/cc_platform.h>
#include <linux/mm.h>
#include <linux/mmzone.h>
#include <linux/pfn.h>
#include <linux/pgtable.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "region.h"

#define MAP_GFP		(GFP_KERNEL | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

/* Do all page frames have an entry in the kernel's tables, or none of them? */
static bool frames_are_alike(unsigned long first, u32 count, bool *known)
{
	u32 i;

	*known = pfn_valid(first);
	for (i = 1; i < count; i++) {
		if (pfn_valid(first + i) != *known)
			return false;
		if (!(i % SZ_64K))
			cond_resched();
	}
	return true;
}

static void *map_pages(unsigned long first, u32 count)
{
	struct page **pages = kvmalloc_array(count, sizeof(*pages), MAP_GFP);
	void *at;
	u32 i;

	if (!pages)
		return NULL;
	for (i = 0; i < count; i++)
		pages[i] = pfn_to_page(first + i);
	at = vmap(pages, count, VM_MAP, PAGE_KERNEL_RO);
	kvfree(pages);
	return at;
}

#ifdef CONFIG_VMAP_PFN

static void *map_frames(unsigned long first, u32 count)
{
	unsigned long *frames = kvmalloc_array(count, sizeof(*frames), MAP_GFP);
	void *at;
	u32 i;

	if (!frames)
		return NULL;
	for (i = 0; i < count; i++)
		frames[i] = first + i;
	at = vmap_pfn(frames, count, PAGE_KERNEL_RO);
	kvfree(frames);
	return at;
}

#else

static void *map_frames(unsigned long first, u32 count)
{
	return NULL;
}

#endif

/* User-mode Linux has no such protection; on encrypted memory the key depends on the mapping */
static bool can_protect(void)
{
	return pgprot_val(PAGE_KERNEL_RO) != pgprot_val(PAGE_KERNEL) &&
	       !cc_platform_has(CC_ATTR_MEM_ENCRYPT);
}

/*
 * An entry of arm64's page tables has attributes in the bits above the address, so that vmap_pfn()
 * would map other memory. memremap() refuses such an address, and on x86 the claim does
 */
static bool can_hold(phys_addr_t last)
{
#ifdef PHYS_MASK
	return !(last & ~(phys_addr_t)PHYS_MASK);
#else
	return true;
#endif
}

/**
 * crab_region_map_readonly() - map memory so that a store to it faults
 * @start: physical address, at the begin of a page
 * @size: bytes, whole pages
 *
 * Context: may sleep.
 * Return: the mapping, which vunmap() removes; NULL if this kernel cannot map this memory so, or
 * if memory is short.
 */
void *crab_region_map_readonly(phys_addr_t start, u64 size)
{
	unsigned long first = PHYS_PFN(start);
	u64 count = size >> PAGE_SHIFT;
	bool known;

	if (count > U32_MAX || !can_hold(start + size - 1) || !can_protect() ||
	    !frames_are_alike(first, count, &known))
		return NULL;
	return known ? map_pages(first, count) : map_frames(first, count);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * This suite tests mappings that a store cannot pass. It needs the page tables of a processor, so
 * it runs in machines only.
 */
#include <kunit/test.h>

#include <linux/gfp.h>
#include <linux/io.h>
#include <linux/mm.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#include "region/region.h"

#define ORDER		2
#define BYTES		(PAGE_SIZE << ORDER)

/* Does a store of the value that is there already fault? */
static bool store_faults(u64 *at)
{
	u64 value = READ_ONCE(*at);

	__put_kernel_nofault(at, &value, u64, fault);
	return false;
fault:
	return true;
}

static void readonly_faults(struct kunit *test)
{
	struct page *pages = alloc_pages(GFP_KERNEL | __GFP_ZERO, ORDER);
	u64 *plain, *mapped, i;

	KUNIT_ASSERT_NOT_NULL(test, pages);
	plain = page_address(pages);
	mapped = crab_region_map_readonly(page_to_phys(pages), BYTES);
	KUNIT_EXPECT_NOT_NULL(test, mapped);
	for (i = 0; mapped && i < BYTES / sizeof(u64); i += PAGE_SIZE / sizeof(u64)) {
		WRITE_ONCE(plain[i], i + 1);
		KUNIT_EXPECT_EQ(test, READ_ONCE(mapped[i]), i + 1);
		KUNIT_EXPECT_FALSE(test, store_faults(&plain[i]));
		KUNIT_EXPECT_TRUE(test, store_faults(&mapped[i]));
	}
	vunmap(mapped);
	__free_pages(pages, ORDER);
}

static struct kunit_case readonly_cases[] = {
	KUNIT_CASE(readonly_faults),
	{ }
};

static struct kunit_suite readonly_suite = {
	.name		= "crab_region_readonly",
	.test_cases	= readonly_cases,
};

kunit_test_suites(&readonly_suite);

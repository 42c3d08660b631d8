// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the code shared by all providers of regions: allocation, release, and the
 * checks of numbers from parameters and the device tree.
 *
 * Invariant: a region that reached the layer above starts on a page, is whole
 * pages long, holds at least the smallest pool and does not wrap around.
 * No lock: a region belongs to one owner at a time.
 */
#define pr_fmt(fmt) "crabtree: " fmt

#include <linux/ctype.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "region.h"

bool crab_region_readonly;

struct crab_region *crab_region_alloc(const struct crab_region_ops *ops, const char *name, ...)
{
	struct crab_region *region = kzalloc(sizeof(*region), GFP_KERNEL);
	va_list args;

	if (!region)
		return NULL;
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
		pr_err("%s: %#llx bytes at %#llx are not whole pages of %lu bytes\n",
		       name, size, start, PAGE_SIZE);
		return -EINVAL;
	}
	if (size < CRAB_REGION_BYTES_MIN) {
		pr_err("%s: %llu bytes are less than the smallest region, %llu\n",
		       name, size, PAGE_ALIGN(CRAB_REGION_BYTES_MIN));
		return -EINVAL;
	}
	if (check_add_overflow(start, size - 1, &end) || size > LONG_MAX) {
		pr_err("%s: %#llx bytes at %#llx are beyond any memory\n", name, size, start);
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

/* The shift of the unit that ends a number; a hexadecimal number may end in the digit e */
static u32 number_shift(const char *item, const char *last)
{
	static const char units[] = "kmgtpe";
	bool hex = item[0] == '0' && tolower(item[1]) == 'x';
	const char *unit = strchr(units, tolower(*last));

	return unit && !(hex && isxdigit(*last)) ? 10 * (unit - units + 1) : 0;
}

/* memparse() drops bits that do not fit, so it is used only to find the end of the number */
int crab_region_number(const char *item, u64 *value, char **end)
{
	char digits[32];
	size_t len;
	u32 shift;

	memparse(item, end);
	if (!isdigit(*item))	/* it takes a unit without a number, too */
		return -EINVAL;
	shift = number_shift(item, *end - 1);
	len = *end - item - !!shift;
	memcpy(digits, item, min(len, sizeof(digits) - 1));
	digits[min(len, sizeof(digits) - 1)] = '\0';
	if (len >= sizeof(digits) || kstrtoull(digits, 0, value) || *value > U64_MAX >> shift) {
		pr_err("%s does not fit into 64 bits\n", item);
		return -ERANGE;
	}
	*value <<= shift;
	return 0;
}

int crab_region_size(char **spec, u64 *size)
{
	char *item = strsep(spec, ",");
	char *end;
	int err;

	if (!item || !*item) {
		pr_err("a size is missing at the end of a parameter\n");
		return -EINVAL;
	}
	err = crab_region_number(item, size, &end);
	if (!err && !*end)
		return 0;
	if (err != -ERANGE)
		pr_err("%s is not a size\n", item);
	return -EINVAL;
}

bool crab_region_option(char **spec, const char *option)
{
	size_t len = strlen(option);

	if (!*spec || strncmp(*spec, option, len) || ((*spec)[len] && (*spec)[len] != ','))
		return false;
	strsep(spec, ",");
	return true;
}

void crab_region_caches(struct crab_region *region)
{
	region->media.fence_only = true;
	if (region->media.durability != CRAB_DURABILITY_NONE)
		region->media.durability = CRAB_DURABILITY_CACHE;
}

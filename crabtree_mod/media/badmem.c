// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements bad memory: the ranges of a region that cannot be read.
 *
 * Invariant: ranges are sorted, are not empty, and neither overlap nor touch. A range
 * that was added stays in the list, possibly as a part of a larger one.
 *
 * Locking: crab_badmem.lock, taken inside; innermost of all.
 */
#include <linux/minmax.h>
#include <linux/string.h>

#include "badmem.h"

void crab_badmem_init(struct crab_badmem *bad)
{
	spin_lock_init(&bad->lock);
	bad->count = 0;
	bad->added = 0;
}

/* The first range that ends at @offset or after it */
static u32 badmem_find(const struct crab_badmem *bad, u64 offset)
{
	u32 from = 0, to = bad->count, mid;

	while (from < to) {
		mid = (from + to) / 2;
		if (bad->range[mid].to < offset)
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

/* Replaces the ranges [@i, @end), which touch the new range or are none, by the new range */
static void badmem_replace(struct crab_badmem *bad, u32 i, u32 end, u64 from, u64 to)
{
	if (i == end && bad->count == CRAB_BADMEM_MAX) {
		i -= i == CRAB_BADMEM_MAX;
		end = i + 1;
	}
	if (i < end) {
		from = min(from, bad->range[i].from);
		to = max(to, bad->range[end - 1].to);
	}
	memmove(&bad->range[i + 1], &bad->range[end],
		(bad->count - end) * sizeof(bad->range[0]));
	bad->range[i].from = from;
	bad->range[i].to = to;
	bad->range[i].when = ++bad->added;
	WRITE_ONCE(bad->count, bad->count + 1 - (end - i));
}

void crab_badmem_add(struct crab_badmem *bad, u64 from, u64 len)
{
	u64 to = from + len;
	u32 i, end;

	if (!len)
		return;
	spin_lock(&bad->lock);
	i = badmem_find(bad, from);
	for (end = i; end < bad->count && bad->range[end].from <= to; end++)
		;
	badmem_replace(bad, i, end, from, to);
	spin_unlock(&bad->lock);
}

bool crab_badmem_next(const struct crab_media *media, u64 offset, u64 *from, u64 *to)
{
	struct crab_badmem *bad = media->bad;
	bool found;
	u32 i;

	if (likely(!bad || !READ_ONCE(bad->count)))
		return false;
	spin_lock(&bad->lock);
	i = badmem_find(bad, offset + 1);
	found = i < bad->count;
	if (found) {
		*from = max(offset, bad->range[i].from);
		*to = bad->range[i].to;
	}
	spin_unlock(&bad->lock);
	return found;
}

u32 crab_badmem_added(const struct crab_media *media)
{
	struct crab_badmem *bad = media->bad;
	u32 added;

	if (!bad)
		return 0;
	spin_lock(&bad->lock);
	added = bad->added;
	spin_unlock(&bad->lock);
	return added;
}

bool crab_badmem_since(const struct crab_media *media, u32 added, u64 offset, u64 *from, u64 *to)
{
	struct crab_badmem *bad = media->bad;
	bool found;
	u32 i;

	if (!bad)
		return false;
	spin_lock(&bad->lock);
	i = badmem_find(bad, offset + 1);
	while (i < bad->count && bad->range[i].when <= added)
		i++;
	found = i < bad->count;
	if (found) {
		*from = bad->range[i].from;
		*to = bad->range[i].to;
	}
	spin_unlock(&bad->lock);
	return found;
}

bool crab_badmem_next_page(const struct crab_media *media, u64 offset, u64 *from, u64 *to)
{
	if (!crab_badmem_next(media, round_down(offset, CRAB_BADMEM_PAGE), from, to))
		return false;
	*from = max(offset, round_down(*from, CRAB_BADMEM_PAGE));
	*to = round_up(*to, CRAB_BADMEM_PAGE);
	return true;
}

bool crab_badmem_hits(const struct crab_media *media, u64 offset, u64 len)
{
	u64 from, to;

	return crab_badmem_next(media, offset, &from, &to) && from < offset + len;
}

#ifdef CRAB_BADMEM_COPIES

#include <linux/uaccess.h>

bool crab_badmem_survives(const u8 *at, u64 len)
{
	u8 bounce[512];
	u64 n;

	for (; len; at += n, len -= n) {
		n = min_t(u64, len, sizeof(bounce));
		if (copy_mc_to_kernel(bounce, at, n))
			return false;
	}
	return true;
}

#endif

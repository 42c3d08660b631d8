// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the mistakes that need more than a missing statement, and
 * the census.
 */
#include <linux/bitops.h>
#include <linux/kernel.h>

#include "mutant.h"

u32 crab_mutant;
struct crab_mutant_census *crab_mutant_census;

static unsigned long line_of(const void *p)
{
	return (unsigned long)p / CRAB_LINE;
}

static u32 lines_of(const void *p, u64 len)
{
	return line_of(p + len - 1) - line_of(p) + 1;
}

void crab_mutant_meet(u32 first, u32 count)
{
	for (; count; first++, count--) {
		crab_mutant_census->met[first]++;
		crab_mutant_census->open[first / 64] |= 1ULL << first % 64;
	}
}

void crab_mutant_note_lines(u32 first, u32 count, const void *p, u64 len)
{
	u32 *most = &crab_mutant_census->lines[first];

	for (; count; most++, count--)
		*most = max(*most, lines_of(p, len));
}

void crab_mutant_note_fence(enum crab_point point)
{
	struct crab_mutant_census *census = crab_mutant_census;
	u32 word;

	for (word = 0; word < CRAB_MUTANTS_MAX / 64; word++)
		for (; census->open[word]; census->open[word] &= census->open[word] - 1)
			census->points[word * 64 + __ffs64(census->open[word])] |= 1U << point;
}

void crab_mutant_clean(struct crab_flow *flow, const void *p, u64 len, enum crab_mutant_miss miss)
{
	const u8 *line = (const u8 *)(line_of(p) * CRAB_LINE);
	u32 n = lines_of(p, len), i, miss_at[] = {
		[CRAB_MUTANT_NOT_FIRST] = 0,
		[CRAB_MUTANT_NOT_LAST] = n - 1,
		[CRAB_MUTANT_NOT_WITHIN] = 1,
	};
	const u8 *end = flow->media->base + flow->media->size;

	if (miss == CRAB_MUTANT_WRONG)
		line += line + (n + 1) * CRAB_LINE <= end ? CRAB_LINE : -CRAB_LINE;
	for (i = 0; i < n; i++)
		if (miss == CRAB_MUTANT_WRONG || i != miss_at[miss])
			crab_clean(flow, line + i * CRAB_LINE, 1);
}

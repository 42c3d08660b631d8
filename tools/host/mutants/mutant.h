/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the functions called by the sources of generate.py: the switch that
 * makes one mistake, and the census of the mistakes that a workload reaches.
 */
#ifndef CRAB_HOST_MUTANT_H
#define CRAB_HOST_MUTANT_H

#include "media/persist.h"

#define CRAB_MUTANTS_MAX	2048

/* One row of table.h; rows are numbered from 1 */
struct crab_mutant_row {
	const char *file;
	const char *function;
	const char *text;
	const char *kind;
	u32 lines;		/* number that a clean needs for this mutant to exist */
	const char *why;	/* why it does no harm, or NULL */
};

/* Mutants reached by a run without a mistake */
struct crab_mutant_census {
	u32 met[CRAB_MUTANTS_MAX];	/* times */
	u32 lines[CRAB_MUTANTS_MAX];	/* highest number in one clean */
	u32 points[CRAB_MUTANTS_MAX];	/* the fences that followed, a bit each */
	u64 open[CRAB_MUTANTS_MAX / 64];	/* a bit each: no fence came yet */
};

/* The mistake that is made; 0: none */
extern u32 crab_mutant;

/* Counters of reached mutants, or NULL */
extern struct crab_mutant_census *crab_mutant_census;

void crab_mutant_meet(u32 first, u32 count);
void crab_mutant_note_lines(u32 first, u32 count, const void *p, u64 len);
void crab_mutant_note_fence(enum crab_point point);

/* Which of the @count mistakes from @first on is made here: 1, 2, ..., or 0 */
static inline u32 crab_mutant_at(u32 first, u32 count)
{
	if (unlikely(crab_mutant_census))
		crab_mutant_meet(first, count);
	return likely(crab_mutant - first >= count) ? 0 : crab_mutant - first + 1;
}

static inline void crab_mutant_lines(u32 first, u32 count, const void *p, u64 len)
{
	if (unlikely(crab_mutant_census))
		crab_mutant_note_lines(first, count, p, len);
}

static inline void crab_mutant_fenced(enum crab_point point)
{
	if (unlikely(crab_mutant_census))
		crab_mutant_note_fence(point);
}

enum crab_mutant_miss {
	CRAB_MUTANT_WRONG,	/* the next or the previous lines */
	CRAB_MUTANT_NOT_FIRST,
	CRAB_MUTANT_NOT_LAST,
	CRAB_MUTANT_NOT_WITHIN,	/* all but the second */
};

/* crab_clean(), but not of all lines */
void crab_mutant_clean(struct crab_flow *flow, const void *p, u64 len,
		       enum crab_mutant_miss miss);

#endif /* CRAB_HOST_MUTANT_H */

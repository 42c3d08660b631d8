/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the functions that the files of the random crash test share: crash.c (the
 * run), crash_format.c (FORMAT and restores), crash_next.c (the choice of operations),
 * crash_judge.c (power cuts and their images) and crash_stop.c (operations that end by a power
 * cut).
 */
#ifndef CRAB_HOST_CRASH_PRIV_H
#define CRAB_HOST_CRASH_PRIV_H

#include "crash.h"
#include "host_driver.h"

/* How strictly the media's account of the allocated leaves is judged */
enum crash_allocator {
	CRASH_ALLOCATOR_ANY,		/* not at all: until the first attach */
	CRASH_ALLOCATOR_COVERS,		/* each leaf in use is allocated */
	CRASH_ALLOCATOR_EXACT,		/* and no other is */
};

/**
 * struct crash_cut - allowed results of recovery after one power cut
 * @crash: the run
 * @allowed: the contents
 * @blank: or no store at all: a FORMAT was cut
 * @sampled: the batch has more images than can be tried: try some
 * @allocator: how the media's account of the allocated leaves is judged
 * @depth: power cuts that may follow this one
 */
struct crash_cut {
	struct crash *crash;
	struct crab_oracle_allowed allowed;
	bool blank;
	bool sampled;
	enum crash_allocator allocator;
	u32 depth;
};

/* crash.c */

/* Notes the first fault, with the step and its operation; returns -1 */
#define crash_say(crash, fmt, ...)	crab_oracle_fault(&(crash)->oracle, fmt, ##__VA_ARGS__)

/* Appends to the fault */
__printf(2, 3)
void crash_say_more(struct crash *c, const char *fmt, ...);

/* Room for the crash points of one operation; ends the program for want of memory */
struct crab_crash_points *crash_points(const struct crash *c);

/* Collects crash points from now on, or ends that if @points is NULL */
void crash_collect(struct crash *c, struct crab_crash_points *points);

/* One operation on a record; @content: the content it leaves. 0, or -1 after a fault */
int crash_apply(struct crash *c, struct crab_store *store, const struct crash_op *op,
		struct crash_content *content);

/* A batch from c->op; 0, or -1 after a fault */
int crash_apply_batch(struct crash *c);

/* Performs an operation on a record, and cuts it if @depth is not 0 */
int crash_op_cut(struct crash *c, struct crab_store *store, const struct crash_op *op,
		 struct crash_content *content, u32 depth);

/* @unfinished: NULL, or the superblock of an unfinished store */
int crash_attach_store(struct crash *c, const struct crab_super *unfinished);
int crash_reattach(struct crash *c);

/* Adds the counts of the attached store */
void crash_count(struct crash *c);

/* crash_format.c */

/* FORMAT, or a restore, which leaves its store attached; 0, or -1 after a fault */
int crash_format(struct crash *c);

/* crash_next.c */

/* More inserts than deletes, or more deletes than inserts? Both last for some time */
static inline bool crash_grows(const struct crash *crash)
{
	return crash->step / min_t(u32, crash->setup.keys, CRASH_TIDE) % 2 == 0;
}

struct crash_op crash_next(struct crash *crash);

/* Makes the batch of crash.op: on some neighbours of its key, or on a few of all keys */
void crash_batch_make(struct crash *crash);

/* crash_judge.c */

/* Reads the content of a store; 0, or -1 after a fault */
int crash_read(struct crash *c, struct crab_store *store, struct crash_content *content);

/* Do all reads agree with the content that crash_read() returned? 0, or -1 after a fault */
int crash_judge_reads(struct crash *c, struct crab_store *store,
		      const struct crash_content *content);

/* The contents that a cut of c->batch may leave */
struct crab_oracle_allowed crash_batch_allowed(const struct crash *c,
					       const struct crash_content *before);

/*
 * Cuts at each of @points, where @during may be found, and now, where @done may. The store is as
 * before afterwards. 0, or -1 after a fault.
 */
int crash_cut_points(struct crash_cut *during, struct crab_crash_points *points,
		     struct crash_cut *done);

/* crash_stop.c */

/* An operation that loses power for good; the run continues with a random image */
int crash_step_cut(struct crash *c);

/* An operation that stops while the caches survive; another CPU attaches their content */
int crash_step_survive(struct crash *c, u32 depth);

#endif /* CRAB_HOST_CRASH_PRIV_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the functions that the files of the explorer share: explore.c (the order),
 * explore_run.c (operations), explore_cut.c (power cuts), explore_judge.c (images) and
 * explore_states.c (the states that were found).
 */
#ifndef CRAB_HOST_EXPLORE_PRIV_H
#define CRAB_HOST_EXPLORE_PRIV_H

#include "explore.h"
#include "host_driver.h"

#define EXPLORE_SEED	1
#define EXPLORE_BUDGET	1000000		/* images of one crash point */

/* Notes the first fault; returns -1 */
#define explore_say(x, fmt, ...)	crab_oracle_fault(&(x)->oracle, fmt, ##__VA_ARGS__)

/* explore_run.c */

/* FORMAT; 0, or -1 after a fault */
int explore_format(struct explore *x, bool force);

/* A crab_shadow_judge: performs x->run on the state that the media holds, and cuts it */
int explore_run_once(struct crab_shadow *shadow, void *arg);

/* explore_cut.c */

/*
 * Cuts at x->points, where @before or @after may be found, or a state of the batch, or no store if
 * @blank; and at the end of the run, where only @after may. 0, or -1 after a fault
 */
int explore_cut(struct explore *x, const struct content *before, const struct content *after,
		bool blank);

/* explore_judge.c */

/* The content of a store, by a scan or a list; 0, or -1 after a fault */
int explore_read(struct explore *x, struct crab_store *store, struct content *found);

/* Do all reads and the verifier agree that a store holds just this? 0, or -1 after a fault */
int explore_holds(struct explore *x, struct crab_store *store, const struct content *content);

struct crab_store *explore_attach(struct explore *x, bool readonly,
				  struct crab_attach_report *report);

/* A writable attach that finds nothing wrong, or NULL after a fault */
struct crab_store *explore_attach_good(struct explore *x);

/* Slots that the attach of a store completed */
u64 explore_repairs(struct crab_store *store);

/* The state of the media, and its content as the driver reads it; 0, or -1 after a fault */
int explore_image(struct explore *x, struct state *state, struct content *content);

/* A crab_shadow_judge: recovers an image and judges its content */
int explore_judge(struct crab_shadow *shadow, void *arg);

/* explore_states.c */

/* Adds a state; @is_new: it was not known */
void explore_add(struct explore *explore, const struct state *state, bool *is_new);

#endif /* CRAB_HOST_EXPLORE_PRIV_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the inside of the explorer, for explore.c and explore_oracle.c only.
 */
#ifndef CRAB_HOST_EXPLORE_PRIV_H
#define CRAB_HOST_EXPLORE_PRIV_H

#include "explore.h"

#define EXPLORE_SEED	1

/** explore_say() - note a violation, unless there is one; returns -1 */
__printf(2, 3)
int explore_say(struct explore *x, const char *fmt, ...);

/** explore_content() - what a scan of a store finds; 0 or -1 */
int explore_content(struct explore *x, struct crab_store *store, struct content *content);

/** explore_holds() - do all reads and the verifier agree that a store holds just this? 0 or -1 */
int explore_holds(struct explore *x, struct crab_store *store, const struct content *content);

struct crab_store *explore_attach(struct explore *x, bool readonly,
				  struct crab_attach_report *report);

/** explore_attach_good() - attach writable, and nothing is wrong; or NULL */
struct crab_store *explore_attach_good(struct explore *x);

/** explore_repairs() - slots that the attach of a store completed */
u64 explore_repairs(struct crab_store *store);

/** explore_image() - the state of what is on the media, and its content; 0 or -1 */
int explore_image(struct explore *x, struct state *state, struct content *content);

/** explore_allows() - may that content be found at the moment that is cut? */
bool explore_allows(const struct explore *x, const struct content *found);

/** explore_judge() - a crab_shadow_judge: recover an image and judge what it holds */
int explore_judge(struct crab_shadow *shadow, void *arg);

#endif /* CRAB_HOST_EXPLORE_PRIV_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares allocations that are lost when the power is cut, and
 * must be freed when a store was detached.
 */
#ifndef CRAB_HOST_LIVES_H
#define CRAB_HOST_LIVES_H

/** lives_begin() - allocations from now on are lost at the next cut */
void lives_begin(void);

/** lives_end() - free all that is left of it; returns how much that was */
unsigned int lives_end(void);

#endif /* CRAB_HOST_LIVES_H */

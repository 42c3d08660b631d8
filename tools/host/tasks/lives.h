/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares allocations that a power cut loses. A detach must free all
 * of them.
 */
#ifndef CRAB_HOST_LIVES_H
#define CRAB_HOST_LIVES_H

/**
 * lives_begin() - record allocations from now on: the next power cut loses them
 */
void lives_begin(void);

/**
 * lives_end() - free all allocations that are left
 *
 * Return: the number of these allocations.
 */
unsigned int lives_end(void);

#endif /* CRAB_HOST_LIVES_H */

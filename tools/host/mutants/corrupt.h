/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the mutants of a store itself: the oracle must report a fault that is planted
 * in its media or in its DRAM. Otherwise a pass of the oracle on mutants of the code means little.
 */
#ifndef CRAB_HOST_CORRUPT_H
#define CRAB_HOST_CORRUPT_H

#include <stdio.h>

/** corrupt_all() - plants each corruption at each place, a claim each; rows go to @table, or NULL */
void corrupt_all(FILE *table);

#endif /* CRAB_HOST_CORRUPT_H */

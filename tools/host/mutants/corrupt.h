/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the mutants of a store itself: a fault planted in its media or in its DRAM
 * must be reported by the oracle; otherwise its silence about mutants of the code means little.
 */
#ifndef CRAB_HOST_CORRUPT_H
#define CRAB_HOST_CORRUPT_H

#include <stdio.h>

/** corrupt_all() - plants each corruption at each place, a claim each; rows go to @table, or NULL */
void corrupt_all(FILE *table);

#endif /* CRAB_HOST_CORRUPT_H */

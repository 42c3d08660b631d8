/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the check that reads of one group have a common time.
 *
 * A scan promises that all records of one leaf are of one state, which no check of single
 * keys can verify. Values are unique in a history and each write reports the value that it
 * replaced, so the history shows for each value the times at which the key certainly had it, and
 * the times at which it possibly had it. Reads of one state need a time in their call at
 * which each key possibly had the value that was read. This condition is necessary but not
 * sufficient: the check is more permissive than the promise, never wrong.
 */
#ifndef LINEAR_MOMENT_H
#define LINEAR_MOMENT_H

#include "history.h"

/**
 * moment_check() - check the reads of a history that share a group
 * @history: the history
 * @judged: the number of groups, added to
 * @why: where to print the reads without a common time
 * Return: true if each group of reads has a common time.
 */
bool moment_check(const struct history *history, uint64_t *judged, FILE *why);

#endif /* LINEAR_MOMENT_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the judge of moments: were reads that claim to be of one moment of one?
 *
 * A scan promises that all records of one leaf are of one moment, which no judge of single
 * keys can check. Values are unique in a history and each write reports the value that it
 * replaced, so for each value the history says when the key had it for certain, and when
 * it can have had it at all. Reads of one moment need a time in their call at which
 * each key can have had the value that was read. That is necessary and not sufficient: the
 * judge is milder than the promise and never unjust.
 */
#ifndef LINEAR_MOMENT_H
#define LINEAR_MOMENT_H

#include "history.h"

/**
 * moment_check() - judge the reads of a history that share a moment
 * @history: what was done
 * @judged: the number of moments, added to
 * @why: where to print the reads that share no moment
 * Return: true if each group of reads has a moment.
 */
bool moment_check(const struct history *history, uint64_t *judged, FILE *why);

#endif /* LINEAR_MOMENT_H */

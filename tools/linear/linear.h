/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the judge of histories: is there an order of all operations that
 * keeps to real time and explains every answer?
 *
 * Operations on one key at a time: a history is linearizable if and only if that of each
 * key is (Herlihy and Wing, 1990). For each key the orders are searched as Wing and Gong
 * do, with a memory of what was tried, as Lowe does; since a thread does one thing after
 * the other, what was tried is how far each thread has come, and the value.
 *
 * What was cut off may have had its effect or not: of a history that ends with a cut
 * and the reads after it this is durable linearizability. What returned before the
 * cut must be there, and what a reader saw as well.
 */
#ifndef LINEAR_LINEAR_H
#define LINEAR_LINEAR_H

#include "history.h"

/**
 * struct linear_counts - what the judge had to do
 * @ops: operations that it explained
 * @beside: of them those that ran beside another one on the same key
 * @tried: states that it tried
 * @moments: groups of reads of one moment that it judged
 */
struct linear_counts {
	uint64_t ops;
	uint64_t beside;
	uint64_t tried;
	uint64_t moments;
};

/**
 * linear_check() - judge a history
 * @history: what was done
 * @counts: added to
 * @why: where to say what has no explanation
 * Return: true if everything has one.
 */
bool linear_check(const struct history *history, struct linear_counts *counts, FILE *why);

#endif /* LINEAR_LINEAR_H */

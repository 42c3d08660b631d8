/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the judge of histories: is there an order of all operations that
 * is consistent with real time and explains every result?
 *
 * A history is linearizable if and only if the history of each key is (Herlihy and Wing,
 * 1990), so each key is judged alone. The search over the orders is that of Wing and Gong,
 * with Lowe's memoization of tried states. A thread executes one operation after the
 * other, so a state is the position of each thread and the value.
 *
 * An interrupted operation may have had its effect or not: for a history that ends with a cut
 * and the reads after it this is durable linearizability. A result returned before the
 * cut must be present, also a value that a reader returned.
 */
#ifndef LINEAR_LINEAR_H
#define LINEAR_LINEAR_H

#include "history.h"

/**
 * struct linear_counts - statistics of the checker
 * @ops: operations that it explained
 * @beside: those concurrent with another one on the same key
 * @tried: states that it tried
 * @moments: groups of reads of one state that it checked
 */
struct linear_counts {
	uint64_t ops;
	uint64_t beside;
	uint64_t tried;
	uint64_t moments;
};

/**
 * linear_check() - judge a history
 * @history: the history
 * @counts: added to
 * @why: file for the operations without an explanation
 * Return: true if each operation has one.
 */
bool linear_check(const struct history *history, struct linear_counts *counts, FILE *why);

/**
 * linear_sums() - judge a history of adds and of reads after them
 * @history: the history; the reads of its last log are the sums
 * @why: file for a sum that is wrong
 * Return: true if each sum has all adds that returned, and otherwise only adds that were cut off.
 */
bool linear_sums(const struct history *history, FILE *why);

#endif /* LINEAR_LINEAR_H */

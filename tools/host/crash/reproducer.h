/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares reproducers: one line that says how to see a finding again.
 *
 *   SPACE STATE OPERATION[+OPERATION...] POINT CUT CUT: what was found
 *
 * STATE is in hexadecimal; an operation is VERB,KEY,VALUE, numbers of the alphabet,
 * "prepared-" before the verb where a leaf was prepared first; several are a batch. POINT
 * counts their stores and fences from 1; the one behind them is its end; 0: no cut. The
 * first CUT is what the operation found where a state leaves open what stands
 * there, the second what recovery found: "cut,WORD:CHOICE,...", each word that does
 * not hold the first of its values.
 */
#ifndef CRAB_HOST_REPRODUCER_H
#define CRAB_HOST_REPRODUCER_H

#include "explore.h"

/** reproducer_ops() - operations, as they stand in a reproducer; returns their length */
size_t reproducer_ops(const struct explore_op *ops, u32 count, char *to, size_t size);

/** reproducer_say() - put it before what explore.said says of @state */
void reproducer_say(struct explore *explore, const struct state *state);

/** reproducer_parse() - what to repeat, into @explore and @state; false if it is none */
bool reproducer_parse(const char *said, struct explore *explore, struct state *state);

#endif /* CRAB_HOST_REPRODUCER_H */

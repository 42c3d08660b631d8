/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares reproducers: one line that repeats a finding.
 *
 *   SPACE STATE OPERATION[+OPERATION...] POINT CUT CUT: the finding
 *
 * STATE is in hexadecimal. An operation is VERB,KEY,VALUE; keys and values are numbers of the
 * alphabet. The verb begins with "prepared-" if a leaf was prepared first. Several operations
 * are a batch. POINT is the number of a store or a fence of the operations, from 1; the number
 * after the last one is their end; 0: no cut. The first CUT lists the open words of the state
 * that the operation read, the second the open words that recovery read:
 * "cut,WORD:CHOICE,...", one entry for each word that does not have the first of its values.
 */
#ifndef CRAB_HOST_REPRODUCER_H
#define CRAB_HOST_REPRODUCER_H

#include "explore.h"

/** reproducer_ops() - write operations in a reproducer's form; returns their length */
size_t reproducer_ops(const struct explore_op *ops, u32 count, char *to, size_t size);

/** reproducer_say() - insert the reproducer for @state at the front of @explore->said */
void reproducer_say(struct explore *explore, const struct state *state);

/** reproducer_parse() - parse a reproducer into @explore and @state; false if @said has none */
bool reproducer_parse(const char *said, struct explore *explore, struct state *state);

#endif /* CRAB_HOST_REPRODUCER_H */

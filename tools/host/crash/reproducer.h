/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares reproducers: one line that repeats a finding.
 *
 *   SPACE STATE OPERATION[+OPERATION...] POINT CUT CUT: the finding
 *
 * STATE is in hexadecimal; an operation is VERB,KEY,VALUE, numbers of the alphabet,
 * "prepared-" before the verb where a leaf was prepared first; several are a batch. POINT
 * counts their stores and fences from 1; the one after them is its end; 0: no cut. The
 * first CUT lists open words of the state that the operation read, the second those that recovery
 * read: "cut,WORD:CHOICE,...", each word that does not have the first of its values.
 */
#ifndef CRAB_HOST_REPRODUCER_H
#define CRAB_HOST_REPRODUCER_H

#include "explore.h"

/** reproducer_ops() - write operations in a reproducer's form; returns their length */
size_t reproducer_ops(const struct explore_op *ops, u32 count, char *to, size_t size);

/** reproducer_say() - put it before the text in explore.said about @state */
void reproducer_say(struct explore *explore, const struct state *state);

/** reproducer_parse() - parse a reproducer into @explore and @state; false if it is none */
bool reproducer_parse(const char *said, struct explore *explore, struct state *state);

#endif /* CRAB_HOST_REPRODUCER_H */

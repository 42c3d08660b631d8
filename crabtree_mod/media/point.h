/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file names the persist points: each durability fence is one of them. Comments of the
 * protocols, the shadow and the manual use the same names.
 *
 * One list serves all engines. A point is named after the durable words, not after the engine: a
 * record, a fresh node, a link. Engines share most points, and so do the layers above them, such as
 * the superblock. The shadow, the traces of the emulator and the kill matrix compare runs by
 * number, so a list for each engine would need a second number, that of the engine, in each of
 * them.
 *
 * No lock.
 */
#ifndef CRABTREE_POINT_H
#define CRABTREE_POINT_H

enum crab_point {
	CRAB_P1_CLEARED = 1,	/* FORMAT: both superblocks are void before anything else changes */
	CRAB_P2_BODY,		/* FORMAT: head and first leaf, before a superblock names them */
	CRAB_P3_SUPER,		/* one superblock copy whole, and all that attach repaired */
	CRAB_P4_FOUND,		/* all that attach read, before anything is built on it */
	CRAB_P5_PREPARED,	/* sentinels of a free leaf, before it is allocated */
	CRAB_P6_RECORD,		/* a slot, or those of an epoch: insert, update, delete */
	CRAB_P7_FRESH,		/* fresh leaves whole, before P8 links them */
	CRAB_P8_LINKED,		/* the predecessor's link; leaves that it bypasses are then free */
	CRAB_P9_SHIFTED,	/* a line that received a record, before the old place changes */
	CRAB_P10_ENDED,		/* the end of a leaf's records, before or after those it hides */
	CRAB_P11_APPENDED,	/* records after the end, before the first key reveals them */
	CRAB_P12_ALLOCATED,	/* one word of the bitmap, where leaves are allocated on demand */
	CRAB_P13_PARENT,	/* the entry of a node in the level above: added, or removed */
	CRAB_P14_ROOT,		/* the root in the head, before nodes or entries depend on it */
	CRAB_P15_BLOB = 15,	/* a blob, before a record names it; births, before their use */
	CRAB_P16_PARKED,	/* parked entries, before the superblock names them */
	CRAB_P17_LOGGED,	/* the old line of a node in the log, before the node is invalid */
	CRAB_P18_INVALID,	/* a node marked as invalid, before any other word of it changes */
	CRAB_P19_REWRITTEN,	/* the words of a node except the one that marks it as valid */
	CRAB_P20_ERASED,	/* stale slots of a leaf, before P8 lets its range grow over them */
	CRAB_P21_LISTED,	/* the list of a commit, before the first of its changes */
	CRAB_P22_UNLISTED,	/* a list that no longer counts, before its keys change again */
	CRAB_POINTS
};

#endif /* CRABTREE_POINT_H */

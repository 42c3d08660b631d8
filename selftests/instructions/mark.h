/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file defines the calls that are counted, and the mark: an arm64 instruction that
 * does nothing. The caller executes it directly before and after each call; the plugin
 * recognizes it and reads its argument from register x0.
 */
#ifndef INSTRUCTIONS_MARK_H
#define INSTRUCTIONS_MARK_H

#define MARK_ARM64	0xd5032cbf	/* hint #101: no compiler and no kernel uses it */

enum mark_call {
	MARK_RETURN, MARK_INSERT, MARK_UPDATE, MARK_DELETE, MARK_SEARCH, MARK_BATCH, MARK_CALLS,
};

#define MARK_NAMES	{ "", "insert", "update", "delete", "search", "batch" }

#endif /* INSTRUCTIONS_MARK_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file makes the crc of a damaged structure valid again, so that attach looks at the
 * damage itself. It computes the crc by itself: a test must not use the code under test.
 */
#ifndef CRABTREE_TESTS_SEAL_H
#define CRABTREE_TESTS_SEAL_H

#include <linux/minmax.h>

#include "engines/clfb/format.h"
#include "media/crc.h"
#include "media/format.h"

/* Makes the crc of a superblock copy valid */
static inline void crab_seal_super(struct crab_dsuper *d)
{
	d->crc = 0;
	d->crc = cpu_to_le32(~crab_crc32c(~0U, d, sizeof(*d)));
}

/* Makes the crc of a leaf's header, or of the head of the list, valid */
static inline void crab_seal_head(struct crab_dhead *d)
{
	d->crc = cpu_to_le32(~crab_crc32c(~0U, &d->self, offsetof(struct crab_dhead, crc) -
					  offsetof(struct crab_dhead, self)));
}

/* Makes the crc of a line of a node of clfb, or of the log of that node, valid */
static inline void crab_seal_node(u8 *line, bool twin, u64 number, u32 store_id)
{
	struct {
		u8 line[CRAB_LINE];
		__le64 number;
		__le64 store_id;
	} s = { .number = cpu_to_le64(number), .store_id = cpu_to_le64(store_id) };
	__le32 crc;

	memcpy(s.line, line, CRAB_LINE);
	memset(s.line + CLFB_CRC, 0, sizeof(crc));
	if (!twin)
		s.line[CLFB_MARK] = 1;
	crc = cpu_to_le32(~crab_crc32c(~0U, &s, sizeof(s)));
	memcpy(line + CLFB_CRC, &crc, sizeof(crc));
}

static inline u64 crab_seal_mix(u64 check, u64 word)
{
	check = (check ^ word) * 0x9e3779b97f4a7c15ULL;
	return check ^ check >> 29;
}

/* Makes the check of the list of a commit valid, for the writes that it claims */
static inline void crab_seal_list(struct crab_dcommit *list, u32 store_id)
{
	const __le64 *word = (const __le64 *)list + 1;
	u64 check = crab_seal_mix(store_id, CRAB_COMMIT_OFFSET);
	u64 words = 2 + 2 * min_t(u64, le64_to_cpu(*word), CRAB_COMMIT_MAX);

	while (words--)
		check = crab_seal_mix(check, le64_to_cpu(*word++));
	*(__le64 *)list = cpu_to_le64(check ?: 1);
}

#endif /* CRABTREE_TESTS_SEAL_H */

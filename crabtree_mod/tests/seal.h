/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file makes the crc of a damaged structure valid again, so that attach looks at the
 * damage itself. It computes the crc by itself: a test must not use the code under test.
 */
#ifndef CRABTREE_TESTS_SEAL_H
#define CRABTREE_TESTS_SEAL_H

#include <linux/crc32.h>

#include "engines/clfb/format.h"
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

#endif /* CRABTREE_TESTS_SEAL_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file makes the crc of a damaged structure valid again, so that attach looks at the
 * damage itself. It computes the crc by itself: a test must not use the code under test.
 */
#ifndef CRABTREE_TESTS_SEAL_H
#define CRABTREE_TESTS_SEAL_H

#include <linux/crc32.h>

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

#endif /* CRABTREE_TESTS_SEAL_H */

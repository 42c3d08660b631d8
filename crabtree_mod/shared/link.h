/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares leaf headers and the words that link leaves (link.c).
 *
 * No lock: they are part of what holds them.
 */
#ifndef CRABTREE_LINK_H
#define CRABTREE_LINK_H

#include <linux/types.h>

#include "geometry.h"
#include "media/persist.h"

/* No store lives long enough to reach it. A store with a forged header has no births left */
#define CRAB_BIRTH_MAX		(1ULL << 62)

/* struct crab_dhead in the CPU's byte order */
struct crab_head {
	u64 next;
	u64 self;
	u64 birth;
	u64 low;
	u64 void_value;
};

/**
 * crab_head_load() - read a header
 * @media: the region
 * @offset: of the header
 * @store_id: of the store
 * @head: out
 *
 * The first slot of a leaf is in the same line, and may be read if the header could be.
 * Return: false if it is not one of this store, or cannot be read.
 */
bool crab_head_load(const struct crab_media *media, u64 offset, u32 store_id,
		    struct crab_head *head);

/** crab_head_store() - write the header of a fresh leaf; the caller cleans it */
void crab_head_store(struct crab_flow *flow, u32 store_id, const struct crab_head *head);

/** crab_link_check() - the check bits of a link to the leaf born @birth at @offset */
u64 crab_link_check(u32 store_id, u64 offset, u64 birth);

/** crab_link_to() - the word that links to leaf @number, born @birth */
u64 crab_link_to(const struct crab_geometry *geo, u64 number, u64 birth);

/** crab_link_end() - the word that ends the list in the leaf born @birth at @offset */
u64 crab_link_end(u32 store_id, u64 offset, u64 birth);

#endif /* CRABTREE_LINK_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements leaf headers and the words that link leaves.
 *
 * Invariants: the words of a header except @next never change after birth, and the crc covers
 * them; a link names the place of its target and, by 24 bits of a hash, its store and birth, so
 * that a link to reused memory is detected; the end of the list is such a word, too, with the
 * hash of the leaf that holds it: a zeroed or stale word is no end.
 *
 * No lock.
 */
#include <linux/bitops.h>
#include <linux/kernel.h>

#include "media/badmem.h"
#include "link.h"
#include "media/crc.h"

/* The words under the crc, in their order on the media */
struct head_words {
	__le64 self;
	__le64 birth;
	__le64 low;
	__le64 own;
	__le32 store_id;
	__le32 pad;
};

static u32 head_crc(u32 store_id, const struct crab_head *head)
{
	struct head_words w = {
		.self = cpu_to_le64(head->self),
		.birth = cpu_to_le64(head->birth),
		.low = cpu_to_le64(head->low),
		.own = cpu_to_le64(head->own),
		.store_id = cpu_to_le32(store_id),
	};

	return ~crab_crc32c(~0U, &w, offsetof(struct head_words, pad));
}

bool crab_head_load(const struct crab_media *media, u64 offset, u32 store_id,
		    struct crab_head *head)
{
	struct crab_dhead *d = (struct crab_dhead *)(media->base + offset);
	u64 seal;

	if (!crab_badmem_probe(media, offset, CRAB_LINE))
		return false;
	head->self = crab_load(media, &d->self);
	if (head->self != offset)
		return false;
	seal = crab_load(media, crab_head_seal(d));
	if ((u32)seal != store_id)
		return false;
	head->birth = crab_load(media, &d->birth);
	head->low = crab_load(media, &d->low);
	head->own = crab_load(media, &d->own);
	if (seal >> 32 != head_crc(store_id, head) || head->birth > CRAB_BIRTH_MAX)
		return false;
	head->next = crab_load(media, &d->next);
	return true;
}

void crab_head_store(struct crab_flow *flow, u32 store_id, const struct crab_head *head)
{
	struct crab_dhead *d = (struct crab_dhead *)(flow->media->base + head->self);

	crab_store(flow, &d->next, head->next);
	crab_store(flow, &d->self, head->self);
	crab_store(flow, &d->birth, head->birth);
	crab_store(flow, &d->low, head->low);
	crab_store(flow, &d->own, head->own);
	crab_store(flow, crab_head_seal(d), (u64)head_crc(store_id, head) << 32 | store_id);
}

u64 crab_link_to(const struct crab_geometry *geo, u64 number, u64 birth)
{
	return crab_link_check(geo->store_id, crab_leaf_offset(geo, number), birth) | (number + 1);
}

u64 crab_link_end(u32 store_id, u64 offset, u64 birth)
{
	return crab_link_check(store_id, offset, birth);
}

void crab_list_format(struct crab_flow *flow, const struct crab_geometry *geo)
{
	const struct crab_head head = {
		.self = CRAB_HEAD_OFFSET, .next = crab_link_to(geo, 0, 1),
	};

	crab_head_store(flow, geo->store_id, &head);
	crab_clean(flow, flow->media->base + head.self, sizeof(struct crab_dhead));
	/* P2: the body is whole before a superblock names it */
	crab_fence(flow, CRAB_P2_BODY);
}

const char *crab_link_doubt(const struct crab_media *media, const struct crab_geometry *geo,
			    u64 link, const unsigned long *used, struct crab_head *head)
{
	u64 n = (link & CRAB_LINK_MASK) - 1, offset = crab_leaf_offset(geo, n);

	if (n >= geo->leaves)
		return "link out of the pool";
	if (!crab_head_load(media, offset, geo->store_id, head))
		return crab_badmem_hits(media, offset, CRAB_LINE) ?
			"link to a leaf whose header is in uncorrectable memory" :
			"link to a leaf without a valid header";
	if (test_bit(n, used))
		return "link to a leaf that is in the list already";
	if (link != crab_link_to(geo, n, head->birth))
		return "link to a leaf of another birth";
	return NULL;
}

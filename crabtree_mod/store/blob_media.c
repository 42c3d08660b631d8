// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the form of blobs on the media: their words, births, headers and bytes.
 *
 * Invariants: a blob is durable before a word names it (P15). No two blobs of a store ever have
 * the same birth: attach continues at the number on the media, which is raised, durably (P15),
 * before the births below it are used. So a version, or the check bits of a word, identify a blob.
 *
 * Crash table: Documentation/design/protocols-blobs.rst.
 *
 * Locking: crab_blobs.birth_lock for births. The extent of a write belongs to its caller; reads
 * take no lock, and their caller finds out whether the word has changed.
 */
#include <linux/crc32.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "blob_priv.h"
#include "media/badmem.h"
#include "shared/link.h"

/* The header as words; the last one has store_id in its low half, and the crc */
enum { HEAD_SELF, HEAD_BIRTH, HEAD_KEY, HEAD_BYTES, HEAD_SEAL, HEAD_WORDS };

static_assert(HEAD_WORDS * sizeof(__le64) == sizeof(struct crab_dblob));

#define LINE_WORDS	(CRAB_LINE / sizeof(__le64))

static __le64 *blob_at(const struct crab_media *media, u64 offset)
{
	return (__le64 *)(media->base + offset);
}

u64 crab_blob_number(u32 store_id, u64 offset, u64 number)
{
	return crab_link_check(store_id, offset, number) | number;
}

u64 crab_blob_word(const struct crab_blobs *blobs, u64 place, u64 birth)
{
	u64 offset = crab_extent_offset(&blobs->extents, place);
	u64 class = place % (1U << CRAB_PLACE_CLASS_BITS);

	return crab_link_check(blobs->store_id, offset + class, birth) | place;
}

/* Makes the births of the next block usable */
static void births_raise(struct crab_blobs *blobs, struct crab_flow *flow)
{
	u64 offset = CRAB_BLOBS_OFFSET + offsetof(struct crab_dblobs, births);
	__le64 *at = blob_at(flow->media, offset);
	u64 number = (blobs->birth_end >> CRAB_BIRTHS_SHIFT) + 1;

	crab_store(flow, at, crab_blob_number(blobs->store_id, offset, number));
	crab_clean(flow, at, sizeof(*at));
	/* P15: after a power cut births continue above all that are used from now on */
	crab_fence(flow, CRAB_P15_BLOB);
	blobs->birth_end = number << CRAB_BIRTHS_SHIFT;
}

u64 crab_blob_birth(struct crab_blobs *blobs, struct crab_flow *flow)
{
	u64 birth;

	mutex_lock(&blobs->birth_lock);
	if (blobs->birth == blobs->birth_end)
		births_raise(blobs, flow);
	birth = blobs->birth++;
	mutex_unlock(&blobs->birth_lock);
	return birth;
}

/* The crc of a header, to be continued over the bytes */
static u32 head_crc(const u64 *head)
{
	__le64 words[HEAD_WORDS];
	u32 i;

	for (i = 0; i < HEAD_WORDS; i++)
		words[i] = cpu_to_le64(i == HEAD_SEAL ? (u32)head[i] : head[i]);
	return crab_crc32c(~0U, words, sizeof(words));
}

static void body_store(struct crab_flow *flow, __le64 *to, const u8 *from, u32 bytes)
{
	__le64 word;

	for (; bytes >= sizeof(word); bytes -= sizeof(word), from += sizeof(word)) {
		memcpy(&word, from, sizeof(word));
		crab_store(flow, to++, le64_to_cpu(word));
	}
	if (!bytes)
		return;
	word = 0;
	memcpy(&word, from, bytes);
	crab_store(flow, to, le64_to_cpu(word));
}

void crab_blob_store(const struct crab_blobs *blobs, struct crab_flow *flow, u64 place, u64 birth,
		     const struct crab_blob_write *put)
{
	u64 offset = crab_extent_offset(&blobs->extents, place);
	__le64 *to = blob_at(flow->media, offset);
	u64 head[HEAD_WORDS] = {
		[HEAD_SELF] = offset,
		[HEAD_BIRTH] = birth,
		[HEAD_KEY] = put->key,
		[HEAD_BYTES] = put->bytes,
		[HEAD_SEAL] = blobs->store_id,
	};
	u64 crc = (u32)~crab_crc32c(head_crc(head), put->data, put->bytes);
	u32 i;

	head[HEAD_SEAL] |= crc << 32;
	for (i = 0; i < HEAD_WORDS; i++)
		crab_store(flow, to + i, head[i]);
	body_store(flow, to + HEAD_WORDS, put->data, put->bytes);
	crab_clean(flow, to, sizeof(head) + put->bytes);
	/* P15: the blob is whole before a word names it */
	crab_fence(flow, CRAB_P15_BLOB);
}

/* Is it the header of the blob that @word names, and does its length fit the extent? */
static bool head_is(const struct crab_blobs *blobs, u64 word, u64 key, const u64 *head)
{
	u64 place = word & CRAB_PLACE_MASK;

	return head[HEAD_SELF] == crab_extent_offset(&blobs->extents, place) &&
	       head[HEAD_KEY] == key && (u32)head[HEAD_SEAL] == blobs->store_id &&
	       word == crab_blob_word(blobs, place, head[HEAD_BIRTH]) &&
	       head[HEAD_BYTES] <= crab_extent_bytes(place) - sizeof(struct crab_dblob);
}

static int head_load(const struct crab_blobs *blobs, u64 word, struct crab_blob_read *get,
		     u64 *head)
{
	u64 place = word & CRAB_PLACE_MASK, offset = crab_extent_offset(&blobs->extents, place);
	const __le64 *from = blob_at(blobs->media, offset);
	u32 i;

	if (!crab_extent_is_place(&blobs->extents, place) ||
	    !crab_badmem_probe(blobs->media, offset, CRAB_LINE))
		return -EUCLEAN;
	for (i = 0; i < HEAD_WORDS; i++)
		head[i] = crab_load(blobs->media, from + i);
	if (!head_is(blobs, word, get->key, head))
		return -EUCLEAN;
	get->bytes = head[HEAD_BYTES];
	get->version = head[HEAD_BIRTH];
	return 0;
}

int crab_blob_load_head(const struct crab_blobs *blobs, u64 word, struct crab_blob_read *get)
{
	u64 head[HEAD_WORDS];

	return head_load(blobs, word, get, head);
}

/* Copies the bytes, if @to is not NULL; returns their crc */
static u32 body_load(const struct crab_media *media, const __le64 *from, u32 bytes, u8 *to, u32 crc)
{
	__le64 line[LINE_WORDS];
	u32 n, i;

	for (; bytes; bytes -= n) {
		n = min_t(u32, bytes, sizeof(line));
		for (i = 0; i * sizeof(*line) < n; i++)
			line[i] = cpu_to_le64(crab_load(media, from++));
		crc = crab_crc32c(crc, line, n);
		if (!to)
			continue;
		memcpy(to, line, n);
		to += n;
	}
	return ~crc;
}

int crab_blob_load(const struct crab_blobs *blobs, u64 word, struct crab_blob_read *get)
{
	u64 offset = crab_extent_offset(&blobs->extents, word & CRAB_PLACE_MASK);
	u64 head[HEAD_WORDS];
	bool fits;
	u32 crc;

	if (head_load(blobs, word, get, head) ||
	    !crab_badmem_probe(blobs->media, offset, sizeof(head) + get->bytes))
		return -EUCLEAN;
	fits = get->bytes <= get->capacity;
	crc = body_load(blobs->media, blob_at(blobs->media, offset) + HEAD_WORDS, get->bytes,
			fits ? get->buffer : NULL, head_crc(head));
	if (crc != head[HEAD_SEAL] >> 32)
		return -EUCLEAN;
	return fits ? 0 : -EMSGSIZE;
}

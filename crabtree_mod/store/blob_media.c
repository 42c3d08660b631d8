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
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "blob_media.h"
#include "named_priv.h"
#include "media/badmem.h"
#include "media/crc.h"
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
	birth = blobs->birth;
	WRITE_ONCE(blobs->birth, birth + 1);
	mutex_unlock(&blobs->birth_lock);
	return birth;
}

void crab_blob_check_birth(const struct crab_blobs *blobs, const struct crab_blob_read *get,
			   struct crab_damage *damage)
{
	u64 next = READ_ONCE(blobs->birth);

	/* Unknown births are damage already */
	if (next && get->version >= next)
		crab_damage_note(damage, CRAB_BLOBS_OFFSET + offsetof(struct crab_dblobs, births),
				 "key 0x%llx has a birth that is to come",
				 (unsigned long long)get->key);
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

/* Words that a name takes */
static u32 name_words(u32 bytes)
{
	return DIV_ROUND_UP(bytes, sizeof(__le64));
}

u32 crab_blob_size(const struct crab_blob_write *put)
{
	return sizeof(struct crab_dblob) + name_words(put->name_bytes) * sizeof(__le64) +
	       put->bytes;
}

/* The crc, continued over a name with its zeros */
static u32 name_crc(u32 crc, const char *name, u32 bytes)
{
	static const u8 zeros[sizeof(__le64)];

	crc = crab_crc32c(crc, name, bytes);
	return crab_crc32c(crc, zeros, name_words(bytes) * sizeof(__le64) - bytes);
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
		[HEAD_BYTES] = put->bytes | (u64)put->name_bytes << 32 | (u64)put->type << 40,
		[HEAD_SEAL] = blobs->store_id,
	};
	u32 value = HEAD_WORDS + name_words(put->name_bytes), crc = head_crc(head), i;

	if (put->name_bytes)
		crc = name_crc(crc, put->name, put->name_bytes);
	crc = ~crab_crc32c(crc, put->data, put->bytes);
	head[HEAD_SEAL] |= (u64)crc << 32;
	for (i = 0; i < HEAD_WORDS; i++)
		crab_store(flow, to + i, head[i]);
	body_store(flow, to + HEAD_WORDS, (const u8 *)put->name, put->name_bytes);
	body_store(flow, to + value, put->data, put->bytes);
	crab_clean(flow, to, value * sizeof(*to) + put->bytes);
}

/* The upper half of the word with the lengths */
static u32 head_name_bytes(const u64 *head)
{
	return head[HEAD_BYTES] >> 32 & 0xff;
}

/* Do the lengths fit the store and the extent? */
static bool lengths_fit(const struct crab_blobs *blobs, const u64 *head, u64 place)
{
	u32 name = head_name_bytes(head);
	u64 room = crab_extent_bytes(place) - sizeof(struct crab_dblob);

	if (blobs->named ? !name || name > CRAB_NAME_MAX || head[HEAD_BYTES] >> 48 :
			   head[HEAD_BYTES] >> 32)
		return false;
	return (u64)name_words(name) * sizeof(__le64) + (u32)head[HEAD_BYTES] <= room;
}

/* Is it the header of the blob that @word names? */
static bool head_is(const struct crab_blobs *blobs, u64 word, u64 key, const u64 *head)
{
	u64 place = word & CRAB_PLACE_MASK;

	return head[HEAD_SELF] == crab_extent_offset(&blobs->extents, place) &&
	       head[HEAD_KEY] == key && (u32)head[HEAD_SEAL] == blobs->store_id &&
	       word == crab_blob_word(blobs, place, head[HEAD_BIRTH]) &&
	       lengths_fit(blobs, head, place);
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
	get->name_bytes = head_name_bytes(head);
	get->type = head[HEAD_BYTES] >> 40;
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
	return crc;
}

/* The memory of a blob with these lengths can be read, its header was */
static bool body_probe(const struct crab_blobs *blobs, u64 word, u32 bytes)
{
	u64 offset = crab_extent_offset(&blobs->extents, word & CRAB_PLACE_MASK);

	return crab_badmem_probe(blobs->media, offset, sizeof(struct crab_dblob) + bytes);
}

/* The body of a blob: the name, then the value */
static const __le64 *body_at(const struct crab_blobs *blobs, u64 word)
{
	u64 offset = crab_extent_offset(&blobs->extents, word & CRAB_PLACE_MASK);

	return blob_at(blobs->media, offset) + HEAD_WORDS;
}

u64 crab_blob_key(const struct crab_blobs *blobs, u64 place)
{
	u64 offset = crab_extent_offset(&blobs->extents, place);

	if (!crab_badmem_probe(blobs->media, offset, sizeof(struct crab_dblob)))
		return CRAB_KEY_EMPTY;
	return crab_load(blobs->media, blob_at(blobs->media, offset) + HEAD_KEY);
}

int crab_blob_load_name(const struct crab_blobs *blobs, u64 word, struct crab_blob_read *get)
{
	u64 head[HEAD_WORDS];

	if (head_load(blobs, word, get, head) || !body_probe(blobs, word, get->name_bytes))
		return -EUCLEAN;
	body_load(blobs->media, body_at(blobs, word), get->name_bytes, (u8 *)get->name, 0);
	return crab_name_key(get->name, get->name_bytes) >> 32 == get->key >> 32 ? 0 : -EUCLEAN;
}

bool crab_blob_is_named(const struct crab_blobs *blobs, u64 word, const char *name, u32 bytes)
{
	u64 place = word & CRAB_PLACE_MASK, offset = crab_extent_offset(&blobs->extents, place);
	u32 size = sizeof(struct crab_dblob) + bytes, n;
	const __le64 *from = blob_at(blobs->media, offset);
	__le64 part;

	if (!crab_extent_is_place(&blobs->extents, place) || size > crab_extent_bytes(place) ||
	    !crab_badmem_probe(blobs->media, offset, size))
		return false;
	if ((crab_load(blobs->media, from + HEAD_BYTES) >> 32 & 0xff) != bytes)
		return false;
	for (from += HEAD_WORDS; bytes; bytes -= n, name += n) {
		n = min_t(u32, bytes, sizeof(part));
		part = cpu_to_le64(crab_load(blobs->media, from++));
		if (memcmp(&part, name, n))
			return false;
	}
	return true;
}

int crab_blob_load(const struct crab_blobs *blobs, u64 word, struct crab_blob_read *get)
{
	u64 head[HEAD_WORDS];
	char name[CRAB_NAME_MAX];
	const __le64 *from;
	u32 words, crc;
	bool fits;

	if (head_load(blobs, word, get, head))
		return -EUCLEAN;
	words = name_words(get->name_bytes);
	if (!body_probe(blobs, word, words * sizeof(*from) + get->bytes))
		return -EUCLEAN;
	from = body_at(blobs, word);
	crc = body_load(blobs->media, from, words * sizeof(*from), (u8 *)name, head_crc(head));
	fits = get->bytes <= get->capacity;
	crc = body_load(blobs->media, from + words, get->bytes, fits ? get->buffer : NULL, crc);
	if ((u32)~crc != head[HEAD_SEAL] >> 32)
		return -EUCLEAN;
	if (get->name)
		memcpy(get->name, name, get->name_bytes);
	return fits ? 0 : -EMSGSIZE;
}

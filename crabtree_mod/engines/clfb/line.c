// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements lines of the media, and node lines in memory (Kim et al. 2018, clfB-tree,
 * section 2.1).
 *
 * Invariant: a difference of references is a number of 40 bits modulo 2^40, stored in as few bytes
 * as reproduce it with its sign. So 5 bytes are always enough. A difference of keys is positive.
 *
 * No lock.
 */
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "media/crc.h"
#include "media/swap.h"
#include "line_read.h"

/* The bytes under the crc */
struct line_sealed {
	union clfb_line line;
	__le64 number;
	__le32 store_id;
	__le32 pad;
};

void crab_clfb_line_put(u8 *to, u64 value, u32 n)
{
	for (; n--; value >>= 8)
		*to++ = value;
}

void crab_clfb_line_load_again(const struct crab_media *media, const __le64 *from,
			       union clfb_line *line)
{
	if (!crab_clfb_line_load(media, from, line))
		crab_clfb_line_load(media, from, line);
}

void crab_clfb_line_replace(struct crab_flow *flow, __le64 *to, const union clfb_line *line)
{
	u64 words[CLFB_LINE_WORDS];
	u32 i;

	for (i = 0; i < CLFB_LINE_WORDS; i++)
		words[i] = crab_clfb_line_word(line, i);
	crab_store_line(flow, to, words);
	crab_clean(flow, to, CRAB_LINE);
}

u32 crab_clfb_line_crc(const union clfb_line *line, u32 store_id, u64 number, bool sequence)
{
	struct line_sealed s = {
		.line = *line,
		.number = cpu_to_le64(number),
		.store_id = cpu_to_le32(store_id),
	};

	crab_clfb_line_put(s.line.byte + CLFB_CRC, 0, sizeof(u32));
	if (!sequence)
		s.line.byte[CLFB_MARK] = 1;
	return ~crab_crc32c(~0U, &s, sizeof(s));
}

static u32 ref_width(u64 difference)
{
	u32 width = 1;

	while (clfb_ref_extend(difference & ((1ULL << 8 * width) - 1), width) != difference)
		width++;
	return width;
}

static u32 key_width(u64 difference)
{
	u32 width = 1;

	while (difference >>= 8)
		width++;
	return width;
}

static u64 ref_difference(const struct clfb_list *list, u32 i)
{
	return (list->ref[i] - list->ref[0]) & CLFB_ROOT_MASK;
}

/* The bytes that the references need, and those that the keys need, each of them */
static void list_widths(const struct clfb_list *list, u32 *refs, u32 *keys)
{
	u32 i;

	*refs = *keys = 1;
	for (i = 1; i < list->count; i++)
		*refs = max(*refs, ref_width(ref_difference(list, i)));
	if (list->count > 2)
		*keys = key_width(list->key[list->count - 1] - list->key[1]);
}

bool crab_clfb_line_fits(const struct clfb_list *list)
{
	u32 refs, keys;

	if (list->count > CRAB_CLFB_FANOUT)
		return false;
	list_widths(list, &refs, &keys);
	return crab_clfb_widths_fit(list->count, refs, keys);
}

u32 crab_clfb_line_any(u64 leaves)
{
	u32 refs = ref_width((leaves - 1) & CLFB_ROOT_MASK), count = 2;

	while (count < CRAB_CLFB_FANOUT && crab_clfb_widths_fit(count + 1, refs, sizeof(u64)))
		count++;
	return count;
}

void crab_clfb_line_encode(union clfb_line *line, const struct clfb_list *list)
{
	u32 refs, keys, i;
	u8 *to = line->byte + CLFB_PAYLOAD;

	list_widths(list, &refs, &keys);
	memset(line, 0, sizeof(*line));
	line->byte[CLFB_COUNT] = list->count | (list->leaves ? CLFB_OF_LEAVES : 0);
	line->byte[CLFB_WIDTHS] = keys | refs << 4;
	crab_clfb_line_put(line->byte + CLFB_REF, list->ref[0], CLFB_REF_BYTES);
	crab_clfb_line_put(line->byte + CLFB_KEY, list->count > 1 ? list->key[1] : 0, sizeof(u64));
	for (i = 1; i < list->count; i++, to += refs)
		crab_clfb_line_put(to, ref_difference(list, i), refs);
	for (i = 2; i < list->count; i++, to += keys)
		crab_clfb_line_put(to, list->key[i] - list->key[1], keys);
}

u64 crab_clfb_line_key(const union clfb_line *line, u32 i)
{
	u64 first = clfb_line_first_key(line);
	u32 keys = clfb_line_keys(line);

	if (i == 1)
		return first;
	return first + crab_clfb_line_get(line, clfb_line_keys_at(line) + (i - 2) * keys, keys);
}

u32 crab_clfb_line_range(const union clfb_line *line, u64 key, u64 *low, u64 *high)
{
	u64 first = clfb_line_first_key(line), above = ~0ULL, below = 0, at;
	u32 from = clfb_line_keys_at(line), keys = clfb_line_keys(line), i, found = 1;

	if (crab_clfb_line_count(line) == 1)
		return 0;
	if (key < first) {
		*high = min(*high, first);
		return 0;
	}
	for (i = crab_clfb_line_count(line) - 2; i--; from += keys) {
		at = crab_clfb_line_get(line, from, keys);
		found += at <= key - first;
		if (at <= key - first)
			below = max(below, at);
		else
			above = min(above, at);
	}
	*low = max(*low, first + below);
	if (above < ~first)
		*high = min(*high, first + above);
	return found;
}

void crab_clfb_line_decode(const union clfb_line *line, struct clfb_list *list)
{
	u32 i;

	list->count = crab_clfb_line_count(line);
	list->leaves = line->byte[CLFB_COUNT] & CLFB_OF_LEAVES;
	for (i = 0; i < list->count; i++) {
		list->ref[i] = crab_clfb_line_ref(line, i);
		list->key[i] = i ? crab_clfb_line_key(line, i) : 0;
	}
}

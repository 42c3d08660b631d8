// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements leaves of one line, of the layout `encoded`.
 */

/**
 * DOC: leaf of one line of clfb
 *
 * A leaf is one line (Kim et al. 2018, section 2.2): its records in the order of keys, of which all
 * but the first have their difference from it, with as few bytes as the largest needs. So it holds
 * three to five records. Each write is one store of the new line, P6: model A.
 *
 * Values have all of their bytes, unlike in the paper: an update always fits, and never splits a
 * leaf. A store that is full can therefore be updated.
 *
 * The crc covers the number of the leaf and the store. It is verified by attach and CHECK; other
 * reads verify that two loads of each word agree and that the line can be decoded, and writes that
 * its records ascend, too.
 *
 * Locking: clfb_tree.lock.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "leaf_layouts.h"

#define NUMBER_OF_LEAF	(1ULL << 63)	/* the crc of a node has numbers without this bit */

/* The records of a leaf, in the order of keys */
struct leaf_records {
	u64 low;	/* without records: a key of the range */
	u32 count;
	struct crab_record at[CLFB_LEAF_RECORDS_MAX + 1];
};

static __le64 *leaf_media(const struct crab_media *media, const struct crab_geometry *geo, u64 leaf)
{
	return (__le64 *)(media->base + crab_leaf_offset(geo, leaf));
}

static u32 key_bytes(u64 difference)
{
	u32 bytes = 1;

	while (difference >>= 8)
		bytes++;
	return bytes;
}

static bool bytes_fit(u32 count, u32 width)
{
	return CLFB_LEAF_PAYLOAD + count * sizeof(u64) + (max(count, 1U) - 1) * width <= CRAB_LINE;
}

static u32 records_width(const struct leaf_records *r)
{
	return r->count > 1 ? key_bytes(r->at[r->count - 1].key - r->at[0].key) : 1;
}

/* Numbers that agree with the size of a line, so that it can be decoded */
static bool line_holds(const union clfb_line *line)
{
	u32 count = line->byte[CLFB_LEAF_COUNT], width = line->byte[CLFB_LEAF_WIDTH];

	return count <= CLFB_LEAF_RECORDS_MAX && width && width <= sizeof(u64) &&
	       bytes_fit(count, width);
}

static u32 line_crc(const union clfb_line *line, const struct crab_geometry *geo, u64 leaf)
{
	return crab_clfb_line_crc(line, geo->store_id, leaf | NUMBER_OF_LEAF, true);
}

static void line_decode(const union clfb_line *line, struct leaf_records *r)
{
	u32 width = line->byte[CLFB_LEAF_WIDTH], value = CLFB_LEAF_PAYLOAD, key, i;

	r->low = crab_clfb_line_get(line, CLFB_LEAF_KEY, sizeof(u64));
	r->count = line->byte[CLFB_LEAF_COUNT];
	key = value + r->count * sizeof(u64);
	for (i = 0; i < r->count; i++) {
		r->at[i].value = crab_clfb_line_get(line, value + i * sizeof(u64), sizeof(u64));
		r->at[i].key = r->low;
		if (i)
			r->at[i].key += crab_clfb_line_get(line, key + (i - 1) * width, width);
	}
}

static void line_encode(union clfb_line *line, const struct leaf_records *r,
			const struct crab_geometry *geo, u64 leaf)
{
	u32 width = records_width(r), i;
	u8 *to = line->byte + CLFB_LEAF_PAYLOAD;

	memset(line, 0, sizeof(*line));
	line->byte[CLFB_LEAF_COUNT] = r->count;
	line->byte[CLFB_LEAF_WIDTH] = width;
	crab_clfb_line_put(line->byte + CLFB_LEAF_KEY, r->count ? r->at[0].key : r->low,
			   sizeof(u64));
	for (i = 0; i < r->count; i++, to += sizeof(u64))
		crab_clfb_line_put(to, r->at[i].value, sizeof(u64));
	for (i = 1; i < r->count; i++, to += width)
		crab_clfb_line_put(to, r->at[i].key - r->at[0].key, width);
	crab_clfb_line_put(line->byte + CLFB_LEAF_CRC, line_crc(line, geo, leaf), sizeof(u32));
}

/* No records, and false, if the line cannot be decoded, or changes meanwhile: it is damaged */
static bool records_read(const struct clfb_tree *tree, u64 leaf, struct leaf_records *r)
{
	const struct crab_media *media = tree->base.media;
	union clfb_line line;

	r->count = 0;
	r->low = 0;
	if (!crab_clfb_line_load(media, leaf_media(media, &tree->base.geo, leaf), &line) ||
	    !line_holds(&line))
		return false;
	line_decode(&line, r);
	return true;
}

static bool records_ascend(const struct leaf_records *r)
{
	u32 i;

	for (i = 1; i < r->count; i++)
		if (r->at[i].key <= r->at[i - 1].key)
			return false;
	return true;
}

/*
 * The records for a write: @least of them at least. Only of records that ascend is the last
 * difference the largest, and does a line without one of them fit
 */
static bool records_open(struct clfb_write *write, u64 leaf, u32 least, struct leaf_records *r)
{
	struct crab_engine *engine = &write->tree->base;

	if (records_read(write->tree, leaf, r) && r->count >= least && records_ascend(r))
		return true;
	write->err = crab_engine_damaged(engine, crab_leaf_offset(&engine->geo, leaf),
					 "leaf %llu: its line has changed",
					 (unsigned long long)leaf);
	return false;
}

/* Replaces the line of a leaf, durably */
static void records_write(struct clfb_write *write, u64 leaf, const struct leaf_records *r)
{
	const struct crab_geometry *geo = &write->tree->base.geo;
	union clfb_line line;

	line_encode(&line, r, geo, leaf);
	crab_clfb_line_replace(write->flow, leaf_media(write->flow->media, geo, leaf), &line);
	/* P6: the line is durable, as a whole (model A) */
	crab_fence(write->flow, CRAB_P6_RECORD);
}

bool crab_clfb_encoded_holds(const struct clfb_tree *tree, u64 leaf)
{
	const struct crab_media *media = tree->base.media;
	union clfb_line line;

	/* The first word has all of the numbers */
	line.word[0] = cpu_to_le64(crab_load(media, leaf_media(media, &tree->base.geo, leaf)));
	return line_holds(&line);
}

int crab_clfb_encoded_find(const struct clfb_tree *tree, u64 leaf, u64 key)
{
	struct leaf_records r;
	u32 i;

	if (!records_read(tree, leaf, &r))
		return -ERANGE;
	for (i = 0; i < r.count; i++)
		if (r.at[i].key == key)
			return i;
	return -ENOENT;
}

u64 crab_clfb_encoded_value(const struct clfb_tree *tree, u64 leaf, u32 slot)
{
	const __le64 *line = leaf_media(tree->base.media, &tree->base.geo, leaf);

	return crab_load(tree->base.media, line + CLFB_LEAF_PAYLOAD / sizeof(*line) + slot);
}

u32 crab_clfb_encoded_count(const struct clfb_tree *tree, u64 leaf)
{
	struct leaf_records r;

	records_read(tree, leaf, &r);
	return r.count;
}

u64 crab_clfb_encoded_low(const struct clfb_tree *tree, u64 leaf)
{
	const __le64 *line = leaf_media(tree->base.media, &tree->base.geo, leaf);

	return crab_load(tree->base.media, line + CLFB_LEAF_KEY / sizeof(*line));
}

int crab_clfb_encoded_near(const struct clfb_tree *tree, const struct clfb_place *place, u64 key,
			   enum crab_seek_dir dir, struct crab_record *record)
{
	const struct crab_record *best = NULL, *at;
	struct leaf_records r;

	if (!records_read(tree, place->leaf, &r))
		return -ERANGE;
	/* All of them: those of a line that has changed do not ascend */
	for (at = r.at; at < r.at + r.count; at++) {
		if (at->key < place->low || at->key >= place->high)
			return -ERANGE;
		if (dir == CRAB_SEEK_GE ? at->key >= key && (!best || at->key < best->key) :
					  at->key <= key && (!best || at->key > best->key))
			best = at;
	}
	if (!best)
		return -ENOENT;
	*record = *best;
	return 0;
}

int crab_clfb_encoded_sorted(const struct clfb_tree *tree, u64 leaf, struct crab_record *records)
{
	struct leaf_records r;
	u32 n, i;

	if (!records_read(tree, leaf, &r))
		return -ERANGE;
	r.count = min(r.count, tree->room);
	for (n = 0; n < r.count; n++) {
		for (i = n; i && records[i - 1].key > r.at[n].key; i--)
			records[i] = records[i - 1];
		records[i] = r.at[n];
	}
	return r.count;
}

static const char *records_fault(const struct leaf_records *r, const struct clfb_place *place)
{
	u32 i;

	if (r->low < place->low || r->low >= place->high)
		return "its lowest key is out of its range";
	for (i = 1; i < r->count; i++)
		if (r->at[i].key <= r->at[i - 1].key || r->at[i].key >= place->high)
			return "a key is out of its range or order";
	return NULL;
}

const char *crab_clfb_encoded_fault(const struct clfb_tree *tree,
				    const struct clfb_place *place, u32 *count)
{
	const struct crab_geometry *geo = &tree->base.geo;
	const struct crab_media *media = tree->base.media;
	struct leaf_records r;
	union clfb_line line;

	*count = 0;
	crab_clfb_line_load_again(media, leaf_media(media, geo, place->leaf), &line);
	if ((u32)crab_clfb_line_word(&line, CLFB_LEAF_CRC) !=
	    line_crc(&line, geo, place->leaf))
		return "its crc is wrong";
	if (!line_holds(&line) || line.byte[CLFB_LEAF_COUNT] > tree->room)
		return "it cannot be decoded";
	line_decode(&line, &r);
	*count = r.count;
	return records_fault(&r, place);
}

bool crab_clfb_encoded_add(struct clfb_write *write, u64 leaf, const struct crab_record *record)
{
	struct leaf_records r;
	u32 i;

	if (!records_open(write, leaf, 0, &r))
		return false;
	for (i = r.count++; i && r.at[i - 1].key > record->key; i--)
		r.at[i] = r.at[i - 1];
	r.at[i] = *record;
	if (r.count > write->tree->room || !bytes_fit(r.count, records_width(&r)))
		return false;
	records_write(write, leaf, &r);
	return true;
}

void crab_clfb_encoded_set(struct clfb_write *write, u64 leaf, u32 slot, u64 value)
{
	struct leaf_records r;

	if (!records_open(write, leaf, slot + 1, &r))
		return;
	r.at[slot].value = value;
	records_write(write, leaf, &r);
}

void crab_clfb_encoded_drop(struct clfb_write *write, u64 leaf, u32 slot)
{
	struct leaf_records r;

	if (!records_open(write, leaf, slot + 1, &r))
		return;
	memmove(r.at + slot, r.at + slot + 1, (--r.count - slot) * sizeof(r.at[0]));
	records_write(write, leaf, &r);
}

void crab_clfb_encoded_fresh(struct crab_flow *flow, const struct crab_geometry *geo, u64 leaf,
			     u64 low, const struct crab_record *records, u32 count)
{
	struct leaf_records r = { .low = low, .count = count };
	union clfb_line line;

	if (count)
		memcpy(r.at, records, count * sizeof(*records));
	line_encode(&line, &r, geo, leaf);
	crab_clfb_line_replace(flow, leaf_media(flow->media, geo, leaf), &line);
}

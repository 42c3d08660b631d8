// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements an independent decoder of the media of the engine `clfb`: it decodes nodes
 * and leaves by the rules of protocols-clfb.rst, into a content and into a canonical state, and
 * writes states.
 *
 * DOC: canonical states of clfb
 *
 * A state has the number of levels, and the tree from the root on: for each node its number of
 * children, whether its update was interrupted, and the lowest key of each child but the first;
 * for each leaf the lowest key of its header, its number of records, and their keys and values. It
 * omits the following, because the code does not depend on it:
 *
 *   places      of nodes and leaves: any 3 children fit into a line, with any numbers.
 *   slots       of records: the code takes the lowest free one, and sorts by key.
 *   lines       which one of a node counts, and its sequence; the other one, and the log, unless
 *               an update was interrupted. The writer fills them with lines that would count.
 *               A line of `twin` that would count if its other words were there is torn: the
 *               writer makes one that lacks only a word which every line of so few children has.
 *   the rest    free slots, free leaves and free nodes. The code writes them before it reads them.
 *
 * crab_load() reads each of the other words, so that every word that a power cut left open is
 * decided first, with each possible value.
 *
 * Locking: one thread.
 */
#include <linux/kernel.h>
#include <linux/string.h>

#include "blobs.h"
#include "clfb_driver.h"
#include "media/crc.h"
#include "shared/link.h"
#include "state.h"

#define LINE_WORDS	8
#define LOG_OFFSET	12288ULL
#define NODES_OFFSET	(LOG_OFFSET + 64)
#define LEVELS		6
#define CHILDREN	5

/* Bytes of a line */
#define AT_COUNT	4
#define AT_WIDTHS	5
#define AT_MARK		6
#define AT_REF		7
#define AT_KEY		12
#define AT_PAYLOAD	20

/* Bytes of a leaf of `encoded` */
#define LEAF_RECORDS	4
#define LEAF_WIDTH	5
#define LEAF_KEY	8
#define LEAF_PAYLOAD	16

/* Words of a leaf */
#define WORD_LOW	3
#define WORD_BITS	6
#define WORD_SLOTS	8

#define CODE_BROKEN	0x40		/* with the number of children: interrupted */
#define CODE_TORN	0x20		/* the same: the line that does not count is torn */
#define CODES		(CODE_BROKEN | CODE_TORN)

#define WORD_UNUSED	7		/* of a line: 0, because 3 children have 38 bytes */

/* Marks of the line that does not count, after one with the mark 0 */
#define MARK_OLDER	0xff
#define MARK_NEWER	1

struct bytes {
	u8 byte[64];
};

/* A state that is being decoded or written */
struct walk {
	const struct space *space;
	const struct crab_geometry *geo;
	const struct crab_media *media;
	struct content *content;
	struct state *state;
	struct crab_flow flow;
	const u8 *at;
	u32 nodes;
	u32 leaves;
};

static bool is_twin(const struct space *space)
{
	return !strcmp(space->layout, "twin");
}

static bool is_encoded(const struct space *space)
{
	return !strcmp(space->layout, "encoded");
}

static __le64 *line_at(const struct crab_media *media, const struct space *space, u64 node,
		       u32 copy)
{
	u64 line = is_twin(space) ? 2 * node + copy : node;

	return (__le64 *)(media->base + NODES_OFFSET + 64 * line);
}

static __le64 *leaf_word(const struct walk *w, u64 leaf, u32 word)
{
	return (__le64 *)(w->media->base + crab_leaf_offset(w->geo, leaf)) + word;
}

static u64 number(const u8 *from, u32 n)
{
	u64 value = 0;

	memcpy(&value, from, n);
	return le64_to_cpu(value);
}

/* Over the line, a number and the store; the crc is 0 */
static u32 seal_all(const struct walk *w, const struct bytes *line, u64 number)
{
	u8 all[80] = { };
	u64 at = cpu_to_le64(number);
	u32 store = cpu_to_le32(w->geo->store_id);

	memcpy(all + 4, line->byte + 4, 60);
	memcpy(all + 64, &at, sizeof(at));
	memcpy(all + 72, &store, sizeof(store));
	return ~crab_crc32c(~0U, all, sizeof(all));
}

/* The crc of a node; `inplace`: with the mark 1 */
static u32 seal(const struct walk *w, const struct bytes *line, u64 node)
{
	struct bytes all = *line;

	if (!is_twin(w->space))
		all.byte[AT_MARK] = 1;
	return seal_all(w, &all, node);
}

static u32 seal_leaf(const struct walk *w, const struct bytes *line, u64 leaf)
{
	return seal_all(w, line, leaf | 1ULL << 63);
}

static void load(const struct crab_media *media, const __le64 *from, struct bytes *line)
{
	u64 word;
	u32 i;

	for (i = 0; i < LINE_WORDS; i++) {
		word = cpu_to_le64(crab_load(media, from + i));
		memcpy(line->byte + 8 * i, &word, 8);
	}
}

static bool is_whole(const struct walk *w, const struct bytes *line, u64 node)
{
	return number(line->byte, 4) == seal(w, line, node);
}

static bool is_newer(const struct bytes *a, const struct bytes *b)
{
	return (u8)(a->byte[AT_MARK] - b->byte[AT_MARK] - 1) < 0x7f;
}

/* The two lines of a node: @line: the one that counts, if one does */
static u8 twin_read(const struct walk *w, u64 node, struct bytes *line)
{
	struct bytes second, other;

	load(w->media, line_at(w->media, w->space, node, 1), &second);
	other = second;
	if (is_whole(w, &second, node) &&
	    (!is_whole(w, line, node) || !is_newer(line, &second))) {
		other = *line;
		*line = second;
	}
	return !is_whole(w, &other, node) && number(other.byte, 8) && is_newer(&other, line) ?
	       CODE_TORN : 0;
}

/* The line of a node that counts */
static const char *line_read(const struct walk *w, u64 node, struct bytes *line, u8 *codes)
{
	*codes = 0;
	load(w->media, line_at(w->media, w->space, node, 0), line);
	if (is_twin(w->space)) {
		*codes = twin_read(w, node, line);
	} else if (!line->byte[AT_MARK]) {
		*codes = CODE_BROKEN;
		load(w->media, (__le64 *)(w->media->base + LOG_OFFSET), line);
	}
	return is_whole(w, line, node) ? NULL : "a node without a whole line";
}

static u64 line_key(const struct bytes *line, u32 i)
{
	u32 count = line->byte[AT_COUNT] & 0x7f, refs = line->byte[AT_WIDTHS] >> 4;
	u32 keys = line->byte[AT_WIDTHS] & 15;
	u64 key = number(line->byte + AT_KEY, 8);

	if (i > 1)
		key += number(line->byte + AT_PAYLOAD + (count - 1) * refs + (i - 2) * keys, keys);
	return key;
}

/* Few leaves: a difference has one byte */
static u64 line_ref(const struct bytes *line, u32 i)
{
	u64 ref = number(line->byte + AT_REF, 5);

	return i ? ref + (s8)line->byte[AT_PAYLOAD + i - 1] : ref;
}

static u64 value_of(const struct walk *w, const struct crab_record *r)
{
	return w->space->blobs ? blobs_decode(w->geo, w->media, r->key, r->value) : r->value;
}

/* The records of a leaf in the order of keys */
static u32 records_read(const struct walk *w, u64 leaf, u64 bits, struct crab_record *records)
{
	struct crab_record r;
	u32 count = 0, i, at;

	for (i = 0; i < w->space->slots; i++) {
		if (!(bits >> i & 1))
			continue;
		r.key = crab_load(w->media, leaf_word(w, leaf, WORD_SLOTS + 2 * i));
		r.value = crab_load(w->media, leaf_word(w, leaf, WORD_SLOTS + 2 * i + 1));
		for (at = count++; at && records[at - 1].key > r.key; at--)
			records[at] = records[at - 1];
		records[at] = r;
	}
	return count;
}

/* The records of a leaf that is a line: their keys ascend */
static const char *encoded_read(const struct walk *w, u64 leaf, struct crab_record *records,
				u32 *n, u64 *first)
{
	struct bytes line;
	u32 width, i;

	load(w->media, leaf_word(w, leaf, 0), &line);
	width = line.byte[LEAF_WIDTH];
	*n = line.byte[LEAF_RECORDS];
	*first = number(line.byte + LEAF_KEY, 8);
	if (number(line.byte, 4) != seal_leaf(w, &line, leaf) || *n > w->space->slots)
		return "a leaf that is not whole";
	for (i = 0; i < *n; i++) {
		records[i].value = number(line.byte + LEAF_PAYLOAD + 8 * i, 8);
		records[i].key = *first;
		if (i)
			records[i].key += number(line.byte + LEAF_PAYLOAD + 8 * *n + (i - 1) * width, width);
		if (i && records[i].key <= records[i - 1].key)
			return "keys that do not ascend";
	}
	return NULL;
}

static const char *append_read(const struct walk *w, u64 leaf, struct crab_record *records,
			       u32 *n, u64 *first)
{
	u64 bits = crab_load(w->media, leaf_word(w, leaf, WORD_BITS));

	*first = crab_load(w->media, leaf_word(w, leaf, WORD_LOW));
	if (bits >> w->space->slots)
		return "a bit of no slot";
	*n = records_read(w, leaf, bits, records);
	return NULL;
}

static const char *leaf_read(struct walk *w, u64 leaf, u64 low, u64 high)
{
	struct crab_record records[8];
	const char *what;
	u64 first;
	u32 n, i;

	if (w->space->slots > ARRAY_SIZE(records))
		return "more slots than the decoder knows";
	what = (is_encoded(w->space) ? encoded_read : append_read)(w, leaf, records, &n, &first);
	if (what)
		return what;
	if (first < low || first >= high)
		return "a lowest key out of the range";
	state_add(w->state, state_key_index(w->space, first));
	state_add(w->state, n);
	for (i = 0; i < n && !what; i++) {
		if (records[i].key < low || records[i].key >= high)
			return "a key out of the range";
		records[i].value = value_of(w, &records[i]);
		if (!records[i].value ||
		    records[i].value > (w->space->blobs ? BLOBS_DEAD : STATE_VALUES))
			return "a foreign value";
		state_add(w->state, state_key_index(w->space, records[i].key));
		state_add(w->state, records[i].value - 1);
		what = content_add(w->content, w->space, &records[i]);
	}
	return what;
}

static const char *tree_read(struct walk *w, u32 level, u64 node, u64 low, u64 high)
{
	const char *what;
	struct bytes line;
	u32 count, i;
	u8 codes;

	if (node >= w->geo->leaves)
		return "a reference out of the pool";
	if (!level)
		return leaf_read(w, node, low, high);
	what = line_read(w, node, &line, &codes);
	count = line.byte[AT_COUNT] & 0x7f;
	if (what || !count || count > CHILDREN || line.byte[AT_WIDTHS] >> 4 != 1 ||
	    line.byte[AT_COUNT] >> 7 != (level == 1))
		return what ?: "a node that the store cannot have";
	state_add(w->state, count | codes);
	for (i = 0; i < count && !what; i++) {
		if (i)
			low = line_key(&line, i);
		if (i)
			state_add(w->state, state_key_index(w->space, low));
		what = tree_read(w, level - 1, line_ref(&line, i), low,
				 i + 1 < count ? line_key(&line, i + 1) : high);
	}
	return what;
}

const char *clfb_image_read(const struct space *space, const struct crab_geometry *geo,
			    const struct crab_media *media, struct content *content,
			    struct state *state)
{
	struct walk w = {
		.space = space, .geo = geo, .media = media, .content = content, .state = state,
	};
	u64 root = crab_load(media, (const __le64 *)(media->base + CRAB_HEAD_OFFSET));
	u32 levels = root >> 40 & 31;

	if (levels > LEVELS)
		return "too many levels";
	state_add(state, levels);
	return tree_read(&w, levels, root & CRAB_LINK_MASK, 0, CRAB_KEY_EMPTY);
}

/* Writing */

static void line_write(struct walk *w, __le64 *to, const struct bytes *line)
{
	u32 i;

	for (i = 0; i < LINE_WORDS; i++)
		crab_store(&w->flow, to + i, number(line->byte + 8 * i, 8));
	crab_clean(&w->flow, to, 64);
}

static void line_seal(const struct walk *w, struct bytes *line, u64 node, u8 mark)
{
	u32 crc;

	line->byte[AT_MARK] = mark;
	crc = cpu_to_le32(seal(w, line, node));
	memcpy(line->byte, &crc, sizeof(crc));
}

/* A whole line of a node that must not be read: it leads to leaf 0 only */
static void stale_write(struct walk *w, u64 node, __le64 *to, u8 mark)
{
	struct bytes line = { };

	line.byte[AT_COUNT] = 0x81;
	line.byte[AT_WIDTHS] = 0x11;
	line_seal(w, &line, node, mark);
	line_write(w, to, &line);
}

/* The line that does not count: an older one, or one that the next update may complete */
static void other_write(struct walk *w, u64 node, __le64 *to, bool torn)
{
	stale_write(w, node, to, torn ? MARK_NEWER : MARK_OLDER);
	if (!torn)
		return;
	crab_store(&w->flow, to + WORD_UNUSED, STATE_STALE);
	crab_clean_word(&w->flow, to + WORD_UNUSED);
}

static void node_write(struct walk *w, u64 node, struct bytes *line, u8 codes)
{
	__le64 *log = (__le64 *)(w->media->base + LOG_OFFSET);
	struct bytes junk = { };

	line_seal(w, line, node, !is_twin(w->space));
	if (is_twin(w->space)) {
		line_write(w, line_at(w->media, w->space, node, node & 1), line);
		other_write(w, node, line_at(w->media, w->space, node, !(node & 1)),
			    codes & CODE_TORN);
	} else if (codes & CODE_BROKEN) {
		memset(junk.byte + AT_REF, 0xa5, sizeof(junk.byte) - AT_REF);
		line_write(w, log, line);
		line_write(w, line_at(w->media, w->space, node, 0), &junk);
	} else {
		line_write(w, line_at(w->media, w->space, node, 0), line);
	}
}

/* A free leaf has a record that the code must not read */
static void encoded_write(struct walk *w, u64 leaf, const u8 *at)
{
	u32 n = at ? at[1] : 1, i, crc;
	u64 first = at ? state_key(w->space, n ? at[2] : at[0]) : 0;
	struct bytes line = { };
	u64 key, value;

	line.byte[LEAF_RECORDS] = n;
	line.byte[LEAF_WIDTH] = 8;
	memcpy(line.byte + LEAF_KEY, &(u64){ cpu_to_le64(first) }, 8);
	for (i = 0; i < n; i++) {
		key = at ? state_key(w->space, at[2 + 2 * i]) : 0;
		value = at ? at[3 + 2 * i] + 1 : STATE_STALE;
		if (at && w->space->blobs)
			value = blobs_encode(w->geo, key, value);
		value = cpu_to_le64(value);
		memcpy(line.byte + LEAF_PAYLOAD + 8 * i, &value, 8);
		key = cpu_to_le64(key - first);
		if (i)
			memcpy(line.byte + LEAF_PAYLOAD + 8 * (n + i - 1), &key, 8);
	}
	crc = cpu_to_le32(seal_leaf(w, &line, leaf));
	memcpy(line.byte, &crc, sizeof(crc));
	line_write(w, leaf_word(w, leaf, 0), &line);
}

/* A leaf; @at: of the state, NULL: a free one, with records that the code must not read */
static void leaf_write(struct walk *w, u64 leaf, const u8 *at)
{
	struct crab_head head = {
		.self = crab_leaf_offset(w->geo, leaf), .low = at ? state_key(w->space, at[0]) : 0,
	};
	u32 count = at ? at[1] : 0, i;
	u64 key, value;

	if (is_encoded(w->space))
		return encoded_write(w, leaf, at);
	crab_head_store(&w->flow, w->geo->store_id, &head);
	crab_store(&w->flow, leaf_word(w, leaf, WORD_BITS), at ? (1ULL << count) - 1 : 1);
	crab_store(&w->flow, leaf_word(w, leaf, WORD_BITS + 1), 0);
	for (i = 0; i < w->space->slots; i++) {
		key = state_key(w->space, i < count ? at[2 + 2 * i] : i % w->space->keys);
		value = i >= count ? STATE_STALE : at[3 + 2 * i] + 1;
		if (w->space->blobs && i < count)
			value = blobs_encode(w->geo, key, value);
		crab_store(&w->flow, leaf_word(w, leaf, WORD_SLOTS + 2 * i), key);
		crab_store(&w->flow, leaf_word(w, leaf, WORD_SLOTS + 2 * i + 1), value);
	}
	crab_clean(&w->flow, w->media->base + head.self, w->geo->leaf_bytes);
}

/* Adds child @i of @count to a line; differences of keys have 8 bytes, those of references one */
static void child_put(struct bytes *line, u32 count, u32 i, u64 ref, u64 low)
{
	u64 first = number(line->byte + AT_KEY, 8), le = cpu_to_le64(i > 1 ? low - first : low);

	if (!i) {
		memcpy(line->byte + AT_REF, &(u64){ cpu_to_le64(ref) }, 5);
		return;
	}
	line->byte[AT_PAYLOAD + i - 1] = ref - number(line->byte + AT_REF, 5);
	memcpy(line->byte + (i == 1 ? AT_KEY : AT_PAYLOAD + count - 1 + 8 * (i - 2)), &le, 8);
}

/* The subtree at w->at; returns its number */
static u64 tree_write(struct walk *w, u32 level)
{
	struct bytes line = { };
	u64 self = level ? w->nodes++ : w->leaves++, low = 0;
	u32 count, i;
	u8 codes;

	if (!level) {
		leaf_write(w, self, w->at);
		w->at += 2 + 2 * w->at[1];
		return self;
	}
	codes = *w->at & CODES;
	count = *w->at++ & ~CODES;
	line.byte[AT_COUNT] = count | (level == 1 ? 0x80 : 0);
	line.byte[AT_WIDTHS] = 0x18;
	for (i = 0; i < count; i++) {
		if (i)
			low = state_key(w->space, *w->at++);
		child_put(&line, count, i, tree_write(w, level - 1), low);
	}
	node_write(w, self, &line, codes);
	return self;
}

static void rest_write(struct walk *w)
{
	for (; w->nodes < w->geo->leaves; w->nodes++) {
		stale_write(w, w->nodes, line_at(w->media, w->space, w->nodes, 0), 1);
		if (is_twin(w->space))
			stale_write(w, w->nodes, line_at(w->media, w->space, w->nodes, 1), 0x7f);
	}
	for (; w->leaves < w->geo->leaves; w->leaves++)
		leaf_write(w, w->leaves, NULL);
}

void clfb_image_write(const struct space *space, const struct crab_geometry *geo,
		      struct crab_media *media, const u8 *at, const u8 *end)
{
	struct walk w = { .space = space, .geo = geo, .media = media, .flow = { .media = media } };
	u64 levels, root;

	if (at == end)		/* no superblock holds */
		return;
	levels = *at++;
	w.at = at;
	stale_write(&w, 0, (__le64 *)(media->base + LOG_OFFSET), 1);
	root = tree_write(&w, levels);
	rest_write(&w);
	root |= levels << 40 | crab_link_check(geo->store_id, root, levels) >> 45 << 45;
	crab_store(&w.flow, (__le64 *)(media->base + CRAB_HEAD_OFFSET), root);
	crab_clean(&w.flow, media->base + CRAB_HEAD_OFFSET, 8);
	crab_fence(&w.flow, CRAB_P14_ROOT);
}

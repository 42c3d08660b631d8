// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements nodes on the media: which line of a node counts, and how it is replaced.
 */

/**
 * DOC: node of clfb
 *
 * A node is replaced as a whole (Kim et al. 2018, section 4.2, Algorithm 3, made findable):
 *
 *   `inplace`   the old line to the log, P17; valid = 0, P18; words 1 to 7, P19; word 0 with
 *               valid = 1, P13
 *   `twin`      the whole new line, with the next sequence, over the line that does not count, P13
 *   `atomic`    the whole new line, by one store (section 3.1, as published), P13; `encoded` too
 *
 * `inplace`: there is one log line. A node with valid = 0 is restored from the log if the log has
 * the crc of this node, which the number of the node seeds: the log is written again only after
 * P13, and only one node is replaced at a time.
 *
 * `twin`: of two lines with a valid crc the one with the higher sequence counts, modulo 256. The
 * first line of a fresh node gets the sequence after the one in its second line, valid or not.
 * A cut may leave a torn line: some words of a line that would count. The next update goes over it,
 * and a cut of that update could supply just the missing words, if both lines have them in common.
 * So repair voids word 0 of a torn line, which has the crc, before any update. Below a superblock
 * with the state "clean", a line that is torn and newer is damage: the other one is out of date.
 *
 * Locking: clfb_tree.lock.
 */
#include <linux/kernel.h>
#include <linux/minmax.h>

#include "media/badmem.h"
#include "media/swap.h"
#include "node.h"

#define WORD		sizeof(__le64)
#define CHECK_MASK	(~0ULL << CLFB_CHECK_SHIFT)

static __le64 *log_media(const struct crab_media *media)
{
	return (__le64 *)(media->base + CRAB_AREA_OFFSET);
}

/* Words from @first on; the caller cleans */
static void line_store(struct crab_flow *flow, __le64 *to, const union clfb_line *line, u32 first)
{
	u32 i;

	for (i = first; i < CLFB_LINE_WORDS; i++)
		crab_store(flow, to + i, crab_clfb_line_word(line, i));
}

bool crab_clfb_node_whole(const struct clfb_tree *tree, u64 number, const union clfb_line *line)
{
	return (u32)crab_clfb_line_word(line, CLFB_CRC) ==
	       crab_clfb_line_crc(line, tree->base.geo.store_id, number, clfb_is_twin(tree)) &&
	       crab_clfb_line_holds(line);
}

/* If both lines were whole, would @a count? */
static bool is_newer(const union clfb_line *a, const union clfb_line *b)
{
	return (s8)(a->byte[CLFB_MARK] - b->byte[CLFB_MARK]) > 0;
}

/* Is the line that does not count torn? A void one is not: no crc of it is left */
static bool is_torn(const struct clfb_tree *tree, u64 number, const union clfb_line *line,
		    const union clfb_line *other)
{
	return crab_clfb_line_word(other, 0) && is_newer(other, line) &&
	       !crab_clfb_node_whole(tree, number, other);
}

/* The newer line of a node, which would count, is torn only if an update was cut */
static const char *twin_fault(const struct clfb_tree *tree, u64 number,
			      const union clfb_line *line, const union clfb_line *other)
{
	return tree->base.clean && is_torn(tree, number, line, other) ?
	       "its newer line is not whole, and no update was cut" : NULL;
}

static const char *open_twin(struct clfb_tree *tree, u64 number, union clfb_line *line)
{
	bool first_whole, second_whole;
	union clfb_line second;

	crab_clfb_line_load_again(tree->base.media, clfb_node_media(tree, number, 0), line);
	crab_clfb_line_load_again(tree->base.media, clfb_node_media(tree, number, 1), &second);
	first_whole = crab_clfb_node_whole(tree, number, line);
	second_whole = crab_clfb_node_whole(tree, number, &second);
	if (!first_whole && !second_whole)
		return "neither line is whole";
	if (!second_whole || (first_whole && is_newer(line, &second)))
		return twin_fault(tree, number, line, &second);
	tree->second[number] = true;
	swap(*line, second);
	return twin_fault(tree, number, line, &second);
}

bool crab_clfb_log_holds(const struct clfb_tree *tree)
{
	const struct crab_media *media = tree->base.media;
	u64 from, to;

	if (clfb_is_twin(tree) || clfb_is_atomic(&tree->base.geo))
		return true;
	if (crab_badmem_next_page(media, CRAB_AREA_OFFSET, &from, &to) && from == CRAB_AREA_OFFSET)
		return false;
	return crab_badmem_probe(media, CRAB_AREA_OFFSET, CRAB_LINE);
}

static const char *open_inplace(struct clfb_tree *tree, u64 number, union clfb_line *line)
{
	crab_clfb_line_load_again(tree->base.media, clfb_node_media(tree, number, 0), line);
	if (line->byte[CLFB_MARK] == 1)
		return crab_clfb_node_whole(tree, number, line) ? NULL : "its line is not whole";
	if (line->byte[CLFB_MARK])
		return "its line is neither valid nor invalid";
	if (tree->base.clean)
		return "its line is invalid, and no update was cut";
	if (!crab_clfb_log_holds(tree))
		return "its line is invalid, and the log is in uncorrectable memory";
	crab_clfb_line_load_again(tree->base.media, log_media(tree->base.media), line);
	if (tree->broken || line->byte[CLFB_MARK] != 1 || !crab_clfb_node_whole(tree, number, line))
		return "its line is invalid, and the log is not that of this node";
	tree->broken = true;
	tree->broken_node = number;
	tree->log = *line;
	return NULL;
}

const char *crab_clfb_node_open(struct clfb_tree *tree, u64 number, union clfb_line *line)
{
	return clfb_is_twin(tree) ? open_twin(tree, number, line) :
				    open_inplace(tree, number, line);
}

const char *crab_clfb_node_fault(const struct clfb_tree *tree, const union clfb_line *line,
				 u32 level, const struct clfb_place *place)
{
	u32 count = crab_clfb_line_count(line), i;
	u64 low = place->low, key;

	if (!(line->byte[CLFB_COUNT] & CLFB_OF_LEAVES) != (level > 1))
		return "it is of another level";
	for (i = 0; i < count; i++) {
		if (crab_clfb_line_ref(line, i) >= tree->base.geo.leaves)
			return "a reference out of the pool";
		key = i ? crab_clfb_line_key(line, i) : low;
		if (i && (key <= low || key >= place->high))
			return "a key is out of its range";
		low = key;
	}
	return NULL;
}

void crab_clfb_node_seal(const struct clfb_tree *tree, u64 number, union clfb_line *line)
{
	bool twin = clfb_is_twin(tree);
	union clfb_line other;

	line->byte[CLFB_MARK] = 1;
	if (twin) {
		crab_clfb_line_load_again(tree->base.media, clfb_node_media(tree, number, 1),
					  &other);
		line->byte[CLFB_MARK] = other.byte[CLFB_MARK] + 1;
	}
	crab_clfb_line_put(line->byte + CLFB_CRC,
			   crab_clfb_line_crc(line, tree->base.geo.store_id, number, twin),
			   sizeof(u32));
}

void crab_clfb_node_fresh(struct clfb_write *write, u64 number, const union clfb_line *line)
{
	__le64 *to = clfb_node_media(write->tree, number, 0);

	line_store(write->flow, to, line, 0);
	crab_clean(write->flow, to, CRAB_LINE);
	if (clfb_is_twin(write->tree))
		write->tree->second[number] = false;
	crab_count(&write->tree->base, own[CLFB_NODES_WRITTEN], 1);
}

/* The line of a node of `twin` that does not count */
static u32 other_copy(const struct clfb_tree *tree, u64 number)
{
	return !tree->second[number];
}

static void update_twin(struct clfb_write *write, u64 number, union clfb_line *line)
{
	struct clfb_tree *tree = write->tree;
	u32 copy = other_copy(tree, number);
	union clfb_line old;

	crab_clfb_line_load_again(tree->base.media, clfb_node_media(tree, number, !copy), &old);
	line->byte[CLFB_MARK] = old.byte[CLFB_MARK] + 1;
	crab_clfb_line_put(line->byte + CLFB_CRC,
			   crab_clfb_line_crc(line, tree->base.geo.store_id, number, true),
			   sizeof(u32));
	line_store(write->flow, clfb_node_media(tree, number, copy), line, 0);
	crab_clean(write->flow, clfb_node_media(tree, number, copy), CRAB_LINE);
	/* P13: the line is whole: its sequence makes it the one that counts */
	crab_fence(write->flow, CRAB_P13_PARENT);
	tree->second[number] = copy;
}

/* Words 1 to 7, and then word 0 with valid = 1 */
static void line_rewrite(struct crab_flow *flow, __le64 *to, const union clfb_line *line)
{
	line_store(flow, to, line, 1);
	crab_clean(flow, to, CRAB_LINE);
	/* P19: words 1 to 7 are durable before word 0 marks them as valid */
	crab_fence(flow, CRAB_P19_REWRITTEN);
	crab_store(flow, to, crab_clfb_line_word(line, 0));
	crab_clean_word(flow, to);
}

static void update_inplace(struct clfb_write *write, u64 number, union clfb_line *line)
{
	struct clfb_tree *tree = write->tree;
	struct crab_flow *flow = write->flow;
	__le64 *to = clfb_node_media(tree, number, 0), *log = log_media(flow->media);
	union clfb_line old;

	crab_clfb_node_seal(tree, number, line);
	crab_clfb_line_load_again(flow->media, to, &old);
	line_store(flow, log, &old, 0);
	crab_clean(flow, log, CRAB_LINE);
	/* P17: the log holds the old line before the node is invalid */
	crab_fence(flow, CRAB_P17_LOGGED);
	old.byte[CLFB_MARK] = 0;
	crab_store(flow, to, crab_clfb_line_word(&old, 0));
	crab_clean_word(flow, to);
	/* P18: the node is invalid before any other word of it changes */
	crab_fence(flow, CRAB_P18_INVALID);
	line_rewrite(flow, to, line);
	/* P13: the node is valid: the log may be written again */
	crab_fence(flow, CRAB_P13_PARENT);
}

static void update_atomic(struct clfb_write *write, u64 number, union clfb_line *line)
{
	crab_clfb_node_seal(write->tree, number, line);
	crab_clfb_line_replace(write->flow, clfb_node_media(write->tree, number, 0), line);
	/* P13: the line is durable, as a whole (model A) */
	crab_fence(write->flow, CRAB_P13_PARENT);
}

void crab_clfb_node_update(struct clfb_write *write, u64 number, union clfb_line *line)
{
	if (clfb_is_twin(write->tree))
		update_twin(write, number, line);
	else if (clfb_is_atomic(&write->tree->base.geo))
		update_atomic(write, number, line);
	else
		update_inplace(write, number, line);
	crab_count(&write->tree->base, own[CLFB_NODE_UPDATES], 1);
}

void crab_clfb_node_restore(struct clfb_tree *tree, struct crab_flow *flow)
{
	if (!tree->broken)
		return;
	line_rewrite(flow, clfb_node_media(tree, tree->broken_node, 0), &tree->log);
	tree->broken = false;
}

static void void_torn(const struct clfb_tree *tree, struct crab_flow *flow, u64 number)
{
	u32 copy = other_copy(tree, number);
	union clfb_line line, other;

	crab_clfb_line_load_again(tree->base.media, clfb_node_media(tree, number, !copy), &line);
	crab_clfb_line_load_again(tree->base.media, clfb_node_media(tree, number, copy), &other);
	if (!is_torn(tree, number, &line, &other))
		return;
	crab_store(flow, clfb_node_media(tree, number, copy), 0);
}

void crab_clfb_node_settle(const struct clfb_tree *tree, struct crab_flow *flow, u64 number)
{
	if (clfb_is_twin(tree))
		void_torn(tree, flow, number);
	crab_clean(flow, clfb_node_media(tree, number, 0), tree->copies * CRAB_LINE);
}

u64 crab_clfb_root_word(u32 store_id, u64 number, u32 levels)
{
	return (crab_link_check(store_id, number, levels) & CHECK_MASK) |
	       (u64)levels << CLFB_ROOT_BITS | number;
}

void crab_clfb_root_store(struct crab_flow *flow, u32 store_id, u64 number, u32 levels)
{
	__le64 *word = clfb_root_media(flow->media);

	crab_store(flow, word, crab_clfb_root_word(store_id, number, levels));
	crab_clean_word(flow, word);
}

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares node lines in memory: the differences from the first reference and the first
 * key, each with as few bytes as the largest of them needs.
 *
 * No lock: they are the caller's.
 */
#ifndef CRABTREE_ENGINES_CLFB_LINE_H
#define CRABTREE_ENGINES_CLFB_LINE_H

#include "media/persist.h"
#include "format.h"

/*
 * Nodes that replace one: any 5 children fit with any widths (4 references of 5 bytes, 3 keys of
 * 8), and 6 nodes of 5 hold the children of a full node, one of which 6 nodes replace
 */
#define CLFB_PIECES_MAX	6U
#define CLFB_LIST_MAX	(CLFB_CHILDREN_MAX - 1 + CLFB_PIECES_MAX)

/**
 * union clfb_line - a node line, as on the media
 * @byte: its bytes
 * @word: its words
 */
union clfb_line {
	u8 byte[CRAB_LINE];
	__le64 word[CLFB_LINE_WORDS];
};

/**
 * struct clfb_list - the children of a node
 * @count: how many
 * @leaves: they are leaves
 * @ref: their numbers
 * @key: the lowest key of each; that of the first is not used: the node above knows it
 */
struct clfb_list {
	u32 count;
	bool leaves;
	u64 ref[CLFB_LIST_MAX];
	u64 key[CLFB_LIST_MAX];
};

/**
 * crab_clfb_line_put() - write a number
 * @to: its bytes
 * @value: the number
 * @n: how many bytes, at most 8
 * Context: any.
 */
void crab_clfb_line_put(u8 *to, u64 value, u32 n);

/**
 * crab_clfb_line_replace() - store a whole line, and clean it
 * @flow: the caller's flow
 * @to: the line
 * @line: its new content
 * Context: the caller fences.
 */
void crab_clfb_line_replace(struct crab_flow *flow, __le64 *to, const union clfb_line *line);

/**
 * crab_clfb_line_crc() - the crc of a node line
 * @line: the line; its own crc is not read
 * @store_id: of the store
 * @number: of the node
 * @sequence: CLFB_MARK is a sequence and is covered; else it is taken as 1
 * Context: any.
 * Return: the crc.
 */
u32 crab_clfb_line_crc(const union clfb_line *line, u32 store_id, u64 number, bool sequence);

/**
 * crab_clfb_widths_fit() - whether differences of so many bytes fit
 * @count: number of children, not 0. Differences of references are stored for all but the first,
 *	differences of keys for all but two
 * @refs: bytes of a difference of references
 * @keys: bytes of a difference of keys
 * Context: any.
 * Return: true if so.
 */
static __always_inline bool crab_clfb_widths_fit(u32 count, u32 refs, u32 keys)
{
	/* Always true of one child, which has no difference */
	return count * (refs + keys) <= CLFB_PAYLOAD_BYTES + refs + 2 * keys;
}

/**
 * crab_clfb_line_fits() - whether a line can hold children, by bytes
 * @list: the children
 * Context: any.
 * Return: true if so.
 */
bool crab_clfb_line_fits(const struct clfb_list *list);

/**
 * crab_clfb_line_any() - the children that a line can hold with any keys
 * @leaves: of the store: the numbers of the children are below it
 * Context: any.
 * Return: their number.
 */
u32 crab_clfb_line_any(u64 leaves);

/**
 * crab_clfb_line_encode() - make a line; its crc and its mark are 0
 * @line: out
 * @list: children that fit
 * Context: any.
 */
void crab_clfb_line_encode(union clfb_line *line, const struct clfb_list *list);

/**
 * crab_clfb_line_decode() - all children
 * @line: a line that crab_clfb_line_holds()
 * @list: out
 * Context: any.
 */
void crab_clfb_line_decode(const union clfb_line *line, struct clfb_list *list);

#endif /* CRABTREE_ENGINES_CLFB_LINE_H */

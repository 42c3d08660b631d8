/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares node lines in memory: the differences from the first reference and the first
 * key, each with as few bytes as the largest of them needs.
 *
 * No lock: they are the caller's.
 */
#ifndef CRABTREE_ENGINES_CLFB_LINE_H
#define CRABTREE_ENGINES_CLFB_LINE_H

#include "format.h"

struct crab_flow;
struct crab_media;

/*
 * Nodes that replace one: any 5 children fit with any widths (4 references of 5 bytes, 3 keys of
 * 8), and 6 nodes of 5 hold the children of a full node, one of which 6 nodes replace
 */
#define CLFB_PIECES_MAX	6U
#define CLFB_LIST_MAX	(CLFB_CHILDREN_MAX - 1 + CLFB_PIECES_MAX)

/**
 * struct clfb_line - a node line, as on the media
 * @byte: its bytes
 */
struct clfb_line {
	u8 byte[CRAB_LINE];
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
 * crab_clfb_line_get() - read a number
 * @from: its bytes, lowest first
 * @n: how many, at most 8
 * Context: any.
 * Return: the number.
 */
u64 crab_clfb_line_get(const u8 *from, u32 n);

/**
 * crab_clfb_line_put() - write a number
 * @to: its bytes
 * @value: the number
 * @n: how many bytes, at most 8
 * Context: any.
 */
void crab_clfb_line_put(u8 *to, u64 value, u32 n);

/**
 * crab_clfb_line_load() - load a line of the media, word by word
 * @media: the media
 * @from: the line
 * @line: out
 * Context: any.
 */
void crab_clfb_line_load(const struct crab_media *media, const __le64 *from,
			 struct clfb_line *line);

/**
 * crab_clfb_line_replace() - store a whole line, and clean it
 * @flow: the caller's flow
 * @to: the line
 * @line: its new content
 * Context: the caller fences.
 */
void crab_clfb_line_replace(struct crab_flow *flow, __le64 *to, const struct clfb_line *line);

/**
 * crab_clfb_line_word() - a word of a line
 * @line: the line
 * @i: which one
 * Context: any.
 * Return: the word in the CPU's byte order.
 */
static inline u64 crab_clfb_line_word(const struct clfb_line *line, u32 i)
{
	return crab_clfb_line_get(line->byte + i * sizeof(u64), sizeof(u64));
}

/**
 * crab_clfb_line_crc() - the crc of a node line
 * @line: the line; its own crc is not read
 * @store_id: of the store
 * @number: of the node
 * @sequence: CLFB_MARK is a sequence and is covered; else it is taken as 1
 * Context: any.
 * Return: the crc.
 */
u32 crab_clfb_line_crc(const struct clfb_line *line, u32 store_id, u64 number, bool sequence);

/**
 * crab_clfb_line_fits() - whether a line can hold children, by bytes
 * @list: the children
 * Context: any.
 * Return: true if so.
 */
bool crab_clfb_line_fits(const struct clfb_list *list);

/**
 * crab_clfb_line_encode() - make a line; its crc and its mark are 0
 * @line: out
 * @list: children that fit
 * Context: any.
 */
void crab_clfb_line_encode(struct clfb_line *line, const struct clfb_list *list);

/**
 * crab_clfb_line_holds() - whether the numbers in a line agree with its size
 * @line: the line
 * Context: any.
 * Return: false if it cannot be decoded.
 */
bool crab_clfb_line_holds(const struct clfb_line *line);

/**
 * crab_clfb_line_count() - number of children
 * @line: the line
 * Context: any.
 * Return: the number.
 */
static inline u32 crab_clfb_line_count(const struct clfb_line *line)
{
	return line->byte[CLFB_COUNT] & ~CLFB_OF_LEAVES;
}

/**
 * crab_clfb_line_ref() - the number of a child
 * @line: a line that crab_clfb_line_holds()
 * @i: which one
 * Context: any.
 * Return: the number; any 40 bits.
 */
u64 crab_clfb_line_ref(const struct clfb_line *line, u32 i);

/**
 * crab_clfb_line_key() - the lowest key of a child
 * @line: a line that crab_clfb_line_holds()
 * @i: which one; not the first
 * Context: any.
 * Return: the key.
 */
u64 crab_clfb_line_key(const struct clfb_line *line, u32 i);

/**
 * crab_clfb_line_find() - find the child whose range holds a key
 * @line: a line that crab_clfb_line_holds()
 * @key: the key
 * Context: any.
 * Return: which one.
 */
u32 crab_clfb_line_find(const struct clfb_line *line, u64 key);

/**
 * crab_clfb_line_decode() - all children
 * @line: a line that crab_clfb_line_holds()
 * @list: out
 * Context: any.
 */
void crab_clfb_line_decode(const struct clfb_line *line, struct clfb_list *list);

#endif /* CRABTREE_ENGINES_CLFB_LINE_H */

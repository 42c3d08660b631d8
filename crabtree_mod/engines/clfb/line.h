/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares node lines in memory: the differences from the first reference and the first
 * key, each with as few bytes as the largest of them needs.
 *
 * No lock: they are the caller's.
 */
#ifndef CRABTREE_ENGINES_CLFB_LINE_H
#define CRABTREE_ENGINES_CLFB_LINE_H

#include <linux/string.h>

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
 * crab_clfb_line_get() - read a number of a line
 * @line: the line
 * @at: byte of the line at which it begins; it ends at byte 8 or beyond
 * @n: how many bytes, 1 to 8, the lowest first
 * Context: any.
 * Return: the number.
 */
static inline u64 crab_clfb_line_get(const union clfb_line *line, u32 at, u32 n)
{
	__le64 word;

	/* The word that ends with it; one that began with it could end after the line */
	memcpy(&word, line->byte + at + n - sizeof(word), sizeof(word));
	return le64_to_cpu(word) >> (64 - 8 * n);
}

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
 *
 * Each word is loaded twice: one that failing memory returns otherwise once would lead to a wrong
 * child, or would be stored back.
 *
 * Context: any.
 * Return: false if the loads of a word differ: the line is 0.
 */
bool crab_clfb_line_load(const struct crab_media *media, const __le64 *from,
			 union clfb_line *line);

/**
 * crab_clfb_line_load_again() - the same, once more if the loads of a word differ
 * @media: the media
 * @from: the line
 * @line: out
 * Context: any.
 */
void crab_clfb_line_load_again(const struct crab_media *media, const __le64 *from,
			       union clfb_line *line);

/**
 * crab_clfb_line_replace() - store a whole line, and clean it
 * @flow: the caller's flow
 * @to: the line
 * @line: its new content
 * Context: the caller fences.
 */
void crab_clfb_line_replace(struct crab_flow *flow, __le64 *to, const union clfb_line *line);

/**
 * crab_clfb_line_word() - a word of a line
 * @line: the line
 * @i: which one
 * Context: any.
 * Return: the word in the CPU's byte order.
 */
static inline u64 crab_clfb_line_word(const union clfb_line *line, u32 i)
{
	return le64_to_cpu(line->word[i]);
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
u32 crab_clfb_line_crc(const union clfb_line *line, u32 store_id, u64 number, bool sequence);

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
 * crab_clfb_line_holds() - whether the numbers in a line agree with its size
 * @line: the line
 * Context: any.
 * Return: false if it cannot be decoded.
 */
bool crab_clfb_line_holds(const union clfb_line *line);

/**
 * crab_clfb_line_count() - number of children
 * @line: the line
 * Context: any.
 * Return: the number.
 */
static inline u32 crab_clfb_line_count(const union clfb_line *line)
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
u64 crab_clfb_line_ref(const union clfb_line *line, u32 i);

/**
 * crab_clfb_line_key() - the lowest key of a child
 * @line: a line that crab_clfb_line_holds()
 * @i: which one; not the first
 * Context: any.
 * Return: the key.
 */
u64 crab_clfb_line_key(const union clfb_line *line, u32 i);

/**
 * crab_clfb_line_find() - find the child whose range holds a key
 * @line: a line that crab_clfb_line_holds()
 * @key: the key
 * Context: any.
 * Return: which one.
 */
u32 crab_clfb_line_find(const union clfb_line *line, u64 key);

/**
 * crab_clfb_line_range() - the same, and narrow a range to the keys of that child
 * @line: a line that crab_clfb_line_holds()
 * @key: the key
 * @low: in and out: lowest key of the range
 * @high: in and out: one past the highest
 *
 * The keys of a line that has changed do not ascend any more. crab_clfb_line_find() finds the same
 * child for all keys of the range nevertheless.
 *
 * Context: any.
 * Return: which one.
 */
u32 crab_clfb_line_range(const union clfb_line *line, u64 key, u64 *low, u64 *high);

/**
 * crab_clfb_line_decode() - all children
 * @line: a line that crab_clfb_line_holds()
 * @list: out
 * Context: any.
 */
void crab_clfb_line_decode(const union clfb_line *line, struct clfb_list *list);

#endif /* CRABTREE_ENGINES_CLFB_LINE_H */

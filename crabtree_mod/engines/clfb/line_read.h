/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares how a node line is read: loaded from the media, and searched.
 *
 * No lock: as in line.h.
 */
#ifndef CRABTREE_ENGINES_CLFB_LINE_READ_H
#define CRABTREE_ENGINES_CLFB_LINE_READ_H

#include <linux/string.h>

#include "media/again.h"
#include "line.h"

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

/* Loads a word of a line twice; false: the loads differ */
static __always_inline bool clfb_word_load(const struct crab_media *media, const __le64 *from,
					   union clfb_line *line, u32 i)
{
	u64 word = crab_load(media, from + i);

	line->word[i] = cpu_to_le64(word);
	barrier();
	return likely(crab_load_again(media, from + i) == word);
}

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
static __always_inline bool crab_clfb_line_load(const struct crab_media *media, const __le64 *from,
						union clfb_line *line)
{
	/* A loop takes as many instructions as the second loads */
	if (clfb_word_load(media, from, line, 0) && clfb_word_load(media, from, line, 1) &&
	    clfb_word_load(media, from, line, 2) && clfb_word_load(media, from, line, 3) &&
	    clfb_word_load(media, from, line, 4) && clfb_word_load(media, from, line, 5) &&
	    clfb_word_load(media, from, line, 6) && clfb_word_load(media, from, line, 7))
		return true;
	memset(line, 0, sizeof(*line));
	return false;
}

/**
 * crab_clfb_line_load_again() - the same, once more if the loads of a word differ
 * @media: the media
 * @from: the line
 * @line: out
 * Context: any.
 */
void crab_clfb_line_load_again(const struct crab_media *media, const __le64 *from,
			       union clfb_line *line);

/* These take whole words at constant places, so that a search needs no loads of single bytes */

/* A byte of the first word */
static __always_inline u32 clfb_line_byte(const union clfb_line *line, u32 at)
{
	return (u8)(crab_clfb_line_word(line, 0) >> 8 * at);
}

/**
 * crab_clfb_line_count() - number of children
 * @line: the line
 * Context: any.
 * Return: the number.
 */
static __always_inline u32 crab_clfb_line_count(const union clfb_line *line)
{
	return clfb_line_byte(line, CLFB_COUNT) & ~CLFB_OF_LEAVES;
}

/* Bytes of a difference of references */
static __always_inline u32 clfb_line_refs(const union clfb_line *line)
{
	return clfb_line_byte(line, CLFB_WIDTHS) >> 4;
}

/* Bytes of a difference of keys */
static __always_inline u32 clfb_line_keys(const union clfb_line *line)
{
	return clfb_line_byte(line, CLFB_WIDTHS) & 15;
}

/* The number of the first child */
static __always_inline u64 clfb_line_first_ref(const union clfb_line *line)
{
	static_assert(CLFB_REF == 7);
	return (crab_clfb_line_word(line, 0) >> 56 | crab_clfb_line_word(line, 1) << 8) &
	       CLFB_ROOT_MASK;
}

/* The lowest key of the second child */
static __always_inline u64 clfb_line_first_key(const union clfb_line *line)
{
	static_assert(CLFB_KEY == 12);
	return crab_clfb_line_word(line, 1) >> 32 | crab_clfb_line_word(line, 2) << 32;
}

/* Where the differences of keys begin */
static __always_inline u32 clfb_line_keys_at(const union clfb_line *line)
{
	return CLFB_PAYLOAD + (crab_clfb_line_count(line) - 1) * clfb_line_refs(line);
}

/**
 * crab_clfb_line_holds() - whether the numbers in a line agree with its size
 * @line: the line
 * Context: any.
 * Return: false if it cannot be decoded.
 */
static __always_inline bool crab_clfb_line_holds(const union clfb_line *line)
{
	u32 count = crab_clfb_line_count(line), refs = clfb_line_refs(line);
	u32 keys = clfb_line_keys(line);

	return count && count <= CLFB_CHILDREN_MAX && refs && refs <= CLFB_REF_BYTES && keys &&
	       keys <= sizeof(u64) && crab_clfb_widths_fit(count, refs, keys);
}

/* A difference of so many bytes, with its sign, as a number of 40 bits */
static __always_inline u64 clfb_ref_extend(u64 difference, u32 width)
{
	u64 sign = 1ULL << (8 * width - 1);

	return ((difference ^ sign) - sign) & CLFB_ROOT_MASK;
}

/**
 * crab_clfb_line_ref() - the number of a child
 * @line: a line that crab_clfb_line_holds()
 * @i: which one
 * Context: any.
 * Return: the number; any 40 bits.
 */
static __always_inline u64 crab_clfb_line_ref(const union clfb_line *line, u32 i)
{
	u64 first = clfb_line_first_ref(line), difference;
	u32 refs = clfb_line_refs(line);

	if (!i)
		return first;
	difference = crab_clfb_line_get(line, CLFB_PAYLOAD + (i - 1) * refs, refs);
	return (first + clfb_ref_extend(difference, refs)) & CLFB_ROOT_MASK;
}

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
static __always_inline u32 crab_clfb_line_find(const union clfb_line *line, u64 key)
{
	u32 at = clfb_line_keys_at(line), keys = clfb_line_keys(line), i, found = 1;
	u64 first = clfb_line_first_key(line);

	if (crab_clfb_line_count(line) == 1 || key < first)
		return 0;
	/* All keys are compared: a branch that ends the loop early is hard to predict */
	for (i = crab_clfb_line_count(line) - 2; i--; at += keys)
		found += crab_clfb_line_get(line, at, keys) <= key - first;
	return found;
}

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

#endif /* CRABTREE_ENGINES_CLFB_LINE_READ_H */

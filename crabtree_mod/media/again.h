/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares loads of words that failing memory may return otherwise once: before it is
 * known as failed, a load can return another value, and the next one the right value.
 *
 * Layer L1: it includes nothing outside media/; every folder may include it.
 *
 * No lock: the caller excludes writers, or validates the read afterwards.
 */
#ifndef CRABTREE_AGAIN_H
#define CRABTREE_AGAIN_H

#include "persist.h"

/**
 * crab_load_is() - does a word of the media have a value? It is loaded twice
 * @media: the media
 * @p: as of crab_load()
 * @value: the value, which media that changes may show once
 *
 * Context: any.
 * Return: true if both loads returned it.
 */
static __always_inline bool crab_load_is(const struct crab_media *media, const __le64 *p,
					 u64 value)
{
	return crab_load(media, p) == value && crab_load(media, p) == value;
}

/**
 * crab_load_settled() - load a word that failing memory may return otherwise once
 * @media: the media
 * @p: as of crab_load()
 *
 * Context: any.
 * Return: the value of two loads; if they differ, that of a third.
 */
static __always_inline u64 crab_load_settled(const struct crab_media *media, const __le64 *p)
{
	u64 value = crab_load(media, p);

	return likely(crab_load(media, p) == value) ? value : crab_load(media, p);
}

/**
 * crab_load_again() - load a word of the media that was loaded before barrier()
 * @media: the media
 * @p: as of crab_load()
 *
 * Context: no other CPU stores the word, or the caller validates the read afterwards; media that
 * changes by itself may store it. The load is not volatile: it may be an operand.
 * Return: as of crab_load().
 */
static __always_inline u64 crab_load_again(const struct crab_media *media, const __le64 *p)
{
	u64 value;

	if (crab_hook_load(media, p, &value))
		return value;
	/* A race with media that changes, or with a CPU whose store is validated, is meant */
	return le64_to_cpu(data_race(*p));
}

#endif /* CRABTREE_AGAIN_H */

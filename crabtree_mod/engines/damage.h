/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares descriptions of damage: invariants of the media that do not hold.
 *
 * Locking: the owner of a description excludes others.
 */
#ifndef CRABTREE_DAMAGE_H
#define CRABTREE_DAMAGE_H

#include <linux/atomic.h>
#include <linux/stdarg.h>
#include <linux/types.h>

#define CRAB_WHAT_LEN	96

/**
 * struct crab_damage - broken invariants
 * @count: how many
 * @offset: where the first one is, in the region
 * @what: description of the first one
 */
struct crab_damage {
	u64 count;
	u64 offset;
	char what[CRAB_WHAT_LEN];
};

/**
 * crab_damage_note() - add a broken invariant
 * @damage: the description; keeps the first
 * @offset: where on the media
 * @fmt: description
 * Context: any; the caller excludes others.
 */
__printf(3, 4)
void crab_damage_note(struct crab_damage *damage, u64 offset, const char *fmt, ...);

/**
 * crab_damage_note_births() - attach: note a list whose births come near their end
 * @damage: the description
 * @birth: the highest birth in the list
 * Context: attach.
 */
void crab_damage_note_births(struct crab_damage *damage, u64 birth);

/**
 * crab_damage_publish() - add a broken invariant to a description that others read
 * @damage: the description; keeps the first
 * @offset: where on the media
 * @fmt: description
 * @args: for @fmt
 * Context: any; the caller excludes other writers.
 */
__printf(3, 0)
void crab_damage_publish(struct crab_damage *damage, u64 offset, const char *fmt, va_list args);

/**
 * crab_damage_is_published() - whether a description may be read
 * @damage: the description
 * Context: any.
 * Return: true if it is complete; it does not change any more, except for its count.
 */
static inline bool crab_damage_is_published(const struct crab_damage *damage)
{
	/* Pairs with crab_damage_publish() */
	return smp_load_acquire(&damage->count);
}

#endif /* CRABTREE_DAMAGE_H */

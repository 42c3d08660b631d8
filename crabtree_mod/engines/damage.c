// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements descriptions of damage.
 *
 * Invariant: the first broken invariant is described, all are counted; a published count that
 * is not 0 follows a complete description.
 *
 * Locking: the owner of a description excludes other writers.
 */
#include <linux/kernel.h>
#include <linux/stdarg.h>

#include "media/format.h"
#include "shared/link.h"
#include "damage.h"

__printf(3, 0)
static void damage_describe(struct crab_damage *damage, u64 offset, const char *fmt, va_list args)
{
	damage->offset = offset;
	vsnprintf(damage->what, sizeof(damage->what), fmt, args);
}

void crab_damage_note(struct crab_damage *damage, u64 offset, const char *fmt, ...)
{
	va_list args;

	if (damage->count++)
		return;
	va_start(args, fmt);
	damage_describe(damage, offset, fmt, args);
	va_end(args);
}

void crab_damage_note_births(struct crab_damage *damage, u64 birth)
{
	if (crab_birth_is_high(birth))
		crab_damage_note(damage, CRAB_HEAD_OFFSET, "hardly any births are left");
}

void crab_damage_publish(struct crab_damage *damage, u64 offset, const char *fmt, va_list args)
{
	if (!damage->count)
		damage_describe(damage, offset, fmt, args);
	/* Pairs with crab_damage_is_published(): the description is complete */
	smp_store_release(&damage->count, damage->count + 1);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements operations that several engines share.
 *
 * Invariant: none of them knows an engine's own structure.
 *
 * Locking: see defaults.h.
 */
#include <linux/errno.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "counts.h"
#include "defaults.h"

struct crab_engine *crab_engine_alloc(size_t bytes, const struct crab_engine_ops *ops,
				      struct crab_media *media, const struct crab_geometry *geo,
				      const struct crab_attach_how *how)
{
	struct crab_engine *engine = kvzalloc(bytes, GFP_KERNEL | __GFP_RETRY_MAYFAIL |
					      __GFP_NOWARN);

	if (engine && crab_engine_init(engine, ops, media, geo, how)) {
		crab_engine_free(engine);
		return NULL;
	}
	return engine;
}

void crab_engine_free(struct crab_engine *engine)
{
	crab_engine_exit(engine);
	kvfree(engine);
}

int crab_engine_lookup(struct crab_engine *engine, u64 key, u64 *value)
{
	struct crab_record record;
	int n = engine->ops->scan(engine, key, key, &record, 1);

	if (n == 1)
		*value = record.value;
	return n < 0 ? n : n ? 0 : -ENOENT;
}

u64 crab_engine_beyond(struct crab_engine *engine, u64 key)
{
	return engine->damage.count ? CRAB_KEY_EMPTY : key;
}

void crab_engine_expect(const struct crab_engine *engine, struct crab_check_report *report,
			const __le64 *word, u64 value, const char *what)
{
	const struct crab_media *media = engine->media;

	if (crab_load(media, word) != value)
		crab_damage_note(&report->damage, (const u8 *)word - (const u8 *)media->base,
				 "%s", what);
}

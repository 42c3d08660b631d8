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
#include "shared/pool.h"

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
	int err = engine->own->seek(engine, key, CRAB_SEEK_GE, &record);

	if (!err && record.key != key)
		err = -ENOENT;
	if (!err)
		*value = record.value;
	return err;
}

int crab_engine_scan(struct crab_engine *engine, u64 start, u64 end, struct crab_record *records,
		     u32 cap)
{
	int err = 0;
	u32 n = 0;

	while (n < cap && start <= end) {
		err = engine->own->seek(engine, start, CRAB_SEEK_GE, &records[n]);
		if (err || records[n].key > end)
			break;
		start = records[n++].key + 1;
	}
	return n || err == -ENOENT ? n : err;
}

int crab_engine_scan_back(struct crab_engine *engine, u64 start, u64 end,
			  struct crab_record *records, u32 cap)
{
	int err = 0;
	u32 n = 0;

	while (n < cap) {
		err = engine->own->seek(engine, end, CRAB_SEEK_LE, &records[n]);
		if (err || records[n].key < start)
			break;
		end = records[n++].key - 1;
		if (end < start || end == CRAB_KEY_EMPTY)	/* below the lowest key */
			break;
	}
	/* A seek that finds no record from @start on goes on to a range that is below @start */
	if (!n && err == -EUCLEAN && !engine->own->scan(engine, start, end, records, 1))
		return 0;
	return n || err == -ENOENT ? n : err;
}

u64 crab_engine_beyond(struct crab_engine *engine, u64 key, enum crab_seek_dir dir)
{
	return engine->damage.count ? CRAB_KEY_EMPTY : key;
}

int crab_engine_admit(struct crab_engine *engine, enum crab_insert_mode mode,
		      const struct crab_old *old, bool full, u64 *value)
{
	int err = old->existed ? crab_insert_decide(mode, old, value) : 0;

	if (err)
		return err;
	if (!old->existed && mode & CRAB_INSERT_NEEDS)
		return -ENOENT;
	if (!old->existed && full)
		return -ENOSPC;
	if (mode == CRAB_INSERT_NOTHING)
		crab_count(engine, deletes, 1);
	else if (old->existed)
		crab_count(engine, updates, 1);
	else
		crab_count(engine, inserts, 1);
	return 0;
}

int crab_engine_remove(struct crab_engine *engine, struct crab_flow *flow, u64 key,
		       struct crab_old *old)
{
	return engine->own->insert(engine, flow, key, 0, CRAB_INSERT_NOTHING, old);
}

u32 crab_engine_records(u32 leaf_bytes)
{
	return (leaf_bytes - sizeof(struct crab_dhead)) / sizeof(struct crab_record);
}

void crab_engine_expect(const struct crab_engine *engine, struct crab_check_report *report,
			const __le64 *at, const void *values, u32 n)
{
	const struct crab_media *media = engine->media;
	const u64 *value = values;
	u32 i;

	for (i = 0; i < n; i++)
		if (crab_load(media, at + i) != value[i])
			crab_damage_note(&report->damage, (const u8 *)(at + i) - media->base,
					 "a word has changed");
}

void crab_engine_check_pool(const struct crab_engine *engine, struct crab_check_report *report,
			    u64 leaves)
{
	unsigned long long unlisted = crab_pool_unlisted(engine->pool);

	if (leaves + unlisted != engine->geo.leaves)
		crab_damage_note(&report->damage, CRAB_HEAD_OFFSET,
				 "%llu leaves in the tree and %llu in the pool are not all %llu",
				 (unsigned long long)leaves, unlisted,
				 (unsigned long long)engine->geo.leaves);
}

bool crab_engine_check_known(const struct crab_engine *engine, struct crab_check_report *report)
{
	const struct crab_damage *damage = engine->damage.count ? &engine->damage : &engine->found;
	bool known = crab_damage_is_published(damage);

	if (known)
		crab_damage_note(&report->damage, damage->offset, "%s", damage->what);
	return known;
}

void crab_engine_check_bad(const struct crab_engine *engine, struct crab_check_report *report,
			   u64 leaf)
{
	if (!crab_engine_check_known(engine, report))
		crab_damage_note(&report->damage, crab_leaf_offset(&engine->geo, leaf),
				 "leaf %llu: uncorrectable memory", (unsigned long long)leaf);
}

void crab_engine_check_counts(const struct crab_engine *engine, struct crab_check_report *report,
			      const struct crab_counts *before, u64 leaves, u64 records)
{
	struct crab_counts now;

	if (report->leaves != leaves)
		crab_damage_note(&report->damage, CRAB_HEAD_OFFSET,
				 "%llu leaves in the tree, DRAM counts %llu",
				 (unsigned long long)report->leaves, (unsigned long long)leaves);
	crab_counts_sum(engine, &now);
	if (now.inserts != before->inserts || now.deletes != before->deletes)
		return;
	records += now.inserts - now.deletes;
	if (report->records != records)
		crab_damage_note(&report->damage, CRAB_HEAD_OFFSET,
				 "%llu records, DRAM counts %llu",
				 (unsigned long long)report->records, (unsigned long long)records);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the engine `toy`: a sorted array in one leaf. It is an example for writers
 * of engines and a test of the tests; only test builds have it.
 */

/**
 * DOC: protocol of toy
 *
 * The link in the head of the list names the leaf that holds all records in ascending order, up to
 * the reserved key or the end of the leaf. A change writes the whole array to the other one of the
 * first two leaves of the pool, under the next birth, and then the link, one word:
 *
 *   power is cut        content that attach finds
 *   before P7           before the change: the link names the old leaf
 *   from P7 to P8       before or after it: the link is old or new, and both leaves are whole
 *   after P8            after it: the next change may overwrite the old leaf
 *
 * Invariants: the leaf of birth n is leaf n % 2; memory holds the same records as the linked leaf.
 *
 * Locking: toy.lock.
 */
#include <linux/err.h>
#include <linux/mutex.h>

#include "engines/array.h"
#include "engines/defaults.h"
#include "media/badmem.h"
#include "shared/link.h"

struct toy {
	struct crab_engine base;
	struct mutex lock;
	u64 birth;
	struct crab_array array;	/* the records, and the reserved key after them */
};

#define toy_of(engine)		container_of(engine, struct toy, base)
#define toy_room(geo)		crab_engine_records((geo)->leaf_bytes)
#define toy_link(media)		((__le64 *)((media)->base + CRAB_HEAD_OFFSET))
#define toy_at(media, geo, birth)							\
	((__le64 *)((media)->base + crab_leaf_offset(geo, (birth) % 2) + sizeof(struct crab_dhead)))
/* Words of an array on the media: the reserved key ends it if there is room */
#define toy_words(geo, count)	(2 * (count) + ((count) < toy_room(geo)))

static void toy_write(struct crab_flow *flow, const struct crab_geometry *geo, u64 birth,
		      const struct crab_record *records, u32 count)
{
	struct crab_head head = { .self = crab_leaf_offset(geo, birth % 2), .birth = birth };
	u32 i;

	crab_head_store(flow, geo->store_id, &head);
	for (i = 0; i < toy_words(geo, count); i++)
		crab_store(flow, toy_at(flow->media, geo, birth) + i, ((const u64 *)records)[i]);
	crab_clean(flow, flow->media->base + head.self, geo->leaf_bytes);
	/* P7: the new leaf is whole before the link names it */
	crab_fence(flow, CRAB_P7_FRESH);
	crab_store(flow, toy_link(flow->media), crab_link_to(geo, birth % 2, birth));
	crab_clean(flow, toy_link(flow->media), sizeof(__le64));
	/* P8: the link is durable before the next change overwrites the old leaf */
	crab_fence(flow, CRAB_P8_LINKED);
}

static int toy_format(struct crab_flow *flow, const struct crab_geometry *geo)
{
	toy_write(flow, geo, 1, &(struct crab_record){ .key = CRAB_KEY_EMPTY }, 0);
	return 0;
}

/* The birth of the linked leaf, or 0: the link names no leaf of this store that can be read */
static u64 toy_birth(const struct crab_media *media, const struct crab_geometry *geo)
{
	u64 link = crab_load(media, toy_link(media)), leaf = (link & CRAB_LINK_MASK) - 1;
	struct crab_head head;

	return leaf <= 1 && crab_badmem_probe(media, geo->pool_offset, 2 * geo->leaf_bytes) &&
	       crab_head_load(media, crab_leaf_offset(geo, leaf), geo->store_id, &head) &&
	       link == crab_link_to(geo, head.birth % 2, head.birth) ? head.birth : 0;
}

static struct crab_engine *toy_attach(struct crab_media *media, const struct crab_geometry *geo,
				      const struct crab_attach_how *how)
{
	struct crab_engine *engine = crab_engine_alloc(sizeof(struct toy) + geo->leaf_bytes,
						       &crab_engine_toy, media, geo, how);
	struct crab_record *at;
	const __le64 *slot;
	struct toy *toy;

	if (!engine)
		return ERR_PTR(-ENOMEM);
	toy = toy_of(engine);
	mutex_init(&toy->lock);
	toy->birth = toy_birth(media, geo);
	if (!toy->birth)
		crab_damage_note(&engine->damage, CRAB_HEAD_OFFSET, "the link names no leaf");
	slot = toy_at(media, geo, toy->birth);
	at = toy->array.records;
	for (; toy->birth && toy->array.count < toy_room(geo); toy->array.count++, at++) {
		at->key = crab_load(media, slot++);
		if (at->key == CRAB_KEY_EMPTY)
			break;
		if (toy->array.count && at->key <= at[-1].key)
			crab_damage_note(&engine->damage, crab_leaf_offset(geo, toy->birth % 2),
					 "keys do not ascend");
		at->value = crab_load(media, slot++);
	}
	at->key = CRAB_KEY_EMPTY;
	return engine;
}

static int toy_seek(struct crab_engine *engine, u64 key, enum crab_seek_dir dir,
		    struct crab_record *record)
{
	struct toy *toy = toy_of(engine);
	bool found;

	mutex_lock(&toy->lock);
	found = crab_array_near(&toy->array, key, dir, record);
	mutex_unlock(&toy->lock);
	return engine->damage.count ? -EUCLEAN : found ? 0 : -ENOENT;
}

/* Inserts, or removes for crab_engine_remove() */
static int toy_insert(struct crab_engine *engine, struct crab_flow *flow, u64 key, u64 value,
		      enum crab_insert_mode mode, struct crab_old *old)
{
	struct toy *toy = toy_of(engine);
	u32 at;
	int err;

	mutex_lock(&toy->lock);
	at = crab_array_find(&toy->array, key);
	old->existed = toy->array.records[at].key == key;
	old->value = toy->array.records[at].value;
	err = crab_engine_admit(engine, mode, old, toy->array.count == toy_room(&engine->geo),
				&value);
	if (!err) {
		if (old->existed)
			crab_array_remove(&toy->array, at);
		if (mode != CRAB_INSERT_NOTHING)
			crab_array_insert(&toy->array, at, key, value);
		toy->array.records[toy->array.count].key = CRAB_KEY_EMPTY;
		toy->birth %= CRAB_BIRTH_MAX;	/* after the last one comes the first */
		crab_flow_pin();
		toy_write(flow, &engine->geo, ++toy->birth, toy->array.records, toy->array.count);
		crab_flow_unpin();
	}
	mutex_unlock(&toy->lock);
	return err;
}

/* Compares the media with memory, which attach and each change left equal to it */
static int toy_check(struct crab_engine *engine, struct crab_check_report *report)
{
	struct toy *toy = toy_of(engine);

	if (crab_engine_is_stopped(engine))
		return -EINTR;
	mutex_lock(&toy->lock);
	report->leaves = 1;
	report->records = toy->array.count;
	report->damage = engine->damage;
	if (toy_birth(engine->media, &engine->geo) != toy->birth)
		crab_damage_note(&report->damage, CRAB_HEAD_OFFSET, "the link has changed");
	else if (toy->birth)
		crab_engine_expect(engine, report, toy_at(engine->media, &engine->geo, toy->birth),
				   toy->array.records, toy_words(&engine->geo, toy->array.count));
	mutex_unlock(&toy->lock);
	return 0;
}

static void toy_stats(struct crab_engine *engine, struct crab_engine_stats *stats)
{
	stats->leaves_used = 1;
	stats->records = READ_ONCE(toy_of(engine)->array.count);
	stats->capacity = toy_room(&engine->geo);
	stats->dram_bytes = sizeof(struct toy) + engine->geo.leaf_bytes;
}

static const struct crab_layout toy_layouts[] = {
	{ .name = "array", .id = 1, .needs = CRAB_MODEL_WORD, .leaf_min = CRAB_LEAF_BYTES_MIN,
	  .leaf_max = CRAB_BLOCK_BYTES_MAX, .leaf_default = CRAB_LEAF_BYTES_DEFAULT,
	  .records = crab_engine_records },
	{ }
};

const struct crab_engine_ops crab_engine_toy = {
	.name = "toy", .id = 0xffff,
	.layouts = toy_layouts,
	.format = toy_format,
	.attach = toy_attach,
	.seek = toy_seek,
	.insert = toy_insert,
	.check = toy_check,
	.stats = toy_stats,
	CRAB_ENGINE_DEFAULTS,
};

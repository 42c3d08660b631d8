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
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "engines/counts.h"
#include "engines/defaults.h"
#include "media/badmem.h"
#include "shared/link.h"

struct toy {
	struct crab_engine base;
	struct mutex lock;
	u64 birth;
	u32 count;
	u32 room;
	struct crab_record records[];
};

#define toy_of(engine)		container_of(engine, struct toy, base)
#define toy_link(media)		((__le64 *)((media)->base + CRAB_HEAD_OFFSET))
#define toy_leaf(engine, n)	((engine)->media->base + crab_leaf_offset(&(engine)->geo, n))
#define toy_slots(leaf)		((__le64 *)((leaf) + sizeof(struct crab_dhead)))

static u32 toy_room(u32 leaf_bytes)
{
	return (leaf_bytes - sizeof(struct crab_dhead)) / sizeof(struct crab_record);
}

static void toy_write(struct crab_flow *flow, const struct crab_geometry *geo, u64 birth,
		      const struct crab_record *records, u32 count)
{
	struct crab_head head = { .self = crab_leaf_offset(geo, birth % 2), .birth = birth };
	__le64 *at = toy_slots(flow->media->base + head.self);
	u32 i;

	crab_head_store(flow, geo->store_id, &head);
	for (i = 0; i < count; i++) {
		crab_store(flow, at++, records[i].key);
		crab_store(flow, at++, records[i].value);
	}
	if (count < toy_room(geo->leaf_bytes))
		crab_store(flow, at, CRAB_KEY_EMPTY);
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
	toy_write(flow, geo, 1, NULL, 0);
	return 0;
}

/* Reads the records of the linked leaf. Returns NULL, or the damage in words */
static const char *toy_read(struct toy *toy)
{
	u64 link = crab_load(toy->base.media, toy_link(toy->base.media));
	u64 leaf = (link & CRAB_LINK_MASK) - 1, key, above = 0;
	const __le64 *at = toy_slots(toy_leaf(&toy->base, leaf % 2));
	struct crab_head head;

	if (leaf > 1 || !crab_head_load(toy->base.media, crab_leaf_offset(&toy->base.geo, leaf),
					toy->base.geo.store_id, &head) ||
	    link != crab_link_to(&toy->base.geo, head.birth % 2, head.birth))
		return "the link names no leaf of this store";
	if (head.birth > CRAB_BIRTH_MAX / 2)	/* forged: no store has so many births */
		return "no births are left";
	toy->birth = head.birth;
	for (; toy->count < toy->room; toy->count++, above = key + 1) {
		key = crab_load(toy->base.media, at++);
		if (key == CRAB_KEY_EMPTY)
			break;
		if (key < above)
			return "keys do not ascend";
		toy->records[toy->count].key = key;
		toy->records[toy->count].value = crab_load(toy->base.media, at++);
	}
	return NULL;
}

static struct crab_engine *toy_attach(struct crab_media *media, const struct crab_geometry *geo,
				      const struct crab_attach_how *how)
{
	u32 room = toy_room(geo->leaf_bytes);
	size_t bytes = struct_size((struct toy *)NULL, records, room);
	struct crab_engine *engine = crab_engine_alloc(bytes, &crab_engine_toy, media, geo, how);
	const char *damage;

	if (!engine)
		return ERR_PTR(-ENOMEM);
	mutex_init(&toy_of(engine)->lock);
	toy_of(engine)->room = room;
	damage = crab_badmem_probe(media, geo->pool_offset, 2 * geo->leaf_bytes) ?
		 toy_read(toy_of(engine)) : "a leaf cannot be read";
	if (damage)
		crab_damage_note(&engine->damage, CRAB_HEAD_OFFSET, "%s", damage);
	return engine;
}

/* The first record with a key of at least @key */
static u32 toy_find(const struct toy *toy, u64 key)
{
	u32 at = 0;

	while (at < toy->count && toy->records[at].key < key)
		at++;
	return at;
}

static int toy_scan(struct crab_engine *engine, u64 start, u64 end, struct crab_record *records,
		    u32 cap)
{
	struct toy *toy = toy_of(engine);
	u32 at, n = 0;

	if (engine->damage.count)
		return -EUCLEAN;
	mutex_lock(&toy->lock);
	for (at = toy_find(toy, start); n < cap && at < toy->count; at++)
		if (toy->records[at].key <= end)
			records[n++] = toy->records[at];
	mutex_unlock(&toy->lock);
	return n;
}

static int toy_seek(struct crab_engine *engine, u64 key, enum crab_seek_dir dir,
		    struct crab_record *record)
{
	struct toy *toy = toy_of(engine);
	bool found;
	u32 at;

	if (engine->damage.count)
		return -EUCLEAN;
	mutex_lock(&toy->lock);
	at = toy_find(toy, key);
	found = at < toy->count && (dir == CRAB_SEEK_GE || toy->records[at].key == key);
	if (!found && dir == CRAB_SEEK_LE && at) {
		at--;
		found = true;
	}
	if (found)
		*record = toy->records[at];
	mutex_unlock(&toy->lock);
	return found ? 0 : -ENOENT;
}

/* Puts @record in place of the one of @key, or removes that if @record is NULL */
static int toy_change(struct crab_engine *engine, struct crab_flow *flow, u64 key,
		      const struct crab_record *record, enum crab_insert_mode mode,
		      struct crab_old *old)
{
	struct toy *toy = toy_of(engine);
	struct crab_record *at;
	int err = 0;

	mutex_lock(&toy->lock);
	at = &toy->records[toy_find(toy, key)];
	old->existed = at < toy->records + toy->count && at->key == key;
	if (old->existed)
		old->value = at->value;
	if (old->existed ? mode == CRAB_INSERT_CREATE : mode == CRAB_INSERT_REPLACE)
		err = old->existed ? -EEXIST : -ENOENT;
	else if (!old->existed && toy->count == toy->room)
		err = -ENOSPC;
	if (!err) {
		memmove(at + !!record, at + old->existed,
			(void *)(toy->records + toy->count) - (void *)(at + old->existed));
		if (record)
			*at = *record;
		toy->count += !!record - old->existed;
		crab_count(engine, inserts, record && !old->existed);
		crab_count(engine, updates, record && old->existed);
		crab_count(engine, deletes, !record);
		crab_flow_pin();
		toy_write(flow, &engine->geo, ++toy->birth, toy->records, toy->count);
		crab_flow_unpin();
	}
	mutex_unlock(&toy->lock);
	return err;
}

static int toy_insert(struct crab_engine *engine, struct crab_flow *flow, u64 key, u64 value,
		      enum crab_insert_mode mode, struct crab_old *old)
{
	struct crab_record record = { .key = key, .value = value };

	return toy_change(engine, flow, key, &record, mode, old);
}

static int toy_remove(struct crab_engine *engine, struct crab_flow *flow, u64 key,
		      struct crab_old *old)
{
	return toy_change(engine, flow, key, NULL, CRAB_INSERT_REPLACE, old);
}

/* Compares the media with memory, which was right after attach and after each change */
static int toy_check(struct crab_engine *engine, struct crab_check_report *report)
{
	struct toy *toy = toy_of(engine);
	const u64 *word = (const u64 *)toy->records;
	const __le64 *at;
	u32 i;

	if (crab_engine_is_stopped(engine))
		return -EINTR;
	mutex_lock(&toy->lock);
	report->leaves = 1;
	report->records = toy->count;
	at = toy_slots(toy_leaf(engine, toy->birth % 2));
	crab_engine_expect(engine, report, toy_link(engine->media),
			   crab_link_to(&engine->geo, toy->birth % 2, toy->birth),
			   "the link has changed");
	for (i = 0; i < 2 * toy->count; i++)
		crab_engine_expect(engine, report, at++, word[i], "a record has changed");
	if (toy->count < toy->room)
		crab_engine_expect(engine, report, at, CRAB_KEY_EMPTY, "no end");
	mutex_unlock(&toy->lock);
	return 0;
}

static void toy_stats(struct crab_engine *engine, struct crab_engine_stats *stats)
{
	const struct toy *toy = toy_of(engine);

	*stats = (struct crab_engine_stats) {
		.leaves_used = 1, .records = READ_ONCE(toy->count), .capacity = toy->room,
		.dram_bytes = struct_size(toy, records, toy->room),
	};
}

static const struct crab_layout toy_layouts[] = {
	{
		.name = "array", .id = 1, .needs = CRAB_MODEL_WORD, .leaf_min = CRAB_LEAF_BYTES_MIN,
		.leaf_max = CRAB_BLOCK_BYTES_MAX, .leaf_default = CRAB_LEAF_BYTES_DEFAULT,
		.records = toy_room,
	},
	{ }
};

const struct crab_engine_ops crab_engine_toy = {
	.name = "toy",
	.id = 0xffff,
	.layouts = toy_layouts,
	.format = toy_format,
	.attach = toy_attach,
	.detach = crab_engine_free,
	.lookup = crab_engine_lookup,
	.seek = toy_seek,
	.scan = toy_scan,
	.beyond = crab_engine_beyond,
	.insert = toy_insert,
	.remove = toy_remove,
	.check = toy_check,
	.stats = toy_stats,
};

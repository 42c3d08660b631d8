// SPDX-License-Identifier: GPL-2.0
/*
 * This file is the complete driver of the engine `toy` for the crash tests: an independent decoder
 * of its media, its spaces, loads, workloads and damage.
 *
 * DOC: canonical states of toy
 *
 * A state has one byte for the number of records, and two for each record: the numbers of its key
 * and of its value. It omits which of the two leaves is linked, and the birth of that leaf: the
 * code only increments it. It omits the other leaf: the code writes it whole before it links it.
 *
 * Locking: one thread.
 */
#include "crash.h"
#include "host_driver.h"
#include "load.h"
#include "shared/link.h"
#include "state.h"
#include "test.h"
#include "workload.h"

#define TOY(bytes)	.driver = &host_driver_toy, .layout = "array", .leaf_bytes = bytes
#define TOY_LEAVES	2	/* that the engine uses */

static __le64 *link_of(const struct crab_media *media)
{
	return (__le64 *)(media->base + CRAB_HEAD_OFFSET);
}

static __le64 *records_of(const struct crab_media *media, const struct crab_geometry *geo, u64 leaf)
{
	return (__le64 *)(media->base + crab_leaf_offset(geo, leaf) + sizeof(struct crab_dhead));
}

static u32 room(u32 leaf_bytes)
{
	return (leaf_bytes - sizeof(struct crab_dhead)) / sizeof(struct crab_record);
}

static const char *record_read(const struct space *space, const struct crab_record *r,
			       struct content *content, struct state *state)
{
	if (!r->value || r->value > STATE_VALUES)
		return "a foreign value";
	state->byte[CRAB_SUPER_COPIES]++;
	state_add(state, state_key_index(space, r->key));
	state_add(state, r->value - 1);
	return content_add(content, space, r);
}

static const char *read(const struct space *space, const struct crab_geometry *geo,
			const struct crab_media *media, struct content *content,
			struct state *state)
{
	u64 leaf = (crab_load(media, link_of(media)) & CRAB_LINK_MASK) - 1;
	const __le64 *at = records_of(media, geo, leaf % TOY_LEAVES);
	const char *what = NULL;
	struct crab_record r;
	u32 i;

	if (leaf >= TOY_LEAVES)
		return "a link out of the two leaves";
	state_add(state, 0);
	for (i = 0; i < room(geo->leaf_bytes) && !what; i++) {
		r.key = crab_load(media, at++);
		if (r.key == CRAB_KEY_EMPTY)
			break;
		r.value = crab_load(media, at++);
		what = record_read(space, &r, content, state);
	}
	return what;
}

static void write(const struct space *space, const struct crab_geometry *geo,
		  struct crab_media *media, const u8 *at, const u8 *end)
{
	struct crab_flow flow = { .media = media };
	struct crab_head head = { .self = crab_leaf_offset(geo, 0), .birth = TOY_LEAVES };
	__le64 *to = records_of(media, geo, 0);
	u32 n;

	if (at == end)		/* no superblock holds */
		return;
	crab_head_store(&flow, geo->store_id, &head);
	for (n = *at++; n; n--) {
		crab_store(&flow, to++, state_key(space, *at++));
		crab_store(&flow, to++, *at++ + 1);
	}
	if (to < records_of(media, geo, 0) + 2 * room(geo->leaf_bytes))
		crab_store(&flow, to, CRAB_KEY_EMPTY);
	crab_store(&flow, link_of(media), crab_link_to(geo, 0, head.birth));
	crab_clean(&flow, media->base + head.self, geo->leaf_bytes);
	crab_clean(&flow, link_of(media), sizeof(__le64));
	crab_fence(&flow, CRAB_P8_LINKED);
}

static bool is_full(struct crab_store *store, u32 ops)
{
	struct crab_store_info info;

	crab_store_info(store, &info);
	return info.stats.records + ops > info.stats.capacity;
}

/* The link, and the words of the linked leaf's header after the unused first one */
static u32 sealed(struct crab_store *store, __le64 **words, u32 room)
{
	const struct crab_geometry *geo = &store->engine->geo;
	struct crab_media *media = store->engine->media;
	u64 leaf = (le64_to_cpu(*link_of(media)) & CRAB_LINK_MASK) - 1;
	__le64 *header = (__le64 *)(media->base + crab_leaf_offset(geo, leaf));
	u32 n = 0, i;

	words[n++] = link_of(media);
	for (i = 1; i < sizeof(struct crab_dhead) / sizeof(__le64) && n < room; i++)
		words[n++] = header + i;
	return n;
}

/* Word @n of the records in use, or NULL */
static void *word_at(struct crab_store *store, u32 n)
{
	struct crab_media *media = store->engine->media;
	u64 leaf = (le64_to_cpu(*link_of(media)) & CRAB_LINK_MASK) - 1;
	struct crab_store_info info;

	crab_store_info(store, &info);
	return n < 2 * info.stats.records ? records_of(media, &store->engine->geo, leaf) + n : NULL;
}

static bool record_gone(struct crab_store *store, u32 n)
{
	__le64 *word = word_at(store, 2 * n);

	if (word)
		*word = cpu_to_le64(CRAB_KEY_EMPTY);
	return word;
}

static bool link_changed(struct crab_store *store, u32 n)
{
	*link_of(store->engine->media) ^= cpu_to_le64(1ULL << n);
	return n < 64;
}

static const struct corruption toy_corruptions[] = {
	{ "content: a word of a record has another bit", .find = word_at },
	{ "content: a record is gone", .plant = record_gone },
	{ "links: the link has another bit", .plant = link_changed },
	{ }
};

static const struct space toy_spaces[] = {
	{ "toy-5x4", TOY(128), .leaves = 3, .keys = 4, .modify = true, .format = true, .survive = true,
	  .tier = SPACE_TINY },
	{ "toy-5x5", TOY(128), .leaves = 3, .keys = 5, .modify = true, .batch = 2, .tier = SPACE_LONG },
	{ "toy-5x6", TOY(128), .leaves = 3, .keys = 6, .modify = true },
	{ "toy-full", TOY(128), .leaves = 3, .keys = 6, .modify = true, .batch = 2, .tier = SPACE_FULL },
	{ }
};

static const struct load toy_loads[] = {
	{ "load-toy-1024", { TOY(1024), .keys = 128 }, .leaves = 3, .steps = 1000 },
	{ }
};

static const struct workload toy_workloads[] = {
	{ "toy", { TOY(128) }, .steps = 300, .leaves = 3, .format_every = 32 },
	{ "toy, survives", { TOY(256) }, .steps = 300, .leaves = 3, .often = CRASH_SURVIVE,
	  .often_every = 3 },
	{ "toy, damaged", { TOY(256) }, .steps = 30, .leaves = 3, .damage = true },
	{ "toy, modified", { TOY(256), .modify = true }, .steps = 300, .leaves = 3 },
	{ }
};

static const struct crash_setup toy_setups[] = {
	{ TOY(128) },
	{ }
};

static struct crash_setup sample(u32 i)
{
	return (struct crash_setup) { TOY(i % 2 ? 256 : 128) };
}

const struct host_driver host_driver_toy = {
	.engine = "toy",
	.met = "full",
	.spaces = toy_spaces,
	.loads = toy_loads,
	.workloads = toy_workloads,
	.setups = toy_setups,
	.corruptions = toy_corruptions,
	.read = read,
	.write = write,
	.is_full = is_full,
	.sealed = sealed,
	.sealed_bit = 1ULL << 50,
	.sample = sample,
};

// SPDX-License-Identifier: GPL-2.0
/*
 * This file makes the small real images that hostile scripts begin with: both
 * layouts, three sizes of leaves, each state in which a store can be found.
 *
 * Invariant: each of them is good; attach serves all of it, writable.
 */
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "engines/clfb/format.h"
#include "engines/crab/sorted/tuning.h"
#include "engines/nbtree/eadr/eadr.h"
#include "hostile.h"
#include "seal.h"

#define SEED_KEY(i)	((i) * 8ULL)	/* room between keys, for scripts */
#define SEED_MANY	6		/* leaves that "many" fills */

static int put(struct crab_store *store, u64 key, u64 value)
{
	struct crab_old old;

	return crab_store_insert(store, key, value, CRAB_INSERT_EITHER, &old);
}

static u32 store_slots(struct crab_store *store)
{
	struct crab_store_info info;

	crab_store_info(store, &info);
	return crab_leaf_slots(info.super.leaf_bytes);
}

static int make_empty(struct crab_store *store)
{
	return 0;
}

static int make_few(struct crab_store *store)
{
	u32 i;
	int err = 0;

	for (i = 0; i < store_slots(store) - 1 && !err; i++)
		err = put(store, SEED_KEY(i), i);
	return err;
}

/*
 * A list of many leaves out of order in the pool, with room in most of them. An engine with inner
 * nodes on the media may be full before.
 */
static int make_many(struct crab_store *store)
{
	u32 n = SEED_MANY * store_slots(store) * 3 / 4, i;
	struct crab_old old;
	int err = 0;

	for (i = 0; i < n && !err; i++)
		err = put(store, SEED_KEY((i * 7 + 3) % n), i + 100);
	if (err == -ENOSPC)
		err = 0;
	for (i = 0; i < n && (!err || err == -ENOENT); i += 4)
		err = crab_store_delete(store, SEED_KEY(i), &old);
	return err == -ENOENT ? 0 : err;
}

/* Inserts until the store is full */
static int make_full(struct crab_store *store)
{
	u32 i;
	int err = 0;

	for (i = 0; !err && i < CRAB_HOSTILE_RECORDS; i++)
		err = put(store, SEED_KEY(i), ~(u64)i);
	return err == -ENOSPC ? 0 : -EINVAL;
}

struct crab_dsuper *crab_hostile_super(struct crab_hostile *h, u32 copy)
{
	return (struct crab_dsuper *)(h->media.base + copy * CRAB_SUPER_STRIDE);
}

struct crab_dhead *crab_hostile_list(struct crab_hostile *h)
{
	return crab_list_head(&h->media);
}

struct crab_dleaf *crab_hostile_leaf(struct crab_hostile *h, u32 number)
{
	return (struct crab_dleaf *)(h->media.base + CRAB_POOL_OFFSET +
				     number * h->leaf_bytes);
}

static struct crab_dleaf *leaf_behind(struct crab_hostile *h, const struct crab_dhead *head)
{
	u64 link = le64_to_cpu(head->next) & CRAB_LINK_MASK;

	return link ? crab_hostile_leaf(h, link - 1) : NULL;
}

static u32 sorted_count(struct crab_hostile *h, const struct crab_dleaf *leaf)
{
	u32 n = 0;

	while (n < crab_leaf_slots(h->leaf_bytes) &&
	       leaf->slots[n].key != cpu_to_le64(CRAB_KEY_EMPTY))
		n++;
	return n;
}

/* The first leaf with a next leaf and two free slots */
static struct crab_dleaf *leaf_with_room(struct crab_hostile *h)
{
	struct crab_dleaf *leaf = leaf_behind(h, crab_hostile_list(h));

	while (sorted_count(h, leaf) + 2 > crab_leaf_slots(h->leaf_bytes))
		leaf = leaf_behind(h, &leaf->head);
	return leaf;
}

static void sorted_end(struct crab_hostile *h, struct crab_dleaf *leaf, u32 slot)
{
	if (slot < crab_leaf_slots(h->leaf_bytes))
		leaf->slots[slot].key = cpu_to_le64(CRAB_KEY_EMPTY);
}

/* Slotted: one of the two sentinels in every third slot of a leaf */
static void hurt_landmarks(struct crab_hostile *h)
{
	struct crab_dleaf *leaf = leaf_behind(h, crab_hostile_list(h));
	u32 i;

	leaf = leaf_behind(h, &leaf->head);
	for (i = 0; i < crab_leaf_slots(h->leaf_bytes); i += 3) {
		if (i % 2)
			leaf->slots[i].key = cpu_to_le64(CRAB_KEY_EMPTY);
		else
			leaf->slots[i].value = leaf->head.own;
	}
}

/* Sorted: a shift to the right was cut before the new key */
static void hurt_shift(struct crab_hostile *h)
{
	struct crab_dleaf *leaf = leaf_with_room(h);
	u32 count = sorted_count(h, leaf);

	sorted_end(h, leaf, count + 1);
	memmove(&leaf->slots[1], &leaf->slots[0], count * sizeof(leaf->slots[0]));
}

/* Sorted: a record was copied to the next leaf and not yet removed from this one */
static void hurt_overlap(struct crab_hostile *h)
{
	struct crab_dleaf *leaf = leaf_with_room(h);
	u32 count = sorted_count(h, leaf);

	sorted_end(h, leaf, count + 1);
	leaf->slots[count] = leaf_behind(h, &leaf->head)->slots[0];
}

/* clfb: the update of the root's line was cut: the log has the old line */
static void hurt_node(struct crab_hostile *h)
{
	__le64 *log = (__le64 *)(h->media.base + CRAB_AREA_OFFSET), *node;

	node = log + CLFB_LINE_WORDS * (1 + (le64_to_cpu(*(__le64 *)(h->media.base +
						CRAB_HEAD_OFFSET)) & CLFB_ROOT_MASK));
	memcpy(log, node, CRAB_LINE);
	((u8 *)node)[CLFB_MARK] = 0;
	memset(node + 1, 0x5a, CRAB_LINE - sizeof(*node));
}

/* nbtree: an insert was cut between the value and the key: free slots have values */
static void hurt_value(struct crab_hostile *h)
{
	struct crab_dleaf *leaf = leaf_behind(h, crab_hostile_list(h));
	u32 i;

	for (i = 0; i < crab_leaf_slots(h->leaf_bytes); i++)
		if (leaf->slots[i].key == cpu_to_le64(CRAB_KEY_EMPTY))
			leaf->slots[i].value = cpu_to_le64(77);
}

/* nbtree: the unlink of a leaf was cut: its last record is deleted */
static void hurt_unlink(struct crab_hostile *h)
{
	struct crab_dleaf *leaf = leaf_behind(h, crab_hostile_list(h));
	u32 i;

	leaf = leaf_behind(h, &leaf->head);
	for (i = 0; i < crab_leaf_slots(h->leaf_bytes); i++)
		leaf->slots[i].key = cpu_to_le64(CRAB_KEY_EMPTY);
}

/* eadr: a record was deleted, its key inserted again; earlier versions were cut in an insert */
static void hurt_again(struct crab_hostile *h)
{
	struct crab_dleaf *leaf = leaf_with_room(h);
	u32 count = sorted_count(h, leaf);

	leaf->slots[count].key = leaf->slots[0].key;
	leaf->slots[count].value = cpu_to_le64(78);
	leaf->slots[count + 1].key = leaf->slots[0].key & cpu_to_le64(EA_KEY_BITS);
	leaf->slots[0].key = cpu_to_le64(EA_DEAD);
}

/* eadr: the move of a leaf was cut: its records and its link are frozen */
static void hurt_frozen(struct crab_hostile *h)
{
	struct crab_dleaf *leaf = leaf_with_room(h);
	u64 word;
	u32 i;

	for (i = 0; i < crab_leaf_slots(h->leaf_bytes); i++) {
		word = le64_to_cpu(leaf->slots[i].key);
		if (word >> EA_STATE_SHIFT == EA_LIVE >> EA_STATE_SHIFT)
			leaf->slots[i].key = cpu_to_le64(EA_FROZEN | (word & EA_KEY_BITS));
	}
	leaf->head.next |= cpu_to_le64(EA_LINK_MARK);
}

struct crab_dcommit *crab_hostile_commit(struct crab_hostile *h)
{
	return (struct crab_dcommit *)(h->media.base + CRAB_COMMIT_OFFSET);
}

/* A commit of a value, a removal and a new key was cut when its list was durable */
static void hurt_list(struct crab_hostile *h)
{
	static const u64 words[] = {
		3, 1 << 1, SEED_KEY(1), 77, SEED_KEY(2), 0, SEED_KEY(3) + 1, 78,
	};
	__le64 *to = (__le64 *)crab_hostile_commit(h) + 1;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(words); i++)
		to[i] = cpu_to_le64(words[i]);
	crab_seal_list(crab_hostile_commit(h), le32_to_cpu(crab_hostile_super(h, 0)->store_id));
}

/* Append new seeds at the end, or old scripts change their meaning */
static const struct crab_hostile_seed seeds[] = {
	{ .name = "slotted, empty", .layout = "slotted", .make = make_empty },
	{ .name = "slotted, one leaf", .layout = "slotted", .make = make_few },
	{ .name = "slotted, many leaves", .layout = "slotted", .make = make_many },
	{ .name = "slotted, cut off", .layout = "slotted", .make = make_many,
	  .hurt = hurt_landmarks, .cut = true },
	{ .name = "slotted, full", .layout = "slotted", .make = make_full },
	{ .name = "sorted, empty", .layout = "sorted", .make = make_empty, .cut = true },
	{ .name = "sorted, many leaves", .layout = "sorted", .make = make_many },
	{ .name = "sorted, a cut shift", .layout = "sorted", .make = make_many,
	  .hurt = hurt_shift, .cut = true },
	{ .name = "sorted, a cut split", .layout = "sorted", .make = make_many,
	  .hurt = hurt_overlap, .cut = true },
	{ .name = "sorted, full", .layout = "sorted", .make = make_full },
	{ .name = "sorted, on demand", .layout = "sorted", .make = make_many, .on_demand = true },
};

/* Images of other engines follow all sizes of the ones above, whose numbers must not change */
static const struct crab_hostile_seed others[] = {
	{ .name = "toy, some", .engine = "toy", .layout = "array", .make = make_few },
	{ .name = "toy, full", .engine = "toy", .layout = "array", .make = make_full, .cut = true },
	{ .name = "fastfair, many", .engine = "fastfair", .layout = "shift", .make = make_many },
	{ .name = "fastfair, full", .engine = "fastfair", .layout = "shift", .make = make_full,
	  .cut = true },
	{ .name = "nvtree, some", .engine = "nvtree", .layout = "append", .make = make_few,
	  .cut = true },
	{ .name = "nvtree, many leaves", .engine = "nvtree", .layout = "append",
	  .make = make_many },
	{ .name = "nvtree, full", .engine = "nvtree", .layout = "append", .make = make_full },
	{ .name = "clfb inplace, many", .engine = "clfb", .layout = "inplace", .make = make_many },
	{ .name = "clfb inplace, a cut node", .engine = "clfb", .layout = "inplace",
	  .make = make_many, .hurt = hurt_node, .cut = true },
	{ .name = "clfb twin, many", .engine = "clfb", .layout = "twin", .make = make_many },
	{ .name = "clfb twin, full", .engine = "clfb", .layout = "twin", .make = make_full,
	  .cut = true },
};

/* Stores of commits follow those, for the same reason */
static const struct crab_hostile_seed commits[] = {
	{ .name = "commits, slotted", .layout = "slotted", .make = make_few, .commits = true },
	{ .name = "commits, slotted, a list", .layout = "slotted", .make = make_many,
	  .hurt = hurt_list, .cut = true, .commits = true },
	{ .name = "commits, nvtree, a list", .engine = "nvtree", .layout = "append",
	  .make = make_few, .hurt = hurt_list, .cut = true, .commits = true },
	{ .name = "commits, fastfair, full, a list", .engine = "fastfair", .layout = "shift",
	  .make = make_full, .hurt = hurt_list, .cut = true, .commits = true },
};

/* So do those of nbtree */
static const struct crab_hostile_seed nbtrees[] = {
	{ .name = "nbtree, some", .engine = "nbtree", .layout = "adr", .make = make_few,
	  .cut = true },
	{ .name = "nbtree, many leaves", .engine = "nbtree", .layout = "adr", .make = make_many },
	{ .name = "nbtree, a cut insert", .engine = "nbtree", .layout = "adr", .make = make_many,
	  .hurt = hurt_value, .cut = true },
	{ .name = "nbtree, a cut unlink", .engine = "nbtree", .layout = "adr", .make = make_many,
	  .hurt = hurt_unlink, .cut = true },
	{ .name = "nbtree, full", .engine = "nbtree", .layout = "adr", .make = make_full },
	{ .name = "commits, nbtree, a list", .engine = "nbtree", .layout = "adr",
	  .make = make_few, .hurt = hurt_list, .cut = true, .commits = true },
};

/* And more stores of commits */
static const struct crab_hostile_seed more[] = {
	{ .name = "commits, sorted, a list", .layout = "sorted", .make = make_many,
	  .hurt = hurt_list, .cut = true, .commits = true },
	{ .name = "commits, fastfair, a list", .engine = "fastfair", .layout = "shift",
	  .make = make_few, .hurt = hurt_list, .cut = true, .commits = true },
	{ .name = "commits, clfb, a list", .engine = "clfb", .layout = "inplace",
	  .make = make_many, .hurt = hurt_list, .cut = true, .commits = true },
};

/* And those of the layout eadr of nbtree */
static const struct crab_hostile_seed eadrs[] = {
	{ .name = "eadr, some", .engine = "nbtree", .layout = "eadr", .make = make_few,
	  .cut = true },
	{ .name = "eadr, many leaves", .engine = "nbtree", .layout = "eadr", .make = make_many },
	{ .name = "eadr, a cut insert", .engine = "nbtree", .layout = "eadr", .make = make_many,
	  .hurt = hurt_again, .cut = true },
	{ .name = "eadr, a cut move", .engine = "nbtree", .layout = "eadr", .make = make_many,
	  .hurt = hurt_frozen, .cut = true },
	{ .name = "eadr, full", .engine = "nbtree", .layout = "eadr", .make = make_full },
	{ .name = "commits, eadr, a list", .engine = "nbtree", .layout = "eadr",
	  .make = make_few, .hurt = hurt_list, .cut = true, .commits = true },
};

/* And those of leaves of one line */
static const struct crab_hostile_seed lines[] = {
	{ .name = "clfb encoded, many", .engine = "clfb", .layout = "encoded", .make = make_many },
	{ .name = "clfb encoded, full", .engine = "clfb", .layout = "encoded", .make = make_full,
	  .cut = true },
};

static const u32 sizes[] = { 128, CRAB_HOSTILE_LEAF_MAX };

static const struct {
	const struct crab_hostile_seed *seeds;
	u32 n;
} tables[] = {
	{ seeds, ARRAY_SIZE(seeds) },
	{ others, ARRAY_SIZE(others) },
	{ commits, ARRAY_SIZE(commits) },
	{ nbtrees, ARRAY_SIZE(nbtrees) },
	{ more, ARRAY_SIZE(more) },
	{ eadrs, ARRAY_SIZE(eadrs) },
	{ lines, ARRAY_SIZE(lines) },
};

u32 crab_hostile_seeds(void)
{
	u32 i, n = 0;

	for (i = 0; i < ARRAY_SIZE(tables); i++)
		n += tables[i].n;
	return n * ARRAY_SIZE(sizes);
}

/* Or NULL: not every build has every engine */
static const struct crab_layout *seed_layout(const struct crab_hostile_seed *seed)
{
	const struct crab_engine_ops *ops = crab_engine_by_name(seed->engine ?: "crab");

	return ops ? crab_layout_by_name(ops, seed->layout) : NULL;
}

void crab_hostile_choose(struct crab_hostile *h, u32 nth)
{
	const struct crab_layout *layout;
	u32 i = 0;

	for (nth %= crab_hostile_seeds(); nth >= tables[i].n * ARRAY_SIZE(sizes); i++)
		nth -= tables[i].n * ARRAY_SIZE(sizes);
	h->seed = &tables[i].seeds[nth % tables[i].n];
	layout = seed_layout(h->seed);
	h->leaf_bytes = min(sizes[nth / tables[i].n], layout ? layout->leaf_max : U32_MAX);
	h->media.fence_only = layout && layout->needs == CRAB_MODEL_CACHE;
	h->media.size = CRAB_POOL_OFFSET + CRAB_HOSTILE_LEAVES * h->leaf_bytes;
}

static int seed_fill(struct crab_hostile *h)
{
	struct crab_tuning tuning = crab_tuning_default;
	struct crab_attach_options options = { .tuning = &tuning };
	struct crab_attach_report report;
	struct crab_store *store;
	int err;

	tuning.on_demand = h->seed->on_demand;
	store = crab_store_attach(&h->media, &options, &report);
	if (IS_ERR(store))
		return PTR_ERR(store);
	err = h->seed->make(store);
	if (h->seed->cut)
		crab_store_abandon(store);
	else
		crab_store_detach(store);
	return err;
}

int crab_hostile_make(struct crab_hostile *h, const char *label)
{
	struct crab_format_options options = {
		.force = true, .leaf_bytes = h->leaf_bytes, .engine = h->seed->engine ?: "crab",
		.layout = h->seed->layout, .label = label, .commits = h->seed->commits,
	};
	int err;

	memset(h->media.base, 0, h->media.size);
	err = crab_store_format(&h->media, &options, h->said);
	if (!err)
		err = seed_fill(h);
	if (!err && h->seed->hurt)
		h->seed->hurt(h);
	return err;
}

int crab_hostile_plant(struct crab_hostile *h, u32 nth)
{
	crab_hostile_choose(h, nth);
	return crab_hostile_make(h, "hostile");
}

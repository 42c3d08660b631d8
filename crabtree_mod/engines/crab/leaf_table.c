// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the table of descriptors.
 *
 * Invariants: a descriptor stays where it is until it is free. A chunk whose descriptors are all
 * free is freed; no reader has a place in it, because each of them was dead for a grace period.
 *
 * Locking: see leaf_table.h.
 */
#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "leaf.h"
#include "leaf_table.h"

#define CHUNKS_MAX	(1U << (32 - CRAB_LEAF_LINE_SHIFT))
#define DIR_ROOM	64U	/* entries of the first directory */
#define DIR_ENOUGH(room)	((room) / 4 * 3)	/* a longer one is made ahead of its need */
#define NO_HOLE		(~0U)

static_assert(sizeof(struct crab_leaf_chunk) == 1 << CRAB_LEAF_LINE_SHIFT);

void crab_leaf_table_init(struct crab_leaf_table *table, size_t bytes, size_t order_bytes)
{
	*table = (struct crab_leaf_table) {
		.bytes = ALIGN(bytes, 1 << CRAB_LEAF_LINE_SHIFT),
		.order_bytes = order_bytes,
		.hole = NO_HOLE,
	};
	/* A chunk with one descriptor is as large as it must be */
	table->per = max_t(int, (int)(CRAB_LEAF_CHUNK - sizeof(struct crab_leaf_chunk)) /
				(int)table->bytes, 1);
	/* Rounded up, it is exact: no offset in a chunk of several exceeds 1 << the shift */
	table->order_scale = DIV_ROUND_UP((u32)(order_bytes / sizeof(u64)) << CRAB_LEAF_SCALE_SHIFT,
					  table->bytes);
	atomic_set(&table->ordered, 0);
	atomic_set(&table->end, 0);
	INIT_LIST_HEAD(&table->spare);
	table->dead_end = &table->dead;
}

static size_t chunk_bytes(const struct crab_leaf_table *table)
{
	return table->per > 1 ? CRAB_LEAF_CHUNK : sizeof(struct crab_leaf_chunk) + table->bytes;
}

static u64 chunk_all(const struct crab_leaf_table *table)
{
	return ~0ULL >> (64 - table->per);
}

static u32 table_end(const struct crab_leaf_table *table)
{
	return atomic_read(&table->end);
}

static struct crab_leaf_dir *table_dir(const struct crab_leaf_table *table)
{
	return table->entries ? container_of(table->entries, struct crab_leaf_dir, entries[0]) :
			       NULL;
}

void crab_leaf_table_destroy(struct crab_leaf_table *table)
{
	u32 end = table_end(table), i, next;
	struct crab_leaf_chunk *chunk;

	/* Holes are no chunks */
	for (; table->hole < end; table->hole = next) {
		next = (unsigned long)table->entries[table->hole].chunk;
		table->entries[table->hole].chunk = NULL;
	}
	for (i = 0; i < end; i++) {
		chunk = table->entries[i].chunk;
		if (chunk)
			kfree(chunk->orders);
		kfree(chunk);
		cond_resched();
	}
	kvfree(table_dir(table));
	kvfree(table->before);
	table->entries = NULL;
	table->before = NULL;
	atomic_set(&table->end, 0);
}

/*
 * Frees the directory before this one once no reader uses it; waits for its readers only if it has
 * not @room entries. They load the directory and the place in any order: so a new chunk is in both,
 * and no such reader is left when a chunk gets a number beyond its end.
 */
static void table_await(struct crab_leaf_table *table, u64 room)
{
	if (!table->before)
		return;
	if (!poll_state_synchronize_rcu(table->cookie)) {
		if (room <= table->before->room)
			return;
		synchronize_rcu();
	}
	kvfree(table->before);
	table->before = NULL;
}

static int table_extend(struct crab_leaf_table *table, u64 room, gfp_t gfp)
{
	struct crab_leaf_dir *old = table_dir(table), *dir;
	u32 i;

	room = roundup_pow_of_two(max_t(u64, room, DIR_ROOM));
	dir = room > CHUNKS_MAX ? NULL : kvzalloc(struct_size(dir, entries, room), gfp);
	if (!dir)
		return -ENOMEM;
	dir->room = room;
	for (i = 0; old && i < table_end(table); i++) {
		dir->entries[i].chunk = old->entries[i].chunk;
		/* Orders that are made meanwhile are not in it */
		dir->entries[i].orders = READ_ONCE(old->entries[i].orders);
	}
	/* Pairs with crab_leaf_table_at(): the chunks are in it */
	smp_store_release(&table->entries, dir->entries);
	table->before = old;
	table->cookie = start_poll_synchronize_rcu();
	return 0;
}

int crab_leaf_table_reserve(struct crab_leaf_table *table, u64 chunks, gfp_t gfp)
{
	u64 room = table_end(table) + chunks - min_t(u64, chunks, table->holes);
	const struct crab_leaf_dir *dir = table_dir(table);
	bool fits = dir && room <= dir->room;

	table_await(table, room);
	if (fits && (table->before || room <= DIR_ENOUGH(dir->room)))
		return 0;
	if (table_extend(table, fits ? dir->room + 1 : room, fits ? gfp | __GFP_NOWARN : gfp))
		return fits ? 0 : -ENOMEM;
	table_await(table, room);
	return 0;
}

static void entry_set(struct crab_leaf_entry *entry, struct crab_leaf_chunk *chunk)
{
	/* Those of a chunk that had this number before */
	WRITE_ONCE(entry->orders, NULL);
	/* Pairs with crab_leaf_table_at() */
	smp_store_release(&entry->chunk, chunk);
}

/* A number for a chunk; crab_leaf_table_reserve() made room for it. In attach there are no holes */
static void table_number(struct crab_leaf_table *table, struct crab_leaf_chunk *chunk)
{
	if (table->hole == NO_HOLE) {
		chunk->number = atomic_inc_return(&table->end) - 1;
	} else {
		chunk->number = table->hole;
		table->hole = (unsigned long)table->entries[chunk->number].chunk;
		WRITE_ONCE(table->holes, table->holes - 1);
	}
	entry_set(&table->entries[chunk->number], chunk);
	if (table->before)
		entry_set(&table->before->entries[chunk->number], chunk);
}

static struct crab_leaf_chunk *chunk_alloc(struct crab_leaf_table *table, gfp_t gfp)
{
	struct crab_leaf_chunk *chunk = kmalloc(chunk_bytes(table), gfp);

	if (!chunk)
		return NULL;
	chunk->free = chunk_all(table);
	chunk->orders = NULL;
	table_number(table, chunk);
	return chunk;
}

static struct crab_leaf *chunk_take(const struct crab_leaf_table *table,
				    struct crab_leaf_chunk *chunk)
{
	u32 i = __ffs64(chunk->free);
	void *leaf = chunk->memory + i * table->bytes;

	chunk->free &= ~(1ULL << i);
	return memset(leaf, 0, table->bytes);
}

/* From a chunk that this CPU owns */
static struct crab_leaf *table_take_own(struct crab_leaf_table *table,
					struct crab_leaf_chunk **own, gfp_t gfp)
{
	if (!*own || !(*own)->free)
		*own = chunk_alloc(table, gfp);
	return *own ? chunk_take(table, *own) : NULL;
}

void crab_leaf_table_give(struct crab_leaf_table *table, struct crab_leaf_chunk *own)
{
	if (own && own->free)
		list_add(&own->spare, &table->spare);
}

struct crab_leaf *crab_leaf_table_alloc(struct crab_leaf_table *table,
					struct crab_leaf_chunk **own, gfp_t gfp)
{
	struct crab_leaf_chunk *chunk;
	struct crab_leaf *leaf;

	if (own)
		return table_take_own(table, own, gfp);
	if (list_empty(&table->spare))
		crab_leaf_table_give(table, chunk_alloc(table, gfp));
	if (list_empty(&table->spare))
		return NULL;
	chunk = list_first_entry(&table->spare, struct crab_leaf_chunk, spare);
	leaf = chunk_take(table, chunk);
	if (!chunk->free)
		list_del(&chunk->spare);
	return leaf;
}

static void chunk_free(struct crab_leaf_table *table, struct crab_leaf_chunk *chunk)
{
	list_del(&chunk->spare);
	WRITE_ONCE(table->holes, table->holes + 1);
	table->entries[chunk->number].chunk = (void *)(unsigned long)table->hole;
	table->hole = chunk->number;
	if (chunk->orders)
		atomic_dec(&table->ordered);
	kfree(chunk->orders);
	kfree(chunk);
}

static void table_free(struct crab_leaf_table *table, struct crab_leaf *leaf)
{
	struct crab_leaf_chunk *chunk = crab_leaf_chunk_of(table, leaf);
	u32 i = (u32)((u8 *)leaf - chunk->memory) / table->bytes;

	if (!chunk->free)
		list_add(&chunk->spare, &table->spare);
	chunk->free |= 1ULL << i;
	if (chunk->free == chunk_all(table))
		chunk_free(table, chunk);
}

void crab_leaf_table_free_later(struct crab_leaf_table *table, struct crab_leaf *leaf)
{
	leaf->dead.next = NULL;
	leaf->dead.cookie = start_poll_synchronize_rcu();
	*table->dead_end = leaf;
	table->dead_end = &leaf->dead.next;
}

void crab_leaf_table_settle(struct crab_leaf_table *table, u32 most)
{
	struct crab_leaf *leaf;

	while (most-- && (leaf = table->dead) && poll_state_synchronize_rcu(leaf->dead.cookie)) {
		table->dead = leaf->dead.next;
		if (!table->dead)
			table->dead_end = &table->dead;
		table_free(table, leaf);
	}
}

u32 crab_leaf_table_place(const struct crab_leaf_table *table, const struct crab_leaf *leaf)
{
	const struct crab_leaf_chunk *chunk = crab_leaf_chunk_of(table, leaf);
	u32 line = (u32)((const u8 *)leaf - (const u8 *)chunk) >> CRAB_LEAF_LINE_SHIFT;

	return chunk->number << CRAB_LEAF_LINE_SHIFT | line;
}

u64 crab_leaf_table_need(const struct crab_leaf_table *table, u64 count)
{
	return DIV_ROUND_UP_ULL(count, table->per);
}

u32 crab_leaf_table_chunks(const struct crab_leaf_table *table)
{
	return table_end(table) - READ_ONCE(table->holes);
}

u64 crab_leaf_table_bytes(const struct crab_leaf_table *table, u64 chunks)
{
	return chunks * (roundup_pow_of_two(chunk_bytes(table)) + sizeof(struct crab_leaf_entry));
}

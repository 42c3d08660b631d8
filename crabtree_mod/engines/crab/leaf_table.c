// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the table of descriptors.
 *
 * Invariants: a descriptor stays where it is until it is free. A chunk whose descriptors are all
 * free is freed; no reader has a place in it, because each of them was dead for a grace period.
 *
 * Locking: see leaf_table.h.
 */
#include <linux/align.h>
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

/*
 * Bytes of a chunk, whose last line then has the number 63. Where accesses to freed memory are
 * detected, each descriptor has a chunk of its own.
 */
#ifdef CONFIG_KASAN
#define CRAB_LEAF_CHUNK	0U
#endif
#ifndef CRAB_LEAF_CHUNK		/* test builds: tools/host/Makefile */
#define CRAB_LEAF_CHUNK	4096U
#endif

#define CHUNKS_MAX	(1U << (32 - CRAB_LEAF_LINE_SHIFT))
#define DIR_ROOM	64U	/* entries of the first directory */
#define DIR_ENOUGH(room)	((room) / 4 * 3)	/* a longer one is made ahead of its need */
#define NO_HOLE		(~0U)

static_assert(sizeof(struct crab_leaf_chunk) == 1 << CRAB_LEAF_LINE_SHIFT);

void crab_leaf_table_init(struct crab_leaf_table *table, size_t bytes)
{
	*table = (struct crab_leaf_table) {
		.bytes = ALIGN(bytes, 1 << CRAB_LEAF_LINE_SHIFT),
		.hole = NO_HOLE,
	};
	/* A chunk with one descriptor is as large as it must be */
	table->per = max_t(int, (int)(CRAB_LEAF_CHUNK - sizeof(struct crab_leaf_chunk)) /
				(int)table->bytes, 1);
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

/* A chunk of several descriptors begins at a multiple of its size, as kmalloc() guarantees */
static struct crab_leaf_chunk *chunk_of(const struct crab_leaf_table *table,
					const struct crab_leaf *leaf)
{
	u8 *at = (u8 *)leaf;

	if (table->per == 1)
		return (struct crab_leaf_chunk *)(at - sizeof(struct crab_leaf_chunk));
	return (struct crab_leaf_chunk *)PTR_ALIGN_DOWN(at, CRAB_LEAF_CHUNK);
}

static u32 table_end(const struct crab_leaf_table *table)
{
	return atomic_read(&table->end);
}

static struct crab_leaf_dir *table_dir(const struct crab_leaf_table *table)
{
	return table->chunks ? container_of(table->chunks, struct crab_leaf_dir, chunks[0]) : NULL;
}

void crab_leaf_table_destroy(struct crab_leaf_table *table)
{
	u32 end = table_end(table), i, next;

	/* Holes are no chunks */
	for (; table->hole < end; table->hole = next) {
		next = (unsigned long)table->chunks[table->hole];
		table->chunks[table->hole] = NULL;
	}
	for (i = 0; i < end; i++) {
		kfree(table->chunks[i]);
		cond_resched();
	}
	kvfree(table_dir(table));
	kvfree(table->before);
	table->chunks = NULL;
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

	room = roundup_pow_of_two(max_t(u64, room, DIR_ROOM));
	dir = room > CHUNKS_MAX ? NULL : kvzalloc(struct_size(dir, chunks, room), gfp);
	if (!dir)
		return -ENOMEM;
	dir->room = room;
	if (old)
		memcpy(dir->chunks, old->chunks, table_end(table) * sizeof(*dir->chunks));
	/* Pairs with crab_leaf_table_at(): the chunks are in it */
	smp_store_release(&table->chunks, dir->chunks);
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

/* A number for a chunk; crab_leaf_table_reserve() made room for it. In attach there are no holes */
static void table_number(struct crab_leaf_table *table, struct crab_leaf_chunk *chunk)
{
	if (table->hole == NO_HOLE) {
		chunk->number = atomic_inc_return(&table->end) - 1;
	} else {
		chunk->number = table->hole;
		table->hole = (unsigned long)table->chunks[chunk->number];
		WRITE_ONCE(table->holes, table->holes - 1);
	}
	/* Pairs with crab_leaf_table_at() */
	smp_store_release(&table->chunks[chunk->number], chunk);
	if (table->before)	/* Pairs with crab_leaf_table_at() as well */
		smp_store_release(&table->before->chunks[chunk->number], chunk);
}

static struct crab_leaf_chunk *chunk_alloc(struct crab_leaf_table *table, gfp_t gfp)
{
	struct crab_leaf_chunk *chunk = kmalloc(chunk_bytes(table), gfp);

	if (!chunk)
		return NULL;
	chunk->free = chunk_all(table);
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
	table->chunks[chunk->number] = (void *)(unsigned long)table->hole;
	table->hole = chunk->number;
	kfree(chunk);
}

static void table_free(struct crab_leaf_table *table, struct crab_leaf *leaf)
{
	struct crab_leaf_chunk *chunk = chunk_of(table, leaf);
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
	const struct crab_leaf_chunk *chunk = chunk_of(table, leaf);
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
	return chunks * (roundup_pow_of_two(chunk_bytes(table)) + sizeof(struct crab_leaf_chunk *));
}

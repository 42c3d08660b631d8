/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the table of descriptors: the memory of all struct crab_leaf of a tree, in
 * which 32 bits identify one.
 *
 * An entry of the index is one word for a leaf: the place of its descriptor in the table, and its
 * number in the pool. So a reader knows both addresses as soon as it has the word, and a node of
 * the index is a kilobyte.
 *
 * Locking: crab_tree.smo_lock protects all fields but those of the orders (leaf_order.h). Readers
 * take no lock (RCU). The CPUs of attach take no lock either: each has a chunk of its own, and
 * numbers are atomic.
 */
#ifndef CRABTREE_ENGINES_CRAB_LEAF_TABLE_H
#define CRABTREE_ENGINES_CRAB_LEAF_TABLE_H

#include <linux/align.h>
#include <linux/atomic.h>
#include <linux/cache.h>
#include <linux/list.h>
#include <linux/rcupdate.h>
#include <linux/types.h>

struct crab_leaf;

#define CRAB_LEAF_LINE_SHIFT	6	/* descriptors begin at a multiple of 64 bytes */
#define CRAB_LEAF_LINE_MASK	63U
#define CRAB_LEAF_SCALE_SHIFT	13	/* of crab_leaf_table.order_scale */

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

/**
 * struct crab_leaf_chunk - memory of some descriptors
 * @spare: in crab_leaf_table.spare, if a descriptor is free and no CPU owns the chunk
 * @free: one bit for each descriptor; set: free
 * @number: place in crab_leaf_dir.entries
 * @orders: memory for the orders of the descriptors, or NULL; as long as the chunk
 * @memory: the descriptors
 */
struct crab_leaf_chunk {
	struct list_head spare;
	u64 free;
	u32 number;
	u64 *orders;
	u8 memory[] __aligned(1 << CRAB_LEAF_LINE_SHIFT);
};

/**
 * struct crab_leaf_entry - a number of a chunk
 * @chunk: the chunk; crab_leaf_table.hole links the numbers that have none
 * @orders: crab_leaf_chunk.orders, without a load of the chunk; NULL: see there
 */
struct crab_leaf_entry {
	struct crab_leaf_chunk *chunk;
	u64 *orders;
};

/**
 * struct crab_leaf_dir - the directory of a table
 * @room: length of @entries
 * @entries: by number of the chunk
 */
struct crab_leaf_dir {
	u32 room;
	struct crab_leaf_entry entries[];
};

/**
 * struct crab_leaf_table - the descriptors of a tree
 * @entries: those of the directory, or NULL before the first chunk
 * @bytes: size of a descriptor, a multiple of 64
 * @order_bytes: size of the order of a descriptor, a multiple of 8
 * @order_scale: words of an order ÷ @bytes
 * @per: descriptors of a chunk
 * @ordered: count of the chunks that have orders
 * @end: numbers below this one were used
 * @hole: number that no chunk has any more, or ~0: all below @end have one
 * @holes: count of these numbers
 * @spare: chunks with a free descriptor
 * @dead: descriptors that wait for readers, in the order in which they were handed over
 * @dead_end: the NULL pointer that ends @dead
 * @before: the directory before that of @entries, while readers may use it; or NULL
 * @cookie: of the grace period after which none does
 *
 * Changes of the structure write @end and the fields after it; they are in no line of readers.
 */
struct crab_leaf_table {
	struct crab_leaf_entry *entries;
	u32 bytes;
	u32 order_bytes;
	u32 order_scale;
	u32 per;
	atomic_t ordered;
	atomic_t end ____cacheline_aligned_in_smp;
	u32 hole;
	u32 holes;
	struct list_head spare;
	struct crab_leaf *dead;
	struct crab_leaf **dead_end;
	struct crab_leaf_dir *before;
	unsigned long cookie;
};

/**
 * crab_leaf_table_init() - make an empty table
 * @table: the table
 * @bytes: size of a descriptor
 * @order_bytes: size of the order of a descriptor; 0: no descriptor has one
 * Context: any.
 */
void crab_leaf_table_init(struct crab_leaf_table *table, size_t bytes, size_t order_bytes);

/**
 * crab_leaf_table_destroy() - free the memory of all descriptors
 * @table: the table; zeroed memory is allowed, too
 * Context: may sleep; no other call is running or will come.
 */
void crab_leaf_table_destroy(struct crab_leaf_table *table);

/**
 * crab_leaf_table_reserve() - make room for chunks in the directory
 * @table: the table
 * @chunks: number of chunks that are added before the next call
 * @gfp: flags of the allocation
 *
 * A longer directory is made when a quarter of this one is left. It waits for readers only if that
 * quarter is used up before they end.
 *
 * Context: may sleep; attach, or under crab_tree.smo_lock.
 * Return: 0 or -ENOMEM.
 */
int crab_leaf_table_reserve(struct crab_leaf_table *table, u64 chunks, gfp_t gfp);

/**
 * crab_leaf_table_alloc() - allocate a descriptor
 * @table: the table, in whose directory there is room for a chunk
 * @own: the chunk that only this CPU takes descriptors from, in attach; or NULL
 * @gfp: flags of the allocation
 * Context: may sleep, as @gfp permits; attach, or under crab_tree.smo_lock.
 * Return: the descriptor, all zero; or NULL.
 */
struct crab_leaf *crab_leaf_table_alloc(struct crab_leaf_table *table,
					struct crab_leaf_chunk **own, gfp_t gfp);

/**
 * crab_leaf_table_give() - attach: no CPU owns a chunk any more
 * @table: the table
 * @own: the chunk, or NULL
 * Context: attach, after its parallel part.
 */
void crab_leaf_table_give(struct crab_leaf_table *table, struct crab_leaf_chunk *own);

/**
 * crab_leaf_table_free_later() - free a descriptor once no reader uses it
 * @table: the table
 * @leaf: a dead leaf, to which no path leads any more
 * Context: under crab_tree.smo_lock.
 */
void crab_leaf_table_free_later(struct crab_leaf_table *table, struct crab_leaf *leaf);

/**
 * crab_leaf_table_settle() - free dead descriptors whose grace period has ended
 * @table: the table
 * @most: how many at most
 * Context: under crab_tree.smo_lock; the caller uses no dead leaf.
 */
void crab_leaf_table_settle(struct crab_leaf_table *table, u32 most);

/**
 * crab_leaf_table_place() - the 32 bits that identify a descriptor
 * @table: the table
 * @leaf: its descriptor
 * Context: any.
 * Return: the chunk's number, then the line in the chunk; not 0.
 */
u32 crab_leaf_table_place(const struct crab_leaf_table *table, const struct crab_leaf *leaf);

/**
 * crab_leaf_table_at() - the descriptor at a place
 * @table: the table
 * @place: of crab_leaf_table_place()
 * Context: RCU read-side section that began before the leaf died; or under crab_tree.smo_lock.
 * Return: the descriptor.
 */
static __always_inline struct crab_leaf *crab_leaf_table_at(const struct crab_leaf_table *table,
							    u32 place)
{
	struct crab_leaf_entry *entries = rcu_dereference_raw(table->entries);
	const struct crab_leaf_chunk *chunk =
		rcu_dereference_raw(entries[place >> CRAB_LEAF_LINE_SHIFT].chunk);

	return (struct crab_leaf *)((const u8 *)chunk +
				    ((place & CRAB_LEAF_LINE_MASK) << CRAB_LEAF_LINE_SHIFT));
}

/**
 * crab_leaf_chunk_of() - the chunk of a descriptor
 * @table: the table
 * @leaf: its descriptor
 *
 * A chunk of several descriptors begins at a multiple of its size, as kmalloc() guarantees.
 *
 * Context: as crab_leaf_table_at(); for prefetches: any.
 * Return: the chunk.
 */
static __always_inline struct crab_leaf_chunk *
crab_leaf_chunk_of(const struct crab_leaf_table *table, const struct crab_leaf *leaf)
{
	u8 *at = (u8 *)leaf;

	if (unlikely(table->per == 1))
		return (struct crab_leaf_chunk *)(at - sizeof(struct crab_leaf_chunk));
	return (struct crab_leaf_chunk *)PTR_ALIGN_DOWN(at, CRAB_LEAF_CHUNK);
}

/**
 * crab_leaf_table_need() - chunks that a number of descriptors needs
 * @table: the table
 * @count: number of descriptors
 * Context: any.
 * Return: the number of chunks.
 */
u64 crab_leaf_table_need(const struct crab_leaf_table *table, u64 count);

/**
 * crab_leaf_table_chunks() - count the chunks of a table
 * @table: the table
 * Context: any.
 * Return: their number; while the tree changes, about so many.
 */
u32 crab_leaf_table_chunks(const struct crab_leaf_table *table);

/**
 * crab_leaf_table_bytes() - memory of a number of chunks
 * @table: the table
 * @chunks: their number
 * Context: any.
 * Return: bytes that the allocator takes, with those of their directory entries.
 */
u64 crab_leaf_table_bytes(const struct crab_leaf_table *table, u64 chunks);

#endif /* CRABTREE_ENGINES_CRAB_LEAF_TABLE_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the first pass of attach: it reads the header of every leaf of the
 * pool, in the order of addresses, and keeps an entry for each leaf that has a valid one. It
 * also shares out the passes among the CPUs.
 *
 * Invariant: memory is proportional to the leaves found. A leaf without a valid header costs two
 * bits, one with a valid header an entry of 32 bytes.
 *
 * Locking: the caller has the region to itself.
 */
#include <linux/cpumask.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/prefetch.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

#include "layout.h"
#include "recover.h"

#define AHEAD		16	/* leaves that are fetched before their turn */
/* Entries for which memory is taken at a time, four pages; less than a word's may remain unused */
#define CHUNK		511U
#define SHARE_LEAVES	8192	/* worth a CPU of its own */
#define SHARE_PARTS	16	/* for each CPU: free leaves and leaves in use are clustered */

static_assert(sizeof(struct recover_leaf) == 32);

bool crab_recover_breathe(struct recover *r)
{
	if (crab_engine_breathe(&r->tree->base))
		WRITE_ONCE(r->stopped, true);
	return READ_ONCE(r->stopped);
}

bool crab_recover_part_breathe(struct recover_part *part)
{
	if (part->asks)
		return crab_recover_breathe(part->r);
	cond_resched();
	return READ_ONCE(part->r->stopped);
}

/* Makes room for the entries of one word. @leaves: from there to the end of the part. */
static bool part_room(struct recover_part *part, u64 leaves)
{
	u32 room = min_t(u64, leaves, CHUNK);
	struct recover_chunk *chunk;

	if (part->room >= min_t(u64, leaves, RECOVER_WORD))
		return true;
	chunk = kvmalloc(struct_size(chunk, leaf, room), RECOVER_GFP);
	if (!chunk)
		return false;
	chunk->next = part->chunks;
	part->chunks = chunk;
	part->at = chunk->leaf;
	part->room = room;
	return true;
}

/*
 * False: the leaf has no valid header. A leaf that was lent has the bytes of a user, in which a
 * header may be forged: a high birth counts only if the leaf is in the list (pass 3).
 */
static bool recover_header(struct recover_part *part, u64 n, struct recover_leaf *at)
{
	struct crab_tree *tree = part->r->tree;
	const struct crab_geometry *geo = &tree->base.geo;
	struct crab_head head;

	if (!crab_head_load(tree->base.media, crab_leaf_offset(geo, n), geo->store_id, &head))
		return false;
	*at = (struct recover_leaf) {
		.next = head.next,
		.low = crab_layout_low(tree, n, &head),
		.birth = head.birth,
		.first = !head.low,
	};
	if (!crab_birth_is_high(head.birth))
		part->birth = max(part->birth, head.birth);
	part->extent = n + 1;
	return true;
}

/* The leaves from @from to @to are those of one word, which has room */
static void recover_word(struct recover_part *part, u64 from, u64 to)
{
	struct recover_word *word = &part->r->words[from / RECOVER_WORD];
	struct recover_leaf *at = part->at;
	u64 valid = 0, n;

	for (n = from; n < to; n++) {
		if (n + AHEAD < part->to)
			prefetch(crab_leaf_media(part->r->tree, n + AHEAD));
		if (!recover_header(part, n, at))
			continue;
		valid |= 1ULL << (n - from);
		at++;
	}
	word->valid = valid;
	word->at = part->at;
	part->valid += at - part->at;
	part->room -= at - part->at;
	part->at = at;
}

static void recover_headers(struct recover_part *part)
{
	u64 n;

	for (n = part->from; n < part->to && !part->err; n += RECOVER_WORD) {
		if (crab_recover_part_breathe(part))
			part->err = -EINTR;
		else if (part_room(part, part->to - n))
			recover_word(part, n, min(n + RECOVER_WORD, part->to));
		else
			part->err = -ENOMEM;
	}
}

/* @asks: this is the task that attaches, which checks for signals */
static void recover_take(struct recover *r, bool asks)
{
	int i;

	while ((i = atomic_inc_return(&r->taken) - 1) < r->n) {
		r->parts[i].asks = asks;
		r->pass(&r->parts[i]);
	}
}

static void recover_work(struct work_struct *work)
{
	recover_take(container_of(work, struct recover_worker, work)->r, false);
}

static int recover_collect(struct recover *r, const struct recover_part *part, int err)
{
	struct crab_tree *tree = r->tree;
	struct crab_damage *damage = &tree->base.damage;
	u64 count = damage->count + part->damage.count;

	r->extent = max(r->extent, part->extent);
	r->valid += part->valid;
	tree->birth = max(tree->birth, part->birth);
	tree->records += part->records;
	tree->torn += part->torn;
	crab_leaf_table_give(&tree->table, part->own);
	if (!damage->count)
		*damage = part->damage;
	damage->count = count;
	return err ?: part->err;
}

/* The first leaf of a part */
static u64 part_from(const struct recover *r, int i)
{
	u64 leaves = r->tree->base.geo.extent;

	return i < r->n ? round_down(div_u64(leaves * i, r->n), RECOVER_WORD) : leaves;
}

/* Runs a pass over the whole pool; this CPU takes parts as the others do */
int crab_recover_parts(struct recover *r, void (*pass)(struct recover_part *part))
{
	int i, err = 0;

	for (i = 0; i < r->n; i++)
		r->parts[i] = (struct recover_part) {
			.r = r,
			.from = part_from(r, i),
			.to = part_from(r, i + 1),
			.chunks = r->parts[i].chunks,
		};
	r->pass = pass;
	atomic_set(&r->taken, 0);
	for (i = 0; i < r->cpus - 1; i++) {
		r->workers[i].r = r;
		INIT_WORK(&r->workers[i].work, recover_work);
		queue_work(system_unbound_wq, &r->workers[i].work);
	}
	recover_take(r, true);
	for (i = 0; i < r->cpus - 1; i++)
		flush_work(&r->workers[i].work);
	for (i = 0; i < r->n; i++)
		err = recover_collect(r, &r->parts[i], err);
	return err;
}

static void recover_forget(struct recover *r)
{
	struct recover_chunk *chunk;
	int i;

	for (i = 0; i < r->n; i++) {
		while ((chunk = r->parts[i].chunks)) {
			r->parts[i].chunks = chunk->next;
			kvfree(chunk);
		}
	}
}

int crab_recover_headers(struct recover *r)
{
	recover_forget(r);
	memset(r->walkers, 0, sizeof(r->walkers));
	r->count = 0;
	r->valid = 0;
	return crab_recover_parts(r, recover_headers);
}

/*
 * Zeros. A large table never waits for contiguous memory. A small one is not mapped: to unmap it
 * interrupts every CPU
 */
static void *recover_table(size_t bytes)
{
	return bytes < RECOVER_MAPPED ? kzalloc(bytes, RECOVER_GFP) :
					__vmalloc(bytes, RECOVER_GFP | __GFP_ZERO);
}

int crab_recover_places(struct recover *r, u64 count)
{
	r->nth = recover_table(array_size(count, sizeof(*r->nth)));
	return r->nth ? 0 : -ENOMEM;
}

struct recover *crab_recover_alloc(struct crab_tree *tree)
{
	u64 leaves = tree->base.geo.extent, words = DIV_ROUND_UP_ULL(leaves, RECOVER_WORD);
	u32 cpus = clamp_t(u64, leaves / SHARE_LEAVES, 1, min(num_online_cpus(), RECOVER_CPUS));
	u32 parts = cpus > 1 ? cpus * SHARE_PARTS : 1;
	struct recover *r = kvzalloc(struct_size(r, parts, parts), RECOVER_GFP);

	if (!r)
		return NULL;
	r->tree = tree;
	r->cpus = cpus;
	r->n = parts;
	r->words = recover_table(array_size(words, sizeof(*r->words)));
	if (r->words)
		return r;
	crab_recover_free(r);
	return NULL;
}

void crab_recover_free(struct recover *r)
{
	recover_forget(r);
	kvfree(r->nth);
	kvfree(r->words);
	kvfree(r);
}

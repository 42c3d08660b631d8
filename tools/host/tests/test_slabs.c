// SPDX-License-Identifier: GPL-2.0
/*
 * This file bounds the work for slabs of blobs: to find one at attach, to free a part of it, and
 * to choose and empty it. It must not grow with the number of slabs. The test measures no time:
 * it counts the basic blocks of the module's code that run.
 *
 *   test_slabs [SLABS]
 */
#include "media/format.h"
#include "shared/extent.h"
#include "test.h"

#define LIMIT		2.6	/* times the work for twice the slabs */
#define EXTENT_CLASS	19	/* a slab has two extents */
#define EXTENT_LINES	1024	/* of an extent of this class */
#define SLABS_APART	40503	/* from one slab to the next that attach meets; odd */

/* Work: the compiler inserts a call of this function into each basic block */

static u64 blocks;

void __sanitizer_cov_trace_pc(void)
{
	blocks++;
}

/* Extent 0 or 1 of slab @nth of @n, a power of two, in the order in which attach meets them */
static u64 place(u64 nth, u64 n, u32 extent)
{
	u64 line = (nth * SLABS_APART % n * 2 + extent) * EXTENT_LINES;

	return line << CRAB_PLACE_CLASS_BITS | EXTENT_CLASS;
}

enum { FOUND, FREED, EMPTIED, WORKS };

/* Finds all slabs, frees an extent of each, and then the other one as evacuations do */
static void slabs_measure(u64 n, u64 *took)
{
	struct crab_geometry geo = { .leaf_bytes = CRAB_SLAB_BYTES_MAX, .leaves = n };
	struct crab_extents extents = { };
	struct crab_media media = { };
	struct crab_pool pool = { };
	u64 i, slab, last;
	u32 from;

	tap_check(!crab_pool_init(&pool, n) &&
		  !crab_extents_init(&extents, &pool, &media, &geo, CRAB_SLAB_BYTES_MAX), "no memory");
	blocks = 0;
	for (i = 0; i < 2 * n; i++)
		tap_check(!crab_extents_mark(&extents, place(i % n, n, i / n)), "mark");
	took[FOUND] = blocks;
	blocks = 0;
	for (i = 0; i < n; i++)
		crab_extents_free(&extents, place(i, n, 0));
	took[FREED] = blocks;
	blocks = 0;
	for (; crab_extents_sparse(&extents, true, &slab); crab_extents_free(&extents, last)) {
		from = 0;
		tap_check(crab_extents_next(&extents, slab, &from, &last), "slab %llu is empty", slab);
	}
	took[EMPTIED] = blocks;
	tap_check(extents.lent == 1 && pool.free == n - 1, "%llu slabs remain", extents.lent);
	crab_extents_destroy(&extents);
	crab_pool_destroy(&pool);
}

int main(int argc, char **argv)
{
	static const char * const works[] = { "find one at attach", "free a part", "choose and empty one" };
	u64 n = argc > 1 ? strtoull(argv[1], NULL, 0) : 8192, one[WORKS], two[WORKS];
	u32 i;

	slabs_measure(n, one);
	slabs_measure(2 * n, two);
	for (i = 0; i < WORKS; i++)
		tap_ok(two[i] <= LIMIT * one[i], "slabs: %llu blocks to %s, %llu among twice as many",
		       one[i] / n, works[i], two[i] / 2 / n);
	return tap_done();
}

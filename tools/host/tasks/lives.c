// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements allocation, in place of memory.c, for programs that lose their
 * allocations.
 *
 * Invariant: all allocations since lives_begin() are in one list.
 */
#include <stdint.h>

#include <linux/build_bug.h>
#include <linux/lockdep.h>

#include "lives.h"
#include "test.h"

#define BLOCK_HEAD	64	/* so that the allocation starts on a line */

struct block {
	struct block *next;
	struct block **link;	/* pointer to this block; NULL: not the store's memory */
	size_t size;
};

long crab_host_fail_alloc = -1;
unsigned long crab_host_allocs;

static struct block *blocks;
static bool living;

static_assert(sizeof(struct block) <= BLOCK_HEAD);

static struct block *block_of(const void *p)
{
	return (struct block *)((char *)p - BLOCK_HEAD);
}

static void block_link(struct block *block)
{
	block->link = living ? &blocks : NULL;
	if (!living)
		return;
	block->next = blocks;
	if (blocks)
		blocks->link = &block->next;
	blocks = block;
}

static void block_free(struct block *block)
{
	if (block->link) {
		*block->link = block->next;
		if (block->next)
			block->next->link = block->link;
	}
	free(block);
}

void *crab_host_alloc(size_t size, size_t align, gfp_t gfp)
{
	struct block *block = NULL;

	if (gfpflags_allow_blocking(gfp))
		might_sleep();
	crab_host_allocs++;
	if (size == SIZE_MAX ||		/* no caller needs more than line alignment */
	    posix_memalign((void **)&block, BLOCK_HEAD, BLOCK_HEAD + size))
		return NULL;
	block->size = size;
	block_link(block);
	/* Uninitialised memory has a pattern */
	memset((char *)block + BLOCK_HEAD, gfp & __GFP_ZERO ? 0 : 0x6b, size);
	return (char *)block + BLOCK_HEAD;
}

void crab_host_free(const void *p)
{
	if (p)
		block_free(block_of(p));
}

void lives_begin(void)
{
	living = true;
}

unsigned int lives_end(void)
{
	unsigned int left = 0;

	for (; blocks; left++)
		block_free(blocks);
	living = false;
	return left;
}

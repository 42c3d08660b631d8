/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares an attach under way: what recover.c, recover_pool.c and recover_list.c
 * share.
 *
 * Locking: in a pass a CPU writes its part, the places of the pool that lie in it, and of
 * @nth what belongs to those; between two passes one CPU writes everything.
 */
#ifndef CRABTREE_ENGINES_CRAB_RECOVER_H
#define CRABTREE_ENGINES_CRAB_RECOVER_H

#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/gfp.h>
#include <linux/workqueue.h>

#include "leaf.h"
#include "shared/link.h"
#include "tree.h"

#define RECOVER_BREATHE	1023	/* leaves of DRAM between two looks at the scheduler, as a mask */
#define RECOVER_CPUS	16U	/* by then the memory is what limits */
#define RECOVER_WALKERS	64	/* by then the memory is not waited for */
#define RECOVER_WORD	64U	/* leaves of a struct recover_word */

/* Memory whose amount the media decides: an allocation fails before it kills a process */
#define RECOVER_GFP	(GFP_KERNEL | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

/* A leaf of the pool whose header pass 1 found to be one of this store */
struct recover_leaf {
	union {
		u64 next;		/* until @walked */
		u64 high;		/* from then on: the least key of the leaf behind it */
	};
	u64 low;		/* the least key it may hold; sorted: the first that it holds */
	u64 birth;
	u64 place : CRAB_LINK_BITS;	/* on the way of @walker */
	u64 walker : 8;
	u64 first : 1;		/* born as the first of the list: its least key was 0 */
	u64 walked : 1;		/* pass 2 came here, */
	u64 listed : 1;		/* one by one, and so by the list alone */
};

/*
 * RECOVER_WORD leaves of the pool. A leaf without a valid header costs a bit here and its
 * share of the pointer; the others have an entry each, in the order of addresses.
 */
struct recover_word {
	u64 valid;		/* leaves with an entry, a bit each */
	struct recover_leaf *at;	/* the entry of the first of them */
};

/* What pass 2 found in one place of the list */
union recover_nth {
	u64 number;		/* CRAB_LEAF_NOWHERE: a gap */
	struct crab_leaf *leaf;	/* of any other, from pass 3 on */
};

/*
 * One of those who share the list: it follows the links from where it began, until there
 * is none to follow or it meets the way of another
 */
struct recover_walker {
	u64 number;		/* the leaf it is in, */
	struct recover_leaf *at;	/* its entry, */
	struct recover_leaf *next;	/* and the entry of the leaf that its link names, or NULL */
	u64 count;		/* leaves it was in */
	struct recover_leaf *met;	/* the leaf where it met another's way, or NULL */
	bool ended;		/* at the proper end of the list */
	bool listed;		/* its way is in the list, from @from on */
	u64 from;		/* place on it */
	u64 nth;		/* place of @from in the list */
};

/* Entries of a part, in the order of addresses; the newest chunk first */
struct recover_chunk {
	struct recover_chunk *next;
	struct recover_leaf leaf[];
};

/* A stretch of the pool and what was found there */
struct recover_part {
	struct recover *r;
	u64 from;		/* the first leaf, at the begin of a word */
	u64 to;			/* behind the last one */
	struct recover_chunk *chunks;
	struct recover_leaf *at;	/* free entries of the newest one ... */
	u32 room;		/* ... and how many */
	u64 extent;		/* behind the last one that is valid */
	u64 valid;		/* leaves that are */
	u64 birth;		/* the greatest */
	u64 records;
	u64 torn;
	struct crab_damage damage;
	bool asks;		/* the CPU that reads it asks whether to go on */
	int err;
};

struct recover_worker {
	struct work_struct work;
	struct recover *r;
};

/**
 * struct recover - an attach under way
 * @tree: its tree
 * @stopped: it is to end: its caller was killed
 * @words: of the pool
 * @nth: of each place of the list
 * @count: of them
 * @extent: of the pool, behind the last valid leaf
 * @valid: leaves with a valid header
 * @walkers: pass 2; the first one comes from the head
 * @pass: what the CPUs do now
 * @cpus: how many
 * @workers: those but this one
 * @taken: parts that one of them has taken
 * @n: parts
 * @parts: of the pool, in the order of addresses
 */
struct recover {
	struct crab_tree *tree;
	bool stopped;
	struct recover_word *words;
	union recover_nth *nth;
	u64 count;
	u64 extent;
	u64 valid;
	struct recover_walker walkers[RECOVER_WALKERS];
	void (*pass)(struct recover_part *part);
	u32 cpus;
	struct recover_worker workers[RECOVER_CPUS - 1];
	atomic_t taken;
	int n;
	struct recover_part parts[];
};

/* The entry of a leaf, or NULL where its header is not valid */
static inline struct recover_leaf *recover_at(const struct recover *r, u64 n)
{
	const struct recover_word *word = &r->words[n / RECOVER_WORD];
	u64 bit = 1ULL << n % RECOVER_WORD;

	return word->valid & bit ? word->at + hweight64(word->valid & (bit - 1)) : NULL;
}

/* Which place of the list a leaf of the pool has; or CRAB_LEAF_NOWHERE */
static inline u64 recover_place(const struct recover *r, const struct recover_leaf *at)
{
	const struct recover_walker *w = &r->walkers[at->walker];

	if (!at->walked || !w->listed || at->place < w->from)
		return CRAB_LEAF_NOWHERE;
	return w->nth + at->place - w->from;
}

/* recover_pool.c */

/**
 * crab_recover_breathe() - let others run, after some leaves
 * @r: the attach
 * Context: may sleep; the caller of attach.
 * Return: true if it is to end: that caller was killed.
 */
bool crab_recover_breathe(struct recover *r);

/** crab_recover_part_breathe() - the same in a pass, on any CPU */
bool crab_recover_part_breathe(struct recover_part *part);

/** crab_recover_alloc() - an attach of @tree, which is initialised; or NULL */
struct recover *crab_recover_alloc(struct crab_tree *tree);

/** crab_recover_free() - it is over */
void crab_recover_free(struct recover *r);

/** crab_recover_places() - room for a list of @count places; 0 or -ENOMEM */
int crab_recover_places(struct recover *r, u64 count);

/** crab_recover_parts() - run a pass over all of the pool; 0, -ENOMEM or -EINTR */
int crab_recover_parts(struct recover *r, void (*pass)(struct recover_part *part));

/** crab_recover_headers() - pass 1; once more where pass 2 has spoilt it; as the above */
int crab_recover_headers(struct recover *r);

/* recover_list.c */

/**
 * crab_recover_walk() - pass 2 where all is well: follow the list from many places at a time
 * @r: pass 1 is done
 * @word: the link of the head
 * Return: false where it did not come from the head to the end; nothing is said, and
 * what pass 1 found is spoilt.
 */
bool crab_recover_walk(struct recover *r, u64 word);

/**
 * crab_recover_list() - pass 2, leaf by leaf, where there may be damage
 * @r: pass 1 is done
 * @word: the link of the head
 *
 * From the head to the end, or to where nothing can be believed any more.
 *
 * Return: 0, -ENOMEM or -EINTR.
 */
int crab_recover_list(struct recover *r, u64 word);

#endif /* CRABTREE_ENGINES_CRAB_RECOVER_H */

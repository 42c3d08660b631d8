/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the state of a running attach, shared by recover.c, recover_pool.c and
 * recover_list.c.
 *
 * Locking: during a pass each CPU writes only its recover_part, the recover_leaf entries of that
 * range, and the matching @nth entries. Between two passes one CPU writes all of it.
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

#define RECOVER_BREATHE	1023	/* leaves between two cond_resched(), as a mask */
#define RECOVER_CPUS	16U	/* more are limited by the memory's bandwidth */
#ifndef RECOVER_WALKERS
#define RECOVER_WALKERS	64	/* enough to hide the memory's latency */
#endif
#ifndef RECOVER_MAPPED
#define RECOVER_MAPPED	(PAGE_SIZE + 1)	/* bytes of a table that vmalloc() maps */
#endif
#define RECOVER_WORD	64U	/* leaves of a struct recover_word */

/* The media determines the amount of memory: an allocation fails before it kills a process */
#define RECOVER_GFP	(GFP_KERNEL | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

/* A leaf of the pool with a header of this store, found by pass 1 */
struct recover_leaf {
	union {
		u64 next;		/* until @walked */
		u64 high;		/* from then on: the lowest key of the next leaf */
	};
	u64 low;		/* the lowest key of its range; sorted: its first key */
	u64 birth;
	u64 place : CRAB_LINK_BITS;	/* on the path of @walker */
	u64 walker : 8;
	u64 first : 1;		/* born as the first of the list: its lowest key was 0 */
	u64 walked : 1;		/* reached by pass 2, */
	u64 listed : 1;		/* leaf by leaf, from the head */
};

/*
 * RECOVER_WORD leaves of the pool. A leaf without a valid header costs a bit here and its
 * share of the pointer; the others have an entry each, in the order of addresses.
 */
struct recover_word {
	u64 valid;		/* leaves with an entry, a bit each */
	struct recover_leaf *at;	/* the entry of the first of them */
};

/* Result of pass 2 for one place of the list */
union recover_nth {
	u64 number;		/* CRAB_LEAF_NOWHERE: a gap */
	struct crab_leaf *leaf;	/* of any other, from pass 3 on */
};

/*
 * Follows a part of the list, concurrently with others: from its first leaf until a link has no
 * target or leads to the path of another walker
 */
struct recover_walker {
	u64 number;		/* its current leaf, */
	struct recover_leaf *at;	/* its entry, */
	struct recover_leaf *next;	/* and the entry of the leaf that its link names, or NULL */
	u64 count;		/* leaves on its path */
	struct recover_leaf *met;	/* the leaf where it met another path, or NULL */
	bool ended;		/* at a valid end of the list */
	bool listed;		/* its path is in the list, from @from on */
	u64 from;		/* place on it */
	u64 nth;		/* place of @from in the list */
};

/* Entries of a part, in the order of addresses; the newest chunk first */
struct recover_chunk {
	struct recover_chunk *next;
	struct recover_leaf leaf[];
};

/* A stretch of the pool and the results for it */
struct recover_part {
	struct recover *r;
	u64 from;		/* the first leaf, at the begin of a word */
	u64 to;			/* one past the last */
	struct recover_chunk *chunks;
	struct recover_leaf *at;	/* free entries of the newest one ... */
	u32 room;		/* ... and how many */
	u64 extent;		/* one past the last valid one */
	u64 valid;		/* number of valid leaves */
	u64 birth;		/* the highest */
	u64 records;
	u64 torn;
	struct crab_leaf_chunk *own;	/* descriptors of this part */
	struct crab_damage damage;
	bool asks;		/* the CPU that reads it checks for signals */
	int err;
};

struct recover_worker {
	struct work_struct work;
	struct recover *r;
};

/**
 * struct recover - a running attach
 * @tree: its tree
 * @stopped: attach must end: its caller was killed
 * @words: of the pool
 * @nth: of each place of the list
 * @count: of them
 * @extent: of the pool, one past the last valid leaf
 * @valid: leaves with a valid header
 * @walkers: pass 2; the first one comes from the head
 * @pass: the function of the current pass
 * @cpus: number of CPUs
 * @workers: the workers on other CPUs
 * @taken: number of parts that are taken
 * @n: number of parts
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

/* The entry of a leaf, or NULL if its header is not valid */
static inline struct recover_leaf *recover_at(const struct recover *r, u64 n)
{
	const struct recover_word *word = &r->words[n / RECOVER_WORD];
	u64 bit = 1ULL << n % RECOVER_WORD;

	return word->valid & bit ? word->at + hweight64(word->valid & (bit - 1)) : NULL;
}

/* The place of a leaf of the pool in the list, or CRAB_LEAF_NOWHERE */
static inline u64 recover_place(const struct recover *r, const struct recover_leaf *at)
{
	const struct recover_walker *w = &r->walkers[at->walker];

	if (!at->walked || !w->listed || at->place < w->from)
		return CRAB_LEAF_NOWHERE;
	return w->nth + at->place - w->from;
}

/* recover_pool.c */

/**
 * crab_recover_breathe() - reschedule after some leaves
 * @r: the attach
 *
 * Context: may sleep; the task that called attach.
 * Return: true if attach must end, because this task was killed.
 */
bool crab_recover_breathe(struct recover *r);

/**
 * crab_recover_part_breathe() - crab_recover_breathe() within a pass
 * @part: the part that this CPU reads
 *
 * Context: may sleep; any CPU.
 * Return: true if attach must end.
 */
bool crab_recover_part_breathe(struct recover_part *part);

/**
 * crab_recover_alloc() - allocate the state of an attach
 * @tree: the tree, initialised
 *
 * Context: may sleep.
 * Return: the state, or NULL.
 */
struct recover *crab_recover_alloc(struct crab_tree *tree);

/**
 * crab_recover_free() - free the state of an attach
 * @r: the attach, or NULL
 *
 * Context: may sleep; no pass runs.
 */
void crab_recover_free(struct recover *r);

/**
 * crab_recover_places() - allocate the places of a list
 * @r: the attach
 * @count: number of places
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int crab_recover_places(struct recover *r, u64 count);

/**
 * crab_recover_parts() - run a pass over the whole pool, on several CPUs
 * @r: the attach
 * @pass: called for each part
 *
 * Context: may sleep; the task that called attach.
 * Return: 0, -ENOMEM or -EINTR.
 */
int crab_recover_parts(struct recover *r, void (*pass)(struct recover_part *part));

/**
 * crab_recover_headers() - pass 1: read all headers; repeated after a failed crab_recover_walk()
 * @r: the attach
 *
 * Context: may sleep; the task that called attach.
 * Return: 0, -ENOMEM or -EINTR.
 */
int crab_recover_headers(struct recover *r);

/* recover_list.c */

/**
 * crab_recover_walk() - pass 2 without damage: follow the list from many places at a time
 * @r: pass 1 is done
 * @word: the link of the head
 *
 * Context: may sleep; the task that called attach.
 * Return: false if the paths do not lead from the head to the end; nothing is reported, and the
 * results of pass 1 are overwritten.
 */
bool crab_recover_walk(struct recover *r, u64 word);

/**
 * crab_recover_list() - pass 2, leaf by leaf, if there may be damage
 * @r: pass 1 is done
 * @word: the link of the head
 *
 * From the head to the end, or to the first link that cannot be trusted.
 *
 * Context: may sleep; the task that called attach.
 * Return: 0, -ENOMEM or -EINTR.
 */
int crab_recover_list(struct recover *r, u64 word);

#endif /* CRABTREE_ENGINES_CRAB_RECOVER_H */

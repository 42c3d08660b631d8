/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares how readers and writers enter a leaf and leave it (access.c).
 *
 * Invariant: a read counts only if crab_leaf_read_begin() and crab_leaf_read_valid() both return
 * true for it, or if it is made under the leaf's lock.
 *
 * Locking: documented in access.c.
 */
#ifndef CRABTREE_ENGINES_CRAB_ACCESS_H
#define CRABTREE_ENGINES_CRAB_ACCESS_H

#include <linux/err.h>
#include <linux/errno.h>
#include <linux/lockdep.h>
#include <linux/prefetch.h>

#include "layout.h"
#include "leaf.h"
#include "shared/lock.h"

/**
 * crab_leaf_read_begin() - begin an optimistic read of a leaf
 * @leaf: the leaf that the index returned
 * @key: a key of the range to be read
 * @seq: out: for crab_leaf_read_valid()
 *
 * It does not wait: a read that begins in a write section is not valid in the end.
 *
 * Context: RCU read-side section.
 * Return: false if the leaf does not hold the key, or is quarantined: nothing may be read.
 */
static __always_inline bool crab_leaf_read_begin(const struct crab_leaf *leaf, u64 key,
						 unsigned int *seq)
{
	*seq = raw_seqcount_begin(&leaf->seq);
	/* A quarantine is a write section, so crab_leaf_read_valid() finds it */
	return likely(crab_leaf_holds(leaf, key) && !data_race(leaf->quarantined));
}

/**
 * crab_leaf_read_valid() - end an optimistic read of a leaf
 * @leaf: the leaf
 * @seq: of crab_leaf_read_begin()
 * Context: as crab_leaf_read_begin().
 * Return: true if no writer changed the leaf meanwhile, and the result counts.
 */
static __always_inline bool crab_leaf_read_valid(const struct crab_leaf *leaf, unsigned int seq)
{
	return !read_seqcount_retry(&leaf->seq, seq);
}

/**
 * crab_reader_again() - slow path of crab_reader_enter()
 * @reader: the reader, in no leaf
 * @key: the key
 * Context: as crab_reader_enter().
 * Return: as crab_reader_enter().
 */
struct crab_leaf *crab_reader_again(struct crab_reader *reader, u64 key) __acquires(RCU);

/**
 * crab_reader_enter() - enter the leaf whose range holds a key
 * @reader: the caller has set @tree; the rest is zero, or as the previous call left it
 * @key: any
 * Context: may sleep. On return an RCU read-side section has begun, until crab_reader_leave().
 * Return: the leaf, or ERR_PTR(-EUCLEAN) if it is quarantined; crab_reader_leave() follows in
 * either case.
 */
static inline struct crab_leaf *crab_reader_enter(struct crab_reader *reader, u64 key)
	__acquires(RCU)
{
	struct crab_leaf *leaf;

	if (unlikely(reader->tries++))
		return crab_reader_again(reader, key);
	crab_rcu_enter();
	leaf = crab_leaf_find(reader->tree, key);
	reader->leaf = leaf;
	if (unlikely(!leaf))
		return ERR_PTR(-EUCLEAN);
	if (likely(crab_leaf_read_begin(leaf, key, &reader->seq)))
		return leaf;
	crab_rcu_leave();
	return crab_reader_again(reader, key);
}

/**
 * crab_reader_leave() - leave a leaf
 * @reader: the reader
 * Context: ends the RCU read-side section.
 * Return: false if the result does not count: enter again.
 */
static inline bool crab_reader_leave(struct crab_reader *reader) __releases(RCU)
{
	struct crab_leaf *leaf = reader->leaf;
	bool counts = !leaf || crab_leaf_read_valid(leaf, reader->seq);

	if (unlikely(reader->locked) && leaf) {
		__acquire(&leaf->lock);		/* hidden by reader_lock_leaf() */
		crab_unlock(&leaf->lock);
	}
	crab_rcu_leave();
	reader->leaf = NULL;
	return counts;
}

/**
 * crab_reader_end() - end a read, after the last crab_reader_leave()
 * @reader: the reader
 * Context: any; releases crab_tree.smo_lock if the reader took it.
 */
void crab_reader_end(struct crab_reader *reader);

/**
 * crab_write_lock_structure() - take crab_tree.smo_lock for a write
 * @write: the write, which may hold the lock already
 * Context: may sleep; no leaf is locked.
 */
void crab_write_lock_structure(struct crab_write *write);

/**
 * crab_write_try_structure() - take crab_tree.smo_lock for a write if it is free
 * @write: the write
 * Context: any; leaves may be locked.
 * Return: true if the write holds the lock.
 */
bool crab_write_try_structure(struct crab_write *write);

/**
 * crab_write_may_change() - crab_write_try_structure(), and test for reserved memory
 * @write: the write
 * Context: any; leaves may be locked.
 * Return: true if the write may modify the structure now.
 */
bool crab_write_may_change(struct crab_write *write);

/**
 * crab_write_release() - release crab_tree.smo_lock
 * @write: a write that holds it
 * Context: may sleep; no leaf is locked.
 */
void crab_write_release(struct crab_write *write);

/**
 * crab_write_end() - end a write
 * @write: the write
 * Context: may sleep; no leaf is locked.
 */
static inline void crab_write_end(struct crab_write *write)
{
	if (unlikely(write->structure))
		crab_write_release(write);
}

/**
 * crab_leaf_unlock() - release the leaf of crab_leaf_lock()
 * @leaf: the leaf
 * Context: ends the RCU read-side section.
 */
static inline void crab_leaf_unlock(struct crab_leaf *leaf)
	__releases(&leaf->lock) __releases(RCU)
{
	crab_unlock(&leaf->lock);
	crab_rcu_leave();
}

/**
 * crab_leaf_lock_again() - slow path of crab_leaf_lock()
 * @write: the write
 * @key: the key
 * @place: out: place of the key
 * Context: as crab_leaf_lock(), but sparse does not see the locks.
 * Return: as crab_leaf_lock().
 */
struct crab_leaf *crab_leaf_lock_again(struct crab_write *write, u64 key, struct crab_place *place);

/*
 * Sparse cannot follow a function that holds locks only if it returns a leaf: they are hidden from
 * it until crab_leaf_lock() shows them to its caller.
 */
static inline void crab_leaf_hide_lock(struct crab_leaf *leaf)
{
	__release(&leaf->lock);
	__release(RCU);
}

/* crab_leaf_lock(), but sparse does not see the locks */
static __always_inline struct crab_leaf *crab_leaf_lock_first(struct crab_write *write,
							      u64 key, struct crab_place *place)
{
	const struct crab_tree *tree = write->tree;
	struct crab_leaf *leaf;
	const void *child;
	unsigned int seq;

	crab_rcu_enter();
	child = crab_leaf_guess(tree, key);
	if (likely(child))
		crab_layout_prefetch_home(tree, crab_leaf_of_media(tree, child), key);
	leaf = crab_leaf_of(tree, child);
	if (unlikely(!leaf)) {
		crab_rcu_leave();
		return NULL;
	}
	/* Its lock follows: the line comes from another CPU once, not first for reading */
	prefetchw(leaf);
	seq = raw_seqcount_begin(&leaf->seq);
	/* In this order: a quarantine that is not seen here is a later write section */
	if (unlikely(READ_ONCE(leaf->quarantined))) {
		crab_rcu_leave();
		return crab_leaf_lock_again(write, key, place);
	}
	*place = crab_layout_place(write, leaf, key);
	crab_lock(&leaf->lock);
	if (likely(crab_leaf_holds(leaf, key) && crab_leaf_read_valid(leaf, seq))) {
		crab_leaf_hide_lock(leaf);
		return leaf;
	}
	crab_leaf_unlock(leaf);
	return crab_leaf_lock_again(write, key, place);
}

/**
 * crab_leaf_lock() - find and lock the leaf whose range holds a key
 * @write: the write
 * @key: any
 * @place: out: place of the key in it. It is searched before the lock is taken, while the fence
 *	of the previous write completes; a concurrent change makes it search again.
 *
 * Context: may sleep. On return an RCU read-side section has begun, until crab_leaf_unlock().
 * Return: the leaf; or NULL, with nothing locked, if it is quarantined or no leaf holds the key.
 */
static __always_inline struct crab_leaf *crab_leaf_lock(struct crab_write *write, u64 key,
							struct crab_place *place)
{
	struct crab_leaf *leaf = crab_leaf_lock_first(write, key, place);

	if (leaf) {
		__acquire(RCU);
		__acquire(&leaf->lock);
	}
	return leaf;
}

/**
 * crab_leaf_lock_pair() - lock two neighbours
 * @write: a write that holds crab_tree.smo_lock
 * @left: the left one
 * @right: the right one
 * Context: an RCU read-side section begins, until crab_leaf_unlock_pair().
 */
void crab_leaf_lock_pair(struct crab_write *write, struct crab_leaf *left, struct crab_leaf *right)
	__acquires(RCU) __acquires(&left->lock) __acquires(&right->lock);

/**
 * crab_leaf_unlock_pair() - release the leaves of crab_leaf_lock_pair()
 * @left: the left one
 * @right: the right one
 * Context: ends the RCU read-side section.
 */
void crab_leaf_unlock_pair(struct crab_leaf *left, struct crab_leaf *right)
	__releases(&right->lock) __releases(&left->lock) __releases(RCU);

/**
 * crab_leaf_begin() - begin a write section: readers wait for its end
 * @leaf: the leaf
 *
 * Raw, because a batch has several sections at a time.
 *
 * Context: the leaf is locked.
 */
static inline void crab_leaf_begin(struct crab_leaf *leaf) __must_hold(&leaf->lock)
{
	crab_lock_assert(&leaf->lock);
	raw_write_seqcount_begin(&leaf->seq);
}

/**
 * crab_leaf_end() - end a write section, once its stores are durable
 * @leaf: the leaf
 * Context: the leaf is locked.
 */
static inline void crab_leaf_end(struct crab_leaf *leaf) __must_hold(&leaf->lock)
{
	crab_lock_assert(&leaf->lock);
	raw_write_seqcount_end(&leaf->seq);
}

/**
 * crab_leaf_kill() - make the range of a leaf empty: another leaf has replaced it
 * @leaf: the leaf
 * Context: the leaf is locked.
 */
void crab_leaf_kill(struct crab_leaf *leaf) __must_hold(&leaf->lock) __must_hold(&leaf->lock);

#endif /* CRABTREE_ENGINES_CRAB_ACCESS_H */

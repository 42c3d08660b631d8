/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the inside of a store of commits, for the files of this folder and for tests.
 */
#ifndef CRABTREE_COMMIT_PRIV_H
#define CRABTREE_COMMIT_PRIV_H

#include <linux/rwsem.h>

#include "commit.h"

/**
 * struct crab_commit_list - the writes of a commit
 * @n: how many
 * @removes: bit i: write i removes its key
 * @record: of each write
 */
struct crab_commit_list {
	u32 n;
	u64 removes;
	struct crab_record record[CRAB_COMMIT_MAX];
};

/**
 * struct crab_commits - the commits of a store
 * @guard: the verbs of the engine, in which commits are one step: crab_engine.ops
 * @lock: held by a commit as a writer; by other writes, maintenance and INFO as readers
 * @turn: odd while @list is in force: it is durable, and the engine may hold any of its writes.
 *	Changes under @lock
 * @list: of the commit in progress. Changes under @lock, while @turn is even
 * @damage: the damage of the list that attach found, or NULL
 */
struct crab_commits {
	struct crab_engine_ops guard;
	struct rw_semaphore lock;
	u32 turn;
	struct crab_commit_list list;
	const char *damage;
};

/* Is the list in force? Under crab_commits.lock, or attach */
static inline bool crab_commits_in_force(const struct crab_commits *commits)
{
	return commits->turn & 1;
}

/* commit_attach.c */

/**
 * crab_commits_attach() - attach the commits of a store
 * @store: of commits; its engine is attached
 *
 * Reads the list of the media, and writes nothing. Damage is noted in the engine. If the list
 * counts it is in force from now on.
 *
 * Context: may sleep.
 * Return: 0, or -ENOMEM.
 */
int crab_commits_attach(struct crab_store *store);

/**
 * crab_commits_gain() - how many records the list in force adds to those of the engine
 * @store: any store; its engine is attached
 * Context: may sleep; attach, or a store that is read-only; takes crab_commits.lock for reading.
 * Return: the records that it adds, less those that it removes; 0 if no list is in force.
 */
s64 crab_commits_gain(const struct crab_store *store);

/**
 * crab_commits_prepare() - attach: the list of the media, before any other write
 * @store: the store
 * @flow: the caller's flow
 *
 * Cleans the list if it counts: the caches of a kernel that stopped may hold a list that is not
 * durable. Otherwise makes sure that no part of it will count. crab_super_flush() makes either
 * durable (P4): repair may write to leaves that are free only because the list is in force.
 *
 * Context: pinned.
 */
void crab_commits_prepare(struct crab_store *store, struct crab_flow *flow);

/**
 * crab_commits_redo() - attach: do the writes of the list that counts
 * @store: the store; its superblock was written
 * @flow: the caller's flow
 * Context: pinned; may sleep.
 * Return: 0, or -ENOMEM. After any other error of a write the store is read-only, and the list
 * remains in force.
 */
int crab_commits_redo(struct crab_store *store, struct crab_flow *flow);

/**
 * crab_commits_check() - CHECK: report the damage that attach found in the list
 * @store: the store
 * @report: in and out
 * Context: any.
 */
void crab_commits_check(const struct crab_store *store, struct crab_check_report *report);

/**
 * crab_commits_detach() - free the memory of a store's commits
 * @store: the store; its engine is still attached, and its blobs are not
 * Context: may sleep; no other call is running or will come.
 */
void crab_commits_detach(struct crab_store *store);

/* commit_media.c */

/**
 * crab_commit_load() - read the list of the media
 * @media: the media
 * @store_id: of the store
 * @list: out
 * Context: any.
 * Return: 1 if the list counts, 0 if not, -EUCLEAN if it counts and is impossible.
 */
int crab_commit_load(const struct crab_media *media, u32 store_id, struct crab_commit_list *list);

/**
 * crab_commit_store() - write the list to the media, durable on return
 * @flow: the caller's flow
 * @store_id: of the store
 * @list: the list
 * Context: pinned.
 */
void crab_commit_store(struct crab_flow *flow, u32 store_id, const struct crab_commit_list *list);

/**
 * crab_commit_void() - the list of the media no longer counts; not yet durable
 * @flow: the caller's flow
 * Context: pinned.
 */
void crab_commit_void(struct crab_flow *flow);

/**
 * crab_commit_clean() - clean the list of the media
 * @flow: the caller's flow
 * @n: number of its writes
 * Context: pinned.
 */
void crab_commit_clean(struct crab_flow *flow, u32 n);

/* commit_read.c */

/**
 * crab_commits_guard() - make the verbs of an engine one step with commits
 * @commits: the commits; crab_commits.guard is filled in
 * @engine: the engine; it has these verbs from now on
 * Context: attach.
 */
void crab_commits_guard(struct crab_commits *commits, struct crab_engine *engine);

/**
 * crab_commits_turn() - the list begins or ceases to be in force
 * @commits: the commits
 * Context: crab_commits.lock is held for writing, or attach.
 */
void crab_commits_turn(struct crab_commits *commits);

/* commit.c */

/**
 * crab_commit_apply() - do the writes of a list, durable on return
 * @engine: of the store
 * @flow: the caller's flow
 * @ops: the writes, each with the status 0; others are skipped
 * @n: how many
 * Context: may sleep; crab_commits.lock is held for writing, or attach.
 * Return: 0, or the error of a write that cannot be done.
 */
int crab_commit_apply(struct crab_engine *engine, struct crab_flow *flow,
		      struct crab_batch_op *ops, u32 n);

/**
 * crab_commit_extent() - allocate an extent for a blob, in a store with commits or without
 * @store: a store of blobs
 * @bytes: its content
 * @place: out
 *
 * A commit in progress keeps more leaves than it may take. Without them there is -ENOSPC only when
 * no commit is in progress: this waits for one.
 *
 * Context: may sleep; stripes may be locked, crab_commits.lock is not held.
 * Return: as crab_extents_alloc().
 */
int crab_commit_extent(struct crab_store *store, u32 bytes, u64 *place);

/**
 * crab_commit_words() - do a commit whose operands are valid
 * @store: the store; it may be one of blobs
 * @commit: the commit; the status of each operation is 0
 * @flow: the caller's flow
 * Context: may sleep.
 * Return: as crab_store_commit().
 */
int crab_commit_words(struct crab_store *store, struct crab_commit *commit,
		      struct crab_flow *flow);

/**
 * crab_commit_stuck() - make a store read-only in which a durable commit cannot be done
 * @store: the store; the list stays in force until an attach does its writes
 * @err: the error
 * Context: may sleep.
 */
void crab_commit_stuck(struct crab_store *store, int err);

#endif /* CRABTREE_COMMIT_PRIV_H */

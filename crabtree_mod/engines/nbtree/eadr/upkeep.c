// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements how the index follows the list of leaves, and when replaced leaves are free.
 *
 * Invariant: the index leads to a leaf of the list, or to one that leads to the leaf of the list by
 * nb_leaf.gone. A leaf is freed after the index leads past it and to the leaves that replaced it.
 *
 * Locking: nb_tree.smo_lock. If it is held, its holder, a later operation or maintain does the
 * work. An operation waits for it only if no leaf is free.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "moves.h"
#include "slots.h"

#define EA_SKIPPED_SHARE	1024
#define EA_SWEEP_LEAVES		16	/* under the lock at a time */

bool crab_ea_is_behind(const struct ea_tree *tree)
{
	return !llist_empty(&tree->queue);
}

/* Removes the entry of an unlinked leaf */
static void index_forget(struct ea_tree *tree, struct nb_leaf *leaf)
{
	struct crab_index *index = &tree->nb.index;
	struct nb_leaf *before = crab_index_find(index, leaf->low - 1);

	WRITE_ONCE(before->high, leaf->high);
	crab_index_remove(index, leaf->low);
	WRITE_ONCE(tree->unlinking, NULL);
	WRITE_ONCE(tree->nb.leaves, tree->nb.leaves - 1);
	WRITE_ONCE(tree->nb.unlinks, tree->nb.unlinks + 1);
}

/* Enters the leaves that replace a leaf */
static void leaf_replace(struct ea_tree *tree, struct nb_leaf *leaf)
{
	struct crab_index *index = &tree->nb.index;
	struct ea_smo *smo = ea_smo(leaf);

	/* Never more than the end of the range: readers compare keys with it at any time */
	WRITE_ONCE(smo->fresh[0]->high, min(leaf->high, smo->split));
	crab_index_replace(index, leaf->low, smo->fresh[0]);
	WRITE_ONCE(smo->fresh[0]->before, NULL);
	if (!smo->fresh[1])
		return;
	WRITE_ONCE(smo->fresh[1]->high, leaf->high);
	crab_index_insert(index, smo->split, smo->fresh[1]);
	WRITE_ONCE(smo->fresh[1]->before, NULL);
	WRITE_ONCE(tree->nb.leaves, tree->nb.leaves + 1);
	WRITE_ONCE(tree->nb.splits, tree->nb.splits + 1);
}

/* The index follows the change of a leaf to which it leads; false without memory */
static bool leaf_apply(struct ea_tree *tree, struct nb_leaf *leaf)
{
	struct crab_index *index = &tree->nb.index;

	if (ea_smo(leaf)->fresh[0] && crab_index_reserve(index))
		return false;
	if (ea_smo(leaf)->fresh[0])
		leaf_replace(tree, leaf);
	else
		index_forget(tree, leaf);
	ea_smo(leaf)->applied = true;
	return true;
}

/* The leaf after @leaf in the index, if it was unlinked */
static struct nb_leaf *unlinked_after(struct ea_tree *tree, struct nb_leaf *leaf)
{
	struct nb_leaf *next;

	if (leaf->high == CRAB_KEY_EMPTY)
		return NULL;
	next = crab_index_find(&tree->nb.index, leaf->high);
	/* Pairs with smp_store_release() in smo_gone() */
	return smp_load_acquire(&next->gone) && !ea_smo(next)->fresh[0] ? next : NULL;
}

/*
 * The index follows the change of a leaf, but first those of the leaves before it in time, and of
 * an unlinked leaf after it in the list, whose range may belong to @leaf. The task that is to queue
 * one of those may be late.
 */
static bool leaf_follow(struct ea_tree *tree, struct nb_leaf *leaf)
{
	struct nb_leaf *first, *next;

	while (!ea_smo(leaf)->applied) {
		for (first = leaf; first->before; first = first->before)
			;
		while ((next = unlinked_after(tree, first)))
			first = next;
		if (!leaf_apply(tree, first))
			return false;
	}
	return true;
}

static void leaf_retire(struct ea_tree *tree, struct nb_leaf *leaf)
{
	struct ea_smo *smo = ea_smo(leaf);

	/* A search that goes along the list begins again */
	WRITE_ONCE(tree->nb.by_number[leaf->number], NULL);
	crab_pool_free_later(&tree->nb.pool, smo->later);
	atomic64_inc(&tree->retired);
	kfree_rcu(smo, rcu);
	kfree_rcu(leaf, rcu);
	atomic64_inc(&tree->ended);
}

/*
 * First the unlinked leaf: the task that is to queue it may be late, and a search by the list finds
 * it neither there nor replaced by another one. It is retired once it is in the queue.
 */
static void queue_apply(struct ea_tree *tree)
{
	struct nb_leaf *leaf = tree->unlinking;
	struct llist_node *node, *next;

	lockdep_assert_held(&tree->nb.smo_lock);
	/* Pairs with smp_store_release() in smo_gone() */
	if (leaf && smp_load_acquire(&leaf->gone))
		leaf_follow(tree, leaf);
	/* The oldest first: the index has followed those before it, unless a task is late */
	for (node = llist_reverse_order(llist_del_all(&tree->queue)); node; node = next) {
		cond_resched();
		next = node->next;
		leaf = container_of(node, struct ea_smo, node)->leaf;
		if (leaf_follow(tree, leaf))
			leaf_retire(tree, leaf);
		else
			llist_add(node, &tree->queue);
	}
}

void crab_ea_upkeep(struct ea_tree *tree)
{
	if (!crab_ea_is_behind(tree) || !mutex_trylock(&tree->nb.smo_lock))
		return;
	queue_apply(tree);
	mutex_unlock(&tree->nb.smo_lock);
}

void crab_ea_lock(struct ea_tree *tree)
{
	mutex_lock(&tree->nb.smo_lock);
	queue_apply(tree);
}

bool crab_ea_reclaim(struct ea_tree *tree)
{
	u64 retired;

	crab_ea_lock(tree);
	mutex_unlock(&tree->nb.smo_lock);
	retired = atomic64_read(&tree->retired);
	if (retired == atomic64_read(&tree->synced)) {
		smp_rmb();	/* Pairs with smp_wmb() below: the caller reads ea_tree.freed */
		return false;
	}
	crab_pool_wait(&tree->nb.pool);
	atomic64_inc(&tree->freed);
	smp_wmb();	/* a task that has nothing to wait for sees that leaves became free */
	atomic64_set(&tree->synced, retired);
	return true;
}

/* Unlinks the leaf of a key, if it has no record; false if it stays */
static bool leaf_unlink(struct nb_write *write, u64 key)
{
	struct ea_tree *tree = ea_tree_of(&write->tree->base);
	bool done;

	queue_apply(tree);
	done = !crab_ea_is_behind(tree) && !tree->unlinking && crab_ea_smo_unlink(write, key);
	queue_apply(tree);
	return done;
}

void crab_ea_unlink(struct nb_write *write, u64 key)
{
	struct ea_tree *tree = ea_tree_of(&write->tree->base);
	bool done = false;

	if (mutex_trylock(&tree->nb.smo_lock)) {
		done = leaf_unlink(write, key);
		mutex_unlock(&tree->nb.smo_lock);
	}
	if (!done)
		atomic_inc(&tree->skipped);
}

bool crab_ea_sweep_is_due(const struct ea_tree *tree)
{
	return READ_ONCE(tree->sweep) ||
	       (u64)atomic_read(&tree->skipped) * EA_SKIPPED_SHARE > READ_ONCE(tree->nb.leaves);
}

/* Looks at one leaf, and goes on to the next one. A leaf that stays now is not swept for again */
static void sweep_leaf(struct nb_write *write)
{
	struct ea_tree *tree = ea_tree_of(&write->tree->base);
	const struct nb_leaf *leaf;
	u64 low, high;
	bool empty;

	crab_rcu_enter();
	leaf = crab_index_find(&tree->nb.index, tree->sweep);
	low = leaf->low;
	high = leaf->high;
	/* The first leaf of a quarter stays */
	empty = low & EA_KEY_BITS && !READ_ONCE(leaf->quarantined) &&
		crab_ea_is_empty(tree, leaf, 0);
	crab_rcu_leave();
	if (empty)
		leaf_unlink(write, low);
	WRITE_ONCE(tree->sweep, high == CRAB_KEY_EMPTY ? 0 : high);
}

bool crab_ea_sweep(struct ea_tree *tree)
{
	struct crab_flow flow = { .media = tree->nb.base.media };
	struct nb_write write = { .tree = &tree->nb, .flow = &flow };
	u32 i;

	if (!crab_ea_sweep_is_due(tree))
		return false;
	crab_ea_lock(tree);
	if (!tree->sweep) {
		atomic_set(&tree->skipped, 0);
		WRITE_ONCE(tree->sweep, 1);	/* the first leaf stays */
	}
	for (i = 0; i < EA_SWEEP_LEAVES && tree->sweep; i++)
		sweep_leaf(&write);
	mutex_unlock(&tree->nb.smo_lock);
	crab_count_prepare(&tree->nb.base, &flow);
	return tree->sweep;
}

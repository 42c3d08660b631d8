// SPDX-License-Identifier: GPL-2.0
/*
 * This file does the work of the module's worker at the places where the log has it.
 *
 * With one CPU and a kernel that preempts where it may sleep, the worker runs between operations or
 * where one of them may sleep. It prepares free leaves, and merges sparse leaves unless the
 * operation holds smo_lock. Where the log shows such work, the host build does it at the same
 * place, and it is compared as well. No log shows that the worker looked at a leaf and did not
 * merge it, so the host build looks at no leaf until the log shows a merge. Only the worker of
 * engine crab writes media.
 *
 * Locking: one thread.
 */
#include <sys/wait.h>
#include <unistd.h>

#include <linux/kernel.h>

#include "engines/crab/crab.h"
#include "follow.h"
#include "store/store_priv.h"

struct follow_worker worker;

/*
 * A free leaf is prepared: sentinels, key and void, into two slots, with nothing stored
 * right before the first. No operation begins so: a delete stores one slot's, and in a
 * fresh leaf records come before them, or its header.
 */
static bool is_preparation(const struct log_event *e)
{
	const u64 slot = sizeof(struct crab_dslot);

	if (!is_store_at(e, e->offset) || e->value[0] != CRAB_KEY_EMPTY ||
	    (e[-1].type == LOG_STORE && e->offset - e[-1].offset <= slot))
		return false;
	return is_store_at(e + 1, e->offset + offsetof(struct crab_dslot, value)) &&
	       is_store_at(e + 2, e->offset + slot) && e[2].value[0] == CRAB_KEY_EMPTY;
}

static void prepare_as_logged(struct crab_tree *tree)
{
	worker.maintaining = worker.preparing = true;
	while (is_preparation(follow.next)) {
		worker.prepared++;
		if (!crab_slotted_prepare(tree)) {
			differ("the machine prepares a leaf, the host has none to prepare", NULL,
			       follow.next);
			break;
		}
	}
	worker.maintaining = worker.preparing = false;
}

/*
 * Neighbours become one leaf, as maintain makes it: by a note or in a sweep, which the log does
 * not show. True if the media was written to.
 */
static bool merge(struct crab_tree *tree, struct crab_leaf *leaf)
{
	struct crab_flow flow = { .media = tree->base.media };
	struct crab_write write = { .tree = tree, .flow = &flow };
	u64 had = events;

	worker.maintaining = true;
	crab_write_lock_structure(&write);
	crab_smo_merge(&write, leaf, tree->slots);
	crab_write_end(&write);
	crab_count_prepare(&tree->base, &flow);
	worker.maintaining = false;
	return events != had;
}

/* Would the host build, made to merge here, do what the log shows? A child tries. */
static bool merges_as_logged(struct crab_tree *tree, struct crab_leaf *leaf)
{
	pid_t child = fork();
	int status;

	if (!child) {
		follow_limit();
		trying = true;
		differences = 0;
		_exit(!merge(tree, leaf) || differences);
	}
	return waitpid(child, &status, 0) == child && !status;
}

/* A header is written: by a merge, or by the next operation */
static bool is_fresh(const struct crab_tree *tree, const struct log_event *e)
{
	return is_event(e) && e->type == LOG_STORE && e->offset >= CRAB_HEAD_OFFSET &&
	       e->offset % tree->base.geo.leaf_bytes == 0;
}

/* The header of the fresh leaf has the lowest key of the first of two that a merge replaces */
static bool merged_as_logged(struct crab_tree *tree)
{
	const struct log_event *low = follow.next + offsetof(struct crab_dhead, low) / sizeof(u64);
	struct crab_leaf *leaf;

	if (!is_store_at(low, follow.next->offset + offsetof(struct crab_dhead, low)))
		return false;
	leaf = crab_leaf_find(tree, low->value[0]);
	if (leaf->low != low->value[0] || !crab_smo_may_merge(leaf, tree->slots * 3 / 4) ||
	    !merges_as_logged(tree, leaf))
		return false;
	merge(tree, leaf);
	worker.merged++;
	return true;
}

bool worker_writes(void)
{
	return store->engine->own == &crab_engine_crab;
}

void worker_follow(void)
{
	struct crab_tree *tree;

	if (!store || worker.maintaining || !worker_writes())
		return;
	tree = crab_tree_of(store->engine);
	if (!crab_layout_maintains(tree))
		return;
	do
		prepare_as_logged(tree);
	while (!tree->smo_lock.held && is_fresh(tree, follow.next) && merged_as_logged(tree));
}

/* Within an operation */
void __wrap_crab_host_may_sleep(void)
{
	u64 had = worker.prepared + worker.merged;

	worker_follow();
	worker.within += worker.prepared + worker.merged != had;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements attach of a store of commits.
 *
 * Invariants: a list that counts is durable (P4) before attach writes anything else, since the
 * caches of a kernel that stopped may hold one that is not; it counts until all of its writes are
 * durable. A list that does not count never will: its check is 0, durably (P4), before the first
 * operation. In a store that is read-only the list remains in force, and readers see its writes.
 *
 * Attach looks at no condition again: they held when the list was written.
 *
 * Crash table: Documentation/design/protocols-commits.rst.
 *
 * Locking: the caller has the region to itself.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "commit_priv.h"
#include "media/badmem.h"
#include "store_priv.h"

#define ATTACH_GFP	(GFP_KERNEL | __GFP_RETRY_MAYFAIL | __GFP_NOWARN)

static void list_damaged(struct crab_store *store, const char *what)
{
	store->commits->damage = what;
	crab_damage_note(&store->engine->damage, CRAB_COMMIT_OFFSET, "%s", what);
}

/*
 * crab_commit_load(), twice if the list does not count: failing memory may return a word of it
 * otherwise once, and a list that does not count is cleared
 */
static int list_load(struct crab_store *store)
{
	struct crab_commit_list *list = &store->commits->list;
	const u32 store_id = store->super.store_id;

	return crab_commit_load(store->media, store_id, list) ?:
	       crab_commit_load(store->media, store_id, list);
}

/* Reads the list; the engine volatile has no content to which it could belong */
static void attach_load(struct crab_store *store)
{
	struct crab_commits *commits = store->commits;
	struct crab_engine *engine = store->engine;
	int found = -EIO;

	if (engine->own->flags & CRAB_ENGINE_VOLATILE)
		return;
	if (crab_badmem_probe(store->media, CRAB_COMMIT_OFFSET, sizeof(struct crab_dcommit)))
		found = list_load(store);
	if (found < 0)
		list_damaged(store, "the list of a commit is damaged");
	else if (found > 0)
		crab_commits_turn(commits);
}

int crab_commits_attach(struct crab_store *store)
{
	struct crab_commits *commits = kvzalloc(sizeof(*commits), ATTACH_GFP);

	if (!commits)
		return -ENOMEM;
	init_rwsem(&commits->lock);
	store->commits = commits;
	crab_commits_guard(commits, store->engine);
	attach_load(store);
	return 0;
}

static s64 list_gain(struct crab_engine *engine, const struct crab_commit_list *list)
{
	u64 value;
	s64 gain = 0;
	u32 i;

	for (i = 0; i < list->n; i++)
		gain += !(list->removes >> i & 1) -
			!engine->own->lookup(engine, list->record[i].key, &value);
	return gain;
}

s64 crab_commits_gain(const struct crab_store *store)
{
	struct crab_commits *commits = store->commits;
	s64 gain = 0;

	if (!commits)
		return 0;
	/* A commit may have begun before the store turned read-only */
	down_read(&commits->lock);
	if (crab_commits_in_force(commits))
		gain = list_gain(store->engine, &commits->list);
	up_read(&commits->lock);
	return gain;
}

void crab_commits_prepare(struct crab_store *store, struct crab_flow *flow)
{
	struct crab_commits *commits = store->commits;

	if (!commits || store->engine->own->flags & CRAB_ENGINE_VOLATILE)
		return;
	if (crab_commits_in_force(commits))
		crab_commit_clean(flow, commits->list.n);
	else
		crab_commit_void(flow);
}

int crab_commits_redo(struct crab_store *store, struct crab_flow *flow)
{
	struct crab_commits *commits = store->commits;
	const struct crab_commit_list *list;
	struct crab_batch_op op;
	u32 i;
	int err = 0;

	if (!commits || !crab_commits_in_force(commits))
		return 0;
	list = &commits->list;
	for (i = 0; i < list->n && !err; i++) {
		op = (struct crab_batch_op){
			.verb = list->removes >> i & 1 ? CRAB_VERB_DELETE : CRAB_VERB_INSERT,
			.key = list->record[i].key, .value = list->record[i].value,
		};
		err = crab_commit_apply(store->engine, flow, &op, 1);
	}
	if (err == -ENOMEM)
		return err;
	if (err) {
		crab_commit_stuck(store, err);
		return 0;
	}
	crab_commit_void(flow);
	/* P22: all writes are durable, and the list never counts again */
	crab_fence(flow, CRAB_P22_UNLISTED);
	crab_commits_turn(commits);
	return 0;
}

void crab_commits_check(const struct crab_store *store, struct crab_check_report *report)
{
	if (store->commits && store->commits->damage)
		crab_damage_note(&report->damage, CRAB_COMMIT_OFFSET, "%s",
				 store->commits->damage);
}

void crab_commits_detach(struct crab_store *store)
{
	if (!store->commits)
		return;
	store->engine->ops = store->engine->own;
	store->engine->commits = NULL;
	kvfree(store->commits);
	store->commits = NULL;
}

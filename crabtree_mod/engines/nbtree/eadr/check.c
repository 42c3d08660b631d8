// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements CHECK of the layout `eadr`: it reads the media again and compares it with
 * DRAM while operations change both.
 *
 * Invariant: it writes neither media nor DRAM that others read, except for a note of a list that
 * leads back. A difference counts only if no structure modification of the leaves in question has
 * begun since they were found.
 *
 * Locking: holds nb_tree.smo_lock for some leaves at a time; RCU keeps each leaf.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/lockdep.h>
#include <linux/mutex.h>
#include <linux/sched.h>

#include "engines/select.h"
#include "moves.h"
#include "slots.h"

/* Writes and structure modifications that began and ended so far */
struct ea_state {
	u64 writes, written;
	u64 begun, ended;
	struct crab_counts counts;
};

/* Each end is read before its begin: if the two are equal, nothing was under way in between */
static void state_read(struct ea_tree *tree, struct ea_state *state)
{
	struct crab_counts counts;

	crab_counts_sum(&tree->nb.base, &counts);
	state->written = counts.EA_COUNT_ENDED;
	state->ended = atomic64_read(&tree->ended);
	smp_rmb();	/* Pairs with the full order of the swaps between the two counts */
	crab_counts_sum(&tree->nb.base, &state->counts);
	state->writes = state->counts.EA_COUNT_BEGUN;
	state->begun = atomic64_read(&tree->begun);
}

static void note(struct ea_tree *tree, struct crab_check_report *report, const struct nb_leaf *leaf,
		 const char *what)
{
	unsigned long long n = leaf->number;

	crab_damage_note(&report->damage, crab_leaf_offset(&tree->nb.base.geo, n), "leaf %llu: %s",
			 n, what);
}

/* May the link of @leaf lead elsewhere than to @next, because one of them moves? */
static bool is_moving(const struct nb_leaf *leaf, const struct nb_leaf *next)
{
	return (leaf && ea_smo(leaf)) || (next && ea_smo(next));
}

/* Does a link, read before, lead to the leaf that begins at @high? @leaf: NULL: the head */
static bool link_fits(struct ea_tree *tree, const struct nb_leaf *leaf, u64 high, u64 word)
{
	const struct crab_geometry *geo = &tree->nb.base.geo;
	struct nb_leaf *next = NULL;
	u64 right;

	if (high == CRAB_KEY_EMPTY) {
		right = crab_link_end(geo->store_id, crab_leaf_offset(geo, leaf->number),
				      leaf->birth);
	} else {
		next = crab_ea_leaf_of(tree, high);
		if (!next)
			return false;
		right = crab_ea_smo_link(tree, next);
	}
	return (word & ~EA_LINK_MARK) == right || is_moving(leaf, next);
}

/* Reads the link again if the leaf after it was replaced in between */
static bool link_is_right(struct ea_tree *tree, const struct nb_leaf *leaf, u64 high,
			  const __le64 *link)
{
	u32 tries = EA_LINK_TRIES;
	u64 word;

	do {
		word = crab_load_acquire(tree->nb.base.media, link);
		if (link_fits(tree, leaf, high, word))
			return true;
	} while (crab_load_acquire(tree->nb.base.media, link) != word && --tries);
	return false;
}

static const char *header_fault(struct ea_tree *tree, const struct nb_leaf *leaf, u64 high)
{
	u64 offset = crab_leaf_offset(&tree->nb.base.geo, leaf->number);
	struct crab_head head;

	if (!crab_head_load(tree->nb.base.media, offset, tree->nb.base.geo.store_id, &head))
		return "header damaged";
	if (head.birth != leaf->birth || head.birth > atomic64_read(&tree->births))
		return "its birth has changed";
	if (head.low != leaf->low)
		return "its lowest key has changed";
	if (!link_is_right(tree, leaf, high, &nb_leaf_media(&tree->nb, leaf)->head.next))
		return "link does not lead to the next leaf";
	if (!crab_pool_uses(&tree->nb.pool, leaf->number))
		return "in the list and free";
	return NULL;
}

/*
 * Checks the leaf of a key; the key after its range. Records below the key were counted: the leaf
 * that began with it may be unlinked, and then the one before it is read again
 */
static u64 check_leaf(struct ea_tree *tree, struct crab_check_report *report, u64 key)
{
	struct nb_leaf *leaf = crab_ea_leaf_of(tree, key);
	struct crab_record *keys = tree->nb.scratch;
	const char *fault;
	u32 count = 0;
	u64 high;

	if (!leaf) {
		crab_damage_note(&report->damage, CRAB_HEAD_OFFSET,
				 "neither index nor list lead to the leaf of a key");
		return CRAB_KEY_EMPTY;
	}
	if (READ_ONCE(leaf->quarantined)) {
		crab_engine_check_bad(&tree->nb.base, report, leaf->number);
		return max(crab_ea_failed_high(tree, leaf, key), key + 1);
	}
	high = leaf->high;
	/* The index does not lead to it yet: its range may have grown */
	if (leaf->before)
		high = crab_ea_high(tree, leaf);
	high = max(high, key + 1);
	fault = header_fault(tree, leaf, high) ?: crab_ea_fault(tree, leaf, keys, &count);
	if (fault)
		note(tree, report, leaf, fault);
	report->records += crab_records_above(keys, count, key);
	report->leaves += leaf->low == key;
	return high;
}

static void check_head(struct ea_tree *tree, struct crab_check_report *report)
{
	const struct crab_media *media = tree->nb.base.media;
	struct crab_head head;

	if (!crab_head_load(media, CRAB_HEAD_OFFSET, tree->nb.base.geo.store_id, &head))
		crab_damage_note(&report->damage, CRAB_HEAD_OFFSET,
				 "the head of the leaf list is damaged");
	else if (!link_is_right(tree, NULL, 0, &crab_list_head(media)->next))
		crab_damage_note(&report->damage, CRAB_HEAD_OFFSET,
				 "the head does not lead to the first leaf");
}

/* Lets the index follow the list, and replaced leaves become free */
static void check_pause(struct ea_tree *tree)
{
	mutex_unlock(&tree->nb.smo_lock);
	cond_resched();
	crab_ea_lock(tree);
}

static int check_leaves(struct ea_tree *tree, struct crab_check_report *report)
{
	/* The slots of a leaf are read twice */
	u32 turn = crab_check_turn(2 * tree->nb.room), done = 0;
	u64 key = 0;

	crab_rcu_enter();
	check_head(tree, report);
	crab_rcu_leave();
	while (key != CRAB_KEY_EMPTY) {
		if (crab_engine_breathe(&tree->nb.base))
			return -EINTR;
		crab_rcu_enter();
		key = check_leaf(tree, report, key);
		crab_rcu_leave();
		if (++done % turn == 0)
			check_pause(tree);
	}
	return 0;
}

/* Compares sums, which count if nothing was under way from before the first leaf until after it */
static void check_sums(struct ea_tree *tree, struct crab_check_report *report,
		       const struct ea_state *before)
{
	struct crab_check_report sums = { .leaves = report->leaves, .records = report->records };
	struct ea_state now;

	lockdep_assert_held(&tree->nb.smo_lock);
	if (tree->nb.quarantined || tree->nb.base.damage.count)
		return;
	crab_engine_check_pool(&tree->nb.base, &sums, tree->nb.leaves);
	if (before->writes == before->written)
		crab_engine_check_counts(&tree->nb.base, &sums, &before->counts, tree->nb.leaves,
					 tree->nb.records);
	state_read(tree, &now);
	if (sums.damage.count && before->begun == before->ended && now.begun == before->begun &&
	    now.writes == before->writes)
		crab_damage_note(&report->damage, sums.damage.offset, "%s", sums.damage.what);
}

int crab_ea_check(struct crab_engine *engine, struct crab_check_report *report)
{
	struct ea_tree *tree = ea_tree_of(engine);
	struct ea_state before;
	int err;

	crab_ea_lock(tree);
	state_read(tree, &before);
	err = check_leaves(tree, report);
	if (!err)
		check_sums(tree, report, &before);
	mutex_unlock(&tree->nb.smo_lock);
	return err;
}

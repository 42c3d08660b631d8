// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the structure modifications of the layout `eadr`.
 */

/**
 * DOC: structure modifications of eadr
 *
 * A full leaf never gets room again. It freezes, and its records move to one fresh leaf, or to two
 * if more than half of its slots have records:
 *
 *   begin    the task that needs room chooses the key at which the second fresh leaf begins, takes
 *            the fresh leaves, and writes them without records (P5). One swap of nb_leaf.smo
 *            publishes them; a task that loses the race frees its leaves
 *   freeze   each slot: live to frozen; then the link, by a mark. No insert uses a slot: the
 *            leaf was full before, or its free slots are dead. Updates cannot make the swap of
 *            a slot fail, because it is one of its key word alone
 *   copy     each frozen record to the slot of a fresh leaf that its place among them determines;
 *            the link of the old leaf to the last fresh one (P7)
 *   link     the link of the leaf before: from the old leaf to the first fresh one (P8)
 *   gone     a flag of the old leaf leads from it to the fresh ones; it is queued for the index
 *
 * The frozen content determines all that the later steps store, and each of them is a swap from one
 * value that never returns. So any number of tasks can do each step at any time, again and late. A
 * writer that meets a frozen record, or a full leaf, completes the steps and goes on in the fresh
 * leaf. It needs no memory for that, and waits for no other task.
 *
 * No task stores to a fresh leaf, except to copy, before the link to it is durable: nb_leaf.gone is
 * set after that. A reader of the old leaf is right until then, because the fresh ones have equal
 * content.
 *
 * If the leaf before freezes too, its link does: that leaf is completed first. This goes to lower
 * keys only, so it ends. The mark is a bit of the link on the media, so that one swap tests it: no
 * second list in DRAM can disagree with the one on the media (Zhang et al. 2024 have two).
 *
 * A leaf without records is *unlinked*, unless it is the first one of its quarter: its free slots
 * become dead, so that it never gets a record again; its link freezes; the link of the leaf before
 * it goes to the leaf after it (P8). No fresh leaf is needed. Its range then belongs to the leaf
 * before it, which a search finds by the list. Only the holder of nb_tree.smo_lock
 * begins to unlink, once the index follows the list: so the index has one such leaf at most.
 *
 * Memory that reads all ones looks like free slots, which a frozen leaf does not have. A task that
 * reads one links nothing and notes damage, and its write returns -EUCLEAN.
 *
 * The old leaf is freed when the index does not lead to it any more, and after a grace period: a
 * swap that was delayed cannot hit a leaf with a new use.
 *
 * If the memory of a fresh leaf fails before the list has it, no task completes the steps, and the
 * old leaf keeps its range. No leaf begins to move after memory has failed.
 *
 * Media that changes under an attached store is compared with memory, as far as that knows it,
 * before a leaf moves. So is the link to the leaf if the swap of that link fails: the leaf stays,
 * unless another task has bypassed it. A record that is frozen in a leaf without nb_leaf.smo is
 * damage, too; so is a leaf that does not freeze, because its words change more often than tasks
 * can change them, and so is a list that leads back.
 *
 * Locking: none; RCU keeps the leaves.
 */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/slab.h>

#include "moves.h"
#include "slots.h"

#define FREEZE_TRIES	2U	/* of a slot; by the second one it is frozen or dead */
#define COPY_TRIES	3U	/* a swap of a free slot, or of a link 0, fails once at most */

/* No link without its mark: the media changes by itself. The last link of the list may be 0 */
#define LINK_CHANGES	EA_LINK_MARK

u64 crab_ea_smo_link(const struct ea_tree *tree, const struct nb_leaf *leaf)
{
	return crab_link_to(&tree->nb.base.geo, leaf->number, leaf->birth);
}

/* Begin */

/* A write may begin after crab_ea_quarantine(), and complete the steps of others then */
static bool is_failed(const struct nb_leaf *leaf)
{
	/* Set once: an access after a stale value was under way when the memory failed */
	return data_race(leaf->quarantined);
}

/* The same of the leaves that replace one */
static bool fresh_is_failed(const struct ea_smo *smo)
{
	return (smo->fresh[0] && is_failed(smo->fresh[0])) ||
	       (smo->fresh[1] && is_failed(smo->fresh[1]));
}

/* A task that has found no leaf meanwhile tries again */
static void number_free(struct ea_tree *tree, u64 number)
{
	crab_pool_free(&tree->nb.pool, number);
	atomic64_inc(&tree->freed);
}

static void fresh_free(struct ea_tree *tree, struct nb_leaf *leaf)
{
	if (!leaf)
		return;
	WRITE_ONCE(tree->nb.by_number[leaf->number], NULL);
	number_free(tree, leaf->number);
	kfree_rcu(leaf, rcu);
}

/* Frees leaves that no other task has seen */
static void smo_discard(struct ea_tree *tree, struct ea_smo *smo)
{
	fresh_free(tree, smo->fresh[0]);
	fresh_free(tree, smo->fresh[1]);
	kfree(smo->later);
	kfree(smo);
	atomic64_inc(&tree->ended);
}

static int fresh_make(struct ea_tree *tree, u64 number, struct nb_leaf **fresh)
{
	struct nb_leaf *leaf = crab_nb_leaf_make(&tree->nb, number, 0, 0, GFP_NOIO);

	if (!leaf) {
		number_free(tree, number);
		return -ENOMEM;
	}
	WRITE_ONCE(tree->nb.by_number[number], leaf);
	*fresh = leaf;
	return 0;
}

/* All @n leaves at once: two tasks that take one each would both fail */
static int fresh_take(struct ea_tree *tree, struct nb_leaf **fresh, u32 n)
{
	struct crab_spare spares[2];
	/* They leave one for a leaf that needs no second one */
	int err = crab_pool_alloc(&tree->nb.pool, spares, n, n == 2);
	u32 i;

	if (err)
		return err;
	for (i = 0; i < n; i++)
		err = fresh_make(tree, spares[i].leaf, &fresh[i]) ?: err;
	return err;
}

/* Takes @n leaves, or nothing */
static int smo_take(struct ea_tree *tree, u32 n, struct ea_smo **taken)
{
	struct ea_smo *smo = kzalloc(sizeof(*smo), GFP_NOIO);
	int err = -ENOMEM;

	if (!smo)
		return err;
	atomic64_inc(&tree->begun);
	smo->later = kmalloc(sizeof(*smo->later), GFP_NOIO);
	if (smo->later)
		err = n ? fresh_take(tree, smo->fresh, n) : 0;
	if (err)
		smo_discard(tree, smo);
	*taken = smo;
	return err;
}

/* The same, once leaves are free. Other tasks may use all that become free meanwhile */
static int smo_wait(struct ea_tree *tree, u32 n, struct ea_smo **taken)
{
	u64 freed;
	int err;

	do {
		freed = atomic64_read(&tree->freed);
		err = smo_take(tree, n, taken);
	} while (err == -ENOSPC && (crab_ea_reclaim(tree) || freed != atomic64_read(&tree->freed)));
	return err;
}

/* A fresh leaf for [@low, @high) without records. Link 0: it gets that of the old leaf later */
static void fresh_prepare(struct nb_write *write, struct nb_leaf *leaf, u64 low, u64 high, u64 next)
{
	struct ea_tree *tree = ea_tree_of(&write->tree->base);
	const struct crab_geometry *geo = &tree->nb.base.geo;
	struct crab_head head = {
		.self = crab_leaf_offset(geo, leaf->number), .low = low, .next = next,
		.birth = atomic64_inc_return(&tree->births),
	};

	leaf->birth = head.birth;
	leaf->low = low;
	leaf->high = high;
	crab_nb_leaf_fresh(write->flow, geo, &head, NULL, 0);
}

/* Writes the fresh leaves; the caller is on one CPU */
static void smo_prepare(struct nb_write *write, struct nb_leaf *leaf, struct ea_smo *smo)
{
	u64 next = 0, high = READ_ONCE(leaf->high);

	if (smo->fresh[1]) {
		fresh_prepare(write, smo->fresh[1], smo->split, high, 0);
		smo->fresh[1]->before = leaf;
		next = crab_ea_smo_link(ea_tree_of(&write->tree->base), smo->fresh[1]);
	}
	fresh_prepare(write, smo->fresh[0], leaf->low, min(high, smo->split), next);
	smo->fresh[0]->before = leaf;
	/* P5: the free slots are durable before a record can be copied to one */
	crab_fence(write->flow, CRAB_P5_PREPARED);
}

/* As crab_ea_find() has it: a slot in use counts, even if the media has it free */
static bool leaf_is_full(const struct ea_tree *tree, const struct nb_leaf *leaf)
{
	return READ_ONCE(leaf->fp[tree->nb.room - 1]) ||
	       ea_word(tree, leaf, tree->nb.room - 1) != EA_FREE;
}

/* Begins to move or unlink the leaf, unless another task does; false: the caller discards @smo */
static bool smo_publish(struct nb_write *write, struct nb_leaf *leaf, struct ea_smo *smo)
{
	smo->leaf = leaf;
	smo->later->leaf = leaf->number;
	if (smo->fresh[0])
		smo_prepare(write, leaf, smo);
	return !cmpxchg(&leaf->smo, NULL, smo);
}

/*
 * 0: the leaf begins to move, or needs no room any more; -EAGAIN: it takes the leaves of @plan, or
 * @smo is for another leaf
 */
static int begin_once(struct nb_write *write, u64 key, struct ea_smo **smo, struct ea_plan *plan)
{
	struct ea_tree *tree = ea_tree_of(&write->tree->base);
	struct nb_leaf *leaf = crab_ea_leaf_of(tree, key);

	if (!leaf || is_failed(leaf))
		return -EUCLEAN;
	if (ea_smo(leaf) || !leaf_is_full(tree, leaf))
		return 0;
	if (!*smo)
		return crab_ea_plan(tree, leaf, key, plan) ?: -EAGAIN;
	/* Pairs with smp_mb() in crab_ea_quarantine(), which may not have seen the fresh leaves */
	smp_mb();
	if (READ_ONCE(tree->nb.pool.closed))
		return -EUCLEAN;
	if (leaf->birth != plan->birth)
		return -EAGAIN;
	(*smo)->split = plan->split;
	/* The caller tries its write again, meets the leaf, and completes the steps */
	if (smo_publish(write, leaf, *smo))
		*smo = NULL;
	return 0;
}

/* The same; discards @smo unless it is in use */
static int begin_try(struct nb_write *write, u64 key, struct ea_smo *smo, struct ea_plan *plan)
{
	int err;

	crab_flow_pin();
	crab_rcu_enter();
	err = begin_once(write, key, &smo, plan);
	crab_rcu_leave();
	crab_flow_unpin();
	if (smo)
		smo_discard(ea_tree_of(&write->tree->base), smo);
	return err;
}

int crab_ea_smo_begin(struct nb_write *write, u64 key)
{
	struct ea_plan plan;
	struct ea_smo *smo;
	int err = begin_try(write, key, NULL, &plan);

	if (err != -EAGAIN)
		return err;
	err = smo_wait(ea_tree_of(&write->tree->base), plan.leaves, &smo);
	/* Another task may move the leaf, perhaps to the last free ones */
	if (err)
		return begin_try(write, key, NULL, &plan) ? err : 0;
	err = begin_try(write, key, smo, &plan);
	/* Others have moved the leaf: if its write still needs room, the caller begins again */
	return err == -EAGAIN ? 0 : err;
}

/* True if @smo is in use */
static bool unlink_once(struct nb_write *write, u64 key, struct ea_smo *smo)
{
	struct ea_tree *tree = ea_tree_of(&write->tree->base);
	struct nb_leaf *leaf = crab_ea_leaf_of(tree, key);
	bool done;

	/* The first leaf of a quarter stays, and one to which the index does not lead by itself */
	if (!leaf || !(leaf->low & EA_KEY_BITS) || leaf->before || ea_smo(leaf) ||
	    is_failed(leaf) || !crab_ea_is_empty(tree, leaf, 0))
		return false;
	/* Pairs with smp_load_acquire() in leaf_unlinking(); before the link bypasses the leaf */
	smp_store_release(&tree->unlinking, leaf);
	done = crab_ea_close(write, leaf) && smo_publish(write, leaf, smo);
	if (done)
		crab_ea_smo_finish(write, leaf);
	else	/* It stays. Otherwise index_forget() does this, also if the queue is late */
		smp_store_release(&tree->unlinking, NULL);
	return done;
}

bool crab_ea_smo_unlink(struct nb_write *write, u64 key)
{
	struct ea_tree *tree = ea_tree_of(&write->tree->base);
	struct ea_smo *smo;
	bool done;

	if (smo_take(tree, 0, &smo))
		return false;
	smo->split = CRAB_KEY_EMPTY;
	crab_rcu_enter();
	done = unlink_once(write, key, smo);
	crab_rcu_leave();
	if (!done)
		smo_discard(tree, smo);
	return done;
}

/* Freeze */

/* False: the media changes by itself. Other tasks freeze or delete a record only once */
static bool slot_freeze(struct crab_flow *flow, struct nb_dslot *d)
{
	u32 tries = FREEZE_TRIES;
	u64 word;

	do
		word = crab_load_acquire(flow->media, &d->key);
	while (ea_is_live(word) &&
	       crab_cas(flow, &d->key, word, EA_FROZEN | (word & EA_KEY_BITS)) != word && --tries);
	return tries;
}

/* Returns the link of the frozen leaf, without its mark; or LINK_CHANGES */
static u64 link_freeze(struct nb_write *write, struct nb_leaf *leaf)
{
	struct ea_tree *tree = ea_tree_of(&write->tree->base);
	__le64 *at = ea_link_at(tree, leaf);
	u32 tries = EA_LINK_TRIES;
	u64 word;

	/* A frozen link does not change: two loads of it are equal */
	do
		word = crab_load_acquire(tree->nb.base.media, at);
	while ((word & EA_LINK_MARK ? crab_load_acquire(tree->nb.base.media, at) != word :
		crab_cas(write->flow, at, word, word | EA_LINK_MARK) != word) && --tries);
	return tries ? word & ~EA_LINK_MARK : LINK_CHANGES;
}

/* As link_freeze(), after all slots */
static u64 smo_freeze(struct nb_write *write, struct nb_leaf *leaf)
{
	struct nb_dslot *d = ea_slot_at(ea_tree_of(&write->tree->base), leaf, 0);
	const struct nb_dslot *end = d + write->tree->room;

	for (; d < end; d++)
		if (!slot_freeze(write->flow, d))
			return LINK_CHANGES;
	return link_freeze(write, leaf);
}

/* The word by which @leaf has the same next leaf as a frozen one with the link @next */
static u64 link_for(const struct ea_tree *tree, const struct nb_leaf *leaf, u64 next)
{
	const struct crab_geometry *geo = &tree->nb.base.geo;

	return next & CRAB_LINK_MASK ? next :
	       crab_link_end(geo->store_id, crab_leaf_offset(geo, leaf->number), leaf->birth);
}

/* Copy */

/* False: the media changes by itself. A slot that any other task has used stays as it is */
static bool slot_copy(struct crab_flow *flow, struct nb_dslot *d, u64 key, u64 value)
{
	const struct crab_media *media = flow->media;
	u32 tries = COPY_TRIES;
	u64 old[2];

	do {
		old[0] = EA_FREE;
		old[1] = crab_load(media, &d->value);
		if (likely(crab_cas_pair(flow, &d->key, old, EA_LIVE | (key & EA_KEY_BITS), value)))
			return true;
		if (crab_load_acquire(media, &d->key) != EA_FREE &&
		    crab_load_acquire(media, &d->key) != EA_FREE)
			return true;
	} while (--tries);
	return false;
}

/*
 * A slot of a frozen leaf has no record if it is dead, by its word or, where that reads as free, by
 * its fingerprint. Any other slot that reads as free is memory that reads all ones
 */
static bool slot_is_void(const struct nb_leaf *leaf, u32 slot, u64 word)
{
	return ea_is_dead(word) ||
	       (word == EA_FREE && READ_ONCE(leaf->fp[slot]) == EA_FP_VOID);
}

/*
 * False: a slot cannot be read, or two loads of it differ. The slots before it are copied as any
 * other task copies them
 */
static bool records_copy(struct nb_write *write, struct nb_leaf *leaf, const struct ea_smo *smo)
{
	struct ea_tree *tree = ea_tree_of(&write->tree->base);
	const struct crab_media *media = tree->nb.base.media;
	const struct nb_dslot *d = ea_slot_at(tree, leaf, 0);
	u32 slot, count[2] = { }, room = tree->nb.room, which;
	u64 word, key, value, low = leaf->low;
	struct nb_dslot *first = ea_slot_at(tree, smo->fresh[0], 0);
	struct nb_dslot *second = smo->fresh[1] ? ea_slot_at(tree, smo->fresh[1], 0) : NULL;

	for (slot = 0; slot < room; slot++, d++) {
		word = crab_load_acquire(media, &d->key);
		if ((!ea_is_frozen(word) && !slot_is_void(leaf, slot, word)) ||
		    crab_load_acquire(media, &d->key) != word)
			return false;
		if (!ea_is_frozen(word))
			continue;
		value = crab_load(media, &d->value);
		if (crab_load(media, &d->value) != value)
			return false;
		key = ea_key_of(low, word);
		which = second && key >= smo->split;
		ea_note_key(smo->fresh[which], count[which]++, key);
		if (!slot_copy(write->flow, which ? second++ : first++, key, value))
			return false;
	}
	return true;
}

/* The last fresh leaf gets the link of the old one; false: the media changes by itself */
static bool fresh_join(struct nb_write *write, const struct ea_smo *smo, u64 next)
{
	struct ea_tree *tree = ea_tree_of(&write->tree->base);
	struct nb_leaf *last = smo->fresh[!!smo->fresh[1]];
	__le64 *at = ea_link_at(tree, last);
	u64 word = link_for(tree, last, next);
	u32 tries = COPY_TRIES;

	while (crab_cas(write->flow, at, 0, word) && !crab_load(tree->nb.base.media, at) && --tries)
		;
	return tries;
}

/* False: the leaf cannot be read, or a fresh one has failed: the caller links nothing */
static bool smo_copy(struct nb_write *write, struct nb_leaf *leaf)
{
	struct ea_tree *tree = ea_tree_of(&write->tree->base);
	struct ea_smo *smo = ea_smo(leaf);
	u64 next;

	if (fresh_is_failed(smo))
		return false;
	/* Pairs with smp_store_release() below */
	if (smp_load_acquire(&smo->copied))
		return true;
	next = smo_freeze(write, leaf);
	if (next == LINK_CHANGES) {
		crab_ea_damaged(tree, leaf, "it does not freeze");
		return false;
	}
	if (smo->fresh[0] && !(records_copy(write, leaf, smo) && fresh_join(write, smo, next))) {
		crab_ea_damaged(tree, leaf, "a slot of a frozen leaf reads as free, or changes");
		return false;
	}
	/* P7: the fresh leaves are whole before P8 links them */
	crab_fence(write->flow, CRAB_P7_FRESH);
	/* Pairs with smp_load_acquire() above */
	smp_store_release(&smo->copied, 1);
	return true;
}

/* Link */

/* The leaf leads to its fresh leaves from now on; one task queues it */
static void smo_gone(struct ea_tree *tree, struct nb_leaf *leaf)
{
	/* Pairs with smp_load_acquire() in crab_ea_leaf_of() */
	smp_store_release(&leaf->gone, 1);
	if (!READ_ONCE(leaf->queued) && !cmpxchg(&leaf->queued, 0, 1))
		llist_add(&ea_smo(leaf)->node, &tree->queue);
}

/* The word by which the leaf before @leaf, which is frozen, bypasses it; LINK_CHANGES: none */
static u64 smo_target(struct nb_write *write, struct nb_leaf *leaf, const struct nb_leaf *before)
{
	const struct ea_tree *tree = ea_tree_of(&write->tree->base);
	u64 next;

	if (ea_smo(leaf)->fresh[0])
		return crab_ea_smo_link(tree, ea_smo(leaf)->fresh[0]);
	next = link_freeze(write, leaf);
	return next == LINK_CHANGES ? next : link_for(tree, before, next);
}

/*
 * Returns a leaf to be completed first, or NULL: the leaf is not in the list any more; or an error:
 * the media has changed under the store
 */
static struct nb_leaf *smo_bypass(struct nb_write *write, struct nb_leaf *leaf)
{
	struct ea_tree *tree = ea_tree_of(&write->tree->base);
	__le64 *at = &crab_list_head(tree->nb.base.media)->next;
	u64 old = crab_ea_smo_link(tree, leaf);
	struct nb_leaf *before = NULL;
	bool done, passes;
	u64 to;

	if (leaf->low) {
		before = crab_ea_leaf_of(tree, leaf->low - 1);
		if (!before || is_failed(before))
			return ERR_PTR(-EUCLEAN);
		at = ea_link_at(tree, before);
	}
	to = smo_target(write, leaf, before);
	done = to != LINK_CHANGES && crab_cas(write->flow, at, old, to) == old;
	if (!done)	/* a swap that fails orders nothing */
		smp_rmb();	/* Pairs with cmpxchg() in smo_publish() */
	passes = done || crab_ea_link_passes(tree, before, at, old);
	/* Otherwise the link was another one: the leaf before, while in the list, bypasses @leaf */
	if (!done && before && ea_smo(before))
		return before;
	if (!passes) {
		crab_ea_damaged(tree, leaf, "the link to it has changed");
		return ERR_PTR(-EUCLEAN);
	}
	/* P8: the list has the fresh leaves, and not the old one, before they change */
	crab_fence(write->flow, CRAB_P8_LINKED);
	smo_gone(tree, leaf);
	return NULL;
}

bool crab_ea_smo_finish(struct nb_write *write, struct nb_leaf *leaf)
{
	struct nb_leaf *at = leaf;

	write->structure = true;
	while (!READ_ONCE(leaf->gone)) {
		if (!smo_copy(write, at))
			return false;
		at = smo_bypass(write, at);
		if (IS_ERR(at))
			return false;
		at = at ?: leaf;
	}
	return true;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * This file folds snapshots: the notes of a closed one move to the table before it. Otherwise a
 * snapshot that stays open would keep a table of each one that was opened and closed since.
 *
 * Invariant: each note moves in one section of the lock, so that a reader finds it in one table or
 * in the other, which are neighbours. The older table had no note of the key, or its own note holds
 * for all readers of both, as the closed snapshot has none. If the write of that note failed, both
 * have the same word: the note that remains gets the extent. The newest table, to which writes add
 * notes, is left as it is.
 *
 * Locks: gate.h. Other tasks may fold, or end snapshots, between two sections.
 */
#include <linux/list.h>
#include <linux/sched.h>
#include <linux/slab.h>

#include "gate.h"
#include "snap_priv.h"

#define FOLD_NOTES	16U	/* that move in one section of the lock */

/* The oldest closed snapshot, but not the newest one of all; or NULL. The one before is open */
static struct crab_snap *fold_find_locked(struct crab_gate *gate)
{
	struct crab_snap *snap;

	lockdep_assert_held(&gate->notes_lock);

	list_for_each_entry(snap, &gate->snaps, list)
		if (snap->closed)
			return list_is_last(&snap->list, &gate->snaps) ? NULL : snap;
	return NULL;
}

static void fold_notes_locked(struct crab_gate *gate, struct crab_snap *snap)
{
	struct crab_snap *older = list_prev_entry(snap, list);
	u32 n = 0;

	lockdep_assert_held(&gate->notes_lock);

	while (n < FOLD_NOTES && crab_notes_fold(&older->notes, &snap->notes, &gate->spare))
		n++;
	if (snap->notes.root)
		return;
	list_del(&snap->list);
	kfree(snap);
}

void crab_snap_fold(struct crab_gate *gate)
{
	struct crab_snap *snap;

	do {
		spin_lock(&gate->notes_lock);
		snap = fold_find_locked(gate);
		if (snap)
			fold_notes_locked(gate, snap);
		spin_unlock(&gate->notes_lock);
		cond_resched();
	} while (snap);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements notes as a treap: a search tree by key that is a heap by priority. The
 * priorities are pseudo-random, so its height is logarithmic for any order of the keys.
 *
 * Invariant: the keys below child[0] are lower and those below child[1] higher than a note's own,
 * except in a set that crab_notes_join() filled. A set from which notes are taken has this order,
 * but is no heap: its height at most doubles.
 *
 * Locking: the caller's.
 */
#include <linux/kernel.h>
#include <linux/minmax.h>

#include "notes.h"

struct crab_note *crab_notes_find(const struct crab_notes *notes, u64 key)
{
	struct crab_note *note = notes->root;

	while (note && note->key != key)
		note = note->child[key > note->key];
	return note;
}

const struct crab_note *crab_notes_near(const struct crab_notes *notes, u64 key,
					enum crab_seek_dir dir)
{
	const struct crab_note *note = notes->root, *best = NULL;
	bool wanted;

	while (note) {
		wanted = dir == CRAB_SEEK_GE ? note->key >= key : note->key <= key;
		if (wanted)
			best = note;
		note = note->child[wanted == (dir == CRAB_SEEK_LE)];
	}
	return best;
}

/* Splits the tree below @note at @key: lower keys go to @low, the others to @high */
static void notes_split(struct crab_note *note, u64 key, struct crab_note **low,
			struct crab_note **high)
{
	while (note) {
		if (note->key < key) {
			*low = note;
			low = &note->child[1];
			note = *low;
		} else {
			*high = note;
			high = &note->child[0];
			note = *high;
		}
	}
	*low = NULL;
	*high = NULL;
}

void crab_notes_add(struct crab_notes *notes, struct crab_note *note)
{
	struct crab_note **place = &notes->root;

	while (*place && (*place)->priority >= note->priority)
		place = &(*place)->child[note->key > (*place)->key];
	notes_split(*place, note->key, &note->child[0], &note->child[1]);
	*place = note;
}

struct crab_note *crab_notes_take(struct crab_notes *notes)
{
	struct crab_note *note = notes->root, *low;

	if (!note)
		return NULL;
	while ((low = note->child[0])) {
		note->child[0] = low->child[1];
		low->child[1] = note;
		note = low;
	}
	notes->root = note->child[1];
	return note;
}

bool crab_notes_fold(struct crab_notes *to, struct crab_notes *from, struct crab_notes *spare)
{
	struct crab_notes one = { .root = crab_notes_take(from) };
	struct crab_note *known;

	if (!one.root)
		return false;
	known = crab_notes_find(to, one.root->key);
	if (!known) {
		crab_notes_add(to, one.root);
		return true;
	}
	/* The write of this note failed, and the one of the newer note replaced the same word */
	if (one.root->owns && !known->absent && known->value == one.root->value)
		swap(known->owns, one.root->owns);
	one.root->child[1] = NULL;
	crab_notes_join(spare, &one);
	return true;
}

void crab_notes_join(struct crab_notes *to, struct crab_notes *from)
{
	struct crab_note **place = &from->root;

	/* crab_notes_fold() makes a chain of the notes that it spares: it goes to an empty set */
	if (!to->root) {
		swap(*to, *from);
		return;
	}
	while (*place)
		place = &(*place)->child[1];
	*place = to->root;
	to->root = from->root;
	from->root = NULL;
}

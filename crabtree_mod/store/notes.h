/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares notes: an ordered set of keys in DRAM, each with the value that it had, or
 * that it was absent. Key and value of a note never change; a set only grows until it is freed.
 *
 * Locking: the caller's.
 */
#ifndef CRABTREE_NOTES_H
#define CRABTREE_NOTES_H

#include "engines/verb.h"

#define CRAB_NOTE_BYTES	64U	/* of memory that a note takes */

/**
 * struct crab_note - a key and the value that it had
 * @child: notes with lower, and with higher keys
 * @key: the key
 * @value: its value
 * @priority: not above that of its parent
 * @absent: the key did not exist
 * @owns: @value is the word of a blob whose extent is free only once the note is
 */
struct crab_note {
	struct crab_note *child[2];
	u64 key;
	u64 value;
	u32 priority;
	bool absent;
	bool owns;
};

struct crab_notes {
	struct crab_note *root;
};

/**
 * crab_notes_find() - find the note of a key
 * @notes: the set
 * @key: the key
 * Context: any.
 * Return: the note, or NULL.
 */
struct crab_note *crab_notes_find(const struct crab_notes *notes, u64 key);

/**
 * crab_notes_near() - find the nearest note
 * @notes: the set
 * @key: where to begin
 * @dir: lowest >= @key or highest <= @key
 * Context: any.
 * Return: the note, or NULL.
 */
const struct crab_note *crab_notes_near(const struct crab_notes *notes, u64 key,
					enum crab_seek_dir dir);

/**
 * crab_notes_add() - add a note
 * @notes: the set; it has no note of this key
 * @note: the note; its children are set
 * Context: any.
 */
void crab_notes_add(struct crab_notes *notes, struct crab_note *note);

/**
 * crab_notes_take() - take any note out
 * @notes: the set; afterwards no note may be added, nor found if crab_notes_join() filled it
 * Context: any.
 * Return: a note, or NULL if the set is empty.
 */
struct crab_note *crab_notes_take(struct crab_notes *notes);

/**
 * crab_notes_join() - move all notes of one set into another one
 * @to: as after crab_notes_take()
 * @from: out: empty. If crab_notes_fold() added spare notes to it, @to is empty before
 *
 * It takes one step for each level of @from, or none if @to is empty.
 *
 * Context: any.
 */
void crab_notes_join(struct crab_notes *to, struct crab_notes *from);

/**
 * crab_notes_fold() - move a note to the set of an older snapshot
 * @to: the older set
 * @from: the set; as after crab_notes_take()
 * @spare: gets the note if @to has one of its key; as after crab_notes_take()
 *
 * If that one has the same word, it owns the extent from now on.
 *
 * Context: any.
 * Return: false if @from is empty.
 */
bool crab_notes_fold(struct crab_notes *to, struct crab_notes *from, struct crab_notes *spare);

#endif /* CRABTREE_NOTES_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests that the two tables that are treaps, of names and of notes, keep their form.
 */
#include "store/names.h"
#include "store/notes.h"
#include "test.h"

/* The form of a treap; returns the number of its names, and adds up their memory */
static u32 names_form(const struct crab_name *name, const struct crab_name *low,
		      const struct crab_name *high, u32 depth, u32 *deepest, u64 *dram)
{
	if (!name)
		return 0;
	*deepest = max(*deepest, depth);
	*dram += offsetof(struct crab_name, text) + name->bytes;
	tap_check(!low || crab_name_compare(name, low->text, low->bytes) < 0, "order");
	tap_check(!high || crab_name_compare(name, high->text, high->bytes) > 0, "order");
	tap_check((!name->child[0] || name->child[0]->priority <= name->priority) &&
		  (!name->child[1] || name->child[1]->priority <= name->priority), "priorities");
	return 1 + names_form(name->child[0], low, name, depth + 1, deepest, dram) +
	       names_form(name->child[1], name, high, depth + 1, deepest, dram);
}

#define TREAP	2000U
#define DEEP	60U	/* more than any treap of so many names has */

static void names_check(const struct crab_names *names, u32 count)
{
	u32 deepest = 0, n;
	u64 dram = 0;

	n = names_form(names->root, NULL, NULL, 0, &deepest, &dram);
	tap_check(n == count && dram == names->dram, "%u names of %u, %llu bytes of %llu", n, count, dram,
		  names->dram);
	tap_check(deepest < DEEP, "%u levels", deepest);
}

/* In ascending order, and in descending order; some priorities are equal */
static void test_names_treap(bool down)
{
	struct crab_name *name, *all[TREAP];
	struct crab_names names = { };
	char text[8];
	u32 i, at;

	for (i = 0; i < TREAP; i++) {
		at = down ? TREAP - 1 - i : i;
		name = crab_name_new(text, snprintf(text, sizeof(text), "%04u", at), GFP_KERNEL);
		if (i % 4 == 0)
			name->priority = 1U << 31;
		all[at] = name;
		crab_names_add(&names, name);
		if (i % 100 == 0)
			names_check(&names, i + 1);
	}
	names_check(&names, TREAP);
	for (i = 0; i < TREAP; i += 2) {
		crab_names_remove(&names, all[i]);
		kfree(all[i]);
	}
	names_check(&names, TREAP / 2);
	for (i = 0; i < TREAP; i++) {
		snprintf(text, sizeof(text), "%04u", i);
		tap_check(crab_names_find(&names, text, 4) == (i % 2 ? all[i] : NULL), "name %u", i);
		tap_check(crab_names_next(&names, text, 4, false) == all[i | 1], "from %u on", i);
		tap_check(crab_names_next(&names, text, 4, true) ==
			  (i + 2 < TREAP ? all[(i + 1) | 1] : i + 1 < TREAP ? all[TREAP - 1] : NULL),
			  "after %u", i);
	}
	crab_names_destroy(&names);
	tap_ok(!names.root && !names.dram, "the table of names, filled %s", down ? "down" : "up");
}

static u32 notes_form(const struct crab_note *note, u64 low, u64 high, u32 depth, u32 *deepest)
{
	if (!note)
		return 0;
	*deepest = max(*deepest, depth);
	tap_check(note->key >= low && note->key <= high, "order");
	tap_check((!note->child[0] || note->child[0]->priority <= note->priority) &&
		  (!note->child[1] || note->child[1]->priority <= note->priority), "priorities");
	return 1 + notes_form(note->child[0], low, note->key - 1, depth + 1, deepest) +
	       notes_form(note->child[1], note->key + 1, high, depth + 1, deepest);
}

static void notes_check(const struct crab_notes *notes, u32 count)
{
	u32 deepest = 0, n = notes_form(notes->root, 0, U64_MAX, 0, &deepest);

	tap_check(n == count && deepest < DEEP, "%u notes of %u, %u levels", n, count, deepest);
}

static struct crab_note *note_new(u64 key, u64 value, bool owns)
{
	struct crab_note *note = kmalloc(sizeof(*note), GFP_KERNEL);

	*note = (struct crab_note){
		.key = key, .value = value, .owns = owns, .priority = key % 4 ? rng_mix(key) : 1U << 31,
	};
	return note;
}

static u32 notes_free(struct crab_notes *notes, u32 *owned)
{
	struct crab_note *note;
	u32 n = 0;

	while ((note = crab_notes_take(notes))) {
		*owned += note->owns;
		kfree(note);
		n++;
	}
	return n;
}

/* The older one of two notes of a key remains, and has the extent if it has the same word */
static void test_notes_treap(bool down)
{
	struct crab_notes to = { }, from = { }, spare = { };
	u32 i, folded = 0, owned = 0;
	u64 key;

	for (i = 0; i < TREAP; i++) {
		key = 1 + (down ? TREAP - 1 - i : i);
		if (key % 2)
			crab_notes_add(&to, note_new(key, key % 3, false));
		crab_notes_add(&from, note_new(key, 1, true));
		if (i % 100 == 0)
			notes_check(&from, i + 1);
	}
	notes_check(&to, TREAP / 2);
	notes_check(&from, TREAP);
	while (crab_notes_fold(&to, &from, &spare))
		folded++;
	tap_check(folded == TREAP && !from.root, "%u are folded", folded);
	notes_check(&to, TREAP);
	for (key = 1; key <= TREAP; key++) {
		const struct crab_note *note = crab_notes_find(&to, key);

		tap_check(note && note->value == (key % 2 ? key % 3 : 1) &&
			  note->owns == (note->value == 1), "note %llu", key);
	}
	tap_check(notes_free(&spare, &owned) == TREAP / 2, "spare notes");
	tap_check(notes_free(&to, &owned) == TREAP && owned == TREAP, "%u own an extent", owned);
	tap_ok(true, "tables of notes, filled %s", down ? "down" : "up");
}

int main(void)
{
	test_names_treap(false);
	test_names_treap(true);
	test_notes_treap(false);
	test_notes_treap(true);
	return tap_done();
}

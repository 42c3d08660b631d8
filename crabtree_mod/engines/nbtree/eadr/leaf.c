// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the slots of a leaf of the layout `eadr`.
 */

/**
 * DOC: slots of eadr
 *
 * A slot is a key word and a value, which change together: 16 bytes, by compare-and-swap. The two
 * highest bits of the key word are the state of the slot, and it only goes forward:
 *
 *   free      live       an insert, in the lowest free slot
 *   live      live       an update: another value
 *   live      dead       a delete
 *   free      dead       the leaf is empty and to be unlinked
 *   live      frozen     the leaf freezes; the record moves to a fresh leaf. This swap is one of
 *                        the key word alone, with any value
 *
 * Slots fill in their order: who uses one has seen that all lower ones are not free any more, and
 * none of them gets another key. So an insert that has not found its key below a free slot, and
 * swaps just that slot, makes the only record of the key. If the swap fails, another task has used
 * the slot, and the insert begins again. Zhang et al. 2024 claim slots by a counter, and commit
 * them later, in any order.
 *
 * A reader stores nothing. It takes the slots in their order, up to the first one that is free. A
 * record that was found is read by a load of its value: the value of a slot does not change after
 * the slot is dead or frozen. A power cut can leave a free slot below one in use, if the insert of
 * the latter found the former in use by its fingerprint and did not read it. From attach on, such
 * a slot counts as dead.
 *
 * DRAM has a fingerprint for each slot, 0 until it is known. The insert that has used a slot notes
 * it: before the swap, another one might note the key that it does not get in there. A delete notes
 * that its slot is void; an insert or a copy that is late may note the key after that.
 *
 * An operation has taken effect with its swap. Caches persist (model E), so a value that another
 * CPU has seen is durable. The fence P6 makes the swap durable before the operation returns. No
 * line is cleaned.
 *
 * Locking: none; RCU keeps the leaf.
 */
#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>

#include "engines/nbtree/fingerprint.h"
#include "engines/select.h"
#include "shared/keyset.h"
#include "slots.h"

#define LINE_SLOTS	((u32)(CRAB_LINE / sizeof(struct nb_dslot)))
#define SLOT_AGAIN	(EA_SLOT_LOST - 1)	/* two loads of a slot differed */
#define SLOT_STATES	4U	/* that a slot has one after the other, at most */

/* A slot never returns to an earlier state. True also if an insert uses the slot meanwhile */
static bool is_free_again(const struct nb_leaf *leaf, u32 slot, u64 word)
{
	if (likely(word != EA_FREE || READ_ONCE(leaf->fp[slot]) <= EA_FP_VOID))
		return false;
	/* Pairs with the swap before ea_note_key(): the next rank has the insert */
	smp_rmb();
	return true;
}

static bool word_has(const struct nb_leaf *leaf, u64 word, u64 key)
{
	return ea_is_record(word) && ea_key(leaf, word) == key;
}

/*
 * A free slot ends the search, but for one below others in use, which counts as dead. Any other
 * slot is loaded again: failing memory may return a word otherwise once. Apart, so that searches
 * which find their key stay short
 */
static noinline bool rest_ends(const struct ea_tree *tree, const struct nb_leaf *leaf,
			       struct ea_slot *found)
{
	if (found->word == EA_FREE && !is_free_again(leaf, found->number, EA_FREE))
		return READ_ONCE(leaf->fp[found->number]) != EA_FP_VOID;
	if (ea_word(tree, leaf, found->number) != found->word)
		found->number = SLOT_AGAIN;
	else if (found->word == EA_FREE)
		found->number = EA_SLOT_LOST;
	return found->number >= SLOT_AGAIN;
}

/*
 * Searches the slots of a word of fingerprints, from @first on, and reads those whose key is not
 * known; true: the search has ended
 */
static __always_inline bool word_find(const struct ea_tree *tree, const struct nb_leaf *leaf,
				      const struct nb_dslot *slots, u64 key, u32 first, u32 end,
				      struct ea_slot *found)
{
	u64 fps = nb_fp_load(leaf, first);
	u64 likely = nb_fp_equal(fps, 0) | nb_fp_equal(fps, ea_fingerprint(key));

	for (; likely; likely &= likely - 1) {
		found->number = first + __ffs64(likely) / NB_FP_BITS;
		if (found->number >= end)
			return false;
		found->word = crab_load_acquire(tree->nb.base.media, &slots[found->number].key);
		if (word_has(leaf, found->word, key) || rest_ends(tree, leaf, found))
			return true;
	}
	return false;
}

static __always_inline struct ea_slot find_once(const struct ea_tree *tree,
						const struct nb_leaf *leaf, u64 key, u32 end)
{
	const struct nb_dslot *slots = ea_slot_at(tree, leaf, 0);
	struct ea_slot found;
	u32 first;

	for (first = 0; first < end; first += NB_FP_BYTES)
		if (word_find(tree, leaf, slots, key, first, end, &found))
			return found;
	return (struct ea_slot) { .number = end, .word = EA_FREE };
}

/* Two loads of a slot differed: another task has changed it, or the media changes by itself */
static noinline struct ea_slot find_again(const struct ea_tree *tree, const struct nb_leaf *leaf,
					  u64 key, u32 end)
{
	u32 tries = SLOT_STATES * tree->nb.room;
	struct ea_slot found;

	do
		found = find_once(tree, leaf, key, end);
	while (found.number == SLOT_AGAIN && --tries);
	return tries ? found : (struct ea_slot) { .number = EA_SLOT_LOST, .word = EA_FREE };
}

struct ea_slot crab_ea_find(const struct ea_tree *tree, const struct nb_leaf *leaf, u64 key,
			    u32 end)
{
	struct ea_slot found = find_once(tree, leaf, key, end);

	return likely(found.number != SLOT_AGAIN) ? found : find_again(tree, leaf, key, end);
}

int crab_ea_add(struct nb_write *write, struct nb_leaf *leaf, u32 slot,
		const struct crab_record *record)
{
	struct ea_tree *tree = ea_tree_of(&write->tree->base);

	if (slot >= tree->nb.room)
		return slot == EA_SLOT_LOST ? -ERANGE : -ENOSPC;
	if (!ea_swap(write, leaf, slot, EA_FREE, ea_value(tree, leaf, slot),
		     EA_LIVE | (record->key & EA_KEY_BITS), record->value))
		return -EAGAIN;
	ea_note_key(leaf, slot, record->key);
	return 0;
}

static bool has_record(const struct ea_tree *tree, const struct nb_leaf *leaf, u32 slot)
{
	return READ_ONCE(leaf->fp[slot]) != EA_FP_VOID &&
	       ea_is_record(ea_word(tree, leaf, slot));
}

/* In the line of @slot, which is in the cache: the header has the place of the first slots */
static bool line_has_record(const struct ea_tree *tree, const struct nb_leaf *leaf, u32 slot)
{
	u32 place = offsetof(struct nb_dleaf, slot[slot]) % CRAB_LINE / sizeof(struct nb_dslot);
	u32 end = min(slot + LINE_SLOTS - place, tree->nb.room);

	for (slot -= min(slot, place); slot < end; slot++)
		if (has_record(tree, leaf, slot))
			return true;
	return false;
}

/* Among the slots of a word of fingerprints, from @first on */
static bool word_has_record(const struct ea_tree *tree, const struct nb_leaf *leaf, u32 first)
{
	u64 rest = nb_fp_load(leaf, first) ^ NB_FP_EACH * EA_FP_VOID;
	u32 at;

	for (; rest; rest &= ~(0xffULL << at * NB_FP_BITS)) {
		at = __ffs64(rest) / NB_FP_BITS;
		if (first + at >= tree->nb.room)
			return false;
		if (has_record(tree, leaf, first + at))
			return true;
	}
	return false;
}

bool crab_ea_is_empty(const struct ea_tree *tree, const struct nb_leaf *leaf, u32 near)
{
	u32 first;

	if (line_has_record(tree, leaf, near))
		return false;
	for (first = 0; first < tree->nb.room; first += NB_FP_BYTES)
		if (word_has_record(tree, leaf, first))
			return false;
	return true;
}

bool crab_ea_close(struct nb_write *write, struct nb_leaf *leaf)
{
	struct ea_tree *tree = ea_tree_of(&write->tree->base);
	u64 word;
	u32 slot;

	/* A record that reads as dead once would be lost */
	for (slot = 0; slot < tree->nb.room; slot++) {
		word = ea_word(tree, leaf, slot);
		if (word == EA_FREE)
			ea_swap(write, leaf, slot, EA_FREE, ea_value(tree, leaf, slot), EA_DEAD, 0);
		if ((word != EA_FREE && !ea_is_dead(word)) ||
		    !ea_is_dead(ea_word(tree, leaf, slot)))
			return false;
	}
	return true;
}

/* How far a slot has gone: a sum over all slots that did not change means that no key did */
static u32 slot_rank(u64 word)
{
	return word == EA_FREE ? 0 : ea_is_record(word) ? 1 : 2;
}

static u32 leaf_rank(const struct ea_tree *tree, const struct nb_leaf *leaf)
{
	u32 slot, sum = 0;

	for (slot = 0; slot < tree->nb.room; slot++)
		sum += slot_rank(ea_word(tree, leaf, slot));
	return sum;
}

/* The rank of a leaf rises so often, at most: to 2 for each slot */
static u32 most_ranks(const struct ea_tree *tree)
{
	return 2 * tree->nb.room;
}

/*
 * Has a write changed a leaf since a reading of all slots? After @readings the media changes by
 * itself, and any reading is as good
 */
static bool is_disturbed(const struct ea_tree *tree, const struct nb_leaf *leaf, u32 rank,
			 u32 *readings)
{
	return leaf_rank(tree, leaf) != rank && ++*readings <= most_ranks(tree);
}

/* The range may have grown since its end was read */
static bool is_outside(const struct ea_tree *tree, const struct nb_leaf *leaf, u64 key, u64 high)
{
	return key < leaf->low || (key >= high && key >= crab_ea_high(tree, leaf));
}

/* Is a key nearer to the begin of a seek, in its direction, than the best one so far? */
static bool is_nearer(u64 key, u64 from, enum crab_seek_dir dir, bool any, u64 best)
{
	if (dir == CRAB_SEEK_GE)
		return key >= from && (!any || key < best);
	return key <= from && (!any || key > best);
}

/* One reading of all slots; returns the result of crab_ea_near(). @rank: out: of the leaf */
static int near_once(const struct ea_tree *tree, const struct nb_leaf *leaf,
		     const struct nb_read *read, u32 *rank)
{
	struct crab_record *record = read->records;
	int err = -ENOENT;
	u64 word, key;
	u32 slot;

	*rank = 0;
	for (slot = 0; slot < tree->nb.room; slot++) {
		word = ea_word(tree, leaf, slot);
		*rank += slot_rank(word);
		key = ea_key(leaf, word);
		if (is_free_again(leaf, slot, word) ||
		    (ea_is_record(word) && is_outside(tree, leaf, key, read->high)))
			err = -ERANGE;
		if (err == -ERANGE || !ea_is_record(word) ||
		    !is_nearer(key, read->key, read->dir, !err, record->key))
			continue;
		record->key = key;
		record->value = ea_value(tree, leaf, slot);
		err = 0;
	}
	return err;
}

int crab_ea_near(const struct ea_tree *tree, const struct nb_leaf *leaf,
		 const struct nb_read *read)
{
	u32 rank, readings = 0;
	int err;

	do
		err = near_once(tree, leaf, read, &rank);
	while (is_disturbed(tree, leaf, rank, &readings));
	return err;
}

/* One reading of all records, in the order of their slots; returns the rank. @count: or -ERANGE */
static u32 records_once(const struct ea_tree *tree, const struct nb_leaf *leaf,
			struct crab_record *records, int *count)
{
	u32 slot, sum = 0, n = 0;
	bool freed = false;
	u64 word;

	for (slot = 0; slot < tree->nb.room; slot++) {
		word = ea_word(tree, leaf, slot);
		sum += slot_rank(word);
		freed |= is_free_again(leaf, slot, word);
		records[n].key = ea_key(leaf, word);
		records[n].value = ea_value(tree, leaf, slot);
		n += ea_is_record(word);
	}
	*count = freed ? -ERANGE : (int)n;
	return sum;
}

int crab_ea_sorted(const struct ea_tree *tree, const struct nb_leaf *leaf, u64 high,
		   struct crab_record *records)
{
	u32 rank, readings = 0;
	int count;

	do
		rank = records_once(tree, leaf, records, &count);
	while (is_disturbed(tree, leaf, rank, &readings));
	if (count <= 0)
		return count;
	crab_sort(records, count);
	if (records[count - 1].key >= high)	/* the range may have grown */
		high = crab_ea_high(tree, leaf);
	return crab_records_fault(records, count, leaf->low, high) ? -ERANGE : count;
}

/**
 * struct ea_pass - a pass over the slots of a leaf, in their order
 * @high: the end of the range of the leaf, read before the slots
 * @seen: their keys
 */
struct ea_pass {
	u64 high;
	struct crab_keyset seen;
};

static const char *key_fault(const struct ea_tree *tree, const struct nb_leaf *leaf, u32 slot,
			     u64 key, struct ea_pass *pass)
{
	if (is_outside(tree, leaf, key, pass->high))
		return "a key is out of its range";
	if (crab_keyset_add(&pass->seen, key) &&
	    ea_is_record(crab_ea_find(tree, leaf, key, slot).word))
		return "a key occurs twice";
	return NULL;
}

static const char *word_fault(const struct ea_tree *tree, const struct nb_leaf *leaf, u32 slot,
			      u64 word, struct ea_pass *pass)
{
	u8 fp = READ_ONCE(leaf->fp[slot]);
	u64 key = ea_key(leaf, word);

	if (is_free_again(leaf, slot, word))
		return "a slot in use is free";
	if (!ea_is_record(word))
		return word == EA_FREE || ea_is_dead(word) ? NULL : "a slot has an unknown state";
	if (fp && fp != ea_fingerprint(key))
		return "a key does not have its fingerprint";
	return key_fault(tree, leaf, slot, key, pass);
}

/* Is it a record without a fault, as almost all are? It is the first one with its key in a pass */
static __always_inline bool is_sound(const struct nb_leaf *leaf, u32 slot, u64 word, u64 low,
				     struct ea_pass *pass)
{
	u64 key = ea_key_of(low, word);

	return ea_is_record(word) && READ_ONCE(leaf->fp[slot]) == ea_fingerprint(key) &&
	       key >= low && key < pass->high && !crab_keyset_add(&pass->seen, key);
}

/* One reading of all slots; @rank: out: of the leaf */
static const char *fault_once(const struct ea_tree *tree, const struct nb_leaf *leaf,
			      struct crab_record *keys, u32 *count, u32 *rank)
{
	struct ea_pass pass = { .high = crab_ea_high(tree, leaf) };
	const struct nb_dslot *d = ea_slot_at(tree, leaf, 0);
	u32 slot, records = 0, others = 0, room = tree->nb.room;
	const char *fault = NULL;
	u64 word, low = leaf->low;
	bool end = false;

	for (slot = 0; slot < room; slot++, d++) {
		word = crab_load_acquire(tree->nb.base.media, &d->key);
		if (likely(is_sound(leaf, slot, word, low, &pass) && !end)) {
			keys[records++].key = ea_key_of(low, word);
			continue;
		}
		fault = fault ?: word_fault(tree, leaf, slot, word, &pass);
		if (end && word != EA_FREE)
			fault = fault ?: "a slot in use follows a free one";
		end = word == EA_FREE && READ_ONCE(leaf->fp[slot]) != EA_FP_VOID;
		if (ea_is_record(word))
			keys[records++].key = ea_key_of(low, word);
		else
			others += slot_rank(word);
	}
	*count = records;
	*rank = records + others;
	return fault;
}

const char *crab_ea_fault(const struct ea_tree *tree, const struct nb_leaf *leaf,
			  struct crab_record *keys, u32 *count)
{
	u32 rank, readings = 0;
	const char *fault;

	do
		fault = fault_once(tree, leaf, keys, count, &rank);
	while (fault && is_disturbed(tree, leaf, rank, &readings));
	return readings > most_ranks(tree) ? "its slots change without a write" : fault;
}

int crab_ea_damaged(struct ea_tree *tree, const struct nb_leaf *leaf, const char *what)
{
	struct crab_engine *engine = &tree->nb.base;

	/* One task describes it */
	if (READ_ONCE(tree->damaged) || cmpxchg(&tree->damaged, 0, 1))
		return -EUCLEAN;
	if (!leaf)
		return crab_engine_damaged(engine, CRAB_HEAD_OFFSET, "%s", what);
	return crab_engine_damaged(engine, crab_leaf_offset(&engine->geo, leaf->number),
				   "leaf %llu: %s", (unsigned long long)leaf->number, what);
}

/* A slot below one in use has a fingerprint also without a key: the search does not read it */
static const char *slot_open(struct ea_tree *tree, struct nb_leaf *leaf, u32 slot, u64 word,
			     struct ea_pass *pass)
{
	u64 key = ea_key(leaf, word);
	u32 i;

	for (i = slot + 1; i && !leaf->fp[i - 1]; i--)
		leaf->fp[i - 1] = EA_FP_VOID;
	if (!ea_is_record(word))
		return ea_is_dead(word) ? NULL : "a slot has an unknown state";
	leaf->fp[slot] = ea_fingerprint(key);
	tree->torn |= ea_is_frozen(word);
	return key_fault(tree, leaf, slot, key, pass);
}

const char *crab_ea_open_slots(struct ea_tree *tree, struct nb_leaf *leaf)
{
	struct ea_pass pass = { .high = leaf->high };
	const char *fault = NULL;
	u32 slot, count = 0;
	u64 word;

	for (slot = 0; slot < tree->nb.room && !fault; slot++) {
		word = ea_settled(tree, leaf, slot);
		if (word == EA_FREE)
			continue;
		count += ea_is_record(word);
		fault = slot_open(tree, leaf, slot, word, &pass);
	}
	if (!fault)
		tree->nb.records += count;
	if (!count && leaf->low & EA_KEY_BITS)
		atomic_inc(&tree->skipped);
	return fault;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements how attach follows the list of leaves, in what it read of
 * their headers.
 *
 * A link says where the next leaf is, so one who follows them waits for memory once for
 * each. Therefore many do, each from another leaf, until it meets the way of another one;
 * the ways that lead from the head to the end, put together, are the list. A way may begin
 * in a leaf that is in no list: what the head does not lead to does not count. Where
 * that comes to no end there is damage, or what a cut left, and one follows the list again
 * who can tell what it is.
 *
 * Invariant: a place of the list is given to a leaf only if every link from the head to it
 * was held against place, birth and least key of what it leads to.
 *
 * Locking: the caller has the region to itself.
 */
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/prefetch.h>
#include <linux/sched.h>

#include "../../badmem.h"
#include "recover.h"

static void recover_damage(struct recover *r, u64 offset, const char *what, u64 number)
{
	crab_damage_note(&r->tree->base.damage, offset, "%s (leaf %llu)", what,
			 (unsigned long long)number);
}

/*
 * The first leaf of the list was born for the least key there is, also where a
 * sorted one no longer holds it; the first key of an empty one is CRAB_KEY_EMPTY,
 * for which no slotted one was born
 */
static bool recover_ascends(const struct recover *r, const struct recover_leaf *at, u64 above,
			    bool first)
{
	if (first)
		return at->first;
	return at->low > above && (r->tree->sorted || at->low != CRAB_KEY_EMPTY);
}

/*
 * What a link leads to: the place it names, if that is a leaf of this store with
 * the birth that the link was made for, was not met before and has a greater
 * least key. Otherwise says why not.
 */
static const char *recover_follow(const struct recover *r, u64 word, u64 above, bool first,
				  u64 *number)
{
	const struct crab_geometry *geo = &r->tree->base.geo;
	const struct recover_leaf *at;
	u64 n = (word & CRAB_LINK_MASK) - 1;

	*number = n;
	if (n >= geo->leaves)
		return "link out of the pool";
	at = &r->at[n];
	if (at->listed)
		return "link to a leaf that is in the list already";
	if (!at->valid)
		return crab_badmem_hits(r->tree->base.media, crab_leaf_offset(geo, n), CRAB_LINE) ?
			"link to a leaf whose header is in uncorrectable memory" :
			"link to a leaf without a valid header";
	if (word != crab_link_to(geo, n, at->birth))
		return "link to a leaf of another birth";
	if (!recover_ascends(r, at, above, first))
		return "least keys of leaves do not ascend";
	return NULL;
}

/*
 * A link led nowhere because the header of its target is damaged: the
 * target's own link may still be good, and the list goes on behind a gap.
 */
static bool recover_bridge(const struct recover *r, u64 broken, u64 above, u64 *word)
{
	const struct crab_tree *tree = r->tree;
	u64 n;

	if (broken >= tree->base.geo.leaves || r->at[broken].valid || r->at[broken].listed)
		return false;
	if (!crab_badmem_probe(tree->base.media, crab_leaf_offset(&tree->base.geo, broken),
			       CRAB_LINE))
		return false;
	*word = crab_load(tree->base.media, &crab_leaf_media(tree, broken)->head.next);
	return *word & CRAB_LINK_MASK && !recover_follow(r, *word, above, false, &n);
}

static bool recover_is_end(const struct recover *r, u64 word, u64 number, u64 birth)
{
	const struct crab_geometry *geo = &r->tree->base.geo;

	return word == crab_link_end(geo->store_id, crab_leaf_offset(geo, number), birth);
}

static void walker_enter(struct recover *r, struct recover_walker *w, u64 number)
{
	struct recover_leaf *at = &r->at[number];
	u64 next = (at->next & CRAB_LINK_MASK) - 1;

	w->number = number;
	at->walked = true;
	at->walker = w - r->walkers;
	at->place = w->count++;
	if (next < r->tree->base.geo.leaves)
		prefetchw(&r->at[next]);
}

/* False: it goes no further. A leaf that holds nothing, which a cut left, stops it, too. */
static bool walker_step(struct recover *r, struct recover_walker *w)
{
	struct recover_leaf *at = &r->at[w->number];
	u64 word = at->next, n;

	if (recover_is_end(r, word, w->number, at->birth)) {
		at->high = CRAB_KEY_EMPTY;
		w->ended = true;
		return false;
	}
	if (recover_follow(r, word, at->low, false, &n) || r->at[n].low == CRAB_KEY_EMPTY)
		return false;
	at->high = r->at[n].low;
	if (r->at[n].walked) {
		w->met = n;
		return false;
	}
	walker_enter(r, w, n);
	return true;
}

/* In its share of the pool */
static u64 walker_start(const struct recover *r, u32 i)
{
	u64 n = div_u64(r->extent * i, RECOVER_WALKERS);
	u64 to = div_u64(r->extent * (i + 1), RECOVER_WALKERS);

	while (n < to && (!r->at[n].valid || r->at[n].walked || r->at[n].low == CRAB_KEY_EMPTY))
		n++;
	return n < to ? n : CRAB_LEAF_NOWHERE;
}

/* @first: the leaf to which the head leads; returns how many walkers there are */
static u32 walkers_begin(struct recover *r, u64 first, struct recover_walker **walking)
{
	struct recover_walker *w;
	u32 count = 0, i;
	u64 n;

	for (i = 0; i < RECOVER_WALKERS; i++) {
		n = i ? walker_start(r, i) : first;
		if (n == CRAB_LEAF_NOWHERE)
			continue;
		w = &r->walkers[i];
		w->met = CRAB_LEAF_NOWHERE;
		walker_enter(r, w, n);
		walking[count++] = w;
	}
	return count;
}

/* The ways that together lead from the head to the end; over each link least keys ascend */
static bool recover_join(struct recover *r)
{
	struct recover_walker *w = r->walkers;
	const struct recover_leaf *at;

	for (;;) {
		w->listed = true;
		w->nth = r->count;
		r->count += w->count - w->from;
		if (w->ended)
			return true;
		if (w->met == CRAB_LEAF_NOWHERE)
			return false;
		at = &r->at[w->met];
		w = &r->walkers[at->walker];
		w->from = at->place;
	}
}

bool crab_recover_walk(struct recover *r, u64 word)
{
	struct recover_walker *walking[RECOVER_WALKERS];
	u64 first, steps = 0;
	u32 count, i = 0;

	if (recover_follow(r, word, 0, true, &first))
		return false;
	r->at[first].low = 0;
	for (count = walkers_begin(r, first, walking); count; i = i + 1 < count ? i + 1 : 0) {
		if (!walker_step(r, walking[i]))
			walking[i] = walking[--count];
		if (!(steps++ & RECOVER_BREATHE))
			cond_resched();
	}
	return recover_join(r);
}

/* Where each range ends, which a gap does not say, nor a leaf that holds nothing */
static void recover_highs(struct recover *r)
{
	u64 low = CRAB_KEY_EMPTY, high = CRAB_KEY_EMPTY, i = r->count;
	struct recover_leaf *at;

	while (i--) {
		if (r->nth[i].number == CRAB_LEAF_NOWHERE)
			continue;
		at = &r->at[r->nth[i].number];
		high = low > at->low ? low : high;
		low = at->low;
		at->high = high;
	}
}

static void recover_add(struct recover *r, u64 number, u64 low)
{
	struct recover_leaf *at = &r->at[number];

	at->low = low;
	at->walked = true;
	at->listed = true;
	at->place = r->count;
	r->nth[r->count++].number = number;
}

/*
 * Behind each gap but the last is a leaf, to which a link led from one that is not valid:
 * places of the list are at most one more than those of the pool.
 */
void crab_recover_list(struct recover *r, u64 word)
{
	u64 n = 0, number = 0, low = 0, offset = CRAB_HEAD_OFFSET;
	struct recover_leaf *at = NULL;
	const char *what;

	r->walkers[0].listed = true;
	while (!at || !recover_is_end(r, word, number, at->birth)) {
		what = recover_follow(r, word, low, !r->count, &n);
		if (what) {
			recover_damage(r, offset, what, n);
			r->nth[r->count++].number = CRAB_LEAF_NOWHERE;
			if (recover_bridge(r, n, low, &word))
				continue;
			break;
		}
		number = n;
		at = &r->at[number];
		if (r->count && at->low != CRAB_KEY_EMPTY)
			low = at->low;
		word = at->next;
		offset = crab_leaf_offset(&r->tree->base.geo, number);
		recover_add(r, number, low);
		if (!(r->count & RECOVER_BREATHE))
			cond_resched();
	}
	recover_highs(r);
}

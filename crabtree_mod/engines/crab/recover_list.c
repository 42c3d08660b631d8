// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the pass of attach that follows the list of leaves, in the entries of their
 * headers.
 *
 * A link names the next leaf, so a single walker waits for memory once for each leaf. Therefore
 * many walkers follow the list, each from another leaf, until it meets the path of another one. The
 * paths that lead from the head to the end form the list. A path may begin in a leaf that is not in
 * the list: leaves that the head does not reach are ignored. If the paths do not reach the end,
 * there is damage, or a sorted leaf without records; crab_recover_list() then follows the list
 * again and identifies the cause.
 *
 * Invariant: a leaf gets a place of the list only if every link from the head to it was compared
 * with place, birth and lowest key of its target.
 *
 * Locking: no other caller uses the region.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/math64.h>
#include <linux/prefetch.h>
#include <linux/sched.h>

#include "media/badmem.h"
#include "layout.h"
#include "recover.h"

static void recover_damage(struct recover *r, u64 offset, const char *what, u64 number)
{
	crab_damage_note(&r->tree->base.damage, offset, "%s (leaf %llu)", what,
			 (unsigned long long)number);
}

/*
 * The first leaf of the list was born for the lowest possible key, even if a
 * sorted one no longer holds it; the first key of an empty one is CRAB_KEY_EMPTY,
 * for which no slotted one was born
 */
static bool recover_ascends(const struct recover *r, const struct recover_leaf *at, u64 above,
			    bool first)
{
	if (first)
		return at->first;
	return at->low > above && crab_layout_is_low(r->tree, at->low);
}

/* The entry of the leaf that a link names; NULL if there is none */
static struct recover_leaf *recover_named(const struct recover *r, u64 word)
{
	u64 n = (word & CRAB_LINK_MASK) - 1;

	return n < r->tree->base.geo.extent ? recover_at(r, n) : NULL;
}

/*
 * The error of the leaf that a link names, whose entry is @at: it must belong to this store, with
 * the birth that the link names, not occur twice, and have a higher lowest key. NULL: no error.
 */
static const char *recover_doubt(const struct recover *r, u64 word, const struct recover_leaf *at,
				 u64 above, bool first)
{
	const struct crab_geometry *geo = &r->tree->base.geo;
	u64 n = (word & CRAB_LINK_MASK) - 1;

	if (n >= geo->leaves)
		return "link out of the pool";
	if (!at)
		return crab_badmem_hits(r->tree->base.media, crab_leaf_offset(geo, n), CRAB_LINE) ?
			"link to a leaf whose header is in uncorrectable memory" :
			"link to a leaf without a valid header";
	if (at->listed)
		return "link to a leaf that is in the list already";
	if (word != crab_link_to(geo, n, at->birth))
		return "link to a leaf of another birth";
	if (!recover_ascends(r, at, above, first))
		return "least keys of leaves do not ascend";
	return NULL;
}

/*
 * A link has no valid target because the header of the target is damaged: the
 * target's own link may still be valid, and the list continues after a gap.
 */
static bool recover_bridge(const struct recover *r, u64 above, u64 *word)
{
	const struct crab_tree *tree = r->tree;
	u64 n = (*word & CRAB_LINK_MASK) - 1;

	if (n >= tree->base.geo.leaves || recover_named(r, *word))
		return false;
	if (!crab_badmem_probe(tree->base.media, crab_leaf_offset(&tree->base.geo, n), CRAB_LINE))
		return false;
	*word = crab_load(tree->base.media, &crab_leaf_media(tree, n)->head.next);
	return *word & CRAB_LINK_MASK &&
	       !recover_doubt(r, *word, recover_named(r, *word), above, false);
}

static bool recover_is_end(const struct recover *r, u64 word, u64 number, u64 birth)
{
	const struct crab_geometry *geo = &r->tree->base.geo;

	return word == crab_link_end(geo->store_id, crab_leaf_offset(geo, number), birth);
}

static void walker_enter(struct recover *r, struct recover_walker *w, u64 number,
			 struct recover_leaf *at)
{
	w->number = number;
	w->at = at;
	w->next = recover_named(r, at->next);
	at->walked = true;
	at->walker = w - r->walkers;
	at->place = w->count++;
	prefetchw(w->next);
}

/* False: the path ends. A sorted leaf without records ends it, too: no cut leaves one. */
static bool walker_step(struct recover *r, struct recover_walker *w)
{
	struct recover_leaf *at = w->at, *next = w->next;
	u64 word = at->next;

	if (recover_is_end(r, word, w->number, at->birth)) {
		at->high = CRAB_KEY_EMPTY;
		w->ended = true;
		return false;
	}
	if (recover_doubt(r, word, next, at->low, false) || next->low == CRAB_KEY_EMPTY)
		return false;
	at->high = next->low;
	if (next->walked) {
		w->met = next;
		return false;
	}
	walker_enter(r, w, (word & CRAB_LINK_MASK) - 1, next);
	return true;
}

/* The first leaf in the share @i of the pool where a path may begin, or NULL */
static struct recover_leaf *walker_start(const struct recover *r, u32 i, u64 *n)
{
	u64 to = div_u64(r->extent * (i + 1), RECOVER_WALKERS);
	struct recover_leaf *at;

	for (*n = div_u64(r->extent * i, RECOVER_WALKERS); *n < to; ++*n) {
		at = recover_at(r, *n);
		if (at && !at->walked && at->low != CRAB_KEY_EMPTY)
			return at;
		if (!(*n & RECOVER_BREATHE))
			cond_resched();
	}
	return NULL;
}

/* @n: the leaf that the head names; returns the number of walkers */
static u32 walkers_begin(struct recover *r, u64 n, struct recover_walker **walking)
{
	struct recover_leaf *at = recover_at(r, n);
	struct recover_walker *w = r->walkers;
	u32 count = 0, i;

	for (i = 0; i < RECOVER_WALKERS; i++, w++) {
		if (i)
			at = walker_start(r, i, &n);
		if (!at)
			continue;
		walker_enter(r, w, n, at);
		walking[count++] = w;
	}
	return count;
}

/* The paths that together lead from the head to the end; lowest keys ascend over each link */
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
		at = w->met;
		if (!at)
			return false;
		w = &r->walkers[at->walker];
		w->from = at->place;
	}
}

bool crab_recover_walk(struct recover *r, u64 word)
{
	struct recover_walker *walking[RECOVER_WALKERS];
	struct recover_leaf *first = recover_named(r, word);
	u64 steps = 0;
	u32 count, i = 0;

	if (recover_doubt(r, word, first, 0, true))
		return false;
	first->low = 0;
	count = walkers_begin(r, (word & CRAB_LINK_MASK) - 1, walking);
	for (; count; i = i + 1 < count ? i + 1 : 0) {
		if (!walker_step(r, walking[i]))
			walking[i] = walking[--count];
		if (!(steps++ & RECOVER_BREATHE) && crab_recover_breathe(r))
			return false;
	}
	return recover_join(r);
}

/* The end of each range, unknown for a gap and for a sorted leaf without records */
static void recover_highs(struct recover *r)
{
	u64 low = CRAB_KEY_EMPTY, high = CRAB_KEY_EMPTY, i = r->count;
	struct recover_leaf *at;

	while (i--) {
		if (!(i & RECOVER_BREATHE))
			cond_resched();
		if (r->nth[i].number == CRAB_LEAF_NOWHERE)
			continue;
		at = recover_at(r, r->nth[i].number);
		high = low > at->low ? low : high;
		low = at->low;
		at->high = high;
	}
}

static void recover_add(struct recover *r, u64 number, struct recover_leaf *at, u64 low)
{
	at->low = low;
	at->walked = true;
	at->listed = true;
	at->place = r->count;
	r->nth[r->count++].number = number;
}

/* A gap; false if the list cannot be followed beyond it. @word: the link without a target. */
static bool recover_gap(struct recover *r, const char *what, u64 offset, u64 low, u64 *word)
{
	recover_damage(r, offset, what, (*word & CRAB_LINK_MASK) - 1);
	r->nth[r->count++].number = CRAB_LEAF_NOWHERE;
	return recover_bridge(r, low, word);
}

/*
 * Each gap but the last is followed by a leaf, so the list has at most one gap more than
 * there are leaves with a valid header.
 */
int crab_recover_list(struct recover *r, u64 word)
{
	u64 number = 0, low = 0, offset = CRAB_HEAD_OFFSET;
	struct recover_leaf *at = NULL, *next;
	const char *what;

	if (crab_recover_places(r, 2 * r->valid + 1))
		return -ENOMEM;
	r->walkers[0].listed = true;
	while (!at || !recover_is_end(r, word, number, at->birth)) {
		if (!(r->count & RECOVER_BREATHE) && crab_recover_breathe(r))
			return -EINTR;
		next = recover_named(r, word);
		what = recover_doubt(r, word, next, low, !r->count);
		if (what) {
			if (!recover_gap(r, what, offset, low, &word))
				break;
			continue;
		}
		at = next;
		number = (word & CRAB_LINK_MASK) - 1;
		if (r->count && at->low != CRAB_KEY_EMPTY)
			low = at->low;
		word = at->next;
		offset = crab_leaf_offset(&r->tree->base.geo, number);
		recover_add(r, number, at, low);
	}
	recover_highs(r);
	return 0;
}

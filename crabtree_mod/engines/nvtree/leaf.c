// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements leaves: elements in the order in which they were appended.
 */

/**
 * DOC: leaves of nvtree
 *
 * A leaf has a header, a count, and elements of key and value, three to a line. A word in the line
 * of an element has the sign of each of the three: a negative element deletes its key. The newest
 * element of a key decides, so that an update appends one element, and equal values have no
 * special meaning. An append is two lines and two fences:
 *
 *   store the element and the sign word of its line, clean
 *   P11  they are durable
 *   store the count, clean
 *   P6   it is durable; readers may see the element
 *
 * Nothing reads elements from the count on, so that a cut before P11 leaves no trace: the next
 * append writes the slot and its sign again. The count is one word, so that a cut between P11 and
 * P6 leaves all of the append or nothing; with the option `pairs`, too, where an update appends the
 * negative of the old record and a new one.
 *
 * Invariants: the elements of one key begin with one that is not negative, and no two negative ones
 * follow each other. A fresh leaf has one element for each record, in order.
 *
 * Locking: access.c documents it. A function that readers call is bounded for any values that it
 * reads.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/math.h>
#include <linux/sort.h>

#include "leaf.h"
#include "media/again.h"

static struct nv_dline *leaf_line(const struct nv_tree *tree, u64 leaf, u32 at)
{
	return &nv_leaf_media(tree, leaf)->line[at / NV_LINE_SLOTS];
}

static struct nv_dslot *leaf_slot(const struct nv_tree *tree, u64 leaf, u32 at)
{
	return &leaf_line(tree, leaf, at)->slot[at % NV_LINE_SLOTS];
}

static u64 leaf_signs(const struct nv_tree *tree, u64 leaf, u32 at)
{
	return crab_load(tree->base.media, &leaf_line(tree, leaf, at)->sign);
}

static bool sign_is_negative(u64 signs, u32 at)
{
	return signs >> at % NV_LINE_SLOTS & 1;
}

/* A sign word with more bits, as all ones, belongs to media that has changed */
static bool signs_are_valid(u64 signs)
{
	return !(signs >> NV_LINE_SLOTS);
}

u64 crab_nv_leaf_key(const struct nv_tree *tree, u64 leaf, u32 at)
{
	return crab_load(tree->base.media, &leaf_slot(tree, leaf, at)->key);
}

/* Loads an element. It has the reserved key if its sign word has bits that no append stores */
static struct nv_element element_load(const struct nv_tree *tree, u64 leaf, u32 at)
{
	u64 signs = leaf_signs(tree, leaf, at);

	return (struct nv_element) {
		.key = likely(signs_are_valid(signs)) ? crab_nv_leaf_key(tree, leaf, at) :
							CRAB_KEY_EMPTY,
		.value = crab_load(tree->base.media, &leaf_slot(tree, leaf, at)->value),
		.negative = sign_is_negative(signs, at),
		.at = at,
	};
}

/* The value of an element with the key, which reads the same again; -ENOENT if it is negative */
static noinline int element_get(const struct nv_tree *tree, const struct nv_dline *line, u32 i,
				u64 key, u64 *value)
{
	const struct crab_media *media = tree->base.media;
	u64 signs = crab_load(media, &line->sign), again = crab_load(media, &line->sign);

	/* An element after it may get its sign meanwhile */
	if (!signs_are_valid(signs | again) ||
	    sign_is_negative(signs, i) != sign_is_negative(again, i) ||
	    crab_load(media, &line->slot[i].key) != key)
		return -ERANGE;
	if (sign_is_negative(signs, i))
		return -ENOENT;
	*value = crab_load(media, &line->slot[i].value);
	return 0;
}

/*
 * The newest one with the key of the first @n elements of a line; @n: none. Each key is loaded
 * twice: one that reads otherwise once may be that of the key. *@changed: there was one
 */
static __always_inline u32 line_find(const struct crab_media *media, const struct nv_dline *line,
				     u32 n, u64 key, u64 *changed)
{
	u32 i = n;
	u64 found;

	while (i--) {
		found = crab_load(media, &line->slot[i].key);
		if (found == key)
			return i;
		barrier();
		*changed |= found == CRAB_KEY_EMPTY ||
			    crab_load_again(media, &line->slot[i].key) != found;
	}
	return n;
}

int crab_nv_leaf_get(const struct nv_tree *tree, u64 leaf, u32 count, u64 key, u64 *value)
{
	const struct nv_dline *first = leaf_line(tree, leaf, 0);
	const struct nv_dline *line = leaf_line(tree, leaf, count);
	u32 n = count % NV_LINE_SLOTS, i;
	int err = -ENOENT;
	u64 changed = 0;

	for (;; line--, n = NV_LINE_SLOTS) {
		i = line_find(tree->base.media, line, n, key, &changed);
		if (i < n || line == first)
			break;
	}
	if (i < n)
		err = element_get(tree, line, i, key, value);
	return likely(!changed) ? err : -ERANGE;
}

static int element_compare(const void *a, const void *b)
{
	const struct nv_element *x = a, *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->at < y->at ? -1 : 1;
}

void crab_nv_leaf_read(const struct nv_tree *tree, u64 leaf, u32 count,
		       struct nv_element *elements)
{
	u32 at;

	for (at = 0; at < count; at++)
		elements[at] = element_load(tree, leaf, at);
	sort(elements, count, sizeof(*elements), element_compare, NULL);
}

/* The sum of the words of a line, of which @n elements count; another value of one changes it */
static u64 line_sum(const struct crab_media *media, const struct nv_dline *line, u32 n,
		    bool values)
{
	u64 sum = crab_load(media, &line->sign) & ((1ULL << n) - 1);
	u32 i;

	for (i = 0; i < n; i++) {
		sum += crab_load(media, &line->slot[i].key);
		sum += values ? crab_load(media, &line->slot[i].value) : 0;
	}
	return sum;
}

bool crab_nv_leaf_agrees(const struct nv_tree *tree, u64 leaf, u32 count,
			 const struct nv_element *elements, bool values)
{
	const struct nv_dline *line = leaf_line(tree, leaf, 0);
	const struct nv_element *e = elements;
	u64 sum = 0;
	u32 at;

	for (; e < elements + count; e++) {
		sum -= e->key + ((u64)e->negative << e->at % NV_LINE_SLOTS);
		sum -= values ? e->value : 0;
	}
	for (at = 0; at < count; at += NV_LINE_SLOTS, line++)
		sum += line_sum(tree->base.media, line, min(count - at, NV_LINE_SLOTS), values);
	return !sum;
}

u32 crab_nv_leaf_records(const struct nv_element *elements, u32 count,
			 struct crab_record *records)
{
	u32 i, n = 0;

	for (i = 0; i < count; i++) {
		if (elements[i].negative ||
		    (i + 1 < count && elements[i + 1].key == elements[i].key))
			continue;
		records[n].key = elements[i].key;
		records[n++].value = elements[i].value;
	}
	return n;
}

const char *crab_nv_leaf_fault(const struct nv_element *elements, u32 count, u64 low, u64 high)
{
	bool deleted;
	u32 i;

	for (i = 0; i < count; i++) {
		if (elements[i].key < low || elements[i].key >= high)
			return "key outside the leaf's range";
		deleted = !i || elements[i - 1].key != elements[i].key || elements[i - 1].negative;
		if (deleted && elements[i].negative)
			return "a key is deleted that is not there";
	}
	return NULL;
}

bool crab_nv_leaf_takes(const struct nv_tree *tree, struct nv_place *place)
{
	u32 at = place->side->count;

	/* The first element of a line writes the whole word */
	place->signs = 0;
	if (!(at % NV_LINE_SLOTS))
		return true;
	place->signs = leaf_signs(tree, place->leaf, at);
	return signs_are_valid(place->signs) && leaf_signs(tree, place->leaf, at) == place->signs;
}

/* The sign word with the sign of one more element */
static u64 signs_add(u64 *signs, u32 at, bool negative)
{
	u32 bit = at % NV_LINE_SLOTS;

	*signs = (*signs & ((1ULL << bit) - 1)) | (u64)negative << bit;
	return *signs;
}

void crab_nv_leaf_append(struct nv_write *write, const struct nv_place *place,
			 const struct nv_element *elements, u32 n)
{
	const struct nv_tree *tree = write->tree;
	struct nv_dleaf *d = nv_leaf_media(tree, place->leaf);
	struct crab_flow *flow = write->flow;
	struct nv_dline *line;
	struct nv_dslot *slot;
	u32 at = place->side->count, end = at + n;
	u64 signs = place->signs;

	for (; at < end; at++, elements++) {
		line = leaf_line(tree, place->leaf, at);
		slot = leaf_slot(tree, place->leaf, at);
		crab_store(flow, &slot->key, elements->key);
		crab_store(flow, &slot->value, elements->value);
		crab_store(flow, &line->sign, signs_add(&signs, at, elements->negative));
		if (at + 1 == end || at % NV_LINE_SLOTS == NV_LINE_SLOTS - 1)
			crab_clean(flow, &line->sign, sizeof(line->sign));
	}
	/* P11: the elements are durable before the count includes them */
	crab_fence(flow, CRAB_P11_APPENDED);
	crab_store(flow, &d->count, end);
	crab_clean(flow, &d->count, sizeof(d->count));
	/* P6: the count is durable before readers see it */
	crab_fence(flow, CRAB_P6_RECORD);
	/* Pairs with smp_load_acquire() of the count by readers */
	smp_store_release(&place->side->count, end);
}

static void fresh_line(struct crab_flow *flow, struct nv_dline *line,
		       const struct crab_record *records, u32 count)
{
	u32 i;

	for (i = 0; i < count; i++) {
		crab_store(flow, &line->slot[i].key, records[i].key);
		crab_store(flow, &line->slot[i].value, records[i].value);
	}
	crab_store(flow, &line->sign, 0);
	crab_store(flow, &line->zero, 0);
}

void crab_nv_leaf_fresh(struct crab_flow *flow, const struct crab_geometry *geo,
			const struct crab_head *head, const struct crab_record *records, u32 count)
{
	struct nv_dleaf *d = (struct nv_dleaf *)(flow->media->base + head->self);
	u32 i;

	crab_head_store(flow, geo->store_id, head);
	crab_store(flow, &d->count, count);
	crab_store(flow, &d->zero, 0);
	for (i = 0; i < count; i += NV_LINE_SLOTS)
		fresh_line(flow, &d->line[i / NV_LINE_SLOTS], records + i,
			   min(count - i, NV_LINE_SLOTS));
	crab_clean(flow, d, offsetof(struct nv_dleaf, line[DIV_ROUND_UP(count, NV_LINE_SLOTS)]));
}

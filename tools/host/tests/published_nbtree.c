// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the NBTree of Zhang et al. 2024 as its Algorithms 1 to 5 are printed; the
 * comments "line N" are those of the algorithm that the function is. It has mistakes, which
 * test_published.c shows.
 *
 * Where the paper leaves a choice, the one is taken that loses less: values are compared without
 * their bits, and the update of the parent node, a hardware transaction, never aborts.
 *
 * Locking: none. Memory is sequentially consistent, and caches persist: a store that is visible is
 * durable.
 */
#include <linux/atomic.h>

#include "published_nbtree.h"
#include "test.h"

#define COPY_BIT	(1ULL << 63)	/* of a value */
#define SYNC_BIT	(1ULL << 62)
#define VALUE(word)	((word) & ~(COPY_BIT | SYNC_BIT))
#define SMO_BIT		(1ULL << 63)	/* of a bitmap */
#define LEAVES		64

struct entry {
	u64 key;		/* 0: free, or deleted */
	u64 val;
};

/* @low and @right, the second one of two new leaves, are constant */
struct leaf {
	u64 low;
	u64 num;
	u64 bitmap;
	struct entry entry[PUBLISHED_SLOTS];
	struct leaf *copy_ptr;
	struct leaf *right;
	struct leaf *next;
	u32 sync;
	u32 link;
};

/* @index: the inner nodes; one step reads or writes them */
struct published {
	struct leaf leaf[LEAVES];
	struct leaf head;
	struct leaf *index[LEAVES];
	u32 used;
	u32 indexed;
	bool mended;
};

#define swap_if(p, old, new)	({ crab_task_point(); cmpxchg(p, old, new) == (old); })

static struct leaf *leaf_take(struct published *tree, u64 low)
{
	struct leaf *leaf = &tree->leaf[tree->used++];

	BUG_ON(tree->used > LEAVES);
	leaf->low = low;
	return leaf;
}

static struct leaf *leaf_of(struct published *tree, u64 key)
{
	u32 i;

	crab_task_point();
	for (i = tree->indexed; tree->index[i - 1]->low > key; )
		i--;
	return tree->index[i - 1];
}

static bool is_smo(const struct leaf *leaf)
{
	return READ_ONCE(leaf->bitmap) & SMO_BIT;
}

/* The one of the new leaves that begin with @left whose range has a key */
static struct leaf *copy_for(struct leaf *left, u64 key)
{
	return left->right && key >= left->right->low ? left->right : left;
}

static struct entry *leaf_find(struct leaf *leaf, u64 key)
{
	u32 i;

	for (i = 0; i < PUBLISHED_SLOTS; i++)
		if (READ_ONCE(leaf->bitmap) >> i & 1 && READ_ONCE(leaf->entry[i].key) == key)
			return &leaf->entry[i];
	return NULL;
}

/* The next entry that is valid, from slot @at on, and its content; NULL: none is left */
static struct entry *leaf_next(struct leaf *leaf, u32 *at, struct entry *found)
{
	struct entry *entry;

	while (*at < PUBLISHED_SLOTS) {
		entry = &leaf->entry[(*at)++];
		if (!(READ_ONCE(leaf->bitmap) >> (entry - leaf->entry) & 1))
			continue;
		found->key = READ_ONCE(entry->key);
		found->val = READ_ONCE(entry->val);
		if (found->key)
			return entry;
	}
	return NULL;
}

static void bitmap_set(struct leaf *leaf, u64 bits)
{
	u64 old;

	do
		old = READ_ONCE(leaf->bitmap);
	while (!swap_if(&leaf->bitmap, old, old | bits));
}

/* Algorithm 2, line 2; U64_MAX: one new leaf is enough */
static u64 split_key(struct leaf *leaf)
{
	u64 keys[PUBLISHED_SLOTS];
	u32 at = 0, n = 0, i;
	struct entry e;

	while (leaf_next(leaf, &at, &e)) {
		for (i = n++; i && keys[i - 1] > e.key; i--)
			keys[i] = keys[i - 1];
		keys[i] = e.key;
	}
	return 2 * n > PUBLISHED_SLOTS ? keys[n / 2] : U64_MAX;
}

/* Lines 1 to 9. No other task sees the new leaves before the last one */
static void smo_copy(struct published *tree, struct leaf *leaf)
{
	u64 split = split_key(leaf);
	struct leaf *left = leaf_take(tree, leaf->low), *to;
	struct entry e;
	u32 at = 0;

	left->next = READ_ONCE(leaf->next);
	if (split != U64_MAX) {
		left->right = leaf_take(tree, split);
		left->right->next = left->next;
		left->next = left->right;
	}
	while (leaf_next(leaf, &at, &e)) {
		to = copy_for(left, e.key);
		e.val |= COPY_BIT;
		to->bitmap |= 1ULL << to->num;
		to->entry[to->num++] = e;
	}
	swap_if(&leaf->copy_ptr, NULL, left);
}

/* Lines 12 to 23 for one entry. False: line 18, another task has completed the modification */
static bool entry_sync(struct leaf *leaf, struct entry *entry, const struct entry *e,
		       struct leaf *copy, u32 *at)
{
	struct entry *to, was;

	while ((to = leaf_next(copy, at, &was)) && was.key != e->key) {
		if (READ_ONCE(leaf->link))
			return false;
		if (!READ_ONCE(entry->key)) {
			*at = to - copy->entry;		/* line 19: deleted in both */
			return true;
		}
		WRITE_ONCE(to->key, 0);
	}
	if (to && VALUE(was.val) != VALUE(e->val))
		swap_if(&to->val, was.val | COPY_BIT, VALUE(e->val) | SYNC_BIT);
	return true;
}

/* Lines 10 to 24 */
static void smo_sync(struct leaf *leaf)
{
	struct leaf *left = READ_ONCE(leaf->copy_ptr), *copy;
	struct entry *entry, e;
	u32 at = 0, to[2] = { };

	while ((entry = leaf_next(leaf, &at, &e))) {
		copy = copy_for(left, e.key);
		if (!entry_sync(leaf, entry, &e, copy, &to[copy != left]))
			return;
	}
	WRITE_ONCE(leaf->sync, 1);
}

static struct leaf *leaf_before(struct published *tree, const struct leaf *leaf)
{
	return leaf->low > 1 ? leaf_of(tree, leaf->low - 1) : &tree->head;
}

/* Lines 32 to 36: a transaction */
static void parent_update(struct published *tree, struct leaf *leaf)
{
	struct leaf *left = leaf->copy_ptr;
	u32 i, k;

	if (leaf->link)
		return;
	for (i = 0; tree->index[i] != leaf; )
		i++;
	tree->index[i] = left;
	if (left->right) {
		for (k = tree->indexed++; k > i + 1; k--)
			tree->index[k] = tree->index[k - 1];
		tree->index[i + 1] = left->right;
	}
	leaf->link = 1;
}

/* Algorithm 2 */
static void smo(struct published *tree, struct leaf *leaf)
{
	struct leaf *before;

	if (!READ_ONCE(leaf->copy_ptr))
		smo_copy(tree, leaf);
	if (!READ_ONCE(leaf->sync))
		smo_sync(leaf);
	while (!READ_ONCE(leaf->link)) {
		before = leaf_before(tree, leaf);
		swap_if(&before->next, leaf, READ_ONCE(leaf->copy_ptr));
		if (is_smo(before)) {
			smo(tree, before);
			continue;
		}
		crab_task_point();
		parent_update(tree, leaf);
	}
}

/* Algorithm 1 */
static void insert(struct published *tree, u64 key, u64 value)
{
	struct leaf *leaf;
	u64 pos;

	for (;;) {
		leaf = leaf_of(tree, key);
		crab_task_point();
		pos = __atomic_fetch_add(&leaf->num, 1, __ATOMIC_SEQ_CST);
		if (pos < PUBLISHED_SLOTS)
			break;
		bitmap_set(leaf, SMO_BIT);
		smo(tree, leaf);
	}
	WRITE_ONCE(leaf->entry[pos].val, value);
	WRITE_ONCE(leaf->entry[pos].key, key);
	bitmap_set(leaf, 1ULL << pos);
}

int published_insert(struct published *tree, u64 key, u64 value)
{
	if (published_update(tree, key, value))
		insert(tree, key, value);
	return 0;
}

/* Line 2 of Algorithm 3 */
static void entry_update(const struct published *tree, struct entry *entry, u64 value)
{
	u64 old;

	if (!tree->mended) {
		WRITE_ONCE(entry->val, value);
		return;
	}
	do
		old = READ_ONCE(entry->val);
	while (!swap_if(&entry->val, old, value));
}

/* Lines 5 to 7 */
static void sync_on_write(const struct published *tree, struct entry *entry, struct entry *to)
{
	u64 was, val;

	do {
		was = READ_ONCE(to->val);
		val = VALUE(READ_ONCE(entry->val));
		if (was == VALUE(was))
			return;
		if (VALUE(was) == val && (!tree->mended || was & SYNC_BIT))
			return;
	} while (!swap_if(&to->val, was, val | SYNC_BIT));
}

/* Algorithm 3 */
int published_update(struct published *tree, u64 key, u64 value)
{
	struct leaf *leaf = leaf_of(tree, key), *copy;
	struct entry *entry = leaf_find(leaf, key), *to;

	if (!entry)
		return -ENOENT;
	entry_update(tree, entry, value);
	copy = is_smo(leaf) ? READ_ONCE(leaf->copy_ptr) : NULL;
	to = copy ? leaf_find(copy_for(copy, key), key) : NULL;
	if (to)
		sync_on_write(tree, entry, to);
	return 0;
}

/* Algorithm 4 */
int published_delete(struct published *tree, u64 key)
{
	struct leaf *leaf = leaf_of(tree, key), *copy;
	struct entry *entry = leaf_find(leaf, key), *to;

	if (!entry)
		return -ENOENT;
	WRITE_ONCE(entry->key, 0);
	copy = is_smo(leaf) ? READ_ONCE(leaf->copy_ptr) : NULL;
	to = copy ? leaf_find(copy_for(copy, key), key) : NULL;
	if (to)
		WRITE_ONCE(to->key, 0);
	return 0;
}

static u64 entry_value(const struct entry *entry)
{
	return entry && READ_ONCE(entry->key) ? VALUE(READ_ONCE(entry->val)) : 0;
}

/* Lines 7 to 14 of Algorithm 5; @value: line 3 */
static u64 sync_on_read(const struct entry *entry, struct entry *to, u64 value)
{
	u64 was;

	if (!to)
		return 0;
	was = READ_ONCE(to->val);
	if (!value)
		WRITE_ONCE(to->key, 0);
	else if (VALUE(was) != value)
		swap_if(&to->val, was | COPY_BIT, value | SYNC_BIT);
	return entry_value(to);
}

/* Algorithm 5 from line 2 on; 0: the key is not there */
static u64 leaf_search(const struct published *tree, struct leaf *leaf, u64 key)
{
	struct entry *entry = leaf_find(leaf, key);
	u64 value = entry_value(entry);
	struct leaf *copy = is_smo(leaf) ? READ_ONCE(leaf->copy_ptr) : NULL;

	if (!copy)
		return value;
	copy = copy_for(copy, key);
	if (READ_ONCE(leaf->sync))
		return leaf_search(tree, copy, key);
	if (tree->mended)
		value = entry_value(entry);
	return sync_on_read(entry, leaf_find(copy, key), value);
}

/* Algorithm 5 */
int published_search(struct published *tree, u64 key, u64 *value)
{
	*value = leaf_search(tree, leaf_of(tree, key), key);
	return *value ? 0 : -ENOENT;
}

struct published *published_create(bool mended)
{
	struct published *tree = calloc(1, sizeof(*tree));

	BUG_ON(!tree);
	tree->mended = mended;
	tree->index[tree->indexed++] = leaf_take(tree, 1);
	tree->head.next = tree->index[0];
	return tree;
}

void published_destroy(struct published *tree)
{
	free(tree);
}

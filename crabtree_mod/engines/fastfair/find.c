// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the way from the root to a node, and the lock of a leaf.
 */

/**
 * DOC: search of fastfair
 *
 * A search takes no lock above the leaves, and it validates nothing there (Hwang et al. 2018,
 * section IV, count the direction of shifts; that is not needed here). It reads the slots of a
 * node in ascending order while a writer may shift them. So it may take the key of one entry and
 * the link of another, or pass an entry. Each link leads to a node of the level below, however. A
 * node is entered only if a list has it, its header matches the check bits of the link, and its
 * lowest key is not above the key: a link may read as it did before its node was removed, whose
 * header remains. Such a node covers the key, or a node to the right of it does: the lists of
 * siblings complete the search: also that of the option `binary`, which reads the slots in any
 * order. A search that cannot enter a node, or takes too many steps, begins again. Later it takes
 * ff.structure, under which inner nodes do not change; there a link that leads nowhere is damage.
 * Many steps to the right are damage, too, unless attach found nodes without entries, or there was
 * no memory for an entry.
 *
 * Attach can find any number of nodes in a row that have no entry. If it finds no damage, it puts
 * their entries into an array in memory (ff.extra). A search that has entered a node continues at
 * the last node of that level whose entry there is not above the key, if it is further right; so
 * its work does not grow with the number of such nodes. It enters that node as by a link, and not
 * if the node was removed meanwhile. Repair frees the array when all nodes have entries on the
 * media.
 *
 * RCU keeps the block of a removed node free until all searches have left it. Its entries and its
 * link to the right remain, and lead to nodes that were in the lists when the search began.
 *
 * Invariant: each number from the media is bounded before it is used; each step goes down or to a
 * higher lowest key, and their number is bounded for any content of the media.
 *
 * Locking: see each function.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>

#include "shared/lock.h"
#include "tree.h"

#define FIND_HOPS	64U	/* steps without the lock, at most */
#define FIND_TRIES	4U	/* leaves that are looked for without ff.structure */

/* Why a side has other flags than those of a node in a list */
static noinline int find_unused(const struct crab_side *side)
{
	return READ_ONCE(side->flags) & FF_BAD ? -EUCLEAN : -EAGAIN;
}

/* As crab_ff_enter(); @sure: a lowest key that reads otherwise the next time is not right */
static __always_inline int find_enter(const struct ff *ff, u64 link, u32 level, u64 low, bool sure,
				      struct ff_node *node)
{
	const struct crab_media *media = ff->base.media;
	u64 number = (link & CRAB_LINK_MASK) - 1;
	struct crab_side *side = crab_side(&ff->sides, number);
	const struct ff_dnode *d;
	const __le64 *at;
	u64 lowest;

	if (unlikely(!side))
		return -EAGAIN;
	if (unlikely(READ_ONCE(side->flags) != FF_USED))
		return find_unused(side);
	if (unlikely(!crab_link_holds(media, &ff->base.geo, link)))
		return -EAGAIN;
	d = ff_media(ff, number);
	at = &d->head.low;
	lowest = crab_load(media, at);
	if (unlikely(crab_load(media, &d->head.own) != level || lowest > low))
		return -EAGAIN;
	if (sure && unlikely(crab_load(media, at) != lowest))
		return -EAGAIN;
	*node = (struct ff_node) {
		.side = side, .number = number, .link = link, .level = level, .low = lowest,
	};
	return 0;
}

int crab_ff_enter(const struct ff *ff, u64 link, u32 level, u64 low, struct ff_node *node)
{
	return find_enter(ff, link, level, low, true, node);
}

/* As crab_ff_enter(), to a node of any level */
static __always_inline int enter_any(const struct ff *ff, u64 link, u64 low, struct ff_node *node)
{
	u64 number = (link & CRAB_LINK_MASK) - 1, level;
	const struct crab_side *side = crab_side(&ff->sides, number);

	if (unlikely(!side))
		return -EAGAIN;
	if (unlikely(READ_ONCE(side->flags) != FF_USED))
		return find_unused(side);
	level = crab_load(ff->base.media, &ff_media(ff, number)->head.own);
	return level < FF_LEVELS ? crab_ff_enter(ff, link, level, low, node) : -EAGAIN;
}

int crab_ff_root(const struct ff *ff, struct ff_node *node)
{
	const struct crab_media *media = ff->base.media;

	if (unlikely(READ_ONCE(ff->headless)))
		return -EUCLEAN;
	return enter_any(ff, crab_load_acquire(media, &crab_list_head(media)->next), 0, node);
}

int crab_ff_next(const struct ff *ff, const struct ff_node *node, struct ff_node *right)
{
	const struct crab_media *media = ff->base.media;
	u64 link = crab_load_acquire(media, &ff_media(ff, node->number)->head.next);
	int err;

	if (!(link & CRAB_LINK_MASK))
		return link == ff_link_end(node) ? -ENOENT : -EAGAIN;
	err = crab_ff_enter(ff, link, node->level, CRAB_KEY_EMPTY - 1, right);
	return err ?: right->low > node->low ? 0 : -EAGAIN;
}

/*
 * Does the node of @find link the node that begins at find->high? An entry above names that, or the
 * first one of the nodes above it
 */
static noinline bool links_to_high(const struct ff *ff, const struct ff_find *find)
{
	const struct crab_media *media = ff->base.media;
	u64 link = crab_load(media, &ff_media(ff, find->node.number)->head.next);
	u64 at = find->after;
	struct ff_node node;
	int err;

	if (!(link & CRAB_LINK_MASK))	/* it names none, as find->after if no entry is there */
		return false;
	if (at == link)
		return true;
	err = enter_any(ff, at, find->high, &node);
	while (!err && node.low == find->high && node.level > find->node.level) {
		at = crab_load(media, &ff_media(ff, node.number)->first);
		if (at == link)
			return true;
		err = crab_ff_enter(ff, at, node.level - 1, find->high, &node);
	}
	return false;
}

int crab_ff_high(const struct ff *ff, const struct ff_find *find, struct ff_node *right, u64 *high,
		 bool exact)
{
	int err = crab_ff_next(ff, &find->node, right);

	*high = err ? CRAB_KEY_EMPTY : right->low;
	if (likely(!err || err == -ENOENT))
		return 0;
	if (!exact)
		return -EAGAIN;
	*high = find->high;	/* from above the next node, if that cannot be read */
	return links_to_high(ff, find) ? 0 : -EUCLEAN;
}

/* Follows the level of @find to the right as long as @key is there; -EAGAIN: too far */
static int find_right(const struct ff *ff, u64 key, struct ff_find *find, bool exact, u64 *hops)
{
	struct ff_node right;
	u64 high;
	int err;

	for (;;) {
		err = crab_ff_high(ff, find, &right, &high, exact);
		if (err)
			return err;
		if (key < high)
			break;
		if (!--*hops)
			return -EAGAIN;
		find->node = right;
		find->left = 0;
	}
	if (high < find->high) {
		find->high = high;
		find->after = right.link;
	}
	return 0;
}

/* The link of child @i of a node: that of the lowest keys, or of slot @i - 1 */
static u64 child_link(const struct crab_media *media, const struct ff_dnode *d, u32 i)
{
	return crab_load_acquire(media, i ? &d->slot[i - 1].value : &d->first);
}

u32 crab_ff_halve(const struct ff *ff, u64 number, u64 key, u64 *at)
{
	const struct crab_side *side = crab_side(&ff->sides, number);
	u32 end = min_t(u32, READ_ONCE(side->count), ff->slots), from = 0, to = end, mid;
	u64 found, last = CRAB_KEY_EMPTY;

	while (from < to) {
		mid = (from + to) / 2;
		found = crab_load(ff->base.media, &ff_slot(ff, number, mid)->key);
		if (found < key) {
			from = mid + 1;
		} else {
			to = mid;
			last = found;
		}
	}
	if (from < ff->slots)
		*at = last;
	return from;
}

/* The link of the child for @key in the node of @find; @last: no entry is above @key */
static u64 find_child(const struct ff *ff, u64 key, struct ff_find *find, bool *last)
{
	const struct crab_media *media = ff->base.media;
	u64 at = CRAB_KEY_EMPTY, found = at, number = find->node.number;
	struct ff_dnode *d = ff_media(ff, number);
	u32 i;

	if (likely(!ff->tuning.binary)) {
		i = ff_scan(ff, number, key + 1, &at, true);
	} else {
		i = crab_ff_halve(ff, number, key + 1, &found);
		at = found;
		smp_rmb();	/* as the acquire loads of ff_scan(): the keys before the link */
	}
	*last = i == ff->slots || at == CRAB_KEY_EMPTY;
	if (!*last && at <= find->high) {
		find->high = at;
		find->after = crab_load(media, &d->slot[i].value);
	}
	find->left = i ? child_link(media, d, i - 1) : 0;
	return child_link(media, d, i);
}

/* One level down */
static int find_down(const struct ff *ff, u64 key, struct ff_find *find, bool exact, u64 *hops)
{
	bool last;
	u64 link = find_child(ff, key, find, &last), was = find->node.number;
	int err;

	if (last) {
		err = find_right(ff, key, find, exact, hops);
		if (err)
			return err;
		if (find->node.number != was)
			return --*hops ? 0 : -EAGAIN;
	}
	return find_enter(ff, link, find->node.level - 1, key, false, &find->node);
}

/* The first entry in memory of @level that is not above @key, or where it would be */
static u64 extra_at(const struct ff *ff, u64 key, u32 level)
{
	u64 from = 0, to = ff->extras, mid;
	const struct ff_extra *extra;

	while (from < to) {
		mid = from + (to - from) / 2;
		extra = &ff->extra[mid];
		if (extra->level < level || (extra->level == level && extra->low > key))
			from = mid + 1;
		else
			to = mid;
	}
	return from;
}

/*
 * Enters the node of an entry in memory. If the node was removed before this search began, no grace
 * period protects its block, which may become another node now
 */
static bool extra_enter(const struct ff *ff, const struct ff_extra *extra, u64 key,
			struct ff_node *node)
{
	if (find_enter(ff, extra->link, extra->level, key, false, node) || node->low != extra->low)
		return false;
	/* Pairs with smp_store_release() in fresh_begin(): the flags may be of another node */
	smp_rmb();
	return crab_link_holds(ff->base.media, &ff->base.geo, extra->link);
}

/* Goes to the right as far as the entries in memory lead */
static noinline void find_extra(const struct ff *ff, u64 key, struct ff_find *find)
{
	u64 i = extra_at(ff, key, find->node.level), low = find->node.low;
	const struct ff_extra *extra;
	struct ff_node node;

	for (; i < ff->extras; i++) {
		extra = &ff->extra[i];
		if (extra->level != find->node.level || extra->low <= low)
			return;
		if (!extra_enter(ff, extra, key, &node))
			continue;
		find->node = node;
		find->left = 0;
		return;
	}
}

static int find_node(const struct ff *ff, u64 key, u32 level, struct ff_find *find, bool exact,
		     u64 *hops)
{
	int err;

	find->high = CRAB_KEY_EMPTY;
	find->after = 0;
	find->left = 0;
	err = crab_ff_root(ff, &find->node);
	if (exact && !err && find->node.level + 1 != ff->levels)
		return -EAGAIN;
	if (!err && find->node.level < level)
		return -ENOENT;
	while (!err) {
		if (unlikely(ff->extras))
			find_extra(ff, key, find);
		if (find->node.level == level)
			break;
		err = find_down(ff, key, find, exact, hops);
	}
	return err;
}

int crab_ff_find(const struct ff *ff, u64 key, u32 level, struct ff_find *find)
{
	u64 hops = FIND_HOPS;

	return find_node(ff, key, level, find, false, &hops);
}

/* Steps to the right under ff.structure, at most: few if each node has its entry */
static u64 exact_hops(const struct ff *ff)
{
	return ff->gaps ? ff->nodes + FIND_HOPS : FIND_HOPS;
}

static int find_exact(const struct ff *ff, u64 key, u32 level, struct ff_find *find)
{
	u64 hops = exact_hops(ff);
	int err = find_node(ff, key, level, find, true, &hops);

	if (!err)
		err = find_right(ff, key, find, true, &hops);
	return err ?: ff_low_repeats(ff, &find->node) ? 0 : -EAGAIN;
}

int crab_ff_find_exact(struct ff *ff, u64 key, u32 level, struct ff_find *find)
{
	int err = find_exact(ff, key, level, find);

	if (err == -EAGAIN)	/* a word may have read otherwise once */
		err = find_exact(ff, key, level, find);
	if (err && err != -ENOENT)
		return crab_ff_damaged(ff, 0, "a link does not lead to its node");
	return err;
}

void crab_ff_op_lock(struct ff_op *op)
{
	if (op->structure)
		return;
	mutex_lock(&op->ff->structure);
	op->ff->changes++;
	op->structure = true;
}

void crab_ff_op_end(struct ff_op *op)
{
	if (unlikely(op->fresh != FF_NONE))
		crab_pool_free(&op->ff->pool, op->fresh);
	if (unlikely(op->structure))
		mutex_unlock(&op->ff->structure);
}

/* Tests without another node whether a locked leaf covers a key that is not below its lowest one */
static bool leaf_has_above(const struct ff *ff, const struct ff_node *node, u64 key)
{
	u32 count = node->side->count;

	return count && !ff->torn && ff_key(ff, node->number, count - 1) > key;
}

/* Locks the leaf of op->find; 1: the key is in the next one, which is now in op->find */
static int leaf_lock_one(struct ff_op *op, u64 key)
{
	struct ff_node *node = &op->find.node, right;
	u64 high = CRAB_KEY_EMPTY;
	int err = 0;

	crab_lock(&node->side->lock);
	if (unlikely(node->side->flags & (FF_DEAD | FF_BAD))) {
		err = node->side->flags & FF_BAD ? -EUCLEAN : -EAGAIN;
	} else {
		op->above = leaf_has_above(op->ff, node, key);
		if (!op->above)
			err = crab_ff_high(op->ff, &op->find, &right, &high, op->structure);
	}
	if (!err && key < high) {
		__release(&node->side->lock);	/* for sparse: see crab_ff_leaf_unlock() */
		return 0;
	}
	if (!err && unlikely(leaf_has_above(op->ff, node, high - 1)))
		err = crab_ff_damaged(op->ff, right.number, "its lowest key has changed");
	crab_unlock(&node->side->lock);
	if (err)
		return err;
	op->find.left = node->link;
	*node = right;
	return 1;
}

static int leaf_lock_from(struct ff_op *op, u64 key)
{
	u64 hops = op->structure ? exact_hops(op->ff) : FIND_HOPS;
	int err = 1;

	while (err == 1 && hops--)
		err = leaf_lock_one(op, key);
	return err == 1 ? -EAGAIN : err;
}

int crab_ff_leaf_lock(struct ff_op *op, u64 key)
{
	struct ff *ff = op->ff;
	int err;

	do {
		if (op->tries++ == FIND_TRIES)
			crab_ff_op_lock(op);
		crab_rcu_enter();
		err = op->structure ? crab_ff_find_exact(ff, key, 0, &op->find) :
				      crab_ff_find(ff, key, 0, &op->find);
		if (!err)
			err = leaf_lock_from(op, key);
		if (!err) {
			__release(RCU);		/* for sparse: see crab_ff_leaf_unlock() */
			return 0;
		}
		crab_rcu_leave();
	} while (err == -EAGAIN && !op->structure);
	if (err == -EAGAIN)
		err = crab_ff_damaged(ff, op->find.node.number, "a leaf cannot be reached");
	return err;
}

/* Sparse cannot follow the locks of crab_ff_leaf_lock(), which holds them only on success */
void crab_ff_leaf_unlock(struct ff_op *op)
{
	__acquire(RCU);
	__acquire(&op->find.node.side->lock);
	crab_unlock(&op->find.node.side->lock);
	crab_rcu_leave();
}

/* As ff_first(), or a slot after the end of all: a word read otherwise, once or also now */
static noinline u32 first_again(const struct ff *ff, const struct ff_node *node, u64 key, u64 *at)
{
	u32 i;

	*at = CRAB_KEY_EMPTY;
	i = crab_ff_halve(ff, node->number, key, at);
	/* crab_ff_halve() does not read the end of the slots */
	if (*at == CRAB_KEY_EMPTY && i < ff->slots && ff_key(ff, node->number, i) != *at)
		return ff->slots + 1;
	return ff_first_holds(ff, node, key, i, *at) ? i : ff->slots + 1;
}

bool crab_ff_slot_of(const struct ff *ff, const struct ff_node *node, u64 key, u32 *slot)
{
	u64 at = CRAB_KEY_EMPTY, found;
	u32 i = ff_first(ff, node->number, key, &at);

	if (unlikely(!ff_first_holds(ff, node, key, i, at))) {
		i = first_again(ff, node, key, &found);
		at = found;
	}
	if (unlikely(ff->torn) && i + 1 < ff->slots && at == key &&
	    ff_key(ff, node->number, i + 1) == key)
		i++;		/* of two equal neighbours the left one is void */
	*slot = i;
	return i < ff->slots && at == key;
}

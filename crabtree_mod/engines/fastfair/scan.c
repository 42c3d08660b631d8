// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements reads of several keys: seek, scan, and the search for the end of a
 * quarantined range.
 *
 * Invariant: the records returned from one leaf belong to one state of it. A read goes on at the
 * key where the range of the leaf ended, so no record is returned twice or passed.
 *
 * Locking: a leaf is read without its lock if no writer changes it meanwhile, otherwise with it.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>

#include "engines/counts.h"
#include "engines/defaults.h"
#include "shared/lock.h"
#include "tree.h"

#define SCAN_LEAVES	16U	/* leaves of one RCU section, at most */

/* A read of one leaf */
struct part {
	u64 start;			/* lowest key */
	u64 end;			/* highest key */
	bool last;			/* only the last record is needed */
	struct crab_record *records;
	u32 cap;
	u32 n;				/* records read */
	bool whole;			/* unless @last: all slots were read, the next is @high */
	u64 low;			/* the range of the leaf */
	u64 high;
};

/* The crc of the header, which covers the lowest key */
static noinline bool low_holds(const struct ff *ff, const struct ff_node *leaf)
{
	struct crab_head head;

	return crab_head_load(ff->base.media, crab_leaf_offset(&ff->base.geo, leaf->number),
			      ff->base.geo.store_id, &head) && head.low == leaf->low;
}

/* Does the leaf begin at its lowest key? If that has changed, a read may pass keys below it */
static inline bool leaf_begins(const struct ff *ff, const struct ff_node *leaf)
{
	u64 first = ff_key(ff, leaf->number, 0);

	return likely(first >= leaf->low && first != CRAB_KEY_EMPTY) || low_holds(ff, leaf);
}

/* May a leaf that ends at @high have a slot with @key there, or above? */
static bool may_end(const struct ff *ff, u64 key, u64 high)
{
	return key < high || ff->torn;		/* R2 */
}

/*
 * Reads the last record of a leaf up to @end; of two slots with one key, the second (R1). False:
 * the media has changed
 */
static __always_inline bool part_read_last(const struct ff *ff, const struct ff_node *leaf, u64 end,
					   struct part *part)
{
	u32 count = READ_ONCE(leaf->side->count), i;
	u64 at = 0, key;

	i = min(ff_first(ff, leaf->number, end + 1, &at), count);
	part->n = 0;
	if (i < count && unlikely(!may_end(ff, at, part->high) ||
				  ff_key(ff, leaf->number, i) != at))
		return false;
	if (unlikely(!i))
		return low_holds(ff, leaf);
	part->n = 1;
	key = crab_load_settled(ff->base.media, &ff_slot(ff, leaf->number, i - 1)->key);
	*part->records = (struct crab_record) {
		.key = key, .value = ff_value(ff, leaf->number, i - 1),
	};
	return key >= leaf->low && key <= end && (i == 1 || ff_key(ff, leaf->number, i - 2) <= key);
}

/* The slot after the last one that was read may have the same key, and counts then (R1) */
static noinline void part_read_twin(const struct ff *ff, const struct ff_dslot *slot,
				    const struct part *part)
{
	struct crab_record *last = part->records + part->n - 1;

	if (part->n && crab_load(ff->base.media, &slot->key) == last->key)
		last->value = crab_load(ff->base.media, &slot->value);
}

/* The first slot whose key is not below @start */
static __always_inline const struct ff_dslot *part_first(const struct ff *ff,
							 const struct ff_node *leaf, u64 start)
{
	u64 at;
	u32 i = start > leaf->low ? ff_first(ff, leaf->number, start, &at) : 0;

	/* A word may have read otherwise once */
	if (unlikely(i && ff_key(ff, leaf->number, i - 1) >= start))
		i = crab_ff_halve(ff, leaf->number, start, &at);
	return ff_slot(ff, leaf->number, i);
}

/*
 * Reads the records of a leaf up to @end; of two slots with one key, the second (R1). False: the
 * media has changed
 */
static __always_inline bool part_read_all(const struct ff *ff, const struct ff_node *leaf, u64 end,
					  struct part *part)
{
	const struct ff_dslot *behind = ff_slot(ff, leaf->number, READ_ONCE(leaf->side->count));
	const struct ff_dslot *slot = part_first(ff, leaf, part->start), *stop;
	const struct crab_media *media = ff->base.media;
	struct crab_record *to = part->records;
	u64 next = part->start, key = 0;

	stop = behind - slot > (long)part->cap ? slot + part->cap : behind;
	for (; slot < stop; slot++) {
		key = crab_load(media, &slot->key);
		if (unlikely(key < next) && ff->torn && to > part->records && key == to[-1].key) {
			to--;		/* R1 */
			stop += stop < behind;
		} else if (key < next || key > end) {
			break;
		}
		*to++ = (struct crab_record){ key, crab_load(media, &slot->value) };
		next = key + 1;
	}
	part->n = to - part->records;
	part->whole = slot >= behind;
	if (unlikely(ff->torn) && slot == stop && slot < behind)
		part_read_twin(ff, slot, part);
	if (slot >= stop)	/* a scan goes on after the last key */
		return !part->n || crab_load(media, &slot[-1].key) == key;
	return key > end && may_end(ff, key, part->high) && crab_load(media, &slot->key) == key;
}

/* Reads the records of a leaf below @high; false: the media has changed */
static __always_inline bool part_read(const struct ff *ff, const struct ff_node *leaf, u64 high,
				      struct part *part)
{
	u64 end = min(part->end, high - 1);

	part->low = leaf->low;
	return part->last ? part_read_last(ff, leaf, end, part) :
			    part_read_all(ff, leaf, end, part);
}

/* The records of the next leaf that may still be wanted arrive while the one before is read */
static __always_inline void part_prefetch(const struct ff *ff, const struct part *part,
					  const struct ff_node *right)
{
	u32 bytes = min(part->cap, ff->slots) * sizeof(struct ff_dslot);

	if (part->high != CRAB_KEY_EMPTY && part->high <= part->end)
		crab_prefetch_range(ff_media(ff, right->number), bytes);
}

/* Reads a leaf that ends where @right begins, if there is one; false: the media has changed */
static bool part_here(const struct ff *ff, const struct ff_node *leaf, const struct ff_node *right,
		      struct part *part)
{
	return part_read(ff, leaf, part->high, part) &&
	       (!part->whole || part->high == CRAB_KEY_EMPTY || leaf_begins(ff, right));
}

/* Has the leaf no key from @high on? */
static bool leaf_ends(const struct ff *ff, const struct ff_node *leaf, u64 high)
{
	u32 count = READ_ONCE(leaf->side->count);

	return !count || may_end(ff, ff_key(ff, leaf->number, count - 1), high);
}

/* The leaf of @find without a lock; 1: the next one, now in @find, is it; -EAGAIN: not valid */
static int part_one(const struct ff *ff, struct ff_find *find, u64 key, struct part *part)
{
	const struct crab_side *side = find->node.side;
	unsigned int seq = crab_side_read_begin(side);
	struct ff_node right;
	bool here;

	if (READ_ONCE(side->flags) & (FF_DEAD | FF_BAD) ||
	    crab_ff_high(ff, find, &right, &part->high, false))
		return -EAGAIN;
	part_prefetch(ff, part, &right);
	here = key < part->high;
	if (!(here ? part_here(ff, &find->node, &right, part) :
		     leaf_ends(ff, &find->node, part->high)))
		return -EAGAIN;
	if (!crab_side_read_valid(side, seq))
		return -EAGAIN;
	if (part->high != CRAB_KEY_EMPTY)
		find->node = right;
	return !here;
}

/* Reads the leaf of an operation, which is locked */
static int part_held(struct ff_op *op, u64 key, struct part *part)
{
	struct ff_node *leaf = &op->find.node, right = { };
	struct ff *ff = op->ff;
	u64 high;
	int err = crab_ff_high(ff, &op->find, &right, &part->high, op->structure);

	if (err)
		return err;
	if (part->high <= key || !ff_low_repeats(ff, leaf))
		return crab_ff_damaged(ff, leaf->number, "its range ends below a key of it");
	/* keys from the next entry on may belong to a quarantined inner node */
	high = min(part->high, op->find.high);
	if (!part_read(ff, leaf, high, part))
		return crab_ff_damaged(ff, leaf->number, "its keys have changed");
	if (part->whole && high == part->high && high != CRAB_KEY_EMPTY && right.side &&
	    !leaf_begins(ff, &right))
		return crab_ff_damaged(ff, right.number, "its lowest key has changed");
	part->high = high;
	return 0;
}

static int part_locked(struct ff *ff, u64 key, struct part *part)
{
	struct ff_op op = { .ff = ff, .fresh = FF_NONE };
	int err;

	for (;;) {
		err = crab_ff_leaf_lock(&op, key);
		if (err)
			break;
		err = part_held(&op, key, part);
		crab_ff_leaf_unlock(&op);
		if (err != -EAGAIN)
			break;
		crab_ff_op_lock(&op);	/* to use the entry of the next leaf */
	}
	crab_ff_op_end(&op);
	return err;
}

/* As crab_ff_find(), of a leaf whose lowest key reads the same again: reads depend on it */
static int part_find(const struct ff *ff, u64 key, struct ff_find *find)
{
	int err = crab_ff_find(ff, key, 0, find);

	return err ?: ff_low_repeats(ff, &find->node) ? 0 : -EAGAIN;
}

/* Tests whether reads may follow the list of leaves, past the entries */
static bool may_follow(const struct ff *ff)
{
	return !ff->locked && !ff->base.damage.count && !READ_ONCE(ff->quarantined);
}

/* Reads the leaf that covers @key */
static int part_of(struct ff *ff, u64 key, struct part *part)
{
	u32 hops = SCAN_LEAVES;
	struct ff_find find;
	int err;

	crab_rcu_enter();
	err = may_follow(ff) ? part_find(ff, key, &find) : -EAGAIN;
	if (!err)
		do
			err = part_one(ff, &find, key, part);
		while (err == 1 && --hops);
	crab_rcu_leave();
	return err == -EAGAIN || err == 1 ? part_locked(ff, key, part) : err;
}

int crab_ff_seek(struct crab_engine *engine, u64 key, enum crab_seek_dir dir,
		 struct crab_record *record)
{
	struct part part = {
		.start = dir == CRAB_SEEK_GE ? key : 0,
		.end = dir == CRAB_SEEK_GE ? CRAB_KEY_EMPTY : key,
		.last = dir == CRAB_SEEK_LE, .records = record, .cap = 1,
	};
	int err;

	for (;;) {
		err = part_of(ff_of(engine), key, &part);
		if (err || part.n)
			return err;
		if (dir == CRAB_SEEK_GE ? part.high == CRAB_KEY_EMPTY : !part.low)
			return -ENOENT;
		key = dir == CRAB_SEEK_GE ? part.high : part.low - 1;
		if (crab_engine_breathe(engine))
			return -EINTR;
	}
}

/* The part of a scan after the leaf that was read */
static void part_advance(struct part *part)
{
	part->records += part->n;
	part->cap -= part->n;
	part->start = part->high;
}

static bool part_is_left(const struct part *part)
{
	return part->cap && part->start <= part->end && part->start != CRAB_KEY_EMPTY;
}

/*
 * Reads consecutive leaves along their list without a lock; -EAGAIN: not the next one, perhaps
 * because it is too far from where the way ends
 */
static int scan_run(struct ff *ff, struct part *part)
{
	u32 hops = SCAN_LEAVES;
	struct ff_find find;
	int err;

	crab_rcu_enter();
	err = may_follow(ff) ? part_find(ff, part->start, &find) : -EAGAIN;
	while (err >= 0 && hops-- && part_is_left(part)) {
		err = part_one(ff, &find, part->start, part);
		if (!err)
			part_advance(part);
	}
	crab_rcu_leave();
	return err > 0 ? -EAGAIN : err;
}

int crab_ff_scan(struct crab_engine *engine, u64 start, u64 end, struct crab_record *records,
		 u32 cap)
{
	struct part part = { .start = start, .end = end, .records = records, .cap = cap };
	struct ff *ff = ff_of(engine);
	int err = 0;

	while (part_is_left(&part)) {
		err = scan_run(ff, &part);
		if (err == -EAGAIN) {
			err = part_locked(ff, part.start, &part);
			if (!err)
				part_advance(&part);
		}
		if (err < 0)
			break;
		if (crab_engine_breathe(engine)) {
			err = -EINTR;
			break;
		}
	}
	if ((err == -EUCLEAN || err == -EINTR) && part.cap < cap)
		return cap - part.cap;	/* the next call begins here and returns it */
	return err < 0 ? err : (int)(cap - part.cap);
}

/*
 * The lowest key of the range of @key, where the way to it ended: of a leaf, or of an entry whose
 * node cannot be read
 */
static u64 range_low(const struct ff *ff, const struct ff_find *find, u64 key)
{
	u64 at;
	u32 i;

	if (!find->node.side || find->node.low > key)
		return 0;
	i = find->node.level ? ff_first(ff, find->node.number, key + 1, &at) : 0;
	return i ? ff_key(ff, find->node.number, i - 1) : find->node.low;
}

/* Could a scan read the leaf? It may have keys beyond the next entry, if that leads nowhere */
static bool leaf_is_sound(struct ff *ff, const struct ff_find *find)
{
	const struct ff_node *leaf = &find->node;
	u64 key, high, above = leaf->low;
	struct ff_node right;
	u32 i;

	if (crab_ff_high(ff, find, &right, &high, true))
		return false;
	for (i = 0; i < leaf->side->count; i++, above = key) {
		key = ff_key(ff, leaf->number, i);
		if (key < above || !may_end(ff, key, high))
			return false;
	}
	return low_holds(ff, leaf);
}

/* Is the leaf that covers @at lost? @at goes on to the next range */
static bool beyond_one(struct ff *ff, u64 *at, enum crab_seek_dir dir)
{
	struct ff_find find = { };
	u64 low;
	int err;

	mutex_lock(&ff->structure);
	err = crab_ff_find_exact(ff, *at, 0, &find);
	if (!err) {
		crab_lock(&find.node.side->lock);
		err = !leaf_is_sound(ff, &find);
		crab_unlock(&find.node.side->lock);
	}
	low = range_low(ff, &find, *at);
	mutex_unlock(&ff->structure);
	if (dir == CRAB_SEEK_LE)
		*at = low <= *at ? low - 1 : CRAB_KEY_EMPTY;
	else
		*at = find.high > *at ? find.high : CRAB_KEY_EMPTY;
	return err;
}

/* A walk that is stopped returns a key of the range, where the next scan gets -EUCLEAN again */
u64 crab_ff_beyond(struct crab_engine *engine, u64 key, enum crab_seek_dir dir)
{
	struct ff *ff = ff_of(engine);
	bool bad = false;
	u64 at = key;

	do {
		key = at;
		if (beyond_one(ff, &at, dir))
			bad = true;
		else if (bad)
			return key;
	} while (at != CRAB_KEY_EMPTY && !crab_engine_breathe(&ff->base));
	return at;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the structure modifications: the split of a leaf and of the nodes above it,
 * and the unlink of an empty leaf.
 */

/**
 * DOC: structure modifications of clfb
 *
 * A full leaf is replaced by two fresh ones, which include the new record. If the key is the
 * highest of the tree, the leaf remains as it is, and one fresh leaf gets the record: ascending
 * keys fill leaves. The children of a node above it that does not hold one child more, by bytes,
 * move to fresh nodes, and so on upwards:
 *
 *   fresh leaves and nodes of all levels, P7; the line of the lowest node with room, P13, or the
 *   root word, P14
 *
 * This one line or word commits the change. The old leaf and the old nodes below that line are
 * free after it, because nothing leads to them.
 *
 * The delete of the last record of a leaf removes the child from the lowest node above it that has
 * two children, by the same one line, and so deletes the record. If that node is the root and one
 * child remains, the root word names the highest node with two children below it, or the leaf. The
 * leaf remains, empty, if it is the only one, or if the line without it would be longer than 64
 * bytes: all references may be wider if their first one goes.
 *
 * Invariant: all numbers, and the whole content of nodes, are determined before the first store;
 * without enough leaves or nodes nothing changes. Nor does anything if a node of the path, or the
 * full leaf, has changed since attach or the last write: this is damage, -EUCLEAN, and the store is
 * read-only from then on. So no children of a line with a wrong crc get into one with a good crc. A
 * line that reads as it did earlier is whole; it names leaves or nodes that were freed since, and
 * these are neither read nor freed again (clfb_tree.leaf_live, node_live).
 *
 * Locking: clfb_tree.lock for writing.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "leaf.h"
#include "node.h"
#include "smo.h"

static void node_free(struct clfb_tree *tree, u64 node)
{
	__clear_bit(node, tree->node_live);
	crab_pool_free(&tree->nodes, node);
}

static void leaf_free(struct clfb_tree *tree, u64 leaf)
{
	__clear_bit(leaf, tree->leaf_live);
	crab_pool_free(&tree->pool, leaf);
}

static void plan_drop(struct clfb_tree *tree)
{
	while (tree->plan.count)
		node_free(tree, tree->plan.fresh[--tree->plan.count].number);
}

/* @n of the children of a list, from @from on */
static void list_part(const struct clfb_list *list, u32 from, u32 n, struct clfb_list *part)
{
	part->count = n;
	part->leaves = list->leaves;
	memcpy(part->ref, list->ref + from, n * sizeof(part->ref[0]));
	memcpy(part->key, list->key + from, n * sizeof(part->key[0]));
}

/* A fresh node with @n of the children of the plan's list from @from on */
static int plan_node(struct clfb_tree *tree, u32 from, u32 n, u64 *number)
{
	struct clfb_plan *plan = &tree->plan;
	struct clfb_fresh *fresh = &plan->fresh[plan->count];
	struct clfb_list part;
	struct crab_spare spare;
	int err = plan->count == CLFB_FRESH_MAX ? -ENOSPC :
		  crab_pool_alloc(&tree->nodes, &spare, 1, 0);

	if (err)
		return err;
	plan->count++;
	list_part(&plan->list, from, n, &part);
	crab_clfb_line_encode(&fresh->line, &part);
	fresh->number = *number = spare.leaf;
	crab_clfb_node_seal(tree, fresh->number, &fresh->line);
	return 0;
}

/* Where piece @i of @n begins in a list of @count */
static u32 piece_from(u32 count, u32 n, u32 i)
{
	return count * i / n;
}

static bool pieces_fit(const struct clfb_list *list, u32 n)
{
	struct clfb_list part;
	u32 i, from;

	for (i = 0; i < n; i++) {
		from = piece_from(list->count, n, i);
		list_part(list, from, piece_from(list->count, n, i + 1) - from, &part);
		if (!crab_clfb_line_fits(&part))
			return false;
	}
	return true;
}

/* Fresh nodes for the plan's list, as few as possible: they are the pieces of the level above */
static int plan_pieces(struct clfb_tree *tree)
{
	struct clfb_plan *plan = &tree->plan;
	u32 n = 1, i, from;
	int err = 0;

	while (!pieces_fit(&plan->list, n))
		n++;
	plan->pieces.count = n;
	for (i = 0; i < n && !err; i++) {
		from = piece_from(plan->list.count, n, i);
		plan->pieces.key[i] = plan->list.key[from];
		err = plan_node(tree, from, piece_from(plan->list.count, n, i + 1) - from,
				&plan->pieces.ref[i]);
	}
	return err;
}

/* Puts the pieces in the place of child @at of the list. The first one has the old lowest key */
static void plan_splice(struct clfb_plan *plan, u32 at)
{
	struct clfb_list *list = &plan->list;
	u32 more = plan->pieces.count - 1, after = list->count - at - 1;

	memmove(list->ref + at + 1 + more, list->ref + at + 1, after * sizeof(list->ref[0]));
	memmove(list->key + at + 1 + more, list->key + at + 1, after * sizeof(list->key[0]));
	memcpy(list->ref + at, plan->pieces.ref, (more + 1) * sizeof(list->ref[0]));
	memcpy(list->key + at + 1, plan->pieces.key + 1, more * sizeof(list->key[0]));
	list->count += more;
}

/* A stale line, which is whole, names leaves or nodes that were freed since */
static bool plan_is_stale(const struct clfb_tree *tree, const union clfb_line *line, u32 level)
{
	const unsigned long *live = level > 1 ? tree->node_live : tree->leaf_live;
	u32 i;

	for (i = 0; i < crab_clfb_line_count(line); i++)
		if (!test_bit(crab_clfb_line_ref(line, i), live))
			return true;
	return false;
}

/* NULL, or why the plan cannot use the line of a node, whose child @at is on the path */
static const char *plan_fault(const struct clfb_tree *tree, u32 level, u64 node, u32 at,
			      union clfb_line *line)
{
	static const struct clfb_place all = { .high = CRAB_KEY_EMPTY };
	const char *fault;

	if (!crab_clfb_node_read(tree, node, line) || !crab_clfb_node_whole(tree, node, line))
		return "its line has changed";
	if (at >= crab_clfb_line_count(line))
		return "it has lost a child";
	fault = crab_clfb_node_fault(tree, line, level, &all);
	if (fault)
		return fault;
	return plan_is_stale(tree, line, level) ? "it has a child that is not in the tree" : NULL;
}

/*
 * The children of a node, as they are now. @node is in the tree: find() has tested that, or it is a
 * child of the node that was loaded before
 */
static int plan_load(struct clfb_tree *tree, u32 level, u64 node, u32 at)
{
	union clfb_line line;
	const char *fault = plan_fault(tree, level, node, at, &line);

	if (fault)
		return crab_engine_damaged(&tree->base, crab_clfb_node_offset(tree, node),
					   "node %llu: %s", (unsigned long long)node, fault);
	crab_clfb_line_decode(&line, &tree->plan.list);
	return 0;
}

/* Those of the node of a level on the path */
static int plan_step(struct clfb_tree *tree, const struct clfb_place *place, u32 level)
{
	return plan_load(tree, level, place->step[level].node, place->step[level].at);
}

/* Plans the nodes above the plan's pieces, up to the line or word that commits the change */
static int plan_up(struct clfb_tree *tree, const struct clfb_place *place)
{
	struct clfb_plan *plan = &tree->plan;
	int err;

	for (plan->level = 0; plan->level < tree->levels; plan->level++) {
		plan->number = place->step[plan->level + 1].node;
		err = plan_step(tree, place, plan->level + 1);
		if (err)
			return err;
		plan_splice(plan, place->step[plan->level + 1].at);
		if (crab_clfb_line_fits(&plan->list)) {
			crab_clfb_line_encode(&plan->line, &plan->list);
			return 0;
		}
		err = plan_pieces(tree);
		if (err)
			return err;
	}
	plan->new_root = true;
	for (plan->levels = tree->levels; plan->pieces.count > 1; plan->levels++) {
		if (plan->levels == CLFB_LEVELS_MAX)
			return -ENOSPC;
		plan->list = plan->pieces;
		plan->list.leaves = !plan->levels;
		err = plan_pieces(tree);
		if (err)
			return err;
	}
	plan->number = plan->pieces.ref[0];
	return 0;
}

static void plan_begin(struct clfb_plan *plan)
{
	plan->count = 0;
	plan->new_root = false;
}

/* Frees the nodes of the path that the change has replaced */
static void plan_free(struct clfb_tree *tree, const struct clfb_place *place)
{
	u32 level;

	for (level = 1; level <= tree->plan.level; level++)
		node_free(tree, place->step[level].node);
}

/* The one line, or word, that commits the change */
static void plan_commit(struct clfb_write *write)
{
	struct clfb_tree *tree = write->tree;
	struct clfb_plan *plan = &tree->plan;

	if (!plan->new_root) {
		crab_clfb_node_update(write, plan->number, &plan->line);
		return;
	}
	crab_clfb_root_store(write->flow, tree->base.geo.store_id, plan->number, plan->levels);
	/* P14: the root word is durable: the nodes and leaves that it bypasses are free */
	crab_fence(write->flow, CRAB_P14_ROOT);
	tree->root = plan->number;
	tree->levels = plan->levels;
}

/**
 * struct split - a split of a leaf
 * @spare: the fresh leaves
 * @n: how many: 1 if the old leaf remains
 * @count: records of the leaf and the new one
 * @keep: those of the left leaf
 */
struct split {
	struct crab_spare spare[2];
	u32 n;
	u32 count;
	u32 keep;
};

/* The leaf keeps its header, so the lowest key there must be below the new end of its range */
static bool split_appends(const struct clfb_tree *tree, const struct clfb_place *place, u64 key)
{
	return place->high == CRAB_KEY_EMPTY && !clfb_is_bare(&tree->base.geo) &&
	       crab_clfb_leaf_low(tree, place->leaf) < key &&
	       crab_clfb_leaf_low(tree, place->leaf) < key;	/* one load may read 0 */
}

/*
 * The records of the leaf and the new one in clfb_tree.scratch, and which of them go where; false:
 * the media has changed
 */
static bool split_records(struct clfb_tree *tree, const struct clfb_place *place,
			  const struct crab_record *record, struct split *s)
{
	int count = crab_clfb_leaf_sorted(tree, place->leaf, tree->scratch), at = count;

	if (count < 0 || !crab_clfb_leaf_agrees(tree, place->leaf, tree->scratch, count))
		return false;
	for (; at && tree->scratch[at - 1].key > record->key; at--)
		tree->scratch[at] = tree->scratch[at - 1];
	tree->scratch[at] = *record;
	s->n = at == count && split_appends(tree, place, record->key) ? 1 : 2;
	s->count = count + 1;
	s->keep = s->n == 1 ? count : s->count / 2;
	return true;
}

/* The lowest key of the right leaf ends a range: the keys that were read must be in the old one */
static bool split_holds(const struct clfb_tree *tree, const struct clfb_place *place,
			const struct split *s)
{
	const struct crab_record *r = tree->scratch;
	u32 i = 1;

	while (i < s->count && r[i].key > r[i - 1].key)
		i++;
	return likely(s->keep && i == s->count && r[0].key >= place->low &&
		      r[i - 1].key < place->high);
}

static int split_prepare(struct clfb_tree *tree, const struct clfb_place *place,
			 const struct crab_record *record, struct split *s)
{
	if (!split_records(tree, place, record, s) || !split_holds(tree, place, s))
		return crab_engine_damaged(&tree->base,
					   crab_leaf_offset(&tree->base.geo, place->leaf),
					   "leaf %llu: a key is out of its range or order",
					   (unsigned long long)place->leaf);
	return crab_pool_alloc(&tree->pool, s->spare, s->n, 0);
}

static void split_write(struct clfb_write *write, const struct clfb_place *place,
			const struct split *s)
{
	struct clfb_tree *tree = write->tree;
	const struct crab_geometry *geo = &tree->base.geo;
	const struct crab_record *right = tree->scratch + s->keep;
	u32 i;

	if (s->n == 2)
		crab_clfb_leaf_fresh(write->flow, geo, s->spare[1].leaf, place->low, tree->scratch,
				     s->keep);
	crab_clfb_leaf_fresh(write->flow, geo, s->spare[0].leaf, right->key, right,
			     s->count - s->keep);
	for (i = 0; i < tree->plan.count; i++) {
		crab_clfb_node_fresh(write, tree->plan.fresh[i].number, &tree->plan.fresh[i].line);
		__set_bit(tree->plan.fresh[i].number, tree->node_live);
	}
	for (i = 0; i < s->n; i++)
		__set_bit(s->spare[i].leaf, tree->leaf_live);
	/* P7: fresh leaves and nodes are whole before anything leads to them */
	crab_fence(write->flow, CRAB_P7_FRESH);
}

static int split_plan(struct clfb_tree *tree, const struct clfb_place *place,
		      const struct split *s)
{
	struct clfb_plan *plan = &tree->plan;
	int err;

	plan_begin(plan);
	plan->pieces.count = 2;
	plan->pieces.ref[0] = s->n == 2 ? s->spare[1].leaf : place->leaf;
	plan->pieces.ref[1] = s->spare[0].leaf;
	plan->pieces.key[0] = place->low;
	plan->pieces.key[1] = tree->scratch[s->keep].key;
	err = plan_up(tree, place);
	if (err)
		plan_drop(tree);
	return err;
}

int crab_clfb_smo_split(struct clfb_write *write, const struct clfb_place *place,
			const struct crab_record *record)
{
	struct clfb_tree *tree = write->tree;
	struct split s;
	int err;
	u32 i;

	err = split_prepare(tree, place, record, &s);
	if (err)
		return err;
	err = split_plan(tree, place, &s);
	for (i = 0; err && i < s.n; i++)
		leaf_free(tree, s.spare[i].leaf);
	if (err)
		return err;
	crab_flow_pin();
	split_write(write, place, &s);
	plan_commit(write);
	crab_flow_unpin();
	plan_free(tree, place);
	if (s.n == 2)
		leaf_free(tree, place->leaf);
	tree->leaves++;
	tree->splits++;
	return 0;
}

/* Loads the lowest node of the path that has two children; -EBUSY: none */
static int unlink_level(struct clfb_tree *tree, const struct clfb_place *place, u32 *level)
{
	int err;

	for (*level = 1; *level <= tree->levels; ++*level) {
		err = plan_step(tree, place, *level);
		if (err || tree->plan.list.count > 1)
			return err;
	}
	return -EBUSY;
}

/* Removes child @at. Its range goes to the one before it, that of the first to the second */
static void plan_cut(struct clfb_list *list, u32 at)
{
	u32 after = list->count - at - 1;

	memmove(list->ref + at, list->ref + at + 1, after * sizeof(list->ref[0]));
	memmove(list->key + at, list->key + at + 1, after * sizeof(list->key[0]));
	list->count--;
}

/* The root is the highest node below it with two children; those with one are noted as replaced */
static int plan_lower(struct clfb_tree *tree)
{
	struct clfb_plan *plan = &tree->plan;
	int err;

	plan->new_root = true;
	plan->number = plan->list.ref[0];
	for (plan->levels = tree->levels - 1; plan->levels; plan->levels--) {
		err = plan_load(tree, plan->levels, plan->number, 0);
		if (err)
			return err;
		if (plan->list.count > 1)
			break;
		plan->fresh[plan->count++].number = plan->number;
		plan->number = plan->list.ref[0];
	}
	return 0;
}

/* Plans the line or word without the leaf; -EBUSY: there is none */
static int unlink_plan(struct clfb_tree *tree, const struct clfb_place *place)
{
	struct clfb_plan *plan = &tree->plan;
	u32 level;
	int err = unlink_level(tree, place, &level);

	if (err)
		return err;
	plan_begin(plan);
	plan_cut(&plan->list, place->step[level].at);
	plan->number = place->step[level].node;
	plan->level = level - 1;
	if (level == tree->levels && plan->list.count == 1) {
		plan->level = level;
		return plan_lower(tree);
	}
	if (!crab_clfb_line_fits(&plan->list))
		return -EBUSY;
	crab_clfb_line_encode(&plan->line, &plan->list);
	return 0;
}

int crab_clfb_smo_unlink(struct clfb_write *write, const struct clfb_place *place)
{
	struct clfb_tree *tree = write->tree;
	int err;

	if (crab_pool_is_closed(&tree->pool))	/* also since memory has failed */
		return -EUCLEAN;
	err = unlink_plan(tree, place);
	if (err)
		return err;
	crab_flow_pin();
	plan_commit(write);
	crab_flow_unpin();
	plan_drop(tree);
	plan_free(tree, place);
	leaf_free(tree, place->leaf);
	tree->leaves--;
	tree->unlinks++;
	return 0;
}

/*
 * The most expensive operation splits a leaf and a full node of each level, and the root word
 * commits it. In each level the pieces of the one below replace a child. Splits reach the bound
 * with one level or none: with more, the key that needs so many pieces in one level is not the
 * lowest key of a piece, so that the level above needs fewer.
 */
u64 crab_clfb_smo_bound(const struct clfb_tree *tree)
{
	const struct crab_geometry *geo = &tree->base.geo;
	u32 any = crab_clfb_line_any(geo->leaves), records = tree->room + 1, pieces = 2, level;
	u64 lines = clfb_fresh_lines(geo, records / 2) +
		    clfb_fresh_lines(geo, records - records / 2) + 1;

	for (level = 0; level < tree->levels || pieces > 1; level++) {
		if (level < tree->levels)
			pieces += CRAB_CLFB_FANOUT - 1;
		pieces = DIV_ROUND_UP(pieces, any);
		lines += pieces;
	}
	return lines;
}

/*
 * A write replaces one node of each level, by CLFB_PIECES_MAX at most. The levels above the present
 * root have no more nodes than that together, since each node there has two children; and those of
 * one path, which are free only after the write.
 *
 * Or, in a small tree: a fresh node has three children, or is the root. So there are never more
 * fresh ones than half of the leaves; and as many again that the write under way replaces.
 */
u64 crab_clfb_smo_nodes(const struct clfb_tree *tree, u32 writes)
{
	u64 paths = (u64)CLFB_PIECES_MAX * writes * (tree->levels + 1) + CLFB_LEVELS_MAX;

	return min(paths, tree->leaves + writes);
}

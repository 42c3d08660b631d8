// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests CHECK of the engine `crab`: it finds each kind of fault, no fault in a leaf that
 * repair would complete, and none when other tasks change the store while it pauses.
 */
#include "small.h"

/* CHECK finds each of these faults in the second leaf of the list, of four */

#define FAULT_LEAVES	4U

static struct crab_dleaf *dleaf(const struct crab_leaf *leaf)
{
	return crab_leaf_media(tree, leaf->number);
}

static void flip(__le64 *word)
{
	*word ^= cpu_to_le64(1ULL << 50);
}

static void spoil_header(struct crab_leaf *leaf)
{
	dleaf(leaf)->head.crc ^= cpu_to_le32(1);
}

static void spoil_link(struct crab_leaf *leaf)
{
	flip(&dleaf(leaf)->head.next);
}

static void spoil_last_link(struct crab_leaf *leaf)
{
	flip(&dleaf(tree->last)->head.next);
}

/* Its header cannot be read, so the link that leads to it is not compared with its birth */
static void spoil_memory(struct crab_leaf *leaf)
{
	spoil_header(leaf);
	leaf->quarantined = true;
	tree->quarantined = 1;
}

static void spoil_births(struct crab_leaf *leaf)
{
	tree->birth = 1;
}

static void spoil_pool(struct crab_leaf *leaf)
{
	tree->pool.used[leaf->number / 64] &= ~(1UL << leaf->number % 64);
}

static void spoil_free(struct crab_leaf *leaf)
{
	tree->pool.used[(LEAVES - 1) / 64] |= 1UL << (LEAVES - 1) % 64;
	tree->pool.free--;
}

static void spoil_many(struct crab_leaf *leaf)
{
	tree->pool.free++;
}

static void spoil_low(struct crab_leaf *leaf)
{
	u32 slot = crab_layout_next(tree, leaf, 0);

	dleaf(leaf)->slots[slot].key = cpu_to_le64(leaf->low - 1);
}

static void spoil_high(struct crab_leaf *leaf)
{
	u32 slot = leaf->count - 1;

	dleaf(leaf)->slots[slot].key = cpu_to_le64(leaf->high);
}

static void spoil_twice(struct crab_leaf *leaf)
{
	dleaf(leaf)->slots[1].key = dleaf(leaf)->slots[2].key;
}

static void spoil_index(struct crab_leaf *leaf)
{
	mutex_lock(&tree->smo_lock);
	crab_index_remove(&tree->index, leaf->low);
	mutex_unlock(&tree->smo_lock);
}

static void spoil_prev(struct crab_leaf *leaf)
{
	leaf->next->prev = leaf->prev;
}

static void spoil_range(struct crab_leaf *leaf)
{
	leaf->high--;
}

static void spoil_head_link(struct crab_leaf *leaf)
{
	flip(&crab_list_head(&media)->next);
}

static void spoil_head(struct crab_leaf *leaf)
{
	crab_list_head(&media)->crc ^= cpu_to_le32(1);
}

static void spoil_leaves(struct crab_leaf *leaf)
{
	tree->leaves--;
}

static void spoil_records(struct crab_leaf *leaf)
{
	tree->records++;
}

/* Another lowest key, or another void, in a valid header */
static void forge(struct crab_leaf *leaf, u64 low, u64 own)
{
	struct crab_flow flow = { .media = &media };
	struct crab_head head;

	crab_head_load(&media, crab_leaf_offset(&tree->base.geo, leaf->number),
		       tree->base.geo.store_id, &head);
	head.low += low;
	head.own += own;
	crab_head_store(&flow, tree->base.geo.store_id, &head);
}

static void spoil_header_low(struct crab_leaf *leaf)
{
	forge(leaf, 1, 0);
}

static void spoil_void(struct crab_leaf *leaf)
{
	forge(leaf, 0, 1);
}

/* A slot of the leaf without a record */
static struct crab_dslot *free_slot(struct crab_leaf *leaf)
{
	u32 slot = 0;

	del(le64_to_cpu(dleaf(leaf)->slots[0].key));
	while (crab_slotted_is_live(leaf, slot))
		slot++;
	return &dleaf(leaf)->slots[slot];
}

static void spoil_slot(struct crab_leaf *leaf)
{
	*free_slot(leaf) = (struct crab_dslot){ .key = cpu_to_le64(leaf->low + 1) };
}

static void spoil_half_key(struct crab_leaf *leaf)
{
	free_slot(leaf)->key = cpu_to_le64(leaf->low + 1);
}

static void spoil_half_value(struct crab_leaf *leaf)
{
	free_slot(leaf)->value = 0;
}

static void spoil_count(struct crab_leaf *leaf)
{
	leaf->count--;
}

static void spoil_firsts(struct crab_leaf *leaf)
{
	crab_sorted_firsts(leaf)[1]--;
}

static void spoil_first_zero(struct crab_leaf *leaf)
{
	crab_sorted_firsts(leaf)[0]++;
}

static void spoil_end(struct crab_leaf *leaf)
{
	del(le64_to_cpu(dleaf(leaf)->slots[leaf->count - 1].key));
	dleaf(leaf)->slots[leaf->count].key = cpu_to_le64(leaf->high - 1);
}

static const struct fault {
	void (*spoil)(struct crab_leaf *leaf);
	const char *what;
	const char *layout;	/* NULL: either */
	u64 count;		/* faults that CHECK counts; 0: any */
} faults[] = {
	{ .spoil = spoil_header, .what = "", .count = 2 },	/* that of the leaf before leads to none, too */
	{ .spoil = spoil_link, .what = "link does not lead" },
	{ .spoil = spoil_last_link, .what = "link does not lead" },
	{ .spoil = spoil_memory, .what = "uncorrectable memory", .count = 1 },
	{ .spoil = spoil_births, .what = "born in the future" },
	{ .spoil = spoil_pool, .what = "in the list and free" },
	{ .spoil = spoil_free, .what = "are not all" },
	{ .spoil = spoil_many, .what = "are not all" },
	{ .spoil = spoil_low, .what = "outside the leaf's range" },
	{ .spoil = spoil_high, .what = "outside the leaf's range" },
	{ .spoil = spoil_twice, .what = "" },
	{ .spoil = spoil_index, .what = "index does not lead" },
	{ .spoil = spoil_prev, .what = "neighbours in DRAM disagree" },
	{ .spoil = spoil_range, .what = "its range in DRAM" },
	{ .spoil = spoil_head_link, .what = "head does not lead" },
	{ .spoil = spoil_head, .what = "head of the leaf list is damaged" },
	{ .spoil = spoil_leaves, .what = "leaves in the tree, DRAM counts" },
	{ .spoil = spoil_records, .what = "records, DRAM counts" },
	{ .spoil = spoil_header_low, .what = "lowest key is not the one", .layout = "slotted" },
	{ .spoil = spoil_void, .what = "void is not the one", .layout = "slotted" },
	{ .spoil = spoil_slot, .what = "not in both", .layout = "slotted" },
	{ .spoil = spoil_half_key, .what = "half a sentinel", .layout = "slotted" },
	{ .spoil = spoil_half_value, .what = "half a sentinel", .layout = "slotted" },
	{ .spoil = spoil_count, .what = "records, DRAM counts", .layout = "slotted" },
	{ .spoil = spoil_firsts, .what = "its first key is not", .layout = "sorted" },
	{ .spoil = spoil_first_zero, .what = "its first key is not", .layout = "sorted" },
	{ .spoil = spoil_end, .what = "records do not end", .layout = "sorted" },
};

static void check_fault(const char *layout, const struct fault *fault)
{
	struct crab_check_report report;
	u64 n;

	begin(layout, LEAVES);
	for (n = 0; tree->leaves < FAULT_LEAVES; n++)
		put((n + 1) * STEP);
	if (fault)
		fault->spoil(tree->first->next);
	tap_check(!crab_store_check(store, &report), "an error");
	if (fault)
		tap_check(report.damage.count && strstr(report.damage.what, fault->what) &&
			  (!fault->count || report.damage.count == fault->count), "%s: %llu, %s",
			  fault->what, report.damage.count, report.damage.what);
	else
		tap_check(!report.damage.count && report.records == n &&
			  report.leaves == FAULT_LEAVES, "%s", report.damage.what);
	end();
}

static void test_check(const char *layout)
{
	u32 i, n = 0;

	check_fault(layout, NULL);
	for (i = 0; i < ARRAY_SIZE(faults); i++) {
		if (faults[i].layout && strcmp(faults[i].layout, layout))
			continue;
		check_fault(layout, &faults[i]);
		n++;
	}
	tap_ok(true, "%s: CHECK finds each of %u faults", layout, n);
}

/* A read-only attach leaves empty and torn leaves as they are; they are no damage */
static void test_readonly(const char *layout)
{
	struct crab_check_report report;
	struct crab_dslot *slots;
	u64 n, lost = 1;

	begin(layout, LEAVES);
	for (n = 0; tree->leaves < FAULT_LEAVES; n++)
		put((n + 1) * STEP);
	slots = dleaf(tree->first->next)->slots;
	if (!strcmp(layout, "sorted")) {
		lost = tree->first->next->count + tree->first->next->next->count;
		dleaf(tree->first->next->next)->slots[0].key = cpu_to_le64(CRAB_KEY_EMPTY);
	}
	slots[0].key = cpu_to_le64(CRAB_KEY_EMPTY);
	attach_again(true);
	report = store_check_good(store);
	tap_ok(report.records == n - lost && report.leaves == FAULT_LEAVES,
	       "%s: CHECK finds no damage in a leaf that repair would complete: %llu records, %llu", layout,
	       report.records, n);
	end();
}

/* Called at the first pause of CHECK, when the structure is not held */
static void (*at_pause)(void);
static struct crab_check_report paused;
static u64 turn;	/* leaves before the pause */

void __wrap_crab_host_may_sleep(void)
{
	void (*happens)(void) = at_pause;

	if (!happens || paused.leaves < turn || tree->smo_lock.held)
		return;
	at_pause = NULL;
	happens();
}

/* The leaf with which CHECK goes on */
static struct crab_leaf *leaf_after_pause(void)
{
	struct crab_leaf *leaf = tree->first;
	u64 n;

	for (n = 0; n < turn; n++)
		leaf = leaf->next;
	return leaf;
}

static void pause_insert(void)
{
	del(STEP);
	put(STEP);
	del(2 * STEP);
}

static void pause_unlink(void)
{
	u64 key = leaf_after_pause()->low, high = leaf_after_pause()->high;

	for (; key < high; key += STEP)
		del(key);
}

static void pause_split(void)
{
	u64 key = leaf_after_pause()->low, leaves = tree->leaves;

	while (tree->leaves == leaves)
		put(++key);
}

/* Leaves two records in a leaf */
static void thin(const struct crab_leaf *leaf)
{
	u64 key = leaf->low + 2 * STEP, high = leaf->high;

	for (; key < high; key += STEP)
		del(key);
}

static void thin_before(void)
{
	thin(leaf_after_pause()->prev);
}

static void pause_merge(void)
{
	u64 leaves = tree->leaves;

	thin(leaf_after_pause());
	store_maintain(store);
	tap_check(tree->leaves == leaves - 1, "%llu leaves of %llu", tree->leaves, leaves);
}

static const struct pause {
	const char *name;
	void (*happens)(void);
	void (*before)(void);	/* before CHECK; or NULL */
	u64 gone;		/* records that were counted */
} pauses[] = {
	{ "records of leaves before it change", .happens = pause_insert, .gone = 1 },
	{ "the next leaf is unlinked", .happens = pause_unlink },
	{ "the next leaf is merged with the one before it", .happens = pause_merge,
	  .before = thin_before },
	{ "the next leaf is split", .happens = pause_split },
};

/* Other tasks change the store while CHECK pauses: no damage, and it goes on in the right leaf */
static void test_pause(const struct pause *pause)
{
	u64 n;

	begin("slotted", 4096);
	turn = crab_check_turn(tree->slots);
	for (n = 1; tree->leaves < 2 * turn; n++)
		put(n * STEP);
	if (pause->before)
		pause->before();
	paused = (struct crab_check_report){ };
	at_pause = pause->happens;
	tap_check(!crab_store_check(store, &paused) && !paused.damage.count, "%s",
		  paused.damage.what);
	/* A leaf that has the range of one before the pause is read again, and its records count once */
	tap_check(!at_pause && paused.leaves == tree->leaves, "%llu leaves, not %llu", paused.leaves,
		  tree->leaves);
	n = crab_tree_records(tree) + pause->gone;
	tap_check(paused.records == n, "%llu records, not %llu", paused.records, n);
	at_pause = NULL;
	tap_ok(true, "CHECK pauses, and %s", pause->name);
	end();
}

/* CHECK goes on with the empty leaf before which it paused, not with the leaf that has its range */
static void test_pause_empty(void)
{
	u64 n;

	begin("sorted", 4096);
	turn = crab_check_turn(tree->slots);
	for (n = 1; tree->leaves < 2 * turn; n++)
		put(n * STEP);
	dleaf(leaf_after_pause())->slots[0].key = cpu_to_le64(CRAB_KEY_EMPTY);
	attach_again(true);
	paused = store_check_good(store);
	tap_ok(paused.leaves == 2 * turn, "CHECK pauses before an empty leaf: %llu leaves of %llu",
	       paused.leaves, 2 * turn);
	end();
}

int main(void)
{
	u32 i;

	crab_host_log = NULL;	/* damage is planted, and reported in the log */
	test_check("slotted");
	test_check("sorted");
	test_readonly("slotted");
	test_readonly("sorted");
	for (i = 0; i < ARRAY_SIZE(pauses); i++)
		test_pause(&pauses[i]);
	test_pause_empty();
	return tap_done();
}

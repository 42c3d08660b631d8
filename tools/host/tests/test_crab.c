// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests rare states of the engine `crab`: the last births, attach with torn leaves and with
 * misplaced keys, requests for maintenance, leaves that change before they are merged, batches.
 */
#include "small.h"

/* The last birth is used, and no other one after it. A split needs two, an append one */
static void test_births(void)
{
	u64 n, high = 1ULL << 40;

	begin("slotted", LEAVES);
	for (n = 0; tree->leaves < 3; n++)
		put(n * STEP);
	tap_check(tree->splits == 2, "%llu splits", tree->splits);
	for (n = 1; tree->first->count < tree->slots; n++)
		put(n);
	tree->birth = CRAB_BIRTH_MAX - 1;
	tap_check(put(n) == -ENOSPC, "a split with one birth");
	tree->birth = CRAB_BIRTH_MAX - 2;
	tap_check(!put(n) && tree->birth == CRAB_BIRTH_MAX, "a split with two births");
	while (tree->last->count < tree->slots)
		put(++high);
	tap_check(put(high + 1) == -ENOSPC, "an append without a birth");
	tree->birth = CRAB_BIRTH_MAX - 1;
	tap_check(!put(high + 1) && tree->birth == CRAB_BIRTH_MAX, "an append with one birth");
	tap_check(!store->engine->ops->takes(store->engine, 0) &&
		  store->engine->ops->takes(store->engine, 1) == -ENOSPC, "a commit without births");
	tree->birth = CRAB_BIRTH_MAX - 6;
	tap_check(!store->engine->ops->takes(store->engine, 3) &&
		  store->engine->ops->takes(store->engine, 4) == -ENOSPC, "a commit of three");
	tap_ok(true, "births: the last one is used");
	end();
}

/* The birth of a leaf of the list */
static u64 birth_of(const struct crab_leaf *leaf)
{
	struct crab_head head = { };

	tap_check(crab_head_load(&media, crab_leaf_offset(&tree->base.geo, leaf->number),
				 tree->base.geo.store_id, &head), "leaf %llu", leaf->number);
	return head.birth;
}

/* Leaves that are added after an attach have other births than those before it */
static void test_once(void)
{
	const struct crab_leaf *leaf, *other;
	u64 n = 0, leaves, twice = 0;

	begin("slotted", LEAVES);
	for (leaves = 2; leaves < 20; leaves += 6) {
		while (tree->leaves < leaves)
			put(n++ * STEP);
		attach_again(false);
	}
	for (leaf = tree->first; leaf; leaf = leaf->next)
		for (other = leaf->next; other; other = other->next)
			twice += birth_of(leaf) == birth_of(other);
	tap_ok(!twice && tree->leaves > 10, "births: none is used twice");
	end();
}

/* A birth of the list counts, however high it is: the last leaf gets another one */
static void test_high(void)
{
	const u64 birth = CRAB_BIRTH_MAX / 2 + 1;
	struct crab_flow flow = { .media = &media };
	struct crab_head head = { };
	const struct crab_leaf *leaf;
	u64 n;

	begin("slotted", LEAVES);
	for (n = 0; tree->leaves < 3; n++)
		put(n * STEP);
	leaf = tree->last;
	crab_head_load(&media, crab_leaf_offset(&tree->base.geo, leaf->number),
		       tree->base.geo.store_id, &head);
	head.birth = birth;
	head.next = crab_link_end(tree->base.geo.store_id, head.self, birth);
	crab_head_store(&flow, tree->base.geo.store_id, &head);
	crab_leaf_media(tree, leaf->prev->number)->head.next =
		cpu_to_le64(crab_link_to(&tree->base.geo, leaf->number, birth));
	attach_again(false);
	tap_ok(tree->birth == birth, "births: a high one of the list counts: %llu", tree->birth);
	end();
}

static u64 question, questions;	/* at which attach is to end, and all */

static bool asked(void *arg)
{
	return questions++ == question;
}

static void torn(const struct crab_leaf *leaf, bool sorted)
{
	struct crab_dslot *slots = crab_leaf_media(tree, leaf->number)->slots;

	slots[0].key = sorted ? slots[1].key : cpu_to_le64(CRAB_KEY_EMPTY);
}

/* Attach of a store that was not detached, with torn leaves; it may stop at each question */
static void test_questions(const char *layout)
{
	struct crab_attach_options options = { .interrupted = asked };
	bool sorted = !strcmp(layout, "sorted");
	struct crab_attach_report report;
	const struct crab_leaf *leaf;
	u64 key, size, leaves, stops;
	u8 *copy;

	begin(layout, LEAVES);
	for (key = 1; tree->leaves < 20; key++)
		put(key * STEP);
	for (leaf = tree->first; leaf; leaf = leaf->next)
		torn(leaf, sorted);
	leaves = tree->leaves;
	size = media.size;
	copy = malloc(size);
	memcpy(copy, media.base, size);
	crab_store_abandon(store);
	for (question = 0; ; question++) {
		memcpy(media.base, copy, size);
		questions = 0;
		store = crab_store_attach(&media, &options, &report);
		if (!IS_ERR(store) && questions <= question)
			break;
		tap_check(PTR_ERR_OR_ZERO(store) == -EINTR, "question %llu: %d", question,
			  PTR_ERR_OR_ZERO(store));
		if (!IS_ERR(store))
			crab_store_abandon(store);
	}
	stops = question;
	free(copy);
	tree = crab_tree_of(store->engine);
	tap_check(tree->repairs >= leaves - 1, "%llu repairs", tree->repairs);
	for (leaf = tree->first; leaf; leaf = leaf->next)
		tap_check(!leaf->torn, "leaf %llu is torn", leaf->number);
	crab_store_detach(store);
	questions = 0;
	store = crab_store_attach(&media, &options, &report);
	tree = crab_tree_of(store->engine);
	tap_check(stops - questions >= leaves, "%llu questions without a repair", questions);
	/* The last sorted leaf had one record */
	tap_check(!tree->base.damage.count && tree->leaves == leaves - sorted, "%llu leaves, %s",
		  tree->leaves, tree->base.damage.what);
	tap_ok(stops > 2 * leaves, "%s: attach of %llu leaves stops at each of %llu questions",
	       layout, leaves, stops);
	end();
}

static bool wants(void)
{
	return store->engine->ops->wants(store->engine);
}

static u64 kicks;

static void kick(void *arg)
{
	kicks++;
}

static void attach_kicked(void)
{
	const struct crab_attach_options options = { .kick = kick };
	struct crab_attach_report report;

	crab_store_detach(store);
	store = crab_store_attach(&media, &options, &report);
	tree = crab_tree_of(store->engine);
	while (crab_pool_needs_refill(&tree->pool))
		crab_store_maintain(store);
	tap_check(wants(), "no sweep after an attach");
	store_maintain(store);
	kicks = 0;
}

/* Removes the highest records of a leaf until @keep are left */
static void thin(const struct crab_leaf *leaf, u32 keep)
{
	u64 key = leaf->high;

	while (leaf->count > keep) {
		key -= STEP;
		del(key);
	}
}

/* Maintenance is requested by the 32nd note of a sparse leaf, and sweeps if one was lost */
static void test_due(void)
{
	struct crab_leaf *leaf;
	u64 n, notes = 0, leaves;
	u32 keep;

	begin("slotted", 512);
	for (n = 0; tree->leaves < 400; n++)
		put(n * STEP);
	attach_kicked();
	leaves = tree->leaves;
	keep = tree->slots / 4;		/* a note at 8 records, and none after it */
	for (leaf = tree->first; leaf->next && notes <= CRAB_UNDERFULL_NOTES; leaf = leaf->next) {
		tap_check(wants() == (notes >= CRAB_UNDERFULL_DUE) &&
			  !kicks == (notes < CRAB_UNDERFULL_DUE), "%llu notes, %llu kicks", notes,
			  kicks);
		tap_check(!tree->underfull.lost, "note %llu is lost", notes);
		thin(leaf, keep);
		notes++;
	}
	tap_check(tree->underfull.lost, "no note is lost");
	store_maintain(store);
	tap_check(!wants() && tree->leaves < leaves - notes / 3, "%llu leaves, then %llu", leaves,
		  tree->leaves);
	tap_ok(true, "deletes: maintenance is requested after %u notes", CRAB_UNDERFULL_DUE);
	end();
}

/* Four sorted leaves, which are changed in place */
static void sorted_begin(void)
{
	u64 n;

	begin("sorted", LEAVES);
	tree->tuning.strategy = CRAB_STRATEGY_SIP;
	for (n = 0; tree->leaves < 4; n++)
		put(n * STEP);
	tap_check(tree->first->count == tree->slots && tree->first->next->count == tree->slots,
		  "no full leaves");
}

/* No record moves, and no leaf is unlinked, with the second leaf: the first one loses records */
static void rebalance_fails(u32 keep, bool found)
{
	const struct crab_leaf *left = tree->first;
	u32 count = left->next->count;
	u64 key;
	int err = 0;

	for (key = (left->count - 1) * STEP; !err && left->count > keep; key -= STEP) {
		err = store_delete(store, key);
	}
	tap_check(left->count == keep && left->next->count == count && tree->leaves == 4,
		  "%u and %u records, %llu leaves", left->count, left->next->count, tree->leaves);
	tap_check(!!store->engine->found.count == found, "damage: %s", store->engine->found.what);
}

static void test_rebalance(void)
{
	struct crab_dleaf *d;
	u32 half, merges;

	sorted_begin();
	half = tree->slots / 2;
	crab_pool_close(&tree->pool);	/* as if other memory had failed */
	rebalance_fails(half - 1, false);
	end();

	for (merges = 0; merges < 2; merges++) {
		sorted_begin();
		thin(tree->first->next, merges ? half : tree->slots);
		d = crab_leaf_media(tree, tree->first->next->number);
		d->slots[1].key = d->slots[2].key;
		rebalance_fails(half - 1, true);
		end();
	}

	sorted_begin();
	d = crab_leaf_media(tree, tree->first->next->number);
	d->head.next ^= cpu_to_le64(1ULL << 20);
	thin(tree->first->next, half);
	rebalance_fails(half - 1, true);
	end();

	sorted_begin();
	d = crab_leaf_media(tree, tree->first->number);
	d->slots[tree->slots - 1].key = cpu_to_le64(le64_to_cpu(d->slots[tree->slots - 3].key) + 1);
	thin(tree->first->next, half);
	del(tree->first->high);
	tap_check(tree->first->count == tree->slots && tree->first->next->count == half - 1 &&
		  store->engine->found.count, "%u and %u records", tree->first->count,
		  tree->first->next->count);
	end();

	sorted_begin();
	d = crab_leaf_media(tree, tree->first->number);
	thin(tree->first, half);
	thin(tree->first->next, half);
	d->slots[half - 1].key = cpu_to_le64(le64_to_cpu(d->slots[half - 3].key) + 1);
	del(tree->first->high);
	tap_check(tree->leaves == 4 && tree->first->count == half && store->engine->found.count,
		  "%u records, %llu leaves", tree->first->count, tree->leaves);
	end();
	tap_ok(true, "sorted: nothing moves from a leaf, or into it, whose words have changed");
}

/* Maintenance does not merge leaves of which one has a key of another leaf; it keeps its memory */
static void test_merge(void)
{
	const struct crab_leaf *leaf;
	u64 n, free;

	begin("slotted", LEAVES);
	for (n = 0; tree->leaves < 6; n++)
		put(n * STEP);
	store_maintain(store);
	thin(tree->first, tree->slots / 4);
	leaf = tree->first->next;
	thin(leaf, tree->slots / 4);
	crab_leaf_media(tree, leaf->number)->slots[crab_layout_next(tree, leaf, 0)].key =
		cpu_to_le64(1ULL << 62);
	mutex_lock(&tree->smo_lock);
	tap_check(!crab_smo_reserve(tree), "no memory");
	free = tree->pool.free;
	mutex_unlock(&tree->smo_lock);
	store_maintain(store);
	mutex_lock(&tree->smo_lock);
	tap_check(crab_smo_is_reserved(tree), "a descriptor is lost");
	mutex_unlock(&tree->smo_lock);
	tap_ok(tree->leaves == 6 && tree->pool.free == free && store->engine->found.count,
	       "slotted: leaves with a key of another one are not merged: %llu leaves, %llu of %llu free",
	       tree->leaves, tree->pool.free, free);
	end();
}

/* A split whose leaf has two keys in another order, or one twice, is refused: by a copy, or in place */
static void test_split(void)
{
	struct crab_dslot *slots;
	struct crab_leaf *leaf;
	u32 i, twice;

	for (i = 0; i < 4; i++) {
		sorted_begin();
		twice = i & 1;
		tree->tuning.strategy = i & 2 ? CRAB_STRATEGY_SIP : CRAB_STRATEGY_COW;
		leaf = tree->first->next;
		slots = crab_leaf_media(tree, leaf->number)->slots;
		swap(slots[4], slots[5]);
		slots[4] = slots[4 + twice];
		tap_check(put(leaf->low + 20 * STEP + STEP / 2) == -EUCLEAN && tree->leaves == 4,
			  "%llu leaves", tree->leaves);
		tap_check(store->engine->found.count, "no damage");
		end();
	}
	tap_ok(true, "sorted: a leaf whose keys do not ascend is not split");
}

/* The same of a leaf that is copied, by an insert or a delete: the leaf for the copy is free again */
static void test_copy(void)
{
	struct crab_dslot *slots;
	struct crab_leaf *leaf;
	u32 removes;
	u64 free;
	int err;

	for (removes = 0; removes < 2; removes++) {
		sorted_begin();
		leaf = tree->first->next;
		del(leaf->high - STEP);
		tree->tuning.strategy = CRAB_STRATEGY_COW;
		slots = crab_leaf_media(tree, leaf->number)->slots;
		swap(slots[4], slots[5]);
		free = tree->pool.free;
		err = removes ? store_delete(store, leaf->low + 20 * STEP) :
				put(leaf->low + 20 * STEP + 1);
		tap_check(err == -EUCLEAN && store->engine->found.count, "%d", err);
		tap_check(tree->pool.free == free, "%llu of %llu free", tree->pool.free, free);
		end();
	}
	tap_ok(true, "sorted: a leaf whose keys do not ascend is not copied");
}

/* The leaf of a copy replaces the old one, so a copy needs one free leaf */
static void test_last_leaf(void)
{
	struct crab_leaf *leaf;
	struct crab_spare spare;
	u64 number, key;

	sorted_begin();
	leaf = tree->first->next;
	key = leaf->high - STEP;
	del(key);
	tree->tuning.strategy = CRAB_STRATEGY_COW;
	while (tree->pool.free > 1)
		tap_check(!crab_pool_alloc(&tree->pool, &spare, 1, 0), "a leaf");
	number = leaf->number;
	tap_check(!put(key) && leaf->number != number && tree->pool.free == 1, "an insert");
	number = leaf->number;
	del(key);
	tap_check(leaf->number != number && tree->pool.free == 1, "a delete");
	tap_check(!crab_pool_alloc(&tree->pool, &spare, 1, 0), "the last leaf");
	tap_check(put(key) == -ENOSPC, "an insert without a leaf");
	number = leaf->number;
	del(key - STEP);
	tap_ok(leaf->number == number, "sorted: the last free leaf is enough for a copy");
	end();
}

/* A record of one leaf has a key of another one: that may be lost, and no other leaf is in doubt */
static void test_misplaced(void)
{
	const struct crab_leaf *leaf;
	u64 key, home, other;

	begin("slotted", LEAVES);
	for (key = 1; tree->leaves < 6; key++)
		put(key * STEP);
	leaf = tree->first->next;
	home = leaf->next->low + 1;
	other = leaf->next->next->low + 1;
	crab_leaf_media(tree, leaf->number)->slots[0].key = cpu_to_le64(home);
	attach_again(false);
	tap_check(store_search(store, home) == -EUCLEAN, "a lost key is absent");
	tap_check(!store_search(store, home - 1), "a key of the same leaf is lost");
	tap_ok(store_search(store, other) == -ENOENT,
	       "attach: a key that is in the wrong leaf is not absent");
	end();
}

/* The same of a sorted leaf, whose keys do not ascend then: they are in doubt up to its end */
static void test_disorder(void)
{
	u64 key, below, above, other;
	const struct crab_leaf *leaf;
	struct crab_dslot *slots;

	begin("sorted", LEAVES);
	for (key = 1; tree->leaves < 6; key++)
		put(key * STEP);
	leaf = tree->first->next;
	slots = crab_leaf_media(tree, leaf->number)->slots;
	below = leaf->low - 1;
	above = leaf->next->low + 1;
	other = leaf->next->next->low + 1;
	slots[1].key = cpu_to_le64(below);
	slots[3].key = cpu_to_le64(above);
	attach_again(false);
	tap_check(store_search(store, below) == -EUCLEAN && store_search(store, above) == -EUCLEAN,
		  "a lost key is absent");
	tap_ok(store_search(store, other) == -ENOENT && !store_search(store, above - 1),
	       "attach: keys after the first one that does not ascend are not absent");
	end();
}

/* The bitmap of allocation on demand has a bit for each leaf of the list, and no other one */
static void expect_bitmap(void)
{
	const __le64 *words = (__le64 *)(media.base + CRAB_BITMAP_OFFSET);
	const struct crab_leaf *leaf;
	u64 i, bits = 0;

	for (leaf = tree->first; leaf; leaf = leaf->next)
		tap_check(le64_to_cpu(words[leaf->number / 64]) >> leaf->number % 64 & 1,
			  "leaf %llu is in use", leaf->number);
	for (i = 0; i < DIV_ROUND_UP(tree->base.geo.leaves, 64); i++)
		bits += hweight64(le64_to_cpu(words[i]));
	tap_check(bits == tree->leaves, "%llu bits, %llu leaves", bits, tree->leaves);
}

static void test_bitmap(void)
{
	__le64 *words;
	u64 n;

	crab_tuning_default.on_demand = true;
	crab_tuning_default.pair = CRAB_PAIR_NEVER;
	begin("sorted", 100);
	words = (__le64 *)(media.base + CRAB_BITMAP_OFFSET);
	for (n = 0; tree->leaves < 80; n++)
		put(n * STEP);
	expect_bitmap();
	for (; n > 900; n--)
		del((n - 1) * STEP);
	expect_bitmap();
	memset(words, 0xff, DIV_ROUND_UP(tree->base.geo.leaves, 64) * sizeof(*words));
	attach_again(false);
	expect_bitmap();
	tap_check(tree->tuning.pair == CRAB_PAIR_NEVER, "an option is overwritten");
	crab_tuning_default.on_demand = false;
	crab_tuning_default.pair = CRAB_PAIR_ALWAYS;
	tap_ok(true, "on demand: the bitmap is that of the list, of %llu leaves", tree->leaves);
	end();
}

/* An operation with a wrong key, first in a batch and later in it, is not executed */
static void test_wrong(const char *layout)
{
	struct crab_batch_op ops[4];
	u32 i, wrong = 0;

	begin(layout, LEAVES);
	for (i = 0; i < ARRAY_SIZE(ops); i++)
		ops[i] = (struct crab_batch_op){
			.verb = CRAB_VERB_INSERT, .key = i % 2 ? i : CRAB_KEY_EMPTY, .value = 5,
		};
	crab_store_batch(store, ops, ARRAY_SIZE(ops));
	for (i = 0; i < ARRAY_SIZE(ops); i++)
		wrong += ops[i].status == -EINVAL;
	tap_check(store_check_good(store).records == 2, "not two records");
	tap_ok(wrong == 2 && !ops[1].status && !ops[3].status, "%s: a batch skips a wrong key", layout);
	end();
}

#define BATCH	16U

/* Lines and fences since attach */
static u64 cost(void)
{
	struct crab_counts counts;

	crab_counts_sum(store->engine, &counts);
	return counts.lines * 1000 + counts.fences;
}

/* The same inserts one by one, or in a batch; returns their cost */
static u64 insert_cost(const char *layout, bool batch)
{
	struct crab_batch_op ops[BATCH];
	u32 round, i;
	u64 before;

	begin(layout, LEAVES);
	before = cost();
	for (round = 0; round < 4; round++) {
		for (i = 0; i < BATCH; i++)
			ops[i] = (struct crab_batch_op){
				.verb = CRAB_VERB_INSERT, .key = (i * 7 % BATCH + round) * STEP,
				.value = 5,
			};
		if (batch)
			crab_store_batch(store, ops, BATCH);
		for (i = 0; !batch && i < BATCH; i++)
			ops[i].status = crab_store_insert(store, ops[i].key, 5, CRAB_INSERT_EITHER,
							  &ops[i].old);
		for (i = 0; i < BATCH; i++)
			tap_check(!ops[i].status, "insert: %d", ops[i].status);
	}
	before = cost() - before;
	end();
	return before;
}

/* In a sorted leaf each write of a batch has its own fences, and is counted by itself */
static void test_batch(void)
{
	u64 single = insert_cost("sorted", false), batch = insert_cost("sorted", true);

	tap_ok(single && batch == single, "a batch of a sorted store costs %llu lines and %llu fences, its inserts %llu and %llu",
	       batch / 1000, batch % 1000, single / 1000, single % 1000);
}

int main(void)
{
	static const char * const layouts[] = { "slotted", "sorted" };
	u32 i;

	crab_host_log = NULL;	/* damage is planted, and reported in the log */
	test_births();
	test_once();
	test_high();
	for (i = 0; i < ARRAY_SIZE(layouts); i++)
		test_questions(layouts[i]);
	test_due();
	test_rebalance();
	test_merge();
	test_split();
	test_copy();
	test_last_leaf();
	test_misplaced();
	test_disorder();
	test_bitmap();
	for (i = 0; i < ARRAY_SIZE(layouts); i++)
		test_wrong(layouts[i]);
	test_batch();
	return tap_done();
}

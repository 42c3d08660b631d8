// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests that the cost of an operation never rises steeply: in a store that is
 * nearly full, after a burst of deletes, at the border of the last leaf.
 *
 * It counts costs in leaves, lines and loads, so the load of the machine does not matter.
 */
#include "engines/crab/crab.h"
#include "test.h"

#define LEAF_BYTES	512U

struct cliff {
	struct crab_media media;
	struct crab_store *store;
	struct crab_tree *tree;
	u64 seed;
};

static void cliff_attach(struct cliff *c, struct crab_store *store)
{
	c->store = store;
	c->tree = crab_tree_of(store->engine);
}

static void cliff_begin(struct cliff *c, const char *layout, u64 leaves)
{
	c->seed = 99;
	c->media = media_create(CRAB_POOL_OFFSET + leaves * LEAF_BYTES);
	cliff_attach(c, store_format_attach(&c->media, "crab", layout, LEAF_BYTES));
}

static int put(struct cliff *c, u64 key)
{
	return store_put(c->store, key, key + 5);
}

static void del(struct cliff *c, u64 key)
{
	int err = store_delete(c->store, key);

	tap_check(!err, "delete of %llu: %d", key, err);
}

static u64 random_key(struct cliff *c)
{
	return rng(&c->seed) >> 1;
}

/* Maintain to the end, if the store asks for it */
static void cliff_idle(struct cliff *c)
{
	const struct crab_engine_ops *ops = c->store->engine->ops;

	if (ops->wants(c->store->engine))
		while (crab_store_maintain(c->store))
			;
}

static void expect_sound(struct cliff *c, u64 records)
{
	u64 found = store_check_good(c->store).records;

	tap_check(found == records, "%llu records, not %llu", found, records);
}

/* Pairs of neighbours that an insert could have merged instead of returning -ENOSPC */
static u64 cliff_pairs(const struct cliff *c)
{
	const struct crab_leaf *leaf;
	u64 pairs = 0;

	for (leaf = c->tree->first; leaf; leaf = leaf->next)
		pairs += crab_smo_may_merge(leaf, c->tree->slots * 3 / 4);
	return pairs;
}

/*
 * No fresh descriptor is left, and the next allocation fails: this build allocates each descriptor
 * by itself. The table frees the others at detach.
 */
static void memory_end(struct cliff *c)
{
	memset(c->tree->fresh, 0, sizeof(c->tree->fresh));
	crab_host_fail_alloc = 0;
}

static void memory_back(void)
{
	crab_host_fail_alloc = -1;
}

/* Drops the notes, as if the ring had overflowed */
static void forget_notes(struct cliff *c)
{
	c->tree->underfull.seen = c->tree->underfull.noted;
	c->tree->noted = c->tree->slots / 3;
	c->tree->watched = false;
}

/* Inserts random keys until the store is full; returns their number */
static u64 fill(struct cliff *c, u64 *keys)
{
	u64 n = 0;

	while (n < c->tree->base.geo.leaves * c->tree->slots && !put(c, keys[n] = random_key(c))) {
		n++;
		cliff_idle(c);
	}
	return n;
}

/* Leaves that a split examines in a full store, thinned out and filled again; times 16 */
static u64 full_cost(u64 leaves)
{
	u64 *keys = calloc(leaves * crab_leaf_slots(LEAF_BYTES), sizeof(*keys));
	u64 n, i, looked, splits;
	struct cliff c;

	cliff_begin(&c, "slotted", leaves);
	n = fill(&c, keys);
	for (i = n / 2; i; i--)
		del(&c, keys[--n]);
	forget_notes(&c);
	looked = c.tree->underfull.looked;
	splits = c.tree->splits;
	while (!put(&c, random_key(&c)))
		n++;
	looked = c.tree->underfull.looked - looked;
	splits = c.tree->splits - splits;
	tap_check(splits > 20, "%llu splits", splits);
	expect_sound(&c, n);
	store_end(c.store);
	free(keys);
	return looked * 16 / (splits ?: 1);
}

static void test_full(void)
{
	u64 few = full_cost(1000), many = full_cost(16000);

	tap_check(many <= 4 * few + 16, "%llu sixteenths, not %llu", many, few);
	tap_ok(true, "full: a split among 1,000 leaves looks at %llu of them, among 16,000 at %llu",
	       few / 16, many / 16);
}

#define FAR_STEP	(1ULL << 20)	/* between keys */

/*
 * A store with free space only in the last fifth: two neighbours there fill three quarters of one
 * leaf, and no delete noted them. Returns the number of records before these deletes.
 */
static u64 far_begin(struct cliff *c, u64 leaves)
{
	u32 slots = crab_leaf_slots(LEAF_BYTES);
	u64 n, i;

	cliff_begin(c, "slotted", leaves);
	for (n = 0; !put(c, n * FAR_STEP); n++)
		;
	for (i = n - n / 5; i < n; i++)
		if (i % slots >= slots * 3 / 8)
			del(c, i * FAR_STEP);
	forget_notes(c);
	return n;
}

/* Inserts in the first half, in which leaves are full */
static int far_put(struct cliff *c, u64 n)
{
	return put(c, (rng(&c->seed) >> 32) % (n / 2) * FAR_STEP + 1 + (rng(&c->seed) >> 32) % 65536);
}

/* Leaves that a split examines after the first walk that found space; times 16 */
static u64 far_cost(u64 leaves)
{
	u64 n, i, looked, splits, unlinks;
	struct cliff c;

	n = far_begin(&c, leaves);
	unlinks = c.tree->unlinks;
	for (i = 0; i < n && c.tree->unlinks == unlinks; i++)
		far_put(&c, n);
	looked = c.tree->underfull.looked;
	splits = c.tree->splits;
	for (i = 0; i < n && c.tree->splits - splits < 50; i++)
		tap_check(!far_put(&c, n), "no room after %llu splits", c.tree->splits - splits);
	tap_check(i < n, "%llu inserts were not enough", n);
	looked = c.tree->underfull.looked - looked;
	store_end(c.store);
	return looked * 16 / 50;
}

static void test_far(void)
{
	u64 few = far_cost(1000), many = far_cost(8000);

	tap_check(many <= 4 * few + 16, "%llu sixteenths, not %llu", many, few);
	tap_ok(true, "full, room in the last fifth: a split looks at %llu leaves, %llu", few / 16,
	       many / 16);
}

/* Removes records of a leaf until @keep are left; @poor: without memory for a merge */
static void thin_leaf(struct cliff *c, u64 key, u32 keep, bool poor)
{
	struct crab_record *records = calloc(c->tree->slots, sizeof(*records));
	struct crab_leaf *leaf = crab_leaf_find(c->tree, key);
	u32 n = crab_layout_collect(c->tree, leaf, records);

	while (n > keep) {
		if (poor)
			memory_end(c);
		del(c, records[--n].key);
		memory_back();
	}
	free(records);
}

/* Maintenance without memory for a merge; returns whether more remains to be done */
static bool poor_maintain(struct cliff *c)
{
	bool more;

	memory_end(c);
	more = crab_store_maintain(c->store);
	memory_back();
	return more;
}

/* An insert is refused only if the list has no pair of neighbours that can be merged */
static void test_truth(const char *layout)
{
	u64 above = 1ULL << 63, i, refused = 0;
	struct cliff c;

	cliff_begin(&c, layout, 400);
	for (i = 0; i < 30000; i++) {
		if (!put(&c, random_key(&c)))
			continue;
		refused++;
		tap_check(c.tree->pool.free < 4, "refused with %llu leaves free", c.tree->pool.free);
		tap_check(!cliff_pairs(&c), "refused with %llu pairs to merge", cliff_pairs(&c));
		thin_leaf(&c, random_key(&c), c.tree->slots * (i % 5) / 8, i % 3 == 0);
		if (i % 7 == 0)
			poor_maintain(&c);
		while (i % 8 == 0 && c.tree->pool.free > 2 && !put(&c, above++))
			;
	}
	tap_check(refused > 20, "refused %llu times", refused);
	expect_sound(&c, crab_tree_records(c.tree));
	tap_ok(true, "full, %s: -ENOSPC %llu times, and never where neighbours can be merged", layout,
	       refused);
	store_end(c.store);
}

/* An insert that is refused again does not walk again */
static void test_again(void)
{
	u64 *keys = calloc(400 * crab_leaf_slots(LEAF_BYTES), sizeof(*keys));
	u64 looked, refused = 0, i;
	struct cliff c;

	cliff_begin(&c, "slotted", 400);
	fill(&c, keys);
	looked = c.tree->underfull.looked;
	for (i = 0; i < 1000; i++)
		refused += put(&c, random_key(&c)) == -ENOSPC;
	looked = c.tree->underfull.looked - looked;
	tap_check(refused > 100 && looked <= refused, "looked at %llu leaves for %llu refusals", looked,
		  refused);
	tap_ok(true, "full: %llu more inserts are refused for %llu looks", refused, looked);
	store_end(c.store);
	free(keys);
}

/* More deletes in a full store than the ring has entries: the watch ends and begins again */
static void test_watch(void)
{
	u64 *keys = calloc(1000 * crab_leaf_slots(LEAF_BYTES), sizeof(*keys)), n, i;
	struct cliff c;

	cliff_begin(&c, "slotted", 1000);
	n = fill(&c, keys);
	tap_check(c.tree->watched, "a store is full, and deletes are not watched");
	for (i = 0; i < 2000; i++)
		del(&c, keys[--n]);
	tap_check(!c.tree->watched, "notes were lost, and deletes are watched");
	while (!put(&c, random_key(&c)))
		n++;
	tap_check(c.tree->pool.free < 4 && !cliff_pairs(&c), "%llu free, %llu pairs",
		  c.tree->pool.free, cliff_pairs(&c));
	expect_sound(&c, n);
	tap_ok(true, "full: notes that are lost are made up for by a walk");
	store_end(c.store);
	free(keys);
}

/* A full store with some leaves in the middle that were thinned out, without memory for merges */
static struct crab_leaf *notes_begin(struct cliff *c, const char *layout, const u32 *keep, u32 n)
{
	struct crab_leaf *leaf, *at;
	u64 key = 0;

	cliff_begin(c, layout, 200);
	while (!put(c, key += FAR_STEP))
		;
	leaf = crab_leaf_find(c->tree, key / 2);
	for (at = leaf; n--; at = at->next)
		thin_leaf(c, at->low, *keep++, true);
	return leaf;
}

/* The last leaf is full: an insert there finds all neighbours that can be merged */
static void notes_end(struct cliff *c, const char *what)
{
	tap_check(cliff_pairs(c) == 1, "%s: %llu pairs", what, cliff_pairs(c));
	put(c, c->tree->last->low + 1);
	tap_check(!cliff_pairs(c), "%s: %llu pairs remain", what, cliff_pairs(c));
	store_end(c->store);
}

/* Neighbours that can be merged are found after their notes were used without a merge */
static void test_notes(void)
{
	static const u32 moved[] = { 5, 17, 14 }, pair[] = { 10, 10 }, few = 2;
	struct crab_leaf *leaf;
	struct cliff c;
	u32 i;

	leaf = notes_begin(&c, "sorted", moved, 3);
	c.tree->tuning.strategy = CRAB_STRATEGY_SIP;
	tap_check(put(&c, 1) == -ENOSPC, "neighbours are merged too early");
	del(&c, leaf->next->next->low);
	notes_end(&c, "a record was moved to the next leaf");
	notes_begin(&c, "slotted", pair, 2);
	for (i = 0; i < 200; i++)
		poor_maintain(&c);
	notes_end(&c, "maintenance had no memory");

	leaf = notes_begin(&c, "slotted", &few, 1);
	tap_check(put(&c, 1) == -ENOSPC, "neighbours are merged too early");
	thin_leaf(&c, 0, 10, false);
	thin_leaf(&c, c.tree->first->next->low, 10, false);
	thin_leaf(&c, leaf->next->low, 19, false);
	crab_host_fail_alloc = 0;
	tap_check(put(&c, leaf->prev->low + 1) == -ENOMEM, "one merge is enough, or none is possible");
	memory_back();
	notes_end(&c, "an insert had no memory for a second merge");
	tap_ok(true, "full: neighbours are found whose notes were used without a merge");
}

/* Inserts, some of which fail with @want; returns the number of leaves that they examine */
static u64 refuse(struct cliff *c, u64 n, int want)
{
	u64 looked = c->tree->underfull.looked, i, refused = 0;
	int err;

	for (i = 0; i < 2000 && refused < 100; i++) {
		if (want == -ENOMEM)
			memory_end(c);
		err = far_put(c, n);
		memory_back();
		refused += err == want;
	}
	tap_check(refused > 10, "refused %llu times", refused);
	return c->tree->underfull.looked - looked;
}

/* Inserts do not search again and again for a merge that is not possible */
static void test_unmerged(void)
{
	struct cliff c;
	u64 n, looked;

	n = far_begin(&c, 2000);
	looked = refuse(&c, n, -ENOMEM);
	tap_check(looked <= c.tree->leaves + 200, "no memory: looked at %llu leaves", looked);
	while (c.tree->pool.free > 3)
		far_put(&c, n);
	c.tree->birth = CRAB_BIRTH_MAX;
	looked = refuse(&c, n, -ENOSPC);
	tap_check(looked <= c.tree->leaves + 200, "no births: looked at %llu leaves", looked);
	tap_ok(true, "full: without memory, and without births, no insert walks");
	store_end(c.store);
}

/* Four leaves are free, and maintain prepares one of them */
static void test_raw(void)
{
	struct crab_spare spare, other;
	struct cliff c;
	u64 i;

	cliff_begin(&c, "slotted", 64);
	while (c.tree->pool.free > 4)
		put(&c, random_key(&c));
	while (c.tree->first->count < c.tree->slots)
		put(&c, random_key(&c) % c.tree->first->high);
	tap_check(c.tree->pool.free == 4, "%llu free", c.tree->pool.free);
	tap_check(crab_pool_prepare_begin(&c.tree->pool, &spare), "nothing to prepare");
	tap_check(!crab_pool_prepare_begin(&c.tree->pool, &other), "two are prepared at a time");
	i = c.tree->splits;
	while (c.tree->splits == i && !tap_faults)
		tap_check(!put(&c, random_key(&c) % c.tree->first->high), "no room");
	tap_check(crab_pool_unlisted(&c.tree->pool) == 3, "%llu",
		  crab_pool_unlisted(&c.tree->pool));
	crab_pool_prepare_end(&c.tree->pool, &spare);
	tap_ok(true, "pool: a leaf that is being prepared is not missing");
	store_end(c.store);
}

/* Lines and fences, times a hundred, of a push and a pop of the highest key */
static u64 border_cost(struct cliff *c, u64 key)
{
	struct crab_counts before, after;
	u32 i;

	crab_counts_sum(c->store->engine, &before);
	for (i = 0; i < 1000; i++) {
		tap_check(!put(c, key), "push");
		del(c, key);
	}
	crab_counts_sum(c->store->engine, &after);
	return (after.lines - before.lines + after.fences - before.fences) / 10;
}

/* A store with a full last leaf; @middle: out: the cost in its middle; returns the records */
static u64 border_begin(struct cliff *c, const char *layout, u64 *middle)
{
	u64 n, i;

	cliff_begin(c, layout, 100);
	n = 20 * c->tree->slots;
	for (i = 0; i < n - n / 40; i++)
		put(c, i * FAR_STEP);
	*middle = border_cost(c, FAR_STEP << 20);
	for (; i < n; i++)
		put(c, i * FAR_STEP);
	tap_check(c->tree->last->count == c->tree->slots, "the last leaf is not full");
	return n;
}

/* Push and pop at the border of the last leaf; a full store frees the empty leaf */
static void test_border(void)
{
	u64 n, middle, border, unlinks, refused = 0, i;
	struct cliff c;

	n = border_begin(&c, "slotted", &middle);
	unlinks = c.tree->unlinks;
	border = border_cost(&c, FAR_STEP << 20);
	tap_check(border <= 2 * middle && c.tree->unlinks == unlinks, "%llu, in the middle %llu", border,
		  middle);
	expect_sound(&c, n);
	crab_store_detach(c.store);
	cliff_attach(&c, store_attach(&c.media));
	tap_check(!c.tree->last->count && border_cost(&c, FAR_STEP << 20) <= 2 * middle,
		  "after an attach");
	expect_sound(&c, n);
	for (i = 0; i < 5000; i++)
		refused += far_put(&c, n) == -ENOSPC;
	tap_check(refused && c.tree->last->count, "no room, and an empty leaf");
	expect_sound(&c, crab_tree_records(c.tree));
	tap_ok(true, "border of the last leaf: push and pop cost %llu hundredths, in the middle %llu",
	       border, middle);
	store_end(c.store);
}

/* At the border, a push adds a sorted leaf and a pop unlinks it: one more line and fence each */
static void test_border_sorted(void)
{
	u64 n, middle, border;
	struct cliff c;

	n = border_begin(&c, "sorted", &middle);
	border = border_cost(&c, FAR_STEP << 20);
	tap_check(border <= 2 * middle, "%llu, in the middle %llu", border, middle);
	expect_sound(&c, n);
	tap_ok(true, "border of a sorted last leaf: push and pop cost %llu hundredths, in the middle %llu",
	       border, middle);
	store_end(c.store);
}

/* Deletes nine of ten records; returns the leaves. @kicked: maintain runs whenever requested */
static u64 thin_out(struct cliff *c, u64 records, bool kicked)
{
	u64 *keys = calloc(records, sizeof(*keys)), i;

	cliff_begin(c, "slotted", records / 8);
	for (i = 0; i < records; i++) {
		put(c, keys[i] = random_key(c));
		cliff_idle(c);
	}
	for (i = 0; i < records / 10 * 9; i++) {
		del(c, keys[i]);
		if (kicked)
			cliff_idle(c);
	}
	free(keys);
	return c->tree->leaves;
}

/* Maintains to the end; each step is bounded */
static void sweep(struct cliff *c)
{
	u64 looked = c->tree->underfull.looked;

	while (crab_store_maintain(c->store)) {
		tap_check(c->tree->underfull.looked - looked <= CRAB_UNDERFULL_STEPS,
			  "one step looks at %llu leaves", c->tree->underfull.looked - looked);
		looked = c->tree->underfull.looked;
	}
	looked = c->tree->underfull.looked;
	tap_check(!crab_store_maintain(c->store) && c->tree->underfull.looked == looked,
		  "it never ends");
}

/* A burst of deletes and a sweep leave few more leaves than deletes with maintenance between */
static u64 burst_end(struct cliff *c, u64 records, u64 burst, u64 patient)
{
	u64 after = c->tree->leaves;

	tap_check(after * 10 <= patient * 12, "%llu leaves, then %llu; patiently %llu", burst, after,
		  patient);
	expect_sound(c, records - records / 10 * 9);
	return after;
}

static void test_burst(u64 records)
{
	u64 patient, burst, after, i;
	struct cliff c;

	thin_out(&c, records, true);
	while (crab_store_maintain(c.store))
		;
	patient = c.tree->leaves;
	store_end(c.store);
	burst = thin_out(&c, records, false);
	for (i = 0; poor_maintain(&c); i++)
		tap_check(i < 2 * burst, "without memory it never ends");
	c.tree->underfull.lost = true;
	sweep(&c);
	after = burst_end(&c, records, burst, patient);
	tap_ok(true, "sparse: %llu leaves of a burst of deletes become %llu, of patient ones %llu",
	       burst, after, patient);
	store_end(c.store);
	burst = thin_out(&c, records, false);
	crab_store_detach(c.store);
	cliff_attach(&c, store_attach(&c.media));
	sweep(&c);
	after = burst_end(&c, records, burst, patient);
	tap_ok(true, "sparse: %llu leaves that attach found become %llu", burst, after);
	store_end(c.store);
}

int main(void)
{
	crab_host_seed(1);
	test_full();
	test_far();
	test_truth("slotted");
	test_truth("sorted");
	test_again();
	test_watch();
	test_notes();
	test_unmerged();
	test_raw();
	test_border();
	test_border_sorted();
	test_burst(30000);
	return tap_done();
}

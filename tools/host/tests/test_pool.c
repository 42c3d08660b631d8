// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests the pool of leaves against a model: leaves that are allocated, prepared, lent,
 * marked, handed over to wait for readers, and in memory that cannot be written.
 *
 * Invariant: each leaf is in the state that the model has; a leaf that waits is free only after
 * those that were handed over before.
 */
#include <linux/bitmap.h>
#include <linux/rcupdate.h>

#include "media/badmem.h"
#include "shared/pool.h"
#include "test.h"

#define LEAVES	331U
#define STEPS	30000U
#define RUN	8U

enum state { FREE, IN_USE, STOCK, RAW, LATER, LENT, SPOILT, STATES };

static struct crab_pool pool;
static enum state state[LEAVES];
static u64 later[LEAVES], first_later, laters;	/* a ring */
static u64 run;			/* where the next search of a run begins */
static struct crab_spare raw;
static u64 seed = 3;

static u64 count(enum state wanted)
{
	u64 leaf, n = 0;

	for (leaf = 0; leaf < LEAVES; leaf++)
		n += state[leaf] == wanted;
	return n;
}

/* Leaves that are free now, the stock included */
static u64 leaves_free(void)
{
	return count(FREE) + count(STOCK);
}

static void become(u64 leaf, enum state from, enum state to, const char *step)
{
	tap_check(leaf < LEAVES && state[leaf] == from, "%s: leaf %llu is in state %d, not %d", step, leaf,
		  leaf < LEAVES ? state[leaf] : -1, from);
	if (leaf < LEAVES)
		state[leaf] = to;
}

/* The oldest waiting leaves have become free */
static void settle(const char *step)
{
	tap_check(pool.waiting <= laters, "%s: %llu wait, of %llu", step, pool.waiting, laters);
	for (; laters > pool.waiting; laters--)
		become(later[first_later++ % LEAVES], LATER, FREE, step);
}

static void compare(const char *step)
{
	u64 leaf, word;
	bool room;

	settle(step);
	for (leaf = 0; leaf < LEAVES; leaf++)
		tap_check(crab_pool_uses(&pool, leaf) == (state[leaf] != FREE), "%s: leaf %llu", step, leaf);
	tap_check(pool.free == leaves_free(), "%s: %llu free, not %llu", step, pool.free, leaves_free());
	tap_check(pool.stocked == count(STOCK) && pool.raw == count(RAW), "%s: %u, %u", step, pool.stocked,
		  pool.raw);
	tap_check(crab_pool_lent(&pool) == count(LENT) && pool.spoilt == count(SPOILT), "%s: %llu lent",
		  step, pool.lent);
	tap_check(crab_pool_unlisted(&pool) == LEAVES - count(IN_USE), "%s: %llu unlisted", step,
		  crab_pool_unlisted(&pool));
	for (word = 0; word < BITS_TO_LONGS(LEAVES); word++) {
		room = false;
		for (leaf = word * BITS_PER_LONG; leaf < LEAVES && leaf < (word + 1) * BITS_PER_LONG; leaf++)
			room |= state[leaf] == FREE;
		tap_check(test_bit(word, pool.room.words) == room, "%s: word %llu", step, word);
	}
	tap_check(!pool.closed, "%s: the pool is closed", step);
}

static u64 some(enum state wanted)
{
	u64 leaf = rng_below(&seed, LEAVES), i;

	for (i = 0; i < LEAVES; i++, leaf = (leaf + 1) % LEAVES)
		if (state[leaf] == wanted)
			return leaf;
	return LEAVES;
}

static void alloc(void)
{
	u32 n = 1 + rng_below(&seed, 6), leave = rng_below(&seed, 3) ? 0 : rng_below(&seed, LEAVES), i;
	u64 most = leaves_free() + (crab_host_poll_late ? 0 : laters);
	bool enough = most >= n && most + count(RAW) >= n + leave;
	struct crab_spare spares[6], stock = { };
	int err;

	if (pool.stocked)
		stock = pool.stock[pool.stocked - 1];
	err = crab_pool_alloc(&pool, spares, n, leave);
	settle("alloc");
	tap_check(err == (enough ? 0 : -ENOSPC), "%u leaves and %u more of %llu: %d", n, leave, most, err);
	for (i = 0; !err && i < n; i++)
		become(spares[i].leaf, spares[i].prepared ? STOCK : FREE, IN_USE, "alloc");
	if (!err && stock.prepared)
		tap_check(spares[0].leaf == stock.leaf && spares[0].tag == stock.tag, "not the newest one");
}

static void release(void)
{
	u64 leaf = some(IN_USE);
	struct crab_later *wait;

	if (leaf == LEAVES)
		return;
	if (rng_below(&seed, 2)) {
		crab_pool_free(&pool, leaf);
		become(leaf, IN_USE, FREE, "free");
		return;
	}
	wait = kmalloc(sizeof(*wait), GFP_KERNEL);
	wait->leaf = leaf;
	crab_pool_free_later(&pool, wait);
	become(leaf, IN_USE, LATER, "later");
	later[(first_later + laters++) % LEAVES] = leaf;
	tap_check(pool.waiting == (laters > CRAB_POOL_WAITING && !crab_host_poll_late ? laters - 2 : laters),
		  "%llu of %llu wait", pool.waiting, laters);
}

static void prepare(void)
{
	bool ok = !count(RAW) && pool.stocked < CRAB_POOL_READY && count(FREE);

	tap_check(crab_pool_needs_refill(&pool) == (pool.stocked < CRAB_POOL_READY / 2 && count(FREE)),
		  "refill with %u", pool.stocked);
	if (count(RAW) && rng_below(&seed, 3)) {
		raw.prepared = true;
		raw.tag = rng_mix(seed);
		crab_pool_prepare_end(&pool, &raw);
		become(raw.leaf, RAW, STOCK, "prepared");
		return;
	}
	if (count(RAW)) {
		tap_check(!crab_pool_prepare_begin(&pool, &(struct crab_spare){ }), "two at a time");
		return;
	}
	raw.prepared = true;
	tap_check(crab_pool_prepare_begin(&pool, &raw) == ok, "prepare with %u", pool.stocked);
	if (!ok)
		return;
	tap_check(!raw.prepared, "it is not prepared yet");
	become(raw.leaf, FREE, RAW, "prepare");
}

static bool run_is(u64 first, enum state wanted)
{
	u64 leaf;

	for (leaf = first; leaf < first + RUN; leaf++)
		if (state[leaf] != wanted)
			return false;
	return true;
}

/* The highest run below @end, not all of it below @from */
static u64 find_run(u64 from, u64 end)
{
	u64 first;

	for (first = end / RUN * RUN; first >= RUN && first > from; first -= RUN)
		if (run_is(first - RUN, FREE))
			return first - RUN;
	return LEAVES;
}

static void lend(void)
{
	u64 end = LEAVES - (rng_below(&seed, 4) ? 0 : rng_below(&seed, LEAVES)), first = LEAVES, want, leaf;
	u32 leave = rng_below(&seed, 4) ? 0 : rng_below(&seed, 100);
	bool enough;
	int err;

	err = crab_pool_alloc_run(&pool, RUN, end, leave, &first);
	settle("lend");
	tap_check(crab_host_poll_late || !laters, "%llu leaves wait, and may break up a run", laters);
	enough = leaves_free() + count(RAW) >= RUN + leave && leaves_free() >= RUN;
	want = find_run(0, min(run, end));
	if (want == LEAVES)
		want = find_run(min(run, end), end);
	if (!enough)
		want = LEAVES;
	tap_check(first == want && err == (want == LEAVES ? -ENOSPC : 0), "a run at %llu, not %llu: %d",
		  first, want, err);
	for (leaf = first; !err && leaf < first + RUN; leaf++)
		become(leaf, FREE, LENT, "lend");
	if (!err)
		run = first;
}

static void give_back(void)
{
	u64 first = some(LENT) / RUN * RUN, leaf;

	if (first >= LEAVES / RUN * RUN)
		return;
	crab_pool_free_run(&pool, first, RUN);
	for (leaf = first; leaf < first + RUN; leaf++)
		become(leaf, LENT, FREE, "return");
	run = max(run, first + RUN);
}

/* Attach marks leaves, and lends runs in which spoilt ones are */
static void mark(void)
{
	u64 leaf = rng_below(&seed, LEAVES), first = leaf / RUN * RUN;
	bool spoil = !rng_below(&seed, 3), possible = first + RUN <= LEAVES;
	u32 i;

	if (rng_below(&seed, 2)) {
		bool was_free = state[leaf] == FREE;

		if (spoil)
			crab_pool_spoil(&pool, leaf);
		else
			tap_check(crab_pool_mark(&pool, leaf) == was_free, "mark");
		if (was_free)
			state[leaf] = spoil ? SPOILT : IN_USE;
		return;
	}
	for (i = 0; possible && i < RUN; i++)
		possible = state[first + i] == FREE || state[first + i] == SPOILT;
	if (first + RUN > LEAVES)
		return;
	tap_check(crab_pool_lend(&pool, first, RUN) == (possible ? 0 : -EUCLEAN), "lend at %llu", first);
	for (i = 0; possible && i < RUN; i++)
		state[first + i] = LENT;
}

static void wait(void)
{
	u64 most = leaves_free() + count(RAW) + (crab_host_poll_late ? 0 : laters), n;
	bool any = laters;

	n = most + rng_below(&seed, 3) - 1;
	tap_check(crab_pool_has(&pool, n) == (n <= most), "has %llu of %llu", n, most);
	settle("has");
	if (rng_below(&seed, 3))
		return;
	any = laters;
	tap_check(crab_pool_wait(&pool) == any, "wait");
	settle("wait");
	tap_check(!laters, "%llu wait", laters);
}

static void test_random(void)
{
	u32 i, step;
	bool grows;

	if (crab_pool_init(&pool, LEAVES))
		tap_bail("no memory");
	run = LEAVES;
	pool.bad = kvcalloc(BITS_TO_LONGS(LEAVES), sizeof(long), GFP_KERNEL);
	for (i = 0; i < STEPS; i++) {
		if (!rng_below(&seed, 50))
			crab_host_poll_late = !crab_host_poll_late;
		grows = i / 1000 % 2;
		step = rng_below(&seed, 20);
		if (step < (grows ? 6 : 2))
			alloc();
		else if (step < 9)
			release();
		else if (step < 13)
			prepare();
		else if (step < 15)
			lend();
		else if (step < 17)
			give_back();
		else if (step == 17 && !rng_below(&seed, 4))
			mark();
		else if (step == 18 && !rng_below(&seed, 6))
			wait();
		compare("a step");
	}
	crab_host_poll_late = false;
	tap_ok(count(IN_USE) && count(SPOILT), "%u steps agree with the model", STEPS);
	crab_pool_destroy(&pool);
	tap_ok(!pool.used && !pool.bad && !pool.room.words && !pool.later, "nothing remains");
}

/* Two become free for each one that begins to wait, once many do */
static void test_waiting(void)
{
	u64 leaf, wait = 0;

	tap_check(!crab_pool_init(&pool, 2 * CRAB_POOL_WAITING), "init");
	for (leaf = 0; leaf < 2 * CRAB_POOL_WAITING; leaf++)
		crab_pool_mark(&pool, leaf);
	for (leaf = 0; leaf < 2 * CRAB_POOL_WAITING; leaf++) {
		struct crab_later *at = kmalloc(sizeof(*at), GFP_KERNEL);

		at->leaf = leaf;
		crab_pool_free_later(&pool, at);
		wait = wait == CRAB_POOL_WAITING ? wait - 1 : wait + 1;
		tap_check(pool.waiting == wait, "%llu wait, not %llu", pool.waiting, wait);
	}
	tap_ok(pool.free == 2 * CRAB_POOL_WAITING - wait, "a bounded number of leaves waits");
	crab_pool_destroy(&pool);
}

/* The only run is just above the one at which the search begins */
static void test_next_run(void)
{
	u64 first = 0, leaf;

	tap_check(!crab_pool_init(&pool, 64), "init");
	tap_check(!crab_pool_alloc_run(&pool, 8, 32, 0, &first) && first == 24, "%llu", first);
	for (leaf = 0; leaf < 24; leaf++)
		crab_pool_mark(&pool, leaf);
	for (leaf = 40; leaf < 64; leaf++)
		crab_pool_mark(&pool, leaf);
	tap_ok(!crab_pool_alloc_run(&pool, 8, 64, 0, &first) && first == 32, "the last run: %llu", first);
	crab_pool_destroy(&pool);
}

/* Each of two allocations fails; no leaf of a closed pool is allocated, and it can still be asked */
static void test_closed(void)
{
	struct crab_spare spare;
	u32 i;

	for (i = 0; i < 2; i++) {
		crab_host_fail_alloc = i;
		tap_check(crab_pool_init(&pool, 70) == -ENOMEM && !pool.used, "memory");
		crab_host_fail_alloc = -1;
	}
	tap_check(!crab_pool_init(&pool, 70), "init");
	crab_pool_close(&pool);
	tap_check(crab_pool_alloc(&pool, &spare, 1, 0) == -EUCLEAN && !crab_pool_lent(&pool), "alloc");
	tap_ok(!crab_pool_prepare_begin(&pool, &spare) && !crab_pool_needs_refill(&pool), "a closed pool");
	crab_pool_destroy(&pool);
}

/* A leaf that is free already closes the pool, and is free once */
static void test_twice(void)
{
	struct crab_spare spare;

	tap_check(!crab_pool_init(&pool, 70), "init");
	crab_pool_free(&pool, 5);
	tap_check(pool.free == 70 && !pool.freed, "%llu free", pool.free);
	tap_check(!crab_pool_prepare_begin(&pool, &spare) && !crab_pool_needs_refill(&pool), "it is open");
	tap_ok(crab_pool_alloc(&pool, &spare, 1, 0) == -EUCLEAN, "a leaf that is freed twice");
	crab_pool_destroy(&pool);
}

/* Without the table of bad leaves a spoilt leaf may be one in use */
static void test_no_table(void)
{
	tap_check(!crab_pool_init(&pool, 70), "init");
	tap_check(crab_pool_mark(&pool, 8) && crab_pool_lend(&pool, 8, 8) == -EUCLEAN, "in use");
	crab_pool_spoil(&pool, 8);
	crab_pool_spoil(&pool, 20);
	crab_pool_spoil(&pool, 20);
	tap_check(pool.spoilt == 1, "%llu spoilt", pool.spoilt);
	tap_check(crab_pool_lend(&pool, 16, 8) == -ENOMEM, "it may be spoilt");
	tap_ok(!crab_pool_lend(&pool, 24, 8) && pool.lent == 8, "leaves that are spoilt, without memory");
	crab_pool_destroy(&pool);
}

/* Leaves with a byte in a page that cannot be written, and no other ones */
static void test_pages(u32 leaf_bytes, u64 from, u64 len, u64 first, u64 last)
{
	struct crab_geometry geo = {
		.pool_offset = CRAB_POOL_OFFSET, .leaf_bytes = leaf_bytes, .leaves = 33,
	};
	static struct crab_badmem bad;
	struct crab_media media = { .size = 1 << 20, .bad = &bad };
	u64 leaf;

	crab_badmem_init(&bad);
	crab_badmem_add(&bad, CRAB_POOL_OFFSET + from, len);
	crab_badmem_add(&bad, CRAB_POOL_OFFSET + 32ULL * leaf_bytes, 1 << 20);
	crab_badmem_add(&bad, 0, 1);
	tap_check(!crab_pool_init(&pool, geo.leaves), "init");
	crab_pool_spoil_bad(&pool, &media, &geo);
	for (leaf = 0; leaf < geo.leaves; leaf++)
		tap_check(crab_pool_uses(&pool, leaf) == ((leaf >= first && leaf <= last) || leaf == 32),
			  "leaves of %u bytes: leaf %llu", leaf_bytes, leaf);
	tap_ok(pool.spoilt == last - first + 2, "leaves of %u bytes: %llu spoilt", leaf_bytes, pool.spoilt);
	crab_pool_destroy(&pool);
}

int main(void)
{
	test_random();
	test_waiting();
	test_next_run();
	test_closed();
	test_twice();
	test_no_table();
	test_pages(512, 5000, 1, 8, 15);
	test_pages(8192, 5000, 1, 0, 0);
	test_pages(8192, 8000, 300, 0, 1);
	test_pages(4096, 4096, 1, 1, 1);
	return tap_done();
}

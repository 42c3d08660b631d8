// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests a commit whose writes find no memory, however often they are repeated, once its list
 * is durable: it returns 0, readers see its writes, and the next attach does them.
 */

#include "engines/engine.h"
#include "store/commit.h"
#include "test.h"

#define LEAVES	64

static struct crab_commit commit;	/* too large for a stack */
static u32 most;			/* writes that are done */

static void scarce_batch(struct crab_engine *engine, struct crab_flow *flow,
			 struct crab_batch_op *ops, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++) {
		if (ops[i].status)
			continue;
		ops[i].status = -ENOMEM;
		if (!most)
			continue;
		most--;
		ops[i].status = engine->own->insert(engine, flow, ops[i].key, ops[i].value,
						    CRAB_INSERT_EITHER, &ops[i].old);
	}
}

static struct crab_store *make(struct crab_media *media)
{
	*media = media_create(CRAB_POOL_OFFSET + LEAVES * 512);
	return store_make(media, "crab", "slotted", 512, STORE_COMMITS);
}

static void expect(struct crab_store *store, u64 key, int err, u64 value, const char *when)
{
	u64 found = 0;
	int got = crab_store_search(store, key, &found);

	tap_check(got == err && (err || found == value), "%s: key %llu: %d, %llu", when, key, got, found);
}

static void expect_all(struct crab_store *store, const char *when)
{
	expect(store, 1, 0, 11, when);
	expect(store, 2, -ENOENT, 0, when);
	expect(store, 3, 0, 33, when);
}

/* Puts 11 over 10, removes 20, adds 33 */
static void commit_fill(void)
{
	memset(&commit, 0, sizeof(commit));
	commit.n = 3;
	commit.ops[0] = (struct crab_batch_op){ .verb = CRAB_VERB_INSERT, .key = 1, .value = 11 };
	commit.ops[1] = (struct crab_batch_op){ .verb = CRAB_VERB_DELETE, .key = 2 };
	commit.ops[2] = (struct crab_batch_op){ .verb = CRAB_VERB_INSERT, .key = 3, .value = 33 };
}

/* As calls that found the store writable before */
static void expect_late(struct crab_store *store)
{
	struct crab_flow flow = { .media = store->media };
	struct crab_engine *engine = store->engine;
	struct crab_batch_op ops[] = {
		{ .verb = CRAB_VERB_SEARCH, .key = 1 }, { .verb = CRAB_VERB_SEARCH, .key = 2 },
		{ .verb = CRAB_VERB_INSERT, .key = 4, .value = 44 },
		{ .verb = CRAB_VERB_SEARCH, .key = 1, .status = -EINVAL },
	};
	struct crab_old old;

	tap_check(engine->ops->insert(engine, &flow, 4, 44, CRAB_INSERT_EITHER, &old) == -EROFS &&
		  engine->ops->remove(engine, &flow, 1, &old) == -EROFS, "late writes");
	engine->ops->batch(engine, &flow, ops, ARRAY_SIZE(ops));
	tap_check(!ops[0].status && ops[0].value == 11 && ops[1].status == -ENOENT &&
		  ops[2].status == -EROFS && ops[3].status == -EINVAL, "a late batch: %d %d %d %d",
		  ops[0].status, ops[1].status, ops[2].status, ops[3].status);
}

static void test_stuck(u32 done)
{
	const struct crab_engine_ops *own;
	struct crab_engine_ops scarce;
	struct crab_media media;
	struct crab_store *store = make(&media);
	struct crab_old old;

	crab_store_insert(store, 1, 10, CRAB_INSERT_EITHER, &old);
	crab_store_insert(store, 2, 20, CRAB_INSERT_EITHER, &old);
	own = store->engine->own;
	scarce = *own;
	scarce.batch = scarce_batch;
	store->engine->own = &scarce;
	most = done;
	commit_fill();
	tap_check(!crab_store_commit(store, &commit), "the commit is durable");
	tap_check(commit.ops[0].old.existed && commit.ops[0].old.value == 10 &&
		  !commit.ops[1].status && commit.ops[1].old.value == 20 &&
		  !commit.ops[2].status && !commit.ops[2].old.existed, "old records");
	tap_check(crab_store_is_readonly(store), "not read-only");
	tap_check(crab_store_commit(store, &commit) == -EROFS, "another commit");
	expect_all(store, "before");
	expect_late(store);
	store->engine->own = own;
	store = store_cut(store);
	expect_all(store, "after");
	tap_ok(!crab_store_is_readonly(store), "%u writes done: readers see all, attach does the rest", done);
	store_end(store);
}

int main(void)
{
	test_stuck(0);
	test_stuck(1);
	return tap_done();
}

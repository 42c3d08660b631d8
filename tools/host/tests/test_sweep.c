// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests that leaves without records leave the list of the layout `eadr` in the end, if
 * the delete of their last record found the lock taken, or was cut.
 */
#include <linux/mutex.h>

#include "engines/nbtree/eadr/eadr.h"
#include "test.h"

#define SIZE	(1U << 20)
#define KEYS	20000U
#define STEP	(1ULL << 48)	/* keys in two quarters */
#define ALONE	1000U		/* a key that stays */

static struct ea_tree *tree(void)
{
	return ea_tree_of(store->engine);
}

static void maintain(void)
{
	u32 i = 0;

	while (i < KEYS && crab_store_maintain(store))
		i++;
	tap_check(i < KEYS, "maintain does not end");
}

static void fill(void)
{
	u64 i;

	for (i = 0; i < KEYS; i++)
		tap_check(!store_insert(store, i * STEP, i, CRAB_INSERT_CREATE), "insert %llu", i);
}

/* Deletes all but one while another task has the lock */
static void empty(void)
{
	u64 i;

	mutex_lock(&tree()->nb.smo_lock);
	for (i = 0; i < KEYS; i++)
		tap_check(i == ALONE || !store_delete(store, i * STEP), "delete %llu", i);
	mutex_unlock(&tree()->nb.smo_lock);
}

static void judge(u64 leaves, const char *what)
{
	struct crab_check_report report = store_check_good(store);
	u64 value = 0;

	tap_check(!crab_store_search(store, ALONE * STEP, &value) && value == ALONE, "search");
	tap_ok(report.records == 1 && report.leaves == leaves,
	       "eadr: %s: %llu leaves are left, %llu wanted", what, report.leaves, leaves);
}

/* Leaves without records are in the list, and a sweep unlinks them */
static void sweep(const char *what)
{
	u64 leaves = tree()->nb.leaves;

	tap_check(leaves > KEYS / 31, "%s: only %llu leaves are in the list", what, leaves);
	tap_check(store->engine->ops->wants(store->engine), "%s: maintain is not due", what);
	maintain();
	tap_check(!store->engine->ops->wants(store->engine), "%s: maintain is due again", what);
	judge(EA_QUARTERS + 1, what);
}

static void test_sweep(void)
{
	struct crab_media cut = media_create(SIZE);

	store_begin(SIZE, "nbtree", "eadr", 512);
	fill();
	empty();
	memcpy(cut.base, media.base, SIZE);
	sweep("deletes found the lock taken");
	crab_store_detach(store);
	store = store_attach(&cut);
	sweep("a power cut came before their leaves were unlinked");
	store_end(store);
	media_destroy(&media);
}

int main(void)
{
	test_sweep();
	return tap_done();
}

// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests the search of an insert for room in a full store of the engine `crab`. At each
 * pause of the search something else happens: other tasks delete and insert, the store is to be
 * detached, or memory fails.
 */
#include "badmedia.h"
#include "engines/crab/crab.h"
#include "test.h"

#define KEYS_MOST	(BAD_SIZE / 16)
#define STEP		(1ULL << 20)	/* between keys in order */

static struct crab_tree *tree;
static u64 keys[KEYS_MOST], records, seed;

/* Called at each pause while the search runs; the pauses so far */
static void (*at_pause)(void);
static u64 pauses;

/* Called at every point that may reschedule */
void __wrap_crab_host_may_sleep(void)
{
	void (*happens)(void) = at_pause;

	if (!happens || tree->smo_lock.held)
		return;
	pauses++;
	at_pause = NULL;
	happens();
	at_pause = happens;
}

static int put(u64 key)
{
	return store_put(store, key, key + 5);
}

static void del(u64 key)
{
	int err = store_delete(store, key);

	tap_check(!err, "delete of %llu: %d", key, err);
}

static u64 random_key(void)
{
	return rng(&seed) >> 1;
}

/* A store that is full of keys in order, or of random ones */
static void room_begin(bool ordered)
{
	badmedia_begin();
	seed = 99;
	store = store_format_attach(&badmedia, "crab", "slotted", 512);
	tree = crab_tree_of(store->engine);
	for (records = 0; ; records++) {
		keys[records] = ordered ? records * STEP : random_key();
		if (put(keys[records]))
			break;
		store_maintain(store);
	}
}

static void room_end(void)
{
	crab_store_detach(store);
	badmedia_end();
}

/* The search begins at the first leaf, as if notes had been lost */
static void forget(void)
{
	tree->underfull.seen = tree->underfull.noted;
	tree->noted = tree->slots / 3;
	tree->watched = false;
	tree->underfull.compact.at = 0;
	tree->underfull.compact.passed = 0;
}

/* An insert into a full leaf; @looked: out: leaves that its search examined */
static int search(void (*happens)(void), u64 *looked)
{
	u64 key;
	int err;

	do {
		key = random_key() % (keys[records - 1] | 1);
	} while (crab_leaf_find(tree, key)->count < tree->slots);
	forget();
	*looked = tree->underfull.looked;
	pauses = 0;
	at_pause = happens;
	err = put(key);
	at_pause = NULL;
	*looked = tree->underfull.looked - *looked;
	return err;
}

/*
 * Other tasks delete records and insert them again, more than there are notes. They end after many
 * pauses: so the test ends if the search does not.
 */
static void others(void)
{
	u64 i, key;

	for (i = 0; i < 4 * CRAB_UNDERFULL_NOTES && pauses < tree->leaves; i++) {
		key = keys[i * 7919 % records];
		del(key);
		tap_check(!put(key), "no room in a leaf");
	}
}

static void test_others(void)
{
	u64 looked;
	int err;

	room_begin(false);
	err = search(others, &looked);
	tap_check(err == -ENOSPC, "insert: %d", err);
	tap_check(looked <= 8 * tree->leaves, "%llu looks at %llu leaves", looked, tree->leaves);
	tap_check(store_check_good(store).records == records, "not %llu records", records);
	room_end();
	tap_ok(true, "room: a search ends, though other tasks use up the notes at each pause");
}

static void nothing(void)
{
}

static bool is_stopped(void *arg)
{
	return pauses > 2;
}

static void test_stop(void)
{
	u64 looked;
	int err;

	room_begin(false);
	tree->base.stop.asked = is_stopped;
	err = search(nothing, &looked);
	tap_check(err == -EINTR && looked < tree->leaves, "insert: %d, %llu looks", err, looked);
	pauses = 0;
	err = search(nothing, &looked);
	tree->base.stop.asked = NULL;
	del(keys[0]);
	tap_check(!put(keys[0]), "an insert that needs no leaf");
	room_end();
	tap_ok(true, "room: a search ends early if the store is to be detached");
}

/* The second of two leaves that can be merged, far from the first leaf */
static struct crab_leaf *victim;

static void fail_victim(void)
{
	u64 page = round_down(crab_leaf_offset(&store->engine->geo, victim->number), BAD_PAGE);

	if (victim->quarantined)
		return;
	badmedia_fail(page, BAD_PAGE);
	crab_store_fail(store, page, BAD_PAGE);
}

static void test_fail(void)
{
	u64 i, looked;
	int err;

	room_begin(true);
	victim = crab_leaf_find(tree, keys[records * 3 / 4]);
	for (i = 0; i < records; i++)
		if (keys[i] >= victim->prev->low && keys[i] < victim->high && i % 4)
			del(keys[i]);
	tap_check(crab_smo_may_merge(victim->prev, tree->slots * 3 / 4), "they cannot be merged");
	err = search(fail_victim, &looked);
	tap_check(err == -EUCLEAN, "insert: %d", err);
	room_end();
	tap_ok(true, "room: a search does not merge a leaf whose memory failed at a pause");
}

int main(void)
{
	test_others();
	test_stop();
	test_fail();
	return tap_done();
}

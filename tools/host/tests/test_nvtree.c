// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests the engine nvtree where only directed changes of the media lead: signs that no
 * append writes, lowest keys that do not ascend, and a gap without a range.
 *
 * Invariant: attach, or the read that meets the change, notes damage.
 */
#include "engines/nvtree/nvtree.h"
#include "test.h"

#define LEAF_BYTES	512U
#define LEAVES		16U
#define SOME		60U	/* records of three leaves */
#define MANY		200U	/* leaves of a large store */

static struct crab_geometry geo;

static struct nv_tree *tree(void)
{
	return nv_tree_of(store->engine);
}

static struct nv_dleaf *leaf_media(u64 leaf)
{
	return (struct nv_dleaf *)(media.base + crab_leaf_offset(&geo, leaf));
}

/* A store with the keys 10, 20, ... */
static void begin(u32 records)
{
	u32 i;

	store_begin(CRAB_POOL_OFFSET + LEAVES * LEAF_BYTES, "nvtree", "", LEAF_BYTES);
	geo = store->engine->geo;
	for (i = 1; i <= records; i++)
		store_put(store, i * 10, i);
}

static void attach_again(void)
{
	struct crab_attach_report report;

	crab_store_abandon(store);
	store = store_try(&media, &report);
	if (IS_ERR(store))
		exit(2);
}

static void element_set(u64 leaf, u32 at, u64 key, bool negative)
{
	struct nv_dline *line = &leaf_media(leaf)->line[at / NV_LINE_SLOTS];
	u64 bit = 1ULL << at % NV_LINE_SLOTS, sign = le64_to_cpu(line->sign);

	line->slot[at % NV_LINE_SLOTS].key = cpu_to_le64(key);
	line->sign = cpu_to_le64(negative ? sign | bit : sign & ~bit);
}

/* An element of the only leaf, whose keys are 10, 20, 30, then 20 deleted, then 40 */
static void sign_once(u32 at, u64 key, bool damage)
{
	int err;

	begin(3);
	store_delete(store, 20);
	store_put(store, 40, 4);
	element_set(0, at, key, true);
	attach_again();
	err = store_search(store, 10);
	tap_check(!!store->engine->damage.count == damage, "element %u deletes %llu: %s", at, key,
		  damage ? "no damage" : store->engine->damage.what);
	tap_check(!damage || err == -EUCLEAN, "element %u deletes %llu: a search returns %d", at, key,
		  err);
	store_end(store);
}

static void test_signs(void)
{
	sign_once(0, 10, true);		/* the first element of the leaf */
	sign_once(4, 40, true);		/* the first one of its key */
	sign_once(4, 20, true);		/* after another negative one */
	sign_once(4, 30, false);
	tap_ok(true, "an element that deletes an absent key is damage");
}

/* The memory of the only element of a leaf reads all ones */
static void test_lone(void)
{
	int err;

	begin(1);
	memset(&leaf_media(0)->line[0].slot[0], 0xff, sizeof(struct nv_dslot));
	err = store_search(store, 5);
	tap_ok(err == -EUCLEAN, "a search doubts a leaf whose only element has changed: %d", err);
	store_end(store);
}

/* The leaves in the order of their keys; returns their number */
static u32 list(u64 *leaf)
{
	struct nv_place place;
	u32 n = 0;
	u64 key;

	for (key = 0; key != CRAB_KEY_EMPTY; key = place.high) {
		crab_nv_find_range(tree(), key, &place);
		leaf[n++] = place.leaf;
	}
	return n;
}

static void head_low(u64 leaf, u64 low)
{
	struct crab_flow flow = { .media = &media };
	struct crab_head head;

	crab_head_load(&media, crab_leaf_offset(&geo, leaf), geo.store_id, &head);
	head.low = low;
	crab_head_store(&flow, geo.store_id, &head);
}

/* The second leaf begins where the first one does, which has no element that contradicts it */
static void test_twice(void)
{
	u64 leaf[LEAVES];

	begin(SOME);
	tap_check(list(leaf) > 2, "no leaves");
	leaf_media(leaf[0])->count = 0;
	head_low(leaf[1], 0);
	attach_again();
	tap_ok(store->engine->damage.count, "two leaves with one lowest key are damage");
	store_end(store);
}

/* The header of the second leaf is damaged; the third one begins after the last key of the first */
static void test_no_gap(void)
{
	u64 leaf[LEAVES], last;
	struct nv_place place;
	int err;

	begin(SOME);
	tap_check(list(leaf) > 2, "no leaves");
	crab_nv_find_range(tree(), 0, &place);
	last = place.high - 10;
	head_low(leaf[2], last + 1);
	leaf_media(leaf[1])->head.birth ^= cpu_to_le64(1);
	attach_again();
	err = store_search(store, last);
	tap_check(store_info(store).stats.records == SOME - 2 * nv_room(LEAF_BYTES),
		  "%llu records are counted", store_info(store).stats.records);
	tap_ok(err == -EUCLEAN, "a gap without a range: the leaf before it is quarantined: %d", err);
	store_end(store);
}

static int search(u64 key)
{
	return store_search(store, key);
}

/* A quarantined leaf has a key of the leaf after it, which then may have lost it */
static void misplaced_once(u32 at)
{
	u64 leaf[LEAVES], first, third;
	struct nv_place place;

	begin(SOME);
	tap_check(list(leaf) > 2, "no leaves");
	crab_nv_find_range(tree(), 0, &place);
	first = place.low + 1;
	crab_nv_find_range(tree(), place.high, &place);
	third = place.high + 1;
	element_set(leaf[1], at, third + 1, false);
	attach_again();
	tap_check(search(place.low) == -EUCLEAN, "element %u: the leaf is not quarantined", at);
	tap_check(search(third) == -EUCLEAN, "element %u: a search for a key near it: %d", at,
		  search(third));
	tap_check(search(first) == -ENOENT, "element %u: a search elsewhere: %d", at, search(first));
	store_end(store);
}

static void test_misplaced(void)
{
	u32 room = nv_room(LEAF_BYTES);

	misplaced_once(0);
	misplaced_once(room - 1);
	tap_ok(true, "a key in a quarantined leaf: searches of its range are in doubt, no others");
}

/* A change of the media under the store, then a write that needs the structure */

static u64 under[LEAVES];	/* the leaves, in the order of their keys */
static u64 under_low;		/* of the second one */

static void under_below(void)
{
	element_set(under[1], 1, 1, false);
}

/* Two records with one key are one record less */
static void under_twin(void)
{
	element_set(under[1], 1, under_low, false);
}

static void under_link(void)
{
	leaf_media(under[1])->head.next = leaf_media(under[0])->head.next;
}

static void under_before(void)
{
	leaf_media(under[0])->head.birth ^= cpu_to_le64(1);
}

static int insert_there(void)
{
	return store_put(store, under_low + 1, 1);
}

static int update_there(void)
{
	return store_put(store, under_low + 20, 1);
}

static int delete_there(void)
{
	return store_delete(store, under_low + 20);
}

/* Until the leaf goes */
static int delete_all(void)
{
	int err = 0;
	u64 key;

	for (key = under_low; !err && key < under_low + 10 * nv_room(LEAF_BYTES); key += 10)
		err = store_delete(store, key);
	return err;
}

/* The last record was deleted, and is there again */
static void under_again(void)
{
	struct crab_side *side = crab_side(&tree()->sides, under[2]);

	store_delete(store, SOME * 10);
	element_set(under[2], side->count - 1, SOME * 10, false);
}

static int insert_more(void)
{
	int err = 0;
	u64 key;

	for (key = SOME * 10 + 1; !err && key < SOME * 20; key++)
		err = store_put(store, key, 1);
	return err;
}

/* The last leaf has few records, so that the one before it may be merged with it */
static void under_right(void)
{
	struct nv_place place;
	u64 key;

	crab_nv_find_range(tree(), SOME * 10, &place);
	for (key = SOME * 10; key > place.low + 20; key -= 10)
		store_delete(store, key);
	list(under);
	element_set(under[2], 1, 1, false);
}

static void under_once(void (*change)(void), int (*write)(void), const char *what)
{
	const struct crab_damage *found;
	struct nv_place place;
	u64 head;
	int err;

	begin(SOME);
	tap_check(list(under) > 2, "no leaves");
	crab_nv_find_range(tree(), 0, &place);
	under_low = place.high;
	change();
	head = crab_list_head(&media)->next;
	err = write();
	found = &store->engine->found;
	tap_check(err == -EUCLEAN && strstr(found->what, what), "%d, not \"%s\": %s", err, what,
		  found->what);
	tap_check(crab_list_head(&media)->next == head && tree()->leaves == list(under),
		  "the list has changed");
	store_end(store);
}

static void test_under(void)
{
	static int (*const writes[])(void) = { insert_there, update_there, delete_there };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(writes); i++) {
		under_once(under_below, writes[i], "key outside the leaf's range");
		under_once(under_twin, writes[i], "records have appeared or vanished");
		under_once(under_link, writes[i], "link does not lead to the next leaf");
	}
	under_once(under_link, delete_all, "link does not lead to the next leaf");
	under_once(under_before, delete_all, "the header before it is damaged");
	under_once(under_right, delete_all, "key outside the leaf's range");
	under_once(under_again, insert_more, "records have appeared or vanished");
	tap_ok(true, "a structure modification that meets a change of the media describes it");
}

/* The option sets the entries of each parent node, but one more fits */
static void pack_once(u32 pack)
{
	const struct nv_tuning tuning = { .pack = pack };
	struct crab_attach_options options = { .tuning = &tuning };
	struct crab_attach_report report;
	u32 i, errors = 0, lost = 0;
	u64 seed = 3, value;

	media = media_create(CRAB_POOL_OFFSET + MANY * LEAF_BYTES);
	crab_store_detach(store_format_attach(&media, "nvtree", "", LEAF_BYTES));
	store = crab_store_attach(&media, &options, &report);
	for (i = 0; i < 10 * MANY; i++)
		errors += !!store_put(store, rng(&seed), i);
	for (i = 0, seed = 3; i < 10 * MANY; i++)
		lost += crab_store_search(store, rng(&seed), &value) || value != i;
	tap_check(!errors && !lost, "pack=%u: %u errors, %u records lost", pack, errors, lost);
	store_end(store);
}

static void test_pack(void)
{
	static const u32 packs[] = { 1, 2, 29, 30, 31, 32, 1000, U32_MAX };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(packs); i++)
		pack_once(packs[i]);
	tap_ok(true, "a parent node has room for an entry with any value of the option `pack`");
}

/* Deletes empty many parent nodes in a row; searches and seeks pass them */
static void test_emptied(void)
{
	const struct nv_tuning tuning = { .pack = 1 };
	struct crab_attach_options options = { .tuning = &tuning };
	u64 key, from = MANY * 20, to = MANY * 70, last = MANY * 100;
	struct crab_attach_report report;
	struct crab_record up, down;
	u32 lost = 0;

	store_begin(CRAB_POOL_OFFSET + MANY * LEAF_BYTES, "nvtree", "", LEAF_BYTES);
	for (key = 10; key <= last; key += 10)
		store_put(store, key, key);
	crab_store_detach(store);
	store = crab_store_attach(&media, &options, &report);
	for (key = from; key <= to; key += 10)
		tap_check(!store_delete(store, key), "delete %llu", key);
	for (key = 10; key <= last; key += 10)
		lost += (key < from || key > to) != !store_search(store, key);
	for (key = from; key <= to; key += 10) {
		tap_check(!crab_store_seek(store, key, CRAB_SEEK_GE, &up) && up.key == to + 10,
			  "from %llu up: %llu", key, up.key);
		tap_check(!crab_store_seek(store, key, CRAB_SEEK_LE, &down) && down.key == from - 10,
			  "from %llu down: %llu", key, down.key);
	}
	for (key = from; key <= to; key += 10)
		lost += store_insert(store, key, 1, CRAB_INSERT_CREATE) || store_search(store, key);
	tap_ok(!lost && tree()->unlinks > 40, "%llu leaves are emptied: %u records are lost",
	       tree()->unlinks, lost);
	store_end(store);
}

/*
 * So many deleted keys that a seek sorts the leaf, unless the allocation @fail is refused, and one
 * record at the end of its range
 */
static void test_far(long fail)
{
	u64 key, last = 2 * nv_room(LEAF_BYTES) - 1;	/* of the second leaf */
	struct crab_record up, down;
	int err;

	begin(0);
	for (key = 0; key < SOME; key++)
		store_put(store, key, key);
	for (key = 0; key < SOME; key++)
		if ((key + 1) % nv_room(LEAF_BYTES))
			store_delete(store, key);
	for (key = 0; key < nv_room(LEAF_BYTES); key++) {
		crab_host_fail_alloc = fail;
		err = crab_store_seek(store, key, CRAB_SEEK_GE, &up);
		crab_host_fail_alloc = fail;
		err = err ?: crab_store_seek(store, last - 1, CRAB_SEEK_LE, &down);
		crab_host_fail_alloc = -1;
		tap_check(!err && up.key == nv_room(LEAF_BYTES) - 1, "from %llu: %d, %llu", key, err,
			  up.key);
	}
	tap_ok(down.key == nv_room(LEAF_BYTES) - 1, "a seek finds the last key of a range, %s memory: %llu",
	       fail ? "with" : "without", down.key);
	store_end(store);
}

/* A scan that is stopped after a leaf without records has not ended */
static void test_stopped(void)
{
	struct crab_record record[4];
	struct crab_cursor cursor;
	u64 key;
	int got;

	begin(SOME);
	for (key = 1; key <= nv_room(LEAF_BYTES); key++)
		store_delete(store, key * 10);
	store->engine->stop.asked = stop_always;
	crab_cursor_init(&cursor, 0, CRAB_KEY_EMPTY);
	got = crab_cursor_read(store, &cursor, record, ARRAY_SIZE(record));
	store->engine->stop.asked = NULL;
	tap_ok(got == -EINTR && !cursor.done, "a scan that is stopped after an empty leaf: %d", got);
	store_end(store);
}

/* Inserts without memory for the sides of fresh leaves, of which one allocation makes 128 */
static void test_sides(void)
{
	u64 key, free, made;
	u32 sides = 0;
	int err;

	store_begin(CRAB_POOL_OFFSET + MANY * LEAF_BYTES, "nvtree", "", LEAF_BYTES);
	for (key = 1; tree()->leaves < MANY - 50; key++) {
		free = tree()->pool.free;
		made = atomic64_read(&tree()->sides.made);
		crab_host_fail_alloc = 0;
		err = store_put(store, key, key);
		crab_host_fail_alloc = -1;
		if (!err)
			continue;
		tap_check(err == -ENOMEM && search(key) == -ENOENT && tree()->pool.free == free,
			  "key %llu: %d, %llu free leaves of %llu", key, err, tree()->pool.free, free);
		tap_check(!store_put(store, key, key), "again");
		sides += atomic64_read(&tree()->sides.made) > made;
	}
	store_check_good(store);
	tap_ok(sides == 1, "a split without memory for a side is refused, and keeps no leaf: %u", sides);
	store_end(store);
}

/* A full store: one leaf is free, and a leaf with as many records as fit takes its place */
static void test_last(void)
{
	u32 i, room = nv_room(LEAF_BYTES);
	struct nv_place place;
	int err;

	begin(room);
	for (i = 0; !store_put(store, 10000 + i, 1); i++)
		;
	tap_check(tree()->leaves == LEAVES - 1, "%llu leaves", tree()->leaves);
	tap_check(!store_delete(store, 20), "delete");
	tap_check(!store_put(store, 10, 5), "update");
	err = store_put(store, 15, 1);
	crab_nv_find(tree(), 0, &place);
	tap_ok(!err && nv_live(place.side) == room && place.side->count == room,
	       "a leaf is replaced by one that is full: %d, %u", err, nv_live(place.side));
	store_end(store);
}

int main(void)
{
	crab_host_log = NULL;
	crab_host_seed(1);
	test_signs();
	test_lone();
	test_twice();
	test_no_gap();
	test_misplaced();
	test_under();
	test_pack();
	test_emptied();
	test_sides();
	test_last();
	test_far(-1);
	test_far(0);
	test_stopped();
	return tap_done();
}

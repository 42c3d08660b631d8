// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests the parts of a store, each alone: the index, the pool, extents, sets
 * of numbers, the list of bad memory, the access to the media and the crc.
 */
#include <linux/crc32.h>

#include "engines/clfb/line_read.h"
#include "media/badmem.h"
#include "media/crc.h"
#include "shared/extent.h"
#include "shared/index.h"
#include "shared/numset.h"
#include "shared/pool.h"
#include "shared/side.h"
#include "test.h"

/* The index: lows are even numbers; a leaf is its low plus one */

static void *index_leaf(u64 low)
{
	return (void *)(unsigned long)(low + 1);
}

static void index_expect(const struct crab_index *index, u64 key, u64 low)
{
	void *leaf = crab_index_find(index, key), *run[4];
	u32 n = crab_index_find_run(index, key, 4, run), i;

	tap_check(leaf == index_leaf(low), "key %llu: %p, not %llu", key, leaf, low);
	tap_check(n && run[0] == leaf, "key %llu: a run of %u from %p on", key, n, run[0]);
	for (i = 1; i < n; i++)
		tap_check(run[i] > run[i - 1], "key %llu: %p is number %u of the run", key, run[i], i);
}

/* Does a run end before the end of the index? Only for an index of at most two levels */
static bool index_falls_short(const struct crab_index *index, u64 key, u32 behind)
{
	void *run[4];

	return index->root->level < 2 &&
	       crab_index_find_run(index, key, 4, run) < min(behind, 4U);
}

static void index_build(struct crab_index *index, u32 n)
{
	u32 i;

	crab_index_init(index);
	for (i = 0; i < n; i++)
		tap_check(!crab_index_append(index, i * 2, index_leaf(i * 2)), "append");
}

static void test_index_bulk(void)
{
	struct crab_index index;
	u32 n, i;

	for (n = 1; n <= 5000; n += n < 1000 ? 1 : 41) {
		index_build(&index, n);
		for (i = 0; i < n; i += 1 + n / 97) {
			index_expect(&index, i * 2, i * 2);
			index_expect(&index, i * 2 + 1, i * 2);
			tap_check(!index_falls_short(&index, i * 2, n - i), "%u of %u", i, n);
		}
		index_expect(&index, CRAB_INDEX_PAD - 1, (n - 1) * 2);
		crab_index_destroy(&index);
	}
	tap_ok(!index.nodes, "index: bulk-built with 1 to 5000 leaves");
}

static void index_compare(const struct crab_index *index, const bool *there, u32 n)
{
	u32 i, last = 0;

	for (i = 0; i < n; i++) {
		if (there[i])
			last = i;
		index_expect(index, i * 2, last * 2);
		index_expect(index, i * 2 + 1, last * 2);
	}
}

/* Nodes and leaves below a node, whose keys ascend from @low on */
static void index_count(const struct crab_index_node *node, u64 low, u64 *nodes, u64 *leaves)
{
	u32 i;

	++*nodes;
	tap_check(node->count && node->count <= CRAB_INDEX_FULL, "a node with %u entries", node->count);
	tap_check(node->keys[0] == low && node->keys[node->count] == CRAB_INDEX_PAD, "keys of a node");
	for (i = 0; i < node->count; i++) {
		tap_check(!i || node->keys[i] > node->keys[i - 1], "keys %u of a node", i);
		if (node->level)
			index_count(node->children[i], node->keys[i], nodes, leaves);
		else
			++*leaves;
	}
}

/* The counters, the height, and a walk from leaf to leaf */
static void index_shape(const struct crab_index *index, const bool *there, u32 n)
{
	u64 nodes = 0, leaves = 0, want = 0;
	struct crab_index_path path;
	u32 i;

	index_count(index->root, 0, &nodes, &leaves);
	crab_index_walk(index, 0, &path);
	for (i = 0; i < n; i++) {
		if (!there[i])
			continue;
		tap_check(!want++ || crab_index_next(index, &path), "the walk ends before %u", i);
		tap_check(path.node[0]->keys[path.pos[0]] == i * 2, "the walk is not at %u", i);
	}
	tap_check(!crab_index_next(index, &path), "the walk goes on after the last one");
	tap_check(index->nodes == nodes + index->stashed, "%llu nodes, not %llu", index->nodes,
		  nodes + index->stashed);
	tap_check(index->entries == leaves && leaves == want, "%llu entries, %llu leaves, not %llu",
		  index->entries, leaves, want);
	tap_check(!index->root->level || index->root->count > 1, "a root with one child");
}

/* Random inserts, removes and replacements on a bulk-built index */
static void test_index_random(u64 seed, u32 n, u32 begin)
{
	bool *there = calloc(n, sizeof(bool));
	struct crab_index index;
	void *leaf;
	u32 i, at;

	index_build(&index, begin);
	for (i = 0; i < begin; i++)
		there[i] = true;
	for (i = 0; i < n * 8; i++) {
		at = 1 + rng(&seed) % (n - 1);
		leaf = index_leaf(at * 2);
		tap_check(!crab_index_reserve(&index), "reserve");
		if (there[at] && i / n % 2)
			crab_index_remove(&index, at * 2);
		else if (there[at])
			crab_index_replace(&index, at * 2, leaf);
		else
			crab_index_insert(&index, at * 2, leaf);
		there[at] = !there[at] || !(i / n % 2);
		if (i % (n / 4) == 0) {
			index_compare(&index, there, n);
			index_shape(&index, there, n);
		}
	}
	for (at = n - 1; at; at--)
		if (there[at])
			crab_index_remove(&index, at * 2);
	index_shape(&index, there, 1);
	index_expect(&index, CRAB_INDEX_PAD - 1, 0);
	crab_index_destroy(&index);
	free(there);
	tap_ok(!index.nodes, "index: %u leaves, %u random changes, emptied", n, n * 8);
}

/* The pool */

static void test_pool(void)
{
	struct crab_spare spares[80];
	struct crab_pool pool;
	bool seen[70] = { false };
	u32 i;

	tap_check(!crab_pool_init(&pool, 70), "init");
	tap_check(crab_pool_mark(&pool, 3) && !crab_pool_mark(&pool, 3), "mark twice");
	tap_check(pool.free == 69, "%llu free", pool.free);
	tap_check(crab_pool_alloc(&pool, spares, 70, 0) == -ENOSPC, "more than there are");
	tap_check(crab_pool_alloc(&pool, spares, 68, 2) == -ENOSPC, "the reserve");
	tap_check(pool.free == 69, "a failure took %llu", 69 - pool.free);
	tap_check(!crab_pool_alloc(&pool, spares, 69, 0), "all");
	for (i = 0; i < 69; i++) {
		tap_check(spares[i].leaf < 70 && spares[i].leaf != 3 && !seen[spares[i].leaf],
			  "leaf %llu", spares[i].leaf);
		seen[spares[i].leaf] = true;
	}
	tap_check(crab_pool_alloc(&pool, spares, 1, 0) == -ENOSPC, "one more");
	tap_check(!crab_pool_needs_refill(&pool), "no leaf is free that could be prepared");
	crab_pool_free(&pool, 66);
	tap_check(!crab_pool_alloc(&pool, spares, 1, 0) && spares[0].leaf == 66, "one given");
	tap_ok(true, "pool: take, give, mark, reserve");
	crab_pool_destroy(&pool);
}

/* The words of values may be in memory that cannot be written; a leaf of it is lent once */
static void test_spoilt_run(void)
{
	struct crab_pool pool;
	u64 leaf;

	tap_check(!crab_pool_init(&pool, 64), "memory");
	pool.bad = kvcalloc(1, sizeof(long), GFP_KERNEL);
	for (leaf = 8; leaf < 12; leaf++)
		crab_pool_spoil(&pool, leaf);
	tap_check(pool.spoilt == 4 && crab_pool_unlisted(&pool) == 64, "%llu spoilt", pool.spoilt);
	tap_check(!crab_pool_lend(&pool, 8, 4), "it is not lent");
	tap_check(!pool.spoilt && crab_pool_unlisted(&pool) == 64, "%llu spoilt", pool.spoilt);
	tap_ok(crab_pool_lend(&pool, 8, 4) == -EUCLEAN, "no run of spoilt leaves is lent twice");
	crab_pool_destroy(&pool);
}

static void test_pool_stock(void)
{
	struct crab_spare spare, spares[4];
	struct crab_pool pool;
	u32 stocked = 0;

	tap_check(!crab_pool_init(&pool, 100), "init");
	tap_check(crab_pool_needs_refill(&pool), "an empty stock is low");
	while (crab_pool_prepare_begin(&pool, &spare)) {
		spare.prepared = true;
		spare.tag = 1000 + spare.leaf;
		crab_pool_prepare_end(&pool, &spare);
		stocked++;
	}
	tap_check(stocked == CRAB_POOL_READY, "%u", stocked);
	tap_check(pool.free == 100, "%llu free: the stock is free too", pool.free);
	tap_check(!crab_pool_needs_refill(&pool), "a full stock");
	tap_check(!crab_pool_alloc(&pool, spares, 2, 0), "take");
	tap_check(spares[0].prepared && spares[1].prepared, "prepared leaves first");
	tap_check(spares[0].tag == 1000 + spares[0].leaf, "%llu", spares[0].tag);
	tap_check(crab_pool_prepare_begin(&pool, &spare) && pool.free == 97, "%llu free",
		  pool.free);
	tap_check(!crab_pool_prepare_begin(&pool, &spares[0]), "two are prepared at a time");
	tap_check(crab_pool_has(&pool, 98) && !crab_pool_has(&pool, 99), "it is counted");
	tap_check(crab_pool_alloc(&pool, spares, 1, 98) == -ENOSPC, "and so is no other");
	tap_check(!crab_pool_alloc(&pool, spares, 1, 97), "it may be one of those that remain");
	crab_pool_close(&pool);
	tap_check(crab_pool_alloc(&pool, spares, 1, 0) == -EUCLEAN, "closed");
	tap_check(!crab_pool_prepare_begin(&pool, &spare) && !crab_pool_needs_refill(&pool),
		  "closed");
	tap_ok(true, "pool: stock of prepared leaves, closing");
	crab_pool_destroy(&pool);
}

/* A leaf is free after a wait, also if polling overlooks the end of the grace period */
static void test_pool_wait(void)
{
	struct crab_later *later = kmalloc(sizeof(*later), GFP_KERNEL);
	struct crab_pool pool;

	tap_check(later && !crab_pool_init(&pool, 70) && crab_pool_mark(&pool, 7), "init");
	later->leaf = 7;
	crab_host_poll_late = true;
	crab_pool_free_later(&pool, later);
	tap_check(!crab_pool_has(&pool, 70), "free too early");
	tap_ok(crab_pool_wait(&pool) && crab_pool_has(&pool, 70) && !crab_pool_wait(&pool),
	       "pool: a wait frees leaves that polling overlooks");
	crab_host_poll_late = false;
	crab_pool_destroy(&pool);
}

/* L1: stored words are on the media, and counted */
static void test_persist(bool fence_only)
{
	struct crab_media media = media_create(8192);
	struct crab_flow flow = { .media = &media };
	__le64 *word = (__le64 *)media.base;

	media.fence_only = fence_only;
	crab_store(&flow, word + 1, 0x0102030405060708ULL);
	tap_check(media.base[8] == 8 && media.base[15] == 1, "not little-endian");
	tap_check(crab_load(&media, word + 1) == 0x0102030405060708ULL, "load");
	crab_store_pair(&flow, word + 2, 11, 12);
	tap_check(crab_load(&media, word + 2) == 11 && crab_load(&media, word + 3) == 12, "pair");
	tap_check(!flow.lines && !flow.fences, "counts stores");
	crab_clean(&flow, word, 64);
	tap_check(flow.lines == 1, "%llu", flow.lines);
	crab_clean(&flow, word + 7, 16);
	tap_check(flow.lines == 3, "%llu: 16 bytes over a line's end are 2", flow.lines);
	crab_clean(&flow, media.base + 1, 1024);
	tap_check(flow.lines == 20, "%llu", flow.lines);
	crab_fence(&flow, CRAB_P6_RECORD);
	tap_check(flow.fences == 1, "%llu", flow.fences);
	tap_ok(true, "persist: stores and counts by %s, pairs %s",
	       fence_only ? "fence only" : crab_persist_method(),
	       crab_pair_is_atomic() ? "atomic" : "in order");
	media_destroy(&media);
}

static void test_crc(void)
{
	static u8 bytes[20007];
	size_t size;
	static const u8 zeros[32];

	tap_check(~crab_crc32c(~0U, "123456789", 9) == 0xe3069283, "check value");
	tap_check(~crab_crc32c(~0U, zeros, 32) == 0x8a9136aa, "RFC 3720, 32 zeros");
	tap_check(crab_crc32c(crab_crc32c(~0U, "12345", 5), "6789", 4) ==
		  crab_crc32c(~0U, "123456789", 9), "in two parts");
	for (size = 0; size < sizeof(bytes); size++)
		bytes[size] = rng_mix(size);
	for (size = 0; size < sizeof(bytes) - 7; size += 1 + size / 50)
		tap_check(crab_crc32c(size, bytes + size % 7, size) ==
			  crab_crc32c_lib(size, bytes + size % 7, size), "%zu bytes", size);
	tap_ok(true, "crc32c: known values; lengths up to %zu as by a table", sizeof(bytes) - 7);
}

static void test_badmem(u64 seed)
{
	static struct crab_badmem bad;
	static u8 model[4 * CRAB_BADMEM_MAX * 8];
	const struct crab_media media = { .bad = &bad };
	const u32 size = sizeof(model);
	u32 i, from, len, hits;
	u64 to;

	crab_badmem_init(&bad);
	memset(model, 0, size);
	for (i = 0; i < 3000; i++) {
		from = rng(&seed) % (size - 8);
		len = rng(&seed) % 4;
		crab_badmem_add(&bad, from, len);
		memset(model + from, 1, len);
	}
	tap_check(bad.count <= CRAB_BADMEM_MAX, "%u ranges", bad.count);
	for (i = 1; i < bad.count; i++)
		tap_check(bad.range[i - 1].to < bad.range[i].from, "ranges %u and %u touch", i - 1, i);
	for (i = 0, hits = 0; i < size; i++) {
		hits += crab_badmem_hits(&media, i, 1);
		tap_check(!model[i] || crab_badmem_hits(&media, i, 1), "byte %u was forgotten", i);
	}
	tap_check(hits < size, "everything is bad");
	tap_check(!crab_badmem_next(&media, size, &to, &to), "a range after the last one");
	tap_ok(true, "badmem: a list that overflows forgets nothing");
}

/* The exact list, as long as it has room */
static void test_badmem_exact(u64 seed)
{
	static struct crab_badmem bad;
	static u8 model[2000];
	const struct crab_media media = { .bad = &bad };
	u32 i, from, len;

	crab_badmem_init(&bad);
	memset(model, 0, sizeof(model));
	for (i = 0; i < 150; i++) {
		from = rng(&seed) % (sizeof(model) - 16);
		len = rng(&seed) % 16;
		crab_badmem_add(&bad, from, len);
		memset(model + from, 1, len);
	}
	for (i = 0; i < sizeof(model); i++)
		tap_check(crab_badmem_hits(&media, i, 1) == model[i], "byte %u", i);
	for (i = 0; i + 40 < sizeof(model); i++)
		tap_check(crab_badmem_hits(&media, i, 40) == !!memchr(model + i, 1, 40), "from %u", i);
	tap_ok(true, "badmem: a list is exact while it has room");
}

/* Children at random distances, as many of them as fit into a line */
static void random_list(u64 *seed, struct clfb_list *list)
{
	u32 bits = rng(seed) % 64, i;
	u64 key = rng(seed) % 1000;

	list->leaves = false;
	list->count = 1 + rng(seed) % CLFB_CHILDREN_MAX;
	for (i = 0; i < list->count; i++, key += 1 + (rng(seed) & ((1ULL << bits) - 1)) / 32) {
		list->ref[i] = rng(seed) & ((1ULL << bits / 2) - 1);
		list->key[i] = i ? key : 0;
	}
	while (!crab_clfb_line_fits(list))
		list->count--;
}

/* The child whose range holds a key */
static u32 list_find(const struct clfb_list *list, u64 key)
{
	u32 i = list->count - 1;

	while (i && list->key[i] > key)
		i--;
	return i;
}

static bool line_has(const union clfb_line *line, const struct clfb_list *list, u32 i)
{
	u64 key = list->key[i];

	if (crab_clfb_line_ref(line, i) != list->ref[i] || (i && crab_clfb_line_key(line, i) != key))
		return false;
	return crab_clfb_line_find(line, key) == list_find(list, key) &&
	       crab_clfb_line_find(line, key - 1) == list_find(list, key - 1);
}

static void test_clfb_line(u64 seed)
{
	u32 turn, i, most = 0, wide = 0;
	union clfb_line line;
	struct clfb_list list;

	for (turn = 0; turn < 20000; turn++) {
		random_list(&seed, &list);
		crab_clfb_line_encode(&line, &list);
		tap_check(crab_clfb_line_holds(&line), "line %u cannot be decoded", turn);
		for (i = 0; i < list.count; i++)
			tap_check(line_has(&line, &list, i), "line %u, child %u", turn, i);
		most = max(most, list.count);
		wide += list.count > 2 && list.key[list.count - 1] - list.key[1] > U32_MAX;
	}
	tap_ok(most > 15 && wide > 1000, "clfb: lines of up to %u children, %u of them with wide keys: "
	       "each child is found", most, wide);
}

/* A pool of 3 TiB: a place has bits for the lines of the first 2 TiB only */
static void test_extents(void)
{
	struct crab_geometry geo = { .leaf_bytes = CRAB_SLAB_BYTES_MAX, .leaves = 3 << 23 };
	struct crab_media media = { .size = geo.leaves * geo.leaf_bytes };
	struct crab_extents extents = { };
	struct crab_pool pool = { };
	u64 place = 0, last = 0;

	if (crab_pool_init(&pool, geo.leaves) ||
	    crab_extents_init(&extents, &pool, &media, &geo, CRAB_SLAB_BYTES_MAX))
		tap_bail("no memory");
	tap_check(!crab_extents_alloc(&extents, CRAB_SLAB_BYTES_MAX, &place) &&
		  !crab_extents_alloc(&extents, CRAB_LINE, &last), "alloc");
	tap_check(place <= CRAB_PLACE_MASK && crab_extent_is_place(&extents, place) &&
		  crab_extents_holds(&extents, place), "place 0x%llx", place);
	tap_check(crab_extent_offset(&extents, place) == (2ULL << 40) - CRAB_SLAB_BYTES_MAX &&
		  crab_extent_offset(&extents, last) == (2ULL << 40) - 2 * CRAB_SLAB_BYTES_MAX,
		  "offset 0x%llx", crab_extent_offset(&extents, place));
	crab_extents_free(&extents, place);
	tap_check(pool.free == geo.leaves - 1, "the slab has not returned");
	crab_extents_destroy(&extents);
	crab_pool_destroy(&pool);
	tap_ok(true, "extents: those of a pool of 3 TiB are in the 2 TiB that a place can name");
}

static void numset_change(struct crab_numset *set, bool *there, u64 n, bool add)
{
	(add ? crab_numset_add : crab_numset_remove)(set, n);
	there[n] = add;
}

/* The numbers after and before @n, by comparison with all of them */
static void numset_expect(const struct crab_numset *set, const bool *there, u64 n, u64 bound)
{
	u64 after = n + 1, before = n;

	while (after < bound && !there[after])
		after++;
	while (before && !there[before - 1])
		before--;
	tap_check(crab_numset_after(set, n) == (after < bound ? after : n), "after %llu", n);
	tap_check(crab_numset_before(set, n) == (before ? before - 1 : n), "before %llu", n);
}

/* Sets that are empty, sparse, dense and full in turn */
static void test_numset(u64 seed, u64 bound)
{
	bool *there = calloc(bound, sizeof(*there));
	struct crab_numset set;
	u32 turn;

	tap_check(there && !crab_numset_init(&set, bound), "no memory");
	crab_numset_fill(&set, bound - 8);
	memset(there, true, bound - 8);
	numset_expect(&set, there, bound - 1, bound);
	for (turn = 0; turn < 16 * bound; turn++) {
		numset_change(&set, there, rng(&seed) % bound, rng(&seed) % 64 < turn * 64 / (16 * bound));
		if (turn % 61 == 0)
			numset_expect(&set, there, rng(&seed) % bound, bound);
	}
	for (turn = 0; turn < 8 * bound; turn++) {
		numset_change(&set, there, rng(&seed) % bound, false);
		if (turn % 61 == 0)
			numset_expect(&set, there, rng(&seed) % bound, bound);
	}
	crab_numset_destroy(&set);
	free(there);
	tap_ok(true, "numset: the next of %llu numbers, up and down", bound);
}

/* Their memory: a table, and a chunk for each run of leaves that was in use */
static void test_sides(void)
{
	const u64 chunk = CRAB_SIDE_CHUNK * sizeof(struct crab_side);
	struct crab_sides sides;
	u64 table;

	tap_check(!crab_sides_init(&sides, 2 * CRAB_SIDE_CHUNK + 1), "init");
	table = crab_sides_bytes(&sides);
	tap_check(table == 3 * sizeof(*sides.chunks), "a table of %llu bytes", table);
	tap_check(crab_side_make(&sides, 2 * CRAB_SIDE_CHUNK, GFP_KERNEL) &&
		  crab_side_make(&sides, 0, GFP_KERNEL) == crab_side(&sides, 0), "make");
	tap_check(crab_side_make(&sides, 1, GFP_KERNEL) == crab_side(&sides, 0) + 1, "the next one");
	tap_ok(crab_sides_bytes(&sides) == table + 2 * chunk, "sides: %llu bytes",
	       crab_sides_bytes(&sides));
	crab_sides_destroy(&sides);
}

int main(void)
{
	crab_host_seed(1);
	test_index_bulk();
	test_index_random(1, 40, 1);
	test_index_random(2, 3000, 1);
	test_index_random(3, 5000, 2500);
	test_pool();
	test_spoilt_run();
	test_sides();
	test_pool_stock();
	test_pool_wait();
	test_persist(true);
	test_persist(false);
	test_crc();
	test_clfb_line(1);
	test_extents();
	test_numset(3, 64);
	test_numset(4, 5000);
	test_badmem(1);
	test_badmem_exact(2);
	return tap_done();
}

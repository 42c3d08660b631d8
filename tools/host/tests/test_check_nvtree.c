// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests CHECK of the engines nvtree and fastfair: one word of the media or of memory
 * changes under a store at a time, and CHECK describes that change. It also tests which leaves are
 * quarantined when memory fails.
 *
 * Invariant: a change is the first one that CHECK can meet, so the description is the one of it.
 */
#include "engines/fastfair/tree.h"
#include "engines/nvtree/nvtree.h"
#include "test.h"

#define LEAF_BYTES	512U
#define LEAVES		32U
#define RECORDS		100U

static struct crab_geometry geo;
static u64 second;		/* number of the second leaf */

static struct nv_tree *nv(void)
{
	return nv_tree_of(store->engine);
}

static struct ff *ff(void)
{
	return ff_of(store->engine);
}

static struct crab_dhead *head_of(u64 leaf)
{
	return (struct crab_dhead *)(media.base + crab_leaf_offset(&geo, leaf));
}

static struct nv_dleaf *nv_media(void)
{
	return (struct nv_dleaf *)head_of(second);
}

static struct crab_side *nv_side(void)
{
	return crab_side(&nv()->sides, second);
}

static struct crab_side *ff_side(void)
{
	return crab_side(&ff()->sides, second);
}

static void nv_birth(void)
{
	nv()->birth = 0;
}

static void nv_low(void)
{
	struct crab_flow flow = { .media = &media };
	struct crab_head head;

	crab_head_load(&media, crab_leaf_offset(&geo, second), geo.store_id, &head);
	head.low--;
	crab_head_store(&flow, geo.store_id, &head);
}

static void leaf_next(void)
{
	head_of(second)->next ^= cpu_to_le64(1ULL << 63);
}

static void leaf_crc(void)
{
	head_of(second)->birth ^= cpu_to_le64(1);
}

static void list_next(void)
{
	crab_list_head(&media)->next ^= cpu_to_le64(1ULL << 63);
}

static void list_crc(void)
{
	crab_list_head(&media)->birth ^= cpu_to_le64(1);
}

static void block_free(void)
{
	crab_pool_free(store->engine->pool, second);
}

static void block_lost(void)
{
	struct crab_spare spare;

	tap_check(!crab_pool_alloc(store->engine->pool, &spare, 1, 0), "no free block");
}

static void nv_count(void)
{
	nv_media()->count = cpu_to_le64(nv_side()->count - 1);
}

static void nv_key(void)
{
	nv_media()->line[0].slot[0].key = 0;
}

static void nv_records(void)
{
	nv()->records++;
}

static void nv_live_records(void)
{
	nv_side()->flags++;
}

static void nv_leaves(void)
{
	nv()->leaves++;
}

static void ff_flags(void)
{
	ff_side()->flags |= FF_DEAD;
}

static void ff_birth(void)
{
	ff()->birth = 0;
}

static void ff_count(void)
{
	ff_side()->count--;
}

static void ff_void(void)
{
	ff_slot(ff(), second, 0)->key = ff_slot(ff(), second, 1)->key;
}

static void ff_records(void)
{
	ff()->records++;
}

static void ff_nodes(void)
{
	ff()->nodes++;
}

static void ff_noted(void)
{
	crab_damage_note(&ff()->base.damage, 0, "noted by attach");
}

static const struct change {
	const char *engine;
	void (*make)(void);
	const char *what;
} changes[] = {
	{ "nvtree", nv_birth, "born in the future" },
	{ "nvtree", nv_low, "the inner nodes lead to it by another key" },
	{ "nvtree", leaf_next, "link does not lead to the next leaf" },
	{ "nvtree", leaf_crc, "link does not lead to the next leaf" },	/* of the one before it */
	{ "nvtree", list_next, "the head does not lead to the first leaf" },
	{ "nvtree", list_crc, "the head of the leaf list is damaged" },
	{ "nvtree", block_free, "in the list and free" },
	{ "nvtree", block_lost, "in the pool are not all" },
	{ "nvtree", nv_count, "its count has changed" },
	{ "nvtree", nv_key, "key outside the leaf's range" },
	{ "nvtree", nv_live_records, "records, DRAM counts" },
	{ "nvtree", nv_records, "records, DRAM counts" },
	{ "nvtree", nv_leaves, "leaves in the tree, DRAM counts" },
	{ "fastfair", ff_birth, "born in the future" },
	{ "fastfair", ff_flags, "it is in a list, and its side is not" },
	{ "fastfair", block_free, "it is in a list and free" },
	{ "fastfair", block_lost, "in the pool" },
	{ "fastfair", ff_count, "the number of its slots is not the one in memory" },
	{ "fastfair", ff_void, "it has void slots" },
	{ "fastfair", ff_records, "records, memory counts" },
	{ "fastfair", ff_nodes, "nodes are in lists" },
	{ "fastfair", ff_noted, "noted by attach" },
	{ "fastfair", leaf_crc, "its header is damaged" },
	{ "fastfair", leaf_next, "the next node is missing" },
	{ "fastfair", list_crc, "the head does not lead to a root" },
};

static void second_find(const char *engine)
{
	struct nv_place place;
	struct ff_find find;
	struct ff_node right;

	if (strcmp(engine, "nvtree")) {
		tap_check(!crab_ff_find_exact(ff(), 0, 0, &find) &&
			  !crab_ff_next(ff(), &find.node, &right), "no leaf");
		second = right.number;
		return;
	}
	crab_nv_find_range(nv(), 0, &place);
	crab_nv_find_range(nv(), place.high, &place);
	second = place.leaf;
}

static void begin(const char *engine)
{
	u64 key;

	store_begin(CRAB_POOL_OFFSET + LEAVES * LEAF_BYTES, engine, "", LEAF_BYTES);
	geo = store->engine->geo;
	for (key = 1; key <= RECORDS; key++)
		tap_check(!store_put(store, key * 10, key), "insert");
	second_find(engine);
}

static void test_change(const struct change *c)
{
	struct crab_check_report report;

	begin(c->engine);
	tap_check(!crab_store_check(store, &report) && !report.damage.count &&
		  report.records == RECORDS, "before: %s", report.damage.what);
	c->make();
	tap_check(!crab_store_check(store, &report), "check");
	tap_ok(report.damage.count && strstr(report.damage.what, c->what),
	       "%s: CHECK finds: %s", c->engine, report.damage.what);
	store_abandon(store);
}

static u64 quarantined(void)
{
	return store_info(store).stats.leaves_bad;
}

/* Whether a leaf is in use, and not quarantined yet */
static bool in_use(u64 number)
{
	struct nv_place place;
	u64 key;

	if (!strcmp(store->engine->ops->name, "fastfair"))
		return crab_side(&ff()->sides, number) &&
		       crab_side(&ff()->sides, number)->flags == FF_USED;
	for (key = 0; key != CRAB_KEY_EMPTY; key = place.high) {
		crab_nv_find_range(nv(), key, &place);
		if (place.leaf == number && !nv_is_quarantined(&place))
			return true;
	}
	return false;
}

static u64 overlapped(u64 from, u64 to)
{
	u64 n, offset, hit = 0;

	for (n = 0; n < geo.leaves; n++) {
		offset = crab_leaf_offset(&geo, n);
		hit += offset < to && offset + geo.leaf_bytes > from && in_use(n);
	}
	return hit;
}

/* The bytes of the second leaf from @from to @to fail */
static void fail(const char *engine, s64 from, s64 to)
{
	u64 first, end, hit, bad;

	begin(engine);
	first = crab_leaf_offset(&geo, second) + from;
	end = crab_leaf_offset(&geo, second) + to;
	bad = overlapped(first, end);
	hit = store->engine->ops->quarantine(store->engine, first, end);
	tap_check(hit == bad && quarantined() == bad, "%s: %llu leaves hit, %llu quarantined, not %llu",
		  engine, hit, quarantined(), bad);
	tap_check(!store->engine->ops->quarantine(store->engine, first, end) && quarantined() == bad,
		  "%s: hit twice", engine);
	hit = overlapped(first + LEAF_BYTES, end + LEAF_BYTES);
	tap_check(store->engine->ops->quarantine(store->engine, first + LEAF_BYTES, end + LEAF_BYTES) ==
		  hit && quarantined() == bad + hit, "%s: %llu leaves in all", engine, quarantined());
	tap_check(crab_pool_is_closed(store->engine->pool), "%s: the pool is open", engine);
	store_abandon(store);
}

static void test_quarantine(const char *engine)
{
	static const s64 bytes[][2] = {
		{ 0, 1 }, { LEAF_BYTES - 1, LEAF_BYTES }, { 0, LEAF_BYTES }, { -1, 0 }, { -1, 1 },
		{ -1, LEAF_BYTES }, { 0, 0 }, { LEAF_BYTES, LEAF_BYTES + 1 }, { 1, LEAVES * LEAF_BYTES },
	};
	u32 i;

	for (i = 0; i < ARRAY_SIZE(bytes); i++)
		fail(engine, bytes[i][0], bytes[i][1]);
	tap_ok(true, "%s: memory that fails hits the leaves that it overlaps", engine);
}

/* Without its head a list is lost as a whole, and with the line before or after it nothing is */
static void test_head(void)
{
	const u64 head = CRAB_HEAD_OFFSET, end = head + sizeof(struct crab_dhead);
	int before, after, in;

	begin("fastfair");
	store->engine->ops->quarantine(store->engine, head - CRAB_LINE, head);
	before = store_search(store, 10);
	store->engine->ops->quarantine(store->engine, end, end + CRAB_LINE);
	after = store_search(store, 10);
	store->engine->ops->quarantine(store->engine, end - 1, end);
	in = store_search(store, 10);
	tap_ok(!before && !after && in == -EUCLEAN,
	       "fastfair: the line of the head fails: %d, the ones around it: %d, %d", in, before, after);
	store_abandon(store);
}

int main(void)
{
	u32 i;

	crab_host_log = NULL;
	crab_host_seed(1);
	for (i = 0; i < ARRAY_SIZE(changes); i++)
		test_change(&changes[i]);
	test_quarantine("nvtree");
	test_quarantine("fastfair");
	test_head();
	return tap_done();
}

// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests the descriptions of damage of the engines clfb and nbtree: each change of a leaf, of
 * a node or of a word that leads to one breaks one invariant. CHECK of the attached store reports it,
 * and so does the next attach, unless only memory knew the old value.
 *
 * Keys at the ends of the range of a leaf are the nearest ones that are wrong.
 */
#include "clfb_node.h"
#include "engines/clfb/leaf.h"
#include "engines/nbtree/eadr/eadr.h"
#include "engines/nbtree/fingerprint.h"
#include "test.h"

#define SIZE	(CRAB_POOL_OFFSET + 512 * 1024)
#define STEP	100U		/* between keys */
#define RECORDS	200U

static struct crab_geometry geo;
static struct clfb_place place;		/* clfb: a leaf in the middle */
static struct nb_leaf *leaf;		/* nbtree: the same */

/* The head of a leaf with other values; its crc is right */
static void head_set(u64 number, u64 birth, u64 low)
{
	struct crab_flow flow = { .media = &media };
	u64 offset = crab_leaf_offset(&geo, number);
	struct crab_head head;

	crab_head_load(&media, offset, geo.store_id, &head);
	head.birth += birth;
	head.low = low;
	crab_head_store(&flow, geo.store_id, &head);
}

static void flip(u64 offset)
{
	media.base[offset] ^= 1;
}

/* clfb */

static struct clfb_tree *clfb(void)
{
	return clfb_tree_of(store->engine);
}

static struct clfb_dslot *clfb_slot(u32 slot)
{
	return (struct clfb_dslot *)(clfb_leaf_media(clfb(), place.leaf) + 1) + slot;
}

static void node_crc(void)
{
	node_line(clfb(), clfb()->root)->byte[CLFB_CRC] ^= 1;
}

static void node_level(void)
{
	node_line(clfb(), clfb()->root)->byte[CLFB_COUNT] ^= CLFB_OF_LEAVES;
	node_seal(clfb(), clfb()->root, node_line(clfb(), clfb()->root));
}

static void node_ref(void)
{
	struct clfb_list list;

	crab_clfb_line_decode(node_line(clfb(), clfb()->root), &list);
	list.ref[1] = geo.leaves;
	node_rewrite(clfb(), clfb()->root, &list);
}

static void node_equal(void)
{
	struct clfb_list list;

	crab_clfb_line_decode(node_line(clfb(), clfb()->root), &list);
	list.key[2] = list.key[1];
	node_rewrite(clfb(), clfb()->root, &list);
}

static void clfb_free(void)
{
	crab_pool_free(&clfb()->pool, place.leaf);
}

static void node_free(void)
{
	crab_pool_free(&clfb()->nodes, clfb()->root);
}

static void root_word(void)
{
	flip(CRAB_HEAD_OFFSET + 7);
}

static void clfb_head(void)
{
	flip(crab_leaf_offset(&geo, place.leaf) + offsetof(struct crab_dhead, birth));
}

static void clfb_low_above(void)
{
	head_set(place.leaf, 0, place.high);
}

static void clfb_low_below(void)
{
	head_set(place.leaf, 0, place.low - 1);
}

static void clfb_bit(void)
{
	clfb_leaf_media(clfb(), place.leaf)->valid[0] |= cpu_to_le64(1ULL << clfb()->room);
}

static void clfb_bit_above(void)
{
	clfb_leaf_media(clfb(), place.leaf)->valid[1] |= cpu_to_le64(1);
}

static void clfb_above(void)
{
	clfb_slot(1)->key = cpu_to_le64(place.high);
}

static void clfb_below(void)
{
	clfb_slot(1)->key = cpu_to_le64(place.low - 1);
}

static void clfb_twice(void)
{
	clfb_slot(1)->key = clfb_slot(0)->key;
}

/* A leaf of `encoded`, whose crc is right */
static void encoded_set(u64 first, u64 second)
{
	const struct crab_record records[] = { { first, 1 }, { second, 2 } };
	struct crab_flow flow = { .media = &media };

	crab_clfb_leaf_fresh(&flow, &geo, place.leaf, first, records, 2);
}

static void encoded_crc(void)
{
	flip(crab_leaf_offset(&geo, place.leaf) + CLFB_LEAF_CRC);
}

static void encoded_above(void)
{
	encoded_set(place.low, place.high);
}

static void encoded_low_above(void)
{
	encoded_set(place.high, place.high + 1);
}

static void encoded_low_below(void)
{
	encoded_set(place.low - 1, place.low);
}

static void encoded_twice(void)
{
	encoded_set(place.low, place.low);
}

/* Numbers that no line can have */
static void encoded_count(void)
{
	union clfb_line *line = (union clfb_line *)(media.base + crab_leaf_offset(&geo, place.leaf));

	line->byte[CLFB_LEAF_WIDTH] = sizeof(u64) + 1;
	crab_clfb_line_put(line->byte + CLFB_LEAF_CRC,
			   crab_clfb_line_crc(line, geo.store_id, place.leaf | 1ULL << 63, true),
			   sizeof(u32));
}

/* Memory alone is wrong: the next attach finds nothing */

static void lost_leaf(void)
{
	struct crab_spare spare;

	tap_check(!crab_pool_alloc(store->engine->pool, &spare, 1, 0), "alloc");
}

static void lost_node(void)
{
	struct crab_spare spare;

	tap_check(!crab_pool_alloc(&clfb()->nodes, &spare, 1, 0), "alloc");
}

static void lost_count(void)
{
	crab_count(store->engine, inserts, 1);
}

/* nbtree, both layouts */

static struct nb_dslot *nb_slot(u32 slot)
{
	return &nb_leaf_media((struct nb_tree *)nb_tree_of(store->engine), leaf)->slot[slot];
}

static u64 nb_low_key(void)
{
	return leaf->low;
}

static void nb_head(void)
{
	flip(crab_leaf_offset(&geo, leaf->number) + offsetof(struct crab_dhead, self));
}

static void nb_birth(void)
{
	head_set(leaf->number, -1ULL, leaf->low);
}

/* Memory has a lower one as the highest of all */
static void nb_birth_above(void)
{
	nb_tree_of(store->engine)->birth = leaf->birth - 1;
	if (store->engine->geo.layout == NB_LAYOUT_EADR)
		atomic64_set(&ea_tree_of(store->engine)->births, leaf->birth - 1);
}

static void nb_low(void)
{
	head_set(leaf->number, 0, leaf->low + 1);
}

static void nb_low_same(void)
{
	const struct nb_leaf *before = crab_index_find(&nb_tree_of(store->engine)->index, leaf->low - 1);

	head_set(leaf->number, 0, before->low);
}

static void nb_link(void)
{
	flip(crab_leaf_offset(&geo, leaf->number) + offsetof(struct crab_dhead, next));
}

static void nb_first(void)
{
	flip(CRAB_HEAD_OFFSET + offsetof(struct crab_dhead, next));
}

static void nb_list(void)
{
	flip(CRAB_HEAD_OFFSET + offsetof(struct crab_dhead, crc));
}

static void nb_in_pool(void)
{
	crab_pool_free(&nb_tree_of(store->engine)->pool, leaf->number);
}

/* Another key, of whose fingerprint DRAM knows */
static void nb_set(u32 slot, u64 key)
{
	nb_slot(slot)->key = cpu_to_le64(key);
	leaf->fp[slot] = max_t(u8, nb_fingerprint(key), 2);
}

static void adr_above(void)
{
	nb_set(1, leaf->high);
	leaf->fp[1] = nb_fingerprint(leaf->high);
}

static void adr_below(void)
{
	nb_set(1, leaf->low - 1);
	leaf->fp[1] = nb_fingerprint(leaf->low - 1);
}

static void nb_twice(void)
{
	nb_slot(1)->key = nb_slot(0)->key;
	leaf->fp[1] = leaf->fp[0];
}

static void adr_fingerprint(void)
{
	u64 key = nb_low_key() + 1;

	while (nb_fingerprint(key) == leaf->fp[1])
		key++;
	nb_slot(1)->key = cpu_to_le64(key);
}

/* The last slot of a leaf that is half full */
static void adr_free(void)
{
	nb_slot(nb_tree_of(store->engine)->room - 1)->key = cpu_to_le64(leaf->low + 1);
}

/* The same, with a key that has moved, as if the leaf were split */
static void adr_free_above(void)
{
	nb_slot(nb_tree_of(store->engine)->room - 1)->key = cpu_to_le64(leaf->high + 1);
}

/* A stale slot, with a key that has not moved */
static void adr_stale(void)
{
	u32 slot = 0;

	while (leaf->live >> slot & 1 || nb_slot(slot)->key == cpu_to_le64(CRAB_KEY_EMPTY))
		slot++;
	nb_slot(slot)->key = cpu_to_le64(leaf->high - 1);
}

/* eadr */

static u64 ea_live(u64 key)
{
	return EA_LIVE | (key & EA_KEY_BITS);
}

static void ea_set(u64 key)
{
	nb_set(1, ea_live(key));
	leaf->fp[1] = max_t(u8, nb_fingerprint(key), 2);
}

static void eadr_above(void)
{
	ea_set(leaf->high);
}

static void eadr_below(void)
{
	ea_set(leaf->low - 1);
}

static void eadr_fingerprint(void)
{
	u64 key = nb_low_key() + 1;

	while (max_t(u8, nb_fingerprint(key), 2) == leaf->fp[1])
		key++;
	nb_slot(1)->key = cpu_to_le64(ea_live(key));
}

static void eadr_free(void)
{
	nb_slot(1)->key = cpu_to_le64(EA_FREE);
}

static void eadr_state(void)
{
	nb_slot(1)->key = cpu_to_le64(EA_DEAD - 2);
}

/* A slot in use after a free one, in a leaf that is half full */
static void eadr_after(void)
{
	nb_slot(nb_tree_of(store->engine)->room - 1)->key = cpu_to_le64(ea_live(leaf->low + 1));
}

static const struct fault {
	const char *layout;
	const char *name;
	void (*change)(void);
	const char *check;	/* the report of CHECK */
	const char *attach;	/* that of the next attach; NULL: it is not tried */
} faults[] = {
	{ "append", "the root word", root_word, "the root word has changed", "root word is damaged" },
	{ "append", "the crc of a node", node_crc, "its crc is wrong", NULL },
	{ "single", "the crc of a node", node_crc, "its crc is wrong", "its line is not whole" },
	{ "append", "the level of a node", node_level, "it is of another level", "of another level" },
	{ "append", "a reference", node_ref, "a reference out of the pool", "a reference out" },
	{ "append", "two equal keys of a node", node_equal, "a key is out of its", "a key is out of" },
	{ "append", "a header", clfb_head, "no valid header", "no valid header" },
	{ "append", "a lowest key above", clfb_low_above, "its lowest key is out", "its lowest key is" },
	{ "append", "a lowest key below", clfb_low_below, "its lowest key is out", "its lowest key is" },
	{ "append", "the bit after the slots", clfb_bit, "a bit of no slot", "a bit of no slot" },
	{ "append", "a bit of the other word", clfb_bit_above, "a bit of no slot", "a bit of no slot" },
	{ "append", "a key above", clfb_above, "a key is out of its range", "a key is out of" },
	{ "append", "a key below", clfb_below, "a key is out of its range", "a key is out of" },
	{ "append", "a key twice", clfb_twice, "a key occurs twice", "a key occurs twice" },
	{ "append", "a free leaf", clfb_free, "in the tree and free", NULL },
	{ "append", "a free node", node_free, "in the tree and free", NULL },
	{ "encoded", "a crc", encoded_crc, "its crc is wrong", "its crc is wrong" },
	{ "encoded", "a key above", encoded_above, "a key is out of its range", "a key is out of" },
	{ "encoded", "a lowest key above", encoded_low_above, "its lowest key is", "its lowest key" },
	{ "encoded", "a lowest key below", encoded_low_below, "its lowest key is", "its lowest key" },
	{ "encoded", "a key twice", encoded_twice, "a key is out of its range or order", "or order" },
	{ "encoded", "a number", encoded_count, "it cannot be decoded", "it cannot be decoded" },
	{ "all", "a leaf", lost_leaf, "in the pool are not all", NULL },
	{ "all", "a record", lost_count, "records, DRAM counts", NULL },
	{ "node", "a node", lost_node, "free ones are not all", NULL },
	{ "nbtree", "a header", nb_head, "header damaged", "leaf" },
	{ "nbtree", "a birth", nb_birth, "its birth has changed", "" },
	{ "nbtree", "a birth above all", nb_birth_above, "its birth has changed", NULL },
	{ "nbtree", "a lowest key", nb_low, "its lowest key has changed", NULL },
	{ "nbtree", "a lowest key as before", nb_low_same, "its lowest key has", "do not ascend" },
	{ "nbtree", "a link", nb_link, "link does not lead to the next leaf", "" },
	{ "nbtree", "the first link", nb_first, "head does not lead to the first leaf", "" },
	{ "nbtree", "the head of the list", nb_list, "head of the leaf list is damaged", "is damaged" },
	{ "nbtree", "a free leaf", nb_in_pool, "in the list and free", NULL },
	{ "adr", "a key above", adr_above, "a key is out of its range", NULL },
	{ "adr", "a key below", adr_below, "a key is out of its range", "a key is out of its range" },
	{ "adr", "a key twice", nb_twice, "a key occurs twice", "a key occurs twice" },
	{ "adr", "a key", adr_fingerprint, "a key does not have its fingerprint", NULL },
	{ "adr half", "a free slot", adr_free, "a slot without a record has a key", NULL },
	{ "adr half", "a free slot, as stale", adr_free_above, "a slot without a record has a key", NULL },
	{ "adr split", "a stale slot", adr_stale, "a slot without a record has a key", NULL },
	{ "eadr", "a key above", eadr_above, "a key is out of its range", "a key is out of its range" },
	{ "eadr", "a key below", eadr_below, "a key is out of its range", "a key is out of its range" },
	{ "eadr", "a key twice", nb_twice, "a key occurs twice", "a key occurs twice" },
	{ "eadr", "a key", eadr_fingerprint, "a key does not have its fingerprint", NULL },
	{ "eadr", "a slot", eadr_free, "a slot in use is free", NULL },
	{ "eadr", "the state of a slot", eadr_state, "a slot has an unknown state", "unknown state" },
	{ "eadr half", "a slot after", eadr_after, "a slot in use follows a free one", NULL },
};

static void put(u64 key)
{
	int err = store_insert(store, key, key, CRAB_INSERT_CREATE);

	tap_check(!err, "insert %llu: %d", key, err);
}

/* Deletes all keys but each third one, so that leaves have free slots; or fills one until it splits */
static void shape(const char *how)
{
	u64 key;

	if (strstr(how, "half"))
		put((RECORDS + 1) * STEP);
	for (key = RECORDS * STEP; strstr(how, "half") && key > STEP; key -= STEP)
		if (key / STEP % 3)
			store_delete(store, key);
	for (key = RECORDS / 2 * STEP + 1; strstr(how, "split") && key % STEP < 40; key++)
		put(key);
}

static struct nb_leaf *nb_pick(const char *how)
{
	struct nb_tree *tree = nb_tree_of(store->engine);
	struct nb_leaf *at = crab_index_find(&tree->index, RECORDS / 2 * STEP);

	if (strstr(how, "eadr half"))		/* ascending keys fill all leaves but the last one */
		at = crab_index_find(&tree->index, RECORDS * STEP);
	while (strstr(how, "split") && !at->stale)
		at = crab_index_find(&tree->index, at->high);
	return at;
}

static void begin(const char *engine, const char *layout, const char *how)
{
	u64 key;

	store_begin(SIZE, engine, layout, strcmp(layout, "encoded") ? 512 : 64);
	geo = store->engine->geo;
	for (key = STEP; key <= RECORDS * STEP; key += STEP)
		put(key);
	shape(how);
	if (!strcmp(engine, "clfb"))
		crab_clfb_find(clfb(), RECORDS / 2 * STEP, &place);
	else
		leaf = nb_pick(how);
}

/* The next attach of the same media; a report that is empty fits any damage */
static void expect_attach(const struct fault *fault)
{
	struct crab_attach_report report;
	struct crab_store *again;

	again = store_try(&media, &report);
	tap_check(!IS_ERR(again) && report.verdict == CRAB_VERDICT_RO, "%s: attach: verdict %d",
		  fault->name, report.verdict);
	tap_check(strstr(report.reason, fault->attach), "%s: attach: %s", fault->name, report.reason);
	if (!IS_ERR(again))
		crab_store_abandon(again);
}

static void test_fault(const char *engine, const char *layout, const struct fault *fault)
{
	struct crab_check_report report;
	int err;

	begin(engine, layout, fault->layout);
	err = crab_store_check(store, &report);
	tap_check(!err && !report.damage.count, "before: %d, %s", err, report.damage.what);
	fault->change();
	err = crab_store_check(store, &report);
	tap_check(!err && report.damage.count && strstr(report.damage.what, fault->check), "%s: %d, %s",
		  fault->name, err, report.damage.what);
	crab_store_abandon(store);
	if (fault->attach)
		expect_attach(fault);
	media_destroy(&media);
}

/* All changes whose kind begins with one of the names */
static void test_layout(const char *engine, const char *layout, const char *kind)
{
	u32 i, n = 0;

	for (i = 0; i < ARRAY_SIZE(faults); i++) {
		if (strncmp(faults[i].layout, kind, strlen(kind)))
			continue;
		test_fault(engine, layout, &faults[i]);
		n++;
	}
	tap_ok(n, "%s %s: %s: %u kinds of damage", engine, layout, kind, n);
}

/* The newer line of a node: a power cut may tear it, unless the store was detached */
static void test_twin(void)
{
	const struct fault fault = { .name = "the newer line", .attach = "its newer line is not whole" };
	const char *twin = "twin";
	u64 offset;

	begin("clfb", twin, "");
	offset = (u8 *)node_line(clfb(), clfb()->root) - media.base;
	crab_store_detach(store);
	flip(offset + CLFB_KEY);
	expect_attach(&fault);
	tap_ok(true, "clfb, %s: the newer line of a node is damaged, without a power cut", twin);
	media_destroy(&media);
}

int main(void)
{
	crab_host_log = NULL;
	test_layout("clfb", "inplace", "append");
	test_layout("clfb", "twin", "append");
	test_layout("clfb", "atomic", "append");
	test_layout("clfb", "inplace", "single");
	test_layout("clfb", "atomic", "single");
	test_layout("clfb", "encoded", "encoded");
	test_twin();
	test_layout("clfb", "inplace", "node");
	test_layout("clfb", "inplace", "all");
	test_layout("nbtree", "adr", "all");
	test_layout("nbtree", "eadr", "all");
	test_layout("nbtree", "adr", "nbtree");
	test_layout("nbtree", "eadr", "nbtree");
	test_layout("nbtree", "adr", "adr");
	test_layout("nbtree", "eadr", "eadr");
	return tap_done();
}

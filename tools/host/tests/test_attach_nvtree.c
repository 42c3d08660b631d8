// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests attach of damaged stores of the engines nvtree and fastfair: one word, or a
 * header, changes at a time.
 *
 * Invariant: attach describes the change, quarantines the node that has it, and loses no other record.
 */
#include "engines/fastfair/tree.h"
#include "engines/nvtree/nvtree.h"
#include "test.h"

#define LEAVES		128U
#define RECORDS		300U
#define FF_BYTES	256U
#define NV_BYTES	512U

static struct crab_geometry geo;
/* The first leaves in the order of their keys, the last one, and the parent of the first ones */
static struct {
	u64 leaf[4];
	u64 last;
	u64 inner;
	u64 low;		/* lowest key of leaf[1] */
	u64 high;		/* of leaf[2] */
} node;

static void *media_of(u64 leaf)
{
	return media.base + crab_leaf_offset(&geo, leaf);
}

static struct ff_dslot *slot_of(u64 leaf, u32 i)
{
	return &((struct ff_dnode *)media_of(leaf))->slot[i];
}

static struct nv_dslot *element_of(u64 leaf, u32 i)
{
	return &((struct nv_dleaf *)media_of(leaf))->line[i / NV_LINE_SLOTS].slot[i % NV_LINE_SLOTS];
}

static void word_add(__le64 *word, s64 n)
{
	*word = cpu_to_le64(le64_to_cpu(*word) + n);
}

static void head_change(u64 leaf, s64 low, u64 own)
{
	struct crab_flow flow = { .media = &media };
	struct crab_head head;

	crab_head_load(&media, crab_leaf_offset(&geo, leaf), geo.store_id, &head);
	head.low += low;
	head.own += own;
	crab_head_store(&flow, geo.store_id, &head);
}

/* Changes of both engines */

static void leaf_crc(void)
{
	word_add(&((struct crab_dhead *)media_of(node.leaf[1]))->birth, 1);
}

static void leaf_link(void)
{
	word_add(&((struct crab_dhead *)media_of(node.leaf[1]))->next, 1LL << 62);
}

static void leaf_back(void)
{
	((struct crab_dhead *)media_of(node.leaf[2]))->next =
		((struct crab_dhead *)media_of(node.leaf[0]))->next;
}

static void last_link(void)
{
	word_add(&((struct crab_dhead *)media_of(node.last))->next, 1LL << 62);
}

static void list_crc(void)
{
	word_add(&crab_list_head(&media)->birth, 1);
}

static void last_zero(void)
{
	((struct crab_dhead *)media_of(node.last))->next = 0;
}

static void list_out(void)
{
	crab_list_head(&media)->next |= cpu_to_le64(CRAB_LINK_MASK);
}

/* The list ends, as a list may, but not there */
static void ends_early(void)
{
	u64 offset = crab_leaf_offset(&geo, node.leaf[1]);
	struct crab_dhead *d = media_of(node.leaf[1]);

	d->next = cpu_to_le64(crab_link_end(geo.store_id, offset, le64_to_cpu(d->birth)));
}

static void same_low(void)
{
	head_change(node.leaf[2], node.low - node.high, 0);
}

static void low_reserved(void)
{
	head_change(node.leaf[1], CRAB_KEY_EMPTY - node.low, 0);
}

static void both_crc(void)
{
	leaf_crc();
	word_add(&((struct crab_dhead *)media_of(node.leaf[2]))->birth, 1);
}

static void first_crc(void)
{
	word_add(&((struct crab_dhead *)media_of(node.leaf[0]))->birth, 1);
}

static void all_but_last_crc(void)
{
	first_crc();
	both_crc();
}

/* Changes of nvtree */

static void nv_many(void)
{
	((struct nv_dleaf *)media_of(node.leaf[1]))->count = cpu_to_le64(nv_room(NV_BYTES) + 1);
}

static void nv_below(void)
{
	element_of(node.leaf[1], 1)->key = cpu_to_le64(node.low - 1);
}

static void nv_above(void)
{
	element_of(node.leaf[1], 1)->key = cpu_to_le64(node.high);
}

static void nv_huge(void)
{
	((struct nv_dleaf *)media_of(node.leaf[1]))->count = cpu_to_le64(1ULL << 40);
}

static void nv_first_low(void)
{
	head_change(node.leaf[0], 5, 0);
}

static void nv_last_crc(void)
{
	word_add(&((struct crab_dhead *)media_of(node.last))->birth, 1);
}

/* The next leaf is damaged, and its link leads nowhere */
static void nv_crc_and_link(void)
{
	leaf_crc();
	leaf_link();
}

/* The link of the damaged leaf leads back in the order of the keys */
static void nv_crc_and_low(void)
{
	leaf_crc();
	head_change(node.leaf[2], -node.high, 0);
}

/* A key of the leaf before a gap is one of the leaf after it */
static void nv_crc_and_above(void)
{
	leaf_crc();
	element_of(node.leaf[0], 1)->key = cpu_to_le64(node.high + 1);
}

/* No key shows where the range of the leaf before a gap could end */
static void nv_crc_and_empty(void)
{
	leaf_crc();
	((struct nv_dleaf *)media_of(node.leaf[0]))->count = 0;
}

/* Changes of the leaves of fastfair */

/* The next leaf cannot be read, but its entry ends the range */
static void ff_tail_alone(void)
{
	word_add(&((struct crab_dhead *)media_of(node.leaf[2]))->birth, 1);
	slot_of(node.leaf[1], 4)->key = cpu_to_le64(node.high + 1);
	slot_of(node.leaf[1], 5)->key = cpu_to_le64(CRAB_KEY_EMPTY);
}

static void ff_empty_link(void)
{
	slot_of(node.leaf[1], 0)->key = cpu_to_le64(CRAB_KEY_EMPTY);
	leaf_link();
}

static void ff_below(void)
{
	word_add(&slot_of(node.leaf[1], 0)->key, -1);
}

static void ff_order(void)
{
	word_add(&slot_of(node.leaf[1], 1)->key, 15);
}

static void ff_above(void)
{
	slot_of(node.leaf[1], 4)->key = cpu_to_le64(node.high + 1);
	slot_of(node.leaf[1], 5)->key = cpu_to_le64(CRAB_KEY_EMPTY);
}

static void ff_value_of_tail(void)
{
	*slot_of(node.leaf[1], 4) = *slot_of(node.leaf[2], 0);
	word_add(&slot_of(node.leaf[1], 4)->value, 1);
	slot_of(node.leaf[1], 5)->key = cpu_to_le64(CRAB_KEY_EMPTY);
}

static void ff_twins(void)
{
	slot_of(node.leaf[1], 0)->key = slot_of(node.leaf[1], 1)->key;
	slot_of(node.leaf[1], 2)->key = slot_of(node.leaf[1], 3)->key;
}

static void ff_twin_and_tail(void)
{
	slot_of(node.leaf[1], 0)->key = slot_of(node.leaf[1], 1)->key;
	*slot_of(node.leaf[1], 4) = *slot_of(node.leaf[2], 0);
	slot_of(node.leaf[1], 5)->key = cpu_to_le64(CRAB_KEY_EMPTY);
}

static void ff_zero(void)
{
	((struct ff_dnode *)media_of(node.leaf[1]))->zero = cpu_to_le64(1);
}

static void ff_first_of_leaf(void)
{
	((struct ff_dnode *)media_of(node.leaf[1]))->first = cpu_to_le64(1);
}

static void ff_low(void)
{
	head_change(node.leaf[1], -1, 0);
}

static void ff_level(void)
{
	head_change(node.leaf[1], 0, 1);
}

/* Changes of its inner nodes */

static void ff_entry_key(void)
{
	word_add(&slot_of(node.inner, 0)->key, 1);
}

static void ff_entry_key_less(void)
{
	word_add(&slot_of(node.inner, 0)->key, -1);
}

/* The entry at which the list would go on has another key than its leaf */
static void ff_link_and_key(void)
{
	leaf_link();
	word_add(&slot_of(node.inner, 1)->key, 1);
}

static void ff_entry_link(void)
{
	word_add(&slot_of(node.inner, 0)->value, 1LL << 62);
}

static void ff_entry_exchanged(void)
{
	slot_of(node.inner, 0)->value = slot_of(node.inner, 1)->value;
}

static void ff_entry_first(void)
{
	slot_of(node.inner, 0)->key = 0;	/* the one of `first` */
}

static void ff_inner_zero(void)
{
	((struct ff_dnode *)media_of(node.inner))->zero = cpu_to_le64(1);
}

static void ff_root_low(void)
{
	u64 root = (le64_to_cpu(crab_list_head(&media)->next) & CRAB_LINK_MASK) - 1;

	head_change(root, 1, 0);
}

static void ff_root_level(void)
{
	u64 root = (le64_to_cpu(crab_list_head(&media)->next) & CRAB_LINK_MASK) - 1;

	head_change(root, 0, FF_LEVELS);
}

static const struct damage {
	const char *engine;
	void (*make)(void);
	const char *what;
	u32 lost;		/* records */
	u32 bad;		/* leaves */
} damages[] = {
	{ "nvtree", leaf_crc, "link to a leaf without a valid header", 21, 1 },
	{ "nvtree", leaf_link, "link to a leaf of another birth", 258, 1 },
	{ "nvtree", leaf_back, "link to a leaf that is in the list already", 237, 1 },
	{ "nvtree", last_link, "link out of the pool", 0, 1 },
	{ "nvtree", list_crc, "the head of the leaf list is damaged", 300, 1 },
	{ "nvtree", nv_many, "more elements than fit", 21, 1 },
	{ "nvtree", nv_below, "key outside the leaf's range", 21, 1 },
	{ "nvtree", nv_above, "key outside the leaf's range", 21, 1 },
	{ "fastfair", leaf_crc, "its header is damaged", 6, 1 },
	{ "fastfair", leaf_link, "the next node is missing", 6, 1 },
	{ "fastfair", leaf_back, "the next node is missing", 6, 1 },
	{ "fastfair", last_link, "the next node is missing", 12, 1 },
	{ "fastfair", list_crc, "the head does not lead to a root", 300, 0 },
	{ "fastfair", ff_below, "keys do not ascend", 6, 1 },
	{ "fastfair", ff_order, "keys do not ascend", 6, 1 },
	{ "fastfair", ff_above, "a key is not in the range of its node", 6, 1 },
	{ "fastfair", ff_value_of_tail, "a key is not in the range of its node", 6, 1 },
	{ "fastfair", ff_twins, "too many void slots", 6, 1 },
	{ "fastfair", ff_twin_and_tail, "too many void slots", 6, 1 },
	{ "fastfair", ff_zero, "a reserved word is not zero", 6, 1 },
	{ "fastfair", ff_first_of_leaf, "a reserved word is not zero", 6, 1 },
	{ "fastfair", ff_low, "an entry names no node of its list", 42, 1 },
	{ "fastfair", ff_level, "the next node is missing", 6, 0 },
	{ "fastfair", ff_entry_key, "an entry names no node of its list", 42, 1 },
	{ "fastfair", ff_entry_link, "an entry names no node of its list", 42, 1 },
	{ "fastfair", ff_entry_exchanged, "an entry names no node of its list", 42, 1 },
	{ "fastfair", ff_entry_first, "keys do not ascend", 42, 1 },
	{ "fastfair", ff_inner_zero, "a reserved word is not zero", 42, 1 },
	{ "fastfair", ff_root_low, "the head does not lead to a root", 300, 0 },
	{ "nvtree", last_zero, "link out of the pool", 0, 1 },
	{ "nvtree", list_out, "link out of the pool", 300, 1 },
	{ "nvtree", same_low, "least keys of leaves do not ascend", 258, 1 },
	{ "nvtree", low_reserved, "least keys of leaves do not ascend", 279, 1 },
	{ "nvtree", both_crc, "link to a leaf without a valid header", 279, 1 },
	{ "nvtree", first_crc, "link to a leaf without a valid header", 21, 1 },
	{ "nvtree", all_but_last_crc, "link to a leaf without a valid header", 300, 1 },
	{ "fastfair", last_zero, "the next node is missing", 12, 1 },
	{ "fastfair", list_out, "the head does not lead to a root", 300, 0 },
	{ "fastfair", ends_early, "an entry names no node of its list", 300, 7 },
	{ "fastfair", same_low, "the next node is missing", 42, 1 },
	{ "fastfair", low_reserved, "the next node is missing", 6, 0 },
	{ "fastfair", both_crc, "its header is damaged", 12, 2 },
	{ "fastfair", first_crc, "its header is damaged", 6, 1 },
	{ "fastfair", all_but_last_crc, "its header is damaged", 18, 3 },
	{ "fastfair", ff_tail_alone, "its header is damaged", 12, 2 },
	{ "fastfair", ff_empty_link, "the next node is missing", 6, 1 },
	{ "fastfair", ff_entry_key_less, "an entry names no node of its list", 42, 1 },
	{ "fastfair", ff_link_and_key, "the next node is missing", 42, 2 },
	{ "fastfair", ff_root_level, "the head does not lead to a root", 300, 0 },
	{ "nvtree", nv_huge, "more elements than fit", 21, 1 },
	{ "nvtree", nv_first_low, "least keys of leaves do not ascend", 300, 1 },
	{ "nvtree", nv_last_crc, "link to a leaf without a valid header", 6, 1 },
	{ "nvtree", nv_crc_and_link, "link to a leaf without a valid header", 279, 1 },
	{ "nvtree", nv_crc_and_low, "link to a leaf without a valid header", 279, 1 },
	{ "nvtree", nv_crc_and_above, "link to a leaf without a valid header", 42, 1 },
	{ "nvtree", nv_crc_and_empty, "link to a leaf without a valid header", 42, 1 },
};

static void nv_find(struct crab_engine *engine)
{
	struct nv_place place;
	u64 key = 0;
	u32 i;

	for (i = 0; key != CRAB_KEY_EMPTY; i++, key = place.high) {
		crab_nv_find_range(nv_tree_of(engine), key, &place);
		if (i < ARRAY_SIZE(node.leaf))
			node.leaf[i] = place.leaf;
		if (i == 1)
			node.low = place.low;
		if (i == 2)
			node.high = place.low;
		node.last = place.leaf;
	}
}

static void ff_find(struct crab_engine *engine)
{
	struct ff *ff = ff_of(engine);
	struct ff_find find;
	struct ff_node right;
	u32 i;

	tap_check(ff->levels > 2, "%u levels", ff->levels);
	crab_ff_find_exact(ff, 0, 1, &find);
	node.inner = find.node.number;
	crab_ff_find_exact(ff, 0, 0, &find);
	for (i = 0;; i++, find.node = right) {
		if (i < ARRAY_SIZE(node.leaf))
			node.leaf[i] = find.node.number;
		if (i == 1)
			node.low = find.node.low;
		if (i == 2)
			node.high = find.node.low;
		node.last = find.node.number;
		if (crab_ff_next(ff, &find.node, &right))
			break;
	}
}

static void begin(const char *engine)
{
	u64 key;

	store_begin(CRAB_POOL_OFFSET + LEAVES * NV_BYTES, engine, "",
		    strcmp(engine, "nvtree") ? FF_BYTES : NV_BYTES);
	geo = store->engine->geo;
	for (key = 1; key <= RECORDS; key++)
		tap_check(!store_put(store, key * 10, key), "insert");
	if (strcmp(engine, "nvtree"))
		ff_find(store->engine);
	else
		nv_find(store->engine);
	crab_store_detach(store);
}

/* Records that a search does not find; each of its errors is -EUCLEAN */
static u32 lost_of(struct crab_store *store)
{
	u32 lost = 0;
	u64 key, value;
	int err;

	for (key = 1; key <= RECORDS; key++) {
		err = crab_store_search(store, key * 10, &value);
		tap_check(err ? err == -EUCLEAN : value == key, "key %llu: %d", key * 10, err);
		lost += !!err;
	}
	return lost;
}

static void test_damage(const struct damage *d)
{
	struct crab_attach_report report;
	const struct crab_damage *found;
	struct crab_store_info info;
	struct crab_store *store;
	u32 lost;

	begin(d->engine);
	d->make();
	store = store_try(&media, &report);
	if (IS_ERR(store))
		exit(2);
	found = &store->engine->damage;
	lost = lost_of(store);
	crab_store_info(store, &info);
	tap_check(found->count && strstr(found->what, d->what), "not: %s", d->what);
	tap_check(lost == d->lost, "not %u records lost", d->lost);
	/* Fastfair counts the records below an inner node, too, which no read returns */
	tap_check(!strcmp(d->engine, "fastfair") || info.stats.records == RECORDS - lost,
		  "%llu records are counted", info.stats.records);
	tap_check(info.stats.leaves_bad == d->bad, "not %u leaves quarantined", d->bad);
	tap_ok(info.readonly, "%s: attach: %s; %u records lost, %llu leaves quarantined", d->engine,
	       found->what, lost, info.stats.leaves_bad);
	store_end(store);
}

int main(void)
{
	u32 i;

	crab_host_log = NULL;
	crab_host_seed(1);
	for (i = 0; i < ARRAY_SIZE(damages); i++)
		test_damage(&damages[i]);
	return tap_done();
}

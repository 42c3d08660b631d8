// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests the parked entries of the engine nvtree: blocks that no detach writes, though
 * their crcs are right, leaves that change before their first read, and stores that change before
 * the detach.
 *
 * Invariant: attach believes all entries or none, no record is lost, and the first read of a leaf
 * describes its change.
 */
#include "engines/nvtree/nvtree.h"
#include "media/badmem.h"
#include "media/crc.h"
#include "test.h"
#include "tests/seal.h"

#define LEAF_BYTES	128U
#define LEAVES		32U	/* the last one ends at the end of the media's memory */
#define ROOM		3U	/* of a leaf */
#define RECORDS		30U	/* keys 10, 20, ... */
#define USED		(RECORDS / ROOM)
#define PARKED		4U	/* entries that a block holds */
#define BLOCKS		3U

static struct crab_badmem bad;
static struct crab_geometry geo;
static struct nv_dparked *block[BLOCKS];
static u64 second, last;	/* leaves in the order of the list */

static struct nv_tree *tree(void)
{
	return nv_tree_of(store->engine);
}

static void *leaf_at(u64 leaf)
{
	return media.base + crab_leaf_offset(&geo, leaf);
}

static struct crab_dsuper *super_newest(void)
{
	struct crab_dsuper *a = (void *)media.base, *b = (void *)(media.base + CRAB_SUPER_STRIDE);

	return le64_to_cpu(a->sequence) > le64_to_cpu(b->sequence) ? a : b;
}

static u64 root(void)
{
	return le64_to_cpu(super_newest()->engine_root);
}

static void root_set(u64 link)
{
	super_newest()->engine_root = cpu_to_le64(link);
	crab_seal_super(super_newest());
}

static __le64 *entry_link(u32 i)
{
	return &block[i / PARKED]->entry[i % PARKED].link;
}

static __le64 *entry_low(u32 i)
{
	return &block[i / PARKED]->entry[i % PARKED].low;
}

static void word_add(__le64 *word, u64 n)
{
	*word = cpu_to_le64(le64_to_cpu(*word) + n);
}

static u64 leaf_of(__le64 link)
{
	return (le64_to_cpu(link) & CRAB_LINK_MASK) - 1;
}

static void blocks_find(void)
{
	u64 link = root();
	u32 i;

	for (i = 0; i < BLOCKS && link & CRAB_LINK_MASK; i++) {
		block[i] = leaf_at((link & CRAB_LINK_MASK) - 1);
		link = le64_to_cpu(block[i]->head.next);
	}
	if (i < BLOCKS || link & CRAB_LINK_MASK)
		exit(2);
	second = leaf_of(*entry_link(1));
	last = leaf_of(*entry_link(USED - 1));
}

/* Makes the crcs of a block valid */
static void seal(u32 i)
{
	u32 n = le64_to_cpu(block[i]->head.own);
	u64 crc = crab_crc32c(~0U, &block[i]->leaves, 2 * sizeof(__le64) + n * sizeof(struct nv_dentry));

	block[i]->head.own = cpu_to_le64(crc << 32 | n);
	crab_seal_head(&block[i]->head);
}

/* A detached store whose entries are parked in three blocks */
static void begin(void)
{
	u64 key;

	media = media_create(CRAB_POOL_OFFSET + LEAVES * LEAF_BYTES);
	crab_badmem_init(&bad);
	media.bad = &bad;
	store = store_format_attach(&media, "nvtree", "", LEAF_BYTES);
	geo = store->engine->geo;
	for (key = 1; key <= RECORDS; key++)
		tap_check(!store_put(store, key * 10, key), "insert");
	tap_check(tree()->leaves == USED && tree()->room == ROOM, "%llu leaves", tree()->leaves);
	crab_store_detach(store);
	blocks_find();
}

static void attach(bool readonly)
{
	struct crab_attach_options options = { .readonly = readonly };
	struct crab_attach_report report;

	store = crab_store_attach(&media, &options, &report);
	if (IS_ERR(store))
		exit(2);
}

static bool believed(void)
{
	return tree()->first.elements;
}

static int search(u64 key)
{
	u64 value;

	return crab_store_search(store, key, &value) ?: value == key / 10 ? 0 : -ERANGE;
}

/* All records are there */
static void expect(const char *name, bool yes)
{
	struct crab_store_info info;
	u64 key;

	attach(true);
	for (key = 10; key <= RECORDS * 10; key += 10)
		tap_check(!search(key) && search(key + 5) == -ENOENT, "key %llu: %d", key, search(key));
	crab_store_info(store, &info);
	tap_check(info.stats.records == RECORDS && info.stats.leaves_used == USED,
		  "%llu records in %llu leaves", info.stats.records, info.stats.leaves_used);
	store_check_good(store);
	tap_ok(believed() == yes, "%s: attach %s the entries", name,
	       believed() ? "believes" : "does not believe");
	crab_store_abandon(store);
}

/* Blocks with other numbers of leaves, records and entries */

static void leaves_add(u64 n)
{
	u32 i;

	for (i = 0; i < BLOCKS; i++) {
		word_add(&block[i]->leaves, n);
		seal(i);
	}
}

static void as_parked(void)
{
}

static void leaves_none(void)
{
	leaves_add(-(u64)USED);
}

static void leaves_huge(void)
{
	leaves_add(1ULL << 60);
}

static void leaves_more(void)
{
	leaves_add(1);
}

static void leaves_less(void)
{
	leaves_add(-1);
}

static void leaves_differ(void)
{
	word_add(&block[1]->leaves, 1);
	seal(1);
}

static void records_differ(void)
{
	word_add(&block[1]->records, 1);
	seal(1);
}

static void entries_none(void)
{
	block[2]->head.own = 0;
	leaves_add(-(u64)(USED % PARKED));
}

/* The last block is at the end of the memory, and its entries go on after it */
static void entries_many(void)
{
	u64 birth = le64_to_cpu(block[2]->head.birth), offset = crab_leaf_offset(&geo, LEAVES - 1);
	struct nv_dparked *to = leaf_at(LEAVES - 1);

	leaves_add(PARKED);
	memcpy(to, block[2], LEAF_BYTES);
	to->head.self = cpu_to_le64(offset);
	to->head.next = cpu_to_le64(crab_link_end(geo.store_id, offset, birth));
	to->head.own = cpu_to_le64(PARKED + 1);
	crab_seal_head(&to->head);
	block[1]->head.next = cpu_to_le64(crab_link_to(&geo, LEAVES - 1, birth));
}

/* Blocks with other births and links */

static void birth_set(u32 i, u64 birth)
{
	u64 self = le64_to_cpu(block[i]->head.self);
	u64 link = crab_link_to(&geo, (self - geo.pool_offset) / LEAF_BYTES, birth);

	block[i]->head.birth = cpu_to_le64(birth);
	if (i == BLOCKS - 1)
		block[i]->head.next = cpu_to_le64(crab_link_end(geo.store_id, self, birth));
	seal(i);
	if (i)
		block[i - 1]->head.next = cpu_to_le64(link);
	else
		root_set(link);
}

static void birth_skips(void)
{
	birth_set(2, le64_to_cpu(block[2]->head.birth) + 1);
}

static void birth_falls(void)
{
	birth_set(2, le64_to_cpu(block[0]->head.birth));
}

static void next_itself(void)
{
	block[2]->head.next = block[1]->head.next;
}

static void next_out(void)
{
	block[1]->head.next = cpu_to_le64(crab_link_to(&geo, LEAVES, le64_to_cpu(block[2]->head.birth)));
}

static void root_out(void)
{
	root_set(crab_link_to(&geo, LEAVES, 1));
}

/* Other entries */

static void first_low(void)
{
	word_add(entry_low(0), 1);
	seal(0);
}

static void same_low(void)
{
	*entry_low(2) = *entry_low(1);
	seal(0);
}

static void last_low(void)
{
	*entry_low(USED - 1) = cpu_to_le64(CRAB_KEY_EMPTY);
	seal(2);
}

static void link_twice(void)
{
	*entry_link(USED - 1) = *entry_link(1);
	seal(2);
}

static void link_out(void)
{
	*entry_link(USED - 1) = cpu_to_le64(LEAVES + 1);
	seal(2);
}

static void link_none(void)
{
	*entry_link(USED - 1) = 0;
	seal(2);
}

static void link_first(void)
{
	word_add(entry_link(0), 1ULL << 62);
	seal(0);
}

static void bad_page(void)
{
	crab_badmem_add(&bad, crab_leaf_offset(&geo, LEAVES - 1), CRAB_LINE);
}

static const struct craft {
	const char *name;
	void (*make)(void);
} crafts[] = {
	{ "as parked", as_parked },
	{ "no leaves", leaves_none },
	{ "more leaves than memory", leaves_huge },
	{ "one leaf more", leaves_more },
	{ "one leaf less", leaves_less },
	{ "other leaves in one block", leaves_differ },
	{ "other records in one block", records_differ },
	{ "a block without entries", entries_none },
	{ "a block with too many entries", entries_many },
	{ "a birth is left out", birth_skips },
	{ "a birth comes again", birth_falls },
	{ "a block links to itself", next_itself },
	{ "a block links out of the pool", next_out },
	{ "the root is out of the pool", root_out },
	{ "the first key is not 0", first_low },
	{ "a key comes again", same_low },
	{ "the reserved key", last_low },
	{ "a leaf comes again", link_twice },
	{ "a leaf out of the pool", link_out },
	{ "no leaf", link_none },
	{ "another first leaf", link_first },
	{ "memory is unreadable", bad_page },
};

static void test_crafts(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(crafts); i++) {
		begin();
		crafts[i].make();
		expect(crafts[i].name, !i);
		media_destroy(&media);
	}
}

/* Without a valid head of the list attach does not know that the first leaf is the one that is parked */
static void test_head(void)
{
	begin();
	word_add(&crab_list_head(&media)->birth, 1);
	attach(true);
	tap_ok(!believed() && store->engine->damage.count, "the head of the list is damaged: %s",
	       store->engine->damage.what);
	store_abandon(store);
}

/* Changes of the second leaf, or of the last one */

static void leaf_crc(void)
{
	((struct crab_dhead *)leaf_at(second))->crc ^= cpu_to_le32(1);
}

static void leaf_birth(void)
{
	word_add(&((struct crab_dhead *)leaf_at(second))->birth, 1);
	crab_seal_head(leaf_at(second));
}

static void leaf_low(void)
{
	word_add(&((struct crab_dhead *)leaf_at(second))->low, -1);
	crab_seal_head(leaf_at(second));
}

static void leaf_next(void)
{
	word_add(&((struct crab_dhead *)leaf_at(second))->next, 1ULL << 62);
}

static void last_next(void)
{
	((struct crab_dhead *)leaf_at(last))->next = 0;
}

static void leaf_count(void)
{
	((struct nv_dleaf *)leaf_at(second))->count = cpu_to_le64(ROOM + 1);
}

static void leaf_key(void)
{
	((struct nv_dleaf *)leaf_at(second))->line[0].slot[1].key = cpu_to_le64(10);
}

/* The parked blocks were born before most leaves */
static void births_low(void)
{
	u32 i;

	for (i = BLOCKS; i--; )
		birth_set(i, i + 1);
}

static const struct fault {
	const char *what;
	void (*make)(void);
	bool of_last;
} faults[] = {
	{ "no valid header", leaf_crc, false },
	{ "another birth than in the parked entry", leaf_birth, false },
	{ "another birth than in the parked entry", births_low, true },
	{ "another lowest key than in the parked entry", leaf_low, false },
	{ "link does not lead to the leaf of the next parked entry", leaf_next, false },
	{ "link does not lead to the leaf of the next parked entry", last_next, true },
	{ "more elements than fit", leaf_count, false },
	{ "key outside the leaf's range", leaf_key, false },
	{ "uncorrectable memory", NULL, false },
};

static void test_fault(const struct fault *f)
{
	u64 key = f->of_last ? RECORDS * 10 : 50;
	const struct crab_damage *found;
	struct crab_store_info info;
	int err;

	begin();
	if (f->make)
		f->make();
	attach(false);
	tap_check(believed(), "attach does not believe the entries");
	if (!f->make)
		crab_badmem_add(&bad, crab_leaf_offset(&geo, second), CRAB_LINE);
	found = &store->engine->found;
	tap_check(!search(10) && !found->count, "the first leaf: %s", found->what);
	err = search(key);
	crab_store_info(store, &info);
	tap_check(info.stats.leaves_bad == 1 && crab_pool_is_closed(&tree()->pool),
		  "%llu leaves are quarantined", info.stats.leaves_bad);
	tap_ok(err == -EUCLEAN && strstr(found->what, f->what), "first read: %d, %s", err, found->what);
	store_end(store);
}

static void test_faults(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(faults); i++)
		test_fault(&faults[i]);
}

/* A store that has changed under the engine before it is detached */

static void quarantined(void)
{
	u64 offset = crab_leaf_offset(&geo, second);

	store->engine->ops->quarantine(store->engine, offset, offset + 1);
}

static void test_parks(void)
{
	static void (*const changes[])(void) = { as_parked, leaf_crc, leaf_birth, leaf_low, quarantined };
	u32 i;

	for (i = 0; i < ARRAY_SIZE(changes); i++) {
		begin();
		attach(false);
		tap_check(believed() && !root(), "not attached");
		changes[i]();
		crab_store_detach(store);
		tap_check(!root() == !!i, "change %u: root %llx", i, root());
		media_destroy(&media);
	}
	tap_ok(true, "nothing is parked of a store whose leaves have changed");
}

/* Attach ends if its caller dies, and counts the lines that it reads */

static u32 looks, dies;

static bool dying(void *arg)
{
	return ++looks == dies;
}

static int attach_dying(u32 when)
{
	struct crab_attach_options options = { .readonly = true, .interrupted = dying };
	struct crab_attach_report report;

	looks = 0;
	dies = when;
	store = crab_store_attach(&media, &options, &report);
	return IS_ERR(store) ? PTR_ERR(store) : 0;
}

static void test_dying(void)
{
	struct crab_counts counts;
	u32 i, all;

	begin();
	tap_check(!attach_dying(0) && believed(), "attach");
	crab_counts_sum(store->engine, &counts);
	tap_check(counts.own[NV_ATTACH_LINES] == 2 + 2 + 2, "%llu lines", counts.own[NV_ATTACH_LINES]);
	crab_store_abandon(store);
	all = looks;
	for (i = 1; i <= all; i++)
		tap_check(attach_dying(i) == -EINTR && looks == i, "look %u of %u", looks, i);
	tap_ok(all >= USED + BLOCKS, "attach looks %u times whether its caller is alive", all);
	media_destroy(&media);
}

/* Inserts at the end, until a store is full in which many neighbours fit in one leaf */

#define LARGE	256U
#define MANY	48U

static u32 room_once(bool instant)
{
	u64 key, end = 0;

	store_begin(CRAB_POOL_OFFSET + MANY * LARGE, "nvtree", "", LARGE);
	for (key = 0; tree()->leaves < MANY * 3 / 4; key++)
		store_put(store, key, key);
	for (end = key, key = 0; key < end; key++)
		if (key % 4)
			store_delete(store, key);
	tree()->tuning.instant = instant;
	crab_store_detach(store);
	attach(false);
	tap_check(believed() == instant, "believed: %d", believed());
	for (key = end; !store_put(store, key, key); key++)
		;
	store_end(store);
	return key - end;
}

static void test_room(void)
{
	u32 parked = room_once(true), read = room_once(false);

	tap_ok(4 * parked > 3 * read && read > 200,
	       "%u records fit in a store of parked entries, %u in one that was read",
	       parked, read);
}

int main(void)
{
	crab_host_log = NULL;
	crab_host_seed(1);
	crab_nv_tuning_default.instant = true;
	test_crafts();
	test_head();
	test_faults();
	test_parks();
	test_dying();
	test_room();
	return tap_done();
}

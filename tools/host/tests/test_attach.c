// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests FORMAT and attach: the errors of FORMAT, a read-only attach, one superblock that
 * remains, the search of the pool and of the list of leaves by several CPUs, keys that occur twice,
 * births, and a damaged first leaf.
 */
#include <linux/hash.h>

#include "engines/clfb/node.h"
#include "engines/crab/crab.h"
#include "engines/crab/recover.h"
#include "engines/nbtree/eadr/eadr.h"
#include "engines/nvtree/nvtree.h"
#include "test.h"

/* FORMAT refuses invalid options and then changes nothing */

static void format_refuses(struct crab_media *media, const struct crab_format_options *options,
			   int want, const char *says)
{
	u8 *before = malloc(media->size);
	char reason[CRAB_REASON_LEN];
	int err;

	memcpy(before, media->base, media->size);
	err = crab_store_format(media, options, reason);
	tap_check(err == want, "%d, not %d", err, want);
	tap_check(strstr(reason, says), "reason: %s", reason);
	tap_check(!memcmp(before, media->base, media->size), "media changed");
	tap_ok(true, "format: %d, %s", want, reason);
	free(before);
}

static void test_format(void)
{
	static const u32 sizes[] = { 1, 64, CRAB_LEAF_BYTES_MIN / 2, 1536, 16384, 1U << 31 };
	struct crab_format_options good = { .engine = "", .layout = "", .label = "x" }, bad;
	struct crab_media media = media_create(CRAB_POOL_OFFSET + 8 * 1024 - 1);
	char reason[CRAB_REASON_LEN];
	u32 i;

	format_refuses(&media, &good, -ENOSPC, "too small");
	media.size = 4096;
	format_refuses(&media, &good, -ENOSPC, "too small");
	media_destroy(&media);
	media = media_create(1 << 16);
	bad = good;
	bad.engine = "nosuch";
	format_refuses(&media, &bad, -EINVAL, "unknown engine");
	bad = good;
	bad.layout = "nosuch";
	format_refuses(&media, &bad, -EINVAL, "unknown layout");
	bad.layout = "";
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		bad.leaf_bytes = sizes[i];
		format_refuses(&media, &bad, -EINVAL, "leaf size");
	}
	media.base[60000] = 1;
	format_refuses(&media, &good, -EEXIST, "other data at offset 60000");
	media.base[60000] = 0;
	tap_check(!crab_store_format(&media, &good, reason), "%s", reason);
	format_refuses(&media, &good, -EEXIST, "holds a store");
	good.force = true;
	tap_ok(!crab_store_format(&media, &good, reason), "format: with force");
	media_destroy(&media);
}

/* A read-only attach never writes; a reserved key is refused */
static void test_readonly(void)
{
	struct crab_media media = media_create(1 << 16);
	struct crab_store *store = store_format_attach(&media, "crab", "", 512);
	struct crab_attach_options options = { .readonly = true };
	struct crab_attach_report report;
	struct crab_cursor range;
	struct crab_record record;
	u8 *before = malloc(media.size);
	u64 value;

	store_put(store, 5, 50);
	tap_check(store_put(store, CRAB_KEY_EMPTY, 1) == -EINVAL, "insert");
	tap_check(store_delete(store, CRAB_KEY_EMPTY) == -EINVAL, "delete");
	tap_check(crab_store_search(store, CRAB_KEY_EMPTY, &value) == -EINVAL, "search");
	tap_check(crab_store_seek(store, CRAB_KEY_EMPTY, CRAB_SEEK_LE, &record) == -EINVAL, "seek");
	crab_store_abandon(store);
	memcpy(before, media.base, media.size);
	store = crab_store_attach(&media, &options, &report);
	tap_check(!IS_ERR(store) && report.verdict == CRAB_VERDICT_RO, "%d", report.verdict);
	tap_check(store_info(store).durability == CRAB_DURABILITY_UNPROVEN, "%d",
		  store_info(store).durability);
	tap_check(!crab_store_search(store, 5, &value) && value == 50, "search");
	tap_check(store_put(store, 6, 1) == -EROFS, "insert");
	tap_check(store_delete(store, 5) == -EROFS, "delete");
	crab_cursor_init(&range, 6, 9);
	tap_check(crab_cursor_delete(store, &range, CRAB_BATCH_CHUNK, &value) == -EROFS, "range");
	crab_store_detach(store);
	tap_check(!memcmp(before, media.base, media.size), "media changed");
	tap_ok(true, "attach: read-only changes nothing; the reserved key is refused");
	free(before);
	media_destroy(&media);
}

#define LONE_KEYS	100U

/* As a power cut after P18 leaves the root of `inplace`: the old line is in the log */
static void lone_cut(struct crab_media *media, const struct clfb_tree *tree)
{
	u8 *root = media->base + crab_clfb_node_offset(tree, tree->root);

	memcpy(media->base + CRAB_AREA_OFFSET, root, CRAB_LINE);
	root[CLFB_MARK] = 0;
	memset(root + CRAB_LINE / 2, 0x5a, CRAB_LINE / 2);
}

/* A writer was attached, and its superblock is damaged: the other copy has the state "clean" */
static void test_lone(void)
{
	struct crab_attach_report report;
	u32 i, found = 0;
	u64 value;

	store_begin(CRAB_POOL_OFFSET + 128 * 1024, "clfb", "inplace", 512);
	for (i = 0; i < LONE_KEYS; i++)
		store_put(store, i, i);
	lone_cut(&media, clfb_tree_of(store->engine));
	media.base[store->super.copy * CRAB_SUPER_STRIDE + 100] ^= 1;
	crab_store_abandon(store);
	store = store_try(&media, &report);
	tap_check(!IS_ERR(store) && report.verdict == CRAB_VERDICT_GOOD, "%d: %s", report.verdict,
		  report.reason);
	for (i = 0; i < LONE_KEYS; i++)
		found += !crab_store_search(store, i, &value) && value == i;
	tap_check(found == LONE_KEYS, "%u of %u keys", found, LONE_KEYS);
	tap_check(!store_put(store, i, i), "insert");
	store_end(store);
	tap_ok(true, "attach: one superblock that is \"clean\" does not hide a cut");
}

/* Attach divides a large pool among CPUs: the result does not depend on their number */

#define PARTS_LEAVES	33000
#define PARTS_KEYS	500000

/* Returns how much damage it has found */
static u64 parts_attach(struct crab_media *media, u32 cpus, struct crab_store_info *info)
{
	struct crab_attach_options options = { .readonly = true };
	struct crab_attach_report report;
	struct crab_store *store;
	u64 damage;

	crab_host_cpus = cpus;
	store = crab_store_attach(media, &options, &report);
	crab_host_cpus = 0;
	if (IS_ERR(store)) {
		tap_fail("%u CPUs: %s", cpus, report.reason);
		return 0;
	}
	crab_store_info(store, info);
	info->attach_ns = 0;
	damage = store->engine->damage.count;
	tap_check(!damage == !*store->engine->damage.what, "damage: %s", store->engine->damage.what);
	crab_store_detach(store);
	return damage;
}

/* The same key twice, or out of order */
static void parts_damage(struct crab_media *media)
{
	struct crab_dleaf *leaf;
	u64 n;

	for (n = PARTS_LEAVES / 10; n < PARTS_LEAVES; n += 101) {
		leaf = (struct crab_dleaf *)(media->base + CRAB_POOL_OFFSET + n * 512);
		leaf->slots[1] = leaf->slots[3];
	}
}

static void parts_compare(struct crab_media *media, u64 bad)
{
	struct crab_store_info one = { }, info = { };
	u64 damage = parts_attach(media, 1, &one);
	u32 cpus;

	tap_check(damage >= bad, "damage of %llu leaves", damage);
	tap_check(one.stats.records > PARTS_KEYS * 9 / 10 && one.stats.leaves_bad >= bad &&
		  !one.stats.leaves_bad == !bad, "%llu records, %llu leaves bad: %s",
		  one.stats.records, one.stats.leaves_bad, one.reason);
	for (cpus = 2; cpus <= 4; cpus++) {
		tap_check(parts_attach(media, cpus, &info) == damage, "%u CPUs: other damage", cpus);
		tap_check(!strcmp(info.reason, one.reason), "%u CPUs: %s; one: %s", cpus,
			  info.reason, one.reason);
		tap_check(!memcmp(&info.stats, &one.stats, sizeof(one.stats)), "%u CPUs", cpus);
	}
}

static void test_parts(const char *layout)
{
	u64 i;

	store_begin(CRAB_POOL_OFFSET + PARTS_LEAVES * 512, "crab", layout, 512);
	for (i = 0; i < PARTS_KEYS; i++)
		store_insert(store, i * 0x9e3779b97f4a7c15ULL, i, CRAB_INSERT_CREATE);
	crab_store_detach(store);
	parts_compare(&media, 0);
	parts_damage(&media);
	parts_compare(&media, 100);
	tap_ok(true, "attach: %s, the pool shared out among CPUs, whole and damaged", layout);
	media_destroy(&media);
}

/*
 * Attach follows the list from many places at a time. It reaches the end, finds the same leaves as
 * a walk leaf by leaf, and does not follow a broken link.
 */

#define WALK_LEAVES	2000
#define WALK_KEYS	30000

static void walk_compare(struct recover *many, struct recover *one, u64 head)
{
	const struct recover_leaf *of_many, *of_one;
	u64 n, used = 0;
	u32 walkers = 0;

	crab_recover_headers(many);
	crab_recover_headers(one);
	tap_check(crab_recover_walk(many, head), "no end");
	crab_recover_list(one, head);
	tap_check(many->count == one->count && many->count > WALK_KEYS / 31, "%llu leaves, %llu",
		  many->count, one->count);
	for (n = 0; n < one->extent; n++) {
		of_many = recover_at(many, n);
		of_one = recover_at(one, n);
		tap_check(!of_many == !of_one, "leaf %llu: valid or not", n);
		if (!of_many || !of_one)
			continue;
		used++;
		if (recover_place(many, of_many) != recover_place(one, of_one)) {
			tap_fail("leaf %llu: in place %llu, not %llu", n,
				 recover_place(many, of_many), recover_place(one, of_one));
			return;
		}
		if (of_one->listed)
			tap_check(of_many->low == of_one->low && of_many->high == of_one->high,
				  "range of leaf %llu", n);
	}
	tap_check(used > one->count, "no leaf of old in the way");
	for (n = 0; n < RECOVER_WALKERS; n++)
		walkers += many->walkers[n].listed;
	tap_check(walkers > RECOVER_WALKERS / 2, "%u paths", walkers);
}

static void test_walk(const char *layout)
{
	struct crab_media media = media_create(CRAB_POOL_OFFSET + WALK_LEAVES * 512);
	struct crab_store *store = store_format_attach(&media, "crab", layout, 512);
	struct crab_tree *tree = crab_tree_of(store->engine);
	struct recover *many = crab_recover_alloc(tree), *one = crab_recover_alloc(tree);
	struct crab_dhead *broken;
	u64 i, head;

	for (i = 0; i < WALK_KEYS; i++)
		store_insert(store, i * 0x9e3779b97f4a7c15ULL, i, CRAB_INSERT_CREATE);
	for (i = 0; i < WALK_KEYS; i++)
		if (i * 0x9e3779b97f4a7c15ULL >> 60 == 5)
			store_delete(store, i * 0x9e3779b97f4a7c15ULL);
	head = le64_to_cpu(crab_list_head(&media)->next);
	walk_compare(many, one, head);
	broken = &crab_leaf_media(tree, one->nth[one->count / 2].number)->head;
	broken->next ^= cpu_to_le64(1ULL << 50);
	crab_recover_headers(many);
	tap_check(!crab_recover_walk(many, head), "a way over a broken link");
	broken->next ^= cpu_to_le64(1ULL << 50);
	tap_ok(true, "attach: %s, the list followed from many places at a time", layout);
	crab_store_detach(store);
	crab_recover_free(many);
	crab_recover_free(one);
	media_destroy(&media);
}

/* Lookups prefetch the home lines of the leaf that the index names: a wrong one costs time, not correctness */

#define HOME_KEYS	20000

static bool is_at_home(const struct crab_homes *homes, u64 key, u32 slot)
{
	u64 hash = crab_hash(key);

	return slot - crab_home_front(homes, hash) < CRAB_SLOTTED_LINE ||
	       slot - crab_home_back(homes, hash) < CRAB_SLOTTED_LINE;
}

/* Every word of the index names its leaf, and three of four records are in a home line */
static void home_compare(const struct crab_tree *tree)
{
	const struct crab_leaf *leaf;
	u32 slot, home = 0, all = 0;
	const void *child;

	for (leaf = tree->first; leaf; leaf = leaf->next) {
		child = crab_index_find(&tree->index, leaf->low);
		tap_check(crab_leaf_of(tree, child) == leaf &&
			  crab_leaf_of_media(tree, child) == crab_leaf_media(tree, leaf->number),
			  "leaf %llu: the index names another one", leaf->number);
		crab_leaf_for_each(tree, leaf, slot) {
			home += is_at_home(&tree->homes, crab_leaf_key(tree, leaf, slot), slot);
			all++;
		}
	}
	tap_check(all == HOME_KEYS && home > all / 4 * 3, "%u of %u records are at home", home, all);
}

static void test_homes(u32 leaf_bytes)
{
	u64 seed = 1;
	u32 i;

	store_begin(CRAB_POOL_OFFSET + (1 << 20), "crab", "slotted", leaf_bytes);
	for (i = 0; i < HOME_KEYS; i++)
		store_insert(store, rng(&seed), i, CRAB_INSERT_CREATE);
	home_compare(crab_tree_of(store->engine));
	store = store_again(store);
	home_compare(crab_tree_of(store->engine));
	tap_ok(true, "homes: leaves of %u, hints before and after an attach", leaf_bytes);
	store_end(store);
}

/*
 * A key that occurs twice in a leaf is damage, in any two slots. All keys have the same hash, by
 * which attach first compares them: that alone is no damage. Slots are a key word and a value.
 */

#define TWICE_LEAVES	8
#define TWICE_KEYS	10
#define TWICE_VALUE	0x5e9a2c1b00ULL

/* The @i-th key that is in the first quarter, where eadr has one leaf, and has the hash 0 */
static u64 twice_key(u32 i)
{
	u64 inverse = 1, product = 0, key;

	while (inverse * GOLDEN_RATIO_64 != 1)
		inverse *= 2 - inverse * GOLDEN_RATIO_64;
	do {
		key = ++product * inverse;
		i -= !(key >> EA_STATE_SHIFT);
	} while (i != ~0U);
	return key;
}

/* The key word of the @i-th record */
static __le64 *twice_word(const struct crab_media *media, u32 i)
{
	__le64 *word = (__le64 *)(media->base + CRAB_POOL_OFFSET);
	__le64 *end = (__le64 *)(media->base + media->size);

	while (word < end && *word != cpu_to_le64(TWICE_VALUE + i))
		word++;
	if (word == end)
		abort();		/* no such record: @media is not as made */
	return word - 1;
}

static void twice_attach(struct crab_media *media, u64 bad)
{
	struct crab_store_info info = { };

	parts_attach(media, 1, &info);
	tap_check(info.stats.leaves_bad == bad && info.stats.records == (bad ? 0 : TWICE_KEYS),
		  "%llu leaves bad, %llu records", info.stats.leaves_bad, info.stats.records);
	tap_check(!bad || strstr(info.reason, "twice"), "reason: %s", info.reason);
}

static void twice_plant(struct crab_media *media, u32 from, u32 to)
{
	__le64 *word = twice_word(media, to), key = *word;

	*word = *twice_word(media, from);
	twice_attach(media, from != to);
	*word = key;
}

static void test_twice(const char *engine, const char *layout)
{
	u32 i;

	store_begin(CRAB_POOL_OFFSET + TWICE_LEAVES * 1024, engine, layout, 1024);
	for (i = 0; i < TWICE_KEYS; i++)
		store_insert(store, twice_key(i), TWICE_VALUE + i, CRAB_INSERT_CREATE);
	crab_store_detach(store);
	for (i = 0; i < TWICE_KEYS * TWICE_KEYS; i++)
		twice_plant(&media, i / TWICE_KEYS, i % TWICE_KEYS);
	tap_ok(true, "attach: %s, %s, a key twice in any two slots", engine, layout);
	media_destroy(&media);
}

#define BIRTH_LEAVES	64U
#define BIRTH_BYTES	512U
#define BIRTH_KEYS	(BIRTH_LEAVES * 12)

/* Births that no life of operations reaches, in the list and outside it */
static struct crab_media birth_format(const char *engine, const char *layout,
				      struct crab_geometry *geo)
{
	store_begin(CRAB_POOL_OFFSET + BIRTH_LEAVES * BIRTH_BYTES, engine, layout, BIRTH_BYTES);
	*geo = store->engine->geo;
	crab_store_detach(store);
	return media;
}

static void birth_forge(struct crab_media *media, const struct crab_geometry *geo, u64 leaf,
			u64 birth)
{
	struct crab_flow flow = { .media = media };
	struct crab_head head = { .self = crab_leaf_offset(geo, leaf), .birth = birth, .low = 77 };

	crab_head_store(&flow, geo->store_id, &head);
}

/* The last leaf of the list gets another birth */
static void birth_raise(struct crab_media *media, const struct crab_geometry *geo, u64 birth)
{
	struct crab_dhead *before = crab_list_head(media);
	struct crab_flow flow = { .media = media };
	struct crab_head head;
	u64 leaf;

	for (;;) {
		leaf = (le64_to_cpu(before->next) & CRAB_LINK_MASK) - 1;
		if (!crab_head_load(media, crab_leaf_offset(geo, leaf), geo->store_id, &head) ||
		    !crab_link_holds(media, geo, head.next))
			break;
		before = (struct crab_dhead *)(media->base + head.self);
	}
	head.birth = birth;
	head.next = crab_link_end(geo->store_id, head.self, birth);
	crab_head_store(&flow, geo->store_id, &head);
	before->next = cpu_to_le64(crab_link_to(geo, leaf, birth));
}

/* It may be read-only */
static struct crab_store *birth_attach(struct crab_media *media)
{
	struct crab_attach_report report;

	return store_try(media, &report);
}

/* Inserts half of the keys, if there is room; each that was inserted is found */
static void birth_fill(struct crab_media *media, bool *in, u32 half)
{
	struct crab_store *store = birth_attach(media);
	u32 i, missed = 0;
	u64 value;

	for (i = half; i < BIRTH_KEYS; i += 2)
		in[i] |= !store_insert(store, i * 3, i, CRAB_INSERT_CREATE);
	crab_store_detach(store);
	store = birth_attach(media);
	for (i = 0; i < BIRTH_KEYS; i++)
		missed += in[i] != (!crab_store_search(store, i * 3, &value) && value == i);
	tap_check(!missed, "%u keys are missing", missed);
	crab_store_detach(store);
}

/* A header outside the list, as the bytes of a blob may be */
static void test_forged(const char *layout)
{
	static const u64 births[] = { CRAB_BIRTH_MAX / 2, CRAB_BIRTH_MAX / 2 + 1, CRAB_BIRTH_MAX };
	struct crab_geometry geo;
	u32 i, n;

	for (i = 0; i < ARRAY_SIZE(births); i++) {
		struct crab_media media = birth_format("crab", layout, &geo);
		bool in[BIRTH_KEYS] = { };

		birth_forge(&media, &geo, BIRTH_LEAVES - 1, births[i]);
		birth_fill(&media, in, 0);
		birth_fill(&media, in, 1);
		for (n = 0; n < BIRTH_KEYS; n++)
			tap_check(in[n], "key %u was refused", n);
		media_destroy(&media);
	}
	tap_ok(true, "attach: %s, a forged header outside the list takes no births", layout);
}

static void test_births(const char *engine, const char *layout)
{
	static const u64 births[] = { CRAB_BIRTH_MAX / 2 - 1, CRAB_BIRTH_MAX - 1 };
	struct crab_geometry geo;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(births); i++) {
		struct crab_media media = birth_format(engine, layout, &geo);
		bool in[BIRTH_KEYS] = { };

		birth_raise(&media, &geo, births[i]);
		birth_fill(&media, in, 0);
		birth_fill(&media, in, 1);
		media_destroy(&media);
	}
	tap_ok(true, "attach: %s, %s, high births of the list", engine, layout);
}

/* Without the header of the first leaf only its keys are lost */
static void test_first(void)
{
	struct crab_attach_report report;
	u32 key, keys = 1000, lost = 0;
	struct nv_place first;
	u64 value;
	int err;

	store_begin(1 << 18, "nvtree", "", 512);
	for (key = 0; key < keys; key++)
		tap_check(!store_insert(store, key, key, CRAB_INSERT_CREATE), "%u", key);
	crab_nv_find_range(nv_tree_of(store->engine), 0, &first);
	nv_leaf_media(nv_tree_of(store->engine), first.leaf)->head.crc ^= cpu_to_le32(1);
	crab_store_detach(store);
	store = store_try(&media, &report);
	tap_check(!IS_ERR(store) && report.verdict == CRAB_VERDICT_RO, "%s", report.reason);
	for (key = 0; key < keys; key++) {
		err = crab_store_search(store, key, &value);
		lost += err == -EUCLEAN;
		tap_check(key < first.high ? err == -EUCLEAN : !err && value == key, "%u: %d", key, err);
	}
	tap_ok(lost == first.high, "first leaf: %u of %u keys are lost with its header", lost, keys);
	store_end(store);
}

int main(void)
{
	crab_host_seed(1);
	test_format();
	test_readonly();
	test_lone();
	test_parts("slotted");
	test_parts("sorted");
	test_homes(512);
	test_homes(1024);
	test_homes(2048);
	test_homes(4096);
	test_homes(8192);
	test_walk("slotted");
	test_walk("sorted");
	test_twice("nbtree", "adr");
	test_twice("nbtree", "eadr");
	test_twice("clfb", "inplace");
	test_forged("slotted");
	test_forged("sorted");
	test_births("crab", "slotted");
	test_births("crab", "sorted");
	test_births("nbtree", "adr");
	test_births("nbtree", "eadr");
	test_births("nvtree", "append");
	test_births("fastfair", "shift");
	test_births("toy", "array");
	test_first();
	return tap_done();
}

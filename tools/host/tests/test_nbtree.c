// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests the engine nbtree where only directed content leads: links that change before an
 * unlink or a split, memory that fails under the slots of a leaf and not under its header. With clfb,
 * too, it tests that each verb refuses a quarantined leaf, and a leaf in which the key of a record
 * reads all ones.
 */
#include "badmedia.h"
#include "engines/clfb/clfb.h"
#include "engines/nbtree/eadr/eadr.h"
#include "test.h"

#define LEAF_BYTES	512U
#define ROOM		29U	/* records of a leaf */
#define STEP		10U	/* between keys */
#define RECORDS		(6 * ROOM)
#define MIDDLE		((RECORDS / 2 - 2) * STEP)	/* the next key is in the same leaf */

static struct nb_tree *nb(void)
{
	return nb_tree_of(store->engine);
}

static int put(u64 key)
{
	return store_put(store, key, key);
}

static void begin(const char *engine, const char *layout)
{
	u64 i;

	badmedia_begin();
	store = store_format_attach(&badmedia, engine, layout,
				    strcmp(layout, "encoded") ? LEAF_BYTES : CRAB_LINE);
	for (i = 1; i <= RECORDS; i++)
		tap_check(!put(i * STEP), "insert %llu", i);
}

static void end(void)
{
	crab_store_abandon(store);
	badmedia_end();
}

/* A leaf in use: its number */
static u64 leaf_of(u64 key)
{
	struct clfb_place place;

	if (strcmp(store->engine->ops->name, "clfb"))
		return ((struct nb_leaf *)crab_index_find(&nb()->index, key))->number;
	crab_clfb_find(clfb_tree_of(store->engine), key, &place);
	return place.leaf;
}

/* The reads and writes of one key; the store itself may be read-only already */
static int verb(u32 which, u64 key)
{
	const struct crab_engine_ops *ops = store->engine->ops;
	struct crab_flow flow = { .media = &badmedia };
	struct crab_record record;
	struct crab_old old;
	u64 value;

	switch (which) {
	case 0:
		return ops->lookup(store->engine, key, &value);
	case 1:
		return ops->insert(store->engine, &flow, key, key, CRAB_INSERT_REPLACE, &old);
	case 2:
		return ops->remove(store->engine, &flow, key, &old);
	case 3:
		return ops->insert(store->engine, &flow, key, key, CRAB_INSERT_EITHER, &old);
	case 4:
		return ops->insert(store->engine, &flow, key, key, CRAB_INSERT_CREATE, &old);
	case 5:
		return ops->seek(store->engine, key, CRAB_SEEK_GE, &record);
	case 6:
		return ops->seek(store->engine, key, CRAB_SEEK_LE, &record);
	default:
		return ops->scan(store->engine, key, key, &record, 1);
	}
}

#define VERBS		8U
#define VERBS_NEED	3U	/* of them need the key */

/* Keys with and without a record */
static void test_refused(const char *const *subject)
{
	struct crab_store_info before, info;
	u64 offset, key;
	u32 i;
	int err;

	begin(subject[0], subject[1]);
	crab_store_info(store, &before);
	tap_check(before.stats.capacity == store->engine->geo.leaves *
		  (strcmp(subject[0], "clfb") ? nb()->room : clfb_tree_of(store->engine)->room),
		  "capacity %llu", before.stats.capacity);
	offset = crab_leaf_offset(&store->engine->geo, leaf_of(MIDDLE));
	store->engine->ops->quarantine(store->engine, offset, offset + 1);
	for (key = MIDDLE; key < MIDDLE + 2; key++)
		for (i = 0; i < VERBS; i++) {
			err = verb(i, key);
			tap_check(err == -EUCLEAN, "verb %u, key %llu: %d", i, key, err);
		}
	err = crab_store_search(store, MIDDLE, &key);
	tap_check(err == -EUCLEAN && !crab_store_is_readonly(store), "taken for new damage: %d", err);
	/* A key of another leaf */
	tap_check(!verb(0, STEP) && !verb(1, STEP) && !verb(3, STEP) && !verb(5, STEP), "refused");
	tap_check(verb(4, STEP) == -EEXIST && verb(7, STEP) == 1 && !verb(2, STEP), "refused");
	crab_store_info(store, &info);
	tap_ok(info.stats.leaves_bad == 1 && info.stats.records == before.stats.records - 1,
	       "%s: no verb reads or writes a quarantined leaf: %llu", subject[1], info.stats.leaves_bad);
	end();
}

static void expect_readonly(const char *what)
{
	struct crab_store_info info;

	crab_store_info(store, &info);
	tap_check(info.readonly && strstr(info.reason, what), "%s", info.reason);
}

/* The word of a record of @key in a leaf with slots; another key instead */
static void rekey(u64 key, u64 to)
{
	bool eadr = !strcmp(store->engine->ops->name, "nbtree") &&
		    store->engine->geo.layout == NB_LAYOUT_EADR;
	u64 *word = (u64 *)(badmedia.base + crab_leaf_offset(&store->engine->geo, leaf_of(key)));
	u64 live = eadr ? EA_LIVE | key : key;
	u32 i;

	for (i = 6; i < LEAF_BYTES / sizeof(u64) && word[i] != live; i++)
		;
	tap_check(i < LEAF_BYTES / sizeof(u64), "no slot has the key %llu", key);
	word[i] = eadr && to != CRAB_KEY_EMPTY ? EA_LIVE | to : to;
}

static void blank(u64 key)
{
	rekey(key, CRAB_KEY_EMPTY);
}

/* The end of the range of a leaf, or its lowest key */
static u64 border(u64 key, bool low)
{
	struct clfb_place place;
	struct nb_leaf *leaf;

	if (!strcmp(store->engine->ops->name, "clfb")) {
		crab_clfb_find(clfb_tree_of(store->engine), key, &place);
		return low ? place.low : place.high;
	}
	leaf = crab_index_find(&nb()->index, key);
	return low ? leaf->low : leaf->high;
}

/* A key just outside of its leaf: reads of the leaf that do not look for it find it nevertheless */
static void test_border(const char *const *subject, bool low, u32 which)
{
	u64 to;
	int err;

	begin(subject[0], subject[1]);
	to = border(MIDDLE, low) - low;
	rekey(MIDDLE, to);
	/* Seeks of both directions; a scan reads the leaf from its begin */
	if (which == 2)
		err = verb(7, border(MIDDLE, true));
	else
		err = verb(5 + which, MIDDLE + 1);
	tap_ok(err == -EUCLEAN, "%s: read %u finds the key %llu in another leaf: %d", subject[1], which,
	       (unsigned long long)to, err);
	end();
}

static int store_verb(u32 which, u64 key)
{
	if (which == 0)
		return store_search(store, key);
	return which == 1 ? store_insert(store, key, key, CRAB_INSERT_REPLACE) :
			    store_delete(store, key);
}

/* A verb that needs the key takes it for damage, and not for a record that is missing */
static void test_blank(const char *const *subject, u32 which)
{
	int err;

	begin(subject[0], subject[1]);
	blank(MIDDLE);
	err = store_verb(which, MIDDLE);
	expect_readonly("keys have changed");
	tap_check(crab_pool_is_closed(store->engine->pool), "the pool is open");
	tap_check(verb(0, MIDDLE + STEP) == -EUCLEAN, "the next key is not refused");
	tap_ok(err == -EUCLEAN && store_info(store).stats.leaves_bad == 1,
	       "%s: verb %u quarantines a leaf with a key of all ones: %d", subject[1], which, err);
	end();
}

/* adr: a link changes, and the leaf after it loses its last record, or the leaf itself needs room */

static struct nb_leaf *neighbours(struct nb_leaf **before)
{
	struct nb_leaf *leaf = crab_index_find(&nb()->index, MIDDLE);

	*before = crab_index_find(&nb()->index, leaf->low - 1);
	return leaf;
}

static void link_flip(const struct nb_leaf *leaf)
{
	nb_leaf_media(nb(), leaf)->head.next ^= cpu_to_le64(1);
}

static void test_unlink(bool first)
{
	struct nb_leaf *before, *leaf;
	u64 key, low, unlinks;

	begin("nbtree", "adr");
	leaf = neighbours(&before);
	low = leaf->low;
	unlinks = nb()->unlinks;
	link_flip(first ? before : leaf);
	for (key = low; key < leaf->high; key += STEP)
		tap_check(!store_delete(store, key), "%llu", key);
	tap_check(put(low) == -EROFS && nb()->unlinks == unlinks, "unlinked");
	expect_readonly("links do not lead to it and to the next leaf");
	link_flip(first ? before : leaf);
	tap_ok(crab_index_find(&nb()->index, low) == leaf, "adr: no leaf is unlinked if the link %s changed",
	       first ? "to it" : "in it");
	end();
}

static void test_split(void)
{
	struct nb_leaf *before, *leaf;
	u64 splits, key;
	int err = 0;

	begin("nbtree", "adr");
	leaf = neighbours(&before);
	splits = nb()->splits;
	link_flip(leaf);
	for (key = leaf->low + 1; !err && key < leaf->high; key++)
		err = put(key);
	expect_readonly("link does not lead to the next leaf");
	tap_ok(err == -EUCLEAN && nb()->splits == splits, "adr: no leaf with a changed link is split: %d", err);
	end();
}

/* adr: the stale keys of a leaf are erased before its range grows over them */
static void test_stale(void)
{
	struct crab_attach_report report;
	struct nb_leaf *before, *leaf;
	u64 key, low, high;

	begin("nbtree", "adr");
	leaf = neighbours(&before);
	for (key = before->low + 1; !before->stale; key++)
		put(key);
	leaf = crab_index_find(&nb()->index, before->high);
	low = leaf->low;
	high = leaf->high;
	for (key = low; key < high; key++)
		store_delete(store, key);
	store = badmedia_cut(store, &report);
	for (key = low; key < high; key++)
		tap_check(verb(0, key) == -ENOENT, "%llu is back", key);
	tap_ok(report.verdict == CRAB_VERDICT_GOOD, "adr: no stale key returns: %s", report.reason);
	end();
}

/*
 * The check bits of the link at the end of the list are 0 for one birth in 16 million, and so is then the
 * link. The last leaf splits and is unlinked as any other one
 */
static void test_zero(const char *layout)
{
	struct crab_flow flow = { .media = &badmedia };
	struct crab_attach_report report;
	struct crab_geometry geo;
	struct nb_leaf *last;
	struct crab_head head;
	u64 key, i;

	begin("nbtree", layout);
	geo = store->engine->geo;
	last = crab_index_find(&nb()->index, CRAB_KEY_EMPTY - 1);
	key = max_t(u64, last->low, RECORDS * STEP);
	crab_head_load(&badmedia, crab_leaf_offset(&geo, last->number), geo.store_id, &head);
	for (head.birth = 1; crab_link_check(geo.store_id, head.self, head.birth); head.birth++)
		;
	head.next = crab_link_end(geo.store_id, head.self, head.birth);
	crab_head_store(&flow, geo.store_id, &head);
	nb_leaf_media(nb(), crab_index_find(&nb()->index, last->low - 1))->head.next =
		cpu_to_le64(crab_link_to(&geo, last->number, head.birth));
	store = badmedia_cut(store, &report);
	tap_check(report.verdict == CRAB_VERDICT_GOOD && !head.next, "%s", report.reason);
	for (i = 1; i <= 2 * ROOM; i++)
		tap_check(!put(key + i * STEP), "%s: insert %llu", layout, i);
	store_check_good(store);
	for (i = 1; i <= 2 * ROOM; i++)
		tap_check(!store_delete(store, key + i * STEP), "%s: delete %llu", layout, i);
	store_check_good(store);
	tap_ok(true, "%s: the last link is 0, birth %llu", layout, head.birth);
	end();
}

/* A line of a leaf fails, without its header; the rest of the page can be read */
static void test_line(const char *layout)
{
	struct crab_attach_report report;
	u64 offset;

	begin("nbtree", layout);
	offset = crab_leaf_offset(&store->engine->geo, leaf_of(MIDDLE));
	crab_badmem_add(&badmedia_list, offset + LEAF_BYTES - CRAB_LINE, CRAB_LINE);
	store = badmedia_cut(store, &report);
	tap_check(report.verdict == CRAB_VERDICT_RO && strstr(report.reason, "uncorrectable memory"), "%s",
		  report.reason);
	tap_check(verb(0, MIDDLE) == -EUCLEAN && !verb(0, STEP), "lookup");
	/* Free leaves of this page count as bad, too */
	tap_ok(store_info(store).stats.leaves_bad == 1 + nb()->pool.spoilt && nb()->pool.spoilt < 8,
	       "%s: a leaf whose last line failed is quarantined: %llu", layout,
	       store_info(store).stats.leaves_bad);
	end();
}

/* The last leaf begins after all keys: its header is right by itself */
static void test_last(const char *layout)
{
	struct crab_flow flow = { .media = &badmedia };
	struct crab_attach_report report;
	struct crab_head head;
	u64 offset;

	begin("nbtree", layout);
	offset = crab_leaf_offset(&store->engine->geo, leaf_of(CRAB_KEY_EMPTY - 1));
	crab_head_load(&badmedia, offset, store->engine->geo.store_id, &head);
	head.low = CRAB_KEY_EMPTY;
	crab_head_store(&flow, store->engine->geo.store_id, &head);
	store = badmedia_cut(store, &report);
	tap_ok(report.verdict == CRAB_VERDICT_RO && strstr(report.reason, "do not ascend"),
	       "%s: no leaf begins with the reserved key: %s", layout, report.reason);
	end();
}

/* The last leaf has a birth that no store reaches: the next ones could begin again */
static void test_births(const char *layout)
{
	const u64 birth = CRAB_BIRTH_MAX / 2 + 1;
	struct crab_flow flow = { .media = &badmedia };
	struct crab_attach_report report;
	struct nb_leaf *last, *before;
	struct crab_head head;
	const struct crab_geometry *geo;

	begin("nbtree", layout);
	geo = &store->engine->geo;
	last = crab_index_find(&nb()->index, CRAB_KEY_EMPTY - 1);
	before = crab_index_find(&nb()->index, last->low - 1);
	crab_head_load(&badmedia, crab_leaf_offset(geo, last->number), geo->store_id, &head);
	head.birth = birth;
	head.next = crab_link_end(geo->store_id, head.self, birth);
	crab_head_store(&flow, geo->store_id, &head);
	nb_leaf_media(nb(), before)->head.next = cpu_to_le64(crab_link_to(geo, last->number, birth));
	store = badmedia_cut(store, &report);
	tap_ok(report.verdict == CRAB_VERDICT_RO && strstr(report.reason, "hardly any births are left"),
	       "%s: births that come to their end: %s", layout, report.reason);
	end();
}

/* A link leads nowhere: the leaf that has it is lost, and those after it, and no others */
static void test_broken(const char *layout)
{
	struct crab_attach_report report;
	struct crab_store_info info;
	struct nb_leaf *leaf;
	u64 low;

	begin("nbtree", layout);
	leaf = crab_index_find(&nb()->index, MIDDLE);
	low = leaf->low;
	nb_leaf_media(nb(), leaf)->head.next ^= cpu_to_le64(1ULL << 63);
	store = badmedia_cut(store, &report);
	crab_store_info(store, &info);
	tap_check(report.verdict == CRAB_VERDICT_RO && crab_pool_is_closed(store->engine->pool), "%s",
		  report.reason);
	tap_check(verb(0, low) == -EUCLEAN && verb(0, RECORDS * STEP) == -EUCLEAN, "lookup");
	tap_check(verb(0, low - 1) == -ENOENT && !verb(0, STEP), "lookup");
	tap_ok(info.stats.leaves_bad == 1, "%s: a link leads nowhere: %llu", layout, info.stats.leaves_bad);
	end();
}

/* Memory in front of all leaves and nodes, and after them */
static void test_outside(const char *const *subject)
{
	const struct crab_engine_ops *ops;
	const struct crab_geometry *geo;
	u64 before, after;

	begin(subject[0], subject[1]);
	ops = store->engine->ops;
	geo = &store->engine->geo;
	after = crab_leaf_offset(geo, geo->leaves);
	before = ops->quarantine(store->engine, 0, CRAB_AREA_OFFSET + CRAB_LINE);
	after = ops->quarantine(store->engine, after, after + BAD_PAGE);
	tap_ok(!before && !after && !verb(0, STEP) && !verb(0, MIDDLE),
	       "%s: memory outside of leaves quarantines %llu and %llu", subject[1],
	       (unsigned long long)before, (unsigned long long)after);
	end();
}

/* All memory fails: leaves and nodes that were freed count for nothing */
static void test_all(const char *const *subject)
{
	struct crab_store_info info;
	u64 i, hit, nodes = 0;

	begin(subject[0], subject[1]);
	for (i = 2; i <= RECORDS; i++)
		tap_check(i == RECORDS / 2 || !store_delete(store, i * STEP), "delete %llu", i);
	if (!strcmp(subject[0], "clfb"))
		nodes = store->engine->geo.leaves - clfb_tree_of(store->engine)->nodes.free;
	store_maintain(store);
	crab_store_info(store, &info);
	hit = store->engine->ops->quarantine(store->engine, 0, BAD_SIZE);
	tap_check(info.stats.splits && info.stats.unlinks, "%llu splits", info.stats.splits);
	tap_check(info.stats.leaves_used <= 6, "%llu leaves in use", info.stats.leaves_used);
	tap_ok(hit == info.stats.leaves_used + nodes, "%s: %llu leaves and nodes fail, %llu wanted", subject[1],
	       (unsigned long long)hit, (unsigned long long)(info.stats.leaves_used + nodes));
	end();
}

/* A leaf holds as many records as the layout promises; the one after them needs another leaf */
static void test_room(const char *const *subject)
{
	struct crab_store_info empty, full, more;
	u64 i;

	badmedia_begin();
	store = store_format_attach(&badmedia, subject[0], subject[1], LEAF_BYTES);
	crab_store_info(store, &empty);
	for (i = 0; i < empty.stats.capacity / store->engine->geo.leaves; i++)
		tap_check(!put(1000 - i), "insert %llu", i);
	crab_store_info(store, &full);
	tap_check(!put(1000 - i), "insert %llu", i);
	crab_store_info(store, &more);
	tap_check(more.stats.records == i + 1 && more.stats.splits == 1, "%llu splits", more.stats.splits);
	tap_ok(full.stats.leaves_used == empty.stats.leaves_used &&
	       more.stats.leaves_used == full.stats.leaves_used + 1, "%s: %llu records fill a leaf",
	       subject[1], (unsigned long long)i);
	end();
}

int main(void)
{
	u32 i, which;

	crab_host_log = NULL;
	for (i = STORE_CLFB; i < STORE_LAYOUTS; i++)
		test_refused(store_layouts[i]);
	for (i = STORE_CLFB; i < STORE_ENCODED; i++)
		for (which = 0; which < VERBS_NEED; which++)
			test_blank(store_layouts[i], which);
	for (i = STORE_CLFB; i < STORE_LAYOUTS; i++) {
		test_outside(store_layouts[i]);
		test_all(store_layouts[i]);
		if (i < STORE_ENCODED)
			test_room(store_layouts[i]);
	}
	for (i = STORE_CLFB; i < STORE_ENCODED; i++)
		for (which = 0; which < 6; which++)
			test_border(store_layouts[i], which % 2, which / 2);
	test_last("adr");
	test_last("eadr");
	test_births("adr");
	test_births("eadr");
	test_broken("adr");
	test_broken("eadr");
	test_unlink(true);
	test_unlink(false);
	test_split();
	test_stale();
	test_zero("adr");
	test_zero("eadr");
	test_line("adr");
	test_line("eadr");
	return tap_done();
}

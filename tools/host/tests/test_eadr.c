// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests the layout eadr of the engine nbtree where only directed content leads: slots and links
 * that a power cut left frozen, a link that changes before its leaf is replaced or unlinked, a list that leads
 * back, memory that fails under a leaf to which the index does not lead yet, or does not lead any more.
 */
#include "badmedia.h"
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

static struct nb_leaf *leaf_of(u64 key)
{
	return crab_index_find(&nb()->index, key);
}

static int put(u64 key)
{
	return store_put(store, key, key);
}

static void begin(void)
{
	u64 i;

	badmedia_begin();
	store = store_format_attach(&badmedia, "nbtree", "eadr", LEAF_BYTES);
	for (i = 1; i <= RECORDS; i++)
		tap_check(!put(i * STEP), "insert %llu", i);
}

static void end(void)
{
	crab_store_abandon(store);
	badmedia_end();
}

/* Traces of a power cut in a leaf that froze */
static void test_frozen(bool slot, bool link)
{
	struct crab_attach_report report;
	struct crab_store_info info;
	struct nb_dleaf *d;

	begin();
	d = nb_leaf_media(nb(), leaf_of(MIDDLE));
	if (slot)
		d->slot[0].key ^= cpu_to_le64(EA_LIVE | EA_FROZEN);
	if (link)
		d->head.next |= cpu_to_le64(EA_LINK_MARK);
	store = badmedia_cut(store, &report);
	crab_store_info(store, &info);
	tap_check(info.stats.records == RECORDS && info.stats.repairs == slot + link,
		  "%llu records, %llu repairs", info.stats.records, info.stats.repairs);
	tap_check(d->slot[0].key >> EA_STATE_SHIFT == 1 && !(d->head.next & EA_LINK_MARK), "not repaired");
	tap_check(!put(MIDDLE) && !put(d->slot[0].key & EA_KEY_BITS), "put");
	tap_ok(report.verdict == CRAB_VERDICT_GOOD, "frozen:%s%s", slot ? " a slot" : "",
	       link ? " a link" : "");
	end();
}

/* The list passes over the first leaf of a quarter */
static void test_quarter(void)
{
	const u64 quarter = 1ULL << EA_STATE_SHIFT;
	struct crab_attach_report report;
	struct nb_leaf *before, *after;

	begin();
	before = leaf_of(quarter - 1);
	after = leaf_of(2 * quarter);
	nb_leaf_media(nb(), before)->head.next =
		cpu_to_le64(crab_link_to(&store->engine->geo, after->number, after->birth));
	store = badmedia_cut(store, &report);
	tap_ok(report.verdict == CRAB_VERDICT_RO && strstr(report.reason, "spans a quarter"),
	       "no leaf has keys of two quarters: %s", report.reason);
	end();
}

#define VERBS	6

/* A verb that needs the leaf of a key */
static int call(u32 verb, u64 key)
{
	const struct crab_engine_ops *ops = store->engine->ops;
	struct crab_flow flow = { .media = &badmedia };
	struct crab_record record;
	struct crab_old old;
	u64 value;

	switch (verb) {
	case 0:
		return ops->lookup(store->engine, key, &value);
	case 1:
		return ops->insert(store->engine, &flow, key, key, CRAB_INSERT_EITHER, &old);
	case 2:
		return ops->remove(store->engine, &flow, key, &old);
	case 3:
		return ops->seek(store->engine, key, CRAB_SEEK_GE, &record);
	case 4:
		return ops->seek(store->engine, key, CRAB_SEEK_LE, &record);
	default:
		return ops->scan(store->engine, key, key, &record, 1);
	}
}

/* Does each verb refuse a key? */
static bool is_refused(u64 key)
{
	u32 verb = 0;

	while (verb < VERBS && call(verb, key) == -EUCLEAN)
		verb++;
	return verb == VERBS;
}

/*
 * A leaf is replaced, and the task that is to queue it is late: the index does not follow. The
 * leaf after it is unlinked, so that the range of the fresh one grows to [@low, @high)
 */
static struct nb_leaf *late_begin(struct nb_leaf **leaf, u64 *low, u64 *high)
{
	struct nb_leaf *fresh;
	u64 key;

	begin();
	*leaf = leaf_of(MIDDLE);
	(*leaf)->queued = 1;
	for (key = (*leaf)->low + 1; !(*leaf)->gone; key++)
		put(key);
	fresh = (*leaf)->smo->fresh[!!(*leaf)->smo->fresh[1]];
	*low = (*leaf)->high;
	*high = leaf_of(*low)->high;
	for (key = *low; key < *high; key++)
		store_delete(store, key);
	tap_check((*leaf)->high == *high && fresh->high == *low && !fresh->quarantined, "not unlinked");
	return fresh;
}

static void late_end(struct nb_leaf *leaf)
{
	llist_add(&leaf->smo->node, &ea_tree_of(store->engine)->queue);
	end();
}

/* Then the memory of the fresh leaf fails */
static void test_late(void)
{
	struct crab_check_report report = { };
	struct nb_leaf *leaf, *fresh;
	u64 key, low, high, offset, hit;

	fresh = late_begin(&leaf, &low, &high);
	offset = round_down(crab_leaf_offset(&store->engine->geo, fresh->number), BAD_PAGE);
	hit = store->engine->ops->quarantine(store->engine, offset, offset + BAD_PAGE);
	badmedia_fail(offset, BAD_PAGE);
	tap_check(!crab_store_check(store, &report), "check");
	tap_ok(report.damage.count == hit, "CHECK reads %llu quarantined leaves, of which one has grown: %s",
	       report.damage.count, report.damage.what);
	tap_check(is_refused(low - 1) && is_refused(low), "a verb reads the leaf");
	key = store->engine->ops->beyond(store->engine, low, CRAB_SEEK_GE);
	tap_ok(key >= high, "the range of a quarantined leaf that has grown ends at %llu", key);
	badmedia_heal();
	late_end(leaf);
}

/* Then the list leads from the fresh leaf to itself */
static void test_cycle(u32 verb)
{
	struct crab_store_info info;
	struct nb_leaf *leaf, *fresh;
	u64 low, high;
	int err;

	fresh = late_begin(&leaf, &low, &high);
	nb_leaf_media(nb(), fresh)->head.next =
		cpu_to_le64(crab_link_to(&store->engine->geo, fresh->number, fresh->birth));
	err = call(verb, low);
	tap_check(err == -EUCLEAN && crab_engine_is_damaged(store->engine), "%d, and no damage noted", err);
	err = store_search(store, low);
	crab_store_info(store, &info);
	tap_check(err == -EUCLEAN && info.readonly, "%d, and writable", err);
	tap_ok(strstr(info.reason, "the list leads back"), "verb %u notes damage: %s", verb, info.reason);
	late_end(leaf);
}

/* The link to a leaf changes, and the leaf is full, or loses its last record: it stays in the list */
static void test_bypass(bool full, bool head)
{
	u64 key, low, high, step = full ? 1 : STEP;
	struct crab_store_info info;
	struct nb_leaf *leaf;
	__le64 *link;
	int err = 0;

	begin();
	leaf = leaf_of(head ? 0 : MIDDLE);
	link = head ? &crab_list_head(&badmedia)->next :
		      &nb_leaf_media(nb(), leaf_of(leaf->low - 1))->head.next;
	low = leaf->low;
	high = leaf->high;
	*link ^= cpu_to_le64(1);
	for (key = low + full; !err && key < high; key += step)
		err = full ? put(key) : store_delete(store, key);
	tap_check(leaf_of(low) == leaf, "replaced or unlinked");
	crab_store_info(store, &info);
	tap_check(info.readonly && strstr(info.reason, "the link to it has changed"), "%s", info.reason);
	/* The delete is durable before its leaf is to be unlinked */
	tap_ok(err == (full ? -EUCLEAN : 0), "a leaf is %s, and the link to it has changed: %d",
	       full ? "full" : "empty", err);
	end();
}

/* A leaf in another page than the one before it, which @before is */
static struct nb_leaf *leaf_of_own_page(struct nb_leaf **before)
{
	const struct crab_geometry *geo = &store->engine->geo;
	struct nb_leaf *leaf = leaf_of(0);

	do {
		*before = leaf;
		leaf = leaf_of(leaf->high);
	} while (!(leaf->low & EA_KEY_BITS) || crab_leaf_offset(geo, leaf->number) / BAD_PAGE ==
					       crab_leaf_offset(geo, (*before)->number) / BAD_PAGE);
	return leaf;
}

static void index_remove(u64 low)
{
	mutex_lock(&nb()->smo_lock);
	crab_index_remove(&nb()->index, low);
	mutex_unlock(&nb()->smo_lock);
}

static void index_insert(struct nb_leaf *leaf)
{
	mutex_lock(&nb()->smo_lock);
	tap_check(!crab_index_reserve(&nb()->index), "no memory");
	crab_index_insert(&nb()->index, leaf->low, leaf);
	mutex_unlock(&nb()->smo_lock);
}

/*
 * A leaf that was to be unlinked stays, because the link to it has changed; then its memory fails. A
 * search along the list comes to its range when a task is changing the index
 */
static void test_unlinking(void)
{
	const struct crab_geometry *geo;
	struct nb_leaf *leaf, *before, *after;
	u64 key, low, offset;
	__le64 *link;

	begin();
	geo = &store->engine->geo;
	leaf = leaf_of_own_page(&before);
	after = leaf_of(leaf->high);
	low = leaf->low;
	link = &nb_leaf_media(nb(), before)->head.next;
	*link ^= cpu_to_le64(1);
	for (key = low; key < leaf->high; key++)
		store_delete(store, key);
	tap_check(ea_tree_of(store->engine)->unlinking == leaf && !leaf->gone, "unlinked");
	*link = cpu_to_le64(crab_link_to(geo, after->number, after->birth));
	offset = round_down(crab_leaf_offset(geo, leaf->number), BAD_PAGE);
	store->engine->ops->quarantine(store->engine, offset, offset + BAD_PAGE);
	badmedia_fail(offset, BAD_PAGE);
	index_remove(low);
	tap_ok(is_refused(low), "no verb reads a leaf to be unlinked whose memory has failed");
	badmedia_heal();
	index_insert(leaf);
	end();
}

int main(void)
{
	u32 verb;

	crab_host_log = NULL;
	test_frozen(true, false);
	test_frozen(false, true);
	test_frozen(true, true);
	test_quarter();
	test_late();
	for (verb = 0; verb < VERBS; verb++)
		test_cycle(verb);
	test_bypass(true, false);
	test_bypass(false, false);
	test_bypass(true, true);
	test_unlinking();
	return tap_done();
}

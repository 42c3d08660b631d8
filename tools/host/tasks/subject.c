// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements subjects.
 */
#include "engines/crab/crab.h"
#include "store/gate.h"
#include "store/snap.h"
#include "subject.h"
#include "test.h"

#define SNAPSHOT_BYTES	(8 * CRAB_NOTE_BYTES)	/* so little that some snapshots end early */

/* Their leaves end with a cache line: the code relies on it */
#define SORTED(name, how, leaves, pairs, bits)					\
	name, "crab", "sorted", 128, 0, leaves, 16, 3, false,			\
	.tuning = { .strategy = how, .pair = pairs, .probe = true, .on_demand = bits }

const struct subject subjects[SUBJECTS] = {
	{ "slotted", "crab", "slotted", 128, 0, 12, 16, 3, false, { { 0 } }, false },
	{ "slotted, leaves of two", "crab", "slotted", 128, 2, 16, 8, 4, false, { { 0 } }, false },
	{ "slotted, leaves of 512 bytes", "crab", "slotted", 512, 0, 8, 48, 3, false, { { 0 } }, false },
	{ "slotted, a high index", "crab", "slotted", 128, 2, 66, 60, 3, false, { { 0 } }, false },
	{ "slotted, hardly any space", "crab", "slotted", 128, 3, 5, 12, 3, false, { { 0 } }, false },
	{ "slotted, little space", "crab", "slotted", 128, 4, 8, 20, 4, false, { { 0 } }, false },
	{ "slotted, one leaf", "crab", "slotted", 256, 0, 5, 8, 3, true, { { 0 } }, false },
	{ "slotted, one leaf of 8 KiB", "crab", "slotted", 8192, 0, 3, 40, 3, true, { { 0 } }, false },
	{ SORTED("sorted", CRAB_STRATEGY_AUTO, 22, true, false), false },
	{ SORTED("sorted, shifted", CRAB_STRATEGY_SIP, 12, false, false), false },
	{ SORTED("sorted, copied", CRAB_STRATEGY_COW, 12, false, true), false },
	{ SORTED("sorted, hardly any space", CRAB_STRATEGY_AUTO, 5, false, true), false },
	{ "nvtree", "nvtree", "append", 128, 0, 16, 16, 3, false, { { 0 } }, false },
	{ "nvtree, leaves of 512 bytes", "nvtree", "append", 512, 0, 8, 48, 3, false, { { 0 } }, false },
	{ "nvtree, attached at once", "nvtree", "append", 128, 0, 16, 16, 3, false,
	  .nv = { .instant = true }, false },
	{ "nvtree, hardly any space", "nvtree", "append", 128, 0, 5, 12, 3, false, { { 0 } }, false },
	{ "volatile", "volatile", "", 128, 0, 12, 16, 3, false, { { 0 } }, false },
	{ "fastfair", "fastfair", "shift", 128, 3, 20, 16, 3, false, { { 0 } }, false },
	{ "fastfair, nodes of 256 bytes", "fastfair", "shift", 256, 5, 12, 16, 3, false, { { 0 } }, false },
	{ "fastfair, by halves", "fastfair", "shift", 256, 5, 12, 16, 3, false,
	  .ff = { .binary = true }, false },
	{ "fastfair, reads lock", "fastfair", "shift", 256, 5, 12, 16, 3, false,
	  .ff = { .leaf_locks = true }, false },
	{ "fastfair, repaired later", "fastfair", "shift", 128, 3, 20, 16, 3, false,
	  .ff = { .lazy = true }, false },
	{ "fastfair, hardly any space", "fastfair", "shift", 128, 3, 6, 12, 3, false, { { 0 } }, false },
	{ "clfb", "clfb", "inplace", 128, 3, 20, 16, 3, false, { { 0 } }, false },
	{ "clfb, two lines", "clfb", "twin", 128, 3, 20, 16, 3, false, { { 0 } }, false },
	{ "clfb, leaves of a line", "clfb", "encoded", 64, 2, 20, 16, 3, false, { { 0 } }, false },
	{ "clfb, hardly any space", "clfb", "twin", 128, 3, 6, 12, 3, false, { { 0 } }, false },
	{ "nbtree", "nbtree", "adr", 128, 3, 16, 16, 3, false, { { 0 } }, false },
	{ "nbtree, leaves of 512 bytes", "nbtree", "adr", 512, 0, 8, 48, 3, false, { { 0 } }, false },
	{ "nbtree, hardly any space", "nbtree", "adr", 128, 2, 5, 12, 3, false, { { 0 } }, false },
	{ "eadr", "nbtree", "eadr", 128, 3, 60, 16, 3, false, { { 0 } }, false },
	{ "eadr, leaves of two", "nbtree", "eadr", 128, 2, 60, 8, 4, false, { { 0 } }, false },
	{ "eadr, leaves of 512 bytes", "nbtree", "eadr", 512, 0, 24, 48, 3, false, { { 0 } }, false },
	{ "eadr, hardly any space", "nbtree", "eadr", 128, 2, 9, 12, 3, false, { { 0 } }, false },
	{ "slotted, adds", "crab", "slotted", 128, 2, 16, 6, 4, false, { { 0 } }, true },
	{ "sorted, adds", "crab", "sorted", 128, 0, 12, 6, 4, false,
	  .tuning = { .strategy = CRAB_STRATEGY_SIP }, true },
	{ "nvtree, adds", "nvtree", "append", 128, 0, 16, 6, 4, false, { { 0 } }, true },
	{ "fastfair, adds", "fastfair", "shift", 128, 3, 16, 6, 4, false, { { 0 } }, true },
	{ "clfb, adds", "clfb", "twin", 128, 3, 16, 6, 4, false, { { 0 } }, true },
	{ "nbtree, adds", "nbtree", "adr", 128, 2, 16, 6, 4, false, { { 0 } }, true },
	{ "eadr, adds", "nbtree", "eadr", 128, 2, 40, 6, 4, false, { { 0 } }, true },
	{ }
};

void subject_keys(const struct subject *subject, u64 *keys)
{
	u32 i;

	for (i = 0; i < subject->keys; i++)
		keys[i] = 10 * i;
	keys[subject->keys - 1] = CRAB_KEY_EMPTY - 1;
}

struct crab_media subject_media(const struct subject *subject)
{
	return media_create(CRAB_POOL_OFFSET + subject->leaves * subject->leaf_bytes);
}

void subject_format(const struct subject *subject, struct crab_media *media)
{
	struct crab_format_options options = {
		.force = true, .leaf_bytes = subject->leaf_bytes, .engine = subject->engine,
		.layout = subject->layout, .label = "subject",
	};
	char reason[CRAB_REASON_LEN];
	int err = crab_store_format(media, &options, reason);

	if (err)
		tap_bail("format: %d %s", err, reason);
}

/* The keeper calls maintain all the time; the callback only makes writers check the pool */
static void subject_kick(void *arg)
{
}

struct crab_store *subject_attach(const struct subject *subject, struct crab_media *media,
				  struct crab_attach_report *report)
{
	struct crab_attach_options options = {
		.tuning = &subject->tuning, .kick = subject_kick, .snapshot_bytes = SNAPSHOT_BYTES,
	};

	return crab_store_attach(media, &options, report);
}

/* The calls */

static u64 old_value(const struct crab_old *old)
{
	return old->existed ? old->value : HISTORY_ABSENT;
}

static enum crab_insert_mode write_mode(enum history_verb verb)
{
	return verb == HISTORY_CREATE ? CRAB_INSERT_CREATE :
	       verb == HISTORY_REPLACE ? CRAB_INSERT_REPLACE :
	       verb == HISTORY_SWAP ? CRAB_INSERT_SWAP :
	       verb == HISTORY_ADD ? CRAB_INSERT_ADD : CRAB_INSERT_EITHER;
}

static int call_write(void *arg, enum history_verb verb, uint64_t key, uint64_t value,
		      uint64_t *old)
{
	struct crab_old was = { .expected = *old };
	int err = crab_store_insert(arg, key, value, write_mode(verb), &was);

	*old = old_value(&was);
	return err;
}

static int call_remove(void *arg, uint64_t key, uint64_t *old)
{
	struct crab_old was;
	int err = crab_store_delete(arg, key, &was);

	*old = old_value(&was);
	return err;
}

static int call_search(void *arg, uint64_t key, uint64_t *value)
{
	u64 found = 0;
	int err = crab_store_search(arg, key, &found);

	*value = found;
	return err;
}

static int call_seek(void *arg, uint64_t key, bool up, struct actor_record *record)
{
	struct crab_record found = { 0 };
	int err = crab_store_seek(arg, key, up ? CRAB_SEEK_GE : CRAB_SEEK_LE, &found);

	*record = (struct actor_record) { found.key, found.value };
	return err;
}

/* @snap: or NULL, the store as it is now */
static int call_snap_scan(void *arg, void *snap, struct actor_scan *scan)
{
	struct crab_record records[ACTOR_KEYS + 1];
	struct crab_cursor cursor;
	int i, n;

	if (scan->back)
		crab_cursor_init_back(&cursor, scan->start, scan->end);
	else
		crab_cursor_init(&cursor, scan->start, scan->end);
	n = snap ? crab_snap_read(arg, snap, &cursor, records, scan->room) :
		   crab_cursor_read(arg, &cursor, records, scan->room);
	for (i = 0; i < n; i++)
		scan->records[i] = (struct actor_record) { records[i].key, records[i].value };
	scan->count = max(n, 0);
	scan->done = cursor.done;
	return min(n, 0);
}

static int call_scan(void *arg, struct actor_scan *scan)
{
	return call_snap_scan(arg, NULL, scan);
}

static int call_batch(void *arg, struct actor_op *op, uint32_t count)
{
	struct crab_batch_op ops[ACTOR_BATCH];
	u32 i;

	for (i = 0; i < count; i++)
		ops[i] = (struct crab_batch_op) {
			.verb = op[i].verb == HISTORY_READ ? CRAB_VERB_SEARCH :
				op[i].verb == HISTORY_DELETE ? CRAB_VERB_DELETE : CRAB_VERB_INSERT,
			.mode = write_mode(op[i].verb), .key = op[i].key, .value = op[i].value,
			.old.expected = op[i].expected,
		};
	crab_store_batch(arg, ops, count);
	for (i = 0; i < count; i++) {
		op[i].err = ops[i].status;
		op[i].old = old_value(&ops[i].old);
		if (op[i].verb == HISTORY_READ)
			op[i].value = ops[i].value;
	}
	return 0;
}

#define ERASE_CHUNK	2	/* records of a range that one call removes */

static int call_erase(void *arg, uint64_t from, uint64_t to, uint64_t *deleted)
{
	struct crab_cursor cursor;
	u64 count = 0;
	int err = 0;

	crab_cursor_init(&cursor, from, to);
	while (!err && !cursor.done)
		err = crab_cursor_delete(arg, &cursor, ERASE_CHUNK, &count);
	*deleted = count;
	return err;
}

/* Snapshots */

static void *call_snap_open(void *arg)
{
	struct crab_snap *snap;

	if (crab_store_observe(arg) < 0)
		return NULL;
	snap = crab_snap_open(arg);
	if (IS_ERR(snap))
		crab_store_unobserve(arg);
	return IS_ERR(snap) ? NULL : snap;
}

static int call_snap_search(void *arg, void *snap, uint64_t key, uint64_t *value)
{
	u64 found = 0;
	int err = crab_snap_search(arg, snap, key, &found);

	*value = found;
	return err;
}

static int call_snap_seek(void *arg, void *snap, uint64_t key, bool up,
			  struct actor_record *record)
{
	struct crab_record found = { 0 };
	int err = crab_snap_seek(arg, snap, key, up ? CRAB_SEEK_GE : CRAB_SEEK_LE, &found);

	*record = (struct actor_record) { found.key, found.value };
	return err;
}

static void call_snap_close(void *arg, void *snap)
{
	crab_snap_close(snap);
}

static const struct actor_snap_calls snap_calls = {
	.open = call_snap_open, .search = call_snap_search, .seek = call_snap_seek,
	.scan = call_snap_scan, .close = call_snap_close,
};

void subject_act(const struct subject *subject, struct actor *actor, bool grow)
{
	if (subject->adds)
		actor_count_up(actor);
	else
		actor_act(actor, grow);
}

/* The leaves, for the checks of the actors */

/* Does the pool always have leaves for a split? */
static bool is_roomy(const struct subject *subject)
{
	/* All leaves except the first and the last have a record; a split needs the free ones */
	return subject->leaves >= subject->keys + 2 + CRAB_SMO_FRESH + CRAB_POOL_RESERVE;
}

static bool call_full_never(void *arg, uint32_t log)
{
	return false;
}

static uint64_t call_shape_single(void *arg)
{
	return 1;
}

static uint64_t call_leaf_single(void *arg, uint64_t key)
{
	return 0;
}

#ifdef CRABTREE_HOST_TASKS

/* Each change of a range holds the lock, and either takes a birth or is an unlink */
static uint64_t call_shape(void *arg)
{
	const struct crab_tree *tree = crab_tree_of(((struct crab_store *)arg)->engine);

	return tree->smo_lock.held ? 0 : 1 + tree->birth + tree->unlinks;
}

static uint64_t call_leaf(void *arg, uint64_t key)
{
	const struct crab_tree *tree = crab_tree_of(((struct crab_store *)arg)->engine);
	const struct crab_leaf *leaf;
	u64 number;

	rcu_read_lock();
	leaf = crab_leaf_find(tree, key);
	number = leaf->number;
	rcu_read_unlock();
	return number;
}

/* Sorted leaves move records to their neighbours without a new birth */
static void calls_know_leaves(const struct subject *subject, struct actor_store *calls)
{
	if (strcmp(subject->layout, "slotted") || subject->single)
		return;
	calls->shape = call_shape;
	calls->leaf = call_leaf;
}

#else

static void calls_know_leaves(const struct subject *subject, struct actor_store *calls)
{
}

#endif

struct actor_store subject_calls(const struct subject *subject, struct crab_store *store)
{
	struct actor_store calls = {
		.write = call_write, .remove = call_remove, .search = call_search,
		.seek = call_seek, .scan = call_scan, .batch = call_batch, .erase = call_erase, .snap = &snap_calls,
		.arg = store,
	};

	if (is_roomy(subject))
		calls.full = call_full_never;
	if (subject->single) {
		calls.shape = call_shape_single;
		calls.leaf = call_leaf_single;
	}
	calls_know_leaves(subject, &calls);
	return calls;
}

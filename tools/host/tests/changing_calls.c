// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the calls of test_changing. Each one judges its own results: the error is a
 * documented one, keys are in their order, and no scan or list is longer than the media.
 */
#include "changing.h"
#include "store/blob_snap.h"
#include "test.h"

#define BATCH		24U

static void over(struct user *user, int err)
{
	static const int errors[] = { -ENOENT, -EEXIST, -ENOSPC, -EUCLEAN, -EROFS, -ESTALE, -EMFILE,
				      -EINVAL, -EMSGSIZE, -EINTR };
	bool known = err >= 0;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(errors); i++)
		known |= err == errors[i];
	if (!known)
		changing_fault(user->call, err, 0);
	if (err == -EUCLEAN || err == -EROFS)
		__atomic_fetch_add(&c.refused, 1, __ATOMIC_RELAXED);
	else if (err >= 0)
		__atomic_fetch_add(&c.done, 1, __ATOMIC_RELAXED);
}

static bool has_values(void)
{
	return c.kind->content >= BLOBS;
}

static u64 key_any(struct user *user)
{
	return rng_below(&user->seed, KEYS) * SPACE;
}

/*
 * Keys between those of two calls, in order. Within one call a leaf of the layout slotted may return
 * a key that has changed in its old place
 */
static void in_order(struct user *user, const struct crab_cursor *before,
		     const struct crab_record *record, int n)
{
	bool loose = !strcmp(c.kind->layout, "slotted");
	u64 at = before->next;
	int i;

	for (i = 0; i < n; i++) {
		if (loose && i != n - 1)
			continue;
		if (before->back ? record[i].key > at || record[i].key < before->end :
				   record[i].key < at || record[i].key > before->end)
			changing_fault(user->call, record[i].key, at);
		at = record[i].key + (before->back ? -1 : 1);
	}
}

/* Reads of the store, or of a snapshot */

static void cursor_any(struct user *user, struct crab_cursor *cursor)
{
	u64 from = key_any(user), end = rng_below(&user->seed, 4) ? key_any(user) : U64_MAX;

	if (rng_below(&user->seed, 2))
		crab_cursor_init(cursor, min(from, end), max(from, end));
	else
		crab_cursor_init_back(cursor, min(from, end), max(from, end));
}

static void call_scan(struct user *user, struct crab_snap *snap)
{
	u32 turns = 0, most = c.media.size / 8, cap = 1 + rng_below(&user->seed, BATCH);
	struct crab_record records[BATCH];
	struct crab_cursor cursor, before;
	int n = 0;

	cursor_any(user, &cursor);
	while (!cursor.done && turns++ < most && n != -ESTALE) {
		before = cursor;
		n = snap ? crab_snap_read(c.store, snap, &cursor, records, cap) :
			   crab_cursor_read(c.store, &cursor, records, cap);
		over(user, n);
		in_order(user, &before, records, n);
		if (n == -EUCLEAN)
			crab_cursor_skip(c.store, &cursor);
	}
	if (turns > most)
		changing_fault("an endless scan", cursor.next, cursor.end);
}

static void call_seek(struct user *user, struct crab_snap *snap)
{
	u64 key = key_any(user);
	enum crab_seek_dir dir = rng_below(&user->seed, 2) ? CRAB_SEEK_GE : CRAB_SEEK_LE;
	struct crab_record record = { };
	int err = snap ? crab_snap_seek(c.store, snap, key, dir, &record) :
			 crab_store_seek(c.store, key, dir, &record);

	over(user, err);
	if (!err && (dir == CRAB_SEEK_GE ? record.key < key : record.key > key))
		changing_fault(user->call, record.key, key);
}

static void call_search(struct user *user, struct crab_snap *snap)
{
	u64 key = key_any(user), value;

	over(user, snap ? crab_snap_search(c.store, snap, key, &value) :
			    crab_store_search(c.store, key, &value));
}

/* Values */

static char names[KEYS][8];

void changing_begin(void)
{
	u32 i;

	for (i = 0; i < KEYS; i++)
		snprintf(names[i], sizeof(names[i]), "n%05u", i * 7919 % 100000);
}

static const char *name_of(u64 key)
{
	return names[key / SPACE];
}

static void write_any(struct user *user, struct crab_blob_write *write)
{
	u64 key = key_any(user);

	*write = (struct crab_blob_write){
		.key = key, .bytes = rng_below(&user->seed, LONGEST), .data = user->value,
		.mode = rng_below(&user->seed, 2) ? CRAB_INSERT_EITHER : CRAB_INSERT_CREATE,
	};
	if (c.kind->content != NAMES)
		return;
	write->name = name_of(key);
	write->name_bytes = strlen(write->name);
}

static void call_get(struct user *user, struct crab_snap *snap)
{
	u64 key = key_any(user);
	u8 value[LONGEST];
	const char *name = name_of(key);
	struct crab_blob_read get = { .key = key, .buffer = value, .capacity = LONGEST };
	int err;

	if (c.kind->content == NAMES)
		err = snap ? crab_snap_named_get(c.store, snap, name, strlen(name), &get) :
			     crab_named_get(c.store, name, strlen(name), &get);
	else
		err = snap ? crab_snap_get(c.store, snap, &get) : crab_blob_get(c.store, &get);
	over(user, err == -EMSGSIZE ? 0 : err);
	if (!err && get.bytes > LONGEST)
		changing_fault("a value that is too long", get.bytes, key);
}

static void list_names(struct user *user, struct crab_snap *snap)
{
	u32 most = c.media.size / CRAB_LINE, turns = 0;
	struct crab_named_cursor cursor;
	struct crab_named_entry entry;
	char last[CRAB_NAME_MAX];
	u32 bytes = 0;
	int n = 1, order;

	crab_named_cursor_init(&cursor, "n", 1, "", 0);
	while (n == 1 && turns++ < most) {
		n = snap ? crab_snap_named_next(c.store, snap, &cursor, &entry) :
			   crab_named_next(c.store, &cursor, &entry);
		over(user, n);
		if (n != 1)
			break;
		order = memcmp(last, entry.text, min(bytes, entry.name_bytes));
		if (order > 0 || (!order && bytes >= entry.name_bytes))
			changing_fault(user->call, turns, bytes);
		bytes = entry.name_bytes;
		memcpy(last, entry.text, bytes);
	}
	if (turns > most)
		changing_fault("an endless list", turns, most);
}

static void call_list(struct user *user, struct crab_snap *snap)
{
	struct crab_blob_entry entry[BATCH];
	u32 turns = 0, most = c.media.size / 8;
	struct crab_cursor cursor;
	int n = 0;

	if (c.kind->content == NAMES) {
		list_names(user, snap);
		return;
	}
	cursor_any(user, &cursor);
	while (!cursor.done && turns++ < most && n != -ESTALE) {
		n = snap ? crab_snap_list(c.store, snap, &cursor, entry, BATCH) :
			   crab_blob_list(c.store, &cursor, entry, BATCH);
		over(user, n);
		if (n == -EUCLEAN)
			crab_cursor_skip(c.store, &cursor);
	}
	if (turns > most)
		changing_fault("an endless list", cursor.next, cursor.end);
}

static void call_values(struct user *user)
{
	struct crab_blob_commit *commit = &user->values;
	u32 i;

	memset(commit, 0, sizeof(*commit));
	commit->n = 1 + rng_below(&user->seed, 6);
	for (i = 0; i < commit->n; i++) {
		commit->ops[i].verb = rng_below(&user->seed, 3);
		write_any(user, &commit->ops[i].write);
	}
	over(user, c.kind->content == NAMES ? crab_named_commit(c.store, commit) :
						crab_blob_commit(c.store, commit));
}

static void write_value(struct user *user)
{
	bool names = c.kind->content == NAMES;
	struct crab_blob_write write;

	write_any(user, &write);
	switch (rng_below(&user->seed, 8)) {
	case 0 ... 3:
		over(user, names ? crab_named_put(c.store, &write) : crab_blob_put(c.store, &write));
		break;
	case 4 ... 5:
		over(user, names ? crab_named_erase(c.store, &write) :
				     crab_blob_erase(c.store, &write));
		break;
	default:
		call_values(user);
	}
}

/* Writes of numbers */

static void call_range(struct user *user)
{
	u32 turns = 0, most = c.media.size / 8;
	struct crab_cursor cursor;
	u64 deleted;
	int err = 0;

	cursor_any(user, &cursor);
	cursor.end = cursor.back ? max(cursor.end, cursor.next - min(cursor.next, 12 * SPACE)) :
				   min(cursor.end, cursor.next + 12 * SPACE);
	while (!cursor.done && err >= 0 && turns++ < most) {
		err = crab_cursor_delete(c.store, &cursor, BATCH, &deleted);
		over(user, err);
	}
	if (turns > most)
		changing_fault("an endless DELETE_RANGE", cursor.next, cursor.end);
}

static void call_batch(struct user *user)
{
	struct crab_batch_op ops[BATCH] = { };
	u32 i;

	for (i = 0; i < BATCH; i++) {
		ops[i].verb = rng_below(&user->seed, 3);
		ops[i].key = key_any(user);
		ops[i].value = rng(&user->seed);
	}
	crab_store_batch(c.store, ops, BATCH);
	for (i = 0; i < BATCH; i++)
		over(user, ops[i].status);
}

static void call_commit(struct user *user)
{
	struct crab_commit *commit = &user->commit;
	u32 i;

	memset(commit, 0, sizeof(*commit));
	commit->n = 1 + rng_below(&user->seed, 12);
	for (i = 0; i < commit->n; i++) {
		commit->when[i] = rng_below(&user->seed, 8) ? CRAB_WHEN_ANY : CRAB_WHEN_EXISTS;
		commit->ops[i].verb = rng_below(&user->seed, 3);
		commit->ops[i].key = key_any(user);
	}
	over(user, crab_store_commit(c.store, commit));
}

/* As a call that found the store writable before damage was found */
static void write_late(struct user *user)
{
	struct crab_engine *engine = c.store->engine;
	struct crab_flow flow = { .media = &c.media };
	u64 key = key_any(user);
	struct crab_old old = { };
	int err;

	if (rng_below(&user->seed, 3))
		err = engine->ops->insert(engine, &flow, key, key, CRAB_INSERT_EITHER, &old);
	else
		err = engine->ops->remove(engine, &flow, key, &old);
	over(user, err);
	if (rng_below(&user->seed, 16) || !engine->ops->maintain)
		return;
	mutex_lock(&c.working);
	engine->ops->maintain(engine);
	mutex_unlock(&c.working);
}

static void write_number(struct user *user)
{
	u64 key = key_any(user);
	struct crab_old old = { };

	switch (rng_below(&user->seed, 16)) {
	case 0 ... 5:
		over(user, crab_store_insert(c.store, key, key, CRAB_INSERT_EITHER, &old));
		break;
	case 6 ... 8:
		over(user, crab_store_delete(c.store, key, &old));
		break;
	case 9:
		call_batch(user);
		break;
	case 10:
		call_range(user);
		break;
	case 11:
		if (c.kind->content == COMMITS)
			call_commit(user);
		break;
	default:
		if (c.began)
			write_late(user);
	}
}

/* All calls */

static void call_read(struct user *user, struct crab_snap *snap)
{
	void (*calls[])(struct user *user, struct crab_snap *snap) = {
		call_scan, call_seek, call_search, call_scan, call_get, call_list,
	};
	static const char * const texts[] = { "scan", "seek", "search", "scan", "get", "list" };
	u32 which = has_values() ? 4 + rng_below(&user->seed, 2) : rng_below(&user->seed, 4);

	WRITE_ONCE(user->call, texts[which]);
	calls[which](user, snap);
}

static void call_snap(struct user *user)
{
	u32 i, reads = rng_below(&user->seed, 6);
	struct crab_snap *snap;

	if (!c.observed)
		return;
	mutex_lock(&c.opening);
	crab_store_observe(c.store);
	snap = crab_snap_open(c.store);
	if (IS_ERR(snap))
		crab_store_unobserve(c.store);
	mutex_unlock(&c.opening);
	if (IS_ERR(snap)) {
		over(user, PTR_ERR(snap));
		return;
	}
	for (i = 0; i < reads; i++)
		call_read(user, snap);
	WRITE_ONCE(user->call, "close of a snapshot");
	crab_snap_close(snap);
}

static void call_rare(struct user *user)
{
	struct crab_check_report report;
	struct crab_store_info info;

	switch (rng_below(&user->seed, 16)) {
	case 0:
		WRITE_ONCE(user->call, "check");
		over(user, crab_store_check(c.store, &report));
		break;
	case 1 ... 6:
		WRITE_ONCE(user->call, "maintain");
		mutex_lock(&c.working);
		crab_store_maintain(c.store);
		mutex_unlock(&c.working);
		break;
	case 7 ... 9:
		WRITE_ONCE(user->call, "info");
		crab_store_info(c.store, &info);
		break;
	case 10:
		WRITE_ONCE(user->call, "fail");
		if (!rng_below(&user->seed, 8))
			crab_store_fail(c.store, round_down(changing_word(&user->seed) * 8, FAILS), FAILS);
		break;
	default:
		WRITE_ONCE(user->call, "snapshot");
		call_snap(user);
	}
}

void changing_write(struct user *user)
{
	WRITE_ONCE(user->call, "write");
	(has_values() ? write_value : write_number)(user);
}

void changing_call(struct user *user)
{
	u32 part = rng_below(&user->seed, 16);

	if (part < c.writes)
		changing_write(user);
	else if (part < 15)
		call_read(user, NULL);
	else
		call_rare(user);
}

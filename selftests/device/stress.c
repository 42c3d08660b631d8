// SPDX-License-Identifier: GPL-2.0
/*
 * This file lets threads collide for a while: few keys in small leaves, in windows
 * that all of them fill and drain at once, so that splits and unlinks meet writers,
 * readers, scans and batches.
 *
 * Four of five keys have one owner each, the only thread that writes them: it
 * knows their values, and a verb or a scan with another result is an error.
 * Other threads never see an older version of such a key than before. The
 * fifth key is shared. Each value is stored there once, and a verb that replaces a
 * value returns it: so for every shared key the stored values minus the returned ones are
 * the present value.
 *
 * Invariant: at the end CHECK is clean, and the store has the values that the threads expect.
 *
 * CRABTREE_STRESS_SECONDS is the duration for each store [5]; a multiple of it if no leaf has split or
 * gone before.
 */
#include <pthread.h>
#include <stdatomic.h>

#include "device.h"

#define THREADS		4
#define GROUPS		120			/* of keys: one of each owner, one of all */
#define KEYS		(GROUPS * (THREADS + 1))
#define COMMON		THREADS			/* in place of an owner */
#define WINDOW		40			/* keys, of whole groups: two or three of the smallest leaves */
#define WINDOWS		(KEYS / WINDOW)
#define BURST		(WINDOW / (THREADS + 1) * 4)	/* operations in one window */
#define EPOCH		30			/* bursts of a thread until windows turn */
#define PATIENCE	40			/* times the duration, at most */

/**
 * struct actor - state of one thread
 * @number: which, and whose keys it owns
 * @random: its random numbers
 * @version: of the value that was last put under a key of its own, or 0: not there;
 *	of others' keys: the newest that was seen
 * @put: versions given out so far, for every key
 * @balance: of a common key: all values put and taken by this thread, xor
 * @bursts: done, of the thread that turns the windows
 */
struct actor {
	u32 number;
	unsigned long long random;
	u32 version[KEYS];
	u32 put;
	u64 balance[KEYS];
	u64 bursts;
};

static struct actor actors[THREADS];
static int stress_fd;
static atomic_bool stop;
static atomic_uint epoch;

static u32 owner_of(u64 key)
{
	return key % (THREADS + 1);
}

static u32 value_check(u64 key, u32 version)
{
	return (key ^ (u64)version << 20) * 0x9E3779B97F4A7C15ULL >> 32;
}

/* A value encodes its version, and its key by a check; no two values of a key are equal */
static u64 value_make(u64 key, u32 version)
{
	return (u64)version << 32 | value_check(key, version);
}

static u32 value_version(u64 key, u64 value)
{
	u32 version = value >> 32;

	REQUIRE((u32)value, value_check(key, version));
	return version;
}

/* Do all threads fill this window now, or drain it? */
static bool window_fills(u64 window)
{
	u64 mixed = (window << 32 | atomic_load(&epoch)) * 0x9E3779B97F4A7C15ULL;

	return mixed >> 63;
}

/* A record that is there now */
static void actor_saw(struct actor *a, u64 key, u64 value)
{
	u32 version = value_version(key, value);

	if (owner_of(key) == COMMON)
		return;
	if (owner_of(key) == a->number)
		REQUIRE(version, a->version[key]);
	REQUIRE_TRUE(version >= a->version[key]);
	a->version[key] = version;
}

/* Expected result of an operation by the key's only writer, and the new expectation */
static void settle_own(struct actor *a, const struct crabtree_batch_op *op)
{
	u32 before = a->version[op->key];
	bool create = op->flags & CRABTREE_INSERT_CREATE;
	bool replace = op->flags & CRABTREE_INSERT_REPLACE;

	if (op->verb != CRABTREE_BATCH_INSERT) {
		REQUIRE(op->status, before ? 0 : -ENOENT);
		if (before)
			REQUIRE(op->verb == CRABTREE_BATCH_SEARCH ? op->value : op->old_value,
				value_make(op->key, before));
		if (op->verb == CRABTREE_BATCH_DELETE)
			a->version[op->key] = 0;
		return;
	}
	REQUIRE(op->status, create && before ? -EEXIST : replace && !before ? -ENOENT : 0);
	if (op->status != -ENOENT)
		REQUIRE(op->existed, !!before);
	if (before)
		REQUIRE(op->old_value, value_make(op->key, before));
	if (!op->status)
		a->version[op->key] = value_version(op->key, op->value);
}

/* A shared key: values stored and values returned */
static void settle_common(struct actor *a, const struct crabtree_batch_op *op)
{
	bool displaced = op->verb == CRABTREE_BATCH_DELETE || op->existed;

	if (op->status) {
		REQUIRE(op->status, op->status == -EEXIST ? -EEXIST : -ENOENT);
		return;
	}
	if (op->verb == CRABTREE_BATCH_SEARCH) {
		value_version(op->key, op->value);
		return;
	}
	if (op->verb == CRABTREE_BATCH_INSERT)
		a->balance[op->key] ^= op->value;
	if (!displaced)
		return;
	value_version(op->key, op->old_value);
	a->balance[op->key] ^= op->old_value;
}

static void settle(struct actor *a, const struct crabtree_batch_op *op)
{
	if (owner_of(op->key) == a->number)
		settle_own(a, op);
	else if (owner_of(op->key) == COMMON)
		settle_common(a, op);
	else if (!op->status)
		actor_saw(a, op->key, op->value);
	else
		REQUIRE(op->status, -ENOENT);
}

/* Verbs, planned, performed and settled */

/* One by one those keys of a window that this thread may write; in between any */
static u64 plan_key(struct actor *a, u64 window, u32 step)
{
	u64 group = window * WINDOW + step / 4 * (THREADS + 1);

	if (step & 1)
		return window * WINDOW + rng_below(&a->random, WINDOW);
	return group + (step & 2 ? COMMON : a->number);
}

static u32 plan_verb(struct actor *a, u64 key)
{
	u32 dice = rng_below(&a->random, 64);

	if (dice < 8 || (owner_of(key) != a->number && owner_of(key) != COMMON))
		return CRABTREE_BATCH_SEARCH;
	return window_fills(key / WINDOW) == (dice < 63) ? CRABTREE_BATCH_INSERT :
							   CRABTREE_BATCH_DELETE;
}

/* The next of a burst of operations */
static void plan(struct actor *a, u64 window, u32 step, struct crabtree_batch_op *op)
{
	static const u32 flags[] = { 0, 0, CRABTREE_INSERT_CREATE, CRABTREE_INSERT_REPLACE };
	u64 key = plan_key(a, window, step);
	u32 verb = plan_verb(a, key);

	dev_op(op, verb, key, 0);
	if (verb != CRABTREE_BATCH_INSERT)
		return;
	op->flags = flags[rng_below(&a->random, 4)];
	op->value = value_make(key, ++a->put * THREADS + a->number);
}

/* The same operation by its own ioctl */
static void perform(struct crabtree_batch_op *op)
{
	struct crabtree_insert in;
	u64 value = 0;

	switch (op->verb) {
	case CRABTREE_BATCH_INSERT:
		op->status = dev_insert(stress_fd, op->key, op->value, op->flags, &in);
		op->existed = in.existed;
		op->old_value = in.old_value;
		break;
	case CRABTREE_BATCH_DELETE:
		op->status = dev_delete(stress_fd, op->key, &value);
		op->old_value = value;
		break;
	default:
		op->status = dev_get(stress_fd, op->key, &value);
		op->value = value;
	}
}

static void burst_single(struct actor *a, u64 window)
{
	struct crabtree_batch_op op;
	u32 i;

	for (i = 0; i < BURST; i++) {
		plan(a, window, i, &op);
		perform(&op);
		settle(a, &op);
	}
}

static void burst_batch(struct actor *a, u64 window)
{
	struct crabtree_batch_op ops[BURST];
	struct crabtree_batch b;
	u32 i;

	for (i = 0; i < BURST; i++)
		plan(a, window, i, &ops[i]);
	REQUIRE(dev_batch(stress_fd, ops, BURST, &b), 0);
	REQUIRE(b.done, BURST);
	for (i = 0; i < BURST; i++)
		settle(a, &ops[i]);
}

/* No key of this thread from @from up to @to is present */
static void scan_skips(struct actor *a, u64 from, u64 to)
{
	for (; from < to; from++)
		if (owner_of(from) == a->number)
			REQUIRE(a->version[from], 0);
}

/* One call: keys ascend, ours are exactly there; where the next one begins */
static u64 scan_piece(struct actor *a, u64 start, u64 end, u32 capacity)
{
	struct crabtree_record r[WINDOW];
	struct crabtree_scan s;
	u64 next = start;
	u32 i;

	REQUIRE(dev_scan(stress_fd, start, end, r, capacity, &s), 0);
	for (i = 0; i < s.count; i++) {
		REQUIRE_TRUE(r[i].key >= next && r[i].key <= end);
		scan_skips(a, next, r[i].key);
		actor_saw(a, r[i].key, r[i].value);
		next = r[i].key + 1;
	}
	scan_skips(a, next, s.more ? s.next : end + 1);
	return s.more ? s.next : end + 1;
}

static void burst_scan(struct actor *a, u64 window)
{
	u64 start = window * WINDOW, end = start + 3 * WINDOW - 1;

	end = end < KEYS ? end : KEYS - 1;
	while (start <= end)
		start = scan_piece(a, start, end, 1 + rng_below(&a->random, WINDOW));
}

/* Is there a record in that direction? */
static bool seek(struct actor *a, u64 key, u32 flags, struct crabtree_search *s)
{
	int rc = dev_search(stress_fd, key, flags, s);

	if (!rc)
		actor_saw(a, s->key, s->value);
	else
		REQUIRE(rc, -ENOENT);
	return !rc;
}

/* The nearest record on either side: no key of this thread is between */
static void burst_seek(struct actor *a, u64 window)
{
	u64 key = window * WINDOW + rng_below(&a->random, WINDOW);
	struct crabtree_search s;

	scan_skips(a, key, seek(a, key, CRABTREE_SEARCH_GE, &s) ? s.key : KEYS);
	scan_skips(a, seek(a, key, CRABTREE_SEARCH_LE, &s) ? s.key + 1 : 0, key + 1);
}

static void burst_check(struct actor *a, u64 window)
{
	struct crabtree_info info;

	(void)a;
	(void)window;
	REQUIRE(dev_info(stress_fd, &info), 0);
	REQUIRE(info.state, CRABTREE_STATE_READY);
	sound_records(stress_fd);
}

static void burst(struct actor *a)
{
	static void (* const what[])(struct actor *a, u64 window) = {
		burst_single, burst_single, burst_single, burst_batch, burst_batch, burst_scan,
		burst_seek,
	};
	u64 window = rng_below(&a->random, WINDOWS);
	u32 choice = rng_below(&a->random, 64 * sizeof(what) / sizeof(*what));

	if (choice)
		what[choice / 64](a, window);
	else
		burst_check(a, window);
	if (!a->number && ++a->bursts % EPOCH == 0)
		atomic_fetch_add(&epoch, 1);
}

static void *actor_run(void *arg)
{
	struct actor *a = arg;

	while (!atomic_load(&stop))
		burst(a);
	return NULL;
}

/* Expected value of a key, from its owner or all threads; 0: absent */
static u64 value_left(u64 key)
{
	u32 i, version, owner = owner_of(key);
	u64 left = 0;

	if (owner != COMMON) {
		version = actors[owner].version[key];
		return version ? value_make(key, version) : 0;
	}
	for (i = 0; i < THREADS; i++)
		left ^= actors[i].balance[key];
	return left;
}

static u64 expect_content(void)
{
	u64 key, left, value, records = 0;

	for (key = 0; key < KEYS; key++) {
		left = value_left(key);
		REQUIRE(dev_get(stress_fd, key, &value), left ? 0 : -ENOENT);
		if (!left)
			continue;
		REQUIRE(value, left);
		records++;
	}
	return records;
}

static unsigned int stress_seconds(void)
{
	const char *text = getenv("CRABTREE_STRESS_SECONDS");

	return text && *text ? strtoul(text, NULL, 10) : 5;
}

/* A run in which no leaf split or went would have shown little */
static bool has_changed(void)
{
	struct crabtree_info info;

	REQUIRE(dev_info(stress_fd, &info), 0);
	return info.splits && info.unlinks;
}

/* @changes: goes on until leaves have split and gone: where locks are slow, few operations are done */
static void actors_run(bool changes)
{
	pthread_t thread[THREADS];
	u32 i;

	for (i = 0; i < THREADS; i++) {
		actors[i] = (struct actor){ .number = i, .random = i + 1 };
		REQUIRE(pthread_create(&thread[i], NULL, actor_run, &actors[i]), 0);
	}
	for (i = 0; i < PATIENCE && (!i || (changes && !has_changed())); i++)
		sleep(stress_seconds());
	atomic_store(&stop, true);
	for (i = 0; i < THREADS; i++)
		REQUIRE(pthread_join(thread[i], NULL), 0);
}

static void stress(const char *engine, const char *layout, bool changes)
{
	struct crabtree_info info;

	stress_fd = fresh_store_of(engine, layout, 512);
	actors_run(changes);
	expect_sound(stress_fd, expect_content());
	REQUIRE(dev_info(stress_fd, &info), 0);
	printf("# %llu inserts, %llu updates, %llu deletes, %llu searches, %llu splits, %llu unlinks\n",
	       (unsigned long long)info.inserts, (unsigned long long)info.updates,
	       (unsigned long long)info.deletes, (unsigned long long)info.searches,
	       (unsigned long long)info.splits, (unsigned long long)info.unlinks);
	if (changes)
		EXPECT_TRUE(has_changed());
}

#define STRESS_TEST(fn, engine, layout, changes, text)	\
	TEST(fn, text)					\
	{						\
		stress(engine, layout, changes);	\
	}

STRESS_TEST(slotted, "crab", "slotted", true, "slotted leaves")
STRESS_TEST(sorted, "crab", "sorted", true, "sorted leaves")
STRESS_TEST(nvtree, "nvtree", "append", true, "the engine nvtree")
STRESS_TEST(fastfair, "fastfair", "shift", true, "the engine fastfair")
STRESS_TEST(clfb, "clfb", "inplace", true, "the engine clfb")
STRESS_TEST(nbtree, "nbtree", "adr", true, "the engine nbtree")
STRESS_TEST(eadr, "nbtree", "eadr", true, "its layout eadr")
STRESS_TEST(volatile_engine, "volatile", "", false, "the volatile engine")

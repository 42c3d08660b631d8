// SPDX-License-Identifier: GPL-2.0
/*
 * This file fails the n-th allocation or copy as faults.c does, of the calls of stores of values, and of
 * those that open a file.
 *
 * Invariant: as of faults.c.
 */
#include "blob.h"
#include "faults.h"
#include "observe.h"

/* Stores of values */

#define VALUE	100	/* bytes */
#define VALUES	40

static unsigned char room[VALUE];

static const void *value_of(u64 number)
{
	static unsigned char value[VALUE];

	rng_fill(value, number, VALUE);
	return value;
}

static int run_value(struct trial *trial)
{
	u64 version = 0;

	return trial->put ? put(trial->fd, trial->key, value_of(trial->value), VALUE, 0, &version) :
			    erase(trial->fd, trial->key, 0, 0);
}

static void judge_value(struct trial *trial, int rc)
{
	struct crabtree_get g;
	int found = get(trial->fd, trial->key, room, VALUE, &g);

	if (!found)
		REQUIRE(memcmp(room, value_of(trial->value), VALUE), 0);
	judge_key(trial, rc, found);
}

TEST(write_values, "faults: PUT and ERASE")
{
	struct trial trial = { .run = run_value, .judge = judge_value };

	trial.fd = fresh_store_kind("", CRABTREE_FORMAT_BLOBS);
	write_all(&trial);
}

static int run_get(struct trial *trial)
{
	struct crabtree_get g;
	int rc = get(trial->fd, 5, room, VALUE, &g);

	if (!rc)
		REQUIRE(memcmp(room, value_of(5), VALUE), 0);
	return rc;
}

static int run_list(struct trial *trial)
{
	static struct crabtree_entry entries[VALUES + 1];
	struct crabtree_list l;
	int rc = list(trial->fd, 0, entries, VALUES + 1, &l);

	if (!rc)
		REQUIRE(l.count, VALUES);
	return rc;
}

TEST(read_values, "faults: GET and LIST")
{
	struct trial trial = { .run = run_get, .judge = judge_read, .value = VALUES };
	u64 key, version = 0;

	trial.fd = fresh_store_kind("", CRABTREE_FORMAT_BLOBS);
	for (key = 0; key < VALUES; key++)
		REQUIRE(put(trial.fd, key, value_of(key), VALUE, 0, &version), 0);
	faults_init();
	EXPECT(trial_run(&trial), 0);
	trial.run = run_list;
	EXPECT(trial_run(&trial), 0);
	told();
}

/* COMMIT of two names */
static int commit(int fd, u32 verb)
{
	static const char name[2][4] = { "one", "two" };
	struct crabtree_commit_op op[2] = { { .verb = verb }, { .verb = verb } };
	struct crabtree_commit c = { .size = sizeof(c), .ops = (uintptr_t)op, .count = 2 };
	u32 i;

	for (i = 0; i < 2; i++) {
		op[i].key = (uintptr_t)name[i];
		op[i].name_bytes = 3;
		if (verb == CRABTREE_COMMIT_PUT) {
			op[i].value = (uintptr_t)room;
			op[i].bytes = VALUE;
		}
	}
	return call(fd, CRABTREE_COMMIT, &c);
}

static int run_commit(struct trial *trial)
{
	return commit(trial->fd, CRABTREE_COMMIT_PUT);
}

static int run_names(struct trial *trial)
{
	static char text[2 * CRABTREE_NAME_ENTRY_MAX];
	struct crabtree_names n = {
		.size = sizeof(n), .buffer = (uintptr_t)text, .capacity = sizeof(text),
	};
	int rc = call(trial->fd, CRABTREE_NAMES, &n);

	if (!rc)
		REQUIRE(n.count, 2);
	return rc;
}

static void judge_commit(struct trial *trial, int rc)
{
	judge_both(trial->fd, rc);
	REQUIRE(commit(trial->fd, CRABTREE_COMMIT_ERASE), 0);
	expect_sound(trial->fd, 0);
}

TEST(names, "faults: COMMIT of names: all of it or nothing; NAMES")
{
	struct trial trial = { .run = run_commit, .judge = judge_commit };

	trial.fd = fresh_store_kind("", CRABTREE_FORMAT_COMMITS | CRABTREE_FORMAT_NAMES);
	faults_init();
	EXPECT(trial_run(&trial), 0);
	trial = (struct trial){ .run = run_names, .judge = judge_read, .fd = trial.fd, .value = 2 };
	EXPECT(trial_run(&trial), 0);
	told();
}

/* WATCH and SNAPSHOT: a failure leaves neither a user of the device nor a descriptor */

static int run_watch(struct trial *trial)
{
	struct crabtree_watch w;
	int rc = dev_watch(trial->fd, 0, 9, 0, &w);

	if (!rc)
		close(w.fd);
	return rc;
}

static int run_snapshot(struct trial *trial)
{
	struct crabtree_snapshot s = { .size = sizeof(s) };
	int rc = call(trial->fd, CRABTREE_SNAPSHOT, &s);

	if (!rc)
		close(s.fd);
	return rc;
}

/* @trial->key: the next free descriptor; @trial->value: the kind of the store */
static void judge_open(struct trial *trial, int rc)
{
	struct crabtree_format f;
	int next = dup(trial->fd);

	(void)rc;
	EXPECT(next, trial->key);
	close(next);
	format_args(&f, CRABTREE_FORMAT_FORCE | trial->value, 0);
	REQUIRE(call(trial->fd, CRABTREE_FORMAT, &f), 0);
}

static void opening(u32 kind)
{
	struct trial trial = { .run = run_watch, .judge = judge_open, .value = kind };

	trial.fd = fresh_store_kind("", kind);
	faults_init();
	trial.key = dup(trial.fd);
	close(trial.key);
	EXPECT(trial_run(&trial), 0);
	trial.run = run_snapshot;
	EXPECT(trial_run(&trial), 0);
	told();
}

TEST(opens, "faults: WATCH and SNAPSHOT")
{
	opening(0);
}

TEST(opens_names, "faults: WATCH and SNAPSHOT of a store of names")
{
	opening(CRABTREE_FORMAT_NAMES);
}

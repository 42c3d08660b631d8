// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the work that is traced. Nothing in it is left to chance: an
 * operation is a function of its number.
 *
 * One call in eight is a batch. Half of the batches fit into a piece, as the ioctl passes
 * them on; half of them use eight neighbouring keys, so that some occur twice, leaves
 * fill, and leaves empty within one.
 *
 * Each store has four phases of equal length: it grows; it changes; keys arrive in
 * order, each after the previous one; and it is emptied, range by range, so that leaves are
 * unlinked. Before the third phase the module is unloaded and loaded, before the last too,
 * and then it finds a state after a power cut, in a store of the default engine with deletes
 * that were cut. In one of the stores the module's worker is kept waiting, so that it runs
 * within operations, too.
 *
 * One of the stores is of blobs: each call is a put or an erase, and no delete is cut. One is of
 * commits: of each batch the first operation of a key is committed, and the first one of all may
 * have a condition. One is of both: its commits are of puts and erases.
 */
#include "tests/rng.h"
#include "workload.h"

const char * const workload_verbs[] = {
	"load", "unload", "tear", "format", "race", "insert", "delete", "search", "batch", "put",
	"erase", "commit",
};

static const struct workload_store stores[] = {
	{ .engine = "", .layout = "slotted", .leaf_bytes = 512, .share = 3 },
	{ .engine = "", .layout = "slotted", .leaf_bytes = 1024, .share = 2, .hurried = true },
	{ .engine = "", .layout = "sorted", .leaf_bytes = 512, .share = 2 },
	{ .engine = "", .layout = "slotted", .leaf_bytes = 512, .share = 1, .blobs = true },
	{ .engine = "", .layout = "slotted", .leaf_bytes = 512, .share = 1, .commits = true },
	{ .engine = "", .layout = "slotted", .leaf_bytes = 512, .share = 1, .blobs = true, .commits = true },
	{ .engine = "nvtree", .layout = "append", .leaf_bytes = 512, .share = 1 },
	{ .engine = "fastfair", .layout = "shift", .leaf_bytes = 2048, .share = 1 },
	{ .engine = "clfb", .layout = "inplace", .leaf_bytes = 512, .share = 1 },
	{ .engine = "clfb", .layout = "twin", .leaf_bytes = 1024, .share = 1 },
	{ .engine = "clfb", .layout = "atomic", .leaf_bytes = 512, .share = 1 },
	{ .engine = "clfb", .layout = "encoded", .leaf_bytes = 64, .share = 1 },
	{ .engine = "nbtree", .layout = "adr", .leaf_bytes = 512, .share = 3 },
};

#define STORES	(sizeof(stores) / sizeof(stores[0]))
#define SHARES	19	/* of all of them */

/* The region of this one has caches that persist */
static const struct workload_store eadr = {
	.engine = "nbtree", .layout = "eadr", .leaf_bytes = 512, .share = 1,
};

enum age { GROW, CHANGE, APPEND, SHRINK, AGES };

/* One in eight inserts may only create, one in eight only replace: some must fail */
static enum workload_mode mode_of(uint64_t dice)
{
	switch (dice >> 8 & 7) {
	case 0:
		return WORKLOAD_CREATE;
	case 1:
		return WORKLOAD_REPLACE;
	default:
		return WORKLOAD_EITHER;
	}
}

/* The last eighth of the keys is for those that arrive in order */
static uint32_t index_of(enum age age, uint32_t done, uint32_t length, uint64_t dice)
{
	const uint32_t ordered = WORKLOAD_KEYS / 8;

	if (age == APPEND && dice >> 4 & 7)
		return WORKLOAD_KEYS - ordered + (uint64_t)done * ordered / length;
	if (age == SHRINK && dice >> 4 & 7)
		return (uint64_t)done * WORKLOAD_KEYS / length;
	return (dice >> 32) % (WORKLOAD_KEYS - ordered);
}

/* Operation @number of all, @done of @length in this age */
static struct workload_operation operation_of(enum age age, uint32_t done, uint32_t length,
					      uint32_t number)
{
	static const uint32_t deletes[AGES] = { [GROW] = 1, [CHANGE] = 6, [SHRINK] = 15 };
	uint64_t dice = rng_mix(number);
	struct workload_operation op = {
		.verb = (dice & 15) < deletes[age] ? WORKLOAD_DELETE : WORKLOAD_INSERT,
		.mode = mode_of(dice),
		.index = index_of(age, done, length, dice),
		.value = dice >> 12 & 15 ? rng_mix(dice) : (dice >> 16 & 3) - 1,	/* or 0, 1, 2, ~0 */
	};

	op.key = workload_key(op.index);
	return op;
}

/* In a store of blobs each call is a put or an erase, but for commits */
static void blob_call(struct workload_call *call, const struct workload_operation *op,
		      uint32_t number)
{
	call->verb = op->verb == WORKLOAD_DELETE ? WORKLOAD_ERASE : WORKLOAD_PUT;
	call->number = number;
	call->n = 1;
	call->ops[0] = *op;
	call->ops[0].verb = call->verb;
}

void workload_begin(struct workload_call *call, uint32_t number, uint32_t most, uint32_t writer)
{
	uint64_t dice = rng_mix(~((uint64_t)writer << 32 | number));
	uint32_t together = 1 + (dice >> 8) % (dice >> 4 & 1 ? 16 : WORKLOAD_TOGETHER);

	call->verb = dice & 7 ? WORKLOAD_INSERT : WORKLOAD_BATCH;
	call->number = number;
	call->n = call->verb != WORKLOAD_BATCH ? 1 : together < most ? together : most;
	call->dice = dice;
}

/* One in eight operations of a batch is a search */
void workload_end(struct workload_call *call, uint32_t stride)
{
	uint32_t first = call->ops[0].index, i;
	struct workload_operation *op;
	uint64_t dice;

	if (call->verb != WORKLOAD_BATCH) {
		call->verb = call->ops[0].verb;
		return;
	}
	for (i = 0; i < call->n; i++) {
		op = &call->ops[i];
		dice = rng_mix(call->dice + i);
		if (!(dice & 7))
			op->verb = WORKLOAD_SEARCH;
		if (call->dice >> 5 & 1)
			op->index = (first + (dice >> 8) % 8 * stride) % WORKLOAD_KEYS;
		op->key = workload_key(op->index);
	}
}

static void commit_call(struct workload_call *call)
{
	uint32_t i, k, n = 0;

	for (i = 0; i < call->n; i++) {
		for (k = 0; k < n && call->ops[k].key != call->ops[i].key; k++)
			;
		if (k < n)
			continue;
		call->ops[n] = call->ops[i];
		if (n++)
			call->ops[k].mode = WORKLOAD_EITHER;
	}
	call->verb = WORKLOAD_COMMIT;
	call->n = n;
}

static int insert_torn(const uint32_t *index, uint32_t n, uint32_t *number)
{
	struct workload_call call = { .verb = WORKLOAD_INSERT, .n = 1 };
	int err = 0;

	for (; n && !err; n--, index++, ++*number) {
		call.number = *number;
		call.ops[0] = (struct workload_operation) {
			.verb = WORKLOAD_INSERT, .index = *index, .key = workload_key(*index),
			.value = rng_mix(*number),
		};
		err = perform(&call);
	}
	return err;
}

/* Unload and load, once with a power cut between */
static int reload(const struct workload_store *store, enum age next, uint32_t *number)
{
	static const uint32_t torn[] = { 16, 100, 200, 300 };
	const bool tears = next == SHRINK && (!*store->engine || store == &eadr) && !store->blobs;
	const uint32_t n = tears ? sizeof(torn) / sizeof(torn[0]) : 0;
	int err = insert_torn(torn, n, number);

	if (!err)
		err = perform_unload();
	if (!err && next == SHRINK)
		err = perform_tear(torn, n);
	return err ? err : perform_load();
}

static void next_call(const struct workload_store *store, struct workload_call *call, enum age age,
		      uint32_t done, uint32_t length, uint32_t number)
{
	struct workload_operation op;
	uint32_t i;

	if (store->blobs && !store->commits) {
		op = operation_of(age, done, length, number);
		blob_call(call, &op, number);
		return;
	}
	workload_begin(call, number, length - done, 0);
	for (i = 0; i < call->n; i++)
		call->ops[i] = operation_of(age, done + i, length, number + i);
	workload_end(call, 1);
	op = call->ops[0];
	if (store->commits && call->verb == WORKLOAD_BATCH)
		commit_call(call);
	else if (store->blobs)
		blob_call(call, &op, number);
}

static int live_age(const struct workload_store *store, enum age age, uint32_t length,
		    uint32_t *number)
{
	struct workload_call call;
	uint32_t done;
	int err = 0;

	for (done = 0; done < length && !err; done += call.n, *number += call.n) {
		next_call(store, &call, age, done, length, *number);
		err = perform(&call);
	}
	return err;
}

static int live(const struct workload_store *store, uint32_t operations, uint32_t *number)
{
	enum age age;
	int err = perform_format(store);

	for (age = GROW; age < AGES && !err; age++) {
		if (age >= APPEND)
			err = reload(store, age, number);
		if (!err)
			err = live_age(store, age, operations / AGES, number);
	}
	return err;
}

int workload_run(uint32_t operations)
{
	uint32_t i, number = 0;
	int err = perform_load();

	for (i = 0; i < STORES && !err; i++)
		err = live(&stores[i], operations * stores[i].share / SHARES, &number);
	return err ? err : perform_unload();
}

int workload_caches(uint32_t operations)
{
	uint32_t number = 0;
	int err = perform_load();

	if (!err)
		err = live(&eadr, operations, &number);
	return err ? err : perform_unload();
}

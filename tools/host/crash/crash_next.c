// SPDX-License-Identifier: GPL-2.0
/*
 * This file chooses the operations of the random crash test.
 *
 * Locking: one thread.
 */
#include "crash_priv.h"
#include "test.h"

#define CRASH_WINDOWS	3	/* of the keys: a growth and its shrinking are in one window */

/* A value that is special to the leaf of some key */
static u64 special(struct crash *c, u64 r)
{
	const struct host_driver *driver = c->setup.driver;

	return driver->special ? driver->special(c->store, c->keys[r % c->setup.keys]) : 0;
}

/* Any key; if structure changes are wanted, one of a few neighbours for some time */
static u32 next_key(const struct crash *c, u64 r)
{
	u32 window = c->setup.keys / CRASH_WINDOWS;

	if (!c->setup.changes)
		return r % c->setup.keys;
	return c->step / CRASH_TIDE / 2 % CRASH_WINDOWS * window + r % window;
}

static enum crash_verb next_verb(const struct crash *c, u64 r)
{
	static const enum crash_verb others[] = {
		CRASH_SPECIAL, CRASH_SPECIAL, CRASH_MAINTAIN, CRASH_MAINTAIN,
		CRASH_REATTACH, CRASH_CUT, CRASH_CUT, CRASH_SURVIVE,
	};
	u32 grow = crash_grows(c) ? 46 : 10;
	enum crash_verb verb;

	if (c->setup.changes)		/* leaves fill up and empty */
		grow = crash_grows(c) ? 54 : 2;
	if (r % 64 < grow)
		return CRASH_INSERT;
	if (r % 64 < 56)
		return CRASH_DELETE;
	verb = others[r % ARRAY_SIZE(others)];
	if (c->setup.changes && verb > CRASH_MAINTAIN && r >> 40 & 15)
		return CRASH_MAINTAIN;	/* a cut forgets which leaves are sparse */
	return verb;
}

/* The next present key, if there is one nearby */
static u32 delete_key(const struct crash *c, u32 key)
{
	u32 most = c->setup.changes ? 0 : c->setup.keys, i;

	for (i = 0; i < most && !c->content.key[key].there; i++)
		key = (key + 1) % c->setup.keys;
	return key;
}

/* Some inserts are compare-and-swaps, half of which fail, and adds */
static void next_mode(const struct crash *c, struct crash_op *op, u64 r)
{
	static const enum crab_insert_mode modes[] = {
		CRAB_INSERT_EITHER, CRAB_INSERT_EITHER, CRAB_INSERT_EITHER, CRAB_INSERT_EITHER,
		CRAB_INSERT_EITHER, CRAB_INSERT_ADD, CRAB_INSERT_ADD, CRAB_INSERT_SWAP,
	};

	op->mode = modes[r % ARRAY_SIZE(modes)];
	op->expected = c->content.key[op->key].value + (r >> 3 & 1);
}

struct crash_op crash_next(struct crash *c)
{
	u64 r = rng(&c->seed);
	struct crash_op op = { .key = next_key(c, r >> 8), .value = (r >> 16) % 8 };

	if (op.value > 2)
		op.value = r >> 16;
	op.verb = next_verb(c, r);
	if (op.verb == CRASH_SPECIAL)
		op.value = special(c, r >> 24);
	if (op.verb == CRASH_DELETE)
		op.key = delete_key(c, op.key);
	if (c->setup.modify && op.verb == CRASH_INSERT)
		next_mode(c, &op, r >> 48);
	if (c->often_every && c->step % c->often_every == c->often_every - 1)
		op.verb = c->often;
	if (c->setup.changes && op.value % 8 == 7 && op.verb >= CRASH_CUT)
		op.value--;	/* a cut FORMAT would empty the store */
	if (c->step % c->format_every == c->format_every - 1)
		op.verb = CRASH_FORMAT;
	return op;
}

static void batch_op_make(struct crash *c, struct crab_batch_op *op, u64 key, u64 r)
{
	static const enum crab_insert_mode modes[] = {
		CRAB_INSERT_CREATE, CRAB_INSERT_REPLACE, CRAB_INSERT_SWAP, CRAB_INSERT_ADD,
	};

	*op = (struct crab_batch_op) {
		.verb = CRAB_VERB_INSERT, .key = key, .mode = CRAB_INSERT_EITHER,
		.value = r >> 16 & 7, .old = { .existed = true, .value = 0xbad, .expected = r >> 48 & 3 },
	};
	if (r % 16 < (crash_grows(c) ? 4 : 9))
		op->verb = CRAB_VERB_DELETE;
	else if (r % 16 == 15)
		op->verb = CRAB_VERB_SEARCH;
	else if (r >> 4 & 1)
		op->mode = modes[(r >> 5) % ARRAY_SIZE(modes)];
	if (op->value == 7)
		op->value = special(c, r >> 24);
}

void crash_batch_make(struct crash *c)
{
	struct crash_batch *batch = &c->batch;
	u64 seed = c->op.value | 1, r = rng(&seed);
	u32 keys = 1 + (r >> 8) % 8, stride = r >> 16 & 1 ? 1 : c->setup.keys / 8, i;

	batch->n = 1 + (r >> 32) % c->batches;
	for (i = 0; i < batch->n; i++) {
		r = rng(&seed);
		batch->key[i] = (c->op.key + (r >> 40) % keys * stride) % c->setup.keys;
		batch_op_make(c, &batch->ops[i], c->keys[batch->key[i]], r);
	}
}

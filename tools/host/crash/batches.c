// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the batches of the crash test: what they are made of, what they
 * must say, and where a power cut may leave each key.
 *
 * Locking: one thread.
 */
#include <linux/errno.h>
#include <linux/kernel.h>

#include "crash.h"
#include "host_driver.h"
#include "model.h"

u64 crash_special(struct crash *c, u64 r)
{
	const struct host_driver *driver = c->setup.driver;

	return driver->special ? driver->special(c->store, c->keys[r % c->setup.keys]) : 0;
}

static void batch_op_make(struct crash *c, struct crab_batch_op *op, u64 key, u64 r)
{
	*op = (struct crab_batch_op) {
		.verb = CRAB_VERB_INSERT, .key = key, .mode = CRAB_INSERT_EITHER,
		.value = r >> 16 & 7, .old = { .existed = true, .value = 0xbad },
	};
	if (r % 16 < (crash_grows(c) ? 4 : 9))
		op->verb = CRAB_VERB_DELETE;
	else if (r % 16 == 15)
		op->verb = CRAB_VERB_SEARCH;
	else if (r >> 4 & 1)
		op->mode = r >> 5 & 1 ? CRAB_INSERT_CREATE : CRAB_INSERT_REPLACE;
	if (op->value == 7)
		op->value = crash_special(c, r >> 24);
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

static bool batch_status_ok(const struct crab_batch_op *op, bool there)
{
	if (op->verb != CRAB_VERB_INSERT)
		return op->status == (there ? 0 : -ENOENT);
	if (there)
		return op->status == (op->mode == CRAB_INSERT_CREATE ? -EEXIST : 0);
	if (op->mode == CRAB_INSERT_REPLACE)
		return op->status == -ENOENT;
	return !op->status || op->status == -ENOSPC;
}

const char *crash_batch_judge(const struct crash_batch *batch, u32 i,
			      struct crash_content *content)
{
	const struct crab_batch_op *op = &batch->ops[i];
	u32 key = batch->key[i];
	bool there = content->there[key], search = op->verb == CRAB_VERB_SEARCH;

	if (!batch_status_ok(op, there))
		return "has the wrong status";
	if (!search && op->old.existed != there)
		return "says the wrong thing of what existed";
	if (there && (search ? op->value : op->old.value) != content->value[key])
		return "found another value";
	if (op->status || search)
		return NULL;
	content->there[key] = op->verb == CRAB_VERB_INSERT;
	content->value[key] = op->verb == CRAB_VERB_INSERT ? op->value : 0;
	return NULL;
}

static bool key_is(const struct crash_content *content, u32 key, bool there, u64 value)
{
	return content->there[key] == there && (!there || content->value[key] == value);
}

/* Is the key in @found where some of its operations, the first ones, lead it? */
static bool key_leads(const struct crash_batch *batch, u32 key,
		      const struct crash_content *before, const struct crash_content *found)
{
	bool leads = key_is(found, key, before->there[key], before->value[key]);
	const struct crab_batch_op *op;
	u32 i;

	for (i = 0; i < batch->n && !leads; i++) {
		op = &batch->ops[i];
		if (batch->key[i] == key && op->verb != CRAB_VERB_SEARCH && !op->status)
			leads = key_is(found, key, op->verb == CRAB_VERB_INSERT, op->value);
	}
	return leads;
}

bool crash_batch_leads(const struct crash_batch *batch, u32 keys,
		       const struct crash_content *before, const struct crash_content *found)
{
	u32 key;

	for (key = 0; key < keys; key++)
		if (!key_leads(batch, key, before, found))
			return false;
	return true;
}

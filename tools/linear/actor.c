// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements actors.
 *
 * Invariant: the store returned each result between the two times that the history has
 * for it. A write is in actor.record before it begins, so that a write that never returns
 * is recorded, too.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "actor.h"
#include "tests/rng.h"

uint32_t actor_key_from(const struct actor *actor, uint64_t key)
{
	uint32_t i;

	for (i = 0; i < actor->history->keys && actor->keys[i] < key; i++)
		;
	return i;
}

/* Begins a call with the @count operations in actor.record */
static uint64_t actor_begin(struct actor *actor, uint32_t count)
{
	uint64_t now = history_invoked(actor->history);
	uint32_t i;

	for (i = 0; i < count; i++)
		actor->record[i].invoked = now;
	actor->count = count;
	return now;
}

/* A write may return -ENOSPC only if the pool is full */
static void actor_check_room(struct actor *actor, const struct history_op *op)
{
	if (op->err == -ENOSPC && actor->store->full &&
	    !actor->store->full(actor->store->arg, actor->log))
		history_fault(actor->history, "thread %" PRIu32 ", call at %" PRIu64
			      ": no space for key %" PRIu32 ", though leaves are free", actor->log,
			      op->invoked, op->key);
}

/* The value that the key had after an operation, as far as its result shows it */
static uint64_t actor_saw(const struct history_op *op)
{
	if (op->err == -EEXIST || op->err == -ESTALE)
		return op->old;
	if (op->err || op->verb == HISTORY_DELETE || op->verb == HISTORY_ERASE)
		return HISTORY_ABSENT;
	return op->verb == HISTORY_ADD ? op->old + op->value : op->value;
}

static void actor_end(struct actor *actor)
{
	uint64_t now = history_returned(actor->history);
	uint32_t i;

	for (i = 0; i < actor->count; i++) {
		actor->record[i].returned = now;
		actor->seen[actor->record[i].key] = actor_saw(&actor->record[i]);
		actor_check_room(actor, &actor->record[i]);
		history_add(actor->history, actor->log, &actor->record[i]);
	}
	actor->count = 0;
}

void actor_cut(struct actor *actor)
{
	uint32_t i;

	for (i = 0; i < actor->count; i++) {
		actor->record[i].returned = HISTORY_NEVER;
		history_add(actor->history, actor->log, &actor->record[i]);
	}
	actor->count = 0;
}

/*
 * A value that no other write and no sum has. Addends are no multiples of the numbers of values: two
 * addends of two actors would have the sum of one of a third
 */
static uint64_t actor_value(struct actor *actor, enum history_verb verb)
{
	uint64_t value = actor->values++;

	return verb == HISTORY_ADD ? rng_mix(value) : value;
}

static void actor_write_value(struct actor *actor, enum history_verb verb, uint32_t key,
			      uint64_t value)
{
	struct history_op *op = &actor->record[0];
	const struct actor_store *store = actor->store;

	*op = (struct history_op) { .verb = verb, .key = key, .value = value };
	if (verb == HISTORY_SWAP)
		op->old = op->expected = actor->seen[key];
	actor_begin(actor, 1);
	op->err = verb == HISTORY_DELETE ?
		store->remove(store->arg, actor->keys[key], &op->old) :
		store->write(store->arg, verb, actor->keys[key], op->value, &op->old);
	actor_end(actor);
}

void actor_write(struct actor *actor, enum history_verb verb, uint32_t key)
{
	actor_write_value(actor, verb, key,
			  verb == HISTORY_DELETE ? 0 : actor_value(actor, verb));
}

void actor_count_up(struct actor *actor)
{
	actor_write_value(actor, HISTORY_ADD, rng_below(&actor->seed, actor->history->keys), 1);
}

void actor_search(struct actor *actor, uint32_t key, enum history_call call)
{
	struct history_op *op = &actor->record[0];

	*op = (struct history_op) { .verb = HISTORY_READ, .call = call, .key = key };
	actor_begin(actor, 1);
	op->err = actor->store->search(actor->store->arg, actor->keys[key], &op->value);
	actor_end(actor);
}

static uint64_t actor_shape(const struct actor *actor)
{
	return actor->store->shape ? actor->store->shape(actor->store->arg) : 0;
}

/*
 * Numbers the groups of the keys from @from to @to: one for each leaf, if no leaf changed its
 * range since the caller read @shape, before the call. Otherwise the reads have no group.
 */
static void actor_number(struct actor *actor, uint64_t shape, uint32_t from, uint32_t to,
			 uint32_t *moment)
{
	const struct actor_store *store = actor->store;
	uint64_t leaf, last = 0;
	uint32_t i;

	memset(moment, 0, ACTOR_KEYS * sizeof(*moment));
	for (i = from; i < to && shape; i++, last = leaf) {
		leaf = store->leaf(store->arg, actor->keys[i]);
		actor->moments += i == from || leaf != last;
		moment[i] = actor->moments;
	}
	if (shape && actor_shape(actor) != shape)
		memset(moment, 0, ACTOR_KEYS * sizeof(*moment));
}

/*
 * A call that passed the keys with numbers [@from, @to) and returned @count records: each
 * key was read. Foreign, duplicate or unordered keys are reported here, because no key's
 * history shows them.
 */
static void actor_passed(struct actor *actor, enum history_call call, uint64_t invoked,
			 uint64_t shape, uint32_t from, uint32_t to,
			 const struct actor_record *records, uint32_t count)
{
	struct history_op op = {
		.verb = HISTORY_READ, .call = call, .invoked = invoked,
		.returned = history_returned(actor->history),
	};
	uint32_t given = 0, moment[ACTOR_KEYS];

	actor_number(actor, shape, from, to, moment);
	for (op.key = from; op.key < to; op.key++) {
		bool there = given < count && records[given].key == actor->keys[op.key];

		op.moment = moment[op.key];
		op.err = there ? 0 : -ENOENT;
		op.value = there ? records[given++].value : 0;
		history_add(actor->history, actor->log, &op);
	}
	if (given < count)
		history_fault(actor->history, "thread %" PRIu32 ", call %d at %" PRIu64
			      ": key %" PRIx64 " is foreign or out of order", actor->log, call,
			      invoked, records[given].key);
}

static void actor_seek(struct actor *actor, uint32_t key, bool up)
{
	uint64_t shape = actor_shape(actor), invoked = actor_begin(actor, 0);
	struct actor_record record;
	uint32_t found;
	int err = actor->store->seek(actor->store->arg, actor->keys[key], up, &record);

	if (err && err != -ENOENT)
		history_fault(actor->history, "seek: error %d", err);
	found = err ? (up ? actor->history->keys : 0) : actor_key_from(actor, record.key);
	if (up)
		actor_passed(actor, HISTORY_SEEK, invoked, shape, key, found + !err, &record,
			     !err);
	else
		actor_passed(actor, HISTORY_SEEK, invoked, shape, found, key + 1, &record, !err);
}

/* One call of a scan; false: no history can explain its result */
static bool actor_scan_call(struct actor *actor, struct actor_scan *scan)
{
	int err = actor->store->scan(actor->store->arg, scan);
	const struct actor_record *last = scan->records + scan->count - 1;

	if (!err && scan->count <= scan->room && (scan->count || scan->done) &&
	    (!scan->count || (last->key >= scan->start && last->key <= scan->end)))
		return true;
	history_fault(actor->history, "scan %s, %" PRIx64 " to %" PRIx64 ": error %d, %" PRIu32
		      " records", scan->back ? "down" : "up", scan->start, scan->end, err,
		      scan->count);
	return false;
}

/* From one key to another, in as many calls as necessary */
static void actor_scan(struct actor *actor, uint32_t from, uint32_t to, uint32_t room,
		       enum history_call call)
{
	struct actor_record records[ACTOR_KEYS + 1];
	struct actor_scan scan = {
		.start = actor->keys[from], .end = actor->keys[to], .records = records,
		.room = room,
	};
	uint64_t shape, invoked;
	uint32_t next;

	while (from <= to) {
		shape = actor_shape(actor);
		invoked = actor_begin(actor, 0);
		if (!actor_scan_call(actor, &scan))
			return;
		next = scan.done ? to + 1 : actor_key_from(actor, records[scan.count - 1].key) + 1;
		actor_passed(actor, call, invoked, shape, from, next, records, scan.count);
		from = next;
		if (!scan.done)
			scan.start = records[scan.count - 1].key + 1;
	}
}

static void records_turn(struct actor_record *records, uint32_t count)
{
	struct actor_record record;
	uint32_t i;

	for (i = 0; i < count / 2; i++) {
		record = records[i];
		records[i] = records[count - 1 - i];
		records[count - 1 - i] = record;
	}
}

/* actor_scan() in descending order. The records are turned round, so their keys have to descend */
static void actor_scan_back(struct actor *actor, uint32_t from, uint32_t to, uint32_t room)
{
	struct actor_record records[ACTOR_KEYS + 1];
	struct actor_scan scan = {
		.start = actor->keys[from], .end = actor->keys[to], .records = records,
		.room = room, .back = true,
	};
	uint32_t end = to + 1, next;
	uint64_t shape, invoked;

	while (end > from) {
		shape = actor_shape(actor);
		invoked = actor_begin(actor, 0);
		if (!actor_scan_call(actor, &scan))
			return;
		records_turn(records, scan.count);
		next = scan.done ? from : actor_key_from(actor, records[0].key);
		actor_passed(actor, HISTORY_SCAN, invoked, shape, next, end, records, scan.count);
		end = next;
		if (!scan.done)
			scan.end = records[0].key - 1;
	}
}

static void actor_batch(struct actor *actor)
{
	static const enum history_verb verbs[] = {
		HISTORY_INSERT, HISTORY_INSERT, HISTORY_CREATE, HISTORY_DELETE, HISTORY_DELETE,
		HISTORY_READ, HISTORY_REPLACE, HISTORY_SWAP, HISTORY_ADD,
	};
	uint32_t count = 2 + rng_below(&actor->seed, ACTOR_BATCH - 1), i;
	struct actor_op op[ACTOR_BATCH];
	int err;

	for (i = 0; i < count; i++) {
		actor->record[i] = (struct history_op) {
			.verb = verbs[rng_below(&actor->seed, sizeof(verbs) / sizeof(verbs[0]))],
			.call = HISTORY_BATCH, .key = rng_below(&actor->seed, actor->history->keys),
		};
		if (actor->record[i].verb != HISTORY_READ && actor->record[i].verb != HISTORY_DELETE)
			actor->record[i].value = actor_value(actor, actor->record[i].verb);
		if (actor->record[i].verb == HISTORY_SWAP)
			actor->record[i].expected = actor->seen[actor->record[i].key];
		op[i] = (struct actor_op) {
			.verb = actor->record[i].verb, .key = actor->keys[actor->record[i].key],
			.value = actor->record[i].value,
			.expected = actor->record[i].expected,
		};
	}
	actor_begin(actor, count);
	err = actor->store->batch(actor->store->arg, op, count);
	for (i = 0; i < count; i++) {
		actor->record[i].err = err ?: op[i].err;
		actor->record[i].old = op[i].old;
		if (op[i].verb == HISTORY_READ)
			actor->record[i].value = op[i].value;
	}
	actor_end(actor);
}

/* Deletes a range of keys, at most as many as actor.record has room for */
static void actor_erase(struct actor *actor, uint32_t from)
{
	uint32_t left = actor->history->keys - from, i;
	uint32_t count = 1 + rng_below(&actor->seed, left < ACTOR_BATCH ? left : ACTOR_BATCH);
	uint64_t deleted = 0;
	int err;

	for (i = 0; i < count; i++)
		actor->record[i] = (struct history_op) {
			.verb = HISTORY_ERASE, .call = HISTORY_RANGE, .key = from + i,
		};
	actor_begin(actor, count);
	err = actor->store->erase(actor->store->arg, actor->keys[from],
				  actor->keys[from + count - 1], &deleted);
	for (i = 0; i < count; i++)
		actor->record[i].err = err;
	actor_end(actor);
	if (deleted > count)
		history_fault(actor->history, "thread %" PRIu32 ": %" PRIu64 " of %" PRIu32
			      " keys deleted", actor->log, deleted, count);
}

/* Writes consecutive keys, sometimes up to the last, so that leaves fill and empty */
static void actor_sweep(struct actor *actor, enum history_verb verb, uint32_t key)
{
	uint32_t most = actor->history->keys / (rng_below(&actor->seed, 4) ? 4 : 1);
	uint32_t end = key + 1 + rng_below(&actor->seed, most);

	for (; key < end && key < actor->history->keys; key++)
		actor_write(actor, verb, key);
}

static void actor_read(struct actor *actor, uint32_t dice)
{
	uint32_t keys = actor->history->keys, key = rng_below(&actor->seed, keys);

	if (dice < 6)
		actor_search(actor, key, HISTORY_SINGLE);
	else if (dice < 8)
		actor_seek(actor, key, dice == 6);
	else if (dice < 9)
		actor_scan(actor, key, key + rng_below(&actor->seed, keys - key),
			   1 + rng_below(&actor->seed, ACTOR_KEYS), HISTORY_SCAN);
	else if (rng_below(&actor->seed, 2))
		actor_scan_back(actor, key % 2 ? key : 0, keys - 1,
				1 + rng_below(&actor->seed, ACTOR_KEYS));
	else
		actor_scan(actor, 0, keys - 1, 1 + rng_below(&actor->seed, ACTOR_KEYS), HISTORY_SCAN);
}

void actor_act(struct actor *actor, bool grow)
{
	uint32_t dice = rng_below(&actor->seed, 32), key = rng_below(&actor->seed, actor->history->keys);

	if (dice < 10)
		actor_read(actor, dice);
	else if (dice < (grow ? 13 : 17))
		actor_write(actor, HISTORY_DELETE, key);
	else if (dice < 19)
		actor_write(actor, HISTORY_INSERT, key);
	else if (dice < 21)
		actor_write(actor, HISTORY_CREATE, key);
	else if (dice < 23)
		actor_write(actor, HISTORY_REPLACE, key);
	else if (dice < 25)
		actor_write(actor, HISTORY_SWAP, key);
	else if (dice < 27)
		actor_write(actor, HISTORY_ADD, key);
	else if (dice < 28 && !grow && actor->store->erase && rng_below(&actor->seed, 2))
		actor_erase(actor, key);
	else if (dice < 28)
		actor_sweep(actor, grow ? HISTORY_INSERT : HISTORY_DELETE, key);
	else if (actor->store->batch)
		actor_batch(actor);
}

void actor_read_all(struct actor *actor)
{
	uint32_t key;

	for (key = 0; key < actor->history->keys; key++)
		actor_search(actor, key, HISTORY_FINAL);
	actor_scan(actor, 0, actor->history->keys - 1, ACTOR_KEYS, HISTORY_FINAL);
}

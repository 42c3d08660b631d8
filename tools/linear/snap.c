// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements actors that read snapshots.
 *
 * Invariant: each read is recorded with the times of the call that opened the snapshot: whenever
 * the read itself ran, it has to fit into the order of all operations there. All reads of a
 * snapshot have one number, so that they need a common time.
 */
#include <errno.h>
#include <inttypes.h>

#include "actor.h"
#include "tests/rng.h"

/**
 * struct reading - a snapshot that is being read
 * @actor: its actor
 * @calls: the calls
 * @snap: the snapshot
 * @op: common to all its reads
 */
struct reading {
	struct actor *actor;
	const struct actor_snap_calls *calls;
	void *snap;
	struct history_op op;
};

static void saw(struct reading *reading, uint32_t key, int err, uint64_t value)
{
	reading->op.key = key;
	reading->op.err = err;
	reading->op.value = err ? 0 : value;
	history_add(reading->actor->history, reading->actor->log, &reading->op);
}

/* @key: number of the first key that the call passed, @end: after the last one */
static void saw_range(struct reading *reading, uint32_t key, uint32_t end,
		      const struct actor_record *record, uint32_t count)
{
	const uint64_t *keys = reading->actor->keys;
	uint32_t i = 0;

	for (; key < end; key++)
		if (i < count && record[i].key == keys[key])
			saw(reading, key, 0, record[i++].value);
		else
			saw(reading, key, -ENOENT, 0);
	if (i < count)
		history_fault(reading->actor->history, "snapshot: key %" PRIx64 " is foreign or out "
			      "of order", record[i].key);
}

static int read_key(struct reading *reading)
{
	struct actor *actor = reading->actor;
	uint32_t key = rng_below(&actor->seed, actor->history->keys);
	uint64_t value = 0;
	int err = reading->calls->search(actor->store->arg, reading->snap, actor->keys[key], &value);

	if (!err || err == -ENOENT)
		saw(reading, key, err, value);
	return err;
}

static int read_near(struct reading *reading)
{
	struct actor *actor = reading->actor;
	uint32_t key = rng_below(&actor->seed, actor->history->keys), found;
	bool up = rng_below(&actor->seed, 2);
	struct actor_record record;
	int err = reading->calls->seek(actor->store->arg, reading->snap, actor->keys[key], up, &record);

	if (err && err != -ENOENT)
		return err;
	found = err ? (up ? actor->history->keys : 0) : actor_key_from(actor, record.key);
	if (up)
		saw_range(reading, key, found + !err, &record, !err);
	else
		saw_range(reading, found, key + 1, &record, !err);
	return err;
}

static int read_all(struct reading *reading)
{
	struct actor_record records[ACTOR_KEYS + 1];
	struct actor *actor = reading->actor;
	struct actor_scan scan = {
		.start = actor->keys[0], .end = actor->keys[actor->history->keys - 1],
		.records = records, .room = 1 + rng_below(&actor->seed, ACTOR_KEYS),
	};
	uint32_t from = 0, next;
	int err;

	do {
		err = reading->calls->scan(actor->store->arg, reading->snap, &scan);
		if (err)
			return err;
		next = scan.done ? actor->history->keys :
				   actor_key_from(actor, records[scan.count - 1].key) + 1;
		saw_range(reading, from, next, records, scan.count);
		from = next;
		scan.start = scan.done ? 0 : records[scan.count - 1].key + 1;
	} while (!scan.done);
	return 0;
}

static int read_some(struct reading *reading)
{
	uint32_t dice = rng_below(&reading->actor->seed, 4);

	return dice < 2 ? read_key(reading) : dice < 3 ? read_near(reading) : read_all(reading);
}

void actor_snap(struct actor *actor)
{
	struct reading reading = { .actor = actor, .calls = actor->store->snap };
	uint32_t reads = 4 + rng_below(&actor->seed, 12);
	int err = 0;

	reading.op = (struct history_op) {
		.verb = HISTORY_READ, .call = HISTORY_SCAN, .invoked = history_invoked(actor->history),
		.moment = ++actor->moments,
	};
	reading.snap = reading.calls->open(actor->store->arg);
	if (!reading.snap)
		return;
	reading.op.returned = history_returned(actor->history);
	actor->snaps++;
	while (reads-- && (!err || err == -ENOENT))
		err = read_some(&reading);
	actor->stale += err == -ESTALE;
	if (err && err != -ENOENT && err != -ESTALE)
		history_fault(actor->history, "snapshot: error %d", err);
	reading.calls->close(actor->store->arg, reading.snap);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the states of test_value_tasks, and the tasks that read them: value_states.h.
 *
 * Invariant: a read finds no state that is older than one that was seen before it began, none that
 * failed, and none that a power cut has taken back.
 */
#include "changes.h"
#include "store/gate.h"
#include "test.h"
#include "value_states.h"

struct states states;

bool states_named(void)
{
	return states.kind & STORE_NAMES;
}

void states_name(u32 key, char *text)
{
	same_crc(key + 1, text);
}

/* States */

static bool may_be(u32 key, u32 state)
{
	return state < STATES && (states.status[key][state] == PENDING || states.status[key][state] == DONE);
}

void states_raise(u32 key, u32 state)
{
	states.seen[key] = max(states.seen[key], state);
}

/* A state is seen, and with it all of its commit */
static void saw(u32 key, u32 state)
{
	const struct flight *f = &states.flight[key % WRITERS];
	bool in = false;
	u32 i;

	states_raise(key, state);
	for (i = 0; i < f->n; i++)
		in |= f->key[i] == key && f->state[i] == state;
	for (i = 0; in && i < f->n; i++)
		states_raise(f->key[i], f->state[i]);
}

/* The oldest absence that is not older than @least; 0 for the one at the begin */
static u32 absence(u32 key, u32 least)
{
	u32 state = round_up(least, 2);

	while (state <= states.top[key] && !may_be(key, state))
		state += 2;
	return state;
}

static u32 state_of(u32 key, u64 of)
{
	u32 state = states.top[key];

	while (state && states.version[key][state] != of)
		state--;
	return state;
}

/* A version belongs to one value for ever */
void states_version(u32 key, u32 state, u64 is)
{
	u32 i, other;

	tap_check(!states.version[key][state] || states.version[key][state] == is,
		  "run %llu: key %u, state %u: version %llx, which was %llx", states.run, key, state, is,
		  states.version[key][state]);
	if (states.version[key][state])
		return;
	for (i = 0; i < KEYS; i++) {
		other = state_of(i, is);
		tap_check(!other, "run %llu: key %u has the version of state %u of key %u", states.run, key, other, i);
	}
	states.version[key][state] = is;
}

/* Reads */

/* The state that a read found; @data of @bytes, or absent if @err */
static u32 judge(u32 key, u32 least, int err, const u8 *data, u32 bytes, u64 of, const char *how)
{
	u64 words[LONGEST / 8];
	u32 state, i;

	states.reads++;
	if (err == -ENOENT) {
		state = absence(key, least);
		tap_check(state <= states.top[key], "run %llu: %s: key %u is gone, after state %u", states.run, how, key, least);
		return state;
	}
	tap_check(!err && bytes >= 8 && bytes % 8 == 0 && bytes <= LONGEST, "run %llu: %s: key %u: error %d, %u bytes", states.run, how,
		  key, err, bytes);
	if (err || bytes < 8 || bytes > LONGEST)
		return least;
	memcpy(words, data, bytes);
	state = (u32)words[0];
	for (i = 0; i < bytes / 8; i++)
		tap_check(words[i] == ((u64)key << 32 | state), "run %llu: %s: key %u: word %u is %llx", states.run, how, key,
			  i, words[i]);
	tap_check(state >= least && state % 2 && may_be(key, state), "run %llu: %s: key %u has state %u after %u, of status %u",
		  states.run, how, key, state, least, state < STATES ? states.status[key][state] : 0);
	if (tap_faults)
		return least;
	states_version(key, state, of);
	return state;
}

int states_get(u32 key, struct crab_snap *snap, struct crab_blob_read *read)
{
	char name[SAME_CRC_BYTES];

	read->key = key;
	if (!states_named())
		return snap ? crab_snap_get(store, snap, read) : crab_blob_get(store, read);
	states_name(key, name);
	return snap ? crab_snap_named_get(store, snap, name, sizeof(name), read) :
		      crab_named_get(store, name, sizeof(name), read);
}

void states_read(u32 key, struct crab_snap *snap, u32 least, const char *how)
{
	u8 data[LONGEST];
	struct crab_blob_read read = { .buffer = data, .capacity = sizeof(data) };
	int err = states_get(key, snap, &read);

	if (!snap || err != -ESTALE)
		saw(key, judge(key, least, err, data, read.bytes, read.version, how));
}

/* An entry of a list: its version is known, or it is that of the write in progress */
static void listed(u32 key, u64 of, u32 least)
{
	const struct flight *f = &states.flight[key % WRITERS];
	u32 state = state_of(key, of), i;

	for (i = 0; i < f->n && !state; i++)
		if (f->key[i] == key)
			state = f->state[i];
	tap_check(state % 2 && may_be(key, state) && state >= least,
		  "run %llu: a list has state %u of key %u after %u, of version %llx", states.run, state, key, least, of);
	if (!tap_faults)
		saw(key, state);
}

static int list_next(struct crab_cursor *cursor, struct crab_named_cursor *names, u32 *key, u64 *version)
{
	struct crab_named_entry name;
	struct crab_blob_entry entry;
	char text[SAME_CRC_BYTES];
	int n;

	if (!states_named()) {
		n = crab_blob_list(store, cursor, &entry, 1);
		if (n != 1)
			return n;
		*key = min(entry.key, (u64)KEYS);
		*version = entry.version;
		return n;
	}
	n = crab_named_next(store, names, &name);
	if (n != 1)
		return n;
	for (*key = 0; *key < KEYS; ++*key) {
		states_name(*key, text);
		if (name.name_bytes == sizeof(text) && !memcmp(text, name.text, sizeof(text)))
			break;
	}
	*version = name.version;
	return n;
}

void states_list(void)
{
	struct crab_named_cursor names = { .bytes = 0 };
	u32 least[KEYS], found = 0, key, state;
	struct crab_cursor cursor;
	u64 of;

	memcpy(least, states.seen, sizeof(least));
	crab_cursor_init(&cursor, 0, KEYS - 1);
	while (list_next(&cursor, &names, &key, &of) == 1) {
		if (key == KEYS)
			continue;
		found |= 1U << key;
		listed(key, of, least[key]);
	}
	for (key = 0; key < KEYS; key++) {
		if (found >> key & 1)
			continue;
		state = absence(key, least[key]);
		tap_check(state <= states.top[key], "run %llu: a list omits key %u after state %u", states.run, key, least[key]);
		if (state <= states.top[key])
			saw(key, state);
	}
}

static void read_snapshot(void)
{
	struct crab_snap *snap;
	u32 least[KEYS], key;

	if (crab_store_observe(store) < 0)
		return;
	memcpy(least, states.seen, sizeof(least));
	snap = crab_snap_open(store);
	for (key = 0; key < KEYS; key++)
		states_read(key, snap, least[key], "a snapshot");
	crab_snap_close(snap);
}

void states_reader(void *arg)
{
	u64 state = (states.reads << 16 | states.run) + 101 + (unsigned long)arg;

	while (READ_ONCE(states.working) && !tap_faults) {
		u32 how = rng_below(&state, 8), key = rng_below(&state, KEYS);

		if (how == 0)
			states_list();
		else if (how == 1 && arg)
			read_snapshot();
		else
			states_read(key, NULL, states.seen[key], "get");
	}
}

/* Is the name of a change, or its key, one of ours? */
static u32 change_key(const struct crab_change *change)
{
	char text[SAME_CRC_BYTES];
	u32 key;

	if (!states_named())
		return min(change->key, (u64)KEYS);
	for (key = 0; key < KEYS; key++) {
		states_name(key, text);
		if (change->name_bytes == sizeof(text) && !memcmp(change->name, text, sizeof(text)))
			break;
	}
	return key;
}

/* A change that is reported is as good as seen */
static void watched(const struct crab_change *change)
{
	u32 key = change_key(change), state;

	if (key == KEYS)
		return;
	if (change->verb == CRAB_VERB_INSERT) {
		listed(key, change->value, 0);
		return;
	}
	state = absence(key, state_of(key, change->old));
	tap_check(state <= states.top[key], "run %llu: a watch reports the erase of key %u", states.run, key);
	if (state <= states.top[key])
		saw(key, state);
}

static void wake(void *arg)
{
}

void states_watcher(void *arg)
{
	const struct crab_watch_options options = {
		.end = CRAB_KEY_EMPTY - 1, .entries = 64,
		.prefix = states_named() ? "" : NULL, .wake = wake,
	};
	struct crab_change_name name;
	struct crab_change change;
	struct crab_watch *watch;

	if (crab_store_observe(store) < 0)
		return;
	watch = crab_watch_open(store, &options);
	while (READ_ONCE(states.working) && !tap_faults)
		while (take_changes(watch, &change, &name, 1) == 1)
			watched(&change);
	crab_watch_close(watch);
}


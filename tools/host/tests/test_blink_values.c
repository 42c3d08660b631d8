// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests stores of blobs, of names and of commits while one load returns another value, and the
 * next load of the word its own: each verb of a store in each kind of store, and each of its loads in turn.
 *
 * Invariant: a verb does its work, or returns -EUCLEAN and changes nothing. Afterwards the media has all
 * values and no damage, and further writes overwrite none of them. Only the value of a record that a search
 * returns is not verified.
 *
 *   test_blink_values [LAYOUT]
 */
#include "shadow/shadow.h"
#include "store/blob_commit.h"
#include "store/commit_priv.h"
#include "store/named_priv.h"
#include "store/snap.h"
#include "blink.h"
#include "test.h"

#define KEYS		12U
#define LEAF_BYTES	512U
#define LEAVES		192U
#define LONGEST		200U
#define NAME_ROOM	16U
#define NODES		256U
#define OTHERS		160U
#define REFILLS		24U	/* puts after an attach: they take the extents that it took for free */

/* The value that a load returns */
enum then { ONES, ZERO, PLACE, FLIP, THENS };

static const char * const thens[] = { "ones", "zero", "another place", "another bit" };
static const char * const kinds[] = { "records", "blobs", "names" };

static const struct run {
	const char *names[2];
	unsigned int kind;
} runs[] = {
	{ { "crab", "slotted" }, STORE_RECORDS }, { { "crab", "slotted" }, STORE_BLOBS },
	{ { "crab", "slotted" }, STORE_NAMES }, { { "crab", "sorted" }, STORE_BLOBS },
	{ { "nvtree", "append" }, STORE_NAMES }, { { "fastfair", "shift" }, STORE_BLOBS },
	{ { "clfb", "encoded" }, STORE_BLOBS }, { { "nbtree", "adr" }, STORE_NAMES },
	{ { "nbtree", "eadr" }, STORE_BLOBS },
};

static const struct run *run;
static u32 now[KEYS];		/* stamps of the values; 0: none */
static u32 before[KEYS];	/* those of the image */
static u32 stamps;		/* so far, each of one put */
static u8 *image;		/* detached */
static u8 *listed;		/* after a power cut, the list of a commit is in force */
static u32 after[KEYS];		/* stamps once the list was done */
static u8 value[LONGEST], buffer[LONGEST];

static struct {
	enum then then;
	u32 loads;
	u32 when;
} blink;

static u64 blink_value(u64 was)
{
	switch (blink.then) {
	case ONES:
		return ~0ULL;
	case ZERO:
		return 0;
	case PLACE:
		return was + (1ULL << CRAB_PLACE_CLASS_BITS);
	default:
		return was ^ 1ULL << 40;
	}
}

static void blinking(struct crab_shadow *shadow, u32 word)
{
	__le64 *at = (__le64 *)media.base + word;

	blink_over();
	if (++blink.loads == blink.when)
		blink_now(at, blink_value(le64_to_cpu(*at)));
}

/* Values: each has its stamp in front, and its other bytes follow from it and from the key */

static u32 value_make(u32 i, u32 stamp)
{
	u32 bytes = 4 + rng_mix(stamp) % (LONGEST - 4);

	rng_fill(value, (u64)stamp << 8 | i, bytes);
	memcpy(value, &stamp, 4);
	return bytes;
}

static u64 word_of(u32 i, u32 stamp)
{
	return (u64)stamp << 8 | i;
}

static u32 name_of(u32 i, char *text)
{
	return sprintf(text, "name %02u", i);
}

static int get_blob(u32 i, u32 stamp)
{
	struct crab_blob_read get = { .key = i, .buffer = buffer, .capacity = LONGEST };
	char text[NAME_ROOM];
	int err;

	err = run->kind == STORE_NAMES ? crab_named_get(store, text, name_of(i, text), &get) :
					 crab_blob_get(store, &get);
	if (err || !stamp)
		return err == (stamp ? 0 : -ENOENT) ? 0 : err ?: -ERANGE;
	return get.bytes == value_make(i, stamp) && !memcmp(buffer, value, get.bytes) ? 0 : -ERANGE;
}

/* 0, an error, or -ERANGE: it is not the value with the stamp */
static int get(u32 i, u32 stamp)
{
	u64 word;
	int err;

	if (run->kind != STORE_RECORDS)
		return get_blob(i, stamp);
	err = crab_store_search(store, i, &word);
	if (err || !stamp)
		return err == (stamp ? 0 : -ENOENT) ? 0 : err ?: -ERANGE;
	return word == word_of(i, stamp) ? 0 : -ERANGE;
}

static void write_make(struct crab_blob_write *write, u32 i, char *text, u32 stamp)
{
	*write = (struct crab_blob_write){ .key = i, .data = value };
	if (run->kind == STORE_NAMES)
		*write = (struct crab_blob_write){ 0, text, name_of(i, text), .data = value };
	if (stamp)
		write->bytes = value_make(i, stamp);
}

/* The value with a stamp, or none */
static int write_one(u32 i, u32 stamp)
{
	struct crab_blob_write write;
	char text[NAME_ROOM];

	if (run->kind == STORE_RECORDS)
		return stamp ? store_put(store, i, word_of(i, stamp)) : store_delete(store, i);
	write_make(&write, i, text, stamp);
	if (run->kind == STORE_NAMES)
		return stamp ? crab_named_put(store, &write) : crab_named_erase(store, &write);
	return stamp ? crab_blob_put(store, &write) : crab_blob_erase(store, &write);
}

/* The same of one of the keys that are compared */
static int set(u32 i, u32 stamp)
{
	int err = write_one(i, stamp);

	if (!err || (err == -ENOENT && !stamp && !now[i]))
		now[i] = stamp;
	return err == -ENOENT && !stamp && !now[i] ? 0 : err;
}

/* Does a list of the values have the keys or the names that it should have? */
static int list(bool *there)
{
	struct crab_named_cursor names = { };
	struct crab_blob_entry entry[5];
	struct crab_named_entry named;
	struct crab_cursor cursor;
	int n, i;

	crab_cursor_init(&cursor, 0, KEYS - 1);
	do {
		if (run->kind == STORE_NAMES) {
			n = crab_named_next(store, &names, &named);
			entry[0].key = atoi(named.text + 5);
			entry[0].err = named.err;
		} else {
			n = crab_blob_list(store, &cursor, entry, ARRAY_SIZE(entry));
		}
		for (i = 0; i < n; i++) {
			if (entry[i].key >= KEYS)
				continue;
			if (there[entry[i].key])
				return -ERANGE;
			there[entry[i].key] = true;
			if (entry[i].err)
				return entry[i].err;
		}
	} while (n > 0 && !cursor.done);
	return n < 0 ? n : 0;
}

/* Verbs: 0 or an error. They change now[], if they have changed the store */

static int verb_get(u32 i)
{
	return get(i, now[i]);
}

static int verb_list(u32 i)
{
	bool there[KEYS] = { };
	int err = list(there);

	for (i = 0; i < KEYS; i++)
		if (!err && there[i] != !!now[i])
			err = -ERANGE;
	return err;
}

static int verb_put(u32 i)
{
	return set(i, ++stamps);
}

static int verb_erase(u32 i)
{
	return set(i, 0);
}

static int verb_maintain(u32 i)
{
	store_maintain(store);
	return 0;
}

static int verb_check(u32 i)
{
	struct crab_check_report report;

	return crab_store_check(store, &report);
}

/* Key @i gets a value, and the next one has none */
static int verb_commit(u32 i)
{
	static struct crab_blob_commit two;
	u32 j = (i + 1) % KEYS, stamp = ++stamps;
	char text[2][NAME_ROOM];
	int err;

	memset(&two, 0, sizeof(two));
	two.n = 2;
	two.ops[0].verb = CRAB_VERB_DELETE;
	write_make(&two.ops[0].write, j, text[0], 0);
	two.ops[1].verb = CRAB_VERB_INSERT;
	write_make(&two.ops[1].write, i, text[1], stamp);
	err = run->kind == STORE_NAMES ? crab_named_commit(store, &two) : crab_blob_commit(store, &two);
	if (!err) {
		now[i] = stamp;
		now[j] = 0;
	}
	return err;
}

/* The value of key @i decides whether the next one gets it; a third one gets a sum */
static int verb_decide(u32 i)
{
	static struct crab_commit some;
	u32 j = (i + 1) % KEYS, k = (i + 2) % KEYS, stamp = ++stamps;
	int err;

	memset(&some, 0, sizeof(some));
	some.n = 3;
	some.ops[0] = (struct crab_batch_op){
		.verb = CRAB_VERB_SEARCH, .key = i, .old.expected = word_of(i, now[i]),
	};
	some.when[0] = now[i] ? CRAB_WHEN_VALUE : CRAB_WHEN_ABSENT;
	some.ops[1] = (struct crab_batch_op){
		.verb = CRAB_VERB_INSERT, .key = j, .value = word_of(j, stamp),
	};
	some.ops[2] = (struct crab_batch_op){
		.verb = CRAB_VERB_INSERT, .mode = CRAB_INSERT_ADD, .key = k,
		.value = now[k] ? 1 << 8 : word_of(k, 1),
	};
	err = crab_store_commit(store, &some);
	if (!err) {
		now[j] = stamp;
		now[k]++;
	}
	return err;
}

/* Key @i gets another value, or one at all, while a snapshot is open: that has the old one */
static int verb_snapshot(u32 i)
{
	struct crab_snap *snap = store_snap(store);
	u32 old = now[i], tries;
	u64 word;
	int err = set(i, ++stamps), got;

	for (tries = 0; !err && tries < 2; tries++) {
		got = crab_snap_search(store, snap, i, &word);
		if (got == (old ? 0 : -ENOENT) && (!old || word == word_of(i, old)))
			break;
	}
	crab_snap_close(snap);
	return tries < 2 ? err : -ERANGE;
}

static struct crab_store *attach(struct crab_attach_report *report)
{
	return crab_store_attach(&media, &(struct crab_attach_options){ }, report);
}

/* Attach, after a power cut or not; if it finds no damage, further puts find room */
static int verb_attach(u32 i)
{
	struct crab_attach_report report;

	crab_store_abandon(store);
	store = attach(&report);
	return IS_ERR(store) || report.verdict != CRAB_VERDICT_GOOD ? -EUCLEAN : 0;
}

#define WHOLE	BIT(0)	/* one key only */
#define WORDS	BIT(1)	/* in stores of records only */
#define ATTACH	BIT(2)
#define CUT	BIT(3)	/* the list of a commit is in force */

static const struct verb {
	const char *name;
	int (*call)(u32 i);
	u32 how;
} verbs[] = {
	{ "get", verb_get, 0 },
	{ "list", verb_list, WHOLE },
	{ "put", verb_put, 0 },
	{ "erase", verb_erase, 0 },
	{ "commit", verb_commit, 0 },
	{ "commit with conditions", verb_decide, WORDS },
	{ "put with a snapshot", verb_snapshot, WORDS },
	{ "CHECK", verb_check, WHOLE },
	{ "maintain", verb_maintain, WHOLE },
	{ "attach", verb_attach, WHOLE | ATTACH },
	{ "attach with the list of a commit", verb_attach, WHOLE | ATTACH | CUT },
};

static void store_load(const struct verb *verb)
{
	memcpy(media.base, verb->how & CUT ? listed : image, media.size);
	memcpy(now, before, sizeof(now));
	store = NULL;
	if (verb->how & ATTACH)
		return;
	store = store_attach(&media);
}

/* Counts the keys with another value than they should have; @failed: some may be quarantined */
static u32 count_wrong(bool failed)
{
	u32 i, wrong = 0;
	int err;

	for (i = 0; i < KEYS; i++) {
		err = get(i, now[i]);
		wrong += err && !(failed && err == -EUCLEAN);
	}
	return wrong;
}

/* Values that come and go: they take the extents that are free */
static void refill(void)
{
	u32 n, i;
	int err = 0;

	for (n = 0; n < REFILLS && !err; n++) {
		i = n % KEYS;
		if (now[i] && i % 2)
			continue;
		err = set(i, ++stamps);
	}
}

/* False: the verb loads fewer words */
static bool blink_once(const struct verb *verb, u32 i, enum then then, u32 when)
{
	struct crab_attach_report report = { };
	struct crab_shadow *shadow;
	bool failed;
	u32 wrong = 0;
	int err;

	store_load(verb);
	shadow = crab_shadow_create(&media, NODES);
	blink.then = then;
	blink.loads = 0;
	blink.when = when;
	shadow->loading = blinking;
	err = verb->call(i);
	shadow->loading = NULL;
	blink_over();
	crab_shadow_destroy(shadow);
	if (verb->how & CUT)
		memcpy(now, after, sizeof(now));
	if (!IS_ERR(store)) {
		/* A commit that is durable and cannot be done turns the store read-only */
		failed = err || store->readonly || crab_engine_is_damaged(store->engine);
		wrong = count_wrong(failed);
		if (!failed)
			refill();
		wrong += count_wrong(failed);
		crab_store_abandon(store);
	}
	store = attach(&report);
	if (!IS_ERR(store)) {
		wrong += count_wrong(false);
		crab_store_abandon(store);
	}
	tap_check((!err || err == -EUCLEAN) && !IS_ERR(store) && !wrong &&
		  report.verdict == CRAB_VERDICT_GOOD, "%s, %s: %s %u: load %u reads %s: %d, %u wrong, %s",
		  run->names[1], kinds[run->kind], verb->name, i, when, thens[then], err, wrong, report.reason);
	return blink.loads >= when;
}

static bool applies(const struct verb *verb)
{
	if (run->kind == STORE_RECORDS)
		return verb->how & (WORDS | CUT);
	return !(verb->how & WORDS);
}

static void test_verb(const struct verb *verb)
{
	u32 i, when, n = 0, step = verb->how & (ATTACH | WHOLE) ? THENS : 1;
	enum then then;

	/* These load many words: each of them returns one of the values */
	for (i = 0; i < (verb->how & WHOLE ? 1 : KEYS); i += KEYS - 1)
		for (then = ONES; then < THENS; then++)
			for (when = 1 + then % step; blink_once(verb, i, then, when); when += step)
				n++;
	if (!n && verb->call == verb_maintain)
		return;		/* no slab is sparse */
	tap_ok(n, "%s, %s: %s, while a load returns another value, %u times", run->names[1], kinds[run->kind],
	       verb->name, n);
}

/* The key of a value in the engine */
static u64 key_of(u32 i)
{
	char text[NAME_ROOM];

	if (run->kind != STORE_NAMES)
		return i;
	return crab_names_find(&store->blobs->names, text, name_of(i, text))->key;
}

/* A power cut after P21: one record of a list is new, another is to go; of values, two are to go */
static void list_make(void)
{
	struct crab_commit_list list = { .n = 2, .removes = 3 };
	struct crab_flow flow = { .media = &media };
	u32 i, n = 0, of[2];

	store = store_attach(&media);
	memcpy(after, before, sizeof(after));
	for (i = 0; n < 2; i++) {
		if (!before[i])
			continue;
		of[n] = i;
		list.record[n++].key = key_of(i);
		after[i] = 0;
	}
	if (run->kind == STORE_RECORDS) {
		list.removes = 2;
		list.record[0].value = word_of(of[0], 99);
		after[of[0]] = 99;
	}
	crab_flow_pin();
	crab_commit_store(&flow, store->super.store_id, &list);
	crab_flow_unpin();
	crab_store_abandon(store);
	listed = malloc(media.size);
	memcpy(listed, media.base, media.size);
}

/* Other values, which are not compared */
static void others(u32 from, u32 step, bool put)
{
	u32 i;

	for (i = from; i < KEYS + OTHERS; i += step)
		tap_check(!write_one(i, put ? 1 : 0), "another value");
}

/* Values of which some were replaced, and some erased: slabs are sparse */
static void run_begin(void)
{
	u32 n;

	store_begin_of(CRAB_POOL_OFFSET + LEAVES * LEAF_BYTES, run->names[0], run->names[1],
		       leaf_bytes_of(run->names[0], run->names[1]), run->kind | STORE_COMMITS);
	memset(now, 0, sizeof(now));
	stamps = 0;
	others(KEYS, 1, true);
	for (n = 0; n < 3 * KEYS; n++)
		tap_check(!set(n * 7 % KEYS, n < 2 * KEYS || n % 3 ? ++stamps : 0), "put");
	for (n = 1; n < 8; n++)
		others(KEYS + n, 8, false);
	memcpy(before, now, sizeof(before));
	crab_store_detach(store);
	image = malloc(media.size);
	memcpy(image, media.base, media.size);
	list_make();
}

static void test_run(void)
{
	u32 v;

	run_begin();
	for (v = 0; v < ARRAY_SIZE(verbs); v++)
		if (applies(&verbs[v]))
			test_verb(&verbs[v]);
	free(image);
	free(listed);
	media_destroy(&media);
}

int main(int argc, char **argv)
{
	crab_host_log = NULL;
	crab_host_seed(1);
	for (run = runs; run < runs + ARRAY_SIZE(runs); run++)
		if (argc < 2 || !strcmp(argv[1], run->names[1]))
			test_run();
	return tap_done();
}

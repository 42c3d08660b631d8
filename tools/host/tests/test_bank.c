// SPDX-License-Identifier: GPL-2.0
/*
 * This file runs several threads over a bank: accounts are blobs of one store, or variables, and a
 * transfer is a commit on the versions of two of them. One thread reads snapshots, verifies the store
 * and maintains it; others put and erase blobs between the accounts.
 *
 * Invariant: the sum of all accounts never changes, for any snapshot and after an attach.
 */
#include <pthread.h>

#include "store/blob_snap.h"
#include "store/named_priv.h"
#include "test.h"

#define TELLERS		3U
#define ACCOUNTS	8U
#define SLIPS		8U	/* other blobs */
#define STEPS		4000U	/* of a teller */
#define ROUNDS		60U	/* of the auditor, at least */
#define BALANCE		1000U	/* of each account at first */
#define LONGEST		400U	/* bytes of an account: its words are the balance */
#define NAME		2U

static bool names;
static u32 running;
static u32 rounds;
static u32 faults;
static u64 transfers;
static u64 stale;

struct teller {
	pthread_t thread;
	u64 seed;
	struct crab_blob_commit commit;
	u64 value[2][LONGEST / 8];
};

static void fault(const char *what, u64 key)
{
	if (!__atomic_fetch_add(&faults, 1, __ATOMIC_RELAXED))
		fprintf(stderr, "# account %llu: %s\n", key, what);
}

/* Names have the order of the numbers */
static void write_make(u32 account, struct crab_blob_write *write, char *name)
{
	*write = (struct crab_blob_write){ .key = account };
	if (!names)
		return;
	name[0] = 'a';
	name[1] = '0' + account;
	write->name = name;
	write->name_bytes = NAME;
}

static int account_get(struct crab_snap *snap, u32 account, u64 *value, u64 *version)
{
	struct crab_blob_read get = { .key = account, .buffer = value, .capacity = LONGEST };
	char name[NAME] = { 'a', '0' + account };
	int err;
	u32 i;

	if (snap)
		err = names ? crab_snap_named_get(store, snap, name, NAME, &get) :
			      crab_snap_get(store, snap, &get);
	else
		err = names ? crab_named_get(store, name, NAME, &get) : crab_blob_get(store, &get);
	if (err)
		return err;
	for (i = 1; i < get.bytes / 8; i++)
		if (value[i] != value[0])
			fault("parts of two values", account);
	*version = get.version;
	return get.bytes < 8 ? -EUCLEAN : 0;
}

static void value_fill(u64 *value, u64 balance, struct crab_blob_write *write, u32 words)
{
	u32 i;

	for (i = 0; i < words; i++)
		value[i] = balance;
	write->data = value;
	write->bytes = words * 8;
}

static int commit_run(struct crab_blob_commit *commit)
{
	return names ? crab_named_commit(store, commit) : crab_blob_commit(store, commit);
}

/* Moves an amount between two accounts, if no other teller changes them meanwhile */
static void transfer(struct teller *t)
{
	u32 from = rng_below(&t->seed, ACCOUNTS), to = (from + 1 + rng_below(&t->seed, ACCOUNTS - 1)) % ACCOUNTS;
	u64 amount = rng_below(&t->seed, 50), version[2], balance[2];
	char name[2][NAME];
	int err, i;

	for (i = 0; i < 2; i++) {
		if (account_get(NULL, i ? to : from, t->value[i], &version[i])) {
			fault("get fails", i ? to : from);
			return;
		}
		balance[i] = t->value[i][0];
	}
	t->commit.n = 2;
	for (i = 0; i < 2; i++) {
		struct crab_blob_op *op = &t->commit.ops[i];

		op->verb = CRAB_VERB_INSERT;
		write_make(i ? to : from, &op->write, name[i]);
		op->write.checked = true;
		op->write.version = version[i];
		value_fill(t->value[i], i ? balance[i] + amount : balance[i] - amount, &op->write,
			   1 + rng_below(&t->seed, LONGEST / 8));
	}
	err = commit_run(&t->commit);
	__atomic_fetch_add(err ? &stale : &transfers, 1, __ATOMIC_RELAXED);
	if (err && err != -ESTALE && err != -ENOSPC)
		fault("a transfer fails", err);
}

/* Another value, which moves and frees extents between the accounts */
static void slip(struct teller *t)
{
	struct crab_blob_write write;
	char name[NAME];
	int err;

	write_make(ACCOUNTS + rng_below(&t->seed, SLIPS), &write, name);
	if (rng_below(&t->seed, 3)) {
		value_fill(t->value[0], 0, &write, rng_below(&t->seed, LONGEST / 8));
		err = names ? crab_named_put(store, &write) : crab_blob_put(store, &write);
	} else {
		err = names ? crab_named_erase(store, &write) : crab_blob_erase(store, &write);
	}
	if (err && err != -ENOENT && err != -ENOSPC)
		fault("a put or an erase fails", err);
}

static void *teller_run(void *arg)
{
	struct teller *t = arg;
	u32 i;

	for (i = 0; i < STEPS || __atomic_load_n(&rounds, __ATOMIC_RELAXED) < ROUNDS; i++) {
		if (rng_below(&t->seed, 4))
			transfer(t);
		else
			slip(t);
	}
	__atomic_sub_fetch(&running, 1, __ATOMIC_RELAXED);
	return NULL;
}

/* @snap: NULL: no teller runs */
static void audit(struct crab_snap *snap)
{
	u64 value[LONGEST / 8], version, sum = 0;
	u32 i;
	int err;

	for (i = 0; i < ACCOUNTS; i++) {
		err = account_get(snap, i, value, &version);
		if (err == -ESTALE)
			return;		/* for want of memory */
		if (err)
			fault("an audit fails", i);
		sum += value[0];
	}
	if (sum != ACCOUNTS * BALANCE)
		fault("the sum is another one", sum);
}

static void *auditor_run(void *arg)
{
	struct crab_check_report report;
	struct crab_snap *snap;

	while (__atomic_load_n(&running, __ATOMIC_RELAXED)) {
		if (crab_store_observe(store) >= 0) {
			snap = crab_snap_open(store);
			audit(snap);
			crab_snap_close(snap);
		}
		store_maintain(store);
		if (crab_store_check(store, &report) || report.damage.count)
			fault(report.damage.what, report.damage.offset);
		__atomic_add_fetch(&rounds, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

static void bank_open(struct crab_media *media, const char *engine)
{
	static struct teller first;
	static char name[ACCOUNTS][NAME];
	static u64 value[ACCOUNTS][1];
	u32 i;

	*media = media_create(2 * CRAB_POOL_OFFSET + 256 * 512);
	store = store_make(media, engine, "", 512, (names ? STORE_NAMES : STORE_BLOBS) | STORE_COMMITS);
	first.commit.n = ACCOUNTS;
	for (i = 0; i < ACCOUNTS; i++) {
		first.commit.ops[i].verb = CRAB_VERB_INSERT;
		write_make(i, &first.commit.ops[i].write, name[i]);
		value_fill(value[i], BALANCE, &first.commit.ops[i].write, 1);
	}
	tap_check(!commit_run(&first.commit), "the first commit is refused");
	/* From now on there is a gate: the first snapshot does not wait for the tellers */
	if (crab_store_observe(store) >= 0)
		crab_store_unobserve(store);
}

static void test_engine(const char *engine, bool named)
{
	static struct teller teller[TELLERS];
	struct crab_media media;
	pthread_t auditor;
	u32 i;

	memset(teller, 0, sizeof(teller));
	names = named;
	faults = 0;
	transfers = 0;
	stale = 0;
	rounds = 0;
	running = TELLERS;
	bank_open(&media, engine);
	for (i = 0; i < TELLERS; i++) {
		teller[i].seed = i + 1;
		pthread_create(&teller[i].thread, NULL, teller_run, &teller[i]);
	}
	pthread_create(&auditor, NULL, auditor_run, NULL);
	for (i = 0; i < TELLERS; i++)
		pthread_join(teller[i].thread, NULL);
	pthread_join(auditor, NULL);
	audit(NULL);
	store = store_cut(store);
	audit(NULL);
	tap_check(transfers > STEPS / 8, "%llu transfers", transfers);
	tap_ok(!faults, "%s, %s: %llu transfers, %llu refused, %u audits: %u faults", engine,
	       named ? "names" : "blobs", transfers, stale, rounds, faults);
	store_end(store);
}

int main(void)
{
	test_engine("crab", false);
	test_engine("crab", true);
	test_engine("nvtree", false);
	test_engine("fastfair", true);
	test_engine("clfb", false);
	test_engine("nbtree", false);
	return tap_done();
}

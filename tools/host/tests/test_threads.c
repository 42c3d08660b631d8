// SPDX-License-Identifier: GPL-2.0
/*
 * This file runs several threads over one store and checks the results of each:
 * random operations on few keys in few leaves, round after round, concurrently with one thread that
 * prepares leaves and verifies. Each round continues with the store of the previous one.
 *
 *   test_threads [ROUNDS [SEED [LAYOUT]]]
 *
 * A history without an explanation is written next to this program.
 */
#include <inttypes.h>
#include <libgen.h>
#include <pthread.h>
#include <sched.h>

#include "linear.h"
#include "store/commit_priv.h"
#include "subject.h"
#include "test.h"

#define STEPS		3000	/* operations of a thread, in a round */
/* By default. ThreadSanitizer finds a race of accesses that are near each other, not only at once */
#ifdef __SANITIZE_THREAD__
#define ROUNDS		1
#else
#define ROUNDS		4
#endif
#define SNAPS		500	/* snapshots in a round, at most */
#define TSAN_EADR	4
#define ATTACH_LEAVES	32768	/* worth four CPUs */
#define ATTACH_KEYS	20000
#define ATTACHES	10	/* one in two shows a race of the scans */
#define INFOS		2000
#define SCANS		2	/* threads */
#define SPINS		1000	/* before a thread yields its CPU */
#define SCAN_STEP	16	/* keys, more than a leaf of 128 bytes has */

/**
 * struct run - one subject
 * @subject: kind of store
 * @store: its store
 * @calls: the same, as actors call it
 * @history: of this round
 * @actor: one for each thread, one that reads snapshots, and one for the final reads
 * @keys: by number
 * @grow: the store grows in this round
 * @gate: barrier of all threads
 * @running: actors that have not ended yet
 * @damage: errors found by the verifier
 */
struct run {
	const struct subject *subject;
	struct crab_store *store;
	struct actor_store calls;
	struct history *history;
	struct actor actor[HISTORY_LOGS];
	u64 keys[ACTOR_KEYS];
	bool grow;
	pthread_barrier_t gate;
	u32 running;
	struct crab_damage damage;
};

struct worker {
	struct run *run;
	u32 number;
	pthread_t thread;
};

/**
 * struct scanner - a thread that scans
 * @store: the store
 * @from: its first key
 * @met: of all of them: how many scans they have begun
 * @thread: its thread
 */
struct scanner {
	struct crab_store *store;
	u64 from;
	u32 *met;
	pthread_t thread;
};

static const char *directory;

static void *run_actor(void *arg)
{
	struct worker *worker = arg;
	struct run *run = worker->run;
	u32 i;

	pthread_barrier_wait(&run->gate);
	for (i = 0; i < STEPS; i++)
		subject_act(run->subject, &run->actor[worker->number], run->grow);
	__atomic_sub_fetch(&run->running, 1, __ATOMIC_RELAXED);
	return NULL;
}

/* Maintenance, CHECK and INFO, concurrently with the writers */
static void *run_keeper(void *arg)
{
	struct run *run = ((struct worker *)arg)->run;
	struct crab_check_report report;
	struct crab_store_info info;

	pthread_barrier_wait(&run->gate);
	while (READ_ONCE(run->running)) {
		while (crab_store_maintain(run->store))
			;
		crab_store_info(run->store, &info);
		crab_store_check(run->store, &report);
		if (report.damage.count && !run->damage.count)
			run->damage = report.damage;
	}
	return NULL;
}

/*
 * Snapshots, concurrently with the writers: the gate is on before they start. Writers that wait for
 * a grace period take long, and a history without an end does not fit into memory.
 */
static void *run_snap(void *arg)
{
	struct worker *worker = arg;
	struct run *run = worker->run;
	u32 i;

	pthread_barrier_wait(&run->gate);
	for (i = 0; i < SNAPS && READ_ONCE(run->running); i++)
		actor_snap(&run->actor[worker->number]);
	return NULL;
}

static void start(pthread_t *thread, void *(*run)(void *arg), void *arg)
{
	if (!pthread_create(thread, NULL, run, arg))
		return;
	tap_bail("no thread");
}

/* @observed: a thread reads snapshots */
static void round_threads(struct run *run, bool observed)
{
	struct worker worker[HISTORY_LOGS];
	u32 i, threads = run->subject->threads, all = threads + 1 + observed;

	run->running = threads;
	pthread_barrier_init(&run->gate, NULL, all);
	if (observed && crab_store_observe(run->store) < 0)
		exit(2);
	for (i = 0; i < all; i++) {
		worker[i] = (struct worker) { .run = run, .number = i };
		start(&worker[i].thread, i < threads ? run_actor : i == threads && observed ? run_snap :
		      run_keeper, &worker[i]);
	}
	for (i = 0; i < all; i++)
		pthread_join(worker[i].thread, NULL);
	if (observed)
		crab_store_unobserve(run->store);
	pthread_barrier_destroy(&run->gate);
}

static void round_keep(const struct run *run, u32 round, u64 seed)
{
	char path[512];
	FILE *to;

	snprintf(path, sizeof(path), "%s/threads-%u-%llu-%u.history", directory,
		 (u32)(run->subject - subjects), (unsigned long long)seed, round);
	to = fopen(path, "w");
	if (!to || !history_save(run->history, to))
		path[0] = '\0';
	if (to)
		fclose(to);
	tap_fail("round %u: %s", round, path[0] ? path : "the history could not be written");
}

static bool run_round(struct run *run, struct linear_counts *counts, u32 round, u64 seed)
{
	bool ok;

	run->grow = round % 4 < 2;
	round_threads(run, round % 2);
	actor_read_all(&run->actor[run->subject->threads + 1]);
	ok = linear_check(run->history, counts, stdout);
	if (run->subject->adds)
		ok &= linear_sums(run->history, stdout);
	if (!ok)
		round_keep(run, round, seed);
	tap_check(!run->damage.count, "verifier, at %llu: %s", run->damage.offset,
		  run->damage.what);
	history_next(run->history, run->subject->threads + 1);
	return ok && !run->damage.count;
}

static void run_begin(struct run *run, struct crab_media *media, u64 seed)
{
	struct crab_attach_report report;
	u32 i;

	crab_host_seed(seed);
	crab_tiny_slots = run->subject->slots;
	*media = subject_media(run->subject);
	subject_format(run->subject, media);
	run->store = subject_attach(run->subject, media, &report);
	if (IS_ERR(run->store))
		tap_bail("attach: %s", report.reason);
	run->calls = subject_calls(run->subject, run->store);
	run->history = history_create(run->subject->threads + 2, run->subject->keys);
	subject_keys(run->subject, run->keys);
	for (i = 0; i <= run->subject->threads + 1; i++)
		run->actor[i] = (struct actor) {
			.store = &run->calls, .history = run->history, .log = i,
			.keys = (const uint64_t *)run->keys, .seed = (seed + 1) * (2 * i + 1),
			.values = (i + 1ULL) << 40,
		};
}

static void run_subject(const struct subject *subject, u32 rounds, u64 seed)
{
	struct run run = { .subject = subject };
	struct linear_counts counts = { 0 };
	struct crab_store_info info;
	struct crab_media media;
	u32 round;

	run_begin(&run, &media, seed);
	for (round = 0; round < rounds; round++)
		if (!run_round(&run, &counts, round, seed))
			break;
	crab_store_info(run.store, &info);
	crab_store_detach(run.store);
	history_destroy(run.history);
	media_destroy(&media);
	tap_ok(true, "%s, %u threads: %u rounds, %" PRIu64 " operations, %" PRIu64 " beside "
	       "others, %llu splits, %llu unlinks, %u snapshots", subject->name, subject->threads,
	       rounds, counts.ops, counts.beside, info.stats.splits, info.stats.unlinks,
	       run.actor[subject->threads].snaps);
}

/* The time of a run under ThreadSanitizer is limited: the layout eadr has less */
static u32 subject_rounds(const struct subject *subject, u32 rounds)
{
#ifdef __SANITIZE_THREAD__
	if (!strcmp(subject->layout, "eadr") && rounds > TSAN_EADR)
		return rounds / TSAN_EADR;
#endif
	return rounds;
}

/* They meet before each scan, without an order for the memory that they read */
static void scanners_meet(u32 *met, u32 all)
{
	u32 spins = 0;

	__atomic_add_fetch(met, 1, __ATOMIC_RELAXED);
	while (__atomic_load_n(met, __ATOMIC_RELAXED) < all)
		if (++spins % SPINS == 0)
			sched_yield();
}

/* No thread reads a leaf that another one has read */
static void *run_scan(void *arg)
{
	const struct scanner *scanner = arg;
	struct crab_record record;
	struct crab_cursor cursor;
	uintptr_t found = 0;
	u32 i;

	for (i = 0; i < ATTACH_KEYS / SCAN_STEP / SCANS; i++) {
		crab_cursor_init(&cursor, scanner->from + i * SCANS * SCAN_STEP, U64_MAX);
		scanners_meet(scanner->met, (i + 1) * SCANS);
		found += crab_cursor_read(scanner->store, &cursor, &record, 1) == 1;
	}
	return (void *)found;
}

/* A thread keeps an order in memory that another one has just allocated for it */
static uintptr_t run_scans(struct crab_store *store)
{
	struct scanner scanner[SCANS];
	void *found = NULL;
	uintptr_t all = 0;
	u32 i, met = 0;

	for (i = 0; i < SCANS; i++) {
		scanner[i] = (struct scanner) { .store = store, .from = i * SCAN_STEP, .met = &met };
		start(&scanner[i].thread, run_scan, &scanner[i]);
	}
	for (i = 0; i < SCANS; i++, all += (uintptr_t)found)
		pthread_join(scanner[i].thread, &found);
	return all;
}

/* Attach reads a large pool in several threads */
static void run_attach(void)
{
	struct crab_media media = media_create(CRAB_POOL_OFFSET + ATTACH_LEAVES * 128);
	struct crab_store *store;
	struct crab_store_info info;
	u64 key;
	u32 i;

	crab_tiny_slots = 0;
	store = store_format_attach(&media, "", "", 128);
	for (key = 0; key < ATTACH_KEYS; key++)
		tap_check(!store_insert(store, key, key, CRAB_INSERT_CREATE), "key %llu", key);
	crab_host_cpus = 4;
	for (i = 0; i < ATTACHES; i++) {
		store = store_cut(store);
		tap_check(run_scans(store) == ATTACH_KEYS / SCAN_STEP, "a scan finds no record");
	}
	crab_store_info(store, &info);
	tap_ok(info.stats.records == ATTACH_KEYS, "attach with 4 CPUs: %llu leaves, %llu records",
	       info.super.leaves, info.stats.records);
	store_end(store);
}

static bool damaging;

static void *damage_run(void *arg)
{
	struct crab_store *store = arg;

	while (__atomic_load_n(&damaging, __ATOMIC_RELAXED))
		crab_engine_damaged(store->engine, 0, "a test");
	return NULL;
}

/* A store turns read-only while more damage is found; ThreadSanitizer sees a plain load of its count */
static void run_damage(void)
{
	struct crab_media media = media_create(CRAB_POOL_OFFSET + ATTACH_LEAVES * 128);
	struct crab_store *store;
	pthread_t thread;

	store = store_format_attach(&media, "", "", 128);
	damaging = true;
	pthread_create(&thread, NULL, damage_run, store);
	while (!crab_store_is_readonly(store))
		crab_store_look(store);
	sched_yield();
	__atomic_store_n(&damaging, false, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	tap_ok(crab_store_is_readonly(store), "a store turns read-only while more damage is found");
	store_end(store);
}

static void *commits_run(void *arg)
{
	struct crab_commit *commit = calloc(1, sizeof(*commit));
	struct crab_store *store = arg;
	struct crab_flow flow = { .media = store->media };

	while (__atomic_load_n(&damaging, __ATOMIC_RELAXED)) {
		commit->n = 1;
		commit->ops[0] = (struct crab_batch_op){ .verb = CRAB_VERB_INSERT, .key = 1 };
		crab_commit_words(store, commit, &flow);
	}
	free(commit);
	return NULL;
}

/* INFO of a store that has turned read-only, while commits run that began before */
static void run_commits(void)
{
	struct crab_media media = media_create(CRAB_POOL_OFFSET + ATTACH_LEAVES * 128);
	struct crab_store *store = store_make(&media, "", "", 128, STORE_COMMITS);
	struct crab_store_info info;
	pthread_t thread;
	u32 i;

	crab_store_set_readonly(store, "a test");
	damaging = true;
	pthread_create(&thread, NULL, commits_run, store);
	for (i = 0; i < INFOS; i++)
		crab_store_info(store, &info);
	__atomic_store_n(&damaging, false, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	tap_ok(info.stats.records <= 1, "INFO of a read-only store while a commit ends");
	store_end(store);
}

int main(int argc, char **argv)
{
	u32 rounds = argc > 1 ? atoi(argv[1]) : ROUNDS, i;
	u64 seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	const char *only = argc > 3 ? argv[3] : NULL;

	directory = dirname(argv[0]);
	run_attach();
	run_damage();
	run_commits();
	for (i = 0; subjects[i].name; i++)
		if (!only || !strcmp(subjects[i].layout, only))
			run_subject(&subjects[i], subject_rounds(&subjects[i], rounds), seed + i);
	return tap_done();
}

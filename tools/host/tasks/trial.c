// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements trials.
 *
 * A run of actors begins with an attach. It ends in a power cut; or all actors end, and the
 * store is detached or used further. Some attaches after a cut are cut as well. The history
 * between two cuts is checked with the content at its begin and the content after the next
 * attach.
 *
 * One cut in four is a crash of the kernel and not of the power: DRAM is lost, the caches
 * survive. The next attach then runs on other CPUs, whose fences complete no clean of the
 * previous CPUs.
 *
 * The void value of a leaf is often a value that an actor writes soon, so that writes
 * replace leaves and batches contain void values.
 */
#include "engines/crab/crab.h"
#include "engines/clfb/clfb.h"
#include "engines/fastfair/fastfair.h"
#include "engines/nbtree/nbtree.h"
#include "engines/nvtree/nvtree.h"
#include "lives.h"
#include "shadow/shadow.h"
#include "tasks.h"
#include "test.h"
#include "trial.h"

#define LIVES		12	/* of a store */
#define STEPS		10	/* operations of an actor between two attaches */
#define CUT_EVENTS	60	/* stores and fences before most cuts, at most */
#define CUT_PLACES	300	/* and places after the last of them */
#define RECOVER_EVENTS	8	/* the same for a cut within an attach */
#define RECOVER_PLACES	30
#define NODES		8192
#define CPUS		8	/* of one kernel; the shadow has twice as many */
#define TRIAL_SNAPS	2	/* actors that read snapshots, at most */
#define TRIAL_OTHER	16	/* operations of one key for each of several keys */
#define SOON		8	/* the next values of an actor, from which voids are chosen */

/**
 * struct trial - one store
 * @subject: kind of store
 * @number: its seed
 * @seed: of all choices
 * @media: its memory
 * @shadow: states after a cut
 * @store: while it is attached
 * @calls: the same, as actors call it
 * @history: since the last attach
 * @actor: one for each task, those that read snapshots, and one for the final reads
 * @keys: by number
 * @grow: the store grows until the next attach
 * @running: actors that have not ended yet
 * @events: stores and fences until the power is cut; 0: it is not
 * @places: and after them at most this many places
 * @cpus: number of the first CPU of this kernel
 * @inside: actors in a call
 * @held: they begin no call, because the gate of the store is being switched on
 * @changing: a task switches it on
 * @most: by actor: highest number of leaves in use since its call began
 * @parked: the task that is parked, or NULL
 * @report: of the attach that ran last
 * @totals: ...
 */
struct trial {
	const struct subject *subject;
	u64 number;
	u64 seed;
	struct crab_media media;
	struct crab_shadow *shadow;
	struct crab_store *store;
	struct actor_store calls;
	struct history *history;
	struct actor actor[HISTORY_LOGS];
	u64 keys[ACTOR_KEYS];
	bool grow;
	u32 running;
	u32 events;
	u32 places;
	u32 cpus;
	u32 inside;
	bool held;
	bool changing;
	u64 most[HISTORY_LOGS];
	struct trial_parked *parked;
	struct crab_attach_report report;
	struct trial_totals *totals;
};

static char said[TRIAL_SAID], where[64];
static struct trial *running;		/* for calls that are not passed it */

const char *trial_where(void)
{
	return where;
}

__printf(1, 2)
static bool trial_say(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	if (!said[0])
		vsnprintf(said, sizeof(said), fmt, args);
	va_end(args);
	return false;
}

static u32 trial_random(struct trial *trial, u32 below)
{
	return (rng(&trial->seed) >> 32) % below;
}

/* Number of the actor of the final reads */
static u32 trial_last(const struct trial *trial)
{
	return trial->subject->threads + TRIAL_SNAPS;
}

/* Random numbers while actors run: in half of the calls a value that an actor writes soon */
static bool trial_void(u64 *x)
{
	const struct actor *actor = &running->actor[trial_random(running,
								 running->subject->threads)];

	*x = actor->values + trial_random(running, SOON);
	return trial_random(running, 2);
}

/* Full pools */

/* Leaves in use; a turn has no stack for crab_engine_ops.stats */
static u64 trial_used(const struct trial *trial)
{
	struct crab_engine *engine = trial->store->engine;

	if (engine->ops == &crab_engine_fastfair)
		return ff_of(engine)->nodes;
	if (engine->ops == &crab_engine_nvtree)
		return nv_tree_of(engine)->leaves;
	if (engine->ops == &crab_engine_clfb)
		return clfb_tree_of(engine)->leaves;
	if (engine->ops == &crab_engine_nbtree)
		return nb_tree_of(engine)->leaves;
	if (engine->ops == crab_ea_kind.ops)	/* with those that wait for readers */
		return engine->geo.leaves - engine->pool->free;
	return crab_tree_of(engine)->leaves;
}

/* Between two turns no other task is in a structure change that ends with -ENOSPC */
static void trial_watch(struct trial *trial)
{
	u64 used = trial_used(trial);
	u32 i;

	for (i = 0; i < trial->subject->threads; i++)
		if (!trial->actor[i].count || trial->most[i] < used)
			trial->most[i] = used;
}

/* Were there ever too few leaves for a split since the actor's call began? */
static bool trial_full(void *arg, uint32_t log)
{
	running->totals->full++;
	return running->subject->leaves - running->most[log] < CRAB_SMO_FRESH + CRAB_POOL_RESERVE;
}

/* Tasks */

/* Each task has its own CPU: a fence completes only the cleans of the running task */
static void trial_turn(void *arg, u32 task)
{
	struct trial *trial = arg;

	trial->shadow->cpu = trial->cpus + task;
	if (trial->running)
		trial_watch(trial);
	if (trial->parked && task && !trial->parked->seen) {
		trial->parked->seen = tasks_parked();
		trial->parked->look(trial->parked, trial->store->engine);
	}
}

/*
 * A store or a fence: another task may run. Or the power is cut soon; in half of the cases only
 * the other tasks run until then, and may see values that are not durable.
 */
static void trial_event(struct crab_shadow *shadow, enum crab_shadow_event event,
			enum crab_point point)
{
	struct trial *trial = shadow->hook_arg;

	if (trial->events && !--trial->events)
		tasks_cut(trial_random(trial, trial->places), trial_random(trial, 2));
	crab_task_point();
}

static void act(void *arg)
{
	struct actor *actor = arg;
	struct trial *trial = container_of(actor, struct trial, actor[actor->log]);
	u32 i;

	for (i = 0; i < STEPS; i++) {
		while (READ_ONCE(trial->held))
			;
		trial->inside++;
		subject_act(trial->subject, actor, trial->grow);
		trial->inside--;
	}
	trial->running--;
}

/* Switches the gate on as a device does: no call runs that began before */
static int trial_observe(struct trial *trial)
{
	int err;

	while (READ_ONCE(trial->changing))
		;
	trial->changing = true;
	err = crab_store_observe(trial->store);
	trial->held = err > 0;
	while (trial->held && READ_ONCE(trial->inside))
		;
	trial->held = false;
	trial->changing = false;
	return min(err, 0);
}

/* Snapshots, concurrently with the writers; the gate is off in between */
static void snap(void *arg)
{
	struct actor *actor = arg;
	struct trial *trial = container_of(actor, struct trial, actor[actor->log]);

	while (READ_ONCE(trial->running)) {
		if (trial_observe(trial))
			return;
		actor_snap(actor);
		crab_store_unobserve(trial->store);
	}
}

/* Maintenance, CHECK and INFO, concurrently with the writers */
static void keep(void *arg)
{
	struct trial *trial = arg;
	struct crab_check_report report;
	struct crab_store_info info;

	while (READ_ONCE(trial->running)) {
		while (crab_store_maintain(trial->store) && READ_ONCE(trial->running))
			;
		crab_store_info(trial->store, &info);
		crab_store_check(trial->store, &report);
		if (report.damage.count)
			history_fault(trial->history, "verifier with writers, at %llu: %s",
				      report.damage.offset, report.damage.what);
	}
}

static void attach(void *arg)
{
	struct trial *trial = arg;

	trial->store = subject_attach(trial->subject, &trial->media, &trial->report);
}

/* Runs the added tasks; if @events is not 0, cuts the power up to @places after these events */
static enum tasks_end trial_tasks(struct trial *trial, u32 events, u32 places)
{
	static const u32 paces[] = { 1, 2, 3, 5, 8, 16, 40, 100 };
	struct tasks_plan plan = {
		.seed = rng(&trial->seed) | 1,
		.pace = paces[trial_random(trial, ARRAY_SIZE(paces))],
		.turn = trial_turn, .arg = trial,
		.park = trial->running && trial->parked ? trial->parked->place : 0,
	};
	enum tasks_end end;

	trial->events = events;
	trial->places = places;
	trial->shadow->hook = trial_event;
	trial->shadow->hook_arg = trial;
	crab_host_random = trial->running ? trial_void : NULL;
	end = tasks_run(&plan);
	crab_host_random = NULL;
	trial->shadow->hook = NULL;
	trial->shadow->cpu = trial->cpus;
	return end;
}

/* Parts between cuts */

/* DRAM is lost, and after a power cut the caches are lost, too */
static void trial_lose(struct trial *trial)
{
	lives_end();
	trial->store = NULL;
	trial->running = 0;
	if (trial_random(trial, 4)) {
		crab_shadow_crash(trial->shadow);
		return;
	}
	trial->totals->survived++;
	trial->cpus ^= CPUS;
	trial->shadow->cpu = trial->cpus;
}

/* Attaches the state after a cut; some of these attaches are cut as well */
static bool trial_attach(struct trial *trial)
{
	struct crab_store_info info;
	bool cut = !trial_random(trial, 4);

	lives_begin();
	tasks_add(attach, trial);
	while (trial_tasks(trial, cut ? 1 + trial_random(trial, RECOVER_EVENTS) : 0,
			   RECOVER_PLACES) == TASKS_CUT) {
		trial_lose(trial);
		trial->totals->recoveries_cut++;
		lives_begin();
		tasks_add(attach, trial);
		cut = !trial_random(trial, 2);
	}
	if (IS_ERR(trial->store) || trial->report.verdict != CRAB_VERDICT_GOOD)
		return trial_say("attach: %s", trial->report.reason);
	crab_store_info(trial->store, &info);
	trial->totals->repairs += info.stats.repairs;
	trial->calls = subject_calls(trial->subject, trial->store);
	if (!trial->calls.full)
		trial->calls.full = trial_full;
	return true;
}

static bool trial_detach(struct trial *trial)
{
	u32 left;

	crab_store_detach(trial->store);
	trial->store = NULL;
	left = lives_end();
	return !left || trial_say("%u allocations are left after detach", left);
}

/* Actors at work, until they have ended or are cut off */
static bool trial_work(struct trial *trial)
{
	u32 events = trial_random(trial, 8) ? CUT_EVENTS : 8 * CUT_EVENTS;
	bool cut = trial_random(trial, 8);
	struct crab_store_info info;
	enum tasks_end end;
	u32 i;

	trial->grow = trial_random(trial, 2);
	trial->running = trial->subject->threads;
	trial->inside = 0;
	trial->held = false;
	trial->changing = false;
	for (i = 0; i < trial->subject->threads; i++)
		tasks_add(act, &trial->actor[i]);
	if (trial_random(trial, 2))
		tasks_add(keep, trial);
	for (i = trial_random(trial, TRIAL_SNAPS + 1); i--;)
		tasks_add(snap, &trial->actor[trial->subject->threads + i]);
	end = trial_tasks(trial, cut ? 1 + trial_random(trial, events) : 0, CUT_PLACES);
	if (end == TASKS_STUCK)
		return trial_say("they come to no end");
	if (end == TASKS_DONE) {
		crab_store_info(trial->store, &info);
		trial->totals->splits += info.stats.splits;
		trial->totals->unlinks += info.stats.unlinks;
		if (!cut)
			return true;
	}
	for (i = 0; i < trial->subject->threads; i++)
		actor_cut(&trial->actor[i]);
	trial->totals->cuts++;
	trial_lose(trial);
	return trial_attach(trial);
}

static bool trial_judge(struct trial *trial, FILE *why)
{
	struct crab_check_report report;

	actor_read_all(&trial->actor[trial_last(trial)]);
	crab_store_check(trial->store, &report);
	if (report.damage.count)
		return trial_say("check, at %llu: %s", report.damage.offset, report.damage.what);
	if (trial->shadow->errors)
		return trial_say("shadow: %s", trial->shadow->error);
	if (trial->subject->adds && !linear_sums(trial->history, why))
		return trial_say("a sum is wrong");
	return linear_check(trial->history, &trial->totals->counts, why) ||
	       trial_say("%s", trial->history->fault[0] ? trial->history->fault :
						       "no order explains the history");
}

static bool trial_life(struct trial *trial, u32 life, FILE *why)
{
	running = trial;
	snprintf(where, sizeof(where), "subject %s, seed %llu, life %u", trial->subject->name,
		 trial->number, life);
	trial->totals->lives++;
	if (!trial_work(trial) || !trial_judge(trial, why))
		return false;
	history_next(trial->history, trial_last(trial));
	return trial_random(trial, 8) || (trial_detach(trial) && trial_attach(trial));
}

/* Trials */

bool trial_fits(const struct subject *subject)
{
	return !(crab_engine_by_name(subject->engine)->flags & CRAB_ENGINE_VOLATILE);
}

static struct trial *trial_begin(const struct subject *subject, u64 number,
				 struct trial_totals *totals)
{
	struct trial *trial = calloc(1, sizeof(*trial));
	u32 i;

	*trial = (struct trial) {
		.subject = subject, .number = number, .totals = totals,
		.seed = (number + 1) * 0x9e3779b97f4a7c15ULL | 1,
	};
	crab_host_seed(trial->seed);
	crab_host_cpus = 1;
	crab_tiny_slots = subject->slots;
	trial->media = subject_media(subject);
	trial->shadow = crab_shadow_create(&trial->media, NODES);
	trial->shadow->model = crab_shadow_model_of(
		crab_layout_by_name(crab_engine_by_name(subject->engine), subject->layout)->needs);
	trial->shadow->seed = trial->seed;
	subject_format(subject, &trial->media);
	trial->history = history_create(trial_last(trial) + 1, subject->keys);
	subject_keys(subject, trial->keys);
	for (i = 0; i <= trial_last(trial); i++)
		trial->actor[i] = (struct actor) {
			.store = &trial->calls, .history = trial->history, .log = i,
			.keys = (const uint64_t *)trial->keys, .seed = rng(&trial->seed) | 1,
			.values = (i + 1ULL) << 40,
		};
	return trial;
}

static void trial_end(struct trial *trial)
{
	u32 i;

	for (i = 0; i < TRIAL_SNAPS; i++) {
		trial->totals->snaps += trial->actor[trial->subject->threads + i].snaps;
		trial->totals->stale += trial->actor[trial->subject->threads + i].stale;
	}
	lives_end();
	crab_shadow_destroy(trial->shadow);
	history_destroy(trial->history);
	media_destroy(&trial->media);
	free(trial);
}

/* A parked task */

static void act_parked(void *arg)
{
	struct actor *actor = arg;
	struct trial *trial = container_of(actor, struct trial, actor[actor->log]);

	actor_write(actor, trial->parked->verb, trial->parked->key);
	trial->running--;
}

/* A write or a read of one key, for which the number of places has a bound */
static void act_one(struct actor *actor, struct trial_parked *parked)
{
	static const u8 verbs[] = { HISTORY_INSERT, HISTORY_INSERT, HISTORY_CREATE, HISTORY_REPLACE,
				    HISTORY_DELETE, HISTORY_DELETE, HISTORY_ADD, HISTORY_READ };
	u32 verb = verbs[rng_below(&actor->seed, ARRAY_SIZE(verbs))];
	u32 key = parked->from + rng_below(&actor->seed, actor->history->keys - parked->from);
	u64 places = tasks_places();

	if (verb == HISTORY_READ)
		actor_search(actor, key, HISTORY_SINGLE);
	else
		actor_write(actor, verb, key);
	parked->most = max(parked->most, tasks_places() - places);
	parked->done++;
}

/* The others: operations on the same keys; now and then on several, such as scans and batches */
static void act_beside(void *arg)
{
	struct actor *actor = arg;
	struct trial *trial = container_of(actor, struct trial, actor[actor->log]);
	u32 i;

	for (i = 0; i < trial->parked->ops; i++) {
		act_one(actor, trial->parked);
		if (i % TRIAL_OTHER == 0 && !trial->parked->from)
			actor_act(actor, true);
	}
	if (--trial->running == 1 && trial->parked->cut)
		tasks_cut(1, false);
}

/* The tasks at work, until the power is cut; or until the parked one has gone on and ended */
static bool trial_work_parked(struct trial *trial)
{
	u32 i;

	trial->running = trial->subject->threads;
	for (i = 0; i < trial->subject->threads; i++)
		tasks_add(i ? act_beside : act_parked, &trial->actor[i]);
	trial->parked->end = trial_tasks(trial, 0, 0);
	trial->running = 0;
	if (trial->parked->end == TASKS_DONE)
		return true;
	if (trial->parked->end == TASKS_STUCK)
		return trial_say("they come to no end");
	for (i = 0; i < trial->subject->threads; i++)
		actor_cut(&trial->actor[i]);
	trial_lose(trial);
	return trial_attach(trial);
}

const char *trial_park(const struct subject *subject, u64 seed, struct trial_parked *parked, FILE *why)
{
	struct trial_totals totals = { };
	struct trial *trial = trial_begin(subject, seed, &totals);
	bool ok;

	said[0] = '\0';
	running = trial;
	ok = trial_attach(trial);
	if (ok) {
		parked->prepare(parked, trial->store, trial->keys);
		actor_read_all(&trial->actor[trial_last(trial)]);
		history_next(trial->history, trial_last(trial));
		trial->parked = parked;
	}
	ok = ok && trial_work_parked(trial) && trial_judge(trial, why) && trial_detach(trial);
	trial_end(trial);
	return ok ? NULL : said;
}

static void trial_keep(const struct trial *trial, const char *directory)
{
	char path[512];
	FILE *to;

	snprintf(path, sizeof(path), "%s/tasks-%u-%llu.history", directory,
		 (u32)(trial->subject - subjects), trial->number);
	to = fopen(path, "w");
	if (!to)
		return;
	if (history_save(trial->history, to))
		printf("# the history is in %s\n", path);
	fclose(to);
}

const char *trial_run(const struct subject *subject, u64 seed, struct trial_totals *totals,
		      FILE *why, const char *directory)
{
	struct trial *trial = trial_begin(subject, seed, totals);
	bool ok;
	u32 i;

	said[0] = '\0';
	ok = trial_attach(trial);
	for (i = 0; i < LIVES && ok; i++)
		ok = trial_life(trial, i, why);
	if (ok)
		ok = trial_detach(trial);
	if (!ok && directory)
		trial_keep(trial, directory);
	trial_end(trial);
	return ok ? NULL : said;
}

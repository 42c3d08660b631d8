// SPDX-License-Identifier: GPL-2.0
/*
 * This file runs the workloads of the kill matrix.
 *
 * Locking: one thread.
 */
#include <signal.h>
#include <sys/time.h>

#include "host_driver.h"
#include "test.h"
#include "workload.h"
#include "blobs.h"
#include "explore.h"

#define DAMAGE_WORDS		32
#define WORKLOAD_IDLE		3	/* seconds of CPU time without an image: then it is hung */
#define WORKLOAD_CONTENDED	5	/* one of this many trylocks of a batch fails */

#define SLOTTED	.driver = &host_driver_crab, .layout = "slotted", .leaf_bytes = 128

/* Those of the layers above the engines */
static const struct workload shared_workloads[] = {
	{ "commits", { SLOTTED, .commits = true },
	  .steps = 300, .leaves = 30, .often = CRASH_BATCH, .often_every = 2, .batch = 3 },
	{ "commits, survive", { SLOTTED, .commits = true },
	  .steps = 300, .leaves = 30, .often = CRASH_SURVIVE, .often_every = 3, .batch = 2 },
	{ "commits, closed", .space = "clfb-commits" },
	{ "commits of blobs", .space = "slotted-blob-commits" },
	{ "restores", { SLOTTED }, .steps = 120, .format_every = 4 },
	{ "commits of names", .space = "slotted-name-commits" },
	{ }
};

const struct workload *workloads[WORKLOADS_MAX];
u32 workloads_count;

static void workloads_add(const struct workload *workload)
{
	for (; workload->name; workload++) {
		BUG_ON(workloads_count == WORKLOADS_MAX);
		workloads[workloads_count++] = workload;
	}
}

void workloads_init(void)
{
	const struct host_driver * const *driver;

	for (driver = host_drivers; *driver; driver++)
		workloads_add((*driver)->workloads);
	workloads_add(shared_workloads);
}

/* The store in @c has one damaged word: does attach report it, and no search deny a record? */
static bool damage_is_reported(struct crash *c)
{
	struct crab_attach_options options = { .tuning = &c->setup.tuning };
	struct crab_attach_report report;
	u64 stores = c->shadow->counts.stores, value;
	bool reported = true;
	u32 i;

	c->store = crab_store_attach(&c->media, &options, &report);
	if (IS_ERR(c->store)) {
		c->store = NULL;
		return false;
	}
	for (i = 0; i < CRASH_KEYS_DEFAULT; i++)
		if (c->content.key[i].there &&
		    crab_store_search(c->store, c->keys[i], &value) == -ENOENT)
			reported = false;
	reported &= report.verdict == CRAB_VERDICT_RO && !crab_store_maintain(c->store);
	crab_store_abandon(c->store);
	c->store = NULL;
	return reported && c->shadow->counts.stores == stores;
}

/* Damages each sealed word in turn */
static bool damage_all(struct crash *c)
{
	const struct host_driver *driver = c->setup.driver;
	__le64 *words[DAMAGE_WORDS];
	u32 n = driver->sealed(c->store, words, DAMAGE_WORDS);

	crab_store_detach(c->store);
	c->store = NULL;
	while (n--) {
		*words[n] ^= cpu_to_le64(driver->sealed_bit);
		if (!damage_is_reported(c)) {
			strscpy(c->said, "attach does not report a damaged word", sizeof(c->said));
			return false;
		}
		*words[n] ^= cpu_to_le64(driver->sealed_bit);
	}
	return true;
}

/* The shadow of the workload that is running, or NULL before there is one */
static struct crab_shadow * const *watched;

/* An endless loop ends no operation, so that no image is tried: one takes microseconds */
static void watch_tick(int number)
{
	static u64 images;
	static u32 idle;
	u64 now = *watched ? (*watched)->counts.images : 0;

	idle = now == images ? idle + 1 : 0;
	images = now;
	if (idle == WORKLOAD_IDLE)
		raise(SIGKILL);
}

/* Ends the process when it is hung, until the next call with NULL */
static void watch(struct crab_shadow * const *shadow)
{
	const struct itimerval often = {
		.it_interval.tv_sec = !!shadow, .it_value.tv_sec = !!shadow,
	};

	if (shadow)
		watched = shadow;
	signal(SIGPROF, watch_tick);
	setitimer(ITIMER_PROF, &often, NULL);
}

static enum workload_end space_run(const struct workload *workload, char *said)
{
	const struct space *space = space_by_name(workload->space);
	struct explore x = { .shadow = NULL };
	bool ok;

	watch(&x.shadow);
	ok = explore_begin(&x, space) && explore_run(&x) && (!space->blobs || blobs_damage(&x));
	watch(NULL);
	strscpy(said, x.said, CRASH_SAID);
	explore_end(&x);
	return ok ? WORKLOAD_SOUND : WORKLOAD_FOUND;
}

enum workload_end workload_run(const struct workload *workload, char *said)
{
	enum workload_end end = WORKLOAD_SOUND;
	static struct crash c;
	bool ok;

	if (workload->space)
		return space_run(workload, said);
	crab_host_contended = workload->batch ? WORKLOAD_CONTENDED : 0;
	c.shadow = NULL;
	watch(&c.shadow);
	ok = crash_begin(&c, &workload->setup, workload->leaves ?: 10, 1);
	c.format_every = workload->format_every ?: 128;
	c.often = workload->often;
	c.often_every = workload->often_every;
	c.batches = workload->batch;
	c.every_store = workload->batch;
	if (!ok || !crash_run(&c, workload->steps, workload->depth ?: 1) ||
	    (workload->damage && !damage_all(&c)))
		end = c.gave_up || c.shadow->errors ? WORKLOAD_GAVE_UP : WORKLOAD_FOUND;
	watch(NULL);
	strscpy(said, c.said, CRASH_SAID);
	crash_end(&c);
	return end;
}

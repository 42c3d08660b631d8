// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements teams of threads.
 *
 * Invariant: the clock of a thread starts when all threads are ready, and stops when its
 * own share is done.
 */
#include <pthread.h>

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/smp.h>

#include <asm/processor.h>

#include "rig.h"
#include "team.h"

struct member {
	pthread_t thread;
	u32 nth;
	const struct peer *peer;
	void *map;
	struct crab_bench_work work;
	pthread_barrier_t *start;
	u64 cpu_ns;
	u64 began;
	u64 ended;
	u64 waits;
	int err;
};

static void *member_main(void *arg)
{
	struct member *m = arg;
	u64 cpu;

	rig_pin(m->nth);
	pthread_barrier_wait(m->start);
	m->began = ktime_get_ns();
	cpu = rig_cpu_ns();
	m->err = m->peer->run(m->map, &m->work);
	m->cpu_ns = rig_cpu_ns() - cpu;
	m->ended = ktime_get_ns();
	m->waits = crab_host_waits;
	return NULL;
}

void team_share(u64 n, u32 threads, u32 nth, u64 *from, u64 *to)
{
	*from = n * nth / threads;
	*to = n * (nth + 1) / threads;
}

static void member_start(struct member *m, const struct crab_bench_work *work, u32 threads)
{
	u64 from, to;

	team_share(work->n, threads, m->nth, &from, &to);
	m->work = *work;
	m->work.n = to - from;
	m->work.keys += from;
	m->work.ops += work->ops ? from : 0;
	m->work.scans += work->scans ? from : 0;
	if (pthread_create(&m->thread, NULL, member_main, m))
		rig_fail("no thread", -ENOMEM);
}

static int team_end(struct member *members, u32 threads, struct team_time *time)
{
	u64 began = U64_MAX, ended = 0;
	struct member *m;
	int err = 0;

	*time = (struct team_time) { };
	crab_host_leave();	/* or grace periods wait for this thread */
	for (m = members; m < members + threads; m++) {
		pthread_join(m->thread, NULL);
		time->cpu_ns += m->cpu_ns - m->work.prepare_ns;
		time->prepare_ns += m->work.prepare_ns;
		time->waits += m->waits;
		began = min(began, m->began);
		ended = max(ended, m->ended);
		err = err ?: m->err;
	}
	time->wall_ns = ended - began;
	return err;
}

int team_run(const struct peer *peer, void *map, const struct crab_bench_work *work, u32 threads,
	     struct team_time *time)
{
	struct member members[TEAM_MAX];
	pthread_barrier_t start;
	u32 i;
	int err;

	pthread_barrier_init(&start, NULL, threads);
	for (i = 0; i < threads; i++) {
		members[i] = (struct member) { .nth = i, .peer = peer, .map = map, .start = &start };
		member_start(&members[i], work, threads);
	}
	err = team_end(members, threads, time);
	pthread_barrier_destroy(&start);
	return err;
}

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_WORKQUEUE_H
#define CRAB_SHIM_LINUX_WORKQUEUE_H

#include <pthread.h>
#include <linux/bug.h>
#include <linux/types.h>

/* Each work is a thread: the host's scheduler is the queue */
struct work_struct {
	void (*func)(struct work_struct *work);
	pthread_t thread;
	bool running;
};

struct workqueue_struct;

#define system_unbound_wq	((struct workqueue_struct *)0)
#define INIT_WORK(w, f)		(*(w) = (struct work_struct) { .func = (f) })

static inline void *crab_shim_work(void *arg)
{
	struct work_struct *work = arg;

	work->func(work);
	return NULL;
}

/*
 * Without a thread, a work is executed at once: a queued work has run when it is flushed. A shadow
 * of the media supports only one thread, unless the program is built for several.
 */
static inline bool queue_work(struct workqueue_struct *wq, struct work_struct *work)
{
#if defined(CRABTREE_SHADOW) && !defined(CRABTREE_HOST_THREADS)
	work->running = false;
#else
	work->running = !pthread_create(&work->thread, NULL, crab_shim_work, work);
#endif
	if (!work->running)
		work->func(work);
	return true;
}

static inline bool flush_work(struct work_struct *work)
{
	bool was = work->running;

	if (was)
		pthread_join(work->thread, NULL);
	work->running = false;
	return was;
}

#endif /* CRAB_SHIM_LINUX_WORKQUEUE_H */

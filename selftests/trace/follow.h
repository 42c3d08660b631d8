/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the state of follow, which compares the module with the host build.
 *
 * Locking: one thread.
 */
#ifndef TRACE_FOLLOW_H
#define TRACE_FOLLOW_H

#include "log.h"
#include "store/store.h"
#include "workload.h"

/* The double of L1: it keeps nothing, it compares */
struct crab_shadow {
	const struct log_event *next;
	const struct log_event *end;
};

/**
 * struct follow_worker - the module's worker
 * @maintaining: it works; @preparing: on a free leaf
 * @prepared: leaves prepared; @merged: pairs of leaves merged; @moved: blobs moved
 * @within: times that it worked within an operation
 * @move: a blob that is durable in its new place, whose key does not have the new word yet
 */
struct follow_worker {
	bool maintaining;
	bool preparing;
	u64 prepared;
	u64 merged;
	u64 moved;
	u64 within;
	struct {
		bool runs;
		u64 key;
		u64 word;
	} move;
};

extern struct crab_shadow follow;
extern struct crab_store *store;
extern struct follow_worker worker;
extern u64 events, differences;
extern bool trying;	/* a child: it prints nothing */

static inline bool is_event(const struct log_event *e)
{
	return e < follow.end && e->type < LOG_CALL;
}

static inline bool is_store_at(const struct log_event *e, u64 offset)
{
	return is_event(e) && e->type == LOG_STORE && e->offset == offset;
}

/**
 * differ() - report a difference
 * @what: description
 * @host: event of the host build, or NULL
 * @machine: event of the machine, or NULL
 */
void differ(const char *what, const struct log_event *host, const struct log_event *machine);

/**
 * follow_limit() - limit the CPU time: a broken module may do anything
 */
void follow_limit(void);

/* worker.c */

/**
 * worker_writes() - whether the worker of the store writes media
 *
 * Return: true for the engine crab.
 */
bool worker_writes(void);

/**
 * worker_follow() - do the work of the worker that the log shows here; called where it may have run
 */
void worker_follow(void);

#endif /* TRACE_FOLLOW_H */

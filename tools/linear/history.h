/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares histories: the operations of several threads on a store, with times
 * and results.
 *
 * A history consists of operations on one key. A seek or a scan is recorded as a read of
 * each key that it passed over or returned, with the times of the call. This is its promise:
 * each record was present and each omitted key absent at *some* time during the call. A
 * batch is recorded as its operations, with the times of the call. A delete of a range is recorded
 * as an erase of each key of the range: each was absent at *some* time during the call.
 *
 * Times: a clock that ticks whenever a call returns. A call that began at @invoked began
 * after all calls with @returned <= @invoked had returned, in real time: a thread that read the
 * clock saw the stores of their ticks. The checker concludes nothing else from times, so a
 * late read of the clock makes the checker more permissive, never wrong. Fences keep the call's own
 * accesses between its two times.
 *
 * Locking: a log belongs to one thread; all threads share the clock.
 */
#ifndef LINEAR_HISTORY_H
#define LINEAR_HISTORY_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define HISTORY_LOGS	8		/* at most */
#define HISTORY_NEVER	UINT64_MAX	/* a call that was cut off */
#define HISTORY_ABSENT	0		/* as a value: the key is not there */

enum history_verb {
	HISTORY_READ,
	HISTORY_INSERT,		/* whether or not the key is there */
	HISTORY_CREATE,
	HISTORY_REPLACE,
	HISTORY_DELETE,
	HISTORY_SWAP,		/* compare-and-swap */
	HISTORY_ADD,		/* a missing key counts as 0 */
	HISTORY_ERASE,		/* as a delete, but nothing shows whether the key was there */
};

/* Kind of the call, for messages */
enum history_call {
	HISTORY_SINGLE,
	HISTORY_SEEK,
	HISTORY_SCAN,
	HISTORY_BATCH,
	HISTORY_RANGE,
	HISTORY_FINAL,		/* after all other operations */
};

/**
 * struct history_op - an operation on one key
 * @invoked: when the call began
 * @returned: when it returned, or HISTORY_NEVER
 * @value: the value written or read, or the addend
 * @old: the value that a write replaced, or HISTORY_ABSENT
 * @expected: the value that a compare-and-swap replaces
 * @key: number of the key
 * @err: 0 or a negative errno
 * @verb: enum history_verb
 * @call: enum history_call
 * @moment: not 0: this read and the neighbouring ones in its log with the same number belong to
 *	one state of a leaf, or to one snapshot
 */
struct history_op {
	uint64_t invoked;
	uint64_t returned;
	uint64_t value;
	uint64_t old;
	uint64_t expected;
	uint32_t key;
	int16_t err;
	uint8_t verb;
	uint8_t call;
	uint32_t moment;
};

/* The operations of one thread, in order */
struct history_log {
	struct history_op *op;
	uint32_t count;
	uint32_t room;
};

/**
 * struct history - the operations of all threads
 * @clock: ticks when a call returns
 * @logs: how many threads
 * @keys: how many keys
 * @first: by key: its value at the beginning
 * @log: by thread
 * @fault: description of the first result that no history can explain; or empty
 */
struct history {
	uint64_t clock;
	uint32_t logs;
	uint32_t keys;
	uint64_t *first;
	struct history_log log[HISTORY_LOGS];
	char fault[160];
};

/**
 * history_create() - make an empty history in which no key is present
 * @logs: number of threads
 * @keys: number of keys
 *
 * Return: the history, or NULL without memory.
 */
struct history *history_create(uint32_t logs, uint32_t keys);
void history_destroy(struct history *history);

/**
 * history_next() - begin a new history with the values that @log read last
 */
void history_next(struct history *history, uint32_t log);

/**
 * history_add() - add one operation
 * @history: the history
 * @log: number of the thread
 * @op: the operation; an error of allocation ends the program
 */
void history_add(struct history *history, uint32_t log, const struct history_op *op);

/**
 * history_fault() - record a result that is wrong in every order; any thread may call it
 * @history: the history
 * @fmt: format of the message
 */
__attribute__((format(printf, 2, 3)))
void history_fault(struct history *history, const char *fmt, ...);

/**
 * history_print() - print one operation in one line
 * @to: the file
 * @log: number of the thread
 * @op: the operation
 */
void history_print(FILE *to, uint32_t log, const struct history_op *op);

/**
 * history_save() - write a history as text, which history_load() reads
 * @history: the history
 * @to: the file
 *
 * Return: false if it could not be written.
 */
bool history_save(const struct history *history, FILE *to);
struct history *history_load(FILE *from);

static inline uint64_t history_invoked(struct history *history)
{
	uint64_t now = __atomic_load_n(&history->clock, __ATOMIC_RELAXED);

	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return now;
}

static inline uint64_t history_returned(struct history *history)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return __atomic_add_fetch(&history->clock, 1, __ATOMIC_RELAXED);
}

#endif /* LINEAR_HISTORY_H */

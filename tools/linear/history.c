// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements histories: their memory, and their text.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "history.h"

static const char * const verb_names[] = {
	"read", "insert", "create", "replace", "delete", "swap", "add", "erase",
};
static const char * const call_names[] = { "single", "seek", "scan", "batch", "range", "final" };

struct history *history_create(uint32_t logs, uint32_t keys)
{
	struct history *history = calloc(1, sizeof(*history));

	if (!history || logs > HISTORY_LOGS)
		goto err_free;
	history->logs = logs;
	history->keys = keys;
	history->first = calloc(keys, sizeof(*history->first));
	if (history->first)
		return history;
err_free:
	free(history);
	return NULL;
}

void history_destroy(struct history *history)
{
	uint32_t i;

	if (!history)
		return;
	for (i = 0; i < history->logs; i++)
		free(history->log[i].op);
	free(history->first);
	free(history);
}

void history_next(struct history *history, uint32_t log)
{
	const struct history_log *last = &history->log[log];
	uint32_t i;

	for (i = 0; i < last->count; i++)
		history->first[last->op[i].key] = last->op[i].err ? HISTORY_ABSENT :
								    last->op[i].value;
	for (i = 0; i < history->logs; i++)
		history->log[i].count = 0;
	history->clock = 0;
	history->fault[0] = '\0';
}

void history_add(struct history *history, uint32_t log, const struct history_op *op)
{
	struct history_log *to = &history->log[log];

	if (to->count == to->room) {
		to->room = to->room ? 2 * to->room : 1024;
		to->op = realloc(to->op, to->room * sizeof(*to->op));
		if (!to->op) {
			fprintf(stderr, "no memory for a history\n");
			exit(2);
		}
	}
	to->op[to->count++] = *op;
}

void history_fault(struct history *history, const char *fmt, ...)
{
	static bool taken;
	va_list args;

	if (__atomic_exchange_n(&taken, true, __ATOMIC_ACQ_REL))
		return;
	va_start(args, fmt);
	if (!history->fault[0])
		vsnprintf(history->fault, sizeof(history->fault), fmt, args);
	va_end(args);
	__atomic_store_n(&taken, false, __ATOMIC_RELEASE);
}

void history_print(FILE *to, uint32_t log, const struct history_op *op)
{
	fprintf(to, "%" PRIu32 " %" PRIu64 " ", log, op->invoked);
	if (op->returned == HISTORY_NEVER)
		fprintf(to, "never");
	else
		fprintf(to, "%" PRIu64, op->returned);
	fprintf(to, " %s %s %" PRIu32 " %" PRIx64 " %" PRIx64 " %d", call_names[op->call],
		verb_names[op->verb], op->key, op->value, op->old, op->err);
	if (op->moment || op->expected)
		fprintf(to, " %" PRIu32, op->moment);
	if (op->expected)
		fprintf(to, " %" PRIx64, op->expected);
	fprintf(to, "\n");
}

bool history_save(const struct history *history, FILE *to)
{
	uint32_t log, i;

	fprintf(to, "history %" PRIu32 " %" PRIu32 "\n", history->logs, history->keys);
	for (i = 0; i < history->keys; i++)
		if (history->first[i] != HISTORY_ABSENT)
			fprintf(to, "first %" PRIu32 " %" PRIx64 "\n", i, history->first[i]);
	fprintf(to, "# thread invoked returned call verb key value old error moment expected\n");
	for (log = 0; log < history->logs; log++)
		for (i = 0; i < history->log[log].count; i++)
			history_print(to, log, &history->log[log].op[i]);
	if (history->fault[0])
		fprintf(to, "fault %s\n", history->fault);
	return !ferror(to);
}

/* Which of @names, or -1 */
static int name_index(const char * const *names, int count, const char *name)
{
	int i;

	for (i = 0; i < count && strcmp(names[i], name); i++)
		;
	return i < count ? i : -1;
}

#define NAME_INDEX(names, name)	name_index(names, sizeof(names) / sizeof((names)[0]), name)

static bool load_op(struct history *history, const char *line)
{
	char returned[24], call[16], verb[16];
	struct history_op op = { .returned = HISTORY_NEVER };
	int err, call_index, verb_index;
	uint32_t log;

	if (sscanf(line, "%" SCNu32 " %" SCNu64 " %23s %15s %15s %" SCNu32 " %" SCNx64 " %" SCNx64 " %d %"
		   SCNu32 " %" SCNx64, &log, &op.invoked, returned, call, verb, &op.key, &op.value,
		   &op.old, &err, &op.moment, &op.expected) < 9)
		return false;
	if (strcmp(returned, "never"))
		op.returned = strtoull(returned, NULL, 10);
	call_index = NAME_INDEX(call_names, call);
	verb_index = NAME_INDEX(verb_names, verb);
	if (log >= history->logs || op.key >= history->keys || call_index < 0 || verb_index < 0)
		return false;
	op.err = err;
	op.call = call_index;
	op.verb = verb_index;
	history_add(history, log, &op);
	return true;
}

static bool load_line(struct history *history, const char *line)
{
	uint64_t value;
	uint32_t key;

	if (line[0] == '#')
		return true;
	if (sscanf(line, "first %" SCNu32 " %" SCNx64, &key, &value) == 2) {
		if (key < history->keys)
			history->first[key] = value;
		return key < history->keys;
	}
	if (sscanf(line, "fault %159[^\n]", history->fault) == 1)
		return true;
	return load_op(history, line);
}

struct history *history_load(FILE *from)
{
	struct history *history = NULL;
	uint32_t logs, keys;
	char line[256];

	if (fgets(line, sizeof(line), from) &&
	    sscanf(line, "history %" SCNu32 " %" SCNu32, &logs, &keys) == 2)
		history = history_create(logs, keys);
	while (history && fgets(line, sizeof(line), from)) {
		if (!load_line(history, line)) {
			history_destroy(history);
			history = NULL;
		}
	}
	return history;
}

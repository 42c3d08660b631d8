// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements reproducers: writing and reading them.
 *
 * Locking: one thread.
 */
#include "reproducer.h"
#include "test.h"

static const char * const verb_names[EXPLORE_VERBS] = {
	"attach", "put", "put-special", "put-spare", "swap", "add", "delete", "delete-range", "thin",
	"prepare", "detach", "format", "commit",
};

static size_t write_op(const struct explore_op *op, char *to, size_t size)
{
	return scnprintf(to, size, "%s%s,%u,%u", op->prepared ? "prepared-" : "",
			 verb_names[op->verb], op->key, op->value);
}

size_t reproducer_ops(const struct explore_op *ops, u32 count, char *to, size_t size)
{
	size_t n = 0;
	u32 i;

	for (i = 0; i < count; i++) {
		n += scnprintf(to + n, size - n, "%s", i ? "+" : "");
		n += write_op(&ops[i], to + n, size - n);
	}
	return n;
}

static size_t write_path(const struct crab_shadow_path *path, char *to, size_t size)
{
	size_t n = scnprintf(to, size, " %s", "cut");
	u32 i;

	for (i = 0; path && i < path->depth; i++)
		if (path->steps[i].choice)
			n += scnprintf(to + n, size - n, ",%u:%u", path->steps[i].word,
				       path->steps[i].choice);
	return n;
}

void reproducer_say(struct explore *x, const struct state *state)
{
	const struct crab_shadow_path *path = x->shadow->failed;
	char what[EXPLORE_SAID];
	size_t n, i;

	strscpy(what, x->said, sizeof(what));
	n = scnprintf(x->said, sizeof(x->said), "%s ", x->space->name);
	for (i = 0; i < state->len; i++)
		n += scnprintf(x->said + n, sizeof(x->said) - n, "%02x", state->byte[i]);
	n += scnprintf(x->said + n, sizeof(x->said) - n, " ");
	n += reproducer_ops(x->run, x->run_n, x->said + n, sizeof(x->said) - n);
	n += scnprintf(x->said + n, sizeof(x->said) - n, " %u", x->point);
	n += write_path(path, x->said + n, sizeof(x->said) - n);
	n += write_path(path ? path->inner : NULL, x->said + n, sizeof(x->said) - n);
	scnprintf(x->said + n, sizeof(x->said) - n, ": %s", what);
}

static bool parse_state(const char *said, struct state *state)
{
	unsigned int byte;

	for (state->len = 0; sscanf(said, "%2x", &byte) == 1 && *said != ' '; said += 2)
		state->byte[state->len++] = byte;
	return state->len && *said == ' ';
}

static bool parse_op(const char *said, struct explore_op *op)
{
	unsigned int key, value;
	char name[32];
	const char *verb = name;
	int i;

	if (sscanf(said, "%31[^,],%u,%u", name, &key, &value) != 3)
		return false;
	op->prepared = !strncmp(name, "prepared-", 9);
	verb += op->prepared ? 9 : 0;
	for (i = 0; i < EXPLORE_VERBS && strcmp(verb, verb_names[i]); i++)
		;
	op->verb = i;
	op->key = key;
	op->value = value;
	return i < EXPLORE_VERBS;
}

/* WORD:CHOICE,... after "cut"; returns the text after it */
static const char *parse_path(const char *said, struct crab_shadow_path *path)
{
	unsigned int word, choice;
	int n;

	path->depth = 0;
	said = said ? strstr(said, " cut") : NULL;
	if (!said)
		return NULL;
	for (said += 4; sscanf(said, ",%u:%u%n", &word, &choice, &n) == 2; said += n) {
		if (path->depth == CRAB_SHADOW_STEPS)
			return NULL;
		path->steps[path->depth].word = word;
		path->steps[path->depth++].choice = choice;
	}
	return said;
}

/* OPERATION+OPERATION+... up to @end */
static bool parse_ops(const char *said, const char *end, struct explore *x)
{
	x->run_n = 0;
	do {
		if (x->run_n == EXPLORE_RUN || !parse_op(said, &x->run[x->run_n++]))
			return false;
		said = memchr(said, '+', end - said);
	} while (said++);
	return true;
}

bool reproducer_parse(const char *said, struct explore *x, struct state *state)
{
	const char *at = strchr(said, ' '), *ops = at ? strchr(at + 1, ' ') : NULL;
	const char *point = ops ? strchr(ops + 1, ' ') : NULL;

	if (!point || !parse_state(at + 1, state) || !parse_ops(ops + 1, point, x) ||
	    sscanf(point, "%u", &x->replayed) != 1)
		return false;
	return parse_path(parse_path(point, &x->script[0]), &x->script[1]);
}

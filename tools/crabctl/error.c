// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements failure: one line on stderr with the place, the error, the reason
 * in plain words and, if the store reports it, the detail; and the exit code.
 */
#include "crabctl.h"
#include "item.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static void full_detail(struct crabtree *ct, char *buf, size_t len)
{
	struct crabtree_info info;

	if (crabtree_info(ct, &info, sizeof(info)))
		return;
	if (info.leaves_used + 2 >= info.leaves)
		snprintf(buf, len, "all %" PRIu64 " leaves are in use", (uint64_t)info.leaves);
	else
		snprintf(buf, len, "%" PRIu64 " of %" PRIu64 " leaves are in use",
			 (uint64_t)info.leaves_used, (uint64_t)info.leaves);
}

static void kind_detail(struct crabtree *ct, char *buf, size_t len)
{
	static const char * const verbs[] = {
		"get, put, add, swap, del, scan, dump", "set, cat, rm, ls, snapshot",
		"set, get, cat, rm, ls, snapshot"
	};
	struct crabtree_info info;

	if (crabtree_info(ct, &info, sizeof(info)))
		return;
	snprintf(buf, len, "it has %s, and %scommits; its verbs: %s", item_kind_name(item_kind(&info)),
		 info.feature_incompat & CRABTREE_INCOMPAT_COMMITS ? "" : "no ",
		 verbs[item_kind(&info)]);
}

static void detail(struct target *target, int err, char *buf, size_t len)
{
	buf[0] = '\0';
	if (!target->ct)
		return;
	switch (err) {
	case -ENOSPC:
		full_detail(target->ct, buf, len);
		if (buf[0])
			return;
		break;
	case -EOPNOTSUPP:
		kind_detail(target->ct, buf, len);
		return;
	case -EMSGSIZE:
		snprintf(buf, len, "at most 64 KiB, and less in a region of less than 5 MiB");
		return;
	case -ENOENT:
	case -EEXIST:
	case -ESTALE:
	case -EBADF:
	case -EPERM:
	case -ENODEV:
		return;
	}
	crabtree_reason(target->ct, buf, len);
	if (err != -EROFS && !strncmp(buf, "attached read-only", 18))	/* no reason of another error */
		buf[0] = '\0';
}

/* The words of a command line, a file or a store may have control characters, also a line feed */
char *text_print(const char *fmt, va_list args)
{
	char *text, *room = NULL;

	if (vasprintf(&text, fmt, args) < 0)
		return NULL;
	room = malloc(4 * strlen(text) + 1);
	if (room)
		text_escape(text, strlen(text), room);
	free(text);
	return room;
}

void message(const char *fmt, ...)
{
	va_list args;
	char *text;

	va_start(args, fmt);
	text = text_print(fmt, args);
	va_end(args);
	fflush(stdout);
	progress_clear();
	fprintf(stderr, "crabctl: %s\n", text ? text : "no memory");
	free(text);
}

void arg_error(struct argp_state *state, const char *fmt, ...)
{
	va_list args;
	char *text;

	va_start(args, fmt);
	text = text_print(fmt, args);
	va_end(args);
	argp_error(state, "%s", text ? text : "no memory");
	free(text);
}

static void say(const char *path, const char *fmt, va_list args, const char *why,
		const char *more)
{
	char *text;

	if (vasprintf(&text, fmt, args) < 0)
		text = NULL;
	message(*more ? "%s: %s: %s (%s)" : "%s: %s: %s", path, text ? text : "", why, more);
	free(text);
}

static bool is_rejected(struct crabtree *ct)
{
	struct crabtree_info info;

	return ct && !crabtree_info(ct, &info, sizeof(info)) && info.state == CRABTREE_STATE_REJECTED;
}

static bool is_of_names(struct crabtree *ct)
{
	struct crabtree_info info;

	return ct && !crabtree_info(ct, &info, sizeof(info)) && item_kind(&info) == ITEM_NAMED;
}

/* More exact than the library, which knows neither the call nor the store */
static const char *cause(const struct target *target, int err)
{
	switch (err) {
	case -ENOENT:
		return is_of_names(target->ct) ? "no such name" : "no such key";
	case -EEXIST:
		if (is_of_names(target->ct))
			return "the name is there already";
		break;
	case -EOPNOTSUPP:
		return "a store of another kind";
	case -EINVAL:	/* the arguments are good */
		if (is_rejected(target->ct))
			return "the store is rejected";
	}
	return crabtree_strerror(err);
}

int fail(struct target *target, int err, const char *fmt, ...)
{
	char more[256];
	va_list args;

	detail(target, err, more, sizeof(more));
	va_start(args, fmt);
	say(target_path(target), fmt, args, cause(target, err), more);
	va_end(args);
	return err == -ENOENT || err == -ESTALE ? EXIT_NOT_FOUND : EXIT_FAILED;
}

/* For files, where an errno has its usual meaning */
int fail_file(const char *path, int err, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	say(path, fmt, args, strerror(-err), "");
	va_end(args);
	return EXIT_FAILED;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements `crabctl restore` of a device.
 *
 * Invariant: the device has its old store, or none, until the new one is complete and checked.
 * FORMAT makes it unfinished, and the last step makes it a store: a power cut, a signal or an error
 * before that step leaves a region without a store.
 */
#include "restore.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* A store, or other data, is replaced only with --force, and only after a question */
static int permit(struct restore *restore)
{
	struct target *target = restore->target;
	struct crabtree_info info = { 0 };
	int err = crabtree_info(target->ct, &info, sizeof(info));

	if (err)
		return fail(target, err, "restore");
	if (info.state == CRABTREE_STATE_UNFORMATTED)
		return EXIT_OK;
	if (!restore->force)
		return fail_file(target_path(target), -EEXIST,
				 "restore (--force replaces the store of a device)");
	restore->format.flags |= CRABTREE_FORMAT_FORCE;
	return restore->yes ? EXIT_OK : format_ask(target, &info, "restore");
}

static int fill(struct restore *restore, struct stream *stream)
{
	struct crabtree_format finish = { .flags = CRABTREE_FORMAT_FINISH };
	int err = restore_fill(restore, stream);

	if (!err)
		err = restore_check(restore, stream);
	return err ? err : crabtree_format(restore->ct, &finish, sizeof(finish));
}

static int make(struct restore *restore, struct stream *stream)
{
	struct target *target = restore->target;
	int err;

	restore->format.flags |= CRABTREE_FORMAT_UNFINISHED;
	err = restore_format(restore, stream);
	if (err)
		return format_refused(target, err, "restore");
	err = fill(restore, stream);
	if (!err)
		return EXIT_OK;
	fail(target, err, "restore, %s:%" PRIu64, stream->name, stream->line);
	message("%s: there is no store in it now", target_path(target));
	return EXIT_FAILED;
}

int restore_device(struct restore *restore, struct stream *stream)
{
	struct target *target = restore->target;
	int code = target_open(target, 0);

	if (code)
		return code;
	restore->ct = target->ct;
	code = permit(restore);
	if (!code)
		code = make(restore, stream);
	return target_end(target, code);
}

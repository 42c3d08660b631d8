// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements FORMAT in the random crash test: a plain one, or a restore, which fills an
 * unfinished store before FINISH. The value of the operation chooses. A restore may also be given
 * up: then no store is left, and a plain FORMAT follows.
 *
 * Locking: one thread.
 */
#include "crash_priv.h"
#include "test.h"

#define RESTORE_RECORDS	3

static bool is_restore(const struct crash_op *op)
{
	return op->value >> 8 & 1;
}

static bool is_given_up(const struct crash_op *op)
{
	return !(op->value >> 4 & 3);
}

/* Number of superblocks that are not void */
static u32 supers(const struct crash *c)
{
	u32 n = 0, i;

	for (i = 0; i < CRAB_SUPER_COPIES; i++)
		n += le64_to_cpu(*(__le64 *)(c->media.base + i * CRAB_SUPER_STRIDE)) == CRAB_MAGIC;
	return n;
}

/* @unfinished: out: the superblock, which is not written; NULL: it is */
static int format(struct crash *c, struct crab_super *unfinished)
{
	char reason[CRAB_REASON_LEN], label[CRAB_LABEL_LEN];
	struct crab_format_options options = {
		.force = true, .leaf_bytes = c->setup.leaf_bytes,
		.engine = c->setup.driver->engine, .layout = c->setup.layout, .label = label,
		.blobs = c->setup.blobs, .names = c->setup.names, .commits = c->setup.commits,
		.unfinished = unfinished,
	};

	snprintf(label, sizeof(label), "crash %u", c->step);
	if (crab_store_format(&c->media, &options, reason))
		return crash_say(c, "format: %s", reason);
	return supers(c) == (unfinished ? 0 : CRAB_SUPER_COPIES) ? 0 :
	       crash_say(c, "format leaves %u superblocks", supers(c));
}

static int restore_fill(struct crash *c)
{
	struct crash_op op = { .verb = CRASH_INSERT };
	int err = 0;
	u32 i;

	for (i = 0; i < RESTORE_RECORDS && !err; i++) {
		op.key = (c->op.value + i) % c->setup.keys;
		op.value = i;
		err = crash_apply(c, c->store, &op, &c->content);
	}
	return err;
}

/* Leaves the finished store attached, or no store */
static int restore(struct crash *c)
{
	char reason[CRAB_REASON_LEN];
	struct crab_super super;
	int err = format(c, &super) ?: crash_attach_store(c, &super) ?: restore_fill(c);

	if (err)
		return err;
	if (!is_given_up(&c->op)) {
		err = crab_store_finish(c->store);
		return !err && supers(c) == CRAB_SUPER_COPIES ? 0 :
		       crash_say(c, "FINISH returns %d, with %u superblocks", err, supers(c));
	}
	crab_store_detach(c->store);
	c->store = NULL;
	memset(&c->content, 0, sizeof(c->content));
	return crab_super_read(&c->media, &super, reason) == CRAB_VERDICT_BLANK ? 0 :
	       crash_say(c, "a restore that was given up leaves a store");
}

int crash_format(struct crash *c)
{
	int err = 0;

	crash_count(c);
	crab_store_abandon(c->store);
	c->store = NULL;
	memset(&c->content, 0, sizeof(c->content));
	if (is_restore(&c->op))
		err = restore(c);
	return err || c->store ? err : format(c, NULL);
}

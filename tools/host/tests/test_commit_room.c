// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests stores of commits, with every engine, that are full: a commit is refused before its
 * list is written, or all of it is done.
 */
#include <stdio.h>
#include <stdlib.h>

#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "model.h"
#include "store/commit.h"
#include "store/store_priv.h"
#include "tap.h"

static const char * const engines[][2] = {
	{ "crab", "slotted" }, { "crab", "sorted" }, { "nvtree", "" }, { "fastfair", "" },
	{ "clfb", "" }, { "clfb", "twin" }, { "clfb", "encoded" }, { "nbtree", "" },
	{ "nbtree", "eadr" },
};

static struct crab_commit commit;	/* too large for a stack */

static struct crab_store *make(struct crab_media *media, const char *engine, const char *layout,
			       u32 leaf_bytes, u64 bytes)
{
	struct crab_format_options options = {
		.leaf_bytes = leaf_bytes, .engine = engine, .layout = layout, .label = "room",
		.commits = true,
	};
	char reason[CRAB_REASON_LEN];

	*media = media_create(bytes);
	if (crab_store_format(media, &options, reason)) {
		printf("Bail out! format: %s\n", reason);
		exit(2);
	}
	return store_attach(media);
}

static void unmake(struct crab_store *store, struct crab_media *media)
{
	crab_store_detach(store);
	media_destroy(media);
}

static void add(u64 key, u64 value)
{
	commit.when[commit.n] = CRAB_WHEN_ANY;
	commit.ops[commit.n++] = (struct crab_batch_op){
		.verb = CRAB_VERB_INSERT, .key = key, .value = value,
	};
}

/* A full store: refused before the list is written; deletes make room again */
static void test_full(const char *engine, const char *layout)
{
	u32 leaf_bytes = leaf_bytes_of(engine, layout), i;
	struct crab_store *store;
	struct crab_media media;
	struct crab_old old;
	u64 key, value;
	int err;

	store = make(&media, engine, layout, leaf_bytes, 40 * 2048);
	for (key = 0; key < 100000; key++)
		if (crab_store_insert(store, key, 1, CRAB_INSERT_EITHER, &old))
			break;
	commit.n = 0;
	for (i = 0; i < CRAB_COMMIT_MAX; i++)
		add(key + i, 2);
	err = crab_store_commit(store, &commit);
	tap_check(err == -ENOSPC, "full: %d", err);
	for (i = 0; i < CRAB_COMMIT_MAX; i++)
		tap_check(crab_store_search(store, key + i, &value) == -ENOENT, "key %u is there", i);
	tap_check(!crab_store_is_readonly(store), "read-only");
	while (key)
		crab_store_delete(store, --key, &old);
	while (crab_store_maintain(store))
		;
	commit.n = 8;
	err = crab_store_commit(store, &commit);
	tap_ok(!err, "%s %s: full, and then not", engine, layout);
	unmake(store, &media);
}

int main(void)
{
	u32 i;

	if (crab_persist_init())
		return 2;
	for (i = 0; i < ARRAY_SIZE(engines); i++)
		test_full(engines[i][0], engines[i][1]);
	return tap_done();
}

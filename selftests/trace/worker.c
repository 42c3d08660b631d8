// SPDX-License-Identifier: GPL-2.0
/*
 * This file does the work of the module's worker at the places where the log has it.
 *
 * With one CPU and a kernel that preempts where it may sleep, the worker runs between operations or
 * where one of them may sleep. It prepares free leaves, and merges sparse leaves unless the
 * operation holds smo_lock. Where the log shows such work, the host build does it at the same
 * place, and it is compared as well. No log shows that the worker looked at a leaf and did not
 * merge it, so the host build looks at no leaf until the log shows a merge. Only the worker of
 * engine crab writes media.
 *
 * Locking: one thread.
 */
#include <sys/wait.h>
#include <unistd.h>

#include <linux/kernel.h>

#include "engines/crab/crab.h"
#include "follow.h"
#include "store/blob_media.h"
#include "store/blob_priv.h"
#include "store/commit_priv.h"
#include "store/store_priv.h"
#include "tests/blob_value.h"

struct follow_worker worker;

/*
 * A free leaf is prepared: sentinels, key and void, into two slots, with nothing stored
 * right before the first. No operation begins so: a delete stores one slot's, and in a
 * fresh leaf records come before them, or its header.
 */
static bool is_preparation(const struct log_event *e)
{
	const u64 slot = sizeof(struct crab_dslot);

	if (!is_store_at(e, e->offset) || e->value[0] != CRAB_KEY_EMPTY ||
	    (e[-1].type == LOG_STORE && e->offset - e[-1].offset <= slot))
		return false;
	return is_store_at(e + 1, e->offset + offsetof(struct crab_dslot, value)) &&
	       is_store_at(e + 2, e->offset + slot) && e[2].value[0] == CRAB_KEY_EMPTY;
}

static void prepare_as_logged(struct crab_tree *tree)
{
	worker.maintaining = worker.preparing = true;
	while (is_preparation(follow.next)) {
		worker.prepared++;
		if (!crab_slotted_prepare(tree)) {
			differ("the machine prepares a leaf, the host has none to prepare", NULL,
			       follow.next);
			break;
		}
	}
	worker.maintaining = worker.preparing = false;
}

/*
 * Neighbours become one leaf, as maintain makes it: by a note or in a sweep, which the log does
 * not show. True if the media was written to.
 */
static bool merge(struct crab_tree *tree, struct crab_leaf *leaf)
{
	struct crab_flow flow = { .media = tree->base.media };
	struct crab_write write = { .tree = tree, .flow = &flow };
	u64 had = events;

	worker.maintaining = true;
	crab_write_lock_structure(&write);
	crab_smo_merge(&write, leaf, tree->slots);
	crab_write_end(&write);
	crab_count_prepare(&tree->base, &flow);
	worker.maintaining = false;
	return events != had;
}

/* Would the host build, made to merge here, do what the log shows? A child tries. */
static bool merges_as_logged(struct crab_tree *tree, struct crab_leaf *leaf)
{
	pid_t child = fork();
	int status;

	if (!child) {
		follow_limit();
		trying = true;
		differences = 0;
		_exit(!merge(tree, leaf) || differences);
	}
	return waitpid(child, &status, 0) == child && !status;
}

/* A header is written: by a merge, or by the next operation */
static bool is_fresh(const struct crab_tree *tree, const struct log_event *e)
{
	return is_event(e) && e->type == LOG_STORE && e->offset >= CRAB_HEAD_OFFSET &&
	       e->offset % tree->base.geo.leaf_bytes == 0;
}

/* The header of the fresh leaf has the lowest key of the first of two that a merge replaces */
static bool merged_as_logged(struct crab_tree *tree)
{
	const struct log_event *low = follow.next + offsetof(struct crab_dhead, low) / sizeof(u64);
	struct crab_leaf *leaf;

	if (!is_store_at(low, follow.next->offset + offsetof(struct crab_dhead, low)))
		return false;
	leaf = crab_leaf_find(tree, low->value[0]);
	if (leaf->low != low->value[0] || !crab_smo_may_merge(leaf, tree->slots * 3 / 4) ||
	    !merges_as_logged(tree, leaf))
		return false;
	merge(tree, leaf);
	worker.merged++;
	return true;
}

/*
 * The next events store a blob with the birth that the blob of its key has: it moves. The log shows
 * to where; the module chose the slab earlier, at a time that it does not show.
 */
static bool blob_moves(struct crab_blob_read *get, u64 *word)
{
	const struct log_event *e = follow.next;

	if (!store->blobs || !is_store_at(e, e->offset) || e->value[0] != e->offset ||
	    !is_store_at(e + 1, e->offset + 8) || !is_store_at(e + 2, e->offset + 16))
		return false;
	get->key = e[2].value[0];
	return !store->blobs->raw->lookup(store->engine, get->key, word) &&
	       !crab_blob_load(store->blobs, *word, get) && get->version == e[1].value[0];
}

/* As blob_move() of store/evacuate.c, until the blob is durable; false: the extent is not free */
static bool move_begins(const struct crab_blob_read *get, u64 from)
{
	struct crab_flow flow = { .media = store->media };
	struct crab_blobs *blobs = store->blobs;
	const struct crab_blob_write put = {
		.key = get->key, .data = get->buffer, .bytes = get->bytes,
	};
	u64 line = (follow.next->offset - store->engine->geo.pool_offset) / CRAB_LINE;
	u64 to = line << CRAB_PLACE_CLASS_BITS | from % (1U << CRAB_PLACE_CLASS_BITS);

	if (crab_extents_mark(&blobs->extents, to))
		return false;
	crab_blob_store(blobs, &flow, to, get->version, &put);
	crab_fence(&flow, CRAB_P15_BLOB);
	crab_count_prepare(store->engine, &flow);
	worker.move.runs = true;
	worker.move.key = get->key;
	worker.move.word = crab_blob_word(blobs, to, get->version);
	return true;
}

/*
 * The update may sleep before its store, so operations can come in between. It waits for the end of
 * a commit, although the log has nothing of that end.
 */
static bool move_ends(void)
{
	struct crab_flow flow = { .media = store->media };
	struct crab_blobs *blobs = store->blobs;
	struct crab_old old;

	if (!is_store_at(follow.next, follow.next->offset) ||
	    follow.next->value[0] != worker.move.word ||
	    (store->commits && store->commits->lock.held))
		return false;
	blobs->raw->insert(store->engine, &flow, worker.move.key, worker.move.word,
			   CRAB_INSERT_EITHER, &old);
	crab_blob_replaced(blobs, worker.move.key, worker.move.word & CRAB_PLACE_MASK, old.value);
	crab_count_prepare(store->engine, &flow);
	worker.move.runs = false;
	worker.moved++;
	return true;
}

/* One step of a move, if the log has it next */
static bool move_step(void)
{
	u8 value[BLOB_VALUE_MAX];
	struct crab_blob_read get = { .buffer = value, .capacity = sizeof(value) };
	u64 word;

	if (worker.move.runs)
		return move_ends();
	return blob_moves(&get, &word) && move_begins(&get, word & CRAB_PLACE_MASK);
}

static void moves_as_logged(void)
{
	worker.maintaining = true;
	while (move_step())
		;
	worker.maintaining = false;
}

bool worker_writes(void)
{
	return store->engine->own == &crab_engine_crab;
}

void worker_follow(void)
{
	const struct log_event *had;
	struct crab_tree *tree;

	if (!store || worker.maintaining || !worker_writes())
		return;
	tree = crab_tree_of(store->engine);
	do {
		had = follow.next;
		moves_as_logged();
		if (crab_layout_maintains(tree))
			prepare_as_logged(tree);
	} while (follow.next != had ||
		 (crab_layout_maintains(tree) && !tree->smo_lock.held &&
		  is_fresh(tree, follow.next) && merged_as_logged(tree)));
}

/* Within an operation */
void __wrap_crab_host_may_sleep(void)
{
	u64 had = worker.prepared + worker.merged + worker.moved;

	worker_follow();
	worker.within += worker.prepared + worker.merged + worker.moved != had;
}

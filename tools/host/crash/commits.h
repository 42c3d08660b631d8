/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares commits in the state spaces: a second decoder and a writer of their list,
 * independent of the store's code, and the commits that the explorer performs.
 *
 * The lists of a space have numbers. Each one writes space.commits keys: it removes a key, or stores
 * value 1 or 2.
 */
#ifndef CRAB_HOST_COMMITS_H
#define CRAB_HOST_COMMITS_H

#include "explore.h"
#include "state.h"
#include "store/commit.h"

#define COMMITS_NONE	0U	/* state: the check is 0 */
#define COMMITS_TORN	1U	/* the list does not count */
#define COMMITS_LIVE	2U	/* the list with number 0 counts, and so on */

/**
 * commits_lists() - number of lists
 * @space: a space of commits
 */
u32 commits_lists(const struct space *space);

/**
 * commits_conditions() - number of conditions, the first of which is none
 * @space: a space of commits
 */
u32 commits_conditions(const struct space *space);

/**
 * commits_decode() - append the state of the list on the media
 * @space: a space of commits
 * @geo: where the leaves are
 * @store_id: of the store
 * @media: the media; each word that is read and open is decided
 * @state: out: its last byte is COMMITS_NONE, COMMITS_TORN, or COMMITS_LIVE plus a number; in a space of
 *	blobs the numbers of the list's blobs are before it
 */
void commits_decode(const struct space *space, const struct crab_geometry *geo, u32 store_id,
		    const struct crab_media *media, struct state *state);

/**
 * commits_bytes() - bytes of a state that commits_decode() appended
 * @space: a space of commits
 * @state: the last one of them
 */
u32 commits_bytes(const struct space *space, u8 state);

/**
 * commits_apply() - do the writes of a list that counts
 * @space: a space of commits
 * @state: the last byte of commits_decode()
 * @content: in and out
 */
void commits_apply(const struct space *space, u8 state, struct content *content);

/**
 * commits_write() - write the list of a state, durably
 * @space: a space of commits
 * @geo: where the leaves are
 * @media: a media with a shadow
 * @end: where the bytes of commits_decode() end
 */
void commits_write(const struct space *space, const struct crab_geometry *geo,
		   struct crab_media *media, const u8 *end);

/**
 * commits_run() - perform a commit, and judge its answer
 * @x: the exploration
 * @store: its store
 * @op: the commit: @op->key is the number of the list, @op->value that of the condition
 * @content: in and out: the content that the store must hold
 *
 * Return: 0, or -1 after a fault.
 */
int commits_run(struct explore *x, struct crab_store *store, const struct explore_op *op,
		struct content *content);

#endif /* CRAB_HOST_COMMITS_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares blobs in the state spaces: a second decoder and a writer of their format,
 * independent of the store's code, and the verbs of the explorer on them.
 *
 * Value number 1 or 2 of a key is a blob of one or of two lines, whose bytes depend on the key. The
 * name of a key has one byte or four.
 */
#ifndef CRAB_HOST_BLOBS_H
#define CRAB_HOST_BLOBS_H

#include "state.h"
#include "store/commit.h"

#define BLOBS_DEAD	(1U << 5)	/* a word that names no blob of this key */

/**
 * blobs_begin() - begin to decode or to write a state
 * @names: of a store of names
 */
void blobs_begin(bool names);

/**
 * blobs_names_init() - find the keys of the names of all spaces: blobs_name_key
 */
void blobs_names_init(void);

/**
 * blobs_decode() - the number in a state of the word of a record
 * @geo: where the leaves are
 * @media: the media; each word of the blob that is open is decided
 * @key: the key of the record
 * @word: its word
 *
 * Slabs, and extents in each slab, are numbered in the order of the calls.
 *
 * Return: 1 to BLOBS_DEAD - 1; or BLOBS_DEAD.
 */
u64 blobs_decode(const struct crab_geometry *geo, const struct crab_media *media, u64 key, u64 word);

/**
 * blobs_content() - the value number in a number of blobs_decode()
 * @number: the number
 *
 * Return: 1 or 2; 0 for BLOBS_DEAD.
 */
u64 blobs_content(u64 number);

/**
 * blobs_encode() - the word of a record whose number blobs_decode() returned
 * @geo: where the leaves are
 * @key: the key of the record
 * @number: the number
 *
 * Return: the word; blobs_write() writes the blob.
 */
u64 blobs_encode(const struct crab_geometry *geo, u64 key, u64 number);

/**
 * blobs_write() - write all blobs that blobs_encode() named, and the numbers in the head's page
 * @geo: where the leaves are
 * @media: a media with a shadow
 */
void blobs_write(const struct crab_geometry *geo, struct crab_media *media);

/**
 * blobs_perform() - perform an operation on a record
 * @store: the store
 * @op: the operation: an insert of a value number, or a delete. out: the status, and whether the key
 *	existed
 */
void blobs_perform(struct crab_store *store, struct crab_batch_op *op);

/**
 * blobs_commit() - perform a commit of value numbers
 * @store: the store
 * @commit: the commit; a condition on a value is one on the version. out: whether each key existed
 *
 * Return: as crab_blob_commit().
 */
int blobs_commit(struct crab_store *store, struct crab_commit *commit);

/**
 * blobs_commit_is_full() - is a result of -ENOSPC correct?
 * @space: the space
 * @store: the store
 * @commit: the commit
 * @leaves: that its writes need
 *
 * Return: true if it is.
 */
bool blobs_commit_is_full(const struct space *space, struct crab_store *store,
			  const struct crab_commit *commit, u64 leaves);

/**
 * blobs_answer() - judge the answer, and apply the operation to its key
 * @state: of the key, before the operation; out: after it
 * @op: the operation, performed
 *
 * Return: NULL, or the fault in words.
 */
const char *blobs_answer(struct crab_key_state *state, const struct crab_batch_op *op);

/**
 * blobs_is_full() - is a result of -ENOSPC correct?
 * @space: the space
 * @store: the store
 * @op: the insert
 *
 * Return: true if it is.
 */
bool blobs_is_full(const struct space *space, struct crab_store *store,
		   const struct crab_batch_op *op);

/**
 * blobs_read() - read a content by a list and a get of each key
 * @oracle: the oracle
 * @store: the store
 * @content: out: the content
 *
 * Return: 0, or -1 after a report: a blob is damaged, or has a birth that could come again.
 */
int blobs_read(struct crab_oracle *oracle, struct crab_store *store,
	       struct crab_key_state *content);

struct explore;

/**
 * blobs_damage() - flip each bit of a blob, and those of its word that a store does not use as a place
 * @x: after explore_run(); its store is formatted again
 *
 * Return: false after a report: a get did not notice it.
 */
bool blobs_damage(struct explore *x);

#endif /* CRAB_HOST_BLOBS_H */

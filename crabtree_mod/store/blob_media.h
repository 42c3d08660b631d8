/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the form of blobs on the media, for the files of this folder and for tests.
 *
 * Locking: blob_media.c.
 */
#ifndef CRABTREE_BLOB_MEDIA_H
#define CRABTREE_BLOB_MEDIA_H

#include "blob.h"

struct crab_blobs;
struct crab_damage;
struct crab_flow;

/**
 * crab_blob_number() - a word of &struct crab_dblobs
 * @store_id: of the store
 * @offset: of the word
 * @number: below 2^40
 * Context: any.
 * Return: the word.
 */
u64 crab_blob_number(u32 store_id, u64 offset, u64 number);

/**
 * crab_blob_word() - the word that names a blob
 * @blobs: the blobs
 * @place: of its extent
 * @birth: of the blob
 * Context: any.
 * Return: the word.
 */
u64 crab_blob_word(const struct crab_blobs *blobs, u64 place, u64 birth);

/**
 * crab_blob_birth() - take the next birth
 * @blobs: the blobs
 * @flow: the caller's flow
 * Context: pinned; may sleep.
 * Return: a number that no blob of this store has had, also after a power cut.
 */
u64 crab_blob_birth(struct crab_blobs *blobs, struct crab_flow *flow);

/**
 * crab_blob_check_birth() - verify that the next births are above that of a blob
 * @blobs: the blobs
 * @get: key and version of the blob
 * @damage: noted here if not
 * Context: any; the stripe of the key is locked, or attach.
 */
void crab_blob_check_birth(const struct crab_blobs *blobs, const struct crab_blob_read *get,
			   struct crab_damage *damage);

/**
 * crab_blob_size() - the memory that a blob takes
 * @put: its name and its value
 * Context: any.
 * Return: bytes.
 */
u32 crab_blob_size(const struct crab_blob_write *put);

/**
 * crab_blob_store() - write a blob into an extent; a fence (P15) makes it durable
 * @blobs: the blobs
 * @flow: the caller's flow
 * @place: of the extent, which is long enough
 * @birth: of the blob
 * @put: its key, its name and its value
 * Context: pinned; no word names the extent.
 */
void crab_blob_store(const struct crab_blobs *blobs, struct crab_flow *flow, u64 place, u64 birth,
		     const struct crab_blob_write *put);

/**
 * crab_blob_load_head() - read the header of a blob
 * @blobs: the blobs
 * @word: the word that names it; any value
 * @get: its key; out: length and version
 * Context: process context; other blobs may be written to the extent meanwhile.
 * Return: 0, or -EUCLEAN: it is not the blob that the word names.
 */
int crab_blob_load_head(const struct crab_blobs *blobs, u64 word, struct crab_blob_read *get);

/**
 * crab_blob_key() - read the key that the header of an extent has
 * @blobs: the blobs
 * @place: of an extent
 * Context: process context.
 * Return: any number; CRAB_KEY_EMPTY if the memory cannot be read.
 */
u64 crab_blob_key(const struct crab_blobs *blobs, u64 place);

/**
 * crab_blob_load_name() - read the header and the name of a blob
 * @blobs: the blobs
 * @word: the word that names it; any value
 * @get: its key, and room for the name; out: as of crab_blob_load_head(), and the name
 * Context: as crab_blob_load_head().
 * Return: 0, or -EUCLEAN: also if the name is not the one that belongs to the key.
 */
int crab_blob_load_name(const struct crab_blobs *blobs, u64 word, struct crab_blob_read *get);

/**
 * crab_blob_is_named() - whether a blob seems to have a name
 * @blobs: the blobs
 * @word: the word that names it; any value
 * @name: the name
 * @bytes: its length
 * Context: process context; the stripe of its key is locked.
 * Return: true if the name is there; the header is not verified.
 */
bool crab_blob_is_named(const struct crab_blobs *blobs, u64 word, const char *name, u32 bytes);

/**
 * crab_blob_load() - read and verify a blob
 * @blobs: the blobs
 * @word: the word that names it; any value
 * @get: its key; out: length, version, name, and the value if the buffer is long enough
 * Context: as crab_blob_load_head().
 * Return: 0, -EMSGSIZE, or -EUCLEAN.
 */
int crab_blob_load(const struct crab_blobs *blobs, u64 word, struct crab_blob_read *get);

#endif /* CRABTREE_BLOB_MEDIA_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares FORMAT: how a store is made, at once or unfinished.
 *
 * Layer L5: store.h includes it.
 *
 * Locking: the caller has the region to itself, except for crab_store_finish().
 */
#ifndef CRABTREE_STORE_FORMAT_H
#define CRABTREE_STORE_FORMAT_H

#include "shared/super.h"

struct crab_store;

/**
 * struct crab_format_options - options of FORMAT
 * @force: overwrite a live store or a foreign signature
 * @leaf_bytes: size of a leaf; 0: the layout's default
 * @engine: name; "": the default engine
 * @layout: name; "": the engine's default
 * @label: NUL-terminated, at most CRAB_LABEL_LEN - 1 bytes; no '/', no control characters
 * @uuid: identity of the store; all zero: random
 * @blobs: of blobs (blob.h): values of any length
 * @commits: of commits (commit.h)
 * @names: of names (named.h)
 * @unfinished: out: the superblock, which FORMAT then does not write; NULL: it does
 */
struct crab_format_options {
	bool force;
	u32 leaf_bytes;
	const char *engine;
	const char *layout;
	const char *label;
	u8 uuid[CRAB_UUID_LEN];
	bool blobs;
	bool commits;
	bool names;
	struct crab_super *unfinished;
};

/**
 * crab_store_format_check() - whether FORMAT would be refused; writes nothing
 * @media: the region; may be attached
 * @options: options
 * @reason: out: as of crab_store_format()
 *
 * Context: may sleep.
 * Return: 0, or the error that crab_store_format() would return.
 */
int crab_store_format_check(const struct crab_media *media,
			    const struct crab_format_options *options, char *reason);

/**
 * crab_store_format() - make an empty store in a region that is not attached
 * @media: the region
 * @options: options
 * @reason: out: CRAB_REASON_LEN bytes: why not, or ""
 *
 * Context: may sleep.
 * Return: 0; -EEXIST for a live or foreign signature without force; -EINVAL for an unknown
 * engine or layout or a leaf size; -EOPNOTSUPP for a layout whose media model the region does
 * not keep, and for blobs in an engine that cannot hold them; -ENOSPC for a region that is too
 * small; -EIO for uncorrectable memory where FORMAT writes; -ENOMEM if there is no memory to
 * attach the new store, before the first store to the media.
 */
int crab_store_format(struct crab_media *media, const struct crab_format_options *options,
		      char *reason);

/**
 * crab_store_finish() - write the superblock of an unfinished store, durable on return
 * @store: the store
 * Context: may sleep; one caller at a time; the store is not detached meanwhile.
 * Return: 0, -ENODATA if it is not unfinished, -EROFS.
 */
int crab_store_finish(struct crab_store *store);

/**
 * crab_store_is_unfinished() - whether no superblock on the media names the store
 * @store: the store
 * Context: any.
 * Return: true if so.
 */
bool crab_store_is_unfinished(const struct crab_store *store);

#endif /* CRABTREE_STORE_FORMAT_H */

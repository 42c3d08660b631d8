/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares subjects: stores in user space, on which actors act, and what each
 * of them is like. They are small, so that splits, unlinks and copies collide all
 * the time.
 */
#ifndef CRAB_HOST_SUBJECT_H
#define CRAB_HOST_SUBJECT_H

#include "actor.h"
#include "store/store.h"

/**
 * struct subject - what kind of store, and who acts on it
 * @name: for people
 * @engine: as FORMAT names it
 * @layout: of the engine
 * @leaf_bytes: size of a leaf
 * @slots: records in a leaf at most; 0: as many as fit
 * @leaves: of the pool
 * @keys: how many there are
 * @threads: actors
 * @single: all keys fit in one leaf, which never splits
 * @tuning: how it is attached
 */
struct subject {
	const char *name;
	const char *engine;
	const char *layout;
	u32 leaf_bytes;
	u32 slots;
	u32 leaves;
	u32 keys;
	u32 threads;
	bool single;
	struct crab_tuning tuning;
};

#define SUBJECTS	16	/* at most */

/* All that there are, ended by one without a name */
extern const struct subject subjects[SUBJECTS];

/** subject_keys() - the keys of a subject, ascending; the least and the greatest are there */
void subject_keys(const struct subject *subject, u64 *keys);

/** subject_media() - a region of the right size */
struct crab_media subject_media(const struct subject *subject);

/** subject_format() - an empty store in it; ends the program where that fails */
void subject_format(const struct subject *subject, struct crab_media *media);

/** subject_attach() - the store as actors call it; @report: as of crab_store_attach() */
struct crab_store *subject_attach(const struct subject *subject, struct crab_media *media,
				  struct crab_attach_report *report);

/** subject_is_roomy() - are there always leaves for a split, whatever the actors do? */
bool subject_is_roomy(const struct subject *subject);

/** subject_calls() - how actors call a store */
struct actor_store subject_calls(const struct subject *subject, struct crab_store *store);

#endif /* CRAB_HOST_SUBJECT_H */

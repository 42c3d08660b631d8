/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares subjects: the kinds of stores in user space on which actors act. They
 * are small, so that splits, unlinks and copies collide all the time.
 */
#ifndef CRAB_HOST_SUBJECT_H
#define CRAB_HOST_SUBJECT_H

#include "actor.h"
#include "engines/crab/sorted/tuning.h"
#include "engines/fastfair/tuning.h"
#include "engines/nvtree/tuning.h"
#include "store/store.h"

/**
 * struct subject - a kind of store, and the number of its actors
 * @name: for messages
 * @engine: as FORMAT names it
 * @layout: of the engine
 * @leaf_bytes: size of a leaf
 * @slots: records in a leaf at most; 0: as many as fit
 * @leaves: of the pool
 * @keys: number of keys
 * @threads: number of actors
 * @single: all keys fit in one leaf, which never splits
 * @tuning: options of the attach
 * @ff: those of the engine fastfair
 * @nv: those of the engine nvtree
 * @adds: the actors only add 1
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
	union {
		struct crab_tuning tuning;
		struct ff_tuning ff;
		struct nv_tuning nv;
	};
	bool adds;
};

#define SUBJECTS	42	/* at most */

/* All subjects, ended by one without a name */
extern const struct subject subjects[SUBJECTS];

/**
 * subject_keys() - write the keys of a subject, ascending
 * @subject: the subject
 * @keys: out: the keys; the lowest and the highest possible key are among them
 */
void subject_keys(const struct subject *subject, u64 *keys);

/**
 * subject_media() - make a region of the right size
 * @subject: the subject
 *
 * Return: the region.
 */
struct crab_media subject_media(const struct subject *subject);

/**
 * subject_format() - format an empty store
 * @subject: the subject
 * @media: the region; an error ends the program
 */
void subject_format(const struct subject *subject, struct crab_media *media);

/**
 * subject_attach() - attach the store
 * @subject: the subject
 * @media: the region
 * @report: out: as of crab_store_attach()
 *
 * Return: the store or ERR_PTR().
 */
struct crab_store *subject_attach(const struct subject *subject, struct crab_media *media,
				  struct crab_attach_report *report);

/**
 * subject_act() - do one random operation of a kind that the subject is for
 * @subject: the subject
 * @actor: the actor
 * @grow: insert more often than delete
 */
void subject_act(const struct subject *subject, struct actor *actor, bool grow);

/**
 * subject_calls() - the functions with which actors call a store
 * @subject: the subject
 * @store: the store
 *
 * Return: the table.
 */
struct actor_store subject_calls(const struct subject *subject, struct crab_store *store);

#endif /* CRAB_HOST_SUBJECT_H */

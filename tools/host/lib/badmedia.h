/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares a media with memory that cannot be read: such pages are mapped without
 * access, so a load or a store there ends the program. There is one, for the tests of one program.
 */
#ifndef CRAB_HOST_BADMEDIA_H
#define CRAB_HOST_BADMEDIA_H

#include "media/badmem.h"
#include "store/store_priv.h"

#define BAD_PAGE	4096U
#define BAD_SIZE	(2U << 20)
#define BAD_KEYS	20000U			/* even ones */
#define BAD_VALUE(key)	((key) * 3 + 1)

extern struct crab_badmem badmedia_list;	/* of the bad memory */
extern struct crab_media badmedia;

/* A media that can be read; its end */
void badmedia_begin(void);
void badmedia_end(void);

/**
 * badmedia_fail() - make pages unreadable; the list contains them
 * @offset: of the first
 * @len: bytes
 */
void badmedia_fail(u64 offset, u64 len);

/**
 * badmedia_fail_listed() - the same, but the list contains a part of each page
 * @offset: of the first
 * @len: bytes
 * @listed: bytes of each page in the list; less than a page: only writes fail, because in the
 *	    kernel attach survives the reads
 */
void badmedia_fail_listed(u64 offset, u64 len, u64 listed);

/* All pages can be read again, and have their content */
void badmedia_heal(void);

/**
 * badmedia_fill() - FORMAT, and BAD_KEYS records; detached
 * @engine: of the store
 * @layout: of its leaves
 * @leaf_bytes: size of its leaves
 * @geo: out: its geometry
 */
void badmedia_fill(const char *engine, const char *layout, u32 leaf_bytes,
		   struct crab_geometry *geo);

/**
 * badmedia_fill_ragged() - FORMAT, and leaves of all degrees of filling; attached
 * @subject: engine and layout
 * @records: records with odd keys below twice as many, inserted in any order
 * @run: of each second run of so many keys most are deleted
 * @there: out: which keys have a record
 * Return: the store.
 */
struct crab_store *badmedia_fill_ragged(const char *const *subject, u32 records, u32 run,
					bool *there);

/* The same, detached; returns its geometry */
struct crab_geometry badmedia_ragged(const char *const *subject, u32 records, u32 run, bool *there);

/* Does a page of the region have any byte but 0? */
bool badmedia_is_used(u64 page);

/**
 * badmedia_count() - count the records that a scan finds, which goes on after errors
 * @store: the store
 * @last: highest key
 * @back: scan backwards
 * @errors: out: their number
 * Return: number of records.
 */
u32 badmedia_count(struct crab_store *store, u64 last, bool back, u32 *errors);

/* Attaches; an error ends the program. @report: out, or NULL */
struct crab_store *badmedia_attach(struct crab_attach_report *report);

/* The same after a power cut of @store */
struct crab_store *badmedia_cut(struct crab_store *store, struct crab_attach_report *report);

/**
 * badmedia_search() - judge that each key has its value or is quarantined
 * @store: the store
 * @first: out: the lowest quarantined key
 * @last: out: the highest
 * Return: number of quarantined keys.
 */
u32 badmedia_search(struct crab_store *store, u64 *first, u64 *last);

/* A scan across quarantined ranges, up and down in turns: returns the number of records */
u32 badmedia_scan(struct crab_store *store);

/**
 * badmedia_late() - write through the engine, as calls that found the store writable before memory
 *	failed: inserts, deletes of all records, maintenance
 * @store: the store
 * Return: number of writes that were refused with -EUCLEAN.
 */
u32 badmedia_late(struct crab_store *store);

/* Damage that CHECK finds */
u64 badmedia_errors(struct crab_store *store);

/* Leaves in quarantine, and the reason of INFO */
u64 badmedia_leaves(struct crab_store *store, char *reason);

#endif /* CRAB_HOST_BADMEDIA_H */

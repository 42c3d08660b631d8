/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares drivers: one for each engine that the crash tests run. A driver knows the
 * engine's format of the media, independently of the engine's own code, and the stores on which
 * the tests run. The tests know engines only by their drivers.
 */
#ifndef CRAB_HOST_DRIVER_H
#define CRAB_HOST_DRIVER_H

#include "shadow/shadow.h"
#include "store/store.h"

struct content;
struct crash_setup;
struct load;
struct space;
struct state;
struct workload;

/**
 * struct corruption - damage that scan, search and CHECK must report
 * @what: in words, "KIND: damage"
 * @find: the structure at place @n, of which one word gets another bit; NULL if there are fewer places
 * @at: offset of the word
 * @change: with @find: damages place @n in another way; false if there are fewer places
 * @plant: without @find: damages the media or the engine's memory at place @n; false if there are
 *	fewer places
 */
struct corruption {
	const char *what;
	void *(*find)(struct crab_store *store, u32 n);
	size_t at;
	bool (*change)(const struct corruption *corruption, struct crab_store *store, u32 n);
	bool (*plant)(struct crab_store *store, u32 n);
};

/* Plants it at place @n; false if there are fewer places */
bool corruption_plant(const struct corruption *corruption, struct crab_store *store, u32 n);

/* @change of headers: the link to place @n has another bit, or leads to the next place */
bool corruption_link(const struct corruption *corruption, struct crab_store *store, u32 n);
bool corruption_skip(const struct corruption *corruption, struct crab_store *store, u32 n);

/*
 * @change of slots, a key and a value: there is no key any more; the slot replaces the next one, too;
 * its key and that of the next one are exchanged
 */
bool corruption_empty(const struct corruption *corruption, struct crab_store *store, u32 n);
bool corruption_twice(const struct corruption *corruption, struct crab_store *store, u32 n);
bool corruption_exchange(const struct corruption *corruption, struct crab_store *store, u32 n);

/* Takes a free leaf from the pool of any engine; there is one place */
bool corruption_leaf_lost(struct crab_store *store, u32 n);

/* Changes a bit of a word; returns true, for @plant */
static inline bool corruption_flip(__le64 *word)
{
	*word ^= cpu_to_le64(1ULL << 21);
	return true;
}

/**
 * struct host_driver - one engine, as the tests know it
 * @engine: name of the engine in the engine table
 * @met: structure changes that `make crash` must meet with each layout, as scripts/crash names them
 * @spaces: state spaces to close, ended by one without a name
 * @loads: random loads on larger leaves, ended by one without a name
 * @workloads: workloads of the kill matrix, the cheapest first, ended by one without a name
 * @setups: a plain store of each layout, ended by one without a layout
 * @corruptions: for the test of the oracle, ended by one without @what
 * @read: decodes the leaves of a store at rest, word by word through L1, which decides the words
 *	that a power cut left open. @content: the live records, by the rules of the format;
 *	@state: the canonical bytes are appended. Returns NULL, or the fault in words.
 * @write: makes the media hold a state whose leaves @read encoded as [@at, @end), durably
 * @root: crab_dsuper.engine_root of the copy that counts, in a state that @read encoded as [@at,
 *	@end). NULL: 0
 * @settled: did the attach of a store that was detached use what the detach left for it? Returns
 *	NULL, or the fault in words. May be NULL
 * @special: a value that the engine treats differently in the leaf that holds @key, or NULL
 * @shape: a number that changes with each structure change, or NULL
 * @is_full: is a result of -ENOSPC correct for an insert? @ops: operations of the same call, each
 *	of which may have freed a leaf since
 * @allocator: compares the leaves recorded as allocated on the media with those in use; @exact:
 *	no other leaf may be recorded. Returns NULL, or the fault in words. May be NULL if the
 *	media does not record allocated leaves
 * @sealed: addresses of at most @room words of the media whose damage attach must report
 * @sealed_bit: damage to such a word: the bit to flip
 * @sample: way number @i to configure a store, for random workloads
 */
struct host_driver {
	const char *engine;
	const char *met;
	const struct space *spaces;
	const struct load *loads;
	const struct workload *workloads;
	const struct crash_setup *setups;
	const struct corruption *corruptions;

	const char *(*read)(const struct space *space, const struct crab_geometry *geo,
			    const struct crab_media *media, struct content *content,
			    struct state *state);
	void (*write)(const struct space *space, const struct crab_geometry *geo,
		      struct crab_media *media, const u8 *at, const u8 *end);
	u64 (*root)(const struct space *space, const struct crab_geometry *geo, const u8 *at,
		    const u8 *end);
	const char *(*settled)(struct crab_store *store);
	u64 (*special)(struct crab_store *store, u64 key);
	u64 (*shape)(struct crab_store *store);
	bool (*is_full)(struct crab_store *store, u32 ops);
	const char *(*allocator)(struct crab_store *store, bool exact);
	u32 (*sealed)(struct crab_store *store, __le64 **words, u32 room);
	u64 sealed_bit;
	struct crash_setup (*sample)(u32 i);
};

extern const struct host_driver host_driver_crab;
extern const struct host_driver host_driver_nvtree;
extern const struct host_driver host_driver_fastfair;
extern const struct host_driver host_driver_clfb;
extern const struct host_driver host_driver_nbtree;
extern const struct host_driver host_driver_eadr;	/* the layout of the same engine */
extern const struct host_driver host_driver_toy;

/* All drivers, ended by NULL */
extern const struct host_driver * const host_drivers[];

/**
 * host_driver_model() - the shadow model of a layout
 * @driver: the engine
 * @layout: name of its layout
 *
 * Return: the weakest model under which the layout promises to be sound.
 */
enum crab_shadow_model host_driver_model(const struct host_driver *driver, const char *layout);

#endif /* CRAB_HOST_DRIVER_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the interface of a measured map: an ordered map and its functions for a work.
 * C and C++ include this file, so it uses only the types of the kernel's headers.
 */
#ifndef CRAB_BENCH_PEER_H
#define CRAB_BENCH_PEER_H

#include "bench/work.h"

#ifdef __cplusplus
extern "C" {
#endif

#define PEER_OWN	8

/**
 * struct peer_counts - lines and fences of a map so far
 * @lines: cleaned on the write path
 * @fences: on the write path
 * @orders: stores that were kept in order
 * @prepare_lines: off the write path
 * @prepare_fences: off the write path
 * @leaves: in use now
 * @splits: of leaves
 * @media: bytes of the leaves in use
 * @dram: bytes of memory in addition to the media
 * @own: counters of the kind of map
 * @names: their names, ended by NULL; or NULL
 */
struct peer_counts {
	u64 lines;
	u64 fences;
	u64 orders;
	u64 prepare_lines;
	u64 prepare_fences;
	u64 leaves;
	u64 splits;
	u64 media;
	u64 dram;
	u64 own[PEER_OWN];
	const char * const *names;
};

/**
 * struct peer_attach - cost of attaching a map again
 * @attach_ns: to attach it
 * @region_ns: to read all of its region once, by one CPU
 * @used_ns: to read as many bytes as its leaves in use have, by one CPU
 */
struct peer_attach {
	u64 attach_ns;
	u64 region_ns;
	u64 used_ns;
};

/**
 * struct peer - a kind of map
 * @engine: its name
 * @layout: of its leaves, or ""
 * @open: an empty map for @keys keys; @leaf_bytes: size of its leaves, if it has leaves;
 *	an error ends the program
 * @run: execute a work, in any thread; 0 or a negative error
 * @counts: fills the counts; or NULL: nothing is cleaned
 * @attach: detach the map, cleanly or as a power cut does, and attach it again; or NULL
 * @threads: may several threads use it?
 * @batches: does it have batches?
 */
struct peer {
	const char *engine;
	const char *layout;
	void *(*open)(const struct peer *peer, u64 keys, u32 leaf_bytes);
	int (*run)(void *map, struct crab_bench_work *work);
	void (*counts)(void *map, struct peer_counts *counts);
	void (*attach)(void *map, bool clean, struct peer_attach *times);
	bool threads;
	bool batches;
};

/**
 * peer_store() - the store, with any engine of the table
 * @engine: its name
 * @layout: name of a layout; "": the engine's default
 *
 * Return: the map, valid until the next call, or NULL if there is no such engine or layout.
 */
const struct peer *peer_store(const char *engine, const char *layout);

/**
 * peer_store_option() - set an option of an engine, for the stores that are opened from now on
 * @text: "name=value", as for the module
 *
 * Return: false if no engine has such an option, or the option no such value.
 */
bool peer_store_option(const char *text);

/**
 * peer_store_price() - let the engines measure their costs when a store is opened, as in the module
 */
void peer_store_price(void);

/**
 * peer_find() - find a kind of map
 * @engine: name of an engine of the store, or of another kind of map
 * @layout: name of a layout; "": the default
 *
 * Return: the map, valid until the next call, or NULL.
 */
const struct peer *peer_find(const char *engine, const char *layout);

/* The counts of a map; 0 each if it has none */
static inline struct peer_counts peer_count(const struct peer *peer, void *map)
{
	struct peer_counts counts = { };

	if (peer->counts)
		peer->counts(map, &counts);
	return counts;
}

extern bool peer_fence_only;	/* maps that are opened from now on clean no lines; they count them */

extern const struct peer peer_absl;
extern const struct peer peer_lmdb;
extern const struct peer peer_skiplist;
extern const struct peer peer_lcb;
extern const struct peer peer_nvt_a;

#ifdef __cplusplus
}
#endif

#endif /* CRAB_BENCH_PEER_H */

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

/**
 * struct peer_counts - lines and fences of a map so far
 * @lines: cleaned on the write path
 * @fences: on the write path
 * @prepare_lines: off it
 * @prepare_fences: off it
 */
struct peer_counts {
	u64 lines;
	u64 fences;
	u64 prepare_lines;
	u64 prepare_fences;
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
 * @attach: detach the map and attach it again; or NULL
 * @threads: may several threads use it?
 * @batches: does it have batches?
 */
struct peer {
	const char *engine;
	const char *layout;
	void *(*open)(const struct peer *peer, u64 keys, u32 leaf_bytes);
	int (*run)(void *map, struct crab_bench_work *work);
	void (*counts)(void *map, struct peer_counts *counts);
	void (*attach)(void *map, struct peer_attach *times);
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

extern const struct peer peer_absl;
extern const struct peer peer_lmdb;

#ifdef __cplusplus
}
#endif

#endif /* CRAB_BENCH_PEER_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the interface of a measured store of values under names, for YCSB.
 *
 * An error of a store ends the program with a message.
 */
#ifndef CRAB_BENCH_YCSB_H
#define CRAB_BENCH_YCSB_H

#include <stdbool.h>
#include <stdint.h>

#define YCSB_KEY	24	/* bytes of a key: "user" and 20 digits */

/**
 * struct ycsb_store - a kind of store
 * @name: as rows name it
 * @open: an empty store; @place: of its files, or of its socket; @records: as many fit
 * @load: with true, puts need not be durable until the call with false, which makes them so
 * @put: durable on return; @fresh: the key is not there
 * @get: copies the value; returns its length
 * @scan: gets @n values from @key on, in the order of the keys; returns how many there were
 * @hold: begins a snapshot, or ends it; NULL: it has none
 * @close: removes its files
 */
struct ycsb_store {
	const char *name;
	void *(*open)(const char *place, uint64_t records, uint32_t bytes);
	void (*load)(void *store, bool begin);
	void (*put)(void *store, const char *key, const void *value, uint32_t bytes, bool fresh);
	uint32_t (*get)(void *store, const char *key, void *value, uint32_t room);
	uint32_t (*scan)(void *store, const char *key, uint32_t n, void *value, uint32_t room);
	void (*hold)(void *store, bool begin);
	void (*close)(void *store);
};

void ycsb_fail(const char *store, const char *what, const char *why) __attribute__((__noreturn__));

extern const struct ycsb_store ycsb_crab;
extern const struct ycsb_store ycsb_lmdb;
extern const struct ycsb_store ycsb_sqlite;
extern const struct ycsb_store ycsb_redis;

#endif /* CRAB_BENCH_YCSB_H */

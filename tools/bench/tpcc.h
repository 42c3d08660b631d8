/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the index operations of TPC-C, computed in advance: of the tables' first
 * content, and of a sequence of transactions.
 */
#ifndef CRAB_BENCH_TPCC_H
#define CRAB_BENCH_TPCC_H

#include "bench/work.h"

enum tpcc_kind {
	TPCC_NEW_ORDER,
	TPCC_PAYMENT,
	TPCC_ORDER_STATUS,
	TPCC_DELIVERY,
	TPCC_STOCK_LEVEL,
	TPCC_KINDS
};

/* Names of them */
extern const char * const tpcc_kinds[];

#define TPCC_MIXES	4

/**
 * struct tpcc - the tables, and the operations on them
 * @warehouses: number of warehouses, each with ten districts
 * @items: number of items, and of stocks in each warehouse
 * @customers: in each district; so many orders are there at the begin
 * @ops: operations, enum crab_bench_op
 * @keys: their keys
 * @scans: the records that each reads if it is a scan
 * @n: operations so far
 * @room: for so many
 * @transactions: so far, by enum tpcc_kind
 * @next: the next order of each district
 * @oldest: the oldest order of each district that is not delivered
 * @last: the last order of each customer
 * @drawn: random numbers so far
 */
struct tpcc {
	u32 warehouses;
	u32 items;
	u32 customers;
	u8 *ops;
	u64 *keys;
	u32 *scans;
	u64 n;
	u64 room;
	u64 transactions[TPCC_KINDS];
	u32 *next;
	u32 *oldest;
	u32 *last;
	u64 drawn;
};

/**
 * tpcc_begin() - begin with empty tables
 * @tpcc: out
 * @records: the records of the first content, about; at least 10000. With fewer than one warehouse has
 *	there are fewer items and customers
 */
void tpcc_begin(struct tpcc *tpcc, u64 records);

/**
 * tpcc_end() - free the memory
 * @tpcc: from tpcc_begin()
 */
void tpcc_end(struct tpcc *tpcc);

/**
 * tpcc_load() - the inserts of the first content
 * @tpcc: from tpcc_begin(); the operations are replaced
 */
void tpcc_load(struct tpcc *tpcc);

/**
 * tpcc_run() - the operations of transactions
 * @tpcc: loaded, or after other transactions; the operations are replaced
 * @mix: 0 to 3: W1 to W4
 * @count: number of transactions
 */
void tpcc_run(struct tpcc *tpcc, u32 mix, u64 count);

/**
 * tpcc_same_table() - are two keys of the same table, warehouse and district?
 * @a: a key
 * @b: a key
 *
 * Return: true if so.
 */
bool tpcc_same_table(u64 a, u64 b);

#endif /* CRAB_BENCH_TPCC_H */

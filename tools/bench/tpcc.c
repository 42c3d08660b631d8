// SPDX-License-Identifier: GPL-2.0
/*
 * This file computes the index operations of the transactions of TPC-C (revision 5.11, sections
 * 1 and 2), in the mixes of Hwang et al. 2018, section 5.6. Each of the nine tables, and each of the
 * two indexes that find a customer by name and the last order of a customer, is a range of keys of
 * one store; the value of a key stands for the number of a row. Rows are changed in place, so that
 * an operation changes an index only where a row appears or goes.
 *
 * A key: table (4 bits), warehouse (12), district (4), then a number of 36 bits and a line of 8 bits.
 * An order of a customer counts down, so that the newest one is found by a scan of one record.
 *
 * Invariant: the same arguments yield the same operations on every machine. Every operation
 * succeeds, and every scan finds the records that it asks for, in one table, warehouse and district.
 *
 * Locking: none.
 */
#include <stdlib.h>

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>

#include "rig.h"
#include "tpcc.h"

#define DISTRICTS	10
#define ITEMS		100000	/* of a whole warehouse, as the next two */
#define CUSTOMERS	3000
#define RECORDS		560000
#define NAMES		3U	/* customers with the same name, on average */
#define RECENT		20	/* orders that a stock level looks at */
#define ORDER_MAX	((1U << 22) - 1)

enum table {
	WAREHOUSE = 1, DISTRICT, CUSTOMER, HISTORY, NEW_ORDER, ORDER, ORDER_LINE, ITEM, STOCK,
	CUSTOMER_NAME, CUSTOMER_ORDER
};

static const u8 mixes[TPCC_MIXES][TPCC_KINDS] = {
	{ 34, 43, 5, 4, 14 }, { 27, 43, 15, 4, 11 }, { 20, 43, 25, 4, 8 }, { 13, 43, 35, 4, 5 },
};

const char * const tpcc_kinds[] = {
	"new_order", "payment", "order_status", "delivery", "stock_level",
};

/* A place: a warehouse and a district of it */
struct place {
	u32 warehouse;
	u32 district;
};

static u64 key_of(enum table table, struct place at, u64 number, u32 line)
{
	return (u64)table << 60 | (u64)at.warehouse << 48 | (u64)at.district << 44 | number << 8 | line;
}

bool tpcc_same_table(u64 a, u64 b)
{
	return a >> 44 == b >> 44;
}

static u32 draw(struct tpcc *tpcc, u32 below)
{
	return (crab_bench_key(tpcc->drawn++) >> 20) % below;
}

/* NURand: some numbers are far more frequent than others */
static u32 draw_skewed(struct tpcc *tpcc, u32 mask, u32 below)
{
	return ((draw(tpcc, mask + 1) | draw(tpcc, below)) + mask / 3) % below;
}

static u32 draw_item(struct tpcc *tpcc)
{
	return draw_skewed(tpcc, min(8191U, tpcc->items - 1), tpcc->items);
}

static u32 draw_customer(struct tpcc *tpcc)
{
	return draw_skewed(tpcc, min(1023U, tpcc->customers - 1), tpcc->customers);
}

static struct place draw_place(struct tpcc *tpcc)
{
	return (struct place) { draw(tpcc, tpcc->warehouses), draw(tpcc, DISTRICTS) };
}

/* The content of an order is a function of its number */
static u64 order_hash(struct place at, u32 order)
{
	return crab_bench_key(key_of(ORDER, at, order, 0)) >> 8;
}

static u32 order_lines(struct place at, u32 order)
{
	return 5 + order_hash(at, order) % 11;
}

/* At first each customer has one order: the factor is a prime above any number of customers */
static u32 order_customer(const struct tpcc *tpcc, struct place at, u32 order)
{
	if (order < tpcc->customers)
		return order * 7919U % tpcc->customers;
	return (order_hash(at, order) >> 8) % tpcc->customers;
}

static u32 order_item(const struct tpcc *tpcc, struct place at, u32 order, u32 line)
{
	return crab_bench_key(order_hash(at, order) + line) % tpcc->items;
}

static void add_scan(struct tpcc *tpcc, enum crab_bench_op op, u64 key, u32 records)
{
	if (tpcc->n == tpcc->room) {
		tpcc->room = max(2 * tpcc->room, 1ULL << 16);
		tpcc->ops = realloc(tpcc->ops, tpcc->room * sizeof(*tpcc->ops));
		tpcc->keys = realloc(tpcc->keys, tpcc->room * sizeof(*tpcc->keys));
		tpcc->scans = realloc(tpcc->scans, tpcc->room * sizeof(*tpcc->scans));
		if (!tpcc->ops || !tpcc->keys || !tpcc->scans)
			rig_fail("no memory", -ENOMEM);
	}
	tpcc->ops[tpcc->n] = op;
	tpcc->keys[tpcc->n] = key;
	tpcc->scans[tpcc->n++] = records;
}

static void add(struct tpcc *tpcc, enum crab_bench_op op, u64 key)
{
	add_scan(tpcc, op, key, 0);
}

static void search(struct tpcc *tpcc, enum table table, struct place at, u64 number)
{
	add(tpcc, CRAB_BENCH_SEARCH, key_of(table, at, number, 0));
}

static void insert(struct tpcc *tpcc, enum table table, struct place at, u64 number, u32 line)
{
	add(tpcc, CRAB_BENCH_INSERT, key_of(table, at, number, line));
}

static void scan(struct tpcc *tpcc, enum table table, struct place at, u64 number, u32 records)
{
	add_scan(tpcc, CRAB_BENCH_SCAN_FULL, key_of(table, at, number, 0), records);
}

/* Tables of a warehouse are in its district 0; items belong to no warehouse */
static struct place whole(struct place at)
{
	return (struct place) { at.warehouse, 0 };
}

static u32 *next_of(struct tpcc *tpcc, struct place at)
{
	return &tpcc->next[at.warehouse * DISTRICTS + at.district];
}

static u32 *oldest_of(struct tpcc *tpcc, struct place at)
{
	return &tpcc->oldest[at.warehouse * DISTRICTS + at.district];
}

static u32 *last_of(struct tpcc *tpcc, struct place at, u32 customer)
{
	return &tpcc->last[(at.warehouse * DISTRICTS + at.district) * tpcc->customers + customer];
}

static u64 last_order(u32 customer, u32 order)
{
	return (u64)customer << 22 | (ORDER_MAX - order);
}

static void insert_order(struct tpcc *tpcc, struct place at, u32 order)
{
	u32 customer = order_customer(tpcc, at, order), line;

	insert(tpcc, ORDER, at, order, 0);
	insert(tpcc, CUSTOMER_ORDER, at, last_order(customer, order), 0);
	*last_of(tpcc, at, customer) = order;
	for (line = 0; line < order_lines(at, order); line++)
		insert(tpcc, ORDER_LINE, at, order, line);
}

static void new_order(struct tpcc *tpcc)
{
	struct place at = draw_place(tpcc), none = { };
	u32 order = (*next_of(tpcc, at))++, line, item;

	search(tpcc, WAREHOUSE, whole(at), 0);
	search(tpcc, DISTRICT, at, 0);
	search(tpcc, CUSTOMER, at, order_customer(tpcc, at, order));
	for (line = 0; line < order_lines(at, order); line++) {
		item = draw_item(tpcc);
		search(tpcc, ITEM, none, item);
		search(tpcc, STOCK, whole(at), item);
	}
	insert(tpcc, NEW_ORDER, at, order, 0);
	insert_order(tpcc, at, order);
}

/* By number, or in six of ten cases by name, as the middle one of the customers that have it */
static u32 find_customer(struct tpcc *tpcc, struct place at)
{
	u32 customer = draw_customer(tpcc), first;

	if (draw(tpcc, 10) >= 6) {
		search(tpcc, CUSTOMER, at, customer);
		return customer;
	}
	first = customer - customer % NAMES;
	scan(tpcc, CUSTOMER_NAME, at, first, min(NAMES, tpcc->customers - first));
	search(tpcc, CUSTOMER, at, first);
	return first;
}

static void payment(struct tpcc *tpcc)
{
	struct place at = draw_place(tpcc);

	search(tpcc, WAREHOUSE, whole(at), 0);
	search(tpcc, DISTRICT, at, 0);
	find_customer(tpcc, at);
	insert(tpcc, HISTORY, at, tpcc->transactions[TPCC_PAYMENT] + tpcc->customers, 0);
}

static void order_status(struct tpcc *tpcc)
{
	struct place at = draw_place(tpcc);
	u32 customer = find_customer(tpcc, at), order = *last_of(tpcc, at, customer);

	scan(tpcc, CUSTOMER_ORDER, at, last_order(customer, ORDER_MAX), 1);
	search(tpcc, ORDER, at, order);
	scan(tpcc, ORDER_LINE, at, order, order_lines(at, order));
}

static void delivery(struct tpcc *tpcc)
{
	struct place at = draw_place(tpcc);
	u32 order;

	for (at.district = 0; at.district < DISTRICTS; at.district++) {
		if (*oldest_of(tpcc, at) == *next_of(tpcc, at))
			continue;
		order = (*oldest_of(tpcc, at))++;
		scan(tpcc, NEW_ORDER, at, 0, 1);
		add(tpcc, CRAB_BENCH_DELETE, key_of(NEW_ORDER, at, order, 0));
		search(tpcc, ORDER, at, order);
		scan(tpcc, ORDER_LINE, at, order, order_lines(at, order));
		search(tpcc, CUSTOMER, at, order_customer(tpcc, at, order));
	}
}

static void stock_level(struct tpcc *tpcc)
{
	struct place at = draw_place(tpcc);
	u32 end = *next_of(tpcc, at), first = end - min(end, (u32)RECENT), order, line, lines = 0;

	search(tpcc, DISTRICT, at, 0);
	for (order = first; order < end; order++)
		lines += order_lines(at, order);
	scan(tpcc, ORDER_LINE, at, first, lines);
	for (order = first; order < end; order++)
		for (line = 0; line < order_lines(at, order); line++)
			search(tpcc, STOCK, whole(at), order_item(tpcc, at, order, line));
}

void tpcc_begin(struct tpcc *tpcc, u64 records)
{
	*tpcc = (struct tpcc) {
		.warehouses = clamp_t(u64, records / RECORDS, 1, 4095),
		.items = clamp_t(u64, ITEMS * records / RECORDS, 1000, ITEMS),
		.customers = clamp_t(u64, CUSTOMERS * records / RECORDS, 30, CUSTOMERS),
	};
	tpcc->next = calloc(tpcc->warehouses * DISTRICTS, sizeof(*tpcc->next));
	tpcc->oldest = calloc(tpcc->warehouses * DISTRICTS, sizeof(*tpcc->oldest));
	tpcc->last = calloc(tpcc->warehouses * DISTRICTS * tpcc->customers, sizeof(*tpcc->last));
	if (!tpcc->next || !tpcc->oldest || !tpcc->last)
		rig_fail("no memory", -ENOMEM);
}

void tpcc_end(struct tpcc *tpcc)
{
	free(tpcc->next);
	free(tpcc->oldest);
	free(tpcc->last);
	free(tpcc->ops);
	free(tpcc->keys);
	free(tpcc->scans);
}

static void load_district(struct tpcc *tpcc, struct place at)
{
	u32 i, oldest = tpcc->customers * 7 / 10;

	insert(tpcc, DISTRICT, at, 0, 0);
	for (i = 0; i < tpcc->customers; i++) {
		insert(tpcc, CUSTOMER, at, i, 0);
		insert(tpcc, CUSTOMER_NAME, at, i, 0);
		insert(tpcc, HISTORY, at, i, 0);
		insert_order(tpcc, at, i);
		if (i >= oldest)
			insert(tpcc, NEW_ORDER, at, i, 0);
	}
	*next_of(tpcc, at) = tpcc->customers;
	*oldest_of(tpcc, at) = oldest;
}

void tpcc_load(struct tpcc *tpcc)
{
	struct place at = { };
	u32 i;

	tpcc->n = 0;
	for (i = 0; i < tpcc->items; i++)
		insert(tpcc, ITEM, at, i, 0);
	for (at.warehouse = 0; at.warehouse < tpcc->warehouses; at.warehouse++) {
		insert(tpcc, WAREHOUSE, whole(at), 0, 0);
		for (i = 0; i < tpcc->items; i++)
			insert(tpcc, STOCK, whole(at), i, 0);
		for (at.district = 0; at.district < DISTRICTS; at.district++)
			load_district(tpcc, at);
		at.district = 0;
	}
}

void tpcc_run(struct tpcc *tpcc, u32 mix, u64 count)
{
	static void (* const run[])(struct tpcc *tpcc) = {
		new_order, payment, order_status, delivery, stock_level,
	};
	u32 kind, drawn;

	tpcc->n = 0;
	while (count--) {
		drawn = draw(tpcc, 100);
		for (kind = 0; drawn >= mixes[mix][kind]; kind++)
			drawn -= mixes[mix][kind];
		run[kind](tpcc);
		tpcc->transactions[kind]++;
	}
}

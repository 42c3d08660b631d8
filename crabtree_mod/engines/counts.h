/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the counts of an engine: the work done since attach, by CPU.
 *
 * Locking: none. Each CPU changes its own counts with preemption disabled.
 */
#ifndef CRABTREE_COUNTS_H
#define CRABTREE_COUNTS_H

#include <linux/minmax.h>
#include <linux/percpu.h>

#include "engine.h"

#define CRAB_OWN_COUNTERS	8

/**
 * struct crab_counts - work since attach on one CPU; only the sums over all CPUs have a meaning
 * @lines: lines cleaned by writers
 * @fences: their fences
 * @orders: stores that they kept in order
 * @searches: lookups and seeks of a caller; a read of a value is one
 * @deletes: deleted keys, counted by the engine with the record's leaf locked
 * @inserts: new keys, in the same way
 * @updates: replaced values
 * @own: counters of the engine, named by crab_engine_ops.counters
 */
struct crab_counts {
	u64 lines;
	u64 fences;
	u64 orders;
	u64 searches;
	u64 deletes;
	u64 inserts;
	u64 updates;
	u64 own[CRAB_OWN_COUNTERS];
};

/**
 * crab_count() - add to one count, without a cache line that CPUs share
 * @engine: the engine
 * @what: member of struct crab_counts
 * @n: how many
 * Context: any.
 */
#define crab_count(engine, what, n)	this_cpu_add((engine)->counts->what, n)

/**
 * crab_count_flow_here() - add the cost of a write to the counts of one CPU
 * @here: counts of this CPU; preemption is disabled
 * @flow: flow of the write; not changed
 * @fences: fences that the write has yet to do
 */
static inline void crab_count_flow_here(struct crab_counts *here, const struct crab_flow *flow,
					u64 fences)
{
	WRITE_ONCE(here->lines, here->lines + flow->lines);
	WRITE_ONCE(here->fences, here->fences + flow->fences + fences);
	WRITE_ONCE(here->orders, here->orders + flow->orders);
}

/**
 * crab_count_flow() - count the cost of a write, unless the engine did, and begin a new flow
 * @engine: the engine
 * @flow: flow of a write that has ended; then as for the first write
 * Context: any.
 */
static inline void crab_count_flow(struct crab_engine *engine, struct crab_flow *flow)
{
	if (!flow->settled) {
		crab_count_flow_here(get_cpu_ptr(engine->counts), flow, 0);
		put_cpu_ptr(engine->counts);
	}
	*flow = (struct crab_flow){ .media = flow->media };
}

/**
 * crab_count_settled() - count a write that leaves nothing to do
 * @engine: the engine
 * @what: member of struct crab_counts that grows by one
 * @flow: flow of the write; it is settled
 * @left: fences that the write has yet to do: 1 or 0
 *
 * With @left 1 statistics are updated before the last fence, so that the CPU overlaps the next
 * operation with it. The store neither counts a settled flow nor looks for damage or for work that
 * is due. A write that made such work leaves its flow unsettled.
 *
 * Context: any.
 */
#define crab_count_settled(engine, what, flow, left)				\
	do {									\
		struct crab_counts *here_ = get_cpu_ptr((engine)->counts);	\
										\
		WRITE_ONCE(here_->what, here_->what + 1);			\
		crab_count_flow_here(here_, flow, left);			\
		put_cpu_ptr((engine)->counts);					\
		(flow)->settled = true;						\
	} while (0)

/**
 * crab_count_prepare() - count the cost of a preparation
 * @engine: the engine
 * @flow: flow of the preparation
 * Context: maintain, which runs one at a time.
 */
static inline void crab_count_prepare(struct crab_engine *engine, const struct crab_flow *flow)
{
	WRITE_ONCE(engine->prepare_lines, engine->prepare_lines + flow->lines);
	WRITE_ONCE(engine->prepare_fences, engine->prepare_fences + flow->fences);
}

/**
 * crab_counts_sum() - sum the counts of all CPUs
 * @engine: the engine
 * @sum: out
 *
 * Deletes are summed before inserts: of a record that was inserted on one CPU and deleted on
 * another one, the insert is not missed.
 *
 * Context: any; CPUs continue to count meanwhile.
 */
void crab_counts_sum(const struct crab_engine *engine, struct crab_counts *sum);

/**
 * crab_counts_records() - number of records
 * @sum: of crab_counts_sum()
 * @found: number of records that attach found
 *
 * An insert into a fresh leaf is counted after others can delete its record.
 *
 * Context: any.
 * Return: the number; while CPUs count, about so many, and never less than 0.
 */
static inline u64 crab_counts_records(const struct crab_counts *sum, u64 found)
{
	u64 records = found + sum->inserts;

	return records - min(records, sum->deletes);
}

#endif /* CRABTREE_COUNTS_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares what an engine is: one const table of about a dozen
 * operations, chosen at FORMAT by name, found at attach by the id in the
 * superblock. The store calls them; no engine includes another.
 *
 * Locking: the engine's own. lookup, seek, scan, beyond, insert, remove, batch, check and
 * stats run beside each other on any number of CPUs, maintain beside all of them, one
 * at a time. attach, format, repair and detach have the region to themselves.
 */
#ifndef CRABTREE_ENGINE_H
#define CRABTREE_ENGINE_H

#include <linux/percpu.h>

#include "media/model.h"
#include "shared/geometry.h"

#define CRAB_WHAT_LEN	96

struct crab_record {
	u64 key;
	u64 value;
};

/**
 * struct crab_stop - whether long work is to end early
 * @asked: asked between two leaves: true ends attach, seek and check with -EINTR; or NULL
 * @arg: for @asked
 */
struct crab_stop {
	bool (*asked)(void *arg);
	void *arg;
};

/**
 * struct crab_damage - what was found broken on the media
 * @count: how many broken invariants
 * @offset: of the first, in the region
 * @what: the first, in words
 */
struct crab_damage {
	u64 count;
	u64 offset;
	char what[CRAB_WHAT_LEN];
};

enum crab_strategy {
	CRAB_STRATEGY_AUTO,	/* per operation, whichever is estimated to cost less */
	CRAB_STRATEGY_SIP,	/* shift in place, always */
	CRAB_STRATEGY_COW,	/* copy on write, always */
};

/** crab_strategy_name() - for people, and as crab_strategy_by_name() takes it */
const char *crab_strategy_name(enum crab_strategy strategy);

/**
 * crab_strategy_by_name() - find a strategy
 * @name: auto, sip or cow
 * Return: the strategy, or -EINVAL.
 */
int crab_strategy_by_name(const char *name);

/**
 * struct crab_costs - what things cost on this CPU, in picoseconds
 * @round: clean one line and fence
 * @line: one line more before the same fence
 * @order: keep two stores in order
 * @record: copy or move one record
 * @pair: store a record as one event of 16 bytes, instead of two stores in order
 */
struct crab_costs {
	u32 round;
	u32 line;
	u32 order;
	u32 record;
	u32 pair;
};

/**
 * struct crab_tuning - how to do what the media format leaves open; see seed 000
 * @strategy: of writes to sorted leaves, section 4.1
 * @on_demand: allocate leaves by a bitmap on the media, not from the pool, section 5.1
 * @probe: a key not above the middle one is written by copying, section 5.2
 * @pair: store key and value as one event where the CPU can, section 5.3
 * @costs: prices for CRAB_STRATEGY_AUTO
 */
struct crab_tuning {
	enum crab_strategy strategy;
	bool on_demand;
	bool probe;
	bool pair;
	struct crab_costs costs;
};

/**
 * struct crab_attach_how - the conditions of an attach; they hold until detach
 * @clean: the superblock says "clean": all that the media holds is durable
 * @readonly: no operation that writes to the media will be called
 * @root: the word that settle returned at the clean detach before this attach; else 0
 * @stop: how to end the attach early, and later check and seek
 * @tuning: what the media format leaves open
 *
 * The engine copies it: the store that calls attach may keep it on its stack.
 */
struct crab_attach_how {
	bool clean;
	bool readonly;
	u64 root;
	struct crab_stop stop;
	struct crab_tuning tuning;
};

/*
 * What is used where nothing else is asked for: Crab_opt. The module's parameters
 * are written here, and the costs it measured, before any store is attached.
 */
extern struct crab_tuning crab_tuning_default;

/**
 * crab_costs_measure() - price this CPU's cleans and fences by a short test
 * @costs: out
 * Context: may sleep; a few milliseconds; crab_persist_init() came before.
 * Return: 0 or -ENOMEM.
 */
int crab_costs_measure(struct crab_costs *costs);

/**
 * crab_costs_pair() - is a store of 16 bytes cheaper here than two stores in order?
 * @costs: as measured
 *
 * What crab_tuning.pair should be where nobody asks for anything else.
 */
static inline bool crab_costs_pair(const struct crab_costs *costs)
{
	return costs->pair < costs->order;
}

/**
 * struct crab_counts - what was done since attach, on one CPU; only sums mean anything
 * @lines: lines cleaned by writers
 * @fences: their fences
 * @orders: stores that they kept in order
 * @searches: lookups and seeks
 * @inserts: new keys, counted by the engine with the record's leaf locked
 * @deletes: deleted keys, in the same way
 * @updates: replaced values
 * @sips: writes done by shifting in place ...
 * @sip_lines: ... the lines they cleaned ...
 * @sip_fences: ... and their fences
 * @cows: the same of writes done by copying
 * @cow_lines: ...
 * @cow_fences: ...
 */
struct crab_counts {
	u64 lines;
	u64 fences;
	u64 orders;
	u64 searches;
	u64 inserts;
	u64 deletes;
	u64 updates;
	u64 sips;
	u64 sip_lines;
	u64 sip_fences;
	u64 cows;
	u64 cow_lines;
	u64 cow_fences;
};

/**
 * struct crab_engine - an attached engine; the head of each engine's own structure
 * @ops: its operations
 * @media: the region
 * @geo: its leaves
 * @counts: of each CPU
 * @damage: what attach found; does not change afterwards
 * @found: what operations found broken since; see crab_engine_damaged()
 * @clean: as of &struct crab_attach_how
 * @root: as of &struct crab_attach_how
 * @stop: as of &struct crab_attach_how
 * @tuning: as of &struct crab_attach_how
 * @prepare_lines: of maintain, whose caller serialises; away from what all CPUs read
 * @prepare_fences: the same
 */
struct crab_engine {
	const struct crab_engine_ops *ops;
	struct crab_media *media;
	struct crab_geometry geo;
	struct crab_counts __percpu *counts;
	struct crab_damage damage;
	bool clean;
	u64 root;
	struct crab_stop stop;
	struct crab_tuning tuning;
	u64 prepare_lines;
	u64 prepare_fences;
	struct crab_damage found;
};

/** crab_engine_is_stopped() - is the work that the caller does to end? */
static inline bool crab_engine_is_stopped(const struct crab_engine *engine)
{
	return engine->stop.asked && engine->stop.asked(engine->stop.arg);
}

/** crab_count() - one more of something, without a line that CPUs share */
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
 * crab_count_settled() - count a write that leaves nothing to do, before its only fence
 * @engine: the engine
 * @what: member of struct crab_counts that grows by one
 * @flow: flow of a write that has one more fence to do; it is settled
 *
 * Statistics are updated before the fence so that the CPU overlaps the next operation with it.
 * The store neither counts a settled flow nor looks for damage or for work that is due. A write
 * that made such work leaves its flow unsettled.
 *
 * Context: any.
 */
#define crab_count_settled(engine, what, flow)					\
	do {									\
		struct crab_counts *here_ = get_cpu_ptr((engine)->counts);	\
										\
		WRITE_ONCE(here_->what, here_->what + 1);			\
		crab_count_flow_here(here_, flow, 1);				\
		put_cpu_ptr((engine)->counts);					\
		(flow)->settled = true;						\
	} while (0)

/** crab_count_prepare() - what a preparation cost */
static inline void crab_count_prepare(struct crab_engine *engine, const struct crab_flow *flow)
{
	WRITE_ONCE(engine->prepare_lines, engine->prepare_lines + flow->lines);
	WRITE_ONCE(engine->prepare_fences, engine->prepare_fences + flow->fences);
}

/**
 * crab_engine_init() - the head of an engine that is being attached, zeroed
 * @engine: the head
 * @ops: its operations
 * @media: the region
 * @geo: its leaves
 * @how: copied into the head
 * Context: may sleep.
 * Return: 0 or -ENOMEM; the caller calls crab_engine_exit() in either case.
 */
int crab_engine_init(struct crab_engine *engine, const struct crab_engine_ops *ops,
		     struct crab_media *media, const struct crab_geometry *geo,
		     const struct crab_attach_how *how);

/** crab_engine_exit() - the end of it */
void crab_engine_exit(struct crab_engine *engine);

/** crab_counts_sum() - the counts of all CPUs, while they go on counting */
void crab_counts_sum(const struct crab_engine *engine, struct crab_counts *sum);

/**
 * struct crab_engine_stats - what an engine says of itself
 * @leaves_used: leaves that hold records
 * @leaves_bad: quarantined, or free and kept from use because their memory cannot be read
 * @records: live records
 * @capacity: records that the leaves could hold
 * @dram_bytes: descriptors and index
 * @splits: since attach
 * @unlinks: since attach; leaves merged with a neighbour, too
 * @repairs: slots that attach completed
 * @lines_bound: lines that one operation cleans at most
 */
struct crab_engine_stats {
	u64 leaves_used;
	u64 leaves_bad;
	u64 records;
	u64 capacity;
	u64 dram_bytes;
	u64 splits;
	u64 unlinks;
	u64 repairs;
	u64 lines_bound;
};

enum crab_insert_mode {
	CRAB_INSERT_EITHER,
	CRAB_INSERT_CREATE,	/* -EEXIST if there */
	CRAB_INSERT_REPLACE,	/* -ENOENT if not there */
};

enum crab_seek_dir {
	CRAB_SEEK_GE,
	CRAB_SEEK_LE,
};

/**
 * struct crab_old - what a write found
 * @existed: the key was there
 * @value: its value then
 */
struct crab_old {
	bool existed;
	u64 value;
};

enum crab_verb {
	CRAB_VERB_SEARCH,
	CRAB_VERB_INSERT,
	CRAB_VERB_DELETE,
};

/**
 * struct crab_batch_op - one operation of a batch
 * @verb: what
 * @mode: of an insert
 * @key: its key
 * @value: of an insert; out: of a search
 * @old: out: what a write found
 * @status: in: 0; what is not 0 is left alone. Out: as of the verb alone
 */
struct crab_batch_op {
	enum crab_verb verb;
	enum crab_insert_mode mode;
	u64 key;
	u64 value;
	struct crab_old old;
	int status;
};

struct crab_check_report {
	u64 leaves;
	u64 records;
	struct crab_damage damage;
};

/**
 * struct crab_engine_ops - an engine
 * @name: as FORMAT names it
 * @id: as the superblock names it; never reused
 * @layouts: its leaf layouts, ended by a NULL name; the first is the default
 * @flags: CRAB_ENGINE_*
 * @format: write an empty body, durable on return (P2); the superblocks are void
 * @attach: the read-only pass. Writes nothing. Damage is noted in @damage of the returned
 *	engine; ERR_PTR(-ENOMEM), or ERR_PTR(-EINTR) if it was stopped. The engine knows all
 *	conditions from @how: the store sets no field of it afterwards.
 * @repair: make durable what attach read (P4), repair what a power cut left; cleaned on
 *	return, durable with the superblock (P3). Called once, only without damage and
 *	only when writable. 0, or -EINTR: the next attach does it again
 * @settle: the last call before a clean detach writes the superblock that says "clean". May
 *	write to the media; all that it wrote is durable on return, for the superblock names
 *	@root. The next attach receives @root in its &struct crab_attach_how, unless the store
 *	was not detached cleanly. An error costs the root, which is then 0, and nothing else.
 *	Or NULL: no root
 * @detach: free all; writes no media
 * @lookup: value of a key, or -ENOENT
 * @seek: nearest record in a direction, or -ENOENT; -EINTR: it was stopped
 * @scan: records in [@start, @end] in order, at most @cap; returns how many, 0
 *	only at the end of the range; stops before a quarantined leaf, so that the
 *	call which begins there says -EUCLEAN
 * @beyond: the least key behind the first quarantined range from @key on, or the
 *	reserved key
 * @insert: durable on return. -ENOSPC, -EEXIST and -ENOENT before the first store
 * @remove: durable on return, or -ENOENT
 * @batch: several of the three above; those of one key in their order; all durable on
 *	return, by fewer fences. Not atomic: a cut finds of each key any of its states. Or
 *	NULL: one after the other
 * @quarantine: the bytes [@from, @to) cannot be read any more: quarantine the leaves there;
 *	returns how many. The store is read-only before. Or NULL: it reads no media
 * @check: read the media again, compare it with every invariant; -EINTR: it was stopped
 * @stats: counts
 * @maintain: one bounded piece of work off the write path; true if more waits;
 *	or NULL
 * @wants: is it time for maintain? any context, no lock; or NULL
 *
 * -EUCLEAN from any: the key's range is quarantined.
 */
struct crab_engine_ops {
	const char *name;
	u16 id;
	u32 flags;
	const struct crab_layout *layouts;

	int (*format)(struct crab_flow *flow, const struct crab_geometry *geo);
	struct crab_engine *(*attach)(struct crab_media *media, const struct crab_geometry *geo,
				      const struct crab_attach_how *how);
	int (*repair)(struct crab_engine *engine, struct crab_flow *flow);
	int (*settle)(struct crab_engine *engine, struct crab_flow *flow, u64 *root);
	void (*detach)(struct crab_engine *engine);

	int (*lookup)(struct crab_engine *engine, u64 key, u64 *value);
	int (*seek)(struct crab_engine *engine, u64 key, enum crab_seek_dir dir,
		    struct crab_record *record);
	int (*scan)(struct crab_engine *engine, u64 start, u64 end,
		    struct crab_record *records, u32 cap);
	u64 (*beyond)(struct crab_engine *engine, u64 key);
	int (*insert)(struct crab_engine *engine, struct crab_flow *flow, u64 key, u64 value,
		      enum crab_insert_mode mode, struct crab_old *old);
	int (*remove)(struct crab_engine *engine, struct crab_flow *flow, u64 key,
		      struct crab_old *old);
	void (*batch)(struct crab_engine *engine, struct crab_flow *flow,
		      struct crab_batch_op *ops, u32 n);

	u64 (*quarantine)(struct crab_engine *engine, u64 from, u64 to);
	int (*check)(struct crab_engine *engine, struct crab_check_report *report);
	void (*stats)(struct crab_engine *engine, struct crab_engine_stats *stats);
	bool (*maintain)(struct crab_engine *engine);
	bool (*wants)(struct crab_engine *engine);
};

#define CRAB_ENGINE_VOLATILE	(1U << 0)	/* content does not outlive its attach */

/**
 * struct crab_layout - a leaf layout of an engine
 * @name: as FORMAT names it
 * @id: as the superblock names it; never reused
 * @needs: the media model under which its promise holds
 * @leaf_min: smallest size of a leaf, a power of two
 * @leaf_max: largest size of a leaf
 * @leaf_default: size of a leaf where FORMAT is not asked for one
 * @records: records that a leaf of this size holds
 * @before_pool: bytes from CRAB_AREA_OFFSET on that belong to the engine, in a pool of so many
 *	leaves of this size; the pool begins after them. Or NULL: none
 */
struct crab_layout {
	const char *name;
	u16 id;
	enum crab_model needs;
	u32 leaf_min;
	u32 leaf_max;
	u32 leaf_default;
	u32 (*records)(u32 leaf_bytes);
	u64 (*before_pool)(u64 leaves, u32 leaf_bytes);
};

extern const struct crab_engine_ops crab_engine_crab;
extern const struct crab_engine_ops crab_engine_volatile;

/* The engine table, ended by NULL */
extern const struct crab_engine_ops * const crab_engines[];

/**
 * crab_engine_by_name() - find an engine
 * @name: as in FORMAT; empty: the default engine
 * Return: the engine, or NULL.
 */
const struct crab_engine_ops *crab_engine_by_name(const char *name);

/**
 * crab_engine_by_id() - find an engine
 * @id: as in the superblock
 * Return: the engine, or NULL.
 */
const struct crab_engine_ops *crab_engine_by_id(u16 id);

/**
 * crab_layout_by_name() - find a layout of an engine
 * @ops: the engine
 * @name: as in FORMAT; empty: its default
 * Return: the layout, or NULL.
 */
const struct crab_layout *crab_layout_by_name(const struct crab_engine_ops *ops, const char *name);

/**
 * crab_layout_by_id() - find a layout of an engine
 * @ops: the engine
 * @id: as in the superblock
 * Return: the layout, or NULL.
 */
const struct crab_layout *crab_layout_by_id(const struct crab_engine_ops *ops, u16 id);

/**
 * crab_damage_note() - one broken invariant more
 * @damage: where to note it; keeps the first
 * @offset: where on the media
 * @fmt: what, in words
 */
__printf(3, 4)
void crab_damage_note(struct crab_damage *damage, u64 offset, const char *fmt, ...);

/**
 * crab_engine_damaged() - an operation found an invariant of the media broken
 * @engine: the engine; the caller excludes others that call this
 * @offset: where on the media
 * @fmt: what, in words
 *
 * Keeps the first. The store looks for it after each write whose flow is not settled, after each
 * batch and after maintain, and turns read-only.
 *
 * Context: any.
 * Return: -EUCLEAN.
 */
__printf(3, 4)
int crab_engine_damaged(struct crab_engine *engine, u64 offset, const char *fmt, ...);

/** crab_engine_is_damaged() - does crab_engine.found hold anything? Then it may be read */
static inline bool crab_engine_is_damaged(const struct crab_engine *engine)
{
	/* Pairs with crab_engine_damaged() */
	return smp_load_acquire(&engine->found.count);
}

#endif /* CRABTREE_ENGINE_H */

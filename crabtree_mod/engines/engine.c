// SPDX-License-Identifier: GPL-2.0
/*
 * This file holds the table of engines and the functions that all engines share.
 *
 * Invariant: the table is const; an id is never given to another engine.
 *
 * Locking: crab_engine.noting, for the damage that operations find.
 */
#include <linux/cpumask.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/percpu.h>
#include <linux/string.h>

#include "counts.h"

const struct crab_engine_ops * const crab_engines[] = {
	&crab_engine_crab,	/* the first is the default */
	&crab_engine_volatile,
	&crab_engine_nvtree,
	&crab_engine_fastfair,
	&crab_engine_clfb,
	&crab_engine_nbtree,
#ifdef CRAB_TOY		/* test builds only */
	&crab_engine_toy,
#endif
	NULL
};

const struct crab_engine_ops *crab_engine_by_name(const char *name)
{
	const struct crab_engine_ops * const *e;

	if (!name[0])
		return crab_engines[0];
	for (e = crab_engines; *e; e++)
		if (!strcmp((*e)->name, name))
			return *e;
	return NULL;
}

const struct crab_engine_ops *crab_engine_by_id(u16 id)
{
	const struct crab_engine_ops * const *e;

	for (e = crab_engines; *e; e++)
		if ((*e)->id == id)
			return *e;
	return NULL;
}

const struct crab_layout *crab_layout_by_name(const struct crab_engine_ops *ops, const char *name)
{
	const struct crab_layout *l;

	if (!name[0])
		return &ops->layouts[0];
	for (l = ops->layouts; l->name; l++)
		if (!strcmp(l->name, name))
			return l;
	return NULL;
}

const struct crab_layout *crab_layout_by_id(const struct crab_engine_ops *ops, u16 id)
{
	const struct crab_layout *l;

	for (l = ops->layouts; l->name; l++)
		if (l->id == id)
			return l;
	return NULL;
}

int crab_engine_init(struct crab_engine *engine, const struct crab_engine_ops *ops,
		     struct crab_media *media, const struct crab_geometry *geo,
		     const struct crab_attach_how *how)
{
	engine->ops = ops;
	engine->own = ops;
	engine->media = media;
	engine->geo = *geo;
	engine->clean = how->clean;
	engine->root = how->root;
	engine->stop = how->stop;
	spin_lock_init(&engine->noting);
	engine->counts = alloc_percpu_gfp(struct crab_counts,
					  GFP_KERNEL | __GFP_NORETRY | __GFP_NOWARN);
	return engine->counts ? 0 : -ENOMEM;
}

void crab_engine_exit(struct crab_engine *engine)
{
	free_percpu(engine->counts);
}

static_assert(offsetof(struct crab_counts, deletes) < offsetof(struct crab_counts, inserts));

void crab_counts_sum(const struct crab_engine *engine, struct crab_counts *sum)
{
	u64 *to = (u64 *)sum;
	unsigned int cpu;
	u32 i;

	memset(sum, 0, sizeof(*sum));
	for (i = 0; i < sizeof(*sum) / sizeof(*to); i++) {
		for_each_possible_cpu(cpu)
			to[i] += READ_ONCE(((const u64 *)per_cpu_ptr(engine->counts, cpu))[i]);
		/* A delete that was summed comes after its insert: the lock of the leaf */
		smp_rmb();
	}
}

int crab_engine_damaged(struct crab_engine *engine, u64 offset, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	spin_lock(&engine->noting);
	crab_damage_publish(&engine->found, offset, fmt, args);
	spin_unlock(&engine->noting);
	va_end(args);
	return -EUCLEAN;
}

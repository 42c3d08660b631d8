// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements attach and detach: the lifetime of a store.
 *
 * Invariants: the superblock on the media is "attached" before the first operation and
 * "clean" only after the last one; only a "clean" superblock names an engine root; a store in
 * which attach found damage is read-only. An unfinished store has no superblock on the media, and
 * neither attach nor detach writes one.
 *
 * Crash table: a cut before the fence of the superblock (P3) leaves the old superblock; a cut
 * after it leaves the new one. "Attached" found at attach means that the last writer did not
 * detach: all that attach reads is cleaned before repair builds on it. "Clean" is believed,
 * and so is the engine root: all but the superblock was durable before it was written. One copy
 * alone is never "clean" (super.c).
 *
 * Locking: the caller has the region to itself.
 */
#define pr_fmt(fmt) "crabtree: " fmt

#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "media/badmem.h"
#include "media/swap.h"
#include "blob_priv.h"
#include "commit_priv.h"
#include "gate.h"
#include "store_priv.h"

static int attach_error(enum crab_verdict verdict)
{
	switch (verdict) {
	case CRAB_VERDICT_GOOD:
	case CRAB_VERDICT_RO:
		break;
	case CRAB_VERDICT_BLANK:
		return -ENODATA;
	case CRAB_VERDICT_FOREIGN:
		return -EMEDIUMTYPE;
	case CRAB_VERDICT_DAMAGED:
		return -EUCLEAN;
	case CRAB_VERDICT_NEWER:
		return -EPROTONOSUPPORT;
	case CRAB_VERDICT_MISFIT:
		return -EINVAL;
	}
	return 0;
}

void crab_store_geometry(const struct crab_super *super, struct crab_geometry *geo)
{
	geo->pool_offset = super->pool_offset;
	geo->leaves = super->leaves;
	geo->extent = super->unwritten ? 1 : super->leaves;
	geo->leaf_bytes = super->leaf_bytes;
	geo->store_id = super->store_id;
	geo->layout = super->layout;
}

const char *crab_store_fits(const struct crab_super *super, const struct crab_layout *layout)
{
	if (super->leaf_bytes < layout->leaf_min || super->leaf_bytes > layout->leaf_max)
		return "leaf size";
	if (layout->before_pool && super->pool_offset - CRAB_AREA_OFFSET <
	    layout->before_pool(super->leaves, super->leaf_bytes))
		return "pool offset";
	return NULL;
}

int crab_store_keeps(const struct crab_media *media, const struct crab_layout *layout,
		     char *reason)
{
	if (layout->swaps && crab_cas_pair_check()) {
		snprintf(reason, CRAB_REASON_LEN,
			 "no 16-byte compare-and-swap on this CPU: layout %.16s needs it",
			 layout->name);
		return -EOPNOTSUPP;
	}
	if (crab_media_keeps(media, layout->needs) != CRAB_KEEPS_NO)
		return 0;
	snprintf(reason, CRAB_REASON_LEN, "layout %.16s needs a region whose caches persist",
		 layout->name);
	return -EOPNOTSUPP;
}

/* A store that only reads cannot break a promise */
static int attach_keeps(const struct crab_store *store, const struct crab_layout *layout,
			struct crab_attach_report *report)
{
	int err = 0;

	if (!store->options.readonly && report->verdict != CRAB_VERDICT_RO)
		err = crab_store_keeps(store->media, layout, report->reason);
	if (err)
		report->verdict = CRAB_VERDICT_MISFIT;
	return err;
}

/* Finds the engine of a superblock and checks that its layout fits the geometry and the media */
static int attach_find(struct crab_store *store, const struct crab_engine_ops **ops,
		       struct crab_attach_report *report)
{
	const struct crab_super *super = &store->super;
	const struct crab_layout *layout = NULL;
	const char *impossible;
	int err;

	*ops = crab_engine_by_id(super->engine);
	if (*ops)
		layout = crab_layout_by_id(*ops, super->layout);
	if (!layout) {
		snprintf(report->reason, sizeof(report->reason), "unknown %s %u",
			 *ops ? "layout" : "engine", *ops ? super->layout : super->engine);
		report->verdict = CRAB_VERDICT_NEWER;
		return attach_error(report->verdict);
	}
	impossible = crab_store_fits(super, layout);
	if (impossible) {
		snprintf(report->reason, sizeof(report->reason), "superblock at %llu: impossible %s",
			 super->copy * CRAB_SUPER_STRIDE, impossible);
		report->verdict = CRAB_VERDICT_DAMAGED;
		return attach_error(report->verdict);
	}
	err = attach_keeps(store, layout, report);
	if (!err && !store->options.readonly && report->verdict == CRAB_VERDICT_GOOD)
		crab_store_plan_growth(store, layout);
	return err;
}

static enum crab_durability attach_durability(const struct crab_store *store)
{
	if (store->engine->ops->flags & CRAB_ENGINE_VOLATILE)
		return CRAB_DURABILITY_NONE;
	if (store->readonly && !store->engine->clean &&
	    store->media->durability != CRAB_DURABILITY_NONE)
		return CRAB_DURABILITY_UNPROVEN;
	return store->media->durability;
}

/* The part of attach that writes: repairs, then "attached". Pinned. */
static int attach_write(struct crab_store *store)
{
	struct crab_flow flow = { .media = store->media };
	struct crab_engine *engine = store->engine;
	int err;

	if (store->readonly)
		return 0;
	crab_commits_prepare(store, &flow);
	crab_super_flush(&flow);
	crab_store_grow(store, &flow);
	err = engine->ops->repair ? engine->ops->repair(engine, &flow) : 0;
	if (err)
		return err;
	crab_store_look(store);
	if (store->readonly)
		return 0;
	store->super.state = CRAB_SUPER_STATE_ATTACHED;
	store->super.engine_root = 0;
	if (!store->unfinished)
		crab_super_write(&flow, &store->super);
	return crab_commits_redo(store, &flow);
}

/*
 * Commits and blobs, if the superblock has them. The blobs are those that the records name once the
 * list of a commit has been applied: the others that it replaces are not needed any more
 */
static int attach_features(struct crab_store *store)
{
	u64 features = store->super.feature_incompat;
	int err = 0;

	if (features & CRAB_INCOMPAT_COMMITS)
		err = crab_commits_attach(store);
	if (!err && features & CRAB_INCOMPAT_BLOBS)
		err = crab_blobs_attach(store);
	return err;
}

/* FORMAT makes no names without blobs, and no blobs that the engine or the region cannot hold */
static int attach_possible(struct crab_store *store, struct crab_attach_report *report)
{
	u64 features = store->super.feature_incompat;
	bool blobs = features & CRAB_INCOMPAT_BLOBS, names = features & CRAB_INCOMPAT_NAMES;
	char why[CRAB_REASON_LEN] = "names without blobs";

	if (blobs ? !crab_blobs_permitted(store->engine, why) : !names)
		return 0;
	snprintf(report->reason, sizeof(report->reason), "superblock at %llu: %.90s",
		 store->super.copy * CRAB_SUPER_STRIDE, why);
	report->verdict = CRAB_VERDICT_DAMAGED;
	return attach_error(report->verdict);
}

/* The engine has read its leaves, and has allocated none */
static int attach_found(struct crab_store *store, struct crab_attach_report *report)
{
	int err = attach_possible(store, report) ?: attach_features(store);

	if (err)
		return err;
	if (store->engine->damage.count)
		crab_store_damaged(store, &store->engine->damage);
	crab_flow_pin();
	err = attach_write(store);
	crab_flow_unpin();
	return err;
}

static int attach_engine(struct crab_store *store, const struct crab_engine_ops *ops,
			 struct crab_attach_report *report)
{
	const struct crab_attach_options *options = &store->options;
	bool clean = store->super.state == CRAB_SUPER_STATE_CLEAN;
	const struct crab_attach_how how = {
		.clean = clean,
		.readonly = store->readonly,
		.root = clean ? store->super.engine_root : 0,
		.stop = { .asked = options->interrupted, .arg = options->arg },
		.tuning = options->tuning,
	};
	struct crab_geometry geo;
	int err;

	crab_store_geometry(&store->super, &geo);
	store->engine = ops->attach(store->media, &geo, &how);
	if (IS_ERR(store->engine))
		return PTR_ERR(store->engine);
	err = attach_found(store, report);
	if (err) {
		crab_blobs_detach(store);
		crab_commits_detach(store);
		ops->detach(store->engine);
	}
	store->durability = err ? CRAB_DURABILITY_NONE : attach_durability(store);
	return err;
}

/* The superblock is good: serves it */
static int attach_serve(struct crab_store *store, const struct crab_engine_ops *ops,
			struct crab_attach_report *report)
{
	int err;

	if (report->verdict == CRAB_VERDICT_RO)
		crab_store_set_readonly(store, report->reason);
	else if (store->options.readonly)
		crab_store_set_readonly(store, "attached read-only");
	err = attach_engine(store, ops, report);
	if (err && report->verdict != CRAB_VERDICT_DAMAGED)
		snprintf(report->reason, sizeof(report->reason), "attach failed: error %d", err);
	if (err)
		return err;
	if (store->readonly)
		report->verdict = CRAB_VERDICT_RO;
	strscpy(report->reason, store->reason, sizeof(report->reason));
	return 0;
}

/* The superblock of an unfinished store is not on the media */
static enum crab_verdict attach_super(struct crab_store *store, char *reason)
{
	const struct crab_super *unfinished = store->options.unfinished;

	if (!unfinished)
		return crab_super_read(store->media, &store->super, reason);
	store->super = *unfinished;
	store->unfinished = true;
	store->options.unfinished = NULL;
	reason[0] = '\0';
	return CRAB_VERDICT_GOOD;
}

struct crab_store *crab_store_attach(struct crab_media *media,
				     const struct crab_attach_options *options,
				     struct crab_attach_report *report)
{
	const struct crab_engine_ops *ops = NULL;
	u64 began = ktime_get_ns();
	struct crab_store *store;
	int err;

	*report = (struct crab_attach_report){ .reason = "attach failed: no memory" };
	store = kzalloc(sizeof(*store), GFP_KERNEL | __GFP_RETRY_MAYFAIL | __GFP_NOWARN);
	if (!store)
		return ERR_PTR(-ENOMEM);
	mutex_init(&store->lock);
	store->media = media;
	store->options = *options;
	store->bad_added = crab_badmem_added(media);
	report->verdict = attach_super(store, report->reason);
	err = attach_error(report->verdict);
	if (!err)
		err = attach_find(store, &ops, report);
	if (!err)
		err = attach_serve(store, ops, report);
	if (err)
		goto err_free;
	store->attach_ns = ktime_get_ns() - began;
	if (!store->readonly)
		crab_store_kick(store);
	return store;

err_free:
	kfree(store);
	return ERR_PTR(err);
}

void crab_store_abandon(struct crab_store *store)
{
	if (!store)
		return;
	crab_gate_end(store);
	crab_blobs_detach(store);
	crab_commits_detach(store);
	store->engine->ops->detach(store->engine);
	kfree(store);
}

/* The engine's last word, then "clean". Pinned. */
static void detach_write(struct crab_store *store)
{
	struct crab_flow flow = { .media = store->media };
	struct crab_engine *engine = store->engine;
	u64 root = 0;

	if (engine->ops->settle && engine->ops->settle(engine, &flow, &root))
		root = 0;
	store->super.state = CRAB_SUPER_STATE_CLEAN;
	store->super.engine_root = root;
	crab_super_write(&flow, &store->super);
}

void crab_store_detach(struct crab_store *store)
{
	if (store && !store->readonly && !store->unfinished) {
		crab_flow_pin();
		detach_write(store);
		crab_flow_unpin();
	}
	crab_store_abandon(store);
}

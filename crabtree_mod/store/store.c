// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the store: FORMAT, attach and detach, the verbs under
 * their lock, errors and statistics.
 *
 * Invariants: the superblock says "attached" on the media before the first
 * operation and "clean" only after the last; a store in which damage was found
 * is read-only and stays so; a verb that returns 0 is durable.
 *
 * Crash table of attach and detach: cut before the superblock's fence (P3), the
 * old superblock counts; after it, the new one. "Attached" found at attach means
 * that a writer was cut off, or its machine stopped: all that is read is cleaned
 * before it is built upon. "Clean" is believed wherever it stands, for all but the
 * superblock was durable before it was written.
 *
 * Locking: none for the verbs, which the engine serves beside each other; a mutex
 * for turning read-only.
 */
#define pr_fmt(fmt) "crabtree: " fmt

#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/mutex.h>
#include <linux/percpu.h>
#include <linux/printk.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/timekeeping.h>

#include "media/badmem.h"
#include "store_priv.h"

static const struct {
	enum crab_verdict verdict;
	int err;
} attach_errors[] = {
	{ CRAB_VERDICT_BLANK,	-ENODATA },
	{ CRAB_VERDICT_FOREIGN,	-EMEDIUMTYPE },
	{ CRAB_VERDICT_DAMAGED,	-EUCLEAN },
	{ CRAB_VERDICT_NEWER,	-EPROTONOSUPPORT },
	{ CRAB_VERDICT_MISFIT,	-EINVAL },
};

static int attach_error(enum crab_verdict verdict)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(attach_errors); i++)
		if (attach_errors[i].verdict == verdict)
			return attach_errors[i].err;
	return 0;
}

static void super_geometry(const struct crab_super *super, struct crab_geometry *geo)
{
	geo->pool_offset = super->pool_offset;
	geo->leaves = super->leaves;
	geo->extent = super->unwritten ? 1 : super->leaves;
	geo->leaf_bytes = super->leaf_bytes;
	geo->store_id = super->store_id;
	geo->layout = super->layout;
}

static void store_set_readonly(struct crab_store *store, const char *reason)
{
	mutex_lock(&store->lock);
	strscpy(store->reason, reason, sizeof(store->reason));
	WRITE_ONCE(store->readonly, true);
	mutex_unlock(&store->lock);
	if (store->options.kick)
		store->options.kick(store->options.arg);
}

bool crab_store_is_readonly(const struct crab_store *store)
{
	return READ_ONCE(store->readonly);
}

static void store_damaged(struct crab_store *store, const struct crab_damage *damage)
{
	char reason[CRAB_REASON_LEN];

	snprintf(reason, sizeof(reason), "damaged at offset %llu: %s",
		 (unsigned long long)damage->offset, damage->what);
	pr_err_ratelimited("store %08x: %s (%llu in all); read-only from now on\n",
			   store->super.store_id, reason, (unsigned long long)damage->count);
	store_set_readonly(store, reason);
}

/* After an operation that may have found damage: the first that did turns the store read-only */
static void store_look(struct crab_store *store)
{
	if (unlikely(crab_engine_is_damaged(store->engine)) && !READ_ONCE(store->readonly))
		store_damaged(store, &store->engine->found);
}

/* Is there an engine and a layout for this superblock? */
static int store_find_engine(const struct crab_super *super, const struct crab_engine_ops **ops,
			     struct crab_attach_report *report)
{
	*ops = crab_engine_by_id(super->engine);
	if (*ops && crab_layout_by_id(*ops, super->layout))
		return 0;
	snprintf(report->reason, sizeof(report->reason), "unknown %s %u",
		 *ops ? "layout" : "engine", *ops ? super->layout : super->engine);
	report->verdict = CRAB_VERDICT_NEWER;
	return -EPROTONOSUPPORT;
}

static enum crab_durability store_durability(const struct crab_store *store)
{
	if (store->engine->ops->flags & CRAB_ENGINE_VOLATILE)
		return CRAB_DURABILITY_NONE;
	if (store->readonly && !store->engine->clean &&
	    store->media->durability != CRAB_DURABILITY_NONE)
		return CRAB_DURABILITY_UNPROVEN;
	return store->media->durability;
}

/* The part of attach that writes: repairs, then "attached". Pinned. */
static int store_open_media(struct crab_store *store)
{
	struct crab_flow flow = { .media = store->media };
	struct crab_engine *engine = store->engine;
	int err;

	if (store->readonly)
		return 0;
	crab_super_flush(&flow);
	err = engine->ops->repair(engine, &flow);
	if (err)
		return err;
	store_look(store);
	if (store->readonly)
		return 0;
	store->super.state = CRAB_SUPER_STATE_ATTACHED;
	crab_super_write(&flow, &store->super);
	return 0;
}

static int store_attach_engine(struct crab_store *store, const struct crab_engine_ops *ops)
{
	struct crab_stop stop = {
		.asked = store->options.interrupted,
		.arg = store->options.arg,
	};
	struct crab_geometry geo;
	int err;

	super_geometry(&store->super, &geo);
	store->engine = ops->attach(store->media, &geo, &stop);
	if (IS_ERR(store->engine))
		return PTR_ERR(store->engine);
	store->engine->clean = store->super.state == CRAB_SUPER_STATE_CLEAN;
	store->engine->tuning = store->options.tuning ? *store->options.tuning :
							crab_tuning_default;
	if (store->engine->damage.count)
		store_damaged(store, &store->engine->damage);
	crab_flow_pin();
	err = store_open_media(store);
	crab_flow_unpin();
	if (err)
		ops->detach(store->engine);
	store->durability = err ? CRAB_DURABILITY_NONE : store_durability(store);
	return err;
}

static void store_kick(struct crab_store *store)
{
	struct crab_engine *engine = store->engine;

	if (store->options.kick && engine->ops->wants && engine->ops->wants(engine))
		store->options.kick(store->options.arg);
}

/* After a batch, or a write whose flow is not settled */
static noinline void store_settle(struct crab_store *store, struct crab_flow *flow)
{
	crab_count_flow(store->engine, flow);
	store_kick(store);
	store_look(store);
}

/* Returns @err, the result of the write */
static int store_write_end(struct crab_store *store, struct crab_flow *flow, int err)
{
	if (unlikely(!flow->settled))
		store_settle(store, flow);
	return err;
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
	report->verdict = crab_super_read(media, &store->super, report->reason);
	err = attach_error(report->verdict);
	if (!err)
		err = store_find_engine(&store->super, &ops, report);
	if (err)
		goto err_free;
	if (report->verdict == CRAB_VERDICT_RO)
		store_set_readonly(store, report->reason);
	else if (options->readonly)
		store_set_readonly(store, "attached read-only");
	err = store_attach_engine(store, ops);
	if (err) {
		snprintf(report->reason, sizeof(report->reason), "attach failed: error %d", err);
		goto err_free;
	}
	if (store->readonly)
		report->verdict = CRAB_VERDICT_RO;
	strscpy(report->reason, store->reason, sizeof(report->reason));
	store->attach_ns = ktime_get_ns() - began;
	if (!store->readonly)
		store_kick(store);
	return store;

err_free:
	kfree(store);
	return ERR_PTR(err);
}

void crab_store_abandon(struct crab_store *store)
{
	if (!store)
		return;
	store->engine->ops->detach(store->engine);
	kfree(store);
}

void crab_store_detach(struct crab_store *store)
{
	struct crab_flow flow = { };

	if (store && !store->readonly) {
		flow.media = store->media;
		store->super.state = CRAB_SUPER_STATE_CLEAN;
		crab_flow_pin();
		crab_super_write(&flow, &store->super);
		crab_flow_unpin();
	}
	crab_store_abandon(store);
}

/* What FORMAT would write over; refused without force */
static int format_permitted(const struct crab_media *media,
			    const struct crab_format_options *options, char *reason)
{
	struct crab_super super;
	char found[CRAB_REASON_LEN];

	switch (crab_super_read(media, &super, found)) {
	case CRAB_VERDICT_BLANK:
		return 0;
	case CRAB_VERDICT_GOOD:
	case CRAB_VERDICT_RO:
		strscpy(found, "the region holds a store", sizeof(found));
		break;
	default:
		break;
	}
	if (options->force)
		return 0;
	snprintf(reason, CRAB_REASON_LEN, "refused without force: %.90s", found);
	return -EEXIST;
}

/* A label becomes a part of a path: no '/', and nothing that moves a cursor */
static int format_label(const char *label, char *reason)
{
	for (; *label; label++) {
		if (*label != '/' && (u8)*label >= ' ' && *label != 0x7f)
			continue;
		snprintf(reason, CRAB_REASON_LEN, "label with '/' or a control character");
		return -EINVAL;
	}
	return 0;
}

/* As many leaves as fit behind the bitmap, which is as long as they need */
static void format_pool(const struct crab_media *media, const struct crab_layout *layout,
			struct crab_super *super)
{
	u64 leaves = crab_super_geometry(media->size, super->leaf_bytes);

	super->pool_offset = CRAB_POOL_OFFSET;
	if (layout->bitmap)
		super->pool_offset = round_up(CRAB_BITMAP_OFFSET + DIV_ROUND_UP_ULL(leaves, 64) * 8,
					      CRAB_POOL_OFFSET);
	super->leaves = crab_super_geometry(media->size - (super->pool_offset - CRAB_POOL_OFFSET),
					    super->leaf_bytes);
}

static int format_fill(const struct crab_media *media, const struct crab_format_options *options,
		       struct crab_super *super, char *reason)
{
	const struct crab_engine_ops *ops = crab_engine_by_name(options->engine);
	const struct crab_layout *layout = ops ? crab_layout_by_name(ops, options->layout) : NULL;
	u64 from, to;

	memset(super, 0, sizeof(*super));
	if (!layout) {
		snprintf(reason, CRAB_REASON_LEN, "unknown %s '%.16s'", ops ? "layout" : "engine",
			 ops ? options->layout : options->engine);
		return -EINVAL;
	}
	super->leaf_bytes = options->leaf_bytes ?: CRAB_LEAF_BYTES_DEFAULT;
	if (!crab_super_geometry(S64_MAX, super->leaf_bytes)) {
		snprintf(reason, CRAB_REASON_LEN, "leaf size %u is not a power of two from %u to %u",
			 super->leaf_bytes, CRAB_LEAF_BYTES_MIN, CRAB_LEAF_BYTES_MAX);
		return -EINVAL;
	}
	format_pool(media, layout, super);
	if (!super->leaves) {
		snprintf(reason, CRAB_REASON_LEN, "region of %llu bytes is too small: %llu is the least",
			 (unsigned long long)media->size,
			 CRAB_POOL_OFFSET + CRAB_LEAVES_MIN * (u64)super->leaf_bytes);
		return -ENOSPC;
	}
	if (crab_badmem_next(media, 0, &from, &to) &&
	    from < super->pool_offset + super->leaf_bytes) {
		snprintf(reason, CRAB_REASON_LEN,
			 "uncorrectable memory at offset %llu, where FORMAT writes",
			 (unsigned long long)from);
		return -EIO;
	}
	super->engine = ops->id;
	super->layout = layout->id;
	return 0;
}

static void format_identity(const struct crab_media *media,
			    const struct crab_format_options *options, struct crab_super *super)
{
	static const u8 none[CRAB_UUID_LEN];

	super->version = CRAB_FORMAT_VERSION;
	super->region_bytes = media->size;
	super->state = CRAB_SUPER_STATE_CLEAN;
	super->store_id = get_random_u32();
	super->formatted_at = ktime_get_real_seconds();
	strscpy(super->label, options->label, sizeof(super->label));
	memcpy(super->uuid, options->uuid, sizeof(super->uuid));
	if (!memcmp(super->uuid, none, sizeof(none))) {
		get_random_bytes(super->uuid, sizeof(super->uuid));
		super->uuid[6] = (super->uuid[6] & 0x0f) | 0x40;	/* RFC 9562, version 4 */
		super->uuid[8] = (super->uuid[8] & 0x3f) | 0x80;
	}
}

static int format_check(const struct crab_media *media,
			const struct crab_format_options *options, struct crab_super *super,
			char *reason)
{
	reason[0] = '\0';
	return format_label(options->label, reason) ?:
	       format_fill(media, options, super, reason) ?:
	       format_permitted(media, options, reason);
}

int crab_store_format_check(const struct crab_media *media,
			    const struct crab_format_options *options, char *reason)
{
	struct crab_super super;

	return format_check(media, options, &super, reason);
}

/* Tries whether there is memory to attach an empty store, and frees it again */
static int format_memory(const struct crab_engine_ops *ops, struct crab_media *media,
			 const struct crab_geometry *geo)
{
	const struct crab_stop never = { };
	struct crab_engine *engine = ops->attach(media, geo, &never);

	if (IS_ERR(engine))
		return PTR_ERR(engine);
	ops->detach(engine);
	return 0;
}

int crab_store_format(struct crab_media *media, const struct crab_format_options *options,
		      char *reason)
{
	const struct crab_engine_ops *ops;
	struct crab_flow flow = { .media = media };
	struct crab_geometry geo;
	struct crab_super super;
	int err = format_check(media, options, &super, reason);

	if (err)
		return err;
	format_identity(media, options, &super);
	super_geometry(&super, &geo);
	geo.extent = 1;
	ops = crab_engine_by_id(super.engine);
	err = format_memory(ops, media, &geo);
	if (err) {
		strscpy(reason, "no memory", CRAB_REASON_LEN);
		return err;
	}
	crab_flow_pin();
	crab_super_clear(&flow);
	err = ops->format(&flow, &geo);
	if (err)
		goto out;
	crab_super_write(&flow, &super);
	crab_super_write(&flow, &super);
out:
	crab_flow_unpin();
	return err;
}

static int store_key_ok(u64 key)
{
	return key == CRAB_KEY_EMPTY ? -EINVAL : 0;
}

int crab_store_search(struct crab_store *store, u64 key, u64 *value)
{
	int err = store_key_ok(key);

	if (err)
		return err;
	crab_count(store->engine, searches, 1);
	return store->engine->ops->lookup(store->engine, key, value);
}

int crab_store_seek(struct crab_store *store, u64 key, enum crab_seek_dir dir,
		    struct crab_record *record)
{
	int err = store_key_ok(key);

	if (err)
		return err;
	crab_count(store->engine, searches, 1);
	return store->engine->ops->seek(store->engine, key, dir, record);
}

/* A write is allowed; it begins */
static int store_write_begin(struct crab_store *store, u64 key, struct crab_flow *flow,
			     struct crab_old *old)
{
	*flow = (struct crab_flow){ .media = store->media };
	old->existed = false;
	return store_key_ok(key) ?: READ_ONCE(store->readonly) ? -EROFS : 0;
}

int crab_store_insert(struct crab_store *store, u64 key, u64 value,
		      enum crab_insert_mode mode, struct crab_old *old)
{
	struct crab_flow flow;
	int err = store_write_begin(store, key, &flow, old);

	if (err)
		return err;
	err = store->engine->ops->insert(store->engine, &flow, key, value, mode, old);
	return store_write_end(store, &flow, err);
}

int crab_store_delete(struct crab_store *store, u64 key, struct crab_old *old)
{
	struct crab_flow flow;
	int err = store_write_begin(store, key, &flow, old);

	if (err)
		return err;
	err = store->engine->ops->remove(store->engine, &flow, key, old);
	return store_write_end(store, &flow, err);
}

static void store_one(struct crab_store *store, struct crab_flow *flow, struct crab_batch_op *op)
{
	const struct crab_engine_ops *ops = store->engine->ops;

	switch (op->verb) {
	case CRAB_VERB_SEARCH:
		op->status = ops->lookup(store->engine, op->key, &op->value);
		break;
	case CRAB_VERB_INSERT:
		op->status = ops->insert(store->engine, flow, op->key, op->value, op->mode,
					 &op->old);
		break;
	case CRAB_VERB_DELETE:
		op->status = ops->remove(store->engine, flow, op->key, &op->old);
		break;
	}
	crab_count_flow(store->engine, flow);
}

/* What of a batch can be done at all; returns how many searches there are */
static u32 store_batch_begin(struct crab_store *store, struct crab_batch_op *ops, u32 n)
{
	bool readonly = READ_ONCE(store->readonly);
	u32 i, searches = 0;

	for (i = 0; i < n; i++) {
		ops[i].old.existed = false;
		ops[i].status = ops[i].status ?: store_key_ok(ops[i].key);
		if (ops[i].verb == CRAB_VERB_SEARCH)
			searches += !ops[i].status;
		else if (readonly && !ops[i].status)
			ops[i].status = -EROFS;
	}
	return searches;
}

void crab_store_batch(struct crab_store *store, struct crab_batch_op *ops, u32 n)
{
	struct crab_flow flow = { .media = store->media };
	u32 i;

	crab_count(store->engine, searches, store_batch_begin(store, ops, n));
	if (store->engine->ops->batch) {
		store->engine->ops->batch(store->engine, &flow, ops, n);
	} else {
		for (i = 0; i < n; i++)
			if (!ops[i].status)
				store_one(store, &flow, &ops[i]);
	}
	store_settle(store, &flow);
}

int crab_store_check(struct crab_store *store, struct crab_check_report *report)
{
	int err;

	memset(report, 0, sizeof(*report));
	err = store->engine->ops->check(store->engine, report);
	if (report->damage.count)
		store_damaged(store, &report->damage);
	return err;
}

void crab_store_fail(struct crab_store *store, u64 offset, u64 len)
{
	const struct crab_engine_ops *ops = store->engine->ops;
	unsigned long long at = offset, leaves;
	char reason[CRAB_REASON_LEN];

	snprintf(reason, sizeof(reason), "memory at offset %llu became uncorrectable", at);
	store_set_readonly(store, reason);
	leaves = ops->quarantine ? ops->quarantine(store->engine, offset, offset + len) : 0;
	pr_err("store %08x: %s, %llu bytes%s: read-only from now on, %llu leaves quarantined\n",
	       store->super.store_id, reason, (unsigned long long)len,
	       offset < store->super.pool_offset ? " (superblocks or head of the list)" : "",
	       leaves);
}

void crab_store_info(struct crab_store *store, struct crab_store_info *info)
{
	const struct crab_engine *engine = store->engine;

	memset(info, 0, sizeof(*info));
	info->super = store->super;
	info->engine = engine->ops->name;
	info->layout = crab_layout_by_id(engine->ops, store->super.layout)->name;
	info->needs = crab_layout_by_id(engine->ops, store->super.layout)->needs;
	info->tuning = engine->tuning;
	info->durability = store->durability;
	mutex_lock(&store->lock);
	info->readonly = store->readonly;
	strscpy(info->reason, store->reason, sizeof(info->reason));
	mutex_unlock(&store->lock);
	engine->ops->stats(store->engine, &info->stats);
	crab_counts_sum(engine, &info->counts);
	info->attach_ns = store->attach_ns;
	info->prepare_lines = READ_ONCE(engine->prepare_lines);
	info->prepare_fences = READ_ONCE(engine->prepare_fences);
}

bool crab_store_maintain(struct crab_store *store)
{
	const struct crab_engine_ops *ops = store->engine->ops;
	bool more;

	if (READ_ONCE(store->readonly) || !ops->maintain)
		return false;
	crab_flow_pin();
	more = ops->maintain(store->engine);
	crab_flow_unpin();
	store_look(store);
	return more;
}

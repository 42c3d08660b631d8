// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements FORMAT: an empty store in a region that is not attached.
 *
 * Invariants: FORMAT is refused before its first store to the media, or it completes; both
 * superblocks are void on the media (P1) before anything else changes; the body is durable
 * (P2) before a superblock names it. The superblocks of an unfinished store stay void until
 * crab_store_finish().
 *
 * Crash table: a cut after P1 and before the fence of the first superblock (P3) leaves a
 * region for which attach reports "a FORMAT began here"; it counts as blank. A cut after it
 * leaves the empty store, or the one that was unfinished, with all that it holds.
 *
 * Locking: the caller has the region to itself.
 */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/ktime.h>
#include <linux/log2.h>
#include <linux/math.h>
#include <linux/random.h>
#include <linux/string.h>
#include <linux/timekeeping.h>
#include <linux/uuid.h>

#include "media/badmem.h"
#include "blob_priv.h"
#include "store_priv.h"

/* FORMAT writes over blank regions only, unless it is forced */
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

/* Where the pool begins if the engine's area is for so many leaves */
static u64 format_offset(const struct crab_layout *layout, u64 leaves, u32 leaf_bytes)
{
	u64 area = layout->before_pool ? layout->before_pool(leaves, leaf_bytes) : 0;

	return round_up(CRAB_AREA_OFFSET + area, CRAB_POOL_OFFSET);
}

/* Is there room for so many leaves after their area? */
static bool format_fits(const struct crab_media *media, const struct crab_layout *layout,
			u64 leaves, u32 leaf_bytes)
{
	u64 offset = format_offset(layout, leaves, leaf_bytes);

	return offset <= media->size &&
	       crab_super_geometry(media->size - (offset - CRAB_POOL_OFFSET), leaf_bytes) >= leaves;
}

/* As many leaves as fit after the area for them, which is never shorter for more leaves */
static void format_pool(const struct crab_media *media, const struct crab_layout *layout,
			struct crab_super *super)
{
	u64 fits = 0, beyond = crab_super_geometry(media->size, super->leaf_bytes) + 1, leaves;

	while (beyond - fits > 1) {
		leaves = fits + (beyond - fits) / 2;
		if (format_fits(media, layout, leaves, super->leaf_bytes))
			fits = leaves;
		else
			beyond = leaves;
	}
	super->leaves = fits;
	super->pool_offset = format_offset(layout, fits, super->leaf_bytes);
}

/* In a large region more records in a leaf save splits, descriptors and shortcuts */
static u32 format_leaf_bytes(const struct crab_media *media, const struct crab_layout *layout)
{
	return media->size >= CRAB_LARGE_REGION && layout->leaf_large ? layout->leaf_large :
								       layout->leaf_default;
}

static int format_geometry(const struct crab_media *media, const struct crab_layout *layout,
			   u32 leaf_bytes, struct crab_super *super, char *reason)
{
	u64 from, to;

	super->leaf_bytes = leaf_bytes ?: format_leaf_bytes(media, layout);
	if (!is_power_of_2(super->leaf_bytes) || super->leaf_bytes < layout->leaf_min ||
	    super->leaf_bytes > layout->leaf_max) {
		snprintf(reason, CRAB_REASON_LEN, "leaf size %u is not a power of two from %u to %u",
			 super->leaf_bytes, layout->leaf_min, layout->leaf_max);
		return -EINVAL;
	}
	format_pool(media, layout, super);
	if (!super->leaves) {
		snprintf(reason, CRAB_REASON_LEN, "region of %llu bytes is too small: %llu are needed",
			 media->size,
			 CRAB_POOL_OFFSET + CRAB_LEAVES_MIN * (u64)super->leaf_bytes);
		return -ENOSPC;
	}
	if (crab_badmem_next_page(media, 0, &from, &to) &&
	    from < super->pool_offset + super->leaf_bytes) {
		snprintf(reason, CRAB_REASON_LEN,
			 "uncorrectable memory at offset %llu, where FORMAT writes", from);
		return -EIO;
	}
	return 0;
}

static int format_fill(const struct crab_media *media, const struct crab_format_options *options,
		       struct crab_super *super, char *reason)
{
	const struct crab_engine_ops *ops = crab_engine_by_name(options->engine);
	const struct crab_layout *layout = ops ? crab_layout_by_name(ops, options->layout) : NULL;

	memset(super, 0, sizeof(*super));
	if (!layout) {
		snprintf(reason, CRAB_REASON_LEN, "unknown %s '%.16s'", ops ? "layout" : "engine",
			 ops ? options->layout : options->engine);
		return -EINVAL;
	}
	super->engine = ops->id;
	super->layout = layout->id;
	return crab_store_keeps(media, layout, reason) ?:
	       format_geometry(media, layout, options->leaf_bytes, super, reason);
}

/* A store of names is one of blobs */
static bool has_blobs(const struct crab_format_options *options)
{
	return options->blobs || options->names;
}

static void format_identity(const struct crab_media *media,
			    const struct crab_format_options *options, struct crab_super *super)
{
	super->version = CRAB_FORMAT_VERSION;
	super->feature_incompat = (has_blobs(options) ? CRAB_INCOMPAT_BLOBS : 0) |
				  (options->commits ? CRAB_INCOMPAT_COMMITS : 0) |
				  (options->names ? CRAB_INCOMPAT_NAMES : 0);
	super->region_bytes = media->size;
	super->state = CRAB_SUPER_STATE_CLEAN;
	super->store_id = get_random_u32();
	super->formatted_at = ktime_get_real_seconds();
	strscpy(super->label, options->label, sizeof(super->label));
	memcpy(super->uuid, options->uuid, sizeof(super->uuid));
	if (!memchr_inv(super->uuid, 0, sizeof(super->uuid)))
		generate_random_uuid(super->uuid);
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

/*
 * Attaches the empty store that FORMAT will make, and detaches it: is there enough memory, and can
 * the engine hold blobs?
 */
static int format_memory(const struct crab_engine_ops *ops, struct crab_media *media,
			 const struct crab_geometry *geo, bool blobs, char *reason)
{
	const struct crab_attach_how how = { .clean = true };
	struct crab_engine *engine = ops->attach(media, geo, &how);
	int err = 0;

	if (IS_ERR(engine)) {
		strscpy(reason, "no memory", CRAB_REASON_LEN);
		return PTR_ERR(engine);
	}
	if (blobs)
		err = crab_blobs_permitted(engine, reason);
	ops->detach(engine);
	return err;
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
	crab_store_geometry(&super, &geo);
	geo.extent = 1;
	ops = crab_engine_by_id(super.engine);
	err = format_memory(ops, media, &geo, has_blobs(options), reason);
	if (err)
		return err;
	crab_flow_pin();
	crab_super_clear(&flow);
	if (has_blobs(options))
		crab_blobs_format(&flow, &geo);
	err = ops->format(&flow, &geo);
	if (err)
		goto out;
	if (options->unfinished) {
		super.unwritten = true;
		*options->unfinished = super;
		goto out;
	}
	crab_super_write(&flow, &super);
	crab_super_write(&flow, &super);
out:
	crab_flow_unpin();
	return err;
}

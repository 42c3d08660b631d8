// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the target of tests that damage media.
 *
 * Invariant: target_begin() makes the copy equal to the good image.
 *
 * Locking: one thread.
 */
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/printk.h>
#include <linux/random.h>
#include <linux/string.h>

#include "tap.h"
#include "target.h"
#include "tests/seal.h"

struct target target;

static void log_keep(char level, const char *line)
{
	target.log_lines++;
	strscpy(target.log_last, line, sizeof(target.log_last));
}

struct crab_dsuper *target_super(u32 copy)
{
	return (struct crab_dsuper *)(target.media.base + copy * CRAB_SUPER_STRIDE);
}

struct crab_dleaf *target_leaf(u32 nth)
{
	return (struct crab_dleaf *)(target.media.base + target_offset(nth));
}

u64 target_offset(u32 nth)
{
	return CRAB_POOL_OFFSET + target.order[nth] * TARGET_LEAF_BYTES;
}

void target_seal(u32 nth)
{
	crab_seal_head(&target_leaf(nth)->head);
}

u64 target_low(u32 nth)
{
	if (target.sorted)
		return nth ? le64_to_cpu(target_leaf(nth)->slots[0].key) : 0;
	return le64_to_cpu(target_leaf(nth)->head.low);
}

u64 target_link(u32 nth)
{
	u64 birth = le64_to_cpu(target_leaf(nth)->head.birth);

	return crab_link_to(&target.geo, target.order[nth], birth);
}

void target_begin(void)
{
	target.media.size = target.image.size;
	memcpy(target.media.base, target.image.base, target.image.size);
	target.log_lines = 0;
}

void target_expect_good(const char *name, bool writable)
{
	struct crab_attach_options options = { 0 };
	struct crab_attach_report report;
	struct crab_store *store = crab_store_attach(&target.media, &options, &report);
	struct crab_old old;
	int err;

	if (IS_ERR(store)) {
		tap_ok(false, "%s: %ld %s", name, PTR_ERR(store), report.reason);
		return;
	}
	tap_check(report.verdict == (writable ? CRAB_VERDICT_GOOD : CRAB_VERDICT_RO), "%d",
		  report.verdict);
	tap_check(!report.reason[0] == writable, "%s", report.reason);
	model_compare(target.model, store);
	err = crab_store_insert(store, target.model->keys[0], target.model->values[0],
				CRAB_INSERT_EITHER, &old);
	tap_check(err == (writable ? 0 : -EROFS), "%d", err);
	crab_store_detach(store);
	if (!writable)
		tap_check(!memcmp(target.media.base + sizeof(struct crab_dsuper),
				  target.image.base + sizeof(struct crab_dsuper), 2048),
			  "media changed");
	tap_ok(true, "%s: all is served%s", name, writable ? "" : ", read-only");
}

void target_make(bool sorted, u64 seed)
{
	struct crab_store *store;
	struct crab_old old;
	u64 word;
	u32 i, at;

	crab_host_log = log_keep;
	target.sorted = sorted;
	crab_host_seed(seed);
	target.image = media_create(TARGET_BYTES);
	target.media = media_create(TARGET_BYTES);
	target.model = model_create(TARGET_KEYS, MODEL_UNIFORM, seed);
	store = store_format_attach(&target.image, "crab", sorted ? "sorted" : "slotted",
				    TARGET_LEAF_BYTES);
	for (i = 0; i < TARGET_KEYS; i++) {
		at = i * 61 % target.model->n;
		if (at == target.model->n - 1)
			continue;	/* one key above the last leaf stays absent */
		if (!crab_store_insert(store, target.model->keys[at], i, CRAB_INSERT_EITHER, &old))
			model_put(target.model, at, i);
	}
	for (i = 0; i < TARGET_KEYS; i += 5) {
		if (!crab_store_delete(store, target.model->keys[i], &old))
			model_drop(target.model, i);
	}
	crab_store_detach(store);
	target_begin();
	target.geo.pool_offset = CRAB_POOL_OFFSET;
	target.geo.leaf_bytes = TARGET_LEAF_BYTES;
	target.geo.store_id = le32_to_cpu(target_super(0)->store_id);
	word = le64_to_cpu(crab_list_head(&target.media)->next);
	for (i = 0; word & CRAB_LINK_MASK; word = le64_to_cpu(target_leaf(i++)->head.next))
		target.order[i] = (word & CRAB_LINK_MASK) - 1;
	target.leaves = i;
}

void target_destroy(void)
{
	model_destroy(target.model);
	media_destroy(&target.image);
	media_destroy(&target.media);
}

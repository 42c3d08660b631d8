// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements images, which are snapshots of the shadow, and the explorer, which cuts
 * the power at an image and tries all choices that its reader can distinguish.
 *
 * Invariant: an image holds all lines that were touched until it was captured; restoring it
 * resets lines that were touched later.
 *
 * Locking: one thread.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "shadow_priv.h"

/* Some words of a line, most often all: that many are copied without a call */
#define line_copy(to, from, n)							\
	((n) == LINE_WORDS ? memcpy(to, from, LINE_WORDS * sizeof(*(to))) :	\
			     memcpy(to, from, (n) * sizeof(*(to))))

struct crab_shadow_image *crab_shadow_image_alloc(u32 words, u32 nodes, u32 lines, gfp_t gfp)
{
	size_t bytes = sizeof(struct crab_shadow_image) + words * (8 + 8 + sizeof(u32)) +
		       nodes * sizeof(struct shadow_node) + lines * sizeof(struct shadow_line);
	struct crab_shadow_image *image = kvmalloc(ALIGN(bytes, 8), gfp);

	if (!image)
		return NULL;
	image->words = words;
	image->nodes = nodes;
	image->view = (__le64 *)(image + 1);
	image->durable = (u64 *)(image->view + words);
	image->node = (struct shadow_node *)(image->durable + words);
	image->line = (struct shadow_line *)(image->node + nodes);
	image->first = (u32 *)(image->line + lines);
	return image;
}

/* The state that is not kept by word */
static void image_copy(struct crab_shadow_image *to, const struct crab_shadow_image *from)
{
	to->pending = from->pending;
	to->top = from->top;
	to->spare = from->spare;
	to->lines = from->lines;
	to->epoch = from->epoch;
	to->life = from->life;
	to->cpus = from->cpus;
	to->settled = from->settled;
	memcpy(to->ordered, from->ordered, sizeof(to->ordered));
	memcpy(to->node, from->node, from->top * sizeof(struct shadow_node));
	memcpy(to->line, from->line, from->lines * sizeof(struct shadow_line));
}

struct crab_shadow_image *crab_shadow_capture(struct crab_shadow *shadow)
{
	const __le64 *base = (const __le64 *)shadow->media->base;
	const struct crab_shadow_image *now = shadow->now;
	struct crab_shadow_image *image;
	u32 i, at = 0, word, n;

	image = crab_shadow_image_alloc(shadow->touched_count * LINE_WORDS, now->top, now->lines,
					GFP_KERNEL);
	if (!image) {
		crab_shadow_error(shadow, "no memory for a crash point");
		return NULL;
	}
	image_copy(image, now);
	for (i = 0; i < shadow->touched_count; i++, at += LINE_WORDS) {
		word = line_begin(shadow->touched[i]);
		n = line_end(now, shadow->touched[i]) - word;
		line_copy(image->view + at, base + word, n);
		line_copy(image->durable + at, now->durable + word, n);
		line_copy(image->first + at, now->first + word, n);
	}
	return image;
}

void crab_shadow_release(struct crab_shadow_image *image)
{
	kvfree(image);
}

/* A line that was not yet touched at the restored crash point */
static void line_reset(struct crab_shadow *shadow, u32 line)
{
	u32 word;

	for (word = line_begin(line); word < line_end(shadow->now, line); word++) {
		shadow->now->durable[word] = shadow->origin[word];
		shadow->now->first[word] = 0;
		((__le64 *)shadow->media->base)[word] = cpu_to_le64(shadow->origin[word]);
	}
}

void crab_shadow_restore(struct crab_shadow *shadow, const struct crab_shadow_image *image)
{
	__le64 *base = (__le64 *)shadow->media->base;
	struct crab_shadow_image *now = shadow->now;
	u32 i, at = 0, word, n;

	image_copy(now, image);
	for (i = 0; i < shadow->touched_count; i++, at += LINE_WORDS) {
		if (at >= image->words) {
			line_reset(shadow, shadow->touched[i]);
			continue;
		}
		word = line_begin(shadow->touched[i]);
		n = line_end(now, shadow->touched[i]) - word;
		line_copy(base + word, image->view + at, n);
		line_copy(now->durable + word, image->durable + at, n);
		line_copy(now->first + word, image->first + at, n);
	}
}

/* Returns the number of pending stores in the line */
static u32 line_crash(struct crab_shadow *shadow, u32 line)
{
	struct crab_shadow_image *now = shadow->now;
	struct shadow_node *node;
	u32 word, n = 0;

	for (word = line_begin(line); word < line_end(now, line); word++) {
		if (!now->first[word])
			continue;
		for (node = node_at(now, now->first[word]); node; node = node_at(now, node->next)) {
			node->stored = false;
			node->cleaned = 0;
			n++;
		}
		((__le64 *)shadow->media->base)[word] = cpu_to_le64(SHADOW_POISON);
	}
	return n;
}

/* Lines that were touched last are the most likely to have pending stores */
void crab_shadow_crash(struct crab_shadow *shadow)
{
	u32 i, left = shadow->now->pending;

	for (i = shadow->touched_count; i && left; i--)
		left -= line_crash(shadow, shadow->touched[i - 1]);
	shadow->now->lines = 0;
	shadow->now->life++;
}

/* Forgets the last failure */
void crab_shadow_forget(struct crab_shadow *shadow)
{
	struct crab_shadow_path *inner;

	for (; shadow->failed; shadow->failed = inner) {
		inner = shadow->failed->inner;
		kvfree(shadow->failed);
	}
}

/* The next path, depth first; false when all were taken */
static bool path_next(struct crab_shadow_path *path)
{
	struct crab_shadow_step *step;

	while (path->depth) {
		step = &path->steps[path->depth - 1];
		if (++step->choice < step->options)
			return true;
		path->depth--;
	}
	return false;
}

int crab_shadow_explore(struct crab_shadow *shadow, const struct crab_shadow_image *image,
			crab_shadow_judge judge, void *arg, u64 budget)
{
	struct crab_shadow_path *outer = shadow->path;
	struct crab_shadow_path *path = kvzalloc(sizeof(*path), GFP_KERNEL);
	int err;

	if (!path)
		return -ENOMEM;
	if (!outer)
		crab_shadow_forget(shadow);
	do {
		if (!budget--) {
			err = -E2BIG;
			break;
		}
		crab_shadow_restore(shadow, image);
		crab_shadow_crash(shadow);
		path->at = 0;
		shadow->path = path;
		shadow->counts.images++;
		err = judge(shadow, arg);
		path->depth = min(path->depth, path->at);
	} while (!err && path_next(path));
	shadow->path = outer;
	if (err) {
		path->inner = shadow->failed;
		shadow->failed = path;
	} else {
		kvfree(path);
	}
	return err;
}

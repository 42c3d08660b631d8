/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares a media, the mapped memory of a region, and a flow, the sequence of
 * stores, cleans and fences of one thread.
 *
 * Layer L1: it includes nothing outside media/; every folder may include it.
 *
 * Locking: a media is constant while it is in use. A flow belongs to one thread at a time:
 * each write has its own.
 */
#ifndef CRABTREE_MEDIA_H
#define CRABTREE_MEDIA_H

#include <linux/types.h>

#include "hooks.h"

enum crab_durability {
	CRAB_DURABILITY_NONE,		/* volatile memory */
	CRAB_DURABILITY_UNPROVEN,	/* an earlier kernel may have left stores in the caches */
	CRAB_DURABILITY_POC,		/* point of coherency */
	CRAB_DURABILITY_POP,		/* point of persistence */
	CRAB_DURABILITY_PODP,		/* point of deep persistence */
	CRAB_DURABILITY_CACHE,		/* the caches persist */
};

struct crab_badmem;

/**
 * struct crab_media - a mapped region
 * @base: its mapping, aligned to a page
 * @size: bytes
 * @durability: how far a fenced clean reaches
 * @fence_only: the caches persist: lines are not cleaned
 * @bad: ranges that cannot be read, or NULL if the provider knows of none
 * @hooks: state of the hooks; empty except in test builds
 */
struct crab_media {
	u8 *base;
	u64 size;
	enum crab_durability durability;
	bool fence_only;
	struct crab_badmem *bad;
	struct crab_hooks hooks;
};

/**
 * struct crab_flow - stores, cleans and fences of one thread
 * @media: the media
 * @lines: lines cleaned since the flow was counted
 * @fences: fences since then
 * @orders: calls of crab_order() since then
 * @settled: the engine has counted this write, and nothing is left to do after it
 */
struct crab_flow {
	struct crab_media *media;
	u64 lines;
	u64 fences;
	u64 orders;
	bool settled;
};

#endif /* CRABTREE_MEDIA_H */

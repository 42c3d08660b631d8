/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file turns a build into a test build: its hooks report each access to the media to
 * the shadow, and its limits are so small that tests can explore whole state spaces.
 *
 * The build includes it before every file (Kbuild for KUnit, tools/host with SHADOW=1).
 * It takes the place of media/hooks.h by defining the same include guard.
 */
#ifndef CRABTREE_HOOKS_H
#define CRABTREE_HOOKS_H

#include <linux/types.h>

#define CRABTREE_SHADOW

/* Limits of all test builds */
#define CRAB_LEAF_BYTES_MIN	128U
#define CRAB_COSTS_FIXED	/* costs are not measured, so that runs repeat */

#ifdef CRABTREE_HOST

/* Limits of test builds in user space: few slots and leaves, and yet high trees */
#define CRAB_LEAVES_MIN		3
#define CRAB_SLAB_BYTES_MIN	256U
#define CRAB_INDEX_FULL		7
#define CRAB_INDEX_FILL		6
#define CRAB_INDEX_HEIGHT	24
#define CRAB_SHORTCUT_CHUNK	4U
#define CRAB_SHORTCUT_REACH	2U
#define CRAB_SHORTCUT_LEAST	3U
#define CRAB_CHECK_SLOTS	4U
#define CRAB_SEEN_BITS		8
#define RECOVER_WALKERS		8
#define CRAB_GATE_STRIPES	4U
#define CRAB_BLOB_STRIPES	16U
#define CRAB_NV_ENTRIES(leaf_bytes)	3U
#define CRAB_NV_FANOUT(leaf_bytes)	3U

extern unsigned int crab_tiny_slots;	/* slots of every leaf; 0: as many as fit */
#define crab_hook_slots(slots)	(crab_tiny_slots ? crab_tiny_slots : (slots))
#define CRAB_CLFB_FANOUT	(crab_tiny_slots ? 3U : CLFB_CHILDREN_MAX)

#define CRAB_ALONE		false

#else

/*
 * In KUnit one thread does all the work, and hooks of the shadow recover a store in the
 * middle of a write to another one. Hooks sleep, so the code takes no locks.
 */
#define CRAB_ALONE		true
#define crab_hook_slots(slots)	(slots)

#endif

enum crab_point;
struct crab_media;
struct crab_shadow;

/**
 * struct crab_hooks - state of the hooks of one media
 * @shadow: the double that records events, or NULL
 */
struct crab_hooks {
	struct crab_shadow *shadow;
};

void crab_shadow_store(struct crab_media *media, const __le64 *p, u64 value);
void crab_shadow_store_pair(struct crab_media *media, const __le64 *p, u64 first, u64 second);
void crab_shadow_refused_pair(struct crab_media *media, const __le64 *p);
void crab_shadow_store_line(struct crab_media *media, const __le64 *p, const u64 *values);
void crab_shadow_clean(struct crab_media *media, const void *p, u64 len);
void crab_shadow_fence(struct crab_media *media, enum crab_point point);
void crab_shadow_order(struct crab_media *media);
u64 crab_shadow_load(const struct crab_media *media, const __le64 *p);

/* Calls a function of the shadow if the media has one */
#define crab_hook_call(name, media, ...)				\
do {									\
	if ((media)->hooks.shadow)					\
		crab_shadow_##name(media, ##__VA_ARGS__);		\
} while (0)

#define crab_hook_load(media, p, value)					\
	((media)->hooks.shadow && (*(value) = crab_shadow_load(media, p), true))

#define crab_hook_stored(media, p, value)	crab_hook_call(store, media, p, value)

#define crab_hook_stored_pair(media, p, first, second)			\
do {									\
	crab_hook_seen(p, first);					\
	crab_hook_seen((p) + 1, second);				\
	crab_hook_call(store_pair, media, p, first, second);		\
} while (0)

/* No task stops within the eight stores by which this CPU stores a line: model A excludes that */
#ifdef CRABTREE_HOST_TASKS
#define crab_hook_line(store)						\
do {									\
	long left_ = crab_task_left;					\
									\
	crab_task_left = LONG_MAX;					\
	store;								\
	crab_task_left = left_;						\
} while (0)
#else
#define crab_hook_line(store)		store
#endif

/* ThreadSanitizer sees no swap: a repeated store could hide one by another CPU */
#define crab_hook_swapped_pair(media, p, first, second)			\
	crab_hook_call(store_pair, media, p, first, second)
#define crab_hook_refused_pair(media, p)	crab_hook_call(refused_pair, media, p)
#define crab_hook_stored_line(media, p, words)	crab_hook_call(store_line, media, p, words)

#define crab_hook_clean(media, p, len)		crab_hook_call(clean, media, p, len)
#define crab_hook_ordered(media)		crab_hook_call(order, media)
#define crab_hook_fenced(media, point)		crab_hook_call(fence, media, point)

/* ThreadSanitizer does not see stores by assembly: show it the same value once more */
#ifdef __SANITIZE_THREAD__
#define crab_hook_seen(p, value)	WRITE_ONCE(*(p), cpu_to_le64(value))
#else
#define crab_hook_seen(p, value)	((void)0)
#endif

#endif /* CRABTREE_HOOKS_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the shadow: a double of the media that knows what a power
 * cut could leave there, and the explorer that tries all of it.
 *
 * A word is durable, or has a list of later values of which any may be the one
 * that the cut leaves (model W). Under model L the stores of a line that were kept
 * in order come in order: a cut leaves all of them up to some crab_order(), and any
 * part of those up to the next. In the life that stores them they are stored or
 * cleaned; a cut makes them alternatives of the next life. An alternative is
 * chosen when somebody reads the word and not before: so every image that the
 * reader can tell from others is tried, and no more.
 *
 * Tests only; in user space and in KUnit. Locking: one thread.
 */
#ifndef CRABTREE_PERSIST_SHADOW_H
#define CRABTREE_PERSIST_SHADOW_H

#include "media/persist.h"

#define CRAB_SHADOW_STEPS	256	/* choices in one run */
#define CRAB_SHADOW_ERROR_LEN	96

enum crab_shadow_event {
	CRAB_SHADOW_STORED,	/* a store changed what a cut could leave */
	CRAB_SHADOW_FENCING,	/* a fence is about to complete */
};

enum crab_shadow_model {
	CRAB_SHADOW_MODEL_WORD,
	CRAB_SHADOW_MODEL_LINE,
};

/* What a platform or a programmer may get wrong: the test of the tests */
enum crab_shadow_fault {
	CRAB_SHADOW_SOUND,
	CRAB_SHADOW_FENCE_LOST,		/* fences of the point complete nothing */
	CRAB_SHADOW_CLEANS_LOST,	/* no clean before it counts */
	CRAB_SHADOW_CLEAN_LOST,		/* the n-th line cleaned before it does not count */
};

struct crab_shadow;
struct crab_shadow_image;

typedef void (*crab_shadow_hook)(struct crab_shadow *shadow, enum crab_shadow_event event,
				 enum crab_point point);

/* Before a word is loaded; may change what any word of the media's memory holds */
typedef void (*crab_shadow_loading)(struct crab_shadow *shadow, u32 word);

/* Recovers the image and judges it: 0, or anything else to stop */
typedef int (*crab_shadow_judge)(struct crab_shadow *shadow, void *arg);

/* One choice: @choice of @options for @word, which made it @value */
struct crab_shadow_step {
	u32 word;
	u16 choice;
	u16 options;
	u64 value;
};

struct crab_shadow_path {
	struct crab_shadow_path *inner;	/* of a failure: what an exploration within chose */
	u32 depth;
	u32 at;
	struct crab_shadow_step steps[CRAB_SHADOW_STEPS];
};

struct crab_shadow_counts {
	u64 stores;
	u64 cleans;		/* lines */
	u64 idle_cleans;	/* lines that held nothing to clean */
	u64 fences[CRAB_POINTS];
	u64 images;		/* that explorations tried */
};

/**
 * struct crab_shadow - the double of one media
 * @media: the media; its memory is what the CPU sees
 * @words: of 8 bytes, in the media
 * @model: what a cut may leave; constant while anything is pending
 * @now: what is durable and what is not
 * @path: choices of the exploration that is running, or NULL
 * @failed: choices that led to the last failure, outermost first; a reproducer
 * @script: choices to repeat outside explorations, or NULL: choose by @seed
 * @seed: of the choices outside explorations
 * @stored: the word that was last stored to, plus one; 0: a pair
 * @forced: a word, plus one, that is not open: it has the value it was given last
 * @reads: by word: was it loaded? The owner clears it; or NULL
 * @touched: lines that were ever stored to or opened, in that order
 * @touched_count: how many
 * @is_touched: by line
 * @origin: what stood on the media before
 * @cpu: which CPU acts now, below 16: a fence completes the cleans of its own
 * @hook: called at each event, or NULL
 * @hook_arg: for @hook and @loading
 * @loading: called before each load, or NULL: media that changes by itself
 * @fault: what to get wrong, at fences of @fault_point
 * @fault_point: where
 * @fault_nth: which line, for CRAB_SHADOW_CLEAN_LOST
 * @fault_hits: how often the fault struck
 * @counts: what happened so far
 * @loads: words loaded so far
 * @errors: misuses of the media so far; the first in @error
 * @error: in words
 */
struct crab_shadow {
	struct crab_media *media;
	u32 words;
	enum crab_shadow_model model;
	struct crab_shadow_image *now;
	struct crab_shadow_path *path;
	struct crab_shadow_path *failed;
	const struct crab_shadow_path *script;
	u64 seed;
	u32 stored;
	u32 forced;
	bool *reads;
	u32 *touched;
	u32 touched_count;
	bool *is_touched;
	u64 *origin;
	u32 cpu;
	crab_shadow_hook hook;
	void *hook_arg;
	crab_shadow_loading loading;
	enum crab_shadow_fault fault;
	enum crab_point fault_point;
	u32 fault_nth;
	u64 fault_hits;
	struct crab_shadow_counts counts;
	u64 loads;
	u64 errors;
	char error[CRAB_SHADOW_ERROR_LEN];
};

/**
 * crab_shadow_create() - begin to shadow a media; all that it holds is durable
 * @media: the media; its @shadow is set
 * @nodes: stores that may be pending at once
 *
 * Return: the shadow, or NULL.
 */
struct crab_shadow *crab_shadow_create(struct crab_media *media, u32 nodes);

/** crab_shadow_destroy() - end it; the media keeps what the CPU saw last */
void crab_shadow_destroy(struct crab_shadow *shadow);

/**
 * crab_shadow_open() - leave open what a word holds
 * @shadow: the shadow
 * @p: the word
 * @values: what it may hold; chosen when somebody reads it, under either model for
 *	each word by itself
 * @n: how many, at least one
 */
void crab_shadow_open(struct crab_shadow *shadow, const __le64 *p, const u64 *values, u32 n);

/** crab_shadow_pending() - stores that a power cut now could lose */
u32 crab_shadow_pending(const struct crab_shadow *shadow);

/**
 * crab_shadow_capture() - keep this moment: a crash point
 * @shadow: the shadow
 *
 * Return: to be restored, explored and released; NULL for want of memory, which
 * is an error of the shadow too.
 */
struct crab_shadow_image *crab_shadow_capture(struct crab_shadow *shadow);

/** crab_shadow_release() - forget a moment */
void crab_shadow_release(struct crab_shadow_image *image);

/** crab_shadow_restore() - go back to a moment, the CPU's view of the media included */
void crab_shadow_restore(struct crab_shadow *shadow, const struct crab_shadow_image *image);

/** crab_shadow_crash() - cut the power now; what was not durable is open until it is read */
void crab_shadow_crash(struct crab_shadow *shadow);

/**
 * crab_shadow_explore() - cut the power at @image and judge all that can follow
 * @shadow: the shadow; afterwards in no particular state: restore one
 * @image: the moment
 * @judge: recovers and judges; may explore moments within, deeper
 * @arg: for @judge
 * @budget: images to try at most
 *
 * Return: 0 where @judge was content with every image; -E2BIG where there were
 * more than @budget; else what @judge returned, with the choices that led there
 * in shadow->failed.
 */
int crab_shadow_explore(struct crab_shadow *shadow, const struct crab_shadow_image *image,
			crab_shadow_judge judge, void *arg, u64 budget);

/** crab_shadow_point_name() - name of a persist point, for people */
const char *crab_shadow_point_name(enum crab_point point);

#endif /* CRABTREE_PERSIST_SHADOW_H */

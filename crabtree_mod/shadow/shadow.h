/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the shadow: a test double of the media that knows the states a power cut can
 * leave, and the explorer that tries all of them. Only tests include it; the folder includes
 * media/.
 *
 * A word is durable, or has a list of later values, any of which the cut may leave (model W). Under
 * model L the ordered stores of a line persist in order: a cut leaves all of them up to some
 * crab_order(), and any part of those up to the next. Under model E this holds for all stores of
 * a CPU, to any line; a fence completes them without a clean, and so does another CPU that loads
 * the value. Until a cut, the values are stored or cleaned; a cut turns them into alternatives. An
 * alternative is chosen only when the word is read. So every image that the reader can distinguish
 * is tried, and no other.
 *
 * Locking: one thread; in user space and in KUnit.
 */
#ifndef CRABTREE_PERSIST_SHADOW_H
#define CRABTREE_PERSIST_SHADOW_H

#include "media/model.h"
#include "media/persist.h"

#define CRAB_SHADOW_STEPS	256	/* choices in one run */
#define CRAB_SHADOW_CPUS	16
#define CRAB_SHADOW_ERROR_LEN	96

enum crab_shadow_event {
	CRAB_SHADOW_STORED,	/* a store changed the states that a cut can leave */
	CRAB_SHADOW_FENCING,	/* a fence is about to complete */
};

enum crab_shadow_model {
	CRAB_SHADOW_MODEL_WORD,
	CRAB_SHADOW_MODEL_LINE,
	CRAB_SHADOW_MODEL_WHOLE_LINE,	/* as LINE, and crab_store_line() is one event */
	CRAB_SHADOW_MODEL_CACHE,	/* the caches persist */
};

/**
 * crab_shadow_model_of() - the model of the shadow under which a layout is tested
 * @needs: the model of the media that the layout needs
 *
 * Context: any.
 * Return: the weakest model of the shadow that has the promises of @needs.
 */
static inline enum crab_shadow_model crab_shadow_model_of(enum crab_model needs)
{
	switch (needs) {
	case CRAB_MODEL_LINE:
		return CRAB_SHADOW_MODEL_LINE;
	case CRAB_MODEL_WHOLE_LINE:
		return CRAB_SHADOW_MODEL_WHOLE_LINE;
	case CRAB_MODEL_CACHE:
		return CRAB_SHADOW_MODEL_CACHE;
	default:
		return CRAB_SHADOW_MODEL_WORD;
	}
}

/* Faults of a platform or of the code, for tests of the tests */
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

/* Called before a word is loaded; may change any word of the media's memory */
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
	struct crab_shadow_path *inner;	/* of a failure: choices of a nested exploration */
	u32 depth;
	u32 at;
	struct crab_shadow_step steps[CRAB_SHADOW_STEPS];
};

struct crab_shadow_counts {
	u64 stores;
	u64 idle_cleans;	/* of lines without anything to clean */
	u64 fences[CRAB_POINTS];
	u64 images;		/* that explorations tried */
};

/**
 * struct crab_shadow - the double of one media
 * @media: the media; its memory is what the CPU sees
 * @words: of 8 bytes, in the media
 * @model: the model of a cut; constant while anything is pending
 * @now: what is durable and what is not
 * @path: choices of the exploration that is running, or NULL
 * @failed: choices that led to the last failure, outermost first; a reproducer
 * @script: choices to repeat outside explorations, or NULL: choose by @seed
 * @seed: of the choices outside explorations
 * @stored: the word that was last stored to, plus one; 0: a pair
 * @forced: a word, plus one, that is not open: it has the value chosen last
 * @reads: by word: was it loaded? The owner clears it; or NULL
 * @touched: lines that were ever stored to or opened, in that order
 * @touched_count: how many
 * @is_touched: by line
 * @origin: the media's content before the shadow
 * @cpu: which CPU acts now, below CRAB_SHADOW_CPUS: a fence completes the cleans of its own
 * @hook: called at each event, or NULL
 * @hook_arg: for @hook and @loading
 * @loading: called before each load, or NULL: media that changes by itself
 * @fault: the fault, at fences of @fault_point
 * @fault_point: the persist point
 * @fault_nth: which line, for CRAB_SHADOW_CLEAN_LOST
 * @fault_hits: how often the fault struck
 * @counts: events so far
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

/**
 * crab_shadow_destroy() - free the shadow; the media keeps the CPU's last view
 * @shadow: the shadow, or NULL
 */
void crab_shadow_destroy(struct crab_shadow *shadow);

/**
 * crab_shadow_open() - give a word several possible values
 * @shadow: the shadow
 * @p: the word
 * @values: the possible values; chosen when the word is read, under all models for each word
 *	independently
 * @n: number of values, at least one
 */
void crab_shadow_open(struct crab_shadow *shadow, const __le64 *p, const u64 *values, u32 n);

/**
 * crab_shadow_pending() - number of stores that a power cut now could lose
 * @shadow: the shadow
 *
 * Return: the number.
 */
u32 crab_shadow_pending(const struct crab_shadow *shadow);

/**
 * crab_shadow_capture() - save the current state as a crash point
 * @shadow: the shadow
 *
 * Return: the state, to be restored, explored and released; NULL without memory, which is also an
 * error of the shadow.
 */
struct crab_shadow_image *crab_shadow_capture(struct crab_shadow *shadow);

/**
 * crab_shadow_release() - free a crash point
 * @image: from crab_shadow_capture(), or NULL
 */
void crab_shadow_release(struct crab_shadow_image *image);

/**
 * crab_shadow_restore() - restore a crash point, including the CPU's view of the media
 * @shadow: the shadow
 * @image: the crash point
 */
void crab_shadow_restore(struct crab_shadow *shadow, const struct crab_shadow_image *image);

/**
 * crab_shadow_crash() - cut the power now; words that are not durable are open until they are read
 * @shadow: the shadow
 */
void crab_shadow_crash(struct crab_shadow *shadow);

/**
 * crab_shadow_explore() - cut the power at @image and judge all possible images
 * @shadow: the shadow; its state is undefined afterwards: restore one
 * @image: the crash point
 * @judge: recovers and judges; may explore nested crash points
 * @arg: for @judge
 * @budget: images to try at most
 *
 * Return: 0 if @judge returned 0 for every image; -E2BIG if more than @budget images exist; else
 * the error of @judge, with the choices that led to it in shadow->failed.
 */
int crab_shadow_explore(struct crab_shadow *shadow, const struct crab_shadow_image *image,
			crab_shadow_judge judge, void *arg, u64 budget);

/**
 * crab_shadow_point_name() - name of a persist point, for messages
 * @point: the point
 *
 * Return: the name.
 */
const char *crab_shadow_point_name(enum crab_point point);

#endif /* CRABTREE_PERSIST_SHADOW_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the inside of the shadow, for the files of this folder only.
 *
 * Locking: one thread.
 */
#ifndef CRABTREE_SHADOW_PRIV_H
#define CRABTREE_SHADOW_PRIV_H

#include "shadow.h"

#define SHADOW_POISON	0x5ad0c0de5ad0c0deULL
#define SHADOW_EPOCHS	192		/* of one run that may be open in a scope */
#define SHADOW_CHOICE_LINE	(1U << 31)	/* in a step: a scope was decided */

struct shadow_node {
	u64 value;
	u32 next;		/* index of the next node plus one; 0: the end */
	u32 epoch;		/* stores of one scope and epoch were not kept in order */
	u16 life;		/* number of cuts before the store; 0: crab_shadow_open() */
	u16 cleaned;		/* by which CPUs: the next fence of one of them completes it */
	bool stored;		/* since the last cut; else an alternative of an earlier one */
	bool pair;		/* with its other word one event */
	u8 cpu;			/* that stored it */
};

struct shadow_line {
	u32 line;
	u32 cpu;
};

/*
 * The whole state of a crash point, in one allocation. The one of crab_shadow.now
 * has room for all words; one that was captured keeps those of the lines that were
 * ever touched, in the order of crab_shadow.touched, and as many nodes as there are.
 */
struct crab_shadow_image {
	u32 words;
	u32 nodes;
	u32 pending;		/* nodes in lists */
	u32 top;		/* nodes that were ever used */
	u32 spare;		/* list of those that are free again */
	u32 lines;		/* cleaned and not yet fenced */
	u32 epoch;		/* one more with each order */
	u32 ordered[CRAB_SHADOW_CPUS];	/* by CPU: the epoch that its last order began */
	u16 life;		/* one more with each cut */
	u16 cpus;		/* that ever stored */
	u16 settled;		/* model E: the life at whose start the CPUs were decided */
	__le64 *view;		/* the media's memory; unused in crab_shadow.now */
	u64 *durable;
	struct shadow_node *node;
	struct shadow_line *line;
	u32 *first;		/* by word: its list, as in shadow_node.next */
};

#define LINE_WORDS	(CRAB_LINE / sizeof(__le64))

static inline struct shadow_node *node_at(const struct crab_shadow_image *image, u32 at)
{
	return at ? &image->node[at - 1] : NULL;
}

/* The last of a word's list, or NULL */
static inline struct shadow_node *word_last(const struct crab_shadow_image *image, u32 word)
{
	struct shadow_node *node = node_at(image, image->first[word]);

	while (node && node->next)
		node = node_at(image, node->next);
	return node;
}

/* Forgets the first node of a word */
static inline void word_pop(struct crab_shadow_image *image, u32 word)
{
	u32 at = image->first[word];
	struct shadow_node *node = node_at(image, at);

	image->first[word] = node->next;
	node->next = image->spare;
	image->spare = at;
	image->pending--;
}

static inline u32 line_begin(u32 line)
{
	return line * LINE_WORDS;
}

static inline u32 line_of(u32 word)
{
	return word / LINE_WORDS;
}

static inline u32 line_end(const struct crab_shadow_image *now, u32 line)
{
	return min(line_begin(line + 1), now->words);
}

/*
 * Stores that a cut leaves up to one of their epochs: under models L and A those to one line,
 * under model E those of one CPU.
 */
struct shadow_scope {
	u32 from, to;		/* words */
	u32 cpu;		/* or CRAB_SHADOW_CPUS: any */
};

static inline bool scope_has(const struct shadow_scope *scope, const struct shadow_node *node)
{
	return scope->cpu == CRAB_SHADOW_CPUS || node->cpu == scope->cpu;
}

/* The epoch of a store that shadow.cpu makes now */
static inline u32 epoch_now(const struct crab_shadow *shadow)
{
	const struct crab_shadow_image *now = shadow->now;

	return shadow->model == CRAB_SHADOW_MODEL_CACHE ? now->ordered[shadow->cpu] : now->epoch;
}

/**
 * crab_shadow_observe() - another CPU than that which stored a word loads it
 * @shadow: the shadow, under model E
 * @word: the word
 *
 * Stores that a CPU has seen are in the caches, with all that were ordered before them.
 * Context: any.
 */
void crab_shadow_observe(struct crab_shadow *shadow, u32 word);

/**
 * crab_shadow_error() - report a misuse of the media
 * @shadow: the shadow; keeps the first description and counts all
 * @fmt: description
 * Context: any.
 */
__printf(2, 3)
void crab_shadow_error(struct crab_shadow *shadow, const char *fmt, ...);

/* Index of the word at @p; if the media has none there: false, and an error of the access @what */
static inline bool shadow_word(const struct crab_media *media, const void *p, const char *what,
			       u32 *word)
{
	u64 offset = (const u8 *)p - media->base;

	*word = offset / sizeof(__le64);
	if (likely(offset < media->size && offset % sizeof(__le64) == 0))
		return true;
	crab_shadow_error(media->hooks.shadow, "%s at offset %lld: outside the media or unaligned",
			  what, (long long)offset);
	return false;
}

/**
 * crab_shadow_image_alloc() - allocate an image
 * @words: words that it describes
 * @nodes: values that may be pending
 * @lines: lines that may be cleaned and not yet fenced
 * @gfp: flags
 * Context: may sleep.
 * Return: the image, or NULL.
 */
struct crab_shadow_image *crab_shadow_image_alloc(u32 words, u32 nodes, u32 lines, gfp_t gfp);

/**
 * crab_shadow_forget() - free the choices of the last failure
 * @shadow: the shadow
 * Context: may sleep.
 */
void crab_shadow_forget(struct crab_shadow *shadow);

#endif /* CRABTREE_SHADOW_PRIV_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the shadow of the media and the explorer of crash images.
 *
 * Invariants: the list of a word holds its values in the order of their stores (each location is
 * coherent); alternatives from before a cut precede the stores after it. The media's memory has the
 * last value of the list, the durable value if the list is empty, and a poison if the list has only
 * alternatives: a read that bypasses crab_load() sees the poison. A fence completes the values that
 * a line had when the same CPU cleaned it, and no later store.
 *
 * Locking: one thread.
 */
#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "shadow.h"

#define SHADOW_POISON	0x5ad0c0de5ad0c0deULL
#define SHADOW_EPOCHS	96		/* of one life that may be open in a line */
#define SHADOW_CHOICE_LINE	(1U << 31)	/* in a step: a line was decided */

struct shadow_node {
	u64 value;
	u32 next;		/* index of the next node plus one; 0: the end */
	u32 epoch;		/* stores of one line and epoch were not kept in order */
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
	u16 life;		/* one more with each cut */
	__le64 *view;		/* the media's memory; unused in crab_shadow.now */
	u64 *durable;
	struct shadow_node *node;
	struct shadow_line *line;
	u32 *first;		/* by word: its list, as in shadow_node.next */
};

#define LINE_WORDS	(CRAB_LINE / sizeof(__le64))

static struct crab_shadow_image *image_alloc(u32 words, u32 nodes, u32 lines, gfp_t gfp)
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
	memcpy(to->node, from->node, from->top * sizeof(struct shadow_node));
	memcpy(to->line, from->line, from->lines * sizeof(struct shadow_line));
}

static struct shadow_node *node_at(const struct crab_shadow_image *image, u32 at)
{
	return at ? &image->node[at - 1] : NULL;
}

/* The last of a word's list, or NULL */
static struct shadow_node *word_last(const struct crab_shadow_image *image, u32 word)
{
	struct shadow_node *node = node_at(image, image->first[word]);

	while (node && node->next)
		node = node_at(image, node->next);
	return node;
}

/* Forgets the first node of a word */
static void word_pop(struct crab_shadow_image *image, u32 word)
{
	u32 at = image->first[word];
	struct shadow_node *node = node_at(image, at);

	image->first[word] = node->next;
	node->next = image->spare;
	image->spare = at;
	image->pending--;
}

__printf(2, 3)
static void shadow_error(struct crab_shadow *shadow, const char *fmt, ...)
{
	va_list args;

	if (shadow->errors++)
		return;
	va_start(args, fmt);
	vsnprintf(shadow->error, sizeof(shadow->error), fmt, args);
	va_end(args);
}

/* Index of the word at @p; false if it is not a word of the media */
static bool shadow_word(struct crab_shadow *shadow, const void *p, const char *what, u32 *word)
{
	u64 offset = (const u8 *)p - shadow->media->base;

	if (offset >= shadow->media->size || offset % sizeof(__le64)) {
		shadow_error(shadow, "%s at offset %lld: outside the media or unaligned", what,
			     (long long)offset);
		return false;
	}
	*word = offset / sizeof(__le64);
	return true;
}

static u32 line_begin(u32 line)
{
	return line * LINE_WORDS;
}

static u32 line_of(u32 word)
{
	return word / LINE_WORDS;
}

static u32 line_end(const struct crab_shadow_image *now, u32 line)
{
	return min(line_begin(line + 1), now->words);
}

static void shadow_event(struct crab_shadow *shadow, enum crab_shadow_event event,
			 enum crab_point point)
{
	if (shadow->hook)
		shadow->hook(shadow, event, point);
}

/*
 * A pair is one event among others in order: a neighbour in its epoch would be none. One
 * by another CPU is in order: the line went from one to the other.
 */
static void line_check_pair(struct crab_shadow *shadow, u32 word, bool pair)
{
	struct crab_shadow_image *now = shadow->now;
	const struct shadow_node *node;
	bool other = false;
	u32 at;

	for (at = line_begin(line_of(word)); at < line_end(now, line_of(word)); at++) {
		for (node = node_at(now, now->first[at]); node; node = node_at(now, node->next)) {
			if (!node->stored || node->epoch != now->epoch || !(pair || node->pair))
				continue;
			if (node->cpu == shadow->cpu)
				shadow_error(shadow, "word %u: a pair without order", at);
			other = true;
		}
	}
	now->epoch += other;
}

/* From now on the line of @word is part of every image */
static void line_touch(struct crab_shadow *shadow, u32 word)
{
	u32 line = line_of(word);

	if (shadow->is_touched[line])
		return;
	shadow->is_touched[line] = true;
	shadow->touched[shadow->touched_count++] = line;
}

/* One value more at the end of a word's list; @last: its end so far */
static void word_push(struct crab_shadow *shadow, u32 word, struct shadow_node *last,
		      const struct shadow_node *value)
{
	struct crab_shadow_image *now = shadow->now;
	u32 at = now->spare ?: now->top + 1;

	if (at > now->nodes) {
		shadow_error(shadow, "more than %u stores pending", now->nodes);
		return;
	}
	if (now->spare)
		now->spare = node_at(now, at)->next;
	else
		now->top++;
	now->pending++;
	now->node[at - 1] = *value;
	if (last)
		last->next = at;
	else
		now->first[word] = at;
	line_touch(shadow, word);
}

static void word_store(struct crab_shadow *shadow, u32 word, u64 value, bool pair)
{
	struct crab_shadow_image *now = shadow->now;
	struct shadow_node *last = word_last(now, word);
	const struct shadow_node node = {
		.value = value, .stored = true, .epoch = now->epoch,
		.life = now->life, .pair = pair, .cpu = shadow->cpu,
	};

	shadow->counts.stores++;
	if (last ? last->stored && last->value == value : now->durable[word] == value)
		return;
	word_push(shadow, word, last, &node);
	shadow->stored = word + 1;
}

void crab_shadow_store(struct crab_media *media, const __le64 *p, u64 value)
{
	struct crab_shadow *shadow = media->hooks.shadow;
	u32 pending = shadow->now->pending, word;

	if (!shadow_word(shadow, p, "store", &word))
		return;
	line_check_pair(shadow, word, false);
	word_store(shadow, word, value, false);
	if (shadow->now->pending != pending)
		shadow_event(shadow, CRAB_SHADOW_STORED, 0);
}

void crab_shadow_store_pair(struct crab_media *media, const __le64 *p, u64 first, u64 second)
{
	struct crab_shadow *shadow = media->hooks.shadow;
	u32 word;

	if (!shadow_word(shadow, p, "store", &word))
		return;
	if (word % 2)
		shadow_error(shadow, "word %u: a pair that is not aligned", word);
	line_check_pair(shadow, word, true);
	word_store(shadow, word, first, true);
	word_store(shadow, word + 1, second, true);
	shadow->stored = 0;
	shadow_event(shadow, CRAB_SHADOW_STORED, 0);
}

/* One event under model A, like a pair; otherwise eight words of one epoch */
void crab_shadow_store_line(struct crab_media *media, const __le64 *p, const u64 *values)
{
	struct crab_shadow *shadow = media->hooks.shadow;
	bool whole = shadow->model == CRAB_SHADOW_MODEL_WHOLE_LINE;
	u32 word, i;

	if (!shadow_word(shadow, p, "store", &word))
		return;
	if (word % LINE_WORDS)
		shadow_error(shadow, "word %u: a line that is not aligned", word);
	line_check_pair(shadow, word, whole);
	for (i = 0; i < LINE_WORDS; i++)
		word_store(shadow, word + i, values[i], whole);
	shadow->stored = 0;
	shadow_event(shadow, CRAB_SHADOW_STORED, 0);
}

void crab_shadow_order(struct crab_media *media)
{
	media->hooks.shadow->now->epoch++;
}

/* Marks the pending stores of a line; false if it has none */
static bool line_clean(struct crab_shadow_image *now, u32 line, u32 cpu)
{
	struct shadow_node *node;
	bool any = false;
	u32 word;

	for (word = line_begin(line); word < line_end(now, line); word++) {
		for (node = node_at(now, now->first[word]); node; node = node_at(now, node->next)) {
			any |= node->stored;
			if (node->stored)
				node->cleaned |= BIT(cpu);
		}
	}
	return any;
}

static void lines_add(struct crab_shadow *shadow, u32 line)
{
	struct crab_shadow_image *now = shadow->now;
	struct shadow_line *at;

	for (at = now->line; at < now->line + now->lines; at++)
		if (at->line == line && at->cpu == shadow->cpu)
			return;
	if (now->lines == now->nodes) {
		shadow_error(shadow, "more than %u lines cleaned and not fenced", now->nodes);
		return;
	}
	at->line = line;
	at->cpu = shadow->cpu;
	now->lines++;
}

void crab_shadow_clean(struct crab_media *media, const void *p, u64 len)
{
	struct crab_shadow *shadow = media->hooks.shadow;
	u64 offset = (const u8 *)p - media->base;
	u64 line, end = offset + len;

	if (!len || offset >= media->size || len > media->size - offset) {
		shadow_error(shadow, "clean of %llu bytes at offset %lld: outside the media",
			     (unsigned long long)len, (long long)offset);
		return;
	}
	for (line = offset / CRAB_LINE; line * CRAB_LINE < end; line++) {
		shadow->counts.cleans++;
		if (line_clean(shadow->now, line, shadow->cpu))
			lines_add(shadow, line);
		else
			shadow->counts.idle_cleans++;
	}
}

/*
 * The last value of a word that @cpu cleaned is durable, and all before it is
 * history. With @lost the cleans had no effect.
 */
static void word_complete(struct crab_shadow_image *now, u32 word, u32 cpu, bool lost)
{
	struct shadow_node *node;
	u32 n = 0, done = 0;

	for (node = node_at(now, now->first[word]); node; node = node_at(now, node->next)) {
		n++;
		if (!(node->cleaned & BIT(cpu)))
			continue;
		node->cleaned &= ~BIT(cpu);
		if (lost)
			continue;
		done = n;
		now->durable[word] = node->value;
	}
	while (done--)
		word_pop(now, word);
}

static void line_complete(struct crab_shadow_image *now, const struct shadow_line *line, bool lost)
{
	u32 word;

	for (word = line_begin(line->line); word < line_end(now, line->line); word++)
		word_complete(now, word, line->cpu, lost);
}

/* Does the planted fault keep this line, the @nth of the epoch, from the media? */
static bool shadow_loses(struct crab_shadow *shadow, enum crab_point point, u32 nth)
{
	if (point != shadow->fault_point || shadow->fault == CRAB_SHADOW_SOUND ||
	    (shadow->fault == CRAB_SHADOW_CLEAN_LOST && nth != shadow->fault_nth))
		return false;
	shadow->fault_hits++;
	return true;
}

void crab_shadow_fence(struct crab_media *media, enum crab_point point)
{
	struct crab_shadow *shadow = media->hooks.shadow;
	struct crab_shadow_image *now = shadow->now;
	u32 i, kept = 0, nth = 0;

	shadow->counts.fences[point]++;
	shadow_event(shadow, CRAB_SHADOW_FENCING, point);
	if (shadow->fault == CRAB_SHADOW_FENCE_LOST && shadow_loses(shadow, point, 0))
		return;
	for (i = 0; i < now->lines; i++) {
		if (now->line[i].cpu == shadow->cpu)
			line_complete(now, &now->line[i], shadow_loses(shadow, point, nth++));
		else
			now->line[kept++] = now->line[i];
	}
	now->lines = kept;
}

/* Distinct values that an open word may have; the durable one first */
static u32 word_options(const struct crab_shadow_image *now, u32 word, u64 *values, u32 cap)
{
	const struct shadow_node *node = node_at(now, now->first[word]);
	u32 i, n = 1;

	values[0] = now->durable[word];
	for (; node && n < cap; node = node_at(now, node->next)) {
		for (i = 0; i < n && values[i] != node->value; i++)
			;
		if (i == n)
			values[n++] = node->value;
	}
	return n;
}

/* The value of @word in a reproducer; the durable value if it has none */
static u32 script_choice(const struct crab_shadow_path *script, u32 word)
{
	u32 i;

	for (i = 0; i < script->depth; i++)
		if (script->steps[i].word == word)
			return script->steps[i].choice;
	return 0;
}

/* Which of @options to take for @word: the one in the path, or @from at its end */
static u32 shadow_choose(struct crab_shadow *shadow, u32 word, u32 from, u32 options)
{
	struct crab_shadow_path *path = shadow->path;
	struct crab_shadow_step *step;

	if (!path && shadow->script)
		return script_choice(shadow->script, word);
	if (!path) {
		shadow->seed = shadow->seed * 6364136223846793005ULL + 1442695040888963407ULL;
		return from + (shadow->seed >> 33) % (options - from);
	}
	if (path->at == CRAB_SHADOW_STEPS) {
		shadow_error(shadow, "more than %u choices in one run", CRAB_SHADOW_STEPS);
		return 0;
	}
	step = &path->steps[path->at];
	if (path->at++ == path->depth) {
		path->depth++;
		step->word = word;
		step->options = options;
		step->choice = from;
	} else if (step->word != word || step->options != options) {
		shadow_error(shadow, "recovery is not deterministic: word %u, was %u", word,
			     step->word);
		return 0;
	}
	return step->choice;
}

/* The open epochs of a line since a cut, ascending; those of a pair if @pairs is set */
static u32 line_epochs(const struct crab_shadow_image *now, u32 line, u16 life,
		       u32 *epochs, bool *pairs, u32 cap)
{
	const struct shadow_node *node;
	u32 word, n = 0, i;

	for (word = line_begin(line); word < line_end(now, line); word++) {
		for (node = node_at(now, now->first[word]); node; node = node_at(now, node->next)) {
			for (i = 0; i < n && epochs[i] < node->epoch; i++)
				;
			if (node->life != life || n == cap || (i < n && epochs[i] == node->epoch))
				continue;
			memmove(&epochs[i + 1], &epochs[i], (n - i) * sizeof(*epochs));
			memmove(&pairs[i + 1], &pairs[i], (n - i) * sizeof(*pairs));
			epochs[i] = node->epoch;
			pairs[i] = node->pair;
			n++;
		}
	}
	return n;
}

/* The oldest life after @life that left something open in a line, or 0 */
static u16 line_next_life(const struct crab_shadow_image *now, u32 line, u16 life)
{
	const struct shadow_node *node;
	u16 next = 0;
	u32 word;

	for (word = line_begin(line); word < line_end(now, line); word++)
		for (node = node_at(now, now->first[word]); node; node = node_at(now, node->next))
			if (node->life > life && (!next || node->life < next))
				next = node->life;
	return next;
}

/* Among the stores of @life those before @epoch persisted, and those after it did not */
static void word_cut(struct crab_shadow *shadow, u32 word, u16 life, u32 epoch)
{
	struct crab_shadow_image *now = shadow->now;
	u32 *link, at, n = 0, there = 0;
	struct shadow_node *node;

	for (node = node_at(now, now->first[word]); node; node = node_at(now, node->next)) {
		n++;
		if (node->life == life && node->epoch < epoch) {
			now->durable[word] = node->value;
			there = n;
		}
	}
	while (there--)
		word_pop(now, word);
	for (link = &now->first[word]; (at = *link); ) {
		node = node_at(now, at);
		if (node->life != life || (node->epoch == epoch && !node->pair)) {
			link = &node->next;
			continue;
		}
		*link = node->next;
		node->next = now->spare;
		now->spare = at;
		now->pending--;
	}
	if (!now->first[word])
		((__le64 *)shadow->media->base)[word] = cpu_to_le64(now->durable[word]);
}

/*
 * Model L: of each life a line holds a prefix of its epochs, and any part of one
 * more. A pair is the only event of its epoch, and has no parts.
 */
static void line_decide(struct crab_shadow *shadow, u32 line)
{
	struct crab_shadow_image *now = shadow->now;
	u32 epochs[SHADOW_EPOCHS], n, word, choice;
	bool pairs[SHADOW_EPOCHS];
	u16 life = 0;

	while ((life = line_next_life(now, line, life))) {
		n = line_epochs(now, line, life, epochs, pairs, SHADOW_EPOCHS);
		if (n == SHADOW_EPOCHS)
			shadow_error(shadow, "line %u has too many epochs", line);
		if (n + pairs[n - 1] < 2)
			continue;
		choice = shadow_choose(shadow, line_begin(line) | SHADOW_CHOICE_LINE, 0,
				       n + pairs[n - 1]);
		for (word = line_begin(line); word < line_end(now, line); word++)
			if (now->first[word])
				word_cut(shadow, word, life, choice < n ? epochs[choice] : U32_MAX);
	}
}

/* Which of its values an open word was given last */
static u32 word_newest(const struct crab_shadow_image *now, u32 word, const u64 *values,
		       u32 options)
{
	u64 value = word_last(now, word)->value;
	u32 i;

	for (i = 0; i + 1 < options && values[i] != value; i++)
		;
	return i;
}

/* Settles an open word */
static void shadow_decide(struct crab_shadow *shadow, u32 word)
{
	struct crab_shadow_image *now = shadow->now;
	u64 values[16];
	u32 choice = 0, from = 0, options;

	if (shadow->model != CRAB_SHADOW_MODEL_WORD)
		line_decide(shadow, line_of(word));
	if (!now->first[word])
		return;
	options = word_options(now, word, values, ARRAY_SIZE(values));
	if (options == ARRAY_SIZE(values))
		shadow_error(shadow, "word %u has too many values", word);
	if (shadow->forced == word + 1) {	/* no choice, but part of the path */
		from = word_newest(now, word, values, options);
		options = from + 1;
	}
	if (options > 1) {
		choice = shadow_choose(shadow, word, from, options);
		if (shadow->path && shadow->path->at)
			shadow->path->steps[shadow->path->at - 1].value = values[choice];
	}
	while (now->first[word])
		word_pop(now, word);
	now->durable[word] = values[choice];
	((__le64 *)shadow->media->base)[word] = cpu_to_le64(values[choice]);
}

u64 crab_shadow_load(const struct crab_media *media, const __le64 *p)
{
	struct crab_shadow *shadow = media->hooks.shadow;
	const struct shadow_node *last;
	u32 word;

	shadow->loads++;
	if (!shadow_word(shadow, p, "load", &word))
		return 0;
	if (shadow->loading)
		shadow->loading(shadow, word);
	if (shadow->reads)
		shadow->reads[word] = true;
	last = word_last(shadow->now, word);
	if (last && !last->stored)
		shadow_decide(shadow, word);
	return le64_to_cpu(READ_ONCE(*p));
}

u32 crab_shadow_pending(const struct crab_shadow *shadow)
{
	return shadow->now->pending;
}

void crab_shadow_open(struct crab_shadow *shadow, const __le64 *p, const u64 *values, u32 n)
{
	struct crab_shadow_image *now = shadow->now;
	u32 word, i;

	if (!shadow_word(shadow, p, "open", &word))
		return;
	while (now->first[word])
		word_pop(now, word);
	now->durable[word] = values[0];
	line_touch(shadow, word);
	for (i = 1; i < n; i++)
		word_push(shadow, word, word_last(now, word),
			  &(struct shadow_node) { .value = values[i] });
	*(__le64 *)p = cpu_to_le64(n > 1 ? SHADOW_POISON : values[0]);
}

static bool shadow_alloc(struct crab_shadow *shadow, u32 nodes)
{
	u32 lines = line_of(shadow->words + LINE_WORDS - 1);

	shadow->now = image_alloc(shadow->words, nodes, nodes, GFP_KERNEL | __GFP_ZERO);
	shadow->origin = kvmalloc_array(shadow->words, sizeof(u64), GFP_KERNEL);
	shadow->touched = kvmalloc_array(lines, sizeof(u32), GFP_KERNEL);
	shadow->is_touched = kvcalloc(lines, sizeof(bool), GFP_KERNEL);
	return shadow->now && shadow->origin && shadow->touched && shadow->is_touched;
}

struct crab_shadow *crab_shadow_create(struct crab_media *media, u32 nodes)
{
	struct crab_shadow *shadow = kzalloc(sizeof(*shadow), GFP_KERNEL);
	u32 i;

	if (!shadow)
		return NULL;
	shadow->media = media;
	shadow->words = media->size / sizeof(__le64);
	if (!shadow_alloc(shadow, nodes)) {
		crab_shadow_destroy(shadow);
		return NULL;
	}
	for (i = 0; i < shadow->words; i++)
		shadow->origin[i] = le64_to_cpu(((__le64 *)media->base)[i]);
	memcpy(shadow->now->durable, shadow->origin, shadow->words * sizeof(u64));
	shadow->now->life = 1;
	media->hooks.shadow = shadow;
	return shadow;
}

/* Forgets the last failure */
static void shadow_forgive(struct crab_shadow *shadow)
{
	struct crab_shadow_path *inner;

	for (; shadow->failed; shadow->failed = inner) {
		inner = shadow->failed->inner;
		kvfree(shadow->failed);
	}
}

void crab_shadow_destroy(struct crab_shadow *shadow)
{
	if (!shadow)
		return;
	shadow->media->hooks.shadow = NULL;
	shadow_forgive(shadow);
	kvfree(shadow->is_touched);
	kvfree(shadow->touched);
	kvfree(shadow->origin);
	kvfree(shadow->now);
	kfree(shadow);
}

struct crab_shadow_image *crab_shadow_capture(struct crab_shadow *shadow)
{
	const __le64 *base = (const __le64 *)shadow->media->base;
	const struct crab_shadow_image *now = shadow->now;
	struct crab_shadow_image *image;
	u32 i, at = 0, word, n;

	image = image_alloc(shadow->touched_count * LINE_WORDS, now->top, now->lines, GFP_KERNEL);
	if (!image) {
		shadow_error(shadow, "no memory for a crash point");
		return NULL;
	}
	image_copy(image, now);
	for (i = 0; i < shadow->touched_count; i++, at += LINE_WORDS) {
		word = line_begin(shadow->touched[i]);
		n = line_end(now, shadow->touched[i]) - word;
		memcpy(image->view + at, base + word, n * sizeof(*base));
		memcpy(image->durable + at, now->durable + word, n * sizeof(u64));
		memcpy(image->first + at, now->first + word, n * sizeof(u32));
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
		memcpy(base + word, image->view + at, n * sizeof(*base));
		memcpy(now->durable + word, image->durable + at, n * sizeof(u64));
		memcpy(now->first + word, image->first + at, n * sizeof(u32));
	}
}

static void line_crash(struct crab_shadow *shadow, u32 line)
{
	struct crab_shadow_image *now = shadow->now;
	struct shadow_node *node;
	u32 word;

	for (word = line_begin(line); word < line_end(now, line); word++) {
		if (!now->first[word])
			continue;
		for (node = node_at(now, now->first[word]); node; node = node_at(now, node->next)) {
			node->stored = false;
			node->cleaned = 0;
		}
		((__le64 *)shadow->media->base)[word] = cpu_to_le64(SHADOW_POISON);
	}
}

void crab_shadow_crash(struct crab_shadow *shadow)
{
	u32 i;

	for (i = 0; i < shadow->touched_count; i++)
		line_crash(shadow, shadow->touched[i]);
	shadow->now->lines = 0;
	shadow->now->life++;
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
		shadow_forgive(shadow);
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

const char *crab_shadow_point_name(enum crab_point point)
{
	static const char * const names[CRAB_POINTS] = {
		[CRAB_P1_CLEARED] = "P1 cleared",
		[CRAB_P2_BODY] = "P2 body",
		[CRAB_P3_SUPER] = "P3 super",
		[CRAB_P4_FOUND] = "P4 found",
		[CRAB_P5_PREPARED] = "P5 prepared",
		[CRAB_P6_RECORD] = "P6 record",
		[CRAB_P7_FRESH] = "P7 fresh",
		[CRAB_P8_LINKED] = "P8 linked",
		[CRAB_P9_SHIFTED] = "P9 shifted",
		[CRAB_P10_ENDED] = "P10 ended",
		[CRAB_P11_APPENDED] = "P11 appended",
		[CRAB_P12_ALLOCATED] = "P12 allocated",
	};

	return point < CRAB_POINTS && names[point] ? names[point] : "no point";
}

// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the choices of the shadow: the value of a word that a power cut left
 * open is chosen when it is loaded, and not before.
 *
 * Invariants: a word that was chosen keeps its value; under models L and A each run of the
 * media leaves in a line a prefix of its epochs and any part of one more; a pair, a swap and a
 * whole line have no parts.
 *
 * Locking: one thread.
 */
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/string.h>

#include "shadow_priv.h"

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
		crab_shadow_error(shadow, "more than %u choices in one run", CRAB_SHADOW_STEPS);
		return 0;
	}
	step = &path->steps[path->at];
	if (path->at++ == path->depth) {
		path->depth++;
		step->word = word;
		step->options = options;
		step->choice = from;
	} else if (step->word != word || step->options != options) {
		crab_shadow_error(shadow, "recovery is not deterministic: word %u, was %u", word,
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

/* The oldest run after @life that left something open in a line, or 0 */
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
 * Model L: of each run a line holds a prefix of its epochs, and any part of one
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
			crab_shadow_error(shadow, "line %u has too many epochs", line);
		if (n + pairs[n - 1] < 2)
			continue;
		choice = shadow_choose(shadow, line_begin(line) | SHADOW_CHOICE_LINE, 0,
				       n + pairs[n - 1]);
		for (word = line_begin(line); word < line_end(now, line); word++)
			if (now->first[word])
				word_cut(shadow, word, life, choice < n ? epochs[choice] : U32_MAX);
	}
}

/* The index of the value that was last stored to an open word */
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
		crab_shadow_error(shadow, "word %u has too many values", word);
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
	if (!crab_shadow_word(shadow, p, "load", &word))
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

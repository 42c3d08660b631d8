// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the choices of the shadow: the value of a word that a power cut left
 * open is chosen when it is loaded, and not before.
 *
 * Invariants: a word that was chosen keeps its value; under models L and A each run of the
 * media leaves in a line a prefix of its epochs and any part of one more, and under model E each
 * CPU of a run does so in the whole media; a pair, a swap and a whole line have no parts. Under
 * model E a CPU's store to a word may persist without an earlier one of another CPU that it did not
 * load: more images than caches can leave, and none fewer.
 *
 * Locking: one thread.
 */
#include <linux/bits.h>
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

/* The open epochs of a scope since a cut, ascending; those of a pair if @pairs is set */
static u32 scope_epochs(const struct crab_shadow_image *now, const struct shadow_scope *scope,
			u16 life, u32 *epochs, bool *pairs)
{
	const struct shadow_node *node;
	u32 word, n = 0, i;

	for (word = scope->from; word < scope->to; word++) {
		for (node = node_at(now, now->first[word]); node; node = node_at(now, node->next)) {
			for (i = 0; i < n && epochs[i] < node->epoch; i++)
				;
			if (node->life != life || !scope_has(scope, node) || n == SHADOW_EPOCHS ||
			    (i < n && epochs[i] == node->epoch))
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

/* The oldest run after @life, but not the current one, that left a scope open; or 0 */
static u16 scope_next_life(const struct crab_shadow_image *now, const struct shadow_scope *scope,
			   u16 life)
{
	const struct shadow_node *node;
	u16 next = 0;
	u32 word;

	for (word = scope->from; word < scope->to; word++)
		for (node = node_at(now, now->first[word]); node; node = node_at(now, node->next))
			if (node->life > life && !node->stored && scope_has(scope, node) &&
			    (!next || node->life < next))
				next = node->life;
	return next;
}

/* Among the stores of @life those before @epoch persisted, and those after it did not */
static void word_cut(struct crab_shadow *shadow, const struct shadow_scope *scope, u32 word,
		     u16 life, u32 epoch)
{
	struct crab_shadow_image *now = shadow->now;
	u32 *link, at, n = 0, there = 0;
	struct shadow_node *node;

	for (node = node_at(now, now->first[word]); node; node = node_at(now, node->next)) {
		n++;
		if (node->life == life && scope_has(scope, node) && node->epoch < epoch) {
			now->durable[word] = node->value;
			there = n;
		}
	}
	while (there--)
		word_pop(now, word);
	for (link = &now->first[word]; (at = *link); ) {
		node = node_at(now, at);
		if (node->life != life || !scope_has(scope, node) ||
		    (node->epoch == epoch && !node->pair)) {
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
 * Models L, A and E: of each run a scope holds a prefix of its epochs, and any part of one more. A
 * pair is the only event of its epoch, and has no parts.
 */
static void scope_decide(struct crab_shadow *shadow, const struct shadow_scope *scope)
{
	u32 step = SHADOW_CHOICE_LINE | (scope->from + scope->cpu % CRAB_SHADOW_CPUS);
	struct crab_shadow_image *now = shadow->now;
	u32 epochs[SHADOW_EPOCHS], n, word, choice;
	bool pairs[SHADOW_EPOCHS];
	u16 life = 0;

	while ((life = scope_next_life(now, scope, life))) {
		n = scope_epochs(now, scope, life, epochs, pairs);
		if (n == SHADOW_EPOCHS)
			crab_shadow_error(shadow, "word %u: too many epochs", scope->from);
		if (n + pairs[n - 1] < 2)
			continue;
		choice = shadow_choose(shadow, step, 0, n + pairs[n - 1]);
		for (word = scope->from; word < scope->to; word++)
			if (now->first[word])
				word_cut(shadow, scope, word, life,
					 choice < n ? epochs[choice] : U32_MAX);
	}
}

/* Decides the epochs of @word's line that persisted, or under model E those of each CPU */
static void shadow_decide_order(struct crab_shadow *shadow, u32 word)
{
	struct crab_shadow_image *now = shadow->now;
	struct shadow_scope scope = {
		.from = line_begin(line_of(word)), .to = line_end(now, line_of(word)),
		.cpu = CRAB_SHADOW_CPUS,
	};

	if (shadow->model != CRAB_SHADOW_MODEL_CACHE) {
		scope_decide(shadow, &scope);
		return;
	}
	if (now->settled == now->life)
		return;
	now->settled = now->life;
	scope = (struct shadow_scope) { .to = now->words };
	for (; scope.cpu < CRAB_SHADOW_CPUS; scope.cpu++)
		if (now->cpus & BIT(scope.cpu))
			scope_decide(shadow, &scope);
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
		shadow_decide_order(shadow, word);
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

/* A load of a word with values in its list */
static noinline u64 shadow_load_open(struct crab_shadow *shadow, const __le64 *p, u32 word)
{
	const struct shadow_node *last = word_last(shadow->now, word);

	if (!last->stored)
		shadow_decide(shadow, word);
	else if (last->cpu != shadow->cpu && shadow->model == CRAB_SHADOW_MODEL_CACHE)
		crab_shadow_observe(shadow, word);
	return le64_to_cpu(*p);
}

/* Its words are those that the swap has read: no other task runs between the two */
void crab_shadow_refused_pair(struct crab_media *media, const __le64 *p)
{
	struct crab_shadow *shadow = media->hooks.shadow;
	u32 word, i;

	if (!shadow_word(media, p, "load", &word))
		return;
	for (i = 0; i < 2; i++)
		if (shadow->now->first[word + i])
			shadow_load_open(shadow, p + i, word + i);
}

static u64 shadow_load(struct crab_shadow *shadow, const __le64 *p, u32 word)
{
	if (shadow->reads)
		shadow->reads[word] = true;
	/* Another task may run here, and not between the decision and the load that follows it */
	(void)READ_ONCE(*p);
	if (unlikely(shadow->now->first[word]))
		return shadow_load_open(shadow, p, word);
	return le64_to_cpu(*p);
}

/* A load of media that change by themselves */
static noinline u64 shadow_load_changing(struct crab_shadow *shadow, const __le64 *p, u32 word)
{
	shadow->loading(shadow, word);
	return shadow_load(shadow, p, word);
}

/*
 * The explorer spends a fifth of its time here: each rare case is a call, and the last one, so that
 * no register has to be saved
 */
u64 crab_shadow_load(const struct crab_media *media, const __le64 *p)
{
	struct crab_shadow *shadow = media->hooks.shadow;
	u32 word;

	shadow->loads++;
	if (!shadow_word(media, p, "load", &word))
		return 0;
	if (unlikely(shadow->loading))
		return shadow_load_changing(shadow, p, word);
	return shadow_load(shadow, p, word);
}

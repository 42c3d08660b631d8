// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the recording half of the shadow: stores, orders, cleans and fences.
 *
 * Invariants: the list of a word holds its values in the order of their stores (each location
 * is coherent); alternatives from before a cut precede stores after it; the media's memory
 * holds the last value of the list, the durable value if the list is empty, and a poison if
 * only alternatives are left: an access that bypasses crab_load() reads the poison. A fence
 * completes the stores to a line that precede a clean of it by the same CPU, and no others;
 * under model E all stores of the CPU.
 *
 * Locking: one thread.
 */
#include <linux/bits.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "shadow_priv.h"

__printf(2, 3)
void crab_shadow_error(struct crab_shadow *shadow, const char *fmt, ...)
{
	va_list args;

	if (shadow->errors++)
		return;
	va_start(args, fmt);
	vsnprintf(shadow->error, sizeof(shadow->error), fmt, args);
	va_end(args);
}

static void shadow_event(struct crab_shadow *shadow, enum crab_shadow_event event,
			 enum crab_point point)
{
	if (shadow->hook)
		shadow->hook(shadow, event, point);
}

/*
 * A pair must be the only event of its line and epoch. A store by another CPU is in order
 * anyway: the line moved from one cache to the other in between.
 */
static void line_check_pair(struct crab_shadow *shadow, u32 word, bool pair)
{
	struct crab_shadow_image *now = shadow->now;
	const struct shadow_node *node;
	bool other = false;
	u32 at;

	for (at = line_begin(line_of(word)); at < line_end(now, line_of(word)); at++) {
		for (node = node_at(now, now->first[at]); node; node = node_at(now, node->next)) {
			if (!node->stored || node->epoch != epoch_now(shadow) ||
			    !(pair || node->pair))
				continue;
			if (node->cpu == shadow->cpu)
				crab_shadow_error(shadow, "word %u: a pair without order", at);
			other = true;
		}
	}
	now->epoch += other;
}

/* The only event of its line, and under model E of its CPU: orders the pair on both sides there */
static void pair_order(struct crab_shadow *shadow)
{
	if (shadow->model == CRAB_SHADOW_MODEL_CACHE)
		crab_shadow_order(shadow->media);
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
		crab_shadow_error(shadow, "more than %u stores pending", now->nodes);
		return;
	}
	if (now->spare)
		now->spare = node_at(now, at)->next;
	else
		now->top++;
	now->pending++;
	now->node[at - 1] = *value;
	now->cpus |= BIT(value->cpu);
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
		.value = value, .stored = true, .epoch = epoch_now(shadow),
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

	if (!shadow_word(media, p, "store", &word))
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

	if (!shadow_word(media, p, "store", &word))
		return;
	if (word % 2)
		crab_shadow_error(shadow, "word %u: a pair that is not aligned", word);
	pair_order(shadow);
	line_check_pair(shadow, word, true);
	word_store(shadow, word, first, true);
	word_store(shadow, word + 1, second, true);
	pair_order(shadow);
	shadow->stored = 0;
	shadow_event(shadow, CRAB_SHADOW_STORED, 0);
}

/* One event under model A, like a pair; otherwise eight words of one epoch */
void crab_shadow_store_line(struct crab_media *media, const __le64 *p, const u64 *values)
{
	struct crab_shadow *shadow = media->hooks.shadow;
	bool whole = shadow->model == CRAB_SHADOW_MODEL_WHOLE_LINE;
	u32 word, i;

	if (!shadow_word(media, p, "store", &word))
		return;
	if (word % LINE_WORDS)
		crab_shadow_error(shadow, "word %u: a line that is not aligned", word);
	line_check_pair(shadow, word, whole);
	for (i = 0; i < LINE_WORDS; i++)
		word_store(shadow, word + i, values[i], whole);
	shadow->stored = 0;
	shadow_event(shadow, CRAB_SHADOW_STORED, 0);
}

void crab_shadow_order(struct crab_media *media)
{
	struct crab_shadow *shadow = media->hooks.shadow;

	shadow->now->ordered[shadow->cpu] = ++shadow->now->epoch;
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
		crab_shadow_error(shadow, "more than %u lines cleaned and not fenced", now->nodes);
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
		crab_shadow_error(shadow, "clean of %llu bytes at offset %lld: outside the media",
				  len, (long long)offset);
		return;
	}
	for (line = offset / CRAB_LINE; line * CRAB_LINE < end; line++) {
		if (line_clean(shadow->now, line, shadow->cpu))
			lines_add(shadow, line);
		else
			shadow->counts.idle_cleans++;
	}
}

/*
 * The last value of a word that @cpu cleaned is durable, and all earlier values
 * are dropped. With @lost the cleans had no effect.
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

/* Completes the stores of @cpu to a word in epochs below @before */
static void word_reach(struct crab_shadow_image *now, u32 word, u32 cpu, u32 before)
{
	struct shadow_node *node;
	u32 n = 0, done = 0;

	for (node = node_at(now, now->first[word]); node; node = node_at(now, node->next)) {
		n++;
		if (!node->stored || node->cpu != cpu || node->epoch >= before)
			continue;
		done = n;
		now->durable[word] = node->value;
	}
	while (done--)
		word_pop(now, word);
}

/* Completes the stores of a CPU before epoch @before, as far as the caches persist: model E */
static void shadow_reach(struct crab_shadow *shadow, u32 cpu, u32 before)
{
	struct crab_shadow_image *now = shadow->now;
	u32 i, word;

	for (i = 0; i < shadow->touched_count; i++)
		for (word = line_begin(shadow->touched[i]);
		     word < line_end(now, shadow->touched[i]); word++)
			word_reach(now, word, cpu, before);
}

void crab_shadow_observe(struct crab_shadow *shadow, u32 word)
{
	const struct shadow_node *last = word_last(shadow->now, word);
	u32 cpu = last->cpu, epoch = last->epoch;
	bool pair = last->pair;

	shadow_reach(shadow, cpu, epoch);
	word_reach(shadow->now, word, cpu, epoch + 1);
	if (pair)		/* one event: the other word, too */
		word_reach(shadow->now, word ^ 1, cpu, epoch + 1);
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
	if (shadow->model == CRAB_SHADOW_MODEL_CACHE)
		shadow_reach(shadow, shadow->cpu, U32_MAX);
	for (i = 0; i < now->lines; i++) {
		if (now->line[i].cpu == shadow->cpu)
			line_complete(now, &now->line[i], shadow_loses(shadow, point, nth++));
		else
			now->line[kept++] = now->line[i];
	}
	now->lines = kept;
}

u32 crab_shadow_pending(const struct crab_shadow *shadow)
{
	return shadow->now->pending;
}

void crab_shadow_open(struct crab_shadow *shadow, const __le64 *p, const u64 *values, u32 n)
{
	struct crab_shadow_image *now = shadow->now;
	u32 word, i;

	if (!shadow_word(shadow->media, p, "open", &word))
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

	shadow->now = crab_shadow_image_alloc(shadow->words, nodes, nodes, GFP_KERNEL | __GFP_ZERO);
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

void crab_shadow_destroy(struct crab_shadow *shadow)
{
	if (!shadow)
		return;
	shadow->media->hooks.shadow = NULL;
	crab_shadow_forget(shadow);
	kvfree(shadow->is_touched);
	kvfree(shadow->touched);
	kvfree(shadow->origin);
	kvfree(shadow->now);
	kfree(shadow);
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
		[CRAB_P13_PARENT] = "P13 parent",
		[CRAB_P14_ROOT] = "P14 root",
		[CRAB_P15_BLOB] = "P15 blob",
		[CRAB_P16_PARKED] = "P16 parked",
		[CRAB_P17_LOGGED] = "P17 logged",
		[CRAB_P18_INVALID] = "P18 invalid",
		[CRAB_P19_REWRITTEN] = "P19 rewritten",
		[CRAB_P20_ERASED] = "P20 erased",
		[CRAB_P21_LISTED] = "P21 listed",
		[CRAB_P22_UNLISTED] = "P22 unlisted",
	};

	return point < CRAB_POINTS && names[point] ? names[point] : "no point";
}

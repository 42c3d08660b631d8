// SPDX-License-Identifier: GPL-2.0
/*
 * This file is the fuzzer of hostile media: libFuzzer writes scripts, which
 * damage small real images (crabtree_mod/tests/hostile.h), and the judge attaches,
 * checks, reads and uses the result under ASan and UBSan.
 *
 *   fuzz [-max_total_time=N ...] DIR	fuzz; DIR keeps the scripts that reach new code
 *   fuzz FILE			play one script
 *
 * scripts/fuzz runs it.
 *
 * Invariants: an execution leaves no allocation: its memory comes from an arena
 * that is empty at its end, otherwise memory leaked. Every access to the media
 * lies inside the media, every store in a field of the format, and the number of
 * accesses is bounded.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sanitizer/asan_interface.h>

#include <linux/cpumask.h>
#include <linux/kernel.h>
#include <linux/printk.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "tests/hostile.h"

/* Memory: a freed piece is not reused before the next execution */

#define ARENA_BYTES	(256 * 1024)
#define ARENA_GAP	32		/* no access between two pieces */

static _Alignas(4096) u8 arena[ARENA_BYTES];
static size_t arena_used;
static long arena_pieces;

long crab_host_fail_alloc = -1;
unsigned long crab_host_allocs;

struct piece {
	u64 size;
	u64 pad;
};

void *crab_host_alloc(size_t size, size_t align, gfp_t gfp)
{
	struct piece *piece;
	size_t at = arena_used + sizeof(*piece);
	void *p;

	at = ALIGN(at, max_t(size_t, align > 64 ? 64 : align, 16));
	if (size > ARENA_BYTES || at + size + ARENA_GAP > ARENA_BYTES)
		return NULL;
	p = arena + at;
	piece = (struct piece *)p - 1;
	ASAN_UNPOISON_MEMORY_REGION(piece, sizeof(*piece) + size);
	piece->size = size;
	ASAN_POISON_MEMORY_REGION(piece, sizeof(*piece));
	if (gfp & __GFP_ZERO)
		memset(p, 0, size);
	arena_used = ALIGN(at + size + ARENA_GAP, 16);
	arena_pieces++;
	return p;
}

void crab_host_free(const void *p)
{
	struct piece *piece;

	if (!p)
		return;
	piece = (struct piece *)p - 1;
#if __has_feature(address_sanitizer)
	if (__asan_region_is_poisoned((void *)p, 1)) {
		fprintf(stderr, "freed twice\n");
		abort();
	}
#endif
	ASAN_UNPOISON_MEMORY_REGION(piece, sizeof(*piece));
	ASAN_POISON_MEMORY_REGION(piece, sizeof(*piece) + piece->size);
	arena_pieces--;
}

static void arena_reset(void)
{
	ASAN_POISON_MEMORY_REGION(arena, arena_used);
	arena_used = 0;
	arena_pieces = 0;
}

/* The media: L1 is built for a shadow, so every access calls these functions */

struct crab_shadow {
	u64 steps;
	u64 stores;
};

#define STEPS_MAX	(1U << 21)	/* of one execution; more means an endless loop */

static _Alignas(4096) u8 region[CRAB_HOSTILE_BYTES];
static struct crab_shadow counter;

static void wrong(const char *what, u64 at)
{
	fprintf(stderr, "media: %s at offset %llu\n", what, (unsigned long long)at);
	abort();
}

#define FAST	__attribute__((no_sanitize("address", "undefined")))

FAST static u64 step(const struct crab_media *media, const void *p, u64 len)
{
	u64 at = (const u8 *)p - media->base;

	if (at + len > media->size || at > media->size || at % 8)
		wrong("access outside it", at);
	if (++counter.steps > STEPS_MAX)
		wrong("no end of accesses", at);
	return at;
}

FAST u64 crab_shadow_load(const struct crab_media *media, const __le64 *p)
{
	step(media, p, sizeof(*p));
	return le64_to_cpu(*p);
}

FAST void crab_shadow_store(struct crab_media *media, const __le64 *p, u64 value)
{
	u64 at = step(media, p, sizeof(*p));

	counter.stores++;

	if (at < CRAB_HEAD_OFFSET ? at % CRAB_SUPER_STRIDE >= sizeof(struct crab_dsuper) :
	    at >= CRAB_HEAD_OFFSET + sizeof(struct crab_dhead) && at < CRAB_BITMAP_OFFSET &&
	    at - CRAB_COMMIT_OFFSET >= sizeof(struct crab_dcommit))
		wrong("store where the format has nothing", at);
}

void crab_shadow_store_pair(struct crab_media *media, const __le64 *p, u64 first, u64 second)
{
	crab_shadow_store(media, p, first);
	crab_shadow_store(media, p + 1, second);
}

void crab_shadow_store_line(struct crab_media *media, const __le64 *p, const u64 *values)
{
	u32 i;

	for (i = 0; i < CRAB_LINE / sizeof(*p); i++)
		crab_shadow_store(media, p + i, values[i]);
}

void crab_shadow_refused_pair(struct crab_media *media, const __le64 *p) { }

void crab_shadow_clean(struct crab_media *media, const void *p, u64 len)
{
	u64 at = (const u8 *)p - media->base;

	if (!len || at > media->size || len > media->size - at)
		wrong("clean outside it", at);
}

void crab_shadow_fence(struct crab_media *media, enum crab_point point) { }
void crab_shadow_order(struct crab_media *media) { }

/* The images are created once */

struct image {
	u64 size;
	u8 *bytes;
};

static struct crab_hostile hostile;
static struct image *images;

const char *__asan_default_options(void)
{
	return "detect_leaks=0:handle_abort=1:malloc_context_size=2:"
	       "quarantine_size_mb=1:thread_local_quarantine_size_kb=64";
}

static void images_make(void)
{
	u32 i;

	images = calloc(crab_hostile_seeds(), sizeof(*images));
	for (i = 0; i < crab_hostile_seeds(); i++) {
		crab_host_seed(1);
		arena_reset();
		if (crab_hostile_plant(&hostile, i)) {
			fprintf(stderr, "image %u: %s\n", i, hostile.said);
			abort();
		}
		images[i].size = hostile.media.size;
		images[i].bytes = malloc(images[i].size);
		memcpy(images[i].bytes, region, images[i].size);
	}
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	if (crab_persist_init())
		abort();
	ASAN_POISON_MEMORY_REGION(arena, sizeof(arena));
	crab_host_log = NULL;
	crab_host_cpus = 1;
	hostile.media = (struct crab_media){
		.base = region, .durability = CRAB_DURABILITY_POP, .fence_only = true,
		.hooks.shadow = &counter,
	};
	hostile.steps = &counter.steps;
	hostile.stores = &counter.stores;
	images_make();
	return 0;
}

static void copy(const u8 *from, u64 start, u64 end)
{
	memcpy(region + start, from + start, end - start);
}

/* Only fields of the format were written */
static void image_put(u32 nth)
{
	const u8 *from = images[nth].bytes;

	copy(from, 0, sizeof(struct crab_dsuper));
	copy(from, CRAB_SUPER_STRIDE, CRAB_SUPER_STRIDE + sizeof(struct crab_dsuper));
	copy(from, CRAB_HEAD_OFFSET, CRAB_HEAD_OFFSET + sizeof(struct crab_dhead));
	copy(from, CRAB_COMMIT_OFFSET, CRAB_COMMIT_OFFSET + sizeof(struct crab_dcommit));
	copy(from, CRAB_BITMAP_OFFSET, images[nth].size);
	crab_hostile_choose(&hostile, nth);
}

/* The memory after the end of the media is unused */
static void region_end(u64 size)
{
	static u64 end = sizeof(region);

	if (size > end)
		ASAN_UNPOISON_MEMORY_REGION(region + end, size - end);
	else
		ASAN_POISON_MEMORY_REGION(region + size, end - size);
	end = size;
}

int LLVMFuzzerTestOneInput(const u8 *script, size_t len)
{
	if (len < CRAB_HOSTILE_HEAD)
		return 0;
	arena_reset();
	crab_host_seed(1);
	counter.steps = 0;
	region_end(sizeof(region));
	image_put(script[0] % crab_hostile_seeds());
	crab_hostile_edit(&hostile, script, len);
	region_end(hostile.media.size);
	if (!crab_hostile_judge(&hostile, script, len)) {
		fprintf(stderr, "judge: %s: %s\n", hostile.seed->name, hostile.said);
		abort();
	}
	if (arena_pieces) {
		fprintf(stderr, "%ld pieces of memory leaked\n", arena_pieces);
		abort();
	}
	return 0;
}

/* A mutation changes whole verbs of a script, or the bytes of one verb */

size_t LLVMFuzzerMutate(u8 *data, size_t size, size_t max);

static u64 draw(u64 *state, u32 below)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return (*state >> 16) % below;
}

static u8 *verb_at(u8 *script, size_t nth)
{
	return script + CRAB_HOSTILE_HEAD + nth * CRAB_HOSTILE_VERB;
}

static size_t verb_add(u8 *script, size_t verbs, size_t max, u64 *state)
{
	size_t nth = draw(state, verbs + 1), i;

	if (CRAB_HOSTILE_HEAD + (verbs + 1) * CRAB_HOSTILE_VERB > max ||
	    verbs == CRAB_HOSTILE_VERBS)
		return verbs;
	memmove(verb_at(script, nth + 1), verb_at(script, nth), (verbs - nth) * CRAB_HOSTILE_VERB);
	for (i = 0; i < CRAB_HOSTILE_VERB; i++)
		verb_at(script, nth)[i] = draw(state, 256);
	verb_at(script, nth)[0] = draw(state, CRAB_HOSTILE_VERB_KINDS);
	return verbs + 1;
}

static size_t verb_drop(u8 *script, size_t verbs, u64 *state)
{
	size_t nth;

	if (!verbs)
		return 0;
	nth = draw(state, verbs--);
	memmove(verb_at(script, nth), verb_at(script, nth + 1), (verbs - nth) * CRAB_HOSTILE_VERB);
	return verbs;
}

/* Mostly small steps, because leaves and slots are small numbers */
static void byte_change(u8 *byte, u64 *state)
{
	switch (draw(state, 3)) {
	case 0:
		*byte = draw(state, 256);
		break;
	case 1:
		*byte += draw(state, 5) - 2;
		break;
	default:
		*byte ^= 1 << draw(state, 8);
	}
}

size_t LLVMFuzzerCustomMutator(u8 *script, size_t size, size_t max, unsigned int seed)
{
	size_t verbs = size < CRAB_HOSTILE_HEAD ? 0 :
		       (size - CRAB_HOSTILE_HEAD) / CRAB_HOSTILE_VERB;
	u64 state = seed * 2 + 1;

	if (size < CRAB_HOSTILE_HEAD)
		memset(script, 0, CRAB_HOSTILE_HEAD);
	switch (draw(&state, 8)) {
	case 0:
		return LLVMFuzzerMutate(script, size, max);
	case 1:
		byte_change(script, &state);
		break;
	case 2:
		byte_change(script + 1, &state);
		break;
	case 3:
	case 4:
		verbs = verb_add(script, verbs, max, &state);
		break;
	case 5:
		verbs = verb_drop(script, verbs, &state);
		break;
	default:
		if (verbs)
			byte_change(verb_at(script, draw(&state, verbs)) +
				    draw(&state, CRAB_HOSTILE_VERB), &state);
	}
	return CRAB_HOSTILE_HEAD + verbs * CRAB_HOSTILE_VERB;
}

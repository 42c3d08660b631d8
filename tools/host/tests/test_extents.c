// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests extents and the pool that lends their slabs against a model: random allocations of
 * extents and of leaves, numbers that are no place, evacuation, slabs with pages that cannot be written;
 * and the sizes of slabs and extents.
 *
 * Invariant: after each step all counters and both sets are those that the tables of the model give.
 */
#include <linux/bitmap.h>

#include "media/badmem.h"
#include "shared/extent.h"
#include "test.h"

#define LEAF		512U
#define LEAVES		203U	/* the last ones are in no slab */
#define SLAB		4096U
#define SLAB_LINES	(SLAB / 64)
#define SLAB_LEAVES	(SLAB / LEAF)
#define SLABS		(LEAVES / SLAB_LEAVES)
#define STEPS		6000U
#define CLASSES		21U
#define LEAST		4U	/* leaves that a slab leaves to the engine */

static const u32 lines_of[CLASSES] = {
	1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 682, 1024, 2048,
};

static struct crab_extents extents;
static struct crab_pool pool;
static struct crab_badmem bad;
static const struct crab_geometry geo = {
	.pool_offset = CRAB_POOL_OFFSET, .leaf_bytes = LEAF, .leaves = LEAVES,
};
static u64 seed = 5;

/* The model */
static struct {
	int class;	/* or -1 */
	bool used[SLAB_LINES];
	bool stuck;
} slabs[SLABS];
static bool engine_has[LEAVES];
static u32 kept;
static bool sparse;

static u64 place_of(u64 slab, u32 index)
{
	u32 class = slabs[slab].class;

	return (slab * SLAB_LINES + index * lines_of[class]) << CRAB_PLACE_CLASS_BITS | class;
}

static u32 extents_of(u32 class)
{
	return SLAB_LINES / lines_of[class];
}

static u32 used_in(u64 slab)
{
	u32 i, n = 0;

	for (i = 0; slabs[slab].class >= 0 && i < extents_of(slabs[slab].class); i++)
		n += slabs[slab].used[i];
	return n;
}

static bool has_room(u64 slab, int class)
{
	return slabs[slab].class == class && used_in(slab) < extents_of(class);
}

static bool leaf_is_free(u64 leaf)
{
	return !engine_has[leaf] &&
	       (leaf / SLAB_LEAVES >= SLABS || slabs[leaf / SLAB_LEAVES].class < 0);
}

static u64 leaves_free(void)
{
	u64 leaf, n = 0;

	for (leaf = 0; leaf < LEAVES; leaf++)
		n += leaf_is_free(leaf);
	return n;
}

static bool class_is_sparse(u32 class, bool urgent)
{
	u32 slab, total = 0, used = 0;

	for (slab = 0; slab < SLABS; slab++) {
		if (slabs[slab].class != (int)class)
			continue;
		total += extents_of(class);
		used += used_in(slab);
	}
	return total > extents_of(class) && total - used >= extents_of(class) + (urgent ? 0 : total / 4);
}

static void compare(const char *step)
{
	u64 slab, leaf, lines = 0, lent = 0, total[CLASSES] = { }, unused[CLASSES] = { };
	u32 i;

	for (slab = 0; slab < SLABS; slab++) {
		const struct crab_slab *at = extents.slabs[slab];
		int class = slabs[slab].class;

		tap_check(!at == (class < 0), "%s: slab %llu", step, slab);
		if (!at || class < 0)
			continue;
		lent++;
		total[class] += extents_of(class);
		unused[class] += extents_of(class) - used_in(slab);
		lines += used_in(slab) * lines_of[class];
		tap_check(at->class == class && at->used == used_in(slab) && at->stuck == slabs[slab].stuck,
			  "%s: slab %llu of class %u", step, slab, at->class);
		for (i = 0; i < extents_of(class); i++)
			tap_check(crab_extents_holds(&extents, place_of(slab, i)) == slabs[slab].used[i],
				  "%s: extent %u of slab %llu", step, i, slab);
	}
	for (i = 0; i < CLASSES; i++)
		tap_check(extents.total[i] == total[i] && extents.free[i] == unused[i],
			  "%s: class %u: %llu of %llu free", step, i, (u64)extents.free[i],
			  (u64)extents.total[i]);
	tap_check(extents.lines == lines && extents.lent == lent && pool.lent == lent * SLAB_LEAVES,
		  "%s: %llu lines, %llu slabs, %llu leaves", step, extents.lines, extents.lent, pool.lent);
	tap_check(extents.sparse == sparse, "%s: sparse is %d", step, extents.sparse);
	for (leaf = 0; leaf < LEAVES; leaf++)
		tap_check(crab_pool_uses(&pool, leaf) != leaf_is_free(leaf), "%s: leaf %llu", step, leaf);
	tap_check(pool.free == leaves_free(), "%s: %llu leaves free", step, pool.free);
}

/* Is a run free that a slab could get? */
static bool run_is_free(u64 slab)
{
	u64 leaf;

	for (leaf = slab * SLAB_LEAVES; leaf < (slab + 1) * SLAB_LEAVES; leaf++)
		if (!leaf_is_free(leaf))
			return false;
	return true;
}

static bool any_run_is_free(void)
{
	u64 slab;

	for (slab = 0; slab < SLABS; slab++)
		if (run_is_free(slab))
			return true;
	return false;
}

static u64 lowest_with_room(int class)
{
	u64 slab;

	for (slab = 0; slab < SLABS && !has_room(slab, class); slab++)
		;
	return slab;
}

/* The lowest extent of a slab that is free; @place must be its place */
static void take(u64 slab, u64 place)
{
	u32 i;

	for (i = 0; slabs[slab].used[i]; i++)
		;
	slabs[slab].used[i] = true;
	tap_check(place == place_of(slab, i), "place 0x%llx, not extent %u of slab %llu", place, i, slab);
}

static void alloc(void)
{
	u32 bytes = rng_below(&seed, 8) ? 64 * (rng_below(&seed, 4) ? 1 + rng_below(&seed, 3) : 48) :
					  1 + rng_below(&seed, SLAB + 200), class;
	u64 place = ~0ULL, slab;
	int err = crab_extents_alloc(&extents, bytes, &place);

	for (class = 0; class < CLASSES && lines_of[class] * 64 < bytes; class++)
		;
	if (lines_of[class] > SLAB_LINES) {
		tap_check(err == -EMSGSIZE, "%u bytes: %d", bytes, err);
		return;
	}
	slab = lowest_with_room(class);
	if (err) {
		tap_check(err == -ENOSPC && slab == SLABS &&
			  (!any_run_is_free() || leaves_free() < SLAB_LEAVES + LEAST + kept),
			  "%u bytes: %d", bytes, err);
		return;
	}
	if (slab == SLABS) {
		slab = (place >> CRAB_PLACE_CLASS_BITS) / SLAB_LINES;
		tap_check(slab < SLABS && run_is_free(slab) &&
			  leaves_free() >= SLAB_LEAVES + LEAST + kept, "a slab at %llu", slab);
		slabs[slab].class = class;
		slabs[slab].stuck = false;
		memset(slabs[slab].used, 0, sizeof(slabs[slab].used));
	}
	take(slab, place);
	tap_check(crab_extent_bytes(place) == lines_of[class] * 64, "%u bytes", crab_extent_bytes(place));
}

static u64 some_place(u64 *slab, u32 *index)
{
	u32 i;

	*slab = rng_below(&seed, SLABS);
	for (i = 0; i < SLABS && slabs[*slab].class < 0; i++)
		*slab = (*slab + 1) % SLABS;
	if (slabs[*slab].class < 0)
		return ~0ULL;
	*index = rng_below(&seed, extents_of(slabs[*slab].class));
	return place_of(*slab, *index);
}

static void release(void)
{
	u32 index;
	u64 slab, place = some_place(&slab, &index);

	/* Neither the same memory in another class, nor a number that is no place */
	if (place == ~0ULL || !rng_below(&seed, 4)) {
		crab_extents_free(&extents, place ^ (1 + rng_below(&seed, 31)));
		crab_extents_free(&extents, rng_mix(seed) & CRAB_PLACE_MASK);
		return;
	}
	crab_extents_free(&extents, place);
	if (!slabs[slab].used[index])
		return;
	slabs[slab].used[index] = false;
	slabs[slab].stuck = false;
	sparse |= class_is_sparse(slabs[slab].class, false);
	if (!used_in(slab))
		slabs[slab].class = -1;
}

/* The slab that an evacuation chooses, or SLABS */
static u64 model_sparse(bool urgent)
{
	u32 class;
	u64 slab;

	for (class = 0; class < CLASSES; class++)
		for (slab = SLABS; class_is_sparse(class, urgent) && slab--; )
			if (has_room(slab, class) && !slabs[slab].stuck)
				return slab;
	return SLABS;
}

static void evacuate(void)
{
	bool urgent = rng_below(&seed, 2), found;
	u64 want = model_sparse(urgent), slab = SLABS, place;
	u32 next = 0, n = 0;

	found = crab_extents_sparse(&extents, urgent, &slab);
	tap_check(found == (want < SLABS) && (!found || slab == want), "%llu, not %llu", slab, want);
	if (!found) {
		sparse &= urgent;
		return;
	}
	for (; crab_extents_next(&extents, slab, &next, &place); n++)
		tap_check(slabs[slab].used[next - 1] && place == place_of(slab, next - 1), "extent %u",
			  next - 1);
	tap_check(n == used_in(slab), "%u extents of slab %llu", n, slab);
	tap_check(!crab_extents_leave(&extents, slab), "slab %llu has returned", slab);
	slabs[slab].stuck = true;
}

static void below(void)
{
	u64 slab, lowest, place = 0, from;
	u32 index;
	bool found;

	from = some_place(&slab, &index);
	if (from == ~0ULL)
		return;
	lowest = lowest_with_room(slabs[slab].class);
	found = crab_extents_alloc_below(&extents, from, &place);
	tap_check(found == (lowest < slab), "below slab %llu: %d", slab, found);
	if (found && lowest < SLABS)
		take(lowest, place);
}

static void leaves(void)
{
	struct crab_spare spare;
	u64 leaf = rng_below(&seed, LEAVES);

	if (engine_has[leaf]) {
		crab_pool_free(&pool, leaf);
		engine_has[leaf] = false;
	} else if (!crab_pool_alloc(&pool, &spare, 1, 0)) {
		tap_check(leaf_is_free(spare.leaf) && !spare.prepared, "leaf %llu", spare.leaf);
		engine_has[spare.leaf] = true;
	} else {
		tap_check(!leaves_free(), "%llu leaves are free", leaves_free());
	}
}

static void make(u32 slab_bytes, struct crab_badmem *list)
{
	memset(&extents, 0, sizeof(extents));
	media = (struct crab_media){ .size = CRAB_POOL_OFFSET + LEAVES * LEAF, .bad = list };
	media.base = calloc(1, media.size);
	if (crab_pool_init(&pool, LEAVES) ||
	    crab_extents_init(&extents, &pool, &media, &geo, slab_bytes))
		tap_bail("no memory");
}

static void begin(void)
{
	u64 slab;

	memset(engine_has, 0, sizeof(engine_has));
	for (slab = 0; slab < SLABS; slab++)
		slabs[slab].class = -1;
	kept = 0;
	sparse = false;
	make(SLAB, NULL);
}

static void end(void)
{
	crab_extents_destroy(&extents);
	crab_pool_destroy(&pool);
	tap_check(!extents.slabs && !extents.room.words && !pool.used && !pool.bad && !pool.room.words,
		  "memory that is freed is still named");
	free(media.base);
}

static void test_random(void)
{
	u32 i, step;

	begin();
	for (i = 0; i < STEPS; i++) {
		bool grows = i / 500 % 2;

		step = rng_below(&seed, 16);
		if (step < (grows ? 8 : 4))
			alloc();
		else if (step < 11)
			release();
		else if (step == 11)
			evacuate();
		else if (step == 12)
			below();
		else
			leaves();
		if (step == 15 && !rng_below(&seed, 8)) {
			kept = rng_below(&seed, 40);
			crab_extents_keep(&extents, kept);
		}
		compare(step < 8 ? "alloc" : "other");
	}
	tap_ok(extents.lent && extents.lines, "%u steps of extents and leaves agree with the model", STEPS);
	end();
}

/* All numbers in the memory of the pool and after it */
static void test_places(void)
{
	u64 line, place, found = 0;
	u32 class;

	begin();
	for (line = 0; line < LEAVES * LEAF / 64 + 200; line++)
		for (class = 0; class < 1U << CRAB_PLACE_CLASS_BITS; class++) {
			u32 lines = class < CLASSES ? lines_of[class] : SLAB_LINES + 1;
			bool is = line / SLAB_LINES < SLABS && line % SLAB_LINES % lines == 0 &&
				  line % SLAB_LINES + lines <= SLAB_LINES;

			place = line << CRAB_PLACE_CLASS_BITS | class;
			tap_check(crab_extent_is_place(&extents, place) == is, "line %llu, class %u", line,
				  class);
			found += is;
			if (is)
				tap_check(crab_extent_offset(&extents, place) ==
					  CRAB_POOL_OFFSET + line * 64, "line %llu", line);
		}
	tap_ok(found, "%llu places, and no other numbers", found);
	end();
}

/* A slab is a 32nd of the pool, rounded down to a power of two, within bounds */
static void test_sizes(void)
{
	static const struct {
		u64 leaves;
		u32 leaf_bytes, slab;
	} sizes[] = {
		{ 8, 512, 4096 }, { 8, 8192, 8192 }, { 8, 4096, 4096 }, { 511, 512, 4096 },
		{ 512, 512, 8192 }, { 1023, 512, 8192 }, { 1024, 512, 16384 }, { 8191, 512, 65536 },
		{ 8192, 512, 131072 }, { 1ULL << 30, 512, 131072 }, { (1ULL << 30) + 8, 4096, 131072 },
	};
	struct crab_geometry at = geo;
	u32 i, bytes;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		at.leaves = sizes[i].leaves;
		at.leaf_bytes = sizes[i].leaf_bytes;
		bytes = crab_extent_slab_bytes(&at);
		tap_check(bytes == sizes[i].slab, "%llu leaves of %u bytes: %u, not %u", at.leaves,
			  at.leaf_bytes, bytes, sizes[i].slab);
	}
	for (i = 0; i < CLASSES; i++)
		tap_check(crab_extent_bytes(i) == lines_of[i] * 64, "class %u: %u bytes", i,
			  crab_extent_bytes(i));
	tap_ok(true, "the sizes of slabs that FORMAT chooses, and of extents");
}

#define LARGE		16384U	/* a slab of four pages */
#define LARGE_LEAVES	(LARGE / LEAF)

/* A word of a slab of one-line extents */
static int mark(u32 slab, u32 line)
{
	return crab_extents_mark(&extents, ((u64)slab * (LARGE / 64) + line) << CRAB_PLACE_CLASS_BITS);
}

static bool holds(u32 slab, u32 line)
{
	return crab_extents_holds(&extents,
				  ((u64)slab * (LARGE / 64) + line) << CRAB_PLACE_CLASS_BITS);
}

static void begin_large(u32 page)
{
	crab_badmem_init(&bad);
	crab_badmem_add(&bad, CRAB_POOL_OFFSET + LARGE + page * 4096 + 70, 1);	/* of slab 1 */
	make(LARGE, &bad);
	crab_pool_spoil_bad(&pool, &media, &geo);
}

/* Attach: words of a slab whose second page cannot be written */
static void test_bad(void)
{
	u64 slab, place, lent;
	u32 i;

	begin_large(1);
	tap_check(pool.spoilt == 8 && pool.free == LEAVES - 8, "%llu leaves", pool.spoilt);
	tap_check(!mark(1, 0) && mark(1, 0) == -EUCLEAN, "a word, and a second one");
	tap_check(!pool.spoilt && pool.lent == LARGE_LEAVES && pool.free == LEAVES - LARGE_LEAVES,
		  "%llu spoilt, %llu lent", pool.spoilt, pool.lent);
	for (i = 0; i < LARGE / 64; i++)
		tap_check(holds(1, i) == (!i || i / 64 == 1), "extent %u", i);
	tap_check(extents.free[0] == LARGE / 64 - 65 && extents.lines == 65, "%llu lines", extents.lines);
	tap_check(!mark(1, 64) && !mark(1, 127), "words that name memory that cannot be read");
	tap_check(crab_extents_mark(&extents, (LARGE / 64 + 2) << CRAB_PLACE_CLASS_BITS | 1) == -EUCLEAN,
		  "another class");
	tap_check(mark(LEAVES / LARGE_LEAVES, 0) == -EUCLEAN, "a slab after the last one");
	tap_check(!mark(0, 3) && !mark(0, 4) && !mark(1, 255), "more words");
	tap_check(crab_extents_sparse(&extents, true, &slab) && !slab, "slab %llu is chosen", slab);
	crab_extents_free(&extents, (LARGE / 64 + 64) << CRAB_PLACE_CLASS_BITS);
	tap_check(holds(1, 64), "memory that cannot be read is free");
	crab_extents_free(&extents, (LARGE / 64) << CRAB_PLACE_CLASS_BITS);
	crab_extents_free(&extents, (LARGE / 64 + 255) << CRAB_PLACE_CLASS_BITS);
	tap_check(!holds(1, 0) && extents.slabs[1] && extents.slabs[1]->stuck, "the slab has returned");
	lent = extents.lent;
	for (i = 0; i < 2 * LARGE / 64 - 64 - 2; i++)
		tap_check(!crab_extents_alloc(&extents, 64, &place), "extent %u", i);
	tap_check(extents.lent == lent && !extents.free[0], "%llu are free", (u64)extents.free[0]);
	for (; !crab_extents_alloc(&extents, 64, &place); i++)
		tap_check(place >> CRAB_PLACE_CLASS_BITS != LARGE / 64 + 64, "a bad page");
	tap_ok(crab_pool_lend(&pool, LARGE_LEAVES, LARGE_LEAVES) == -EUCLEAN,
	       "a slab with a bad page stays, and so do its extents in that page");
	end();
}

/* The last page, whose last byte is that of the slab */
static void test_last_page(void)
{
	u32 i;

	begin_large(3);
	tap_check(!mark(1, 5) && extents.lines == 65, "%llu lines", extents.lines);
	for (i = 0; i < LARGE / 64; i++)
		tap_check(holds(1, i) == (i == 5 || i / 64 == 3), "extent %u", i);
	tap_check(!mark(0, 255) && !mark(2, 0), "its neighbours");
	tap_ok(extents.lines == 67 && !extents.slabs[0]->spoilt && !extents.slabs[2]->spoilt,
	       "the last page of a slab is bad: %llu lines are in use", extents.lines);
	end();
}

/* Sizes that no FORMAT chooses; destroy is possible after each */
static void test_no_size(void)
{
	static const u32 sizes[] = { 0, 64, 2048, 3 * 4096, 2 * CRAB_SLAB_BYTES_MAX, ~0U };
	struct crab_geometry at = geo;
	u32 i;

	begin();
	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct crab_extents none = { };

		tap_check(crab_extents_init(&none, &pool, &media, &geo, sizes[i]) == -EUCLEAN, "%u bytes",
			  sizes[i]);
		tap_check(!crab_extent_is_place(&none, 0), "%u bytes: a place", sizes[i]);
		crab_extents_destroy(&none);
	}
	at.leaf_bytes = 8192;
	for (i = 4096; i <= CRAB_SLAB_BYTES_MAX; i *= 2) {
		struct crab_extents other = { };
		int err = crab_extents_init(&other, &pool, &media, &at, i);

		tap_check(err == (i < 8192 ? -EUCLEAN : 0), "%u bytes with large leaves: %d", i, err);
		crab_extents_destroy(&other);
	}
	tap_ok(true, "slabs of impossible sizes are refused");
	end();
}

int main(void)
{
	test_random();
	test_places();
	test_sizes();
	test_bad();
	test_last_page();
	test_no_size();
	return tap_done();
}

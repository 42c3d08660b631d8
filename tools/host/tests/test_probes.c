// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests that keys chosen by an adversary cost the same as random keys: it counts the
 * words of the media that searches and attach load.
 */
#include "engines/crab/crab.h"
#include "shadow/shadow.h"
#include "test.h"

#define KEYS	12000
#define LEAF_BYTES	512U
#define LEAVES	256U		/* most of them in use */
#define NODES	64		/* stores of an attach that are pending at once */

struct probes {
	u64 hit;
	u64 miss;
	u64 attach;
};

/* The key with a given hash: the hash is a bijection */
static u64 key_of_hash(u64 hash)
{
	u64 inverse = 1, factor = crab_hash(1), i;

	for (i = 0; i < 6; i++)
		inverse *= 2 - factor * inverse;
	return hash * inverse;
}

/* The @i-th key: random, or with a hash whose leading bits equal those of all other keys */
static u64 probe_key(bool chosen, u64 i)
{
	return chosen ? key_of_hash(i + 1) : (i + 1) * 0xd1342543de82ef95ULL;
}

static void insert(struct crab_store *store, bool chosen, u64 from, u64 to)
{
	for (; from < to; from++)
		tap_check(!store_insert(store, probe_key(chosen, from), from, CRAB_INSERT_CREATE),
			  "insert");
}

/* Loads of so many searches */
static u64 search(struct crab_store *store, bool chosen, u64 from, u64 to, int want)
{
	struct crab_shadow *shadow = store->media->hooks.shadow;
	u64 loads = shadow->loads;

	for (; from < to; from++)
		tap_check(store_search(store, probe_key(chosen, from)) == want, "search");
	return shadow->loads - loads;
}

static void probe(u32 leaf_bytes, bool chosen, struct probes *probes)
{
	struct crab_shadow *shadow;

	store_begin(CRAB_POOL_OFFSET + KEYS * 64 + 16 * leaf_bytes, "crab", "slotted", leaf_bytes);
	insert(store, chosen, 0, KEYS);
	crab_store_detach(store);
	shadow = crab_shadow_create(&media, NODES);
	store = store_attach(&media);
	probes->attach = shadow->loads;
	probes->hit = search(store, chosen, 0, KEYS, 0);
	probes->miss = search(store, chosen, KEYS, 2 * KEYS, -ENOENT);
	crab_store_detach(store);
	tap_check(!shadow->errors, "%s", shadow->error);
	crab_shadow_destroy(shadow);
	media_destroy(&media);
}

static void test_chosen(u32 leaf_bytes)
{
	struct probes chance, chosen;

	probe(leaf_bytes, false, &chance);
	probe(leaf_bytes, true, &chosen);
	tap_check(chosen.attach <= 2 * chance.attach, "attach: %llu loads, not %llu", chosen.attach,
		  chance.attach);
	tap_check(chosen.hit <= 2 * chance.hit, "hit: %llu loads, not %llu", chosen.hit, chance.hit);
	tap_check(chosen.miss <= 2 * chance.miss + KEYS / 2, "miss: %llu loads, not %llu", chosen.miss,
		  chance.miss);
	tap_ok(true, "%u: chosen keys, loads: attach %llu (%llu), hits %llu (%llu), misses %llu (%llu)",
	       leaf_bytes, chosen.attach, chance.attach, chosen.hit, chance.hit, chosen.miss,
	       chance.miss);
}

/* Loads of the lowest keys in the headers of leaves */
static u64 lows;

static void loading(struct crab_shadow *shadow, u32 word)
{
	u64 from = CRAB_POOL_OFFSET + offsetof(struct crab_dhead, low), at = (u64)word * sizeof(u64);

	lows += at >= from && !((at - from) % LEAF_BYTES);
}

/* Attach of a sound store does not read the headers again, as it does to follow a damaged list */
static void test_headers(const char *layout)
{
	struct crab_media media = media_create(CRAB_POOL_OFFSET + LEAVES * LEAF_BYTES);
	struct crab_store *store = store_format_attach(&media, "crab", layout, LEAF_BYTES);
	struct crab_shadow *shadow;
	u64 used;

	insert(store, false, 0, LEAVES * 8);
	used = crab_tree_of(store->engine)->leaves;
	crab_store_detach(store);
	shadow = crab_shadow_create(&media, NODES);
	lows = 0;
	shadow->loading = loading;
	store = store_attach(&media);
	shadow->loading = NULL;
	tap_ok(lows >= used && lows < 2 * used, "%s: attach of %llu leaves loads %llu headers", layout, used,
	       lows);
	crab_store_detach(store);
	crab_shadow_destroy(shadow);
	media_destroy(&media);
}

/* Among 64 consecutive keys, those with the fingerprint of an earlier one */
static u32 shared(const struct crab_mix *mix, u32 shift)
{
	bool seen[256] = { };
	u32 i, count = 0;
	u8 fp;

	for (i = 0; i < 64; i++) {
		fp = crab_mix(mix, (u64)i << shift) >> 56;
		count += seen[fp];
		seen[fp] = true;
	}
	return count;
}

/* Two attaches use different fingerprints; none distributes keys with a regular stride badly */
static void test_mix(void)
{
	struct crab_mix mix, last = { };
	u32 i, shift;

	for (i = 0; i < 200; i++) {
		mix = crab_mix_choose();
		tap_check(mix.factor & 1 && mix.flip != last.flip, "%llx", mix.flip);
		last = mix;
		for (shift = 0; shift < 50; shift++)
			tap_check(shared(&mix, shift) <= 32, "%llx, %llx, stride %u: %u share",
				  mix.flip, mix.factor, shift, shared(&mix, shift));
	}
	tap_ok(true, "fingerprints of keys of regular strides");
}

int main(void)
{
	u32 leaf_bytes;

	crab_host_seed(1);
	for (leaf_bytes = 512; leaf_bytes <= CRAB_LEAF_BYTES_MAX; leaf_bytes *= 2)
		test_chosen(leaf_bytes);
	test_headers("slotted");
	test_headers("sorted");
	test_mix();
	return tap_done();
}

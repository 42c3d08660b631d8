// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the orders in which keys are accessed.
 *
 * Zipf's distribution is drawn as Gray et al. do (Quickly generating billion-record
 * synthetic databases, SIGMOD 1994). The key of a rank is a hash of the rank, so that
 * frequently accessed keys are at random places.
 *
 * Invariant: the same arguments yield the same order on every machine.
 */
#include <math.h>

#include <linux/kernel.h>

#include "mix.h"

struct zipf {
	u64 n;
	double theta;
	double zeta;
	double eta;
	u64 seed;
};

const struct mix mixes[] = {
	{ "ycsb-a", .search = 50, .update = 50 },
	{ "ycsb-b", .search = 95, .update = 5 },
	{ "ycsb-c", .search = 100 },
	{ "ycsb-f", .search = 50, .modify = 50 },
	{ "ycsb-d", .search = 95, .insert = 5, .latest = true },
	{ "ycsb-e", .scan = 95, .insert = 5 },
	{ }
};

/* In [0, 1) */
static double random_unit(u64 *seed)
{
	return (crab_bench_key((*seed)++) >> 11) * 0x1p-53;
}

static struct zipf zipf_begin(u64 n, double theta, u64 seed)
{
	struct zipf zipf = { .n = n, .theta = theta, .seed = seed << 40 };
	double two = 1 + pow(0.5, theta);
	u64 i;

	for (i = 1; i <= n; i++)
		zipf.zeta += pow(i, -theta);
	zipf.eta = (1 - pow(2.0 / n, 1 - theta)) / (1 - two / zipf.zeta);
	return zipf;
}

/* Draws a rank: 0 is the most frequent one */
static u64 zipf_next(struct zipf *zipf)
{
	double u = random_unit(&zipf->seed), scaled = u * zipf->zeta;

	if (scaled < 1)
		return 0;
	if (scaled < 1 + pow(0.5, zipf->theta))
		return 1;
	return min_t(u64, zipf->n - 1,
		     zipf->n * pow(zipf->eta * u - zipf->eta + 1, 1 / (1 - zipf->theta)));
}

void mix_zipf(u64 *to, u64 n, u64 keys, double theta, u64 seed)
{
	struct zipf zipf = zipf_begin(keys, theta, seed);
	u64 i;

	for (i = 0; i < n; i++)
		to[i] = crab_bench_key(zipf_next(&zipf));
}

static enum crab_bench_op mix_op(const struct mix *mix, u32 percent)
{
	if (percent < mix->search)
		return CRAB_BENCH_SEARCH;
	percent -= mix->search;
	if (percent < mix->update)
		return CRAB_BENCH_UPDATE;
	percent -= mix->update;
	if (percent < mix->insert)
		return CRAB_BENCH_INSERT;
	percent -= mix->insert;
	return percent < mix->modify ? CRAB_BENCH_MODIFY : CRAB_BENCH_SCAN_SOME;
}

/* The key @rank places before the newest one; this thread has inserted @made keys */
static u64 latest_key(u64 rank, u64 keys, u64 fresh, u64 made)
{
	return crab_bench_key(rank < made ? fresh + made - 1 - rank : keys - 1 - (rank - made) % keys);
}

void mix_fill(const struct mix *mix, u8 *ops, u64 *to, u64 n, u64 keys, u64 fresh)
{
	struct zipf zipf = zipf_begin(keys, MIX_THETA, fresh + mix->name[5]);
	u64 seed = zipf.seed + (1ULL << 39), made = 0, rank, i;

	for (i = 0; i < n; i++) {
		ops[i] = mix_op(mix, random_unit(&seed) * 100);
		if (ops[i] == CRAB_BENCH_INSERT) {
			to[i] = crab_bench_key(fresh + made++);
			continue;
		}
		rank = zipf_next(&zipf);
		to[i] = mix->latest ? latest_key(rank, keys, fresh, made) : crab_bench_key(rank);
	}
}

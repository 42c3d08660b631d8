// SPDX-License-Identifier: GPL-2.0
/*
 * This file measures LMDB in a file of tmpfs that is not synced; each operation is a
 * transaction: the cost of a B-tree with copied pages that is not durable.
 *
 * Invariant: the file is unlinked as soon as it is open.
 */
#include <errno.h>
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "peer.h"
#include "rig.h"

#define LMDB_BYTES_PER_KEY	160	/* pages that are half full, and their copies */

struct map {
	MDB_env *env;
	MDB_dbi dbi;
	MDB_txn *reader;
	MDB_cursor *cursor;
};

static int lmdb_error(int err)
{
	return err == MDB_NOTFOUND ? -ENOENT : err ? -EIO : 0;
}

static void check(const char *what, int err)
{
	if (err) {
		fprintf(stderr, "bench: %s: %s\n", what, mdb_strerror(err));
		exit(1);
	}
}

static void lmdb_open_env(struct map *map, u64 keys)
{
	char path[64];

	check("lmdb", mdb_env_create(&map->env));
	check("lmdb", mdb_env_set_mapsize(map->env, keys * LMDB_BYTES_PER_KEY + (64ULL << 20)));
	snprintf(path, sizeof(path), "/dev/shm/crabtree-bench-%d", getpid());
	check(path, mdb_env_open(map->env, path,
				 MDB_NOSUBDIR | MDB_NOSYNC | MDB_WRITEMAP | MDB_NOLOCK, 0600));
	unlink(path);
}

static void *lmdb_open(const struct peer *peer, u64 keys, u32 leaf_bytes)
{
	struct map *map = calloc(1, sizeof(*map));
	MDB_txn *txn;

	if (!map)
		rig_fail("no memory", -ENOMEM);
	lmdb_open_env(map, keys);
	check("lmdb", mdb_txn_begin(map->env, NULL, 0, &txn));
	check("lmdb", mdb_dbi_open(txn, NULL, MDB_INTEGERKEY, &map->dbi));
	check("lmdb", mdb_txn_commit(txn));
	check("lmdb", mdb_txn_begin(map->env, NULL, MDB_RDONLY, &map->reader));
	check("lmdb", mdb_cursor_open(map->reader, map->dbi, &map->cursor));
	mdb_txn_reset(map->reader);
	return map;
}

static int lmdb_put(struct map *map, u64 key, u32 version, unsigned int flags)
{
	u64 stored = crab_bench_value(key, version);
	MDB_val k = { sizeof(key), &key }, v = { sizeof(stored), &stored };
	MDB_txn *txn;
	int err = mdb_txn_begin(map->env, NULL, 0, &txn);

	if (err)
		return lmdb_error(err);
	err = mdb_put(txn, map->dbi, &k, &v, flags);
	if (err) {
		mdb_txn_abort(txn);
		return lmdb_error(err);
	}
	return lmdb_error(mdb_txn_commit(txn));
}

static int lmdb_delete(struct map *map, u64 key)
{
	MDB_val k = { sizeof(key), &key };
	MDB_txn *txn;
	int err = mdb_txn_begin(map->env, NULL, 0, &txn);

	if (err)
		return lmdb_error(err);
	err = mdb_del(txn, map->dbi, &k, NULL);
	if (err) {
		mdb_txn_abort(txn);
		return lmdb_error(err);
	}
	return lmdb_error(mdb_txn_commit(txn));
}

static int lmdb_search(struct map *map, u64 key)
{
	MDB_val k = { sizeof(key), &key }, v;
	int err = mdb_txn_renew(map->reader);

	if (!err)
		err = mdb_get(map->reader, map->dbi, &k, &v);
	if (!err && !crab_bench_value_ok(key, *(const u64 *)v.mv_data))
		err = EIO;
	mdb_txn_reset(map->reader);
	return lmdb_error(err);
}

static int lmdb_scan(struct map *map, u64 key, u32 n)
{
	struct { u64 key, value; } records[CRAB_BENCH_SCAN];
	MDB_val k = { sizeof(key), &key }, v;
	u32 got = 0, last = 0;
	int err = mdb_txn_renew(map->reader);

	if (!err)
		err = mdb_cursor_renew(map->reader, map->cursor);
	if (!err)
		err = mdb_cursor_get(map->cursor, &k, &v, MDB_SET_RANGE);
	while (!err && got < n) {
		last = got++ % CRAB_BENCH_SCAN;
		records[last].key = *(const u64 *)k.mv_data;
		records[last].value = *(const u64 *)v.mv_data;
		err = mdb_cursor_get(map->cursor, &k, &v, MDB_NEXT);
	}
	mdb_txn_reset(map->reader);
	if (got && !crab_bench_value_ok(records[last].key, records[last].value))
		return -EIO;
	return err == MDB_NOTFOUND ? 0 : lmdb_error(err);
}

static int lmdb_one(struct map *map, const struct crab_bench_work *work, enum crab_bench_op op,
		    u64 i)
{
	u64 key = work->keys[i];

	switch (op) {
	case CRAB_BENCH_INSERT:
		return lmdb_put(map, key, 0, MDB_NOOVERWRITE);
	case CRAB_BENCH_SEARCH:
		return lmdb_search(map, key);
	case CRAB_BENCH_UPDATE:
		return lmdb_put(map, key, 1, 0);
	case CRAB_BENCH_MODIFY:
		return lmdb_search(map, key) ?: lmdb_put(map, key, 1, 0);
	case CRAB_BENCH_DELETE:
		return lmdb_delete(map, key);
	default:
		return lmdb_scan(map, key, crab_bench_scan_length(work, op, i));
	}
}

static int lmdb_run(void *map, struct crab_bench_work *work)
{
	u64 i;
	int err;

	for (i = 0; i < work->n; i++) {
		err = lmdb_one(map, work, work->ops ? work->ops[i] : work->op, i);
		if (err)
			return err;
	}
	return 0;
}

const struct peer peer_lmdb = { .engine = "lmdb", .layout = "", .open = lmdb_open, .run = lmdb_run };

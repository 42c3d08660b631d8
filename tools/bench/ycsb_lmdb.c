// SPDX-License-Identifier: GPL-2.0
/*
 * This file measures LMDB as it comes: each put is a transaction that is written to the disk.
 */
#include <lmdb.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ycsb.h"

#define PAGES	8192	/* bytes of pages for a record, at most: half full, and copied */

struct env {
	char path[256];
	MDB_env *env;
	MDB_dbi dbi;
	MDB_txn *loading;
};

static void check(const char *what, int err)
{
	if (err)
		ycsb_fail("lmdb", what, mdb_strerror(err));
}

static MDB_txn *begin(struct env *env, unsigned int flags)
{
	MDB_txn *txn;

	check("begin", mdb_txn_begin(env->env, NULL, flags, &txn));
	return txn;
}

static void *env_open(const char *place, uint64_t records, uint32_t bytes)
{
	static struct env env;
	MDB_txn *txn;

	env = (struct env){ .env = NULL };
	snprintf(env.path, sizeof(env.path), "%s/lmdb", place);
	unlink(env.path);
	check("create", mdb_env_create(&env.env));
	check("size", mdb_env_set_mapsize(env.env, records * (PAGES + 2 * bytes)));
	check(env.path, mdb_env_open(env.env, env.path, MDB_NOSUBDIR, 0600));
	txn = begin(&env, 0);
	check("open", mdb_dbi_open(txn, NULL, 0, &env.dbi));
	check("commit", mdb_txn_commit(txn));
	return &env;
}

static void env_load(void *store, bool start)
{
	struct env *env = store;

	if (start)
		env->loading = begin(env, 0);
	else
		check("commit", mdb_txn_commit(env->loading));
	env->loading = start ? env->loading : NULL;
}

static void env_put(void *store, const char *key, const void *value, uint32_t bytes, bool fresh)
{
	struct env *env = store;
	MDB_val k = { YCSB_KEY, (void *)key }, v = { bytes, (void *)value };
	MDB_txn *txn = env->loading ? env->loading : begin(env, 0);

	check("put", mdb_put(txn, env->dbi, &k, &v, 0));
	if (!env->loading)
		check("commit", mdb_txn_commit(txn));
}

static uint32_t env_get(void *store, const char *key, void *value, uint32_t room)
{
	struct env *env = store;
	MDB_val k = { YCSB_KEY, (void *)key }, v;
	MDB_txn *txn = begin(env, MDB_RDONLY);

	check("get", mdb_get(txn, env->dbi, &k, &v));
	memcpy(value, v.mv_data, v.mv_size < room ? v.mv_size : room);
	mdb_txn_abort(txn);
	return v.mv_size;
}

static uint32_t env_scan(void *store, const char *key, uint32_t n, void *value, uint32_t room)
{
	struct env *env = store;
	MDB_val k = { YCSB_KEY, (void *)key }, v;
	MDB_txn *txn = begin(env, MDB_RDONLY);
	MDB_cursor *cursor;
	uint32_t got;
	int err;

	check("scan", mdb_cursor_open(txn, env->dbi, &cursor));
	err = mdb_cursor_get(cursor, &k, &v, MDB_SET_RANGE);
	for (got = 0; got < n && !err; got++) {
		memcpy(value, v.mv_data, v.mv_size < room ? v.mv_size : room);
		err = mdb_cursor_get(cursor, &k, &v, MDB_NEXT);
	}
	mdb_cursor_close(cursor);
	mdb_txn_abort(txn);
	return got;
}

static void env_close(void *store)
{
	struct env *env = store;

	mdb_env_close(env->env);
	unlink(env->path);
	strcat(env->path, "-lock");
	unlink(env->path);
}

const struct ycsb_store ycsb_lmdb = {
	.name = "lmdb", .open = env_open, .load = env_load, .put = env_put, .get = env_get,
	.scan = env_scan, .close = env_close,
};

// SPDX-License-Identifier: GPL-2.0
/*
 * This file measures SQLite with a log that is written to the disk by each put: journal_mode WAL,
 * synchronous FULL.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "ycsb.h"

struct base {
	char path[256];
	sqlite3 *db;
	sqlite3_stmt *put;
	sqlite3_stmt *get;
	sqlite3_stmt *scan;
};

static void check(struct base *base, const char *what, int err)
{
	if (err != SQLITE_OK && err != SQLITE_ROW && err != SQLITE_DONE)
		ycsb_fail("sqlite", what, sqlite3_errmsg(base->db));
}

static void run(struct base *base, const char *sql)
{
	check(base, sql, sqlite3_exec(base->db, sql, NULL, NULL, NULL));
}

static sqlite3_stmt *prepare(struct base *base, const char *sql)
{
	sqlite3_stmt *stmt;

	check(base, sql, sqlite3_prepare_v2(base->db, sql, -1, &stmt, NULL));
	return stmt;
}

static void base_unlink(const struct base *base)
{
	static const char * const ends[] = { "", "-wal", "-shm" };
	char path[300];
	int i;

	for (i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s%s", base->path, ends[i]);
		unlink(path);
	}
}

static void *base_open(const char *place, uint64_t records, uint32_t bytes)
{
	static struct base base;

	snprintf(base.path, sizeof(base.path), "%s/sqlite", place);
	base_unlink(&base);
	check(&base, base.path, sqlite3_open(base.path, &base.db));
	run(&base, "PRAGMA journal_mode = WAL");
	run(&base, "PRAGMA synchronous = FULL");
	run(&base, "CREATE TABLE kv (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID");
	base.put = prepare(&base, "INSERT OR REPLACE INTO kv VALUES (?, ?)");
	base.get = prepare(&base, "SELECT value FROM kv WHERE key = ?");
	base.scan = prepare(&base, "SELECT value FROM kv WHERE key >= ? ORDER BY key LIMIT ?");
	return &base;
}

static void base_load(void *store, bool begin)
{
	run(store, begin ? "BEGIN" : "COMMIT");
}

static void base_put(void *store, const char *key, const void *value, uint32_t bytes, bool fresh)
{
	struct base *base = store;

	sqlite3_bind_blob(base->put, 1, key, YCSB_KEY, SQLITE_STATIC);
	sqlite3_bind_blob(base->put, 2, value, bytes, SQLITE_STATIC);
	check(base, "put", sqlite3_step(base->put));
	sqlite3_reset(base->put);
}

/* The value of a row */
static uint32_t column(sqlite3_stmt *stmt, void *value, uint32_t room)
{
	uint32_t bytes = sqlite3_column_bytes(stmt, 0);

	memcpy(value, sqlite3_column_blob(stmt, 0), bytes < room ? bytes : room);
	return bytes;
}

static uint32_t base_get(void *store, const char *key, void *value, uint32_t room)
{
	struct base *base = store;
	uint32_t bytes;

	sqlite3_bind_blob(base->get, 1, key, YCSB_KEY, SQLITE_STATIC);
	check(base, "get", sqlite3_step(base->get));
	bytes = column(base->get, value, room);
	sqlite3_reset(base->get);
	return bytes;
}

static uint32_t base_scan(void *store, const char *key, uint32_t n, void *value, uint32_t room)
{
	struct base *base = store;
	uint32_t got;

	sqlite3_bind_blob(base->scan, 1, key, YCSB_KEY, SQLITE_STATIC);
	sqlite3_bind_int(base->scan, 2, n);
	for (got = 0; sqlite3_step(base->scan) == SQLITE_ROW; got++)
		column(base->scan, value, room);
	sqlite3_reset(base->scan);
	return got;
}

static void base_close(void *store)
{
	struct base *base = store;

	sqlite3_finalize(base->put);
	sqlite3_finalize(base->get);
	sqlite3_finalize(base->scan);
	sqlite3_close(base->db);
	base_unlink(base);
}

const struct ycsb_store ycsb_sqlite = {
	.name = "sqlite", .open = base_open, .load = base_load, .put = base_put, .get = base_get,
	.scan = base_scan, .close = base_close,
};

// SPDX-License-Identifier: GPL-2.0
/*
 * This file measures a Redis server over a socket of this machine; scripts/bench-ycsb starts it with
 * "appendfsync always". Its keys have no order, so a sorted set has them as well, as in the binding
 * of YCSB; key and set change in one transaction.
 */
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <string.h>

#include "ycsb.h"

#define AHEAD	1000U	/* commands without an answer during the load */

struct server {
	redisContext *link;
	uint32_t ahead;
	bool loading;
};

static redisReply *answer(struct server *server)
{
	redisReply *reply;

	if (redisGetReply(server->link, (void **)&reply) != REDIS_OK)
		ycsb_fail("redis", "answer", server->link->errstr);
	if (reply->type == REDIS_REPLY_ERROR)
		ycsb_fail("redis", "answer", reply->str);
	return reply;
}

static void drain(struct server *server, uint32_t left)
{
	for (; server->ahead > left; server->ahead--)
		freeReplyObject(answer(server));
}

static void *server_open(const char *place, uint64_t records, uint32_t bytes)
{
	static struct server server;
	char path[256];

	snprintf(path, sizeof(path), "%s/redis.sock", place);
	server = (struct server){ .link = redisConnectUnix(path) };
	if (!server.link || server.link->err)
		ycsb_fail("redis", path, server.link ? server.link->errstr : "no memory");
	redisAppendCommand(server.link, "FLUSHALL");
	server.ahead++;
	drain(&server, 0);
	return &server;
}

static void server_load(void *store, bool begin)
{
	struct server *server = store;

	redisAppendCommand(server->link, "CONFIG SET appendfsync %s", begin ? "no" : "always");
	server->ahead++;
	drain(server, 0);
	server->loading = begin;
}

static void server_put(void *store, const char *key, const void *value, uint32_t bytes, bool fresh)
{
	struct server *server = store;

	if (fresh)
		redisAppendCommand(server->link, "MULTI");
	redisAppendCommand(server->link, "SET %b %b", key, (size_t)YCSB_KEY, value, (size_t)bytes);
	if (fresh) {
		redisAppendCommand(server->link, "ZADD index 0 %b", key, (size_t)YCSB_KEY);
		redisAppendCommand(server->link, "EXEC");
	}
	server->ahead += fresh ? 4 : 1;
	drain(server, server->loading ? AHEAD : 0);
}

static uint32_t server_get(void *store, const char *key, void *value, uint32_t room)
{
	struct server *server = store;
	redisReply *reply;
	uint32_t bytes;

	redisAppendCommand(server->link, "GET %b", key, (size_t)YCSB_KEY);
	reply = answer(server);
	if (reply->type != REDIS_REPLY_STRING)
		ycsb_fail("redis", "get", "no such key");
	bytes = reply->len;
	memcpy(value, reply->str, bytes < room ? bytes : room);
	freeReplyObject(reply);
	return bytes;
}

/* The keys from the set, then their values by one command */
static uint32_t server_scan(void *store, const char *key, uint32_t n, void *value, uint32_t room)
{
	struct server *server = store;
	redisReply *keys, *values;
	const char *argv[101];
	size_t bytes[101], i;

	redisAppendCommand(server->link, "ZRANGEBYLEX index [%b + LIMIT 0 %d", key, (size_t)YCSB_KEY, (int)n);
	keys = answer(server);
	argv[0] = "MGET";
	bytes[0] = 4;
	for (i = 0; i < keys->elements; i++) {
		argv[i + 1] = keys->element[i]->str;
		bytes[i + 1] = keys->element[i]->len;
	}
	redisAppendCommandArgv(server->link, keys->elements + 1, argv, bytes);
	values = answer(server);
	for (i = 0; i < values->elements; i++)
		memcpy(value, values->element[i]->str,
		       values->element[i]->len < room ? values->element[i]->len : room);
	freeReplyObject(values);
	freeReplyObject(keys);
	return i;
}

static void server_close(void *store)
{
	redisFree(((struct server *)store)->link);
}

const struct ycsb_store ycsb_redis = {
	.name = "redis", .open = server_open, .load = server_load, .put = server_put,
	.get = server_get, .scan = server_scan, .close = server_close,
};

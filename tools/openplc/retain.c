// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * This file is a plugin of the OpenPLC runtime: its RETAIN variables in a store of names. The runtime
 * hands over all of them after each scan, and asks for them once at its start.
 *
 * On a device each save is durable when it has returned, and whole or not at all after a power cut.
 * It does not wait for a disk, so it may run in the scan. The memory does not wear out: there is no
 * interval. With file:PATH, for trials, it waits for the disk, and a power cut may damage it.
 *
 * Invariant: a value that was not loaded is not replaced: the runtime saves also after a load that
 * failed, and has only initial values then.
 *
 * Environment: CRABTREE_DEVICE, a device or file:PATH (/dev/crab0 without it); CRABTREE_RETAIN, the
 * name of the value (openplc/retain).
 *
 * Locking: one mutex; the runtime clears from another thread than it saves from.
 */
#include <crabtree.h>
#include <crabtree_names.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The calls of the runtime: 0, or another number for a failure */
int init(void *args);
void cleanup(void);
int retain_save(const uint8_t *blob, uint16_t len);
int retain_load(uint8_t *out, uint16_t cap, uint16_t *out_len);
int retain_clear(void);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct crabtree *store;
static const char *name;
static bool loaded;	/* the value, or there is none */
static uint8_t uuid[CRABTREE_UUID_LEN];	/* of the store that was opened last */
static int reported;	/* the last error, so that a scan does not repeat it */

static const char *setting(const char *variable, const char *otherwise)
{
	const char *value = getenv(variable);

	return value && *value ? value : otherwise;
}

static const char *device(void)
{
	return setting("CRABTREE_DEVICE", "/dev/crab0");
}

/* More exact than the library, which does not know the call */
static const char *cause(int err)
{
	switch (err) {
	case -ENOENT:	/* of an open: a value that is not there is no error */
		return "no such device or file";
	case -EEXIST:
		return "the value that is there was not loaded, and is kept (crabctl rm removes it)";
	case -EINVAL:
		return store ? "no store can have such a name" : "too small to be an image of a region";
	case -ENODATA:
		return "the region is not formatted (crabctl format --names)";
	case -EOPNOTSUPP:
		return "not a store of names (crabctl format --names)";
	default:
		return crabtree_strerror(err);
	}
}

static int report(const char *what, int err)
{
	if (err && err != reported)
		fprintf(stderr, "crabtree-retain: %s: %s %s: %s\n", device(), what, name, cause(err));
	reported = err;
	return err ? -1 : 0;
}

/*
 * A store that comes later, or that comes back, is opened by the next call. The device may have become
 * another store, whose value was not loaded.
 */
static int retain_open(void)
{
	struct crabtree_info info = { 0 };
	int err;

	if (store)
		return 0;
	err = crabtree_open(&store, device(), 0);
	if (err)
		return err;
	err = crabtree_info(store, &info, sizeof(info));
	if (err || memcmp(uuid, info.uuid, sizeof(uuid)))
		loaded = false;
	memcpy(uuid, info.uuid, sizeof(uuid));
	return err;
}

/* After the region was taken away, the handle is of no use */
static int retain_result(const char *what, int err)
{
	if (err == -ENODEV && store) {
		crabtree_close(store);
		store = NULL;
	}
	return report(what, err);
}

int init(void *args)
{
	int err;

	(void)args;
	pthread_mutex_lock(&lock);
	name = setting("CRABTREE_RETAIN", "openplc/retain");
	err = report("open", retain_open());
	pthread_mutex_unlock(&lock);
	return err;
}

void cleanup(void)
{
	pthread_mutex_lock(&lock);
	if (store)
		crabtree_close(store);
	store = NULL;
	loaded = false;
	pthread_mutex_unlock(&lock);
}

/* Before a save without a load: is there a value? */
static int retain_absent(void)
{
	struct crabtree_named named = { .name = name, .name_bytes = strlen(name) };
	int err = crabtree_get_named(store, &named);

	loaded = err == -ENOENT || (!err && !named.bytes);
	if (loaded)
		return 0;
	return !err || err == -EMSGSIZE ? -EEXIST : err;
}

int retain_save(const uint8_t *blob, uint16_t len)
{
	struct crabtree_named named = {
		.name = name, .name_bytes = strlen(name), .value = (void *)blob, .bytes = len,
	};
	int err;

	pthread_mutex_lock(&lock);
	err = retain_open();
	if (!err && !loaded)
		err = retain_absent();
	if (!err)
		err = crabtree_put_named(store, &named, 0);
	if (!err)
		err = crabtree_sync(store);
	err = retain_result("save", err);
	pthread_mutex_unlock(&lock);
	return err;
}

/* In a store where nothing was saved yet: no failure, and @out_len is 0 */
int retain_load(uint8_t *out, uint16_t cap, uint16_t *out_len)
{
	struct crabtree_named named = {
		.name = name, .name_bytes = strlen(name), .value = out, .capacity = cap,
	};
	int err;

	pthread_mutex_lock(&lock);
	err = retain_open();
	if (!err)
		err = crabtree_get_named(store, &named);
	*out_len = err ? 0 : named.bytes;
	loaded = store && (!err || err == -ENOENT);
	err = retain_result("load", store && err == -ENOENT ? 0 : err);
	pthread_mutex_unlock(&lock);
	return err;
}

int retain_clear(void)
{
	int err;

	pthread_mutex_lock(&lock);
	err = retain_open();
	if (!err)
		err = crabtree_erase_named(store, name, strlen(name), NULL);
	if (!err)
		err = crabtree_sync(store);
	if (store && (!err || err == -ENOENT))
		loaded = true;
	err = retain_result("clear", store && err == -ENOENT ? 0 : err);
	pthread_mutex_unlock(&lock);
	return err;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * The calls of the plugin of tools/openplc, on a file that is written in the way of the OpenPLC runtime's file
 * store. `scans --beside` compares the two.
 *
 * A save copies the variables and returns. A thread writes the newest copy to a second file, syncs it,
 * renames it and syncs the directory: the file is always whole. It looks ten times a second; after a
 * write it waits for an interval, so that a memory card is not worn out.
 *
 * FILESTORE is the file.
 */
#include <fcntl.h>
#include <libgen.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LOOK		100000		/* microseconds */
#define INTERVAL	10000000	/* after a write, as in the runtime */

int init(void *args);
void cleanup(void);
int retain_save(const uint8_t *blob, uint16_t len);
int retain_load(uint8_t *out, uint16_t cap, uint16_t *out_len);

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint8_t newest[UINT16_MAX], copy[UINT16_MAX];
static uint16_t newest_bytes;
static bool changed;		/* @newest is not in the file */
static bool ending;
static pthread_t writer;
static const char *path;

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000ULL + ts.tv_nsec / 1000;
}

static void directory_sync(void)
{
	char name[4096];
	int fd;

	snprintf(name, sizeof(name), "%s", path);
	fd = open(dirname(name), O_RDONLY | O_DIRECTORY);
	if (fd >= 0) {
		fsync(fd);
		close(fd);
	}
}

static void file_write(const uint8_t *bytes, uint16_t n)
{
	char second[4096];
	bool good;
	int fd;

	snprintf(second, sizeof(second), "%s.new", path);
	fd = open(second, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (fd < 0)
		return;
	good = write(fd, bytes, n) == n && !fsync(fd);
	close(fd);
	if (good && !rename(second, path))
		directory_sync();
}

/* The newest variables, if the file does not have them: their length, or 0 */
static uint16_t newest_take(void)
{
	uint16_t bytes = 0;

	pthread_mutex_lock(&lock);
	if (changed) {
		bytes = newest_bytes;
		memcpy(copy, newest, bytes);
		changed = false;
	}
	pthread_mutex_unlock(&lock);
	return bytes;
}

static void *writer_run(void *arg)
{
	uint64_t next = 0;
	uint16_t bytes;

	(void)arg;
	while (!__atomic_load_n(&ending, __ATOMIC_RELAXED)) {
		usleep(LOOK);
		bytes = now() < next ? 0 : newest_take();
		if (!bytes)
			continue;
		file_write(copy, bytes);
		next = now() + INTERVAL;
	}
	return NULL;
}

int init(void *args)
{
	(void)args;
	path = getenv("FILESTORE");
	return path && !pthread_create(&writer, NULL, writer_run, NULL) ? 0 : -1;
}

void cleanup(void)
{
	uint16_t bytes;

	__atomic_store_n(&ending, true, __ATOMIC_RELAXED);
	pthread_join(writer, NULL);
	bytes = newest_take();
	if (bytes)
		file_write(copy, bytes);
}

int retain_save(const uint8_t *blob, uint16_t len)
{
	pthread_mutex_lock(&lock);
	if (newest_bytes != len || memcmp(newest, blob, len)) {
		memcpy(newest, blob, len);
		newest_bytes = len;
		changed = true;
	}
	pthread_mutex_unlock(&lock);
	return 0;
}

int retain_load(uint8_t *out, uint16_t cap, uint16_t *out_len)
{
	int fd = open(path, O_RDONLY);
	ssize_t n = fd < 0 ? 0 : read(fd, out, cap);

	if (fd >= 0)
		close(fd);
	*out_len = n < 0 ? 0 : n;
	return n < 0 ? -1 : 0;
}

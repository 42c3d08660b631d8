// SPDX-License-Identifier: GPL-2.0
/*
 * This file fails the n-th allocation or copy of every call on the device, for
 * n = 1, 2, ... until the call gets through without.
 *
 * Invariant: an operation that failed with ENOMEM was not done; with EFAULT it was done
 * whole or not at all; CHECK passes after each failure, and the same call works
 * when nothing fails.
 */
#include <dirent.h>
#include <sys/stat.h>

#include "faults.h"
#include "uevent.h"

/* Reading calls: no failure changes the store */

#define RECORDS		700

static struct crabtree_record records[RECORDS + 1];

static int run_info(struct trial *trial)
{
	struct crabtree_info info;

	return dev_info(trial->fd, &info);
}

static int run_search(struct trial *trial)
{
	struct crabtree_search s;

	return dev_search(trial->fd, 5, CRABTREE_SEARCH_GE, &s);
}

static int run_scan(struct trial *trial)
{
	struct crabtree_scan s;
	int rc = dev_scan(trial->fd, 0, ~0ULL, records, RECORDS + 1, &s);

	if (!rc)
		REQUIRE(s.count, RECORDS);
	return rc;
}

static int run_check(struct trial *trial)
{
	struct crabtree_check c;
	int rc = dev_check(trial->fd, &c);

	if (!rc)
		REQUIRE(c.records, RECORDS);
	return rc;
}

static int run_open(struct trial *trial)
{
	int fd = open(device_path(), O_RDWR | O_CLOEXEC), rc = fd < 0 ? -errno : 0;

	(void)trial;
	if (fd >= 0)
		close(fd);
	return rc;
}

static int some_records(const char *engine, const char *layout)
{
	int fd = fresh_store_of(engine, layout, 512);
	u64 key;

	for (key = 0; key < RECORDS; key++)
		REQUIRE(dev_put(fd, key * 11 % RECORDS, key), 0);
	faults_init();
	return fd;
}

#define EACH_ENGINE(test)						\
	test(slotted, "crab", "slotted", "slotted leaves")		\
	test(sorted, "crab", "sorted", "sorted leaves")			\
	test(nvtree, "nvtree", "append", "engine nvtree")		\
	test(fastfair, "fastfair", "shift", "engine fastfair")		\
	test(clfb, "clfb", "inplace", "engine clfb")			\
	test(nbtree, "nbtree", "adr", "engine nbtree")			\
	test(eadr, "nbtree", "eadr", "layout eadr")

static void reading(const char *engine, const char *layout)
{
	int (* const runs[])(struct trial *) = {
		run_info, run_search, run_scan, run_check, run_open,
	};
	struct trial trial = {
		.judge = judge_read, .fd = some_records(engine, layout), .value = RECORDS,
	};
	u32 i;

	for (i = 0; i < sizeof(runs) / sizeof(*runs); i++) {
		trial.run = runs[i];
		EXPECT(trial_run(&trial), 0);
	}
	told();
}

#define READ_TEST(suffix, engine, layout, text)				\
	TEST(read_##suffix, "faults: INFO, SEARCH, SCAN, CHECK and open, " text)	\
	{								\
		reading(engine, layout);				\
	}

EACH_ENGINE(READ_TEST)

/* Writing calls: done whole, or not at all */

static int run_write(struct trial *trial)
{
	return trial->put ? dev_put(trial->fd, trial->key, trial->value) :
			    dev_delete(trial->fd, trial->key, NULL);
}

static void judge_write(struct trial *trial, int rc)
{
	u64 got = 0;
	int found = dev_get(trial->fd, trial->key, &got);

	if (!found)
		REQUIRE(got, trial->value);
	judge_key(trial, rc, found);
}

static void writing(const char *engine, const char *layout)
{
	struct trial trial = { .run = run_write, .judge = judge_write };

	trial.fd = fresh_store_of(engine, layout, 512);
	write_all(&trial);
}

#define WRITE_TEST(suffix, engine, layout, text)			\
	TEST(write_##suffix, "faults: INSERT and DELETE, " text)	\
	{								\
		writing(engine, layout);				\
	}

EACH_ENGINE(WRITE_TEST)

#define BATCH		120

static struct crabtree_batch_op ops[BATCH];

static int run_batch(struct trial *trial)
{
	struct crabtree_batch b;
	u32 i;

	for (i = 0; i < BATCH; i++)
		dev_op(&ops[i], CRABTREE_BATCH_INSERT, trial->key + i, trial->value + i);
	return dev_batch(trial->fd, ops, BATCH, &b);
}

/* Judges each operation by its status; if the call returned none, each is done or not */
static void judge_batch(struct trial *trial, int rc)
{
	u64 got = 0, old = 0;
	u32 i, count = 0;
	int found;

	for (i = 0; i < BATCH; i++) {
		found = dev_get(trial->fd, trial->key + i, &got);
		REQUIRE_TRUE(!found || found == -ENOENT);
		REQUIRE_TRUE(found || got == trial->value + i);
		if (rc == -ENOMEM)
			REQUIRE(found, -ENOENT);
		else if (!rc)
			REQUIRE(ops[i].status, found ? -ENOMEM : 0);
		count += !found;
	}
	expect_sound(trial->fd, count);
	for (i = 0; i < BATCH; i++) {
		found = dev_delete(trial->fd, trial->key + i, &old);
		REQUIRE_TRUE(!found || found == -ENOENT);
	}
	expect_sound(trial->fd, 0);
}

TEST(batch, "faults: BATCH: each operation matches its status")
{
	struct trial trial = { .run = run_batch, .judge = judge_batch, .value = 1000 };

	trial.fd = fresh_store(512);
	faults_init();
	EXPECT(trial_run(&trial), 0);
	told();
}

static int run_atomic(struct trial *trial)
{
	struct crabtree_batch b = {
		.size = sizeof(b), .flags = CRABTREE_BATCH_ATOMIC, .ops = (uintptr_t)ops, .count = 2,
	};

	dev_op(&ops[0], CRABTREE_BATCH_INSERT, 1, 10);
	dev_op(&ops[1], CRABTREE_BATCH_INSERT, 2, 20);
	return call(trial->fd, CRABTREE_BATCH, &b);
}

static void judge_atomic(struct trial *trial, int rc)
{
	judge_both(trial->fd, rc);
	dev_delete(trial->fd, 1, NULL);
	dev_delete(trial->fd, 2, NULL);
	expect_sound(trial->fd, 0);
}

TEST(atomic, "faults: BATCH with ATOMIC: all of it or nothing")
{
	struct trial trial = { .run = run_atomic, .judge = judge_atomic };

	trial.fd = fresh_store_kind("", CRABTREE_FORMAT_COMMITS);
	faults_init();
	EXPECT(trial_run(&trial), 0);
	told();
}

static int run_range(struct trial *trial)
{
	struct crabtree_delete_range range;

	return dev_delete_range(trial->fd, 0, 299, &range);
}

static void judge_range(struct trial *trial, int rc)
{
	u64 key, records = sound_records(trial->fd);

	if (rc == -ENOMEM)
		REQUIRE(records, RECORDS);
	for (key = 0; key < 300; key++)
		REQUIRE(dev_put(trial->fd, key, key), 0);
	expect_sound(trial->fd, RECORDS);
}

TEST(range, "faults: DELETE_RANGE")
{
	struct trial trial = { .run = run_range, .judge = judge_range };

	trial.fd = some_records("", "");
	EXPECT(trial_run(&trial), 0);
	expect_sound(trial.fd, RECORDS - 300);
	told();
}

/*
 * FORMAT: the old store, or the new one, or the new one unavailable, which INFO and
 * a uevent report
 */

static int events;

static int run_format(struct trial *trial)
{
	struct crabtree_format f;

	format_args(&f, CRABTREE_FORMAT_FORCE, 512);
	strcpy(f.layout, trial->put ? "slotted" : "sorted");
	return call(trial->fd, CRABTREE_FORMAT, &f);
}

static void judge_format(struct trial *trial, int rc)
{
	struct crabtree_info info;
	u64 got = 0;

	REQUIRE(dev_info(trial->fd, &info), 0);
	if (info.state == CRABTREE_STATE_READY) {
		sound_records(trial->fd);
		REQUIRE(dev_get(trial->fd, 7, &got), rc ? 0 : -ENOENT);
	} else {
		REQUIRE(rc, -ENOMEM);
		REQUIRE(info.state, CRABTREE_STATE_REJECTED);
		REQUIRE_TRUE(strstr(info.reason, "attach failed"));
		REQUIRE(dev_get(trial->fd, 7, &got), -ENOMEM);
		EXPECT(uevent_count(events, "change"), 1);
	}
	REQUIRE(run_format(trial), 0);
	uevent_count(events, "change");
	expect_sound(trial->fd, 0);
	REQUIRE(dev_put(trial->fd, 7, 70), 0);
}

static void formatting(bool slotted)
{
	struct trial trial = { .run = run_format, .judge = judge_format, .put = slotted };

	trial.fd = fresh_store(512);
	REQUIRE(dev_put(trial.fd, 7, 70), 0);
	events = uevent_open();
	faults_init();
	EXPECT(trial_run(&trial), 0);
	expect_sound(trial.fd, 0);
	told();
}

TEST(format_slotted, "faults: FORMAT and the attach in it, slotted leaves")
{
	formatting(true);
}

TEST(format_sorted, "faults: FORMAT and the attach in it, sorted leaves")
{
	formatting(false);
}

/* sysfs: every file of the device */

static const char *device_name(void)
{
	return strrchr(device_path(), '/') + 1;
}

static char attribute[512];

static int run_attribute(struct trial *trial)
{
	int fd = open(attribute, O_RDONLY | O_CLOEXEC), rc = 0;
	char text[4096];

	(void)trial;
	if (fd < 0)
		return -errno;
	if (read(fd, text, sizeof(text)) < 0)
		rc = -errno;
	close(fd);
	return rc;
}

TEST(sysfs, "faults: each file of the device in sysfs")
{
	struct trial trial = { .run = run_attribute, .judge = judge_read, .value = RECORDS };
	struct dirent *entry;
	struct stat st;
	u32 files = 0;
	char dir[128];
	DIR *all;

	trial.fd = some_records("", "");
	snprintf(dir, sizeof(dir), "/sys/class/crabtree/%s", device_name());
	all = opendir(dir);
	REQUIRE_TRUE(all);
	while ((entry = readdir(all))) {
		snprintf(attribute, sizeof(attribute), "%s/%s", dir, entry->d_name);
		REQUIRE(lstat(attribute, &st), 0);
		if (!S_ISREG(st.st_mode) || !(st.st_mode & 0400))
			continue;
		EXPECT(trial_run(&trial), 0);
		files++;
	}
	printf("# %u files\n", files);
	EXPECT_TRUE(files >= 29);
	told();
}

/* Regions that are added and removed while the module is loaded */

#define CONTROL		"/dev/crabtree-control"

static int control(const char *command)
{
	int fd = open(CONTROL, O_WRONLY | O_CLOEXEC), rc = 0;

	if (fd < 0)
		return -errno;
	if (write(fd, command, strlen(command)) < 0)
		rc = -errno;
	close(fd);
	return rc;
}

/* The number of devices; @other: out: the name of one that is not of these tests */
static u32 devices(char other[32])
{
	DIR *all = opendir("/sys/class/crabtree");
	struct dirent *entry;
	u32 count = 0;

	REQUIRE_TRUE(all);
	while ((entry = readdir(all))) {
		if (entry->d_name[0] == '.')
			continue;
		count++;
		if (strcmp(entry->d_name, device_name()))
			snprintf(other, 32, "%.31s", entry->d_name);
	}
	closedir(all);
	return count;
}

static int run_region(struct trial *trial)
{
	char command[64];

	if (trial->put)
		return control("add ram=64K");
	snprintf(command, sizeof(command), "remove crab%u", (unsigned int)trial->key);
	return control(command);
}

static void judge_region(struct trial *trial, int rc)
{
	char other[32] = "", command[64];
	u32 count = devices(other);

	REQUIRE(count, (trial->put == !rc) ? 2 : 1);
	expect_sound(trial->fd, RECORDS);
	if (count == 1 && !trial->put)
		REQUIRE(control("add ram=64K"), 0);
	if (count == 2 && trial->put) {
		snprintf(command, sizeof(command), "remove %s", other);
		REQUIRE(control(command), 0);
	}
}

TEST(regions, "faults: a region is added, and removed")
{
	struct trial trial = { .run = run_region, .judge = judge_region, .put = true };
	char other[32];

	trial.fd = some_records("", "");
	EXPECT(trial_run(&trial), 0);
	EXPECT(devices(other), 2);
	trial.key = strtoull(other + strlen("crab"), NULL, 10);
	trial.put = false;
	EXPECT(trial_run(&trial), 0);
	EXPECT(devices(other), 1);
	told();
}

// SPDX-License-Identifier: GPL-2.0
/*
 * This file compares a device with a damaged image with make.py's expectations of
 * it: hostile DEVICE NAME.expect base.records. Prints every difference; exit
 * status 0 if there is none.
 *
 * Invariant, for any damage: a key of the undamaged image is found with
 * its value, or the call returns an error; it is never absent and never has another value.
 */
#define TEST_NO_MAIN
#include "device.h"

#define RECORDS_MAX	65536
#define SPANS_MAX	1024

struct span {
	u64 low;
	u64 high;
	bool served;
};

static struct {
	u32 state;
	int error;
	char reason[128];
	u64 repairs;
	struct span span[SPANS_MAX];
	u32 spans;
} expect;

static struct crabtree_record records[RECORDS_MAX];
static u32 record_count;

static FILE *must_open(const char *path)
{
	FILE *f = fopen(path, "re");

	if (!f)
		TEST_FAIL("%s: %s", path, strerror(errno));
	return f;
}

static void expect_line(char *line)
{
	char *arg = strchr(line, ' ') + 1;
	struct span *s = &expect.span[expect.spans];

	line[strcspn(line, "\n")] = '\0';
	if (!strncmp(line, "state ", 6))
		expect.state = atoi(arg);
	else if (!strncmp(line, "errno ", 6))
		expect.error = atoi(arg);
	else if (!strncmp(line, "reason ", 7))
		snprintf(expect.reason, sizeof(expect.reason), "%s", arg);
	else if (!strncmp(line, "repairs ", 8))
		expect.repairs = strtoull(arg, NULL, 0);
	else if (!strncmp(line, "served ", 7) || !strncmp(line, "unclean ", 8)) {
		REQUIRE_TRUE(expect.spans < SPANS_MAX);
		s->served = *line == 's';
		s->low = strtoull(arg, &arg, 0);
		s->high = strtoull(arg, NULL, 0);
		expect.spans++;
	}
}

static void expect_read(const char *path)
{
	FILE *f = must_open(path);
	char line[256];

	while (fgets(line, sizeof(line), f))
		expect_line(line);
	fclose(f);
}

static void records_read(const char *path)
{
	FILE *f = must_open(path);
	unsigned long long key, value;

	while (fscanf(f, "%llu %llu", &key, &value) == 2) {
		REQUIRE_TRUE(record_count < RECORDS_MAX);
		records[record_count++] = (struct crabtree_record){ key, value };
	}
	fclose(f);
}

static const struct span *span_of(u64 key)
{
	u32 i;

	for (i = 0; i < expect.spans; i++)
		if (key >= expect.span[i].low && key <= expect.span[i].high)
			return &expect.span[i];
	return NULL;
}

static void check_info(int fd)
{
	struct crabtree_info info;

	REQUIRE(dev_info(fd, &info), 0);
	EXPECT(info.state, expect.state);
	EXPECT(info.repairs, expect.repairs);
	if (!strstr(info.reason, expect.reason) || (!*expect.reason && *info.reason)) {
		printf("# reason is '%.128s', want '%s' in it\n", info.reason, expect.reason);
		test_failed = true;
	}
	if (expect.state == CRABTREE_STATE_READONLY && *expect.reason)
		printf("# %.128s\n", info.reason);
}

/* No store: every verb returns the errno of the attach */
static void check_refused(int fd)
{
	struct crabtree_record r[4];
	struct crabtree_check c;
	struct crabtree_scan s;
	u64 got;

	EXPECT(dev_get(fd, 5, &got), expect.error);
	EXPECT(dev_put(fd, 5, 1), expect.error);
	EXPECT(dev_delete(fd, 5, NULL), expect.error);
	EXPECT(dev_scan(fd, 0, ~0ULL, r, 4, &s), expect.error);
	EXPECT(dev_check(fd, &c), expect.error);
}

static void check_record(int fd, const struct crabtree_record *r)
{
	const struct span *span = span_of(r->key);
	u64 got = 0;
	int rc = dev_get(fd, r->key, &got);

	if (!rc)
		EXPECT(got, r->value);
	if (span && span->served)
		EXPECT(rc, 0);
	else if (span)
		EXPECT(rc, -EUCLEAN);
	else if (rc != -EUCLEAN && rc != 0)
		printf("# in doubt: key %llu: %s\n", (unsigned long long)r->key, strerror(-rc));
	if (test_failed)
		TEST_FAIL("key %llu", (unsigned long long)r->key);
}

/* A key between two that were there was not there: no value may appear for it */
static void check_absent(int fd, const struct crabtree_record *r)
{
	u64 got = 0;
	int rc = dev_get(fd, r->key + 1, &got);

	if (r + 1 < records + record_count && r[1].key == r->key + 1)
		return;
	REQUIRE_TRUE(rc == -ENOENT || rc == -EUCLEAN);
}

/* A scan of an available span returns its records; then its end, or the quarantine after it */
static void check_scan(int fd, const struct span *span)
{
	static struct crabtree_record r[4096];
	struct crabtree_scan s;
	u32 i, k = 0;
	int rc = dev_scan(fd, span->low, span->high, r, 4096, &s);

	for (i = 0; i < record_count; i++) {
		if (records[i].key < span->low || records[i].key > span->high)
			continue;
		REQUIRE(rc, 0);
		REQUIRE_TRUE(k < s.count);
		EXPECT(r[k].key, records[i].key);
		EXPECT(r[k].value, records[i].value);
		k++;
	}
	if (!rc)
		EXPECT(s.count, k);
}

/* One call of a scan of all; after an error, the scan continues after the quarantine */
static u32 scan_on(int fd, u64 *start, u32 *errors, bool *more)
{
	static struct crabtree_record r[100];
	struct crabtree_scan s;
	int rc = dev_scan(fd, *start, ~0ULL, r, 100, &s);

	if (rc)
		REQUIRE(rc, -EUCLEAN);
	*errors += !!rc;
	REQUIRE_TRUE(s.more <= 1);
	*more = s.more;
	REQUIRE_TRUE(!s.more || s.next > *start);
	*start = s.next;
	return rc ? 0 : s.count;
}

/* A scan of all keys reports missing ranges, and continues after them */
static void check_scan_all(int fd)
{
	u32 i, unclean = 0, errors = 0, total = 0, served = 0;
	bool more = true;
	u64 start = 0;

	for (i = 0; i < expect.spans; i++)
		unclean += !expect.span[i].served;
	for (i = 0; i < record_count; i++)
		served += span_of(records[i].key) && span_of(records[i].key)->served;
	for (i = 0; more && i <= record_count; i++)
		total += scan_on(fd, &start, &errors, &more);
	EXPECT(more, 0);
	EXPECT(total, served);
	EXPECT_TRUE(errors || !unclean);
}

static void check_readonly(int fd)
{
	struct crabtree_check c;

	EXPECT(dev_put(fd, records[0].key, 1), -EROFS);
	EXPECT(dev_put(fd, records[0].key + 1, 1), -EROFS);
	EXPECT(dev_delete(fd, records[0].key, NULL), -EROFS);
	REQUIRE(dev_check(fd, &c), 0);
	if (strstr(expect.reason, "damage") || strstr(expect.reason, "link"))
		EXPECT_TRUE(c.errors > 0);
}

static void check_served(int fd)
{
	u32 i;

	for (i = 0; i < record_count; i++) {
		check_record(fd, &records[i]);
		check_absent(fd, &records[i]);
	}
	for (i = 0; i < expect.spans; i++)
		if (expect.span[i].served)
			check_scan(fd, &expect.span[i]);
	check_scan_all(fd);
	if (expect.state == CRABTREE_STATE_READONLY)
		check_readonly(fd);
	else
		expect_sound(fd, record_count);
}

/* A region that holds anything is not formatted without force */
static void check_format(int fd)
{
	struct crabtree_format f;

	format_args(&f, 0, 512);
	if (expect.state != CRABTREE_STATE_UNFORMATTED)
		EXPECT(call(fd, CRABTREE_FORMAT, &f), -EEXIST);
}

int main(int argc, char **argv)
{
	int fd;

	if (argc != 4)
		return 2;
	setenv("CRABTREE_DEV", argv[1], 1);
	expect_read(argv[2]);
	records_read(argv[3]);
	fd = device_open(O_RDWR);
	check_info(fd);
	check_format(fd);
	if (expect.state == CRABTREE_STATE_READY || expect.state == CRABTREE_STATE_READONLY)
		check_served(fd);
	else
		check_refused(fd);
	return test_failed;
}

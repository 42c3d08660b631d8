/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file makes a call fail at each place where it can: the kernel's own fault
 * injection (CONFIG_FAILSLAB, FAIL_PAGE_ALLOC, FAULT_INJECTION_USERCOPY) fails the
 * n-th allocation, or copy from or to this program, by /proc/thread-self/fail-nth.
 *
 * Invariant: none fails outside trial_run().
 */
#ifndef SELFTEST_FAULTS_H
#define SELFTEST_FAULTS_H

#include "device.h"

#define INJECTION	"/sys/kernel/debug/"
#define FAULTS_MAX	5000

static int nth_fd = -1;
static u32 refused, survived;	/* calls that had a fault: failed, succeeded */

static inline void put_word(const char *path, const char *word)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		TEST_SKIP("%s: %s", path, strerror(errno));
	REQUIRE(write(fd, word, strlen(word)), strlen(word));
	close(fd);
}

/* Can this kernel limit failures to some caches? It can if booted with slub_debug=A... */
static inline bool caches_marked(void)
{
	FILE *f = fopen("/sys/kernel/slab/kmalloc-64/failslab", "r");
	bool marked = f && fgetc(f) == '1';

	if (f)
		fclose(f);
	return marked;
}

/* Any allocation may fail, and none with a trace in the log */
static inline void faults_init(void)
{
	put_word(INJECTION "failslab/cache-filter", caches_marked() ? "Y" : "N");
	put_word(INJECTION "failslab/ignore-gfp-wait", "N");
	put_word(INJECTION "failslab/verbose", "0");
	put_word(INJECTION "fail_page_alloc/ignore-gfp-wait", "N");
	put_word(INJECTION "fail_page_alloc/min-order", "0");
	put_word(INJECTION "fail_page_alloc/verbose", "0");
	put_word(INJECTION "fail_usercopy/verbose", "0");
	nth_fd = open("/proc/thread-self/fail-nth", O_RDWR | O_CLOEXEC);
	REQUIRE_TRUE(nth_fd >= 0);
}

/* From now on, the @n-th of this thread's allocations and copies fails */
static inline void fault_begin(u32 n)
{
	char word[16];

	snprintf(word, sizeof(word), "%u", n);
	REQUIRE(pwrite(nth_fd, word, strlen(word), 0), strlen(word));
}

/*
 * None fails any more; did one? Reading the count is a copy that may be the one
 * which fails: then none had before.
 */
static inline bool fault_end(void)
{
	char word[16] = "";
	bool struck = pread(nth_fd, word, sizeof(word) - 1, 0) > 0 && atoi(word) == 0;

	while (!struck && pwrite(nth_fd, "0", 1, 0) != 1)
		;
	return struck;
}

/* A call and its expected results */
struct trial {
	int (*run)(struct trial *trial);
	void (*judge)(struct trial *trial, int rc);
	int fd;
	u64 key;
	u64 value;
	bool put;
	bool there;
	u32 first;	/* fault, if not 1 */
	int repeated;	/* result if an earlier EFAULT had done it */
};

/* The call fails at each point where it can, until it does not; returns its result then */
static inline int trial_run(struct trial *trial)
{
	bool struck;
	u32 n;
	int rc;

	for (n = 0; n < FAULTS_MAX; n++) {
		fault_begin((trial->first ?: 1) + n);
		rc = trial->run(trial);
		struck = fault_end();
		if (!struck)
			return rc;
		if (!EXPECT_TRUE(!rc || rc == -ENOMEM || rc == -EFAULT || rc == trial->repeated))
			printf("# fault %u: %d\n", n, rc);
		*(rc ? &refused : &survived) += 1;
		trial->judge(trial, rc);
	}
	TEST_FAIL("still failing after %u faults", FAULTS_MAX);
}

static inline void told(void)
{
	printf("# %u calls failed by a fault, %u did without\n", refused, survived);
	EXPECT_TRUE(refused > 0);
}

/* No failure changes the @value records of the store */
static inline void judge_read(struct trial *trial, int rc)
{
	(void)rc;
	expect_sound(trial->fd, trial->value);
}

/* @found: 0 or an error */
static inline void judge_key(struct trial *trial, int rc, int found)
{
	if (found)
		REQUIRE(found, -ENOENT);
	if (!rc)
		REQUIRE(!found, trial->put);
	else if (rc != -EFAULT)
		REQUIRE(!found, trial->there);
	trial->there = !found;
	sound_records(trial->fd);
}

/* Both or none of the two records are there */
static inline void judge_both(int fd, int rc)
{
	u64 records = sound_records(fd);

	REQUIRE_TRUE(records == 0 || records == 2);
	if (rc != -EFAULT)
		REQUIRE(records, rc ? 0 : 2);
}

/* Each key put and some deleted again, so that leaves split and empty */
static inline void write_all(struct trial *trial)
{
	u32 i, count = 0;
	int rc;

	faults_init();
	for (i = 0; i < 300; i++) {
		trial->put = i < 150;
		trial->key = (i % 150 * 31 + 7) % 150;
		trial->value = trial->key * 3;
		trial->there = !trial->put;
		trial->repeated = trial->put ? 0 : -ENOENT;
		rc = trial_run(trial);
		if (rc)
			REQUIRE(rc, trial->repeated);
		count += trial->put ? 1 : -1;
		expect_sound(trial->fd, count);
	}
	told();
}

#endif /* SELFTEST_FAULTS_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file implements the harness of the device tests: TEST() registers a
 * function, main() runs each in a child of its own with limited CPU time and
 * prints KTAP. "--count" prints how many tests there are, "--only TEXT" runs
 * those whose name holds TEXT.
 *
 * Invariant: a test that crashes, loops or ends early is "not ok", never silent. A test that
 * blocks ends the machine, which prints nothing for too long.
 */
#ifndef SELFTEST_HARNESS_H
#define SELFTEST_HARNESS_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define TEST_SECONDS	300
#define EXIT_SKIP	4
#define TEST_MAX	64

struct test {
	void (*run)(void);
	const char *name;
};

static struct test tests[TEST_MAX];
static int test_count;
static bool test_failed;

/* TEST(function, "what it shows") { body } */
#define TEST(fn, text)							\
	static void fn(void);						\
	__attribute__((constructor)) static void fn##_register(void)	\
	{								\
		tests[test_count++] = (struct test){ fn, text };	\
	}								\
	static void fn(void)

#define TEST_SKIP(...)							\
	do {								\
		printf("# skip: " __VA_ARGS__);				\
		putchar('\n');						\
		fflush(stdout);						\
		_exit(EXIT_SKIP);					\
	} while (0)

/* Ends the test */
#define TEST_FAIL(...)							\
	do {								\
		printf("# %s:%d: ", __FILE__, __LINE__);		\
		printf(__VA_ARGS__);					\
		putchar('\n');						\
		fflush(stdout);						\
		_exit(1);						\
	} while (0)

static inline bool test_equal(long long got, long long want, const char *what,
			      const char *file, int line)
{
	if (got == want)
		return true;
	printf("# %s:%d: %s: got %lld (0x%llx), want %lld (0x%llx)\n", file, line, what,
	       got, (unsigned long long)got, want, (unsigned long long)want);
	test_failed = true;
	return false;
}

/* Notes a difference and goes on */
#define EXPECT(got, want)						\
	test_equal((long long)(got), (long long)(want), #got, __FILE__, __LINE__)

#define EXPECT_TRUE(cond)	EXPECT(!!(cond), 1)

/* Notes a difference and ends the test */
#define REQUIRE(got, want)						\
	do {								\
		if (!EXPECT(got, want)) {				\
			fflush(stdout);					\
			_exit(1);					\
		}							\
	} while (0)

#define REQUIRE_TRUE(cond)	REQUIRE(!!(cond), 1)

/* The limit is CPU time: on a loaded host a test is slower, not red */
static inline int test_child(const struct test *test)
{
	const struct rlimit cpu = { .rlim_cur = TEST_SECONDS, .rlim_max = TEST_SECONDS };
	int status = 0;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (!pid) {
		setrlimit(RLIMIT_CPU, &cpu);
		test->run();
		fflush(stdout);
		_exit(test_failed);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid) {
		printf("# cannot run a child: %s\n", strerror(errno));
		return 1;
	}
	if (WIFSIGNALED(status)) {
		printf("# ended by signal %d\n", WTERMSIG(status));
		return 1;
	}
	return WEXITSTATUS(status);
}

static inline bool test_run(const struct test *test, int number)
{
	int rc = test_child(test);

	printf("%sok %d %s%s\n", rc && rc != EXIT_SKIP ? "not " : "", number, test->name,
	       rc == EXIT_SKIP ? " # SKIP" : "");
	fflush(stdout);
	return !rc || rc == EXIT_SKIP;
}

static inline int tests_main(int argc, char **argv)
{
	const char *only = argc > 2 && !strcmp(argv[1], "--only") ? argv[2] : "";
	int i, failed = 0, number = 0;

	if (argc > 1 && !strcmp(argv[1], "--count"))
		return printf("%d\n", test_count) < 0;
	printf("KTAP version 1\n1..%d\n", test_count);
	for (i = 0; i < test_count; i++)
		if (strstr(tests[i].name, only))
			failed += !test_run(&tests[i], ++number);
	return failed != 0;
}

#ifndef TEST_NO_MAIN	/* a tool that uses only the part above */
int main(int argc, char **argv)
{
	return tests_main(argc, argv);
}
#endif

#endif /* SELFTEST_HARNESS_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the functions that the shims declare: memory, random numbers,
 * crc32c, sorting and the log, for L0-L5 in user space.
 *
 * Invariant: after crab_host_seed() a single thread sees the same random
 * numbers in every run.
 */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/random.h>
#include <unistd.h>

#include <linux/bug.h>
#include <linux/cpumask.h>
#include <linux/crc32.h>
#include <linux/errno.h>
#include <linux/ktime.h>
#include <linux/lockdep.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/rcupdate.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/string.h>

#include "tests/rng.h"

/* CPUs */

unsigned int crab_host_cpus;

/* Read once: sysconf() reads a file, and every attach needs the number */
unsigned int num_online_cpus(void)
{
	static unsigned int online;

	if (!online)
		online = sysconf(_SC_NPROCESSORS_ONLN);
	return crab_host_cpus ?: online;
}

/* Records in a leaf at most, for tests of small state spaces; 0: as many as fit */
uint32_t crab_tiny_slots;

/* Memory: the rest of it is in memory.c */

__thread struct crab_host_site *crab_host_site;
long crab_host_pages = LONG_MAX;

#ifndef CRABTREE_HOST_THREADS

/* RCU */

__thread unsigned int crab_host_rcu_depth;
__thread const void *crab_host_rcu_freed[40];
__thread unsigned int crab_host_rcu_count;
bool crab_host_poll_late;

#endif

/* Random numbers: splitmix64, from the system's entropy until seeded; and the time of day */

static u64 random_state;
static bool random_seeded;

void crab_host_seed(u64 seed)
{
	random_state = seed;
	random_seeded = true;
}

u64 crab_host_tick;

u64 ktime_get_real_seconds(void)
{
	static u64 seconds = 1700000000;

	return random_seeded ? (seconds += crab_host_tick) : time(NULL);
}

bool (*crab_host_random)(u64 *x);

#ifndef GRND_INSECURE
#define GRND_INSECURE	4	/* Linux 5.6 */
#endif

/* As the kernel's function it neither fails nor waits, as for entropy while the machine boots */
static u64 entropy(void)
{
	static u64 calls;
	struct timespec now;
	u64 x;

	if (getrandom(&x, sizeof(x), GRND_INSECURE) == sizeof(x) ||
	    getrandom(&x, sizeof(x), GRND_NONBLOCK) == sizeof(x))
		return x;
	clock_gettime(CLOCK_REALTIME, &now);
	x = now.tv_sec * 1000000000ULL + now.tv_nsec;
	x += __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
	return rng_mix(x ^ (u64)getpid() << 40);
}

u64 get_random_u64(void)
{
	u64 x;

	if (crab_host_random && crab_host_random(&x))
		return x;
	if (!random_seeded)
		return entropy();
	return rng_mix(__atomic_fetch_add(&random_state, 0x9e3779b97f4a7c15ULL, __ATOMIC_RELAXED));
}

u32 get_random_u32(void)
{
	return get_random_u64() >> 32;
}

void get_random_bytes(void *p, size_t n)
{
	u8 *to = p;
	u64 x = 0;
	size_t i;

	for (i = 0; i < n; i++, x >>= 8) {
		if (i % 8 == 0)
			x = get_random_u64();
		to[i] = x;
	}
}

/* Sleep, which does nothing; failures of trylock in a program with one thread */

void crab_host_may_sleep(void)
{
}

u32 crab_host_contended;

bool crab_host_is_taken(void)
{
	return crab_host_contended && get_random_u64() % crab_host_contended == 0;
}

/* crc32c: Castagnoli, reflected, neither inverted before nor after */

static u32 crc_bytes(u32 crc, const u8 *p, size_t n)
{
	static u32 table[256];
	u32 i, bit, c;

	if (!table[255]) {
		for (i = 0; i < 256; i++) {
			for (c = i, bit = 0; bit < 8; bit++)
				c = c & 1 ? c >> 1 ^ 0x82f63b78 : c >> 1;
			__atomic_store_n(&table[i], c, __ATOMIC_RELEASE);
		}
	}
	while (n--)
		crc = crc >> 8 ^ table[(crc ^ *p++) & 0xff];
	return crc;
}

u32 crab_crc32c_lib(u32 seed, const void *p, size_t n)
{
	return crc_bytes(seed, p, n);
}

/* Sorting */

void sort(void *base, size_t num, size_t size, cmp_func_t cmp, swap_func_t swap_func)
{
	(void)swap_func;
	if (num > 1)
		qsort(base, num, size, cmp);
}

/* Strings and the log */

ssize_t strscpy(char *to, const char *from, size_t size)
{
	size_t n = strnlen(from, size);

	if (!size)
		return -E2BIG;
	memcpy(to, from, min(n, size - 1));
	to[min(n, size - 1)] = '\0';
	return n < size ? (ssize_t)n : -E2BIG;
}

int kstrtou32(const char *text, unsigned int base, u32 *value)
{
	unsigned long number;
	char *end;

	errno = 0;
	number = strtoul(text, &end, base);
	if (errno || end == text || *end || !isdigit((unsigned char)*text) || number > U32_MAX)
		return -EINVAL;
	*value = number;
	return 0;
}

/* The first character decides; of "on" and "off" the second one */
int kstrtobool(const char *text, bool *value)
{
	bool on_or_off = tolower((unsigned char)*text) == 'o';
	char c = tolower((unsigned char)text[on_or_off]);

	*value = c && strchr(on_or_off ? "n" : "y1", c);
	return *value || (c && strchr(on_or_off ? "f" : "n0", c)) ? 0 : -EINVAL;
}

void *memchr_inv(const void *p, int c, size_t size)
{
	const u8 *at = p;

	for (; size; size--, at++)
		if (*at != (u8)c)
			return (void *)at;
	return NULL;
}

static void log_to_stderr(char level, const char *line)
{
	if (level <= '6')
		fputs(line, stderr);
}

void (*crab_host_log)(char level, const char *line) = log_to_stderr;

void crab_host_printk(char level, const char *fmt, ...)
{
	char line[512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	if (crab_host_log)
		crab_host_log(level, line);
}

int vscnprintf(char *to, size_t size, const char *fmt, va_list args)
{
	int n = vsnprintf(to, size, fmt, args);

	return !size ? 0 : min_t(int, n, size - 1);
}

int scnprintf(char *to, size_t size, const char *fmt, ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vscnprintf(to, size, fmt, args);
	va_end(args);
	return n;
}

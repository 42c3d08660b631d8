// SPDX-License-Identifier: GPL-2.0
/*
 * scan load | scan run ACKS FIRST - the calls of a PLC runtime on the plugin of tools/openplc.
 *
 * load prints `LENGTH SCAN` of the retained variables, `LENGTH torn` if their words are not all of one
 * scan, or `0 0` if there are none. run loads them, then saves all of them after each scan, every
 * PERIOD, from scan FIRST on, and writes a line `C SCAN` to ACKS when the save has returned. It does
 * not end unless a call fails. CRABTREE_DEVICE is the device.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BYTES		65535U		/* as many as the runtime can hand over */
#define PERIOD		10000000	/* nanoseconds */

int init(void *args);
void cleanup(void);
int retain_save(const uint8_t *blob, uint16_t len);
int retain_load(uint8_t *out, uint16_t cap, uint16_t *out_len);

static uint8_t variables[BYTES], want[BYTES];

/* Each word is the number of the scan, and so is as much of the last one as there is */
static void fill(uint8_t *to, uint64_t scan)
{
	uint32_t at;

	for (at = 0; at + sizeof(scan) <= BYTES; at += sizeof(scan))
		memcpy(to + at, &scan, sizeof(scan));
	memcpy(to + at, &scan, BYTES - at);
}

static int load(void)
{
	uint16_t bytes;
	uint64_t scan;

	if (retain_load(variables, sizeof(variables), &bytes))
		return 1;
	if (!bytes)
		return puts("0 0") < 0;
	memcpy(&scan, variables, sizeof(scan));
	fill(want, scan);
	if (bytes != BYTES || memcmp(variables, want, BYTES))
		return printf("%u torn\n", bytes) < 0;
	return printf("%u %llu\n", bytes, (unsigned long long)scan) < 0;
}

static int run(const char *path, uint64_t scan)
{
	int acks = open(path, O_WRONLY | O_APPEND);
	struct timespec next;
	uint16_t bytes;
	char line[32];
	int n;

	if (retain_load(variables, sizeof(variables), &bytes))
		return 1;
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (; acks >= 0; scan++) {
		fill(variables, scan);
		if (retain_save(variables, sizeof(variables)))
			return 1;
		n = snprintf(line, sizeof(line), "C %llu\n", (unsigned long long)scan);
		if (write(acks, line, n) != n)
			return 1;
		next.tv_nsec += PERIOD;
		next.tv_sec += next.tv_nsec / 1000000000;
		next.tv_nsec %= 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
	return 1;
}

int main(int argc, char **argv)
{
	int code = 2;

	if (init(NULL))
		return 1;
	if (argc == 2 && !strcmp(argv[1], "load"))
		code = load();
	else if (argc == 4 && !strcmp(argv[1], "run"))
		code = run(argv[2], strtoull(argv[3], NULL, 0));
	cleanup();
	return code;
}

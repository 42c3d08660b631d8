// SPDX-License-Identifier: GPL-2.0
/*
 * This file is the tool by which the test scripts access the media itself, without
 * the module, through /dev/mem:
 *
 *   media put START FILE		write the file to physical address START
 *   media same START FILE		compare; prints the first difference
 *   media get START SIZE FILE		read
 *   media zero START SIZE
 *
 * Only for the emulated machines of selftests/vm: the mapping is not cached, and
 * on real hardware that would not agree with the module's.
 *
 * Invariant: the module is not loaded, or does not hold this memory; aligned
 * 8-byte words only, as device memory wants.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef uint64_t u64;

static int die(const char *what)
{
	fprintf(stderr, "media: %s: %s\n", what, strerror(errno));
	exit(2);
}

static volatile u64 *memory(u64 start, size_t size)
{
	int fd = open("/dev/mem", O_RDWR | O_SYNC | O_CLOEXEC);
	void *at;

	if (fd < 0)
		die("/dev/mem");
	at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, start);
	if (at == MAP_FAILED)
		die("mapping /dev/mem");
	close(fd);
	return at;
}

/* A whole file, zero to the next word */
static u64 *file_read(const char *path, size_t *size)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	u64 *data;

	if (fd < 0 || fstat(fd, &st))
		die(path);
	*size = (st.st_size + 7) / 8 * 8;
	data = calloc(1, *size);
	if (!data || read(fd, data, st.st_size) != st.st_size)
		die(path);
	close(fd);
	return data;
}

static int media_put(u64 start, char **arg)
{
	size_t size, i;
	u64 *data = file_read(arg[0], &size);
	volatile u64 *at = memory(start, size);

	for (i = 0; i < size / 8; i++)
		at[i] = data[i];
	return 0;
}

static int media_same(u64 start, char **arg)
{
	size_t size, i;
	u64 *data = file_read(arg[0], &size);
	volatile u64 *at = memory(start, size);

	for (i = 0; i < size / 8; i++) {
		if (at[i] == data[i])
			continue;
		printf("offset %zu: 0x%llx became 0x%llx\n", i * 8,
		       (unsigned long long)data[i], (unsigned long long)at[i]);
		return 1;
	}
	return 0;
}

static int media_get(u64 start, char **arg)
{
	size_t size = strtoull(arg[0], NULL, 0), i;
	volatile u64 *at = memory(start, size);
	FILE *f = fopen(arg[1], "w");
	u64 word;

	if (!f)
		die(arg[1]);
	for (i = 0; i < size / 8; i++) {
		word = at[i];
		fwrite(&word, 8, 1, f);
	}
	return fclose(f) ? die(arg[1]) : 0;
}

static int media_zero(u64 start, char **arg)
{
	size_t size = strtoull(arg[0], NULL, 0), i;
	volatile u64 *at = memory(start, size);

	for (i = 0; i < size / 8; i++)
		at[i] = 0;
	return 0;
}

int main(int argc, char **argv)
{
	u64 start = argc > 3 ? strtoull(argv[2], NULL, 0) : 0;

	if (argc == 4 && !strcmp(argv[1], "put"))
		return media_put(start, argv + 3);
	if (argc == 4 && !strcmp(argv[1], "same"))
		return media_same(start, argv + 3);
	if (argc == 5 && !strcmp(argv[1], "get"))
		return media_get(start, argv + 3);
	if (argc == 4 && !strcmp(argv[1], "zero"))
		return media_zero(start, argv + 3);
	fprintf(stderr, "media put|same START FILE, get START SIZE FILE, zero START SIZE\n");
	return 2;
}

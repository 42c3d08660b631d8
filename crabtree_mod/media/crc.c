// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the checksum of the media. Where the kernel's function uses the instruction
 * of the CPU, it is that one. On x86-64 it is a table before Linux 6.14, and this file does it.
 *
 * The instruction has a latency of three cycles, and one can begin in each cycle: a long piece is
 * cut into three parts, which are computed together. A checksum is linear, so the one of a part can
 * be continued over the zeros that the next part would be, by a table, and then be added to it.
 *
 * Invariant: nothing here changes after crab_crc_init(); no lock.
 */
#include <linux/crc32.h>
#include <linux/string.h>

#include "crc.h"

#if defined(__x86_64__) && !CRAB_CRC32C_LIB_FAST

#define CRC_PART	1024U	/* bytes */

static bool crc_by_cpu;
static u32 crc_zeros[4][256];	/* of each byte of a checksum: the checksum after CRC_PART zeros */

static u64 crc_word(u64 crc, const void *from)
{
	u64 word;

	memcpy(&word, from, sizeof(word));
	asm("crc32q %1, %0" : "+r" (crc) : "r" (word));
	return crc;
}

static u32 crc_serial(u64 crc, const u8 *p, size_t size)
{
	for (; size >= sizeof(u64); size -= sizeof(u64), p += sizeof(u64))
		crc = crc_word(crc, p);
	for (; size; size--, p++)
		asm("crc32b %1, %q0" : "+r" (crc) : "r" (*p));
	return crc;
}

static u32 crc_after_zeros(u32 crc)
{
	return crc_zeros[0][crc & 0xff] ^ crc_zeros[1][crc >> 8 & 0xff] ^
	       crc_zeros[2][crc >> 16 & 0xff] ^ crc_zeros[3][crc >> 24];
}

static u32 crc_three(u64 first, const u8 *p)
{
	u64 second = 0, third = 0;
	u32 i;

	for (i = 0; i < CRC_PART; i += sizeof(u64)) {
		first = crc_word(first, p + i);
		second = crc_word(second, p + CRC_PART + i);
		third = crc_word(third, p + 2 * CRC_PART + i);
	}
	return crc_after_zeros(crc_after_zeros(first) ^ second) ^ third;
}

void crab_crc_init(bool has)
{
	static const u8 zeros[CRC_PART];
	u32 i, byte;

	for (i = 0; has && i < 4 * 256; i++) {
		byte = i % 4;
		crc_zeros[byte][i / 4] = crc_serial((u64)(i / 4) << 8 * byte, zeros, CRC_PART);
	}
	crc_by_cpu = has;
}

u32 crab_crc32c(u32 seed, const void *data, size_t size)
{
	const u8 *p = data;

	if (!crc_by_cpu)
		return crab_crc32c_lib(seed, data, size);
	for (; size >= 3 * CRC_PART; size -= 3 * CRC_PART, p += 3 * CRC_PART)
		seed = crc_three(seed, p);
	return crc_serial(seed, p, size);
}

#else

void crab_crc_init(bool has)
{
}

u32 crab_crc32c(u32 seed, const void *data, size_t size)
{
	return crab_crc32c_lib(seed, data, size);
}

#endif

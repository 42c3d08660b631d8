/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file defines the log of a traced machine: one record for each store to the
 * region, each clean, each barrier and each mark, in the order in which the processor
 * did them. The plugin writes it, in the byte order of the host; log.c reads it.
 *
 * A mark is an instruction that does nothing, from user space, with two numbers in
 * registers: it marks which operation begins and which has returned.
 */
#ifndef TRACE_H
#define TRACE_H

#include <stdint.h>

enum trace_type {
	TRACE_STORE = 1,	/* @address: offset in the region */
	TRACE_ZERO,		/* dc zva: 64 bytes of zeros; @address: virtual */
	TRACE_CLEAN,		/* of a line; @address: virtual */
	TRACE_BARRIER,
	TRACE_MAP,		/* the region begins at the virtual @address */
	TRACE_MARK,		/* @address: an enum trace_mark; @value: its arguments */
};

/* Cleans that reach the memory, and barriers. Others have no number here. */
enum trace_kind {
	TRACE_CVAC = 1, TRACE_CVAP, TRACE_CVADP, TRACE_CIVAC,
	TRACE_CLFLUSH, TRACE_CLFLUSHOPT, TRACE_CLWB,
	TRACE_LFENCE, TRACE_MFENCE, TRACE_SFENCE,
	TRACE_SWAP,		/* a store: of a compare-and-swap that orders it (arm64) */
	TRACE_DMB = 0x40,	/* | CRm */
	TRACE_DSB = 0x80,	/* | CRm */
};

/* CRm of a barrier: domain and kind of accesses */
#define TRACE_BARRIER_SY	0xf
#define TRACE_BARRIER_ISH	0xb
#define TRACE_BARRIER_ISHST	0xa

enum trace_mark {
	TRACE_CALL = 1,		/* verb, number of the operation; the first one begins the log */
	TRACE_ANSWER,		/* one for each operation: TRACE_FOUND(), the value found */
	TRACE_RETURN,		/* verb, errno */
	TRACE_MODULE,		/* where its code is, how long it is */
};

/* Result of an operation: its errno, and whether the key existed */
#define TRACE_FOUND(errno, existed)	((uint64_t)(errno) << 1 | (existed))

struct trace_record {
	uint8_t type;
	uint8_t cpu;
	uint8_t size;		/* of a store: 1 to 16 bytes */
	uint8_t kind;
	uint32_t reserved;
	uint64_t pc;
	uint64_t address;
	uint64_t value[2];
};

_Static_assert(sizeof(struct trace_record) == 40, "the script that runs it all counts on it");

/* nopl 0x42415243(%rax): no compiler and no kernel has a use for it */
#define TRACE_MARK_X86		"\x0f\x1f\x80" "CRAB"
#define TRACE_MARK_X86_LEN	7
#define TRACE_MARK_ARM64	0xd5032c9f	/* hint #100 */

#endif /* TRACE_H */

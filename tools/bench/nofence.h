/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file makes the assembler leave out the instruction of crab_fence(), for the breakdown of an insert:
 * the compiler includes it before any other file with FENCES=0. Nothing that such a program writes is
 * durable.
 */
#ifndef CRAB_BENCH_NOFENCE_H
#define CRAB_BENCH_NOFENCE_H

#if defined(__x86_64__)
asm(".macro sfence\n.endm");
#elif defined(__aarch64__)
asm(".macro dsb scope\n.endm");
#endif

#endif /* CRAB_BENCH_NOFENCE_H */

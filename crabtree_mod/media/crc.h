/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the checksum of the media.
 *
 * Layer L1: any file may include it.
 */
#ifndef CRABTREE_CRC_H
#define CRABTREE_CRC_H

#include <linux/types.h>

/**
 * crab_crc_init() - use the instruction of the CPU from now on
 * @has: the CPU has it
 * Context: once, before any thread computes a checksum.
 */
void crab_crc_init(bool has);

/**
 * crab_crc32c() - CRC-32C (Castagnoli), reflected, neither inverted before nor after
 * @seed: the result for the bytes before, or the begin
 * @data: the bytes
 * @size: how many
 * Context: any.
 * Return: the checksum.
 */
u32 crab_crc32c(u32 seed, const void *data, size_t size);

#endif /* CRABTREE_CRC_H */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_UUID_H
#define CRAB_SHIM_LINUX_UUID_H

#include <linux/random.h>

#define UUID_SIZE	16

typedef struct {
	__u8 b[UUID_SIZE];
} uuid_t;

/* Version 4, variant DCE 1.1 */
static inline void generate_random_uuid(unsigned char uuid[UUID_SIZE])
{
	get_random_bytes(uuid, UUID_SIZE);
	uuid[6] = (uuid[6] & 0x0f) | 0x40;
	uuid[8] = (uuid[8] & 0x3f) | 0x80;
}

#endif /* CRAB_SHIM_LINUX_UUID_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests that the compiler does not delete the calls of a function that only announces
 * lines. It does that at -O2 only, so that builds with sanitizers cannot run this test.
 */
#include <linux/compiler.h>

#include "media/persist.h"
#include "tap.h"

/* The bounds of a section, which is not there if the calls of its only function were deleted */
extern const char __start_announced[] __attribute__((weak));
extern const char __stop_announced[] __attribute__((weak));

static noinline __attribute__((section("announced"))) void announce(const void *p, u64 len)
{
	crab_prefetch_range(p, len);
}

int main(void)
{
	static const u8 bytes[4096];

	announce(bytes, sizeof(bytes));
	tap_ok(&__stop_announced[0] > &__start_announced[0],
	       "a function that only announces lines is called");
	return tap_done();
}

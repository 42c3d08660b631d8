// SPDX-License-Identifier: GPL-2.0
/*
 * This file selects a mistake by the environment variable CRAB_MUTANT=NUMBER, for programs
 * that are otherwise unchanged.
 */
#include <stdlib.h>

#include "mutant.h"

__attribute__((constructor))
static void choose(void)
{
	const char *number = getenv("CRAB_MUTANT");

	crab_mutant = number ? atoi(number) : 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * This file lets the environment choose the mistake that is made: CRAB_MUTANT=NUMBER, for
 * programs that are otherwise as they always are.
 */
#include <stdlib.h>

#include "mutant.h"

__attribute__((constructor))
static void choose(void)
{
	const char *number = getenv("CRAB_MUTANT");

	crab_mutant = number ? atoi(number) : 0;
}

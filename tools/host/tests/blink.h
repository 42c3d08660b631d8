/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file has a word of the media that reads another value for one load, and then as before.
 *
 * A hook of loads calls blink_over() before each load, and blink_now() before the one that is to fail.
 */
#ifndef CRAB_HOST_BLINK_H
#define CRAB_HOST_BLINK_H

#include <linux/types.h>

/* The word that reads another value now, or NULL */
static struct {
	__le64 *word;
	__le64 was;
	__le64 then;
} dark;

/* The word has its value again, or that of a store meanwhile */
static inline void blink_over(void)
{
	if (dark.word && *dark.word == dark.then)
		*dark.word = dark.was;
	dark.word = NULL;
}

/* The next load of @word returns @then */
static inline void blink_now(__le64 *word, u64 then)
{
	dark.word = word;
	dark.was = *word;
	dark.then = cpu_to_le64(then);
	*word = dark.then;
}

#endif /* CRAB_HOST_BLINK_H */

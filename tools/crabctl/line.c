// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements reading the lines of a text file. Only the end of the file ends them: an
 * error is none, and no line needs memory.
 */
#include "crabctl.h"

#include <errno.h>

int line_next(FILE *file, char text[LINE_ROOM], size_t *len)
{
	size_t n = 0;
	int c = 0;

	while (c != '\n' && n < LINE_ROOM - 1 && (c = getc_unlocked(file)) != EOF)
		text[n++] = c;
	text[n] = '\0';
	*len = n;
	if (c == EOF && ferror(file))
		return errno ? -errno : -EIO;
	if (c != '\n' && c != EOF)
		return -EMSGSIZE;
	return n > 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements reading the lines of a text file. Only the end of the file ends them: an
 * error is none, and no line needs memory.
 */
#include "crabctl.h"

#include <errno.h>
#include <string.h>

#define MARK	"\xef\xbb\xbf"

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

void line_drop_mark(char *text, size_t *len)
{
	size_t mark = strlen(MARK);

	if (*len < mark || memcmp(text, MARK, mark))
		return;
	*len -= mark;
	memmove(text, text + mark, *len + 1);
}

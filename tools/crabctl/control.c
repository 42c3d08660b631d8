// SPDX-License-Identifier: GPL-2.0
/*
 * This file sends commands to the module, which adds and removes regions: crabtree(4) describes
 * the node. The module answers each command in one line, and says in it why it refuses one.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "region.h"

#define CONTROL	"/dev/crabtree-control"

static void explain(int err, char answer[REGION_ANSWER])
{
	const char *why = strerror(-err);

	if (err == -ENOENT)
		why = "no such node (is crabtree.ko loaded, and of this version?)";
	strcpy(answer, CONTROL ": ");
	strncat(answer, why, REGION_ANSWER - strlen(answer) - 1);
}

const char *control_reason(const char *region, const char *answer)
{
	size_t len = strlen(region), word = strcspn(answer, " ");

	if (!strncmp(answer, region, len) && !strncmp(answer + len, ": ", 2))
		return answer + len + 2;
	if (word && *answer != '/' && answer[word] && answer[word - 1] == ':')
		return answer + word + 1;
	return answer;
}

int control_command(const char *command, char answer[REGION_ANSWER])
{
	int fd = open(CONTROL, O_RDWR | O_CLOEXEC);
	ssize_t len;
	int err = 0;

	if (fd < 0) {
		err = -errno;
		explain(err, answer);
		return err;
	}
	if (write(fd, command, strlen(command)) < 0)
		err = -errno;
	len = read(fd, answer, REGION_ANSWER - 1);
	close(fd);
	if (len <= 0)
		explain(err ? err : -EIO, answer);
	else
		answer[len] = '\0';
	answer[strcspn(answer, "\n")] = '\0';
	return err;
}

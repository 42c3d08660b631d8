// SPDX-License-Identifier: GPL-2.0
/*
 * This file is the tool by which the test scripts load and unload modules and
 * learn the errno by its name: load FILE [PARAMETER...], load -r NAME. Prints
 * nothing and ends with 0 if it worked, else prints the name and ends with 1.
 *
 * Invariant: no search, no dependencies: loads exactly the named file.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static int report(long rc)
{
	if (!rc)
		return 0;
	printf("%s\n", strerrorname_np(errno));
	return 1;
}

int main(int argc, char **argv)
{
	char params[1024] = "";
	int fd, i;

	if (argc == 3 && !strcmp(argv[1], "-r"))
		return report(syscall(SYS_delete_module, argv[2], O_NONBLOCK));
	for (i = 2; i < argc; i++) {
		strncat(params, argv[i], sizeof(params) - strlen(params) - 2);
		strcat(params, " ");
	}
	fd = argc > 1 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return report(-1);
	return report(syscall(SYS_finit_module, fd, params, 0));
}

// SPDX-License-Identifier: GPL-2.0
/*
 * This file is the tool by which the test scripts see the notifications of user space:
 * events DEVICE COMMAND... runs the command and prints a line "uevent ACTION STATE LABEL" for
 * each uevent of the device, and "poll STATE" if a poll() of its state returned.
 *
 * Invariant: waits at most WAIT_MS after the command for late events. The exit
 * status is the command's.
 */
#define TEST_NO_MAIN
#include <fcntl.h>
#include <poll.h>

#include "uevent.h"

#define WAIT_MS		1000

static const char *or_none(const char *value)
{
	return value ? value : "-";
}

static void print_uevents(int fd, const char *name)
{
	const char *at;
	char text[4096];
	size_t len;

	while ((len = uevent_next(fd, text, sizeof(text)))) {
		at = uevent_get(text, len, "DEVNAME");
		if (!at || strcmp(at, name))
			continue;
		printf("uevent %s %s %s\n", or_none(uevent_get(text, len, "ACTION")),
		       or_none(uevent_get(text, len, "CRABTREE_STATE")),
		       or_none(uevent_get(text, len, "CRABTREE_LABEL_ENC")));
	}
}

static const char *read_state(int fd)
{
	static char state[32];
	ssize_t len = pread(fd, state, sizeof(state) - 1, 0);

	state[len > 0 ? len - 1 : 0] = '\0';
	return state;
}

static int run(char **command)
{
	int status = 1;
	pid_t pid = fork();

	if (!pid) {
		execvp(*command, command);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

int main(int argc, char **argv)
{
	struct pollfd state = { .events = POLLPRI };
	const char *name;
	char path[64];
	int events, rc;

	if (argc < 3)
		return 2;
	name = strrchr(argv[1], '/') + 1;
	snprintf(path, sizeof(path), "/sys/class/crabtree/%s/state", name);
	events = uevent_open();
	state.fd = open(path, O_RDONLY | O_CLOEXEC);
	read_state(state.fd);
	rc = run(argv + 2);
	if (poll(&state, 1, WAIT_MS) == 1)
		printf("poll %s\n", read_state(state.fd));
	print_uevents(events, name);
	return rc;
}

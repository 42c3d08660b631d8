// SPDX-License-Identifier: GPL-2.0
/*
 * This file is the tool by which the test scripts see the notifications of user space:
 * events DEVICE COMMAND... runs the command and prints a line "uevent ACTION STATE LABEL" for
 * each uevent of the device, and "poll STATE" if a poll() of its state returned.
 *
 * Invariant: waits at most WAIT_MS after the command for a late change of the state, and then as long
 * for its uevent. The exit status is the command's.
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

/* Returns how many */
static int print_uevents(int fd, const char *name)
{
	const char *at;
	char text[4096];
	int count = 0;
	size_t len;

	while ((len = uevent_next(fd, text, sizeof(text)))) {
		at = uevent_get(text, len, "DEVNAME");
		if (!at || strcmp(at, name))
			continue;
		printf("uevent %s %s %s\n", or_none(uevent_get(text, len, "ACTION")),
		       or_none(uevent_get(text, len, "CRABTREE_STATE")),
		       or_none(uevent_get(text, len, "CRABTREE_LABEL_ENC")));
		count++;
	}
	return count;
}

/* The worker's notification of a state wakes a poll() before its uevent is sent */
static void wait_for_uevent(int fd, const char *name)
{
	struct pollfd come = { .fd = fd, .events = POLLIN };

	while (!print_uevents(fd, name) && poll(&come, 1, WAIT_MS) == 1)
		;
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
	if (poll(&state, 1, WAIT_MS) == 1) {
		printf("poll %s\n", read_state(state.fd));
		wait_for_uevent(events, name);
	}
	print_uevents(events, name);
	return rc;
}

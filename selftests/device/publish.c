// SPDX-License-Identifier: GPL-2.0
/*
 * This file loads the module with parameters of which the last one is refused, while
 * another process tries to open each device.
 *
 * Invariant: a load that fails has published nothing: no device could be
 * opened and no uevent was sent. The kernel frees the module of a failed load at
 * once, also while a device of it is open.
 */
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

#include "device.h"
#include "module.h"
#include "uevent.h"

#define LOADS		10
#define STATIC_NODE	"/tmp/crab0"

static char module[256];

static struct {
	volatile unsigned int tries, opened, calls;
} *poller;

static void module_unload(void)
{
	int i;

	for (i = 0; i < 1000 && syscall(SYS_delete_module, "crabtree", O_NONBLOCK); i++) {
		REQUIRE_TRUE(errno == EAGAIN || errno == EBUSY);
		usleep(1000);
	}
	REQUIRE_TRUE(i < 1000);
}

/* Keeps a descriptor open for longer than a load takes, then uses it */
static void poll_node(const char *path)
{
	struct crabtree_info info;
	int fd = open(path, O_RDWR | O_CLOEXEC);

	poller->tries++;
	if (fd < 0)
		return;
	poller->opened++;
	usleep(20000);
	poller->calls += !dev_info(fd, &info);
	close(fd);
}

static pid_t poller_start(void)
{
	pid_t pid;

	poller = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	REQUIRE_TRUE(poller != MAP_FAILED);
	pid = fork();
	REQUIRE_TRUE(pid >= 0);
	while (!pid) {
		poll_node("/dev/crab0");
		poll_node(STATIC_NODE);
	}
	return pid;
}

/* A node that exists before its device, as in a static /dev */
static void make_static_node(void)
{
	struct stat st;

	REQUIRE(module_load(module, "ram=64K"), 0);
	REQUIRE(stat("/dev/crab0", &st), 0);
	unlink(STATIC_NODE);
	REQUIRE(mknod(STATIC_NODE, S_IFCHR | 0600, st.st_rdev), 0);
	module_unload();
}

static void fail_often(int events, const char *params, int error)
{
	unsigned int tries = poller->tries;
	int i;

	for (i = 0; i < LOADS; i++) {
		REQUIRE(module_load(module, params), error);
		usleep(1000);
	}
	EXPECT(poller->opened, 0);
	EXPECT(uevent_count(events, "add"), 0);
	EXPECT_TRUE(poller->tries > tries);
}

TEST(publish, "a load that fails shows no device and sends no uevent; one that works does")
{
	const char *dir = getenv("CRAB_MODULES");
	int events = uevent_open(), status, i;
	pid_t pid;

	snprintf(module, sizeof(module), "%s/crabtree.ko", dir ? dir : "");
	module_unload();
	make_static_node();
	REQUIRE_TRUE(uevent_count(events, "add") > 0);
	pid = poller_start();
	fail_often(events, "ram=512K,512K,512K,512K,16", -EINVAL);
	fail_often(events, "ram=512K region=nonsense", -EINVAL);
	REQUIRE(module_load(module, "ram=64K"), 0);
	for (i = 0; i < 1000 && !poller->calls; i++)
		usleep(1000);
	EXPECT_TRUE(poller->opened > 0);
	EXPECT_TRUE(poller->calls > 0);
	EXPECT_TRUE(uevent_count(events, "add") > 0);
	printf("# %u tries to open\n", poller->tries);
	REQUIRE(kill(pid, SIGKILL), 0);
	REQUIRE(waitpid(pid, &status, 0), pid);
	module_unload();
	unlink(STATIC_NODE);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * This file replaces the kernel: crabctl linked with --wrap=ioctl and
 * --wrap=close finds the store of the image file $FAKE_IMAGE in any character
 * device. The path over the device can therefore be tested without the module.
 *
 * $FAKE_LOG gets a line for each batch, each msync(), each acknowledgement, each rename, each
 * syncfs(), each fsync() of a directory and each watch of keys, in their order.
 *
 * With $FAKE_ROOT the nodes of /dev are those below that directory, and so are /sys, /proc, /run
 * and /lib. None of the nodes may be opened, except with $FAKE_OPEN: then all have the store of
 * $FAKE_IMAGE. The error is EACCES, or $FAKE_DENY.
 *
 * With $FAKE_SHORT a BATCH executes at most that many operations, and a signal
 * interrupts every other one before its first operation. All calls except INFO and SNAPSHOT return
 * $FAKE_ERRNO, and msync() fails with $FAKE_MSYNC. With $FAKE_KILL=N the process is killed before the N-th of these calls.
 *
 * Commands that add or remove a region are noted in $FAKE_LOG. The n-th one that adds a region
 * gets crabN; those that contain $FAKE_REFUSE are refused, with the reason $FAKE_REASON.
 * A snapshot is the image itself, and the changes of a watch are the content of $FAKE_CHANGES.
 *
 * $FAKE_LOCK is a command that runs before the first flock(), $FAKE_RENAME one before the first
 * rename, and $FAKE_CALL one before the first call except INFO, when the store is attached. With
 * $FAKE_SIGNAL=N the process gets that signal before each rename and msync().
 *
 * $FAKE_INFO replaces fields of INFO: "name=number name=number"; "name=+number" adds number with
 * each call.
 */
#include <crabtree_image.h>

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../libcrabtree/backend.h"

FILE *__real_fopen64(const char *path, const char *mode);
int __real_glob64(const char *pattern, int flags, int (*error)(const char *, int), glob_t *found);
int __real_crabtree_open(struct crabtree **ct, const char *path, unsigned int flags);
int __real_unlink(const char *path);
int __real_close(int fd);
int __real_ioctl(int fd, unsigned long cmd, void *arg);
int __real_msync(void *base, size_t len, int flags);
ssize_t __real_write(int fd, const void *buf, size_t len);
int __real_flock(int fd, int operation);
int __real_rename(const char *from, const char *to);
int __real_renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned int flags);
int __real_fsync(int fd);
int __real_syncfs(int fd);

static struct crabtree *image;
static int device = -1;

static unsigned int env_number(const char *name)
{
	const char *text = getenv(name);

	return text ? strtoul(text, NULL, 10) : 0;
}

static void note(const char *what)
{
	const char *path = getenv("FAKE_LOG");
	FILE *file = path ? fopen(path, "a") : NULL;

	if (!file)
		return;
	fprintf(file, "%s\n", what);
	fclose(file);
}

int __wrap_msync(void *base, size_t len, int flags)
{
	int err;

	raise(env_number("FAKE_SIGNAL"));
	err = __real_msync(base, len, flags);
	note("msync");
	errno = env_number("FAKE_MSYNC") ?: errno;
	return env_number("FAKE_MSYNC") ? -1 : err;
}

ssize_t __wrap_write(int fd, const void *buf, size_t len)
{
	if (len > 2 && !memcmp(buf, "A ", 2))
		note("ack");
	return __real_write(fd, buf, len);
}

/* Its exit status is of no interest: the command writes its result into a file */
static void run_once(const char *name)
{
	const char *text = getenv(name);
	char command[512];

	if (!text)
		return;
	snprintf(command, sizeof(command), "%s", text);
	unsetenv(name);
	if (system(command) < 0)
		abort();
}

int __wrap_flock(int fd, int operation)
{
	run_once("FAKE_LOCK");
	return __real_flock(fd, operation);
}

static void before_rename(void)
{
	run_once("FAKE_RENAME");
	raise(env_number("FAKE_SIGNAL"));
	note("rename");
}

int __wrap_rename(const char *from, const char *to)
{
	before_rename();
	return __real_rename(from, to);
}

int __wrap_renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned int flags)
{
	before_rename();
	return __real_renameat2(from_dir, from, to_dir, to, flags);
}

int __wrap_fsync(int fd)
{
	struct stat st;

	if (!fstat(fd, &st) && S_ISDIR(st.st_mode))
		note("fsync of a directory");
	return __real_fsync(fd);
}

int __wrap_syncfs(int fd)
{
	note("syncfs");
	return __real_syncfs(fd);
}

int __wrap_control_command(const char *command, char *answer)
{
	const char *refused = getenv("FAKE_REFUSE");
	const char *reason = getenv("FAKE_REASON");
	static int number;

	note(command);
	if (refused && strstr(command, refused)) {
		strcpy(answer, reason ? reason : "refused by the module");
		return -EBUSY;
	}
	if (!strncmp(command, "add ", 4))
		sprintf(answer, "crab%d", number++);
	else
		strcpy(answer, "removed");
	return 0;
}

/* The path below $FAKE_ROOT, if that is set */
static const char *below_root(const char *path)
{
	static char below[512];
	const char *root = getenv("FAKE_ROOT");

	if (!root || (strncmp(path, "/sys/", 5) && strncmp(path, "/dev/", 5) &&
		      strncmp(path, "/proc/", 6) && strncmp(path, "/lib/", 5) &&
		      strncmp(path, "/run/", 5)))
		return path;
	snprintf(below, sizeof(below), "%s%s", root, path);
	return below;
}

FILE *__wrap_fopen64(const char *path, const char *mode)
{
	return __real_fopen64(below_root(path), mode);
}

int __wrap_unlink(const char *path)
{
	return __real_unlink(below_root(path));
}

int __wrap_glob64(const char *pattern, int flags, int (*error)(const char *, int), glob_t *found)
{
	return __real_glob64(below_root(pattern), flags, error, found);
}

int __wrap_crabtree_open(struct crabtree **ct, const char *path, unsigned int flags)
{
	if (!getenv("FAKE_ROOT"))
		return __real_crabtree_open(ct, path, flags);
	return getenv("FAKE_OPEN") ? __real_crabtree_open(ct, "/dev/zero", flags) :
				     -(int)(env_number("FAKE_DENY") ?: EACCES);
}

static int attach(int fd)
{
	bool readonly = (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDONLY;

	if (image)
		return 0;
	device = fd;
	return crabtree_open_image(&image, getenv("FAKE_IMAGE"),
				   readonly ? CRABTREE_OPEN_READONLY : 0);
}

/* Like the kernel: operations that were not tried have -ECANCELED */
static int batch(struct crabtree_batch *arg)
{
	struct crabtree_batch_op *ops = (void *)(uintptr_t)arg->ops;
	unsigned int most = env_number("FAKE_SHORT");
	static unsigned int calls;
	uint32_t count = arg->count, i;
	int err;

	if (most && calls++ % 2)
		return -EINTR;
	for (i = 0; i < count; i++)
		ops[i].status = -ECANCELED;
	if (most && most < count)
		arg->count = most;
	err = image->backend->call(image, CRABTREE_BATCH, arg);
	arg->count = count;
	note("batch");
	return err;
}

static void info_set(struct crabtree_info *info, const char *name, uint64_t value)
{
#define FIELD(name)	{ #name, &info->name, sizeof(info->name) }
	const struct { const char *name; void *at; size_t size; } fields[] = {
		FIELD(state), FIELD(durability), FIELD(model), FIELD(keeps), FIELD(region_bytes),
		FIELD(leaves), FIELD(leaves_used), FIELD(leaves_bad), FIELD(records),
		FIELD(capacity), FIELD(attach_ns), FIELD(dram_bytes), FIELD(repairs),
		FIELD(inserts), FIELD(updates), FIELD(deletes), FIELD(searches), FIELD(lines),
		FIELD(fences),
	};
#undef FIELD
	size_t i;

	for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		if (!strcmp(name, fields[i].name))
			memcpy(fields[i].at, &value, fields[i].size);
}

static int fake_info(struct crabtree_info *info)
{
	int err = image->backend->call(image, CRABTREE_INFO, info);
	char text[256], *rest, *name, *value;
	static uint64_t calls;
	uint64_t number;

	calls++;
	snprintf(text, sizeof(text), "%s", getenv("FAKE_INFO") ?: "");
	for (name = strtok_r(text, " ", &rest); name; name = strtok_r(NULL, " ", &rest)) {
		value = strchr(name, '=');
		*value = '\0';
		number = strtoull(value + 1, NULL, 0);
		info_set(info, name, value[1] == '+' ? calls * number : number);
	}
	return err;
}

static void note_watch(const struct crabtree_watch *watch)
{
	char text[80];

	snprintf(text, sizeof(text), "watch %llu %llu %u", watch->start, watch->end, watch->entries);
	note(text);
}

static int fake_open(unsigned long cmd, void *arg)
{
	int fd = cmd == CRABTREE_WATCH ? open(getenv("FAKE_CHANGES"), O_RDONLY | O_CLOEXEC) :
					 fcntl(device, F_DUPFD_CLOEXEC, 0);

	if (fd < 0)
		return -errno;
	if (cmd == CRABTREE_WATCH)
		note_watch(arg);
	if (cmd == CRABTREE_WATCH)
		((struct crabtree_watch *)arg)->fd = fd;
	else
		((struct crabtree_snapshot *)arg)->fd = fd;
	return 0;
}

static int call(unsigned long cmd, void *arg)
{
	unsigned int fault = env_number("FAKE_ERRNO");
	static unsigned int calls;

	if (cmd == CRABTREE_INFO)
		return fake_info(arg);
	if (fault && cmd != CRABTREE_SNAPSHOT)
		return -fault;
	run_once("FAKE_CALL");
	if (++calls == env_number("FAKE_KILL"))
		raise(SIGKILL);
	if (cmd == CRABTREE_WATCH || cmd == CRABTREE_SNAPSHOT)
		return fake_open(cmd, arg);
	return cmd == CRABTREE_BATCH ? batch(arg) : image->backend->call(image, cmd, arg);
}

int __wrap_ioctl(int fd, unsigned long cmd, ...)
{
	va_list args;
	void *arg;
	int err;

	va_start(args, cmd);
	arg = va_arg(args, void *);
	va_end(args);
	if (_IOC_TYPE(cmd) != CRABTREE_IOC_MAGIC)
		return __real_ioctl(fd, cmd, arg);
	err = attach(fd);
	if (!err)
		err = call(cmd, arg);
	errno = -err;
	return err ? -1 : 0;
}

int __wrap_close(int fd)
{
	struct crabtree *ct = image;

	if (ct && fd == device) {
		image = NULL;
		device = -1;
		crabtree_close(ct);
	}
	return __real_close(fd);
}

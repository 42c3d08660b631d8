// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements partial files.
 *
 * Invariants: the file that is replaced has its old content or the complete new one; the new one is
 * on the disk, under its name, before a command succeeds.
 */
#include "partial.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <new_name.h>

#define SUFFIX	".partial"
#define LINKS	40	/* symbolic links in a row, at most, as of the kernel */

static const char *volatile doomed;

void partial_remove(void)
{
	if (doomed)
		unlink(doomed);
}

static void remove_doomed(int number)
{
	partial_remove();
	raise(number);
}

/* Signals that are ignored stay so */
static void remove_on_signal(const char *path)
{
	const struct sigaction once = { .sa_handler = remove_doomed, .sa_flags = SA_RESETHAND };
	static const int numbers[] = { SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGALRM, SIGTERM, SIGUSR1,
				       SIGUSR2, SIGXCPU };
	struct sigaction old;
	size_t i;

	doomed = path;
	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (!sigaction(numbers[i], NULL, &old) && old.sa_handler == SIG_DFL)
			sigaction(numbers[i], &once, NULL);
}

/* The path to which a link at @at points */
static char *link_target(const char *at, const char *link)
{
	const char *slash = *link == '/' ? NULL : strrchr(at, '/');
	char *path;

	if (asprintf(&path, "%.*s%s", slash ? (int)(slash + 1 - at) : 0, at, link) < 0)
		return NULL;
	return path;
}

/* The file to which the links of a path lead, also if there is none yet; NULL: errno */
static char *follow(const char *path)
{
	char link[PATH_MAX], *at = strdup(path), *next;
	ssize_t n;
	int i;

	for (i = 0; at && (n = readlink(at, link, sizeof(link) - 1)) >= 0; i++) {
		link[n] = '\0';
		next = i < LINKS ? link_target(at, link) : NULL;
		errno = i < LINKS ? ENOMEM : ELOOP;
		free(at);
		at = next;
	}
	return at;
}

/* The mode of any new file; or that of the old one, and its owner as far as this is allowed */
static void take_mode(int fd, const char *to)
{
	mode_t mode, mask;
	struct stat old;

	if (stat(to, &old)) {
		mask = umask(0);
		umask(mask);
		fchmod(fd, 0666 & ~mask);
		return;
	}
	mode = old.st_mode & 0777;
	if (fchown(fd, old.st_uid, old.st_gid) && fchown(fd, -1, old.st_gid))
		mode &= ~S_IRWXG;	/* they are not for another group */
	fchmod(fd, mode);
}

FILE *partial_open(struct partial *partial, const char *path)
{
	int stream;

	*partial = (struct partial){ .to = follow(path), .file = -1 };
	if (!partial->to || asprintf(&partial->path, "%s.XXXXXX" SUFFIX, partial->to) < 0) {
		partial->path = NULL;
		return NULL;
	}
	partial->file = mkostemps(partial->path, strlen(SUFFIX), O_CLOEXEC);
	if (partial->file < 0) {
		free(partial->path);
		partial->path = NULL;
		return NULL;
	}
	remove_on_signal(partial->path);
	take_mode(partial->file, partial->to);
	stream = fcntl(partial->file, F_DUPFD_CLOEXEC, 0);
	return stream < 0 ? NULL : fdopen(stream, "w");
}

int partial_new(struct partial *partial, const char *path)
{
	struct stat st;
	FILE *file;

	*partial = (struct partial){ .file = -1 };
	if (!lstat(path, &st))
		return -EEXIST;
	file = partial_open(partial, path);
	return file && !fclose(file) ? 0 : -errno;
}

int partial_room(const struct partial *partial, uint64_t size)
{
	return size % IMAGE_PAGE ? -EINVAL : -posix_fallocate(partial->file, 0, size);
}

/* The file is no longer this program's to remove */
static void forget(struct partial *partial)
{
	doomed = NULL;
	free(partial->path);
	partial->path = NULL;
}

/* Not all file systems can do it in one step */
static int move_to_new(const char *path, const char *to)
{
	if (!renameat2(AT_FDCWD, path, AT_FDCWD, to, RENAME_NOREPLACE))
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -1;
	if (!access(to, F_OK)) {
		errno = EEXIST;
		return -1;
	}
	return rename(path, to);
}

int partial_place(struct partial *partial, bool replace)
{
	if (replace ? rename(partial->path, partial->to) : move_to_new(partial->path, partial->to))
		return -errno;
	forget(partial);
	return new_name_sync(partial->to, partial->file);
}

int partial_keep(struct partial *partial)
{
	char *kept;
	int err;

	if (asprintf(&kept, "%s" SUFFIX, partial->to) < 0)
		return -ENOMEM;
	err = rename(partial->path, kept) ? -errno : 0;
	if (err) {
		free(kept);
		return err;
	}
	forget(partial);
	free(partial->to);
	partial->to = kept;
	return new_name_sync(kept, partial->file);
}

void partial_end(struct partial *partial)
{
	int err = errno;

	if (partial->path) {
		unlink(partial->path);
		forget(partial);
	}
	if (partial->file >= 0)
		close(partial->file);
	free(partial->to);
	errno = err;
}

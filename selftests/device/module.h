/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file loads a module with parameters, without modprobe.
 */
#ifndef CRAB_SELFTEST_MODULE_H
#define CRAB_SELFTEST_MODULE_H

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

/**
 * module_load() - load a module from a file
 * @path: path of the file
 * @params: module parameters, separated by spaces
 *
 * Return: 0 or a negative errno.
 */
static inline int module_load(const char *path, const char *params)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), rc;

	if (fd < 0)
		return -errno;
	rc = syscall(SYS_finit_module, fd, params, 0) ? -errno : 0;
	close(fd);
	return rc;
}

#endif /* CRAB_SELFTEST_MODULE_H */

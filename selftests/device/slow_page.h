/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file maps a page on the first access to it, after a function has run: a call of the kernel
 * that copies from or to the page waits as long as the function takes.
 *
 * Invariant: the function runs once, in a thread of its own.
 */
#ifndef SELFTEST_SLOW_PAGE_H
#define SELFTEST_SLOW_PAGE_H

#include <linux/userfaultfd.h>
#include <pthread.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "harness.h"

/* @content: of the page once it is mapped */
struct slow_page {
	char *at;
	char *content;
	size_t size;
	int fd;
	void (*touched)(void *arg);
	void *arg;
};

static void *slow_page_serve(void *arg)
{
	struct slow_page *page = arg;
	struct uffdio_copy copy = { .len = page->size };
	struct uffd_msg msg;

	REQUIRE(read(page->fd, &msg, sizeof(msg)), sizeof(msg));
	page->touched(page->arg);
	copy.dst = (uintptr_t)page->at;
	copy.src = (uintptr_t)page->content;
	REQUIRE(ioctl(page->fd, UFFDIO_COPY, &copy), 0);
	return NULL;
}

static inline void slow_page_init(struct slow_page *page, void (*touched)(void *arg), void *arg)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register range = { .mode = UFFDIO_REGISTER_MODE_MISSING };
	pthread_t thread;

	page->touched = touched;
	page->arg = arg;
	page->size = sysconf(_SC_PAGESIZE);
	page->content = calloc(1, page->size);
	page->at = mmap(NULL, page->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);
	REQUIRE_TRUE(page->content && page->at != MAP_FAILED);
	page->fd = syscall(SYS_userfaultfd, O_CLOEXEC);
	if (page->fd < 0)
		TEST_SKIP("userfaultfd: %s", strerror(errno));
	REQUIRE(ioctl(page->fd, UFFDIO_API, &api), 0);
	range.range.start = (uintptr_t)page->at;
	range.range.len = page->size;
	REQUIRE(ioctl(page->fd, UFFDIO_REGISTER, &range), 0);
	REQUIRE(pthread_create(&thread, NULL, slow_page_serve, page), 0);
}

#endif /* SELFTEST_SLOW_PAGE_H */

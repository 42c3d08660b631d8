// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests images in programs that fork: the handles of a parent in its child; and in
 * programs with several threads.
 */
#include <crabtree_image.h>

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

#include "library.h"

#define IMAGE	"fork.img"
#define FORKS	20

/* Runs @run in a child; true if it returns true. A child that waits for a lock is killed */
static bool in_child(bool (*run)(struct crabtree *ct), struct crabtree *ct)
{
	int status = 1;
	pid_t pid = fork();

	if (!pid) {
		alarm(60);
		_exit(!run(ct));
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && !status;
}

static int no_leaf(void *arg, const struct crabtree_image_leaf *leaf)
{
	(void)arg;
	(void)leaf;
	return 0;
}

static bool use(struct crabtree *ct)
{
	struct crabtree_image_supers supers;
	struct crabtree_info info;
	uint64_t value;

	return crabtree_insert(ct, 2, 2, 0, NULL, NULL) == -EBUSY &&
	       crabtree_image_supers(ct, &supers) == -EBUSY &&
	       crabtree_image_leaves(ct, no_leaf, NULL) == -EBUSY &&
	       crabtree_search(ct, 1, &value) == -EBUSY &&
	       crabtree_info(ct, &info, sizeof(info)) == -EBUSY && crabtree_sync(ct) == -EBUSY;
}

static bool leave(struct crabtree *ct)
{
	return !crabtree_close(ct);
}

static bool open_own(struct crabtree *ct)
{
	struct crabtree_format format = { 0 };
	struct crabtree *own;
	uint64_t value;
	bool good;

	if (crabtree_create_image("child.img", 1 << 20) || crabtree_open_image(&own, "child.img", 0))
		return false;
	good = !crabtree_format(own, &format, sizeof(format)) && !crabtree_insert(own, 1, 2, 0, NULL, NULL) &&
	       !crabtree_search(own, 1, &value) && value == 2 && !crabtree_close(own);
	unlink("child.img");
	return good && !crabtree_close(ct);
}

/* The child ends when the parent closes its end of the pipe */
static bool is_free_meanwhile(struct crabtree *ct)
{
	int err, ends[2];
	pid_t pid;
	char byte;

	if (pipe(ends))
		return false;
	pid = fork();
	if (!pid) {
		close(ends[1]);
		_exit(read(ends[0], &byte, 1));
	}
	err = crabtree_close(ct);
	err = err ? err : crabtree_open_image(&ct, IMAGE, 0);
	close(ends[1]);
	close(ends[0]);
	waitpid(pid, NULL, 0);
	return !err && !crabtree_close(ct);
}

static bool stopping;

static void *work(void *arg)
{
	while (!__atomic_load_n(&stopping, __ATOMIC_RELAXED) &&
	       !crabtree_insert(arg, 3, 3, 0, NULL, NULL))
		;
	return NULL;
}

static bool open_nothing(struct crabtree *ct)
{
	struct crabtree *none;

	(void)ct;
	return crabtree_open_image(&none, "/nonexistent", 0) == -ENOENT;
}

/* The lock of the images is taken most of the time */
static void test_threads(struct crabtree *ct)
{
	pthread_t thread;
	int i, good = 0;

	if (pthread_create(&thread, NULL, work, ct)) {
		ok(0, "a thread");
		return;
	}
	for (i = 0; i < FORKS && good == i; i++)
		good += in_child(open_nothing, ct);
	__atomic_store_n(&stopping, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	ok(good == FORKS, "fork: while another thread is in a call, the child is not");
}

struct search {
	struct crabtree *ct;
	pthread_t thread;
	bool started;
	bool ended;
};

static void *run_search(void *arg)
{
	struct search *search = arg;
	uint64_t value;

	crabtree_search(search->ct, 1, &value);
	__atomic_store_n(&search->ended, true, __ATOMIC_RELEASE);
	return NULL;
}

/* For each node: 1 if a search of another thread waits */
static int search_waits(void *arg, const struct crabtree_image_leaf *leaf)
{
	struct search *search = arg;

	(void)leaf;
	search->started = !pthread_create(&search->thread, NULL, run_search, search);
	usleep(200000);
	return !__atomic_load_n(&search->ended, __ATOMIC_ACQUIRE);
}

/* The engines are built without threads */
static void test_walk(struct crabtree *ct)
{
	struct search search = { .ct = ct };
	int waits = crabtree_image_leaves(ct, search_waits, &search);

	ok(waits == 1 && search.started && !pthread_join(search.thread, NULL),
	   "no call of another thread runs during a walk over the nodes of an image");
}

void test_fork(void)
{
	struct crabtree_format format = { 0 };
	struct crabtree_image_supers supers;
	struct crabtree *ct;
	uint64_t value;

	if (crabtree_create_image(IMAGE, 1 << 20) || crabtree_open_image(&ct, IMAGE, 0) ||
	    crabtree_format(ct, &format, sizeof(format)) || crabtree_insert(ct, 1, 1, 0, NULL, NULL)) {
		ok(0, "fork: an image");
		return;
	}
	ok(in_child(use, ct) && crabtree_search(ct, 2, &value) == -ENOENT,
	   "fork: a child cannot use the image of its parent");
	ok(in_child(leave, ct) && !crabtree_image_supers(ct, &supers) && !supers.detached,
	   "fork: if the child closes it, the store stays attached");
	ok(in_child(open_own, ct), "fork: a child has images of its own");
	test_threads(ct);
	test_walk(ct);
	ok(!crabtree_insert(ct, 4, 4, 0, NULL, NULL) && is_free_meanwhile(ct),
	   "fork: the parent closes an image for its child, too");
	unlink(IMAGE);
}

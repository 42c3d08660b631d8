/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the tests of the in-kernel interface, and how they compare. The folder
 * includes <linux/crabtree.h> only, as other kernel code does.
 */
#ifndef CRABTREE_TESTS_KAPI_H
#define CRABTREE_TESTS_KAPI_H

#include <linux/crabtree.h>
#include <linux/types.h>

#define KAPI_POISON	0xA5A5A5A5A5A5A5A5ULL	/* in an answer before its call */

/* A value that is not the expected one is logged and counted; the test goes on */
#define EXPECT(got, want) \
	kapi_expect(KBUILD_BASENAME, __LINE__, #got, (s64)(got), (s64)(want))

void kapi_expect(const char *file, int line, const char *text, s64 got, s64 want);

/* The value of a key that is there; else KAPI_POISON */
u64 kapi_value(struct crabtree *tree, u64 key);

/* Tests: each begins with an empty store of its kind */
void kapi_opens(struct crabtree *tree);
void kapi_records(struct crabtree *tree);
void kapi_ranges(struct crabtree *tree);
void kapi_commits(struct crabtree *tree);
void kapi_commit_values(struct crabtree *tree);
void kapi_commit_names(struct crabtree *tree);
void kapi_names(struct crabtree *tree);
void kapi_page(struct crabtree *tree);	/* a part of kapi_names() */
void kapi_reclaim(struct crabtree *tree);
void kapi_reclaim_values(struct crabtree *tree);

/* The store is read-only, with the records of "store fill" */
void kapi_readonly(struct crabtree *tree);

/* The store has the keys 0 to KAPI_FILLED - 1, but those of a leaf in the midst are quarantined */
#define KAPI_FILLED	1000
void kapi_damaged(struct crabtree *tree);

/* The store is to go: from here on it is watched, until kapi_goes_end() */
void kapi_goes(struct crabtree *tree);
void kapi_goes_end(struct crabtree *tree);

/* The same of a store that the test fills */
void kapi_full(struct crabtree *tree);
void kapi_full_end(struct crabtree *tree);

/* A store that goes stays until the program removal ends kapi_going */
void kapi_slow(struct crabtree *tree);
void kapi_slow_end(struct crabtree *tree);

/* The freeze and the restore of a kexec jump, which no notifier announces */
void kapi_jumps(struct crabtree *tree);

/* Parameters of the module */
extern char *kapi_label;
extern uuid_t kapi_identity;	/* of the parameter uuid */
extern unsigned int kapi_last;
extern int kapi_error;
extern bool kapi_going;

#endif /* CRABTREE_TESTS_KAPI_H */

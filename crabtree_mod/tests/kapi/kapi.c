// SPDX-License-Identifier: GPL-2.0
/*
 * This file runs a test of the in-kernel interface: the one that the parameter names, in the store
 * with the label selftest. It begins at the load of the module, and ends before the unload has
 * returned; the last line in the log counts the answers. selftests/device/kapi.sh prepares the
 * stores, and judges.
 *
 * No lock: a test runs in one thread; so do the callbacks of refused.c.
 */
#define pr_fmt(fmt) "crabtree_kapi: " fmt

#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/string.h>

#include "kapi.h"

static char *test = "";
module_param(test, charp, 0444);
MODULE_PARM_DESC(test, "Name of the test");

char *kapi_label = "selftest";
module_param_named(label, kapi_label, charp, 0444);
MODULE_PARM_DESC(label, "Label of the store, which the test writes to");

static char *uuid = "00000000-0000-0000-0000-000000000000";
module_param(uuid, charp, 0444);
MODULE_PARM_DESC(uuid, "Identity of the store");

unsigned int kapi_last;
module_param_named(last, kapi_last, uint, 0444);
MODULE_PARM_DESC(last, "Key of the record that is stored before the store goes");

int kapi_error;
module_param_named(error, kapi_error, int, 0444);
MODULE_PARM_DESC(error, "Result of calls after the store has gone: a negative errno");

bool kapi_going;
module_param_named(going, kapi_going, bool, 0644);
MODULE_PARM_DESC(going, "The test waits for 0 before the store goes");

uuid_t kapi_identity;
static struct crabtree *kapi_tree;
static unsigned int kapi_good, kapi_bad;

static const struct kapi_test {
	const char *name;
	void (*begin)(struct crabtree *tree);
	void (*end)(struct crabtree *tree);
} kapi_tests[] = {
	{ "opens", kapi_opens },
	{ "records", kapi_records },
	{ "ranges", kapi_ranges },
	{ "commits", kapi_commits },
	{ "commit_values", kapi_commit_values },
	{ "commit_names", kapi_commit_names },
	{ "names", kapi_names },
	{ "reclaim", kapi_reclaim },
	{ "reclaim_values", kapi_reclaim_values },
	{ "readonly", kapi_readonly },
	{ "damaged", kapi_damaged },
	{ "goes", kapi_goes, kapi_goes_end },
	{ "full", kapi_full, kapi_full_end },
	{ "slow", kapi_slow, kapi_slow_end },
	{ "jumps", kapi_jumps },
};

static const struct kapi_test *kapi_test;

/* The machines of selftests/vm fail by these words, even while they shut down */
void kapi_expect(const char *file, int line, const char *text, s64 got, s64 want)
{
	if (got == want) {
		kapi_good++;
		return;
	}
	kapi_bad++;
	pr_err("CRABTREE FAIL %s:%d: %s: %lld, not %lld\n", file, line, text, got, want);
}

u64 kapi_value(struct crabtree *tree, u64 key)
{
	u64 value;

	return crabtree_search(tree, key, &value) ? KAPI_POISON : value;
}

/* @tree was opened by its label. The script has another store with it, which is not to change */
void kapi_opens(struct crabtree *tree)
{
	struct crabtree *same = crabtree_open_by_uuid(&kapi_identity);
	uuid_t other = kapi_identity;

	EXPECT(IS_ERR(same), false);
	if (IS_ERR(same))
		return;
	EXPECT(crabtree_insert(same, 1, 10, CRABTREE_INSERT_CREATE, NULL), 0);
	crabtree_close(same);
	other.b[15]++;
	EXPECT(PTR_ERR_OR_ZERO(crabtree_open_by_uuid(&other)), -EPROBE_DEFER);
	EXPECT(PTR_ERR_OR_ZERO(crabtree_open_by_label("self")), -EPROBE_DEFER);
	EXPECT(PTR_ERR_OR_ZERO(crabtree_open_by_label("")), -EPROBE_DEFER);
	crabtree_close(NULL);
	crabtree_close(ERR_PTR(-EPROBE_DEFER));
}

static const struct kapi_test *kapi_find(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(kapi_tests); i++)
		if (!strcmp(kapi_tests[i].name, test))
			return &kapi_tests[i];
	return NULL;
}

static int __init kapi_init(void)
{
	kapi_test = kapi_find();
	if (!kapi_test || uuid_parse(uuid, &kapi_identity))
		return -EINVAL;
	kapi_tree = crabtree_open_by_label(kapi_label);
	if (IS_ERR(kapi_tree))
		return PTR_ERR(kapi_tree);
	kapi_test->begin(kapi_tree);
	return 0;
}

static void __exit kapi_exit(void)
{
	if (kapi_test->end)
		kapi_test->end(kapi_tree);
	crabtree_close(kapi_tree);
	pr_info("%s: %u answers as expected, %u not\n", test, kapi_good, kapi_bad);
}

module_init(kapi_init);
module_exit(kapi_exit);

MODULE_DESCRIPTION("Tests of the interface of crabtree to other kernel code");
MODULE_AUTHOR("The crabtree authors");
MODULE_LICENSE("GPL");
CRAB_IMPORT_NS();

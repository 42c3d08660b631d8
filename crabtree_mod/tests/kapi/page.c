// SPDX-License-Identifier: GPL-2.0
/*
 * This file has the examples of Documentation/driver-api/crabtree.rst, word by word, and calls
 * them. tools/tests/readme.sh compares the two.
 */
#include <asm/byteorder.h>
#include <linux/err.h>
#include <linux/mutex.h>
#include <linux/notifier.h>

#include "kapi.h"

static struct crabtree *motor_tree;
static DEFINE_MUTEX(motor_lock);

static int motor_event(struct notifier_block *nb, unsigned long event, void *data)
{
	const struct crabtree_identity *identity = data;

	mutex_lock(&motor_lock);
	if (event == CRABTREE_GOING && identity->tree == motor_tree) {
		crabtree_close(motor_tree);
		motor_tree = NULL;
	}
	mutex_unlock(&motor_lock);
	return NOTIFY_OK;
}

static int count_boot(struct crabtree *tree)
{
	__le64 boots = 0;
	int err = crabtree_var_get(tree, "motor/boots", CRABTREE_TYPE_U64, &boots, sizeof(boots),
				   NULL);

	if (err && err != -ENOENT)
		return err;
	le64_add_cpu(&boots, 1);
	return crabtree_var_set(tree, "motor/boots", CRABTREE_TYPE_U64, &boots, sizeof(boots));
}

void kapi_page(struct crabtree *tree)
{
	struct crabtree_identity other = { .label = kapi_label, .uuid = &kapi_identity };
	struct crabtree_identity same = { .label = kapi_label, .tree = tree };
	__le64 boots = 0;

	EXPECT(count_boot(tree), 0);
	EXPECT(count_boot(tree), 0);
	EXPECT(crabtree_var_get(tree, "motor/boots", CRABTREE_TYPE_U64, &boots, sizeof(boots),
				NULL), 0);
	EXPECT(le64_to_cpu(boots), 2);
	EXPECT(crabtree_var_remove(tree, "motor/boots"), 0);
	motor_tree = crabtree_open_by_label(kapi_label);
	EXPECT(motor_tree == tree, true);
	EXPECT(motor_event(NULL, CRABTREE_GOING, &other), NOTIFY_OK);
	EXPECT(motor_event(NULL, CRABTREE_CAME, &same), NOTIFY_OK);
	EXPECT(motor_tree == tree, true);
	EXPECT(motor_event(NULL, CRABTREE_GOING, &same), NOTIFY_OK);
	EXPECT(!motor_tree, true);
}

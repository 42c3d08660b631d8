// SPDX-License-Identifier: GPL-2.0
/*
 * This file shows how kernel code uses crabtree: a counter of boots and a recorder
 * of events, both in the store with the label in the parameter.
 *
 * Key 0 holds the counter. Events have the keys 1, 2, 3, ...: the value is the time
 * in seconds since 1970. Only the last SAMPLE_EVENTS events stay in the store. A record
 * survives a power cut once insert() has returned 0. In a store of commits, the counter and the
 * event of a boot are written together or not at all. In a store of names the counter is the
 * variable sample/boots, and there are no events. The folder includes <linux/crabtree.h> only.
 *
 * Lock: sample_lock, for sample_tree, which is NULL unless the store is in use.
 */
#define pr_fmt(fmt) "crabtree_sample: " fmt

#include <linux/crabtree.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/string.h>
#include <linux/timekeeping.h>

#define SAMPLE_NAME_BOOTS	"sample/boots"
#define SAMPLE_KEY_BOOTS	0
#define SAMPLE_KEY_EVENT	1
#define SAMPLE_EVENTS		4	/* the last ones, which stay in the store */

static char *label = "sample";
module_param(label, charp, 0444);
MODULE_PARM_DESC(label, "Label of the store to record in");

static DEFINE_MUTEX(sample_lock);
static struct crabtree *sample_tree;

/* Count a boot in the variable of a store of names; -EOPNOTSUPP: it is another kind of store */
static int sample_variable(void)
{
	__le64 boots = 0;
	int err = crabtree_var_get(sample_tree, SAMPLE_NAME_BOOTS, CRABTREE_TYPE_U64, &boots,
				   sizeof(boots), NULL);

	if (err && err != -ENOENT)
		return err;
	le64_add_cpu(&boots, 1);
	err = crabtree_var_set(sample_tree, SAMPLE_NAME_BOOTS, CRABTREE_TYPE_U64, &boots,
			       sizeof(boots));
	if (!err)
		pr_info(SAMPLE_NAME_BOOTS " %llu\n", le64_to_cpu(boots));
	return err;
}

/* The number of this boot, from 1, and of its event: the highest key belongs to the last event */
static int sample_number(u64 *boots, u64 *sequence)
{
	struct crabtree_record last = { };
	int err = crabtree_search(sample_tree, SAMPLE_KEY_BOOTS, boots);

	if (err == -ENOENT)
		*boots = 0;
	else if (!err)
		err = crabtree_seek(sample_tree, CRABTREE_KEY_RESERVED - 1, CRABTREE_SEARCH_LE,
				    &last);
	*boots += 1;
	*sequence = last.key + 1;
	return err == -ENOENT ? 0 : err;
}

static int sample_record(u64 boots, u64 sequence)
{
	u64 now = ktime_get_real_seconds();
	struct crabtree_batch_op ops[] = {
		{ .verb = CRABTREE_BATCH_INSERT, .key = SAMPLE_KEY_BOOTS, .value = boots },
		{ .verb = CRABTREE_BATCH_INSERT, .flags = CRABTREE_INSERT_CREATE, .key = sequence,
		  .value = now },
	};
	int err = crabtree_commit(sample_tree, ops, ARRAY_SIZE(ops), NULL);

	if (err != -EOPNOTSUPP)
		return err;
	return crabtree_insert(sample_tree, SAMPLE_KEY_BOOTS, boots, 0, NULL) ?:
	       crabtree_insert(sample_tree, sequence, now, CRABTREE_INSERT_CREATE, NULL);
}

/* Remove old events, also those that an earlier removal left at a power cut */
static int sample_trim(u64 sequence)
{
	if (sequence < SAMPLE_KEY_EVENT + SAMPLE_EVENTS)
		return 0;
	return crabtree_delete_range(sample_tree, SAMPLE_KEY_EVENT, sequence - SAMPLE_EVENTS,
				     NULL, NULL);
}

/* The last events, the newest first */
static void sample_print(u64 boots, u64 sequence)
{
	struct crabtree_cursor cursor = CRABTREE_CURSOR_REVERSE(1, sequence);
	struct crabtree_record events[8];
	int i, n = crabtree_scan(sample_tree, &cursor, events, ARRAY_SIZE(events));

	pr_info("boots %llu, events %llu\n", boots, sequence);
	for (i = 0; i < n; i++)
		pr_info("event %llu at %llu\n", events[i].key, events[i].value);
}

static int sample_boot(void)
{
	u64 boots, sequence;
	int err = sample_variable();

	if (err != -EOPNOTSUPP)
		return err;
	err = sample_number(&boots, &sequence) ?: sample_record(boots, sequence) ?:
	      sample_trim(sequence);
	if (!err)
		sample_print(boots, sequence);
	return err;
}

static int sample_begin(void)
{
	int err = 0;

	mutex_lock(&sample_lock);
	if (sample_tree)
		goto out;
	sample_tree = crabtree_open_by_label(label);
	err = PTR_ERR_OR_ZERO(sample_tree) ?: sample_boot();
	if (!err)
		goto out;
	/* A tree that stays open without use would keep others from FORMAT */
	crabtree_close(sample_tree);
	sample_tree = NULL;
out:
	mutex_unlock(&sample_lock);
	return err;
}

/* @tree: of a store that goes, which may be another one; NULL: any */
static void sample_end(const struct crabtree *tree)
{
	mutex_lock(&sample_lock);
	if (!tree || tree == sample_tree) {
		crabtree_close(sample_tree);
		sample_tree = NULL;
	}
	mutex_unlock(&sample_lock);
}

static int sample_event(struct notifier_block *nb, unsigned long event, void *data)
{
	const struct crabtree_identity *identity = data;
	int err = 0;

	if (event == CRABTREE_GOING)
		sample_end(identity->tree);
	else if (event == CRABTREE_CAME && !strcmp(identity->label, label))
		err = sample_begin();
	if (err)
		pr_err("cannot record in the store \"%s\": error %d\n", label, err);
	return NOTIFY_OK;
}

static struct notifier_block sample_nb = {
	.notifier_call	= sample_event,
};

static int __init sample_init(void)
{
	int err = crabtree_register_notifier(&sample_nb);

	if (err)
		return err;
	err = sample_begin();
	if (err == -EPROBE_DEFER) {
		pr_info("waiting for a store with the label \"%s\"\n", label);
		return 0;
	}
	if (err) {
		crabtree_unregister_notifier(&sample_nb);
		sample_end(NULL);
	}
	return err;
}

static void __exit sample_exit(void)
{
	crabtree_unregister_notifier(&sample_nb);
	sample_end(NULL);
}

module_init(sample_init);
module_exit(sample_exit);

MODULE_DESCRIPTION("Sample user of crabtree: boot counter and event recorder");
MODULE_AUTHOR("The crabtree authors");
MODULE_LICENSE("GPL");
CRAB_IMPORT_NS();

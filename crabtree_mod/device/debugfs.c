// SPDX-License-Identifier: GPL-2.0
/*
 * This file shows the research counters of a store in /sys/kernel/debug/crabtree/crabN:
 * "counters" and "options", one "name value" a line. They are no stable interface;
 * sysfs.c has the attributes that are.
 *
 * Invariant: a directory is removed before its store is detached for good. Reading a
 * file changes nothing and returns ENODATA while there is no store.
 *
 * No lock of its own. Without CONFIG_DEBUG_FS every call here does nothing.
 */
#include <linux/debugfs.h>
#include <linux/device.h>
#include <linux/kernel.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/string.h>

#include "device.h"

static struct dentry *crab_debugfs;

struct debugfs_counter {
	const char *name;
	size_t offset;		/* in struct crab_store_info */
};

#define COUNTER(name, field)	{ name, offsetof(struct crab_store_info, field) }

static const struct debugfs_counter debugfs_counters[] = {
	COUNTER("lines", counts.lines),
	COUNTER("fences", counts.fences),
	COUNTER("orders", counts.orders),
	COUNTER("prepare_lines", prepare_lines),
	COUNTER("prepare_fences", prepare_fences),
	COUNTER("lines_bound", stats.lines_bound),
	COUNTER("splits", stats.splits),
	COUNTER("unlinks", stats.unlinks),
};

static void print_counters(struct seq_file *file, const struct crab_store_info *store)
{
	const struct debugfs_counter *c;
	const char *at;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(debugfs_counters); i++) {
		c = &debugfs_counters[i];
		at = (const char *)store + c->offset;
		seq_printf(file, "%s %llu\n", c->name, *(const u64 *)at);
	}
	for (i = 0; store->counters && store->counters[i]; i++)
		seq_printf(file, "%s %llu\n", store->counters[i], store->counts.own[i]);
}

static void print_options(struct seq_file *file, const struct crab_store_info *store)
{
	const char *c;

	for (c = store->options; *c; c++)
		seq_putc(file, *c == '=' ? ' ' : *c == ' ' ? '\n' : *c);
	if (store->options[0])
		seq_putc(file, '\n');
}

static int print(struct seq_file *file, void (*store)(struct seq_file *file,
						      const struct crab_store_info *store))
{
	struct crab_device_info *info = kmalloc(sizeof(*info), GFP_KERNEL);
	int err = -ENODATA;

	if (!info)
		return -ENOMEM;
	crab_device_info(file->private, info);
	if (info->serving) {
		store(file, &info->store);
		err = 0;
	}
	kfree(info);
	return err;
}

static int counters_show(struct seq_file *file, void *unused)
{
	return print(file, print_counters);
}
DEFINE_SHOW_ATTRIBUTE(counters);

static int options_show(struct seq_file *file, void *unused)
{
	return print(file, print_options);
}
DEFINE_SHOW_ATTRIBUTE(options);

void crab_debugfs_init(void)
{
	crab_debugfs = debugfs_create_dir("crabtree", NULL);
}

void crab_debugfs_exit(void)
{
	debugfs_remove(crab_debugfs);
}

void crab_debugfs_add(struct crab_device *device)
{
	device->debugfs = debugfs_create_dir(dev_name(&device->dev), crab_debugfs);
	debugfs_create_file("counters", 0400, device->debugfs, device, &counters_fops);
	debugfs_create_file("options", 0400, device->debugfs, device, &options_fops);
}

void crab_debugfs_remove(struct crab_device *device)
{
	debugfs_remove(device->debugfs);
	device->debugfs = NULL;
}

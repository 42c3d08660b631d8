// SPDX-License-Identifier: GPL-2.0
/*
 * This file loads and unloads the module and defines its parameters. Some of them
 * name regions: crab_parameters[] lists these. The other
 * parameters choose how stores are attached.
 *
 * Invariant: a parameter that cannot be obeyed in full fails the load, and no region
 * stays claimed. If the module is built into the kernel, it cannot be loaded again: a
 * region that cannot be claimed is logged and left out, and the others are served.
 */
#define pr_fmt(fmt) "crabtree: " fmt

#include <linux/limits.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/string.h>

#include "device/device.h"
#include "device/devices.h"
#include "engines/engine.h"
#include "media/persist.h"
#include "region/provider.h"

#define CRAB_VERSION	"0.1.0"

static char *ram;
module_param(ram, charp, 0444);
MODULE_PARM_DESC(ram, "Volatile regions: SIZE[,cache][,SIZE...], e.g. 16M");

/* Hardware parameter: refused under lockdown. Only root may read physical addresses */
static char *region;
module_param_hw(region, charp, iomem, 0400);
MODULE_PARM_DESC(region, "Physical regions that are not System RAM: START,SIZE[,cache][,START,SIZE...] or SIZE@START");

static char *reserve;
module_param(reserve, charp, 0444);
MODULE_PARM_DESC(reserve, "Memory that reserve_mem= names: NAME[,OFFSET,SIZE][,cache][,NAME...]");

static char *pmem;
module_param(pmem, charp, 0444);
MODULE_PARM_DESC(pmem, "Persistent-memory block devices: PATH[,OFFSET,SIZE][,PATH...], e.g. /dev/pmem0");

#ifdef CONFIG_UML
static char *uml;
module_param(uml, charp, 0444);
MODULE_PARM_DESC(uml, "Files of the host: PATH[,PATH...]");
#endif

module_param_named(readonly, crab_region_readonly, bool, 0444);
MODULE_PARM_DESC(readonly, "Write nothing to any region");

module_param_named(snapshot_bytes, crab_snapshot_bytes, ullong, 0444);
MODULE_PARM_DESC(snapshot_bytes, "Memory for the snapshots of a store, in bytes");

/* Options of the engines, by name. They are parsed before any store is attached. */
static int option_set(const char *text, const struct kernel_param *kp)
{
	const struct crab_option *option;
	const char * const *word;
	char words[64];
	int at = 0, err;
	void *values;

	option = crab_option_find(kp->arg, &values);
	if (!option)
		return -ENOENT;
	err = crab_option_set(option, values, text ?: "1");
	if (!err || !option->words)
		return err;
	for (word = option->words; *word; word++)
		at += scnprintf(words + at, sizeof(words) - at, "%s%s", at ? ", " : "", *word);
	pr_err("%s=%s: not one of %s\n", option->name, text, words);
	return err;
}

static int option_get(char *buf, const struct kernel_param *kp)
{
	const struct crab_option *option;
	void *values;
	int len;

	option = crab_option_find(kp->arg, &values);
	if (!option)
		return -ENOENT;
	len = crab_option_print(option, values, buf, PAGE_SIZE - 1);
	return len + scnprintf(buf + len, PAGE_SIZE - len, "\n");
}

static const struct kernel_param_ops option_ops = {
	.set	= option_set,
	.get	= option_get,
};

static const struct kernel_param_ops option_flag_ops = {
	.flags	= KERNEL_PARAM_OPS_FL_NOARG,
	.set	= option_set,
	.get	= option_get,
};

#define CRAB_OPTION_PARAM(name, ops, desc)		\
	module_param_cb(name, ops, #name, 0444);	\
	MODULE_PARM_DESC(name, desc)

CRAB_OPTION_PARAM(strategy, &option_ops,
		  "Writes to sorted leaves: auto, sip (shift in place) or cow (copy on write)");
CRAB_OPTION_PARAM(on_demand, &option_flag_ops, "Sorted leaves: allocate by a bitmap on the media");
CRAB_OPTION_PARAM(probe, &option_flag_ops,
		  "Sorted leaves: copy for a key that is not above the middle one");
CRAB_OPTION_PARAM(pair, &option_ops,
		  "Sorted leaves: store 16 bytes at once where the CPU can: 1, 0, or -1 (if that is cheaper)");
CRAB_OPTION_PARAM(cost_round, &option_ops,
		  "Picoseconds to clean a line and fence; 0: measured for the first sorted store");
CRAB_OPTION_PARAM(cost_line, &option_ops,
		  "Picoseconds for a line more before the same fence; 0: measured");
CRAB_OPTION_PARAM(cost_order, &option_ops, "Picoseconds to keep two stores in order; 0: measured");
CRAB_OPTION_PARAM(cost_record, &option_ops, "Picoseconds to copy a record; 0: measured");
CRAB_OPTION_PARAM(cost_pair, &option_ops, "Picoseconds to store 16 bytes at once; 0: measured");
CRAB_OPTION_PARAM(pack, &option_ops,
		  "nvtree: leaves below each parent node after a rebuild; 0: chosen by the inserts");
CRAB_OPTION_PARAM(pairs, &option_flag_ops, "nvtree: updates append the negative of the old record");
CRAB_OPTION_PARAM(binary, &option_flag_ops, "fastfair: search a node by halves, not slot by slot");
CRAB_OPTION_PARAM(leaf_locks, &option_flag_ops, "fastfair: reads lock the leaf");

static const struct {
	const char *provider;
	char **value;
} crab_parameters[] = {
	{ "ram", &ram },
	{ "region", &region },
	{ "reserve", &reserve },
	{ "pmem", &pmem },
#ifdef CONFIG_UML
	{ "uml", &uml },
#endif
};

/* All regions of one parameter, or an error */
static int __init crab_add_regions(const char *name, const char *value)
{
	int err = crab_provider_add(crab_provider_find(name, strlen(name)), value, UINT_MAX,
				    &crab_device_events);

	/* Programs that load modules call -ENOENT an unknown symbol */
	if (err == -ENOENT)
		err = -ENODEV;
	return __is_defined(MODULE) ? err : 0;
}

static int __init crab_add_all(void)
{
	unsigned int i;
	int err = 0;

	for (i = 0; i < ARRAY_SIZE(crab_parameters) && !err; i++)
		if (*crab_parameters[i].value)
			err = crab_add_regions(crab_parameters[i].provider,
					       *crab_parameters[i].value);
	return err;
}

/* No provider adds regions any more. Waits for a region that its provider is removing */
static void crab_end(void)
{
	crab_devices_remove();
	crab_region_dax_exit();
	crab_devices_exit();
}

/* Register for events, then publish the devices: after that, no step of the load can fail */
static int crab_begin(void)
{
	int err = crab_region_of_register(&crab_device_events);

	if (err)
		return err;
	err = crab_devices_publish();
	if (err)
		crab_region_of_unregister();
	return err;
}

/* Hibernation and shutdown are heard before the first store is attached */
static int __init crab_serve(void)
{
	int err = crab_power_init();

	if (err)
		return err;
	err = crab_add_all();
	if (!err)
		err = crab_begin();
	if (err)
		crab_power_exit();
	return err;
}

static int __init crab_init(void)
{
	int err = crab_persist_init();

	if (err) {
		pr_err("this CPU cannot clean a cache line\n");
		return err;
	}
	err = crab_devices_init(crab_region_readonly);
	if (err)
		return err;
	err = crab_serve();
	if (err)
		crab_end();
	else
		pr_info("version %s, cleans by %s\n", CRAB_VERSION, crab_persist_method());
	return err;
}

static void __exit crab_exit(void)
{
	crab_region_of_unregister();
	crab_power_exit();
	crab_end();
}

module_init(crab_init);
module_exit(crab_exit);

MODULE_DESCRIPTION("Ordered index in persistent memory");
MODULE_AUTHOR("The crabtree authors");
MODULE_LICENSE("GPL");
MODULE_VERSION(CRAB_VERSION);

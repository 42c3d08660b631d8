// SPDX-License-Identifier: GPL-2.0
/*
 * This file concludes causes from the state of a machine and of a store. It reads /sys, /proc,
 * /dev and /lib/modules and changes nothing.
 */
#include "doctor.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

const struct cause causes[CAUSES] = {
#define CAUSE(name, ...) [CAUSE_##name] = { #name, __VA_ARGS__ },
#include "causes.h"
#undef CAUSE
};

static void add(struct findings *findings, enum cause_id id)
{
	findings->found[id] = true;
}

static bool exists(const char *pattern)
{
	glob_t found;
	bool any;

	sysfs_glob(pattern, &found);
	any = found.gl_pathc;
	globfree(&found);
	return any;
}

/* DKMS installs below updates/, distributions below extra/ or kernel/ */
static bool installed(const char *release)
{
	static const char * const folders[] = { "*", "*/*", "*/*/*", "*/*/*/*" };
	char pattern[SYSFS_TEXT + 64];
	size_t i;

	for (i = 0; i < sizeof(folders) / sizeof(folders[0]); i++) {
		snprintf(pattern, sizeof(pattern), "/lib/modules/%s/%s/crabtree.ko*", release,
			 folders[i]);
		if (exists(pattern))
			return true;
	}
	return false;
}

static enum cause_id find_module(void)
{
	char text[SYSFS_TEXT];

	if (sysfs_line("/proc/sys/kernel/arch", text, sizeof(text)) &&
	    strcmp(text, "x86_64") && strcmp(text, "aarch64"))
		return CAUSE_wrong_architecture;
	if (exists("/sys/module/crabtree"))
		return CAUSE_no_region;
	sysfs_line("/proc/sys/kernel/osrelease", text, sizeof(text));
	if (installed(text))
		return CAUSE_module_not_loaded;
	return installed("*") ? CAUSE_wrong_kernel : CAUSE_module_missing;
}

void find_machine(struct findings *findings)
{
	enum cause_id id = find_module();
	char text[SYSFS_TEXT];

	add(findings, id);
	if (id != CAUSE_no_region && id != CAUSE_module_not_loaded)
		return;
	sysfs_line("/sys/kernel/security/lockdown", text, sizeof(text));
	if (strchr(text, '[') && !strstr(text, "[none]"))
		add(findings, CAUSE_lockdown);
}

/* The first line of causes.h whose reason begins the module's; a state that nothing explains */
static void find_reason(struct patient *patient)
{
	uint32_t state = patient->info.state;
	size_t i;

	for (i = 0; i < CAUSES; i++) {
		if (causes[i].reason[0] && !strncmp(patient->info.reason, causes[i].reason,
						    strlen(causes[i].reason))) {
			add(&patient->findings, i);
			return;
		}
	}
	if (state == CRABTREE_STATE_REJECTED || state == CRABTREE_STATE_READONLY)
		add(&patient->findings, CAUSE_other_reason);
}

static void find_durability(struct patient *patient)
{
	static const enum cause_id classes[] = {
		[CRABTREE_DURABILITY_NONE]	= CAUSE_class_none,
		[CRABTREE_DURABILITY_UNPROVEN]	= CAUSE_class_unproven,
		[CRABTREE_DURABILITY_POC]	= CAUSE_class_poc,
		[CRABTREE_DURABILITY_POP]	= CAUSES,
		[CRABTREE_DURABILITY_PODP]	= CAUSES,
		[CRABTREE_DURABILITY_CACHE]	= CAUSE_class_cache,
	};
	uint32_t class = patient->info.durability;

	if (!patient->image && class < sizeof(classes) / sizeof(classes[0]) &&
	    classes[class] != CAUSES)
		add(&patient->findings, classes[class]);
	if (patient->info.keeps == CRABTREE_KEEPS_UNPROVEN)
		add(&patient->findings, CAUSE_model_unproven);
}

/* Leaves that a store of blobs takes at once for values: a 32nd of them, 4 KiB to 128 KiB */
static uint64_t slab_leaves(const struct crabtree_info *info)
{
	uint64_t bytes = info->leaves * info->leaf_bytes / 32;

	if (bytes < 4096)
		bytes = 4096;
	else if (bytes > 131072)
		bytes = 131072;
	return info->leaf_bytes ? bytes / info->leaf_bytes : 0;
}

/* Two leaves are kept for splits; four while values need some */
static bool is_full(const struct crabtree_info *info)
{
	bool blobs = info->feature_incompat & CRABTREE_INCOMPAT_BLOBS;
	uint64_t kept = blobs ? 4 + slab_leaves(info) : 2;

	return info->leaves_used + kept >= info->leaves;
}

static void find_fill(struct patient *patient)
{
	const struct crabtree_info *info = &patient->info;

	if (info->leaves_bad)
		add(&patient->findings, CAUSE_quarantine);
	if (is_full(info))
		add(&patient->findings, CAUSE_full);
	else if (info->leaves_used > info->leaves / 10 * 9)
		add(&patient->findings, CAUSE_nearly_full);
	if (info->repairs)
		add(&patient->findings, CAUSE_repaired);
}

void find_store(struct patient *patient)
{
	uint32_t state = patient->info.state;

	find_reason(patient);
	if (state != CRABTREE_STATE_READY && state != CRABTREE_STATE_READONLY)
		return;
	find_fill(patient);
	find_durability(patient);
	if (patient->supers == 1)
		add(&patient->findings, CAUSE_one_superblock);
	if (!patient->detached)
		add(&patient->findings, CAUSE_not_detached);
}

static void read_uuid(const char *device, char *uuid, size_t len)
{
	sysfs_text(device, "uuid", uuid, len);
}

/* Does @read return @text of another device, too? */
static bool is_shared(const char *device, const char *text,
		      void (*read)(const char *device, char *text, size_t len))
{
	char other[SYSFS_TEXT];
	const char *name;
	bool shared = false;
	glob_t found;
	size_t i;

	sysfs_glob("/sys/class/crabtree/crab[0-9]*", &found);
	for (i = 0; i < found.gl_pathc; i++) {
		name = strrchr(found.gl_pathv[i], '/') + 1;
		read(name, other, sizeof(other));
		shared |= strcmp(name, device) && !strcmp(other, text);
	}
	globfree(&found);
	return shared;
}

/* Without a store there is no uuid, or one of zeros */
static void find_twice(struct patient *patient, const char *device)
{
	char uuid[SYSFS_TEXT];

	if (patient->info.state != CRABTREE_STATE_READY && patient->info.state != CRABTREE_STATE_READONLY)
		return;
	read_uuid(device, uuid, sizeof(uuid));
	if (patient->info.label[0] && is_shared(device, patient->info.label, sysfs_label))
		add(&patient->findings, CAUSE_label_twice);
	if (uuid[0] && is_shared(device, uuid, read_uuid))
		add(&patient->findings, CAUSE_uuid_twice);
}

void find_node(struct patient *patient, const char *device)
{
	struct crabtree *ct;
	int err = 0;

	if (!exists(patient->path))
		add(&patient->findings, CAUSE_node_missing);
	else
		err = crabtree_open(&ct, patient->path, CRABTREE_OPEN_READONLY);
	if (err == -EACCES || err == -EPERM)
		add(&patient->findings, CAUSE_no_permission);
	else if (!err && exists(patient->path))
		crabtree_close(ct);
	find_twice(patient, device);
}

/* memmap=SIZE!START declares any DRAM as persistent */
static bool pmem_is_declared(void)
{
	char text[4096], *at;

	sysfs_line("/proc/cmdline", text, sizeof(text));
	at = strstr(text, "memmap=");
	return at && memchr(at, '!', strcspn(at, " "));
}

/* The module cannot know whether memory keeps its content, unless the pmem driver declares it */
static struct safety safety_of_clean(const struct patient *patient)
{
	bool keeps = !strcmp(patient->provider, "dax") && !pmem_is_declared();
	const char *reset = keeps ? "yes" : "ask";

	if (patient->info.durability == CRABTREE_DURABILITY_POC)
		return (struct safety){ reset, "ask",
			"is there a buffer between coherency and the memory?" };
	if (patient->info.durability == CRABTREE_DURABILITY_CACHE)
		return (struct safety){ reset, "ask", "does a battery cover the caches?" };
	if (patient->info.keeps == CRABTREE_KEEPS_UNPROVEN)
		return (struct safety){ reset, "ask", "does the hardware keep the media model?" };
	if (keeps)
		return (struct safety){ "yes", "yes", "as the pmem driver declares" };
	return (struct safety){ "ask", "ask",
		"does the memory keep its content, and does the firmware leave it alone?" };
}

struct safety safety_of(const struct patient *patient)
{
	if (patient->image)
		return (struct safety){ "yes", "yes", "as a file, after crabctl ended" };
	switch (patient->info.durability) {
	case CRABTREE_DURABILITY_NONE:
		return (struct safety){ "no", "no", "volatile" };
	case CRABTREE_DURABILITY_UNPROVEN:
		return (struct safety){ "ask", "ask", "read-only: attach it for writing once" };
	default:
		return safety_of_clean(patient);
	}
}

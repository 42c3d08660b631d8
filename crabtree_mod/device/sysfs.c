// SPDX-License-Identifier: GPL-2.0
/*
 * This file shows a device in /sys/class/crabtree/crabN, one value a file. The
 * attributes are documented in Documentation/ABI/testing/sysfs-class-crabtree;
 * research counters are in debugfs.c.
 *
 * Invariant: reading changes nothing. The attributes of a store return ENODATA
 * while there is none.
 *
 * No lock of its own.
 */
#include <linux/device.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "device.h"

static struct crab_device *to_crab(struct device *dev)
{
	return container_of(dev, struct crab_device, dev);
}

static const char *durability_name(enum crab_durability durability)
{
	static const char * const names[] = {
		[CRAB_DURABILITY_NONE]		= "none",
		[CRAB_DURABILITY_UNPROVEN]	= "unproven",
		[CRAB_DURABILITY_POC]		= "poc",
		[CRAB_DURABILITY_POP]		= "pop",
		[CRAB_DURABILITY_PODP]		= "podp",
		[CRAB_DURABILITY_CACHE]		= "cache",
	};

	return names[durability];
}

static const char *model_name(enum crab_model model)
{
	static const char * const names[] = {
		[CRAB_MODEL_NONE]	= "none",
		[CRAB_MODEL_WORD]	= "word",
		[CRAB_MODEL_LINE]	= "line",
		[CRAB_MODEL_CACHE]	= "cache",
		[CRAB_MODEL_WHOLE_LINE]	= "whole-line",
	};

	return names[model];
}

static const char *keeps_name(enum crab_keeps keeps)
{
	return keeps == CRAB_KEEPS_YES ? "yes" : "unproven";
}

enum sysfs_kind {
	SYSFS_STATE,
	SYSFS_DURABILITY,
	SYSFS_MODEL,
	SYSFS_KEEPS,
	SYSFS_METHOD,		/* of cleaning: of the CPU */
	SYSFS_TEXT,		/* an array of characters */
	SYSFS_WORD,		/* a pointer to them */
	SYSFS_LABEL,		/* an array with any byte in it */
	SYSFS_UUID,
	SYSFS_U32,
	SYSFS_U64,
	SYSFS_MASK,		/* u64, hexadecimal */
};

/* @offset: of the value in struct crab_device_info; from @store on, it needs a store */
struct sysfs_value {
	struct device_attribute attr;
	enum sysfs_kind kind;
	size_t offset;
};

static ssize_t value_emit(char *buf, enum sysfs_kind kind, const void *at)
{
	switch (kind) {
	case SYSFS_STATE:
		return sysfs_emit(buf, "%s\n", crab_device_state_name(*(const u32 *)at));
	case SYSFS_DURABILITY:
		return sysfs_emit(buf, "%s\n", durability_name(*(const u32 *)at));
	case SYSFS_MODEL:
		return sysfs_emit(buf, "%s\n", model_name(*(const u32 *)at));
	case SYSFS_KEEPS:
		return sysfs_emit(buf, "%s\n", keeps_name(*(const u32 *)at));
	case SYSFS_METHOD:
		return sysfs_emit(buf, "%s\n", crab_persist_method());
	case SYSFS_TEXT:
		return sysfs_emit(buf, "%s\n", (const char *)at);
	case SYSFS_WORD:
		return sysfs_emit(buf, "%s\n", *(const char * const *)at);
	case SYSFS_LABEL:
		return sysfs_emit(buf, "%*pE\n", (int)strlen(at), (const char *)at);
	case SYSFS_UUID:
		return sysfs_emit(buf, "%pUb\n", at);
	case SYSFS_U32:
		return sysfs_emit(buf, "%u\n", *(const u32 *)at);
	case SYSFS_U64:
		return sysfs_emit(buf, "%llu\n", *(const u64 *)at);
	case SYSFS_MASK:
		return sysfs_emit(buf, "%#llx\n", *(const u64 *)at);
	}
	return -EINVAL;
}

static ssize_t value_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct sysfs_value *value = container_of(attr, struct sysfs_value, attr);
	struct crab_device_info info;

	crab_device_info(to_crab(dev), &info);
	if (value->offset >= offsetof(struct crab_device_info, store) && !info.serving)
		return -ENODATA;
	return value_emit(buf, value->kind, (const char *)&info + value->offset);
}

#define VALUE_MODE(_name, _mode, _kind, _field)					\
	{									\
		.attr	= __ATTR(_name, _mode, value_show, NULL),		\
		.kind	= SYSFS_##_kind,					\
		.offset	= offsetof(struct crab_device_info, _field),		\
	}

#define VALUE(name, kind, field)	VALUE_MODE(name, 0444, kind, field)

static struct sysfs_value sysfs_values[] = {
	VALUE(state, STATE, state),
	VALUE(reason, TEXT, reason),
	VALUE(durability, DURABILITY, durability),
	VALUE(clean_method, METHOD, durability),
	VALUE_MODE(region, 0400, TEXT, region),		/* a physical address, or a path */
	VALUE(provider, WORD, provider),
	VALUE(region_bytes, U64, region_bytes),
	VALUE(uuid, UUID, store.super.uuid),
	VALUE(label, LABEL, store.super.label),
	VALUE(engine, WORD, store.engine),
	VALUE(layout, WORD, store.layout),
	VALUE(model, MODEL, store.needs),
	VALUE(model_kept, KEEPS, store.keeps),
	VALUE(version, U32, store.super.version),
	VALUE(leaf_bytes, U32, store.super.leaf_bytes),
	VALUE(feature_compat, MASK, store.super.feature_compat),
	VALUE(feature_ro_compat, MASK, store.super.feature_ro_compat),
	VALUE(feature_incompat, MASK, store.super.feature_incompat),
	VALUE(attach_ns, U64, store.attach_ns),
	VALUE(capacity, U64, store.stats.capacity),
	VALUE(deletes, U64, store.counts.deletes),
	VALUE(dram_bytes, U64, store.stats.dram_bytes),
	VALUE(inserts, U64, store.counts.inserts),
	VALUE(leaves, U64, store.super.leaves),
	VALUE(leaves_bad, U64, store.stats.leaves_bad),
	VALUE(leaves_used, U64, store.stats.leaves_used),
	VALUE(records, U64, store.stats.records),
	VALUE(repairs, U64, store.stats.repairs),
	VALUE(searches, U64, store.counts.searches),
	VALUE(updates, U64, store.counts.updates),
};

static struct attribute *crab_device_attrs[ARRAY_SIZE(sysfs_values) + 1];

void crab_sysfs_init(void)
{
	u32 i;

	for (i = 0; i < ARRAY_SIZE(sysfs_values); i++)
		crab_device_attrs[i] = &sysfs_values[i].attr.attr;
}

static const struct attribute_group crab_device_group = {
	.attrs = crab_device_attrs,
};

const struct attribute_group *crab_device_groups[] = {
	&crab_device_group,
	NULL
};

// SPDX-License-Identifier: GPL-2.0
/*
 * This file shows a device in /sys/class/crabtree/crabN, one value a file;
 * Documentation/ABI/testing/sysfs-class-crabtree tells each.
 *
 * Invariant: reading changes nothing. What belongs to a store reads as ENODATA
 * while there is none.
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

/* A number of the store: where in struct crab_device_info it stands */
struct sysfs_number {
	struct device_attribute attr;
	size_t offset;
};

static ssize_t number_show(struct device *dev, struct device_attribute *attr, char *buf)
{
	struct sysfs_number *number = container_of(attr, struct sysfs_number, attr);
	struct crab_device_info info;

	crab_device_info(to_crab(dev), &info);
	if (!info.serving)
		return -ENODATA;
	return sysfs_emit(buf, "%llu\n", *(u64 *)((char *)&info + number->offset));
}

#define SYSFS_NUMBER(_name, _field)						\
static_assert(sizeof_field(struct crab_device_info, _field) == sizeof(u64));	\
static struct sysfs_number number_##_name = {					\
	.attr	= __ATTR(_name, 0444, number_show, NULL),			\
	.offset	= offsetof(struct crab_device_info, _field),			\
}

SYSFS_NUMBER(attach_ns, store.attach_ns);
SYSFS_NUMBER(capacity, store.stats.capacity);
SYSFS_NUMBER(cow_fences, store.counts.cow_fences);
SYSFS_NUMBER(cow_lines, store.counts.cow_lines);
SYSFS_NUMBER(cows, store.counts.cows);
SYSFS_NUMBER(deletes, store.counts.deletes);
SYSFS_NUMBER(dram_bytes, store.stats.dram_bytes);
SYSFS_NUMBER(fences, store.counts.fences);
SYSFS_NUMBER(inserts, store.counts.inserts);
SYSFS_NUMBER(leaves, store.super.leaves);
SYSFS_NUMBER(leaves_bad, store.stats.leaves_bad);
SYSFS_NUMBER(leaves_used, store.stats.leaves_used);
SYSFS_NUMBER(lines_bound, store.stats.lines_bound);
SYSFS_NUMBER(lines, store.counts.lines);
SYSFS_NUMBER(orders, store.counts.orders);
SYSFS_NUMBER(prepare_fences, store.prepare_fences);
SYSFS_NUMBER(prepare_lines, store.prepare_lines);
SYSFS_NUMBER(records, store.stats.records);
SYSFS_NUMBER(repairs, store.stats.repairs);
SYSFS_NUMBER(searches, store.counts.searches);
SYSFS_NUMBER(sip_fences, store.counts.sip_fences);
SYSFS_NUMBER(sip_lines, store.counts.sip_lines);
SYSFS_NUMBER(sips, store.counts.sips);
SYSFS_NUMBER(splits, store.stats.splits);
SYSFS_NUMBER(unlinks, store.stats.unlinks);
SYSFS_NUMBER(updates, store.counts.updates);

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
	};

	return names[model];
}

/* A value in words: @_format and what follows it, with @info filled */
#define SYSFS_WORD_MODE(_name, _mode, _store, _format, ...)			\
static ssize_t _name##_show(struct device *dev, struct device_attribute *attr,	\
			    char *buf)						\
{										\
	struct crab_device_info info;						\
										\
	crab_device_info(to_crab(dev), &info);					\
	if ((_store) && !info.serving)						\
		return -ENODATA;						\
	return sysfs_emit(buf, _format "\n", __VA_ARGS__);			\
}										\
static DEVICE_ATTR(_name, _mode, _name##_show, NULL)

#define SYSFS_WORD(_name, ...)	SYSFS_WORD_MODE(_name, 0444, ##__VA_ARGS__)

#define OF_DEVICE	false
#define OF_STORE	true

SYSFS_WORD(state, OF_DEVICE, "%s", crab_device_state_name(info.state));
SYSFS_WORD(reason, OF_DEVICE, "%s", info.reason);
SYSFS_WORD(durability, OF_DEVICE, "%s", durability_name(info.durability));
SYSFS_WORD(clean_method, OF_DEVICE, "%s", crab_persist_method());
/* A physical address, or a path */
SYSFS_WORD_MODE(region, 0400, OF_DEVICE, "%s", info.region);
SYSFS_WORD(provider, OF_DEVICE, "%s", info.provider);
SYSFS_WORD(region_bytes, OF_DEVICE, "%llu", info.region_bytes);
SYSFS_WORD(uuid, OF_STORE, "%pUb", info.store.super.uuid);
SYSFS_WORD(label, OF_STORE, "%*pE", (int)strlen(info.store.super.label), info.store.super.label);
SYSFS_WORD(engine, OF_STORE, "%s", info.store.engine);
SYSFS_WORD(layout, OF_STORE, "%s", info.store.layout);
SYSFS_WORD(model, OF_STORE, "%s", model_name(info.store.needs));
SYSFS_WORD(strategy, OF_STORE, "%s", crab_strategy_name(info.store.tuning.strategy));
SYSFS_WORD(on_demand, OF_STORE, "%d", info.store.tuning.on_demand);
SYSFS_WORD(probe, OF_STORE, "%d", info.store.tuning.probe);
SYSFS_WORD(pair, OF_STORE, "%d", info.store.tuning.pair);
SYSFS_WORD(version, OF_STORE, "%u", info.store.super.version);
SYSFS_WORD(leaf_bytes, OF_STORE, "%u", info.store.super.leaf_bytes);
SYSFS_WORD(feature_compat, OF_STORE, "%#llx", info.store.super.feature_compat);
SYSFS_WORD(feature_ro_compat, OF_STORE, "%#llx", info.store.super.feature_ro_compat);
SYSFS_WORD(feature_incompat, OF_STORE, "%#llx", info.store.super.feature_incompat);

static struct attribute *crab_device_attrs[] = {
	&dev_attr_state.attr,
	&dev_attr_reason.attr,
	&dev_attr_durability.attr,
	&dev_attr_clean_method.attr,
	&dev_attr_region.attr,
	&dev_attr_provider.attr,
	&dev_attr_region_bytes.attr,
	&dev_attr_uuid.attr,
	&dev_attr_label.attr,
	&dev_attr_engine.attr,
	&dev_attr_layout.attr,
	&dev_attr_model.attr,
	&dev_attr_strategy.attr,
	&dev_attr_on_demand.attr,
	&dev_attr_probe.attr,
	&dev_attr_pair.attr,
	&dev_attr_version.attr,
	&dev_attr_leaf_bytes.attr,
	&dev_attr_feature_compat.attr,
	&dev_attr_feature_ro_compat.attr,
	&dev_attr_feature_incompat.attr,
	&number_attach_ns.attr.attr,
	&number_capacity.attr.attr,
	&number_cow_fences.attr.attr,
	&number_cow_lines.attr.attr,
	&number_cows.attr.attr,
	&number_deletes.attr.attr,
	&number_dram_bytes.attr.attr,
	&number_fences.attr.attr,
	&number_inserts.attr.attr,
	&number_leaves.attr.attr,
	&number_leaves_bad.attr.attr,
	&number_leaves_used.attr.attr,
	&number_lines.attr.attr,
	&number_lines_bound.attr.attr,
	&number_orders.attr.attr,
	&number_prepare_fences.attr.attr,
	&number_prepare_lines.attr.attr,
	&number_records.attr.attr,
	&number_repairs.attr.attr,
	&number_searches.attr.attr,
	&number_sip_fences.attr.attr,
	&number_sip_lines.attr.attr,
	&number_sips.attr.attr,
	&number_splits.attr.attr,
	&number_unlinks.attr.attr,
	&number_updates.attr.attr,
	NULL
};

static const struct attribute_group crab_device_group = {
	.attrs = crab_device_attrs,
};

const struct attribute_group *crab_device_groups[] = {
	&crab_device_group,
	NULL
};

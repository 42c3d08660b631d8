// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests that INFO has each number of a store in the field of its name. Every number of the
 * store differs from all others, so that none of them can stand in for another one.
 */
#include <linux/kernel.h>
#include <linux/string.h>

#include <device/verbs.h>

#include "library.h"

#define FIELD(_field, _source)								\
	{										\
		#_field, offsetof(struct crabtree_info, _field),			\
		sizeof_field(struct crabtree_info, _field),				\
		offsetof(struct crab_device_info, _source),				\
		sizeof_field(struct crab_device_info, _source),				\
	}

static const struct {
	const char *name;
	size_t at, size, from, from_size;
} fields[] = {
	FIELD(state, state), FIELD(durability, durability), FIELD(model, store.needs),
	FIELD(version, store.super.version), FIELD(region_bytes, region_bytes),
	FIELD(leaf_bytes, store.super.leaf_bytes), FIELD(leaves, store.super.leaves),
	FIELD(leaves_used, store.stats.leaves_used), FIELD(leaves_bad, store.stats.leaves_bad),
	FIELD(records, store.stats.records), FIELD(capacity, store.stats.capacity),
	FIELD(feature_compat, store.super.feature_compat),
	FIELD(feature_ro_compat, store.super.feature_ro_compat),
	FIELD(feature_incompat, store.super.feature_incompat),
	FIELD(dram_bytes, store.stats.dram_bytes), FIELD(attach_ns, store.attach_ns),
	FIELD(lines, store.counts.lines), FIELD(fences, store.counts.fences),
	FIELD(prepare_lines, store.prepare_lines), FIELD(prepare_fences, store.prepare_fences),
	FIELD(inserts, store.counts.inserts), FIELD(updates, store.counts.updates),
	FIELD(deletes, store.counts.deletes), FIELD(searches, store.counts.searches),
	FIELD(splits, store.stats.splits), FIELD(unlinks, store.stats.unlinks),
	FIELD(repairs, store.stats.repairs), FIELD(orders, store.counts.orders),
	FIELD(lines_bound, store.stats.lines_bound),
	FIELD(counters[0].value, store.counts.own[0]), FIELD(counters[1].value, store.counts.own[1]),
};

static struct crab_device_info from;
static struct crabtree_info info;

/* Little-endian: the host's */
static void ask(void)
{
	static const char * const counters[] = { "first", "second", NULL };
	size_t i;

	from.serving = true;
	from.store.engine = "";
	from.store.layout = "";
	from.store.counters = counters;
	for (i = 0; i < ARRAY_SIZE(fields); i++)
		memcpy((char *)&from + fields[i].from, &(u64){ 1000 + i }, fields[i].from_size);
	crab_verbs_info(&info, &from);
}

void test_info(void)
{
	u64 value;
	size_t i;

	ask();
	for (i = 0; i < ARRAY_SIZE(fields); i++) {
		value = 0;
		memcpy(&value, (char *)&info + fields[i].at, fields[i].size);
		tap_check(value == 1000 + i, "%s: %llu", fields[i].name, (unsigned long long)value);
	}
	tap_check(!strcmp(info.counters[1].name, "second"), "%s", info.counters[1].name);
	from.store.keeps = CRAB_KEEPS_UNPROVEN;
	crab_verbs_info(&info, &from);
	tap_check(info.keeps == CRABTREE_KEEPS_UNPROVEN, "%u", info.keeps);
	from.store.keeps = CRAB_KEEPS_YES;
	crab_verbs_info(&info, &from);
	tap_check(info.keeps == CRABTREE_KEEPS_YES, "%u", info.keeps);
	ok(true, "INFO has each number in the field of its name");
}

// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements `crabctl metrics`: state and counters of every device in Prometheus' text
 * format, for its textfile collector. A device that the user may not open has the values of
 * sysfs, which lack the lines and fences.
 *
 * Invariant: the samples of one metric are in one group, after its HELP and TYPE; a label of a
 * store may have any bytes, so that it is escaped.
 */
#include "crabctl.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sysfs.h"

#define PATTERN		"/sys/class/crabtree/crab[0-9]*"
#define LABEL_ROOM	(4 * CRABTREE_LABEL_LEN * 2)

struct sample {
	char device[32];
	char label[LABEL_ROOM];
	struct crabtree_info info;
	bool full;		/* from INFO, not from sysfs */
};

struct metric {
	const char *name;
	const char *help;
	size_t offset;		/* of a __u64 in struct crabtree_info */
	bool counter;
	bool info_only;
};

#define GAUGE(name, field, help) \
	{ name, help, offsetof(struct crabtree_info, field), false, false }
#define COUNTER(name, field, help, info_only) \
	{ name, help, offsetof(struct crabtree_info, field), true, info_only }

static const struct metric metrics[] = {
	GAUGE("region_bytes", region_bytes, "Size of the region."),
	GAUGE("leaves", leaves, "Leaves in the region."),
	GAUGE("leaves_used", leaves_used, "Leaves that hold records or values."),
	GAUGE("leaves_quarantined", leaves_bad, "Leaves that are damaged or cannot be read."),
	GAUGE("records", records, "Live records."),
	GAUGE("records_capacity", capacity, "Records that all leaves could hold; blobs and names need more room."),
	GAUGE("dram_bytes", dram_bytes, "Memory for descriptors and index."),
	GAUGE("repaired_slots", repairs, "Slots that the last attach repaired."),
	COUNTER("inserts_total", inserts, "New keys since attach.", false),
	COUNTER("updates_total", updates, "Values replaced since attach.", false),
	COUNTER("deletes_total", deletes, "Keys deleted since attach.", false),
	COUNTER("searches_total", searches, "Searches since attach.", false),
	COUNTER("splits_total", splits, "Leaves split since attach.", true),
	COUNTER("unlinks_total", unlinks, "Leaves unlinked since attach.", true),
	COUNTER("lines_total", lines, "Cache lines cleaned by operations since attach.", true),
	COUNTER("fences_total", fences, "Fences by operations since attach.", true),
	COUNTER("prepare_lines_total", prepare_lines, "Lines cleaned off the write path.", true),
	COUNTER("prepare_fences_total", prepare_fences, "Fences off the write path.", true),
};

/* The value of a label: quotes and backslashes are escaped, other bytes become \ooo */
static void escape(const char *from, size_t len, char *to)
{
	size_t i;

	for (i = 0; i < len && from[i]; i++) {
		if (from[i] == '"' || from[i] == '\\')
			to += sprintf(to, "\\%c", from[i]);
		else if (from[i] >= ' ' && from[i] < 127)
			*to++ = from[i];
		else
			to += sprintf(to, "\\\\%03o", (unsigned char)from[i]);
	}
	*to = '\0';
}

static bool read_sample(const char *device, struct sample *sample)
{
	sample->full = false;
	if (!store_info(device, &sample->info, &sample->full))
		return false;
	snprintf(sample->device, sizeof(sample->device), "%.31s", device);
	escape(sample->info.label, sizeof(sample->info.label), sample->label);
	return true;
}

static void head(const char *name, const char *help, bool counter)
{
	printf("# HELP crabtree_%s %s\n# TYPE crabtree_%s %s\n", name, help, name,
	       counter ? "counter" : "gauge");
}

static void print_metric(const struct metric *metric, const struct sample *samples, size_t count)
{
	size_t i;

	head(metric->name, metric->help, metric->counter);
	for (i = 0; i < count; i++) {
		if (metric->info_only && !samples[i].full)
			continue;
		printf("crabtree_%s{device=\"%s\",label=\"%s\"} %" PRIu64 "\n", metric->name,
		       samples[i].device, samples[i].label,
		       *(const uint64_t *)((const char *)&samples[i].info + metric->offset));
	}
}

static void print_states(const struct sample *samples, size_t count)
{
	uint32_t state;
	size_t i;

	head("state", "1 for the state of the device, 0 for the others.", false);
	for (i = 0; i < count; i++)
		for (state = 0; state <= CRABTREE_STATE_GONE; state++)
			printf("crabtree_state{device=\"%s\",label=\"%s\",state=\"%s\"} %d\n",
			       samples[i].device, samples[i].label, crabtree_state_name(state),
			       samples[i].info.state == state);
}

static void print_stores(const struct sample *samples, size_t count)
{
	const struct crabtree_info *info;
	char uuid[UUID_TEXT_LEN];
	size_t i;

	head("store_info", "Properties of the store as labels; the value is 1.", false);
	for (i = 0; i < count; i++) {
		info = &samples[i].info;
		uuid_text(info->uuid, uuid);
		printf("crabtree_store_info{device=\"%s\",label=\"%s\",uuid=\"%s\","
		       "engine=\"%.*s\",layout=\"%.*s\",durability=\"%s\",model=\"%s\"} 1\n",
		       samples[i].device, samples[i].label, uuid, CRABTREE_NAME_LEN, info->engine,
		       CRABTREE_NAME_LEN, info->layout, crabtree_durability_name(info->durability),
		       crabtree_model_name(info->model));
	}
}

static void print_attach(const struct sample *samples, size_t count)
{
	size_t i;

	head("attach_seconds", "Duration of the last attach.", false);
	for (i = 0; i < count; i++)
		printf("crabtree_attach_seconds{device=\"%s\",label=\"%s\"} %.9f\n",
		       samples[i].device, samples[i].label, samples[i].info.attach_ns / 1e9);
}

static void print_text(const struct sample *samples, size_t count)
{
	size_t i;

	print_states(samples, count);
	print_stores(samples, count);
	print_attach(samples, count);
	for (i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++)
		print_metric(&metrics[i], samples, count);
}

/* The object of INFO, without the fields that sysfs does not have */
static struct json_object *sample_json(const struct sample *sample)
{
	static const char * const absent[] = {
		"lines", "fences", "prepare_lines", "prepare_fences", "splits", "unlinks", "orders",
		"lines_bound", "counters", "options",
	};
	const struct target target = { .device = sample->device };
	struct json_object *json = info_json(&target, &sample->info);
	size_t i;

	for (i = 0; !sample->full && i < sizeof(absent) / sizeof(absent[0]); i++)
		json_object_object_del(json, absent[i]);
	return json;
}

static int print_json(const struct sample *samples, size_t count)
{
	struct json_object *rows = json_object_new_array();
	size_t i;

	for (i = 0; i < count; i++)
		json_object_array_add(rows, sample_json(&samples[i]));
	return json_print(rows);
}

int verb_metrics(struct target *target, int argc, char **argv)
{
	struct sample *samples;
	size_t i, count = 0;
	glob_t found;

	verb_parse_bare(target, "State and counters of all devices in Prometheus' text format.",
			argc, argv);
	if (target_no_option(target, "metrics"))
		return EXIT_USAGE;
	sysfs_glob(PATTERN, &found);
	samples = calloc(found.gl_pathc + 1, sizeof(*samples));
	for (i = 0; samples && i < found.gl_pathc; i++)
		count += read_sample(strrchr(found.gl_pathv[i], '/') + 1, &samples[count]);
	globfree(&found);
	if (target->json)
		print_json(samples, count);
	else
		print_text(samples, count);
	free(samples);
	return EXIT_OK;
}

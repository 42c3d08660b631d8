// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements `crabctl info`: the properties of a store, its durability,
 * and its counters since it was attached.
 */
#include "crabctl.h"
#include "item.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char * const durability_words[] = {
	[CRABTREE_DURABILITY_NONE]	= "none: volatile memory, or nothing is cleaned",
	[CRABTREE_DURABILITY_UNPROVEN]	=
		"not proven: read-only attach of a store that was not cleanly detached",
	[CRABTREE_DURABILITY_POC]	= "cleaned to the point of coherency",
	[CRABTREE_DURABILITY_POP]	= "cleaned to the point of persistence",
	[CRABTREE_DURABILITY_PODP]	= "cleaned to the point of deep persistence",
	[CRABTREE_DURABILITY_CACHE]	= "caches are persistent, only fences are needed",
};

static const char * const model_words[] = {
	[CRABTREE_MODEL_NONE]	= "none: the engine promises nothing",
	[CRABTREE_MODEL_WORD]	= "W: any subset of the words not yet fenced may be lost",
	[CRABTREE_MODEL_LINE]	=
		"needs hardware that persists stores to one line in order (model L); slotted does not",
	[CRABTREE_MODEL_CACHE]	= "needs persistent caches (model E)",
	[CRABTREE_MODEL_WHOLE_LINE] =
		"needs hardware that persists whole lines and their order (model A)",
};

static const char * const keeps_words[] = {
	[CRABTREE_KEEPS_UNKNOWN]	= "unknown",
	[CRABTREE_KEEPS_YES]		= "yes",
	[CRABTREE_KEEPS_UNPROVEN]	= "unproven",
};

#define WORDS(table, number) \
	((number) < sizeof(table) / sizeof((table)[0]) ? (table)[number] : "unknown")

static const char *durability_of(const struct target *target, const struct crabtree_info *info)
{
	if (target->image && info->durability == CRABTREE_DURABILITY_NONE)
		return "the file is written back when crabctl ends";
	return WORDS(durability_words, info->durability);
}

__attribute__((format(printf, 2, 3)))
static void row(const char *name, const char *fmt, ...)
{
	va_list args;
	char *text;

	va_start(args, fmt);
	text = text_print(fmt, args);
	va_end(args);
	printf("%-13s%s\n", name, text ? text : "");
	free(text);
}

static void print_state(const struct target *target, const struct crabtree_info *info)
{
	char bytes[32];

	bytes_text(info->region_bytes, bytes, sizeof(bytes));
	row(target->image ? "image" : "device", "%s", target_path(target));
	row("state", "%s", crabtree_state_name(info->state));
	if (info->reason[0])
		row("reason", "%.*s", (int)sizeof(info->reason), info->reason);
	row("region", "%.*s%s%s", (int)sizeof(info->region), info->region,
	    info->region[0] ? ", " : "", bytes);
}

/* The kind of a store, by its features */
static const char *kind_of(const struct crabtree_info *info)
{
	bool commits = info->feature_incompat & CRABTREE_INCOMPAT_COMMITS;

	if (info->feature_incompat & CRABTREE_INCOMPAT_NAMES)
		return commits ? ": a store of names and of commits" : ": a store of names";
	if (info->feature_incompat & CRABTREE_INCOMPAT_BLOBS)
		return commits ? ": a store of blobs and of commits" : ": a store of blobs";
	return commits ? ": a store of commits" : "";
}

static void print_store(const struct target *target, const struct crabtree_info *info)
{
	char uuid[UUID_TEXT_LEN];

	uuid_text(info->uuid, uuid);
	row("label", "%.*s", (int)sizeof(info->label), info->label[0] ? info->label : "-");
	row("uuid", "%s", uuid);
	row("format", "version %u, features 0x%" PRIx64 " 0x%" PRIx64 " 0x%" PRIx64 "%s",
	    info->version, (uint64_t)info->feature_compat, (uint64_t)info->feature_ro_compat,
	    (uint64_t)info->feature_incompat, kind_of(info));
	row("engine", "%.*s, layout %.*s, leaves of %" PRIu64 " bytes",
	    (int)sizeof(info->engine), info->engine, (int)sizeof(info->layout), info->layout,
	    (uint64_t)info->leaf_bytes);
	row("media model", "%s%s", WORDS(model_words, info->model),
	    info->keeps == CRABTREE_KEEPS_UNPROVEN ?
	    "; unproven: this architecture does not promise it" : "");
	row("durability", "%s", durability_of(target, info));
}

static void print_engine(const struct crabtree_info *info)
{
	const struct crabtree_counter *c = info->counters;
	size_t i;

	if (info->options[0])
		row("options", "%.*s", (int)sizeof(info->options), info->options);
	for (i = 0; i < CRABTREE_COUNTERS && c[i].name[0]; i++)
		printf("%-13.*s%" PRIu64 "\n", (int)sizeof(c[i].name), c[i].name,
		       (uint64_t)c[i].value);
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * part / whole : 0.0;
}

static void print_fill(const struct crabtree_info *info)
{
	char dram[32];

	bytes_text(info->dram_bytes, dram, sizeof(dram));
	if (info->feature_incompat & CRABTREE_INCOMPAT_BLOBS)	/* the leaves are for values, too */
		row("records", "%" PRIu64, (uint64_t)info->records);
	else
		row("records", "%" PRIu64 " of %" PRIu64 " (%.1f %%)", (uint64_t)info->records,
		    (uint64_t)info->capacity, percent(info->records, info->capacity));
	row("leaves", "%" PRIu64 " of %" PRIu64 " in use (%.1f %%), %" PRIu64 " quarantined",
	    (uint64_t)info->leaves_used, (uint64_t)info->leaves,
	    percent(info->leaves_used, info->leaves), (uint64_t)info->leaves_bad);
	row("DRAM", "%s", dram);
	row("attach", "%.3f ms, %" PRIu64 " %s repaired", info->attach_ns / 1e6, (uint64_t)info->repairs,
	    noun(info->repairs, "slot", "slots"));
}

static void print_writes(const struct crabtree_info *info)
{
	uint64_t writes = info->inserts + info->updates + info->deletes;
	double per = writes ? (double)writes : 1.0;

	row("since attach", "%" PRIu64 " %s, %" PRIu64 " %s, %" PRIu64 " %s, %" PRIu64 " %s",
	    (uint64_t)info->inserts, noun(info->inserts, "insert", "inserts"),
	    (uint64_t)info->updates, noun(info->updates, "update", "updates"),
	    (uint64_t)info->deletes, noun(info->deletes, "delete", "deletes"),
	    (uint64_t)info->searches, noun(info->searches, "search", "searches"));
	row("", "%" PRIu64 " %s split, %" PRIu64 " unlinked", (uint64_t)info->splits,
	    noun(info->splits, "leaf", "leaves"), (uint64_t)info->unlinks);
	if (writes)
		row("per write", "%.2f lines, %.2f fences; off the write path %.2f, %.2f",
		    info->lines / per, info->fences / per, info->prepare_lines / per,
		    info->prepare_fences / per);
	else
		row("per write", "no write yet");
	row("", "at most %" PRIu64 " %s", (uint64_t)info->lines_bound,
	    noun(info->lines_bound, "line", "lines"));
}

static bool has_store(const struct crabtree_info *info)
{
	return info->state == CRABTREE_STATE_READY || info->state == CRABTREE_STATE_READONLY;
}

static int print_info(const struct target *target, const struct crabtree_info *info)
{
	print_state(target, info);
	if (has_store(info)) {
		print_store(target, info);
		print_fill(info);
		if (target->image)	/* this command attached it: its counters show nothing */
			return EXIT_OK;
		print_writes(info);
		print_engine(info);
	}
	return EXIT_OK;
}

static void json_identity(struct json_object *json, const struct crabtree_info *info)
{
	char uuid[UUID_TEXT_LEN];

	uuid_text(info->uuid, uuid);
	json_text(json, "uuid", uuid);
	json_field(json, "label", info->label, sizeof(info->label));
	json_field(json, "engine", info->engine, sizeof(info->engine));
	json_field(json, "layout", info->layout, sizeof(info->layout));
	json_field(json, "region", info->region, sizeof(info->region));
	json_field(json, "reason", info->reason, sizeof(info->reason));
}

static void json_kind(struct json_object *json, const struct crabtree_info *info)
{
	bool commits = info->feature_incompat & CRABTREE_INCOMPAT_COMMITS;

	json_text(json, "kind", item_kind_name(item_kind(info)));
	json_object_object_add(json, "commits", json_object_new_boolean(commits));
}

static void json_numbers(struct json_object *json, const struct crabtree_info *info)
{
#define FIELD(name)	{ #name, info->name }
	const struct { const char *name; uint64_t value; } fields[] = {
		FIELD(version), FIELD(region_bytes), FIELD(leaf_bytes), FIELD(leaves),
		FIELD(leaves_used), FIELD(leaves_bad), FIELD(records), FIELD(capacity),
		FIELD(feature_compat), FIELD(feature_ro_compat), FIELD(feature_incompat),
		FIELD(dram_bytes), FIELD(attach_ns), FIELD(lines), FIELD(fences),
		FIELD(prepare_lines), FIELD(prepare_fences), FIELD(inserts), FIELD(updates),
		FIELD(deletes), FIELD(searches), FIELD(splits), FIELD(unlinks), FIELD(repairs),
		FIELD(orders), FIELD(lines_bound),
	};
#undef FIELD
	size_t i;

	for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		json_u64(json, fields[i].name, fields[i].value);
}

static void json_counters(struct json_object *json, const struct crabtree_info *info)
{
	struct json_object *counters = json_object_new_object();
	const struct crabtree_counter *c = info->counters;
	char name[sizeof(c->name) + 1];
	size_t i;

	for (i = 0; i < CRABTREE_COUNTERS && c[i].name[0]; i++) {
		snprintf(name, sizeof(name), "%.*s", (int)sizeof(c[i].name), c[i].name);
		json_u64(counters, name, c[i].value);
	}
	json_object_object_add(json, "counters", counters);
}

/* "name=value name=value" as an object of strings */
static void json_options(struct json_object *json, const struct crabtree_info *info)
{
	struct json_object *options = json_object_new_object();
	char text[sizeof(info->options) + 1];
	char *rest, *value, *name;

	snprintf(text, sizeof(text), "%.*s", (int)sizeof(info->options), info->options);
	for (name = strtok_r(text, " ", &rest); name; name = strtok_r(NULL, " ", &rest)) {
		value = strchr(name, '=');
		if (!value)
			continue;
		*value = '\0';
		json_text(options, name, value + 1);
	}
	json_object_object_add(json, "options", options);
}

struct json_object *info_json(const struct target *target, const struct crabtree_info *info)
{
	struct json_object *json = json_object_new_object();

	json_text(json, target->image ? "image" : "device", target_path(target));
	json_text(json, "state", crabtree_state_name(info->state));
	json_text(json, "durability", crabtree_durability_name(info->durability));
	json_text(json, "model", crabtree_model_name(info->model));
	json_text(json, "model_kept", WORDS(keeps_words, info->keeps));
	json_identity(json, info);
	if (has_store(info))
		json_kind(json, info);
	json_options(json, info);
	json_numbers(json, info);
	json_counters(json, info);
	return json;
}

int verb_info(struct target *target, int argc, char **argv)
{
	struct crabtree_info info;
	int code, err;

	verb_parse_bare(target, "Print the properties and counters of the store.", argc, argv);
	code = target_open(target, CRABTREE_OPEN_READONLY);
	if (code)
		return code;
	err = crabtree_info(target->ct, &info, sizeof(info));
	if (err)
		return fail(target, err, "info");
	return target->json ? json_print(info_json(target, &info)) : print_info(target, &info);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the reader of /sys/class/crabtree: INFO without opening the device. The
 * fields that sysfs does not have, such as lines and fences, stay 0.
 */
#include "sysfs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "crabctl.h"

#define SYSFS	"/sys/class/crabtree"

static int by_number(const void *a, const void *b)
{
	return strverscmp(*(const char * const *)a, *(const char * const *)b);
}

void sysfs_glob(const char *pattern, glob_t *found)
{
	memset(found, 0, sizeof(*found));
	glob(pattern, 0, NULL, found);
	if (found->gl_pathc)
		qsort(found->gl_pathv, found->gl_pathc, sizeof(*found->gl_pathv), by_number);
}

bool sysfs_line(const char *path, char *text, size_t len)
{
	FILE *file = fopen(path, "r");
	bool got;

	text[0] = '\0';
	if (!file)
		return false;
	got = fgets(text, len, file);
	fclose(file);
	if (!got)
		text[0] = '\0';
	text[strcspn(text, "\n")] = '\0';
	return got;
}

void sysfs_text(const char *device, const char *name, char *text, size_t len)
{
	char path[128];

	snprintf(path, sizeof(path), SYSFS "/%s/%s", device, name);
	sysfs_line(path, text, len);
}

#define LABEL_ENC	"CRABTREE_LABEL_ENC="

/* A byte of @from, which may be \xNN */
static size_t decode_byte(const char *from, char *byte)
{
	unsigned int number;

	*byte = *from;
	if (sscanf(from, "\\x%2x", &number) != 1)
		return 1;
	*byte = number;
	return 4;
}

static void decode(const char *from, char *to, size_t len)
{
	char *end = to + len - 1;

	while (*from && *from != '\n' && to < end)
		from += decode_byte(from, to++);
	*to = '\0';
}

void sysfs_label(const char *device, char *label, size_t len)
{
	char line[SYSFS_TEXT];
	FILE *file;

	sysfs_text(device, "label", label, len);
	snprintf(line, sizeof(line), SYSFS "/%s/uevent", device);
	file = fopen(line, "r");
	while (file && fgets(line, sizeof(line), file))
		if (!strncmp(line, LABEL_ENC, strlen(LABEL_ENC)))
			decode(line + strlen(LABEL_ENC), label, len);
	if (file)
		fclose(file);
}

/* The names of states in sysfs, which differ from the printed names */
static const char * const states[] = {
	[CRABTREE_STATE_UNFORMATTED]	= "unformatted",
	[CRABTREE_STATE_READY]		= "ready",
	[CRABTREE_STATE_READONLY]	= "readonly",
	[CRABTREE_STATE_REJECTED]	= "rejected",
	[CRABTREE_STATE_GONE]		= "gone",
};

/* CRABTREE_STATE_GONE + 1: there is no such state */
static uint32_t state_find(const char *text)
{
	uint32_t i = 0;

	while (i <= CRABTREE_STATE_GONE && strcmp(text, states[i]))
		i++;
	return i;
}

const char *sysfs_state_name(const char *text)
{
	uint32_t state = state_find(text);

	return state <= CRABTREE_STATE_GONE ? crabtree_state_name(state) : text;
}

static bool read_state(const char *device, uint32_t *state)
{
	char text[SYSFS_TEXT];

	sysfs_text(device, "state", text, sizeof(text));
	*state = state_find(text);
	return *state <= CRABTREE_STATE_GONE;
}

/* The number whose name is @text; 0 if there is none */
static uint32_t named(const char *text, const char *(*name)(uint32_t number), uint32_t end)
{
	uint32_t i;

	for (i = 0; i < end; i++)
		if (!strcmp(text, name(i)))
			return i;
	return 0;
}

static void read_words(const char *device, struct crabtree_info *info)
{
	char text[SYSFS_TEXT];

	sysfs_text(device, "durability", text, sizeof(text));
	info->durability = named(text, crabtree_durability_name, CRABTREE_DURABILITY_CACHE + 1);
	sysfs_text(device, "model", text, sizeof(text));
	info->model = named(text, crabtree_model_name, CRABTREE_MODEL_WHOLE_LINE + 1);
	sysfs_text(device, "model_kept", text, sizeof(text));
	if (text[0])
		info->keeps = !strcmp(text, "yes") ? CRABTREE_KEEPS_YES : CRABTREE_KEEPS_UNPROVEN;
}

static void read_numbers(const char *device, struct crabtree_info *info)
{
#define FIELD(name)	{ #name, &info->name }
	const struct { const char *name; __u64 *value; } fields[] = {
		FIELD(region_bytes), FIELD(leaf_bytes), FIELD(leaves), FIELD(leaves_used),
		FIELD(leaves_bad), FIELD(records), FIELD(capacity), FIELD(feature_compat),
		FIELD(feature_ro_compat), FIELD(feature_incompat), FIELD(dram_bytes),
		FIELD(attach_ns), FIELD(inserts), FIELD(updates), FIELD(deletes),
		FIELD(searches), FIELD(repairs),
	};
#undef FIELD
	char text[SYSFS_TEXT];
	size_t i;

	for (i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		sysfs_text(device, fields[i].name, text, sizeof(text));
		*fields[i].value = strtoull(text, NULL, 0);
	}
	sysfs_text(device, "version", text, sizeof(text));
	info->version = strtoul(text, NULL, 10);
}

bool sysfs_info(const char *device, struct crabtree_info *info)
{
	char uuid[SYSFS_TEXT];

	memset(info, 0, sizeof(*info));
	if (!read_state(device, &info->state))
		return false;
	read_words(device, info);
	read_numbers(device, info);
	sysfs_label(device, info->label, sizeof(info->label));
	sysfs_text(device, "region", info->region, sizeof(info->region));
	sysfs_text(device, "reason", info->reason, sizeof(info->reason));
	sysfs_text(device, "engine", info->engine, sizeof(info->engine));
	sysfs_text(device, "layout", info->layout, sizeof(info->layout));
	sysfs_text(device, "uuid", uuid, sizeof(uuid));
	uuid_parse(uuid, info->uuid);
	return true;
}

bool store_info(const char *device, struct crabtree_info *info, bool *full)
{
	struct crabtree *ct;
	char path[64];

	snprintf(path, sizeof(path), "/dev/%.31s", device);
	*full = !crabtree_open(&ct, path, CRABTREE_OPEN_READONLY);
	if (!*full)
		return sysfs_info(device, info);
	*full = !crabtree_info(ct, info, sizeof(*info));
	crabtree_close(ct);
	return *full || sysfs_info(device, info);
}

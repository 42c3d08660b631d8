// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements `crabctl list`: one line for each /dev/crabN. A device that the
 * user may not open is shown by its files in sysfs, which all users may read.
 */
#include "crabctl.h"

#include <errno.h>
#include <glob.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define PATTERN	"/dev/crab[0-9]*"
#define SYSFS	"/sys/class/crabtree"

/* crab2 before crab10 */
static int by_number(const void *a, const void *b)
{
	const char *x = *(const char * const *)a;
	const char *y = *(const char * const *)b;
	size_t lx = strlen(x), ly = strlen(y);

	return lx != ly ? (lx > ly) - (lx < ly) : strcmp(x, y);
}

/* One attribute; "" if it does not exist, for example without a store */
static void sysfs_text(const char *device, const char *name, char *text, size_t len)
{
	char path[128];
	FILE *file;

	text[0] = '\0';
	snprintf(path, sizeof(path), SYSFS "/%s/%s", device, name);
	file = fopen(path, "r");
	if (!file)
		return;
	if (!fgets(text, len, file))
		text[0] = '\0';
	fclose(file);
	text[strcspn(text, "\n")] = '\0';
}

static uint64_t sysfs_number(const char *device, const char *name)
{
	char text[32];

	sysfs_text(device, name, text, sizeof(text));
	return strtoull(text, NULL, 10);
}

/* The names of states in sysfs, which differ from the printed names */
static const char * const sysfs_states[] = {
	[CRABTREE_STATE_UNFORMATTED]	= "unformatted",
	[CRABTREE_STATE_READY]		= "ready",
	[CRABTREE_STATE_READONLY]	= "readonly",
	[CRABTREE_STATE_REJECTED]	= "rejected",
	[CRABTREE_STATE_GONE]		= "gone",
};

/* The fields of a row; false if sysfs does not have the device */
static bool sysfs_info(const char *path, struct crabtree_info *info)
{
	const char *device = strrchr(path, '/') + 1;
	char state[32];
	uint32_t i;

	memset(info, 0, sizeof(*info));
	sysfs_text(device, "state", state, sizeof(state));
	for (i = 0; i <= CRABTREE_STATE_GONE; i++)
		if (!strcmp(state, sysfs_states[i]))
			break;
	if (i > CRABTREE_STATE_GONE)
		return false;
	info->state = i;
	info->region_bytes = sysfs_number(device, "region_bytes");
	info->records = sysfs_number(device, "records");
	sysfs_text(device, "label", info->label, sizeof(info->label));
	sysfs_text(device, "region", info->region, sizeof(info->region));
	return true;
}

static int read_info(const char *path, struct crabtree_info *info)
{
	struct crabtree *ct;
	int err = crabtree_open(&ct, path, CRABTREE_OPEN_READONLY);

	if (err)
		return err;
	err = crabtree_info(ct, info);
	crabtree_close(ct);
	return err;
}

static void print_row(const char *path, int err, const struct crabtree_info *info)
{
	char bytes[32];

	if (err) {
		printf("%-12s %s\n", path, crabtree_strerror(err));
		return;
	}
	bytes_text(info->region_bytes, bytes, sizeof(bytes));
	printf("%-12s %-12s %-10s %-20.*s %12" PRIu64 " %.*s\n", path,
	       crabtree_state_name(info->state), bytes, (int)sizeof(info->label),
	       info->label[0] ? info->label : "-", (uint64_t)info->records,
	       (int)sizeof(info->region), info->region);
}

static void json_columns(struct json_object *row, const struct crabtree_info *info)
{
	json_text(row, "state", crabtree_state_name(info->state));
	json_u64(row, "region_bytes", info->region_bytes);
	json_u64(row, "records", info->records);
	json_text(row, "label", info->label);
	json_text(row, "region", info->region);
}

/* @info: complete; after an error only the fields of the columns, or NULL */
static void add_row(struct json_object *rows, const char *path, int err,
		    const struct crabtree_info *info)
{
	struct target target = { .device = path };
	struct json_object *row;

	if (err) {
		row = json_object_new_object();
		json_text(row, "device", path);
		json_text(row, "error", crabtree_strerror(err));
		if (info)
			json_columns(row, info);
	} else {
		row = info_json(&target, info);
	}
	json_object_array_add(rows, row);
}

static void list_devices(char **paths, size_t count, struct json_object *rows)
{
	struct crabtree_info info;
	bool columns;
	size_t i;
	int err;

	if (count)
		qsort(paths, count, sizeof(*paths), by_number);
	if (count && !rows)
		printf("%-12s %-12s %-10s %-20s %12s %s\n", "DEVICE", "STATE", "SIZE", "LABEL",
		       "RECORDS", "REGION");
	for (i = 0; i < count; i++) {
		err = read_info(paths[i], &info);
		columns = !err || (err == -EACCES && sysfs_info(paths[i], &info));
		if (rows)
			add_row(rows, paths[i], err, columns ? &info : NULL);
		else
			print_row(paths[i], columns ? 0 : err, &info);
	}
}

int verb_list(struct target *target, int argc, char **argv)
{
	struct json_object *rows;
	glob_t found = { 0 };

	verb_parse_bare(target, "All devices, with state, label and region.", argc, argv);
	rows = target->json ? json_object_new_array() : NULL;
	glob(PATTERN, 0, NULL, &found);
	list_devices(found.gl_pathv, found.gl_pathc, rows);
	if (rows)
		json_print(rows);
	else if (!found.gl_pathc)
		fputs("crabctl: no crabtree devices\n", stderr);
	globfree(&found);
	return EXIT_OK;
}

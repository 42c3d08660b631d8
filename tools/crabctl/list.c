// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements `crabctl list`: one line for each /dev/crabN. A device that cannot be opened,
 * as without the permission for it, is shown by its files in sysfs, which all users may read.
 */
#include "crabctl.h"

#include <inttypes.h>
#include <string.h>

#include "sysfs.h"

#define PATTERN	"/dev/crab[0-9]*"

static int read_info(const char *path, struct crabtree_info *info)
{
	struct crabtree *ct;
	int err = crabtree_open(&ct, path, CRABTREE_OPEN_READONLY);

	if (err)
		return err;
	err = crabtree_info(ct, info, sizeof(*info));
	crabtree_close(ct);
	return err;
}

static void print_row(const char *path, int err, const struct crabtree_info *info)
{
	char bytes[32], label[LABEL_TEXT];

	if (err) {
		printf("%-12s %s\n", path, crabtree_strerror(err));
		return;
	}
	bytes_text(info->region_bytes, bytes, sizeof(bytes));
	printf("%-12s %-12s %-10s %-20s %12" PRIu64 " %.*s\n", path,
	       crabtree_state_name(info->state), bytes,
	       info->label[0] ? label_text(info, label) : "-", (uint64_t)info->records,
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

	if (count && !rows)
		printf("%-12s %-12s %-10s %-20s %12s %s\n", "DEVICE", "STATE", "SIZE", "LABEL",
		       "RECORDS", "REGION");
	for (i = 0; i < count; i++) {
		err = read_info(paths[i], &info);
		columns = !err || sysfs_info(strrchr(paths[i], '/') + 1, &info);
		if (rows)
			add_row(rows, paths[i], err, columns ? &info : NULL);
		else
			print_row(paths[i], columns ? 0 : err, &info);
	}
}

int verb_list(struct target *target, int argc, char **argv)
{
	struct json_object *rows;
	glob_t found;

	verb_parse_bare(target, "All devices, with state, label and region.", argc, argv);
	if (target_no_option(target, "list"))
		return EXIT_USAGE;
	rows = target->json ? json_object_new_array() : NULL;
	sysfs_glob(PATTERN, &found);
	list_devices(found.gl_pathv, found.gl_pathc, rows);
	if (rows)
		json_print(rows);
	else if (!found.gl_pathc)
		fputs("crabctl: no crabtree devices\n", stderr);
	globfree(&found);
	return EXIT_OK;
}

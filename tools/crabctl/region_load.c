// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements `crabctl region load`: it adds the regions that files name, one a line. A
 * line that cannot be obeyed is reported with its file, its number and the cause, and disables
 * nothing but itself.
 *
 * /run/crabtree/crabN has the line of a device that was added: udev reads group and mode from it,
 * and a second load finds that the region is there. Another device may have the number meanwhile,
 * so the file also has the region's name in sysfs.
 */
#include <dirent.h>
#include <errno.h>
#include <glob.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "crabctl.h"
#include "region.h"
#include "sysfs.h"

#define WAIT_MS	100

/* Keys in the file of a device */
#define SPEC	"CRABTREE_REGION="
#define NAME	"CRABTREE_REGION_NAME="

/* The place of a line, for messages */
struct place {
	struct region_load *load;
	const char *path;
	unsigned int number;
};

__attribute__((format(printf, 2, 3)))
static void refuse(const struct place *place, const char *fmt, ...)
{
	char why[REGION_SPEC + 512];
	va_list args;

	va_start(args, fmt);
	vsnprintf(why, sizeof(why), fmt, args);
	va_end(args);
	message("%s:%u: %s", place->path, place->number, why);
	place->load->bad++;
}

/* udev applies group and mode at each event, so that one event more is enough */
static void apply(const char *device)
{
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/sys/class/crabtree/%.31s/uevent", device);
	file = fopen(path, "w");
	if (!file)
		return;
	fputs("change", file);
	fclose(file);
}

void region_forget(const char *device)
{
	char path[64];

	snprintf(path, sizeof(path), REGION_RUN "/%.31s", device);
	if (!unlink(path))
		apply(device);
}

static void remember(const struct place *place, const char *device, const struct region_line *line)
{
	char path[64], region[SYSFS_TEXT];
	FILE *file;

	sysfs_text(device, "region", region, sizeof(region));
	snprintf(path, sizeof(path), REGION_RUN "/%.31s", device);
	mkdir(REGION_RUN, 0755);
	file = fopen(path, "w");
	if (file) {
		fprintf(file, SPEC "%s\n" NAME "%s\n", line->spec, region);
		if (line->group[0])
			fprintf(file, "CRABTREE_GROUP=%s\n", line->group);
		if (line->mode[0])
			fprintf(file, "CRABTREE_MODE=%s\n", line->mode);
	}
	if (!file || fclose(file))
		refuse(place, "%s: group and mode cannot be stored", path);
	apply(device);
}

/* The value of a key in the file of a device; "" if it has none */
static void recall(const char *path, const char *key, char *text, size_t len)
{
	FILE *file = fopen(path, "r");
	size_t skip = strlen(key);
	bool found = false;

	while (file && !found && fgets(text, len, file))
		found = !strncmp(text, key, skip);
	if (file)
		fclose(file);
	if (found)
		memmove(text, text + skip, strlen(text + skip) + 1);
	text[found ? strcspn(text, "\n") : 0] = '\0';
}

/* Is the device of a file still there, and still the region of @spec? */
static bool is_remembered(const char *path, const char *spec)
{
	char text[REGION_SPEC + 32], region[SYSFS_TEXT];

	recall(path, SPEC, text, sizeof(text));
	if (strcmp(text, spec))
		return false;
	recall(path, NAME, text, sizeof(text));
	sysfs_text(strrchr(path, '/') + 1, "region", region, sizeof(region));
	return region[0] && !strcmp(text, region);
}

static bool is_added(const char *spec)
{
	bool added = false;
	glob_t found;
	size_t i;

	sysfs_glob(REGION_RUN "/crab[0-9]*", &found);
	for (i = 0; i < found.gl_pathc && !added; i++)
		added = is_remembered(found.gl_pathv[i], spec);
	globfree(&found);
	return added;
}

/* A driver may still be making the block device of pmem= */
static void wait_for(const struct region_load *load, const char *spec)
{
	const struct timespec pause = { .tv_nsec = WAIT_MS * 1000000L };
	unsigned int waited = 0;
	char path[REGION_SPEC];

	if (strncmp(spec, "pmem=", 5))
		return;
	snprintf(path, sizeof(path), "%.*s", (int)strcspn(spec + 5, ","), spec + 5);
	for (; access(path, F_OK) && waited < load->wait_ms; waited += WAIT_MS)
		nanosleep(&pause, NULL);
}

static bool is_readonly(const char *spec)
{
	const char *option = strstr(spec, ",readonly");

	return option && (!option[9] || option[9] == ',');
}

/*
 * A store of another label: an address moved, or a device has another number. It is not served.
 * Without a store the region stays, so that doctor reports the cause.
 */
static bool check_label(const struct place *place, const char *device,
			const struct region_line *line)
{
	char command[64], answer[REGION_ANSWER];
	struct crabtree_info info;
	bool full;

	if (!line->label[0] || !store_info(device, &info, &full))
		return true;
	if (info.state == CRABTREE_STATE_UNFORMATTED && is_readonly(line->spec)) {
		message("%s:%u: %s has no store, and none can be made: it is read-only", place->path,
			place->number, line->spec);
		return true;
	}
	if (info.state == CRABTREE_STATE_UNFORMATTED) {
		message("%s:%u: %s has no store: crabctl -d /dev/%s format --label \"%s\"", place->path,
			place->number, line->spec, device, line->label);
		return true;
	}
	if (info.state == CRABTREE_STATE_REJECTED)
		refuse(place, "%s: no store \"%s\" here: %s", line->spec, line->label, info.reason);
	if (info.state == CRABTREE_STATE_REJECTED ||
	    !strncmp(info.label, line->label, sizeof(info.label)))
		return true;
	snprintf(command, sizeof(command), "remove %.31s", device);
	control_command(command, answer);
	refuse(place, "%s: its store has the label \"%.*s\", not \"%s\"", line->spec,
	       (int)sizeof(info.label), info.label, line->label);
	return false;
}

static void add(const struct place *place, const struct region_line *line)
{
	char command[REGION_SPEC + 8], answer[REGION_ANSWER];

	if (is_added(line->spec)) {
		printf("%s: already added\n", line->spec);
		return;
	}
	wait_for(place->load, line->spec);
	snprintf(command, sizeof(command), "add %s", line->spec);
	if (control_command(command, answer)) {
		refuse(place, "%s: %s", line->spec, control_reason(line->spec, answer));
		return;
	}
	if (!check_label(place, answer, line))
		return;
	remember(place, answer, line);
	printf("%s: %s\n", answer, line->spec);
}

/* Has a line of this run the same region? Only one of them would have its label, group and mode */
static bool is_repeated(struct region_load *load, const char *spec)
{
	unsigned int i;

	for (i = 0; i < load->count; i++)
		if (!strcmp(load->specs[i], spec))
			return true;
	if (load->count < REGION_MOST) {
		load->specs[load->count] = strdup(spec);
		load->count += !!load->specs[load->count];
	}
	return false;
}

static void load_line(const struct place *place, char *text)
{
	static struct region_line line;
	char cause[REGION_SPEC + 128];

	if (!region_line_parse(text, &line, cause, sizeof(cause)))
		refuse(place, "%s", cause);
	else if (line.spec[0] && is_repeated(place->load, line.spec))
		refuse(place, "%s: an earlier line has this region", line.spec);
	else if (line.spec[0] && place->load->dry)
		printf("%s\n", line.spec);
	else if (line.spec[0])
		add(place, &line);
}

static void load_file(struct region_load *load, const char *path)
{
	struct place place = { .load = load, .path = path };
	FILE *file = fopen(path, "r");
	static char text[LINE_ROOM];
	size_t len;
	int got;

	if (!file) {
		fail_file(path, -errno, "open");
		load->bad++;
		return;
	}
	while ((got = line_next(file, text, &len)) > 0) {
		if (!place.number++)
			line_drop_mark(text, &len);
		if (strlen(text) < len)
			refuse(&place, "not text: it holds a zero byte");
		else
			load_line(&place, text);
	}
	if (got == -EMSGSIZE) {
		place.number++;
		refuse(&place, LINE_LONG);
	} else if (got) {
		fail_file(path, got, "read");
		load->bad++;
	}
	fclose(file);
}

static int is_conf(const struct dirent *entry)
{
	const char *end = strrchr(entry->d_name, '.');

	return *entry->d_name != '.' && end && !strcmp(end, ".conf");
}

static void load_directory(struct region_load *load, const char *directory)
{
	struct dirent **files;
	char path[PATH_MAX];
	int i, n = scandir(directory, &files, is_conf, alphasort);

	if (n < 0) {
		fail_file(directory, -errno, "open");
		load->bad++;
		return;
	}
	for (i = 0; i < n; i++) {
		snprintf(path, sizeof(path), "%s/%s", directory, files[i]->d_name);
		load_file(load, path);
		free(files[i]);
	}
	free(files);
}

void region_load_end(struct region_load *load)
{
	while (load->count)
		free(load->specs[--load->count]);
}

void region_load_path(struct region_load *load, const char *path)
{
	struct stat st;

	if (!stat(path, &st) && S_ISDIR(st.st_mode))
		load_directory(load, path);
	else
		load_file(load, path);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements `crabctl doctor`: is there a store, did it survive, what is a returned write
 * safe against, and what to do next. It reads sysfs, so that it needs no permission.
 *
 * Invariant: nothing is changed, in a device or in an image. The texts are those of causes.h.
 */
#include "doctor.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#ifdef CRABCTL_IMAGE
#include <crabtree_image.h>
#endif

#define PATTERN	"/sys/class/crabtree/crab[0-9]*"

struct args {
	struct target *target;
	bool causes;
};

static const char * const severities[] = {
	[NOTE]		= "note",
	[WARNING]	= "warning",
	[PROBLEM]	= "problem",
};

static bool is_serving(const struct patient *patient)
{
	return patient->info.state == CRABTREE_STATE_READY ||
	       patient->info.state == CRABTREE_STATE_READONLY;
}

static const char *survival(const struct patient *patient)
{
	static const char * const words[] = {
		[CRABTREE_STATE_UNFORMATTED]	= "no store here",
		[CRABTREE_STATE_READY]		= "yes",
		[CRABTREE_STATE_READONLY]	= "yes",
		[CRABTREE_STATE_REJECTED]	= "not known: the store cannot be served",
		[CRABTREE_STATE_GONE]		= "not known: the region was removed",
	};

	if (is_serving(patient) && patient->info.leaves_bad)
		return "in part";
	return patient->info.state <= CRABTREE_STATE_GONE ? words[patient->info.state] : "unknown";
}

static void print_findings(const struct findings *findings)
{
	size_t i;

	for (i = 0; i < CAUSES; i++) {
		if (!findings->found[i])
			continue;
		printf("  %-13s %s\n", severities[causes[i].severity], causes[i].text);
		printf("  %-13s %s\n", "  next", causes[i].next);
	}
}

static void print_patient(const struct patient *patient)
{
	const struct crabtree_info *info = &patient->info;
	struct safety safety = safety_of(patient);
	char label[LABEL_TEXT];

	printf("%s: %s", patient->path, crabtree_state_name(info->state));
	if (is_serving(patient))
		printf(", store \"%s\", %" PRIu64 " %s, %" PRIu64 " of %" PRIu64 " leaves in use",
		       label_text(info, label), (uint64_t)info->records,
		       noun(info->records, "record", "records"), (uint64_t)info->leaves_used,
		       (uint64_t)info->leaves);
	putchar('\n');
	if (info->reason[0])
		printf("  %-13s %s\n", "reason", info->reason);
	printf("  %-13s %s\n", "survived", survival(patient));
	if (is_serving(patient))
		printf("  %-13s reset %s, power cut %s (%s)\n", "safe against", safety.reset,
		       safety.power, safety.why);
	print_findings(&patient->findings);
}

static struct json_object *findings_json(const struct findings *findings)
{
	struct json_object *list = json_object_new_array();
	struct json_object *one;
	size_t i;

	for (i = 0; i < CAUSES; i++) {
		if (!findings->found[i])
			continue;
		one = json_object_new_object();
		json_text(one, "cause", causes[i].name);
		json_text(one, "severity", severities[causes[i].severity]);
		json_text(one, "text", causes[i].text);
		json_text(one, "next", causes[i].next);
		json_object_array_add(list, one);
	}
	return list;
}

static struct json_object *patient_json(const struct patient *patient)
{
	struct json_object *json = json_object_new_object();
	struct safety safety = safety_of(patient);

	json_text(json, patient->image ? "image" : "device", patient->path);
	json_text(json, "state", crabtree_state_name(patient->info.state));
	json_text(json, "reason", patient->info.reason);
	json_text(json, "survived", survival(patient));
	if (is_serving(patient)) {
		json_text(json, "label", patient->info.label);
		json_u64(json, "records", patient->info.records);
		json_text(json, "reset", safety.reset);
		json_text(json, "power_cut", safety.power);
		json_text(json, "why", safety.why);
	}
	json_object_object_add(json, "findings", findings_json(&patient->findings));
	return json;
}

static bool has_problem(const struct findings *findings)
{
	size_t i;

	for (i = 0; i < CAUSES; i++)
		if (findings->found[i] && causes[i].severity == PROBLEM)
			return true;
	return false;
}

static int report(struct patient *patient, struct json_object *rows)
{
	find_store(patient);
	if (rows)
		json_object_array_add(rows, patient_json(patient));
	else
		print_patient(patient);
	return has_problem(&patient->findings) ? EXIT_NOT_FOUND : EXIT_OK;
}

static int report_device(const char *device, struct json_object *rows)
{
	struct patient patient = { .supers = 2, .detached = true };

	snprintf(patient.path, sizeof(patient.path), "/dev/%s", device);
	sysfs_info(device, &patient.info);
	sysfs_text(device, "provider", patient.provider, sizeof(patient.provider));
	find_node(&patient, device);
	return report(&patient, rows);
}

static int report_machine(struct json_object *rows)
{
	struct findings findings = { 0 };
	struct json_object *row;

	find_machine(&findings);
	if (rows) {
		row = json_object_new_object();
		json_object_object_add(row, "findings", findings_json(&findings));
		json_object_array_add(rows, row);
	} else {
		puts("no crabtree device");
		print_findings(&findings);
	}
	return EXIT_NOT_FOUND;
}

static int report_devices(struct json_object *rows)
{
	int code = EXIT_OK;
	glob_t found;
	size_t i;

	sysfs_glob(PATTERN, &found);
	if (!found.gl_pathc)
		code = report_machine(rows);
	for (i = 0; i < found.gl_pathc; i++)
		code |= report_device(strrchr(found.gl_pathv[i], '/') + 1, rows);
	globfree(&found);
	return code;
}

#ifdef CRABCTL_IMAGE
/* Doctor itself attaches an image read-only */
static void image_is_ready(struct crabtree_info *info)
{
	if (strcmp(info->reason, "attached read-only"))
		return;
	info->state = CRABTREE_STATE_READY;
	info->reason[0] = '\0';
}

static int report_image(struct target *target, struct json_object *rows)
{
	struct patient patient = { .image = true };
	struct crabtree_image_supers supers;
	int err, code = target_open(target, CRABTREE_OPEN_READONLY);

	if (code)
		return code;
	err = crabtree_info(target->ct, &patient.info, sizeof(patient.info));
	if (!err)
		err = crabtree_image_supers(target->ct, &supers);
	if (err)
		return fail(target, err, "doctor");
	snprintf(patient.path, sizeof(patient.path), "%s", target->image);
	patient.supers = supers.valid;
	patient.detached = supers.detached;
	image_is_ready(&patient.info);
	return report(&patient, rows);
}
#else
static int report_image(struct target *target, struct json_object *rows)
{
	(void)rows;
	return target_open(target, CRABTREE_OPEN_READONLY);
}
#endif

/* The name of a device by any path: below /dev/crabtree are symbolic links */
static void device_name(const char *path, char name[SYSFS_TEXT])
{
	char *real = realpath(path, NULL);
	const char *node = real ? real : path, *slash = strrchr(node, '/');

	snprintf(name, SYSFS_TEXT, "%s", slash ? slash + 1 : node);
	free(real);
}

static int report_named(struct target *target, struct json_object *rows)
{
	struct crabtree_info info;
	char name[SYSFS_TEXT];

	if (target->image)
		return report_image(target, rows);
	device_name(target->device, name);
	if (sysfs_info(name, &info))
		return report_device(name, rows);
	message("%s: doctor: sysfs has no such device", target->device);
	return report_devices(rows) | EXIT_NOT_FOUND;
}

static int print_causes(bool json)
{
	struct findings all;
	size_t i;

	for (i = 0; i < CAUSES; i++)
		all.found[i] = true;
	if (json)
		return json_print(findings_json(&all));
	for (i = 0; i < CAUSES; i++)
		printf("%s (%s)\n  %s\n  next: %s\n", causes[i].name,
		       severities[causes[i].severity], causes[i].text, causes[i].next);
	return EXIT_OK;
}

static error_t parse_opt(int key, char *arg, struct argp_state *state)
{
	struct args *args = state->input;

	(void)arg;
	args->causes |= key == 'c';
	return key == 'c' ? 0 : ARGP_ERR_UNKNOWN;
}

static const struct argp_option options[] = {
	{ "causes", 'c', NULL, 0, "print all causes that doctor knows", 0 },
	{ 0 }
};

static const struct argp argp = {
	.options = options,
	.parser = parse_opt,
	.doc = "Is there a store, did it survive, what is it safe against, and what to do next. "
	       "Without a device or an image, all devices. Changes nothing.",
};

int verb_doctor(struct target *target, int argc, char **argv)
{
	struct args args = { .target = target };
	struct json_object *rows;
	int code;

	verb_parse(&argp, argc, argv, &args);
	if (args.causes)
		return print_causes(target->json);
	rows = target->json ? json_object_new_array() : NULL;
	code = target->named ? report_named(target, rows) : report_devices(rows);
	if (rows)
		json_print(rows);
	return code;
}

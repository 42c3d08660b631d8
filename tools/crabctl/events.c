// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements `crabctl events`: a line for each device at the start, and one for each
 * change of a state. The kernel wakes poll() on the file `state` of sysfs; devices that come and
 * go are looked for once a second.
 *
 * Invariant: a state is read before poll() waits for the next change, so that none is missed for
 * longer than a second.
 */
#include "crabctl.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sysfs.h"

#define PATTERN		"/sys/class/crabtree/crab[0-9]*"
#define WATCHED		64	/* the module's limit of regions */
#define ROUND_MS	1000

struct watch {
	char device[32];
	char state[32];
	FILE *file;
	bool present;
};

struct args {
	struct target *target;
	uint64_t count;		/* lines to print */
	uint64_t printed;
	struct watch watches[WATCHED];
};

static void print_json(const char *time, const char *device, const char *from, const char *to,
		       const char *reason)
{
	struct json_object *json = json_object_new_object();

	json_text(json, "time", time);
	json_text(json, "device", device);
	if (*from)
		json_text(json, "from", from);
	json_text(json, "state", to);
	json_text(json, "reason", reason);
	puts(json_object_to_json_string_ext(json, JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(json);
}

static bool is_complete(const struct args *args)
{
	return args->printed >= args->count;
}

/* Nothing after the last line that was asked for, also in the middle of a round */
static void print_event(struct args *args, const char *device, const char *from, const char *to)
{
	char time_text[32], reason[SYSFS_TEXT];
	time_t now = time(NULL);

	if (is_complete(args))
		return;
	strftime(time_text, sizeof(time_text), "%Y-%m-%dT%H:%M:%SZ", gmtime(&now));
	sysfs_text(device, "reason", reason, sizeof(reason));
	from = sysfs_state_name(from);
	to = sysfs_state_name(to);
	if (args->target->json)
		print_json(time_text, device, from, to, reason);
	else
		printf("%s %s %s%s%s%s%s\n", time_text, device, from, *from ? " -> " : "", to,
		       *reason ? ": " : "", reason);
	fflush(stdout);
	args->printed++;
}

static void end(struct args *args, struct watch *watch)
{
	print_event(args, watch->device, watch->state, "removed");
	fclose(watch->file);
	watch->file = NULL;
}

/*
 * Reads the state again, from the same open file: the next poll() waits for the next change. The
 * file of a device that is gone is of no use, also if there is another device of its name.
 */
static void look(struct args *args, struct watch *watch)
{
	char now[sizeof(watch->state)] = "";

	rewind(watch->file);
	if (!fgets(now, sizeof(now), watch->file)) {
		end(args, watch);
		return;
	}
	now[strcspn(now, "\n")] = '\0';
	if (!strcmp(now, watch->state))
		return;
	print_event(args, watch->device, watch->state, now);
	strcpy(watch->state, now);
}

static void begin(struct args *args, const char *device)
{
	struct watch *watch, *free_one = NULL;
	char path[128];

	for (watch = args->watches; watch < args->watches + WATCHED; watch++) {
		if (watch->file && !strcmp(watch->device, device)) {
			watch->present = true;
			return;
		}
		if (!watch->file && !free_one)
			free_one = watch;
	}
	snprintf(path, sizeof(path), "/sys/class/crabtree/%.31s/state", device);
	if (!free_one || !(free_one->file = fopen(path, "r")))
		return;
	setvbuf(free_one->file, NULL, _IONBF, 0);
	snprintf(free_one->device, sizeof(free_one->device), "%.31s", device);
	free_one->state[0] = '\0';
	free_one->present = true;
	look(args, free_one);
}

static void look_round(struct args *args)
{
	struct watch *watch;
	glob_t found;
	size_t i;

	for (watch = args->watches; watch < args->watches + WATCHED; watch++)
		watch->present = false;
	sysfs_glob(PATTERN, &found);
	for (i = 0; i < found.gl_pathc; i++)
		begin(args, strrchr(found.gl_pathv[i], '/') + 1);
	globfree(&found);
	for (watch = args->watches; watch < args->watches + WATCHED; watch++) {
		if (watch->file && watch->present)
			look(args, watch);
		else if (watch->file)
			end(args, watch);
	}
}

static void wait_for_change(const struct args *args)
{
	struct pollfd polled[WATCHED + 1];
	nfds_t count = 0;
	size_t i;

	for (i = 0; i < WATCHED; i++)
		if (args->watches[i].file)
			polled[count++] = (struct pollfd){
				.fd = fileno(args->watches[i].file),
				.events = POLLPRI | POLLERR,
			};
	output_poll(polled, count, ROUND_MS);
}

static error_t parse_opt(int key, char *arg, struct argp_state *state)
{
	struct args *args = state->input;

	switch (key) {
	case 'n':
		args->count = number_arg(state, "--count", arg);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option options[] = {
	{ "count", 'n', "N", 0, "end after N lines [never]", 0 },
	{ 0 }
};

static const struct argp argp = {
	.options = options,
	.parser = parse_opt,
	.doc = "Print the state of each device, then a line for each change.",
};

int verb_events(struct target *target, int argc, char **argv)
{
	static struct args args = { .count = UINT64_MAX };

	args.target = target;
	verb_parse(&argp, argc, argv, &args);
	if (target_no_option(target, "events"))
		return EXIT_USAGE;
	for (;;) {
		look_round(&args);
		if (is_complete(&args))
			return EXIT_OK;
		if (ferror(stdout))
			return EXIT_FAILED;
		wait_for_change(&args);
	}
}

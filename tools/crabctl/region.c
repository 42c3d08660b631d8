// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements `crabctl region`: it adds and removes regions while the module is loaded,
 * and lists them.
 */
#include "crabctl.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "region.h"

#define WORDS	64

struct args {
	struct target *target;
	char *word[WORDS];	/* the first one is the action */
	int count;
	bool force;
	struct region_load load;
};

static int add(struct args *args)
{
	char command[REGION_SPEC + 8], answer[REGION_ANSWER];

	if (strlen(args->word[1]) >= REGION_SPEC) {
		message("region add: more than %d bytes", REGION_SPEC - 1);
		return EXIT_USAGE;
	}
	snprintf(command, sizeof(command), "add %s", args->word[1]);
	if (control_command(command, answer)) {
		message("%s: %s", args->word[1], control_reason(args->word[1], answer));
		return EXIT_FAILED;
	}
	region_forget(answer);
	puts(answer);
	return EXIT_OK;
}

/* crab1, /dev/crab1, and each link to it */
static const char *device_name(const char *text, char path[PATH_MAX])
{
	if (!strchr(text, '/'))
		return text;
	if (!realpath(text, path))
		snprintf(path, PATH_MAX, "%s", text);
	return strrchr(path, '/') + 1;
}

static int remove_one(struct args *args)
{
	char command[PATH_MAX + 16], answer[REGION_ANSWER], path[PATH_MAX];
	const char *device = device_name(args->word[1], path);

	snprintf(command, sizeof(command), "remove %s%s", device, args->force ? " force" : "");
	if (control_command(command, answer)) {
		message("%s: %s", args->word[1], control_reason(args->word[1], answer));
		return EXIT_FAILED;
	}
	region_forget(device);
	return EXIT_OK;
}

static int load(struct args *args)
{
	int i;

	if (args->count == 1)
		region_load_path(&args->load, REGION_DIR);
	for (i = 1; i < args->count; i++)
		region_load_path(&args->load, args->word[i]);
	region_load_end(&args->load);
	return args->load.bad ? EXIT_NOT_FOUND : EXIT_OK;
}

static int list(struct args *args)
{
	char *argv[] = { "crabctl region list", NULL };

	return verb_list(args->target, 1, argv);
}

static const struct action {
	const char *name;
	int least, most;	/* words, with the action */
	int (*run)(struct args *args);
} actions[] = {
	{ "add", 2, 2, add },
	{ "remove", 2, 2, remove_one },
	{ "list", 1, 1, list },
	{ "load", 1, WORDS, load },
};

static const struct action *action_find(const struct args *args)
{
	size_t i;

	for (i = 0; i < sizeof(actions) / sizeof(actions[0]); i++)
		if (args->count >= actions[i].least && args->count <= actions[i].most &&
		    !strcmp(args->word[0], actions[i].name))
			return &actions[i];
	return NULL;
}

static error_t parse_opt(int key, char *arg, struct argp_state *state)
{
	struct args *args = state->input;
	uint64_t seconds;

	switch (key) {
	case 'f':
		args->force = true;
		return 0;
	case 'n':
		args->load.dry = true;
		return 0;
	case 'w':
		seconds = number_arg(state, "--wait", arg);
		if (seconds > 3600)
			arg_error(state, "--wait %s: 0 to 3600 seconds", arg);
		args->load.wait_ms = seconds * 1000;
		return 0;
	case ARGP_KEY_ARG:
		if (args->count == WORDS)
			arg_error(state, "more than %d words", WORDS);
		args->word[args->count++] = arg;
		return 0;
	case ARGP_KEY_END:
		if (!args->count || !action_find(args))
			arg_error(state, "want add REGION, remove DEVICE, list, or load [PATH...]");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option options[] = {
	{ "force", 'f', NULL, 0, "remove: even if the device is in use", 0 },
	{ "dry-run", 'n', NULL, 0, "load: check the files, and add nothing", 0 },
	{ "wait", 'w', "SECONDS", 0, "load: how long a path of pmem= may take to appear [0]", 0 },
	{ 0 }
};

static const struct argp argp = {
	.options = options,
	.parser = parse_opt,
	.args_doc = "add PROVIDER=REGION[,OPTION...]\nremove DEVICE\nlist\nload [PATH...]",
	.doc = "Add and remove regions while the module is loaded. `load' reads the lines of files, "
	       "of /etc/crabtree.d/*.conf if none is named; see crabtree.d(5).",
};

int verb_region(struct target *target, int argc, char **argv)
{
	const struct action *action;
	static struct args args;
	char verb[32];

	args.target = target;
	verb_parse(&argp, argc, argv, &args);
	action = action_find(&args);
	snprintf(verb, sizeof(verb), "region %s", action->name);
	if (target_no_option(target, verb) || (action->run != list && target_no_json(target, verb)))
		return EXIT_USAGE;
	return action->run(&args);
}

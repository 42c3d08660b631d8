// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the target of a command: the options that name it, which
 * every verb accepts, and the functions that open and close it.
 */
#include "crabctl.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef CRABCTL_IMAGE
#include <crabtree_image.h>
#endif

enum { OPT_IMAGE = 0x1000 };

static const struct argp_option options[] = {
	{ "device", 'd', "DEV", 0,
	  "the device, or file:IMAGE [$CRABTREE_DEVICE, else /dev/crab0]", 0 },
	{ "image", OPT_IMAGE, "FILE", 0,
	  "work on an image of a region instead, without the kernel", 0 },
	{ "json", 'j', NULL, 0, "print JSON", 0 },
	{ 0 }
};

const char *target_device(const char *name)
{
	static char paths[2][32];	/* diff has two of them */
	static unsigned int calls;
	char *path = paths[calls++ % 2];
	size_t digits = strncmp(name, "crab", 4) ? 0 : strspn(name + 4, "0123456789");

	if (!digits || name[4 + digits] || digits > 9 || !access(name, F_OK))
		return name;
	snprintf(path, sizeof(paths[0]), "/dev/%s", name);
	return path;
}

void target_name(struct target *target, const char *name)
{
	bool image = is_image_path(name);

	target->image = image ? name + strlen(IMAGE_PATH) : NULL;
	target->device = image ? name : target_device(name);
	target->named = true;
}

static error_t parse_opt(int key, char *arg, struct argp_state *state)
{
	struct target *target = state->input;

	switch (key) {
	case 'd':
		if (!*arg || !strcmp(arg, IMAGE_PATH))
			arg_error(state, "--device: the name is empty");
		target_name(target, arg);
		target->option = "-d";
		return 0;
	case OPT_IMAGE:
		if (!*arg)
			arg_error(state, "--image: the name is empty");
		target->image = arg;
		target->named = true;
		target->option = "--image";
		return 0;
	case 'j':
		target->json = true;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

const struct argp target_argp = {
	.options = options,
	.parser = parse_opt,
};

const struct argp_child target_child[] = {
	{ &target_argp, 0, "Target and output:", 1 },
	{ 0 }
};

/**
 * struct verb - a command line that is being parsed
 * @argp: of the verb: its options, and its words as `KEY VALUE [TEXT]', or any number with `...'
 * @args: of its parser; the first field is the target
 */
struct verb {
	const struct argp *argp;
	void *args;
};

static const char *word_at(const char *words, unsigned int n)
{
	while (words && n--) {
		words = strchr(words, ' ');
		words += !!words;
	}
	return words;
}

/* @arg: the next word, or NULL: there are no more */
static void check_words(struct argp_state *state, const char *words, const char *arg)
{
	const char *word = word_at(words, state->arg_num);

	if (words && strstr(words, "..."))
		return;
	if (arg && !words)	/* the name is "crabctl VERB" */
		arg_error(state, "%s: %s takes no argument", arg, strchr(state->name, ' ') + 1);
	else if (arg && !word)
		arg_error(state, "%s: one argument too many", arg);
	else if (!arg && word && *word != '[')
		arg_error(state, "%.*s is missing", (int)strcspn(word, " |"), word);
}

static error_t parse_verb(int key, char *arg, struct argp_state *state)
{
	const struct verb *verb = state->input;
	struct target *target = *(struct target **)verb->args;
	error_t err = ARGP_ERR_UNKNOWN;

	if (key == ARGP_KEY_INIT)
		state->child_inputs[0] = target;
	if (key == ARGP_KEY_ARG || key == ARGP_KEY_END)
		check_words(state, verb->argp->args_doc, arg);
	if (key == ARGP_KEY_ARG && state->arg_num < TARGET_WORDS)
		target->word[state->arg_num] = arg;
	state->input = verb->args;
	if (verb->argp->parser)
		err = verb->argp->parser(key, arg, state);
	return key == ARGP_KEY_ARG ? 0 : err;
}

void verb_parse(const struct argp *argp, int argc, char **argv, void *args)
{
	struct verb verb = { argp, args };
	const struct argp whole = {
		.options = argp->options, .parser = parse_verb, .args_doc = argp->args_doc,
		.doc = argp->doc, .children = target_child,
	};

	argp_parse(&whole, argc, argv, 0, NULL, &verb);
}

void verb_parse_bare(struct target *target, const char *doc, int argc, char **argv)
{
	const struct argp argp = { .doc = doc };

	verb_parse(&argp, argc, argv, &target);
}

const char *verb_parse_file(struct target *target, const char *doc, int argc, char **argv)
{
	const struct argp argp = { .args_doc = "FILE|-", .doc = doc };

	verb_parse(&argp, argc, argv, &target);
	return target->word[0];
}

const char *target_path(const struct target *target)
{
	return target->image ? target->image : target->device;
}

#ifdef CRABCTL_IMAGE
static int open_image(struct target *target, unsigned int flags)
{
	return crabtree_open_image(&target->ct, target->image, flags);
}
#else
static int open_image(struct target *target, unsigned int flags)
{
	(void)target;
	(void)flags;
	return -ELIBACC;
}
#endif

/* Meaning of an errno of open; the messages of the library are about keys */
const char *target_error(const struct target *target, int err)
{
	bool image = target->image;

	switch (err) {
	case -ENOENT:
		return image ? "no such file" :
			"no such device (is crabtree.ko loaded, has it a region?)";
	case -ENOTTY:
		return image ? "not a regular file" :
			"not a crabtree device (an image file is opened by --image)";
	case -EWOULDBLOCK:
		return "another program has this image open";
	case -ELIBACC:
		return "this crabctl was built without support for image files";
	case -EINVAL:
		return image ? "too small to be an image of a region" : strerror(EINVAL);
	case -EROFS:	/* of an image, the file system */
		return image ? strerror(EROFS) : crabtree_strerror(err);
	case -EACCES:
	case -EPERM:
	case -ENOSPC:
		return strerror(-err);
	default:
		return crabtree_strerror(err);
	}
}

int target_try(struct target *target, unsigned int flags)
{
	int err = target->image ? open_image(target, flags) :
		  crabtree_open(&target->ct, target->device, flags);

	if (err)
		target->ct = NULL;
	return err;
}

int target_open(struct target *target, unsigned int flags)
{
	int err = target_try(target, flags);

	if (!err)
		return EXIT_OK;
	message("%s: %s", target_path(target), target_error(target, err));
	return EXIT_FAILED;
}

int target_spare(const struct target *target, const char *path)
{
	struct stat image, file;

	if (!target->image || stat(target->image, &image) || stat(path, &file) ||
	    image.st_dev != file.st_dev || image.st_ino != file.st_ino)
		return EXIT_OK;
	message("%s: that is the image itself", path);
	return EXIT_FAILED;
}

int target_no_json(const struct target *target, const char *verb)
{
	if (!target->json)
		return EXIT_OK;
	message("-j: %s prints no JSON", verb);
	return EXIT_USAGE;
}

int target_no_option(const struct target *target, const char *verb)
{
	if (!target->option)
		return EXIT_OK;
	message("%s: %s does not use it%s", target->option, verb,
		strcmp(verb, "diff") ? ": it is about all devices" :
		target->image ? ": an image is file:PATH" : ": its arguments are OLD and NEW");
	return EXIT_USAGE;
}

int target_store(struct target *target, const char *verb, const char *name)
{
	struct crabtree_info info = { 0 };
	int err = crabtree_info(target->ct, &info, sizeof(info));
	uint64_t value;

	if (!err && info.state != CRABTREE_STATE_READY && info.state != CRABTREE_STATE_READONLY)
		err = crabtree_search(target->ct, 0, &value);
	if (!err)
		return EXIT_OK;
	return fail(target, err, "%s%s%s", verb, name ? " " : "", name ? name : "");
}

int target_close(struct target *target)
{
	int err = crabtree_close(target->ct);

	target->ct = NULL;
	return err ? fail_file(target_path(target), err, "close") : EXIT_OK;
}

/* Closes it, if it is open; the exit code of the verb, or else of the close */
int target_end(struct target *target, int code)
{
	int closed = target_close(target);

	return code ? code : closed;
}

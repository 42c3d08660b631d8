// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements `crabctl format`: make an empty store.
 *
 * Invariant: a region that is not blank is overwritten only with --force, and
 * only after --yes or a "yes" typed on a terminal. A new image has its name once it is a store.
 */
#include "crabctl.h"
#include "partial.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#ifdef CRABCTL_IMAGE
#include <crabtree_image.h>
#endif

struct args {
	struct target *target;
	struct crabtree_format format;
	uint64_t size;
	bool yes;
};

enum {
	OPT_ENGINE = 0x2000, OPT_LAYOUT, OPT_LEAF_SIZE, OPT_LABEL, OPT_UUID, OPT_FORCE,
	OPT_YES, OPT_SIZE, OPT_BLOBS, OPT_COMMITS, OPT_NAMES,
};

static const struct argp_option options[] = {
	{ "engine", OPT_ENGINE, "NAME", 0, "crab, nvtree, fastfair, clfb, nbtree or volatile [crab]", 0 },
	{ "layout", OPT_LAYOUT, "NAME", 0, "its leaf layout [its default]", 0 },
	{ "leaf-size", OPT_LEAF_SIZE, "BYTES", 0, "a power of two, 64 to 8K [the layout's default]", 0 },
	{ "label", OPT_LABEL, "TEXT", 0, "a name for people, at most 31 bytes", 0 },
	{ "uuid", OPT_UUID, "UUID", 0, "the identity [random]", 0 },
	{ "blobs", OPT_BLOBS, NULL, 0, "values of up to 64 KiB, not of 8 bytes", 0 },
	{ "commits", OPT_COMMITS, NULL, 0, "several writes at once, all or none; also with --blobs or --names", 0 },
	{ "names", OPT_NAMES, NULL, 0, "values of up to 64 KiB under names, with types", 0 },
	{ "force", OPT_FORCE, NULL, 0, "also over a store or other data", 0 },
	{ "yes", OPT_YES, NULL, 0, "do not ask", 0 },
	{ "size", OPT_SIZE, "BYTES", 0,
	  "create the file of --image with this size; K, M and G are understood", 0 },
	{ 0 }
};

static void parse_end(struct argp_state *state, const struct args *args)
{
	if (args->size && !args->target->image)
		arg_error(state, "--size is for --image: a device has the size that it has");
	else if (args->target->image && !strcmp(args->format.engine, ENGINE_VOLATILE))
		arg_error(state, "--engine " ENGINE_VOLATILE " keeps nothing in an image");
}

static error_t parse_opt(int key, char *arg, struct argp_state *state)
{
	struct args *args = state->input;
	struct crabtree_format *format = &args->format;

	switch (key) {
	case OPT_ENGINE:
		text_arg(state, "--engine", arg, format->engine, sizeof(format->engine));
		return 0;
	case OPT_LAYOUT:
		text_arg(state, "--layout", arg, format->layout, sizeof(format->layout));
		return 0;
	case OPT_LEAF_SIZE:
		format->leaf_bytes = leaf_arg(state, arg);
		return 0;
	case OPT_LABEL:
		text_arg(state, "--label", arg, format->label, sizeof(format->label));
		return 0;
	case OPT_UUID:
		uuid_arg(state, arg, format->uuid);
		return 0;
	case OPT_SIZE:
		args->size = image_size_arg(state, arg);
		return 0;
	case OPT_BLOBS:
		args->format.flags |= CRABTREE_FORMAT_BLOBS;
		return 0;
	case OPT_NAMES:
		args->format.flags |= CRABTREE_FORMAT_NAMES;
		return 0;
	case OPT_COMMITS:
		args->format.flags |= CRABTREE_FORMAT_COMMITS;
		return 0;
	case OPT_FORCE:
		args->format.flags |= CRABTREE_FORMAT_FORCE;
		return 0;
	case OPT_YES:
		args->yes = true;
		return 0;
	case ARGP_KEY_END:
		parse_end(state, args);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse_opt,
	.doc = "Make an empty store. The region's content is lost.",
};

/* Standard output is for the result */
static bool ask(const struct target *target, const struct crabtree_info *info, const char *verb)
{
	char answer[16] = "";

	if (info->state == CRABTREE_STATE_READY || info->state == CRABTREE_STATE_READONLY)
		message("%s holds the store \"%.*s\" with %" PRIu64 " %s.", target_path(target),
			(int)sizeof(info->label), info->label, (uint64_t)info->records,
			noun(info->records, "record", "records"));
	else
		message("%s is not empty: %.*s", target_path(target), (int)sizeof(info->reason),
			info->reason);
	fprintf(stderr, "All of it will be lost. Type \"yes\" to %s: ", verb);
	return fgets(answer, sizeof(answer), stdin) && !strcmp(answer, "yes\n");
}

int format_ask(const struct target *target, const struct crabtree_info *info, const char *verb)
{
	if (!isatty(STDIN_FILENO)) {
		message("%s: %s: say --yes: there is no terminal to ask on", target_path(target), verb);
		return EXIT_USAGE;
	}
	if (ask(target, info, verb))
		return EXIT_OK;
	message("%s: %s: not confirmed, nothing was changed", target_path(target), verb);
	return EXIT_FAILED;
}

/* A blank region needs no confirmation */
static int confirm(struct target *target, const struct args *args)
{
	struct crabtree_info info;
	int err, code;

	if (args->yes || args->size || !(args->format.flags & CRABTREE_FORMAT_FORCE))
		return EXIT_OK;
	code = target_open(target, CRABTREE_OPEN_READONLY);
	if (code)
		return code;
	err = crabtree_info(target->ct, &info, sizeof(info));
	if (err)
		code = fail(target, err, "format");
	target_close(target);
	if (err || info.state == CRABTREE_STATE_UNFORMATTED)
		return code;
	return format_ask(target, &info, "format");
}

static const char *refusal(int err)
{
	switch (err) {
	case -EEXIST:
		return "the region is not empty; --force formats it all the same";
	case -ENOSPC:
		return "the region is too small";
	case -EINVAL:
		return "unknown engine or layout, a leaf size that it cannot have, or a label with '/' or a control character";
	case -EOPNOTSUPP:
		return "the layout needs another region or CPU, or the engine has no such stores";
	case -EROFS:
		return "the region is read-only";
	case -EPERM:
	case -EACCES:
		return strerror(-err);
	default:
		return crabtree_strerror(err);
	}
}

/* A device does not report why FORMAT failed: its reason field describes the old content */
static void refusal_detail(struct target *target, int err, char *reason, size_t len)
{
	reason[0] = '\0';
	if (target->image || err == -EEXIST)
		crabtree_reason(target->ct, reason, len);
	else if (err == -EINVAL || err == -ENOSPC || err == -EOPNOTSUPP || err == -EBUSY)
		snprintf(reason, len, "the kernel's log has the reason");
}

int format_refused(struct target *target, int err, const char *verb)
{
	char reason[128];

	refusal_detail(target, err, reason, sizeof(reason));
	if (target->image && reason[0] && (err == -EINVAL || err == -EOPNOTSUPP))
		message("%s: %s: %s", target_path(target), verb, reason);
	else
		message("%s: %s: %s%s%s%s", target_path(target), verb, refusal(err),
			reason[0] ? " (" : "", reason, reason[0] ? ")" : "");
	return EXIT_FAILED;
}

/* How many blobs there is room for depends on their lengths */
static void print_room(const struct target *target, const struct crabtree_info *info)
{
	printf("%s: %" PRIu64 " leaves of %" PRIu64 " bytes", target_path(target),
	       (uint64_t)info->leaves, (uint64_t)info->leaf_bytes);
	if (info->feature_incompat & CRABTREE_INCOMPAT_BLOBS)
		puts(" for values and their index");
	else
		printf(", room for %" PRIu64 " records\n", (uint64_t)info->capacity);
}

static int print_result(const struct target *target, const struct crabtree_info *info)
{
	if (target->json)
		return json_print(info_json(target, info));
	print_room(target, info);
	return EXIT_OK;
}

/* @info: out: of the new store */
static int format(struct target *target, struct args *args, struct crabtree_info *info)
{
	int err;

	if (isatty(STDERR_FILENO))
		fprintf(stderr, "formatting %s ...", target_path(target));
	err = crabtree_format(target->ct, &args->format, sizeof(args->format));
	if (isatty(STDERR_FILENO))
		fprintf(stderr, err ? "\n" : " done\n");
	if (err)
		return format_refused(target, err, "format");
	err = crabtree_info(target->ct, info, sizeof(*info));
	return err ? fail(target, err, "info") : EXIT_OK;
}

#ifdef CRABCTL_IMAGE
/* Does only --size make this image? EXIT_FAILED after that advice; otherwise its open finds any error */
static int advise_size(const struct target *target)
{
	struct stat st;
	int err;

	if (!target->image)
		return EXIT_OK;
	err = stat(target->image, &st) ? errno : 0;
	if (err != ENOENT && (err || !S_ISREG(st.st_mode) || st.st_size >= IMAGE_PAGE))
		return EXIT_OK;
	message("%s: format: %s --size=BYTES makes it", target->image,
		err ? "no such file;" : "too small to be an image; remove it, then");
	return EXIT_FAILED;
}

static int fail_create(const struct target *target, int err)
{
	struct stat st;
	bool fits;

	if (err != -EEXIST)
		return fail_file(target->image, err, "create");
	fits = !stat(target->image, &st) && S_ISREG(st.st_mode) && st.st_size >= IMAGE_PAGE;
	message("%s: format: the file is there already%s", target->image,
		fits ? "; leave out --size" : ", and is no image; remove it first");
	return EXIT_FAILED;
}

/* The region of an image is the name of its file: INFO has the one that it had until now */
static void name_region(const struct target *target, struct crabtree_info *info)
{
	const char *slash = strrchr(target->image, '/');

	snprintf(info->region, sizeof(info->region), "%s", slash ? slash + 1 : target->image);
}

static int format_new(struct target *target, struct args *args, struct crabtree_info *info)
{
	struct partial partial;
	int code = EXIT_OK, err = partial_new(&partial, target->image);

	if (!err)
		err = partial_room(&partial, args->size);
	if (!err)
		err = crabtree_open_image(&target->ct, partial.path, 0);
	if (!err)
		code = target_end(target, format(target, args, info));
	if (!err && !code)
		err = fsync(partial.file) ? -errno : partial_place(&partial, false);
	if (err)
		code = fail_create(target, err);
	else if (!code)
		name_region(target, info);
	partial_end(&partial);
	return code;
}
#else
static int advise_size(const struct target *target)
{
	(void)target;
	return EXIT_OK;
}

static int format_new(struct target *target, struct args *args, struct crabtree_info *info)
{
	(void)args;
	(void)info;
	return target_open(target, 0);	/* reports that --image is missing */
}
#endif

static int format_old(struct target *target, struct args *args, struct crabtree_info *info)
{
	int code = target_open(target, 0);

	return code ? code : target_end(target, format(target, args, info));
}

int verb_format(struct target *target, int argc, char **argv)
{
	struct args args = { .target = target };
	struct crabtree_info info;
	int code;

	verb_parse(&argp, argc, argv, &args);
	code = args.size ? EXIT_OK : advise_size(target);
	if (!code)
		code = confirm(target, &args);
	if (!code)
		code = args.size ? format_new(target, &args, &info) : format_old(target, &args, &info);
	return code ? code : print_result(target, &info);	/* once it is complete under its name */
}

// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements `crabctl tree`: the nodes of a tree in an image, how full the leaves are,
 * and one leaf in detail.
 *
 * Invariant: the memory is one byte for each leaf in use, and the leaves that are listed.
 */
#include "crabctl.h"

#ifdef CRABCTL_IMAGE
#include "tree.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define LISTED		16	/* leaves that are listed by default */
#define LISTED_MAX	1000000

static int take_fill(struct tree *tree, const struct crabtree_image_leaf *leaf)
{
	uint64_t n = tree->nodes[0], room = tree->room ? 2 * tree->room : 1024;
	uint64_t fill = leaf->records * 100 / tree->slots;
	uint8_t *more;

	if (n == tree->room) {
		more = realloc(tree->fill, room);
		if (!more)
			return -ENOMEM;
		tree->fill = more;
		tree->room = room;
	}
	tree->fill[n] = fill > 100 ? 100 : fill;
	tree->bins[fill >= 100 ? TREE_BINS - 1 : fill * TREE_BINS / 100]++;
	return 0;
}

static int take(void *arg, const struct crabtree_image_leaf *leaf)
{
	struct tree *tree = arg;
	int err = 0;

	if (!leaf->level) {
		err = take_fill(tree, leaf);
		if (tree->listed < tree->limit)
			tree->list[tree->listed++] = *leaf;
		tree->records += leaf->records;
		tree->quarantined += leaf->quarantined;
		if (tree->want && leaf->number == tree->wanted) {
			tree->one = *leaf;
			tree->found = true;
		}
	}
	tree->nodes[leaf->level % TREE_LEVELS]++;
	return err;
}

static int collect(struct tree *tree)
{
	int err = crabtree_info(tree->target->ct, &tree->info, sizeof(tree->info));

	if (target_store(tree->target, "tree", NULL))
		return EXIT_FAILED;
	if (err || !tree->info.leaves)
		return fail(tree->target, err ? err : -EUCLEAN, "tree");
	tree->slots = tree->info.capacity / tree->info.leaves;
	tree->slots += !tree->slots;
	tree->list = calloc(tree->limit + 1, sizeof(*tree->list));
	err = tree->list ? crabtree_image_leaves(tree->target->ct, take, tree) : -ENOMEM;
	tree->complete = !err;
	return err && err != -EUCLEAN ? fail(tree->target, err, "tree") : EXIT_OK;
}

static int show(struct tree *tree)
{
	int code = collect(tree);

	if (code)
		return code;
	if (tree->want && !tree->found) {
		message("%s: tree: leaf %" PRIu64 " is not in the tree", target_path(tree->target),
			tree->wanted);
		return EXIT_FAILED;
	}
	if (tree->svg)
		code = tree_draw(tree);
	else if (tree->target->json)
		tree_print_json(tree);
	else
		tree_print(tree);
	return code ? code : tree->complete && !tree->quarantined ? EXIT_OK : EXIT_NOT_FOUND;
}

enum { OPT_LEAVES = 0x2000, OPT_LEAF, OPT_SVG };

static const struct argp_option options[] = {
	{ "leaves", OPT_LEAVES, "N", 0, "list the first N leaves [16]", 0 },
	{ "leaf", OPT_LEAF, "NUMBER", 0, "show this leaf in detail", 0 },
	{ "svg", OPT_SVG, "FILE", 0, "draw a picture into FILE instead; -: to standard output", 0 },
	{ 0 }
};

static error_t parse_opt(int key, char *arg, struct argp_state *state)
{
	struct tree *tree = state->input;

	switch (key) {
	case OPT_LEAVES:
		tree->limit = number_arg(state, "number of leaves", arg);
		if (tree->limit > LISTED_MAX)
			arg_error(state, "number of leaves %s: 0 to %d", arg, LISTED_MAX);
		return 0;
	case OPT_LEAF:
		tree->wanted = number_arg(state, "number of a leaf", arg);
		tree->want = true;
		return 0;
	case OPT_SVG:
		tree->svg = arg;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse_opt,
	.doc = "The nodes of the tree in an --image, how full the leaves are, and one leaf in "
	       "detail. Changes nothing.",
};

/* The ioctls have no command that shows nodes */
static int refuse_device(const struct target *target)
{
	message("%s: tree needs --image: a device does not show its leaves. Detach it, copy its memory "
		"(dd if=/dev/pmem0 of=FILE), then: crabctl --image FILE tree", target->device);
	return EXIT_USAGE;
}

int verb_tree(struct target *target, int argc, char **argv)
{
	struct tree tree = { .target = target, .limit = LISTED };
	int code;

	verb_parse(&argp, argc, argv, &tree);
	if (!target->image)
		return refuse_device(target);
	code = target_open(target, CRABTREE_OPEN_READONLY);
	if (code)
		return code;
	code = show(&tree);
	free(tree.fill);
	free(tree.list);
	return code;
}
#else
int verb_tree(struct target *target, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	message("%s: %s", target_path(target), target_error(target, -ELIBACC));
	return EXIT_FAILED;
}
#endif

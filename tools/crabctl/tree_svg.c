// SPDX-License-Identifier: GPL-2.0
/*
 * This file draws the picture of `crabctl tree`: the levels, the leaves in the order of keys
 * coloured by their fill, the histogram, and one leaf.
 *
 * Invariants: the picture has a bounded number of elements: if there are more nodes than cells, a
 * cell is the mean of several. Its file has the old content or the complete new one.
 */
#ifdef CRABCTL_IMAGE
#include "partial.h"
#include "tree.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>

#define WIDTH		960
#define LEFT		130
#define SPAN		(WIDTH - LEFT - 20)
#define CELLS		256	/* in a row */
#define BAR_HEIGHT	120

static void text(FILE *file, int x, int y, const char *anchor, const char *words)
{
	fprintf(file, "<text x=\"%d\" y=\"%d\" text-anchor=\"%s\">%s</text>\n", x, y, anchor, words);
}

static void cell(FILE *file, uint64_t i, uint64_t n, int y, int height, unsigned int percent)
{
	fprintf(file, "<rect x=\"%.2f\" y=\"%d\" width=\"%.2f\" height=\"%d\" "
		"fill=\"hsl(210,70%%,%u%%)\" stroke=\"#fff\" stroke-width=\"0.5\"/>\n",
		LEFT + (double)i * SPAN / n, y, (double)SPAN / n, height, 92 - percent * 62 / 100);
}

static unsigned int mean(const struct tree *tree, uint64_t from, uint64_t to)
{
	uint64_t i, sum = 0;

	for (i = from; i < to; i++)
		sum += tree->fill[i];
	return to > from ? sum / (to - from) : 0;
}

static void draw_leaves(FILE *file, const struct tree *tree, int y)
{
	uint64_t leaves = tree->nodes[0], n = leaves < CELLS ? leaves : CELLS, i;

	for (i = 0; i < n; i++)
		cell(file, i, n, y, 30, mean(tree, leaves * i / n, leaves * (i + 1) / n));
}

/* Nodes above the leaves, the root first; the next free line */
static int draw_levels(FILE *file, const struct tree *tree, int y)
{
	uint64_t i, n;
	char words[64];
	int level;

	for (level = TREE_LEVELS - 1; level >= 0; level--) {
		if (!tree->nodes[level])
			continue;
		snprintf(words, sizeof(words), "%" PRIu64 " %s", tree->nodes[level],
			 noun(tree->nodes[level], level ? "node" : "leaf", level ? "nodes" : "leaves"));
		text(file, LEFT - 10, y + 20, "end", words);
		n = tree->nodes[level] < CELLS ? tree->nodes[level] : CELLS;
		for (i = 0; level && i < n; i++)
			cell(file, i, n, y, 30, 50);
		if (!level)
			draw_leaves(file, tree, y);
		y += 40;
	}
	return y;
}

static void draw_bins(FILE *file, const struct tree *tree, int y)
{
	uint64_t most = 1;
	char words[64];
	int i, height, x;

	for (i = 0; i < TREE_BINS; i++)
		most = tree->bins[i] > most ? tree->bins[i] : most;
	for (i = 0; i < TREE_BINS; i++) {
		height = tree->bins[i] * (double)BAR_HEIGHT / most;
		x = LEFT + i * SPAN / TREE_BINS;
		fprintf(file, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" "
			"fill=\"hsl(210,70%%,%d%%)\"/>\n", x + 2, y + BAR_HEIGHT - height,
			SPAN / TREE_BINS - 4, height, 92 - (2 * i + 1) * 31 / TREE_BINS);
		snprintf(words, sizeof(words), "%d-%d %%", i * 100 / TREE_BINS,
			 (i + 1) * 100 / TREE_BINS);
		text(file, x + SPAN / TREE_BINS / 2, y + BAR_HEIGHT + 16, "middle", words);
		snprintf(words, sizeof(words), "%" PRIu64, tree->bins[i]);
		text(file, x + SPAN / TREE_BINS / 2, y + BAR_HEIGHT - height - 4, "middle", words);
	}
	text(file, LEFT - 10, y + BAR_HEIGHT, "end", "leaves by fill");
}

static void draw_one(FILE *file, const struct tree *tree, int y)
{
	uint64_t i, n = tree->slots < 2 * CELLS ? tree->slots : 2 * CELLS;
	char words[160];

	snprintf(words, sizeof(words), "keys %" PRIu64 " to %" PRIu64 ", %" PRIu32 " of %" PRIu64
		 " records", tree->one.low, tree->one.high, tree->one.records, tree->slots);
	text(file, LEFT, y - 6, "start", words);
	snprintf(words, sizeof(words), "leaf %" PRIu64, tree->one.number);
	text(file, LEFT - 10, y + 20, "end", words);
	for (i = 0; i < n; i++)
		cell(file, i, n, y, 30, i * tree->slots / n < tree->one.records ? 100 : 0);
}

static void draw(FILE *file, const struct tree *tree)
{
	int level, levels = 0, height;
	char words[160];

	for (level = 0; level < TREE_LEVELS; level++)
		levels += !!tree->nodes[level];
	height = 50 + 40 * levels + 30 + BAR_HEIGHT + 40 + (tree->found ? 70 : 0);
	fprintf(file, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" "
		"font-family=\"sans-serif\" font-size=\"13\">\n<rect width=\"%d\" height=\"%d\" "
		"fill=\"#fff\"/>\n", WIDTH, height, WIDTH, height);
	snprintf(words, sizeof(words), "%.*s, %.*s: %" PRIu64 " %s, leaves of %" PRIu64
		 " bytes, %" PRIu64 " quarantined", CRABTREE_NAME_LEN, tree->info.engine,
		 CRABTREE_NAME_LEN, tree->info.layout, tree->records,
		 noun(tree->records, "record", "records"), (uint64_t)tree->info.leaf_bytes, tree->quarantined);
	text(file, LEFT, 28, "start", words);
	level = draw_levels(file, tree, 44);
	draw_bins(file, tree, level + 24);
	if (tree->found)
		draw_one(file, tree, level + 24 + BAR_HEIGHT + 50);
	fputs("</svg>\n", file);
}

static int draw_to(const struct tree *tree, FILE *file)
{
	if (!file)
		return fail_file(tree->svg, -errno, "open");
	draw(file, tree);
	return file_settle(file, tree->svg);
}

static int draw_partial(const struct tree *tree)
{
	struct partial partial;
	int code = draw_to(tree, partial_open(&partial, tree->svg));
	int err = code ? 0 : partial_place(&partial, true);

	if (err)
		code = fail_file(tree->svg, err, "rename");
	partial_end(&partial);
	return code;
}

int tree_draw(const struct tree *tree)
{
	int code = target_spare(tree->target, tree->svg);
	struct stat st;

	if (code)
		return code;
	if (!strcmp(tree->svg, "-")) {
		draw(stdout, tree);
		return EXIT_OK;
	}
	if (stat(tree->svg, &st) || S_ISREG(st.st_mode))
		return draw_partial(tree);
	return draw_to(tree, fopen(tree->svg, "we"));
}
#endif

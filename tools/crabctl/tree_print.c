// SPDX-License-Identifier: GPL-2.0
/*
 * This file prints the result of `crabctl tree` as text and as JSON.
 */
#ifdef CRABCTL_IMAGE
#include "tree.h"

#include <inttypes.h>

#define BAR	40	/* width of the longest bar */

static void print_head(const struct tree *tree)
{
	const struct crabtree_info *info = &tree->info;
	uint64_t most = tree->slots * tree->nodes[0];
	char memory[32];
	int level;

	bytes_text(info->dram_bytes, memory, sizeof(memory));
	printf("engine    %.*s, layout %.*s, leaves of %" PRIu64 " bytes for %" PRIu64 " records\n",
	       CRABTREE_NAME_LEN, info->engine, CRABTREE_NAME_LEN, info->layout,
	       (uint64_t)info->leaf_bytes, tree->slots);
	printf("memory    %s of descriptors and index\n", memory);
	for (level = TREE_LEVELS - 1; level > 0; level--)
		if (tree->nodes[level])
			printf("level %-3d %" PRIu64 " node%s\n", level, tree->nodes[level],
			       tree->nodes[level] == 1 ? "" : "s");
	printf("leaves    %" PRIu64 " of %" PRIu64 ", %" PRIu64 " quarantined\n", tree->nodes[0],
	       (uint64_t)info->leaves, tree->quarantined);
	printf("records   %" PRIu64 ", %.1f %% of the leaves in use\n", tree->records,
	       most ? 100.0 * tree->records / most : 0);
	if (!tree->complete)
		printf("damaged   a link leads to no node: the nodes after it are left out\n");
}

static void bar(uint64_t part, uint64_t whole, uint64_t width, char end)
{
	uint64_t i, n = whole ? (part * width + whole / 2) / whole : 0;

	for (i = 0; i < n && i < width; i++)
		putchar('#');
	for (; end && i < width; i++)
		putchar(end);
}

static void print_bins(const struct tree *tree)
{
	uint64_t most = 0;
	int i;

	for (i = 0; i < TREE_BINS; i++)
		most = tree->bins[i] > most ? tree->bins[i] : most;
	printf("\n      fill     leaves\n");
	for (i = 0; i < TREE_BINS; i++) {
		printf("%3d-%3d %% %10" PRIu64 "%s", i * 100 / TREE_BINS,
		       (i + 1) * 100 / TREE_BINS, tree->bins[i], tree->bins[i] ? "  " : "");
		bar(tree->bins[i], most, BAR, 0);
		putchar('\n');
	}
}

static void print_list(const struct tree *tree)
{
	uint64_t i;

	if (tree->listed)
		printf("\n      leaf      offset  records  fill        keys\n");
	for (i = 0; i < tree->listed; i++) {
		const struct crabtree_image_leaf *leaf = &tree->list[i];

		printf("%10" PRIu64 "  %#10" PRIx64 " %8" PRIu32 "  ", leaf->number, leaf->offset,
		       leaf->records);
		bar(leaf->records, tree->slots, 10, '.');
		printf("  %" PRIu64 " to %" PRIu64 "%s\n", leaf->low, leaf->high,
		       leaf->quarantined ? ", quarantined" : "");
	}
	if (tree->nodes[0] > tree->listed)
		printf("           %" PRIu64 " more\n", tree->nodes[0] - tree->listed);
}

static void print_records(const struct tree *tree, struct record_writer *writer)
{
	const struct crabtree_image_leaf *leaf = &tree->one;
	struct crabtree_record record;
	struct crabtree_iter *iter;

	if (crabtree_iter_new(tree->target->ct, leaf->low, leaf->high, &iter))
		return;
	while (crabtree_iter_next(iter, &record) > 0)
		record_put(writer, &record);
	record_end(writer);
	crabtree_iter_free(iter);
}

static void print_leaf(const struct tree *tree)
{
	const struct crabtree_image_leaf *leaf = &tree->one;
	struct record_writer writer = { .file = stdout };

	printf("\nleaf %" PRIu64 " at offset %#" PRIx64 ", birth %" PRIu64 ", keys %" PRIu64 " to %"
	       PRIu64 ": %" PRIu32 " of %" PRIu64 " records%s\n", leaf->number, leaf->offset,
	       leaf->birth, leaf->low, leaf->high, leaf->records, tree->slots,
	       leaf->quarantined ? ", quarantined" : "");
	print_records(tree, &writer);
}

void tree_print(const struct tree *tree)
{
	print_head(tree);
	print_bins(tree);
	print_list(tree);
	if (tree->found)
		print_leaf(tree);
}

static struct json_object *leaf_json(const struct crabtree_image_leaf *leaf)
{
	struct json_object *json = json_object_new_object();

	json_u64(json, "number", leaf->number);
	json_u64(json, "offset", leaf->offset);
	json_u64(json, "birth", leaf->birth);
	json_u64(json, "low", leaf->low);
	json_u64(json, "high", leaf->high);
	json_u64(json, "records", leaf->records);
	json_object_object_add(json, "quarantined", json_object_new_boolean(leaf->quarantined));
	return json;
}

/* The records of the leaf in detail */
static struct json_object *content_json(const struct tree *tree)
{
	struct json_object *rows = json_object_new_array(), *row;
	struct crabtree_record record;
	struct crabtree_iter *iter;

	if (crabtree_iter_new(tree->target->ct, tree->one.low, tree->one.high, &iter))
		return rows;
	while (crabtree_iter_next(iter, &record) > 0) {
		row = json_object_new_object();
		json_u64(row, "key", record.key);
		json_u64(row, "value", record.value);
		json_object_array_add(rows, row);
	}
	crabtree_iter_free(iter);
	return rows;
}

static void add_lists(const struct tree *tree, struct json_object *json)
{
	struct json_object *nodes = json_object_new_array(), *bins = json_object_new_array();
	struct json_object *list = json_object_new_array(), *one;
	uint64_t i;

	for (i = 0; i < TREE_LEVELS && (!i || tree->nodes[i]); i++)
		json_object_array_add(nodes, json_object_new_uint64(tree->nodes[i]));
	for (i = 0; i < TREE_BINS; i++)
		json_object_array_add(bins, json_object_new_uint64(tree->bins[i]));
	for (i = 0; i < tree->listed; i++)
		json_object_array_add(list, leaf_json(&tree->list[i]));
	json_object_object_add(json, "levels", nodes);
	json_object_object_add(json, "fill", bins);
	json_object_object_add(json, "list", list);
	if (!tree->found)
		return;
	one = leaf_json(&tree->one);
	json_object_object_add(one, "content", content_json(tree));
	json_object_object_add(json, "leaf", one);
}

void tree_print_json(const struct tree *tree)
{
	struct json_object *json = json_object_new_object();

	json_text(json, "engine", tree->info.engine);
	json_text(json, "layout", tree->info.layout);
	json_u64(json, "leaf_bytes", tree->info.leaf_bytes);
	json_u64(json, "leaf_records", tree->slots);
	json_u64(json, "dram_bytes", tree->info.dram_bytes);
	json_u64(json, "records", tree->records);
	json_u64(json, "leaves", tree->info.leaves);
	json_u64(json, "leaves_used", tree->nodes[0]);
	json_u64(json, "leaves_quarantined", tree->quarantined);
	json_object_object_add(json, "complete", json_object_new_boolean(tree->complete));
	add_lists(tree, json);
	json_print(json);
}
#endif

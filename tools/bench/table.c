// SPDX-License-Identifier: GPL-2.0
/*
 * This file prints the table of engines: a row for each layout.
 *
 * Invariant: it names no engine.
 */
#include "row.h"
#include "table.h"

static struct json_object *table_options(const struct crab_engine_ops *e)
{
	struct json_object *names = json_object_new_array();
	const struct crab_option *option;

	for (option = e->options; option && option->name; option++)
		json_object_array_add(names, json_object_new_string(option->name));
	return names;
}

static struct json_object *table_row(const struct crab_engine_ops *e, const struct crab_layout *l)
{
	bool is_volatile = e->flags & CRAB_ENGINE_VOLATILE;
	struct json_object *row = json_object_new_object();

	row_text(row, "engine", e->name);
	row_text(row, "layout", is_volatile ? "" : l->name);
	json_object_object_add(row, "volatile", json_object_new_boolean(is_volatile));
	row_int(row, "leaf_min", l->leaf_min);
	row_int(row, "leaf_max", l->leaf_max);
	row_int(row, "leaf_default", l->leaf_default);
	json_object_object_add(row, "options", table_options(e));
	return row;
}

void table_print(void)
{
	struct json_object *rows = json_object_new_array();
	const struct crab_engine_ops * const *e;
	const struct crab_layout *l;

	for (e = crab_engines; *e; e++)
		for (l = (*e)->layouts; table_is_measured(*e) && l->name; l++)
			json_object_array_add(rows, table_row(*e, l));
	row_print(rows);
}

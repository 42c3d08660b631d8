/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file has the functions that print rows of JSON.
 */
#ifndef CRAB_BENCH_ROW_H
#define CRAB_BENCH_ROW_H

#include <json-c/json.h>
#include <stdio.h>

#include "bench/floor.h"

static inline void row_double(struct json_object *row, const char *name, double value)
{
	json_object_object_add(row, name, json_object_new_double(value));
}

static inline void row_int(struct json_object *row, const char *name, u64 value)
{
	json_object_object_add(row, name, json_object_new_uint64(value));
}

static inline void row_text(struct json_object *row, const char *name, const char *text)
{
	json_object_object_add(row, name, json_object_new_string(text));
}

static inline void row_floor(struct json_object *row, const struct crab_bench_floor *floor)
{
	row_double(row, "floor_line", floor->line / 1000.0);
	row_double(row, "floor_any", floor->any / 1000.0);
	row_double(row, "floor_load", floor->load / 1000.0);
}

/* Prints all of it, and frees it */
static inline void row_print(struct json_object *rows)
{
	puts(json_object_to_json_string_ext(rows, JSON_C_TO_STRING_PRETTY));
	json_object_put(rows);
}

#endif /* CRAB_BENCH_ROW_H */

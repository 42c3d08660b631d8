/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the printing of the table of engines, from which the scripts take the systems that
 * they measure.
 */
#ifndef CRAB_BENCH_TABLE_H
#define CRAB_BENCH_TABLE_H

#include "engines/engine.h"

#define TABLE_TEST_IDS	0xff00	/* engines of test builds have ids from here on */

/* Is this an engine for users? An example holds too few records to be measured with the others */
static inline bool table_is_measured(const struct crab_engine_ops *engine)
{
	return engine->id < TABLE_TEST_IDS;
}

/**
 * table_print() - print the engines and layouts that are measured, as JSON
 */
void table_print(void);

#endif /* CRAB_BENCH_TABLE_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the race: two writers whose keys lie between each other's, so
 * that they share every leaf. They fill the store in the first half and empty it in the
 * second, by single operations and by batches.
 */
#include "tests/rng.h"
#include "workload.h"

#define WRITERS	2

static struct workload_operation operation_of(uint32_t writer, uint32_t number, uint32_t length)
{
	uint64_t dice = rng_mix((uint64_t)number * WRITERS + writer);
	uint32_t deletes = number < length / 2 ? 2 : 14;
	struct workload_operation op = {
		.verb = (dice & 15) < deletes ? WORKLOAD_DELETE : WORKLOAD_INSERT,
		.index = (dice >> 32) % (WORKLOAD_KEYS / WRITERS) * WRITERS + writer,
		.value = rng_mix(dice),
	};

	op.key = workload_key(op.index);
	return op;
}

void workload_race_call(struct workload_call *call, uint32_t writer, uint32_t number,
			uint32_t length)
{
	uint32_t i;

	workload_begin(call, number, length - number, writer);
	for (i = 0; i < call->n; i++)
		call->ops[i] = operation_of(writer, number + i, length);
	workload_end(call, WRITERS);
}

int workload_race(uint32_t operations)
{
	static const struct workload_store store = { .engine = "", .layout = "slotted", .leaf_bytes = 512 };
	int err = perform_load();

	if (!err)
		err = perform_format(&store);
	if (!err)
		err = perform_race(operations / WRITERS);
	return err ? err : perform_unload();
}

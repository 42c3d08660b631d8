// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the table of the states that an exploration has found, each once, and the
 * shortest way to each.
 *
 * Invariant: the table has all of node[0 .. nodes).
 *
 * Locking: one thread.
 */
#include "explore_priv.h"
#include "media/crc.h"
#include "reproducer.h"
#include "test.h"

static u32 *table_slot(struct explore *x, const struct state *state)
{
	u32 at = crab_crc32c(~0U, state->byte, state->len);

	for (;; at++) {
		u32 *slot = &x->table[at & x->mask];
		const struct state *is = *slot ? &x->node[*slot - 1].state : NULL;

		if (!is || (is->len == state->len && !memcmp(is->byte, state->byte, is->len)))
			return slot;
	}
}

static void table_grow(struct explore *x)
{
	u32 i;

	x->room = x->room ? 2 * x->room : 1024;
	x->mask = 4 * x->room - 1;
	x->node = realloc(x->node, x->room * sizeof(*x->node));
	free(x->table);
	x->table = calloc(x->mask + 1, sizeof(*x->table));
	for (i = 0; i < x->nodes; i++)
		*table_slot(x, &x->node[i].state) = i + 1;
}

void explore_add(struct explore *x, const struct state *state, bool *is_new)
{
	u32 *slot;

	if (x->nodes == x->room)
		table_grow(x);
	slot = table_slot(x, state);
	*is_new = !*slot;
	if (*is_new) {
		x->node[x->nodes] = (struct explore_node) {
			.state = *state, .parent = x->at,
			.run_n = x->run_n,
		};
		memcpy(x->node[x->nodes].run, x->run, sizeof(x->run));
		*slot = ++x->nodes;
	}
	x->node[*slot - 1].settled |= x->settling;
}

static size_t history_of(const struct explore *x, u32 at, char *to, size_t size)
{
	const struct explore_node *node = &x->node[at];
	size_t n;

	if (!at)
		return scnprintf(to, size, "format");
	n = history_of(x, node->parent, to, size);
	n += scnprintf(to + n, size - n, " ");
	return n + reproducer_ops(node->run, node->run_n, to + n, size - n);
}

void explore_history(const struct explore *x, char *to, size_t size)
{
	history_of(x, x->at, to, size);
}

u64 explore_digest(const struct explore *x)
{
	u64 digest = 0;
	u32 i;

	for (i = 0; i < x->nodes; i++)	/* the order does not matter */
		digest += (u64)crab_crc32c(~0U, x->node[i].state.byte, x->node[i].state.len) *
			  0x9e3779b97f4a7c15ULL;
	return digest;
}

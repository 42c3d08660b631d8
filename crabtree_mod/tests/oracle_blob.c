// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the oracle of crash tests for stores of blobs. Their content is one of
 * 64-bit values, each of which chooses a blob (blob_value.h).
 *
 * Locking: none; the caller owns the store.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "blob_value.h"
#include "oracle.h"
#include "store/blob.h"

int crab_oracle_get(struct crab_oracle *oracle, struct crab_store *store, u64 key,
		    struct crab_key_state *state)
{
	u8 found[BLOB_VALUE_MAX], want[BLOB_VALUE_MAX];
	struct crab_blob_read get = { .key = key, .buffer = found, .capacity = sizeof(found) };
	int err = crab_blob_get(store, &get);
	u64 value = 0;
	u32 i;

	*state = (struct crab_key_state){ };
	if (err == -ENOENT)
		return 0;
	if (err || get.bytes < sizeof(value))
		return crab_oracle_fault(oracle, "get of key %llx: %d, %u bytes", key, err,
					 get.bytes);
	for (i = 0; i < sizeof(value); i++)
		value |= (u64)found[i] << i * 8;
	if (get.bytes != blob_value(value, want) || memcmp(found, want, get.bytes))
		return crab_oracle_fault(oracle, "the blob of key %llx was not put", key);
	*state = (struct crab_key_state){ .there = true, .value = value };
	return 0;
}

/* The list has the keys that are there, and no others */
static int blobs_listed(struct crab_oracle *oracle, struct crab_store *store,
			const struct crab_key_state *content)
{
	struct crab_blob_entry entry;
	struct crab_cursor cursor;
	u32 key = 0;
	int n;

	crab_cursor_init(&cursor, 0, CRAB_KEY_EMPTY);
	while ((n = crab_blob_list(store, &cursor, &entry, 1)) > 0) {
		while (key < oracle->n && !content[key].there)
			key++;
		if (key == oracle->n || entry.key != oracle->keys[key++] || entry.err)
			return crab_oracle_fault(oracle, "list returns key %llx, %d", entry.key,
						 entry.err);
	}
	while (key < oracle->n && !content[key].there)
		key++;
	return !n && key == oracle->n ? 0 : crab_oracle_fault(oracle, "list ends too early: %d", n);
}

int crab_oracle_read_blobs(struct crab_oracle *oracle, struct crab_store *store,
			   struct crab_key_state *content)
{
	u32 i;

	for (i = 0; i < oracle->n; i++)
		if (crab_oracle_get(oracle, store, oracle->keys[i], &content[i]))
			return -1;
	return blobs_listed(oracle, store, content);
}

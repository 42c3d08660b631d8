// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the oracle of crash tests for stores of blobs and of names. Their content
 * is one of 64-bit values, each of which chooses a blob (blob_value.h). The bytes of a key
 * are its name.
 *
 * Locking: none; the caller owns the store.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "blob_value.h"
#include "oracle.h"
#include "store/blob_commit.h"

/* The bytes of the key, the highest one first: names have the order of the keys */
static void name_of(u64 key, char name[CRAB_ORACLE_NAME])
{
	u32 i;

	for (i = 0; i < CRAB_ORACLE_NAME; i++)
		name[i] = key >> (CRAB_ORACLE_NAME - 1 - i) * 8;
}

int crab_oracle_put(struct crab_store *store, struct crab_blob_write *put)
{
	char name[CRAB_ORACLE_NAME];

	if (!crab_store_has_names(store))
		return crab_blob_put(store, put);
	name_of(put->key, name);
	put->name = name;
	put->name_bytes = CRAB_ORACLE_NAME;
	return crab_named_put(store, put);
}

int crab_oracle_erase(struct crab_store *store, struct crab_blob_write *erase)
{
	char name[CRAB_ORACLE_NAME];

	if (!crab_store_has_names(store))
		return crab_blob_erase(store, erase);
	name_of(erase->key, name);
	erase->name = name;
	erase->name_bytes = CRAB_ORACLE_NAME;
	return crab_named_erase(store, erase);
}

int crab_oracle_commit(struct crab_store *store, struct crab_blob_commit *commit,
		       char names[][CRAB_ORACLE_NAME])
{
	u32 i;

	if (!crab_store_has_names(store))
		return crab_blob_commit(store, commit);
	for (i = 0; i < commit->n; i++) {
		name_of(commit->ops[i].write.key, names[i]);
		commit->ops[i].write.name = names[i];
		commit->ops[i].write.name_bytes = CRAB_ORACLE_NAME;
	}
	return crab_named_commit(store, commit);
}

static int oracle_read(struct crab_store *store, struct crab_blob_read *get)
{
	char name[CRAB_ORACLE_NAME];

	if (!crab_store_has_names(store))
		return crab_blob_get(store, get);
	name_of(get->key, name);
	return crab_named_get(store, name, CRAB_ORACLE_NAME, get);
}

int crab_oracle_get(struct crab_oracle *oracle, struct crab_store *store, u64 key,
		    struct crab_key_state *state)
{
	u8 found[BLOB_VALUE_MAX], want[BLOB_VALUE_MAX];
	struct crab_blob_read get = { .key = key, .buffer = found, .capacity = sizeof(found) };
	int err = oracle_read(store, &get);
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

/* The list has the names of the keys that are there, and no others */
static int names_listed(struct crab_oracle *oracle, struct crab_store *store,
			const struct crab_key_state *content)
{
	struct crab_named_cursor cursor = { .bytes = 0 };
	struct crab_named_entry entry;
	char name[CRAB_ORACLE_NAME];
	u32 key;

	for (key = 0; key < oracle->n; key++) {
		if (!content[key].there)
			continue;
		name_of(oracle->keys[key], name);
		if (crab_named_next(store, &cursor, &entry) != 1 || entry.err ||
		    entry.name_bytes != CRAB_ORACLE_NAME ||
		    memcmp(entry.text, name, CRAB_ORACLE_NAME))
			return crab_oracle_fault(oracle, "the list of names omits that of key %llx",
						 oracle->keys[key]);
	}
	return crab_named_next(store, &cursor, &entry) ?
	       crab_oracle_fault(oracle, "the list of names goes on") : 0;
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
	return crab_store_has_names(store) ? names_listed(oracle, store, content) :
					     blobs_listed(oracle, store, content);
}

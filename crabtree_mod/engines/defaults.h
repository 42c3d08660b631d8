/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares operations that an engine may name in its table instead of its own, and
 * helpers for attach and check. A small engine needs few operations beyond these.
 *
 * No lock: a default calls other operations of the engine, which take theirs.
 */
#ifndef CRABTREE_DEFAULTS_H
#define CRABTREE_DEFAULTS_H

#include "engine.h"

/**
 * crab_engine_alloc() - memory for an engine that is being attached, with its head
 * @bytes: size of the engine's own structure, which begins with its struct crab_engine
 * @ops: as of crab_engine_init()
 * @media: as of crab_engine_init()
 * @geo: as of crab_engine_init()
 * @how: as of crab_engine_init()
 * Context: may sleep.
 * Return: the head, the rest is zero; or NULL. crab_engine_free() frees it.
 */
struct crab_engine *crab_engine_alloc(size_t bytes, const struct crab_engine_ops *ops,
				      struct crab_media *media, const struct crab_geometry *geo,
				      const struct crab_attach_how *how);

/**
 * crab_engine_free() - default of detach: free the memory of crab_engine_alloc()
 * @engine: the engine
 * Context: may sleep; no other call is running or will come.
 */
void crab_engine_free(struct crab_engine *engine);

/**
 * crab_engine_lookup() - default of lookup: a scan of one key
 * @engine: the engine
 * @key: the key
 * @value: out: its value
 * Context: as the engine's scan.
 * Return: 0, -ENOENT, or the error of the scan.
 */
int crab_engine_lookup(struct crab_engine *engine, u64 key, u64 *value);

/**
 * crab_engine_beyond() - default of beyond: damage that attach found quarantines all keys
 * @engine: the engine; it quarantines no leaf by itself
 * @key: the key
 * Context: any.
 * Return: the reserved key if attach found damage; else @key.
 */
u64 crab_engine_beyond(struct crab_engine *engine, u64 key);

/**
 * crab_engine_expect() - for check: a word of the media must have a value
 * @engine: the engine
 * @report: notes the word's place and @what if it has another one
 * @word: the word
 * @value: its value
 * @what: description of the damage
 * Context: any.
 */
void crab_engine_expect(const struct crab_engine *engine, struct crab_check_report *report,
			const __le64 *word, u64 value, const char *what);

#endif /* CRABTREE_DEFAULTS_H */

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the oracle of the crash tests: which contents a power cut may leave, and
 * whether a store holds a content in every way in which it can be read. The explorer, the random
 * crash tests, the KUnit crash test and the judge of traced machines share it.
 *
 * A content is an array with one entry for each key that the test uses.
 *
 * Locking: none; the caller owns the store.
 */
#ifndef CRABTREE_TESTS_ORACLE_H
#define CRABTREE_TESTS_ORACLE_H

#include "store/store.h"

/**
 * struct crab_key_state - one key of a content
 * @there: the key has a record
 * @value: its value; 0 if there is none
 */
struct crab_key_state {
	bool there;
	u64 value;
};

/**
 * struct crab_oracle - the keys of a test, and where faults are reported
 * @keys: all keys that the test uses, ascending
 * @n: number of keys
 * @report: called with each fault
 */
struct crab_oracle {
	const u64 *keys;
	u32 n;
	void (*report)(struct crab_oracle *oracle, const char *fmt, va_list args);
};

/**
 * struct crab_oracle_change - the effect of one operation of a batch that succeeded
 * @key: number of the key
 * @to: its state after the operation
 */
struct crab_oracle_change {
	u32 key;
	struct crab_key_state to;
};

/**
 * struct crab_oracle_allowed - the contents that a power cut may leave
 * @before: the content before the operation
 * @after: the content after it; NULL: @changes apply
 * @changes: of the calls in progress: each key may be as before, or as any of its changes left it,
 *	independently of the other keys
 * @n: number of changes
 */
struct crab_oracle_allowed {
	const struct crab_key_state *before;
	const struct crab_key_state *after;
	const struct crab_oracle_change *changes;
	u32 n;
};

/**
 * crab_oracle_fault() - report a fault
 * @oracle: the oracle
 * @fmt: the fault in words
 *
 * Context: as crab_oracle.report.
 * Return: -1.
 */
__printf(2, 3)
int crab_oracle_fault(struct crab_oracle *oracle, const char *fmt, ...);

/**
 * crab_oracle_read() - read a content by a scan
 * @oracle: the oracle
 * @store: the store
 * @content: out: the content
 *
 * Context: may sleep.
 * Return: 0, or -1: the scan failed, or returned a foreign key, a key twice or out of order.
 */
int crab_oracle_read(struct crab_oracle *oracle, struct crab_store *store,
		     struct crab_key_state *content);

#define CRAB_ORACLE_NAME	8	/* length of the name that a key has in a store of names */

struct crab_blob_commit;
struct crab_blob_write;

/**
 * crab_oracle_put() - put a blob under a key, or under its name in a store of names
 * @store: the store
 * @put: the operands
 * Context: may sleep.
 * Return: as crab_blob_put().
 */
int crab_oracle_put(struct crab_store *store, struct crab_blob_write *put);

/**
 * crab_oracle_commit() - do a commit of values under keys, or under their names
 * @store: of blobs and of commits
 * @commit: the commit; its operands have keys
 * @names: room for as many names as it has operations
 *
 * Return: as crab_blob_commit().
 */
int crab_oracle_commit(struct crab_store *store, struct crab_blob_commit *commit,
		       char names[][CRAB_ORACLE_NAME]);

/**
 * crab_oracle_erase() - erase the blob of a key, or of its name in a store of names
 * @store: the store
 * @erase: the operands
 * Context: may sleep.
 * Return: as crab_blob_erase().
 */
int crab_oracle_erase(struct crab_store *store, struct crab_blob_write *erase);

/**
 * crab_oracle_get() - read one key of a store of blobs
 * @oracle: the oracle
 * @store: the store
 * @key: the key
 * @state: out: the value that chose its blob
 *
 * Context: may sleep.
 * Return: 0, or -1 after a report: the blob is not one of blob_value.h, or is damaged.
 */
int crab_oracle_get(struct crab_oracle *oracle, struct crab_store *store, u64 key,
		    struct crab_key_state *state);

/**
 * crab_oracle_read_blobs() - read the content of a store of blobs by a get of each key, and a list
 * @oracle: the oracle
 * @store: the store
 * @content: out: the content
 *
 * Context: may sleep.
 * Return: 0, or -1 after a report.
 */
int crab_oracle_read_blobs(struct crab_oracle *oracle, struct crab_store *store,
			   struct crab_key_state *content);

/**
 * crab_oracle_equal() - are two contents equal?
 * @oracle: the oracle
 * @a: one content
 * @b: the other one
 *
 * Return: true if they are.
 */
bool crab_oracle_equal(const struct crab_oracle *oracle, const struct crab_key_state *a,
		       const struct crab_key_state *b);

/**
 * crab_oracle_allows() - may a power cut leave a content?
 * @oracle: the oracle
 * @allowed: the contents that it may leave
 * @found: the content
 *
 * Return: true if it may.
 */
bool crab_oracle_allows(const struct crab_oracle *oracle,
			const struct crab_oracle_allowed *allowed,
			const struct crab_key_state *found);

/**
 * crab_oracle_check() - does the verifier find no damage?
 * @oracle: the oracle
 * @store: the store
 *
 * Context: may sleep.
 * Return: 0, or -1 after a report.
 */
int crab_oracle_check(struct crab_oracle *oracle, struct crab_store *store);

/**
 * crab_oracle_judge() - do all searches and the verifier agree with a content?
 * @oracle: the oracle
 * @store: the store
 * @content: the content, which a scan returned
 *
 * Context: may sleep.
 * Return: 0, or -1 after a report.
 */
int crab_oracle_judge(struct crab_oracle *oracle, struct crab_store *store,
		      const struct crab_key_state *content);

/**
 * crab_oracle_judge_some() - do one seek and one bounded scan agree with a content?
 * @oracle: the oracle
 * @store: the store
 * @content: the content
 * @nth: chooses the seek and the scan
 *
 * Context: may sleep.
 * Return: 0, or -1 after a report.
 */
int crab_oracle_judge_some(struct crab_oracle *oracle, struct crab_store *store,
			   const struct crab_key_state *content, u64 nth);

/**
 * crab_oracle_answer() - judge the answer of an operation, and apply the operation to its key
 * @state: of the key, before the operation; out: after it
 * @op: the operation, performed. A new record may be answered by -ENOSPC
 *
 * Return: NULL, or the fault in words.
 */
const char *crab_oracle_answer(struct crab_key_state *state, const struct crab_batch_op *op);

#endif /* CRABTREE_TESTS_ORACLE_H */

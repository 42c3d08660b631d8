// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the verbs of the user interface: structure in, store call,
 * structure out. It is also built in user space, where libcrabtree serves an image
 * by the same code.
 *
 * Invariant: no structure of the user interface is passed to the store, and the
 * answer of a verb does not depend on whether a device or an image serves it.
 *
 * No lock: arguments belong to the caller.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "verbs.h"
#include "verbs_blob.h"

/* INFO, FORMAT and the records of SCAN rely on these */
static_assert(CRABTREE_LABEL_LEN == CRAB_LABEL_LEN);
static_assert(CRABTREE_COUNTERS == CRAB_OWN_COUNTERS);
static_assert(CRABTREE_OPTIONS_LEN == CRAB_OPTIONS_TEXT);
static_assert(CRABTREE_UUID_LEN == CRAB_UUID_LEN);
static_assert(CRABTREE_KEY_RESERVED == CRAB_KEY_EMPTY);
static_assert(CRABTREE_SNAPSHOTS_MAX == CRAB_SNAPS_MAX);
static_assert(CRABTREE_WATCHES_MAX == CRAB_WATCHES_MAX);
static_assert(sizeof(struct crabtree_record) == sizeof(struct crab_record));
static_assert(offsetof(struct crabtree_record, key) == offsetof(struct crab_record, key));
static_assert(offsetof(struct crabtree_record, value) == offsetof(struct crab_record, value));

#define SAME_NUMBER(ours, theirs)	static_assert((int)(ours) == (int)(theirs))

SAME_NUMBER(CRAB_DURABILITY_NONE, CRABTREE_DURABILITY_NONE);
SAME_NUMBER(CRAB_DURABILITY_UNPROVEN, CRABTREE_DURABILITY_UNPROVEN);
SAME_NUMBER(CRAB_DURABILITY_POC, CRABTREE_DURABILITY_POC);
SAME_NUMBER(CRAB_DURABILITY_POP, CRABTREE_DURABILITY_POP);
SAME_NUMBER(CRAB_DURABILITY_PODP, CRABTREE_DURABILITY_PODP);
SAME_NUMBER(CRAB_DURABILITY_CACHE, CRABTREE_DURABILITY_CACHE);
SAME_NUMBER(CRAB_CHANGE_EXISTED, CRABTREE_CHANGE_EXISTED);
SAME_NUMBER(CRAB_CHANGE_LOST, CRABTREE_CHANGE_LOST);
SAME_NUMBER(CRAB_MODEL_NONE, CRABTREE_MODEL_NONE);
SAME_NUMBER(CRAB_MODEL_WORD, CRABTREE_MODEL_WORD);
SAME_NUMBER(CRAB_MODEL_LINE, CRABTREE_MODEL_LINE);
SAME_NUMBER(CRAB_MODEL_CACHE, CRABTREE_MODEL_CACHE);
SAME_NUMBER(CRAB_MODEL_WHOLE_LINE, CRABTREE_MODEL_WHOLE_LINE);

static void info_from_super(struct crabtree_info *info, const struct crab_super *super)
{
	info->version = super->version;
	memcpy(info->uuid, super->uuid, sizeof(info->uuid));
	strscpy(info->label, super->label, sizeof(info->label));
	info->leaf_bytes = super->leaf_bytes;
	info->leaves = super->leaves;
	info->feature_compat = super->feature_compat;
	info->feature_ro_compat = super->feature_ro_compat;
	info->feature_incompat = super->feature_incompat;
}

static void info_from_stats(struct crabtree_info *info, const struct crab_engine_stats *stats)
{
	info->leaves_used = stats->leaves_used;
	info->leaves_bad = stats->leaves_bad;
	info->records = stats->records;
	info->capacity = stats->capacity;
	info->dram_bytes = stats->dram_bytes;
	info->splits = stats->splits;
	info->unlinks = stats->unlinks;
	info->repairs = stats->repairs;
	info->lines_bound = stats->lines_bound;
}

static void info_from_counts(struct crabtree_info *info, const struct crab_counts *counts)
{
	info->lines = counts->lines;
	info->fences = counts->fences;
	info->orders = counts->orders;
	info->searches = counts->searches;
	info->inserts = counts->inserts;
	info->deletes = counts->deletes;
	info->updates = counts->updates;
}

static void info_from_own(struct crabtree_info *info, const struct crab_store_info *store)
{
	struct crabtree_counter *to = info->counters;
	u32 i;

	for (i = 0; store->counters && store->counters[i]; i++, to++) {
		strscpy(to->name, store->counters[i], sizeof(to->name));
		to->value = store->counts.own[i];
	}
}

static void info_from_store(struct crabtree_info *info, const struct crab_store_info *store)
{
	info_from_super(info, &store->super);
	info_from_stats(info, &store->stats);
	info_from_counts(info, &store->counts);
	info_from_own(info, store);
	strscpy(info->options, store->options, sizeof(info->options));
	info->model = store->needs;
	info->keeps = store->keeps == CRAB_KEEPS_YES ? CRABTREE_KEEPS_YES :
						       CRABTREE_KEEPS_UNPROVEN;
	strscpy(info->engine, store->engine, sizeof(info->engine));
	strscpy(info->layout, store->layout, sizeof(info->layout));
	info->attach_ns = store->attach_ns;
	info->prepare_lines = store->prepare_lines;
	info->prepare_fences = store->prepare_fences;
}

void crab_verbs_info(struct crabtree_info *info, const struct crab_device_info *from)
{
	u32 size = info->size;

	memset(info, 0, sizeof(*info));
	info->size = size;
	info->state = from->state;
	info->durability = from->durability;
	info->region_bytes = from->region_bytes;
	strscpy(info->region, from->region, sizeof(info->region));
	strscpy(info->reason, from->reason, sizeof(info->reason));
	if (from->serving)
		info_from_store(info, &from->store);
}

int crab_verbs_insert_mode(u32 flags)
{
	switch (flags) {
	case 0:
	case CRABTREE_INSERT_CREATE | CRABTREE_INSERT_REPLACE:
		return CRAB_INSERT_EITHER;
	case CRABTREE_INSERT_CREATE:
		return CRAB_INSERT_CREATE;
	case CRABTREE_INSERT_REPLACE:
		return CRAB_INSERT_REPLACE;
	case CRABTREE_INSERT_SWAP:
	case CRABTREE_INSERT_SWAP | CRABTREE_INSERT_REPLACE:
		return CRAB_INSERT_SWAP;
	case CRABTREE_INSERT_ADD:
	case CRABTREE_INSERT_ADD | CRABTREE_INSERT_CREATE | CRABTREE_INSERT_REPLACE:
		return CRAB_INSERT_ADD;
	case CRABTREE_INSERT_ADD | CRABTREE_INSERT_REPLACE:
		return CRAB_INSERT_ADD_REPLACE;
	default:
		return -EINVAL;
	}
}

static int verb_insert(struct crab_store *store, union crab_verb_arg *arg)
{
	struct crabtree_insert *insert = &arg->insert;
	struct crab_old old = { .expected = insert->old_value };
	int mode = crab_verbs_insert_mode(insert->flags), err;

	if (mode < 0)
		return mode;
	err = crab_store_insert(store, insert->key, insert->value, mode, &old);
	insert->existed = old.existed;
	insert->old_value = old.existed ? old.value : 0;
	return err;
}

/* Which record SEARCH with flags asks for, or -EINVAL */
static int search_dir(u32 flags)
{
	if (flags == CRABTREE_SEARCH_GE)
		return CRAB_SEEK_GE;
	return flags == CRABTREE_SEARCH_LE ? CRAB_SEEK_LE : -EINVAL;
}

/* SEARCH in a store, or in a snapshot of it */
static int search_in(struct crab_store *store, struct crab_snap *snap,
		     struct crabtree_search *search)
{
	int dir = search_dir(search->flags), err;
	struct crab_record found = { .key = search->key };

	if (search->flags && dir < 0)
		return dir;
	if (snap && crab_store_has_blobs(store))
		return -EOPNOTSUPP;
	if (search->flags)
		err = snap ? crab_snap_seek(store, snap, search->key, dir, &found) :
			     crab_store_seek(store, search->key, dir, &found);
	else
		err = snap ? crab_snap_search(store, snap, search->key, &found.value) :
			     crab_store_search(store, search->key, &found.value);
	if (err)
		return err;
	search->key = found.key;
	search->value = found.value;
	return 0;
}

static int verb_search(struct crab_store *store, union crab_verb_arg *arg)
{
	return search_in(store, NULL, &arg->search);
}

int crab_verbs_search_snap(struct crab_store *store, struct crab_snap *snap,
			   struct crabtree_search *search)
{
	return search_in(store, snap, search);
}

static int verb_delete(struct crab_store *store, union crab_verb_arg *arg)
{
	struct crab_old old = { };
	int err = crab_store_delete(store, arg->delete.key, &old);

	arg->delete.old_value = old.existed ? old.value : 0;
	return err;
}

static int verb_check(struct crab_store *store, union crab_verb_arg *arg)
{
	struct crabtree_check *check = &arg->check;
	struct crab_check_report report = { };
	int err = crab_store_check(store, &report);

	if (err)
		return err;
	check->leaves = report.leaves;
	check->records = report.records;
	check->errors = report.damage.count;
	check->first_offset = report.damage.offset;
	memset(check->first, 0, sizeof(check->first));
	strscpy(check->first, report.damage.what, sizeof(check->first));
	return 0;
}

void crab_verbs_scan_begin(struct crabtree_scan *scan, struct crab_cursor *cursor)
{
	scan->count = 0;
	if (scan->flags & CRABTREE_SCAN_REVERSE)
		crab_cursor_init_back(cursor, scan->start, scan->end);
	else
		crab_cursor_init(cursor, scan->start, scan->end);
}

int crab_verbs_scan_chunk(struct crab_store *store, struct crab_snap *snap,
			  const struct crabtree_scan *scan, struct crab_cursor *cursor,
			  struct crab_record *records)
{
	u32 cap = min(scan->capacity - scan->count, CRAB_SCAN_CHUNK);
	int got;

	if (snap && crab_store_has_blobs(store))
		return -EOPNOTSUPP;
	got = snap ? crab_snap_read(store, snap, cursor, records, cap) :
		     crab_cursor_read(store, cursor, records, cap);
	if (got == -EUCLEAN && !scan->count)
		crab_cursor_skip(store, cursor);
	return got;
}

int crab_verbs_scan_end(struct crabtree_scan *scan, const struct crab_cursor *cursor, int err)
{
	if (err == -EUCLEAN && scan->count)
		err = 0;
	if (err && err != -EUCLEAN)
		return err;
	scan->more = !cursor->done;
	scan->next = cursor->done ? 0 : cursor->next;
	return err;
}

void crab_verbs_delete_range_begin(struct crabtree_delete_range *range,
				   struct crab_cursor *cursor)
{
	range->deleted = 0;
	crab_cursor_init(cursor, range->start, range->end);
}

void crab_verbs_delete_range_end(struct crabtree_delete_range *range,
				 const struct crab_cursor *cursor)
{
	range->more = !cursor->done;
	range->next = cursor->done ? 0 : cursor->next;
}

int crab_verbs_batch_begin(struct crabtree_batch_op *ops, u32 count, bool writable)
{
	u32 i;

	for (i = 0; i < count; i++) {
		if (!writable && ops[i].verb != CRABTREE_BATCH_SEARCH)
			return -EBADF;
		ops[i].status = -ECANCELED;
	}
	return 0;
}

static int batch_ask_insert(const struct crabtree_batch_op *from, struct crab_batch_op *op)
{
	int mode = crab_verbs_insert_mode(from->flags);

	op->verb = CRAB_VERB_INSERT;
	op->mode = max(mode, 0);
	op->old.expected = from->old_value;
	return min(mode, 0);
}

static void batch_ask(const struct crabtree_batch_op *from, struct crab_batch_op *op)
{
	*op = (struct crab_batch_op){ .key = from->key, .value = from->value };
	switch (from->verb) {
	case CRABTREE_BATCH_INSERT:
		op->status = batch_ask_insert(from, op);
		return;
	case CRABTREE_BATCH_SEARCH:
		op->verb = CRAB_VERB_SEARCH;
		break;
	case CRABTREE_BATCH_DELETE:
		op->verb = CRAB_VERB_DELETE;
		break;
	default:
		op->status = -EINVAL;
	}
	if (from->flags)
		op->status = -EINVAL;
}

void crab_verbs_batch_answer(const struct crab_batch_op *op, struct crabtree_batch_op *to)
{
	to->status = op->status;
	to->existed = op->verb == CRAB_VERB_INSERT && op->old.existed;
	to->old_value = op->old.existed ? op->old.value : 0;
	if (op->verb == CRAB_VERB_SEARCH && !op->status)
		to->value = op->value;
}

void crab_verbs_batch_chunk(struct crab_store *store, struct crabtree_batch_op *ops, u32 n)
{
	struct crab_batch_op chunk[CRAB_BATCH_CHUNK];
	u32 i;

	for (i = 0; i < n; i++)
		batch_ask(&ops[i], &chunk[i]);
	crab_store_batch(store, chunk, n);
	for (i = 0; i < n; i++)
		crab_verbs_batch_answer(&chunk[i], &ops[i]);
}

void crab_verbs_changes(const struct crab_change *from, struct crabtree_change *to, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++, from++, to++) {
		*to = (struct crabtree_change){
			.seq = from->seq, .key = from->key, .value = from->value,
			.old = from->old, .flags = from->flags,
		};
		if (!(from->flags & CRAB_CHANGE_LOST))
			to->verb = from->verb == CRAB_VERB_INSERT ? CRABTREE_BATCH_INSERT :
								    CRABTREE_BATCH_DELETE;
	}
}

static bool ended(const char *name, size_t size)
{
	return strnlen(name, size) < size;
}

int crab_verbs_format_finishes(const struct crabtree_format *format)
{
	const struct crabtree_format only = {
		.size = format->size, .flags = CRABTREE_FORMAT_FINISH,
	};

	if (!(format->flags & CRABTREE_FORMAT_FINISH))
		return 0;
	return memcmp(format, &only, sizeof(only)) ? -EINVAL : 1;
}

int crab_verbs_format_options(const struct crabtree_format *format,
			      struct crab_format_options *options, struct crab_super *super)
{
	if (!ended(format->engine, sizeof(format->engine)) ||
	    !ended(format->layout, sizeof(format->layout)) ||
	    !ended(format->label, sizeof(format->label)))
		return -EINVAL;
	*options = (struct crab_format_options){
		.force		= format->flags & CRABTREE_FORMAT_FORCE,
		.blobs		= format->flags & CRABTREE_FORMAT_BLOBS,
		.commits	= format->flags & CRABTREE_FORMAT_COMMITS,
		.names		= format->flags & CRABTREE_FORMAT_NAMES,
		.leaf_bytes	= format->leaf_bytes,
		.engine		= format->engine,
		.layout		= format->layout,
		.label		= format->label,
		.unfinished	= format->flags & CRABTREE_FORMAT_UNFINISHED ? super : NULL,
	};
	memcpy(options->uuid, format->uuid, sizeof(options->uuid));
	return 0;
}

/* The ioctls read the argument into a union, that of INFO into a room of its own */
#define VERB(ioctl, type, last, ...)						\
	[CRAB_VERB_INDEX(ioctl)] = {						\
		.size		= sizeof(struct type) +				\
				  BUILD_BUG_ON_ZERO((ioctl) != CRABTREE_INFO &&	\
						    sizeof(struct type) >	\
						    sizeof(union crab_verb_arg)), \
		.min_size	= offsetofend(struct type, last),		\
		__VA_ARGS__							\
	}

#define RESERVED(type)	.reserved = offsetof(struct type, reserved)

/* The second field of VERB() is the last one of the first version, forever */
const struct crab_verb_desc crab_verbs[CRAB_VERBS_COUNT] = {
	VERB(CRABTREE_INFO, crabtree_info, options,
	     .traits = CRAB_VERB_ANSWERS | CRAB_VERB_SNAPSHOT),
	VERB(CRABTREE_INSERT, crabtree_insert, reserved, RESERVED(crabtree_insert),
	     .known_flags = CRAB_INSERT_FLAGS,
	     .traits = CRAB_VERB_WRITES | CRAB_VERB_ANSWERS | CRAB_VERB_SHORT,
	     .run = verb_insert),
	VERB(CRABTREE_SEARCH, crabtree_search, value,
	     .known_flags = CRABTREE_SEARCH_GE | CRABTREE_SEARCH_LE,
	     .traits = CRAB_VERB_ANSWERS | CRAB_VERB_SHORT | CRAB_VERB_SNAPSHOT,
	     .run = verb_search),
	VERB(CRABTREE_DELETE, crabtree_delete, old_value,
	     .traits = CRAB_VERB_WRITES | CRAB_VERB_ANSWERS | CRAB_VERB_SHORT,
	     .run = verb_delete),
	VERB(CRABTREE_SCAN, crabtree_scan, next, RESERVED(crabtree_scan),
	     .known_flags = CRABTREE_SCAN_REVERSE,
	     .traits = CRAB_VERB_ANSWERS | CRAB_VERB_SNAPSHOT),
	VERB(CRABTREE_BATCH, crabtree_batch, done, .known_flags = CRABTREE_BATCH_ATOMIC,
	     .traits = CRAB_VERB_ANSWERS),
	VERB(CRABTREE_CHECK, crabtree_check, first, .traits = CRAB_VERB_ANSWERS,
	     .run = verb_check),
	VERB(CRABTREE_FORMAT, crabtree_format, uuid, RESERVED(crabtree_format),
	     .known_flags = CRABTREE_FORMAT_FORCE | CRABTREE_FORMAT_BLOBS |
			    CRABTREE_FORMAT_COMMITS | CRABTREE_FORMAT_NAMES |
			    CRABTREE_FORMAT_UNFINISHED | CRABTREE_FORMAT_FINISH,
	     .traits = CRAB_VERB_WRITES),
	VERB(CRABTREE_DELETE_RANGE, crabtree_delete_range, reserved,
	     RESERVED(crabtree_delete_range), .traits = CRAB_VERB_WRITES | CRAB_VERB_ANSWERS),
	VERB(CRABTREE_SNAPSHOT, crabtree_snapshot, reserved, RESERVED(crabtree_snapshot),
	     .traits = CRAB_VERB_ANSWERS | CRAB_VERB_OPENS),
	VERB(CRABTREE_WATCH, crabtree_watch, fd, RESERVED(crabtree_watch),
	     .traits = CRAB_VERB_ANSWERS | CRAB_VERB_OPENS),
	VERB(CRABTREE_PUT, crabtree_put, version, .known_flags = CRAB_PUT_FLAGS,
	     .traits = CRAB_VERB_WRITES | CRAB_VERB_ANSWERS),
	VERB(CRABTREE_GET, crabtree_get, version,
	     .traits = CRAB_VERB_ANSWERS | CRAB_VERB_SNAPSHOT),
	VERB(CRABTREE_ERASE, crabtree_erase, version, RESERVED(crabtree_erase),
	     .known_flags = CRABTREE_IF_VERSION, .traits = CRAB_VERB_WRITES),
	VERB(CRABTREE_LIST, crabtree_list, next, RESERVED(crabtree_list),
	     .traits = CRAB_VERB_ANSWERS | CRAB_VERB_SNAPSHOT),
	VERB(CRABTREE_NAMES, crabtree_names, more,
	     .known_flags = CRABTREE_NAMES_AFTER | CRABTREE_NAMES_PREFIX,
	     .traits = CRAB_VERB_ANSWERS | CRAB_VERB_SNAPSHOT),
	VERB(CRABTREE_COMMIT, crabtree_commit, failed, .traits = CRAB_VERB_ANSWERS),
};

// SPDX-License-Identifier: GPL-2.0
/*
 * follow LOG REGION OPERATIONS [PARAMETER=VALUE...] - compare the module with the host build
 *
 * Performs the logged work on the host build of the same engine, and compares each store with its
 * value, each cleaned line, each fence and each order with the log, in sequence. The model does not
 * require the same sequence, but both have it. On x86-64 an order is no instruction, so no log has
 * it. The parameters are those of the module; pairs=0 if the machine's CPU does not store pairs, and
 * caches=1 if the caches of the region persist: then the work is that of the layout eadr.
 *
 * Random values of the machine are taken from the log: the store's id, the time of FORMAT, the void
 * of each leaf. The host build computes everything that follows from them (links, checks,
 * sentinels), and that is compared. worker.c has the work of the module's worker.
 *
 * Locking: one thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "engines/crab/sorted/tuning.h"
#include "engines/options.h"
#include "follow.h"
#include "store/blob_commit.h"
#include "store/commit.h"
#include "store/store_priv.h"
#include "tests/blob_value.h"
#include "trace.h"

#define TOLD		20	/* differences that are printed */
#define PATIENCE	120	/* seconds of CPU time */

struct crab_shadow follow;
struct crab_store *store;
u64 events, differences;
bool trying;
static struct crab_media media = { .durability = CRAB_DURABILITY_POP, .hooks.shadow = &follow };
static bool orders_logged;
static bool stored;		/* since the last fence: else an order orders nothing (log.c) */
static u64 operations, refused;
static u64 splits, unlinks, shifts, copies, repairs, points[CRAB_POINTS];
static u64 replaced, erased;	/* blobs */
static u64 committed;

/* Batches, their operations and changes, and fences that several of them share */
static u64 batches, batched, batch_splits, batch_unlinks, shared;
static u32 cleaned;		/* lines, since the last fence */
static enum workload_verb doing;
static u32 doing_number;

void differ(const char *what, const struct log_event *host, const struct log_event *machine)
{
	if (differences++ >= TOLD || trying)
		return;
	printf("%s %u: %s\n", workload_verbs[doing], doing_number, what);
	if (host)
		log_print("host", host);
	if (machine)
		log_print("machine", machine);
}

void follow_limit(void)
{
	struct rlimit limit = { .rlim_cur = PATIENCE, .rlim_max = PATIENCE };

	setrlimit(RLIMIT_CPU, &limit);
}

static bool event_equal(const struct log_event *a, const struct log_event *b)
{
	return a->type == b->type && a->size == b->size && a->offset == b->offset &&
	       a->value[0] == b->value[0] && a->value[1] == b->value[1] &&
	       a->foreign == b->foreign;
}

static bool is_next(const struct log_event *host)
{
	return is_event(follow.next) && event_equal(host, follow.next);
}

/*
 * Compares the next event of the host build; skips the logged event if it is of the same kind.
 * The machine may have slept where the host build does not: it had to allocate memory that the host
 * build had free again. Then the work of the worker comes first.
 */
static void expect(const struct log_event *host)
{
	const struct log_event *machine;

	events++;
	stored = host->type == LOG_STORE || (stored && host->type != LOG_FENCE);
	if (!is_next(host))
		worker_follow();
	if (is_next(host)) {
		follow.next++;
		return;
	}
	machine = follow.next;
	differ("not the same", host, machine < follow.end ? machine : NULL);
	if (is_event(machine) && machine->type == host->type)
		follow.next++;
}

static u64 offset_of(const void *p)
{
	return (const u8 *)p - media.base;
}

void crab_shadow_store(struct crab_media *m, const __le64 *p, u64 value)
{
	expect(&(struct log_event) {
		.type = LOG_STORE, .size = 8, .offset = offset_of(p), .value = { value },
	});
}

void crab_shadow_store_pair(struct crab_media *m, const __le64 *p, u64 first, u64 second)
{
	expect(&(struct log_event) {
		.type = LOG_STORE, .size = 16, .offset = offset_of(p), .value = { first, second },
	});
}

void crab_shadow_store_line(struct crab_media *m, const __le64 *p, const u64 *values)
{
	u32 i;

	for (i = 0; i < CRAB_LINE / sizeof(*p); i++)
		crab_shadow_store(m, p + i, values[i]);
}

void crab_shadow_refused_pair(struct crab_media *m, const __le64 *p)
{
}

void crab_shadow_clean(struct crab_media *m, const void *p, u64 len)
{
	u64 line = round_down(offset_of(p), CRAB_LINE), end = offset_of(p) + len;

	if (media.fence_only)
		return;
	for (; line < end; line += CRAB_LINE, cleaned++)
		expect(&(struct log_event) { .type = LOG_CLEAN, .offset = line });
}

void crab_shadow_fence(struct crab_media *m, enum crab_point point)
{
	points[point]++;
	shared += doing == WORKLOAD_BATCH && point == CRAB_P6_RECORD && cleaned > 1;
	cleaned = 0;
	expect(&(struct log_event) { .type = LOG_FENCE });
}

void crab_shadow_order(struct crab_media *m)
{
	if (orders_logged && stored)
		expect(&(struct log_event) { .type = LOG_ORDER });
}

u64 crab_shadow_load(const struct crab_media *m, const __le64 *p)
{
	return le64_to_cpu(READ_ONCE(*p));
}

/* Random values of the machine, found in the log after the current event */

static u64 super_word(u64 offset)
{
	const struct log_event *e;

	for (e = follow.next; e < follow.end; e++)
		if (e->type == LOG_STORE && e->offset % CRAB_SUPER_STRIDE == offset &&
		    e->offset < CRAB_HEAD_OFFSET)
			return e->value[0];
	return 0;
}

/* The fifth word of a header, which names its own place in the second */
static bool is_header_void(const struct log_event *e)
{
	const u64 self = offsetof(struct crab_dhead, self);
	const u64 at = e->offset - offsetof(struct crab_dhead, own);

	return e - follow.next >= 4 && e->type == LOG_STORE && e[-3].type == LOG_STORE &&
	       e[-3].offset == at + self && e[-3].value[0] == at && at != CRAB_HEAD_OFFSET;
}

u64 __wrap_get_random_u64(void)
{
	const struct log_event *e;

	if (worker.preparing)
		return follow.next[1].value[0];
	for (e = follow.next; e < follow.end; e++)
		if (is_header_void(e))
			return e->value[0];
	return 0x5eed;
}

u32 __wrap_get_random_u32(void)
{
	return super_word(offsetof(struct crab_dsuper, state)) >> 32;
}

time_t __wrap_time(time_t *unused)
{
	return super_word(offsetof(struct crab_dsuper, formatted_at));
}

/* The work: each call as the log has it */

static void begin(enum workload_verb verb, u32 number)
{
	doing = verb;
	doing_number = number;
	worker_follow();
	while (is_event(follow.next))
		differ("something between calls", NULL, follow.next++);
	if (follow.next == follow.end || follow.next->type != LOG_CALL ||
	    follow.next->offset != verb || follow.next->value[0] != number) {
		differ("not the same call", NULL, NULL);
		return;
	}
	follow.next++;
	worker_follow();
}

/* The next mark, which is a @type with these numbers */
static int expect_mark(enum log_type type, u64 offset, u64 value)
{
	worker_follow();
	while (is_event(follow.next))
		differ("the machine does more", NULL, follow.next++);
	if (follow.next < follow.end &&
	    (follow.next->type != type || follow.next->offset != offset ||
	     follow.next->value[0] != value))
		differ("not the same result", NULL, NULL);
	follow.next += follow.next < follow.end;
	return 0;
}

static int end(int err)
{
	return expect_mark(LOG_RETURN, doing, -err);
}

static int attach(void)
{
	struct crab_attach_options options = { 0 };
	struct crab_attach_report report;
	struct crab_store *found = crab_store_attach(&media, &options, &report);

	store = IS_ERR(found) ? NULL : found;
	return IS_ERR(found) ? PTR_ERR(found) : 0;
}

static void detach(void)
{
	struct crab_store_info info;

	if (worker.move.runs)
		differ("a blob has moved, and its key has the old word", NULL, NULL);
	worker.move.runs = false;
	if (store) {
		crab_store_info(store, &info);
		splits += info.stats.splits;
		unlinks += info.stats.unlinks;
		shifts += worker_writes() ? info.counts.own[CRAB_SORTED_SIPS] : 0;
		copies += worker_writes() ? info.counts.own[CRAB_SORTED_COWS] : 0;
		repairs += info.stats.repairs;
	}
	crab_store_detach(store);
	store = NULL;
}

int perform_load(void)
{
	begin(WORKLOAD_LOAD, 0);
	attach();	/* a blank region is no failure of the load */
	return end(0);
}

int perform_unload(void)
{
	begin(WORKLOAD_UNLOAD, 0);
	detach();
	return end(0);
}

/* Stores from outside the module: applied as they are */
int perform_tear(const uint32_t *index, uint32_t n)
{
	const struct log_event *e;

	begin(WORKLOAD_TEAR, 0);
	for (; is_event(e = follow.next) && e->foreign; follow.next++)
		memcpy(media.base + e->offset, e->value, e->size);
	return end(0);
}

int perform_format(const struct workload_store *wanted)
{
	struct crab_format_options options = {
		.force = true, .leaf_bytes = wanted->leaf_bytes, .engine = wanted->engine,
		.layout = wanted->layout, .label = WORKLOAD_LABEL, .blobs = wanted->blobs,
		.commits = wanted->commits,
	};
	char reason[CRAB_REASON_LEN];
	int err;

	memcpy(options.uuid, WORKLOAD_UUID, sizeof(options.uuid));
	begin(WORKLOAD_FORMAT, 0);
	detach();
	err = crab_store_format(&media, &options, reason);
	return end(err ?: attach());
}

static struct crab_batch_op op_of(const struct workload_operation *op)
{
	static const enum crab_verb verbs[] = {
		[WORKLOAD_INSERT] = CRAB_VERB_INSERT,
		[WORKLOAD_DELETE] = CRAB_VERB_DELETE,
		[WORKLOAD_SEARCH] = CRAB_VERB_SEARCH,
		[WORKLOAD_PUT] = CRAB_VERB_INSERT,
		[WORKLOAD_ERASE] = CRAB_VERB_DELETE,
	};
	static const enum crab_insert_mode modes[] = {
		[WORKLOAD_EITHER] = CRAB_INSERT_EITHER,
		[WORKLOAD_CREATE] = CRAB_INSERT_CREATE,
		[WORKLOAD_REPLACE] = CRAB_INSERT_REPLACE,
	};

	return (struct crab_batch_op) {
		.verb = verbs[op->verb], .mode = modes[op->mode],
		.key = op->key, .value = op->value,
	};
}

/* The answer of an operation, as the ioctl returns it; of a put its version */
static void answer(const struct crab_batch_op *op)
{
	u64 old = op->old.existed || store->blobs ? op->old.value : 0;
	u64 found = op->status ? 0 : op->value;

	refused += op->status != 0;
	expect_mark(LOG_ANSWER,
		    TRACE_FOUND(-op->status, op->verb == CRAB_VERB_INSERT && op->old.existed),
		    op->verb == CRAB_VERB_SEARCH ? found : old);
}

static int single_blob(struct crab_batch_op *op)
{
	u8 bytes[BLOB_VALUE_MAX];
	struct crab_blob_write write = {
		.key = op->key, .data = bytes, .bytes = blob_value(op->value, bytes),
		.mode = op->mode,
	};
	bool erases = op->verb == CRAB_VERB_DELETE;

	op->status = erases ? crab_blob_erase(store, &write) : crab_blob_put(store, &write);
	op->old.existed = write.existed;
	op->old.value = write.version;
	erased += erases && !op->status;
	replaced += !erases && !op->status && write.existed;
	return op->status;
}

static int single(struct crab_batch_op *op)
{
	if (store->blobs)
		return single_blob(op);
	if (op->verb == CRAB_VERB_DELETE)
		op->status = crab_store_delete(store, op->key, &op->old);
	else
		op->status = crab_store_insert(store, op->key, op->value, op->mode, &op->old);
	return op->status;
}

/* In pieces, as the ioctl; between these the worker may have come */
static int batch(struct crab_batch_op *ops, u32 n)
{
	struct crab_store_info before, after;
	u32 done;

	crab_store_info(store, &before);
	for (done = 0; done < n; done += CRAB_BATCH_CHUNK) {
		worker_follow();
		crab_store_batch(store, ops + done, min(n - done, CRAB_BATCH_CHUNK));
	}
	crab_store_info(store, &after);
	batches++;
	batched += n;
	batch_splits += after.stats.splits - before.stats.splits;
	batch_unlinks += after.stats.unlinks - before.stats.unlinks;
	return 0;
}

static enum crab_commit_when when_of(enum crab_insert_mode mode)
{
	return mode == CRAB_INSERT_CREATE ? CRAB_WHEN_ABSENT :
	       mode == CRAB_INSERT_REPLACE ? CRAB_WHEN_EXISTS : CRAB_WHEN_ANY;
}

/* The same for puts and erases; the answer of a put is its version */
static int commit_blobs(struct crab_batch_op *ops, u32 n)
{
	static struct crab_blob_commit commit;
	static u8 bytes[WORKLOAD_TOGETHER][BLOB_VALUE_MAX];
	u32 i;
	int err;

	commit.n = n;
	for (i = 0; i < n; i++)
		commit.ops[i] = (struct crab_blob_op){
			.verb = ops[i].verb, .write.key = ops[i].key, .write.data = bytes[i],
			.write.bytes = blob_value(ops[i].value, bytes[i]),
			.write.mode = ops[i].verb == CRAB_VERB_INSERT ? ops[i].mode :
									CRAB_INSERT_EITHER,
		};
	err = crab_blob_commit(store, &commit);
	for (i = 0; i < n; i++) {
		const struct crab_blob_op *op = &commit.ops[i];

		ops[i].value = 0;
		ops[i].old = (struct crab_old){ };
		ops[i].status = err && i == commit.failed ? err : err ? -ECANCELED :
				op->verb == CRAB_VERB_DELETE && !op->write.existed ? -ENOENT : 0;
		if (err || op->verb != CRAB_VERB_INSERT)
			continue;
		ops[i].old = (struct crab_old){
			.existed = op->write.existed, .value = op->write.version,
		};
		replaced += op->write.existed;
	}
	committed += !err;
	return err;
}

/* All or none; with an error, the operation that it is about has it */
static int commit(struct crab_batch_op *ops, u32 n)
{
	static struct crab_commit commit;
	u32 i;
	int err;

	memset(&commit, 0, sizeof(commit));
	commit.n = n;
	for (i = 0; i < n; i++) {
		commit.ops[i] = ops[i];
		if (ops[i].verb == CRAB_VERB_INSERT)
			commit.when[i] = when_of(ops[i].mode);
		commit.ops[i].mode = CRAB_INSERT_EITHER;
	}
	err = crab_store_commit(store, &commit);
	for (i = 0; i < n; i++) {
		ops[i] = commit.ops[i];
		if (err && i == commit.failed)
			ops[i].status = err;
		else if (err)
			ops[i] = (struct crab_batch_op){ .status = -ECANCELED };
	}
	committed += !err;
	return err;
}

int perform(const struct workload_call *call)
{
	struct crab_batch_op ops[WORKLOAD_TOGETHER];
	u32 i;
	int err;

	begin(call->verb, call->number);
	operations += call->n;
	for (i = 0; i < call->n; i++)
		ops[i] = op_of(&call->ops[i]);
	err = call->verb == WORKLOAD_COMMIT && store->blobs ? commit_blobs(ops, call->n) :
	      call->verb == WORKLOAD_COMMIT ? commit(ops, call->n) :
	      call->verb == WORKLOAD_BATCH ? batch(ops, call->n) : single(ops);
	for (i = 0; i < call->n; i++)
		answer(&ops[i]);
	return end(err);
}

/* NAME=VALUE: "pairs" is of the CPU, "caches" of the region, the others are options of the module */
static bool parameter(const char *text)
{
	const struct crab_option *option;
	char name[32];
	const char *value = strchr(text, '=');
	void *values;

	if (!value || value - text >= (ptrdiff_t)sizeof(name))
		return false;
	snprintf(name, sizeof(name), "%.*s", (int)(value - text), text);
	if (!strcmp(name, "pairs")) {
		crab_x86_cx16 = strtoul(value + 1, NULL, 0);
		return true;
	}
	if (!strcmp(name, "caches")) {
		media.fence_only = strtoul(value + 1, NULL, 0);
		return true;
	}
	option = crab_option_find(name, &values);
	return option && !crab_option_set(option, values, value + 1);
}

/* The script that reads this line requires every count but the last to be greater than 0 */
static void tell(void)
{
	u32 point;

	printf("%llu operations, %llu refused, %llu splits, %llu unlinks, %llu shifts, %llu copies, ",
	       operations, refused, splits, unlinks, shifts, copies);
	printf("%llu of the operations in %llu batches with %llu splits, %llu unlinks, %llu fences ",
	       batched, batches, batch_splits, batch_unlinks, shared);
	printf("of several writes, ");
	printf("%llu repairs, %llu blobs replaced, %llu erased, %llu commits, ", repairs, replaced,
	       erased, committed);
	printf("%llu leaves prepared, %llu merged, %llu blobs moved, %llu times within, fences",
	       worker.prepared, worker.merged, worker.moved, worker.within);
	for (point = 1; point < CRAB_POINTS; point++)
		printf(" %llu P%u", points[point], point);
	printf("; %llu events, %llu differences\n", events, differences);
}

int main(int argc, char **argv)
{
	struct log log;
	size_t size;
	u8 *left;
	int i = 4;

	if (crab_persist_init())
		return 2;
	while (i < argc && parameter(argv[i]))
		i++;
	if (argc < 4 || i < argc) {
		fprintf(stderr, "usage: follow LOG REGION OPERATIONS [PARAMETER=VALUE...]\n");
		return 2;
	}
	follow_limit();
	left = region_read(argv[2], &size);
	media.size = size;
	media.base = aligned_alloc(4096, media.size);
	memset(media.base, 0, media.size);
	log = log_read(argv[1], media.size, media.fence_only);
	follow.next = log.events;
	follow.end = log.events + log.count;
	orders_logged = log.orders;
	if (media.fence_only)
		workload_caches(atoi(argv[3]));
	else
		workload_run(atoi(argv[3]));
	if (follow.next != follow.end)
		differ("the log goes on", NULL, follow.next);
	if (memcmp(media.base, left, media.size))
		differ("the region is not the same at the end", NULL, NULL);
	tell();
	return differences != 0 || !operations;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * writer MODULE PARAMETERS OPERATIONS REGION BYTES WORK - the work, or the race, in the
 * machine that is traced.
 *
 * Loads and unloads the module itself, so that the log is complete, and
 * marks each call and each return (trace.h). The machine has one CPU; the module's worker,
 * which prepares free leaves, runs on it too.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/crabtree.h>

#include "tests/blob_value.h"
#include "trace.h"
#include "workload.h"

#define NODE	"/dev/crab0"

/* Offsets of the media format: Documentation/design/format.rst */
#define SUPER_STRIDE	4096
#define SUPER_SEQUENCE	16
#define POOL		16384
#define LEAF_HEAD	48
#define SLOT		16
#define KEY_FREE	(~0ULL)
#define EADR_STATE	62		/* from here on, the state of a slot; the keys are below 2^62 */
#define EADR_LIVE	1ULL
#define EADR_FROZEN	2ULL
#define EADR_DEAD	(KEY_FREE - 1)

/* Without pauses it is a matter of luck whether the worker finds a sparse leaf before it is empty */
#define PAUSE_EVERY	512		/* operations */
#define PAUSE		10000		/* microseconds */

static const char *module, *parameters;
static uint64_t region, region_bytes;
static const struct workload_store *formatted;
static int device = -1;

#ifdef __aarch64__
static void mark(enum trace_mark what, uint64_t a, uint64_t b)
{
	register uint64_t x0 asm("x0") = what;
	register uint64_t x1 asm("x1") = a;
	register uint64_t x2 asm("x2") = b;

	asm volatile("hint #100" : : "r" (x0), "r" (x1), "r" (x2) : "memory");
}
#else
static void mark(enum trace_mark what, uint64_t a, uint64_t b)
{
	asm volatile("nopl 0x42415243(%%rax)" : : "D" ((uint64_t)what), "S" (a), "d" (b) : "memory");
}
#endif

static int failed(const char *what)
{
	fprintf(stderr, "writer: %s: %s\n", what, strerror(errno));
	return -1;
}

/* The last field but for its taint: where the module is */
static int mark_module(void)
{
	unsigned long long size, address;
	char line[256], name[64];
	FILE *f = fopen("/proc/modules", "r");
	int found = 0;

	while (f && !found && fgets(line, sizeof(line), f))
		found = sscanf(line, "%63s %llu %*s %*s %*s %llx", name, &size, &address) == 3 &&
			!strcmp(name, "crabtree");
	if (f)
		fclose(f);
	if (!found)
		return failed("/proc/modules");
	mark(TRACE_MODULE, address, size);
	return 0;
}

int perform_load(void)
{
	int file = open(module, O_RDONLY | O_CLOEXEC);
	long err;

	if (file < 0)
		return failed(module);
	mark(TRACE_CALL, WORKLOAD_LOAD, 0);
	err = syscall(SYS_finit_module, file, parameters, 0);
	mark(TRACE_RETURN, WORKLOAD_LOAD, err ? errno : 0);
	close(file);
	if (err)
		return failed("load");
	device = open(NODE, O_RDWR | O_CLOEXEC);
	return device < 0 ? failed(NODE) : mark_module();
}

int perform_unload(void)
{
	long err;

	close(device);
	mark(TRACE_CALL, WORKLOAD_UNLOAD, 0);
	err = syscall(SYS_delete_module, "crabtree", 0);
	mark(TRACE_RETURN, WORKLOAD_UNLOAD, err ? errno : 0);
	return err ? failed("unload") : 0;
}

static volatile uint64_t *word(volatile void *memory, uint64_t offset)
{
	return (volatile uint64_t *)((volatile char *)memory + offset);
}

/* The newer superblock is as if its sequence had not reached the media: the older counts */
static void tear_detach(volatile void *memory)
{
	volatile uint64_t *a = word(memory, SUPER_SEQUENCE);
	volatile uint64_t *b = word(memory, SUPER_STRIDE + SUPER_SEQUENCE);

	if (*a > *b)
		*a -= 2;
	else
		*b -= 2;
}

static bool is_eadr(void)
{
	return !strcmp(formatted->layout, "eadr");
}

/* The word that a slot with a key has after the first store of its delete */
static uint64_t torn_word(volatile void *memory, uint64_t slot, uint64_t end)
{
	if (is_eadr())
		return EADR_DEAD;
	if (!strcmp(formatted->layout, "sorted") && slot + SLOT < end)
		return *word(memory, slot + SLOT);
	return KEY_FREE;
}

/* Deletes the key if the leaf has it; true if so */
static bool tear_record(volatile void *memory, uint64_t leaf, uint64_t end, uint64_t key)
{
	uint64_t found = is_eadr() ? key | EADR_LIVE << EADR_STATE : key, slot;

	for (slot = leaf + LEAF_HEAD; slot < end; slot += SLOT) {
		if (*word(memory, slot) != found)
			continue;
		*word(memory, slot) = torn_word(memory, slot, end);
		return true;
	}
	return false;
}

/* The records of a leaf of eadr are frozen, its link is not yet */
static void tear_move(volatile void *memory, uint64_t leaf, uint64_t end)
{
	uint64_t slot;

	for (slot = leaf + LEAF_HEAD; slot < end; slot += SLOT)
		if (*word(memory, slot) >> EADR_STATE == EADR_LIVE)
			*word(memory, slot) ^= (EADR_LIVE ^ EADR_FROZEN) << EADR_STATE;
}

/* Free leaves may have the key too: no matter */
static void tear_key(volatile void *memory, uint64_t key)
{
	uint64_t leaf, end;

	for (leaf = POOL; leaf < region_bytes; leaf = end) {
		end = leaf + formatted->leaf_bytes;
		if (tear_record(memory, leaf, end, key) && is_eadr())
			tear_move(memory, leaf, end);
	}
}

int perform_tear(const uint32_t *index, uint32_t n)
{
	int file = open("/dev/mem", O_RDWR | O_SYNC | O_CLOEXEC);
	volatile void *memory;
	uint32_t i;

	if (file < 0)
		return failed("/dev/mem");
	memory = mmap(NULL, region_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, region);
	close(file);
	if (memory == MAP_FAILED)
		return failed("mapping /dev/mem");
	mark(TRACE_CALL, WORKLOAD_TEAR, 0);
	tear_detach(memory);
	for (i = 0; i < n; i++)
		tear_key(memory, workload_key(index[i]));
	mark(TRACE_RETURN, WORKLOAD_TEAR, 0);
	munmap((void *)memory, region_bytes);
	return 0;
}

int perform_format(const struct workload_store *store)
{
	struct crabtree_format format = {
		.size = sizeof(format),
		.flags = CRABTREE_FORMAT_FORCE | (store->blobs ? CRABTREE_FORMAT_BLOBS : 0) |
			 (store->commits ? CRABTREE_FORMAT_COMMITS : 0),
		.leaf_bytes = store->leaf_bytes,
		.label = WORKLOAD_LABEL,
	};
	int err;

	if (setpriority(PRIO_PROCESS, 0, store->hurried ? -20 : 0))
		return failed("priority");
	memcpy(format.uuid, WORKLOAD_UUID, sizeof(format.uuid));
	strcpy(format.engine, store->engine);
	strcpy(format.layout, store->layout);
	mark(TRACE_CALL, WORKLOAD_FORMAT, 0);
	err = ioctl(device, CRABTREE_FORMAT, &format);
	mark(TRACE_RETURN, WORKLOAD_FORMAT, err ? errno : 0);
	formatted = store;
	return err ? failed("format") : 0;
}

static const uint32_t insert_flags[] = {
	[WORKLOAD_CREATE] = CRABTREE_INSERT_CREATE,
	[WORKLOAD_REPLACE] = CRABTREE_INSERT_REPLACE,
};

/* Each call marks the results of its operations, and returns its errno */

static int call_insert(const struct workload_operation *op)
{
	struct crabtree_insert insert = {
		.size = sizeof(insert),
		.flags = insert_flags[op->mode],
		.key = op->key,
		.value = op->value,
	};
	int err = ioctl(device, CRABTREE_INSERT, &insert) ? errno : 0;

	mark(TRACE_ANSWER, TRACE_FOUND(err, insert.existed), insert.old_value);
	return err;
}

static int call_delete(const struct workload_operation *op)
{
	struct crabtree_delete delete = { .size = sizeof(delete), .key = op->key };
	int err = ioctl(device, CRABTREE_DELETE, &delete) ? errno : 0;

	mark(TRACE_ANSWER, TRACE_FOUND(err, 0), delete.old_value);
	return err;
}

static const uint32_t put_flags[] = {
	[WORKLOAD_CREATE] = CRABTREE_PUT_CREATE,
	[WORKLOAD_REPLACE] = CRABTREE_PUT_REPLACE,
};

static int call_put(const struct workload_operation *op)
{
	uint8_t blob[BLOB_VALUE_MAX];
	struct crabtree_put put = {
		.size = sizeof(put),
		.flags = put_flags[op->mode],
		.key = op->key,
		.value = (uintptr_t)blob,
		.bytes = blob_value(op->value, blob),
	};
	int err = ioctl(device, CRABTREE_PUT, &put) ? errno : 0;

	mark(TRACE_ANSWER, TRACE_FOUND(err, put.existed), put.version);
	return err;
}

static int call_erase(const struct workload_operation *op)
{
	struct crabtree_erase erase = { .size = sizeof(erase), .key = op->key };
	int err = ioctl(device, CRABTREE_ERASE, &erase) ? errno : 0;

	mark(TRACE_ANSWER, TRACE_FOUND(err, 0), 0);
	return err;
}

static struct crabtree_batch_op batch_op(const struct workload_operation *op)
{
	static const uint32_t verbs[] = {
		[WORKLOAD_INSERT] = CRABTREE_BATCH_INSERT,
		[WORKLOAD_DELETE] = CRABTREE_BATCH_DELETE,
		[WORKLOAD_SEARCH] = CRABTREE_BATCH_SEARCH,
	};
	bool inserts = op->verb == WORKLOAD_INSERT;

	return (struct crabtree_batch_op) {
		.verb = verbs[op->verb],
		.flags = inserts ? insert_flags[op->mode] : 0,
		.key = op->key,
		.value = inserts ? op->value : 0,
		.status = -ECANCELED,
	};
}

static int call_batch(const struct workload_call *call)
{
	struct crabtree_batch_op ops[WORKLOAD_TOGETHER];
	struct crabtree_batch batch = {
		.size = sizeof(batch),
		.flags = call->verb == WORKLOAD_COMMIT ? CRABTREE_BATCH_ATOMIC : 0,
		.ops = (uintptr_t)ops,
		.count = call->n,
	};
	uint32_t i;
	int err;

	for (i = 0; i < call->n; i++)
		ops[i] = batch_op(&call->ops[i]);
	err = ioctl(device, CRABTREE_BATCH, &batch) ? errno : 0;
	for (i = 0; i < call->n; i++)
		mark(TRACE_ANSWER, TRACE_FOUND(-ops[i].status, ops[i].existed),
		     call->ops[i].verb == WORKLOAD_SEARCH ? ops[i].value : ops[i].old_value);
	return err;
}

static struct crabtree_commit_op commit_op(const struct workload_operation *op, uint8_t *blob)
{
	static const uint32_t verbs[] = {
		[WORKLOAD_INSERT] = CRABTREE_COMMIT_PUT,
		[WORKLOAD_DELETE] = CRABTREE_COMMIT_ERASE,
		[WORKLOAD_SEARCH] = CRABTREE_COMMIT_TEST,
	};

	struct crabtree_commit_op commit = {
		.verb = verbs[op->verb], .key = op->key, .status = -ECANCELED,
	};

	if (op->verb == WORKLOAD_INSERT) {
		commit.flags = put_flags[op->mode];
		commit.value = (uintptr_t)blob;
		commit.bytes = blob_value(op->value, blob);
	}
	return commit;
}

static int call_commit(const struct workload_call *call)
{
	static uint8_t blobs[WORKLOAD_TOGETHER][BLOB_VALUE_MAX];
	struct crabtree_commit_op ops[WORKLOAD_TOGETHER];
	struct crabtree_commit commit = {
		.size = sizeof(commit), .ops = (uintptr_t)ops, .count = call->n,
	};
	uint32_t i;
	int err;

	for (i = 0; i < call->n; i++)
		ops[i] = commit_op(&call->ops[i], blobs[i]);
	err = ioctl(device, CRABTREE_COMMIT, &commit) ? errno : 0;
	for (i = 0; i < call->n; i++)
		mark(TRACE_ANSWER, TRACE_FOUND(-ops[i].status, ops[i].existed), ops[i].version);
	return err;
}

static int call_many(const struct workload_call *call)
{
	return call->verb == WORKLOAD_COMMIT && formatted->blobs ? call_commit(call) :
								   call_batch(call);
}

int perform(const struct workload_call *call)
{
	static int (* const calls[])(const struct workload_operation *op) = {
		[WORKLOAD_INSERT] = call_insert,
		[WORKLOAD_DELETE] = call_delete,
		[WORKLOAD_PUT] = call_put,
		[WORKLOAD_ERASE] = call_erase,
	};
	int err;

	if (call->number % PAUSE_EVERY < call->n)
		usleep(PAUSE);
	mark(TRACE_CALL, call->verb, call->number);
	err = call->verb == WORKLOAD_BATCH || call->verb == WORKLOAD_COMMIT ? call_many(call) :
	      calls[call->verb](call->ops);
	mark(TRACE_RETURN, call->verb, err);
	return 0;
}

static int race(uint32_t writer, uint32_t length)
{
	struct workload_call call;
	cpu_set_t cpus;
	uint32_t done;

	CPU_ZERO(&cpus);
	CPU_SET(writer, &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		return failed("a processor of its own");
	for (done = 0; done < length; done += call.n) {
		workload_race_call(&call, writer, done, length);
		perform(&call);
	}
	return 0;
}

int perform_race(uint32_t length)
{
	int status, err;
	pid_t other;

	mark(TRACE_CALL, WORKLOAD_RACE, 0);
	other = fork();
	if (other < 0)
		return failed("fork");
	if (!other)
		_exit(race(1, length) ? 1 : 0);
	err = race(0, length);
	if (waitpid(other, &status, 0) != other || status)
		err = failed("the other writer");
	mark(TRACE_RETURN, WORKLOAD_RACE, err ? EIO : 0);
	return err;
}

int main(int argc, char **argv)
{
	int (*work)(uint32_t operations);

	if (argc != 7) {
		fprintf(stderr, "usage: writer MODULE PARAMETERS OPERATIONS REGION BYTES WORK\n"
			"WORK: work, race or caches\n");
		return 2;
	}
	module = argv[1];
	parameters = argv[2];
	region = strtoull(argv[4], NULL, 0);
	region_bytes = strtoull(argv[5], NULL, 0);
	work = !strcmp(argv[6], "race") ? workload_race :
	       !strcmp(argv[6], "caches") ? workload_caches : workload_run;
	if (work(atoi(argv[3])))
		return 1;
	printf("ok 1 the work is done\n");
	return 0;
}

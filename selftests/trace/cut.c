// SPDX-License-Identifier: GPL-2.0
/*
 * cut LOG REGION OPERATIONS EVERY WORK - what would a power cut have left of the machine?
 *
 * Puts what the log tells into the shadow of the media (shadow/shadow.h), stops before
 * one in EVERY fences and behind one in 8 * EVERY stores, and has the host build recover
 * every image that the layout's model allows there and recovery can tell from others; where
 * a batch makes too many of them, some, chosen by the number of the point.
 *
 * The oracle: each key is where the operations that were acknowledged left it, or where the
 * first of those under way lead it, be they one, a batch, or the batches of two writers;
 * the verifier finds nothing; another attach has nothing to repair and finds the same.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/random.h>
#include <linux/string.h>

#include "log.h"
#include "shadow/shadow.h"
#include "store/store.h"
#include "trace.h"
#include "workload.h"

#define NODES		8192	/* stores that may be pending */
#define WRITERS		2
#define BUDGET		4096	/* images of one point: seven records in flight have fewer */
#define SAMPLES		256	/* of one that has more, in addition */
#define TOLD		10
#define SEED		1

struct content {
	u64 value[WORKLOAD_KEYS];
	bool there[WORKLOAD_KEYS];
};

static const struct content empty;
static const struct log_event *next, *end;
static struct crab_media media = { .durability = CRAB_DURABILITY_POP };
static struct crab_shadow *shadow;
static struct content content;		/* what was acknowledged */
static struct workload_call changes[WRITERS];	/* under way, by processor: what changes a key */
static bool formatted, formatting, orders_logged;

static u64 every, phase, fences, stores, violations;
static u64 points, races, batches, images, partial, sampled, recoveries, repairs;
static u32 number;

__printf(1, 2)
static int violation(const char *fmt, ...)
{
	va_list args;

	if (violations++ < TOLD) {
		printf("operation %u, event %zu before the end: ", number, (size_t)(end - next));
		va_start(args, fmt);
		vprintf(fmt, args);
		va_end(args);
		printf("\n");
	}
	return -1;
}

/* The oracle */

static int content_read(struct crab_store *store, struct content *found)
{
	struct crab_record records[WORKLOAD_KEYS + 1];
	struct crab_cursor cursor;
	int i, n;
	u32 at;

	memset(found, 0, sizeof(*found));
	crab_cursor_init(&cursor, 0, CRAB_KEY_EMPTY);
	n = crab_cursor_read(store, &cursor, records, ARRAY_SIZE(records));
	if (n < 0)
		return violation("a scan fails: %d", n);
	for (i = 0; i < n; i++) {
		at = workload_index(records[i].key);
		if (at == WORKLOAD_KEYS || found->there[at])
			return violation("a scan gives key %llx, foreign or twice", records[i].key);
		found->there[at] = true;
		found->value[at] = records[i].value;
	}
	return 0;
}

static bool content_equal(const struct content *a, const struct content *b)
{
	return !memcmp(a->there, b->there, sizeof(a->there)) &&
	       !memcmp(a->value, b->value, sizeof(a->value));
}

static int judge_check(struct crab_store *store, struct content *found)
{
	struct crab_check_report report;
	int err = content_read(store, found);

	if (err)
		return err;
	crab_store_check(store, &report);
	if (report.damage.count)
		return violation("check, at %llu: %s", report.damage.offset, report.damage.what);
	return 0;
}

/* What an attach finds and how much it repairs; 1: blank */
static int judge_attach(struct content *found, u64 *repaired)
{
	struct crab_attach_options options = { };
	struct crab_attach_report report;
	struct crab_store_info info;
	struct crab_store *store;
	int err;

	recoveries++;
	crab_host_seed(SEED);	/* what the judge does is not left to chance */
	store = crab_store_attach(&media, &options, &report);
	if (IS_ERR(store))
		return report.verdict == CRAB_VERDICT_BLANK ? 1 :
		       violation("attach: %ld %s", PTR_ERR(store), report.reason);
	crab_store_info(store, &info);
	*repaired = info.stats.repairs;
	err = report.verdict == CRAB_VERDICT_GOOD ? judge_check(store, found) :
						    violation("attach: %s", report.reason);
	crab_store_abandon(store);
	return err;
}

static bool key_is(const struct content *c, u32 key, bool there, u64 value)
{
	return c->there[key] == there && (!there || c->value[key] == value);
}

/* Is the key where it was, or where some of its changes, the first ones, lead it? */
static bool key_allowed(const struct content *found, u32 key)
{
	bool allowed = key_is(found, key, content.there[key], content.value[key]);
	const struct workload_operation *op;
	u32 cpu, i;

	for (cpu = 0; cpu < WRITERS; cpu++)
		for (i = 0; i < changes[cpu].n && !allowed; i++) {
			op = &changes[cpu].ops[i];
			allowed = op->index == key &&
				  key_is(found, key, op->verb == WORKLOAD_INSERT, op->value);
		}
	return allowed;
}

static int judge_content(const struct content *found)
{
	u32 key;

	if (formatting && content_equal(found, &empty))
		return 0;
	for (key = 0; key < WORKLOAD_KEYS; key++)
		if (!key_allowed(found, key))
			return violation("key number %u is where nothing led it", key);
	return 0;
}

/* A second attach repairs nothing and finds the same */
static int judge(struct crab_shadow *s, void *arg)
{
	struct content found, again;
	u64 repaired = 0;
	int err = judge_attach(&found, &repaired);

	if (err > 0)
		return formatting || !formatted ? 0 : violation("there is no store");
	repairs += repaired;
	if (!err)
		err = judge_content(&found);
	if (err)
		return err;
	err = judge_attach(&again, &repaired);
	if (err)
		return err > 0 ? violation("attached again: there is no store") : err;
	if (repaired)
		return violation("attached again: %llu repairs", repaired);
	return content_equal(&again, &found) ? 0 : violation("attached again: other content");
}

/* Some images of a moment: a word's value is chosen when somebody reads it */
static void sample(const struct crab_shadow_image *image)
{
	int err = 0;
	u32 i;

	partial++;
	for (i = 0; i < SAMPLES && !err; i++, sampled++) {
		crab_shadow_restore(shadow, image);
		shadow->seed = workload_mix(points * SAMPLES + i);
		crab_shadow_crash(shadow);
		err = judge(shadow, NULL);
	}
}

static void explore(void)
{
	struct crab_shadow_image *image = crab_shadow_capture(shadow);

	points++;
	races += changes[0].n && changes[1].n;
	batches += changes[0].n > 1 || changes[1].n > 1;
	if (crab_shadow_explore(shadow, image, judge, NULL, BUDGET) == -E2BIG)
		sample(image);
	if (shadow->errors)
		violation("misuse of the media: %s", shadow->error);
	shadow->errors = 0;
	crab_shadow_restore(shadow, image);
	crab_shadow_release(image);
}

/* What the machine did, into the shadow */

static void feed_store(const struct log_event *e)
{
	__le64 *p = (__le64 *)(media.base + e->offset);

	if (e->foreign || (e->size != 8 && e->size != 16)) {
		violation("a store of %u bytes%s", e->size, e->foreign ? ", not the module's" : "");
		return;
	}
	if (!orders_logged)	/* x86-64 keeps every store in order */
		crab_shadow_order(&media);
	p[0] = cpu_to_le64(e->value[0]);
	if (e->size == 16) {
		p[1] = cpu_to_le64(e->value[1]);
		crab_shadow_store_pair(&media, p, e->value[0], e->value[1]);
	} else {
		crab_shadow_store(&media, p, e->value[0]);
	}
	if (!orders_logged)
		crab_shadow_order(&media);
}

static void feed(const struct log_event *e)
{
	shadow->cpu = e->cpu;
	switch (e->type) {
	case LOG_STORE:
		feed_store(e);
		if (++stores % (8 * every) == 8 * phase)
			explore();
		break;
	case LOG_CLEAN:
		crab_shadow_clean(&media, media.base + e->offset, CRAB_LINE);
		break;
	case LOG_FENCE:
		if (++fences % every == phase)
			explore();
		crab_shadow_fence(&media, CRAB_P6_RECORD);
		break;
	case LOG_ORDER:
		crab_shadow_order(&media);
		break;
	default:
		break;
	}
}

/* All that comes before the next event of @type; false if there is none */
static bool feed_until(enum log_type type)
{
	while (next < end && next->type != type)
		feed(next++);
	return next < end;
}

/* The work */

static int returned(void)
{
	if (!feed_until(LOG_RETURN))
		return violation("the log ends too early");
	next++;
	return 0;
}

static void begin(void)
{
	if (feed_until(LOG_CALL))
		next++;
}

/* Of a call that begins, what will be answered with success */
static void changes_begin(u32 cpu, const struct workload_call *call)
{
	const struct log_event *e = next;
	u32 i;

	number = call->number;
	for (i = 0; i < call->n; i++, e++) {
		while (e < end && (e->type != LOG_ANSWER || e->cpu != cpu))
			e++;
		if (e >= end)
			return;
		if (e->offset <= TRACE_FOUND(0, 1) && call->ops[i].verb != WORKLOAD_SEARCH)
			changes[cpu].ops[changes[cpu].n++] = call->ops[i];
	}
}

/* It has returned */
static void changes_end(u32 cpu)
{
	const struct workload_operation *op = changes[cpu].ops;

	for (; changes[cpu].n; changes[cpu].n--, op++) {
		content.there[op->index] = op->verb == WORKLOAD_INSERT;
		content.value[op->index] = content.there[op->index] ? op->value : 0;
	}
}

int perform_load(void)
{
	begin();
	return returned();
}

int perform_unload(void)
{
	begin();
	return returned();
}

/* From here on the shadow begins anew: all of it is durable */
int perform_tear(const uint32_t *index, uint32_t n)
{
	enum crab_shadow_model model = shadow->model;

	begin();
	if (crab_shadow_pending(shadow))
		return violation("something is pending after detach");
	images += shadow->counts.images;
	crab_shadow_destroy(shadow);
	for (; next < end && next->type == LOG_STORE; next++)
		memcpy(media.base + next->offset, next->value, next->size);
	shadow = crab_shadow_create(&media, NODES);
	shadow->model = model;
	for (; n--; index++) {
		content.there[*index] = false;
		content.value[*index] = 0;
	}
	return next++->type == LOG_RETURN ? 0 : violation("a tear that is none");
}

int perform_format(const struct workload_store *store)
{
	int err;

	begin();
	if (crab_shadow_pending(shadow))
		return violation("something is pending before FORMAT");
	shadow->model = strcmp(store->layout, "sorted") ? CRAB_SHADOW_MODEL_WORD :
							  CRAB_SHADOW_MODEL_LINE;
	formatting = true;
	err = returned();
	formatting = false;
	formatted = true;
	content = empty;
	return err;
}

int perform(const struct workload_call *call)
{
	int err;

	begin();
	changes_begin(0, call);
	err = returned();
	changes_end(0);
	return err;
}

static void race_event(const struct log_event *e, u32 length)
{
	struct workload_call call;

	if (e->type == LOG_RETURN) {
		changes_end(e->cpu);
		return;
	}
	workload_race_call(&call, e->cpu, e->value[0], length);
	changes_begin(e->cpu, &call);
}

int perform_race(uint32_t length)
{
	begin();
	while (next < end && !(next->type == LOG_RETURN && next->offset == WORKLOAD_RACE)) {
		if (next->cpu >= WRITERS)
			return violation("a third processor");
		if (next->type == LOG_CALL || next->type == LOG_RETURN)
			race_event(next++, length);
		else
			feed(next++);
	}
	return returned();
}

int main(int argc, char **argv)
{
	struct log log;
	size_t size;

	if (argc == 7) {
		every = strtoull(argv[4], NULL, 0);
		phase = strtoull(argv[5], NULL, 0);
	}
	if (crab_persist_init() || phase >= every) {
		fprintf(stderr, "usage: cut LOG REGION OPERATIONS EVERY PHASE WORK\n"
			"cuts before the fences whose number is PHASE modulo EVERY\n");
		return 2;
	}
	free(region_read(argv[2], &size));
	media.size = size;
	media.base = aligned_alloc(4096, size);
	memset(media.base, 0, size);
	shadow = crab_shadow_create(&media, NODES);
	log = log_read(argv[1], size);
	orders_logged = log.orders;
	next = log.events;
	end = log.events + log.count;
	if (strcmp(argv[6], "race"))
		workload_run(atoi(argv[3]));
	else
		workload_race(atoi(argv[3]));
	printf("%llu points, %llu of them with two writers under way, %llu in batches, %llu images, ",
	       points, races, batches, images + shadow->counts.images);
	printf("%llu more chosen at random of %llu points with more than %u, ", sampled, partial,
	       BUDGET);
	printf("%llu recoveries, %llu repairs; %llu violations\n", recoveries, repairs, violations);
	return violations != 0 || !points;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * cut LOG REGION OPERATIONS EVERY PHASE WORK - judge the images that power cuts could have left
 *
 * Feeds the logged events to the shadow of a media (shadow/shadow.h). It stops before one in EVERY
 * fences and after one in 8 * EVERY stores, and has the host build recover every image that the
 * layout's model allows there and that recovery can distinguish. If a batch makes too many of
 * them, it recovers some, chosen by the number of the point.
 *
 * The oracle (tests/oracle.h): each key is as the operations that returned left it, or as an
 * operation in progress left it: one operation, a batch, or the batches of two writers. The
 * verifier finds nothing. Another attach repairs nothing and finds the same.
 *
 * Locking: one thread.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/random.h>
#include <linux/string.h>

#include "log.h"
#include "media/swap.h"
#include "shadow/shadow.h"
#include "store/blob.h"
#include "store/store.h"
#include "tests/oracle.h"
#include "tests/rng.h"
#include "trace.h"
#include "workload.h"

#define NODES		8192	/* stores that may be pending at once */
#define WRITERS		2
#define BUDGET		4096	/* images of one point: seven records in flight have fewer */
#define SAMPLES		256	/* images of a point that has more */
#define TOLD		10
#define SEED		1

static const struct log_event *next, *end;
static struct crab_media media = { .durability = CRAB_DURABILITY_POP };
static struct crab_shadow *shadow;
static u64 keys[WORKLOAD_KEYS];
static struct crab_key_state empty[WORKLOAD_KEYS];
static struct crab_key_state content[WORKLOAD_KEYS];	/* of all calls that returned */
static struct crab_oracle_change changes[WRITERS][WORKLOAD_TOGETHER];	/* of calls in progress */
static u32 changed[WRITERS];		/* by processor */
static bool formatted, formatting, committing, orders_logged;

static u64 every, phase, fences, stores, lines, violations;
static u64 points, races, batches, commits, images, partial, sampled, recoveries, repairs;
static u32 number;

static void report(struct crab_oracle *oracle, const char *fmt, va_list args)
{
	if (violations++ >= TOLD)
		return;
	printf("operation %u, event %zu before the end: ", number, (size_t)(end - next));
	vprintf(fmt, args);
	printf("\n");
}

static struct crab_oracle oracle = { .keys = keys, .n = WORKLOAD_KEYS, .report = report };

#define violation(fmt, ...)	crab_oracle_fault(&oracle, fmt, ##__VA_ARGS__)

/* The oracle */

static int read_content(struct crab_store *store, struct crab_key_state *found)
{
	return crab_blob_most(store, 0) ? crab_oracle_read_blobs(&oracle, store, found) :
				       crab_oracle_read(&oracle, store, found);
}

/* Attaches. @found: out: the content; @repaired: out: slots. 1: the region is blank */
static int judge_attach(struct crab_key_state *found, u64 *repaired)
{
	struct crab_attach_options options = { };
	struct crab_attach_report report;
	struct crab_store_info info;
	struct crab_store *store;
	int err;

	recoveries++;
	crab_host_seed(SEED);	/* the judge's choices must not be random */
	store = crab_store_attach(&media, &options, &report);
	if (IS_ERR(store))
		return report.verdict == CRAB_VERDICT_BLANK ? 1 :
		       violation("attach: %ld %s", PTR_ERR(store), report.reason);
	crab_store_info(store, &info);
	*repaired = info.stats.repairs;
	err = report.verdict == CRAB_VERDICT_GOOD ? read_content(store, found) :
						    violation("attach: %s", report.reason);
	err = err ?: crab_oracle_check(&oracle, store);
	crab_store_abandon(store);
	return err;
}

static void changes_apply(u32 cpu, struct crab_key_state *to)
{
	u32 i;

	for (i = 0; i < changed[cpu]; i++)
		to[changes[cpu][i].key] = changes[cpu][i].to;
}

/*
 * Each key is as the calls that returned left it, or as a change in progress left it; a commit in
 * progress has left all or none of its changes
 */
static int judge_content(const struct crab_key_state *found)
{
	struct crab_oracle_change all[WRITERS * WORKLOAD_TOGETHER];
	struct crab_oracle_allowed allowed = { .before = content, .changes = all };
	struct crab_key_state after[WORKLOAD_KEYS];
	u32 cpu;

	memcpy(after, content, sizeof(after));
	changes_apply(0, after);
	if (committing)
		allowed.after = after;
	if (formatting && crab_oracle_equal(&oracle, found, empty))
		return 0;
	for (cpu = 0; cpu < WRITERS; cpu++) {
		memcpy(all + allowed.n, changes[cpu], changed[cpu] * sizeof(all[0]));
		allowed.n += changed[cpu];
	}
	return crab_oracle_allows(&oracle, &allowed, found) ? 0 :
	       violation("a key has a state to which no operation led");
}

/* A second attach repairs nothing and finds the same */
static int judge(struct crab_shadow *s, void *arg)
{
	struct crab_key_state found[WORKLOAD_KEYS], again[WORKLOAD_KEYS];
	u64 repaired = 0;
	int err = judge_attach(found, &repaired);

	if (err > 0)
		return formatting || !formatted ? 0 : violation("there is no store");
	repairs += repaired;
	if (!err)
		err = judge_content(found);
	if (err)
		return err;
	err = judge_attach(again, &repaired);
	if (err)
		return err > 0 ? violation("attached again: there is no store") : err;
	if (repaired)
		return violation("attached again: %llu repairs", repaired);
	return crab_oracle_equal(&oracle, again, found) ? 0 :
	       violation("attached again: other content");
}

/* Some images of a point: the value of a word is chosen when it is read */
static void sample(const struct crab_shadow_image *image)
{
	int err = 0;
	u32 i;

	partial++;
	for (i = 0; i < SAMPLES && !err; i++, sampled++) {
		crab_shadow_restore(shadow, image);
		shadow->seed = rng_mix(points * SAMPLES + i);
		crab_shadow_crash(shadow);
		err = judge(shadow, NULL);
	}
}

static void explore(void)
{
	struct crab_shadow_image *image = crab_shadow_capture(shadow);

	points++;
	races += changed[0] && changed[1];
	batches += changed[0] > 1 || changed[1] > 1;
	commits += committing && changed[0] > 1;
	if (crab_shadow_explore(shadow, image, judge, NULL, BUDGET) == -E2BIG)
		sample(image);
	if (shadow->errors)
		violation("misuse of the media: %s", shadow->error);
	shadow->errors = 0;
	crab_shadow_restore(shadow, image);
	crab_shadow_release(image);
}

/* Feeding the logged events to the shadow */

static void feed_store(const struct log_event *e)
{
	__le64 *p = (__le64 *)(media.base + e->offset);

	if (e->foreign || (e->size != 8 && e->size != 16)) {
		violation("a store of %u bytes%s", e->size, e->foreign ? ", not by the module" : "");
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

/*
 * Is this the first of the stores by which a CPU without an instruction for it stores a whole line? By
 * model A they are one. Lines of fresh leaves, which nothing leads to yet, may look the same.
 */
static bool is_line(const struct log_event *e)
{
	u32 i;

	if (shadow->model != CRAB_SHADOW_MODEL_WHOLE_LINE || e->offset % CRAB_LINE ||
	    end - e < CRAB_LINE_WORDS)
		return false;
	for (i = 0; i < CRAB_LINE_WORDS; i++)
		if (e[i].type != LOG_STORE || e[i].size != 8 || e[i].foreign || e[i].cpu != e->cpu ||
		    e[i].offset != e->offset + i * sizeof(__le64))
			return false;
	return true;
}

static void feed_line(const struct log_event *e)
{
	__le64 *p = (__le64 *)(media.base + e->offset);
	u64 values[CRAB_LINE_WORDS];
	u32 i;

	for (i = 0; i < CRAB_LINE_WORDS; i++) {
		values[i] = e[i].value[0];
		p[i] = cpu_to_le64(values[i]);
	}
	crab_shadow_store_line(&media, p, values);
	next += CRAB_LINE_WORDS - 1;
	lines++;
}

/* @e is the event before @next */
static void feed(const struct log_event *e)
{
	shadow->cpu = e->cpu;
	switch (e->type) {
	case LOG_STORE:
		if (is_line(e))
			feed_line(e);
		else
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

/* Feeds the events before the next one of @type; false if there is none */
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

/* A call begins: its changes are the operations that will be answered with success */
static void changes_begin(u32 cpu, const struct workload_call *call)
{
	const struct workload_operation *op = call->ops;
	const struct log_event *e = next;
	bool there;

	number = call->number;
	for (; op < call->ops + call->n; op++, e++) {
		while (e < end && (e->type != LOG_ANSWER || e->cpu != cpu))
			e++;
		if (e >= end)
			return;
		if (e->offset > TRACE_FOUND(0, 1) || op->verb == WORKLOAD_SEARCH)
			continue;
		there = op->verb == WORKLOAD_INSERT || op->verb == WORKLOAD_PUT;
		changes[cpu][changed[cpu]++] = (struct crab_oracle_change) {
			.key = op->index, .to = { there, there ? op->value : 0 },
		};
	}
}

/* The call has returned */
static void changes_end(u32 cpu)
{
	changes_apply(cpu, content);
	changed[cpu] = 0;
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

/* The shadow begins anew: the whole region is durable */
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
	for (; n--; index++)
		content[*index] = (struct crab_key_state) { };
	return next++->type == LOG_RETURN ? 0 : violation("a tear without its end");
}

int perform_format(const struct workload_store *store)
{
	int err;

	begin();
	if (crab_shadow_pending(shadow))
		return violation("something is pending before FORMAT");
	shadow->model = crab_shadow_model_of(
		crab_layout_by_name(crab_engine_by_name(store->engine), store->layout)->needs);
	formatting = true;
	err = returned();
	formatting = false;
	formatted = true;
	memset(content, 0, sizeof(content));
	return err;
}

int perform(const struct workload_call *call)
{
	int err;

	begin();
	changes_begin(0, call);
	committing = call->verb == WORKLOAD_COMMIT;
	err = returned();
	committing = false;
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
	u32 i;

	for (i = 0; i < WORKLOAD_KEYS; i++)
		keys[i] = workload_key(i);
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
	media.fence_only = !strcmp(argv[6], "caches");
	log = log_read(argv[1], size, media.fence_only);
	orders_logged = log.orders;
	next = log.events;
	end = log.events + log.count;
	if (!strcmp(argv[6], "race"))
		workload_race(atoi(argv[3]));
	else if (media.fence_only)
		workload_caches(atoi(argv[3]));
	else
		workload_run(atoi(argv[3]));
	printf("%llu points, %llu of them with two writers in progress, %llu in batches, ", points, races,
	       batches);
	printf("%llu in commits, %llu lines stored whole, %llu images, ", commits, lines,
	       images + shadow->counts.images);
	printf("%llu more chosen at random of %llu points with more than %u, ", sampled, partial,
	       BUDGET);
	printf("%llu recoveries, %llu repairs; %llu violations\n", recoveries, repairs, violations);
	return violations != 0 || !points;
}

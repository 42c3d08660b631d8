// SPDX-License-Identifier: GPL-2.0
/*
 * cut LOG REGION OPERATIONS EVERY WORK - what would a power cut have left of the machine?
 *
 * Puts what the log tells into the shadow of the media (persist_shadow.h), stops before
 * one in EVERY fences and behind one in 8 * EVERY stores, and has the host build recover
 * every image that the layout's model allows there and recovery can tell from others.
 *
 * The oracle: what is found is the content before the operation under way or after it,
 * where the marks say that it returned: after; of operations that race, any of both; the
 * verifier finds nothing; another attach has nothing to repair and finds the same.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/random.h>
#include <linux/string.h>

#include "log.h"
#include "persist_shadow.h"
#include "store.h"
#include "workload.h"

#define NODES		8192	/* stores that may be pending */
#define WRITERS		2
#define BUDGET		4096	/* images of one point */
#define TOLD		10
#define SEED		1

struct content {
	u64 value[WORKLOAD_KEYS];
	bool there[WORKLOAD_KEYS];
};

/* What recovery may find at a point */
struct allowed {
	struct content content[1 << WRITERS];
	u32 n;
	bool blank;		/* or no store: none was formatted yet, or a FORMAT is under way */
};

static const struct log_event *next, *end;
static struct crab_media media = { .durability = CRAB_DURABILITY_POP };
static struct crab_shadow *shadow;
static struct content content;		/* what was acknowledged */
static struct allowed allowed;
static bool formatted, orders_logged;

/* Operations under way, by processor; those that fail change nothing */
static struct workload_operation racing[WRITERS];
static bool is_racing[WRITERS];

static u64 every, fences, stores, points, races, partial, images, recoveries, repairs, violations;
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

static void content_put(struct content *c, u32 index, u64 value)
{
	c->there[index] = true;
	c->value[index] = value;
}

static void content_drop(struct content *c, u32 index)
{
	c->there[index] = false;
	c->value[index] = 0;
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

static bool is_allowed(const struct content *found)
{
	u32 i;

	for (i = 0; i < allowed.n; i++)
		if (content_equal(found, &allowed.content[i]))
			return true;
	return false;
}

/* A second attach repairs nothing and finds the same */
static int judge(struct crab_shadow *s, void *arg)
{
	struct content found, again;
	u64 repaired = 0;
	int err = judge_attach(&found, &repaired);

	if (err > 0)
		return allowed.blank ? 0 : violation("there is no store");
	repairs += repaired;
	if (!err && !is_allowed(&found))
		err = violation("neither the content before nor the one after");
	if (err)
		return err;
	err = judge_attach(&again, &repaired);
	if (err)
		return err > 0 ? violation("attached again: there is no store") : err;
	if (repaired)
		return violation("attached again: %llu repairs", repaired);
	return content_equal(&again, &found) ? 0 : violation("attached again: other content");
}

static void explore(void)
{
	struct crab_shadow_image *image = crab_shadow_capture(shadow);
	int err;

	points++;
	races += is_racing[0] && is_racing[1];
	err = crab_shadow_explore(shadow, image, judge, NULL, BUDGET);
	partial += err == -E2BIG;
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
		if (++stores % (8 * every) == 0)
			explore();
		break;
	case LOG_CLEAN:
		crab_shadow_clean(&media, media.base + e->offset, CRAB_LINE);
		break;
	case LOG_FENCE:
		if (++fences % every == 0)
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

/* What was acknowledged, or with @change: that too */
static void allow(const struct content *change)
{
	allowed.content[0] = content;
	allowed.n = 1;
	if (change)
		allowed.content[allowed.n++] = *change;
	allowed.blank = !formatted;
}

static int returned(void)
{
	if (!feed_until(LOG_RETURN))
		return violation("the log ends too early");
	next++;
	return 0;
}

static void begin(void)
{
	allow(NULL);
	if (feed_until(LOG_CALL))
		next++;
}

/* What the call of a processor will return */
static int result(u32 cpu)
{
	const struct log_event *e;

	for (e = next; e < end; e++)
		if (e->type == LOG_RETURN && e->cpu == cpu)
			return e->value[0];
	return -1;
}

static void content_change(struct content *c, const struct workload_operation *op)
{
	if (op->verb == WORKLOAD_DELETE)
		content_drop(c, op->index);
	else
		content_put(c, op->index, op->value);
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
	while (n--)
		content_drop(&content, *index++);
	return next++->type == LOG_RETURN ? 0 : violation("a tear that is none");
}

int perform_format(const struct workload_store *store)
{
	static const struct content empty;

	begin();
	if (crab_shadow_pending(shadow))
		return violation("something is pending before FORMAT");
	shadow->model = strcmp(store->layout, "sorted") ? CRAB_SHADOW_MODEL_WORD :
							  CRAB_SHADOW_MODEL_LINE;
	allow(&empty);
	allowed.blank = true;
	content = empty;
	formatted = true;
	return returned();
}

int perform(const struct workload_operation *op, uint32_t op_number)
{
	struct content after = content;

	begin();
	number = op_number;
	if (!result(next[-1].cpu))
		content_change(&after, op);
	allow(&after);
	content = after;
	return returned();
}

static void allow_races(void)
{
	u32 mask, writer;

	for (mask = 0; mask < 1 << WRITERS; mask++) {
		allowed.content[mask] = content;
		for (writer = 0; writer < WRITERS; writer++)
			if (is_racing[writer] && mask & 1 << writer)
				content_change(&allowed.content[mask], &racing[writer]);
	}
	allowed.n = 1 << WRITERS;
}

static void race_event(const struct log_event *e, u32 length)
{
	if (e->type == LOG_CALL) {
		number = e->value[0];
		racing[e->cpu] = workload_race_operation(e->cpu, number, length);
		is_racing[e->cpu] = !result(e->cpu);
	} else {
		if (is_racing[e->cpu])
			content_change(&content, &racing[e->cpu]);
		is_racing[e->cpu] = false;
	}
	allow_races();
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

	if (argc != 6 || crab_persist_init() || !(every = strtoull(argv[4], NULL, 0))) {
		fprintf(stderr, "usage: cut LOG REGION OPERATIONS EVERY WORK\n");
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
	if (strcmp(argv[5], "race"))
		workload_run(atoi(argv[3]));
	else
		workload_race(atoi(argv[3]));
	printf("%llu points, %llu of them with two writers under way, %llu images, %llu recoveries, ",
	       points, races, images + shadow->counts.images, recoveries);
	printf("%llu repairs, %llu points with more than %u images; %llu violations\n", repairs,
	       partial, BUDGET, violations);
	return violations != 0 || !points;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * This file bounds the work and the memory of attach, CHECK, seek, scan, repair and detach, and
 * their time between two points at which they may reschedule, on media of any content. It measures
 * no time: it counts the basic blocks of the module's code that run. Twice the leaves may take
 * LIMIT times the blocks. Allocations count with the sizes of a kernel's allocators.
 *
 *   test_bounds [LEAVES]
 */
#include <linux/mm.h>

#include "by_hand.h"

#define LIMIT		2.6
#define LEAF_BYTES	CRAB_LEAF_BYTES_MIN
#define LARGE_STRIDE	1024	/* keys of the range of a leaf of the largest size */
#define BREATH		(100 * 1000)	/* blocks between two points that may reschedule ... */
#define BREATH_DETACH	1000		/* ... if the allocator does most of the work */
#define RECOVER_LEAVES	64	/* that attach reads between two of these points */
#define SLOT_BLOCKS	30	/* blocks for each of their slots */
#define TURN_SLOTS	8192	/* slots that CHECK reads before it admits changes */
#define TURN_LEAVES	512
#define TEMPORARY	64	/* bytes for each leaf in use that attach allocates and frees */
#define CHUNK		(16 * 1024)	/* bytes that it allocates at a time */
#define FREE_BITS	4.1	/* bits for each leaf that is not in use */
#define FIXED		(64 * 1024)	/* bytes for a store of any size */

/* Work: the compiler inserts a call of this function into each basic block */

static u64 blocks, breathed, breath;

void __sanitizer_cov_trace_pc(void)
{
	blocks++;
}

/* The lock of the structure while CHECK runs, and the number of leaves in its current section */
static struct mutex *watched;
static u32 turn, turn_longest;

/* Called at every point that may reschedule */
void __wrap_crab_host_may_sleep(void)
{
	breath = max(breath, blocks - breathed);
	breathed = blocks;
	turn = watched && watched->held ? turn + 1 : 0;
	turn_longest = max(turn_longest, turn);
}

static void work_begin(void)
{
	blocks = 0;
	breathed = 0;
	breath = 0;
}

static u64 work_end(const char *what, u64 most)
{
	breath = max(breath, blocks - breathed);
	tap_check(breath <= most, "%s: %llu blocks without a look at the scheduler", what, breath);
	return blocks;
}

/* Memory: the size of each allocation and its offset in the memory from malloc() precede it */

struct allocation {
	size_t bytes;
	size_t offset;
};

static u64 memory, memory_peak;
static u32 kills;		/* allocations that would wake the OOM killer */

void *__real_crab_host_alloc(size_t size, size_t align, gfp_t gfp);
void __real_crab_host_free(const void *p);

/* Bytes that an allocator of the kernel takes */
static size_t memory_of(size_t size, size_t align)
{
	size_t slab = roundup_pow_of_two(max_t(size_t, size, 8));

	if (align >= PAGE_SIZE || size > 2 * PAGE_SIZE)
		return PAGE_ALIGN(size);
	return (slab == 128 || slab == 256) && size <= slab / 4 * 3 ? slab / 4 * 3 : slab;
}

void *__wrap_crab_host_alloc(size_t size, size_t align, gfp_t gfp)
{
	size_t offset = max_t(size_t, align, sizeof(struct allocation));
	u8 *p = __real_crab_host_alloc(size + offset, align, gfp);
	struct allocation *a;

	if (!p)
		return NULL;
	kills += gfp & GFP_KERNEL && !(gfp & (__GFP_RETRY_MAYFAIL | __GFP_NORETRY));
	a = (struct allocation *)(p + offset) - 1;
	*a = (struct allocation) { .bytes = memory_of(size, align), .offset = offset };
	memory += a->bytes;
	memory_peak = max(memory_peak, memory);
	return p + offset;
}

void __wrap_crab_host_free(const void *p)
{
	const struct allocation *a;

	if (!p)
		return;
	a = (const struct allocation *)p - 1;
	memory -= a->bytes;
	__real_crab_host_free((const u8 *)p - a->offset);
}

/* Media */

static bool sorted;

static void make_records(u64 i)	{ fill(i, 3); }
static void make_empty(u64 i)	{ fill(i, 0); }
static void make_first(u64 i)	{ fill(i, i ? 0 : 3); }

static void make_gaps(u64 i)
{
	fill(i, 3);
	if (i & 1)
		break_header(i);
}

static void make_gaps_empty(u64 i)
{
	fill(i, 0);
	if (i & 1)
		break_header(i);
}

/* Gaps with a leaf without records before and after each */
static void make_gaps_runs(u64 i)
{
	fill(i, i % 4 ? 0 : 3);
	if (i % 4 == 2)
		break_header(i);
}

static void make_broken(u64 i)
{
	fill(i, 3);
	if (i == leaves / 2)
		dleaf(i)->head.next ^= cpu_to_le64(1ULL << 50);
}

static void make_endless(u64 i)
{
	fill(i, 3);
	if (i == leaves - 1)
		dleaf(i)->head.next = 0;
}

/* Only the first leaf is in the list; earlier all leaves were */
static void make_stale(u64 i)
{
	fill(i, 3);
	if (!i)
		dleaf(i)->head.next =
			cpu_to_le64(crab_link_end(geo.store_id, crab_leaf_offset(&geo, 0), 1));
}

static void make_torn(u64 i)
{
	fill(i, 3);
	if (sorted)
		put(i, 3, key_of(i, 2), 1);
	else
		put(i, 3, key_of(i, 3), VOID);
}

/* The first record of each leaf is also the last record of the previous leaf */
static void make_overlaps(u64 i)
{
	fill(i, 3);
	if (i + 1 < leaves)
		put(i, 3, sorted ? key_of(i + 1, 0) : key_of(i, 3), 1);
}

/* Keys that belong to other leaves: each leaf is quarantined, and so are those keys */
static void make_misplaced(u64 i)
{
	fill(i, 3);
	put(i, 1, sorted ? key_of(i, 3) : key_of(leaves - 1 - i, 4), 1);
}

static const struct content {
	const char *name;
	void (*make)(u64 nth);
	bool damaged;
} contents[] = {
	{ "records", make_records, false },
	{ "no records", make_empty, false },
	{ "records in the first leaf alone", make_first, false },
	{ "every other header broken", make_gaps, true },
	{ "every other header broken, no records", make_gaps_empty, true },
	{ "every fourth header broken, no records around it", make_gaps_runs, true },
	{ "a link broken in the middle", make_broken, true },
	{ "no end", make_endless, true },
	{ "leaves of old", make_stale, false },
	{ "torn slots", make_torn, false },
	{ "records in two neighbours", make_overlaps, false },
	{ "misplaced keys", make_misplaced, true },
};

/* Work */

enum work { READ_ONLY, VERIFY, SEEK_UP, SEEK_DOWN, SCAN, SCAN_DOWN, DETACH, WRITABLE, WORKS };

static const char * const works[WORKS] = {
	[READ_ONLY] = "attach read-only", [VERIFY] = "CHECK", [SEEK_UP] = "seek up",
	[SEEK_DOWN] = "seek down", [SCAN] = "scan", [SCAN_DOWN] = "scan down",
	[DETACH] = "detach",
	[WRITABLE] = "attach and repair",
};

static struct crab_store *attach(bool readonly, const struct content *content)
{
	struct crab_attach_options options = { .readonly = readonly };
	struct crab_attach_report report;
	struct crab_store *store;

	kills = 0;
	store = crab_store_attach(&media, &options, &report);
	if (IS_ERR(store))
		tap_bail("attach: %ld %s", PTR_ERR(store), report.reason);
	tap_check(!kills, "%u allocations may wake the OOM killer", kills);
	tap_check(content->damaged == !!store->engine->damage.count, "damage: %s", report.reason);
	return store;
}

static void verify(struct crab_store *store, const struct content *content)
{
	struct crab_tree *tree = crab_tree_of(store->engine);
	struct crab_check_report report;

	turn_longest = 0;
	watched = &tree->smo_lock;
	tap_check(!crab_store_check(store, &report), "CHECK");
	watched = NULL;
	tap_check(content->damaged == !!report.damage.count, "CHECK: %s", report.damage.what);
	tap_check(turn_longest <= TURN_LEAVES && turn_longest * tree->slots <= TURN_SLOTS,
		  "CHECK reads %u leaves at a time", turn_longest);
}

static void scan(struct crab_store *store, bool back)
{
	struct crab_record records[64];
	struct crab_cursor cursor;

	if (back)
		crab_cursor_init_back(&cursor, 0, CRAB_KEY_EMPTY);
	else
		crab_cursor_init(&cursor, 0, CRAB_KEY_EMPTY);
	while (!cursor.done)
		if (crab_cursor_read(store, &cursor, records, ARRAY_SIZE(records)) == -EUCLEAN)
			crab_cursor_skip(store, &cursor);
}

#define work(what, doing)							\
	({									\
		work_begin();							\
		doing;								\
		took[what] = work_end(works[what], (what) == DETACH ? BREATH_DETACH : BREATH);				\
	})

static void works_measure(const struct content *content, u64 n, u64 *took)
{
	struct crab_store *store;
	struct crab_record record;
	u64 before = memory;

	media_make(sorted ? "sorted" : "slotted", LEAF_BYTES, n, n, content->make);
	work(READ_ONLY, store = attach(true, content));
	work(VERIFY, verify(store, content));
	work(SEEK_UP, crab_store_seek(store, 4, CRAB_SEEK_GE, &record));
	work(SEEK_DOWN, crab_store_seek(store, CRAB_KEY_EMPTY - 1, CRAB_SEEK_LE, &record));
	work(SCAN, scan(store, false));
	work(SCAN_DOWN, scan(store, true));
	work(DETACH, crab_store_detach(store));
	work(WRITABLE, store = attach(false, content));
	if (!content->damaged)
		verify(store, content);
	store_end(store);
	tap_check(memory == before, "%lld bytes are left", (long long)(memory - before));
}

static void test_work(const struct content *content, u64 n)
{
	u64 one[WORKS], two[WORKS];
	double ratio, worst = 0;
	u32 i;

	works_measure(content, n, one);
	works_measure(content, 2 * n, two);
	for (i = 0; i < WORKS; i++) {
		ratio = two[i] < 10000 ? 0 : (double)two[i] / one[i];
		tap_check(ratio <= LIMIT, "%s: %llu blocks, %llu for twice the leaves", works[i],
			  one[i], two[i]);
		worst = max(worst, ratio);
	}
	tap_ok(true, "%s, %s: %llu blocks a leaf to attach, %llu to check; twice the leaves, %.2f times the blocks at most",
	       sorted ? "sorted" : "slotted", content->name, one[READ_ONLY] / n,
	       one[VERIFY] / n, worst);
}

/* More leaves, or large ones: a step of attach may not read all of them before it reschedules */

static void make_full(u64 i)
{
	u32 slot, slots = crab_leaf_slots(geo.leaf_bytes);

	for (slot = 0; slot < slots; slot++)
		put(i, slot, slot + 1 < slots ? i * LARGE_STRIDE + slot : CRAB_KEY_EMPTY, i);
}

static void make_gaps_full(u64 i)
{
	make_full(i);
	if (i & 1)
		break_header(i);
}

/* All records but the first of each even leaf are records of the next leaf too */
static void make_copies(u64 i)
{
	make_full(i);
	if (i & 1)
		memcpy(&dleaf(i - 1)->slots[1], &dleaf(i)->slots[1],
		       (crab_leaf_slots(geo.leaf_bytes) - 1) * sizeof(struct crab_dslot));
}

static void test_breath(const char *layout, u32 leaf_bytes, u64 n, u64 most,
			struct content content)
{
	struct crab_store *store;

	media_make(layout, leaf_bytes, n, n, content.make);
	work_begin();
	store = attach(true, &content);
	work_end(content.name, most);
	tap_ok(true, "%s, %u: %s: attach of %llu leaves reschedules after %llu blocks", layout,
	       leaf_bytes, content.name, n, breath);
	store_end(store);
}

static void test_breaths(u64 n)
{
	const u64 most = RECOVER_LEAVES * crab_leaf_slots(CRAB_LEAF_BYTES_MAX) * SLOT_BLOCKS;

	test_breath("slotted", LEAF_BYTES, 16 * n, BREATH, contents[3]);
	test_breath("sorted", LEAF_BYTES, 16 * n, BREATH, contents[4]);
	test_breath("sorted", CRAB_LEAF_BYTES_MAX, n / 4, most,
		    (struct content){ "every other header broken, full leaves", make_gaps_full, true });
	test_breath("sorted", CRAB_LEAF_BYTES_MAX, n / 4, most,
		    (struct content){ "every other leaf is in the next one", make_copies, false });
}

/* The caller of an attach or a seek is killed after this many leaves */

static u32 patience, asked;

static bool impatient(void *arg)
{
	asked++;
	return patience && !--patience;
}

static void test_stop(const struct content *content, u64 n)
{
	struct crab_attach_options options = { .interrupted = impatient };
	struct crab_attach_report report;
	struct crab_record record;
	struct crab_store *store;
	u32 stops = 0, times;
	u64 before = memory;

	media_make(sorted ? "sorted" : "slotted", LEAF_BYTES, n, n, content->make);
	for (times = 1; ; times += 1 + times / 4) {
		patience = times;
		store = crab_store_attach(&media, &options, &report);
		if (patience)
			break;
		tap_check(store == ERR_PTR(-EINTR), "stopped after %u: %ld", times,
			  PTR_ERR(store));
		tap_check(memory == before, "%lld bytes are left", (long long)(memory - before));
		stops++;
	}
	asked = 0;
	patience = 0;
	tap_check(!IS_ERR(store) && content->damaged == !!store->engine->damage.count, "%s",
		  report.reason);
	if (content->make == make_first && !sorted) {
		tap_check(crab_store_seek(store, 4, CRAB_SEEK_GE, &record) == -ENOENT && asked > n / 2,
			  "a seek asked %u times", asked);
		patience = n / 2;
		tap_check(crab_store_seek(store, 4, CRAB_SEEK_GE, &record) == -EINTR, "seek");
	}
	patience = 0;
	store_end(store);
	tap_ok(stops > 10, "%s, %s: %u attaches stopped on the way, then one that is not",
	       sorted ? "sorted" : "slotted", content->name, stops);
}

/* Memory */

struct use {
	u64 stays;
	u64 temporary;
	u64 orders;	/* after a scan of all leaves */
};

static struct use memory_measure(const char *layout, u32 leaf_bytes, u64 pool, u64 list,
				 void (*make)(u64 nth))
{
	struct content content = { "", make, false };
	struct crab_store *store;
	struct use use;
	u64 before;

	media_make(layout, leaf_bytes, pool, list, make);
	before = memory;
	memory_peak = memory;
	store = attach(true, &content);
	use.stays = memory - before;
	use.temporary = memory_peak - memory;
	before = memory;
	scan(store, false);
	use.orders = memory - before;
	store_end(store);
	return use;
}

static void test_memory(const char *layout, u32 leaf_bytes, u64 n)
{
	struct use none = memory_measure(layout, leaf_bytes, n, 1, make_records);
	struct use full = memory_measure(layout, leaf_bytes, n, n, make_records);
	struct use tenth = memory_measure(layout, leaf_bytes, n, n / 10, make_records);
	struct use stale = memory_measure(layout, leaf_bytes, n, n, make_stale);

	tap_check(full.temporary <= none.temporary + n * TEMPORARY, "full: %llu", full.temporary);
	tap_check(tenth.temporary <= none.temporary + n / 10 * TEMPORARY + CHUNK, "a tenth: %llu",
		  tenth.temporary);
	tap_check(!strcmp(layout, "sorted") == !full.orders, "orders: %llu", full.orders);
	tap_ok(true, "memory: %s, %u: a leaf in use %llu bytes, %llu more after a scan, %llu more while attach runs; a leaf of old %llu while it runs",
	       layout, leaf_bytes, (full.stays - none.stays) / n, full.orders / n,
	       (full.temporary - none.temporary) / n,
	       (stale.temporary - none.temporary) / n);
}

static void test_memory_free(const char *layout, u64 n)
{
	struct use one = memory_measure(layout, LEAF_BYTES, n, 1, make_records);
	struct use two = memory_measure(layout, LEAF_BYTES, 2 * n, 1, make_records);
	double stays = (two.stays - one.stays) * 8.0 / n;
	double temporary = (two.temporary - one.temporary) * 8.0 / n;

	tap_check(stays + temporary <= FREE_BITS, "free leaves");
	tap_check(one.temporary + one.stays <= n * FREE_BITS / 8 + FIXED, "empty: %llu and %llu",
		  one.stays, one.temporary);
	tap_ok(true, "memory: %s: a free leaf %.1f bits, %.1f more while attach runs", layout,
	       stays, temporary);
}

/* Attach fails before it allocates more memory than is free */
static void test_scarce(u64 n)
{
	struct crab_attach_report report;
	struct crab_store *store;
	u64 before = memory;

	media_make("slotted", LEAF_BYTES, n, n, make_records);
	crab_host_pages = n * 128 / PAGE_SIZE;
	memory_peak = memory;
	store = store_try(&media, &report);
	tap_check(store == ERR_PTR(-ENOMEM), "attach: %ld", PTR_ERR(store));
	tap_check(memory == before && memory_peak - before <= n * TEMPORARY + FIXED, "took %llu",
		  memory_peak - before);
	crab_host_pages = LONG_MAX;
	tap_ok(true, "memory: what is not there is known before it is taken");
	media_destroy(&media);
}

/* FORMAT and the next attach need no search of the pool, which is empty */
static u64 format_work(u64 n)
{
	struct crab_format_options options = { .force = true, .leaf_bytes = LEAF_BYTES,
		.engine = "crab", .layout = "", .label = "" };
	char reason[CRAB_REASON_LEN];

	media_make("slotted", LEAF_BYTES, n, n, make_records);
	work_begin();
	tap_check(!crab_store_format(&media, &options, reason), "%s", reason);
	crab_store_detach(store_attach(&media));
	media_destroy(&media);
	return work_end("FORMAT", BREATH);
}

static void test_format(u64 n)
{
	u64 one = format_work(n), two = format_work(2 * n);

	tap_ok(two <= one + one / 10, "FORMAT: %llu blocks, %llu for twice the leaves", one, two);
}

int main(int argc, char **argv)
{
	u64 n = argc > 1 ? strtoull(argv[1], NULL, 0) : 8192;
	u32 i, layout;

	crab_host_seed(1);
	crab_host_log = NULL;
	crab_host_cpus = 1;
	for (layout = 0; layout < 2; layout++) {
		sorted = layout;
		for (i = 0; i < ARRAY_SIZE(contents); i++) {
			test_work(&contents[i], n);
			test_stop(&contents[i], n);
		}
		for (i = 512; i <= 8192; i *= 4)
			test_memory(sorted ? "sorted" : "slotted", i, n);
		test_memory_free(sorted ? "sorted" : "slotted", 8 * n);
	}
	test_breaths(n);
	test_scarce(n);
	test_format(n);
	return tap_done();
}

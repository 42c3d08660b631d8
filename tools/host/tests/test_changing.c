// SPDX-License-Identifier: GPL-2.0
/*
 * This file runs several threads over one small store while one more thread changes its media: bits
 * flip, words become zeros, all ones, other words of the region, or those that they were before.
 * Some of them change back soon. The media changes also while the store is attached and detached.
 *
 * The records may then have any value. Each operation returns with a documented result, scans end
 * and their keys ascend or descend strictly, the store is read-only at the end or healthy, and
 * AddressSanitizer sees no access outside the region or the heap.
 *
 * The variant `tasks` does the same with tasks, which switch at any load and at any store; a seed
 * repeats a run there. Attach and detach are not among the tasks.
 *
 *   test_changing [RUNS [SEED [NAME]]]
 */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "changing.h"
#include "engines/crab/sorted/tuning.h"
#include "engines/fastfair/tuning.h"
#include "engines/nvtree/tuning.h"
#include "test.h"
#ifdef CRABTREE_HOST_TASKS
#include "tasks.h"
#endif

#define USERS		4U
#define FILL		120U	/* calls before the media changes, at most */
#define LEAVES		128U
#define GUARD		(64ULL << 30)	/* bytes before and after the media that cannot be accessed */
#define TRIES		8U	/* to find a word that is in use */
#define FEW		4U
#define BACK		8U	/* changes that are taken back later, at a time */
#define PATIENCE	600U	/* seconds of a run */

#ifdef CRABTREE_HOST_TASKS
#define RUNS		12U	/* of each kind of store, by default */
#define STEPS		40U	/* calls of a user after one attach */
#define PACES		10U	/* the mean time between two changes is below 2 to the power of this */
#else
#ifdef __SANITIZE_THREAD__
#define RUNS		3U
#else
#define RUNS		30U
#endif
#define STEPS		80U
#define PACES		20U
#endif

static const struct kind kinds[] = {
	{ "slotted", "crab", "slotted", 128, 0, NUMBERS, NULL },
	{ "sorted", "crab", "sorted", 128, 0, NUMBERS, NULL },
	{ "append", "nvtree", "append", 128, 0, NUMBERS, NULL },
	{ "shift", "fastfair", "shift", 128, 4, NUMBERS, NULL },
	{ "inplace", "clfb", "inplace", 128, 4, NUMBERS, NULL },
	{ "twin", "clfb", "twin", 128, 4, NUMBERS, NULL },
	{ "atomic", "clfb", "atomic", 128, 4, NUMBERS, NULL },
	{ "encoded", "clfb", "encoded", 64, 0, NUMBERS, NULL },
	{ "adr", "nbtree", "adr", 128, 4, NUMBERS, NULL },
	{ "eadr", "nbtree", "eadr", 128, 4, NUMBERS, NULL },
	{ "sorted, shifted", "crab", "sorted", 128, 0, NUMBERS,
	  &(const struct crab_tuning){ .strategy = CRAB_STRATEGY_SIP } },
	{ "sorted, copied", "crab", "sorted", 128, 0, NUMBERS,
	  &(const struct crab_tuning){ .strategy = CRAB_STRATEGY_COW, .on_demand = true } },
	{ "append, attached at once", "nvtree", "append", 128, 0, NUMBERS,
	  &(const struct nv_tuning){ .instant = true } },
	{ "shift, repaired later", "fastfair", "shift", 128, 4, NUMBERS,
	  &(const struct ff_tuning){ .lazy = true } },
	{ "shift, reads lock", "fastfair", "shift", 128, 4, NUMBERS,
	  &(const struct ff_tuning){ .leaf_locks = true } },
	{ "commits of slotted", "crab", "slotted", 128, 0, COMMITS, NULL },
	{ "commits of shift", "fastfair", "shift", 128, 4, COMMITS, NULL },
	{ "commits of eadr", "nbtree", "eadr", 128, 4, COMMITS, NULL },
	{ "blobs in slotted", "crab", "slotted", 512, 0, BLOBS, NULL },
	{ "blobs in append", "nvtree", "append", 512, 0, BLOBS, NULL },
	{ "blobs in shift", "fastfair", "shift", 512, 4, BLOBS, NULL },
	{ "blobs in twin", "clfb", "twin", 512, 4, BLOBS, NULL },
	{ "blobs in eadr", "nbtree", "eadr", 512, 4, BLOBS, NULL },
	{ "names in slotted", "crab", "slotted", 512, 0, NAMES, NULL },
	{ "names in adr", "nbtree", "adr", 512, 4, NAMES, NULL },
};

struct changing c;

static struct user users[USERS];
static unsigned long long change_seed;
static __le64 *old;		/* words of the media, at some time before */
static u64 few[FEW];		/* words that change again and again, so many */
static u32 few_words;
static bool changes_end;
static u64 changes;
static u32 faults;

/* The media */

static __le64 *word_at(u64 number)
{
	return (__le64 *)c.media.base + number;
}

/* Mostly of the leaves and nodes: a changed head of their list makes the store read-only soon */
static u64 word_any(unsigned long long *seed)
{
	u64 area = CRAB_AREA_OFFSET / sizeof(u64), all = c.media.size / sizeof(u64);

	switch (rng_below(seed, 64)) {
	case 0:
		return rng_below(seed, area);
	case 1:
		return CRAB_HEAD_OFFSET / sizeof(u64) + rng_below(seed, 8);
	default:
		return area + rng_below(seed, all - area);
	}
}

/* Leaves that were not used yet are zeros */
u64 changing_word(unsigned long long *seed)
{
	u32 tries = TRIES;
	u64 at;

	do
		at = word_any(seed);
	while (!READ_ONCE(*word_at(at)) && --tries);
	return at;
}

static u64 word_value(unsigned long long *seed, u64 at, u64 was)
{
	switch (rng_below(seed, 10)) {
	case 0:
		return 0;
	case 1:
		return ~0ULL;
	case 2:
		return was ^ 1ULL << rng_below(seed, 64);
	case 3:
		return was ^ 1ULL << rng_below(seed, 12);
	case 4:
		return was + SPACE * rng_below(seed, KEYS) - SPACE * KEYS / 2;
	case 5:
		return rng(seed);
	case 6:
		return le64_to_cpu(old[at]);
	default:
		return le64_to_cpu(READ_ONCE(*word_at(changing_word(seed))));
	}
}

/* A line becomes one of another place, or of before */
static void line_move(unsigned long long *seed, u64 at)
{
	const u32 n = CRAB_LINE / sizeof(u64);
	u64 from = changing_word(seed) / n * n, i;
	const __le64 *source = rng_below(seed, 2) ? word_at(from) : old + at / n * n;

	for (i = 0; i < n; i++)
		WRITE_ONCE(*word_at(at / n * n + i), READ_ONCE(source[i]));
}

static void media_keep(void)
{
	u64 i;

	for (i = 0; i < c.media.size / sizeof(*old); i++)
		old[i] = READ_ONCE(*word_at(i));
}

static void word_change(unsigned long long *seed, u64 at, u64 was)
{
	if (rng_below(seed, 8))
		WRITE_ONCE(*word_at(at), cpu_to_le64(word_value(seed, at, was)));
	else
		line_move(seed, at);
	changes++;
	if (!rng_below(seed, 64))
		media_keep();
}

/* In some runs a few words change again and again, in others any word does */
static void few_choose(unsigned long long *seed)
{
	u32 i;

	few_words = rng_below(seed, 3) ? 0 : 1 + rng_below(seed, FEW);
	for (i = 0; i < few_words; i++)
		few[i] = changing_word(seed);
}

static u64 word_next(unsigned long long *seed)
{
	return few_words ? few[rng_below(seed, few_words)] : changing_word(seed);
}

/* Changes words; one in four changes back, and all of the few do */
static void change_all(void)
{
	unsigned long long seed = change_seed;
	u32 pace = 1U << rng_below(&seed, PACES), i;
	u64 at[BACK] = { }, was[BACK];

	few_choose(&seed);
	while (!READ_ONCE(changes_end)) {
		for (i = rng_below(&seed, 2 * pace); i && !READ_ONCE(changes_end); i--)
			cpu_relax();
		i = rng_below(&seed, BACK);
		if (at[i])
			WRITE_ONCE(*word_at(at[i]), cpu_to_le64(was[i]));
		at[i] = word_next(&seed);
		was[i] = le64_to_cpu(READ_ONCE(*word_at(at[i])));
		word_change(&seed, at[i], was[i]);
		if (!few_words && rng_below(&seed, 4))
			at[i] = 0;
	}
}

static void media_make(u64 size)
{
	u8 *base = mmap(NULL, size + 2 * GUARD, PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (base == MAP_FAILED || mprotect(base + GUARD, size, PROT_READ | PROT_WRITE))
		exit(2);
	c.media = (struct crab_media){
		.base = base + GUARD, .size = size, .durability = CRAB_DURABILITY_POP,
		.fence_only = true,
	};
}

/* The users */

void changing_fault(const char *what, long long a, long long b)
{
	if (__atomic_fetch_add(&faults, 1, __ATOMIC_RELAXED) < 5)
		tap_fail("run %u: %s: %lld, %lld", c.run, what, a, b);
}

static void use(struct user *user)
{
	u32 i;

	for (i = 0; i < STEPS; i++)
		changing_call(user);
	WRITE_ONCE(user->call, NULL);
}

/* A call does not return */
static void on_alarm(int number)
{
	u32 i;

	printf("Bail out! %s, run %u: a call does not return\n", c.kind->name, c.run);
	for (i = 0; i < USERS; i++)
		printf("# user %u: %s\n", i, users[i].call ?: "ended");
	fflush(stdout);
	abort();
}

#ifdef CRABTREE_HOST_TASKS

static u32 running;		/* users that have not ended */

static void use_task(void *arg)
{
	use(arg);
	if (!--running)
		changes_end = true;
}

static void change_task(void *arg)
{
	change_all();
}

static void changes_begin(void)
{
}

static void changes_stop(void)
{
}

static void use_all(void)
{
	struct tasks_plan plan = { .seed = change_seed, .pace = 1U << change_seed % 6 };
	u32 i;

	changes_end = false;
	running = USERS;
	for (i = 0; i < USERS; i++)
		tasks_add(use_task, &users[i]);
	tasks_add(change_task, NULL);
	if (tasks_run(&plan) != TASKS_DONE) {
		printf("Bail out! %s, run %u: the tasks come to no end\n", c.kind->name, c.run);
		for (i = 0; i < USERS; i++)
			printf("# user %u: %s\n", i, users[i].call ?: "ended");
		exit(2);
	}
}

#else

static pthread_t changer;

static void *use_thread(void *arg)
{
	use(arg);
	return NULL;
}

static void *change_thread(void *arg)
{
	change_all();
	return NULL;
}

static void changes_begin(void)
{
	changes_end = false;
	pthread_create(&changer, NULL, change_thread, NULL);
}

static void changes_stop(void)
{
	WRITE_ONCE(changes_end, true);
	pthread_join(changer, NULL);
}

static void use_all(void)
{
	pthread_t thread[USERS];
	u32 i;

	for (i = 0; i < USERS; i++)
		pthread_create(&thread[i], NULL, use_thread, &users[i]);
	for (i = 0; i < USERS; i++)
		pthread_join(thread[i], NULL);
}

#endif

/* A run of a store */

static void attach(void)
{
	struct crab_attach_options options = { .tuning = c.kind->tuning };
	struct crab_attach_report report;

	c.store = crab_store_attach(&c.media, &options, &report);
}

static void format(unsigned long long *seed)
{
	u32 n = rng_below(seed, FILL);

	memset(c.media.base, 0, c.media.size);
	crab_store_detach(store_make(&c.media, c.kind->engine, c.kind->layout, c.kind->leaf_bytes,
				     c.kind->content));
	attach();
	c.began = false;
	users[0].seed = rng(seed) | 1;
	while (n--)
		changing_write(&users[0]);
	media_keep();
}

/* From attach to detach */
static void serve(unsigned long long *seed)
{
	struct crab_check_report report;
	u32 i;

	c.began = !crab_store_is_readonly(c.store);
	c.observed = rng_below(seed, 2) && crab_store_observe(c.store) >= 0;
	c.writes = 1 + rng_below(seed, 14);
	for (i = 0; i < USERS; i++)
		users[i].seed = rng(seed) | 1;
	use_all();
	if (c.observed)
		crab_store_unobserve(c.store);
	if (!crab_store_check(c.store, &report) && report.damage.count &&
	    c.kind->content < BLOBS && !crab_store_is_readonly(c.store))
		changing_fault("a damaged store is writable", report.damage.offset, 0);
	crab_store_detach(c.store);
}

static void run_store(unsigned long long *seed)
{
	alarm(PATIENCE);
	format(seed);
	change_seed = rng(seed) | 1;
	changes_begin();
	serve(seed);
	attach();
	if (!IS_ERR(c.store))
		serve(seed);
	changes_stop();
}

static void run_kind(const struct kind *kind, u32 runs, unsigned long long seed)
{
	memset(&c, 0, sizeof(c));
	mutex_init(&c.opening);
	mutex_init(&c.working);
	c.kind = kind;
	crab_tiny_slots = kind->slots;
	media_make(2 * CRAB_POOL_OFFSET + LEAVES * kind->leaf_bytes);
	old = malloc(c.media.size);
	changes = 0;
	faults = 0;
	for (c.run = 0; c.run < runs; c.run++) {
		crab_host_seed(rng(&seed));
		run_store(&seed);
	}
	tap_ok(c.done > runs && c.refused > runs,
	       "%s: %u runs, %llu changes of the media: %llu calls are done, %llu are refused",
	       kind->name, runs, changes, c.done, c.refused);
	free(old);
	munmap(c.media.base - GUARD, c.media.size + 2 * GUARD);
}

int main(int argc, char **argv)
{
	u32 runs = argc > 1 ? atoi(argv[1]) : RUNS, i;
	unsigned long long seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;

	crab_host_log = NULL;
	signal(SIGALRM, on_alarm);
	changing_begin();
#ifndef CRABTREE_HOST_TASKS
	crab_host_cpus = 4;
#endif
	for (i = 0; i < ARRAY_SIZE(kinds); i++)
		if (argc < 4 || !strcmp(kinds[i].name, argv[3]))
			run_kind(&kinds[i], runs, rng_mix(seed + i) | 1);
	return tap_done();
}

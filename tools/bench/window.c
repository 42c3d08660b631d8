// SPDX-License-Identifier: GPL-2.0
/*
 * This file measures how much a CPU executes while a fence waits.
 *
 *   window
 *
 * Each turn has a number of instructions of one kind, then a load of one line, a load of another
 * line that the first one determines, a store there, a clean and a fence. As long as the loads begin
 * before the fence of the previous turn is done, a turn takes as long as a fence. The highest such
 * number of instructions is the window after a fence. No load waits for the instructions.
 *
 * The result is the median of the CPU time of one pinned thread over several rounds.
 */
#include <stdio.h>
#include <stdlib.h>

#include <linux/kernel.h>
#include <linux/sort.h>

#include "media/persist.h"
#include "rig.h"

#define FIRST_BYTES	(4ULL << 20)
#define SECOND_BYTES	(24ULL << 20)
#define TURNS		200000
#define ROUNDS		7

#if defined(__x86_64__)
#define RESULT		"lea 1(%%rax), %%rcx"
#define COMPARE		"cmp %%rax, %%rbx"
#define STORE		"mov %%rax, %0"
#define CLOBBERS	"rcx", "cc", "memory"
#else
#define RESULT		"add x1, x0, #1"
#define COMPARE		"cmp x0, x1"
#define STORE		"str x0, %0"
#define CLOBBERS	"x1", "cc", "memory"
#endif

struct turns {
	struct crab_flow flow;
	u8 *first;
	u8 *second;
	u64 place;	/* private to this thread */
};

/* A random position in @bytes, by the cheapest possible generator */
static __always_inline u64 next_line(u64 *state, u64 bytes)
{
	*state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
	return (u64)((unsigned __int128)*state * (bytes / CRAB_LINE) >> 64) * CRAB_LINE;
}

static __always_inline void turn_end(struct turns *t, u64 *state)
{
	u64 told = crab_load(t->flow.media, (__le64 *)(t->first + next_line(state, FIRST_BYTES)));
	__le64 *word = (__le64 *)(t->second + (told ^ next_line(state, SECOND_BYTES)));

	crab_store(&t->flow, word, crab_load(t->flow.media, word) + 1);
	crab_clean_word(&t->flow, word);
	/* P6: as after a record */
	crab_fence(&t->flow, CRAB_P6_RECORD);
}

#define WINDOW(what, instruction, n)							\
	static void what##_##n(struct turns *t)						\
	{										\
		u64 state = 1, i;							\
											\
		for (i = 0; i < TURNS; i++) {						\
			__asm__ volatile(".rept " #n "\n" instruction "\n.endr"		\
					 : "+m" (t->place) : : CLOBBERS);		\
			turn_end(t, &state);						\
		}									\
	}
#define WINDOWS(what, instruction)							\
	WINDOW(what, instruction, 0) WINDOW(what, instruction, 25)			\
	WINDOW(what, instruction, 50) WINDOW(what, instruction, 75)			\
	WINDOW(what, instruction, 100) WINDOW(what, instruction, 150)			\
	WINDOW(what, instruction, 200) WINDOW(what, instruction, 250)			\
	WINDOW(what, instruction, 300) WINDOW(what, instruction, 400)

WINDOWS(results, RESULT)
WINDOWS(compares, COMPARE)
WINDOWS(stores, STORE)
WINDOWS(nops, "nop")

static const u32 counts[] = { 0, 25, 50, 75, 100, 150, 200, 250, 300, 400 };

#define ROW(what) {									\
	#what, { what##_0, what##_25, what##_50, what##_75, what##_100,			\
		 what##_150, what##_200, what##_250, what##_300, what##_400 }		\
}

static const struct row {
	const char *name;
	void (*run[ARRAY_SIZE(counts)])(struct turns *t);
} rows[] = { ROW(results), ROW(compares), ROW(stores), ROW(nops) };

static int by_size(const void *a, const void *b)
{
	const u64 *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

static u64 median_ns(struct turns *t, void (*run)(struct turns *t))
{
	u64 ns[ROUNDS], began;
	u32 i;

	for (i = 0; i < ROUNDS; i++) {
		began = rig_cpu_ns();
		run(t);
		ns[i] = (rig_cpu_ns() - began) / TURNS;
	}
	sort(ns, ROUNDS, sizeof(ns[0]), by_size, NULL);
	return ns[ROUNDS / 2];
}

int main(void)
{
	struct crab_media first, second;
	struct turns t = { };
	u32 r, i;

	rig_pin(0);
	if (crab_persist_init())
		rig_fail("this CPU cannot clean a line", -EOPNOTSUPP);
	first = rig_region(FIRST_BYTES);
	second = rig_region(SECOND_BYTES);
	t.flow.media = &second;
	t.first = first.base;
	t.second = second.base;
	printf("%-10s", "ns, with");
	for (i = 0; i < ARRAY_SIZE(counts); i++)
		printf("%6u", counts[i]);
	for (r = 0; r < ARRAY_SIZE(rows); r++) {
		printf("\n%-10s", rows[r].name);
		for (i = 0; i < ARRAY_SIZE(counts); i++)
			printf("%6llu", median_ns(&t, rows[r].run[i]));
	}
	printf("\n");
	return 0;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * This file fails the n-th allocation of a load of the module, for n = 1, 2, ...
 * until it gets through without.
 *
 * Invariant: the module is there, or gone without a trace.
 *
 * Not under kmemleak: __class_register() of 6.1 forgets the name of the class where
 * kset_register() fails.
 */
#include <sys/syscall.h>

#include "faults.h"
#include "module.h"

static char module[256], params[256];

static void module_unload(void)
{
	REQUIRE(syscall(SYS_delete_module, "crabtree", 0) ? -errno : 0, 0);
}

static int run_load(struct trial *trial)
{
	(void)trial;
	return module_load(module, params);
}

static void judge_load(struct trial *trial, int rc)
{
	(void)trial;
	REQUIRE(access("/sys/module/crabtree", F_OK), rc ? -1 : 0);
	REQUIRE(access("/sys/class/crabtree", F_OK), rc ? -1 : 0);
	if (!rc)
		module_unload();
}

/* Faults before the parameters are parsed: those of the loader, which warns of them */
static u32 loader_faults(void)
{
	char word[16] = "";

	strcpy(params, "strategy=none");
	fault_begin(1U << 20);
	module_load(module, params);
	REQUIRE_TRUE(pread(nth_fd, word, sizeof(word) - 1, 0) > 0);
	fault_end();
	return (1U << 20) - atoi(word);
}

TEST(load, "faults: load of the module")
{
	struct trial trial = { .run = run_load, .judge = judge_load };
	const char *dir = getenv("CRAB_MODULES");

	snprintf(module, sizeof(module), "%s/crabtree.ko", dir ? dir : "");
	faults_init();
	put_word(INJECTION "fail_page_alloc/ignore-gfp-wait", "Y");	/* a page each 4 KiB */
	module_unload();
	trial.first = loader_faults() + 1;
	strcpy(params, "ram=512K cost_round=9 cost_line=9 cost_order=9 cost_record=9 cost_pair=9");
	EXPECT(trial_run(&trial), 0);
	printf("# faults %u to %u\n", trial.first, trial.first + refused + survived);
	told();
}

// SPDX-License-Identifier: GPL-2.0
/*
 * This file runs every mutant until a workload kills it, and reports which one did.
 *
 *   test_mutants [-q] [-j JOBS] [-k KILLERS] [-t TABLE] [FIRST [LAST]]
 *
 * First each workload runs without a mistake, and must succeed; the mutants that it reaches are
 * counted, so that a mutant runs only where it makes a difference. A mutant that no workload
 * reaches is a failure: it was not tested. The workload that KILLERS (matrix.py --killers) names for
 * a mutant runs first, all others in their order. A survivor is a failure unless the mutant is listed as
 * harmless; a harmless mutant that is killed is a failure, too. With -q only the first workload that
 * reaches a harmless mutant runs. A run that died of a signal, or did not go on, is a kill; a run with
 * more images than can be tried is not, nor one that the limit of CPU time ended.
 *
 * Invariant: each run is a process of its own, and the same in every run.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <linux/kernel.h>
#include <linux/string.h>

#include "tap.h"
#include "corrupt.h"
#include "mutant.h"
#include "workload.h"

#define JOB_SECONDS	120	/* of CPU time. A run that does not go on ends long before: workload.c */
#define JOB_BYTES	(8UL << 30)	/* a mutant may allocate without an end */
#define NAME_LEN	512
#define SURVIVES	(-1)
#define UNMET		(-2)
#define UNKNOWN		U32_MAX

static const struct crab_mutant_row rows[] = {
	{ },
#include "table.h"
};

static_assert(ARRAY_SIZE(rows) < CRAB_MUTANTS_MAX, "numbers begin at 1");

/* Results of jobs, which are processes */
static struct shared {
	struct crab_mutant_census census[WORKLOADS_MAX];
	enum workload_end sound[WORKLOADS_MAX];
	char sound_said[WORKLOADS_MAX][CRASH_SAID];
	double sound_seconds[WORKLOADS_MAX];
	int killer[CRAB_MUTANTS_MAX];
	bool gave_up[CRAB_MUTANTS_MAX];
	int ends[CRAB_MUTANTS_MAX];
	char said[CRAB_MUTANTS_MAX][CRASH_SAID];
} *shared;

static u32 mutants, killed, justified;
static bool quick;

/* By mutant: the workload that runs first; or none */
static u32 killers[CRAB_MUTANTS_MAX];

/* Runs @job for each number of [first, end), at most @at_once concurrently; @ends: wait(2) */
static void run_jobs(u32 first, u32 end, u32 at_once, void (*job)(u32 n), int *ends)
{
	/* The hard limit would end it by SIGKILL, as workload.c does */
	const struct rlimit time = { JOB_SECONDS, 2 * JOB_SECONDS }, memory = { JOB_BYTES, JOB_BYTES };
	pid_t pids[CRAB_MUTANTS_MAX] = { }, pid;
	u32 running = 0, next = first, n;
	int status;

	fflush(stdout);
	while (running || next < end) {
		if (running < at_once && next < end) {
			pids[next] = fork();
			if (!pids[next]) {
				setrlimit(RLIMIT_CPU, &time);
				setrlimit(RLIMIT_AS, &memory);
				job(next);
				_exit(0);
			}
			next++;
			running++;
			continue;
		}
		pid = wait(&status);
		running--;
		for (n = first; pids[n] != pid; n++)
			;
		ends[n] = status;
	}
}

/* The workloads without any mistake */

static void sound_job(u32 n)
{
	struct rusage usage;

	crab_mutant_census = &shared->census[n];
	shared->sound[n] = workload_run(workloads[n], shared->sound_said[n]);
	getrusage(RUSAGE_SELF, &usage);
	shared->sound_seconds[n] = usage.ru_utime.tv_sec + usage.ru_utime.tv_usec / 1e6;
}

static bool sound_runs(u32 jobs)
{
	int ends[WORKLOADS_MAX] = { };
	bool ok = true;
	u32 n;

	run_jobs(0, workloads_count, jobs, sound_job, ends);
	for (n = 0; n < workloads_count; n++)
		ok &= tap_ok(WIFEXITED(ends[n]) && shared->sound[n] == WORKLOAD_SOUND,
			     "without a mistake: %s%s%s, %.2f s", workloads[n]->name,
			     shared->sound_said[n][0] ? ": " : "", shared->sound_said[n],
			     shared->sound_seconds[n]);
	return ok;
}

/* Mutants */

static bool meets(u32 workload, u32 mutant)
{
	const struct crab_mutant_census *census = &shared->census[workload];

	return census->met[mutant] && census->lines[mutant] >= rows[mutant].lines;
}

static bool is_met(u32 mutant)
{
	u32 n;

	for (n = 0; n < workloads_count; n++)
		if (meets(n, mutant))
			return true;
	return false;
}

static bool mutant_killed(u32 mutant, u32 workload)
{
	enum workload_end end;

	shared->killer[mutant] = workload;
	end = workload_run(workloads[workload], shared->said[mutant]);
	shared->gave_up[mutant] |= end == WORKLOAD_GAVE_UP;
	return end == WORKLOAD_FOUND;
}

static void mutant_job(u32 mutant)
{
	u32 n, first = killers[mutant];

	crab_mutant = mutant;
	if (first < workloads_count && meets(first, mutant) && mutant_killed(mutant, first))
		return;
	for (n = 0; n < workloads_count; n++) {
		if (n == first || !meets(n, mutant))
			continue;
		if (mutant_killed(mutant, n))
			return;
		if (quick && rows[mutant].why)
			break;
	}
	shared->killer[mutant] = is_met(mutant) ? SURVIVES : UNMET;
}

/* A run that was too long has shown nothing */
static void mutants_limited(u32 first, u32 last)
{
	for (; first <= last; first++) {
		if (!WIFSIGNALED(shared->ends[first]) || WTERMSIG(shared->ends[first]) != SIGXCPU)
			continue;
		shared->killer[first] = SURVIVES;
		shared->gave_up[first] = true;
	}
}

/* The killer of all mutants of this name; no workload if two of a name have different ones */
static void killer_set(const char *function, const char *text, const char *kind, const char *name)
{
	u32 n, killer;

	for (killer = 0; killer < workloads_count; killer++)
		if (!strcmp(workloads[killer]->name, name))
			break;
	for (n = 1; n < ARRAY_SIZE(rows); n++)
		if (!strcmp(rows[n].text, text) && !strcmp(rows[n].function, function) &&
		    !strcmp(rows[n].kind, kind))
			killers[n] = killers[n] == UNKNOWN || killers[n] == killer ? killer : WORKLOADS_MAX;
}

/* Lines of function, text, kind and workload, with tabs between them */
static bool killers_read(const char *path)
{
	FILE *file = fopen(path, "r");
	char line[1024], *word[4];
	u32 i;

	while (file && fgets(line, sizeof(line), file)) {
		char *at = line;

		for (i = 0; i < ARRAY_SIZE(word); i++)
			word[i] = strsep(&at, "\t\n") ?: "";
		killer_set(word[0], word[1], word[2], word[3]);
	}
	return file && !fclose(file);
}

/* Does it exist? A clean of one line has no last line. */
static bool is_mutant(u32 n)
{
	return !rows[n].lines || is_met(n);
}

static const char *point_names(u32 mutant, char *names)
{
	u32 points = 0, n;

	for (n = 0; n < workloads_count; n++)
		points |= shared->census[n].points[mutant];
	names[0] = '\0';
	for (n = 1; n < CRAB_POINTS; n++)
		if (points >> n & 1)
			sprintf(names + strlen(names), "%s%s", names[0] ? ", " : "",
				crab_shadow_point_name(n));
	return names[0] ? names : "none";
}

/* Which one it is */
static const char *mutant_name(u32 n, char *name)
{
	const struct crab_mutant_row *row = &rows[n];

	snprintf(name, NAME_LEN, "%u %s%s%s: %s, %s", n, row->file, row->function[0] ? " " : "",
		 row->function, row->text, row->kind);
	return name;
}

static void mutant_tell(u32 n)
{
	const struct crab_mutant_row *row = &rows[n];
	int killer = shared->killer[n];
	bool dead = killer >= 0;
	const char *survives = killer == UNMET ? "no workload meets it" :
			       shared->gave_up[n] ? "survives, but not all was tried" : "survives";
	char name[NAME_LEN];

	mutants++;
	killed += dead;
	justified += !dead && row->why;
	if (dead)
		tap_ok(!row->why, "%s: killed by %s: %s%.80s%s", mutant_name(n, name),
		       workloads[killer]->name, WIFSIGNALED(shared->ends[n]) ? "it died: " : "",
		       shared->said[n], row->why ? ", though it should do no harm" : "");
	else
		tap_ok(row->why && !shared->gave_up[n], "%s: %s: %s", mutant_name(n, name),
		       survives, row->why ?: "and has no reason");
}

static void table_write(FILE *table, u32 n)
{
	const struct crab_mutant_row *row = &rows[n];
	int killer = shared->killer[n];
	char names[256];

	fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", point_names(n, names), row->file,
		row->function, row->text, row->kind, killer >= 0 ? workloads[killer]->name : "",
		killer < 0 && row->why ? row->why : "");
}

int main(int argc, char **argv)
{
	u32 jobs = sysconf(_SC_NPROCESSORS_ONLN), first = 1, last = ARRAY_SIZE(rows) - 1, n;
	FILE *table = NULL;
	int c;

	workloads_init();
	memset(killers, 0xff, sizeof(killers));
	while ((c = getopt(argc, argv, "qj:k:t:")) != -1) {
		if (c == 'q')
			quick = true;
		else if (c == 'j')
			jobs = atoi(optarg);
		else if (c == 'k' && killers_read(optarg))
			continue;
		else if (c == 't')
			table = fopen(optarg, "w");
		else
			return 2;
	}
	if (optind < argc)
		first = last = atoi(argv[optind]);
	if (optind + 1 < argc)
		last = atoi(argv[optind + 1]);
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		      -1, 0);
	if (shared == MAP_FAILED || last >= CRAB_MUTANTS_MAX || !sound_runs(jobs))
		return 2;
	run_jobs(first, last + 1, jobs, mutant_job, shared->ends);
	mutants_limited(first, last);
	for (n = 0; table && n < workloads_count; n++)
		fprintf(table, "%s\n", workloads[n]->name);
	for (n = first; n <= last; n++) {
		if (!is_mutant(n))
			continue;
		mutant_tell(n);
		if (table)
			table_write(table, n);
	}
	corrupt_all(table);
	printf("# mutants %u, killed %u, justified %u\n", mutants, killed, justified);
	return tap_done();
}

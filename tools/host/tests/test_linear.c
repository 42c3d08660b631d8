// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests the judge of histories: with forged histories, each with its correct
 * verdict, and with short random ones, for which the test tries all orders.
 *
 *   test_linear [HISTORIES [SEED]]
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "linear.h"
#include "tap.h"
#include "tests/rng.h"

/* Thread invoked returned call verb key value old error [moment [expected]] */
static const struct {
	const char *what;
	bool ok;
	const char *text;
} forged[] = {
	{ "one thing after the other", true,
	  "0 0 1 single insert 0 a 0 0\n" "0 1 2 single read 0 a 0 0\n"
	  "1 2 3 single delete 0 0 a 0\n" "0 3 4 single read 0 0 0 -2\n" },
	{ "a value that nobody wrote", false,
	  "0 0 1 single insert 0 a 0 0\n" "1 1 2 single read 0 b 0 0\n" },
	{ "a value that was written to another key", false,
	  "0 0 1 single insert 0 a 0 0\n" "1 1 2 single read 1 a 0 0\n" },
	{ "a read that sees what a delete took away before", false,
	  "0 0 1 single insert 0 a 0 0\n" "0 1 2 single delete 0 0 a 0\n"
	  "1 2 3 single read 0 a 0 0\n" },
	{ "a read concurrent with that delete", true,
	  "0 0 1 single insert 0 a 0 0\n" "0 1 3 single delete 0 0 a 0\n"
	  "1 2 4 single read 0 a 0 0\n" },
	{ "a lost update", false,
	  "0 0 1 single insert 0 a 0 0\n" "1 1 2 single replace 0 b a 0\n"
	  "0 2 3 single read 0 a 0 0\n" },
	{ "two updates that both found the same", false,
	  "0 0 1 single insert 0 a 0 0\n" "0 1 4 single insert 0 b a 0\n"
	  "1 1 4 single insert 0 c a 0\n" },
	{ "two updates side by side", true,
	  "0 0 1 single insert 0 a 0 0\n" "0 1 4 single insert 0 b c 0\n"
	  "1 1 4 single insert 0 c a 0\n" "1 4 5 single read 0 b 0 0\n" },
	{ "a reader that sees the old value after another saw the new one", false,
	  "0 0 1 single insert 0 a 0 0\n" "0 1 9 single replace 0 b a 0\n"
	  "1 2 3 single read 0 b 0 0\n" "2 4 5 single read 0 a 0 0\n" },
	{ "two creates of one key", false,
	  "0 0 4 single create 0 a 0 0\n" "1 0 4 single create 0 b 0 0\n" },
	{ "one create, and one that finds it", true,
	  "0 0 4 single create 0 a b -17\n" "1 0 4 single create 0 b 0 0\n" },
	{ "a create that finds a key where there is none", false,
	  "0 0 1 single create 0 a b -17\n" },
	{ "two deletes of one record", false,
	  "0 0 1 single insert 0 a 0 0\n" "1 1 4 single delete 0 0 a 0\n"
	  "2 1 4 single delete 0 0 a 0\n" },
	{ "a replace where there is nothing", false, "0 0 1 single replace 0 a 0 0\n" },
	{ "no space for a new key", true, "0 0 1 single insert 0 a 0 -28\n" },
	{ "no space for a key that is there", false,
	  "0 0 1 single insert 0 a 0 0\n" "0 1 2 single insert 0 b a -28\n" },
	{ "an error that no operation has", false, "0 0 1 single insert 0 a 0 -5\n" },
	{ "what was there at the beginning", true, "0 0 1 single read 2 f 0 0\n" },
	{ "what was not there at the beginning", false, "0 0 1 single read 2 e 0 0\n" },
	{ "a scan that misses a key which was there all the time", false,
	  "0 0 1 single insert 0 a 0 0\n" "1 1 4 scan read 0 0 0 -2\n"
	  "0 2 3 single insert 1 b 0 0\n" },
	{ "a scan that sees a later record and not an earlier one", true,
	  "0 1 2 single insert 0 a 0 0\n" "0 2 3 single insert 1 b 0 0\n"
	  "1 1 4 scan read 0 0 0 -2\n" "1 1 4 scan read 1 b 0 0\n" },
	{ "a batch, in its order", true,
	  "0 0 1 batch insert 0 a 0 0\n" "0 0 1 batch delete 0 0 a 0\n"
	  "0 0 1 batch insert 0 b 0 0\n" "0 1 2 single read 0 b 0 0\n" },
	{ "a batch out of its order", false,
	  "0 0 1 batch delete 0 0 a 0\n" "0 0 1 batch insert 0 a 0 0\n" },
	{ "a write that was cut off, had an effect", true,
	  "0 0 never single insert 0 a 0 0\n" "1 5 6 final read 0 a 0 0\n" },
	{ "a write that was cut off, had none", true,
	  "0 0 never single insert 0 a 0 0\n" "1 5 6 final read 0 0 0 -2\n" },
	{ "a delete that was cut off, half done", false,
	  "0 0 1 single insert 0 a 0 0\n" "0 1 never single delete 0 0 0 0\n"
	  "1 5 6 final read 0 b 0 0\n" },
	{ "a write that returned and that the cut took back", false,
	  "0 0 1 single insert 0 a 0 0\n" "1 5 6 final read 0 0 0 -2\n" },
	{ "a write that a reader saw and that the cut took back", false,
	  "0 0 never single insert 0 a 0 0\n" "1 1 2 single read 0 a 0 0\n"
	  "2 5 6 final read 0 0 0 -2\n" },
	{ "a delete that a reader saw and that the cut took back", false,
	  "0 0 never single delete 2 0 0 0\n" "1 1 2 single read 2 0 0 -2\n"
	  "2 5 6 final read 2 f 0 0\n" },
	{ "a read that was cut off", true, "0 0 never single read 0 a 0 0\n" },
	{ "a create that was cut off replaces nothing", false,
	  "0 0 never single create 2 a 0 0\n" "1 5 6 final read 2 a 0 0\n" },
	{ "a replace that was cut off creates nothing", false,
	  "0 0 never single replace 0 a 0 0\n" "1 5 6 final read 0 a 0 0\n" },
	{ "of a batch that was cut off, the second alone", true,
	  "0 0 never batch insert 0 a 0 0\n" "0 0 never batch insert 0 b 0 0\n"
	  "1 5 6 final read 0 b 0 0\n" },
	{ "a scan of one moment that sees a later record and not an earlier one", false,
	  "0 1 2 single insert 0 a 0 0\n" "0 2 3 single insert 1 b 0 0\n"
	  "1 1 4 scan read 0 0 0 -2 1\n" "1 1 4 scan read 1 b 0 0 1\n" },
	{ "the same, of two moments", true,
	  "0 1 2 single insert 0 a 0 0\n" "0 2 3 single insert 1 b 0 0\n"
	  "1 1 4 scan read 0 0 0 -2 1\n" "1 1 4 scan read 1 b 0 0 2\n" },
	{ "a scan of one moment that sees the later of two writes side by side", true,
	  "0 1 3 single insert 0 a 0 0\n" "2 1 3 single insert 1 b 0 0\n"
	  "1 1 4 scan read 0 0 0 -2 1\n" "1 1 4 scan read 1 b 0 0 1\n" },
	{ "a scan of one moment that sees an old value and a later record", false,
	  "0 1 2 single replace 2 a f 0\n" "0 2 3 single insert 0 b 0 0\n"
	  "1 1 4 scan read 0 b 0 0 1\n" "1 1 4 scan read 2 f 0 0 1\n" },
	{ "a scan of one moment that sees a deleted record and a later one", false,
	  "0 1 2 single delete 2 0 f 0\n" "0 2 3 single insert 0 b 0 0\n"
	  "1 1 4 scan read 0 b 0 0 1\n" "1 1 4 scan read 2 f 0 0 1\n" },
	{ "a scan of one moment beside a delete that was cut off", true,
	  "0 1 never single delete 2 0 0 0\n" "2 2 3 single insert 0 b 0 0\n"
	  "1 1 4 scan read 0 b 0 0 1\n" "1 1 4 scan read 2 0 0 -2 1\n" },
	{ "a scan of one state of a leaf, concurrently with an erase", true,
	  "0 1 4 range erase 2 0 0 0\n" "2 2 3 single insert 0 b 0 0\n"
	  "1 1 4 scan read 0 b 0 0 1\n" "1 1 4 scan read 2 0 0 -2 1\n" },
	{ "a compare-and-swap of another value", false,
	  "0 0 1 single swap 2 a f 0 0 e\n" },
	{ "a compare-and-swap that fails, though it expects the value", false,
	  "0 0 1 single swap 2 a f -116 0 f\n" },
	{ "two compare-and-swaps that expect the same", false,
	  "0 0 4 single swap 2 a f 0 0 f\n" "1 0 4 single swap 2 b f 0 0 f\n" },
	{ "the same, of which the second one fails", true,
	  "0 0 4 single swap 2 a f 0 0 f\n" "1 0 4 single swap 2 b a -116 0 f\n" },
	{ "a compare-and-swap that fails by a value that the cut took back", false,
	  "0 0 never single insert 2 a 0 0\n" "1 1 2 single swap 2 b a -116 0 f\n"
	  "2 5 6 final read 2 f 0 0\n" },
	{ "two adds", true,
	  "0 0 4 single add 2 2 f 0\n" "1 0 4 single add 2 3 11 0\n" "2 5 6 final read 2 14 0 0\n" },
	{ "two adds that read the same value", false,
	  "0 0 4 single add 2 2 f 0\n" "1 0 4 single add 2 3 f 0\n" },
	{ "an add to a missing key", true,
	  "0 0 1 single add 0 2 0 0\n" "0 1 2 single read 0 2 0 0\n" },
	{ "an erase of a key that is there", true,
	  "0 0 1 range erase 2 0 0 0\n" "1 1 2 single read 2 0 0 -2\n" },
	{ "an erase without an effect", false,
	  "0 0 1 range erase 2 0 0 0\n" "1 1 2 single read 2 f 0 0\n" },
	{ "an erase, and concurrently another delete of the key", true,
	  "0 0 4 range erase 2 0 0 0\n" "1 0 4 single delete 2 0 f 0\n" },
	{ "an erase that finds nothing first, and then a new record", true,
	  "0 0 9 range erase 0 0 0 0\n" "1 1 2 single insert 0 a 0 0\n" "2 10 11 final read 0 0 0 -2\n" },
	{ "an erase, and concurrently an insert that was read", true,
	  "0 0 4 range erase 2 0 0 0\n" "1 1 2 single insert 2 5 f 0\n" "1 2 3 single read 2 5 0 0\n" },
	{ "an erase that was cut off, seen and then not", false,
	  "0 0 never range erase 2 0 0 0\n" "1 5 6 final read 2 0 0 -2\n" "1 6 7 final read 2 f 0 0\n" },
	{ "an add that was cut off, twice", false,
	  "0 0 never single add 2 2 0 0\n" "1 5 6 final read 2 13 0 0\n" },
	{ "an add that was cut off, once", true,
	  "0 0 never single add 2 2 0 0\n" "1 5 6 final read 2 11 0 0\n" },
	{ "an answer that is wrong by itself", false, "fault key 7 is foreign\n" },
};

static FILE *nowhere;

static struct history *forge(const char *text)
{
	char whole[1024];
	struct history *history;
	FILE *from;

	snprintf(whole, sizeof(whole), "history 3 3\nfirst 2 f\n%s", text);
	from = fmemopen(whole, strlen(whole), "r");
	history = history_load(from);
	fclose(from);
	return history;
}

static void run_forged(void)
{
	struct linear_counts counts = { 0 };
	struct history *history;
	unsigned int i;

	for (i = 0; i < sizeof(forged) / sizeof(forged[0]); i++) {
		history = forge(forged[i].text);
		tap_ok(history && linear_check(history, &counts, nowhere) == forged[i].ok,
		       "%s: %s", forged[i].ok ? "granted" : "refused", forged[i].what);
		history_destroy(history);
	}
}

/* Short random histories of one key; the independent check tries all orders */

#define SHORT	6

static unsigned long long seed;

static uint32_t dice(uint32_t sides)
{
	return rng_below(&seed, sides);
}

static struct history_op random_op(void)
{
	static const int errors[] = { 0, 0, 0, -ENOENT, -EEXIST, -ESTALE, -ENOSPC };
	struct history_op op = {
		.verb = dice(HISTORY_ADD + 1), .old = dice(3), .value = 1 + dice(2),
		.expected = dice(3), .err = errors[dice(7)], .invoked = dice(SHORT),
	};

	op.returned = dice(8) ? op.invoked + 1 + dice(3) : HISTORY_NEVER;
	return op;
}

static struct history *random_history(void)
{
	struct history *history = history_create(SHORT, 1);
	uint32_t i, n = 2 + dice(SHORT - 1);
	struct history_op op;

	history->first[0] = dice(3);
	for (i = 0; i < n; i++) {
		op = random_op();
		history_add(history, i, &op);
	}
	return history;
}

/* The value after @op according to the manual; -1: @op cannot return its result */
static int manual(const struct history_op *op, int value)
{
	bool adds = op->verb == HISTORY_ADD, swaps = op->verb == HISTORY_SWAP;
	bool change = op->verb == HISTORY_INSERT || (op->verb == HISTORY_CREATE && !value) ||
		      (op->verb == HISTORY_REPLACE && value) || adds ||
		      (swaps && value && (int)op->expected == value);
	int after = op->verb == HISTORY_READ ? value : op->verb == HISTORY_DELETE ? 0 :
		    change ? (int)op->value + (adds ? value : 0) : value;
	int err = op->verb == HISTORY_CREATE ? (value ? -EEXIST : 0) :
		  op->verb == HISTORY_INSERT || adds ? 0 :
		  !value ? -ENOENT : swaps && !change ? -ESTALE : 0;

	if (op->returned == HISTORY_NEVER)
		return after;
	if (op->err == -ENOSPC && change && !value && !op->old)
		return value;
	if (op->err != err)
		return -1;
	if (op->verb == HISTORY_READ)
		return err || (int)op->value == value ? value : -1;
	return err == -ENOENT || (int)op->old == value ? after : -1;
}

/* Tries all orders of the operations in @left, a set of numbers */
static bool any_order(const struct history *history, uint32_t left, int value)
{
	const struct history_op *op, *other;
	bool must = false;
	uint32_t i, k;
	int after;

	for (i = 0; i < history->logs; i++) {
		if (!(left & 1U << i))
			continue;
		op = &history->log[i].op[0];
		for (k = 0; k < history->logs; k++) {
			other = &history->log[k].op[0];
			if (left & 1U << k && other->returned <= op->invoked)
				break;
		}
		must |= op->returned != HISTORY_NEVER;
		after = manual(op, value);
		if (k == history->logs && after >= 0 &&
		    any_order(history, left & ~(1U << i), after))
			return true;
	}
	return !must;
}

static void run_random(uint32_t rounds)
{
	uint32_t i, k, left, granted = 0;
	struct linear_counts counts = { 0 };
	struct history *history;
	bool ok;

	for (i = 0; i < rounds; i++) {
		history = random_history();
		for (k = 0, left = 0; k < SHORT; k++)
			left |= (uint32_t)!!history->log[k].count << k;
		ok = any_order(history, left, history->first[0]);
		granted += ok;
		if (linear_check(history, &counts, nowhere) != ok) {
			tap_fail("history %u: trying all orders returns %d", i, ok);
			if (tap_faults == 1)
				history_save(history, stdout);
		}
		history_destroy(history);
	}
	tap_check(granted > rounds / 50 && granted < rounds / 2, "granted %u", granted);
	tap_ok(true, "%u random histories judged as by all orders, %u granted", rounds, granted);
}

int main(int argc, char **argv)
{
	uint32_t rounds = argc > 1 ? atoi(argv[1]) : 100000;

	seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
	nowhere = fopen("/dev/null", "w");
	run_forged();
	run_random(rounds);
	fclose(nowhere);
	return tap_done();
}

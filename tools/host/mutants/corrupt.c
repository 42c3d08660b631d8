// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests the oracle: it plants each corruption of each driver, one at a time, at every
 * place, and expects the oracle to report it.
 *
 * Locking: one thread.
 */
#include <linux/kernel.h>

#include "corrupt.h"
#include "crash.h"
#include "host_driver.h"
#include "tap.h"

#define CORRUPT_LEAVES	12
#define CORRUPT_STEPS	30
#define CORRUPT_SEED	5

/*
 * Plants @corruption, or nothing if it is NULL, at place @n of a store with some leaves.
 * @reported: out: the oracle found a fault. Returns false if there is no such place.
 */
static bool corrupt_one(const struct crash_setup *setup, const struct corruption *corruption,
			u32 n, bool *reported)
{
	struct crash c;
	bool planted = crash_begin(&c, setup, CORRUPT_LEAVES, CORRUPT_SEED) &&
		       crash_run(&c, CORRUPT_STEPS, 0);

	tap_check(planted, "%s", c.said);
	planted = planted && (!corruption || corruption_plant(corruption, c.store, n));
	*reported = planted && !crash_holds(&c);
	crash_end(&c);
	return planted;
}

static void corrupt_setup(const struct crash_setup *setup, FILE *table)
{
	const struct corruption *corruption;
	u32 n, missed;
	bool reported;

	corrupt_one(setup, NULL, 0, &reported);
	tap_ok(!reported, "%s: nothing is planted, and nothing is reported", setup->layout);
	for (corruption = setup->driver->corruptions; corruption->what; corruption++) {
		missed = 0;
		for (n = 0; corrupt_one(setup, corruption, n, &reported); n++)
			missed += !reported;
		tap_ok(n && !missed, "%s, %s: reported at %u of %u places", setup->layout,
		       corruption->what, n - missed, n);
		if (table)
			fprintf(table, "%s\t%s\t%u\n", corruption->what, setup->layout, n);
	}
}

void corrupt_all(FILE *table)
{
	const struct host_driver * const *driver;
	const struct crash_setup *setup;

	for (driver = host_drivers; *driver; driver++)
		for (setup = (*driver)->setups; setup->layout; setup++)
			corrupt_setup(setup, table);
}

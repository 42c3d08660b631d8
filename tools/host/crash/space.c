// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the iteration over the state spaces of all engines.
 *
 * Locking: none; the tables are const.
 */
#include <linux/string.h>

#include "host_driver.h"
#include "space.h"

const struct space *space_next(const struct space *space)
{
	const struct host_driver * const *driver = host_drivers;

	if (space && space[1].name)
		return space + 1;
	while (space && *driver != space->driver)
		driver++;
	for (driver += !!space; *driver; driver++)
		if ((*driver)->spaces->name)
			return (*driver)->spaces;
	return NULL;
}

const struct space *space_by_name(const char *name)
{
	const struct space *space;

	for_each_space(space)
		if (!strcmp(space->name, name))
			return space;
	return NULL;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * This file holds the table of the maps that are no store, and finds a map of any kind.
 *
 * Invariant: a name of an engine comes before the same name here.
 */
#include <linux/kernel.h>
#include <linux/string.h>

#include "peer.h"

static const struct peer * const peers[] = {
	&peer_absl, &peer_lmdb, &peer_skiplist, &peer_lcb, &peer_nvt_a,
};

const struct peer *peer_find(const char *engine, const char *layout)
{
	const struct peer *peer = peer_store(engine, layout);
	u32 i;

	for (i = 0; i < ARRAY_SIZE(peers) && !peer; i++)
		if (!strcmp(peers[i]->engine, engine) &&
		    (!*layout || !strcmp(peers[i]->layout, layout)))
			peer = peers[i];
	return peer;
}

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares traces of power cuts, for tests of attach.
 */
#ifndef CRAB_HOST_TRACES_H
#define CRAB_HOST_TRACES_H

#include <linux/types.h>

struct crab_engine;

/* On the media of all leaves, or in `eadr` of that of @key; other layouts get none */
void traces_leave(struct crab_engine *engine, const char *layout, u64 key);

#endif /* CRAB_HOST_TRACES_H */

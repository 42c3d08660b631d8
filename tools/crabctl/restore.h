/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the parts of `crabctl restore` that images and devices share.
 */
#ifndef CRABCTL_RESTORE_H
#define CRABCTL_RESTORE_H

#include "stream.h"

/**
 * struct restore - a snapshot that becomes a store
 * @target: the image or the device
 * @size: of the image; 0: that of the old file
 * @force: replace a store that is there
 * @yes: do not ask
 * @label: in @format; otherwise that of the snapshot is taken
 * @uuid: likewise
 * @format: engine, layout, size of leaves, label, uuid and flags that were asked for
 * @ct: the store that is filled
 * @reason: of the image: why its format was refused
 */
struct restore {
	struct target *target;
	uint64_t size;
	bool force;
	bool yes;
	bool label;
	bool uuid;
	struct crabtree_format format;
	struct crabtree *ct;
	char reason[128];
};

/* The steps, on @restore->ct; 0 or a negative errno. The check compares the number of items, too */
int restore_format(struct restore *restore, const struct stream *stream);
int restore_fill(struct restore *restore, struct stream *stream);
int restore_check(struct restore *restore, const struct stream *stream);

/* The whole, of a stream that was verified; an exit code, after a message */
int restore_image(struct restore *restore, struct stream *stream);
int restore_device(struct restore *restore, struct stream *stream);

#endif /* CRABCTL_RESTORE_H */

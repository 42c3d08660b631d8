/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares an open image file, shared by image.c (the file) and
 * image_calls.c (the store in it).
 */
#ifndef CRABTREE_IMAGE_INTERNAL_H
#define CRABTREE_IMAGE_INTERNAL_H

#include <store/store.h>

#include "backend.h"

#define IMAGE_PAGE	4096	/* page size of the format, independent of the CPU */

/**
 * struct image - an open image
 * @ct: the handle
 * @forks: image_forks, when it was opened
 * @fd: the file, locked
 * @readonly: mapped for reading only
 * @media: the mapping
 * @store: attached store, or NULL
 * @tried: attach was tried; @error, @verdict and @reason are its result
 * @error: of the attach
 * @verdict: of the attach
 * @reason: why there is no store, why it is read-only, or why FORMAT was refused
 * @name: last component of the path
 * @unfinished: FORMAT made an unfinished store, and it is not attached yet
 * @super: its superblock
 */
struct image {
	struct crabtree ct;
	unsigned int forks;
	int fd;
	bool readonly;
	struct crab_media media;
	struct crab_store *store;
	bool tried;
	int error;
	enum crab_verdict verdict;
	char reason[CRAB_REASON_LEN];
	char name[64];
	bool unfinished;
	struct crab_super super;
};

/* Takes the lock of all images: 0, or -EBUSY without it, if the image is that of a parent process */
int image_enter(const struct image *image);
void image_leave(void);

/* In between */
int image_call(struct crabtree *ct, unsigned long cmd, void *arg);

#endif /* CRABTREE_IMAGE_INTERNAL_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * This file examines the superblocks of an image, each copy by itself: the module's own code
 * reads a private mapping in which the other copy is void. Then it reads both, as attach does.
 *
 * Invariant: the file does not change.
 */
#include "crabtree_image.h"
#include "image.h"

#include <shared/super.h>
#include <string.h>
#include <sys/mman.h>

#include "media/format.h"

static bool copy_is_valid(const struct image *image, unsigned int copy)
{
	struct crab_media media = image->media;
	char reason[CRAB_REASON_LEN];
	struct crab_super super;
	void *map = mmap(NULL, media.size, PROT_READ | PROT_WRITE, MAP_PRIVATE, image->fd, 0);
	enum crab_verdict verdict;

	if (map == MAP_FAILED)
		return false;
	media.base = map;
	memset(map + !copy * CRAB_SUPER_STRIDE, 0, CRAB_SUPER_STRIDE);
	verdict = crab_super_read(&media, &super, reason);
	munmap(map, media.size);
	return verdict == CRAB_VERDICT_GOOD || verdict == CRAB_VERDICT_RO ||
	       verdict == CRAB_VERDICT_NEWER || verdict == CRAB_VERDICT_MISFIT;
}

static void read_supers(const struct image *image, struct crabtree_image_supers *supers)
{
	struct crab_super super = { .state = CRAB_SUPER_STATE_CLEAN };
	char reason[CRAB_REASON_LEN];
	unsigned int copy;

	supers->valid = 0;
	for (copy = 0; copy < 2 && image->media.size >= 2 * CRAB_SUPER_STRIDE; copy++)
		supers->valid += copy_is_valid(image, copy);
	/* As attach will see it */
	crab_super_read(&image->media, &super, reason);
	supers->detached = !supers->valid || super.state == CRAB_SUPER_STATE_CLEAN;
}

int crabtree_image_supers(struct crabtree *ct, struct crabtree_image_supers *supers)
{
	struct image *image = (struct image *)ct;
	int err = image_enter(image);

	if (err)
		return err;
	read_supers(image, supers);
	image_leave();
	return 0;
}

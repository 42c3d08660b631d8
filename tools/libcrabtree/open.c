// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * This file chooses the backend of a handle by its path: a device, or file:PATH.
 *
 * Invariant: this library needs no engine. The images are libcrabtree-image's, which
 * a static program links or does not, and which the shared library loads (plugin.c).
 */
#include "crabtree.h"
#include "backend.h"

#include <errno.h>
#include <string.h>

#define FILE_PREFIX	"file:"

__attribute__((weak))
int crabtree_open_image(struct crabtree **ct, const char *path, unsigned int flags);

int crabtree_open(struct crabtree **ct, const char *path, unsigned int flags)
{
	if (strncmp(path, FILE_PREFIX, strlen(FILE_PREFIX)))
		return crabtree_open_device(ct, path, flags);
	if (!crabtree_open_image)
		return -ELIBACC;
	return crabtree_open_image(ct, path + strlen(FILE_PREFIX), flags);
}

// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * This file loads libcrabtree-image when the shared library opens its first image.
 *
 * Invariant: once loaded, it stays: handles hold pointers into it.
 */
#include "crabtree.h"

#include <dlfcn.h>
#include <errno.h>

#define PLUGIN	"libcrabtree-image.so." CRABTREE_ABI

int crabtree_open_image(struct crabtree **ct, const char *path, unsigned int flags);

int crabtree_open_image(struct crabtree **ct, const char *path, unsigned int flags)
{
	int (*plugin_open)(struct crabtree **ct, const char *path, unsigned int flags);
	void *plugin = dlopen(PLUGIN, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);

	if (!plugin)
		return -ELIBACC;
	plugin_open = dlsym(plugin, "crabtree_open_image");
	dlclose(plugin);
	return plugin_open ? plugin_open(ct, path, flags) : -ELIBACC;
}

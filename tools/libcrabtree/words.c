// SPDX-License-Identifier: LGPL-2.1-or-later
/*
 * This file implements the names of errors, states, durability classes and media models.
 */
#include "crabtree.h"

#include <errno.h>
#include <string.h>

struct word {
	int number;
	const char *text;
};

static const struct word errors[] = {
	{ ENOENT,	"no such key, device or file" },
	{ EEXIST,	"the key is there already" },
	{ ESTALE,	"the value is another one" },
	{ ENOSPC,	"no space left in the store" },
	{ EROFS,	"the store is read-only" },
	{ EUCLEAN,	"the media is damaged" },
	{ ENODATA,	"the region is not formatted" },
	{ EMEDIUMTYPE,	"the region holds other data" },
	{ EPROTONOSUPPORT, "a newer format, or a feature, engine or layout unknown here" },
	{ ENODEV,	"the region was taken away" },
	{ ESHUTDOWN,	"the store is detached: the kernel is shutting down" },
	{ EBUSY,	"another user has it open" },
	{ EWOULDBLOCK,	"another program has the image open, or no change waits" },
	{ EBADF,	"opened for reading only" },
	{ EMFILE,	"64 watches or 64 snapshots are open there, or too many files" },
	{ ENOTTY,	"not a crabtree device" },
	{ EOPNOTSUPP,	"a store of another kind, or an image, which has no watch and no snapshot" },
	{ ELIBACC,	"image files need libcrabtree-image" },
	{ EMSGSIZE,	"the value is too long" },
	{ E2BIG,	"the module is older than this program" },
	{ EPROTO,	"the module answered out of order" },
	{ ECANCELED,	"not tried" },
};

#define NAMES(table)	table, sizeof(table) / sizeof((table)[0])

static const char * const states[] = {
	[CRABTREE_STATE_UNFORMATTED]	= "unformatted",
	[CRABTREE_STATE_READY]		= "ready",
	[CRABTREE_STATE_READONLY]	= "read-only",
	[CRABTREE_STATE_REJECTED]	= "rejected",
	[CRABTREE_STATE_GONE]		= "gone",
};

static const char * const durabilities[] = {
	[CRABTREE_DURABILITY_NONE]	= "none",
	[CRABTREE_DURABILITY_UNPROVEN]	= "unproven",
	[CRABTREE_DURABILITY_POC]	= "poc",
	[CRABTREE_DURABILITY_POP]	= "pop",
	[CRABTREE_DURABILITY_PODP]	= "podp",
	[CRABTREE_DURABILITY_CACHE]	= "cache",
};

static const char * const models[] = {
	[CRABTREE_MODEL_NONE]	= "none",
	[CRABTREE_MODEL_WORD]	= "word",
	[CRABTREE_MODEL_LINE]	= "line",
	[CRABTREE_MODEL_CACHE]	= "cache",
	[CRABTREE_MODEL_WHOLE_LINE] = "whole-line",
};

static const char *name_of(uint32_t number, const char * const *names, size_t count)
{
	return number < count ? names[number] : "unknown";
}

const char *crabtree_strerror(int err)
{
	size_t i;

	if (err < 0)
		err = -err;
	for (i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		if (errors[i].number == err)
			return errors[i].text;
	}
	return strerror(err);
}

const char *crabtree_state_name(uint32_t state)
{
	return name_of(state, NAMES(states));
}

const char *crabtree_durability_name(uint32_t durability)
{
	return name_of(durability, NAMES(durabilities));
}

const char *crabtree_model_name(uint32_t model)
{
	return name_of(model, NAMES(models));
}

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the models of the media: the states of a line that a power cut can
 * leave. Each leaf layout names the weakest model under which its promise holds.
 *
 * Layer L1: it includes nothing outside media/; every folder may include it.
 *
 * No lock.
 */
#ifndef CRABTREE_MODEL_H
#define CRABTREE_MODEL_H

#include "media.h"

/* Documentation/design/media-model.rst describes each of them */
enum crab_model {
	CRAB_MODEL_NONE,	/* the layout promises nothing */
	CRAB_MODEL_WORD,	/* W: any subset of the words that were not fenced persists */
	CRAB_MODEL_LINE,	/* L: the stores to one line persist in their order */
	CRAB_MODEL_CACHE,	/* E: caches persist, all stores of a CPU in their order */
	CRAB_MODEL_WHOLE_LINE,	/* A: L, and a line that crab_store_line() stored is whole */
};

enum crab_keeps {
	CRAB_KEEPS_YES,		/* by the architecture, or because nothing survives at all */
	CRAB_KEEPS_UNPROVEN,	/* as far as is known; the architecture does not promise it */
	CRAB_KEEPS_NO,
};

/**
 * crab_media_keeps() - whether a power cut on a media leaves only states of a model
 * @media: the media
 * @model: the model
 * Context: any; after crab_persist_init().
 * Return: CRAB_KEEPS_*. Always CRAB_KEEPS_YES for memory that does not survive a power cut:
 * there is no promise to break.
 */
enum crab_keeps crab_media_keeps(const struct crab_media *media, enum crab_model model);

#endif /* CRABTREE_MODEL_H */

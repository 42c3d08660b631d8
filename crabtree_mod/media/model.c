// SPDX-License-Identifier: GPL-2.0
/*
 * This file compares a media with the models that layouts name.
 *
 * Invariant: a model that this file calls kept is promised by the architecture, or by the
 * class of the region. A property that was only observed is unproven.
 *
 * No lock.
 */
#include "model.h"
#include "swap.h"

/* Order within a line: x86-64 writes lines back in the order of their stores; Arm is silent */
static enum crab_keeps model_line(void)
{
#ifdef __x86_64__
	return CRAB_KEEPS_YES;
#else
	return CRAB_KEEPS_UNPROVEN;
#endif
}

enum crab_keeps crab_media_keeps(const struct crab_media *media, enum crab_model model)
{
	if (media->durability == CRAB_DURABILITY_NONE)
		return CRAB_KEEPS_YES;
	switch (model) {
	case CRAB_MODEL_NONE:
	case CRAB_MODEL_WORD:
		return CRAB_KEEPS_YES;
	case CRAB_MODEL_LINE:
		return model_line();
	case CRAB_MODEL_WHOLE_LINE:
		return crab_line_is_atomic() ? CRAB_KEEPS_YES : CRAB_KEEPS_UNPROVEN;
	case CRAB_MODEL_CACHE:
		return media->fence_only ? CRAB_KEEPS_YES : CRAB_KEEPS_NO;
	}
	return CRAB_KEEPS_NO;
}

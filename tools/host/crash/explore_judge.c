// SPDX-License-Identifier: GPL-2.0
/*
 * This file judges the crash images of the explorer.
 *
 * A read-only attach of each image writes nothing and decides every word that the content depends
 * on. The engine and the driver then read the content, which must be one that the oracle allows.
 * If the canonical state is known, all that can follow is known, too. Otherwise the image is judged
 * whole, and the state waits to be explored. One image in 64 of known states is judged whole as
 * well, because a state could leave out something that matters.
 *
 * Locking: one thread.
 */
#include "blobs.h"
#include "explore_priv.h"
#include "test.h"

#define EXPLORE_AGAIN	64		/* one of this many known states is judged whole */

int explore_read(struct explore *x, struct crab_store *store, struct content *found)
{
	return x->space->blobs ? blobs_read(&x->oracle, store, found->key) :
				 crab_oracle_read(&x->oracle, store, found->key);
}

int explore_holds(struct explore *x, struct crab_store *store, const struct content *content)
{
	struct content found;

	if (explore_read(x, store, &found))
		return -1;
	if (!crab_oracle_equal(&x->oracle, found.key, content->key))
		return explore_say(x, "the content is another one");
	return x->space->blobs ? crab_oracle_check(&x->oracle, store) :
				 crab_oracle_judge(&x->oracle, store, content->key);
}

struct crab_store *explore_attach(struct explore *x, bool readonly,
				 struct crab_attach_report *report)
{
	struct crab_attach_options options = { .readonly = readonly, .tuning = &x->space->tuning };

	x->counts.recoveries++;
	return crab_store_attach(&x->media, &options, report);
}

struct crab_store *explore_attach_good(struct explore *x)
{
	struct crab_attach_report report;
	struct crab_store *store = explore_attach(x, false, &report);

	if (!IS_ERR(store) && report.verdict == CRAB_VERDICT_GOOD)
		return store;
	explore_say(x, "attach: %s", report.reason);
	if (!IS_ERR(store))
		crab_store_abandon(store);
	return NULL;
}

u64 explore_repairs(struct crab_store *store)
{
	return store_info(store).stats.repairs;
}

/* Attaches again: there is nothing to repair, and the content is the same */
static int attach_again(struct explore *x, const struct content *content)
{
	struct crab_store *store = explore_attach_good(x);
	int err;

	if (!store)
		return -1;
	err = explore_repairs(store) ? explore_say(x, "the second attach repairs something") :
				     explore_holds(x, store, content);
	crab_store_abandon(store);
	return err;
}

/* Recovers an image, judges it, and recovers it again */
static int judge_whole(struct explore *x, const struct content *content)
{
	struct crab_store *store = explore_attach_good(x);
	int err;

	if (!store)
		return -1;
	err = explore_holds(x, store, content);
	crab_store_abandon(store);
	return err ?: attach_again(x, content);
}

/* The state of the media, and its content as the driver reads it */
int explore_image(struct explore *x, struct state *state, struct content *content)
{
	const char *what = state_read(state, content, x->space, &x->geo, &x->media);

	return what ? explore_say(x, "the media: %s", what) : 0;
}

static int judge_blank(struct explore *x)
{
	struct content content;
	struct state state;
	bool is_new;

	if (explore_image(x, &state, &content))
		return -1;
	if (state.len != CRAB_SUPER_COPIES)
		return explore_say(x, "blank, with a superblock that holds");
	explore_add(x, &state, &is_new);
	return 0;
}

static bool same_leaves(const struct state *a, const struct state *b)
{
	return a->len == b->len && !memcmp(a->byte + CRAB_SUPER_COPIES, b->byte + CRAB_SUPER_COPIES,
					   a->len - CRAB_SUPER_COPIES);
}

static int judge_content(struct explore *x, const struct content *found)
{
	struct content own;
	struct state state;
	bool is_new;

	if (!crab_oracle_allows(&x->oracle, &x->allowed, found->key))
		return explore_say(x, "the content is neither the one before nor the one after");
	if (explore_image(x, &state, &own))
		return -1;
	if (!crab_oracle_equal(&x->oracle, found->key, own.key))
		return explore_say(x, "the media has another content than the engine");
	explore_add(x, &state, &is_new);
	if (x->settling)
		x->node[x->at].changed |= !same_leaves(&state, &x->node[x->at].state);
	if (is_new || x->plain || x->counts.images % EXPLORE_AGAIN == 0)
		return judge_whole(x, found);
	return 0;
}

int explore_judge(struct crab_shadow *shadow, void *arg)
{
	struct explore *x = arg;
	u64 stores = shadow->counts.stores;
	struct crab_attach_report report;
	struct content found;
	struct crab_store *store;
	int err;

	x->counts.images++;
	crab_host_seed(EXPLORE_SEED);
	store = explore_attach(x, true, &report);
	if (IS_ERR(store))
		return x->blank && report.verdict == CRAB_VERDICT_BLANK ? judge_blank(x) :
			explore_say(x, "attach: %s", report.reason);
	err = strcmp(report.reason, "attached read-only") ?
	      explore_say(x, "attach: %s", report.reason) : explore_read(x, store, &found);
	crab_store_abandon(store);
	if (!err && shadow->counts.stores != stores)
		return explore_say(x, "a read-only attach wrote to the media");
	return err ?: judge_content(x, &found);
}

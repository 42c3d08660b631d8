// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the oracle of the explorer.
 *
 * Each image that a cut may leave is attached read-only, which writes nothing and
 * decides every word that the content depends on; then it is read by the engine
 * and by the engine's driver, and must hold what the oracle allows. If its canonical
 * state was met before, all that can follow is known. If not, it is judged whole, as
 * it stands, and its state waits to be explored; so is one image in 64 of those
 * that are known, lest what states leave out should hide anything.
 *
 * Locking: one thread.
 */
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/random.h>
#include <linux/string.h>

#include "explore_priv.h"

#define EXPLORE_AGAIN	64		/* known images, of which one is judged whole */

int explore_say(struct explore *x, const char *fmt, ...)
{
	va_list args;

	if (x->said[0])
		return -1;
	x->counts.violations++;
	va_start(args, fmt);
	vsnprintf(x->said, sizeof(x->said), fmt, args);
	va_end(args);
	return -1;
}

static bool content_equal(const struct content *a, const struct content *b)
{
	return !memcmp(a, b, sizeof(*a));
}

int explore_content(struct explore *x, struct crab_store *store, struct content *content)
{
	struct crab_record records[STATE_KEYS + 1];
	struct crab_cursor cursor;
	int i, n;
	u32 key;

	memset(content, 0, sizeof(*content));
	crab_cursor_init(&cursor, 0, CRAB_KEY_EMPTY);
	n = crab_cursor_read(store, &cursor, records, STATE_KEYS + 1);
	if (n < 0)
		return explore_say(x, "scan fails: %d", n);
	for (i = 0; i < n; i++) {
		key = state_key_index(x->space, records[i].key);
		if (key == x->space->keys || (i && records[i].key <= records[i - 1].key))
			return explore_say(x, "scan gives key %llx, foreign, twice or out of order",
				   records[i].key);
		content->there[key] = true;
		content->value[key] = records[i].value;
	}
	return 0;
}

/* Scan, searches and the verifier agree that a store holds just this */
int explore_holds(struct explore *x, struct crab_store *store, const struct content *content)
{
	struct crab_check_report report;
	struct content found;
	u64 value;
	u32 i;
	int err;

	if (explore_content(x, store, &found))
		return -1;
	if (!content_equal(&found, content))
		return explore_say(x, "the content is another one");
	for (i = 0; i < x->space->keys; i++) {
		value = 0;
		err = crab_store_search(store, state_key(x->space, i), &value);
		if (err != (content->there[i] ? 0 : -ENOENT) || value != content->value[i])
			return explore_say(x, "search of key %u: %d, value %llx", i, err, value);
	}
	crab_store_check(store, &report);
	if (report.damage.count)
		return explore_say(x, "check, at %llu: %s", report.damage.offset, report.damage.what);
	return 0;
}

struct crab_store *explore_attach(struct explore *x, bool readonly,
				 struct crab_attach_report *report)
{
	struct crab_attach_options options = {
		.readonly = readonly, .tuning = &x->space->tuning,
	};

	x->counts.recoveries++;
	return crab_store_attach(&x->media, &options, report);
}

/* Writable, and nothing is wrong */
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
	struct crab_store_info info;

	crab_store_info(store, &info);
	return info.stats.repairs;
}

/* Attached again: nothing is left to repair, the content is the same */
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

/* An image to its end: recovered, judged, recovered again */
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

static bool key_is(const struct content *content, u32 key, bool there, u64 value)
{
	return content->there[key] == there && content->value[key] == (there ? value : 0);
}

/* Is the key in @found where some of its operations in this life, the first ones, lead it? */
static bool life_leads(const struct explore *x, u32 key, const struct content *found)
{
	bool leads = key_is(found, key, x->allowed[0]->there[key], x->allowed[0]->value[key]);
	const struct crab_batch_op *op;
	u32 i;

	for (i = 0; i < x->life_n && !leads; i++) {
		op = &x->ops[i];
		if (x->life[i].key == key && !op->status)
			leads = key_is(found, key, op->verb == CRAB_VERB_INSERT, op->value);
	}
	return leads;
}

/* May that be found? */
bool explore_allows(const struct explore *x, const struct content *found)
{
	u32 key;

	if (!x->batch)
		return content_equal(found, x->allowed[0]) || content_equal(found, x->allowed[1]);
	for (key = 0; key < x->space->keys; key++)
		if (!life_leads(x, key, found))
			return false;
	return true;
}

static int judge_content(struct explore *x, const struct content *found)
{
	struct content own;
	struct state state;
	bool is_new;

	if (!explore_allows(x, found))
		return explore_say(x, "the content is neither the one before nor the one after");
	if (explore_image(x, &state, &own))
		return -1;
	if (!content_equal(found, &own))
		return explore_say(x, "the media says another content than the engine");
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
	err = strcmp(report.reason, "attached read-only") ? explore_say(x, "attach: %s", report.reason) :
							    explore_content(x, store, &found);
	crab_store_abandon(store);
	if (!err && shadow->counts.stores != stores)
		return explore_say(x, "a read-only attach wrote to the media");
	return err ?: judge_content(x, &found);
}

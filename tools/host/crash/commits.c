// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements commits in the state spaces, by the rules of protocols-commits.rst.
 *
 * DOC: canonical states of commits
 *
 * A state has the number of the list that counts, or whether the check is 0. It omits the other
 * words of a list that does not count: attach clears its check, and the next commit writes all words.
 *
 * Locking: one thread.
 */
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "commits.h"
#include "explore_priv.h"

#define LIST_OFFSET	8704
#define CHOICES		3	/* of a key: removed, value 1, value 2 */
#define KINDS		4	/* of conditions on a key */
#define NEEDS(writes)	(2 * (writes) + 4)	/* leaves that must be free */

/* The writes of a list */
struct list {
	u32 n;
	u32 key[STATE_KEYS];
	u32 choice[STATE_KEYS];
};

/* Keys of subset @subset: all keys but one, or all */
static u32 subsets(const struct space *space)
{
	return space->commits == space->keys ? 1 : space->keys;
}

static u32 choices(const struct space *space)
{
	u32 n = 1, i;

	for (i = 0; i < space->commits; i++)
		n *= CHOICES;
	return n;
}

u32 commits_lists(const struct space *space)
{
	return subsets(space) * choices(space);
}

u32 commits_conditions(const struct space *space)
{
	return 1 + space->keys * KINDS;
}

static struct list list_of(const struct space *space, u32 number)
{
	u32 left_out = space->commits == space->keys ? space->keys : number / choices(space);
	struct list list = { };
	u32 key;

	number %= choices(space);
	for (key = 0; key < space->keys; key++) {
		if (key == left_out)
			continue;
		list.key[list.n] = key;
		list.choice[list.n++] = number % CHOICES;
		number /= CHOICES;
	}
	return list;
}

static __le64 *list_at(const struct crab_media *media)
{
	return (__le64 *)(media->base + LIST_OFFSET);
}

/* The words of a list; returns how many */
static u32 list_words(const struct space *space, u32 store_id,
		      const struct list *list, u64 *word)
{
	u64 h = store_id;
	u32 i, n = 3;

	word[1] = list->n;
	word[2] = 0;
	for (i = 0; i < min_t(u32, list->n, STATE_KEYS); i++) {
		word[2] |= (u64)!list->choice[i] << i;
		word[n++] = state_key(space, list->key[i]);
		word[n++] = list->choice[i];
	}
	word[0] = LIST_OFFSET;
	for (i = 0; i < n; i++) {
		h = (h ^ word[i]) * 0x9e3779b97f4a7c15ULL;
		h ^= h >> 29;
	}
	word[0] = h ? h : 1;
	return n;
}

static bool list_is_there(const struct crab_media *media, const u64 *word, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++)
		if (crab_load(media, list_at(media) + i) != word[i])
			return false;
	return true;
}

u8 commits_decode(const struct space *space, u32 store_id,
		  const struct crab_media *media)
{
	u64 word[3 + 2 * STATE_KEYS];
	u32 i;

	if (!crab_load(media, list_at(media)))
		return COMMITS_NONE;
	for (i = 0; i < commits_lists(space); i++) {
		const struct list list = list_of(space, i);

		if (list_is_there(media, word, list_words(space, store_id, &list, word)))
			return COMMITS_LIVE + i;
	}
	return COMMITS_TORN;
}

static void list_apply(const struct list *list, struct content *content)
{
	u32 i;

	for (i = 0; i < list->n; i++)
		content->key[list->key[i]] = (struct crab_key_state) {
			.there = list->choice[i], .value = list->choice[i],
		};
}

void commits_apply(const struct space *space, u8 state, struct content *content)
{
	struct list list;

	if (state < COMMITS_LIVE)
		return;
	list = list_of(space, state - COMMITS_LIVE);
	list_apply(&list, content);
}

void commits_write(const struct space *space, u32 store_id,
		   struct crab_media *media, u8 state)
{
	struct crab_flow flow = { .media = media };
	u64 word[3 + 2 * STATE_KEYS] = { state == COMMITS_TORN };
	u32 n = 3, i;

	if (state >= COMMITS_LIVE) {
		const struct list list = list_of(space, state - COMMITS_LIVE);

		n = list_words(space, store_id, &list, word);
	}
	for (i = 0; i < n; i++)
		crab_store(&flow, list_at(media) + i, word[i]);
	crab_clean(&flow, list_at(media), n * sizeof(*word));
	crab_fence(&flow, CRAB_P21_LISTED);
}

/* Condition number @number - 1 on one key, which becomes a search if the list does not write it */
static void condition_add(const struct space *space, struct crab_commit *commit, u32 number)
{
	u64 key = state_key(space, number / KINDS);
	u32 kind = number % KINDS, i;

	for (i = 0; i < commit->n && commit->ops[i].key != key; i++)
		;
	if (i == commit->n)
		commit->ops[commit->n++] = (struct crab_batch_op) {
			.verb = CRAB_VERB_SEARCH, .key = key,
		};
	commit->when[i] = kind == 0 ? CRAB_WHEN_EXISTS : kind == 1 ? CRAB_WHEN_ABSENT :
			  CRAB_WHEN_VALUE;
	commit->ops[i].old.expected = kind - 1;
}

/* The answer that a condition has on a content, or 0 */
static int condition_answer(const struct content *content, u32 number)
{
	const struct crab_key_state *state = &content->key[number / KINDS];
	u32 kind = number % KINDS;

	if (kind == 1)
		return state->there ? -EEXIST : 0;
	if (!state->there)
		return -ENOENT;
	return kind && state->value != kind - 1 ? -ESTALE : 0;
}

static void commit_fill(const struct space *space, const struct list *list, u32 condition,
			struct crab_commit *commit)
{
	u32 i;

	memset(commit, 0, sizeof(*commit));
	for (i = 0; i < list->n; i++)
		commit->ops[commit->n++] = (struct crab_batch_op) {
			.verb = list->choice[i] ? CRAB_VERB_INSERT : CRAB_VERB_DELETE,
			.key = state_key(space, list->key[i]), .value = list->choice[i],
		};
	if (condition)
		condition_add(space, commit, condition - 1);
}

/* Does each operation report the record before the commit? */
static int judge_old(struct explore *x, const struct crab_commit *commit,
		     const struct content *content)
{
	u32 i;

	for (i = 0; i < commit->n; i++) {
		const struct crab_batch_op *op = &commit->ops[i];
		const struct crab_key_state *state =
			&content->key[state_key_index(x->space, op->key)];

		if (op->old.existed != state->there ||
		    (state->there && op->old.value != state->value))
			return explore_say(x, "a commit reports another record of key %llx", op->key);
	}
	return 0;
}

int commits_run(struct explore *x, struct crab_store *store, const struct explore_op *op,
		struct content *content)
{
	const struct list list = list_of(x->space, op->key);
	int want = op->value ? condition_answer(content, op->value - 1) : 0, err;
	struct crab_commit commit;
	struct crab_store_info info;

	commit_fill(x->space, &list, op->value, &commit);
	crab_store_info(store, &info);
	err = crab_store_commit(store, &commit);
	if (!want && err == -ENOSPC &&
	    info.super.leaves - info.stats.leaves_used < NEEDS(list.n)) {
		x->counts.full++;
		return 0;
	}
	if (err != want)
		return explore_say(x, "a commit returns %d, not %d", err, want);
	if (err)
		return 0;
	if (judge_old(x, &commit, content))
		return -1;
	list_apply(&list, content);
	return 0;
}

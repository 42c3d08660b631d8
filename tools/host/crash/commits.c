// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements commits in the state spaces, by the rules of protocols-commits.rst.
 *
 * DOC: canonical states of commits
 *
 * A state has the number of the list that counts, or whether the check is 0; in a space of blobs, also
 * where the blobs of the list are, and in one of names, which of its removals are left out, since the
 * name did not exist. It omits the other words of a list that does not count: attach
 * clears its check, and the next commit writes all words.
 *
 * Locking: one thread.
 */
#include "blobs.h"
#include "commits.h"
#include "explore_priv.h"
#include "test.h"

#define LIST_OFFSET	8704
#define CHOICES		3	/* of a key: removed, value 1, value 2 */
#define KINDS		4	/* of conditions on a key */
#define LEFT_OUT	0xff	/* instead of the number of a blob */
#define NEEDS(writes)	(2 * (writes) + 4)	/* leaves that must be free */

/* The writes of a list; @value: of records, the choice, or the word of a blob */
struct list {
	u32 n;
	u32 key[STATE_KEYS];
	u32 choice[STATE_KEYS];
	u64 value[STATE_KEYS];
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
		list.value[list.n] = number % CHOICES;
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
		word[n++] = list->value[i];
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

/* The list without the removals of @left_out, of names that do not exist; false: a put is among them */
static bool list_leave(struct list *list, u32 left_out)
{
	struct list all = *list;
	u32 i;

	list->n = 0;
	for (i = 0; i < all.n; i++) {
		if (left_out >> i & 1 && all.choice[i])
			return false;
		if (left_out >> i & 1)
			continue;
		list->key[list->n] = all.key[i];
		list->value[list->n] = all.value[i];
		list->choice[list->n++] = all.choice[i];
	}
	return true;
}

/* Takes the words of the blobs from the media; false: they are other blobs */
static bool list_blobs(const struct space *space, const struct crab_geometry *geo,
		       const struct crab_media *media, struct list *list, u8 *numbers)
{
	u64 key, number;
	u32 i;

	for (i = 0; i < list->n; i++) {
		numbers[i] = 0;
		if (!list->choice[i])
			continue;
		key = state_key(space, list->key[i]);
		if (crab_load(media, list_at(media) + 3 + 2 * i) != key)
			return false;
		list->value[i] = crab_load(media, list_at(media) + 4 + 2 * i);
		number = blobs_decode(geo, media, key, list->value[i]);
		if (number >= BLOBS_DEAD || blobs_content(number) != list->choice[i])
			return false;
		numbers[i] = number;
	}
	return true;
}

/* Is list number @number there, without the removals of @left_out? Then it is appended to the state */
static bool list_decode(const struct space *space, const struct crab_geometry *geo, u32 store_id,
			const struct crab_media *media, u32 number, u32 left_out,
			struct state *state)
{
	struct list list = list_of(space, number);
	u64 word[3 + 2 * STATE_KEYS];
	u8 numbers[STATE_KEYS];
	u32 i, k = 0;

	if (!list_leave(&list, left_out) ||
	    (space->blobs && !list_blobs(space, geo, media, &list, numbers)) ||
	    !list_is_there(media, word, list_words(space, store_id, &list, word)))
		return false;
	for (i = 0; space->blobs && i < space->commits; i++)
		state_add(state, left_out >> i & 1 ? LEFT_OUT : numbers[k++]);
	state_add(state, COMMITS_LIVE + number);
	return true;
}

void commits_decode(const struct space *space, const struct crab_geometry *geo, u32 store_id,
		    const struct crab_media *media, struct state *state)
{
	u32 i, left_out, all = space->names ? (1U << space->commits) - 1 : 1;

	if (!crab_load(media, list_at(media))) {
		state_add(state, COMMITS_NONE);
		return;
	}
	for (i = 0; i < commits_lists(space); i++)
		for (left_out = 0; left_out < all; left_out++)
			if (list_decode(space, geo, store_id, media, i, left_out, state))
				return;
	state_add(state, COMMITS_TORN);
}

u32 commits_bytes(const struct space *space, u8 state)
{
	return space->blobs && state >= COMMITS_LIVE ? space->commits + 1 : 1;
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

void commits_write(const struct space *space, const struct crab_geometry *geo,
		   struct crab_media *media, const u8 *end)
{
	struct crab_flow flow = { .media = media };
	u64 word[3 + 2 * STATE_KEYS] = { end[-1] == COMMITS_TORN };
	u32 n = 3, i;

	if (end[-1] >= COMMITS_LIVE) {
		struct list list = list_of(space, end[-1] - COMMITS_LIVE);
		const u8 *number = end - commits_bytes(space, end[-1]);
		u32 left_out = 0;

		for (i = 0; space->blobs && i < list.n; i++) {
			left_out |= (number[i] == LEFT_OUT) << i;
			if (list.choice[i])
				list.value[i] = blobs_encode(geo, state_key(space, list.key[i]),
							     number[i]);
		}
		list_leave(&list, left_out);
		n = list_words(space, geo->store_id, &list, word);
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
		    (state->there && !x->space->blobs && op->old.value != state->value))
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
	err = x->space->blobs ? blobs_commit(store, &commit) : crab_store_commit(store, &commit);
	if (!want && err == -ENOSPC &&
	    (x->space->blobs ? blobs_commit_is_full(x->space, store, &commit, NEEDS(list.n)) :
	     info.super.leaves - info.stats.leaves_used < NEEDS(list.n))) {
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

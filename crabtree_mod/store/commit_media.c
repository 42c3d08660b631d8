// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the list of a commit on the media.
 *
 * Invariants: a list counts if its check is right, and then it is whole: stores of one list reach
 * the media in any order, so a cut may leave any of its words. The check is cleared, and no other
 * word: an old list without one of its words would count again once a later list has supplied it.
 *
 * No lock: the caller is alone.
 */
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/string.h>

#include "commit_priv.h"

enum { LIST_CHECK, LIST_COUNT, LIST_REMOVES, LIST_WRITES };

#define LIST_WORDS(n)	(LIST_WRITES + 2 * (n))

static_assert(LIST_WORDS(CRAB_COMMIT_MAX) * sizeof(__le64) == sizeof(struct crab_dcommit));

static __le64 *list_at(const struct crab_media *media)
{
	return (__le64 *)(media->base + CRAB_COMMIT_OFFSET);
}

static u64 check_step(u64 check, u64 word)
{
	check = (check ^ word) * 0x9e3779b97f4a7c15ULL;
	return check ^ check >> 29;
}

/* Never 0 */
static u64 list_check(u32 store_id, const struct crab_commit_list *list)
{
	u64 check = check_step(store_id, CRAB_COMMIT_OFFSET);
	u32 i;

	check = check_step(check_step(check, list->n), list->removes);
	for (i = 0; i < list->n; i++)
		check = check_step(check_step(check, list->record[i].key), list->record[i].value);
	return check ?: 1;
}

static bool list_has(const struct crab_commit_list *list, u32 n, u64 key)
{
	while (n--)
		if (list->record[n].key == key)
			return true;
	return false;
}

/* Could a commit have written it? */
static bool list_is_possible(const struct crab_commit_list *list)
{
	u32 i;

	for (i = 0; i < list->n; i++)
		if (list->record[i].key == CRAB_KEY_EMPTY || list_has(list, i, list->record[i].key))
			return false;
	return !(list->n < CRAB_COMMIT_MAX && list->removes >> list->n);
}

int crab_commit_load(const struct crab_media *media, u32 store_id, struct crab_commit_list *list)
{
	const __le64 *from = list_at(media);
	u64 check = crab_load(media, from + LIST_CHECK), count;
	u32 i;

	if (!check)
		return 0;
	count = crab_load(media, from + LIST_COUNT);
	if (!count || count > CRAB_COMMIT_MAX)
		return 0;
	list->n = count;
	list->removes = crab_load(media, from + LIST_REMOVES);
	from += LIST_WRITES;
	for (i = 0; i < list->n; i++, from += 2)
		list->record[i] = (struct crab_record){
			crab_load(media, from), crab_load(media, from + 1),
		};
	if (check != list_check(store_id, list))
		return 0;
	return list_is_possible(list) ? 1 : -EUCLEAN;
}

void crab_commit_clean(struct crab_flow *flow, u32 n)
{
	crab_clean(flow, list_at(flow->media), LIST_WORDS(n) * sizeof(__le64));
}

void crab_commit_store(struct crab_flow *flow, u32 store_id, const struct crab_commit_list *list)
{
	__le64 *to = list_at(flow->media);
	u32 i;

	for (i = 0; i < list->n; i++) {
		crab_store(flow, to + LIST_WORDS(i), list->record[i].key);
		crab_store(flow, to + LIST_WORDS(i) + 1, list->record[i].value);
	}
	crab_store(flow, to + LIST_REMOVES, list->removes);
	crab_store(flow, to + LIST_COUNT, list->n);
	crab_store(flow, to + LIST_CHECK, list_check(store_id, list));
	crab_commit_clean(flow, list->n);
	/* P21: the list is whole before the first of its writes */
	crab_fence(flow, CRAB_P21_LISTED);
}

void crab_commit_void(struct crab_flow *flow)
{
	__le64 *at = list_at(flow->media) + LIST_CHECK;

	crab_store(flow, at, 0);
	crab_clean_word(flow, at);
}

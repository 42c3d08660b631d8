/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares hostile media: small real images, scripts that damage them, and a
 * judge of how the store handles the result. The fuzzer (tools/host/fuzz/fuzz.c) writes
 * the scripts; the suite hostile_kunit.c runs the scripts of hostile_corpus.h in the
 * kernel, too.
 *
 * A script is bytes, and any bytes are a script:
 *
 *   0	which image
 *   1	CRAB_HOSTILE_*: how it is damaged and attached
 *   then six bytes each: a verb and its arguments. Edits of the media come
 *   first, in their order, then the operations in theirs.
 */
#ifndef CRABTREE_TESTS_HOSTILE_H
#define CRABTREE_TESTS_HOSTILE_H

#include "engines/crab/format.h"
#include "store/store.h"

#define CRAB_HOSTILE_LEAVES	10
#define CRAB_HOSTILE_LEAF_MAX	256
#define CRAB_HOSTILE_BYTES	\
	(CRAB_POOL_OFFSET + CRAB_HOSTILE_LEAVES * CRAB_HOSTILE_LEAF_MAX)
#define CRAB_HOSTILE_RECORDS	512	/* more than the pool holds */
#define CRAB_HOSTILE_HEAD	2	/* bytes of a script before its first verb */
#define CRAB_HOSTILE_VERB	6	/* bytes of a verb */
#define CRAB_HOSTILE_VERBS	24	/* later ones are ignored */

/* Byte 1 of a script; all zero: checks repaired, the defaults */
#define CRAB_HOSTILE_RAW	0x01	/* leave the checks of links as they are */
#define CRAB_HOSTILE_ON_DEMAND	0x02
#define CRAB_HOSTILE_SIP	0x04
#define CRAB_HOSTILE_COW	0x08
#define CRAB_HOSTILE_SMALLER	0x10	/* the region is shorter by one leaf */
#define CRAB_HOSTILE_CUT	0x20	/* after the operations: cut off, not detached */
#define CRAB_HOSTILE_READ	0x40	/* attach read-only ... */
#define CRAB_HOSTILE_WRITE	0x80	/* ... and then writable */

enum crab_hostile_verb {
	CRAB_HOSTILE_SUPER,	/* a word of a superblock, or of both */
	CRAB_HOSTILE_LIST,	/* a word of the head of the list */
	CRAB_HOSTILE_HEADER,	/* a word of a leaf's header */
	CRAB_HOSTILE_SLOT,	/* a key or a value */
	CRAB_HOSTILE_BITMAP,	/* a word of the bitmap, a node of clfb, the list of a commit */
	CRAB_HOSTILE_LINK,	/* link a leaf to another one, with a valid check */
	CRAB_HOSTILE_COPY,	/* a slot over another */
	CRAB_HOSTILE_SHIFT,	/* slots of a leaf move by one */
	CRAB_HOSTILE_INSERT,
	CRAB_HOSTILE_DELETE,
	CRAB_HOSTILE_SEEK,
	CRAB_HOSTILE_MAINTAIN,
	CRAB_HOSTILE_VERB_KINDS
};

#define CRAB_HOSTILE_UNSEALED	0x80	/* with an edit: leave the crc wrong */

struct crab_hostile;

/**
 * struct crab_hostile_seed - how to make a real image
 * @name: for messages
 * @engine: its engine; NULL: crab
 * @layout: of its leaves
 * @make: fills a store that was just formatted
 * @hurt: changes the media as a power cut can, or NULL
 * @on_demand: attach with allocation on demand
 * @cut: not cleanly detached
 * @commits: a store of commits
 */
struct crab_hostile_seed {
	const char *name;
	const char *engine;
	const char *layout;
	int (*make)(struct crab_store *store);
	void (*hurt)(struct crab_hostile *h);
	bool on_demand;
	bool cut;
	bool commits;
};

/**
 * struct crab_hostile_content - content of a store
 * @n: records
 * @gaps: quarantined ranges that a scan met
 * @r: the records
 */
struct crab_hostile_content {
	u32 n;
	u32 gaps;
	struct crab_record r[CRAB_HOSTILE_RECORDS];
};

/**
 * struct crab_hostile - one media, and the memory of the judge
 * @media: CRAB_HOSTILE_BYTES of it, the user's; its size becomes the image's
 * @seed: the image
 * @leaf_bytes: size of its leaves
 * @steps: words of the media loaded so far, counted by the user, or NULL
 * @stores: words stored, likewise; without it the media is compared with a copy
 * @before: the media before an attach
 * @was: content before
 * @is: content now
 * @info: of the store
 * @said: description of the fault, or ""
 */
struct crab_hostile {
	struct crab_media media;
	const struct crab_hostile_seed *seed;
	u32 leaf_bytes;
	const u64 *steps;
	const u64 *stores;
	u8 before[CRAB_HOSTILE_BYTES];
	struct crab_hostile_content was;
	struct crab_hostile_content is;
	struct crab_store_info info;
	char said[160];
};

/* hostile_seed.c */

struct crab_dcommit *crab_hostile_commit(struct crab_hostile *h);

/**
 * crab_hostile_seeds() - number of images
 *
 * Return: the number.
 */
u32 crab_hostile_seeds(void);

/**
 * crab_hostile_choose() - set the seed and the sizes of @h to one image
 * @h: media and judge
 * @nth: number of the image, modulo the number of images
 */
void crab_hostile_choose(struct crab_hostile *h, u32 nth);

/**
 * crab_hostile_make() - make @h->seed with leaves of @h->leaf_bytes
 * @h: media and judge
 * @label: label of the store
 *
 * Return: 0 or a negative errno.
 */
int crab_hostile_make(struct crab_hostile *h, const char *label);

/**
 * crab_hostile_plant() - choose an image and make it on the media
 * @h: media and judge
 * @nth: number of the image, modulo the number of images
 *
 * Return: 0 or a negative errno.
 */
int crab_hostile_plant(struct crab_hostile *h, u32 nth);

struct crab_dsuper *crab_hostile_super(struct crab_hostile *h, u32 copy);
struct crab_dhead *crab_hostile_list(struct crab_hostile *h);
struct crab_dleaf *crab_hostile_leaf(struct crab_hostile *h, u32 number);

/* hostile_edit.c */

/**
 * crab_hostile_edit() - damage the image as a script describes
 * @h: the image
 * @script: the script
 * @len: bytes
 */
void crab_hostile_edit(struct crab_hostile *h, const u8 *script, size_t len);

/* hostile_judge.c */

/**
 * crab_hostile_judge() - attach the damaged image, use it, and check all promises
 * @h: the image, edited
 * @script: the script
 * @len: bytes
 * Return: true, or false with h->said.
 */
bool crab_hostile_judge(struct crab_hostile *h, const u8 *script, size_t len);

#endif /* CRABTREE_TESTS_HOSTILE_H */

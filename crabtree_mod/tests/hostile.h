/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares hostile media: small real images, scripts that damage
 * them, and a judge of what the store makes of the result. The fuzzer
 * (tools/host/fuzz/fuzz.c) writes the scripts; the suite hostile_kunit.c plays those
 * that it found worth keeping, hostile_corpus.h, in the kernel too.
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
#define CRAB_HOSTILE_RECORDS	512	/* more than that pool holds */
#define CRAB_HOSTILE_HEAD	2	/* bytes of a script before its first verb */
#define CRAB_HOSTILE_VERB	6	/* bytes of a verb */
#define CRAB_HOSTILE_VERBS	24	/* what is behind them is left out */

/* Byte 1 of a script; all zero: checks repaired, the defaults */
#define CRAB_HOSTILE_RAW	0x01	/* links keep their checks, wherever they lead by now */
#define CRAB_HOSTILE_ON_DEMAND	0x02
#define CRAB_HOSTILE_SIP	0x04
#define CRAB_HOSTILE_COW	0x08
#define CRAB_HOSTILE_SMALLER	0x10	/* the region lost its end */
#define CRAB_HOSTILE_CUT	0x20	/* after the operations: cut off, not detached */
#define CRAB_HOSTILE_READ	0x40	/* attach read-only ... */
#define CRAB_HOSTILE_WRITE	0x80	/* ... and then writable all the same */

enum crab_hostile_verb {
	CRAB_HOSTILE_SUPER,	/* a word of a superblock, or of both */
	CRAB_HOSTILE_LIST,	/* a word of the head of the list */
	CRAB_HOSTILE_HEADER,	/* a word of a leaf's header */
	CRAB_HOSTILE_SLOT,	/* a key or a value */
	CRAB_HOSTILE_BITMAP,	/* a word of the bitmap */
	CRAB_HOSTILE_LINK,	/* a leaf is linked to another, rightly */
	CRAB_HOSTILE_COPY,	/* a slot over another */
	CRAB_HOSTILE_SHIFT,	/* slots of a leaf move by one */
	CRAB_HOSTILE_INSERT,
	CRAB_HOSTILE_DELETE,
	CRAB_HOSTILE_SEEK,
	CRAB_HOSTILE_MAINTAIN,
	CRAB_HOSTILE_VERB_KINDS
};

#define CRAB_HOSTILE_UNSEALED	0x80	/* with an edit: the crc over the word stays wrong */

struct crab_hostile;

/**
 * struct crab_hostile_seed - how to make a real image
 * @name: for people
 * @layout: of its leaves
 * @make: what is done to a store just formatted
 * @hurt: what a power cut could do to its media then, or NULL
 * @on_demand: attached so
 * @cut: not cleanly detached
 */
struct crab_hostile_seed {
	const char *name;
	const char *layout;
	int (*make)(struct crab_store *store);
	void (*hurt)(struct crab_hostile *h);
	bool on_demand;
	bool cut;
};

/**
 * struct crab_hostile_content - what a store gave
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
 * struct crab_hostile - one media, and the judge's room
 * @media: CRAB_HOSTILE_BYTES of it, the user's; its size becomes the image's
 * @seed: which image stands there ...
 * @leaf_bytes: ... and with leaves of what size
 * @steps: words of the media loaded so far, counted by the user, or NULL
 * @stores: words stored, likewise; without it the media is compared with a copy
 * @before: the media before an attach
 * @was: content before
 * @is: content now
 * @info: of the store
 * @said: what is wrong, or ""
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

/** crab_hostile_seeds() - how many images there are */
u32 crab_hostile_seeds(void);

/** crab_hostile_choose() - the media is to be, or is, image @nth, modulo how many there are */
void crab_hostile_choose(struct crab_hostile *h, u32 nth);

/** crab_hostile_make() - make @h->seed with leaves of @h->leaf_bytes; 0 or an error */
int crab_hostile_make(struct crab_hostile *h, const char *label);

/** crab_hostile_plant() - make image @nth on the media; 0 or an error */
int crab_hostile_plant(struct crab_hostile *h, u32 nth);

struct crab_dsuper *crab_hostile_super(struct crab_hostile *h, u32 copy);
struct crab_dhead *crab_hostile_list(struct crab_hostile *h);
struct crab_dleaf *crab_hostile_leaf(struct crab_hostile *h, u32 number);

/* hostile_edit.c */

/** crab_hostile_edit() - damage the image as a script says */
void crab_hostile_edit(struct crab_hostile *h, const u8 *script, size_t len);

/* hostile_judge.c */

/**
 * crab_hostile_judge() - attach the damaged image, use it, and hold all against the promise
 * @h: the image, edited
 * @script: the script
 * @len: bytes
 * Return: true, or false with h->said.
 */
bool crab_hostile_judge(struct crab_hostile *h, const u8 *script, size_t len);

#endif /* CRABTREE_TESTS_HOSTILE_H */

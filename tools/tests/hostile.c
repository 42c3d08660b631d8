// SPDX-License-Identifier: GPL-2.0
/*
 * This file makes damaged images for the tests of crabctl, and judges a repaired copy.
 *
 *   hostile make DIR		write DIR/SEED-NUMBER.img
 *   hostile judge OLD NEW [WHOLE]	is NEW what `crabctl --image OLD fsck NEW` promises? Its report
 *				is on standard input; WHOLE is OLD without damage. Prints the first fault
 *
 * The images are the seeds of crabtree_mod/tests/hostile_seed.c with leaves of 512 bytes, damaged
 * by the scripts of the fuzzer's corpus, and by random bytes.
 *
 * Invariant: the judge reads OLD by a read-only attach, one key at a time; fsck scans.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <linux/align.h>
#include <linux/kernel.h>
#include <linux/random.h>

#include "crabtree_image.h"
#include "media/persist.h"
#include "tests/hostile.h"

#define LEAF_BYTES	512
#define IMAGE_BYTES	ALIGN(CRAB_POOL_OFFSET + CRAB_HOSTILE_LEAVES * LEAF_BYTES, 4096)
#define RANDOM		24	/* images of each seed with random bytes */
#define LOST_MAX	256

static const char * const corpus[] = {
#include "tests/hostile_corpus.h"
#include "tests/hostile_bugs.h"
};

static _Alignas(4096) unsigned char region[IMAGE_BYTES];
static unsigned char whole[IMAGE_BYTES];
static struct crab_hostile h = { .media.base = region };

/* The image @nth on the media; false if crabctl has no such engine */
static bool plant(unsigned int nth)
{
	crab_hostile_choose(&h, nth);
	h.leaf_bytes = LEAF_BYTES;
	h.media.size = IMAGE_BYTES;
	return !crab_hostile_make(&h, "hostile");
}

static void write_image(const char *dir, const char *kind, unsigned int number)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s-%u.img", dir, kind, number);
	file = fopen(path, "w");
	if (!file || fwrite(region, h.media.size & ~4095ULL, 1, file) != 1 || fclose(file)) {
		perror(path);
		exit(2);
	}
}

static unsigned int nibble(char c)
{
	return c <= '9' ? c - '0' : c - 'a' + 10;
}

static void make_corpus(const char *dir)
{
	u8 script[CRAB_HOSTILE_HEAD + CRAB_HOSTILE_VERBS * CRAB_HOSTILE_VERB];
	unsigned int i;
	size_t len;

	for (i = 0; i < ARRAY_SIZE(corpus); i++) {
		for (len = 0; corpus[i][2 * len] && len < sizeof(script); len++)
			script[len] = nibble(corpus[i][2 * len]) << 4 | nibble(corpus[i][2 * len + 1]);
		if (!plant(script[0] % crab_hostile_seeds()))
			continue;
		crab_hostile_edit(&h, script, len);
		write_image(dir, "corpus", i);
	}
}

/* One to three bytes: of a superblock, of the head of the list, most of them of the leaves */
static void damage(void)
{
	unsigned int n = 1 + get_random_u32() % 3, where;

	while (n--) {
		where = get_random_u32() % 10;
		if (!where)
			where = get_random_u32() % 2 * CRAB_SUPER_STRIDE + get_random_u32() % 192;
		else if (where == 1)
			where = CRAB_HEAD_OFFSET + get_random_u32() % sizeof(struct crab_dhead);
		else
			where = CRAB_POOL_OFFSET +
				get_random_u32() % (CRAB_HOSTILE_LEAVES * LEAF_BYTES);
		region[where] ^= 1 + get_random_u32() % 255;
	}
}

static void make_random(const char *dir, unsigned int nth)
{
	char kind[64];
	unsigned int i;
	char *p;

	if (!plant(nth))
		return;
	memcpy(whole, region, sizeof(whole));
	snprintf(kind, sizeof(kind), "%s%s", h.seed->engine ? "" : "crab ", h.seed->name);
	for (p = kind; *p; p++)
		if (*p == ' ' || *p == ',')
			*p = '_';
	for (i = 0; i < RANDOM; i++) {
		memcpy(region, whole, sizeof(whole));
		if (i)
			damage();
		write_image(dir, kind, i);
	}
}

static int make(const char *dir)
{
	unsigned int i;

	crab_host_log = NULL;
	crab_host_seed(2026);
	if (crab_persist_init())
		return 2;
	make_corpus(dir);
	for (i = 0; i < crab_hostile_seeds(); i++) {
		crab_hostile_choose(&h, i);
		if (h.leaf_bytes != CRAB_HOSTILE_LEAF_MAX)	/* each seed once */
			make_random(dir, i);
	}
	return 0;
}

struct judge {
	struct crabtree *old;
	struct crabtree *new;
	struct crabtree *whole;	/* or NULL */
	uint64_t lost[LOST_MAX][2];
	unsigned int ranges;
	uint64_t records;	/* that the report names */
};

static bool is_lost(const struct judge *j, uint64_t key)
{
	unsigned int i;

	for (i = 0; i < j->ranges; i++)
		if (key >= j->lost[i][0] && key <= j->lost[i][1])
			return true;
	return false;
}

static void read_report(struct judge *j)
{
	char line[512];

	while (fgets(line, sizeof(line), stdin)) {
		if (j->ranges < LOST_MAX &&
		    sscanf(line, "lost: all keys from %" SCNu64 " to %" SCNu64,
			   &j->lost[j->ranges][0], &j->lost[j->ranges][1]) == 2)
			j->ranges++;
		else if (strstr(line, ": "))
			sscanf(strstr(line, ": "), ": %" SCNu64 " records, sound", &j->records);
	}
}

/*
 * A key that cannot be read. In the range of a good leaf this is an absent one that a damaged leaf
 * may have: no record of the whole image is there.
 */
static bool is_unknown(const struct judge *j, uint64_t key)
{
	uint64_t value;

	return is_lost(j, key) || !j->whole || crabtree_search(j->whole, key, &value) == -ENOENT;
}

/* A key has the state that it has in the damaged image; one that cannot be read is absent */
static bool same(const struct judge *j, uint64_t key)
{
	uint64_t was = 0, is = 0;
	int old = crabtree_search(j->old, key, &was), new = crabtree_search(j->new, key, &is);

	if (old == -EUCLEAN ? new == -ENOENT && is_unknown(j, key) :
	    old == new && was == is && !(is_lost(j, key) && !old))
		return true;
	printf("key %" PRIu64 ": %d value %" PRIu64 ", in the copy %d value %" PRIu64 "\n",
	       key, old, was, new, is);
	return false;
}

/* All records of a store are the same in the other one, and ascend */
static int same_records(const struct judge *j, struct crabtree *of, uint64_t *count)
{
	struct crabtree_record record;
	struct crabtree_iter *iter;
	int got, bad = 0;

	*count = 0;
	if (crabtree_iter_new(of, 0, CRABTREE_KEY_RESERVED - 1, &iter))
		return 1;
	do {
		got = crabtree_iter_next(iter, &record);
		*count += got > 0;
		bad = got > 0 && !same(j, record.key);
	} while (!bad && (got > 0 || (got == -EUCLEAN && of == j->old)));
	crabtree_iter_free(iter);
	return bad || got < 0;
}

static int judge_copy(struct judge *j)
{
	struct crabtree_check check;
	uint64_t key, was, is;

	if (crabtree_check(j->new, &check, sizeof(check)) || check.errors ||
	    check.records != j->records)
		return printf("check: %" PRIu64 " errors: %s, %" PRIu64 " records\n",
			      (uint64_t)check.errors, check.first, (uint64_t)check.records);
	for (key = 0; key < CRAB_HOSTILE_RECORDS * 9; key++)
		if (!same(j, key))
			return 1;
	for (key = CRABTREE_KEY_RESERVED - 1; key > CRABTREE_KEY_RESERVED - 300; key--)
		if (!same(j, key))
			return 1;
	if (same_records(j, j->old, &was) || same_records(j, j->new, &is))
		return 1;
	return was == is && is == j->records ? 0 :
	       printf("%" PRIu64 " records, in the copy %" PRIu64 ", reported %" PRIu64 "\n", was, is,
		      j->records);
}

static int judge(const char *old, const char *new, const char *whole)
{
	static struct judge j;
	struct crabtree_info info;
	int bad;

	read_report(&j);
	if (crabtree_open_image(&j.old, old, CRABTREE_OPEN_READONLY) ||
	    crabtree_info(j.old, &info, sizeof(info)))
		return 2;
	if (whole && crabtree_open_image(&j.whole, whole, CRABTREE_OPEN_READONLY))
		return 2;
	if (crabtree_open_image(&j.new, new, CRABTREE_OPEN_READONLY)) {
		bad = info.state == CRABTREE_STATE_READY || info.state == CRABTREE_STATE_READONLY;
		if (bad)
			printf("no copy of a store that can be read\n");
	} else {
		bad = judge_copy(&j);
		crabtree_close(j.new);
	}
	crabtree_close(j.old);
	return !!bad;
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "make"))
		return make(argv[2]);
	if ((argc == 4 || argc == 5) && !strcmp(argv[1], "judge"))
		return judge(argv[2], argv[3], argv[4]);
	return 2;
}

// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the superblock: two copies, each with a crc and a sequence; the valid
 * copy with the higher sequence counts.
 *
 * Invariants: an update writes only the copy that is not in use, so that a cut at any word of
 * it leaves the other one whole; each number from the media is checked against its range before
 * it is used.
 *
 * The state "clean" and the engine root of a copy count only if the other copy is valid, too: if
 * that was newer and is damaged now, the store has been in use since.
 *
 * Crash table of an update (P3): any subset of the new words in the copy that is not in use ->
 * its crc fails, or it is the old or the new copy as a whole -> the store has the old or the
 * new superblock. Nothing else refers to it. FORMAT makes both copies void first (P1): then no
 * old crc is left that a new magic could make valid. Attach makes durable the copies that it
 * read (P4): they may come from caches that survived, and may not be on the media yet.
 *
 * Locking: the caller owns the superblocks; attach, detach and FORMAT do.
 */
#include <linux/kernel.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/string.h>

#include "media/badmem.h"
#include "media/crc.h"
#include "super.h"

#define SUPER_WORDS	(sizeof(struct crab_dsuper) / sizeof(__le64))
/* The word that holds version and crc */
#define SUPER_CRC_WORD	(offsetof(struct crab_dsuper, version) / sizeof(__le64))

#define NONE_BAD	(~0ULL)

/* Where foreign signatures are searched; those of GPT, md, btrfs and zfs are within */
#define SUPER_PROBE_HEAD	(256 * 1024ULL)
#define SUPER_PROBE_TAIL	(64 * 1024ULL)

static bool super_readable(const struct crab_media *media, u32 copy)
{
	return crab_badmem_probe(media, copy * CRAB_SUPER_STRIDE, sizeof(struct crab_dsuper));
}

static __le64 *super_at(const struct crab_media *media, u32 copy)
{
	return (__le64 *)(media->base + copy * CRAB_SUPER_STRIDE);
}

static u32 super_crc(const struct crab_dsuper *d)
{
	struct crab_dsuper t = *d;

	t.crc = 0;
	return ~crab_crc32c(~0U, &t, sizeof(t));
}

/* Sequences are counted modulo 2^64: no value on the media can stop the count */
static bool super_is_newer(const struct crab_dsuper *a, const struct crab_dsuper *b)
{
	return (s64)(le64_to_cpu(a->sequence) - le64_to_cpu(b->sequence)) > 0;
}

/* Loads a copy word by word; true if its crc is valid, in any version */
static bool super_load(const struct crab_media *media, u32 copy, struct crab_dsuper *d)
{
	const __le64 *from = super_at(media, copy);
	__le64 *to = (__le64 *)d;
	u32 i;

	for (i = 0; i < SUPER_WORDS; i++)
		to[i] = cpu_to_le64(crab_load(media, from + i));
	return le64_to_cpu(d->magic) == CRAB_MAGIC && le32_to_cpu(d->crc) == super_crc(d);
}

static void super_decode(const struct crab_dsuper *d, u32 copy, struct crab_super *s)
{
	s->copy = copy;
	s->sequence = le64_to_cpu(d->sequence);
	s->version = le32_to_cpu(d->version);
	s->feature_compat = le64_to_cpu(d->feature_compat);
	s->feature_ro_compat = le64_to_cpu(d->feature_ro_compat);
	s->feature_incompat = le64_to_cpu(d->feature_incompat);
	memcpy(s->uuid, d->uuid, sizeof(s->uuid));
	memcpy(s->label, d->label, sizeof(s->label));
	s->label[sizeof(s->label) - 1] = '\0';
	s->engine = le16_to_cpu(d->engine);
	s->layout = le16_to_cpu(d->layout);
	s->leaf_bytes = le32_to_cpu(d->leaf_bytes);
	s->region_bytes = le64_to_cpu(d->region_bytes);
	s->pool_offset = le64_to_cpu(d->pool_offset);
	s->leaves = le64_to_cpu(d->leaves);
	s->state = le32_to_cpu(d->state);
	s->store_id = le32_to_cpu(d->store_id);
	s->formatted_at = le64_to_cpu(d->formatted_at);
	s->engine_root = le64_to_cpu(d->engine_root);
}

static void super_encode(const struct crab_super *s, struct crab_dsuper *d)
{
	memset(d, 0, sizeof(*d));
	d->magic = cpu_to_le64(CRAB_MAGIC);
	d->version = cpu_to_le32(s->version);
	d->sequence = cpu_to_le64(s->sequence);
	d->feature_compat = cpu_to_le64(s->feature_compat);
	d->feature_ro_compat = cpu_to_le64(s->feature_ro_compat);
	d->feature_incompat = cpu_to_le64(s->feature_incompat);
	memcpy(d->uuid, s->uuid, sizeof(d->uuid));
	memcpy(d->label, s->label, sizeof(d->label));
	d->engine = cpu_to_le16(s->engine);
	d->layout = cpu_to_le16(s->layout);
	d->leaf_bytes = cpu_to_le32(s->leaf_bytes);
	d->region_bytes = cpu_to_le64(s->region_bytes);
	d->pool_offset = cpu_to_le64(s->pool_offset);
	d->leaves = cpu_to_le64(s->leaves);
	d->state = cpu_to_le32(s->state);
	d->store_id = cpu_to_le32(s->store_id);
	d->formatted_at = cpu_to_le64(s->formatted_at);
	d->engine_root = cpu_to_le64(s->engine_root);
	d->crc = cpu_to_le32(super_crc(d));
}

/*
 * FORMAT writes both copies "clean", with the sequences 1 and 2. At least one of two
 * consecutive updates is by an attach, which writes "attached". One copy alone proves
 * nothing: the other may have been written since, and be damaged.
 */
static bool super_is_unwritten(const struct crab_dsuper *d)
{
	u32 i;

	for (i = 0; i < CRAB_SUPER_COPIES; i++)
		if (le32_to_cpu(d[i].state) != CRAB_SUPER_STATE_CLEAN)
			return false;
	return le64_to_cpu(d[0].sequence) == 2 && le64_to_cpu(d[1].sequence) == 1 &&
	       d[0].store_id == d[1].store_id;
}

static bool probe_zero(const struct crab_media *media, u64 from, u64 to, u64 *at)
{
	for (; from + sizeof(__le64) <= to; from += sizeof(__le64)) {
		if (!(from % CRAB_LINE) && !crab_badmem_probe(media, from, CRAB_LINE)) {
			from += CRAB_LINE - sizeof(__le64);
			continue;
		}
		if (crab_load(media, (__le64 *)(media->base + from))) {
			*at = from;
			return false;
		}
	}
	return true;
}

/* No copy is valid: does the region hold other data? */
static enum crab_verdict super_unknown(const struct crab_media *media, char *reason)
{
	u64 head = min_t(u64, media->size, SUPER_PROBE_HEAD);
	u64 tail = media->size - min_t(u64, media->size, SUPER_PROBE_TAIL);
	u64 at, magic;
	bool ours = false, begun = false;
	u32 i;

	for (i = 0; i < CRAB_SUPER_COPIES; i++) {
		if (!super_readable(media, i)) {
			snprintf(reason, CRAB_REASON_LEN,
				 "no superblock: uncorrectable memory at offset %llu",
				 i * CRAB_SUPER_STRIDE);
			return CRAB_VERDICT_DAMAGED;
		}
		magic = crab_load(media, super_at(media, i));
		ours |= magic == CRAB_MAGIC;
		begun |= magic == CRAB_MAGIC_VOID;
	}
	if (begun) {	/* before @ours: the other copy may be half written (P3) */
		strscpy(reason, "a FORMAT began here and did not end: format again",
			CRAB_REASON_LEN);
		return CRAB_VERDICT_BLANK;
	}
	if (ours) {
		strscpy(reason, "both superblocks are damaged (no copy with a valid crc at 0 or 4096)",
			CRAB_REASON_LEN);
		return CRAB_VERDICT_DAMAGED;
	}
	if (probe_zero(media, 0, head, &at) &&
	    probe_zero(media, max(head, tail), media->size, &at)) {
		strscpy(reason, "no store: the region is blank", CRAB_REASON_LEN);
		return CRAB_VERDICT_BLANK;
	}
	snprintf(reason, CRAB_REASON_LEN,
		 "not a crabtree store: other data at offset %llu", at);
	return CRAB_VERDICT_FOREIGN;
}

/* The layout is not known here: the store checks its bounds */
static bool super_leaf_bytes_ok(u32 leaf_bytes)
{
	return is_power_of_2(leaf_bytes) && leaf_bytes >= CRAB_BLOCK_BYTES_MIN &&
	       leaf_bytes <= CRAB_BLOCK_BYTES_MAX;
}

u64 crab_super_geometry(u64 region_bytes, u32 leaf_bytes)
{
	u64 leaves;

	if (!super_leaf_bytes_ok(leaf_bytes) || region_bytes < CRAB_POOL_OFFSET)
		return 0;
	leaves = min_t(u64, (region_bytes - CRAB_POOL_OFFSET) >> ilog2(leaf_bytes),
		       CRAB_LEAVES_MAX);
	return leaves < CRAB_LEAVES_MIN ? 0 : leaves;
}

/* Checks every number that later code relies on; NULL or the name of a wrong one */
static const char *super_nonsense(const struct crab_super *s)
{
	if (!super_leaf_bytes_ok(s->leaf_bytes))
		return "leaf size";
	if (s->pool_offset < CRAB_POOL_OFFSET || s->pool_offset % CRAB_POOL_OFFSET ||
	    s->pool_offset > s->region_bytes)
		return "pool offset";
	if (s->leaves < CRAB_LEAVES_MIN || s->leaves > CRAB_LEAVES_MAX ||
	    s->leaves > (s->region_bytes - s->pool_offset) / s->leaf_bytes)
		return "number of leaves";
	if (s->state != CRAB_SUPER_STATE_CLEAN && s->state != CRAB_SUPER_STATE_ATTACHED)
		return "state";
	return NULL;
}

static enum crab_verdict super_judge(const struct crab_media *media, const struct crab_super *s,
				     char *reason)
{
	unsigned long long unknown = s->feature_incompat & ~CRAB_FEATURE_INCOMPAT_KNOWN;
	const char *what;

	if (s->version != CRAB_FORMAT_VERSION) {
		snprintf(reason, CRAB_REASON_LEN, "format version %u, this module knows %u",
			 s->version, CRAB_FORMAT_VERSION);
		return CRAB_VERDICT_NEWER;
	}
	if (unknown) {
		snprintf(reason, CRAB_REASON_LEN, "unknown incompatible feature bits 0x%llx",
			 unknown);
		return CRAB_VERDICT_NEWER;
	}
	what = super_nonsense(s);
	if (what) {
		snprintf(reason, CRAB_REASON_LEN, "superblock at %llu: impossible %s",
			 s->copy * CRAB_SUPER_STRIDE, what);
		return CRAB_VERDICT_DAMAGED;
	}
	if (s->region_bytes > media->size) {
		snprintf(reason, CRAB_REASON_LEN, "store of %llu bytes in a region of %llu",
			 s->region_bytes, media->size);
		return CRAB_VERDICT_MISFIT;
	}
	unknown = s->feature_ro_compat & ~CRAB_FEATURE_RO_COMPAT_KNOWN;
	if (unknown) {
		snprintf(reason, CRAB_REASON_LEN, "read-only: unknown feature bits 0x%llx",
			 unknown);
		return CRAB_VERDICT_RO;
	}
	return CRAB_VERDICT_GOOD;
}

enum crab_verdict crab_super_read(const struct crab_media *media, struct crab_super *super,
				  char *reason)
{
	struct crab_dsuper d[CRAB_SUPER_COPIES];
	unsigned long long bad = NONE_BAD;
	enum crab_verdict verdict;
	u32 i, copy = 0, found = 0;

	reason[0] = '\0';
	if (media->size < CRAB_POOL_OFFSET) {
		snprintf(reason, CRAB_REASON_LEN, "region of %llu bytes is too small for a store",
			 media->size);
		return CRAB_VERDICT_MISFIT;
	}
	for (i = 0; i < CRAB_SUPER_COPIES; i++) {
		if (!super_readable(media, i)) {
			bad = i * CRAB_SUPER_STRIDE;
			continue;
		}
		if (!super_load(media, i, &d[i]))
			continue;
		if (!found++ || super_is_newer(&d[i], &d[copy]))
			copy = i;
	}
	if (!found)
		return super_unknown(media, reason);
	super_decode(&d[copy], copy, super);
	super->unwritten = found == CRAB_SUPER_COPIES && super_is_unwritten(d);
	verdict = super_judge(media, super, reason);
	if (found < CRAB_SUPER_COPIES) {	/* the other one may have been written since */
		super->state = CRAB_SUPER_STATE_ATTACHED;
		super->engine_root = 0;
	}
	if (verdict != CRAB_VERDICT_GOOD || bad == NONE_BAD)
		return verdict;
	snprintf(reason, CRAB_REASON_LEN,
		 "read-only: the other superblock, at %llu, is in uncorrectable memory", bad);
	return CRAB_VERDICT_RO;
}

void crab_super_clear(struct crab_flow *flow)
{
	u32 i;

	for (i = 0; i < CRAB_SUPER_COPIES; i++) {
		crab_store(flow, super_at(flow->media, i), CRAB_MAGIC_VOID);
		crab_clean(flow, super_at(flow->media, i), sizeof(__le64));
	}
	/* P1: no superblock names the body that FORMAT is about to overwrite */
	crab_fence(flow, CRAB_P1_CLEARED);
	/*
	 * An old superblock must not become valid again when P3's magic reaches the media
	 * before the other words: its crc is cleared, too, durable with the body (P2). This is
	 * not done before P1, or a cut would leave a damaged store in place of a good one.
	 */
	for (i = 0; i < CRAB_SUPER_COPIES; i++) {
		crab_store(flow, super_at(flow->media, i) + SUPER_CRC_WORD, 0);
		crab_clean(flow, super_at(flow->media, i) + SUPER_CRC_WORD, sizeof(__le64));
	}
}

void crab_super_flush(struct crab_flow *flow)
{
	u32 i;

	crab_clean(flow, flow->media->base + CRAB_HEAD_OFFSET, sizeof(struct crab_dhead));
	for (i = 0; i < CRAB_SUPER_COPIES; i++)
		crab_clean(flow, super_at(flow->media, i), sizeof(struct crab_dsuper));
	/* P4: the copy that was read, before the other one is overwritten; the head, and a list */
	crab_fence(flow, CRAB_P4_FOUND);
}

void crab_super_write(struct crab_flow *flow, struct crab_super *super)
{
	struct crab_dsuper d;
	__le64 *to;
	u32 i;

	super->copy = (super->copy + 1) % CRAB_SUPER_COPIES;
	super->sequence++;
	super_encode(super, &d);
	to = super_at(flow->media, super->copy);
	for (i = 0; i < SUPER_WORDS; i++)
		crab_store(flow, to + i, le64_to_cpu(((__le64 *)&d)[i]));
	crab_clean(flow, to, sizeof(d));
	/* P3: this copy whole; the one it supersedes is untouched */
	crab_fence(flow, CRAB_P3_SUPER);
}

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file defines the structures on the media that all engines share: superblocks, and the
 * headers and link words of leaves. Leaves are defined by their engine.
 * Documentation/design/format.rst describes all of them byte by byte. A change here is a change
 * of the format.
 *
 * Layer L0: it includes nothing of the module; every folder may include it.
 *
 * Invariants: little-endian; every reference is an offset into the region or a
 * leaf number, never an address; every structure is a multiple of 8 bytes and
 * is read and written by aligned 8-byte words through persist.h only.
 */
#ifndef CRABTREE_FORMAT_H
#define CRABTREE_FORMAT_H

#include <linux/build_bug.h>
#include <linux/types.h>

#include "hooks.h"

#define CRAB_LINE		64	/* unit of cleaning */

#define CRAB_MAGIC		0x4545525442415243ULL	/* "CRABTREE" */
#define CRAB_MAGIC_VOID		0x44494f5642415243ULL	/* "CRABVOID": a FORMAT began here */
#define CRAB_FORMAT_VERSION	1

#define CRAB_KEY_EMPTY		(~0ULL)	/* key of a free slot; reserved */

/* Fixed places in the region */
#define CRAB_SUPER_STRIDE	4096ULL	/* superblock copies at 0 and at this offset */
#define CRAB_SUPER_COPIES	2
#define CRAB_HEAD_OFFSET	8192ULL
#define CRAB_BLOBS_OFFSET	8640ULL	/* struct crab_dblobs, in stores of blobs only */
#define CRAB_COMMIT_OFFSET	8704ULL	/* struct crab_dcommit, in stores of commits only */
#define CRAB_AREA_OFFSET	12288ULL	/* the engine's own, up to the pool */
#define CRAB_POOL_OFFSET	16384ULL	/* lowest offset of the pool, and its alignment */

/* Leaf sizes that a superblock can name. Each layout has bounds of its own within these */
#define CRAB_BLOCK_BYTES_MIN	64U
#define CRAB_BLOCK_BYTES_MAX	65536U

#ifndef CRAB_LEAF_BYTES_MIN		/* test builds: shadow/test_config.h */
#define CRAB_LEAF_BYTES_MIN	512U
#endif
#define CRAB_LEAF_BYTES_MAX	8192U
#define CRAB_LEAF_BYTES_DEFAULT	1024U
#define CRAB_LARGE_REGION	(32ULL << 20)	/* from here on a layout's leaves may be larger */
#ifndef CRAB_LEAVES_MIN
#define CRAB_LEAVES_MIN		8	/* the smallest pool that is worth formatting */
#endif

/* Feature words: a bit that is set and not known here forbids ... */
#define CRAB_FEATURE_COMPAT_KNOWN	0ULL	/* ... nothing */
#define CRAB_FEATURE_RO_COMPAT_KNOWN	0ULL	/* ... writing */
#define CRAB_FEATURE_INCOMPAT_KNOWN						\
	(CRAB_INCOMPAT_BLOBS | CRAB_INCOMPAT_COMMITS | CRAB_INCOMPAT_NAMES)	/* ... reading */

/* Bits of feature_incompat */
#define CRAB_INCOMPAT_BLOBS	(1ULL << 0)	/* the values of records name blobs */
#define CRAB_INCOMPAT_COMMITS	(1ULL << 1)	/* struct crab_dcommit may replace records */
#define CRAB_INCOMPAT_NAMES	(1ULL << 2)	/* with BLOBS: each blob has a name */

/* A slab is a run of leaves that holds extents of one size. FORMAT chooses its size */
#ifndef CRAB_SLAB_BYTES_MIN		/* test builds: shadow/test_config.h */
#define CRAB_SLAB_BYTES_MIN	4096U
#endif
#define CRAB_SLAB_BYTES_MAX	131072U
#define CRAB_BLOB_BYTES_MAX	65536U	/* of the value of a blob */
#define CRAB_NAME_MAX		240U	/* bytes of a name */

#define CRAB_SUPER_STATE_CLEAN		1	/* detached: all stores are on the media */
#define CRAB_SUPER_STATE_ATTACHED	2	/* attached by a writer, or not detached */

#define CRAB_LABEL_LEN		32
#define CRAB_UUID_LEN		16

/*
 * A superblock copy: 192 bytes, three lines, in every version of the format. @crc is the crc32c
 * (seed ~0, final inversion) of all bytes with @crc as zero. The valid copy with the higher
 * @sequence counts; an update writes the other one.
 */
struct crab_dsuper {
	__le64 magic;
	__le32 version;
	__le32 crc;
	__le64 sequence;
	__le64 feature_compat;
	__le64 feature_ro_compat;
	__le64 feature_incompat;
	__u8   uuid[CRAB_UUID_LEN];
	__u8   label[CRAB_LABEL_LEN];
	__le16 engine;
	__le16 layout;
	__le32 leaf_bytes;
	__le64 region_bytes;
	__le64 pool_offset;
	__le64 leaves;
	__le32 state;
	__le32 store_id;	/* in every leaf: leaves of an earlier FORMAT have another one */
	__le64 formatted_at;	/* seconds since 1970, by the formatter's clock */
	__le64 engine_root;	/* the engine's word of a clean detach; else 0 */
	__le64 reserved[5];
};

/*
 * The word that links leaves: the number of the next leaf plus one in the low 40 bits, 0 for the
 * end; above it 24 check bits over store, place and birth of the target, or, at the end, of the
 * leaf that holds the word. They reveal a wild or stale link.
 */
#define CRAB_LINK_BITS		40
#define CRAB_LINK_MASK		((1ULL << CRAB_LINK_BITS) - 1)
#define CRAB_LEAVES_MAX		(CRAB_LINK_MASK - 1)

/*
 * Header of a leaf. @next is the only word that changes after birth; @crc covers the other words
 * (crc32c of @self .. @store_id). The permanent head of the list is such a header, too, with
 * @birth 0.
 */
struct crab_dhead {
	__le64 next;
	__le64 self;		/* offset of this header in the region */
	__le64 birth;		/* greater than that of every earlier leaf */
	__le64 low;		/* the lowest key that the leaf may hold */
	__le64 own;		/* the word of the engine */
	__le32 store_id;
	__le32 crc;
};

/*
 * The word of a record that names a blob: the class of its extent in the low 5 bits; above it the
 * number of the extent's first line, counted from the pool's offset; above that the check bits of a
 * link over store, offset and birth of the blob.
 */
#define CRAB_PLACE_CLASS_BITS	5
#define CRAB_PLACE_MASK		CRAB_LINK_MASK

/*
 * In the page of the head, in a store of blobs. Each word has the number in its low 40 bits, and
 * above it the check bits of a link over its own offset and the number.
 */
struct crab_dblobs {
	__le64 births;		/* blobs have births below this number << CRAB_BIRTHS_SHIFT */
	__le64 slab_bytes;	/* written by FORMAT only */
};

#define CRAB_BIRTHS_SHIFT	20

/*
 * Header of a blob. The name follows, then the value; zeros fill each up to a whole word. @crc is
 * the crc32c (seed ~0, final inversion) of the header with @crc as zero, of the name with its
 * zeros, and of the value.
 *
 * In a store of names, the upper half of @key is the crc32c of the name (without its zeros), and
 * the lower half is a number that names with the same crc do not share.
 */
struct crab_dblob {
	__le64 self;		/* offset of this header in the region */
	__le64 birth;		/* the version: no other blob of the store ever has it */
	__le64 key;
	__le32 bytes;		/* of the value */
	__u8 name_bytes;	/* 1 to CRAB_NAME_MAX in a store of names, else 0 */
	__u8 type;		/* of the value: not looked at. Without a name 0 */
	__le16 reserved;	/* 0 */
	__le32 store_id;
	__le32 crc;
};

#define CRAB_COMMIT_MAX		64U	/* writes of a commit */

/*
 * In the page of the head, in a store of commits: the list of the commit in progress. It counts if
 * @check is that of its first @count records, and never if @check is 0.
 */
struct crab_dcommit {
	__le64 check;		/* of all other words that count, and of the store */
	__le64 count;		/* of writes, from 1 to CRAB_COMMIT_MAX */
	__le64 removes;		/* bit i: write i removes its key */
	struct {
		__le64 key;
		__le64 value;
	} write[CRAB_COMMIT_MAX];
};

static_assert(sizeof(struct crab_dblob) == 40);
static_assert(CRAB_COMMIT_OFFSET % CRAB_LINE == 0);
static_assert(CRAB_COMMIT_OFFSET >= CRAB_BLOBS_OFFSET + sizeof(struct crab_dblobs));
static_assert(CRAB_COMMIT_OFFSET + sizeof(struct crab_dcommit) <= CRAB_AREA_OFFSET);
static_assert(sizeof(struct crab_dsuper) == 192);
static_assert(offsetof(struct crab_dsuper, engine_root) == 144);
static_assert(sizeof(struct crab_dhead) == 48);
static_assert(CRAB_SUPER_STRIDE >= sizeof(struct crab_dsuper));

#endif /* CRABTREE_FORMAT_H */

// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements blobs in the state spaces, by the rules of format.rst.
 *
 * DOC: canonical states of blobs
 *
 * A state has for each record the number of its slab and of its extent there, and its value. It omits
 * the following, because the code does not depend on it:
 *
 *   places      Slabs are numbered in the order in which records name them, extents likewise. They
 *               are written to the upper end of the pool, so a state has no gaps between leaves:
 *               fewer puts are refused than in the store from which it came.
 *   births      The code compares them for equality only. All are below the number on the media.
 *   free        extents and slabs: they are written before a word names them. They have
 *               the content that the driver gives to free leaves.
 *
 * Locking: one thread.
 */
#include "blobs.h"
#include "explore_priv.h"
#include "media/crc.h"
#include "store/named_priv.h"
#include "test.h"

#define SLAB_LINES	4		/* CRAB_SLAB_BYTES_MIN of test builds */
#define SLABS		4
#define HEADER		40
#define NAME_ROOM	8		/* of a name with its zeros */
#define BYTES_MAX	80
#define NUMBER_END	2		/* of births, in a state that is written */
#define NAMED		(2 * STATE_KEYS)

/* Slabs in the order in which they were named, and the records of blobs_encode() */
static struct {
	u32 slabs;
	u64 slab[SLABS];
	u32 extents[SLABS];
	u64 line[SLABS][SLAB_LINES];
	u32 named;
	u64 key[NAMED];
	u64 number[NAMED];
	bool names;
} met;

/* Names in the order of their keys. The first one has key 0, the lowest key of an engine's first leaf */
u64 blobs_name_key[STATE_KEYS];

static struct name {
	char text[4];
	u32 bytes;
} name_of_key[STATE_KEYS] = { { "\xab\x9b\xe0\x9b", 4 } };

void blobs_names_init(void)
{
	u32 i, at;

	for (i = 1; i < STATE_KEYS; i++) {
		struct name name = { { 'a' + i }, 1 };
		u64 key = (u64)~crab_crc32c(~0U, name.text, 1) << 32;

		for (at = i; at > 1 && blobs_name_key[at - 1] > key; at--) {
			blobs_name_key[at] = blobs_name_key[at - 1];
			name_of_key[at] = name_of_key[at - 1];
		}
		blobs_name_key[at] = key;
		name_of_key[at] = name;
	}
}

static const struct name *key_name(u64 key)
{
	u32 i = 0;

	while (i < STATE_KEYS - 1 && blobs_name_key[i] != key)
		i++;
	return &name_of_key[i];
}

/* The name takes a part of the same lines */
static u32 value_bytes(u64 value, bool names)
{
	return (value == 1 ? 20 : BYTES_MAX) - (names ? NAME_ROOM : 0);
}

static u32 value_lines(u64 value)
{
	return value == 1 ? 1 : 2;
}

static void value_fill(u8 *to, u64 key, u64 value)
{
	u32 i;

	for (i = 0; i < BYTES_MAX; i++)
		to[i] = (key ^ key >> 32) * 31 + value * 97 + i;
}

void blobs_begin(bool names)
{
	memset(&met, 0, sizeof(met));
	met.names = names;
}

u64 blobs_content(u64 number)
{
	return number >= BLOBS_DEAD ? 0 : (number - 1) % 2 + 1;
}

/* The check bits of a link, as format.rst defines them */
static u64 check_bits(u32 store_id, u64 place, u64 birth)
{
	u64 h = (place ^ (u64)store_id << 32) * 0x9e3779b97f4a7c15ULL;

	h = (h ^ h >> 32 ^ birth) * 0xd6e8feb86659fd93ULL;
	return h & ~((1ULL << 40) - 1);
}

/* The word of the blob that begins at @line of the pool, in an extent of class @class */
static u64 word_of(const struct crab_geometry *geo, u64 line, u32 class, u64 birth)
{
	return check_bits(geo->store_id, geo->pool_offset + line * 64 + class, birth) |
	       line << 5 | class;
}

/* The header and the bytes of a blob as words; returns how many */
static u32 blob_form(const struct crab_geometry *geo, u64 key, u64 value, u64 line, u64 birth,
		     __le64 *words)
{
	u32 bytes = value_bytes(value, met.names), head = HEADER + (met.names ? NAME_ROOM : 0), crc;
	u8 filled[BYTES_MAX];

	memset(words, 0, HEADER + BYTES_MAX);
	words[0] = cpu_to_le64(geo->pool_offset + line * 64);
	words[1] = cpu_to_le64(birth);
	words[2] = cpu_to_le64(key);
	words[3] = cpu_to_le64(bytes);
	words[4] = cpu_to_le64(geo->store_id);
	if (met.names) {
		words[3] |= cpu_to_le64((u64)key_name(key)->bytes << 32);
		memcpy(words + 5, key_name(key)->text, key_name(key)->bytes);
	}
	value_fill(filled, key, value);
	memcpy((u8 *)words + head, filled, bytes);
	crc = ~crab_crc32c(~0U, words, head + bytes);
	words[4] |= cpu_to_le64((u64)crc << 32);
	return (head + bytes + 7) / 8;
}

/* Is the blob of @key with value number @value there? */
static bool blob_is(const struct crab_geometry *geo, const struct crab_media *media, u64 key,
		    u64 value, u64 word)
{
	u64 line = (word & ((1ULL << 40) - 1)) >> 5, birth;
	const __le64 *at = (const __le64 *)(media->base + geo->pool_offset + line * 64);
	__le64 words[(HEADER + BYTES_MAX) / 8];
	u32 n, i;

	if ((word & 31) != value - 1 || line % value_lines(value) ||
	    line + value_lines(value) > geo->leaves * geo->leaf_bytes / 64)
		return false;
	birth = crab_load(media, at + 1);
	if (word != word_of(geo, line, value - 1, birth))
		return false;
	n = blob_form(geo, key, value, line, birth, words);
	for (i = 0; i < n; i++)
		if (crab_load(media, at + i) != le64_to_cpu(words[i]))
			return false;
	return true;
}

/* The number of a line in the order of naming; SLABS * SLAB_LINES if there are too many */
static u32 line_rank(u64 line)
{
	u64 slab = line / SLAB_LINES;
	u32 s, i;

	for (s = 0; s < met.slabs && met.slab[s] != slab; s++)
		;
	if (s == SLABS)
		return SLABS * SLAB_LINES;
	if (s == met.slabs)
		met.slab[met.slabs++] = slab;
	for (i = 0; i < met.extents[s] && met.line[s][i] != line; i++)
		;
	if (i == met.extents[s])
		met.line[s][met.extents[s]++] = line;
	return s * SLAB_LINES + i;
}

u64 blobs_decode(const struct crab_geometry *geo, const struct crab_media *media, u64 key, u64 word)
{
	u64 value;
	u32 rank;

	for (value = 1; value <= STATE_VALUES; value++) {
		if (!blob_is(geo, media, key, value, word))
			continue;
		rank = line_rank((word & ((1ULL << 40) - 1)) >> 5);
		if (rank * STATE_VALUES + value >= BLOBS_DEAD)
			return BLOBS_DEAD;
		return rank * STATE_VALUES + value;
	}
	return BLOBS_DEAD;
}

/* Where the blob of a number is written: the line, counted from the pool's offset */
static u64 number_line(const struct crab_geometry *geo, u64 number)
{
	u32 rank = (number - 1) / STATE_VALUES;
	u64 slabs = geo->leaves * geo->leaf_bytes / 64 / SLAB_LINES;

	return (slabs - 1 - rank / SLAB_LINES) * SLAB_LINES +
	       rank % SLAB_LINES * value_lines(blobs_content(number));
}

static u64 number_birth(u64 number)
{
	return (1ULL << CRAB_BIRTHS_SHIFT) + number;
}

u64 blobs_encode(const struct crab_geometry *geo, u64 key, u64 number)
{
	if (number >= BLOBS_DEAD)
		return STATE_STALE;
	met.key[met.named] = key;
	met.number[met.named++] = number;
	return word_of(geo, number_line(geo, number), blobs_content(number) - 1,
		       number_birth(number));
}

static void number_write(struct crab_flow *flow, u32 store_id, u64 offset, u64 number)
{
	crab_store(flow, (__le64 *)(flow->media->base + offset),
		   check_bits(store_id, offset, number) | number);
}

static void blob_write(struct crab_flow *flow, const struct crab_geometry *geo, u64 key, u64 number)
{
	u64 line = number_line(geo, number);
	__le64 *to = (__le64 *)(flow->media->base + geo->pool_offset + line * 64);
	__le64 words[(HEADER + BYTES_MAX) / 8];
	u32 n = blob_form(geo, key, blobs_content(number), line, number_birth(number), words), i;

	for (i = 0; i < n; i++)
		crab_store(flow, to + i, le64_to_cpu(words[i]));
	crab_clean(flow, to, n * sizeof(*to));
}

void blobs_write(const struct crab_geometry *geo, struct crab_media *media)
{
	struct crab_flow flow = { .media = media };
	u32 i;

	for (i = 0; i < met.named; i++)
		blob_write(&flow, geo, met.key[i], met.number[i]);
	number_write(&flow, geo->store_id, CRAB_BLOBS_OFFSET, NUMBER_END);
	number_write(&flow, geo->store_id, CRAB_BLOBS_OFFSET + 8, SLAB_LINES * 64);
	crab_clean(&flow, media->base + CRAB_BLOBS_OFFSET, 16);
	crab_fence(&flow, CRAB_P15_BLOB);
}

static int put(struct crab_store *store, struct crab_blob_write *write)
{
	if (!crab_store_has_names(store))
		return crab_blob_put(store, write);
	write->name = key_name(write->key)->text;
	write->name_bytes = key_name(write->key)->bytes;
	return crab_named_put(store, write);
}

static int erase(struct crab_store *store, struct crab_blob_write *write)
{
	if (!crab_store_has_names(store))
		return crab_blob_erase(store, write);
	write->name = key_name(write->key)->text;
	write->name_bytes = key_name(write->key)->bytes;
	return crab_named_erase(store, write);
}

static int get(struct crab_store *store, struct crab_blob_read *read)
{
	if (!crab_store_has_names(store))
		return crab_blob_get(store, read);
	return crab_named_get(store, key_name(read->key)->text, key_name(read->key)->bytes, read);
}

void blobs_perform(struct crab_store *store, struct crab_batch_op *op)
{
	struct crab_blob_write write = { .key = op->key, .mode = op->mode };
	u8 bytes[BYTES_MAX];

	if (op->verb == CRAB_VERB_DELETE) {
		op->status = erase(store, &write);
	} else {
		value_fill(bytes, op->key, op->value);
		write.data = bytes;
		write.bytes = value_bytes(op->value, crab_store_has_names(store));
		op->status = put(store, &write);
	}
	op->old.existed = write.existed;
}

/* The conditions of a commit of records, for the blob of a key: that of a value is one of its version */
static void condition_fill(struct crab_store *store, const struct crab_batch_op *op,
			   enum crab_commit_when when, struct crab_blob_write *write)
{
	u8 found[BYTES_MAX], want[BYTES_MAX];
	struct crab_blob_read read = { .key = op->key, .buffer = found, .capacity = sizeof(found) };

	if (when == CRAB_WHEN_EXISTS)
		write->mode = CRAB_INSERT_REPLACE;
	if (when == CRAB_WHEN_ABSENT)
		write->mode = CRAB_INSERT_CREATE;
	write->checked = when == CRAB_WHEN_VALUE;
	if (!write->checked || get(store, &read))
		return;
	value_fill(want, op->key, op->old.expected);
	write->version = read.version + (read.bytes != value_bytes(op->old.expected,
								   crab_store_has_names(store)) ||
					 memcmp(found, want, read.bytes));
}

static void commit_fill(struct crab_store *store, const struct crab_commit *from,
			struct crab_blob_commit *to, u8 bytes[][BYTES_MAX])
{
	bool names = crab_store_has_names(store);
	u32 i;

	to->n = from->n;
	for (i = 0; i < from->n; i++) {
		const struct crab_batch_op *op = &from->ops[i];
		struct crab_blob_write *write = &to->ops[i].write;

		to->ops[i] = (struct crab_blob_op){ .verb = op->verb, .write.key = op->key };
		write->name = names ? key_name(op->key)->text : NULL;
		write->name_bytes = names ? key_name(op->key)->bytes : 0;
		write->data = bytes[i];
		condition_fill(store, op, from->when[i], write);
		if (op->verb != CRAB_VERB_INSERT)
			continue;
		value_fill(bytes[i], op->key, op->value);
		write->bytes = value_bytes(op->value, names);
	}
}

int blobs_commit(struct crab_store *store, struct crab_commit *commit)
{
	static struct crab_blob_commit blobs;
	static u8 bytes[STATE_KEYS][BYTES_MAX];
	u32 i;
	int err;

	commit_fill(store, commit, &blobs, bytes);
	err = crab_store_has_names(store) ? crab_named_commit(store, &blobs) :
					    crab_blob_commit(store, &blobs);
	for (i = 0; !err && i < commit->n; i++) {
		struct crab_blob_read read = { .key = commit->ops[i].key };

		commit->ops[i].old.existed = commit->ops[i].verb == CRAB_VERB_SEARCH ?
			get(store, &read) == -EMSGSIZE : blobs.ops[i].write.existed;
	}
	return err;
}

bool blobs_commit_is_full(const struct space *space, struct crab_store *store,
			  const struct crab_commit *commit, u64 leaves)
{
	struct crab_extents *extents = &store->blobs->extents;
	u64 place[STATE_KEYS];
	u32 i, n = 0;
	bool full = false;

	for (i = 0; i < commit->n && !full; i++) {
		if (commit->ops[i].verb != CRAB_VERB_INSERT)
			continue;
		full = crab_extents_alloc(extents, HEADER + value_bytes(commit->ops[i].value, false),
					  &place[n]);
		n += !full;
	}
	full = full || store->engine->pool->free < leaves;
	while (n--)
		crab_extents_free(extents, place[n]);
	return full;
}

const char *blobs_answer(struct crab_key_state *state, const struct crab_batch_op *op)
{
	bool put = op->verb == CRAB_VERB_INSERT;

	if (op->status != (put || state->there ? 0 : -ENOENT) && !(put && op->status == -ENOSPC))
		return "returns the wrong status";
	if (op->status)
		return NULL;
	if (op->old.existed != state->there)
		return "reports wrongly whether the key existed";
	state->there = put;
	state->value = put ? op->value : 0;
	return NULL;
}

bool blobs_is_full(const struct space *space, struct crab_store *store,
		   const struct crab_batch_op *op)
{
	struct crab_extents *extents = &store->blobs->extents;
	u64 place;

	if (crab_extents_alloc(extents, HEADER + value_bytes(op->value, false), &place))
		return true;
	crab_extents_free(extents, place);
	return space->driver->is_full(store, 1 + extents->lent * 2);
}

/* The value number of a blob, or 0 */
static u64 blob_value(const struct crab_blob_read *read, bool names)
{
	u8 want[BYTES_MAX];
	u64 value;

	for (value = 1; value <= STATE_VALUES; value++) {
		value_fill(want, read->key, value);
		if (read->bytes == value_bytes(value, names) &&
		    !memcmp(read->buffer, want, read->bytes))
			return value;
	}
	return 0;
}

static int read_one(struct crab_oracle *oracle, struct crab_store *store,
		    const struct crab_blob_entry *entry, struct crab_key_state *state)
{
	u8 buffer[BYTES_MAX];
	struct crab_blob_read read = {
		.key = entry->key, .buffer = buffer, .capacity = sizeof(buffer),
	};
	int err = get(store, &read);

	if (err || entry->err || entry->bytes != read.bytes || entry->version != read.version)
		return crab_oracle_fault(oracle, "get of key %llx: %d, listed with %d", entry->key,
					 err, entry->err);
	*state = (struct crab_key_state){
		.there = true, .value = blob_value(&read, crab_store_has_names(store)),
	};
	if (!state->value)
		return crab_oracle_fault(oracle, "key %llx has a value that was not put", entry->key);
	if (read.version >= store->blobs->birth)
		return crab_oracle_fault(oracle, "version %llx of key %llx will come again",
					 read.version, entry->key);
	return 0;
}

/* No key is there that the list has not */
static int read_absent(struct crab_oracle *oracle, struct crab_store *store,
		       const struct crab_key_state *content)
{
	u32 i;

	for (i = 0; i < oracle->n; i++) {
		struct crab_blob_read read = { .key = oracle->keys[i] };

		if (!content[i].there && get(store, &read) != -ENOENT)
			return crab_oracle_fault(oracle, "key %llx is not in the list", read.key);
	}
	return 0;
}

static int read_listed(struct crab_oracle *oracle, struct crab_store *store,
		       const struct crab_blob_entry *entry, struct crab_key_state *content)
{
	u32 key = 0;

	while (key < oracle->n && oracle->keys[key] != entry->key)
		key++;
	if (key == oracle->n)
		return crab_oracle_fault(oracle, "list returns key %llx: foreign", entry->key);
	return read_one(oracle, store, entry, &content[key]);
}

/* In the order of names, which is not that of keys */
static int names_read(struct crab_oracle *oracle, struct crab_store *store,
		      struct crab_key_state *content)
{
	struct crab_named_cursor cursor = { .bytes = 0 };
	struct crab_named_entry name;
	u8 before = 0;
	int n;

	while ((n = crab_named_next(store, &cursor, &name)) > 0) {
		struct crab_blob_entry entry = {
			.key = crab_name_key(name.text, name.name_bytes),
			.bytes = name.bytes, .version = name.version, .err = name.err,
		};

		if ((u8)name.text[0] <= before)
			return crab_oracle_fault(oracle, "the list of names is out of order");
		before = name.text[0];
		if (read_listed(oracle, store, &entry, content))
			return -1;
	}
	return n ? crab_oracle_fault(oracle, "list fails: %d", n) :
		   read_absent(oracle, store, content);
}

int blobs_read(struct crab_oracle *oracle, struct crab_store *store,
	       struct crab_key_state *content)
{
	struct crab_blob_entry entry[STATE_KEYS];
	struct crab_cursor cursor;
	u64 before = 0;
	int i, n;

	memset(content, 0, oracle->n * sizeof(*content));
	if (crab_store_has_names(store))
		return names_read(oracle, store, content);
	crab_cursor_init(&cursor, 0, CRAB_KEY_EMPTY);
	while ((n = crab_blob_list(store, &cursor, entry, ARRAY_SIZE(entry))) > 0) {
		for (i = 0; i < n; i++) {
			if (entry[i].key < before)
				return crab_oracle_fault(oracle, "list returns key %llx out of order",
							 entry[i].key);
			before = entry[i].key + 1;
			if (read_listed(oracle, store, &entry[i], content))
				return -1;
		}
	}
	return n ? crab_oracle_fault(oracle, "list fails: %d", n) :
		   read_absent(oracle, store, content);
}

/* Is the blob of @key damaged for each single bit of [from, to), a part of the media? */
static int damage_bytes(struct explore *x, struct crab_store *store, u64 key, u64 from, u64 to)
{
	struct crab_blob_read read = { .key = key };
	u64 bit;

	for (bit = from * 8; bit < to * 8; bit++) {
		x->media.base[bit / 8] ^= 1 << bit % 8;
		if (get(store, &read) != -EUCLEAN)
			return explore_say(x, "bit %llu of the blob, flipped, is not noticed",
					   bit - from * 8);
		x->media.base[bit / 8] ^= 1 << bit % 8;
	}
	return 0;
}

/* The same for the bits of its word from @first on: a place of its own, but the wrong birth */
static int damage_word(struct explore *x, struct crab_store *store, u64 key, u64 word, u32 first)
{
	struct crab_blobs *blobs = store->blobs;
	struct crab_blob_read read = { .key = key };
	struct crab_flow flow = { .media = &x->media };
	struct crab_old old;
	u32 bit;

	for (bit = first; bit < 64; bit++) {
		blobs->raw->insert(store->engine, &flow, key, word ^ 1ULL << bit, CRAB_INSERT_EITHER,
				   &old);
		if (get(store, &read) != -EUCLEAN)
			return explore_say(x, "bit %u of the word, flipped, is not noticed", bit);
	}
	return 0;
}

/* A store with one blob, without the shadow: damage is no power cut */
static int damage_store(struct explore *x, struct crab_store *store)
{
	struct crab_batch_op op = { .verb = CRAB_VERB_INSERT, .key = x->keys[0], .value = 2 };
	u64 word, from;

	blobs_perform(store, &op);
	if (op.status || store->blobs->raw->lookup(store->engine, op.key, &word))
		return explore_say(x, "put: %d", op.status);
	from = crab_extent_offset(&store->blobs->extents, word & CRAB_PLACE_MASK);
	return damage_bytes(x, store, op.key, from, from + HEADER + value_bytes(2, false)) ?:
	       damage_word(x, store, op.key, word, 40);
}

bool blobs_damage(struct explore *x)
{
	struct crab_shadow *shadow = x->media.hooks.shadow;
	struct crab_store *store;
	int err;

	x->media.hooks.shadow = NULL;
	err = explore_format(x, true);
	store = err ? NULL : explore_attach_good(x);
	err = store ? damage_store(x, store) : -1;
	crab_store_abandon(store);
	x->media.hooks.shadow = shadow;
	return !err;
}

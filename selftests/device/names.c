// SPDX-License-Identifier: GPL-2.0
/*
 * This file tests stores of names over the device: PUT, GET and ERASE by name, NAMES, types, SNAPSHOT
 * and WATCH, and user memory that faults in the middle of a name.
 *
 * Invariant: a refused call leaves the store sound and as it was.
 */
#include <stddef.h>

#include "observe.h"

static unsigned char room[65537];
static u64 entries[1024];

static int put_typed(int fd, const void *name, u32 name_bytes, u32 type, const void *value, u32 bytes)
{
	struct crabtree_put p;

	poison(&p, sizeof(p));
	p.flags = 0;
	p.key = (uintptr_t)name;
	p.name_bytes = name_bytes;
	p.type = type;
	p.value = (uintptr_t)value;
	p.bytes = bytes;
	return call(fd, CRABTREE_PUT, &p);
}

static int put(int fd, const char *name, const char *text)
{
	return put_typed(fd, name, strlen(name), CRABTREE_TYPE_TEXT, text, strlen(text));
}

static int get_any(int fd, const void *name, u32 name_bytes, void *to, u32 capacity,
		   struct crabtree_get *g)
{
	poison(g, sizeof(*g));
	g->flags = 0;
	g->key = (uintptr_t)name;
	g->name_bytes = name_bytes;
	g->value = (uintptr_t)to;
	g->capacity = capacity;
	return call(fd, CRABTREE_GET, g);
}

static bool has(int fd, const char *name, const char *text)
{
	struct crabtree_get g;

	return !get_any(fd, name, strlen(name), room, sizeof(room), &g) &&
	       g.bytes == strlen(text) && !memcmp(room, text, g.bytes) &&
	       g.type == CRABTREE_TYPE_TEXT;
}

static int erase(int fd, const char *name, u32 flags, u64 version)
{
	struct crabtree_erase e;

	poison(&e, sizeof(e));
	e.flags = flags;
	e.key = (uintptr_t)name;
	e.name_bytes = strlen(name);
	e.version = version;
	e.reserved = 0;
	return call(fd, CRABTREE_ERASE, &e);
}

static int names(int fd, const char *start, const char *end, u32 flags, u32 capacity,
		 struct crabtree_names *n)
{
	poison(n, sizeof(*n));
	n->flags = flags;
	n->start = (uintptr_t)start;
	n->start_bytes = strlen(start);
	n->end = (uintptr_t)end;
	n->end_bytes = strlen(end);
	n->buffer = (uintptr_t)entries;
	n->capacity = capacity;
	return call(fd, CRABTREE_NAMES, n);
}

/* The names of the last call in one line, each with a blank after it */
static const char *listed(const struct crabtree_names *n)
{
	static char line[8192];
	const struct crabtree_name *name;
	u32 at;

	line[0] = '\0';
	for (at = 0; at < n->used; at += name->entry_bytes) {
		name = (const void *)((char *)entries + at);
		EXPECT(strlen(name->name), name->name_bytes);
		EXPECT(name->status, 0);
		strcat(strcat(line, name->name), " ");
	}
	return line;
}

TEST(values, "PUT, GET, ERASE by name: values, versions, names of 1 to 240 bytes, any bytes")
{
	char longest[CRABTREE_NAME_MAX];
	struct crabtree_get g;
	int fd = fresh_store_kind("", CRABTREE_FORMAT_NAMES);

	memset(longest, 0xff, sizeof(longest));
	EXPECT(put(fd, "plc/motor.hours", "12"), 0);
	EXPECT(put(fd, "a", "one"), 0);
	EXPECT(put_typed(fd, longest, sizeof(longest), 0, "x", 1), 0);
	EXPECT(put_typed(fd, "\0\1", 2, 0, "y", 1), 0);
	EXPECT_TRUE(has(fd, "plc/motor.hours", "12"));
	EXPECT_TRUE(has(fd, "a", "one"));
	EXPECT(get_any(fd, longest, sizeof(longest), room, 1, &g), 0);
	EXPECT(room[0], 'x');
	EXPECT(get_any(fd, "\0\1", 2, room, 1, &g), 0);
	EXPECT(room[0], 'y');
	EXPECT(put(fd, "a", "two"), 0);
	EXPECT_TRUE(has(fd, "a", "two"));
	EXPECT(get_any(fd, "a", 1, room, sizeof(room), &g), 0);
	EXPECT(erase(fd, "a", CRABTREE_IF_VERSION, g.version + 1), -ESTALE);
	EXPECT(erase(fd, "a", CRABTREE_IF_VERSION, g.version), 0);
	EXPECT(erase(fd, "a", 0, 0), -ENOENT);
	EXPECT(get_any(fd, "a", 1, room, sizeof(room), &g), -ENOENT);
	EXPECT(get_any(fd, "plc/motor.hours", 15, room, 1, &g), -EMSGSIZE);
	EXPECT(g.bytes, 2);
	expect_sound(fd, 3);
}

TEST(lengths, "names of 0 and of more than 240 bytes, and a store of another kind: refused")
{
	static const char name[300] = "n";
	char longer[CRABTREE_NAME_MAX + 2] = "";
	struct crabtree_names n;
	struct crabtree_get g;
	int fd = fresh_store_kind("", CRABTREE_FORMAT_NAMES);

	memset(longer, 'n', CRABTREE_NAME_MAX + 1);
	EXPECT(put_typed(fd, name, 0, 0, "x", 1), -EOPNOTSUPP);	/* a key */
	EXPECT(put_typed(fd, name, 241, 0, "x", 1), -EINVAL);
	EXPECT(put_typed(fd, name, ~0U, 0, "x", 1), -EINVAL);
	EXPECT(get_any(fd, name, 0, room, 1, &g), -EOPNOTSUPP);
	EXPECT(erase(fd, "", 0, 0), -EOPNOTSUPP);
	EXPECT(get_any(fd, name, 241, room, 1, &g), -EINVAL);
	EXPECT(names(fd, "", "", 0, CRABTREE_NAME_ENTRY_MAX - 1, &n), -EMSGSIZE);
	EXPECT(names(fd, "", "", 4, sizeof(entries), &n), -EINVAL);
	EXPECT(names(fd, longer, "", 0, sizeof(entries), &n), -EINVAL);
	EXPECT(names(fd, "", longer, 0, sizeof(entries), &n), -EINVAL);
	expect_sound(fd, 0);
	close(fd);
	fd = fresh_store(0);
	EXPECT(put(fd, "a", "x"), -EOPNOTSUPP);
	EXPECT(get_any(fd, "a", 1, room, 1, &g), -EOPNOTSUPP);
	EXPECT(erase(fd, "a", 0, 0), -EOPNOTSUPP);
	EXPECT(names(fd, "", "", 0, sizeof(entries), &n), -EOPNOTSUPP);
}

TEST(types, "types: the length of each is verified; an unknown type is refused")
{
	static const struct { u32 type, bytes; } known[] = {
		{ CRABTREE_TYPE_BYTES, 0 }, { CRABTREE_TYPE_TEXT, 7 }, { CRABTREE_TYPE_BOOL, 1 },
		{ CRABTREE_TYPE_U8, 1 }, { CRABTREE_TYPE_U16, 2 }, { CRABTREE_TYPE_U32, 4 },
		{ CRABTREE_TYPE_U64, 8 }, { CRABTREE_TYPE_I64, 8 }, { CRABTREE_TYPE_F64, 8 },
	};
	static const char value[9] = { 1 };
	struct crabtree_get g;
	int fd = fresh_store_kind("", CRABTREE_FORMAT_NAMES);
	u32 i;

	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		EXPECT(put_typed(fd, "v", 1, known[i].type, value, known[i].bytes), 0);
		EXPECT(get_any(fd, "v", 1, room, sizeof(room), &g), 0);
		EXPECT(g.type, known[i].type);
		if (known[i].type > CRABTREE_TYPE_TEXT)
			EXPECT(put_typed(fd, "v", 1, known[i].type, value, known[i].bytes + 1),
			       -EINVAL);
	}
	EXPECT(put_typed(fd, "v", 1, CRABTREE_TYPE_BOOL, "\2", 1), -EINVAL);
	EXPECT(put_typed(fd, "v", 1, 9, value, 8), -EINVAL);
	EXPECT(put_typed(fd, "v", 1, ~0U, value, 8), -EINVAL);
	expect_sound(fd, 1);
}

TEST(lists, "NAMES: order, start, end, prefix, in parts")
{
	static const char * const all[] = { "b", "a/2", "a", "a/1", "a0", "a/10", "c" };
	struct crabtree_names n;
	int fd = fresh_store_kind("", CRABTREE_FORMAT_NAMES), i;
	char start[300] = "";

	for (i = 0; i < 7; i++)
		REQUIRE(put(fd, all[i], all[i]), 0);
	EXPECT(names(fd, "", "", 0, sizeof(entries), &n), 0);
	EXPECT(strcmp(listed(&n), "a a/1 a/10 a/2 a0 b c "), 0);
	EXPECT(n.count, 7);
	EXPECT(n.more, 0);
	EXPECT(names(fd, "", "a/", CRABTREE_NAMES_PREFIX, sizeof(entries), &n), 0);
	EXPECT(strcmp(listed(&n), "a/1 a/10 a/2 "), 0);
	EXPECT(names(fd, "a/1", "a/", CRABTREE_NAMES_PREFIX | CRABTREE_NAMES_AFTER, sizeof(entries), &n), 0);
	EXPECT(strcmp(listed(&n), "a/10 a/2 "), 0);
	EXPECT(names(fd, "a/2", "b", 0, sizeof(entries), &n), 0);
	EXPECT(strcmp(listed(&n), "a/2 a0 b "), 0);
	EXPECT(names(fd, "x", "a/", CRABTREE_NAMES_PREFIX, sizeof(entries), &n), 0);
	EXPECT(n.count, 0);
	for (i = 0; i < 500; i++) {
		sprintf(start, "n%03d", i);
		REQUIRE(put(fd, start, ""), 0);
	}
	strcpy(start, "n");
	for (i = 0, n.more = 1; n.more; i += n.count) {
		REQUIRE(names(fd, start, "n", CRABTREE_NAMES_PREFIX | CRABTREE_NAMES_AFTER, 5000, &n), 0);
		if (n.count)
			sprintf(start, "n%03d", i + n.count - 1);
		EXPECT_TRUE(!n.count || strstr(listed(&n), start));
	}
	EXPECT(i, 500);
	expect_sound(fd, 507);
}

TEST(faults, "user memory that ends within a name, a value or a list: EFAULT")
{
	size_t page = sysconf(_SC_PAGESIZE);
	char *end = page_end();
	struct crabtree_names n;
	struct crabtree_get g;
	int fd = fresh_store_kind("", CRABTREE_FORMAT_NAMES);

	memset(end - page, 'n', page);
	REQUIRE(put_typed(fd, end - 8, 8, 0, "x", 1), 0);
	EXPECT(put_typed(fd, end - 8, 9, 0, "x", 1), -EFAULT);
	EXPECT(put_typed(fd, "a", 1, 0, end - 8, 9), -EFAULT);
	EXPECT(get_any(fd, end - 8, 9, room, 1, &g), -EFAULT);
	EXPECT(get_any(fd, end - 8, 8, end, 1, &g), -EFAULT);
	EXPECT(names(fd, "", "", 0, sizeof(entries), &n), 0);
	EXPECT(n.count, 1);
	n.buffer = (uintptr_t)end - 8;
	n.capacity = CRABTREE_NAME_ENTRY_MAX;
	EXPECT(call(fd, CRABTREE_NAMES, &n), -EFAULT);
	n.buffer = (uintptr_t)entries;
	n.start = (uintptr_t)end - 8;
	n.start_bytes = 9;
	EXPECT(call(fd, CRABTREE_NAMES, &n), -EFAULT);
	expect_sound(fd, 1);
}

TEST(kinds, "the calls by key in a store of names: refused, and the store is as it was")
{
	struct crabtree_list l = { .size = sizeof(l), .end = 9, .entries = (uintptr_t)entries, .capacity = 1 };
	int fd = fresh_store_kind("", CRABTREE_FORMAT_NAMES);
	u64 old;

	REQUIRE(put(fd, "a", "x"), 0);
	EXPECT(dev_put(fd, 1, 2), -EOPNOTSUPP);
	EXPECT(dev_get(fd, 1, &old), -EOPNOTSUPP);
	EXPECT(call(fd, CRABTREE_LIST, &l), -EOPNOTSUPP);
	EXPECT_TRUE(has(fd, "a", "x"));
	expect_sound(fd, 1);
}

TEST(snapshot, "SNAPSHOT of a store of names: GET and NAMES as of its time, also names that have gone")
{
	int fd = fresh_store_kind("", CRABTREE_FORMAT_NAMES), snap;
	struct crabtree_names n;
	struct crabtree_get g;

	REQUIRE(put(fd, "a", "one"), 0);
	REQUIRE(put(fd, "b", "two"), 0);
	REQUIRE(put(fd, "d", "four"), 0);
	snap = dev_snapshot(fd);
	REQUIRE(put(fd, "c", "three"), 0);
	REQUIRE(put(fd, "a", "more"), 0);
	REQUIRE(erase(fd, "b", 0, 0), 0);
	REQUIRE(erase(fd, "d", 0, 0), 0);
	REQUIRE(put(fd, "d", "again"), 0);
	EXPECT_TRUE(has(snap, "a", "one"));
	EXPECT_TRUE(has(snap, "b", "two"));
	EXPECT_TRUE(has(snap, "d", "four"));
	EXPECT(get_any(snap, "c", 1, room, 9, &g), -ENOENT);
	EXPECT(names(snap, "", "", 0, sizeof(entries), &n), 0);
	EXPECT(strcmp(listed(&n), "a b d "), 0);
	EXPECT(names(snap, "a", "", CRABTREE_NAMES_AFTER, CRABTREE_NAME_ENTRY_MAX, &n), 0);
	EXPECT(strcmp(listed(&n), "b "), 0);
	EXPECT(n.more, 1);
	EXPECT(put(snap, "e", "x"), -ENOTTY);
	close(snap);
	EXPECT(names(fd, "", "", 0, sizeof(entries), &n), 0);
	EXPECT(strcmp(listed(&n), "a c d "), 0);
	expect_sound(fd, 3);
}

static int watch_names(int fd, const void *prefix, u32 prefix_bytes, struct crabtree_watch *w)
{
	poison(w, sizeof(*w));
	w->start = 1;		/* unused, and no range of keys */
	w->end = 0;
	w->entries = 12;
	w->prefix = (uintptr_t)prefix;
	w->prefix_bytes = prefix_bytes;
	w->reserved = 0;
	return call(fd, CRABTREE_WATCH, w);
}

TEST(watch, "WATCH of a store of names: names with the prefix, their versions and types, LOST")
{
	int fd = fresh_store_kind("", CRABTREE_FORMAT_NAMES), i;
	const struct crabtree_name_change *c = (void *)entries;
	struct crabtree_watch w;

	EXPECT(watch_names(fd, NULL, CRABTREE_NAME_MAX + 1, &w), -EINVAL);
	EXPECT(watch_names(fd, (void *)8, 1, &w), -EFAULT);
	REQUIRE(watch_names(fd, entries, CRABTREE_NAME_MAX, &w), 0);
	close(w.fd);
	REQUIRE(watch_names(fd, "plc/", 4, &w), 0);
	REQUIRE(put(fd, "plc", "0"), 0);
	REQUIRE(put(fd, "plc/motor", "12"), 0);
	REQUIRE(put(fd, "other", "0"), 0);
	REQUIRE(erase(fd, "plc/motor", 0, 0), 0);
	EXPECT(read(w.fd, entries, CRABTREE_NAME_CHANGE_MAX - 1), -1);
	EXPECT(errno, EINVAL);
	EXPECT(read(w.fd, entries, CRABTREE_NAME_CHANGE_MAX), 48);
	EXPECT(c->entry_bytes, 48);
	EXPECT(c->seq, 1);
	EXPECT(strcmp(c->name, "plc/motor"), 0);
	EXPECT(c->name_bytes, 9);
	EXPECT(c->type, CRABTREE_TYPE_TEXT);
	EXPECT(c->verb, CRABTREE_BATCH_INSERT);
	EXPECT(c->flags, 0);
	EXPECT(read(w.fd, entries, sizeof(entries)), 48);
	EXPECT(c->verb, CRABTREE_BATCH_DELETE);
	EXPECT(c->flags, CRABTREE_CHANGE_EXISTED);
	EXPECT_TRUE(c->old > 0);
	for (i = 0; i < 14; i++)
		REQUIRE(put(fd, "plc/a", "x"), 0);
	EXPECT(read(w.fd, entries, sizeof(entries)), 12 * 48 + 40);
	for (i = 0; i < 12; i++, c = (void *)((char *)c + 48))
		EXPECT(strcmp(c->name, "plc/a"), 0);
	EXPECT(c->flags, CRABTREE_CHANGE_LOST);
	EXPECT(c->verb, 0);
	EXPECT(c->value, 2);
	EXPECT(c->seq, 16);
	EXPECT(c->name_bytes, 0);
	close(w.fd);
	close(fd);
	fd = fresh_store(0);
	EXPECT(watch_names(fd, "plc/", 4, &w), -EOPNOTSUPP);
	w.start = 0;
	EXPECT(call(fd, CRABTREE_WATCH, &w), -EOPNOTSUPP);
	expect_sound(fd, 0);
}

TEST(older, "a program with the structures of the first version: the store of names refuses its keys")
{
	struct crabtree_put p = { .key = 1, .value = (uintptr_t)room, .bytes = 1 };
	int fd = fresh_store_kind("", CRABTREE_FORMAT_NAMES);

	p.size = offsetof(struct crabtree_put, name_bytes);
	EXPECT(ioctl(fd, CRABTREE_PUT, &p) ? -errno : 0, -EOPNOTSUPP);
	expect_sound(fd, 0);
}

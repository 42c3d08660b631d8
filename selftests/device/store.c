// SPDX-License-Identifier: GPL-2.0
/*
 * This file is the tool by which the test scripts reach a device, one verb a
 * call: store DEVICE VERB [ARGUMENT...]. It prints the result, and an error
 * as its name; exit status 1 for an error, 2 for a wrong answer.
 *
 *   format [FORCE [[ENGINE/]LAYOUT [BYTES [LABEL]]]]	an empty store, of 512-byte leaves
 *   commits [KIND], names	an empty store of commits, of KIND names or values if given, or of
 *				names, over any other
 *   var NAME		the number in a u64
 *   info FIELD		a text or a number of struct crabtree_info, by its name
 *   fill N		keys 0 .. N - 1, each with a value that follows from it
 *   verify N		exactly these are there, and CHECK finds nothing
 *   lost N		prints how many of them give EUCLEAN; the others are there
 *   put KEY VALUE, get KEY
 *   snapshot N		the value of key 0 in a snapshot, after keys 0 .. N - 1 were changed
 *
 * Invariant: an empty answer is an answer; silence with status 0 is none.
 */
#include <stddef.h>

#define TEST_NO_MAIN
#include "device.h"

static int fail(int rc)
{
	printf("%s\n", strerrorname_np(-rc));
	return 1;
}

/* [ENGINE/]LAYOUT */
static void format_layout(struct crabtree_format *f, const char *text)
{
	const char *slash = strchr(text, '/');

	if (slash)
		snprintf(f->engine, sizeof(f->engine), "%.*s", (int)(slash - text), text);
	snprintf(f->layout, sizeof(f->layout), "%s", slash ? slash + 1 : text);
}

static int verb_format(int fd, char **arg)
{
	struct crabtree_format f;
	int rc;

	format_args(&f, *arg ? CRABTREE_FORMAT_FORCE : 0,
		    arg[0] && arg[1] && arg[2] ? strtoul(arg[2], NULL, 0) : 512);
	if (arg[0] && arg[1])
		format_layout(&f, arg[1]);
	if (arg[0] && arg[1] && arg[2] && arg[3])
		snprintf(f.label, sizeof(f.label), "%s", arg[3]);
	rc = call(fd, CRABTREE_FORMAT, &f);
	return rc ? fail(rc) : 0;
}

static int format_kind(int fd, u32 kind)
{
	struct crabtree_format f;
	int rc;

	format_args(&f, CRABTREE_FORMAT_FORCE | kind, 512);
	rc = call(fd, CRABTREE_FORMAT, &f);
	return rc ? fail(rc) : 0;
}

static int verb_commits(int fd, char **arg)
{
	u32 kind = !*arg ? 0 : strcmp(*arg, "names") ? CRABTREE_FORMAT_BLOBS : CRABTREE_FORMAT_NAMES;

	return format_kind(fd, CRABTREE_FORMAT_COMMITS | kind);
}

static int verb_names(int fd, char **arg)
{
	(void)arg;
	return format_kind(fd, CRABTREE_FORMAT_NAMES);
}

static void print_uuid(const unsigned char *uuid)
{
	int i;

	for (i = 0; i < CRABTREE_UUID_LEN; i++)
		printf("%02x", uuid[i]);
	putchar('\n');
}

#define INFO_FIELD(field) { #field, offsetof(struct crabtree_info, field), \
			    sizeof(((struct crabtree_info *)0)->field) }

/* The numbers of INFO; the machines are little-endian */
static const struct {
	const char *name;
	size_t offset, bytes;
} info_fields[] = {
	INFO_FIELD(state), INFO_FIELD(durability), INFO_FIELD(model), INFO_FIELD(version),
	INFO_FIELD(keeps), INFO_FIELD(region_bytes), INFO_FIELD(leaf_bytes), INFO_FIELD(leaves),
	INFO_FIELD(leaves_used), INFO_FIELD(leaves_bad), INFO_FIELD(records), INFO_FIELD(capacity),
	INFO_FIELD(feature_compat), INFO_FIELD(feature_ro_compat), INFO_FIELD(feature_incompat),
	INFO_FIELD(dram_bytes), INFO_FIELD(attach_ns), INFO_FIELD(fences),
	INFO_FIELD(prepare_fences), INFO_FIELD(inserts), INFO_FIELD(updates), INFO_FIELD(deletes),
	INFO_FIELD(searches), INFO_FIELD(repairs), INFO_FIELD(lines), INFO_FIELD(orders),
	INFO_FIELD(prepare_lines), INFO_FIELD(lines_bound), INFO_FIELD(splits), INFO_FIELD(unlinks),
};

static int print_number(const struct crabtree_info *info, const char *field)
{
	u64 value = 0;
	u32 i;

	for (i = 0; i < sizeof(info_fields) / sizeof(*info_fields); i++) {
		if (strcmp(field, info_fields[i].name))
			continue;
		memcpy(&value, (const char *)info + info_fields[i].offset, info_fields[i].bytes);
		printf("%llu\n", (unsigned long long)value);
		return 0;
	}
	fprintf(stderr, "store: INFO has no number %s\n", field);
	return 1;
}

static int verb_info(int fd, char **arg)
{
	struct crabtree_info info;
	int rc = dev_info(fd, &info);

	if (rc)
		return fail(rc);
	if (!strcmp(*arg, "uuid"))
		print_uuid(info.uuid);
	else if (!strcmp(*arg, "reason"))
		printf("%.128s\n", info.reason);
	else if (!strcmp(*arg, "region"))
		printf("%.64s\n", info.region);
	else if (!strcmp(*arg, "label"))
		printf("%.32s\n", info.label);
	else if (!strcmp(*arg, "engine"))
		printf("%.16s\n", info.engine);
	else if (!strcmp(*arg, "layout"))
		printf("%.16s\n", info.layout);
	else
		return print_number(&info, *arg);
	return 0;
}

static u64 value_of(u64 key)
{
	return key * 0x9E3779B97F4A7C15ULL + 1;
}

static int verb_fill(int fd, char **arg)
{
	u64 key, count = strtoull(*arg, NULL, 0);
	int rc;

	for (key = 0; key < count; key++) {
		rc = dev_put(fd, key, value_of(key));
		if (rc)
			return fail(rc);
	}
	return 0;
}

static int verb_verify(int fd, char **arg)
{
	u64 key, got = 0, count = strtoull(*arg, NULL, 0);
	struct crabtree_check c;
	int rc;

	for (key = 0; key < count; key++) {
		rc = dev_get(fd, key, &got);
		if (rc || got != value_of(key)) {
			printf("key %llu: %s\n", (unsigned long long)key,
			       rc ? strerrorname_np(-rc) : "wrong value");
			return 2;
		}
	}
	rc = dev_check(fd, &c);
	if (rc)
		return fail(rc);
	if (!c.errors && c.records == count)
		return 0;
	printf("%llu records, %llu errors: %.96s\n", (unsigned long long)c.records,
	       (unsigned long long)c.errors, c.first);
	return 2;
}

/* Counts the keys of fill that return EUCLEAN; all others have their values */
static int verb_lost(int fd, char **arg)
{
	u64 key, got = 0, count = strtoull(*arg, NULL, 0), lost = 0;
	int rc;

	for (key = 0; key < count; key++) {
		rc = dev_get(fd, key, &got);
		lost += rc == -EUCLEAN;
		if (rc ? rc != -EUCLEAN : got != value_of(key)) {
			printf("key %llu: %s\n", (unsigned long long)key,
			       rc ? strerrorname_np(-rc) : "wrong value");
			return 2;
		}
	}
	printf("%llu\n", (unsigned long long)lost);
	return 0;
}

static int verb_put(int fd, char **arg)
{
	int rc = dev_put(fd, strtoull(arg[0], NULL, 0), strtoull(arg[1], NULL, 0));

	return rc ? fail(rc) : 0;
}

static int verb_get(int fd, char **arg)
{
	u64 value = 0;
	int rc = dev_get(fd, strtoull(*arg, NULL, 0), &value);

	if (rc)
		return fail(rc);
	printf("%llu\n", (unsigned long long)value);
	return 0;
}

static int verb_var(int fd, char **arg)
{
	u64 value = 0;
	struct crabtree_get get = {
		.size = sizeof(get), .key = (uintptr_t)*arg, .name_bytes = strlen(*arg),
		.value = (uintptr_t)&value, .capacity = sizeof(value),
	};
	int rc = call(fd, CRABTREE_GET, &get);

	if (rc || get.type != CRABTREE_TYPE_U64)
		return fail(rc ?: -ENOMSG);
	printf("%llu\n", (unsigned long long)value);
	return 0;
}

/* The value of key 0 in a snapshot after which this many keys were changed */
static int verb_snapshot(int fd, char **arg)
{
	struct crabtree_snapshot s = { .size = sizeof(s) };
	u64 key, value, count = strtoull(*arg, NULL, 0);
	int rc = call(fd, CRABTREE_SNAPSHOT, &s);

	for (key = 0; key < count && !rc; key++)
		rc = dev_put(fd, key, value_of(key) + 1);
	rc = rc ?: dev_get(s.fd, 0, &value);
	if (rc)
		return fail(rc);
	printf("%llu\n", (unsigned long long)value);
	return 0;
}

static const struct {
	const char *name;
	int args;
	int (*run)(int fd, char **arg);
} verbs[] = {
	{ "format", 0, verb_format }, { "commits", 0, verb_commits }, { "names", 0, verb_names },
	{ "info", 1, verb_info }, { "fill", 1, verb_fill }, { "var", 1, verb_var },
	{ "verify", 1, verb_verify }, { "lost", 1, verb_lost }, { "put", 2, verb_put }, { "get", 1, verb_get },
	{ "snapshot", 1, verb_snapshot },
};

int main(int argc, char **argv)
{
	int fd, rc;
	u32 i;

	fd = argc > 2 ? open(argv[1], O_RDWR | O_CLOEXEC) : -1;
	if (fd < 0)
		return argc > 2 ? fail(-errno) : 1;
	for (i = 0; i < sizeof(verbs) / sizeof(*verbs); i++) {
		if (strcmp(argv[2], verbs[i].name) || argc - 3 < verbs[i].args)
			continue;
		rc = verbs[i].run(fd, argv + 3);
		close(fd);
		return rc;
	}
	fprintf(stderr, "store: no verb %s\n", argv[2]);
	return 1;
}

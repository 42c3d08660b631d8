// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements streams.
 *
 * Invariant: a reader compares each line with the line that a writer would have written there, and
 * the checksums cover the bytes of values, so no byte of a stream can differ without an error.
 */
#include "stream.h"
#include "typed.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STREAM_FIRST	"# crabtree snapshot 1\n"
#define STREAM_VALUES	"# crabtree snapshot 2\n"
#define STREAM_COMMITS	"# commits\n"
#define STREAM_BLOCK	256	/* items before a checksum */
#define STREAM_LINE	1024	/* bytes of a line, at most */

/* For each byte, the CRC of it alone */
static const uint32_t *crc_table(void)
{
	static uint32_t table[256];
	uint32_t i, bit;

	for (i = 0; !table[255] && i < 256; i++)
		for (bit = 0, table[i] = i; bit < 8; bit++)
			table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0x82F63B78U : 0);
	return table;
}

uint32_t crc32c(uint32_t crc, const void *from, size_t n)
{
	const uint32_t *table = crc_table();
	const unsigned char *p = from;

	crc = ~crc;
	while (n--)
		crc = crc >> 8 ^ table[(crc ^ *p++) & 0xff];
	return ~crc;
}

__attribute__((format(printf, 2, 3)))
static void put_line(struct stream *stream, const char *fmt, ...)
{
	char line[STREAM_LINE];
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	fwrite(line, 1, n, stream->file);
	stream->sum = crc32c(stream->sum, line, n);
}

void stream_begin(struct stream *stream, const struct crabtree_info *info)
{
	char uuid[UUID_TEXT_LEN];

	uuid_text(info->uuid, uuid);
	stream->kind = item_kind(info);
	put_line(stream, stream->kind == ITEM_RECORD ? STREAM_FIRST : STREAM_VALUES);
	put_line(stream, "# uuid %s\n", uuid);
	put_line(stream, "# engine %s %s %" PRIu64 "\n", info->engine, info->layout,
		 (uint64_t)info->leaf_bytes);
	put_line(stream, "# label %s\n", info->label);
	if (stream->kind != ITEM_RECORD)
		put_line(stream, "# kind %s\n", item_kind_name(stream->kind));
	if (info->feature_incompat & CRABTREE_INCOMPAT_COMMITS)
		put_line(stream, STREAM_COMMITS);
}

static void put_sum(struct stream *stream)
{
	put_line(stream, "# sum %08" PRIx32 "\n", stream->sum);
}

/*
 * The line of a name: "u8 1 a/b". A control character or a backslash is \\xNN, and so is each byte
 * above 127 of a name that is not UTF-8.
 */
static void name_line(const struct item *item, char line[STREAM_LINE])
{
	bool valid = is_utf8(item->name, item->name_bytes);
	bool known = type_find(type_name(item->type)) == (int)item->type;
	unsigned char c;
	uint32_t i;
	char *to;

	to = line + (known ? sprintf(line, "%s", type_name(item->type)) :
			     sprintf(line, "%" PRIu32, item->type));
	to += sprintf(to, " %" PRIu32 " ", item->bytes);
	for (i = 0; i < item->name_bytes; i++) {
		c = item->name[i];
		if (c < ' ' || c == 0x7f || c == '\\' || (c >= 0x80 && !valid))
			to += sprintf(to, "\\x%02x", c);
		else
			*to++ = c;
	}
	strcpy(to, "\n");
}

static void item_line(enum item_kind kind, const struct item *item, char line[STREAM_LINE])
{
	if (kind == ITEM_NAMED)
		name_line(item, line);
	else
		snprintf(line, STREAM_LINE, "%" PRIu64 " %" PRIu64 "\n", item->key,
			 kind == ITEM_RECORD ? item->value : (uint64_t)item->bytes);
}

void stream_put(struct stream *stream, const struct item *item)
{
	char line[STREAM_LINE];

	item_line(stream->kind, item, line);
	put_line(stream, "%s", line);
	if (stream->kind != ITEM_RECORD) {
		fwrite(item->data, 1, item->bytes, stream->file);
		stream->sum = crc32c(stream->sum, item->data, item->bytes);
		put_line(stream, "\n");
	}
	if (++stream->count % STREAM_BLOCK == 0)
		put_sum(stream);
}

void stream_end(struct stream *stream)
{
	put_line(stream, "# end %" PRIu64 " %08" PRIx32 "\n", stream->count, stream->sum);
}

/* Readers */

static int wrong(struct stream *stream, const char *why)
{
	stream->why = why;
	return -EINVAL;
}

/* 1 with a line, 0 at the end of the file */
static int get_line(struct stream *stream, char line[STREAM_LINE])
{
	stream->line++;
	if (!fgets(line, STREAM_LINE, stream->file))
		return 0;
	if (!strchr(line, '\n'))
		return feof(stream->file) ? 0 : wrong(stream, "a line that is too long");
	return 1;
}

static void take_line(struct stream *stream, const char *line)
{
	stream->sum = crc32c(stream->sum, line, strlen(line));
}

/* The line must be exactly @want */
static int is_line(struct stream *stream, const char *line, const char *want)
{
	if (strcmp(line, want))
		return wrong(stream, "the checksum differs: this line or one before it is damaged");
	stream->summed = stream->line;
	take_line(stream, line);
	return 0;
}

bool stream_begins(const char *line)
{
	return !strcmp(line, STREAM_FIRST) || !strcmp(line, STREAM_VALUES);
}

/* A file without a name */
static FILE *spool_open(void)
{
	const char *dir = getenv("TMPDIR");
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/crabctl.XXXXXX", dir && *dir ? dir : "/tmp");
	fd = mkstemp(path);
	if (fd < 0)
		return NULL;
	unlink(path);
	return fdopen(fd, "w+e");
}

FILE *stream_spool(FILE *from, const char *line)
{
	FILE *to = spool_open();
	char block[65536];
	size_t n;

	if (to)
		fputs(line, to);
	while (to && stream_begins(line) && (n = fread(block, 1, sizeof(block), from)) > 0) {
		if (fwrite(block, 1, n, to) < n)
			break;
	}
	if (to && (ferror(from) || fflush(to) || ferror(to))) {
		fclose(to);
		return NULL;
	}
	if (to)
		rewind(to);
	return to;
}

static FILE *copy_pipe(FILE *file, const char *name, const char *verb)
{
	char line[STREAM_LINE] = "";
	FILE *copy;

	if (!fgets(line, sizeof(line), file) && ferror(file)) {
		fail_file(name, -errno, "%s", verb);
		return NULL;
	}
	copy = stream_spool(file, line);
	if (!copy)
		fail_file(name, -errno, "%s: no copy of it in $TMPDIR or /tmp", verb);
	return copy;
}

FILE *stream_file(const char *path, const char *name, const char *verb)
{
	FILE *file = strcmp(path, "-") ? fopen(path, "re") : stdin, *spooled;
	struct stat st;

	if (!file) {
		fail_file(name, -errno, "open");
		return NULL;
	}
	if (!fstat(fileno(file), &st) && S_ISREG(st.st_mode) && file != stdin)
		return file;
	spooled = copy_pipe(file, name, verb);
	if (file != stdin)
		fclose(file);
	return spooled;
}

/* The rest of a line of the header, after @name, or NULL */
static char *header_value(struct stream *stream, char line[STREAM_LINE], const char *name)
{
	size_t len = strlen(name);

	if (get_line(stream, line) <= 0 || strncmp(line, name, len))
		return NULL;
	take_line(stream, line);
	line[strcspn(line, "\n")] = '\0';
	return line + len;
}

/* The first line, and the kind of a stream that has one in its header */
static int read_first(struct stream *stream)
{
	char line[STREAM_LINE];

	if (!fgets(line, sizeof(line), stream->file) || !stream_begins(line))
		return wrong(stream, "not a snapshot; load reads the lines of a dump");
	take_line(stream, line);
	stream->kind = !strcmp(line, STREAM_VALUES) ? ITEM_BLOB : ITEM_RECORD;
	return 0;
}

static int read_kind(struct stream *stream)
{
	char line[STREAM_LINE], *value = header_value(stream, line, "# kind ");

	if (value && !strcmp(value, item_kind_name(ITEM_NAMED)))
		stream->kind = ITEM_NAMED;
	else if (!value || strcmp(value, item_kind_name(ITEM_BLOB)))
		return wrong(stream, "not a kind of store");
	return 0;
}

/* The last line of the header, which not every stream has */
static int read_commits(struct stream *stream)
{
	off_t at = ftello(stream->file);
	char line[STREAM_LINE];

	if (get_line(stream, line) > 0 && !strcmp(line, STREAM_COMMITS)) {
		take_line(stream, line);
		stream->info.feature_incompat = CRABTREE_INCOMPAT_COMMITS;
		return 0;
	}
	stream->line--;
	return fseeko(stream->file, at, SEEK_SET) ? wrong(stream, "it cannot be read again") : 0;
}

int stream_open(struct stream *stream, FILE *file, const char *name)
{
	char line[STREAM_LINE], *value;
	struct crabtree_info *info;

	*stream = (struct stream){ .file = file, .name = name, .line = 1 };
	info = &stream->info;
	if (read_first(stream))
		return -EINVAL;
	value = header_value(stream, line, "# uuid ");
	if (!value || !uuid_parse(value, info->uuid))
		return wrong(stream, "not a uuid");
	value = header_value(stream, line, "# engine ");
	if (!value || sscanf(value, "%15s %15s %" SCNu64, info->engine, info->layout,
			     (uint64_t *)&info->leaf_bytes) != 3)
		return wrong(stream, "not an engine, a layout and a size of leaves");
	value = header_value(stream, line, "# label ");
	if (!value || strlen(value) >= sizeof(info->label))
		return wrong(stream, "not a label");
	strcpy(info->label, value);
	if (stream->kind != ITEM_RECORD && read_kind(stream))
		return -EINVAL;
	return read_commits(stream);
}

static int read_sum(struct stream *stream)
{
	char line[STREAM_LINE], want[STREAM_LINE];
	int got = get_line(stream, line);

	if (got <= 0)
		return got ? got : wrong(stream, "truncated");
	snprintf(want, sizeof(want), "# sum %08" PRIx32 "\n", stream->sum);
	return is_line(stream, line, want);
}

static int read_end(struct stream *stream, const char *line)
{
	char want[STREAM_LINE];
	int err;

	snprintf(want, sizeof(want), "# end %" PRIu64 " %08" PRIx32 "\n", stream->count,
		 stream->sum);
	err = is_line(stream, line, want);
	if (!err && fgetc(stream->file) != EOF)
		err = wrong(stream, "bytes after the last line");
	stream->ended = !err;
	return err;
}

/* The bytes of a name from its text, as name_line() writes it; false: impossible */
static bool name_parse(const char *text, struct item *item)
{
	unsigned int byte;

	for (item->name_bytes = 0; *text && *text != '\n'; item->name_bytes++) {
		if (item->name_bytes == CRABTREE_NAME_MAX)
			return false;
		byte = (unsigned char)*text++;
		if (byte == '\\') {
			if (sscanf(text, "x%2x", &byte) != 1 || strlen(text) < 3)
				return false;
			text += 3;
		}
		item->name[item->name_bytes] = byte;
	}
	item->name[item->name_bytes] = '\0';
	return item->name_bytes;
}

static bool name_line_parse(const char *line, struct item *item)
{
	char type[16];
	int at = 0, known;

	if (sscanf(line, "%15s %" SCNu32 "%n", type, &item->bytes, &at) != 2 || line[at] != ' ')
		return false;
	known = type_find(type);
	item->type = known >= 0 ? (uint32_t)known : strtoul(type, NULL, 10);
	return name_parse(line + at + 1, item);
}

static bool line_parse(enum item_kind kind, const char *line, struct item *item)
{
	uint64_t number;

	if (kind == ITEM_NAMED)
		return name_line_parse(line, item) && item->bytes <= CRABTREE_BLOB_MAX;
	if (sscanf(line, "%" SCNu64 " %" SCNu64, &item->key, &number) != 2 ||
	    item->key == CRABTREE_KEY_RESERVED)
		return false;
	item->value = number;
	item->bytes = number;
	return kind == ITEM_RECORD || number <= CRABTREE_BLOB_MAX;
}

/* The bytes of a value, and the line feed after them */
static int read_value(struct stream *stream, struct item *item)
{
	uint32_t i;
	int end;

	if (fread(item->data, 1, item->bytes, stream->file) < item->bytes)
		return wrong(stream, "truncated");
	end = fgetc(stream->file);
	if (end != '\n')
		return wrong(stream, end == EOF ? "truncated" : "no line feed after a value");
	stream->sum = crc32c(stream->sum, item->data, item->bytes);
	take_line(stream, "\n");
	for (i = 0; i < item->bytes; i++)
		stream->line += item->data[i] == '\n';
	stream->line++;
	return 0;
}

static int read_item(struct stream *stream, const char *line, struct item *item)
{
	static const char * const forms[] = {
		"not `key value'", "not `key length'", "not `type length name'"
	};
	char again[STREAM_LINE] = "";

	if (line_parse(stream->kind, line, item))
		item_line(stream->kind, item, again);
	if (strcmp(line, again))
		return wrong(stream, forms[stream->kind]);
	if (stream->count && item_compare(stream->kind, &stream->last, item) >= 0)
		return wrong(stream, "it is not after the one before it");
	take_line(stream, line);
	stream->last = *item;
	stream->count++;
	return stream->kind == ITEM_RECORD ? 0 : read_value(stream, item);
}

static int next_item(struct stream *stream, struct item *item)
{
	char line[STREAM_LINE];
	int got;

	if (stream->ended)
		return 0;
	got = get_line(stream, line);
	if (got <= 0)
		return got ? got : wrong(stream, "truncated");
	if (*line == '#')
		return read_end(stream, line);
	if (read_item(stream, line, item))
		return -EINVAL;
	return stream->count % STREAM_BLOCK == 0 && read_sum(stream) ? -EINVAL : 1;
}

int stream_next(struct stream *stream, struct item *item)
{
	int got;

	do
		got = next_item(stream, item);
	while (got > 0 && stream->parts && (stream->count - 1) % stream->parts != stream->part);
	return got;
}

void stream_begin_part(struct stream *stream, uint32_t part, uint32_t parts)
{
	rewind(stream->file);
	stream_open(stream, stream->file, stream->name);
	stream->part = part;
	stream->parts = parts;
}

int stream_verify(struct stream *stream)
{
	struct item item;
	struct stat st;
	int got = item_init(&item);

	if (got)
		return fail_file(stream->name, got, "read");
	progress_begin(NULL, "verified", fstat(fileno(stream->file), &st) ? 0 : st.st_size);
	do {
		got = stream->why ? -EINVAL : stream_next(stream, &item);
		if (stream->count % STREAM_BLOCK == 0)
			progress_show(stream->count, ftello(stream->file));
	} while (got > 0);
	progress_clear();
	free(item.data);
	if (!got) {
		stream_begin_part(stream, 0, 1);
		return EXIT_OK;
	}
	message("%s:%" PRIu64 ": %s (good up to line %" PRIu64 "); nothing was changed", stream->name,
		stream->line, stream->why, stream->summed);
	return EXIT_FAILED;
}

int stream_store(struct stream *stream, struct crabtree *ct, unsigned int flags, uint64_t *stored)
{
	struct item item;
	int got, err = item_init(&item);

	*stored = 0;
	while (!err && (got = stream_next(stream, &item))) {
		err = got < 0 ? got : item_put(ct, stream->kind, &item, flags);
		*stored += !err;
		progress_show(*stored, ftello(stream->file));
	}
	free(item.data);
	return err;
}

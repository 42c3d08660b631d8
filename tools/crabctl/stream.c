// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements streams.
 *
 * Invariant: a reader compares each line that is no record with the line that a writer would have
 * written there, so no byte of a stream can differ without an error.
 */
#include "stream.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define STREAM_FIRST	"# crabtree snapshot 1\n"
#define STREAM_BLOCK	256	/* records before a checksum */
#define STREAM_LINE	128	/* bytes of a line, at most */

static uint32_t crc32c(uint32_t crc, const char *p, size_t n)
{
	int bit;

	crc = ~crc;
	while (n--) {
		crc ^= (unsigned char)*p++;
		for (bit = 0; bit < 8; bit++)
			crc = crc >> 1 ^ (crc & 1 ? 0x82F63B78U : 0);
	}
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
	put_line(stream, STREAM_FIRST);
	put_line(stream, "# uuid %s\n", uuid);
	put_line(stream, "# engine %s %s %" PRIu64 "\n", info->engine, info->layout,
		 (uint64_t)info->leaf_bytes);
	put_line(stream, "# label %s\n", info->label);
}

static void put_sum(struct stream *stream)
{
	put_line(stream, "# sum %08" PRIx32 "\n", stream->sum);
}

void stream_put(struct stream *stream, const struct crabtree_record *record)
{
	put_line(stream, "%" PRIu64 " %" PRIu64 "\n", (uint64_t)record->key,
		 (uint64_t)record->value);
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

bool stream_is(FILE *file)
{
	char line[STREAM_LINE];
	bool is = fgets(line, sizeof(line), file) && !strcmp(line, STREAM_FIRST);

	if (!is)
		rewind(file);
	return is;
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

int stream_open(struct stream *stream, FILE *file, const char *name)
{
	char line[STREAM_LINE], *value;
	struct crabtree_info *info;

	*stream = (struct stream){ .file = file, .name = name, .line = 1 };
	info = &stream->info;
	if (!stream_is(file))
		return wrong(stream, "not a snapshot");
	take_line(stream, STREAM_FIRST);
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
	return 0;
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

static int read_record(struct stream *stream, const char *line, struct crabtree_record *record)
{
	uint64_t key, value;
	char again[STREAM_LINE];

	if (sscanf(line, "%" SCNu64 " %" SCNu64, &key, &value) != 2)
		return wrong(stream, "not `key value'");
	snprintf(again, sizeof(again), "%" PRIu64 " %" PRIu64 "\n", key, value);
	if (strcmp(line, again) || key == CRABTREE_KEY_RESERVED)
		return wrong(stream, "not `key value'");
	if (stream->count && key <= stream->last)
		return wrong(stream, "the key is not above the one before it");
	take_line(stream, line);
	stream->last = key;
	stream->count++;
	*record = (struct crabtree_record){ key, value };
	return 1;
}

int stream_next(struct stream *stream, struct crabtree_record *record)
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
	got = read_record(stream, line, record);
	if (got > 0 && stream->count % STREAM_BLOCK == 0 && read_sum(stream))
		return -EINVAL;
	return got;
}

int stream_verify(struct stream *stream)
{
	struct crabtree_record record;
	int got;

	do
		got = stream->why ? -EINVAL : stream_next(stream, &record);
	while (got > 0);
	if (!got) {
		rewind(stream->file);
		stream_open(stream, stream->file, stream->name);
		return EXIT_OK;
	}
	fprintf(stderr, "crabctl: %s:%" PRIu64 ": %s (good up to line %" PRIu64
		"); nothing was changed\n", stream->name, stream->line, stream->why, stream->summed);
	return EXIT_FAILED;
}

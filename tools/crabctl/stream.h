/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares streams: the file of a snapshot. It has the lines of a dump; its header, its
 * checksums and its last line are comments, so that `crabctl load` reads it, too.
 *
 *	# crabtree snapshot 1
 *	# uuid 5f0c...
 *	# engine crab slotted 1024
 *	# label retain
 *	1 100				up to 256 records, ascending
 *	# sum 89ab4567			of all bytes before this line
 *	...
 *	# end 1000 01234567		records, and the same
 *
 * In a snapshot of blobs or of names the first line ends in 2, and the header has one line more. The
 * bytes of each value follow its line, and a line feed follows them:
 *
 *	# kind blobs			or names
 *	12 5				key, length
 *	hello
 *
 *	u64 8 plc/motor.hours		type, length, name; in it \xNN is one byte
 *	........
 *
 * The header of a store of commits ends with one more:
 *
 *	# commits
 */
#ifndef CRABCTL_STREAM_H
#define CRABCTL_STREAM_H

#include "item.h"

/**
 * struct stream - a stream that is written or read
 * @file: the file
 * @name: its name, for messages
 * @kind: of the items
 * @sum: CRC-32C of all bytes so far
 * @line: number of the last line
 * @summed: number of the last line that a checksum verified
 * @count: items so far
 * @left_out: of a writer: damaged items, and ranges of them, that it left out
 * @last: the last one, without a value
 * @ended: the last line was read
 * @part: of @parts: stream_next() returns each item whose number has this remainder
 * @parts: 0: all items
 * @info: the store that it came from: uuid, engine, layout, leaf_bytes, label, and of
 *	feature_incompat whether it is a store of commits
 * @why: out, on error: the error in the line @line
 */
struct stream {
	FILE *file;
	const char *name;
	enum item_kind kind;
	uint32_t sum;
	uint64_t line;
	uint64_t summed;
	uint64_t count;
	uint64_t left_out;
	struct item last;
	bool ended;
	uint32_t part;
	uint32_t parts;
	struct crabtree_info info;
	const char *why;
};

/* The CRC-32C of bytes, continued from @crc; 0 to begin with */
uint32_t crc32c(uint32_t crc, const void *from, size_t n);

/* Writers; errors are those of the file, as ferror() reports them */
void stream_begin(struct stream *stream, const struct crabtree_info *info);
void stream_put(struct stream *stream, const struct item *item);
void stream_end(struct stream *stream);

/* Is it the first line of a stream? */
bool stream_begins(const char *line);

/**
 * stream_spool() - copy a pipe, which cannot be read twice, to a file without a name
 * @from: the pipe
 * @line: its first line, or a part of it, which was read
 * A pipe that has no stream may have no end: only @line is copied then.
 * Return: the copy, at its beginning, or NULL with errno.
 */
FILE *stream_spool(FILE *from, const char *line);

/* A file that can be read twice: a copy of @path, if that is a pipe or "-"; NULL after a message */
FILE *stream_file(const char *path, const char *name, const char *verb);

/**
 * stream_open() - begin to read
 * @stream: out
 * @file: at its beginning
 * @name: of the file
 * Return: 0, or -EINVAL: it is no stream.
 */
int stream_open(struct stream *stream, FILE *file, const char *name);

/**
 * stream_next() - read the next item
 * @stream: the stream
 * @item: out
 *
 * An item is only as good as the next checksum: use none before stream_verify() was content.
 *
 * Return: 1, 0 after the last line, or -EINVAL with @stream->why: truncated or damaged.
 */
int stream_next(struct stream *stream, struct item *item);

/**
 * stream_verify() - read a whole stream, then go back to its beginning
 * @stream: as stream_open() left it
 * Return: EXIT_OK, or EXIT_FAILED after a message with place and cause.
 */
int stream_verify(struct stream *stream);

/* Begins again, with every @parts-th item alone, from the one with the number @part on */
void stream_begin_part(struct stream *stream, uint32_t part, uint32_t parts);

/**
 * stream_store() - store the rest of a stream of blobs or of names
 * @stream: the stream; it was verified
 * @ct: a store of its kind
 * @flags: CRABTREE_PUT_*
 * @stored: out: how many values were stored
 * Return: 0, or the error of a put or of the stream; @stream->last is the item that it is about.
 */
int stream_store(struct stream *stream, struct crabtree *ct, unsigned int flags, uint64_t *stored);

#endif /* CRABCTL_STREAM_H */

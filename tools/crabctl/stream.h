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
 */
#ifndef CRABCTL_STREAM_H
#define CRABCTL_STREAM_H

#include "crabctl.h"

/**
 * struct stream - a stream that is written or read
 * @file: the file
 * @name: its name, for messages
 * @sum: CRC-32C of all bytes so far
 * @line: number of the last line
 * @summed: number of the last line that a checksum verified
 * @count: records so far
 * @last: key of the last one
 * @ended: the last line was read
 * @info: the store that it came from: uuid, engine, layout, leaf_bytes, label
 * @why: out, on error: the error in the line @line
 */
struct stream {
	FILE *file;
	const char *name;
	uint32_t sum;
	uint64_t line;
	uint64_t summed;
	uint64_t count;
	uint64_t last;
	bool ended;
	struct crabtree_info info;
	const char *why;
};

/* Writers; errors are those of the file, as ferror() reports them */
void stream_begin(struct stream *stream, const struct crabtree_info *info);
void stream_put(struct stream *stream, const struct crabtree_record *record);
void stream_end(struct stream *stream);

/* Is it the first line of a stream? The file is then at its second line, else at its beginning */
bool stream_is(FILE *file);

/**
 * stream_open() - begin to read
 * @stream: out
 * @file: at its beginning
 * @name: of the file
 * Return: 0, or -EINVAL: it is no stream.
 */
int stream_open(struct stream *stream, FILE *file, const char *name);

/**
 * stream_next() - read the next record
 * @stream: the stream
 * @record: out
 *
 * A record is only as good as the next checksum: use none before stream_verify() was content.
 *
 * Return: 1, 0 after the last line, or -EINVAL with @stream->why: truncated or damaged.
 */
int stream_next(struct stream *stream, struct crabtree_record *record);

/**
 * stream_verify() - read a whole stream, then go back to its beginning
 * @stream: as stream_open() left it
 * Return: EXIT_OK, or EXIT_FAILED after a message with place and cause.
 */
int stream_verify(struct stream *stream);

#endif /* CRABCTL_STREAM_H */

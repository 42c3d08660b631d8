// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements `crabctl load`: records from lines `key value`, stored in batches; or the
 * values of a snapshot of blobs or of names, one by one.
 *
 * Invariants: a line is acknowledged (--ack) only after the call that stored it
 * has returned. A malformed line or a failed record stops the load after its
 * batch; no line after a malformed line is applied. A damaged snapshot is refused as a whole.
 */
#include "stream.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BATCH_DEFAULT	1024
#define BATCH_ACK	64	/* records at most that are stored and not yet acknowledged */
#define ACK_LINE_MAX	24	/* "A 18446744073709551615\n" */

struct args {
	struct target *target;
	const char *ack;
	unsigned int flags;
	uint32_t batch;
};

/**
 * struct load - a file that is being loaded
 * @args: the command line
 * @target: the store
 * @file: the lines
 * @text: the line read last, or ahead
 * @len: its length
 * @got: of it, as of line_next()
 * @name: of the file, for messages
 * @stream: the file, if it is a snapshot
 * @kind: of its items
 * @ack: file descriptor for acknowledgements, or -1
 * @line: number of the line read last
 * @count: records that wait in @ops
 * @stored: records stored
 * @batches: calls made
 * @ops: the batch
 * @lines: the line of each
 */
struct load {
	const struct args *args;
	struct target *target;
	FILE *file;
	char text[LINE_ROOM];
	size_t len;
	int got;
	const char *name;
	struct stream stream;
	enum item_kind kind;
	int ack;
	uint64_t line;
	uint32_t count;
	uint64_t stored;
	uint64_t batches;
	struct crabtree_batch_op ops[CRABTREE_BATCH_MAX];
	uint64_t lines[CRABTREE_BATCH_MAX];
};

enum { OPT_CREATE = 0x2000, OPT_REPLACE, OPT_ACK, OPT_BATCH };

static const struct argp_option options[] = {
	{ "create", OPT_CREATE, NULL, 0, "fail at a key that is there", 0 },
	{ "replace", OPT_REPLACE, NULL, 0, "fail at a key that is not there", 0 },
	{ "ack", OPT_ACK, "FILE", 0,
	  "append `A LINE' to FILE for each record once it is durable", 0 },
	{ "batch", OPT_BATCH, "N", 0,
	  "store N records by one call, 1 to 4096 [1024]; with --ack 1 to 64 [64]", 0 },
	{ 0 }
};

static uint32_t batch_arg(struct argp_state *state, const char *arg)
{
	uint64_t batch = number_arg(state, "--batch", arg);

	if (!batch || batch > CRABTREE_BATCH_MAX)
		arg_error(state, "--batch %s: 1 to %u", arg, CRABTREE_BATCH_MAX);
	return batch;
}

/* --batch may come before --ack: its limit is known once all arguments are */
static void batch_end(struct argp_state *state, struct args *args)
{
	if (args->ack && args->batch > BATCH_ACK)
		arg_error(state, "--batch %" PRIu32 ": 1 to %u with --ack", args->batch, BATCH_ACK);
	if (!args->batch)
		args->batch = args->ack ? BATCH_ACK : BATCH_DEFAULT;
}

static error_t parse_opt(int key, char *arg, struct argp_state *state)
{
	struct args *args = state->input;

	switch (key) {
	case OPT_CREATE:
		args->flags |= CRABTREE_INSERT_CREATE;
		return 0;
	case OPT_REPLACE:
		args->flags |= CRABTREE_INSERT_REPLACE;
		return 0;
	case OPT_ACK:
		args->ack = arg;
		return 0;
	case OPT_BATCH:
		args->batch = batch_arg(state, arg);
		return 0;
	case ARGP_KEY_END:
		batch_end(state, args);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse_opt,
	.args_doc = "FILE|-",
	.doc = "Store the records of a file: lines `key value', decimal or 0x hexadecimal; "
	       "blank lines and text after # are skipped. Or store the values of a snapshot of blobs or "
	       "of names in a store of that kind.",
};

/*
 * A full disk takes a part of a line, which reads as another number: of @done bytes, cuts off those
 * after the last line feed. But not if another program has appended to the file.
 */
static void cut_line(int fd, const char *buf, size_t done)
{
	off_t end = lseek(fd, 0, SEEK_CUR), whole = end - done;
	struct stat st;

	while (done && buf[done - 1] != '\n')
		done--;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size == end && ftruncate(fd, whole + done))
		message("the last line of the acknowledgements is not whole");
}

/* Writes lines: 0 or a negative errno */
static int write_lines(int fd, const char *buf, size_t len)
{
	size_t done = 0;
	ssize_t n;
	int err;

	while (done < len) {
		n = write(fd, buf + done, len - done);
		if (n < 0 && errno != EINTR) {
			err = -errno;
			cut_line(fd, buf, done);
			return err;
		}
		done += n > 0 ? n : 0;
	}
	return 0;
}

/* Acknowledge the operations in @ops[@first..@end) that were stored */
static int acknowledge(struct load *load, uint32_t first, uint32_t end)
{
	char buf[BATCH_ACK * ACK_LINE_MAX];
	size_t len = 0;
	uint32_t i;
	int err;

	if (load->ack < 0)
		return EXIT_OK;
	err = crabtree_sync(load->target->ct);
	if (err)
		return fail(load->target, err, "sync");
	for (i = first; i < end; i++) {
		if (!load->ops[i].status)
			len += sprintf(buf + len, "A %" PRIu64 "\n", load->lines[i]);
	}
	err = write_lines(load->ack, buf, len);
	return err ? fail_file(load->args->ack, err, "acknowledge") : EXIT_OK;
}

static int verify(struct load *load, uint32_t first, uint32_t end)
{
	int status, code = EXIT_OK;
	uint32_t i;

	for (i = first; i < end; i++) {
		status = load->ops[i].status;
		if (!status)
			load->stored++;
		else if (!code)
			code = fail(load->target, status, "load %s:%" PRIu64 ", key %" PRIu64,
				    load->name, load->lines[i],
				    (uint64_t)load->ops[i].key);
	}
	return code;
}

/* One call; a signal may have cut it short */
static int submit_once(struct load *load, uint32_t *first)
{
	uint32_t done;
	int err, code, acked;

	err = crabtree_batch(load->target->ct, load->ops + *first, load->count - *first, &done);
	if (err == -EINTR)
		return EXIT_OK;
	if (!err && done > load->count - *first)
		err = -EPROTO;
	if (err)
		return fail(load->target, err, "load %s:%" PRIu64, load->name,
			    load->lines[*first]);
	load->batches++;
	acked = acknowledge(load, *first, *first + done);
	code = verify(load, *first, *first + done);
	*first += done;
	return acked ? acked : code;
}

static int submit(struct load *load)
{
	uint32_t first = 0;
	int code = EXIT_OK;

	while (!code && first < load->count)
		code = submit_once(load, &first);
	load->count = 0;
	return code;
}

/* NULL, or the error in the line; @op->verb is 0 for a line without a record */
static const char *parse_line(char *text, struct crabtree_batch_op *op)
{
	const char *blanks = " \t\r\n";
	const char *wrong;
	char *key, *value, *save;
	uint64_t numbers[2];

	op->verb = 0;
	text[strcspn(text, "#")] = '\0';
	key = strtok_r(text, blanks, &save);
	if (!key)
		return NULL;
	value = strtok_r(NULL, blanks, &save);
	if (!value || strtok_r(NULL, blanks, &save))
		return "not of the form `key value'";
	wrong = number_parse(key, &numbers[0]);
	if (!wrong)
		wrong = number_parse(value, &numbers[1]);
	if (!wrong && numbers[0] == CRABTREE_KEY_RESERVED)
		wrong = "this key is reserved, it marks a free slot";
	*op = (struct crabtree_batch_op){
		.verb = CRABTREE_BATCH_INSERT,
		.key = numbers[0],
		.value = numbers[1],
	};
	return wrong;
}

static int malformed(struct load *load, const char *wrong)
{
	int code = submit(load);

	if (code)
		return code;
	message("%s:%" PRIu64 ": %s", load->name, load->line, wrong);
	return EXIT_FAILED;
}

static int load_line(struct load *load)
{
	struct crabtree_batch_op *op = &load->ops[load->count];
	const char *wrong = load->got > 0 ? NULL : LINE_LONG;

	if (!wrong && strlen(load->text) != load->len)
		wrong = "not text: it holds a zero byte";
	if (!wrong)
		wrong = parse_line(load->text, op);
	if (wrong)
		return malformed(load, wrong);
	if (!op->verb)
		return EXIT_OK;
	op->flags = load->args->flags;
	load->lines[load->count++] = load->line;
	return load->count == load->args->batch ? submit(load) : EXIT_OK;
}

static void line_ahead(struct load *load)
{
	load->got = line_next(load->file, load->text, &load->len);
}

static int load_lines(struct load *load)
{
	int code = EXIT_OK;

	while (!code && (load->got > 0 || load->got == -EMSGSIZE)) {
		load->line++;
		code = load_line(load);
		if (!load->count)
			progress_show(load->stored, ftello(load->file));
		if (!code)
			line_ahead(load);
	}
	if (!code)
		code = submit(load);
	return !code && load->got < 0 ? fail_file(load->name, load->got, "read") : code;
}

/* The values of a snapshot, in a store of its kind */
static int load_values(struct load *load)
{
	struct crabtree_info info = { 0 };
	char label[ITEM_LABEL];
	int err = crabtree_info(load->target->ct, &info, sizeof(info));

	if (!err && item_kind(&info) != load->kind) {
		message("load: %s has %s, the store %s has %s: format it with --%s", load->name,
			item_kind_name(load->kind), target_path(load->target),
			item_kind_name(item_kind(&info)), item_kind_name(load->kind));
		return EXIT_FAILED;
	}
	if (!err)
		err = stream_store(&load->stream, load->target->ct, load->args->flags, &load->stored);
	if (!err)
		return EXIT_OK;
	return fail(load->target, err, "load %s:%" PRIu64 ", %s", load->name, load->stream.line,
		    item_label(load->kind, &load->stream.last, label));
}

static int report(const struct load *load)
{
	struct json_object *json;

	if (!load->target->json) {
		printf("%" PRIu64 " %s stored\n", load->stored, item_noun(load->kind, load->stored));
		return EXIT_OK;
	}
	json = json_object_new_object();
	json_text(json, "file", load->name);
	json_u64(json, "lines", load->kind == ITEM_RECORD ? load->line : load->stream.line);
	json_u64(json, "records", load->stored);
	json_u64(json, "batches", load->batches);
	return json_print(json);
}

static bool is_regular(FILE *file, struct stat *st)
{
	return !fstat(fileno(file), st) && S_ISREG(st->st_mode);
}

static uint64_t file_size(FILE *file)
{
	struct stat st;

	return is_regular(file, &st) ? st.st_size : 0;
}

/* A snapshot from a pipe is copied; an exit code, after a message */
static int spool(struct load *load)
{
	FILE *copy = stream_spool(load->file, load->text);

	if (!copy)
		return fail_file(load->name, -errno, "load: no copy of it in $TMPDIR or /tmp");
	if (load->file != stdin)
		fclose(load->file);
	load->file = copy;
	return EXIT_OK;
}

/* Lines that begin like a snapshot are verified to the last one before a record is stored */
static int verify_snapshot(struct load *load)
{
	struct stat st;
	int code;

	line_ahead(load);
	line_drop_mark(load->text, &load->len);
	if (load->got <= 0 || !stream_begins(load->text))
		return EXIT_OK;
	code = load->file == stdin || !is_regular(load->file, &st) ? spool(load) : EXIT_OK;
	if (code)
		return code;
	rewind(load->file);
	stream_open(&load->stream, load->file, load->name);
	code = stream_verify(&load->stream);
	load->kind = load->stream.kind;
	if (load->kind != ITEM_RECORD)
		return code;
	rewind(load->file);
	line_ahead(load);
	return code;
}

/* Is it the beginning of "A LINE"? */
static bool is_torn(const char *line)
{
	return !strncmp(line, "A ", strlen(line)) ||
	       (!strncmp(line, "A ", 2) && !line[2 + strspn(line + 2, "0123456789")]);
}

/*
 * After a power cut the file may end in a part of a line, perhaps with zero bytes, which reads as another
 * number: it is cut off. Another line without a line feed is not an acknowledgement's.
 */
static int cut_torn(int fd, const char *path)
{
	char end[ACK_LINE_MAX + 1] = "", *line;
	off_t from = 0;
	struct stat st;
	ssize_t n;

	if (!fstat(fd, &st) && st.st_size > ACK_LINE_MAX)
		from = st.st_size - ACK_LINE_MAX;
	n = pread(fd, end, ACK_LINE_MAX, from);
	if (n < 0)
		return fail_file(path, -errno, "read");
	line = memrchr(end, '\n', n);
	line = line ? line + 1 : end;
	if ((from && line == end) || !is_torn(line)) {
		message("%s: its last line has no line feed, and is not one of --ack", path);
		return EXIT_FAILED;
	}
	n -= line - end;
	if (n && ftruncate(fd, from + (line - end)))
		return fail_file(path, -errno, "truncate");
	if (n)
		message("%s: its last line was not whole, and is removed", path);
	return EXIT_OK;
}

/* Acknowledgements in the file that is read would be its last lines */
static bool is_input(const struct load *load, const char *path)
{
	struct stat input, st;

	return is_regular(load->file, &input) && !stat(path, &st) && st.st_dev == input.st_dev &&
	       st.st_ino == input.st_ino;
}

static int open_ack(struct load *load, const char *path)
{
	struct stat st;
	bool regular;

	if (target_spare(load->target, path))
		return EXIT_FAILED;
	if (is_input(load, path)) {
		message("%s: load: that is the file with the records", path);
		return EXIT_FAILED;
	}
	regular = !stat(path, &st) && S_ISREG(st.st_mode);
	load->ack = open(path, (regular ? O_RDWR : O_WRONLY) | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	if (load->ack < 0)
		return fail_file(path, -errno, "open");
	return regular ? cut_torn(load->ack, path) : EXIT_OK;
}

/* The store is opened last: it is not touched if the file does not exist */
static int open_all(struct load *load)
{
	const struct args *args = load->args;
	const char *path = load->target->word[0];
	bool named = strcmp(path, "-");
	int code;

	load->name = named ? path : "standard input";
	load->file = named ? fopen(path, "re") : stdin;
	if (!load->file)
		return fail_file(path, -errno, "open");
	code = verify_snapshot(load);
	if (code)
		return code;
	if (args->ack && load->kind != ITEM_RECORD) {
		message("load: --ack is for lines of records");
		return EXIT_USAGE;
	}
	code = args->ack ? open_ack(load, args->ack) : EXIT_OK;
	if (!code)
		code = target_open(load->target, 0);
	return code ? code : target_store(load->target, "load", load->name);
}

static int close_all(struct load *load, int code)
{
	int closed = target_close(load->target);

	if (load->ack >= 0 && close(load->ack) && !closed)
		closed = fail_file(load->args->ack, -errno, "close");
	if (load->file && load->file != stdin)
		fclose(load->file);
	return code ? code : closed;
}

int verb_load(struct target *target, int argc, char **argv)
{
	struct args args = { .target = target };
	static struct load load;
	int code;

	verb_parse(&argp, argc, argv, &args);
	load.args = &args;
	load.target = target;
	load.ack = -1;
	code = open_all(&load);
	if (!code) {
		progress_begin(NULL, item_kind_name(load.kind), file_size(load.file));
		code = load.kind == ITEM_RECORD ? load_lines(&load) : load_values(&load);
		progress_clear();
	}
	code = close_all(&load, code);
	return code ? code : report(&load);
}

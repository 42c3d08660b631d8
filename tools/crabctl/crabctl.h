/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the shared parts of crabctl's verbs: the target that they use,
 * how they read numbers, how they print and how they fail.
 *
 * Every verb is `int verb(struct target *, int argc, char **argv)`; it returns
 * an exit code, and has printed the reason on stderr if it is not EXIT_OK. main() closes the target
 * that it has opened.
 */
#ifndef CRABCTL_H
#define CRABCTL_H

#include <argp.h>
#include <errno.h>
#include <json-c/json.h>
#include <poll.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <crabtree.h>

/* Exit codes, documented in crabctl(1) */
enum exit_code {
	EXIT_OK		= 0,
	EXIT_NOT_FOUND	= 1,	/* no such key, or check found errors */
	EXIT_USAGE	= 2,
	EXIT_FAILED	= 3,
};

#define TARGET_WORDS	3
#define IMAGE_PATH	"file:"	/* before the path of an image, as of crabtree_open() */

/**
 * struct target - the store that a command works on
 * @device: path of the device
 * @image: path of an image file, or NULL: then the device
 * @named: an option or the environment names it; it is not the default
 * @option: the option that names it, or NULL
 * @json: print JSON
 * @word: the words after the verb; NULL: there are fewer
 * @ct: the open handle, or NULL
 */
struct target {
	const char *device;
	const char *image;
	bool named;
	const char *option;
	bool json;
	const char *word[TARGET_WORDS];
	struct crabtree *ct;
};

static inline bool is_image_path(const char *path)
{
	return !strncmp(path, IMAGE_PATH, sizeof(IMAGE_PATH) - 1);
}

/* target.c */
extern const struct argp target_argp;
extern const struct argp_child target_child[];
const char *target_path(const struct target *target);
/* Opens it: 0, or a negative errno without a message */
int target_try(struct target *target, unsigned int flags);
/* The same: EXIT_OK, or EXIT_FAILED after a message */
int target_open(struct target *target, unsigned int flags);
/* The meaning of an errno of an open */
const char *target_error(const struct target *target, int err);
/* Is @path not the image, which output would destroy? EXIT_OK, or EXIT_FAILED after a message */
int target_spare(const struct target *target, const char *path);
/* Is there a store, which has a kind? EXIT_OK, or the error of a read; @name: for messages, or NULL */
int target_store(struct target *target, const char *verb, const char *name);
int target_close(struct target *target);
int target_end(struct target *target, int code);
/* Is JSON wanted of @verb, which prints none? EXIT_OK, or EXIT_USAGE after a message */
int target_no_json(const struct target *target, const char *verb);
/* Does an option name a target for @verb, which is about all devices? The same */
int target_no_option(const struct target *target, const char *verb);
/* The path of a device: crabN, as `region add' prints it, is /dev/crabN */
const char *target_device(const char *name);
/* The target is a device, or an image by the path that the library has for it */
void target_name(struct target *target, const char *name);
/*
 * Parses the command line of a verb. The parser of @argp need not know the target, nor the words of
 * .args_doc, which the target has then; the first field of @args is the target.
 */
void verb_parse(const struct argp *argp, int argc, char **argv, void *args);
/* The same for a verb whose only argument is the target */
void verb_parse_bare(struct target *target, const char *doc, int argc, char **argv);
/* The same for a verb whose only argument is a file: returns its name */
const char *verb_parse_file(struct target *target, const char *doc, int argc, char **argv);

/* error.c: a text without control characters, to be freed; NULL: no memory */
char *text_print(const char *fmt, va_list args) __attribute__((format(printf, 1, 0)));
/* One line of it on stderr: a message; as argp_error(); then with an exit code */
void message(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void arg_error(struct argp_state *state, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
int fail(struct target *target, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int fail_file(const char *path, int err, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#define ENGINE_VOLATILE	"volatile"	/* an engine without a store */

/* format.c: of @verb, before it overwrites a region; and why FORMAT was refused. Exit codes */
int format_ask(const struct target *target, const struct crabtree_info *info, const char *verb);
int format_refused(struct target *target, int err, const char *verb);

/* number.c */
const char *number_parse(const char *text, uint64_t *number);
uint64_t number_arg(struct argp_state *state, const char *what, const char *text);
uint64_t key_arg(struct argp_state *state, const char *text);
uint64_t image_size_arg(struct argp_state *state, const char *text);
uint32_t leaf_arg(struct argp_state *state, const char *text);
bool uuid_parse(const char *text, uint8_t uuid[CRABTREE_UUID_LEN]);
void uuid_arg(struct argp_state *state, const char *text, uint8_t uuid[CRABTREE_UUID_LEN]);
void text_arg(struct argp_state *state, const char *what, const char *text, char *field, size_t len);

#define SIZE_TRIALS	10

/* Is it the error of an image that is too small: for all, or for one value? */
static inline bool is_too_small(int err)
{
	return err == -ENOSPC || err == -EMSGSIZE;
}

/* The size of an image that is tried after @n others were too small: 1/16 more, 3/16, 7/16 ... */
static inline uint64_t size_larger(uint64_t size, unsigned int n)
{
	return size + ((size / 16 | 4095) + 1) * ((2ULL << n) - 1);
}

/* line.c */
#define LINE_ROOM	(256U << 10)
#define LINE_LONG	"a line of 256 KiB or more"

/**
 * line_next() - read the next line of a text file
 * @file: the file
 * @text: out: the line, its line feed if there is one, and a NUL
 * @len: out: length of the line
 * Return: 1, 0 at the end of the file, -EMSGSIZE: it has no room, or another negative errno.
 */
int line_next(FILE *file, char text[LINE_ROOM], size_t *len);

/* Drops the byte-order mark with which some editors begin the first line of a text in UTF-8 */
void line_drop_mark(char *text, size_t *len);

/* output.c */
#define UUID_TEXT_LEN	37

void uuid_text(const uint8_t uuid[CRABTREE_UUID_LEN], char text[UUID_TEXT_LEN]);
void bytes_text(uint64_t bytes, char *text, size_t len);

static inline bool is_control(unsigned char c)
{
	return c < ' ' || c == 0x7f;
}

/*
 * Any bytes as UTF-8: control characters (also U+0080 to U+009F), and all bytes above 0x7f of a text
 * that is not UTF-8, as \xNN; @room: 4 bytes for each, and a NUL. Returns @room.
 */
const char *text_escape(const char *text, size_t bytes, char *room);
/* The same, with \x5c for a backslash that would be read as such a byte; and the bytes again */
const char *name_escape(const char *name, size_t bytes, char *room);
size_t name_unescape(const char *text, char *room);

/* The noun after a number of things */
static inline const char *noun(uint64_t n, const char *one, const char *many)
{
	return n == 1 ? one : many;
}

#define LABEL_TEXT	(4 * CRABTREE_LABEL_LEN + 1)

/* The label of a store, of which the media may have any bytes */
const char *label_text(const struct crabtree_info *info, char room[LABEL_TEXT]);

#define LINE_NUMBERS	192	/* bytes of a line without names, at most */
#define LINE_NAME	2048	/* of one with a name */

/* Before a line of at most @bytes: makes room in the buffer, so that a signal leaves whole lines */
void line_begin(FILE *file, size_t bytes);

/*
 * Waits as poll(); @polled has room for one more. If nothing reads standard output any longer, the
 * program ends, as a write to it would end it
 */
void output_poll(struct pollfd *polled, nfds_t count, int timeout);

void json_u64(struct json_object *object, const char *name, uint64_t value);
void json_text(struct json_object *object, const char *name, const char *text);
/* As json_text(); a field of @len bytes may end without a NUL */
void json_field(struct json_object *object, const char *name, const char *text, size_t len);
int json_print(struct json_object *object);
/* An array that is printed as it comes, so that any length needs no memory; @count: its elements so far */
void json_element(struct json_object *object, uint64_t *count);
void json_elements_end(uint64_t count);

/**
 * struct record_writer - records as lines or as a JSON array
 * @file: file to write to
 * @json: as an array of objects
 * @hex: numbers in hexadecimal
 * @count: how many so far
 * @gaps: quarantined ranges that were left out
 */
struct record_writer {
	FILE *file;
	bool json;
	bool hex;
	uint64_t count;
	uint64_t gaps;
};

void record_put(struct record_writer *writer, const struct crabtree_record *record);
void record_end(struct record_writer *writer);

/**
 * struct walk - the records to write
 * @target: the store
 * @verb: name of the verb, for messages
 * @from: the lowest key wanted
 * @to: the highest key wanted
 * @limit: number of records at most
 * @reverse: in descending order
 */
struct walk {
	struct target *target;
	const char *verb;
	uint64_t from;
	uint64_t to;
	uint64_t limit;
	bool reverse;
};

/* walk.c: the lowest of the @last highest keys of the range; or an error, with a message */
int walk_find_last(const struct walk *walk, uint64_t last, uint64_t *key);

/* walk.c: EXIT_OK at the end of the range, also with gaps */
int walk_records(const struct walk *walk, struct record_writer *writer);

/* dump.c: makes a file durable and closes it; EXIT_OK, or EXIT_FAILED after a message */
int file_settle(FILE *file, const char *path);

/* progress.c */
void progress_begin(FILE *to, const char *what, uint64_t total);
void progress_show(uint64_t count, uint64_t part);
void progress_clear(void);

/* info.c */
struct json_object *info_json(const struct target *target, const struct crabtree_info *info);

/* the verbs */
int verb_info(struct target *target, int argc, char **argv);
int verb_list(struct target *target, int argc, char **argv);
int verb_format(struct target *target, int argc, char **argv);
int verb_get(struct target *target, int argc, char **argv);
int verb_put(struct target *target, int argc, char **argv);
int verb_swap(struct target *target, int argc, char **argv);
int verb_add(struct target *target, int argc, char **argv);
int verb_del(struct target *target, int argc, char **argv);
int verb_set(struct target *target, int argc, char **argv);
int verb_cat(struct target *target, int argc, char **argv);
int verb_rm(struct target *target, int argc, char **argv);
int verb_ls(struct target *target, int argc, char **argv);
int verb_scan(struct target *target, int argc, char **argv);
int verb_dump(struct target *target, int argc, char **argv);
int verb_load(struct target *target, int argc, char **argv);
int verb_commit(struct target *target, int argc, char **argv);
int verb_check(struct target *target, int argc, char **argv);
int verb_doctor(struct target *target, int argc, char **argv);
int verb_fsck(struct target *target, int argc, char **argv);
int verb_tree(struct target *target, int argc, char **argv);
int verb_metrics(struct target *target, int argc, char **argv);
int verb_events(struct target *target, int argc, char **argv);
int verb_watch(struct target *target, int argc, char **argv);
int verb_snapshot(struct target *target, int argc, char **argv);
int verb_restore(struct target *target, int argc, char **argv);
int verb_diff(struct target *target, int argc, char **argv);
int verb_top(struct target *target, int argc, char **argv);
int verb_region(struct target *target, int argc, char **argv);

#endif /* CRABCTL_H */

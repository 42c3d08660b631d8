// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements printing: JSON objects, sizes, and records one by one,
 * so that a scan of any length needs no memory.
 */
#include "crabctl.h"

#include <ctype.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "typed.h"

void uuid_text(const uint8_t uuid[CRABTREE_UUID_LEN], char text[UUID_TEXT_LEN])
{
	int i;

	for (i = 0; i < CRABTREE_UUID_LEN; i++)
		text += sprintf(text, "%s%02x",
				i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", uuid[i]);
}

/* Prints a size with a unit, if that is exact enough */
void bytes_text(uint64_t bytes, char *text, size_t len)
{
	static const char units[] = "KMGTPE";
	double value = bytes;
	int unit = -1;

	while (value >= 1024 && units[unit + 1]) {
		value /= 1024;
		unit++;
	}
	if (unit < 0)
		snprintf(text, len, "%" PRIu64 " bytes", bytes);
	else
		snprintf(text, len, "%.*f %ciB", value == (uint64_t)value ? 0 : 1, value,
			 units[unit]);
}

void line_begin(FILE *file, size_t bytes)
{
	if (__fbufsize(file) - __fpending(file) < bytes)
		fflush(file);
}

void output_poll(struct pollfd *polled, nfds_t count, int timeout)
{
	polled[count] = (struct pollfd){ .fd = STDOUT_FILENO };
	if (poll(polled, count + 1, timeout) <= 0 || !(polled[count].revents & (POLLERR | POLLHUP)))
		return;
	raise(SIGPIPE);
	errno = EPIPE;	/* the signal is ignored */
	perror("crabctl: standard output");
	_exit(EXIT_FAILED);
}

void json_u64(struct json_object *object, const char *name, uint64_t value)
{
	json_object_object_add(object, name, json_object_new_uint64(value));
}

/* Would the backslash be read as a byte that was escaped? */
static bool is_escape(const char *text, size_t bytes)
{
	return bytes >= 4 && text[0] == '\\' && text[1] == 'x' && isxdigit((unsigned char)text[2]) &&
	       isxdigit((unsigned char)text[3]);
}

static const char *escape(const char *text, size_t bytes, char *room, bool name)
{
	bool valid = is_utf8(text, bytes);
	size_t i, beyond = 0;	/* of a control character of two bytes */
	char *to = room;
	unsigned char c;

	for (i = 0; i < bytes; i++) {
		c = text[i];
		if (valid && c == 0xc2 && (unsigned char)text[i + 1] < 0xa0)
			beyond = i + 2;
		if (is_control(c) || i < beyond || (c >= 0x80 && !valid) ||
		    (name && is_escape(text + i, bytes - i)))
			to += sprintf(to, "\\x%02x", c);
		else
			*to++ = c;
	}
	*to = '\0';
	return room;
}

const char *text_escape(const char *text, size_t bytes, char *room)
{
	return escape(text, bytes, room, false);
}

const char *name_escape(const char *name, size_t bytes, char *room)
{
	return escape(name, bytes, room, true);
}

static unsigned int hex_digit(char c)
{
	return c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
}

size_t name_unescape(const char *text, char *room)
{
	char *to = room;

	for (; *text; text++) {
		if (is_escape(text, strnlen(text, 4))) {
			*to++ = hex_digit(text[2]) << 4 | hex_digit(text[3]);
			text += 3;
		} else {
			*to++ = *text;
		}
	}
	return to - room;
}

const char *label_text(const struct crabtree_info *info, char room[LABEL_TEXT])
{
	return text_escape(info->label, strnlen(info->label, sizeof(info->label)), room);
}

/* JSON is UTF-8, but labels and paths may have any bytes */
static struct json_object *text_json(const char *text, size_t len)
{
	struct json_object *string;
	char *room;

	if (is_utf8(text, len))
		return json_object_new_string_len(text, len);
	room = malloc(4 * len + 1);
	if (!room)
		return NULL;
	string = json_object_new_string(text_escape(text, len, room));
	free(room);
	return string;
}

void json_field(struct json_object *object, const char *name, const char *text, size_t len)
{
	json_object_object_add(object, name, text_json(text, strnlen(text, len)));
}

void json_text(struct json_object *object, const char *name, const char *text)
{
	json_object_object_add(object, name, text_json(text, strlen(text)));
}

/* Prints and frees @object */
int json_print(struct json_object *object)
{
	puts(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PRETTY |
					    JSON_C_TO_STRING_SPACED |
					    JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(object);
	return EXIT_OK;
}

/* Prints and frees @object */
void json_element(struct json_object *object, uint64_t *count)
{
	line_begin(stdout, LINE_NAME);
	printf("%s\n  %s", (*count)++ ? "," : "[",
	       json_object_to_json_string_ext(object, JSON_C_TO_STRING_SPACED |
					      JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(object);
}

void json_elements_end(uint64_t count)
{
	puts(count ? "\n]" : "[]");
}

void record_put(struct record_writer *writer, const struct crabtree_record *record)
{
	const char *fmt = writer->hex ? "0x%" PRIx64 " 0x%" PRIx64 "\n" :
					"%" PRIu64 " %" PRIu64 "\n";

	line_begin(writer->file, LINE_NUMBERS);
	if (writer->json)	/* numbers only: nothing here needs escaping */
		fprintf(writer->file, "%s\n  { \"key\": %" PRIu64 ", \"value\": %" PRIu64 " }",
			writer->count ? "," : "[", (uint64_t)record->key, (uint64_t)record->value);
	else
		fprintf(writer->file, fmt, (uint64_t)record->key, (uint64_t)record->value);
	writer->count++;
}

void record_end(struct record_writer *writer)
{
	if (writer->json)
		fputs(writer->count ? "\n]\n" : "[]\n", writer->file);
}

// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the types of named values. Numbers are little-endian on the media, and on
 * every machine that this program runs on.
 */
#include "typed.h"
#include "crabctl.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char * const names[] = {
	[CRABTREE_TYPE_BYTES] = "bytes", [CRABTREE_TYPE_TEXT] = "text", [CRABTREE_TYPE_BOOL] = "bool",
	[CRABTREE_TYPE_U8] = "u8", [CRABTREE_TYPE_U16] = "u16", [CRABTREE_TYPE_U32] = "u32",
	[CRABTREE_TYPE_U64] = "u64", [CRABTREE_TYPE_I64] = "i64", [CRABTREE_TYPE_F64] = "f64",
};

#define TYPES	(sizeof(names) / sizeof(names[0]))

int type_find(const char *name)
{
	unsigned int type;

	for (type = 0; type < TYPES; type++)
		if (!strcmp(names[type], name))
			return type;
	return -1;
}

const char *type_name(unsigned int type)
{
	return type < TYPES ? names[type] : "?";
}

/* Length of an unsigned number; 0: it is none */
static uint32_t unsigned_bytes(unsigned int type)
{
	static const uint8_t bytes[TYPES] = {
		[CRABTREE_TYPE_U8] = 1, [CRABTREE_TYPE_U16] = 2, [CRABTREE_TYPE_U32] = 4,
		[CRABTREE_TYPE_U64] = 8,
	};

	return type < TYPES ? bytes[type] : 0;
}

static const char *unsigned_parse(const char *text, uint32_t bytes, void *value)
{
	uint64_t number;
	const char *wrong = number_parse(text, &number);

	if (wrong)
		return wrong;
	if (bytes < sizeof(number) && number >> bytes * 8)
		return "too large for its type";
	memcpy(value, &number, bytes);
	return NULL;
}

/* The functions of the C library skip blanks before a number */
static bool is_bare(const char *text, const char *end)
{
	return end > text && !*end && !isspace((unsigned char)*text);
}

static const char *signed_parse(const char *text, void *value)
{
	int64_t number;
	char *end;

	errno = 0;
	number = strtoll(text, &end, 10);
	if (!is_bare(text, end))
		return "not a number";
	if (errno)
		return "beyond -2^63 to 2^63-1";
	memcpy(value, &number, sizeof(number));
	return NULL;
}

static const char *float_parse(const char *text, void *value)
{
	double number;
	char *end;

	errno = 0;
	number = strtod(text, &end);
	if (!is_bare(text, end))
		return "not a number";
	if (errno == ERANGE && isinf(number))
		return "beyond the numbers of f64; infinity is inf";
	memcpy(value, &number, sizeof(number));
	return NULL;
}

static const char *bool_parse(const char *text, unsigned char *value)
{
	*value = !strcmp(text, "true") || !strcmp(text, "1");
	return *value || !strcmp(text, "false") || !strcmp(text, "0") ? NULL : "neither true nor false";
}

const char *typed_parse(unsigned int type, const char *text, void *value, uint32_t *bytes)
{
	switch (type) {
	case CRABTREE_TYPE_BYTES:
	case CRABTREE_TYPE_TEXT:
		*bytes = strlen(text);
		memcpy(value, text, *bytes);
		return type == CRABTREE_TYPE_BYTES || is_utf8(text, *bytes) ? NULL : "not UTF-8";
	case CRABTREE_TYPE_BOOL:
		*bytes = 1;
		return bool_parse(text, value);
	case CRABTREE_TYPE_I64:
		*bytes = 8;
		return signed_parse(text, value);
	case CRABTREE_TYPE_F64:
		*bytes = 8;
		return float_parse(text, value);
	default:
		*bytes = unsigned_bytes(type);
		return unsigned_parse(text, *bytes, value);
	}
}

/* The shortest text that is this number again. There is one "nan", of any sign */
static const char *float_text(double number, char *text, size_t len)
{
	int digits = 15;

	if (isnan(number))
		return strcpy(text, "nan");
	do
		snprintf(text, len, "%.*g", digits, number);
	while (strtod(text, NULL) != number && ++digits <= 17);
	return text;
}

static void hex_text(const unsigned char *from, uint32_t bytes, char *text)
{
	while (bytes--)
		text += sprintf(text, "%02x", *from++);
	*text = '\0';
}

static void bytes_print(const void *value, uint32_t bytes)
{
	char text[3];
	uint32_t i;

	for (i = 0; i < bytes; i++) {
		hex_text((const unsigned char *)value + i, 1, text);
		fputs(text, stdout);
	}
	putchar('\n');
}

static void number_print(unsigned int type, const void *value, uint32_t bytes, bool hex)
{
	uint64_t number = 0;
	char text[32];
	double real;

	memcpy(&number, value, bytes);
	memcpy(&real, &number, sizeof(real));
	if (type == CRABTREE_TYPE_BOOL)
		puts(number ? "true" : "false");
	else if (hex)
		printf("0x%" PRIx64 "\n", number);
	else if (type == CRABTREE_TYPE_I64)
		printf("%" PRId64 "\n", (int64_t)number);
	else if (type == CRABTREE_TYPE_F64)
		puts(float_text(real, text, sizeof(text)));
	else
		printf("%" PRIu64 "\n", number);
}

/* A value of another length than its type has is not ours: print its bytes */
static bool is_number(unsigned int type, uint32_t bytes)
{
	if (type == CRABTREE_TYPE_BOOL)
		return bytes == 1;
	if (type == CRABTREE_TYPE_I64 || type == CRABTREE_TYPE_F64)
		return bytes == 8;
	return bytes && bytes == unsigned_bytes(type);
}

const char *typed_wrong(unsigned int type, const void *value, uint32_t bytes)
{
	if (type == CRABTREE_TYPE_TEXT)
		return is_utf8(value, bytes) ? NULL : "not UTF-8";
	return type == CRABTREE_TYPE_BYTES || is_number(type, bytes) ? NULL :
	       "not of the length of its type";
}

void typed_print(unsigned int type, const void *value, uint32_t bytes, bool hex)
{
	if (is_number(type, bytes)) {
		number_print(type, value, bytes, hex);
	} else if (type == CRABTREE_TYPE_TEXT) {
		fwrite(value, 1, bytes, stdout);
		putchar('\n');
	} else {
		bytes_print(value, bytes);
	}
}

static struct json_object *number_json(unsigned int type, const void *value, uint32_t bytes)
{
	uint64_t number = 0;
	char text[32];
	double real;

	memcpy(&number, value, bytes);
	memcpy(&real, &number, sizeof(real));
	if (type == CRABTREE_TYPE_BOOL)
		return json_object_new_boolean(number != 0);
	if (type == CRABTREE_TYPE_I64)
		return json_object_new_int64((int64_t)number);
	if (type != CRABTREE_TYPE_F64)
		return json_object_new_uint64(number);
	float_text(real, text, sizeof(text));
	return isfinite(real) ? json_object_new_double_s(real, text) : json_object_new_string(text);
}

struct json_object *typed_json(unsigned int type, const void *value, uint32_t bytes)
{
	struct json_object *json;
	char *text;

	if (is_number(type, bytes))
		return number_json(type, value, bytes);
	if (type == CRABTREE_TYPE_TEXT && is_utf8(value, bytes))
		return json_object_new_string_len(value, bytes);
	text = malloc(2 * (size_t)bytes + 1);
	if (!text)
		return NULL;
	hex_text(value, bytes, text);
	json = json_object_new_string(text);
	free(text);
	return json;
}

const char *typed_json_field(unsigned int type, const void *value, uint32_t bytes)
{
	return type == CRABTREE_TYPE_TEXT && !is_utf8(value, bytes) ? "hex" : "value";
}

/* Bytes of a character, by its first one; 0: none begins so */
static size_t utf8_lead(unsigned char c)
{
	if (c < 0xc0)
		return c < 0x80;
	if (c < 0xe0)
		return 2;
	if (c < 0xf0)
		return 3;
	return c < 0xf8 ? 4 : 0;
}

/* Bytes of the character at @text, of which @bytes are there; 0: it is none */
static size_t utf8_length(const unsigned char *text, size_t bytes)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t i, n = utf8_lead(*text);
	uint32_t code = *text & (0xff >> n);

	if (n > bytes)
		return 0;
	for (i = 1; i < n; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (text[i] & 0x3f);
	}
	if (code < least[n] || code > 0x10ffff || (code & ~0x7ffU) == 0xd800)
		return 0;
	return n;
}

/* Not by iconv(), whose tables small systems leave out: a snapshot must be the same on all */
bool is_utf8(const char *text, size_t bytes)
{
	size_t at = 0, n;

	while (at < bytes) {
		n = utf8_length((const unsigned char *)text + at, bytes - at);
		if (!n)
			return false;
		at += n;
	}
	return true;
}

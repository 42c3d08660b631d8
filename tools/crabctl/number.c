// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements the parsing of numbers: 64 bits, unsigned, decimal or 0x
 * hexadecimal, without blanks. A leading zero does not mean octal. It has the uuids and the short texts of
 * options, too.
 */
#include "crabctl.h"
#include "partial.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Digits up to @end. NULL, or the error in them */
static const char *digits_parse(const char *text, const char *end, uint64_t *number)
{
	bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	unsigned long long value;
	char *stop;

	if (text == end)
		return "not a number";
	errno = 0;
	value = strtoull(text, &stop, hex ? 16 : 10);
	if (!isdigit((unsigned char)*text) || (stop != end && !errno))	/* it takes blanks and signs */
		return "not a number (decimal, or hexadecimal as 0x...)";
	if (errno)
		return "larger than 2^64-1";
	*number = value;
	return NULL;
}

/**
 * number_parse() - read a number
 * @text: the number and nothing else
 * @number: out
 * Return: NULL, or the error in it.
 */
const char *number_parse(const char *text, uint64_t *number)
{
	if (*text == '-')
		return "a negative number; keys and values are 0 to 2^64-1";
	return digits_parse(text, text + strlen(text), number);
}

uint64_t number_arg(struct argp_state *state, const char *what, const char *text)
{
	uint64_t number = 0;
	const char *wrong = number_parse(text, &number);

	if (wrong)
		arg_error(state, "%s %s: %s", what, text, wrong);
	return number;
}

uint64_t key_arg(struct argp_state *state, const char *text)
{
	uint64_t key = number_arg(state, "key", text);

	if (key == CRABTREE_KEY_RESERVED)
		arg_error(state, "key %s: reserved, it marks a free slot", text);
	return key;
}

static unsigned int suffix_shift(char suffix)
{
	switch (suffix) {
	case 'k':
	case 'K':
		return 10;
	case 'M':
		return 20;
	case 'G':
		return 30;
	default:
		return 0;
	}
}

/* A number of bytes: 4096, 16K, 16M, 1G */
static uint64_t size_arg(struct argp_state *state, const char *what, const char *text)
{
	size_t len = strlen(text);
	unsigned int shift = len ? suffix_shift(text[len - 1]) : 0;
	uint64_t number = 0;
	const char *wrong;

	errno = 0;
	wrong = digits_parse(text, text + len - !!shift, &number);
	if (errno == ERANGE || number > (uint64_t)INT64_MAX >> shift)
		wrong = "larger than any file";
	else if (wrong)
		wrong = "not a number of bytes; K, M and G are understood";
	if (wrong)
		arg_error(state, "%s %s: %s", what, text, wrong);
	return number << shift;
}

uint64_t image_size_arg(struct argp_state *state, const char *text)
{
	uint64_t bytes = size_arg(state, "--size", text);

	if (!bytes || bytes % IMAGE_PAGE)
		arg_error(state, "--size %s: not a multiple of %u", text, IMAGE_PAGE);
	return bytes;
}

uint32_t leaf_arg(struct argp_state *state, const char *text)
{
	uint64_t bytes = size_arg(state, "--leaf-size", text);

	if (bytes < 64 || bytes > 8192 || bytes & (bytes - 1))
		arg_error(state, "--leaf-size %s: a power of two, 64 to 8192", text);
	return bytes;
}

static const char uuid_form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";

bool uuid_parse(const char *text, uint8_t uuid[CRABTREE_UUID_LEN])
{
	size_t i, n;

	for (i = 0; uuid_form[i]; i++)
		if (uuid_form[i] == '-' ? text[i] != '-' : !isxdigit((unsigned char)text[i]))
			return false;
	for (i = 0, n = 0; n < CRABTREE_UUID_LEN; i += 2) {
		i += text[i] == '-';
		sscanf(text + i, "%2hhx", &uuid[n++]);
	}
	return !text[i];
}

void uuid_arg(struct argp_state *state, const char *text, uint8_t uuid[CRABTREE_UUID_LEN])
{
	if (!uuid_parse(text, uuid))
		arg_error(state, "uuid %s: not of the form %s", text, uuid_form);
}

void text_arg(struct argp_state *state, const char *what, const char *text, char *field, size_t len)
{
	if (strlen(text) >= len)
		arg_error(state, "%s %s: longer than %zu bytes", what, text, len - 1);
	else
		strcpy(field, text);
}

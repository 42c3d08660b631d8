// SPDX-License-Identifier: GPL-2.0
/*
 * This file parses a line of a file in /etc/crabtree.d: words KEY=VALUE, of which one names the
 * region. Double quotes around a value keep its spaces; a word that begins with # begins a comment.
 *
 * Invariant: a line is understood in full, or refused with its cause: nothing in it is ignored.
 */
#include <ctype.h>
#include <grp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "region.h"

struct parse {
	struct region_line *line;
	char *rest;	/* of the text */
	bool quoted;	/* the line ends within quotes */
	bool readonly;
	char *cause;
	size_t len;
};

/* The next word, with its quotes removed; NULL at the end of the line, or in a comment */
static char *next_word(struct parse *p)
{
	char *from = p->rest + strspn(p->rest, " \t\r\n"), *word = from, *to = from;

	if (!*from || *from == '#')
		return NULL;
	for (; *from && *from != '\n' && (p->quoted || !isspace((unsigned char)*from)); from++) {
		if (*from == '"')
			p->quoted = !p->quoted;
		else
			*to++ = *from;
	}
	p->rest = *from ? from + 1 : from;
	*to = '\0';
	return word;
}

static bool refuse(struct parse *p, const char *word, const char *why)
{
	snprintf(p->cause, p->len, "%s: %s", word, why);
	return false;
}

static bool take_text(struct parse *p, const char *word, const char *value, char *to, size_t len)
{
	if (*to)
		return refuse(p, word, "given twice");
	if (!*value)
		return refuse(p, word, "a value is missing");
	if (strlen(value) >= len)
		return refuse(p, word, "too long");
	strcpy(to, value);
	return true;
}

static bool take_spec(struct parse *p, const char *word, const char *value)
{
	if (!*value)
		return refuse(p, word, "a value is missing");
	if (p->line->spec[0])
		return refuse(p, word, "a second region; each has its own line");
	return take_text(p, word, word, p->line->spec, REGION_SPEC - sizeof(",readonly"));
}

static bool take_mode(struct parse *p, const char *word, const char *value)
{
	char *end;
	unsigned long mode = strtoul(value, &end, 8);

	if (*end || !isdigit((unsigned char)*value) || mode > 0777)
		return refuse(p, word, "not a mode; for example 0660");
	return take_text(p, word, value, p->line->mode, sizeof(p->line->mode));
}

static bool take_group(struct parse *p, const char *word, const char *value)
{
	if (*value && !getgrnam(value))
		return refuse(p, word, "no such group");
	return take_text(p, word, value, p->line->group, sizeof(p->line->group));
}

static bool take_readonly(struct parse *p, const char *word, const char *value)
{
	if (strcmp(value, "0") && strcmp(value, "1"))
		return refuse(p, word, "neither 0 nor 1");
	p->readonly = *value == '1';
	return true;
}

static bool is_key(const char *word, size_t len, const char *key)
{
	return strlen(key) == len && !strncmp(word, key, len);
}

static bool is_provider(const char *word, size_t len)
{
	return is_key(word, len, "region") || is_key(word, len, "reserve") ||
	       is_key(word, len, "pmem") || is_key(word, len, "ram") || is_key(word, len, "uml");
}

static bool take_word(struct parse *p, const char *word)
{
	size_t len = strcspn(word, "=");
	const char *value = word + len + 1;

	if (p->quoted)
		return refuse(p, word, "a quote is not closed");
	if (!word[len])
		return refuse(p, word, "not KEY=VALUE");
	if (is_provider(word, len))
		return take_spec(p, word, value);
	if (is_key(word, len, "label"))
		return take_text(p, word, value, p->line->label, sizeof(p->line->label));
	if (is_key(word, len, "group"))
		return take_group(p, word, value);
	if (is_key(word, len, "mode"))
		return take_mode(p, word, value);
	if (is_key(word, len, "readonly"))
		return take_readonly(p, word, value);
	return refuse(p, word, "no such key");
}

bool region_line_parse(char *text, struct region_line *line, char *cause, size_t len)
{
	struct parse p = { .line = line, .rest = text, .cause = cause, .len = len };
	char *word;

	memset(line, 0, sizeof(*line));
	word = next_word(&p);
	if (!word)
		return true;
	for (; word; word = next_word(&p))
		if (!take_word(&p, word))
			return false;
	if (!line->spec[0]) {
		snprintf(cause, len, "no region: want region=, reserve=, pmem= or ram=");
		return false;
	}
	if (p.readonly)
		strcat(line->spec, ",readonly");
	return true;
}

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the types of named values: their names, and values as text and as JSON.
 */
#ifndef CRABCTL_TYPED_H
#define CRABCTL_TYPED_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The number of a type, or -1 */
int type_find(const char *name);

/* "u8"; "?" for a type of a later version */
const char *type_name(unsigned int type);

/* All names of types, for messages */
#define TYPE_LIST	"bytes, text, bool, u8, u16, u32, u64, i64 or f64"

/**
 * typed_parse() - read a value
 * @type: enum crabtree_type
 * @text: the value as text
 * @value: out: at least 8 bytes, and at least as many as @text has
 * @bytes: out: length of the value
 * Return: NULL, or the error in it.
 */
const char *typed_parse(unsigned int type, const char *text, void *value, uint32_t *bytes);

/* NULL, or the error in bytes that are to be a value of a type */
const char *typed_wrong(unsigned int type, const void *value, uint32_t bytes);

/* Prints a value: a number in decimal or, with @hex, in hexadecimal; a text as it is; bytes in hexadecimal */
void typed_print(unsigned int type, const void *value, uint32_t bytes, bool hex);

/* A value for JSON: bytes as a string of hexadecimal digits; nan, inf and -inf are strings, too */
struct json_object *typed_json(unsigned int type, const void *value, uint32_t bytes);

/* Its field: "value", or "hex" of a text that is not UTF-8, whose digits would read as a text */
const char *typed_json_field(unsigned int type, const void *value, uint32_t bytes);

bool is_utf8(const char *text, size_t bytes);

#endif /* CRABCTL_TYPED_H */

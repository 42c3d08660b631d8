// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements `crabctl check`: the kernel's checker verifies every
 * invariant of the store and writes nothing.
 */
#include "crabctl.h"

#include <inttypes.h>

static void print_json(const struct crabtree_check *check)
{
	struct json_object *json = json_object_new_object();
	struct json_object *first;

	json_u64(json, "leaves", check->leaves);
	json_u64(json, "records", check->records);
	json_u64(json, "errors", check->errors);
	if (check->errors) {
		first = json_object_new_object();
		json_u64(first, "offset", check->first_offset);
		json_text(first, "what", check->first);
		json_object_object_add(json, "first", first);
	}
	json_print(json);
}

static void print_text(const struct target *target, const struct crabtree_check *check)
{
	printf("%s: %" PRIu64 " %s, %" PRIu64 " %s: ", target_path(target), (uint64_t)check->leaves,
	       noun(check->leaves, "leaf", "leaves"), (uint64_t)check->records,
	       noun(check->records, "record", "records"));
	if (check->errors)
		printf("%" PRIu64 " %s at offset 0x%" PRIx64 ": %s\n", (uint64_t)check->errors,
		       noun(check->errors, "error,", "errors, the first"), (uint64_t)check->first_offset,
		       check->first);
	else
		puts("sound");
}

static int check_store(struct target *target)
{
	struct crabtree_check check;
	int err = crabtree_check(target->ct, &check, sizeof(check));

	if (err)
		return fail(target, err, "check");
	check.first[sizeof(check.first) - 1] = '\0';
	if (target->json)
		print_json(&check);
	else
		print_text(target, &check);
	return check.errors ? EXIT_NOT_FOUND : EXIT_OK;
}

int verb_check(struct target *target, int argc, char **argv)
{
	verb_parse_bare(target, "Verify every invariant of the store. Writes nothing.", argc, argv);
	return target_open(target, CRABTREE_OPEN_READONLY) ?: check_store(target);
}

/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the parts of `crabctl doctor`: the causes, the facts about a machine or a
 * store, and the findings that follow from them.
 */
#ifndef CRABCTL_DOCTOR_H
#define CRABCTL_DOCTOR_H

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>

#include "crabctl.h"
#include "sysfs.h"

enum severity { NOTE, WARNING, PROBLEM };

enum cause_id {
#define CAUSE(name, ...) CAUSE_##name,
#include "causes.h"
#undef CAUSE
	CAUSES
};

/**
 * struct cause - a line of causes.h
 * @name: one word
 * @severity: enum severity
 * @reason: beginning of the module's reason, or ""
 * @text: the cause
 * @next: what to do
 */
struct cause {
	const char *name;
	enum severity severity;
	const char *reason;
	const char *text;
	const char *next;
};

extern const struct cause causes[CAUSES];

/**
 * struct findings - the causes that apply
 * @found: by number
 */
struct findings {
	bool found[CAUSES];
};

/**
 * struct patient - a store, or the region without one
 * @path: of the device or image
 * @image: it is an image
 * @info: as INFO or sysfs reports it
 * @provider: of the region; "" for an image
 * @supers: valid superblocks of an image; 2 for a device
 * @detached: false if an image shows that the last writer did not detach
 * @findings: of this store
 */
struct patient {
	char path[PATH_MAX];
	bool image;
	struct crabtree_info info;
	char provider[SYSFS_TEXT];
	unsigned int supers;
	bool detached;
	struct findings findings;
};

/* Machine without a device: why */
void find_machine(struct findings *findings);

/* Conclusions from patient->info and the rest */
void find_store(struct patient *patient);

/* The node in /dev, and the labels and uuids of all devices */
void find_node(struct patient *patient, const char *device);

/* Is a returned write safe against it? "yes", "no" or "ask", with the reason for the latter */
struct safety {
	const char *reset;
	const char *power;
	const char *why;
};

struct safety safety_of(const struct patient *patient);

#endif /* CRABCTL_DOCTOR_H */

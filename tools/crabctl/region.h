/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the parts of `crabctl region`: commands to the module, and the files of
 * /etc/crabtree.d, which crabtree.d(5) describes.
 */
#ifndef CRABCTL_REGION_H
#define CRABCTL_REGION_H

#include <stdbool.h>
#include <stddef.h>

#include <crabtree.h>

#define REGION_ANSWER	256	/* the longest answer of the module */
#define REGION_SPEC	4096
#define REGION_MOST	64	/* regions of the module */
#define REGION_DIR	"/etc/crabtree.d"
#define REGION_RUN	"/run/crabtree"

/* control.c: 0 or a negative errno; @answer: the name of the device, or the reason */
int control_command(const char *command, char answer[REGION_ANSWER]);

/* control.c: the reason without the region or device at its beginning, for a message that names it */
const char *control_reason(const char *region, const char *answer);

/**
 * struct region_line - one line of a file
 * @spec: PROVIDER=REGION, as "region add" takes it; "" if the line has none
 * @label: label that the store must have, or ""
 * @group: group of the node, or ""
 * @mode: mode of the node in octal, or ""
 */
struct region_line {
	char spec[REGION_SPEC];
	char label[CRABTREE_LABEL_LEN + 1];
	char group[64];
	char mode[8];
};

/* region_line.c: false if the line cannot be obeyed, with the cause in @cause */
bool region_line_parse(char *text, struct region_line *line, char *cause, size_t len);

/**
 * struct region_load - one run of `region load`
 * @dry: check the files only
 * @wait_ms: how long a path of pmem= may take to appear
 * @bad: lines that were refused so far
 * @specs: the regions of the lines so far, as many as the module can have
 * @count: of them
 */
struct region_load {
	bool dry;
	unsigned int wait_ms;
	unsigned int bad;
	char *specs[REGION_MOST];
	unsigned int count;
};

/* region_load.c: all files of a directory, or one file; counts the bad lines */
void region_load_path(struct region_load *load, const char *path);

/* Ends a run */
void region_load_end(struct region_load *load);

/* A device is gone, or gets no settings of a file */
void region_forget(const char *device);

#endif /* CRABCTL_REGION_H */

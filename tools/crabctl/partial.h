/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares partial files: a new file that takes the place of another one once it is
 * complete.
 */
#ifndef CRABCTL_PARTIAL_H
#define CRABCTL_PARTIAL_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define IMAGE_PAGE	4096U	/* the size of an image is a multiple of it */

/**
 * struct partial - a file that is being written
 * @to: the file that it replaces, after all symbolic links
 * @path: its own name, in the same directory; NULL once it was placed or kept
 * @file: it is open until partial_end(), to be synced
 */
struct partial {
	char *to;
	char *path;
	int file;
};

/**
 * partial_open() - begin a file
 * @partial: out
 * @path: the file that it is to replace; if there is one, the new one gets its mode
 *
 * No other process has the same name, and a signal that ends this one removes the file.
 *
 * Return: the file, which the caller closes, or NULL with errno. Call partial_end() in any case.
 */
FILE *partial_open(struct partial *partial, const char *path);

/* The same for a file that replaces none: 0, -EEXIST or another negative errno. A link is one, too */
int partial_new(struct partial *partial, const char *path);

/* Sets the size to that of an image, or later to a larger one; 0 or a negative errno */
int partial_room(const struct partial *partial, uint64_t size);

/**
 * partial_place() - put a complete file in its place
 * @partial: the file
 * @replace: a file that is there is replaced; otherwise -EEXIST
 * Its name is durable then. Return: 0 or a negative errno; the file may have its name despite it.
 */
int partial_place(struct partial *partial, bool replace);

/* Keeps an incomplete file as TO.partial, which is @to then; 0 or a negative errno */
int partial_keep(struct partial *partial);

/* Removes the file, unless it was placed or kept */
void partial_end(struct partial *partial);

/* The same of the file that is being written, for the handler of a signal */
void partial_remove(void);

#endif /* CRABCTL_PARTIAL_H */

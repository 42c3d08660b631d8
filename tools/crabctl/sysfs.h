/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the reader of /sys/class/crabtree, which all users may read.
 */
#ifndef CRABCTL_SYSFS_H
#define CRABCTL_SYSFS_H

#include <glob.h>
#include <stdbool.h>
#include <stddef.h>

#include <crabtree.h>

/* Room for any attribute */
#define SYSFS_TEXT	256

/* All paths that match @pattern, crab2 before crab10; globfree() when done */
void sysfs_glob(const char *pattern, glob_t *found);

/* First line of a file; "" and false if it cannot be read */
bool sysfs_line(const char *path, char *text, size_t len);

/* One attribute of @device, a name such as crab0; "" if it does not exist, as without a store */
void sysfs_text(const char *device, const char *name, char *text, size_t len);

/* Its label. The attribute escapes bytes of UTF-8; the uevent has a form that can be read back */
void sysfs_label(const char *device, char *label, size_t len);

/* A state as INFO and the other verbs name it; @text is that of sysfs, or another word, which it returns */
const char *sysfs_state_name(const char *text);

/* The fields that sysfs has; false if it does not have the device */
bool sysfs_info(const char *device, struct crabtree_info *info);

/* INFO of @device; without permission to open it the fields of sysfs, then @full is false */
bool store_info(const char *device, struct crabtree_info *info, bool *full);

#endif /* CRABCTL_SYSFS_H */

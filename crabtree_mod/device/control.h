/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file declares the node that adds and removes regions, for the table of devices, and the
 * answers of its commands.
 *
 * Layer L6; device/ includes it. Locks: control.c.
 */
#ifndef CRABTREE_DEVICE_CONTROL_H
#define CRABTREE_DEVICE_CONTROL_H

#include <linux/compiler_attributes.h>
#include <linux/types.h>

struct device;
struct file;
struct inode;

/**
 * crab_control_init() - listen to the reasons for which regions are refused
 *
 * Context: any; before the first region is added.
 */
void crab_control_init(void);

/**
 * crab_control_answer() - answer the command that the calling task wrote; the first answer counts
 * @fmt: format of the answer, in one line
 *
 * Does nothing in any other task.
 *
 * Context: may sleep.
 */
__printf(1, 2)
void crab_control_answer(const char *fmt, ...);

/**
 * crab_control_open() - open() of the node that adds and removes regions
 * @inode: of the node
 * @file: new; gets the operations of the node in place of those of the devices
 *
 * Context: may sleep.
 * Return: 0, -EPERM or -ENOMEM.
 */
int crab_control_open(struct inode *inode, struct file *file);

/**
 * crab_control_add() - make the node
 * @devt: its number
 *
 * Context: may sleep; before the number can be opened.
 * Return: the device of the node, which device_unregister() removes, or ERR_PTR.
 */
struct device *crab_control_add(dev_t devt);

#endif /* CRABTREE_DEVICE_CONTROL_H */

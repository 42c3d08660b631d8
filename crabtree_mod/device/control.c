// SPDX-License-Identifier: GPL-2.0
/*
 * This file implements /dev/crabtree-control, which adds and removes regions while the module is
 * loaded. A task writes one command, and reads the answer from the same descriptor:
 *
 *	add PROVIDER=REGION[,OPTION...]		the answer is the name of the device
 *	remove DEVICE [force]			the answer is "removed"
 *
 * If write() returns an error, the answer is the reason in words. The log has it, too.
 *
 * Invariants: a command is refused, or carried out in full; the other devices keep running. The
 * node is published with the devices (devices.c): a descriptor cannot exist before the load of the
 * module has succeeded, and keeps the module loaded.
 *
 * Locks: control->lock protects the answer of one descriptor. Under it, control_lock serialises the
 * commands. Both precede the locks of device.h and those of the providers.
 */
#define pr_fmt(fmt) "crabtree: " fmt

#include <linux/capability.h>
#include <linux/err.h>
#include <linux/fs.h>
#include <linux/module.h>
#include <linux/sched.h>
#include <linux/security.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uaccess.h>

#include "control.h"
#include "devices.h"
#include "region/provider.h"

#define CONTROL_COMMAND_MAX	4096	/* bytes: a path and its options */

/**
 * struct control - an open descriptor
 * @lock: protects the other fields
 * @answer: to the last command
 * @unread: bytes at its end, with the newline, that no read() has returned yet
 */
struct control {
	struct mutex lock;
	char answer[CRAB_REGION_REASON_LEN];
	size_t unread;
};

static DEFINE_MUTEX(control_lock);

/* The task that has control_lock, and the room for its answer, which no other task uses */
static struct task_struct *control_task;
static char *control_text;

static void control_hear(const char *text)
{
	if (READ_ONCE(control_task) == current && !*control_text)
		strscpy(control_text, text, CRAB_REGION_REASON_LEN);
}

void crab_control_init(void)
{
	crab_region_listen(control_hear);
}

void crab_control_answer(const char *fmt, ...)
{
	char text[CRAB_REGION_REASON_LEN];
	va_list args;

	va_start(args, fmt);
	vscnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	control_hear(text);
}

static void control_listen(struct control *control)
{
	if (control)
		*control->answer = '\0';
	control_text = control ? control->answer : NULL;
	WRITE_ONCE(control_task, control ? current : NULL);
}

static int control_add(char *spec)
{
	size_t len = strcspn(spec, "=");
	const struct crab_provider *provider = crab_provider_find(spec, len);
	int err;

	if (!provider || spec[len] != '=') {
		crab_control_answer("%s: not a region: want pmem=, region=, reserve= or ram=",
				    spec);
		return -EINVAL;
	}
	err = provider->hardware ? security_locked_down(LOCKDOWN_MODULE_PARAMETERS) : 0;
	if (!err)
		return crab_provider_add(provider, spec + len + 1, 1, &crab_device_events);
	crab_control_answer("%s: physical addresses are refused: the kernel is locked down", spec);
	return err;
}

static int control_remove(char *rest)
{
	char *name = strsep(&rest, " ");

	if (!rest || !strcmp(rest, "force"))
		return crab_devices_drop(name, rest);
	crab_control_answer("remove %s: \"%s\" is not \"force\"", name, rest);
	return -EINVAL;
}

static int control_run(char *command)
{
	char *verb = strsep(&command, " ");

	if (command && *command && !strcmp(verb, "add"))
		return control_add(command);
	if (command && *command && !strcmp(verb, "remove"))
		return control_remove(command);
	crab_control_answer("%s: neither \"add REGION\" nor \"remove DEVICE\"", verb);
	return -EINVAL;
}

/* The answer to an error is never empty; that to a removal is empty until here */
static int control_command(struct control *control, char *command)
{
	int err = mutex_lock_killable(&control_lock);

	lockdep_assert_held(&control->lock);
	if (err)
		return err;
	control_listen(control);
	err = control_run(command);
	crab_control_answer("%s", err ? "no memory" : "removed");
	control_listen(NULL);
	mutex_unlock(&control_lock);
	control->unread = strlen(control->answer) + 1;
	return err;
}

/* The program that wrote may end in a newline, as echo does */
static ssize_t control_write(struct file *file, const char __user *user, size_t count, loff_t *pos)
{
	struct control *control = file->private_data;
	char *command;
	int err;

	if (!count || count > CONTROL_COMMAND_MAX)
		return -EINVAL;
	command = memdup_user_nul(user, count);
	if (IS_ERR(command))
		return PTR_ERR(command);
	err = mutex_lock_killable(&control->lock);
	if (err)
		goto out;
	command[strcspn(command, "\n")] = '\0';
	err = control_command(control, command);
	mutex_unlock(&control->lock);
out:
	kfree(command);
	return err ?: count;
}

/*
 * One line, once, in pieces of any size: a shell reads byte by byte. A piece that cannot be copied
 * is read again
 */
static ssize_t control_read(struct file *file, char __user *user, size_t count, loff_t *pos)
{
	struct control *control = file->private_data;
	char line[CRAB_REGION_REASON_LEN + 1];
	size_t len, from;
	int err = mutex_lock_killable(&control->lock);

	if (err)
		return err;
	from = scnprintf(line, sizeof(line), "%s\n", control->answer) - control->unread;
	len = min(control->unread, count);
	if (copy_to_user(user, line + from, len))
		err = -EFAULT;
	else
		control->unread -= len;
	mutex_unlock(&control->lock);
	return err ?: len;
}

static int control_release(struct inode *inode, struct file *file)
{
	kfree(file->private_data);
	return 0;
}

static const struct file_operations control_fops = {
	.owner		= THIS_MODULE,
	.read		= control_read,
	.write		= control_write,
	.release	= control_release,
	.llseek		= noop_llseek,
};

int crab_control_open(struct inode *inode, struct file *file)
{
	const struct file_operations *fops = &control_fops;
	struct control *control;

	if (!capable(CAP_SYS_ADMIN))
		return -EPERM;
	control = kzalloc(sizeof(*control), GFP_KERNEL);
	if (!control)
		return -ENOMEM;
	fops = fops_get(fops);
	if (!fops) {
		kfree(control);
		return -ENXIO;
	}
	mutex_init(&control->lock);
	file->private_data = control;
	replace_fops(file, fops);
	return 0;
}

static void control_free(struct device *dev)
{
	kfree(dev);
}

/* It has no class, so that a program that lists the class finds stores only */
struct device *crab_control_add(dev_t devt)
{
	struct device *dev = kzalloc(sizeof(*dev), GFP_KERNEL);
	int err;

	if (!dev)
		return ERR_PTR(-ENOMEM);
	device_initialize(dev);
	dev->devt = devt;
	dev->release = control_free;
	err = dev_set_name(dev, "crabtree-control") ?: device_add(dev);
	if (!err)
		return dev;
	put_device(dev);
	return ERR_PTR(err);
}

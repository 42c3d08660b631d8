/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_PRINTK_H
#define CRAB_SHIM_LINUX_PRINTK_H

/*
 * The kernel's log: lines go to crab_host_log, which writes to stderr unless a
 * test or a tool put its own function there; NULL: they are formatted, and dropped.
 */
#include <linux/compiler.h>
#include <stdarg.h>
#include <stdio.h>

/* @level: '3' error, '4' warning, '5' notice, '6' information, '7' debug */
extern void (*crab_host_log)(char level, const char *line);

__printf(2, 3)
void crab_host_printk(char level, const char *fmt, ...);

#ifndef pr_fmt
#define pr_fmt(fmt) fmt
#endif

#define pr_err(fmt, ...)	crab_host_printk('3', pr_fmt(fmt), ##__VA_ARGS__)
#define pr_warn(fmt, ...)	crab_host_printk('4', pr_fmt(fmt), ##__VA_ARGS__)
#define pr_info(fmt, ...)	crab_host_printk('6', pr_fmt(fmt), ##__VA_ARGS__)
#define pr_err_ratelimited	pr_err
#define pr_warn_ratelimited	pr_warn

struct device;
#define dev_info(dev, fmt, ...)		pr_info(fmt, ##__VA_ARGS__)

int vscnprintf(char *to, size_t size, const char *fmt, va_list args);
__printf(3, 4)
int scnprintf(char *to, size_t size, const char *fmt, ...);

#endif /* CRAB_SHIM_LINUX_PRINTK_H */

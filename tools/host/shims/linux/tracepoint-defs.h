/* SPDX-License-Identifier: GPL-2.0 */
#ifndef SHIM_LINUX_TRACEPOINT_DEFS_H
#define SHIM_LINUX_TRACEPOINT_DEFS_H

/* User space has no trace events: each one is off, and its slow path is not compiled */
#define DECLARE_TRACEPOINT(event)	extern int shim_event_##event
#define tracepoint_enabled(event)	false

#endif

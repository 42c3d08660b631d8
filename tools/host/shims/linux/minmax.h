/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_MINMAX_H
#define CRAB_SHIM_LINUX_MINMAX_H

/* min, max and similar macros; arguments are evaluated once. */
#define min(a, b)	({ __typeof__(a) _a = (a); __typeof__(b) _b = (b); (void)(&_a == &_b); \
			   _a < _b ? _a : _b; })
#define max(a, b)	({ __typeof__(a) _a = (a); __typeof__(b) _b = (b); (void)(&_a == &_b); \
			   _a > _b ? _a : _b; })
#define min_t(t, a, b)	({ t _at = (a); t _bt = (b); _at < _bt ? _at : _bt; })
#define max_t(t, a, b)	({ t _at = (a); t _bt = (b); _at > _bt ? _at : _bt; })
#define clamp(v, lo, hi)	min(max(v, lo), hi)
#define clamp_t(t, v, lo, hi)	min_t(t, max_t(t, v, lo), hi)
#define swap(a, b)	do { __typeof__(a) _t = (a); (a) = (b); (b) = _t; } while (0)

#endif /* CRAB_SHIM_LINUX_MINMAX_H */

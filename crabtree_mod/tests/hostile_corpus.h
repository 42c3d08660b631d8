/* SPDX-License-Identifier: GPL-2.0 */
/*
 * This file holds hostile scripts (hostile.h), in hexadecimal: the least that
 * reach all that the fuzzer ever reached. scripts/fuzz --minimise writes it.
 */

/* SPDX-License-Identifier: GPL-2.0 */
#ifndef CRAB_SHIM_LINUX_SEQ_FILE_H
#define CRAB_SHIM_LINUX_SEQ_FILE_H

struct seq_file;

#endif /* CRAB_SHIM_LINUX_SEQ_FILE_H */

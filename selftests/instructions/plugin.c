// SPDX-License-Identifier: GPL-2.0
/*
 * plugin.so - QEMU counts the instructions of the kernel between two marks.
 *
 *   -plugin plugin.so,out=FILE
 *
 * Writes one line for each marked call: its name, then for each block of instructions
 * that the kernel executed until the return "ADDRESS:INSTRUCTIONS", in hexadecimal and
 * decimal. Instructions of the program itself are not counted.
 *
 * Assumes one processor. A block is counted when it begins: an exception within a block
 * would count the rest of the block as well, which happens in none of the marked calls.
 */
#include <glib.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <qemu-plugin.h>

#include "mark.h"

#define KERNEL	(1ULL << 63)	/* set in each address of the kernel */

struct block {
	uint64_t address;
	uint64_t instructions;	/* executed since the mark */
	size_t length;
};

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

static const char * const names[MARK_CALLS] = MARK_NAMES;
static struct qemu_plugin_register *x0;
static GByteArray *value;
static GPtrArray *met;		/* the blocks with instructions */
static enum mark_call call;
static FILE *out;

static void on_block(unsigned int cpu, void *data)
{
	struct block *block = data;

	if (call == MARK_RETURN)
		return;
	if (!block->instructions)
		g_ptr_array_add(met, block);
	block->instructions += block->length;
}

static void report(void)
{
	struct block *block;
	guint i;

	fputs(names[call], out);
	for (i = 0; i < met->len; i++) {
		block = g_ptr_array_index(met, i);
		fprintf(out, " %" PRIx64 ":%" PRIu64, block->address, block->instructions);
		block->instructions = 0;
	}
	fputc('\n', out);
	g_ptr_array_set_size(met, 0);
}

static void on_mark(unsigned int cpu, void *data)
{
	uint64_t argument;

	g_byte_array_set_size(value, 0);
	if (qemu_plugin_read_register(x0, value) != sizeof(argument))
		abort();
	memcpy(&argument, value->data, sizeof(argument));
	if (argument >= MARK_CALLS || !argument == !call)	/* they alternate */
		abort();
	if (!argument)
		report();
	call = argument;
}

static void watch_marks(struct qemu_plugin_tb *tb)
{
	struct qemu_plugin_insn *insn;
	uint32_t word;
	size_t i;

	for (i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
		insn = qemu_plugin_tb_get_insn(tb, i);
		word = 0;
		qemu_plugin_insn_data(insn, &word, sizeof(word));
		if (word == MARK_ARM64)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, on_mark, QEMU_PLUGIN_CB_R_REGS, NULL);
	}
}

static void on_translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	struct block *block;

	if (!(qemu_plugin_tb_vaddr(tb) & KERNEL)) {
		watch_marks(tb);
		return;
	}
	block = g_new0(struct block, 1);	/* as long as the code that QEMU made */
	block->address = qemu_plugin_tb_vaddr(tb);
	block->length = qemu_plugin_tb_n_insns(tb);
	qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_NO_REGS, block);
}

static void on_cpu(qemu_plugin_id_t id, unsigned int cpu)
{
	GArray *known = qemu_plugin_get_registers();
	const qemu_plugin_reg_descriptor *d;
	guint i;

	for (i = 0; i < known->len; i++) {
		d = &g_array_index(known, qemu_plugin_reg_descriptor, i);
		if (!strcmp(d->name, "x0"))
			x0 = d->handle;
	}
	g_array_free(known, TRUE);
	if (cpu || !x0)
		abort();
}

static void on_end(qemu_plugin_id_t id, void *data)
{
	if (fclose(out))
		abort();
}

static bool option(const char *argument)
{
	if (!strncmp(argument, "out=", 4))
		out = fopen(argument + 4, "w");
	return out || !strncmp(argument, "base=", 5) || !strncmp(argument, "size=", 5);
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info,
					   int argc, char **argv)
{
	int i;

	for (i = 0; i < argc; i++)
		if (!option(argv[i]))
			return -1;
	if (!out || strcmp(info->target_name, "aarch64"))
		return -1;
	value = g_byte_array_new();
	met = g_ptr_array_new();
	qemu_plugin_register_vcpu_init_cb(id, on_cpu);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translated);
	qemu_plugin_register_atexit_cb(id, on_end, NULL);
	return 0;
}

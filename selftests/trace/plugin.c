// SPDX-License-Identifier: GPL-2.0
/*
 * plugin.so - QEMU logs the accesses of its processors to the region.
 *
 *   -plugin plugin.so,base=ADDRESS,size=BYTES,out=FILE
 *
 * Logs every store to these physical addresses with its value, every clean and every
 * barrier (trace.h), from the first mark on. Which cleans and barriers concern the
 * region, and which are the module's, is decided by the reader: the plugin omits none
 * because of an earlier one.
 *
 * Cleans, dc zva and marks make no memory access that QEMU reports: they are known
 * by their instruction, their address is in registers. QEMU reports stores, also those
 * of string instructions and of pairs too; it does not report those of FEAT_MOPS, but no
 * kernel traced uses them. Replaying the log shows that no store is missing.
 */
#include <glib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <qemu-plugin.h>

#include "trace.h"

#define CPUS		16
#define REGISTERS	32
#define NO_REGISTER	0xff

/* An instruction that is known by its bytes: its address is base + index << scale + displacement */
struct site {
	uint64_t pc;
	int64_t displacement;
	uint8_t type;
	uint8_t kind;
	uint8_t base;
	uint8_t index;
	uint8_t scale;
};

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

static uint64_t region_base, region_size, region_mapped;
static FILE *out;
static bool is_x86, begun;
static GMutex lock;		/* of the log */
static struct qemu_plugin_register *registers[CPUS][REGISTERS];
static GByteArray *scratch[CPUS];

static void emit(const struct trace_record *r)
{
	if (fwrite(r, sizeof(*r), 1, out) != 1)
		abort();
}

static uint64_t register_read(unsigned int cpu, uint8_t number)
{
	uint64_t value = 0;

	if (number == NO_REGISTER || !registers[cpu][number])
		return 0;
	g_byte_array_set_size(scratch[cpu], 0);
	if (qemu_plugin_read_register(registers[cpu][number], scratch[cpu]) < (int)sizeof(value))
		abort();
	memcpy(&value, scratch[cpu]->data, sizeof(value));
	return value;
}

static void store_value(struct trace_record *r, qemu_plugin_mem_value v)
{
	switch (v.type) {
	case QEMU_PLUGIN_MEM_VALUE_U8:
		r->value[0] = v.data.u8;
		break;
	case QEMU_PLUGIN_MEM_VALUE_U16:
		r->value[0] = v.data.u16;
		break;
	case QEMU_PLUGIN_MEM_VALUE_U32:
		r->value[0] = v.data.u32;
		break;
	case QEMU_PLUGIN_MEM_VALUE_U64:
		r->value[0] = v.data.u64;
		break;
	case QEMU_PLUGIN_MEM_VALUE_U128:
		r->value[0] = v.data.u128.low;
		r->value[1] = v.data.u128.high;
		break;
	}
}

/* Cleans have virtual addresses: log the address of the region when it changes */
static void emit_map(unsigned int cpu, uint64_t first)
{
	struct trace_record r = { .type = TRACE_MAP, .cpu = cpu, .address = first };

	if (region_mapped != first)
		emit(&r);
	region_mapped = first;
}

static void log_store(unsigned int cpu, qemu_plugin_meminfo_t info, uint64_t address, void *pc,
		      uint8_t kind)
{
	struct trace_record r = {
		.type = TRACE_STORE, .cpu = cpu, .kind = kind, .pc = (uintptr_t)pc,
	};
	const struct qemu_plugin_hwaddr *physical;

	if (!begun)
		return;
	physical = qemu_plugin_get_hwaddr(info, address);
	if (!physical || qemu_plugin_hwaddr_is_io(physical))
		return;
	r.address = qemu_plugin_hwaddr_phys_addr(physical) - region_base;
	if (r.address >= region_size)
		return;
	r.size = 1 << qemu_plugin_mem_size_shift(info);
	store_value(&r, qemu_plugin_mem_get_value(info));
	g_mutex_lock(&lock);
	emit_map(cpu, address - r.address);
	emit(&r);
	g_mutex_unlock(&lock);
}

static void on_store(unsigned int cpu, qemu_plugin_meminfo_t info, uint64_t address, void *pc)
{
	log_store(cpu, info, address, pc, 0);
}

static void on_swap(unsigned int cpu, qemu_plugin_meminfo_t info, uint64_t address, void *pc)
{
	log_store(cpu, info, address, pc, TRACE_SWAP);
}

static void on_site(unsigned int cpu, void *data)
{
	const struct site *site = data;
	struct trace_record r = {
		.type = site->type, .cpu = cpu, .kind = site->kind, .pc = site->pc,
	};

	if (!begun)
		return;
	if (site->type != TRACE_BARRIER)
		r.address = register_read(cpu, site->base) + site->displacement +
			    (register_read(cpu, site->index) << site->scale);
	g_mutex_lock(&lock);
	emit(&r);
	g_mutex_unlock(&lock);
}

/* The first three arguments of a call: x0.., or rdi, rsi, rdx */
static void on_mark(unsigned int cpu, void *pc)
{
	static const uint8_t arguments[2][3] = { { 0, 1, 2 }, { 7, 6, 2 } };
	const uint8_t *from = arguments[is_x86];
	struct trace_record r = {
		.type = TRACE_MARK, .cpu = cpu, .pc = (uintptr_t)pc,
		.address = register_read(cpu, from[0]),
		.value = { register_read(cpu, from[1]), register_read(cpu, from[2]) },
	};

	g_mutex_lock(&lock);
	begun = true;
	region_mapped = 0;	/* it may be mapped anew */
	emit(&r);
	g_mutex_unlock(&lock);
}

static void watch_site(struct qemu_plugin_insn *insn, const struct site *known)
{
	struct site *site = g_new(struct site, 1);	/* as long as the code that QEMU made */

	*site = *known;
	site->pc = qemu_plugin_insn_vaddr(insn);
	qemu_plugin_register_vcpu_insn_exec_cb(insn, on_site, QEMU_PLUGIN_CB_R_REGS, site);
}

static void watch_mark(struct qemu_plugin_insn *insn)
{
	qemu_plugin_register_vcpu_insn_exec_cb(insn, on_mark, QEMU_PLUGIN_CB_R_REGS,
					       (void *)(uintptr_t)qemu_plugin_insn_vaddr(insn));
}

static void watch_stores(struct qemu_plugin_insn *insn, qemu_plugin_vcpu_mem_cb_t callback)
{
	qemu_plugin_register_vcpu_mem_cb(insn, callback, QEMU_PLUGIN_CB_NO_REGS,
					 QEMU_PLUGIN_MEM_W,
					 (void *)(uintptr_t)qemu_plugin_insn_vaddr(insn));
}

/* Arm64: SYS and barrier instructions are one word, registers in its last five bits */

static bool arm64_site(uint32_t word, struct site *site)
{
	static const struct {
		uint32_t word;
		uint8_t type, kind;
	} known[] = {
		{ 0xd50b7a20, TRACE_CLEAN, TRACE_CVAC },
		{ 0xd50b7c20, TRACE_CLEAN, TRACE_CVAP },
		{ 0xd50b7d20, TRACE_CLEAN, TRACE_CVADP },
		{ 0xd50b7e20, TRACE_CLEAN, TRACE_CIVAC },
		{ 0xd50b7420, TRACE_ZERO, 0 },
	};
	size_t i;

	*site = (struct site) { .base = word & 31, .index = NO_REGISTER };
	for (i = 0; i < G_N_ELEMENTS(known); i++) {
		if ((word & ~31u) != known[i].word)
			continue;
		site->type = known[i].type;
		site->kind = known[i].kind;
		return true;
	}
	site->type = TRACE_BARRIER;
	site->kind = word >> 8 & 15;
	if ((word & 0xfffff0ff) == 0xd50330bf)
		site->kind |= TRACE_DMB;
	else if ((word & 0xfffff0ff) == 0xd503309f)
		site->kind |= TRACE_DSB;
	else
		return false;
	return true;
}

/* casal, caspal, stlxr, stlxp: of one word and of two */
static bool arm64_is_swap(uint32_t word)
{
	return (word & 0xbfe0fc00) == 0x88e0fc00 || (word & 0xbfe0fc00) == 0x0860fc00 ||
	       (word & 0xbfc08000) == 0x88008000;
}

static void arm64_watch(struct qemu_plugin_insn *insn)
{
	struct site site;
	uint32_t word = 0;

	qemu_plugin_insn_data(insn, &word, sizeof(word));
	if (word == TRACE_MARK_ARM64)
		watch_mark(insn);
	else if (arm64_site(word, &site))
		watch_site(insn, &site);
	else
		watch_stores(insn, arm64_is_swap(word) ? on_swap : on_store);
}

/* X86-64: all of them are 0f ae, distinguished by prefix, mode and register field */

#define REX_B	1
#define REX_X	2

struct x86_code {
	uint8_t bytes[32];	/* longer than any instruction: reading ahead is harmless */
	size_t at;
	bool operand;		/* prefix 66 */
	bool repeat;		/* prefix f2 or f3: another instruction */
	uint8_t rex;
};

static void x86_prefixes(struct x86_code *code)
{
	uint8_t byte;

	for (;; code->at++) {
		byte = code->bytes[code->at];
		if (!byte || !strchr("\x66\x3e\x2e\x26\x36\x64\x65\xf2\xf3\xf0", byte))
			break;
		code->operand |= byte == 0x66;
		code->repeat |= byte == 0xf2 || byte == 0xf3;
	}
	if ((byte & 0xf0) == 0x40)
		code->rex = code->bytes[code->at++];
}

static void x86_displacement(struct x86_code *code, uint8_t mode, struct site *site)
{
	int32_t wide;

	memcpy(&wide, &code->bytes[code->at], sizeof(wide));
	if (mode == 1)
		site->displacement = (int8_t)code->bytes[code->at];
	else if (mode == 2)
		site->displacement = wide;
}

/* The address that ModRM and SIB name; false without a base: some variable of the kernel's own */
static bool x86_address(struct x86_code *code, struct site *site)
{
	uint8_t modrm = code->bytes[code->at++], mode = modrm >> 6, sib;

	site->base = modrm & 7;
	site->index = NO_REGISTER;
	if (site->base == 4) {
		sib = code->bytes[code->at++];
		site->base = sib & 7;
		site->index = (sib >> 3 & 7) | (code->rex & REX_X ? 8 : 0);
		site->scale = sib >> 6;
		if (site->index == 4)
			site->index = NO_REGISTER;
	}
	if (mode == 0 && site->base == 5)
		return false;
	site->base |= code->rex & REX_B ? 8 : 0;
	x86_displacement(code, mode, site);
	return true;
}

static bool x86_site(struct x86_code *code, struct site *site)
{
	uint8_t mode, field;

	*site = (struct site) { };
	x86_prefixes(code);
	if (code->repeat || memcmp(&code->bytes[code->at], "\x0f\xae", 2))
		return false;
	code->at += 2;
	mode = code->bytes[code->at] >> 6;
	field = code->bytes[code->at] >> 3 & 7;
	if (mode == 3) {
		site->type = TRACE_BARRIER;
		site->kind = field == 5 ? TRACE_LFENCE : field == 6 ? TRACE_MFENCE : TRACE_SFENCE;
		return field >= 5 && !code->operand;
	}
	if (field != 7 && !(field == 6 && code->operand))
		return false;
	site->type = TRACE_CLEAN;
	site->kind = field == 6 ? TRACE_CLWB : code->operand ? TRACE_CLFLUSHOPT : TRACE_CLFLUSH;
	return x86_address(code, site);
}

static void x86_watch(struct qemu_plugin_insn *insn)
{
	struct x86_code code = { };
	struct site site;

	qemu_plugin_insn_data(insn, code.bytes, 15);
	if (!memcmp(code.bytes, TRACE_MARK_X86, TRACE_MARK_X86_LEN))
		watch_mark(insn);
	else if (x86_site(&code, &site))
		watch_site(insn, &site);
	else
		watch_stores(insn, on_store);
}

static void on_translated(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
	size_t i;

	for (i = 0; i < qemu_plugin_tb_n_insns(tb); i++) {
		if (is_x86)
			x86_watch(qemu_plugin_tb_get_insn(tb, i));
		else
			arm64_watch(qemu_plugin_tb_get_insn(tb, i));
	}
}

/* The number that instructions know a register by, or -1 */
static int register_number(const char *name)
{
	static const char * const x86[] = {
		"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
		"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
	};
	size_t i;

	if (!is_x86)
		return name[0] == 'x' && g_ascii_isdigit(name[1]) ? atoi(name + 1) : -1;
	for (i = 0; i < G_N_ELEMENTS(x86); i++)
		if (!strcmp(name, x86[i]))
			return i;
	return -1;
}

static void on_cpu(qemu_plugin_id_t id, unsigned int cpu)
{
	GArray *known = qemu_plugin_get_registers();
	const qemu_plugin_reg_descriptor *d;
	unsigned int i;
	int number;

	if (cpu >= CPUS)
		abort();
	scratch[cpu] = g_byte_array_new();
	for (i = 0; i < known->len; i++) {
		d = &g_array_index(known, qemu_plugin_reg_descriptor, i);
		number = register_number(d->name);
		if (number >= 0 && number < REGISTERS)
			registers[cpu][number] = d->handle;
	}
	g_array_free(known, TRUE);
}

static void on_end(qemu_plugin_id_t id, void *data)
{
	if (fclose(out))
		abort();
}

static bool option(const char *argument)
{
	if (!strncmp(argument, "base=", 5))
		region_base = strtoull(argument + 5, NULL, 0);
	else if (!strncmp(argument, "size=", 5))
		region_size = strtoull(argument + 5, NULL, 0);
	else if (!strncmp(argument, "out=", 4))
		out = fopen(argument + 4, "wb");
	else
		return false;
	return true;
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info,
					   int argc, char **argv)
{
	int i;

	for (i = 0; i < argc; i++)
		if (!option(argv[i]))
			return -1;
	is_x86 = !strcmp(info->target_name, "x86_64");
	if (!out || !region_size)
		return -1;
	qemu_plugin_register_vcpu_init_cb(id, on_cpu);
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translated);
	qemu_plugin_register_atexit_cb(id, on_end, NULL);
	return 0;
}

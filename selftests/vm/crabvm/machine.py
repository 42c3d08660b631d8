# SPDX-License-Identifier: GPL-2.0
"""The machines: how each kind is started, and where its region lies.

The region is a host file: QEMU maps it as a second memory node that the kernel is
configured to leave alone, user-mode Linux maps it through the module.  The file is
the media; it remains when the machine ends.

The first node holds 512 MB of ordinary memory; the second one follows it directly, which
determines the physical address of the region.  KVM is not used.
"""

import os
import random
import subprocess

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CACHE = os.environ.get("CRABTREE_CACHE") or os.path.expanduser("~/.cache/crabtree")
RAM = 512 << 20
SYSTEM_RAM = 2 << 30    # of a machine whose initrd is a whole system
ARM64_REGION = 0x40000000 + RAM
X86_REGION = RAM
SYSTEM = "rdinit=/lib/systemd/systemd systemd.wants=crabtree-test.service systemd.show_status=0"
CPUS = {"max": {"arm64": "max,pauth-impdef=on", "amd64": "max"}}

NODES = """
/ {{
	{pmem}
	reserved-memory {{
		#address-cells = <2>;
		#size-cells = <2>;
		ranges;
		crabtree_memory: crabtree@{at:x} {{
			reg = <0x0 {at:#x} 0x0 {size:#x}>;
			no-map;
		}};
	}};
	crabtree-region@{at:x} {{
		compatible = "crabtree,region";
		memory-region = <&crabtree_memory>;
		{caches}
	}};
	/* Not compatible: a test binds the driver to one of them */
	selftest-readonly {{
		compatible = "selftest,region";
		memory-region = <&crabtree_memory>;
		label = "shown";
		read-only;
	}};
	selftest-lost {{
		compatible = "selftest,region";
	}};
	nowhere: selftest-nowhere {{
		compatible = "selftest,region";
		memory-region = <&nowhere>;
	}};
}};
"""
PMEM_NODE = '{name}@{at:x} {{ compatible = "pmem-region"; reg = <0x0 {at:#x} 0x0 {size:#x}>; {more} }};'
VOLATILE = 4 << 20  # memory that a second pmem-region node calls volatile


def fetched(what, where):
    """The path of an entry of the cache, which is fetched if necessary."""
    subprocess.run([os.path.join(HERE, "fetch"), what], check=True)
    return os.path.join(CACHE, where)


class Machine:
    """The common part of all kinds: OPTIONS as run parses them, SCRATCH for temporary files."""

    arch = ""
    program = ""
    start = 0       # of the region, physical
    above = 0       # size of the ordinary memory after the region
    modules = ()
    serial_bus = ""
    serial_sync = ()
    disk_bus = ""

    def __init__(self, options, scratch):
        self.options = options
        self.scratch = scratch
        self.pass_fds = []

    def cpu(self):
        """The -cpu argument."""
        cpu = self.options.cpu or "max"
        return CPUS.get(cpu, {}).get(self.arch, cpu)

    def emulator(self):
        """This machine's QEMU, or the one that plugins are made for."""
        if not self.options.plugin:
            return [self.program]
        qemu = fetched("qemu", "tool/qemu")
        return [os.path.join(qemu, "usr/bin", self.program), "-L", os.path.join(qemu, "usr/share/qemu"),
                "-L", "/usr/share/seabios", "-plugin",
                f"{self.options.plugin},base={self.start:#x},size={self.options.size:#x}"]

    def memory_size(self, size):
        """-m of so many bytes."""
        return f"{size >> 10}K"

    def memory_above(self):
        """A third node, if there is anything in it."""
        if not self.above:
            return []
        return ["-object", f"memory-backend-ram,id=above,size={self.above}",
                "-numa", "node,nodeid=2,memdev=above"]

    def memory(self):
        """Two nodes, the second one backed by the region's file."""
        o = self.options
        args = ["-smp", str(o.smp)]
        if not o.region:
            return args + ["-m", self.memory_size(SYSTEM_RAM if o.root else RAM)]
        return args + [
            "-m", self.memory_size(RAM + o.size + self.above),
            "-object", f"memory-backend-ram,id=ram,size={RAM}",
            "-object", f"memory-backend-file,id=region,mem-path={o.region},size={o.size},share=on",
            "-numa", f"node,nodeid=0,memdev=ram,cpus=0-{o.smp - 1}",
            "-numa", "node,nodeid=1,memdev=region", *self.memory_above()]

    def channels(self):
        """The ports out of the machine.

        Without ioeventfd the processor that notifies the device also does the device's work,
        so that all bytes for which a guest's write() returned are in the host's file.
        With it, acknowledgements would queue in the guest and be lost with it.
        """
        args = self.monitor()
        for number, (name, backend) in enumerate(self.backends(), 1):
            args += ["-chardev", f"{backend},id={name}",
                     "-device", f"virtserialport,chardev={name},name=crabtree.{name.upper()},nr={number}"]
        return [*self.serial_sync, "-device", self.serial_bus, *args] if args else []

    def ports(self):
        """(name, host file) of each channel asked for."""
        o = self.options
        named = [tuple(port.split("=", 1)) for port in o.port]
        return [(n, p) for n, p in [("ack", o.ack), ("out", o.out), *named] if p]

    def monitor(self):
        """The console of the emulator, where the guest can order a machine check."""
        if not self.options.monitor:
            return []
        return ["-chardev", f"socket,id=console,path={self.scratch}/monitor,server=on,wait=off",
                "-mon", "chardev=console"]

    def backends(self):
        """(name, chardev) of each channel: a file, or the monitor."""
        ports = [(name, f"file,path={path},append=on") for name, path in self.ports()]
        if self.options.monitor:
            ports.append(("monitor", f"socket,path={self.scratch}/monitor"))
        return ports

    def disk(self):
        """A disk. The cut leaves it all that the guest has written to it, synced or not."""
        if not self.options.disk:
            return []
        return ["-drive", f"if=none,id=disk,format=raw,cache=writeback,file={self.options.disk}",
                "-device", f"{self.disk_bus},drive=disk"]

    def port_devices(self):
        """NAME=DEVICE for each channel whose device the host chooses."""
        return []

    def port_names(self):
        """Those that the guest finds by name."""
        return [name.upper() for name, _ in self.backends()]

    def needs_modules(self):
        """Names of kernel modules that the machine itself wants."""
        return list(self.modules) if self.backends() else []

    def leak_option(self):
        """The option that turns kmemleak off, or prepares the kernel for it.

        With kmemleak, injected faults must not hit its own allocations: the call under test
        would not see such a fault.
        """
        return "slub_debug=A;-,kmemleak*" if self.options.leaks else "kmemleak=off"

    def qemu(self, image, initrd, append, *more):
        """The command line."""
        return [*self.emulator(), "-nodefaults", "-no-user-config", "-no-reboot", "-nographic",
                "-accel", "tcg,thread=multi", "-cpu", self.cpu(), *more, *self.memory(),
                *self.channels(), *self.disk(), "-serial", "stdio", "-kernel", image, "-initrd", initrd,
                "-append", f"{append} {self.leak_option()} {SYSTEM if self.options.root else ''} ignore_loglevel oops=panic panic=-1 "
                           f"printk.devkmsg=on {self.options.append}"]


class Arm64(Machine):
    """QEMU's virt machine."""

    arch = "arm64"
    start = ARM64_REGION
    modules = ("virtio_mmio", "virtio_console")
    serial_bus = "virtio-serial-device"
    disk_bus = "virtio-blk-device"
    serial_sync = ("-global", "virtio-mmio.ioeventfd=off")
    program = "qemu-system-aarch64"

    def params(self):
        """Module parameters: none, the device tree describes the region."""
        return ""

    def nodes(self):
        """The source that is added to the device tree of QEMU."""
        o = self.options
        caches = "crabtree,persistent-caches;" if o.caches else ""
        if not o.pmem:
            return NODES.format(pmem="", at=ARM64_REGION, size=o.size, caches=caches)
        last = ARM64_REGION + o.size - VOLATILE
        pmem = PMEM_NODE.format(name="pmem", at=ARM64_REGION, size=o.pmem, more="") + \
            PMEM_NODE.format(name="volatile", at=last, size=VOLATILE, more="volatile;")
        return NODES.format(pmem=pmem, at=ARM64_REGION + o.pmem, size=o.size - o.pmem - VOLATILE, caches=caches)

    def tree(self):
        """A device tree with our nodes, as a file."""
        base = os.path.join(self.scratch, "base.dtb")
        full = os.path.join(self.scratch, "full.dtb")
        if os.path.exists(full):    # of an earlier run of this machine
            return full
        subprocess.run([self.emulator()[0], "-M", f"virt,dumpdtb={base}", "-display", "none",
                        "-cpu", self.cpu(), *self.memory()], check=True, capture_output=True)
        source = subprocess.run(["dtc", "-q", "-I", "dtb", "-O", "dts", base],
                                check=True, capture_output=True, text=True).stdout
        subprocess.run(["dtc", "-q", "-I", "dts", "-O", "dtb", "-o", full],
                       input=source + self.nodes(), check=True, text=True)
        return full

    def command(self, image, initrd):
        """How to start it.  kpti=off: without it an emulated system call costs ten times as much."""
        append = "earlycon=pl011,0x9000000 console=ttyAMA0 kpti=off"
        if not self.options.region:
            return self.qemu(image, initrd, append, "-M", "virt")
        return self.qemu(image, initrd, f"{append} mem={RAM >> 20}M",
                         "-M", "virt", "-dtb", self.tree())


class Amd64(Machine):
    """QEMU's pc, booted through PVH."""

    arch = "amd64"
    start = X86_REGION
    above = 64 << 20    # the initrd and the firmware's tables go to the end of memory
    modules = ("virtio_pci", "virtio_console")
    serial_bus = "virtio-serial-pci"
    disk_bus = "virtio-blk-pci"
    serial_sync = ("-global", "virtio-serial-pci.ioeventfd=off")
    program = "qemu-system-x86_64"

    def cpu(self):
        """Without ERMS the kernel clears and copies by words; QEMU executes "rep stosb" byte by byte.
        With a plugin, it hangs in such a kernel.
        """
        cpu = super().cpu()
        return "max,erms=off" if cpu == "max" and not self.options.plugin else cpu

    def reserved(self):
        """(start, size) of the part that is not /dev/pmem0."""
        return X86_REGION + self.options.pmem, self.options.size - self.options.pmem

    def params(self):
        """Module parameters: the address and the size."""
        caches = ",cache" if self.options.caches else ""
        return "region=0x%x,0x%x" % self.reserved() + caches if self.options.region else ""

    def command(self, image, initrd):
        """How to start it."""
        o = self.options
        append = "console=ttyS0 mitigations=off nokaslr tsc=reliable"
        if o.pmem:
            append += f" memmap={o.pmem:#x}!{X86_REGION:#x}"
        if o.region and o.size > o.pmem:
            append += " memmap=0x%x$0x%x" % tuple(reversed(self.reserved()))
        return self.qemu(image, initrd, append, *self.nvdimm(), *self.virtio_pmem(), *self.firmware())

    def firmware(self):
        """UEFI in flash that only its code in SMM writes, as Secure Boot requires."""
        if not self.options.firmware:
            return []
        code, variables = self.options.firmware
        return ["-M", "q35,smm=on", "-global", "driver=cfi.pflash01,property=secure,value=on",
                "-drive", f"if=pflash,format=raw,readonly=on,file={code}",
                "-drive", f"if=pflash,format=raw,file={variables}"]

    def nvdimm(self):
        """A DIMM whose platform writes the caches back when the power fails."""
        if not self.options.nvdimm:
            return []
        return ["-M", "pc,nvdimm=on,nvdimm-persistence=cpu",
                "-object", f"memory-backend-ram,id=nvdimm,size={self.options.nvdimm}",
                "-device", "nvdimm,memdev=nvdimm"]

    def virtio_pmem(self):
        """Memory of the host, which flushes it on request only."""
        if not self.options.virtio_pmem:
            return []
        return ["-object", f"memory-backend-ram,id=flushed,size={self.options.virtio_pmem}",
                "-device", "virtio-pmem-pci,memdev=flushed"]

    def memory_size(self, size):
        """-m: with a place for the DIMM or the host's memory, if there is one."""
        more = self.options.nvdimm or self.options.virtio_pmem
        return super().memory_size(size) + (",slots=1,maxmem=4G" if more else "")


class Uml(Machine):
    """User-mode Linux: a process group of the host."""

    arch = "amd64"

    def params(self):
        """The module maps the host's file."""
        return f"uml={self.options.region}" if self.options.region else ""

    def needs_modules(self):
        return []

    def lines(self):
        """Channels are serial lines on files that we hold open."""
        args = []
        for number, (_, path) in enumerate(self.ports()):
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
            self.pass_fds.append(fd)
            args.append(f"ssl{number}=null,fd:{fd}")
        return ["ssl=null", *args]

    def port_devices(self):
        return [f"{name.upper()}=/dev/ttyS{number}" for number, (name, _) in enumerate(self.ports())]

    def port_names(self):
        return []

    def command(self, image, initrd):
        """How to start it, at fixed addresses (setarch -R).

        It and its programs take turns at every system call: on one processor of the host, a turn
        needs no interrupt.  lpj: without it the kernel measures its delay loop for a quarter of a second.
        """
        o = self.options
        processor = random.choice(sorted(os.sched_getaffinity(0)))
        return ["taskset", "-c", str(processor), "setarch", "-R", image, "mem=256M", f"initrd={initrd}", "rdinit=/init", "root=/dev/ram0",
                "con=null", "con0=null,fd:1", "con1=null", *self.lines(),
                "lpj=25000000", "ignore_loglevel", "panic=-1", "printk.devkmsg=on",
                self.leak_option(), *o.append.split()]


def kind_of(kernel, arch="amd64"):
    """The class of machine that a kernel runs on; ARCH is that of a kernel in a directory."""
    if kernel.startswith("uml"):
        return Uml
    name = arch if kernel.startswith("/") else kernel
    return Arm64 if name.startswith("arm64") else Amd64


def arch_of(kernel):
    """The architecture that a kernel is for."""
    return kind_of(kernel).arch

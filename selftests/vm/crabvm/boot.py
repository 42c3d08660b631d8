# SPDX-License-Identifier: GPL-2.0
"""One run of a machine: its options, its initrd, and the boot.

The scripts that prepare a kernel or a userland run once in a process, so that a program
that boots many machines pays for them once.
"""

import argparse
import functools
import os
import shutil
import subprocess

from crabvm import initrd, machine, power

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# An emulator may hang before our init runs (once in some hundred boots on a loaded host), or
# make its kernel die: one processor executed the breakpoint with which another one was patching
# a jump.  Such a boot does not concern the module and is repeated once.
BOOT_SECONDS = 100  # excluding time spent waiting for a CPU
SYSTEM_SECONDS = 600    # with systemd


def size(text):
    """128M, 1G, 0x1000, 4096"""
    unit = {"K": 10, "M": 20, "G": 30}.get(text[-1:].upper())
    return int(text[:-1], 0) << unit if unit else int(text, 0)


def parser(description):
    """The options of a run."""
    p = argparse.ArgumentParser(description=description)
    p.add_argument("--kernel", required=True, help="a name that the kernel script knows")
    p.add_argument("--arch", choices=("amd64", "arm64"), default="amd64", help="of a kernel in a directory")
    p.add_argument("--name", help="name of the run in its result")
    p.add_argument("--cpu", help="cortex-a53, neoverse-n1, max, or anything of QEMU's")
    p.add_argument("--smp", type=int, default=2)
    p.add_argument("--image", help="another boot image of the kernel")
    p.add_argument("--firmware", nargs=2, metavar=("CODE", "VARIABLES"),
                   help="amd64: boot through this UEFI firmware, which keeps its variables in a file")
    p.add_argument("--region", help="host file that is the media; made if it is not there")
    p.add_argument("--size", type=size, default=128 << 20, help="of the region")
    p.add_argument("--caches", action="store_true", help="declare that its caches persist")
    p.add_argument("--pmem", type=size, default=0, help="size of its first part, which is /dev/pmem0")
    p.add_argument("--disk", help="host file that is /dev/vda; not in user-mode Linux")
    p.add_argument("--nvdimm", type=size, default=0,
                   help="amd64: size of an NVDIMM whose platform flushes the caches")
    p.add_argument("--virtio-pmem", type=size, default=0,
                   help="amd64: size of persistent memory that the host flushes on request")
    p.add_argument("--root", metavar="CPIO",
                   help="a system with systemd, which runs the script in place of busybox and init")
    p.add_argument("--init", default=os.path.join(HERE, "init"), help="the first program")
    p.add_argument("--test", help="script to run in the guest")
    p.add_argument("--files", nargs="*", action="extend", default=[], metavar="SRC:DST")
    p.add_argument("--modules", nargs="*", action="extend", default=[], metavar="NAME")
    p.add_argument("--env", nargs="*", action="extend", default=[], metavar="VAR=VAL")
    p.add_argument("--append", default="", help="to the kernel's command line")
    p.add_argument("--ack", help="host file for CRAB_ACK, appended to")
    p.add_argument("--out", help="host file for CRAB_OUT, appended to")
    p.add_argument("--port", action="append", default=[], metavar="NAME=FILE",
                   help="another channel, CRAB_NAME in the guest")
    p.add_argument("--monitor", action="store_true",
                   help="CRAB_MONITOR in the guest is the console of its emulator")
    p.add_argument("--plugin", metavar="FILE[,OPTION=VALUE...]",
                   help="for the QEMU that fetch provides; also receives base= and size= of the region")
    p.add_argument("--no-end", action="store_true",
                   help="the machine powers itself off before its test has ended")
    p.add_argument("--leaks", action="store_true", help="ask kmemleak at the end")
    p.add_argument("--expect", type=int, help="how many tests must pass")
    p.add_argument("--timeout", type=float, default=120, metavar="SECONDS",
                   help="end it after this time without output")
    p.add_argument("--kill-after-ack", type=int, metavar="LINES")
    p.add_argument("--kill-after", type=float, metavar="SECONDS")
    p.add_argument("--log", help="where to keep the console")
    p.add_argument("--verbose", action="store_true", help="print the console too")
    return p


@functools.cache
def kernel_dir(name):
    """The directory of a kernel, which is fetched or built if necessary."""
    return subprocess.check_output([os.path.join(HERE, "kernel"), name], text=True).strip()


@functools.cache
def busybox_of(arch):
    """The static busybox of the guest's architecture."""
    return machine.fetched(f"userland-{arch}", f"userland/{arch}/bin/busybox")


def make_region(options):
    """Give the media file its full size before a machine maps it."""
    if options.region:
        options.region = os.path.abspath(options.region)
        with open(options.region, "ab") as f:
            f.truncate(max(options.size, f.tell()))


def environment(options, box):
    """The guest's /env."""
    pairs = [f"CRAB_PARAMS={box.params()}", f"CRAB_LEAKS={1 if options.leaks else ''}",
             f"CRAB_LINES={' '.join(box.port_devices())}",
             f"CRAB_PORTS={' '.join(box.port_names())}"]
    lines = []
    for pair in pairs + options.env:
        name, value = pair.split("=", 1)
        lines.append(f"export {name}='{value}'\n")
    return "".join(lines)


def make_initrd(options, box, kernel, path):
    """Write the initrd."""
    with open(os.path.join(kernel, "release"), encoding="ascii") as f:
        modules = initrd.Modules(kernel, f.read().strip())
    files = [tuple(pair.rsplit(":", 1)) for pair in options.files]
    texts = [(environment(options, box), "env")]
    if options.test:
        files.append((options.test, "test"))
    else:
        texts.append(("true\n", "test"))
    data = initrd.build(busybox_of(box.arch), options.init, modules,
                        box.needs_modules() + options.modules, files, texts)
    with open(path, "wb") as f:
        f.write(data)


def make_system(options, box, path):
    """The same with the archive of a whole system, which runs the script as a service."""
    shutil.copyfile(options.root, path)
    with open(path, "ab") as f:
        f.write(initrd.service(options.test, environment(options, box)))


def ack_files(options):
    """The files whose lines --kill-after-ack counts: all channels but "out"."""
    ports = [port.split("=", 1)[1] for port in options.port]
    return [path for path in [options.ack, *ports] if path]


def start(options, command, log, pass_fds):
    """Run the machine to its end."""
    with open(log, "wb") as f:
        run = power.Run(command, f, pass_fds)
        try:
            run.wait(options.timeout, SYSTEM_SECONDS if options.root else BOOT_SECONDS, ack_files(options),
                     options.kill_after_ack, options.kill_after)
        finally:
            run.cut()
    return run


def start_twice(options, command, log, pass_fds):
    """Run the machine, and once more if it hung or died before our init ran."""
    run = start(options, command, log, pass_fds)
    if run.unbooted:
        print(f"    {options.name or options.kernel}: did not boot, after {run.elapsed():.1f} s (status "
              f"{run.process.returncode}: {run.last_words()}); trying once more", flush=True)
        run = start(options, command, log, pass_fds)
    return run


def boot(options, scratch):
    """Run the machine to its end and return (run, console)."""
    kernel = kernel_dir(options.kernel)
    make_region(options)
    box = machine.kind_of(options.kernel, options.arch)(options, scratch)
    archive = os.path.join(scratch, "initrd")
    if options.root:
        make_system(options, box, archive)
    else:
        make_initrd(options, box, kernel, archive)
    log = os.path.join(scratch, "console")
    command = box.command(options.image or os.path.join(kernel, "image"), archive)
    try:
        run = start_twice(options, command, log, box.pass_fds)
    finally:
        for fd in box.pass_fds:
            os.close(fd)
    if options.log:     # two runs may share that name: each judges its own console
        shutil.copyfile(log, options.log)
    with open(log, encoding="utf-8", errors="replace") as f:
        return run, f.read()

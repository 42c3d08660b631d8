# SPDX-License-Identifier: GPL-2.0
"""The commands that the first pages show: README.md, getting started, and install.

A literal block holds commands if its first word is one of PROGRAMS; every other block is
named in TEXT. A block of make lines alone holds commands that are independent of each
other. All other commands of a page form one session, in the order of the page.
scripts/newcomer runs the commands in bare Debian roots; scripts/check-commands compares
the tables below with the pages.
"""

import functools
import os
import re
import subprocess

import source

README, STARTED = "README.md", "Documentation/admin-guide/getting-started.rst"
INSTALL = "Documentation/admin-guide/install.rst"
REAL = "Documentation/admin-guide/real-memory.rst"
PAGES = (README, STARTED, INSTALL, REAL)
PROGRAMS = ("adduser", "make", "apt-get", "crabctl", "dkms", "export", "grep", "insmod", "modprobe", "systemd-sysusers",
            "truncate")

# First lines of the literal blocks that are no commands
TEXT = {
    "device       /dev/crab0": "output",
    "$ crabctl --image try.img format --size=16M --label=retain": "commands with their output",
    "#include <crabtree.h>": "C",
    "import crabtree": "Python",
    "reserved-memory {": "a device tree",
    "reserve_mem=16M:4096:crab": "the kernel's command line",
    "reserve=crab label=retain group=plc mode=0660": "a line of crabtree.d(5)",
    'SUBSYSTEM=="crabtree", ENV{CRABTREE_LABEL_ENC}=="retain", GROUP="plc", MODE="0640"': "a udev rule",
}

HARDWARE = "needs persistent memory at a fixed address, or a device for it"
FOREIGN = "needs the build directory of another kernel"
# Commands that a root does not run, and why
NOT_RUN = {
    "grep -i 90000000 /proc/iomem": HARDWARE,
    "modprobe crabtree region=0x90000000,16M": HARDWARE,
    "modprobe crabtree pmem=/dev/pmem0": HARDWARE,
    "modprobe crabtree reserve=crab": "needs a reservation on the kernel's command line",
    "crabctl format --label retain": "needs the region of the command before it",
    "crabctl region add pmem=/dev/pmem0": HARDWARE,
    "crabctl region remove crab0": HARDWARE,
    "crabctl region list": HARDWARE,
    "insmod crabtree.ko uml=/path/on/the/host/region.img":
        "needs user-mode Linux; selftests/powercut does this with each machine",
    "adduser USER crabtree": "USER is a name that the reader chooses",
    "udevadm control --reload": "needs udev, which no root runs",
    "export ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu-": FOREIGN,
    "make modules KERNEL_SRC=/path/to/build": FOREIGN,
    "make modules_install KERNEL_SRC=/path/to/build INSTALL_MOD_PATH=/path/to/root": FOREIGN,
}

# Commands that need the module loaded: a machine runs them, with the programs that the root built.
# First command of their block -> commands that the machine runs before it
LOAD = "insmod out/build/host/crabtree_mod/crabtree.ko ram=16M"
MACHINE = {
    LOAD: "",
    "crabctl list": f"{LOAD}; export PATH=$PWD/out/tools:$PATH; crabctl format --label=try; echo 1 100 >records.txt; "
                    "mkdir -p /dev/crabtree/by-label; ln -s /dev/crab0 /dev/crabtree/by-label/retain",
}
# The root runs the commands of such a block that come before LOAD, and these
BOTH = ("export PATH=$PWD/out/tools:$PATH",)

# Commands that take long: make variables that shorten them; None: run with --full only
BRIEF = {
    "make check": "OPTIONS=docs",
    "make crash": None,
    "make demo-reboot": None,
    "make fuzz": "TIME=5",
    "make bench": "OPTIONS=--quick",
    "make paper": "OPTIONS=--tiny",
    "make paper PAPER=nvtree": "OPTIONS=--tiny",
}


class Block:
    """A literal block: where it is, and its lines."""

    def __init__(self, page, line, lines):
        self.page, self.line, self.lines = page, line, lines

    def first(self):
        """Its first line, without comment."""
        return command_of(self.lines[0])

    def is_commands(self):
        """Whether these are commands."""
        return self.first().split()[0] in PROGRAMS

    def is_apart(self):
        """Whether its commands are independent of each other."""
        return all(command.startswith("make ") for command in self.commands())

    def commands(self):
        """Its commands, in order."""
        return [command for command in map(command_of, self.lines) if command]

    def outputs(self):
        """Command -> first line of its output. The first page has it as a comment."""
        pairs = (line.partition("# ") for line in self.lines if line.startswith("crabctl "))
        return {command_of(line): output for line, _, output in pairs if output and self.page == README}


def command_of(line):
    """A line without its comment."""
    return re.sub(r"(^|\s+)# .*", "", line).strip()


def with_output(command, output):
    """A command that fails if the first line of its output is another one."""
    return f"{command} >/tmp/shown; head -n 1 /tmp/shown | grep -qxF '{output}'" if output else command


def blocks(root, page):
    """The literal blocks of a page."""
    lines, at = source.read(root, page).split("\n"), 0
    indent = ""
    while at < len(lines):
        opens = page.endswith(".md") or (lines[at].endswith("::") and not lines[at].startswith(".."))
        first = next((n for n in range(at + 1, len(lines)) if lines[n]), len(lines))
        indent = re.match(" *", lines[first]).group() if first < len(lines) else ""
        if not opens or lines[at + 1:at + 2] != [""] or len(indent) <= len(re.match(" *", lines[at]).group()) \
           or len(indent) < 4:
            at += 1
            continue
        end = next((n for n in range(first, len(lines)) if lines[n] and not lines[n].startswith(indent[:4])),
                   len(lines))
        yield Block(page, first + 1, [line[4:].rstrip() for line in lines[first:end] if line.strip()])
        at = end


def command_blocks(root, page):
    """Those of them that hold commands."""
    return [block for block in blocks(root, page) if block.is_commands()]


@functools.lru_cache(maxsize=None)
def packages_of(setup, groups):
    """Those that a script, given as its text, lists for some groups."""
    return set(subprocess.check_output(["bash", "-c", setup, "setup", "--list", *groups],
                                       stderr=subprocess.DEVNULL, text=True).split())


def packages(root, *groups):
    """The packages that scripts/setup installs for some groups."""
    return packages_of(source.read(root, "scripts/setup"), groups)


class Plan:
    """The commands of a page, by the place where they run."""

    def __init__(self, root, page):
        self.apart, self.session, self.machines = [], [], []
        for block in command_blocks(root, page):
            if block.is_apart():
                self.apart += block.commands()
            else:
                self.divide(block)

    def divide(self, block):
        """A block among the session and a machine."""
        start = next((command for command in block.commands() if command in MACHINE), None)
        in_machine, machine = False, []
        for command in block.commands():
            in_machine |= command == start
            if command in NOT_RUN:
                continue
            if in_machine:
                machine.append(with_output(command, block.outputs().get(command)))
            if not in_machine or command in BOTH:
                self.session.append(command)
        if machine:
            self.machines.append((MACHINE[start], machine))

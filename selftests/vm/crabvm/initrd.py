# SPDX-License-Identifier: GPL-2.0
"""The initrd of a test machine: a cpio archive, written without being root.

It holds busybox, our init, the kernel's modules in the order of their
dependencies, and the files that the test wants.  It is not compressed: the
guest's emulated processor would pay for that.
"""

import os
import stat
import subprocess


class Initrd:
    """A newc cpio archive under construction."""

    def __init__(self):
        self.names = set()
        self.parts = []

    def entry(self, name, mode, data=b""):
        """Append one entry; names have no leading slash."""
        self.names.add(name)
        fields = (len(self.names), mode, 0, 0, 1, 0, len(data), 0, 0, 0, 0, len(name) + 1, 0)
        head = b"070701" + b"".join(b"%08X" % f for f in fields) + name.encode() + b"\0"
        self.parts += [head, b"\0" * (-len(head) % 4), data, b"\0" * (-len(data) % 4)]

    def directory(self, name):
        """A directory and those above it, once."""
        if not name or name in self.names:
            return
        self.directory(os.path.dirname(name))
        self.entry(name, stat.S_IFDIR | 0o755)

    def data(self, name, data, mode=0o755):
        """A file with the content given."""
        name = name.lstrip("/")
        self.directory(os.path.dirname(name))
        self.entry(name, stat.S_IFREG | mode, data)

    def file(self, name, source):
        """A file, or a directory with all that is in it, from the host."""
        if not os.path.isdir(source):
            with open(source, "rb") as f:
                self.data(name, f.read(), os.stat(source).st_mode & 0o777 | 0o444)
            return
        for child in sorted(os.listdir(source)):
            self.file(os.path.join(name, child), os.path.join(source, child))

    def bytes(self):
        """The archive; ends it."""
        self.entry("TRAILER!!!", 0)
        return b"".join(self.parts)


class Modules:
    """The modules of a kernel, as its modules.dep and modules.builtin have them."""

    def __init__(self, kernel_dir, release):
        self.tree = os.path.join(kernel_dir, "lib/modules", release)
        self.needs = {}
        self.paths = {}
        self.builtin = set()
        self.stock = os.path.isdir(self.tree)
        if self.stock:
            self.read_dep()
            self.read_builtin()

    @staticmethod
    def name_of(path):
        """foo-bar.ko.xz is module foo_bar."""
        return os.path.basename(path).split(".ko")[0].replace("-", "_")

    def read_dep(self):
        """Read modules.dep: for each file, the modules that must be loaded before."""
        with open(os.path.join(self.tree, "modules.dep"), encoding="ascii") as f:
            for line in f:
                path, needs = line.split(":")
                name = self.name_of(path)
                self.paths[name] = path
                self.needs[name] = [self.name_of(n) for n in reversed(needs.split())]

    def read_builtin(self):
        """Names that need no loading."""
        with open(os.path.join(self.tree, "modules.builtin"), encoding="ascii") as f:
            self.builtin = {self.name_of(line.strip()) for line in f}

    def closure(self, names):
        """The names and their dependencies, each after its own dependencies."""
        order = []
        for name in names:
            name = name.replace("-", "_")
            if name in self.builtin or not self.stock:
                continue
            if name not in self.paths:
                raise SystemExit(f"run: this kernel has no module {name}")
            order += [n for n in self.needs[name] + [name] if n not in order]
        return order

    def read(self, name):
        """The module's content, unpacked."""
        path = os.path.join(self.tree, self.paths[name])
        if path.endswith(".xz"):
            return subprocess.run(["xz", "-dc", path], check=True, capture_output=True).stdout
        with open(path, "rb") as f:
            return f.read()


def depends_of(module):
    """The dependencies that a .ko file names."""
    out = subprocess.run(["/sbin/modinfo", "-F", "depends", module],
                         check=True, capture_output=True, text=True).stdout
    return [n for n in out.strip().split(",") if n]


def build(busybox, init, modules, names, files, texts):
    """The whole archive: FILES are (source, name), TEXTS (text, name)."""
    initrd = Initrd()
    initrd.file("bin/busybox", busybox)
    initrd.file("init", init)
    for name in ("proc", "sys", "dev", "tmp", "mods"):
        initrd.directory(name)
    names = list(names)
    for source, _ in files:
        if source.endswith(".ko"):
            names = depends_of(source) + names
    order = modules.closure([n for n in names if not n.startswith("crabtree")])
    for name in order:
        initrd.data(f"mods/{name}.ko", modules.read(name))
    initrd.data("mods/order", "".join(f"{n}.ko\n" for n in order).encode())
    for source, name in files:
        initrd.file(name.lstrip("/"), source)
    for text, name in texts:
        initrd.data(name, text.encode())
    return initrd.bytes()


UNIT = """[Unit]
Description=the test
DefaultDependencies=no
After=multi-user.target
[Service]
ExecStart=/bin/sh /test-in-system
"""
# Each line of the test goes to the console through /dev/kmsg, as in init
RUN = """. /env
say() { echo "=== $* ===" >/dev/kmsg; }
read -r up _ </proc/uptime
say "CRABTREE BEGIN $(uname -r) $(uname -m) after $up s"
{ bash /test 2>&1; echo $? >/tmp/rc; } | while IFS= read -r line; do echo "$line"; done >/dev/kmsg
say "CRABTREE END $(cat /tmp/rc)"
systemctl poweroff --force --force
"""


def service(test, environment):
    """An archive that goes after that of a system: the script, and a unit that runs it."""
    initrd = Initrd()
    initrd.data("test-in-system", RUN.encode())
    initrd.data("env", environment.encode())
    initrd.data("etc/systemd/system/crabtree-test.service", UNIT.encode(), 0o644)
    initrd.file("test", test)
    return initrd.bytes()

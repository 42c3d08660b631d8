# SPDX-License-Identifier: GPL-2.0
"""Programs of another architecture, in any root: QEMU's user emulation as a handler of binfmt_misc.

The handler is ours, with flag F: the kernel keeps the emulator open, so that a root need not
contain it. It is registered while a program of ours runs, and then removed; handlers of this
machine remain as they are. One program at a time. Needs root and qemu-user-static.

An emulated compiler takes ten times as long. So a root may have the cross compiler of its release, which
is not emulated, under the names of the compilers that the kernel's headers call; gcc keeps its own. The
same for depmod, which unpacks thousands of modules. Such a root makes no initramfs either.
"""

import contextlib
import fcntl
import glob
import os
import sys

import roots

BINFMT = "/proc/sys/fs/binfmt_misc"
RULES = "/usr/lib/binfmt.d/qemu-{}.conf"    # of qemu-user-static, as systemd reads them
CPUS = {"arm64": "aarch64", "amd64": "x86_64"}


def write(name, text):
    """Write to a file of binfmt_misc."""
    with open(os.path.join(BINFMT, name), "w", encoding="ascii") as f:
        f.write(text)


def rule(arch, name):
    """The rule of qemu-user-static with another name, and flag F."""
    try:
        with open(RULES.format(CPUS[arch]), encoding="ascii") as f:
            fields = f.read().strip().split(":")
    except FileNotFoundError:
        sys.exit(f"emulation: no emulator for {arch}; first: scripts/setup emulation")
    fields[1] = name
    fields[7] = "F" + fields[7].replace("F", "")
    return ":".join(fields)


@contextlib.contextmanager
def programs(arch):
    """Let the kernel run programs of ARCH until the end; it runs our own as it is."""
    if arch == roots.NATIVE:
        yield
        return
    if not os.path.exists(os.path.join(BINFMT, "register")):
        sys.exit(f"emulation: {BINFMT} is not mounted")
    name = f"crabtree-{arch}"
    os.makedirs(roots.CACHE, exist_ok=True)
    with open(os.path.join(roots.CACHE, name + ".lock"), "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if os.path.exists(os.path.join(BINFMT, name)):
            write(name, "-1")   # of a run that was killed
        write("register", rule(arch, name))
        try:
            yield
        finally:
            write(name, "-1")


def compiler(root, fresh, log):
    """Have a root for a compiler of ROOT, and for depmod, and let its copies see that."""
    arch = root.architectures[0]
    other = roots.Root(root.number, "compilers")
    with other.lock():
        other.build(fresh, f"gcc-{CPUS[arch].replace('_', '-')}-linux-gnu,kmod", log)
    root.native = other.root


def place_compiler(root, work):
    """In a copy of ROOT, links to those programs, their libraries and the loader; and no initramfs."""
    own = f"usr/lib/{CPUS[roots.NATIVE]}-linux-gnu"
    loader, = glob.glob("usr/lib*/ld-linux-*.so.*", root_dir=root.native)
    links = {name: f"/native/{name}" for name in (own, loader)}
    links.update({"lib64": "usr/lib64", "usr/local/sbin/depmod": "/native/usr/sbin/depmod",
                  "usr/local/sbin/update-initramfs": "/bin/true"})
    for path in glob.glob(f"usr/bin/{CPUS[root.architectures[0]]}-linux-gnu-gcc-[0-9]*", root_dir=root.native):
        name = os.path.basename(path)
        for alias in (name, name[name.index("gcc"):]):
            links[f"usr/local/bin/{alias}"] = f"/native/{path}"
    os.makedirs(os.path.join(work, "upper/etc/apt/apt.conf.d"))
    for name, target in links.items():
        link = os.path.join(work, "upper", name)
        os.makedirs(os.path.dirname(link), exist_ok=True)
        os.symlink(target, link)
    # apt looks for programs in no other folder
    with open(os.path.join(work, "upper/etc/apt/apt.conf.d/path"), "w", encoding="ascii") as f:
        f.write('DPkg::Path "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";\n')

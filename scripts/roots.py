# SPDX-License-Identifier: GPL-2.0
"""Bare roots of Debian: how scripts/newcomer and scripts/deb-test make and enter them.

A root is made once by mmdebstrap from the mirrors of this machine's apt, and kept in a folder of the
cache. A script runs in a copy: an overlay whose upper folder holds all that it changed. The programs of
a root of another architecture need scripts/emulation.py. Needs root.
"""

import fcntl
import os
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
CACHE = os.environ.get("CRABTREE_CACHE") or os.path.expanduser("~/.cache/crabtree")
VM = os.path.join(ROOT, "selftests/vm")
DEBIANS = {"12": "bookworm", "13": "trixie", "sid": "sid"}
NATIVE = subprocess.check_output(["dpkg", "--print-architecture"], text=True).strip()
sys.path.insert(0, VM)
from crabvm.silence import Watch  # noqa: E402 pylint: disable=wrong-import-position

# The mounts belong to a namespace of their own and end with it. volatile: a copy serves one run, so no
# sync in it needs to reach the disk
ENTER = r"""
root=$1 work=$2 cache=$3 native=$4
mount --make-rprivate /
mount -t overlay overlay -o "lowerdir=$root,upperdir=$work/upper,workdir=$work/work,volatile" "$work/root"
cp -L /etc/resolv.conf /etc/hosts "$work/root/etc/"
mount -t proc proc "$work/root/proc"
mount --rbind /dev "$work/root/dev"
mkdir -p "$work/root/root/.cache/crabtree"
mount --bind "$cache/debs" "$work/root/var/cache/apt/archives"
mount --bind "$cache/cache" "$work/root/root/.cache/crabtree"
[ -z "$native" ] || { mkdir "$work/root/native"; mount --bind "$native" "$work/root/native"; }
exec env -i HOME=/root TERM=dumb LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
	PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
	chroot "$work/root" bash -e -o pipefail /script
"""

# A root runs on the kernel of this machine: uname -r names the newest kernel with headers instead
UNAME = r"""#!/bin/sh
release=$(ls /lib/modules 2>/dev/null | sort -V | tail -n1)
[ "$*" != -r ] || [ -z "$release" ] || { echo "$release"; exit; }
exec /usr/bin/uname "$@"
"""

# Unpack the kernel of the release uname names into /carry/kernel, as selftests/vm/run wants it
CARRY_KERNEL = r"""
mkdir -p /carry/kernel
cd /carry
uname -r >kernel/release
# Since 7.x the image is divided into several packages
for part in image base binary modules; do
	! apt-cache show "linux-$part-$(uname -r)" >/dev/null 2>&1 ||
		apt-get -qq download "linux-$part-$(uname -r)"
done
for deb in linux-*.deb; do dpkg-deb -x "$deb" all; done
rm linux-*.deb
[ -d all/lib ] || mv all/usr/lib all/lib
cd all
mkdir ../kernel/boot
find boot/vmlinuz-* lib/modules/*/vmlinuz -exec cp {} ../kernel/boot/vmlinuz \; 2>/dev/null || true
[ -e ../kernel/boot/vmlinuz ]
find lib/modules/*/modules.* lib/modules/*/kernel/lib lib/modules/*/kernel/crypto \
	lib/modules/*/kernel/arch/*/crypto lib/modules/*/kernel/drivers/nvdimm \
	lib/modules/*/kernel/drivers/dax -type f -print0 2>/dev/null |
	xargs -0 cp --parents -t ../kernel
depmod -b /carry/kernel "$(uname -r)" 2>/dev/null || true
"""


# Pack the running root, without the files that a machine does not need, and the modules of its kernel into
# /carry/root.cpio; after CARRY_KERNEL
CARRY_SYSTEM = r"""
release=$(uname -r)
modules=/carry/add/usr/lib/modules/$release
mkdir -p "$modules"
cp -R "/lib/modules/$release/updates" "$modules/" 2>/dev/null || true
cp -R "/carry/kernel/lib/modules/$release/." "$modules/"
depmod -b /carry/add/usr "$release"
cd /
find . -xdev \( -path ./carry -o -path ./proc -o -path ./sys -o -path ./dev -o -path ./run -o -path ./debs \
	-o -path ./root/.cache -o -path ./var/cache -o -path ./var/lib/apt/lists -o -path ./usr/share/doc \
	-o -path ./usr/share/locale -o -path './usr/lib/gcc*' -o -path './usr/libexec/gcc' \
	-o -path './usr/src/linux-*' -o -path './lib/modules/*' -o -path './usr/lib/modules/*' \
	-o -path ./usr/include -o -path ./usr/local/bin/uname \) -prune -o -print0 |
	cpio -o0 -H newc --quiet >/carry/root.cpio
cd /carry/add
printf '%s\0' ./proc ./sys ./dev ./run >/carry/mounts
mkdir -p proc sys dev run
{ cat /carry/mounts; find usr -mindepth 2 -print0; } | cpio -o0 -H newc --quiet >>/carry/root.cpio
"""


class Root:
    """One release of Debian, and its root in a folder of the cache.

    Its packages are of the first of ARCHITECTURES, by default of this machine's; the others may be
    installed next to them. Its copies see another root as /native, if it has one.
    """

    native = ""

    def __init__(self, number, folder, *architectures):
        self.number, self.suite = number, DEBIANS[number]
        self.architectures = architectures or (NATIVE,)
        other = () if self.architectures == (NATIVE,) else self.architectures
        self.name = "-".join((self.suite, *other))
        self.cache = os.path.join(CACHE, folder, self.name)
        self.root = os.path.join(self.cache, "root")

    def lock(self):
        """One at a time uses the root; held until we end."""
        os.makedirs(self.cache, exist_ok=True)
        lock = open(os.path.join(self.cache, "lock"), "w", encoding="ascii")
        fcntl.flock(lock, fcntl.LOCK_EX)
        return lock

    def sources(self):
        """The mirrors of this machine's apt, with the suites of this release."""
        with open("/etc/os-release", encoding="ascii") as f:
            own = dict(line.strip().split("=", 1) for line in f if "=" in line)["VERSION_CODENAME"]
        lists = subprocess.check_output(["apt-get", "indextargets", "--format", "$(ORIGIN) $(RELEASE) $(REPO_URI)",
                                         "Created-By: Packages", "Component: main"], text=True)
        only = self.suite == "sid"  # it has no updates
        found = {(uri, suite.replace(own, self.suite, 1))
                 for origin, suite, uri in map(str.split, lists.splitlines())
                 if origin == "Debian" and (suite == own if only else suite.startswith(own))
                 and not suite.endswith("-backports")}
        if not found:
            sys.exit("roots: apt of this machine names no Debian mirror")
        return "".join(f"deb {uri} {suite} main\n" for uri, suite in sorted(found))

    def options(self):
        """The proxies of this machine's apt, and whether it accepts old lists."""
        dump = subprocess.check_output(["apt-config", "dump", "--format", "%f %v%n"], text=True)
        lines = [line.split(" ", 1) for line in dump.splitlines()]
        return [f"--aptopt={name} \"{value}\"" for name, value in lines
                if value and (name.startswith("Acquire::http") and name.lower().endswith("::proxy")
                              or name == "Acquire::Check-Valid-Until")]

    def build(self, fresh, has, log):
        """Have the bare root, with package lists."""
        if fresh:
            for name in ("root", "debs", "cache"):
                shutil.rmtree(os.path.join(self.cache, name), ignore_errors=True)
        for name in ("debs/partial", "cache"):
            os.makedirs(os.path.join(self.cache, name), exist_ok=True)
        if os.path.isdir(self.root):
            return
        print(f"# building a bare root of Debian {self.number}, {self.architectures[0]}", flush=True)
        new = self.root + ".new"
        shutil.rmtree(new, ignore_errors=True)
        with open(log, "w", encoding="utf-8") as out:
            subprocess.run(["mmdebstrap", "--mode=root", "--variant=minbase",
                            f"--architectures={','.join(self.architectures)}",
                            *([f"--include={has}"] if has else []), "--skip=cleanup/apt/lists",
                            *self.options(), self.suite, new, "-"],
                           check=True, input=self.sources(), text=True, stdout=out, stderr=out)
        os.rename(new, self.root)

    def place(self, name, *folders):
        """A copy of the root, with some new folders."""
        work = os.path.join(self.cache, "work", name)
        shutil.rmtree(work, ignore_errors=True)
        for part in (*(f"upper/{folder}" for folder in folders), "upper/root", "work", "root"):
            os.makedirs(os.path.join(work, part), exist_ok=True)
        os.chmod(os.path.join(work, "upper/root"), 0o700)
        return work

    def enter(self, work, script, log, silence=0):
        """Run a script in such a copy; its status. It is killed when it and its /log are silent for too long."""
        with open(os.path.join(work, "upper/script"), "w", encoding="ascii") as f:
            f.write(script)
        with open(log, "ab") as f, subprocess.Popen(
                ["unshare", "--mount", "--pid", "--fork", "--kill-child", "bash", "-ec", ENTER, "enter",
                 self.root, work, self.cache, self.native],
                stdout=f, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL) as run:
            watch = Watch(run.pid, [log, os.path.join(work, "upper/log")], silence) if silence else None
            while watch and run.poll() is None:
                reason = watch.hung()
                if reason:
                    run.kill()
                    f.write(f"hung: {reason}\n".encode())
                time.sleep(0.2)
            return run.wait()


def fake_uname(work):
    """Let a copy of a root name the kernel whose headers it has."""
    path = os.path.join(work, "upper/usr/local/bin/uname")
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="ascii") as f:
        f.write(UNAME)
    os.chmod(path, 0o755)


def extract(kernel, arch, log):
    """The boot image, as QEMU starts it fastest."""
    packed, = [entry.path for entry in os.scandir(f"{kernel}/boot")]
    if arch == "amd64":
        subprocess.run([f"{VM}/extract-vmlinux", packed, f"{kernel}/image"], check=True, stdout=log, stderr=log)
    else:
        shutil.copy(packed, f"{kernel}/image")


def boot(kernel, name, script, log, *options, arch=NATIVE):
    """Run a script in a machine with the kernel that CARRY collected; its status."""
    with open(log, "ab") as f:
        if not os.path.exists(os.path.join(kernel, "image")):
            extract(kernel, arch, f)
        return subprocess.run([f"{VM}/run", "--kernel", kernel, "--arch", arch, "--name", name, "--test", script,
                               *options, "--verbose"], stdout=f, stderr=f, check=False).returncode

# SPDX-License-Identifier: GPL-2.0
"""The common part of the programs that cut the power: tools, files, and failure."""

import argparse
import fcntl
import os
import shutil
import subprocess

from crabvm import boot, judge
from crabvm.machine import arch_of

HERE = os.path.dirname(os.path.abspath(__file__))
VM = os.path.join(HERE, "..", "vm")


class Failed(Exception):
    """The program cannot continue."""


def tool(name, *args):
    """Run a script of selftests/vm and return its output."""
    done = subprocess.run([os.path.join(VM, name), *args], stdout=subprocess.PIPE, text=True,
                          check=False)
    if done.returncode:
        raise Failed(f"selftests/vm/{name} {' '.join(args)} failed")
    return done.stdout.strip()


def guest_files(kernel):
    """The module and the programs that every machine has, as SRC:DST."""
    module, programs = tool("module", kernel), tool("programs", arch_of(kernel))
    return [f"{module}/crabtree_mod/crabtree.ko:/crabtree.ko",
            f"{programs}/tools/crabctl:/bin/crabctl", f"{programs}/churn:/bin/churn"]


def parser(description, kernel, cuts):
    """The options of every program that cuts the power again and again."""
    p = argparse.ArgumentParser(description=description.splitlines()[0])
    p.add_argument("--kernel", default=kernel, help="a name that selftests/vm/kernel knows")
    p.add_argument("--cpu", default="max")
    p.add_argument("--cuts", type=int, default=cuts)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--timeout", type=float, default=120, metavar="SECONDS",
                   help="end a life that has printed nothing for so long")
    p.add_argument("--counts", action="store_true", help="end with the cuts as tests")
    return p


def live(args, directory):
    """Run a machine once: (its run, its console), which must be those of a good machine or of a cut one."""
    options = boot.parser("").parse_args(args)
    run, console = boot.boot(options, directory)
    problems = judge.Verdict(console).problems(None, run.killed)
    if run.hung or run.unbooted:
        problems.insert(0, f"it did not come to its end: {run.last_words()}")
    if problems:
        raise Failed("\n    ".join([f"{options.name}:", *problems[:6]]))
    return run, console


def end(place, options, status):
    """Keep the files of a bad run; print the cuts as tests, if that was asked for."""
    if status:
        place.keep_evidence()
    else:
        place.remove()
    if options.counts:
        print(f"{options.cuts if not status else 0} passed, {status} failed, 0 skipped")


class Cuts:
    """Power cuts, and those after which a later run had its content judged.

    @amid: of them, those within the work that a cut may tear; one in SHARE must be"""

    SHARE = 6

    def __init__(self):
        self.made = self.judged = self.amid = 0

    def add(self, amid):
        """One more."""
        self.made += 1
        self.amid += amid

    def judge(self):
        """The content after all of them so far is one of those that may be."""
        self.judged = self.made

    def require(self, wanted):
        """Raise Failed unless it judged all that were wanted, and one in SHARE was within the work."""
        if self.judged != wanted:
            raise Failed(f"{self.judged} of {wanted} power cuts were judged")
        if self.amid < wanted // self.SHARE:
            raise Failed(f"{self.amid} of {wanted} power cuts came within the work")


def read_text(path):
    """A file's text."""
    with open(path, encoding="utf-8", errors="replace") as f:
        return f.read()


class Place:
    """A directory below out/powercut, empty at first, ours alone until we end."""

    def __init__(self, name):
        out = os.environ.get("CRABTREE_OUT") or os.path.join(HERE, "../../out")
        self.dir = os.path.abspath(os.path.join(out, "powercut", name))
        os.makedirs(os.path.dirname(self.dir), exist_ok=True)
        self.lock = open(self.dir + ".lock", "w", encoding="ascii")
        fcntl.flock(self.lock, fcntl.LOCK_EX)
        self.remove()
        os.makedirs(self.dir)

    def path(self, name):
        """A file in it."""
        return os.path.join(self.dir, name)

    def keep_evidence(self):
        """Move the files of a bad run to where the next one leaves them alone."""
        kept = f"{self.dir}.failed-{os.getpid()}"
        os.rename(self.dir, kept)
        print(f"kept for inspection: {os.path.relpath(kept)}")

    def remove(self):
        """All is well."""
        shutil.rmtree(self.dir, ignore_errors=True)

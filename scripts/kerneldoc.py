# SPDX-License-Identifier: GPL-2.0
"""The kernel's kernel-doc: where it is, and the options of the directive .. kernel-doc:: that the
pages use."""

import functools
import glob
import os
import re
import subprocess

CACHE = os.environ.get("CRABTREE_CACHE") or os.path.expanduser("~/.cache/crabtree")


@functools.lru_cache(maxsize=None)
def program():
    """Path of kernel-doc, or None."""
    places = ["/usr/lib/linux-kbuild-*/scripts", f"{CACHE}/source/*/scripts",
              f"{CACHE}/stock/*/headers/usr/lib/linux-kbuild-*/scripts", "/usr/src/linux-*/scripts"]
    found = [p for place in places for p in sorted(glob.glob(f"{place}/kernel-doc"))]
    return found[0] if found else None


def run(root, *arguments):
    """Run it: output, and the lines of its warnings."""
    done = subprocess.run([program(), *arguments], cwd=root, check=False, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.stdout, [line for line in done.stderr.splitlines()
                         if re.match(r"\S+:\d+: (warning|error)", line)]


def arguments_of(options):
    """Arguments for the options of a directive."""
    found = dict(re.findall(r":([\w-]+):[ \t]*(.*)", options))
    if "doc" in found:
        return ["-function", found["doc"].strip()]
    names = (found.get("identifiers") or found.get("functions") or "").split()
    chosen = [word for name in names for word in ("-function", name)]
    return ["-no-doc-sections", *(["-export"] if "export" in found else []),
            *(["-internal"] if "internal" in found else []), *chosen]


def as_blocks(text):
    """Comments indent lists and pictures: each is a literal block."""
    return re.sub(r"(?<=\n\n)(?=[ \t]+\S)", "::\n\n", "\n" + text) if "\n\n" in text else text


def rst(root, path, options):
    """The comments of a file as reStructuredText, and the warnings."""
    text, problems = run(root, "-rst", "-sphinx-version", "5.3", *arguments_of(options), path)
    if ":doc:" in options:
        text = as_blocks(text)
    if not text.strip():
        problems.append(f"kernel-doc of {path} is empty")
    return text + "\n", problems

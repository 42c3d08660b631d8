# SPDX-License-Identifier: GPL-2.0
"""Shared by the checks of the sources: which files exist, which parts of them are code,
where functions begin and end, and how a check is tested by planting violations; and how
a test is tested, by a copy of the sources with a mistake in it."""

import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SKIP_DIRS = {".git", "out", "__pycache__"}

TOKEN = re.compile(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL)
FUNCTION = re.compile(r"^(?!typedef|struct\s+\w+\s*\{|union|enum)"
                      r"(?P<head>[A-Za-z_][^;{}=#\n]*?\b(?P<name>\w+)\([^;{}]*?\)[^;{}()]*)\n\{\n"
                      r"(?P<body>.*?)^\}", re.DOTALL | re.MULTILINE)


def blank(text):
    """Spaces in place of a piece of text; its lines stay."""
    return re.sub(r"[^\n]", " ", text)


@functools.lru_cache(maxsize=None)
def code_of(text):
    """C source without comments and without the content of strings, character for character
    in its place. The names of included files stay."""
    def replace(match):
        token = match.group()
        before = text[text.rfind("\n", 0, match.start()) + 1:match.start()]
        if token[0] == '"' and re.match(r"\s*#\s*include\b", before):
            return token
        return blank(token) if token[0] == "/" else token[0] + blank(token[1:-1]) + token[-1]
    return TOKEN.sub(replace, text)


def line_of(text, offset):
    """Number of the line at an offset."""
    return text.count("\n", 0, offset) + 1


def functions(code):
    """The functions of C code: matches with the groups head, name and body."""
    return FUNCTION.finditer(code)


def argument_end(code, opening):
    """Offset after the bracket that closes the one at @opening."""
    depth = 0
    for at in range(opening, len(code)):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(code[at], 0)
        if not depth:
            return at + 1
    return len(code)


def walk(root, *below):
    """All regular files below some directories, as paths relative to the root, sorted."""
    found = []
    for top in below or ("",):
        for directory, dirs, names in os.walk(os.path.join(root, top)):
            dirs[:] = [d for d in dirs if d not in SKIP_DIRS]
            paths = [os.path.join(directory, n) for n in names]
            found += [os.path.relpath(p, root) for p in paths if os.path.isfile(p)]
    return sorted(found)


def read(root, path):
    """A file's text."""
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as f:
        return f.read()


def write_if_changed(path, text):
    """Keeps the time of a file that is as it must be."""
    if os.path.exists(path) and read("", path) == text:
        return
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


def broken_copy(directory, tops, path, old, new):
    """Copy parts of the tree to @directory, with one mistake: in the file @path, @new replaces @old.

    A file that differs from the previous copy there gets the present time, the restored one of the
    previous mistake included; all others keep theirs. So copies with different mistakes can follow
    each other in one directory, and make compiles only the difference.
    """
    text = read(ROOT, path)
    if text.count(old) != 1:
        sys.exit(f"{path}: {old!r} occurs {text.count(old)} times: break it elsewhere")
    os.makedirs(directory, exist_ok=True)
    subprocess.run(["rsync", "-rlpR", "--checksum", "--delete", f"--exclude=/{path}", *tops, directory],
                   cwd=ROOT, check=True)
    write_if_changed(os.path.join(directory, path), text.replace(old, new))


class Plant:
    """A violation: in the file @path, @old becomes @new (where @old is None, @new is put
    at the end; a file that is not there is made). The check must answer with a line for
    @where that contains @why; @path itself if not given."""

    def __init__(self, path, old, new, why, where=None):
        self.path, self.old, self.new, self.why = path, old, new, why
        self.where = where or path

    def apply(self, root):
        """Write it into a copy of the tree; return the previous text, None for no file."""
        full = os.path.join(root, self.path)
        before = read(root, self.path) if os.path.exists(full) else None
        if self.old is not None and self.old not in (before or ""):
            sys.exit(f"self-test: {self.path} has no {self.old!r} any more: plant another")
        text = (before or "") + self.new if self.old is None else \
            before.replace(self.old, self.new, 1)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "w", encoding="utf-8") as f:
            f.write(text)
        return before

    def undo(self, root, before):
        """Restore the copy."""
        full = os.path.join(root, self.path)
        if before is None:
            os.remove(full)
            return
        with open(full, "w", encoding="utf-8") as f:
            f.write(before)

    def is_found(self, lines):
        """Whether a check that printed these lines has found it."""
        return any(line.startswith(self.where + ":") and self.why in line for line in lines)


def apart(plants):
    """Lists of violations, each of other files: a check reads the tree once for a list."""
    lists = []
    for plant in plants:
        files = {plant.path, plant.where}
        for each in lists:
            if not any(files & {other.path, other.where} for other in each):
                each.append(plant)
                break
        else:
            lists.append([plant])
    return lists


def lines_with(check, root, plants):
    """The lines that a check prints with these violations."""
    before = [plant.apply(root) for plant in plants]
    lines = set(check(root))
    for plant, text in zip(plants, before):
        plant.undo(root, text)
    return lines


def self_test(check, plants, *below):
    """Plants each violation in a copy of the tree and expects @check to find it: with others, or alone."""
    missed = 0
    with tempfile.TemporaryDirectory() as root:
        for top in below:
            source = os.path.join(ROOT, top)
            if os.path.isdir(source):
                shutil.copytree(source, os.path.join(root, top),
                                ignore=shutil.ignore_patterns(*SKIP_DIRS))
            elif os.path.exists(source):
                shutil.copy(source, root)
        clean = set(check(root))
        for together in apart(plants):
            shared = lines_with(check, root, together) - clean
            for plant in together:
                new = shared if plant.is_found(shared) else lines_with(check, root, [plant]) - clean
                if not plant.is_found(new):
                    missed += 1
                    print(f"self-test: {plant.path}: planted {plant.new.strip()!r}, "
                          f"not found: {plant.why}; found: {sorted(new)}")
    print(f"self-test: {len(plants)} violations planted, {missed} missed")
    return missed


def main(check, plants, *below):
    """Body of a check: print its findings; with --self-test, test it."""
    if sys.argv[1:] == ["--self-test"]:
        sys.exit(1 if self_test(check, plants, *below) else 0)
    if sys.argv[1:]:
        sys.exit(f"usage: {os.path.basename(sys.argv[0])} [--self-test]")
    found = check(ROOT)
    for line in found:
        print(line)
    sys.exit(1 if found else 0)

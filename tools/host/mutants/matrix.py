#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""matrix.py TABLE [--write] | --killers - the kill matrix as a page of the documentation.

Writes Documentation/design/crash-matrix.rst from the table of test_mutants -t TABLE, or
compares it with the page. --killers prints for test_mutants -k the killers that the page names.
"""

import collections
import difflib
import os
import re
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True  # nothing is written into the source tree
sys.path.insert(0, os.path.join(HERE, "../../../scripts"))

import tap  # noqa: E402 pylint: disable=wrong-import-position

PAGE = os.path.join(HERE, "../../../Documentation/design/crash-matrix.rst")

HEAD = """.. SPDX-License-Identifier: GPL-2.0
.. Written by make mutants-page; not by hand

===============
The kill matrix
===============

Is every clean, every fence and every order needed, and would a test notice if one were gone? Each statement
that stores, cleans, orders or fences, and each call of a function that does, is left out,
weakened, aimed elsewhere or exchanged with the next, one mistake at a time, as listed in the tables; so
are {designs} design mistakes. The crash workloads then run until one of them finds a
store that lost data. A statement that no workload needs is removed from the code, or its row
contains the reason for keeping it.

**{mutants} mutants: {killed} killed, {justified} justified.**

``make mutants`` repeats the run, for each mutant with the workload of this page first, and compares the page;
``make mutants-page`` writes it. The implementation is in
``tools/host/mutants/``. Harmless mistakes and the reasons are in ``HARMLESS`` of ``tools/host/engines/*/designs.py``: the run fails if such a mutant is
killed, if another one survives, or if no workload reaches a mutant. In ``make check`` a harmless mutant runs only in
the first workload that reaches it.

The points of a table are those of the next fences after the statement in the runs
(`persist-points.rst <persist-points.rst>`_).

Workloads
=========

Random inserts, updates, deletes, detaches, power cuts, stops with surviving caches and FORMATs on a small store. Each
operation is cut at every fence, with every image that attach can distinguish. Batches are half of
the operations of the workloads named after them; they are cut at every store, while one leaf in five is
locked. After a cut in a batch, each key may be in any state that its own operations produce. For batches of more than
four operations, 64 random images of each crash point are tried. The workload of blobs closes a state space
instead, and then flips each bit of a blob.

"""

ORACLE = """A test that finds no fault may be blind. Therefore faults are planted in an attached store, on the media or in
DRAM, one at a time, at every possible place; scan, searches and CHECK together must report each.

"""

KEYS = ("points", "file", "function", "text", "kind", "killer", "why")
Row = collections.namedtuple("Row", KEYS)


def literal(text):
    """A piece of code as a literal."""
    return f"``{text}``"


def ends(row):
    """The result of a mutant."""
    return f"*{row.killer}*" if row.killer else f"**nothing**: {row.why}"


def statements(rows):
    """One row for each statement, with all its mutants."""
    done = collections.defaultdict(list)
    for row in rows:
        done[row.function, row.text].append(f"{row.kind}: {ends(row)}")
    return [(f"{literal(function)}: {literal(text)}", "; ".join(ways))
            for (function, text), ways in done.items()]


def table(header, widths, rows):
    """A list-table."""
    lines = [".. list-table::", "   :header-rows: 1", f"   :widths: {' '.join(map(str, widths))}", ""]
    for row in (header, *rows):
        for i, cell in enumerate(row):
            lines.append(f"   {'*' if not i else ' '} - {cell}")
    return "\n".join(lines) + "\n\n"


def point_number(points):
    """Key for sorting: the first point, then the others."""
    return [int(p[1:].split()[0]) for p in points.split(", ")] if points != "none" else [99]


def title(text):
    """The title of a section."""
    return f"{text}\n{'=' * len(text)}\n\n"


def page(rows, workloads, corruptions):
    """The whole page."""
    designs = [r for r in rows if r.kind == "design"]
    planted = collections.defaultdict(list)
    for what, layout, places in corruptions:
        planted[what].append(f"{literal(layout)}: {places}")
    sites = [r for r in rows if r.kind != "design"]
    text = HEAD.format(designs=len(designs), mutants=len(rows),
                       killed=sum(bool(r.killer) for r in rows),
                       justified=sum(not r.killer and bool(r.why) for r in rows))
    text += table(("Workload", "Kills"), (30, 10),
                  [(w, str(sum(r.killer == w for r in rows))) for w in workloads])
    text += title("Design mistakes")
    text += table(("Mistake", "Killed by"), (70, 30), [(r.text, ends(r)) for r in designs])
    text += title("The oracle")
    text += ORACLE + table(("Planted", "Places, all reported"), (70, 30),
                           [(what, ", ".join(where)) for what, where in planted.items()])
    for points in sorted({r.points for r in sites}, key=point_number):
        text += title(f"Before {points}" if points != "none" else "Before no fence")
        text += table(("Function: statement", "Mutant: killed by"), (60, 40),
                      statements(r for r in sites if r.points == points))
    return text.rstrip("\n") + "\n"


def killers():
    """Function, text, kind and killer of each mutant that has a row in the page."""
    with open(PAGE, encoding="utf-8") as f:
        cells = re.findall(r"^   \* - (.*)\n     - (.*)$", f.read(), re.M)
    for what, ways in cells:
        site = re.fullmatch(r"``(.*?)``: ``(.*)``", what)
        for kind, killer in re.findall(r"(?:^|; )(?:([^*;]*): )?\*([^*]+)\*(?=;|$)", ways):
            yield (*(site.groups() if site else ("", what)), kind or "design", killer)


def main(path, write):
    """Write or compare the page."""
    with open(path, encoding="utf-8") as f:
        lines = [line.rstrip("\n").split("\t") for line in f]
    rows = [Row(*line) for line in lines if len(line) == len(KEYS)]
    text = page(rows, [line[0] for line in lines if len(line) == 1],
                [line for line in lines if len(line) == 3])
    if write:
        with open(PAGE, "w", encoding="utf-8") as f:
            f.write(text)
        return 0
    with open(PAGE, encoding="utf-8") as f:
        before = f.read()
    for line in list(difflib.unified_diff(before.splitlines(), text.splitlines(), "the page",
                                          "this run", lineterm="", n=0))[:20]:
        print(f"# {line}")
    tap.result(before == text, f"the page matches this run{'' if before == text else ': make mutants-page'}")
    return before != text


if __name__ == "__main__":
    if sys.argv[1] == "--killers":
        sys.exit(print(*map("\t".join, killers()), sep="\n"))
    sys.exit(main(sys.argv[1], "--write" in sys.argv[2:]))
